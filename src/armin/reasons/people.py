"""The real people with whom somebody is compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.errors import DataError, ParameterError
from armin.schema import Schema

__all__ = ["REFERENCES", "People", "Reference", "check_reference"]

Reference = Literal["average", "accepted", "nearest", "threshold"]
"""With whom somebody is compared: everybody, those accepted, the nearest of those, or those who just made it."""
REFERENCES = get_args(Reference)

JUST = 0.1
"""The share of those accepted, from the threshold on, who just made it."""
FEW_JUST = 5
"""So many of them at least."""


@dataclass(frozen=True, eq=False)
class People:
    """Some people of the training data, complete.

    Attributes
    ----------
    schema : the columns
    codes : (B, D)
    accepted : whom the model accepts (B,)

    Examples
    --------
    >>> from armin.schema import Feature
    >>> schema = Schema((Feature("debt", "integer", lower=0, upper=9),))
    >>> people = People(schema, np.array([[1.0], [2.0], [8.0]]), np.array([True, True, False]))
    >>> people.group("nearest", np.array([7.0]), np.array([3.0, 1.0, -2.0])).tolist()
    [[2.0]]
    """

    schema: Schema
    codes: FloatArray
    accepted: BoolArray

    def group(self, reference: Reference, row: FloatArray, scores: FloatArray) -> FloatArray:
        """The codes (n, D) of those whom a reference names, for a row (D,) and these people's scores (B,)."""
        if reference == "average":
            return self.codes
        chosen = np.flatnonzero(self.accepted)
        if not chosen.size:
            raise DataError(
                f"None of the {self.codes.shape[0]} people to compare with is accepted, so there is no reference "
                f"{reference!r}. Use reference='average', or give people of whom some are accepted: background=."
            )
        if reference == "nearest":
            chosen = chosen[[self._nearest(row, chosen)]]
        elif reference == "threshold":
            order = chosen[np.argsort(scores[chosen], kind="stable")]
            chosen = order[: max(FEW_JUST, round(JUST * chosen.size))]
        return self.codes[chosen]

    def _nearest(self, row: FloatArray, chosen: IntArray) -> int:
        """Which of those chosen is nearest in what the row tells; a spread of numbers counts as another category."""
        told = [i for i, f in enumerate(self.schema) if not np.isnan(row[i]) and not f.is_carried]
        apart = np.zeros(chosen.size)
        for i in told:
            feature, theirs = self.schema.features[i], self.codes[chosen, i]
            if feature.is_ordered:
                apart += np.abs(theirs - row[i]) / (float(self.codes[:, i].std()) or 1.0)
            else:
                apart += theirs != row[i]
        return int(np.argmin(apart))

    @property
    def usual(self) -> FloatArray:
        """The codes (n, D) of those accepted."""
        return self.codes[self.accepted]


def check_reference(reference: object) -> None:
    """Refuse a reference that is none."""
    if reference not in REFERENCES:
        raise ParameterError(f"'reference' must be one of {', '.join(map(repr, REFERENCES))}. Got {reference!r}.")
