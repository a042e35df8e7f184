"""How far training rows are from a row with blanks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.schema import Schema

__all__ = ["Neighbours"]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Training rows, ready to be compared with a row.

    The squared distance adds one term per observed feature: ``(x - y)² / (2 var)`` for numbers and ordinal ranks,
    which is 1 on average, and 0 or 1 for equal or different categories. Where a training row is blank, the term is
    its expectation over the column, so that a blank is neither near nor far.

    Attributes
    ----------
    codes : the training codes (n, D), NaN for blanks
    points : (D, n), numbers divided by sqrt(2 var), categories as they are
    unit : (D,), sqrt(2 var); 1 for categories
    present : (n, D), which training codes are not blank

    Examples
    --------
    >>> from armin.schema import Feature
    >>> schema = Schema((Feature("a", "integer", lower=0, upper=9), Feature("b", "binary", categories=(0, 1))))
    >>> near = Neighbours.of(np.array([[1.0, 0], [3.0, 1], [np.nan, 1]]), schema)
    >>> near.squared_distances(np.array([1.0, 1.0]))
    array([1., 2., 1.])
    """

    codes: FloatArray
    points: FloatArray
    unit: FloatArray
    present: BoolArray
    category: BoolArray

    @classmethod
    def of(cls, X: FloatArray, schema: Schema) -> Neighbours:
        """Neighbours among the codes ``X`` (n, D)."""
        category = np.array([f.kind in ("binary", "categorical") for f in schema])
        present = ~np.isnan(X)
        unit = np.ones(X.shape[1])
        for d in np.flatnonzero(~category):
            spread = np.std(X[present[:, d], d]) if present[:, d].any() else 0.0
            unit[d] = np.sqrt(2.0) * spread if spread > 0 else 1.0
        return cls(X, np.ascontiguousarray((X / unit).T), unit, present, category)

    @property
    def counted(self) -> str:
        """How many rows these are, in words."""
        return f"{self.codes.shape[0]:,} training rows"

    @property
    def complete(self) -> bool:
        """Whether nothing is blank in any training row."""
        return bool(self.present.all())

    def squared_distances(self, row: FloatArray) -> FloatArray:
        """The squared distance (n,) of each training row from ``row`` (D,), over what is observed in ``row``."""
        known = np.flatnonzero(~np.isnan(row))
        if known.size and not self.category[known].any() and (self.complete or self.present[:, known].all()):
            apart = self.points[known] - (row[known] / self.unit[known])[:, None]
            apart *= apart
            return np.asarray(apart.sum(axis=0))
        total = np.zeros(self.codes.shape[0])
        for d in np.flatnonzero(~np.isnan(row)):
            total += self._terms(int(d), float(row[d]))
        return total

    def _terms(self, d: int, code: float) -> FloatArray:
        point = self.points[d]
        terms = np.asarray(point != code, dtype=np.float64) if self.category[d] else (point - code / self.unit[d]) ** 2
        known = self.present[:, d]
        if not known.all():
            terms = np.where(known, terms, terms[known].mean() if known.any() else 0.0)
        return terms

    def knowing(self, features: IntArray) -> IntArray:
        """The training rows in which none of ``features`` is blank."""
        if self.complete:
            return np.arange(self.codes.shape[0])
        return np.flatnonzero(self.present[:, features].all(axis=1))


def nearest(distances: FloatArray, rows: IntArray, k: int) -> IntArray:
    """The ``k`` of ``rows`` with the least distance, and all that tie with the last of them.

    >>> nearest(np.array([0.0, 1.0, 1.0, 5.0]), np.array([0, 1, 2, 3]), 2)
    array([0, 1, 2])
    """
    if rows.size <= k:
        return rows
    last = np.partition(distances[rows], k - 1)[k - 1]
    return np.asarray(rows[distances[rows] <= last * (1.0 + 1e-12)])
