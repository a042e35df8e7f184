"""What fitting makes: one frozen object on which every step works."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from armin.arrays import BoolArray, FloatArray
from armin.costs import Cost
from armin.errors import DataError, ParameterError, RefusedError
from armin.explain.memory import SurrogateJudge
from armin.explain.settings import Settings
from armin.models.encoding import ReadClassifier
from armin.models.kinds import BlackBox
from armin.models.oracle import Judge, Oracle
from armin.problem.remembered import Remembered
from armin.recourse.origin import Origin
from armin.sampling import Imputer, RowSampler, Sampler, row_sampler
from armin.sampling.obeying import obeying
from armin.schema import Carried, Feature, Rows, Schema

__all__ = ["Fitted", "ReadyRows", "read_row"]


class ReadyRows:
    """A sampler that obeys the rules, made ready once for each of the last few rows.

    These are not kept where an explainer is stored.

    Attributes
    ----------
    sampler : the sampler
    name : what it calls itself
    """

    most = 16

    def __init__(self, sampler: Sampler, schema: Schema) -> None:
        self.sampler, self.schema = sampler, schema
        self.name = repr(sampler)
        self._rows: dict[bytes, RowSampler] = {}

    def at(self, row: FloatArray) -> RowSampler:
        """Draws completions of ``row`` (D,)."""
        key = row.tobytes()
        found = self._rows.get(key)
        if found is None:
            if len(self._rows) >= self.most:
                self._rows = {}
            found = self._rows[key] = obeying(row_sampler(self.sampler, row), self.schema)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return ReadyRows, (self.sampler, self.schema)


@dataclass(frozen=True, eq=False)
class Fitted:
    """The immutable state of a fitted explainer; vary it with ``dataclasses.replace``.

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
    carried : the values of the columns that are carried along, for the row or rows in question
    remembered : options of features by their values; found out once for each value
    ready : samplers that were made ready for a row
    origin : the fingerprints of all this
    blank_columns : the columns in which the model knows blanks: it was trained on some, or fills them itself. None if
        that was not learned
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
    carried: Carried | None = None
    remembered: Remembered = None  # type: ignore[assignment]  # made below
    ready: ReadyRows = None  # type: ignore[assignment]
    origin: Origin | None = None
    blank_columns: frozenset[str] | None = None

    def __post_init__(self) -> None:
        # what was found out about another schema, model, cost or sampler does not hold here
        if self.remembered is None or not self.remembered.about(self.schema, self.read, self.cost):
            object.__setattr__(self, "remembered", Remembered(self.schema, self.read, self.cost))
        if self.ready is None or self.ready.sampler is not self.sampler:
            object.__setattr__(self, "ready", ReadyRows(self.sampler, self.schema))

    @property
    def uses_surrogate(self) -> bool:
        """Whether the model as arrays may stand in for the model until the answer is verified."""
        return self.settings.trusts and not self.stricter and not isinstance(self.read.model, BlackBox)

    def at(self, row: Rows | pd.Series[Any], locked: Collection[str] = ()) -> tuple[Fitted, FloatArray]:
        """The codes (D,) of the one person to advise, and the same with what this row carries along."""
        codes = read_row(self.schema, row, locked)
        return (self.carrying(self.schema.carried_by(row)) if self.schema.carried else self), codes

    def carrying(self, carried: Carried) -> Fitted:
        """The same with other values in the columns that are carried along."""
        if not self.schema.carried:
            return self
        assert isinstance(self.decision, Oracle)  # noqa: S101  before any surrogate
        assert isinstance(self.oracle, Oracle)  # noqa: S101
        decision = self.decision.carrying(carried)
        oracle = self.oracle.carrying(carried) if self.stricter else decision
        # whether a model takes a blank beside another value is another matter
        refusals = self.refusals if carried.complete else {}
        return replace(
            self, decision=decision, oracle=oracle, read=self.read.carrying(oracle), refusals=refusals, carried=carried
        )

    def alone(self, codes: FloatArray) -> tuple[Fitted, FloatArray]:
        """One of the rows whose carried values are in the book, with a book of its own."""
        if self.carried is None:
            return self, codes
        places = [self.schema.position(name) for name in self.schema.carried]
        one = self.carrying(self.carried.only(codes[places[:1]].astype(np.intp)))
        return one, np.where(np.isin(np.arange(codes.size), places), 0.0, codes)

    def by_surrogate(self) -> Fitted:
        """The same with the surrogate as judge, which keeps what it was asked."""
        judge = SurrogateJudge(self.read, self.oracle)
        return replace(self, oracle=judge, decision=judge)

    @property
    def surrogate(self) -> SurrogateJudge | None:
        """The surrogate, if that is the judge."""
        return self.oracle if isinstance(self.oracle, SurrogateJudge) else None

    def varied(self, **settings: Any) -> Fitted:
        """The same with other settings."""
        return replace(self, settings=replace(self.settings, **settings))

    def never_blank(self, codes: FloatArray) -> tuple[Feature, ...]:
        """The blanks of a row in columns in which the model has seen none, as far as is known."""
        if self.blank_columns is None:
            return ()
        return tuple(
            feature
            for feature, blank in zip(self.schema, np.isnan(codes).tolist(), strict=True)
            if blank and not feature.is_carried and feature.name not in self.blank_columns
        )

    def decides(self, codes: FloatArray) -> bool:
        """Whether the model has decided, or will decide, about a row (D,) with its blanks.

        With ``decision="auto"`` it is not enough that it gives an answer: forests and encoders take a blank that they
        have never seen without a word. It must know blanks in these columns, or the user says that it does.
        """
        settings = self.settings
        if self.refusal(codes) is not None or settings.decision in ("complete", None):
            return False
        if settings.decision == "blank" or settings.reapply != "disclosed" or self.native:
            return True
        return not self.never_blank(codes)

    def refusal(self, codes: FloatArray) -> str | None:
        """Why the model cannot decide about a row with these blanks; None if it can."""
        blank = np.isnan(codes)
        pattern = blank.tobytes()
        if pattern not in self.refusals:
            self.refusals[pattern] = self._refusal(codes, blank)
        return self.refusals[pattern]

    def _refusal(self, codes: FloatArray, blank: BoolArray) -> str | None:
        if blank.sum() > 1 and not self.read.joint and not isinstance(self.read.model, BlackBox):
            # the steps of a model that was read work column by column, so that it takes blanks together if it takes
            # each of them alone; there are fewer columns than patterns
            filled = np.where(blank, [feature.low_code for feature in self.schema], codes)
            for d in np.flatnonzero(blank):
                alone = filled.copy()
                alone[d] = np.nan
                refusal = self.refusal(alone)
                if refusal is not None:
                    return refusal
            return None
        # whether the model takes these blanks is not for its surrogate to say
        asked = self.decision.behind if isinstance(self.decision, SurrogateJudge) else self.decision
        try:
            asked.accepts(codes[None, :])
        except RefusedError as error:
            return error.short[:-1]
        return None


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
        raise DataError(
            f"One row is asked about at a time. Got {codes.shape[0]} instead. For many plans use explain_many(frame); "
            "ask everything else row by row."
        )
    told = [i for i, feature in enumerate(schema) if not feature.is_carried]
    if np.isnan(codes[:, told]).all():
        raise DataError(
            "The row is all blanks, so there is nobody to advise. Give at least one value; the others may be blank."
        )
    one: FloatArray = codes[0]
    return one
