"""ReLU networks of any depth as rows (the paper's equation "mlp"); without a hidden layer, linear models ("linear")."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.models.kinds import LinearModel, ReluNetwork
from armin.problem import Problem
from armin.solve.milo.linear import add_ladders
from armin.solve.milo.program import Draft, Program
from armin.solve.milo.shared import Margin, add_choice, add_requirement, add_vote, stack_ways
from armin.solve.milo.tables import Layer, add_common, expression, tabulate

__all__ = ["write_network"]

Affine = Callable[[int], tuple[IntArray, FloatArray, float]]
"""What enters neuron t: positions of variables, coefficients, constant."""


class _Active(NamedTuple):
    """The neurons of a layer that can be positive: their places, variables and units (value = unit * variable)."""

    place: IntArray
    variable: IntArray
    unit: FloatArray

    def into(self, layer: Layer, t: int) -> tuple[IntArray, FloatArray, float]:
        """What enters neuron t of the next layer."""
        return self.variable, layer.weight[self.place, t] * self.unit, float(layer.bias[t])


def write_network(problem: Problem, model: LinearModel | ReluNetwork, formulation: str, until: float) -> Program:
    """Write the program of a linear model or a network.

    A neuron whose input cannot change sign needs no binary; a candidate that cannot be accepted, or cannot but be,
    needs no copy of the network. Both formulations are the paper's rows, one big-M for each candidate, but that in
    ``"tight"`` candidates of a linear model with a single inequality share rows: see :func:`add_ladders`.
    """
    *hidden, (weight, bias) = (
        [(model.weights.T, model.intercept)]
        if isinstance(model, LinearModel)
        else list(zip(model.weights, model.biases, strict=True))
    )
    coefficients, cuts, ways = stack_ways(model.decision)
    last = Layer(
        weight @ coefficients.T,
        coefficients @ bias,
        (np.abs(weight) @ np.abs(coefficients.T), np.abs(coefficients) @ np.abs(bias)),
    )
    first, *layers = [*(Layer(w, b, (np.abs(w), np.abs(b))) for w, b in hidden), last]
    draft = Draft(until)
    tables = tabulate(draft, problem, first)
    picks = add_choice(draft, problem)
    u = add_common(draft, tables, picks)
    ranges = [tables.range]
    for layer in layers:
        ranges.append(ranges[-1].through(layer))
    low, high, off = ranges[-1]
    cuts = cuts - off
    margins = []
    for n in range(problem.n_candidates):
        entering: Affine = partial(expression, tables, picks, u, n)
        if layers and np.any((low[n] < cuts) & (cuts <= high[n])):
            for layer, reach in zip(layers, ranges, strict=False):
                entering = partial(_add_neurons(draft, entering, reach.low[n], reach.high[n]).into, layer)
        elif layers:  # the margins are decided, and their expressions not looked at
            entering = lambda t: (u[:0], np.zeros(0), 0.0)  # noqa: E731
        margins.append([Margin(*entering(m), low[n, m], high[n, m], float(cut)) for m, cut in enumerate(cuts)])
    if formulation == "tight" and not layers and cuts.size == 1:
        votes = add_ladders(draft, problem, tables, [only for (only,) in margins])
    else:
        votes = [add_vote(draft, [each[way] for way in ways]) for each in margins]
    add_requirement(draft, problem, votes, problem.weights)
    return draft.finish(picks)


def _add_neurons(draft: Draft, entering: Affine, low: FloatArray, high: FloatArray) -> _Active:
    """Variables for max(0, input) of each neuron, in units of its largest value H_{n,t}."""
    place = np.flatnonzero(high > 0)
    xi = draft.add_variables(place.size)
    for t, variable in zip(place.tolist(), xi.tolist(), strict=True):
        index, value, constant = entering(t)
        if low[t] >= 0:
            # xi_{n,t} = sum_d sum_j beta_{t,d,j} pi_{d,j} + F_{n,t}
            draft.add_row(np.append(index, variable), np.append(value, -high[t]), lower=-constant, upper=-constant)
            continue
        # xi_{n,t} - xibar_{n,t} = sum_d sum_j beta_{t,d,j} pi_{d,j} + F_{n,t}
        xibar = int(draft.add_variables(1)[0])
        zeta = int(draft.add_variables(1, integer=True)[0])
        row, coefficients = np.append(index, [variable, xibar]), np.append(value, [-high[t], -low[t]])
        draft.add_row(row, coefficients, lower=-constant, upper=-constant)
        # xi_{n,t} <= H_{n,t} zeta_{n,t} and xibar_{n,t} <= -Hbar_{n,t} (1 - zeta_{n,t}), in their units
        draft.add_row(np.array([zeta, variable]), [1.0, -1.0], lower=0)
        draft.add_row(np.array([zeta, xibar]), [1.0, 1.0], upper=1)
    return _Active(place, xi, high[place])
