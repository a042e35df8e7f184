"""Donors with nearly the same mean, compiled.

This is only loaded where compiled code is at work in the process anyway: for the draws of one answer alone it is not
worth it. The draws are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from armin.arrays import FloatArray, IntArray
from armin.compiling import compiled

__all__ = ["Cells", "cells_of", "pick"]

@dataclass(frozen=True, eq=False)
class Cells:
    """Sorted numbers cut into cells of equal width, so that a place among them is found in a few steps.

    Attributes
    ----------
    start : for each cell, how many numbers lie before it, but for rounding
    low : where the first cell begins
    inverse : cells per unit
    """

    start: NDArray[np.int32]
    low: float
    inverse: float

    @classmethod
    def of(cls, numbers: FloatArray) -> Cells:
        """Four cells for each of the sorted numbers (n,)."""
        low, width, count = float(numbers[0]), float(numbers[-1] - numbers[0]), 4 * numbers.size
        if not width > 0:
            return cls(np.zeros(1, dtype=np.int32), low, 0.0)
        edges = low + width * (np.arange(count) / count)
        return cls(numbers.searchsorted(edges).astype(np.int32), low, count / width)


_cells: dict[int, Cells] = {}


def cells_of(numbers: FloatArray) -> Cells:
    """The cells of sorted numbers, made once for as long as these live.

    >>> means = np.array([0.0, 1.0, 3.0])
    >>> cells_of(means) is cells_of(means)
    True
    """
    key = id(numbers)
    found = _cells.get(key)
    if found is None:
        found = _cells[key] = Cells.of(numbers)
        finalize(numbers, _cells.pop, key, None)
    return found


@compiled
def pick(
    means: FloatArray,
    first: IntArray,
    size: IntArray,
    k: int,
    start: NDArray[np.int32],
    low: float,
    inverse: float,
    target: FloatArray,
    spread: FloatArray,
    which: IntArray,
    moved: FloatArray,
    chance: FloatArray,
) -> IntArray:
    """For each of ``which`` (n,) a donor near ``target``; see :meth:`armin.impute.conditional.Matching.near`.

    Parameters
    ----------
    means, first, size, k : the donors
    start, low, inverse : the cells of ``means``
    target, spread : what is aimed at, and how far that may move
    which : positions in both
    moved, chance : a normal draw (n,), and two uniform ones (2, n)
    """
    n, donors, last = which.size, means.size, start.size - 1
    found = np.empty(n, dtype=np.intp)
    for i in range(n):
        aim = target[which[i]] + spread[which[i]] * moved[i]
        cell = (aim - low) * inverse
        at = start[last if cell >= last else int(cell) if cell > 0 else 0]
        while at > 0 and means[at - 1] >= aim:
            at -= 1
        while at < donors and means[at] < aim:
            at += 1
        # as many donors below as above, counted from the middle of those that share the mean
        doubled = 2 * np.intp(at) - (k - 1)
        here = min(at, donors - 1)
        if means[here] == aim:
            doubled += size[here]
        one = min(max(doubled >> 1, 0), donors - k) + int(chance[0, i] * k)
        found[i] = first[one] + int(chance[1, i] * size[one])
    return found
