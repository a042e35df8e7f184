"""Two questions more that every method answers: why, and what if."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd
from numpy.typing import NDArray

from armin.arrays import FloatArray
from armin.errors import DataError
from armin.explain.parameters import check_whole
from armin.explain.reasons import Background, find_reasons
from armin.explain.threads import in_one_thread
from armin.explain.what_if import WhatIf, judge_idea
from armin.reasons import Reasons, Reference
from armin.reasons.answers import Method
from armin.reasons.score import Unit
from armin.schema import Rows

if TYPE_CHECKING:
    from armin.explain.fitted import Fitted
    from armin.promise import Calibration

__all__ = ["Whys"]


class Whys:
    """What an explainer says about a decision that fell, and about a person's own idea."""

    background_: FloatArray
    """Some people of the training data, as codes with their blanks."""
    _compared: tuple[Any, Any, Background] | None = None

    if TYPE_CHECKING:

        @property
        def current(self) -> Fitted: ...

        def _level(
            self, fitted: Fitted, codes: FloatArray, locked: Collection[str]
        ) -> tuple[float, Calibration | None]: ...

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        # what was worked out is worked out again
        return {name: value for name, value in state.items() if name != "_compared"}

    @in_one_thread
    def reasons(
        self,
        row: Rows | pd.Series[Any],
        *,
        reference: Reference = "accepted",
        unit: Unit | None = None,
        method: Method = "shapley",
        n_samples: int = 100,
        level: float = 0.9,
        most: int = 3,
        background: pd.DataFrame | NDArray[Any] | None = None,
    ) -> Reasons:
        """Why the decision fell as it did: what each feature weighed.

        Parameters
        ----------
        row : one row, as in :meth:`explain`
        reference : with whom the row is compared: "average" (everybody), "accepted" (those whom the model accepts),
            "nearest" (the one of these who is most similar) or "threshold" (those who were just accepted)
        unit : "probability" or "log-odds"; None for the units in which the model itself adds up, where weights are
            exact for more models
        method : "shapley", or "lime" for a linear model around each completion
        n_samples : how many plausible ways to fill the blanks are looked at
        level : the probability of the intervals
        most : how many features count as the first
        background : people to compare with; None for those that ``fit`` has kept

        Returns
        -------
        Reasons

        Examples
        --------
        >>> from armin import ARMIN
        >>> from armin.datasets import make_loans
        >>> loans = make_loans()
        >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
        >>> why = explainer.reasons(loans.applicant)
        >>> why.exact, [statement.feature.name for statement in why.statements(2)]
        (True, ['Income', 'ExistingLoans'])
        """
        check_whole("reasons", "n_samples", n_samples, 1)
        check_whole("reasons", "most", most, 1)
        fitted, codes = self.current.at(row)
        found = self._background(fitted, background)
        return find_reasons(
            fitted, codes, found, reference=reference, unit=unit, method=method, n=n_samples, level=level, most=most
        )

    @in_one_thread
    def what_if(
        self, row: Rows | pd.Series[Any], changes: Mapping[str, Any], *, locked: Collection[str] = ()
    ) -> WhatIf:
        """What comes of a person's own idea, and the cheapest way from there.

        Parameters
        ----------
        row, locked : as in :meth:`explain`
        changes : values by column, such as ``{"ExistingLoans": 1}``; for a blank, the value that it would have

        Returns
        -------
        WhatIf

        Examples
        --------
        >>> from armin import ARMIN
        >>> from armin.datasets import make_loans
        >>> loans = make_loans()
        >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
        >>> explainer.what_if(loans.applicant, {"ExistingLoans": 0, "Income": 80_000}).enough
        True
        """
        fitted, codes = self.current.at(row, locked)
        compared = self._background(fitted, None) if self.has_people else None
        level = self._level(fitted, codes, locked)[0]
        return judge_idea(fitted, codes, changes, compared, locked=tuple(locked), level=level)

    @property
    def has_people(self) -> bool:
        """Whether people to compare with were kept; without them, :meth:`reasons` must be given some."""
        return getattr(self, "background_", None) is not None

    def _background(self, fitted: Fitted, rows: pd.DataFrame | NDArray[Any] | None) -> Background:
        """The people to compare with; worked out once, unless a row carries something along that the model sees."""
        if rows is not None:
            return Background.of(fitted, fitted.schema.encode(fitted.schema.frame(rows), clip=True))
        if not self.has_people:
            raise DataError(
                "Reasons compare a person with others, and this explainer keeps none: it comes from a bundle without "
                "them. Give some rows of the training data: reasons(row, background=X), or pack the bundle anew."
            )
        kept = self.background_
        known = self._compared
        if known is not None and known[0] is kept and known[1] is fitted.read and not fitted.schema.carried:
            return known[2]
        found = Background.of(fitted, kept)
        self._compared = (kept, fitted.read, found)
        return found
