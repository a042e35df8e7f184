"""Rules on three features and more: what their options add up to has a limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from armin.arrays import BoolArray, FloatArray

__all__ = ["SumRule"]

_ENTRIES_AT_ONCE = 4_000_000


@dataclass(frozen=True, eq=False)
class SumRule:
    """Options of several features whose parts may not add up to more than a limit, whichever completion is true.

    Attributes
    ----------
    features : positions of the features in ``Problem.options``
    parts : for each of them an array of shape (R, J), what option j adds; one row for each different completion
    most : array of shape (R,), the limits; infinite where a completion breaks the rule as it stands
    text : the rule as a sentence

    Examples
    --------
    >>> half = np.array([[0.0, 1.0]])
    >>> rule = SumRule((0, 1, 2), (half, half, half), np.array([2.0]))
    >>> rule.allows((1, 1, 0)), rule.allows((1, 1, 1))
    (True, False)
    """

    features: tuple[int, ...]
    parts: tuple[FloatArray, ...]
    most: FloatArray
    text: str = ""

    def allows(self, choice: Sequence[int]) -> bool:
        """Whether one choice stays within every limit."""
        return bool(self.allows_each(np.array([choice], dtype=np.intp))[0])

    def allows_each(self, choices: NDArray[np.intp]) -> BoolArray:
        """Which of the choices (M, D) stay within every limit."""
        allowed = np.empty(choices.shape[0], dtype=bool)
        at_once = max(1, _ENTRIES_AT_ONCE // self.most.size)
        for low in range(0, choices.shape[0], at_once):
            some = choices[low : low + at_once]
            total = np.zeros((self.most.size, some.shape[0]))
            for d, part in zip(self.features, self.parts, strict=True):
                total += part[:, some[:, d]]
            allowed[low : low + at_once] = (total <= self.most[:, None]).all(axis=0)
        return allowed
