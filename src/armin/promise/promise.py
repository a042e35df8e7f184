"""What is promised to real people, as one object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from armin.errors import ParameterError
from armin.promise.calibration import check_share

__all__ = ["Missingness", "Pattern", "Promise"]

Missingness = Callable[[pd.DataFrame], object]
"""Makes blanks in complete rows, such as ``functools.partial(armin.datasets.mcar, n_missing=2)``."""


@dataclass(frozen=True)
class Pattern:
    """What a calibration is for.

    Attributes
    ----------
    blanks : the blank features in order; None for all patterns that a missingness model makes
    locked : the features that cannot change, in order
    decision, reapply : the world
    """

    blanks: tuple[str, ...] | None
    locked: tuple[str, ...] = ()
    decision: str | None = "complete"
    reapply: str = "disclosed"


@dataclass(frozen=True)
class Promise:
    """For how many real people plans must work, and how that is tested.

    Attributes
    ----------
    share : the share of real people with the same blanks who must be accepted when each follows their own plan, in
        (0, 1)
    assurance : the probability with which the promise is kept, over the choice of the people it is tested on
    missingness : how these people get their blanks: None for the blanks of the row at hand, or a function from a frame
        to the frame with blanks, such as ``functools.partial(armin.datasets.mcar, n_missing=2)``
    n_people : test on at most so many

    Examples
    --------
    >>> Promise(0.9).assurance
    0.9
    """

    share: float
    assurance: float = 0.9
    missingness: Missingness | None = None
    n_people: int = 200

    def __post_init__(self) -> None:
        check_share("promise", self.share)
        check_share("assurance", self.assurance)
        if isinstance(self.n_people, bool) or not isinstance(self.n_people, int | np.integer) or self.n_people < 1:
            raise ParameterError(f"'n_people' must be a whole number of at least 1. Got {self.n_people!r} instead.")
        if self.missingness is not None and not callable(self.missingness):
            raise ParameterError(
                "'missingness' must be a function from a frame to the frame with blanks. "
                f"Got {self.missingness!r} instead."
            )

    @classmethod
    def of(cls, given: float | Promise | None) -> Promise | None:
        """The promise that a parameter stands for."""
        return given if given is None or isinstance(given, Promise) else cls(given)
