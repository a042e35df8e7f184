"""Blanks left to the model itself."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

__all__ = ["NativeMissing"]


class NativeMissing(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Do not complete the row: explain it as the model itself treats blanks.

    For models that accept NaN, such as gradient boosting, or pipelines that impute by themselves. The plan is the
    cheapest that flips the model's decision on the row *with its blanks*; blanks are not acted on. Its fresh validity
    still says for how many plausible people behind the blanks the plan works.

    Parameters
    ----------
    judge : the sampler that draws these people; an alias, a function or a sampler

    Examples
    --------
    >>> NativeMissing(judge="donors")
    NativeMissing(judge='donors')
    """

    def __init__(self, judge: Any = "chained") -> None:
        self.judge = judge
