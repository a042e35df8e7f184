"""Training values of which each stands for several people."""

from __future__ import annotations

from collections import Counter

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.sampling.legal import middle, nearest_legal
from armin.schema import Feature, Schema

__all__ = ["coarse", "grouped", "unique_rows"]


def coarse(feature: Feature, codes: FloatArray, at_least: int) -> FloatArray:
    """The codes (n,) of a number, each replaced by the mean of a group of neighbours of at least ``at_least`` people.

    Equal values stay together. Categories stay as they are: the schema lists them anyway. Blanks stay blank.

    >>> age = Feature("age", "integer", lower=0, upper=120)
    >>> coarse(age, np.array([20.0, 21, 22, 60, 61, 99]), 3)
    array([21., 21., 21., 73., 73., 73.])
    """
    out = codes.copy()
    known = np.flatnonzero(~np.isnan(codes))
    if not feature.is_number or at_least < 2 or known.size == 0:
        return out
    values, at, counts = np.unique(codes[known], return_inverse=True, return_counts=True)
    group, filled, current = np.zeros(values.size, dtype=np.intp), 0, 0
    for i, count in enumerate(counts):
        group[i], filled = current, filled + int(count)
        if filled >= at_least:
            current, filled = current + 1, 0
    if filled and current:  # too few are left over: they join the last group
        group[group == current] = current - 1
    member = group[at]
    means = np.bincount(member, weights=codes[known]) / np.bincount(member)
    out[known] = nearest_legal(feature, means)[member]
    return out


def grouped(X: FloatArray, schema: Schema, at_least: int) -> FloatArray:
    """Rows of codes (n, D) of which at least ``at_least`` are the same: each group of neighbours becomes its middle.

    Groups are halved at the median of the feature in which they spread most, as long as both halves are large enough
    (Mondrian), so that people in a group are alike. A blank becomes known if most of its group know it, and the other
    way round.

    >>> schema = Schema((Feature("a", "integer", lower=0, upper=9), Feature("b", "integer", lower=0, upper=9)))
    >>> grouped(np.array([[1.0, 1], [2, 3], [7, 8], [9, 8]]), schema, 2)
    array([[2., 2.],
           [2., 2.],
           [8., 8.],
           [8., 8.]])
    """
    filled = X.copy()
    for d in range(X.shape[1]):
        blank = np.isnan(X[:, d])
        filled[blank, d] = np.median(X[~blank, d]) if not blank.all() else 0.0
    spread = filled.std(axis=0)
    scaled = filled / np.where(spread > 0, spread, 1.0)
    out, stack = X.copy(), [np.arange(X.shape[0])]
    while stack:
        rows = stack.pop()
        halves = _halves(scaled, rows, at_least)
        if halves is not None:
            stack.extend(halves)
            continue
        for d, feature in enumerate(schema):
            codes = X[rows, d]
            codes = codes[~np.isnan(codes)]
            out[rows, d] = middle(feature, codes) if 2 * codes.size > rows.size else np.nan
    return out


def _halves(scaled: FloatArray, rows: IntArray, at_least: int) -> tuple[IntArray, IntArray] | None:
    """A group in two, by the feature of widest range that leaves enough people on both sides."""
    if rows.size < 2 * at_least:
        return None
    inside = scaled[rows]
    ranges = np.ptp(inside, axis=0)
    for d in np.argsort(-ranges, kind="stable"):
        if ranges[d] == 0.0:
            return None
        cut = np.median(inside[:, d])
        for below in (inside[:, d] <= cut, inside[:, d] < cut):
            if at_least <= below.sum() <= rows.size - at_least:
                return rows[below], rows[~below]
    return None


def unique_rows(*kept: FloatArray) -> tuple[int, int]:
    """How many people stand in tables (n, D), and how many of them are the only one with their values.

    A blank is a value. Rows of one table are different people; the same row in two tables is the same person.

    >>> unique_rows(np.array([[1.0, 2.0], [1.0, 2.0], [1.0, np.nan]]), np.array([[1.0, np.nan]]))
    (3, 1)
    """
    most: Counter[bytes] = Counter()
    for table in kept:
        most |= Counter(row.tobytes() for row in np.where(np.isnan(table), np.nan, table + 0.0))
    return most.total(), sum(count == 1 for count in most.values())
