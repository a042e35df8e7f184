"""Rows of codes as the columns of a regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armin.impute.base import FloatArray
from armin.schema import Feature, Schema

__all__ = ["Design"]


@dataclass(frozen=True, eq=False)
class Design:
    """Numbers and ordinal ranks standardised, binaries centred, a centred indicator for each category.

    Attributes
    ----------
    columns : for each feature, where its columns stand
    indicators : for each feature, whether it has one column per category
    centre, scale : (P,)

    Examples
    --------
    >>> schema = Schema((Feature("a", "continuous", lower=0, upper=4), Feature("b", "categorical", categories="xyz")))
    >>> design = Design.of(np.array([[0.0, 0], [4.0, 1], [2.0, np.nan], [2.0, np.nan]]), schema)
    >>> design.encode(np.array([[2.0, 1]]))
    array([[ 0. , -0.5,  0.5,  0. ]])
    """

    columns: tuple[slice, ...]
    indicators: tuple[bool, ...]
    centre: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, X: FloatArray, schema: Schema) -> Design:
        """The design whose centre and scale are those of the codes ``X`` (n, D); blanks are skipped."""
        columns, centres, scales, start = [], [], [], 0
        for feature, column in zip(schema, X.T, strict=True):
            raw = _raw(column[~np.isnan(column)], _width(feature))
            if raw.shape[0] == 0:
                raw = _raw(np.array([feature.low_code, feature.high_code]), _width(feature))
            centres.append(raw.mean(axis=0))
            spread = raw.std(axis=0)
            standardised = feature.is_number or feature.kind == "ordinal"
            scales.append(np.where((spread > 0) & standardised, spread, 1.0))
            columns.append(slice(start, start + raw.shape[1]))
            start += raw.shape[1]
        widths = tuple(_width(feature) > 1 for feature in schema)
        return cls(tuple(columns), widths, np.concatenate(centres), np.concatenate(scales))

    @property
    def width(self) -> int:
        """P, the number of columns."""
        return int(self.centre.size)

    def encode(self, values: FloatArray) -> FloatArray:
        """The design (n, P) of codes (n, D) without blanks."""
        out = np.empty((values.shape[0], self.width))
        for d, at in enumerate(self.columns):
            out[:, at] = self.feature(d, values[:, d])
        return out

    def feature(self, d: int, codes: FloatArray) -> FloatArray:
        """The columns (n, E) of feature ``d``."""
        at = self.columns[d]
        return self.standardise(d, _raw(codes, at.stop - at.start if self.indicators[d] else 1))

    def standardise(self, d: int, raw: FloatArray) -> FloatArray:
        """Raw columns (n, E) of feature ``d``, a number or shares of categories, centred and scaled."""
        at = self.columns[d]
        return (raw - self.centre[at]) / self.scale[at]


def _width(feature: Feature) -> int:
    return len(feature.categories) if feature.kind == "categorical" else 1


def _raw(codes: FloatArray, width: int) -> FloatArray:
    return codes[:, None] if width == 1 else (codes[:, None] == np.arange(width)).astype(np.float64)
