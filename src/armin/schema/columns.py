"""What columns have to do with each other: several that are one feature, and those that follow from others.

Neither is left to chance. A one-hot group is one categorical feature, so that nothing can choose two of its columns;
a derived column is not chosen at all, but worked out from the others whenever they are known.

>>> from armin.schema.feature import Feature
>>> from armin.schema.table import Schema
>>> dummies = [Feature(f"purpose_{name}", "binary", categories=(0, 1)) for name in ("car", "home")]
>>> numbers = [Feature(name, "continuous", lower=0, upper=9) for name in ("debt", "income", "dti")]
>>> schema = Schema((*dummies, *numbers)).with_rules(
...     OneOf(("purpose_car", "purpose_home")), Derived("dti", "debt / income")
... )
>>> schema.names
['purpose', 'debt', 'income', 'dti']
>>> row = {"purpose_car": 0, "purpose_home": 1, "debt": 2, "income": None, "dti": 0.5}
>>> schema.encode(row)
array([[1. , 2. , 4. , 0.5]])
>>> schema.decode(schema.encode(row)).columns.tolist()
['purpose_car', 'purpose_home', 'debt', 'income', 'dti']
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from armin.arrays import BoolArray, FloatArray
from armin.errors import DataError, SchemaError
from armin.schema.feature import Feature
from armin.schema.formula import Formula, read_formula
from armin.schema.rules.base import OptionsOf, Rule
from armin.schema.values import PartlyBlank, Value, as_number, is_blank
from armin.words import Message

if TYPE_CHECKING:
    from armin.schema.table import Schema

__all__ = [
    "Derived",
    "Made",
    "NotZero",
    "OneOf",
    "after_change",
    "checked",
    "completed",
    "fits",
    "fold",
    "folded",
    "made_of",
    "places",
    "unfold",
    "without_derived",
    "worked_out",
]

NEAR = 1e-6
"""Share of a value that is taken for rounding where a row says what also follows from its other values."""
_RANGE = 1e-9


@dataclass(frozen=True)
class OneOf:
    """Columns of 0 and 1 that are one feature: exactly one of them is 1 (a one-hot group).

    Parameters
    ----------
    columns : the columns, at least two, or one and a rest
    name : what the feature is called; what the names of the columns begin with if left out
    rest : what it is called where all columns are 0 (a dropped level); "" if that cannot be
    categories : what each column stands for; what the names of the columns end with if left out
    """

    columns: tuple[str, ...]
    name: str = ""
    rest: str = ""
    categories: tuple[Value, ...] = ()

    def applied(self, schema: Schema) -> Schema:
        """The schema with one feature in the place of the columns."""
        columns = tuple(self.columns)
        if len(set(columns)) != len(columns) or len(columns) + bool(self.rest) < 2:
            raise SchemaError(f"OneOf needs at least two different columns, or one and a rest. Got {self.columns!r}.")
        parts = [schema[name] for name in columns]
        for part in parts:
            if part.is_carried or part.formula or part.columns or part.low_code < 0 or part.high_code > 1:
                raise SchemaError(f"OneOf takes columns of 0 and 1. {part.name!r} is {part.kind}.")
            if not part.is_number and [as_number(value) for value in part.categories] not in ([0.0, 1.0], [0.0], [1.0]):
                raise SchemaError(f"OneOf takes columns of 0 and 1. {part.name!r} holds {part.categories}.")
        for rule in schema.rules:
            for name in set(rule.features) & set(columns):
                raise SchemaError(f"A rule speaks of {name!r}, which OneOf makes a part of a feature. Leave it out.")
        prefix = "".join(one for one, *_ in takewhile(lambda same: len(set(same)) == 1, zip(*columns, strict=False)))
        prefix = prefix[: max((prefix.rfind(mark) for mark in "_ =.:-"), default=-1) + 1]
        named = self.name or prefix.rstrip("_ =.:-") or "_or_".join(columns)
        values = self.categories or tuple(column[len(prefix) :] or column for column in columns)
        if len(values) != len(columns):
            raise SchemaError(f"OneOf needs one category for each of its {len(columns)} columns. Got {values!r}.")
        feature = Feature(
            named, "categorical", categories=(*values, *([self.rest] if self.rest else [])), columns=columns,
            direction="any" if all(part.actionable for part in parts) else "fixed",
            difficulty=max(part.difficulty for part in parts), protected=any(part.protected for part in parts),
        )  # fmt: skip
        at = schema.position(columns[0])
        kept = [feature if i == at else f for i, f in enumerate(schema.features) if i == at or f.name not in columns]
        return replace(schema, features=tuple(kept))


@dataclass(frozen=True)
class Derived:
    """A column that follows from others: advice never sets it, and it is worked out whenever they are known.

    Parameters
    ----------
    column : the column
    formula : what it is, such as ``"debt / income"``, ``"round(100 * used / limit, 1)"`` or ``"savings > 0"``;
        a column with two values counts as 0 and 1
    """

    column: str
    formula: str

    def applied(self, schema: Schema) -> Schema:
        """The schema in which the column is derived; formulas that name it name what is behind it instead."""
        at, formula = schema.position(self.column), read_formula(self.formula)
        made = {f.name: read_formula(f.formula) for f in schema if f.formula}
        formula = formula.replaced(made)
        feature = schema.features[at]
        if feature.columns or feature.is_carried or self.column in formula.names:
            what = "follows from itself" if self.column in formula.names else "is no single value"
            raise SchemaError(f"Derived({self.column!r}, {self.formula!r}) cannot hold: {self.column!r} {what}.")
        if formula.is_flag and feature.is_number:
            feature = Feature(feature.name, "binary", categories=(0, 1), label=feature.label)
        features = [
            replace(f, formula=read_formula(f.formula).replaced({self.column: formula}).text) if f.formula else f
            for f in schema
        ]
        features[at] = replace(
            feature, formula=formula.text, direction="fixed", step=None, limits=None, blank=None, difficulty=1.0
        )
        return replace(schema, features=tuple(features))


@dataclass(frozen=True, eq=False)
class Made:
    """A derived column of a schema.

    Attributes
    ----------
    position : its place in the schema
    formula : what it is
    parts : the places of the columns in the formula, by their names
    """

    position: int
    formula: Formula
    parts: Mapping[str, int]
    binary: bool

    def of(self, codes: FloatArray) -> FloatArray:
        """Its codes (n,) for codes (n, D) of all columns; NaN where a part is blank, or where it is no number."""
        found = self.formula({name: codes[:, position] for name, position in self.parts.items()})
        legal = np.isfinite(found) & (np.isin(found, (0.0, 1.0)) | (not self.binary))
        return np.where(legal, found + 0.0, np.nan)

    def known(self, codes: FloatArray) -> BoolArray:
        """Where all its parts are known (n,)."""
        return np.asarray(~np.isnan(codes[:, list(self.parts.values())]).any(axis=1))


def made_of(schema: Schema) -> tuple[Made, ...]:
    """The derived columns of a schema, or a refusal of what cannot be."""
    found = []
    for position, feature in enumerate(schema.features):
        if not feature.formula:
            continue
        formula = read_formula(feature.formula)
        for name in formula.names:
            part = schema[name]  # refuses what is no column
            if part.formula:
                raise SchemaError(
                    f"{feature.name!r} = {formula.text} names {name!r}, which is derived itself. Say what is behind it."
                )
            if not (part.is_number or part.kind == "binary"):
                raise SchemaError(
                    f"{feature.name!r} = {formula.text} must be made of numbers and columns with two values. "
                    f"{name!r} is {part.kind}."
                )
        if any(len(divisor.names) > 2 for divisor in formula.divisors):
            raise SchemaError(
                f"{feature.name!r} = {formula.text} divides by more than two columns, and rules are enforced on pairs."
            )
        parts = {name: schema.position(name) for name in formula.names}
        found.append(Made(position, formula, parts, feature.kind == "binary"))
    for rule in schema.rules:
        for name in rule.features:
            if schema[name].formula:
                raise SchemaError(
                    f"{name!r} follows from {schema[name].formula}, so no rule can speak of it. Say it of these."
                )
    return tuple(found)


@dataclass(frozen=True)
class NotZero(Rule):
    """What a derived column is divided by must not become 0.

    Parameters
    ----------
    column : the derived column
    text : what it is divided by
    """

    column: str
    text: str

    @property
    def features(self) -> tuple[str, ...]:
        return read_formula(self.text).names

    def message(self, schema: Schema) -> Message:
        """The rule, to be said."""
        return Message("rules.not_zero", label=schema[self.column].named, formula=self.text)

    def allows(self, schema: Schema, before: FloatArray, after: FloatArray) -> BoolArray:
        """Which candidates are not led to 0."""
        return np.asarray(~self._zero(schema, after) | self._zero(schema, before))

    def _zero(self, schema: Schema, codes: FloatArray) -> BoolArray:
        found = read_formula(self.text)({name: codes[:, schema.position(name)] for name in self.features})
        return np.asarray(found == 0.0)

    def table(self, schema: Schema, first: OptionsOf, second: OptionsOf, candidates: FloatArray) -> BoolArray:
        """Which options it allows together."""
        values: dict[str, FloatArray] = {}
        for name in self.features:
            position = schema.position(name)
            if position == first.position:
                values[name] = first.values[:, :, None]
            elif position == second.position:
                values[name] = second.values[:, None, :]
            else:
                values[name] = candidates[:, position, None, None]
        zero = read_formula(self.text)(values) == 0.0
        zero = np.broadcast_to(zero, (zero.shape[0], first.values.shape[1], second.values.shape[1]))
        return np.asarray((~zero | zero[:, :1, :1]).all(axis=0))


def worked_out(schema: Schema, codes: FloatArray) -> FloatArray:
    """Codes (n, D) in which every derived column whose parts are known is what follows from them."""
    if not schema.derived:
        return codes
    after = codes.copy()
    for made in schema.derived:
        value = made.of(codes)
        after[:, made.position] = np.where(np.isnan(value), codes[:, made.position], value)
    return after


def after_change(schema: Schema, codes: FloatArray, moved: Collection[int]) -> FloatArray:
    """Codes (n, D) after features at some positions were changed: what follows from these follows, or is blank."""
    touched = [made for made in schema.derived if not set(moved).isdisjoint(made.parts.values())]
    if not touched:
        return codes
    after = codes.copy()
    for made in touched:
        after[:, made.position] = made.of(codes)
    return after


def completed(schema: Schema, codes: FloatArray, blank: BoolArray | None = None) -> FloatArray:
    """Codes (n, D) in which what follows from other values is filled: derived columns, and their last blank part.

    Parameters
    ----------
    schema : the columns
    codes : NaN for blanks
    blank : for draws of one row, which of its columns (D,) were blank: a derived column that was not stays, and the
        last of its blank parts is worked out from it

    Returns
    -------
    array of shape (n, D)
        What does not follow stays as it is.
    """
    if not schema.derived:
        return codes
    filled = codes.copy()
    if blank is not None:
        filled[:, [made.position for made in schema.derived if blank[made.position]]] = np.nan
    for _ in range(len(schema.derived)):
        before = filled.copy()
        for made in schema.derived:
            own, parts = filled[:, made.position], filled[:, list(made.parts.values())]
            if blank is None:
                lacking = np.isnan(parts)
            else:
                drawn = [p for p in made.parts.values() if blank[p]]
                last = drawn[-1:] if not blank[made.position] else []
                lacking = np.tile(np.isin(list(made.parts.values()), last), (len(filled), 1))
            one = (lacking.sum(axis=1) == 1) & ~np.isnan(own)
            for k, (name, position) in enumerate(made.parts.items()):
                rows = np.flatnonzero(one & lacking[:, k])
                if rows.size:
                    values = {n: filled[rows, p] for n, p in made.parts.items() if n != name}
                    solved = made.formula.solve(name, own[rows], values)
                    if solved is not None:
                        filled[rows, position] = _legal(schema.features[position], solved, filled[rows, position])
            value = made.of(filled)
            unknown = np.isnan(filled[:, made.position])
            filled[:, made.position] = np.where(unknown, value, filled[:, made.position])
        if np.array_equal(before, filled, equal_nan=True):
            break
    return filled


def _legal(feature: Feature, values: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Values that a feature can have; what it cannot have stays as it was."""
    scale = _RANGE * max(1.0, abs(feature.least_code), abs(feature.most_code))
    if feature.kind != "continuous":
        near = np.rint(values)
        values = np.where(np.abs(values - near) <= 0.5 if feature.is_number else values == near, near, np.nan)
    fine = (values >= feature.least_code - scale) & (values <= feature.most_code + scale)
    return np.where(fine, np.clip(values, feature.least_code, feature.most_code) + 0.0, otherwise)


