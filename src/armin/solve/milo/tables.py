"""Affine functions of the model inputs as tables over the options: the first layer of linear models and networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.errors import SolverError
from armin.problem import Problem
from armin.solve.milo.program import TOLERANCE, Draft

__all__ = ["SAME", "Layer", "Range", "Tables", "add_common", "expression", "tabulate"]

SAME = 1e-5 * TOLERANCE
"""Gains of two candidates that differ by this part of their size are the same."""

FLOOR = 1e-290
"""Sums of this size and below are not told from 0: their products have too few digits."""


class Layer(NamedTuple):
    """``inputs @ weight + bias``, and the magnitudes of both before anything in them cancelled out."""

    weight: FloatArray
    bias: FloatArray
    sizes: tuple[FloatArray, FloatArray]

    def off(self, largest: FloatArray, off: FloatArray) -> FloatArray:
        """By how much a program may be wrong about the outputs: inputs up to ``largest``, which are ``off`` already."""
        weight, bias = self.sizes
        return off @ weight + TOLERANCE * (largest @ weight + bias) + FLOOR


class Range(NamedTuple):
    """The range (N, T) of a layer's values over all choices; by how much a program may be wrong about them (T,)."""

    low: FloatArray
    high: FloatArray
    off: FloatArray

    def through(self, layer: Layer) -> Range:
        """The range of the next layer, for inputs ``max(0, values)``."""
        low, high = np.maximum(self.low, 0.0), np.maximum(self.high, 0.0)
        up, down = np.maximum(layer.weight, 0.0), np.minimum(layer.weight, 0.0)
        off = layer.off(high.max(axis=0), self.off)
        return Range(low @ up + high @ down + layer.bias, high @ up + low @ down + layer.bias, off)


class Tables(NamedTuple):
    """T affine functions of the model inputs, for every candidate and option.

    Attributes
    ----------
    base : array of shape (N, T), the values when nothing changes, F_{n,t} in the paper
    gains : for each feature an array (1 or N, J, T): what option j adds; one row if all candidates agree
    range : of the values
    unit : array of shape (T,), of the size of the largest gain that all candidates share
    """

    base: FloatArray
    gains: tuple[FloatArray, ...]
    range: Range
    unit: FloatArray


def tabulate(draft: Draft, problem: Problem, layer: Layer) -> Tables:
    """Tabulate a layer.

    >>> from armin.models.kinds import Above, LinearModel
    >>> model = LinearModel(np.ones((1, 2)), np.zeros(1), Above(0.0))
    >>> p = Problem.from_tables([[1, 5], [2, 5]], {0: [0, 3], 1: [0, -1]}, {0: [0, 1], 1: [0, 1]}, model, 1)
    >>> t = tabulate(Draft(), p, Layer(np.ones((2, 1)), np.zeros(1), (np.ones((2, 1)), np.zeros(1))))
    >>> t.base.ravel().tolist(), [g.shape for g in t.gains], t.range.low.ravel().tolist(), t.range.high.ravel().tolist()
    ([6.0, 7.0], [(1, 2, 1), (1, 2, 1)], [5.0, 6.0], [9.0, 10.0])
    """
    if not all(np.isfinite(table).all() for table in [problem.candidates, *(o.outcomes for o in problem.options)]):
        raise SolverError(
            "Method 'milo' needs a number in every candidate and option of a linear model or a network. "
            "Got NaN or infinity. Use method='enumerate', or impute first."
        )
    largest = np.abs(problem.candidates).max(axis=0)
    for option in problem.options:
        largest[option.columns] = np.abs(option.outcomes).max(axis=(0, 1))
    off = layer.off(largest, np.zeros(largest.size))
    gains = []
    for option in problem.options:
        draft.check_time()
        gain = (option.outcomes - option.outcomes[:, :1, :]) @ layer.weight[option.columns]
        gains.append(gain[:1] if np.all(np.ptp(gain, axis=0) <= 1e-5 * off) else gain)
    base = problem.candidates @ layer.weight + layer.bias
    low = base - _most([-gain.min(axis=1) for gain in gains], base, problem.limit)
    high = base + _most([gain.max(axis=1) for gain in gains], base, problem.limit)
    unit = np.max([np.abs(gain[0]).max(axis=0) for gain in gains if gain.shape[0] == 1], axis=0, initial=0.0)
    unit = np.where(unit > FLOOR, unit, 1.0) + np.zeros(base.shape[1])
    return Tables(base, tuple(gains), Range(low, high, off), unit)


def _most(best: Sequence[FloatArray], base: FloatArray, limit: int) -> FloatArray:
    """The most that ``limit`` changes can add to each value, (N, T), given the best of each feature (1 or N, T)."""
    if not best or limit <= 0:
        return np.zeros_like(base)
    ordered = np.sort(np.stack([np.broadcast_to(each, base.shape) for each in best]), axis=0)
    return np.asarray(ordered[len(best) - limit :].sum(axis=0))


def add_common(draft: Draft, tables: Tables, picks: Sequence[IntArray]) -> IntArray:
    """Variables for what is added over the features in which all candidates agree, in units of ``tables.unit``."""
    count = tables.base.shape[1]
    common = [(pick, gain[0]) for pick, gain in zip(picks, tables.gains, strict=True) if gain.shape[0] == 1]
    low = sum((gain.min(axis=0) for _, gain in common), np.zeros(count))
    high = sum((gain.max(axis=0) for _, gain in common), np.zeros(count))
    u = draft.add_variables(count, low / tables.unit, high / tables.unit)
    if common:
        index = np.concatenate([pick for pick, _ in common])
        value = np.concatenate([gain for _, gain in common])
        for t in range(count):
            # u_t = sum_d sum_j gain_{d,j,t} pi_{d,j}
            draft.add_row(np.append(index, u[t]), np.append(value[:, t], -tables.unit[t]), lower=0, upper=0)
    return u


def expression(
    tables: Tables, picks: Sequence[IntArray], u: IntArray, n: int, t: int
) -> tuple[IntArray, FloatArray, float]:
    """Function t of candidate n in the variables: positions, coefficients, constant."""
    own = [(pick, gain[n, :, t]) for pick, gain in zip(picks, tables.gains, strict=True) if gain.shape[0] > 1]
    index = np.concatenate([u[t : t + 1]] + [pick for pick, _ in own])
    value = np.concatenate([tables.unit[t : t + 1]] + [gain for _, gain in own])
    return index, value, float(tables.base[n, t])
