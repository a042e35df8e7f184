"""Rubin's rules: one statement from many completions, with what the blanks leave open.

>>> import numpy as np
>>> found = pool(np.array([[1.0, 2.0], [3.0, 2.0]]), np.zeros((2, 2)), np.ones(2))
>>> found.mean.tolist(), found.between.tolist()
([2.0, 2.0], [2.0, 0.0])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from armin.arrays import BoolArray, FloatArray, IntArray

__all__ = ["Pooled", "apart", "interval", "pool", "ranks_first"]

SURE = 3.0
"""Standard errors from which on two weights are told apart: another seed then hardly ever swaps them."""
_DUST = 1e-9  # what sums of the same numbers in another order can differ by, relative to the largest


@dataclass(frozen=True, eq=False)
class Pooled:
    """Statements about several quantities.

    Attributes
    ----------
    mean : over the completions
    within : the mean squared standard error in one completion; zero where nothing is sampled
    between : the variance between completions; zero where nothing is blank
    size : how many equal completions the weighted ones are worth
    """

    mean: FloatArray
    within: FloatArray
    between: FloatArray
    size: float

    @property
    def total(self) -> FloatArray:
        """The variance of the quantity of the real person around the mean: within + (1 + 1 / m) between."""
        return self.within + (1.0 + 1.0 / self.size) * self.between


def pool(values: FloatArray, variance: FloatArray, weights: FloatArray) -> Pooled:
    """Pool quantities (N, K) with their squared standard errors over completions with weights (N,)."""
    share = weights / weights.sum()
    size = float(1.0 / (share**2).sum())
    mean = share @ values
    spread = share @ (values - mean) ** 2
    same = np.ptp(values, axis=0) <= _DUST * max(1e-300, float(np.abs(values).max(initial=0.0)))
    between = np.where(same, 0.0, spread * size / (size - 1.0)) if size > 1.0 + 1e-9 else np.zeros_like(mean)
    return Pooled(mean, share @ variance, between, size)


def interval(
    values: FloatArray, within: FloatArray, weights: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Between which numbers (K,) the quantity of the real person lies with probability ``level``.

    If the real person is like one more completion, the ranks are those that have this probability for any distribution.
    Where completions share a quantity, these ranks hold more than they must: what is shared at an end is then left out,
    the smaller end first, as long as the completions between the ends are still as many as the ranks ask for.
    What was sampled adds its error on both sides.
    """
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0)
    share = weights / weights.sum()
    size = 1.0 / float((share**2).sum())
    reached = np.cumsum(share[order], axis=0) * size / (size + 1.0)
    tail = (1.0 - level) / 2.0
    n = values.shape[0]
    low_at = np.clip((reached <= tail + 1e-12).sum(axis=0) - 1, 0, n - 1)
    high_at = np.clip((reached < 1.0 - tail - 1e-12).sum(axis=0), 0, n - 1)
    low, high = np.empty(values.shape[1]), np.empty(values.shape[1])
    enough = (level * (size + 1.0) + 1.0) / size  # between the ends of c draws lie c - 1 of the n + 1 gaps
    for k in range(values.shape[1]):
        low[k], high[k] = _without_ends(ordered[:, k], share[order[:, k]], int(low_at[k]), int(high_at[k]), enough)
    error = norm.isf(tail) * np.sqrt(within)
    return low - error, high + error


def _without_ends(ordered: FloatArray, share: FloatArray, first: int, last: int, enough: float) -> tuple[float, float]:
    """The ends of ``ordered[first : last + 1]``, less the equal quantities at either end that are not needed.

    >>> _without_ends(np.array([0.0, 1.0, 1.0, 1.0, 5.0]), np.full(5, 0.2), 0, 4, 0.6)
    (1.0, 1.0)
    """
    dust = _DUST * float(np.abs(ordered).max())
    if ordered[last] - ordered[first] <= dust:
        return float(ordered[first]), float(ordered[last])
    starts = np.flatnonzero(np.concatenate([[True], np.diff(ordered) > dust]))
    shares, lowest, highest = np.add.reduceat(share, starts), ordered[starts], ordered[np.append(starts[1:], 0) - 1]
    a, b = (int(np.searchsorted(starts, at, side="right")) - 1 for at in (first, last))
    held = float(shares[a : b + 1].sum())
    while a < b:
        smaller = min(shares[a], shares[b])
        if held - smaller < enough - 1e-12:
            break
        held -= smaller
        a, b = (a + 1, b) if shares[a] <= shares[b] else (a, b - 1)
    return float(lowest[a]), float(highest[b])


def ranks_first(values: FloatArray, most: int) -> BoolArray:
    """Which quantities (N, K) are among the ``most`` largest of their row, and positive.

    >>> ranks_first(np.array([[3.0, -1.0, 2.0, 1.0]]), 2).tolist()
    [[True, False, True, False]]
    """
    order = np.argsort(-values, axis=1, kind="stable")
    place: IntArray = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(values.shape[1])[None, :], axis=1)
    return np.asarray((place < most) & (values > 0.0))


def apart(values: FloatArray, variance: FloatArray, weights: FloatArray, one: int, other: int) -> bool:
    """Whether the means of two quantities can be told apart, whatever the seed.

    Completions were drawn, and so may orders have been: the difference must exceed what another draw could change.
    """
    share = weights / weights.sum()
    size = 1.0 / float((share**2).sum())
    difference = values[:, one] - values[:, other]
    mean = float(share @ difference)
    drawn = float(share @ (difference - mean) ** 2) / size
    sampled = float(share @ (variance[:, one] + variance[:, other]))
    dust = _DUST * float(np.abs(values).max(initial=0.0))
    return bool(abs(mean) > SURE * np.sqrt(drawn + sampled) + dust)
