"""The costs of the paper's experiments to the letter, beside which ours can be seen.

They were computed on the encoded matrix, so a category is its indicator columns there: who leaves one category for
another moves two of them. What differs from :class:`~armin.costs.TotalLogPercentileShift` and
:class:`~armin.costs.WeightedL1` is said with each class.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from armin.arrays import FloatArray
from armin.costs.base import BaseCost
from armin.costs.distribution import Distribution
from armin.schema import Feature, Schema

__all__ = ["PublishedL1", "PublishedPercentileShift", "published_step"]

BUFFER = 1e-6
"""How far the published distribution function stays from 0 and 1."""
NORMAL = 1.4826
"""By which a median absolute deviation is multiplied to be the standard deviation of a normal distribution."""


def published_step(feature: Feature, low: float, high: float) -> float:
    """The step of the published grid: a 99th of the range, for anything but real numbers a whole one, rounded down.

    >>> published_step(Feature("age", "integer", lower=18, upper=90), 0, 250)
    2.0
    """
    step = (high - low) / 99
    return step if feature.kind == "continuous" else float(max(1, int(step)))


class PublishedPercentileShift(
    BaseCost, alias="tlps-published", summary="total log percentile shift as in the paper's experiments"
):
    """TLPS in base 2 with the distribution function of the published experiments.

    Q is the running sum of a Gaussian kernel density on the grid of the column, from the least to the largest training
    value within the bounds of the schema in published steps, kept 1e-6 away from 0 and 1, and linear between the
    points. A density at 0 and 1 makes the upper end of a column with two values nearly 1, so that a switch costs about
    20, where :class:`~armin.costs.TotalLogPercentileShift` with its smoothed frequencies says 1 to 5. A change of
    category is charged for both indicator columns.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"owns": ["no", "yes", "no", "no"], "rooms": [2, 3, 4, 5]})
    >>> schema = Schema.infer(frame)
    >>> cost = PublishedPercentileShift().fit(schema.encode(frame), schema)
    >>> cost.table(0, np.array([0.0]), np.array([[0.0, 1.0]])).round(1).tolist()
    [[0.0, 18.1]]
    """

    monotone = True

    def fit(self, X: FloatArray, schema: Schema) -> Self:
        """Learn each column's distribution function from codes (n, D), NaN for blanks."""
        super().fit(X, schema)
        self.functions_ = [_functions(feature, X[:, i]) for i, feature in enumerate(schema.features)]
        return self

    def kept(self) -> list[str]:
        """The distribution of each column."""
        return super().kept()

    def table(self, position: int, before: FloatArray, after: FloatArray) -> FloatArray:
        """The cost of moving feature ``position`` from ``before`` (N,) to ``after`` (N, J)."""
        known = self._distribution(position)
        start = np.broadcast_to(before[:, None], after.shape)
        if known.feature.kind == "categorical":
            tails = np.stack([_tail(points, values, np.array([0.0, 1.0])) for points, values in self._of(position)])
            switch = np.abs(np.log2(tails[:, 1] / tails[:, 0]))
            moved = switch[start.astype(np.intp)] + switch[after.astype(np.intp)]
        else:
            (points, values), = self._of(position)  # fmt: skip
            moved = np.abs(np.log2(_tail(points, values, after) / _tail(points, values, start)))
        return np.where(after == start, 0.0, known.feature.difficulty * moved)

    def _of(self, position: int) -> list[tuple[FloatArray, FloatArray]]:
        found: list[tuple[FloatArray, FloatArray]] = self.functions_[position]
        return found


class PublishedL1(BaseCost, alias="l1-published", summary="l1 with the paper's weights"):
    """The sum of ``w |a|`` with the published weights, column by column of the encoded matrix.

    w is ``1 / (1.4826 MAD)``; for columns with two values, and where the MAD is zero, it is 1.4826 times the standard
    deviation: not its inverse, so that a rare value is cheap. :class:`~armin.costs.WeightedL1` divides everywhere.
    """

    monotone = True

    def _move(self, known: Distribution, before: FloatArray, after: FloatArray) -> FloatArray:
        if known.feature.kind == "categorical":
            seen = known.seen
            weights = NORMAL * np.sqrt(seen * (1 - seen))
            return np.asarray(weights[before.astype(np.intp)] + weights[after.astype(np.intp)])
        weight = 1 / (NORMAL * known.mad) if known.mad > BUFFER and known.feature.kind != "binary" else (
            NORMAL * known.deviation)  # fmt: skip
        return np.asarray(weight * np.abs(after - before))


def _functions(feature: Feature, column: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
    """The points and values of Q: of the column, or of each indicator of a category."""
    present = column[~np.isnan(column)]
    if feature.kind != "categorical":
        return [_function(feature, present)]
    return [_function(feature, (present == code).astype(np.float64)) for code in range(len(feature.categories))]


def _function(feature: Feature, present: FloatArray) -> tuple[FloatArray, FloatArray]:
    from scipy.stats import gaussian_kde

    low, high = float(present.min(initial=np.inf)), float(present.max(initial=-np.inf))
    if feature.is_number:  # published bounds are quantiles for one data set; the density is that of all values
        low, high = max(low, feature.low_code), min(high, feature.high_code)
    if not low < high:  # nobody knows how unusual another value is
        low, high = (0.0, 1.0) if feature.kind == "categorical" else (feature.low_code, feature.high_code)
        return np.array([low, high]), np.array([0.5, 1 - BUFFER])
    step = published_step(feature, low, high)
    points = np.arange(low, high + step, step)
    mass = np.cumsum(gaussian_kde(present)(points))
    return points, (BUFFER + mass) / (mass[-1] + 2 * BUFFER)


def _tail(points: FloatArray, values: FloatArray, codes: FloatArray) -> FloatArray:
    """1 - Q, by interpolation between the points."""
    return 1 - np.interp(codes, points, values, left=BUFFER, right=1 - BUFFER)
