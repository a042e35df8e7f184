"""What fitting makes: one frozen object on which every step works."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from armin.arrays import FloatArray
from armin.costs import Cost
from armin.errors import DataError, ParameterError
from armin.explainer.settings import Settings
from armin.impute import Imputer, Sampler
from armin.models.encoding import Judge, ReadClassifier
from armin.models.kinds import BlackBox
from armin.schema import Rows, Schema

__all__ = ["Fitted", "read_row"]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted explainer without its estimator's clothes; vary it with ``dataclasses.replace``.

    Attributes
    ----------
    schema : the columns
    labels : the labels that count as accepted
    like : an empty frame with the types of the training data, or None
    decision : the user's model
    oracle : the same with the safety margin
    read : the same as plain arrays
    cost : fitted
    sampler : fitted; draws the completions, and the fresh ones by which an answer is judged
    settings : what needs no learning
    imputer : fills the blanks once instead of drawing candidates; None to draw
    native : whether the row with its blanks is the only candidate, and blanks are not acted on
    stricter : whether ``oracle`` asks for more than ``decision``
    refusals : what the model said to a pattern of blanks that it does not take; found out once for each pattern
    """

    schema: Schema
    labels: tuple[Any, ...]
    like: pd.DataFrame | None
    decision: Judge
    oracle: Judge
    read: ReadClassifier
    cost: Cost
    sampler: Sampler
    settings: Settings
    imputer: Imputer | None = None
    native: bool = False
    stricter: bool = False
    refusals: dict[bytes, str | None] = field(default_factory=dict)

    @property
    def reads(self) -> bool:
        """Whether the reading of the model may stand in for the model until the answer is judged."""
        return self.settings.trusts and not self.stricter and not isinstance(self.read.model, BlackBox)

    def varied(self, **settings: Any) -> Fitted:
        """The same with other settings."""
        return replace(self, settings=replace(self.settings, **settings))

    def refusal(self, codes: FloatArray) -> str | None:
        """Why the model cannot decide about a row with these blanks; None if it can."""
        pattern = np.isnan(codes).tobytes()
        if pattern not in self.refusals:
            try:
                self.decision.accepts(codes[None, :])
                self.refusals[pattern] = None
            except Exception as error:  # whatever a user's pipeline raises when it meets a blank
                self.refusals[pattern] = f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"[:300]
        return self.refusals[pattern]


def read_row(schema: Schema, row: Rows | pd.Series[Any], locked: Collection[str] = ()) -> FloatArray:
    """The codes (D,) of the one person to advise, or a refusal.

    >>> from armin.schema import Feature
    >>> read_row(Schema((Feature("a", "integer", lower=0, upper=9),)), {"a": 3})
    array([3.])
    """
    if isinstance(locked, str):
        raise ParameterError(f"'locked' must be a list of column names. Got the text {locked!r} instead.")
    for name in locked:
        schema.position(name)
    codes = schema.encode(row)
    if codes.shape[0] != 1:
        raise DataError(f"explain takes one row. Got {codes.shape[0]} instead; use explain_many(frame).")
    if np.isnan(codes).all():
        raise DataError(
            "The row is all blanks, so there is nobody to advise. Give at least one value; the others may be blank."
        )
    one: FloatArray = codes[0]
    return one
