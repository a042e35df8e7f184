"""From the table that reaches a classifier to the matrix of numbers that its model compares.

>>> import pandas as pd
>>> frame = pd.DataFrame({"size": pd.array([3, None], dtype="Int64"), "new": [True, False]})
>>> dense(frame)
array([[ 3.,  1.],
       [nan,  0.]])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.errors import ModelError

__all__ = ["Prepare", "WholeNumbers", "category_codes", "dense", "dense_but", "shared_columns"]

_FOLD = 32
"""Rows that are looked at together."""

Prepare = Callable[[Any], FloatArray]
"""Maps the rows that reach a classifier to its model's inputs, column by column."""


def dense(rows: Any) -> FloatArray:
    """Anything a transformer returns as a plain matrix of floats."""
    if hasattr(rows, "toarray"):
        rows = rows.toarray()
    try:
        if isinstance(rows, pd.DataFrame):
            return np.asarray(rows.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(
            "The classifier takes columns that are not numbers. Encode them in a Pipeline before the classifier."
        ) from None


def dense_but(frame: pd.DataFrame, given: Mapping[int, FloatArray]) -> FloatArray:
    """A frame as a matrix of floats, the columns in ``given`` taken from there.

    >>> dense_but(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), {1: np.array([0.0, 1.0])})
    array([[1., 0.],
           [2., 1.]])
    """
    matrix = np.empty(frame.shape)
    others = [i for i in range(frame.shape[1]) if i not in given]
    matrix[:, others] = dense(frame.iloc[:, others])
    for i, column in given.items():
        matrix[:, i] = column
    return matrix


def category_codes(column: pd.Series[Any], known: Sequence[Any] | None = None) -> FloatArray:
    """The codes of a column of pandas categories, in the order ``known`` or its own; NaN for any other value.

    >>> category_codes(pd.Series(["b", "a", "c", None], dtype="category"), ["a", "b"])
    array([ 1.,  0., nan, nan])
    """
    if known is not None and list(column.cat.categories) != list(known):
        column = column.cat.set_categories(list(known))
    codes = column.cat.codes.to_numpy(dtype=np.float64)
    return np.where(codes < 0, np.nan, codes)


def shared_columns(codes: FloatArray) -> BoolArray:
    """In which columns (D,) all rows have the value of the first; NaN is like nothing.

    >>> shared_columns(np.array([[1.0, 2.0, np.nan], [1.0, 3.0, np.nan]]))
    array([ True, False, False])
    """
    same = codes == codes[0]
    if same.shape[0] < 4 * _FOLD:
        return np.asarray(same.all(axis=0))
    width = same.shape[1]
    folded = same.shape[0] // _FOLD * _FOLD
    # rows beside each other are looked at together: long rows take less time than many
    few = same[:folded].reshape(_FOLD, -1).all(axis=0).reshape(-1, width)
    return np.asarray(few.all(axis=0) & same[folded:].all(axis=0))


@dataclass(frozen=True, eq=False)
class WholeNumbers:
    """Where whole numbers stand among known ones, without searching.

    Attributes
    ----------
    low : the least of them
    places : for each whole number from there on its place, or -1; empty where they are too far apart

    Examples
    --------
    >>> known = WholeNumbers.of(np.array([2.0, 2.5, 4.0]))
    >>> known.find(np.array([4.0, 2.0])), known.find(np.array([2.5])), known.find(np.array([3.0]))
    (array([2, 0]), None, None)
    """

    low: int
    places: IntArray

    most = 100_000
    """Numbers between the least and the greatest."""

    @classmethod
    def of(cls, known: FloatArray) -> WholeNumbers:
        """The whole ones among known values (K,)."""
        at = np.flatnonzero(known == np.rint(known))
        if not at.size or not float(np.ptp(known[at])) < cls.most or not np.abs(known[at]).max() < 2.0**52:
            return cls(0, np.zeros(0, dtype=np.intp))
        low = int(known[at].min())
        places = np.full(int(known[at].max()) - low + 1, -1, dtype=np.intp)
        places[known[at].astype(np.intp) - low] = at
        return cls(low, places)

    def place(self, value: float) -> int:
        """The place of one value; -1 unless it is whole and known."""
        if not value.is_integer() or not 0 <= value - self.low < self.places.size:
            return -1
        return int(self.places[int(value) - self.low])

    def find(self, values: FloatArray) -> IntArray | None:
        """The places of values (n,); None unless all of them are whole and known."""
        with np.errstate(invalid="ignore"):
            whole = values.astype(np.intp)
        if not self.places.size or not values.size or (whole != values).any():
            return None
        whole -= self.low
        if whole.min() < 0 or whole.max() >= self.places.size:
            return None
        found = self.places[whole]
        return None if found.min() < 0 else found
