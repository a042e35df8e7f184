"""How a feature's values are spread in the training data."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from armin.arrays import FloatArray
from armin.schema import Feature

__all__ = ["Distribution", "kernel"]


@dataclass(frozen=True, eq=False)
class Distribution:
    """The distribution of one feature's codes in the training data.

    For an ordered feature ``levels`` and ``ranks`` are the points of a distribution function that
    is piecewise linear through the mid-ranks; for a category ``shares`` are the frequencies, smoothed by half an
    observation each, and ``seen`` as they were. ``mad`` and ``deviation`` are the median absolute and the standard
    deviation, ``spread`` the first of them that is not zero.
    """

    feature: Feature
    n: int
    levels: FloatArray
    ranks: FloatArray
    shares: FloatArray
    spread: float
    seen: FloatArray
    mad: float
    deviation: float

    @classmethod
    def of(cls, feature: Feature, column: FloatArray) -> Distribution:
        """Estimate from codes, NaN for blanks."""
        present = column[~np.isnan(column)]
        n = present.size
        if n == 0:
            present = np.array([feature.low_code, feature.high_code])
        levels, counts = np.unique(present, return_counts=True)
        ranks = (np.cumsum(counts) - 0.5 * counts) / present.size
        shares = seen = np.zeros(0)
        if not feature.is_number:
            counted = np.bincount(present.astype(np.intp), minlength=len(feature.categories))
            shares, seen = (counted + 0.5) / (counted.sum() + 0.5 * counted.size), counted / counted.sum()
        mad = float(np.median(np.abs(present - np.median(present))))
        return cls(
            feature, n, levels, ranks, shares, _spread(present, feature), seen, mad, float(present.std())
        )  # fmt: skip

    def percentile(self, codes: FloatArray) -> FloatArray:
        """The distribution function Q, strictly increasing over the feature's bounds and inside (0, 1)."""
        low, high = self.feature.low_code, self.feature.high_code
        inside = np.interp(codes, self.levels, self.ranks, left=0.0, right=1.0)
        place = np.full_like(codes, 0.5)
        if high > low:
            place = np.minimum(np.maximum((codes - low) / (high - low), 0.0), 1.0)
        # a uniform share of half an observation keeps Q increasing where there is no data
        return np.asarray((self.n * inside + 0.5 * place + 0.25) / (self.n + 1))


def _spread(present: FloatArray, feature: Feature) -> float:
    """Median absolute deviation, else standard deviation, else range; what is rounding dirt counts as zero."""
    width = feature.high_code - feature.low_code
    mad = float(np.median(np.abs(present - np.median(present))))
    if mad > 1e-9 * width:
        return mad
    deviation = float(present.std())
    if deviation > 1e-9 * width:
        return deviation
    return max(width, 1.0)


def kernel(known: Distribution, column: FloatArray) -> Distribution:
    """The same distribution with Q from a Gaussian kernel density on 100 points of the range."""
    from scipy.stats import gaussian_kde

    present = column[~np.isnan(column)]
    low, high = known.feature.low_code, known.feature.high_code
    if known.feature.kind == "categorical" or present.size < 2 or present.std() <= 1e-9 * (high - low):
        return known
    points = np.linspace(low, high, 100)
    mass = np.cumsum(gaussian_kde(present)(points))
    if not mass[-1] > 0:  # all data between two of the points
        return known
    return replace(known, levels=points, ranks=mass / mass[-1] * (1 - 1e-9))