def agrees(given: FloatArray, follows: FloatArray) -> BoolArray:
    """Whether values that were given are what follows from others, perhaps rounded to as many digits as they have.

    >>> agrees(np.array([0.33, 0.3333333, 0.35, 3.0]), np.array([1 / 3, 1 / 3, 1 / 3, 3.4])).tolist()
    [True, True, False, True]
    """
    size = np.maximum(np.abs(given), np.abs(follows))
    digits = np.zeros(given.shape)
    for k in range(12):
        digits = np.where(np.abs(given * 10.0**k - np.rint(given * 10.0**k)) > NEAR, k + 1, digits)
    return np.asarray(np.abs(given - follows) <= 0.5 * 10.0**-digits * (1 + NEAR) + NEAR * size)


def checked(schema: Schema, codes: FloatArray) -> FloatArray:
    """Rows as codes (n, D) in which what follows is filled; a value that contradicts what follows is refused."""
    filled = completed(schema, codes)
    for made in schema.derived:
        own, value = filled[:, made.position], made.of(filled)
        wrong = ~np.isnan(value) & ~np.isnan(own)
        feature = schema.features[made.position]
        wrong &= ~(agrees(own, value) if feature.is_number else own == value)
        for i in np.flatnonzero(wrong)[:1]:
            told = ", ".join(f"{n} = {schema[n].value(filled[i, p])}" for n, p in made.parts.items())
            raise DataError(
                f"Column {feature.name!r} must be {made.formula.text}, which is {feature.value(value[i])} for {told}. "
                f"Got {feature.value(own[i])!r} instead.",
                "Correct the value, or leave it blank: it is worked out.",
            )
        filled[:, made.position] = np.where(np.isnan(value), own, value)
    return filled


