"""Affine functions of the model inputs as tables over the options: what linear models and networks share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.errors import SolverError
from armin.problem import Problem
from armin.solve.milo.program import UNEVEN, Draft

__all__ = ["EPSILON", "EXACT", "LEAST", "Tables", "add_common", "expression", "grain", "tabulate"]

EPSILON = float(np.finfo(np.float64).eps)

LEAST = 2 * float(np.finfo(np.float64).smallest_subnormal)
"""What a product may be off by where it is too small to have all its digits, as it is summed and as it is tabulated."""

SAME = 16 * EPSILON
"""Gains of two candidates that differ by this part of the numbers they came from are the same."""

AT_ONCE = 1 << 18
"""Numbers that are worked out between two looks at the clock."""

EXACT = 2.0**53
"""Sums of multiples of a grain are exact in float64 as long as they stay below this many grains."""


def grain(*arrays: FloatArray) -> float:
    """The largest power of two that divides all numbers; infinity if all are 0.

    >>> grain(np.array([0.75, -6.0])), grain(np.array([0.1])) < 1e-16
    (0.25, True)
    """
    smallest = np.inf
    for array in arrays:
        mantissa, exponent = np.frexp(array[array != 0])
        whole = (mantissa * EXACT).astype(np.int64)
        smallest = min(smallest, float(np.min(np.ldexp((whole & -whole) / EXACT, exponent), initial=np.inf)))
    return smallest


@dataclass(frozen=True, eq=False)
class Tables:
    """T affine functions of the model inputs, for every candidate and option.

    Attributes
    ----------
    base : array of shape (N, T), the values when nothing changes, F_{n,t} in the paper
    gains : for each feature an array (1 or N, J, T): what option j adds; one row if all candidates agree
    low, high : arrays of shape (N, T), the range over all choices
    noise : array of shape (T,), how much a computed value may be off by rounding
    grain : every value is exactly a multiple of this; 0 where values are rounded
    unit : array of shape (T,), of the size of the largest gain that all candidates share
    """

    base: FloatArray
    gains: tuple[FloatArray, ...]
    low: FloatArray
    high: FloatArray
    noise: FloatArray
    grain: float
    unit: FloatArray


def tabulate(
    draft: Draft, problem: Problem, weights: FloatArray, intercept: FloatArray, sizes: FloatArray | None = None
) -> Tables:
    """Tabulate ``inputs @ weights + intercept`` for weights of shape (P, T); the draft looks at the clock meanwhile.

    ``sizes`` (P + 1, T) holds the size of the terms that rounding acts on, the intercept's last, where
    they are larger than those of ``weights`` and ``intercept`` themselves.

    >>> from armin.models.kinds import Above, LinearModel
    >>> model = LinearModel(np.ones((1, 2)), np.zeros(1), Above(0.0))
    >>> p = Problem.from_tables([[1, 5], [2, 5]], {0: [0, 3], 1: [0, -1]}, {0: [0, 1], 1: [0, 1]}, model, 1)
    >>> t = tabulate(Draft(), p, model.weights.T, model.intercept)
    >>> t.base.ravel().tolist(), [g.shape for g in t.gains], t.low.ravel().tolist(), t.high.ravel().tolist()
    ([6.0, 7.0], [(1, 2, 1), (1, 2, 1)], [5.0, 6.0], [9.0, 10.0])
    """
    tables = [problem.candidates, *(option.outcomes for option in problem.options)]
    if not all(np.isfinite(table).all() for table in tables):
        raise SolverError(
            "Method 'milo' needs a number in every candidate and option of a linear model or a network. "
            "Got NaN or infinity. Use method='enumerate', or impute first."
        )
    largest = np.abs(problem.candidates).max(axis=0)
    for option in problem.options:
        largest[option.columns] = np.abs(option.outcomes).max(axis=(0, 1))
    if sizes is None:
        sizes = np.abs(np.vstack([weights, intercept]))
    size = np.append(largest, 1.0) @ sizes
    gains = []
    for option in problem.options:
        gain = _gains(draft, option.outcomes - option.outcomes[:, :1, :], weights[option.columns])
        if np.all(np.ptp(gain, axis=0) <= SAME * size):
            gain = gain[:1]
        gains.append(gain)
    base = problem.candidates @ weights + intercept
    step = min(grain(*tables) * grain(weights), grain(intercept))
    unit = np.max([np.abs(gain[0]).max(axis=0) for gain in gains if gain.shape[0] == 1], axis=0, initial=0.0)
    return Tables(
        base=base,
        gains=tuple(gains),
        low=base - _most(draft, [-gain.min(axis=1) for gain in gains], base, problem.limit),
        high=base + _most(draft, [gain.max(axis=1) for gain in gains], base, problem.limit),
        noise=(weights.shape[0] + 8) * EPSILON * size + 2 * len(gains) * SAME * size + (weights.shape[0] + 4) * LEAST,
        grain=step if 0 < step < np.inf and size.max(initial=0.0) < EXACT * step else 0.0,
        unit=UNEVEN * np.where(unit > 0, unit, 1.0) + np.zeros(base.shape[1]),
    )


def _gains(draft: Draft, moves: FloatArray, weights: FloatArray) -> FloatArray:
    """``moves @ weights``, a share of the candidates at a time."""
    gain = np.empty((*moves.shape[:2], weights.shape[1]))
    share = max(1, AT_ONCE // max(1, gain[0].size))
    for at in range(0, gain.shape[0], share):
        draft.look_up()
        some = moves[at : at + share]
        flat = some.reshape(some.shape[0] * some.shape[1], some.shape[2]) @ weights
        gain[at : at + share] = flat.reshape(*some.shape[:2], weights.shape[1])
    return gain


def _most(draft: Draft, best: Sequence[FloatArray], base: FloatArray, limit: int) -> FloatArray:
    """The most that ``limit`` changes can add to each value, (N, T), given the best of each feature (1 or N, T)."""
    most = np.zeros_like(base)
    if best and limit > 0:
        share = max(1, AT_ONCE // max(1, len(best) * base.shape[1]))
        for at in range(0, base.shape[0], share):
            draft.look_up()
            part = slice(at, at + share)
            rows = [np.broadcast_to(each if each.shape[0] == 1 else each[part], most[part].shape) for each in best]
            most[part] = np.sort(np.stack(rows), axis=0)[len(best) - limit :].sum(axis=0)
    return most


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
