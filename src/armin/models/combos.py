"""What combinations of values of a few columns become, remembered for everybody who comes after."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from armin.arrays import FloatArray, IntArray

__all__ = ["Combinations"]

Place = NDArray[np.int32]

FIRST = 64
"""Values of a column that there is room for at the beginning."""

MOST_COLUMNS = 8
"""Columns that a table over all their values makes sense for."""


class Combinations:
    """Outcomes by the values of a few columns, found by indexing.

    Each value of a column gets a number when it is first seen, and a table over the numbers says where the outcome of
    a combination stands, or that it is not known. Threads may share it: what is handed out is never changed.

    Examples
    --------
    >>> known = Combinations(columns=2, width=1)
    >>> debts, incomes, picks = np.array([[1.0, 2.0]]), np.array([[5.0, 8.0]]), np.array([[0, 0], [1, 0]])
    >>> known.lacking([debts, incomes], picks)
    (array([0, 0]), array([0, 1]))
    >>> known.keep(np.array([[1.0, 5.0], [2.0, 5.0]]), np.array([[0.2], [0.4]]))
    >>> known.found([debts, incomes], picks).tolist()
    [[[0.2], [0.4]]]
    >>> known.found([debts, incomes], np.array([[1, 1]])) is None
    True
    """

    most_places = 1_000_000
    """Combinations of values seen that there is a place for, at most."""
    most_outcomes = 200_000
    """Outcomes that are kept, at most."""

    def __init__(self, columns: int, width: int) -> None:
        self.columns, self.width = columns, width
        self.lock = Lock()
        self.forget()

    def forget(self) -> None:
        """Begin again."""
        self.values: list[FloatArray] = [np.zeros(0) for _ in range(self.columns)]
        self.numbers: list[IntArray] = [np.zeros(0, dtype=np.intp) for _ in range(self.columns)]
        self.place: Place = np.zeros((0,) * min(self.columns, MOST_COLUMNS), dtype=np.int32)
        self.outcomes: FloatArray = np.zeros((0, self.width))
        self.count = 0

    def found(self, values: Sequence[FloatArray], picks: IntArray) -> FloatArray | None:
        """The outcomes (S, M, E) of combinations; None if one is not known.

        Parameters
        ----------
        values : for each column the values (1 or S, J)
        picks : int array (M, columns), the combinations as places among the values
        """
        with self.lock:
            at = self._at(values, picks)
            if at is None:
                return None
            place = self.place[tuple(np.broadcast_arrays(*at))]
            return None if place.size and place.min() < 0 else self.outcomes[place]

    def lacking(self, values: Sequence[FloatArray], picks: IntArray) -> tuple[IntArray, IntArray] | None:
        """Where (s, m) combinations stand that are not known, each of them once; None if there is no room for them."""
        with self.lock:
            at = self._at(values, picks)
            if at is None:
                return None
            at = list(np.broadcast_arrays(*at))
            new = np.nonzero(self.place[tuple(at)] < 0)
            label = np.ravel_multi_index(tuple(one[new] for one in at), self.place.shape)
        _, first = np.unique(label, return_index=True)
        first.sort()
        return new[0][first], new[1][first]

    def keep(self, rows: FloatArray, outcomes: FloatArray) -> None:
        """Remember the outcomes (n, E) of combinations (n, columns); what there is no room for is left out."""
        with self.lock:
            if self.count + rows.shape[0] > self.most_outcomes:
                self.forget()
            at = self._at([column[None, :] for column in rows.T], _along(rows))
            if at is None or rows.shape[0] > self.most_outcomes:
                return
            end = self.count + rows.shape[0]
            if end > self.outcomes.shape[0]:
                more = np.zeros((max(2 * self.outcomes.shape[0], end, FIRST), self.width))
                more[: self.count] = self.outcomes[: self.count]
                self.outcomes = more
            self.outcomes[self.count : end] = outcomes
            self.place[tuple(one[0] for one in at)] = np.arange(self.count, end, dtype=np.int32)
            self.count = end

    def _at(self, values: Sequence[FloatArray], picks: IntArray) -> list[IntArray] | None:
        """The numbers (1 or S, M) of the values of each combination; None if there is no room for all values."""
        if self.columns > MOST_COLUMNS:
            return None
        wanted = [one.ravel() for one in values]
        if not all(_has(known, one) for known, one in zip(self.values, wanted, strict=True)) and not self._number(
            wanted
        ):
            self.forget()
            if not self._number(wanted):
                self.forget()
                return None
        return [
            numbers[_where(known, one)][:, pick]
            for known, numbers, one, pick in zip(self.values, self.numbers, values, picks.T, strict=True)
        ]

    def _number(self, wanted: Sequence[FloatArray]) -> bool:
        """Give numbers to the values of each column; whether there is a place for all their combinations."""
        every = [np.unique(np.concatenate([known, new])) for known, new in zip(self.values, wanted, strict=True)]
        sizes = [one.size for one in every]
        if np.prod(sizes, dtype=np.float64) > self.most_places:
            return False
        for k, (known, merged) in enumerate(zip(self.values, every, strict=True)):
            if merged.size > known.size:
                numbers: IntArray = np.full(merged.size, -1, dtype=np.intp)
                numbers[_where(merged, known)] = self.numbers[k]
                numbers[numbers < 0] = np.arange(known.size, merged.size)
                self.values[k], self.numbers[k] = merged, numbers
        room = self.place.shape
        if any(size > has for size, has in zip(sizes, room, strict=True)):
            wider = [has if size <= has else max(size, 2 * has, FIRST) for size, has in zip(sizes, room, strict=True)]
            if np.prod(wider, dtype=np.float64) > 4 * self.most_places:
                wider = sizes
            place: Place = np.full([max(w, h) for w, h in zip(wider, room, strict=True)], -1, dtype=np.int32)
            place[tuple(slice(0, has) for has in room)] = self.place
            self.place = place
        return True


def _where(known: FloatArray, wanted: FloatArray) -> IntArray:
    """Where values stand among known ones, or would."""
    return np.asarray(np.minimum(known.searchsorted(wanted), max(known.size - 1, 0)))


def _has(known: FloatArray, wanted: FloatArray) -> bool:
    """Whether all wanted values are known; NaN is the same as NaN."""
    if not known.size:
        return not wanted.size
    there = known[_where(known, wanted)]
    return bool(((there == wanted) | (np.isnan(there) & np.isnan(wanted))).all())


def _along(rows: FloatArray) -> IntArray:
    """The combinations of rows: the first value of each column, then the second, and so on."""
    return np.repeat(np.arange(rows.shape[0])[:, None], rows.shape[1], axis=1)
