"""What a legal code is, and the nearest one to a number."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from armin.arrays import FloatArray
from armin.errors import DataError
from armin.schema import Feature, Schema

__all__ = ["CodeBounds", "check_codes", "middle", "nearest_legal", "uniform"]


_SLACK = 1e-12  # what Feature.code forgives at a bound


@dataclass(frozen=True, eq=False)
class CodeBounds:
    """The legal codes of a schema as arrays (D,), so that a row is checked in microseconds.

    >>> bounds = CodeBounds.of(Schema((Feature("a", "binary", categories=("no", "yes")),)))
    >>> bounds.check(np.array([[1.0], [np.nan]])).tolist()
    [[1.0], [nan]]
    """

    names: tuple[str, ...]
    low: FloatArray
    high: FloatArray
    number: NDArray[np.bool_]
    whole: NDArray[np.bool_]

    @classmethod
    def of(cls, schema: Schema) -> CodeBounds:
        """The bounds of ``schema``."""
        return cls(
            tuple(f.name for f in schema),
            np.array([f.low_code for f in schema]),
            np.array([f.high_code for f in schema]),
            np.array([f.is_number for f in schema]),
            np.array([f.kind != "continuous" for f in schema]),
        )

    @classmethod
    def legal(cls, schema: Schema) -> CodeBounds:
        """The limits of ``schema``: what a row may hold, beyond what data has shown."""
        limits = np.array([f.least_code for f in schema]), np.array([f.most_code for f in schema])
        return replace(cls.of(schema), low=limits[0], high=limits[1])

    def check(self, codes: FloatArray) -> FloatArray:
        """Codes (n, D), refused unless each is legal or NaN; numbers barely outside their bounds are moved in."""
        slack = np.where(self.number, _SLACK * np.maximum(1.0, np.abs(codes)), 0.0)
        # a comparison with NaN is False, so a blank is never bad
        bad = np.isinf(codes) | (codes < self.low - slack) | (codes > self.high + slack)
        near = np.rint(codes)
        bad |= self.whole & ((codes < near) | (codes > near))
        if bad.any():
            n, d = np.argwhere(bad)[0]
            raise DataError(
                f"The codes of {self.names[int(d)]!r} must be{' whole,' if self.whole[d] else ''} in "
                f"[{self.low[d]:g}, {self.high[d]:g}], or NaN. Got {codes[n, d]:g} instead. "
                "Encode the data with schema.encode, which checks it."
            )
        return np.clip(codes, self.low, self.high)


def check_codes(schema: Schema, codes: FloatArray) -> FloatArray:
    """Codes (n, D), refused unless each is legal or NaN; numbers a rounding error outside their bounds are moved in.

    >>> schema = Schema((Feature("a", "binary", categories=("no", "yes")),))
    >>> check_codes(schema, np.array([[1.0], [np.nan]])).tolist()
    [[1.0], [nan]]
    """
    return CodeBounds.legal(schema).check(codes)


def nearest_legal(feature: Feature, numbers: FloatArray) -> FloatArray:
    """The legal codes nearest to ``numbers``.

    >>> nearest_legal(Feature("a", "integer", lower=0, upper=9), np.array([-3.0, 2.6, 11.0]))
    array([0., 3., 9.])
    """
    whole = numbers if feature.kind == "continuous" else np.round(numbers)
    return np.clip(whole, feature.low_code, feature.high_code) + 0.0  # no negative zero


def uniform(feature: Feature, n: int, rng: np.random.Generator) -> FloatArray:
    """``n`` codes, uniform over the domain of ``feature``.

    >>> set(uniform(Feature("a", "integer", lower=1, upper=2), 50, np.random.default_rng(0)).tolist())
    {1.0, 2.0}
    """
    low, high = feature.low_code, feature.high_code
    if feature.kind == "continuous":
        return np.clip(low + (high - low) * rng.random(n), low, high)
    return np.clip(np.floor(low + (high - low + 1.0) * rng.random(n)), low, high)


def middle(feature: Feature, codes: FloatArray) -> float:
    """The legal code in the middle: mean of a number, median of an ordinal, mode of a category.

    The smaller of two equally frequent categories wins. Without codes, the middle of the domain.

    >>> middle(Feature("a", "categorical", categories=("x", "y", "z")), np.array([0.0, 2.0, 2.0]))
    2.0
    """
    if codes.size == 0:
        numbers = feature.is_number or feature.kind == "ordinal"
        centre = feature.low_code + (feature.high_code - feature.low_code) / 2 if numbers else 0.0
    elif feature.is_number:
        centre = float(codes.mean())
    elif feature.kind == "ordinal":
        centre = float(np.median(codes))
    else:
        centre = float(np.argmax(np.bincount(codes.astype(np.intp))))
    return float(nearest_legal(feature, np.array([centre]))[0])
