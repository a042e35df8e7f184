"""How far a change goes, in units of how far people differ."""

from __future__ import annotations

import math

import numpy as np

from armin.arrays import FloatArray
from armin.costs.base import BaseCost
from armin.costs.distribution import Distribution

__all__ = ["WeightedL1", "WeightedL2"]


class WeightedL1(BaseCost, alias="l1", summary="sum of changes in units of their spread"):
    """The sum of ``|a| / MAD``; a zero MAD falls back to the standard deviation, for every kind of feature."""

    monotone = True

    def _move(self, known: Distribution, before: FloatArray, after: FloatArray) -> FloatArray:
        if known.feature.kind == "categorical":
            share = known.shares[after.astype(np.intp)]
            spread = np.sqrt(share * (1 - share))
            # to the only category that there is, nobody changes
            return np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        return np.abs(after - before) / known.spread


class WeightedL2(WeightedL1, alias="l2", summary="root of the sum of squares of what l1 adds"):
    """The square root of the sum of ``(a / MAD)**2``, with the weights of :class:`WeightedL1`."""

    monotone = True

    def entry(self, costs: FloatArray) -> FloatArray:
        """The squares, which are what is added up."""
        return np.asarray(costs**2)

    def finish(self, total: float) -> float:
        """The square root of the sum of squares."""
        return math.sqrt(total)
