"""How far a change moves a person among others: shifts of percentiles."""

from __future__ import annotations

import math
from typing import Literal, Self

import numpy as np

from armin.arrays import FloatArray
from armin.costs.base import Aggregate, BaseCost
from armin.costs.distribution import Distribution, kernel
from armin.errors import ParameterError
from armin.schema import Schema

__all__ = ["MaxPercentileShift", "TotalLogPercentileShift"]


class TotalLogPercentileShift(BaseCost, alias="tlps", summary="total log percentile shift"):
    """TLPS: the sum of ``|log((1 - Q(x + a)) / (1 - Q(x)))|``.

    Q is the feature's distribution function. Switching to category b costs ``log((1 + p) / p)`` with p its
    share: what the formula gives for an indicator that goes from 0 to 1.

    Parameters
    ----------
    base : the logarithm's base; None for the natural one, 2 for the paper's published figures
    estimate : "ranks", or "kde" for a Gaussian kernel density on 100 points; what was published is
        :class:`~armin.costs.PublishedPercentileShift`

    >>> TotalLogPercentileShift(base=2)
    TotalLogPercentileShift(base=2)
    """

    monotone = True

    def __init__(self, base: float | None = None, estimate: Literal["ranks", "kde"] = "ranks") -> None:
        self.base = base
        self.estimate = estimate

    def fit(self, X: FloatArray, schema: Schema) -> Self:
        """Learn each feature's distribution from codes (n, D), NaN for blanks."""
        if self.base is not None and not self.base > 1:
            raise ParameterError(f"The 'base' of TotalLogPercentileShift must be above 1. Got {self.base!r} instead.")
        if self.estimate not in ("ranks", "kde"):
            raise ParameterError(
                f"The 'estimate' of TotalLogPercentileShift must be 'ranks' or 'kde'. Got {self.estimate!r} instead."
            )
        super().fit(X, schema)
        if self.estimate == "kde":
            self.distributions_ = [kernel(d, X[:, i]) for i, d in enumerate(self.distributions_)]
        return self

    def kept(self) -> list[str]:
        """The distribution of each column."""
        return super().kept()

    def _move(self, known: Distribution, before: FloatArray, after: FloatArray) -> FloatArray:
        if known.feature.kind == "categorical":
            share = known.shares[after.astype(np.intp)]
            natural = np.log((1 + share) / share)
        else:
            above = 1 - known.percentile(np.concatenate([before, after], axis=1))
            natural = np.abs(np.log(above[:, 1:] / above[:, :1]))
        return natural if self.base is None else natural / math.log(self.base)


class MaxPercentileShift(BaseCost, alias="mps", summary="maximum percentile shift"):
    """MPS: the largest ``|Q(x + a) - Q(x)|`` of all changes. A change of category is a shift of one half.

    With blanks, each feature's shift is its mean over the candidates, and the largest of these counts.
    """

    aggregate: Aggregate = "max"
    monotone = True

    def _move(self, known: Distribution, before: FloatArray, after: FloatArray) -> FloatArray:
        if known.feature.kind == "categorical":
            return np.full(after.shape, 0.5)
        return np.abs(known.percentile(after) - known.percentile(before))
