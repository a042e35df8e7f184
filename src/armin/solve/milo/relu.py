"""ReLU networks of any depth as rows: the paper's formulation (its equation "mlp")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.models.kinds import LinearModel, ReluNetwork
from armin.problem import Problem
from armin.solve.milo.linear import write_linear
from armin.solve.milo.program import UNEVEN, Draft, Program
from armin.solve.milo.shared import Margin, add_choice, add_requirement, add_vote, stack_ways
from armin.solve.milo.tables import EPSILON, EXACT, LEAST, Tables, add_common, expression, grain, tabulate

__all__ = ["write_relu"]

SMALLEST = float(np.finfo(np.float64).smallest_normal)
"""The least number with all its digits."""


@dataclass(frozen=True, eq=False)
class _Layer:
    """Range (N, T), rounding (T,) and grain of the values that enter the neurons of one layer."""

    low: FloatArray
    high: FloatArray
    noise: FloatArray
    grain: float

    @property
    def lacks_digits(self) -> bool:
        """Whether some neuron's range ends at a number too small to have all its digits: no unit measures it."""
        ends = np.abs(np.concatenate([self.low, self.high]))
        return bool(np.any((ends > 0) & (ends < SMALLEST)))


def write_relu(problem: Problem, model: ReluNetwork, formulation: str = "tight", until: float = np.inf) -> Program:
    """Write the program of a network; both formulations are the paper's rows.

    A neuron whose input cannot change sign needs no binary; a candidate that cannot be accepted, or
    cannot but be, needs no copy of the network.
    """
    if len(model.weights) == 1:
        linear = LinearModel(np.ascontiguousarray(model.weights[0].T), model.biases[0], model.decision)
        return write_linear(problem, linear, formulation, until)
    draft = Draft(until)
    tables = tabulate(draft, problem, model.weights[0], model.biases[0])
    layers = _propagate(model, _Layer(tables.low, tables.high, tables.noise, tables.grain))
    coefficients, cuts, ways = stack_ways(model.decision)
    final = _Affine(model.weights[-1] @ coefficients.T, coefficients @ model.biases[-1])
    # rounding acts on each output before they are subtracted; coefficients are 1 and -1, so that the grain stays
    noise = layers[-1].noise @ np.abs(coefficients).T
    low, high = final.range(np.maximum(layers[-2].low, 0.0), np.maximum(layers[-2].high, 0.0))
    if any(layer.lacks_digits for layer in layers):
        draft.doubt()
    picks = add_choice(draft, problem)
    u = add_common(draft, tables, picks)
    votes = []
    for n in range(problem.n_candidates):
        margins = [
            Margin(u[:0], np.zeros(0), 0.0, low[n, m], high[n, m], float(cuts[m]), float(noise[m]), layers[-1].grain)
            for m in range(cuts.size)
        ]
        if _undecided(margins):
            active = _add_network(draft, model, tables, layers, picks, u, n)
            margins = [_margin(final, active, margin, m) for m, margin in enumerate(margins)]
        votes.append(add_vote(draft, [margins[way] for way in ways]))
    add_requirement(draft, problem, votes, problem.weights)
    return draft.finish(picks)


