"""Rows of codes as the columns of a regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.schema import Feature, Schema

__all__ = ["Design"]


_FEW = 100  # rows below which a number keeps its single column
_KNOWN = 0.95  # a number that is blank more often stays straight: its filled values would shape the bends
_KNOTS = (0.1, 0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True, eq=False)
class Design:
    """Numbers and ordinal ranks standardised, binaries centred, a centred indicator for each category.

    A number that is seldom blank also gets a column ``max(x - knot, 0)`` for each knot, a quantile of its training
    values, so that a regression may bend there.

    Attributes
    ----------
    columns : for each feature, where its columns stand
    indicators : for each feature, whether it has one column per category
    knots : for each feature, where its effect may bend; empty for what is not a number
    centre, scale : (P,)
    source, level, bend : (P,), for each column its feature, the category that it indicates (-1 if none) and the knot
        (minus infinity for the value itself, NaN for an indicator)

    Examples
    --------
    >>> schema = Schema((Feature("a", "ordinal", categories="lmn"), Feature("b", "categorical", categories="xyz")))
    >>> design = Design.of(np.array([[0.0, 0], [2.0, 1], [1.0, np.nan], [1.0, np.nan]]), schema)
    >>> design.encode(np.array([[1.0, 1]]))
    array([[ 0. , -0.5,  0.5,  0. ]])
    """

    columns: tuple[slice, ...]
    indicators: tuple[bool, ...]
    knots: tuple[FloatArray, ...]
    centre: FloatArray
    scale: FloatArray
    source: IntArray
    level: IntArray
    bend: FloatArray

    @classmethod
    def of(cls, X: FloatArray, schema: Schema) -> Design:
        """The design whose centre, scale and knots are those of the codes ``X`` (n, D); blanks are skipped."""
        columns, knots, centres, scales, start = [], [], [], [], 0
        sources, levels, bent = [], [], []
        for d, (feature, column) in enumerate(zip(schema, X.T, strict=True)):
            known = column[~np.isnan(column)]
            if known.size == 0:
                known = np.array([feature.low_code, feature.high_code])
            bends = _bends(feature, known, X.shape[0])
            raw = _raw(known, _width(feature), bends)
            centres.append(raw.mean(axis=0))
            spread = raw.std(axis=0)
            standardised = feature.is_number or feature.kind == "ordinal"
            scales.append(np.where((spread > 0) & standardised, spread, 1.0))
            columns.append(slice(start, start + raw.shape[1]))
            knots.append(bends)
            sources.append(np.full(raw.shape[1], d, dtype=np.intp))
            many = _width(feature) > 1
            levels.append(np.arange(raw.shape[1]) if many else np.full(raw.shape[1], -1))
            bent.append(np.full(raw.shape[1], np.nan) if many else np.append(-np.inf, bends))
            start += raw.shape[1]
        indicators = tuple(_width(feature) > 1 for feature in schema)
        flat = (np.concatenate(parts) for parts in (centres, scales, sources, levels, bent))
        return cls(tuple(columns), indicators, tuple(knots), *flat)

    @property
    def width(self) -> int:
        """P, the number of columns."""
        return int(self.centre.size)

    def main(self) -> IntArray:
        """The columns that hold a value or indicate a category, without the bends."""
        return np.flatnonzero((self.level >= 0) | np.isneginf(self.bend))

    def encode(self, values: FloatArray) -> FloatArray:
        """The design (n, P) of codes (n, D) without blanks."""
        out = np.empty((values.shape[0], self.width))
        for d, at in enumerate(self.columns):
            out[:, at] = self.feature(d, values[:, d])
        return out

    def row(self, codes: FloatArray) -> FloatArray:
        """The design (P,) of one row of codes (D,); 0, the centre, where it is blank."""
        own = codes[self.source]
        raw = np.where(self.level >= 0, own == self.level, np.maximum(own - self.bend, 0.0))
        raw = np.where(np.isneginf(self.bend), own, raw)
        return np.where(np.isnan(own), 0.0, (raw - self.centre) / self.scale)

    def feature(self, d: int, codes: FloatArray) -> FloatArray:
        """The columns (n, E) of feature ``d``."""
        at = self.columns[d]
        if self.indicators[d]:
            return self.standardise(d, _raw(codes, at.stop - at.start, self.knots[d]))
        bend = self.bend[at]
        itself = bend == -np.inf
        # what bends is cut off at 0, the value itself is not
        raw = codes[:, None] - np.where(itself, 0.0, bend)
        np.maximum(raw, np.where(itself, bend, 0.0), out=raw)
        raw -= self.centre[at]
        raw /= self.scale[at]
        return raw

    def standardise(self, d: int, raw: FloatArray) -> FloatArray:
        """Raw columns (n, E) of feature ``d``, a number or shares of categories, centred and scaled."""
        at = self.columns[d]
        return (raw - self.centre[at]) / self.scale[at]


def _width(feature: Feature) -> int:
    return len(feature.categories) if feature.kind == "categorical" else 1


def _bends(feature: Feature, known: FloatArray, rows: int) -> FloatArray:
    """The inner knots of a number; none where its values are few or often blank."""
    if not feature.is_number or known.size < max(_FEW, _KNOWN * rows):
        return np.empty(0)
    knots = np.unique(np.quantile(known, _KNOTS))
    return np.asarray(knots[(knots > known.min()) & (knots < known.max())])


def _raw(codes: FloatArray, width: int, knots: FloatArray) -> FloatArray:
    if width > 1:
        return np.asarray(codes[:, None] == np.arange(width), dtype=np.float64)
    own = codes[:, None]
    return np.hstack([own, np.maximum(own - knots, 0.0)]) if knots.size else own