def fits(schema: Schema, codes: FloatArray) -> BoolArray:
    """Which complete rows, as codes (n, D), have in their derived columns what follows from the others."""
    fine = np.ones(codes.shape[0], dtype=bool)
    for made in schema.derived:
        value, own = made.of(codes), codes[:, made.position]
        same = own == value if made.binary else agrees(own, value)
        fine &= ~np.isnan(own) & (np.isnan(value) | same)
    return fine


def fold(feature: Feature, columns: Sequence[Sequence[object]]) -> list[Value | None]:
    """The category of a one-hot group in each row; None where all is blank.

    Parameters
    ----------
    feature : the feature whose columns they are
    columns : what each of its columns holds, one value per row
    """
    flags = np.empty((len(columns[0]), len(columns)))
    for k, (name, values) in enumerate(zip(feature.columns, columns, strict=True)):
        for i, value in enumerate(values):
            number = np.nan if is_blank(value) else as_number(value)
            if number is None or (number not in (0.0, 1.0) and number == number):
                raise DataError(f"Column {name!r} must be 0 or 1, or blank. Got {value!r} instead.")
            flags[i, k] = number
    ones, blanks = (flags == 1).sum(axis=1), np.isnan(flags).sum(axis=1)
    n, closed = len(feature.columns), len(feature.columns) == len(feature.categories)
    found: list[Value | None] = []
    for row, one, blank in zip(flags, ones.tolist(), blanks.tolist(), strict=True):
        if one == 1:
            found.append(feature.categories[int(np.nanargmax(row))])
        elif one == 0 and blank == n:
            found.append(None)
        elif one == 0 and blank == 0 and not closed:
            found.append(feature.categories[-1])
        elif one == 0 and blank == 1 and closed:
            found.append(feature.categories[int(np.flatnonzero(np.isnan(row))[0])])
        else:
            told = ", ".join(
                f"{name} {'blank' if value != value else f'= {value:g}'}"
                for name, value in zip(feature.columns, row.tolist(), strict=True)
            )
            found.append(PartlyBlank(told) if one == 0 and blank else told)
    return found


