"""The schema: all columns of a row, by name; rows in, codes out, and back."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from armin.errors import SchemaError
from armin.schema.carried import Carried
from armin.schema.cast import decode_numbers, decode_values
from armin.schema.columns import Derived, Made, NotZero, OneOf, checked, completed, fits, made_of, unfold, worked_out
from armin.schema.feature import Blank, Feature, Kind
from armin.schema.frames import as_frame, blanks_of
from armin.schema.overrides import Overrides
from armin.schema.question import Review, SchemaNote
from armin.schema.rows import encode_one, frame_of
from armin.schema.rules import Rule
from armin.schema.shown import Shown
from armin.schema.values import Value
from armin.words import Printable

__all__ = ["Rows", "Schema"]

SHOWN = 6
"""Features whose names are in the short form of a schema."""

Rows: TypeAlias = pd.DataFrame | Mapping[str, object] | Sequence[object] | NDArray[Any]
"""What counts as rows: a DataFrame, Series, dict, list or array."""


@dataclass(frozen=True, repr=False)
class Schema(Printable):
    """The columns of a row, in order.

    Examples
    --------
    >>> frame = pd.DataFrame({"income": [30, 40, 55], "purpose": ["car", "home", "car"]})
    >>> schema = Schema.infer(frame, units={"income": "k$"}, immutable=["purpose"])
    >>> print(schema)
    feature  kind     values      may change  step  if blank
    income   integer  30 … 55 k$  any         auto  reach
    purpose  binary   car, home   no          -     freeze
    >>> schema.encode({"income": 41, "purpose": None})
    array([[41., nan]])

    Attributes
    ----------
    features : the columns
    rules : what must hold between them
    decisions : what people call the labels of the model, by the label as a text
    """

    features: tuple[Feature, ...]
    rules: tuple[Rule, ...] = ()
    decisions: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        names = [f.name for f in self.features]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise SchemaError(f"Column names must be different. {', '.join(map(repr, twice))} occur twice.")
        if not names:
            raise SchemaError("A schema needs at least one column. Got none.")
        for label, name in self.decisions.items():
            if not isinstance(name, str) or not name.strip():
                raise SchemaError(f"The name of the decision {label!r} must be a text. Got {name!r} instead.")
        for rule in self.rules:
            rule.check(self)
            along = [name for name in rule.features if self[name].is_carried]
            if along:
                raise SchemaError(
                    f"{along[0]!r} is carried along as it is, so no rule can speak of it. Say what it holds: "
                    f"kinds={{{along[0]!r}: 'categorical'}}, for example."
                )
            rule.pairs()  # refuses a rule that could not be enforced
        raw = self.columns
        for name in raw:
            if raw.count(name) > 1:
                raise SchemaError(f"Column names must be different. {name!r} belongs to two features.")
        for made in self.derived:
            whole = made.formula.is_whole and all(self.features[p].kind != "continuous" for p in made.parts.values())
            if self.features[made.position].kind == "integer" and not whole:
                changed = [replace(f, kind="continuous") if i == made.position else f for i, f in enumerate(self)]
                object.__setattr__(self, "features", tuple(changed))

    @classmethod
    def infer(
        cls,
        frame: object,
        *,
        kinds: Mapping[str, Kind] | None = None,
        categories: Mapping[str, Sequence[Value]] | None = None,
        immutable: Sequence[str] = (),
        mutable: Sequence[str] | None = None,
        increase_only: Sequence[str] = (),
        decrease_only: Sequence[str] = (),
        bounds: Mapping[str, tuple[float, float]] | None = None,
        step: Mapping[str, float] | None = None,
        blanks: Mapping[str, Blank] | None = None,
        labels: Mapping[str, str] | None = None,
        units: Mapping[str, str] | None = None,
        formats: Mapping[str, str] | None = None,
        difficulty: Mapping[str, float] | None = None,
        protected: Sequence[str] | None = None,
        carried: Sequence[str] = (),
        reasons: Mapping[str, str] | None = None,
        limits: Mapping[str, tuple[float, float]] | None = None,
        sentinels: Mapping[str, Sequence[Value]] | None = None,
        rules: Sequence[Rule | OneOf | Derived] | Literal["find"] = (),
    ) -> Schema:
        """Guess a schema from data; what the user says, by column name, wins.

        What is decided without being told is said in a :class:`SchemaNote`: names that sound like a protected trait
        are fixed, and dates, identifiers and texts with very many values are carried along.

        Parameters
        ----------
        frame : the training data, without the label column; blanks are fine
        kinds : "continuous", "integer", "binary", "categorical", "ordinal" or "carried"
        categories : the values of a column, in order for an ordinal one
        immutable, mutable : columns that may not change; or, the other way round, the only ones that may
        increase_only, decrease_only : columns that may move in one direction
        bounds : (lower, upper) of numbers, between which advice stays; the range of the data if left out
        step : the grid on which a number moves
        blanks : "shift", "reach" or "freeze", how a blank may be acted on
        labels, units, formats : how people say it
        difficulty : a factor on the cost of changing a column
        protected : traits that advice must never touch; None to guess them by their names, [] for none
        carried : columns that are passed on to the model as a row has them, such as an identifier
        reasons : the company's own code for a column as a reason
        limits : (lower, upper) of what a number can be at all; if left out, the bounds if they are said, else the range
            of the data and as much again on either side, but not below 0 if nothing there is
        sentinels : values that stand for a blank in a column; if left out, a text such as "?" or a code such as -9 or
            9999 far from all else, where a column has one
        rules : what holds between columns, as in :meth:`with_rules`; "find" to find one-hot groups, columns that are
            made of others, and orders

        Returns
        -------
        Schema
        """
        from armin.schema.infer import infer_features, infer_rules

        overrides = Overrides(
            kinds or {}, categories or {}, immutable, mutable, increase_only, decrease_only, bounds or {}, step or {},
            blanks or {}, labels or {}, units or {}, formats or {}, difficulty or {}, protected, carried,
            reasons or {}, limits or {}, sentinels or {},
        )  # fmt: skip
        table = as_frame(frame)
        features, notes = infer_features(table, overrides)
        found = cls(features)
        if rules == "find":
            rules, more = infer_rules(table, found, overrides)
            notes = (*notes, *more)
        if notes:
            said = Review(notes).messages
            warnings.warn(SchemaNote("\n".join(str(note) for note in said), notes), stacklevel=2)
        return found.with_rules(*rules)

    def review(self, frame: object = None, y: object = None) -> Review:
        """What somebody who knows the columns should look at, as questions.

        By name: identifiers, protected traits, history, the answer itself, one-way streets, codes. By content, if
        ``frame`` is given: running numbers, numbers written as texts and, with the labels ``y``, columns that give
        the answer away.

        Parameters
        ----------
        frame : the training data, if at hand; further columns do not matter
        y : its labels

        Returns
        -------
        Review

        Examples
        --------
        >>> schema = Schema((Feature("last_bill", "integer", lower=0, upper=9000),))
        >>> [question.about for question in schema.review()]
        ['history']
        """
        from armin.schema.review import review

        if frame is None:
            return review(self, None, y)
        table = as_frame(frame)
        table = table.set_axis([str(name) for name in table.columns], axis=1)
        known = [name for name in table.columns if name in self.names or name in self.columns]
        return review(self, self.frame(table[known]), y)

    def update(
        self,
        *,
        immutable: Sequence[str] = (),
        mutable: Sequence[str] | None = None,
        increase_only: Sequence[str] = (),
        decrease_only: Sequence[str] = (),
        bounds: Mapping[str, tuple[float, float]] | None = None,
        step: Mapping[str, float] | None = None,
        blanks: Mapping[str, Blank] | None = None,
        labels: Mapping[str, str] | None = None,
        units: Mapping[str, str] | None = None,
        formats: Mapping[str, str] | None = None,
        difficulty: Mapping[str, float] | None = None,
        protected: Sequence[str] | None = None,
        carried: Sequence[str] = (),
        reasons: Mapping[str, str] | None = None,
        limits: Mapping[str, tuple[float, float]] | None = None,
    ) -> Schema:
        """The same schema with other rules for some columns; the words are those of :meth:`infer`.

        >>> schema = Schema((Feature("age", "integer", lower=18, upper=90),))
        >>> schema.update(immutable=["age"])["age"].direction
        'fixed'
        """
        overrides = Overrides(
            {}, {}, immutable, mutable, increase_only, decrease_only, bounds or {}, step or {}, blanks or {},
            labels or {}, units or {}, formats or {}, difficulty or {}, protected, carried,
            reasons or {}, limits or {},
        )  # fmt: skip
        overrides.check(self.names)
        return replace(self, features=tuple(overrides.apply(f) for f in self.features))

    def with_form(self, **columns: Mapping[str, Any]) -> Schema:
        """The same schema with what a form says about columns; the words are those of :class:`Shown`.

        >>> schema = Schema((Feature("age", "integer", lower=18, upper=90),))
        >>> schema.with_form(age={"group": "You", "help": "On your last birthday."})["age"].shown.group
        'You'
        """
        for name in columns:
            if name not in self.names:
                raise SchemaError(f"The form names {name!r}, which is not a column. Columns: {', '.join(self.names)}.")
        made = {name: Shown.of(name, self[name].shown.to_dict() | dict(said)) for name, said in columns.items()}
        return replace(self, features=tuple(replace(f, shown=made.get(f.name, f.shown)) for f in self.features))

    def widened(self, rows: Rows | pd.Series[Any]) -> Schema:
        """The same schema with bounds and categories stretched to include ``rows``.

        >>> schema = Schema((Feature("age", "integer", lower=18, upper=60),))
        >>> schema.widened(pd.DataFrame({"age": [71]}))["age"].upper
        71.0
        """
        from armin.schema.infer import widen_feature

        frame = self.frame(rows)
        return replace(self, features=tuple(widen_feature(f, frame[f.name]) for f in self.features))

    def with_rules(self, *rules: Rule | OneOf | Derived) -> Schema:
        """The same schema with further rules between features, or between the columns behind them.

        >>> from armin.schema import Order
        >>> names = ("total", "part")
        >>> schema = Schema(tuple(Feature(name, "integer", lower=0, upper=9) for name in names))
        >>> print(schema.with_rules(Order(("part", "total"))))
        feature  kind     values  may change  step  if blank
        total    integer  0 … 9   any         auto  reach
        part     integer  0 … 9   any         auto  reach
        Rule: part must be at most total.
        """
        schema = self
        for rule in rules:
            schema = rule.applied(schema)
        return schema

    def with_decisions(self, names: Mapping[Any, str]) -> Schema:
        """The same schema, in which the labels of the model have names for people.

        >>> schema = Schema((Feature("age", "integer", lower=18, upper=90),))
        >>> schema.with_decisions({0: "granted", 1: "refused"}).called(0)
        'granted'
        """
        return replace(self, decisions={str(label): name for label, name in names.items()})

    def called(self, label: object) -> str:
        """What people call a label of the model."""
        return self.decisions.get(str(label), str(label))

    @property
    def names(self) -> list[str]:
        """The column names, in order."""
        return [f.name for f in self.features]

    @cached_property
    def columns(self) -> list[str]:
        """The columns of the user's table, in order: a one-hot group has several."""
        return [name for f in self.features for name in f.columns or (f.name,)]

    @cached_property
    def derived(self) -> tuple[Made, ...]:
        """The columns that follow from others."""
        return made_of(self)

    @cached_property
    def constraints(self) -> tuple[Rule, ...]:
        """All that a plan must keep to between features: the rules, and that nothing derived is divided by 0."""
        divisors = [
            NotZero(self.features[made.position].name, divisor.text)
            for made in self.derived
            for divisor in made.formula.divisors
        ]
        return (*self.rules, *divisors)

    @property
    def actionable(self) -> list[int]:
        """Positions of the features that may change."""
        return [i for i, f in enumerate(self.features) if f.actionable]

    @cached_property
    def carried(self) -> list[str]:
        """The columns that are only passed on to the model; a row may leave them out."""
        return [f.name for f in self.features if f.is_carried]

    def __reduce__(self) -> tuple[Any, ...]:
        return Schema, (self.features, self.rules, dict(self.decisions))  # what follows from these is not kept

    def __len__(self) -> int:
        return len(self.features)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.features)

    def __getitem__(self, name: str | int) -> Feature:
        return self.features[name if isinstance(name, int) else self.position(name)]

    def position(self, name: str) -> int:
        """Where a column stands."""
        try:
            return self.names.index(name)
        except ValueError:
            raise SchemaError(f"{name!r} is not a column. The columns are: {', '.join(self.names)}.") from None

    def frame(self, rows: Rows | pd.Series[Any]) -> pd.DataFrame:
        """Rows of any accepted form as a DataFrame with this schema's columns."""
        return frame_of(self, rows)

    def encode(self, rows: Rows | pd.Series[Any], *, clip: bool = False) -> NDArray[np.float64]:
        """Rows as codes (n, D), NaN for blanks. Every value is checked.

        Parameters
        ----------
        rows : one row or many
        clip : pull numbers that are out of bounds back to them instead of refusing; meant for training data,
            where bounds say what may be suggested, not what has been seen

        Raises
        ------
        DataError
            With the column, the rule and the value.
        """
        if isinstance(rows, pd.Series) and rows.index.is_unique:
            rows = rows.to_dict()
        one = None if clip else encode_one(self, rows)
        if one is not None:
            return checked(self, one)
        frame = self.frame(rows)
        matrix = np.empty((len(frame), len(self)))
        for i, feature in enumerate(self.features):
            matrix[:, i] = feature.codes(frame[feature.name], clip=clip)
        return worked_out(self, completed(self, matrix)) if clip else checked(self, matrix)

    def carried_by(self, rows: Rows | pd.Series[Any]) -> Carried:
        """What rows hold in the columns that are carried along.

        >>> schema = Schema((Feature("id", "carried"), Feature("age", "integer", lower=18, upper=90)))
        >>> schema.carried_by({"id": "K7", "age": 30}).values
        {'id': ['K7']}
        """
        if isinstance(rows, Mapping | pd.Series):
            return Carried.of_row(self, rows)
        return Carried.of(self, self.frame(rows))

    def decode(
        self,
        matrix: NDArray[np.float64],
        like: pd.DataFrame | Mapping[str, Any] | None = None,
        carried: Carried | None = None,
        blanks: Mapping[str, Any] | None = None,
    ) -> pd.DataFrame:
        """Codes (n, D) as a DataFrame of values.

        Parameters
        ----------
        matrix : codes
        like : a frame, or its column types by name, which are used where the values allow it
        carried : the values of carried columns, to whose places their codes point; blank if left out
        blanks : by column, what stands for a blank where its type has no sign of its own; a frame ``like`` knows it
        """
        columns: dict[str, Any] = dict.fromkeys(self.columns)
        dtypes = {str(n): t for n, t in like.dtypes.items()} if isinstance(like, pd.DataFrame) else like or {}
        signs = blanks_of(like) if isinstance(like, pd.DataFrame) else blanks or {}
        numbers: dict[np.dtype[Any], list[int]] = {}
        hidden = [i for i, f in enumerate(self.features) if f.sentinels and f.is_number]
        if hidden:
            matrix = matrix.copy()
            for i in hidden:
                matrix[np.isnan(matrix[:, i]), i] = self.features[i].sentinels[0]
        for i, feature in enumerate(self.features):
            dtype, blank = dtypes.get(feature.name), signs.get(feature.name, None if feature.is_carried else np.nan)
            blank = feature.sentinels[0] if feature.sentinels else blank
            if feature.columns:
                columns |= unfold(feature, matrix[:, i], dtypes)
            elif feature.is_carried:
                columns[feature.name] = (carried or Carried()).column(feature.name, matrix[:, i], dtype, blank)
            elif feature.is_number and isinstance(dtype, np.dtype) and dtype.kind in "iuf":
                numbers.setdefault(dtype, []).append(i)
            else:
                columns[feature.name] = decode_values(feature, matrix[:, i], dtype, blank)
        for dtype, positions in numbers.items():  # all columns of a type at once
            for i, values in zip(positions, decode_numbers(matrix[:, positions], dtype), strict=True):
                feature = self.features[i]
                columns[feature.name] = decode_values(feature, matrix[:, i], dtype) if values is None else values
        return pd.DataFrame(columns)

    def plausible(self, codes: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which complete rows, as codes (n, D), do not contradict the rules, nor what follows from other columns."""
        fine = fits(self, codes)
        for rule in self.rules:
            fine &= rule.fits(self, codes)
        return fine

    def to_toml(self, path: str | Path | None = None, *, review: Review | None = None) -> str:
        """This schema as TOML text, also written to ``path`` if given; the questions of a review as comments."""
        from armin.schema.toml import write_toml

        comments: dict[str, list[str]] = {}
        for question in review or ():
            comments.setdefault(question.column, []).append(str(question.comment))
        return write_toml(self, path, comments)

    @classmethod
    def from_toml(cls, source: str | Path) -> Schema:
        """The schema in a TOML file, or in TOML text."""
        from armin.schema.toml import read_toml

        return cls(*read_toml(source))

    def text(self, language: str = "en") -> str:
        """This schema as a table, in English whatever the language."""
        from armin.schema.show import schema_text

        return schema_text(self)

    def __repr__(self) -> str:
        names = ", ".join(self.names[:SHOWN]) + (", …" if len(self) > SHOWN else "")
        rules = f", {len(self.rules)} rule{'s' * (len(self.rules) > 1)}" if self.rules else ""
        return f"<Schema: {len(self)} feature{'s' * (len(self) > 1)} ({names}){rules}>"