@dataclass(frozen=True, eq=False)
class _Affine:
    """``values @ weights + bias``."""

    weights: FloatArray
    bias: FloatArray

    def range(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The range of the result when the values are between ``low`` and ``high``."""
        up, down = np.maximum(self.weights, 0.0), np.minimum(self.weights, 0.0)
        return low @ up + high @ down + self.bias, high @ up + low @ down + self.bias


def _propagate(model: ReluNetwork, first: _Layer) -> list[_Layer]:
    """The ranges of the inputs of every layer's neurons, and of the outputs."""
    layers = [first]
    for weight, bias in zip(model.weights[1:], model.biases[1:], strict=True):
        below = layers[-1]
        low, high = _Affine(weight, bias).range(np.maximum(below.low, 0.0), np.maximum(below.high, 0.0))
        size = np.maximum(below.high, 0.0).max(axis=0) @ np.abs(weight) + np.abs(bias)
        rounding = (weight.shape[0] + 8) * EPSILON * size + (weight.shape[0] + 4) * LEAST
        noise = below.noise @ np.abs(weight) + rounding
        step = min(below.grain * grain(weight), grain(bias))
        exact = 0 < step < np.inf and float(size.max()) < EXACT * step
        layers.append(_Layer(low, high, noise, step if exact else 0.0))
    return layers


def _undecided(margins: Sequence[Margin]) -> bool:
    return any(margin.low < margin.relaxed_cut <= margin.high for margin in margins)


@dataclass(frozen=True, eq=False)
class _Active:
    """The neurons of a layer that can be positive: their places, variables and units (value = unit * variable)."""

    place: IntArray
    variable: IntArray
    unit: FloatArray


def _margin(final: _Affine, active: _Active, margin: Margin, m: int) -> Margin:
    value = final.weights[active.place, m] * active.unit
    return replace(margin, index=active.variable, value=value, constant=float(final.bias[m]))


def _add_network(
    draft: Draft,
    model: ReluNetwork,
    tables: Tables,
    layers: Sequence[_Layer],
    picks: Sequence[IntArray],
    u: IntArray,
    n: int,
) -> _Active:
    """A copy of the network for candidate n; returns its last hidden layer."""
    width = layers[0].low.shape[1]
    inputs = [
        expression(tables, picks, u, n, t) if layers[0].high[n, t] > 0 else (u[:0], np.zeros(0), 0.0)
        for t in range(width)
    ]
    active = _add_neurons(draft, inputs, layers[0].low[n], layers[0].high[n])
    for depth in range(1, len(model.weights) - 1):
        weight, bias = model.weights[depth], model.biases[depth]
        inputs = [
            (active.variable, weight[active.place, t] * active.unit, float(bias[t])) for t in range(weight.shape[1])
        ]
        active = _add_neurons(draft, inputs, layers[depth].low[n], layers[depth].high[n])
    return active


def _add_neurons(
    draft: Draft, inputs: Sequence[tuple[IntArray, FloatArray, float]], low: FloatArray, high: FloatArray
) -> _Active:
    """Variables for max(0, input) of each neuron, in units of its largest value H_{n,t}."""
    place = np.flatnonzero(high > 0)
    unit, most = UNEVEN * high, 1 / UNEVEN
    xi = draft.add_variables(place.size, upper=most)
    for t, variable in zip(place.tolist(), xi.tolist(), strict=True):
        index, value, constant = inputs[t]
        if low[t] >= 0:
            # xi_{n,t} = sum_d sum_j beta_{t,d,j} pi_{d,j} + F_{n,t}
            row, coefficients = np.append(index, variable), np.append(value, -unit[t])
            draft.add_row(row, coefficients, lower=-constant, upper=-constant, own=1)
            continue
        # xi_{n,t} - xibar_{n,t} = sum_d sum_j beta_{t,d,j} pi_{d,j} + F_{n,t}
        xibar = int(draft.add_variables(1, upper=most)[0])
        zeta = int(draft.add_variables(1, integer=True)[0])
        row, coefficients = np.append(index, [variable, xibar]), np.append(value, [-unit[t], -UNEVEN * low[t]])
        draft.add_row(row, coefficients, lower=-constant, upper=-constant, own=2)
        # xi_{n,t} <= H_{n,t} zeta_{n,t} and xibar_{n,t} <= -Hbar_{n,t} (1 - zeta_{n,t}), in their units
        draft.add_row(np.array([zeta, variable]), [most, -1.0], lower=0)
        draft.add_row(np.array([zeta, xibar]), [most, 1.0], upper=most)
    return _Active(place, xi, unit[place])