def folded(schema: Schema, frame: pd.DataFrame) -> pd.DataFrame:
    """A table in which each one-hot group is one column, unless it is there already."""
    for feature in schema.features:
        if feature.columns and feature.name not in frame.columns:
            absent = [name for name in feature.columns if name not in frame.columns]
            if len(absent) == len(feature.columns):
                continue  # said with all other columns that are missing
            if absent:
                raise DataError(
                    f"Column {absent[0]!r} is missing, and {feature.columns[0]!r} is there. Give all columns of "
                    f"{feature.name!r}, or {feature.name!r} itself."
                )
            values = fold(feature, [frame[name].tolist() for name in feature.columns])
            column = pd.Series(values, index=frame.index, dtype=object)
            frame = frame.drop(columns=list(feature.columns)).assign(**{feature.name: column})
    return frame


def unfold(feature: Feature, codes: FloatArray, dtypes: Mapping[str, Any]) -> dict[str, pd.Series[Any]]:
    """The columns of a one-hot group behind codes (n,), in the types of the training data."""
    found, blank = {}, np.isnan(codes)
    for k, name in enumerate(feature.columns):
        column = pd.Series(np.where(blank, np.nan, codes == k))
        dtype = dtypes.get(name)
        if dtype is None:
            dtype = np.float64 if blank.any() else np.int64
        held = not (blank.any() and isinstance(dtype, np.dtype) and dtype.kind in "iub")
        found[name] = column.astype(dtype) if held else column
    return found


def places(schema: Schema, column: str) -> int | frozenset[int] | None:
    """The features behind a column of the user's table: one, several if it is derived, None if it is not known."""
    for position, feature in enumerate(schema.features):
        if column in (feature.columns or (feature.name,)):
            made = next((one for one in schema.derived if one.position == position), None)
            return position if made is None else frozenset({position, *made.parts.values()})
    return None


def without_derived(schema: Schema, codes: FloatArray) -> FloatArray:
    """Codes (n, D) in which a derived column that follows from the others is 0, so that it tells no two rows apart."""
    if not schema.derived:
        return codes
    after = codes.copy()
    for made in schema.derived:
        after[~np.isnan(made.of(codes)), made.position] = 0.0
    return after
