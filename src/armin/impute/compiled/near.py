"""Donors with nearly the same mean, compiled.

This is only loaded where compiled code is at work in the process anyway: for the draws of one answer alone it is not
worth it. The draws are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from armin.arrays import FloatArray, IntArray
from armin.compiling import called, entry

__all__ = ["Cells", "Donors", "cells_of", "sweep"]


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
        """Eight cells for each of the sorted numbers (n,)."""
        low, width, count = float(numbers[0]), float(numbers[-1] - numbers[0]), 8 * numbers.size
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


class Donors(NamedTuple):
    """The donors of one regression, and what it aims at; see :class:`armin.impute.conditional.Matching`.

    Attributes
    ----------
    means, first, size, k : the donors
    start, low, inverse : the cells of ``means``
    target, spread : what is aimed at, and how far that may move
    place : for each donor what is said of it
    """

    means: FloatArray
    first: IntArray
    size: IntArray
    k: int
    start: NDArray[np.int32]
    low: float
    inverse: float
    target: FloatArray
    spread: FloatArray
    place: IntArray


@called
def _one(donors: Donors, which: int, moved: float, chance: float, again: float) -> int:
    means, count, last = donors.means, donors.means.size, donors.start.size - 1
    aim = donors.target[which] + donors.spread[which] * moved
    cell = (aim - donors.low) * donors.inverse
    at = int(donors.start[last if cell >= last else int(cell) if cell > 0 else 0])
    while at > 0 and means[at - 1] >= aim:
        at -= 1
    while at < count and means[at] < aim:
        at += 1
    # as many donors below as above, counted from the middle of those that share the mean
    doubled, here = 2 * at - (donors.k - 1), min(at, count - 1)
    if means[here] == aim:
        doubled += int(donors.size[here])
    near = min(max(doubled >> 1, 0), count - donors.k) + int(chance * donors.k)
    return int(donors.place[donors.first[near] + int(again * donors.size[near])])


@entry
def sweep(
    one: Donors, other: Donors, level: IntArray, moved: FloatArray, chance: FloatArray
) -> tuple[IntArray, IntArray]:
    """Two blanks, each redrawn given the other, in turn; ``level`` (n,) is where the other one starts.

    ``moved`` (2 S, n) and ``chance`` (2 S, 2, n) are the draws of S sweeps.
    """
    first, second = np.empty_like(level), level.copy()
    for s in range(0, moved.shape[0], 2):
        for i in range(level.size):
            first[i] = _one(one, second[i], moved[s, i], chance[s, 0, i], chance[s, 1, i])
            second[i] = _one(other, first[i], moved[s + 1, i], chance[s + 1, 0, i], chance[s + 1, 1, i])
    return first, second
