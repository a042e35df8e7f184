"""How many things change."""

from __future__ import annotations

import numpy as np

from armin.arrays import FloatArray
from armin.costs.base import BaseCost
from armin.costs.distribution import Distribution

__all__ = ["NumberOfChanges"]


class NumberOfChanges(BaseCost, alias="changes", summary="number of changes"):
    """How many features change (times their difficulty)."""

    monotone = True

    def _move(self, known: Distribution, before: FloatArray, after: FloatArray) -> FloatArray:
        return np.ones(after.shape)
