"""Guess what a column holds."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from armin.errors import DataError, SchemaError
from armin.schema.columns import Derived, OneOf
from armin.schema.dependencies import Finding, certain_sentinels, find_dependencies, find_sentinels
from armin.schema.feature import Feature, Kind
from armin.schema.guess import is_identifier, is_past, is_postal, is_protected
from armin.schema.overrides import Overrides
from armin.schema.question import Question
from armin.schema.rules import Rule
from armin.schema.values import as_number, is_blank, scalar
from armin.words import Message

if TYPE_CHECKING:
    from armin.schema.table import Schema

__all__ = ["infer_features", "infer_rules", "widen_feature"]

MOST_CATEGORIES = 200
"""A text column with more distinct values than this is carried along, unless the user says what it holds."""
ENOUGH_ROWS = 50
"""In so many rows a column without repetition is an identifier, and no chance."""
FEW_PLACES = 20
"""A zip code with more values than this is carried along even where it is a number."""
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}.*)?|\d{1,2}([./])\d{1,2}\2\d{4}")
PLAIN = str | bool | int | float | np.bool_ | np.integer | np.floating | Decimal


def infer_features(frame: pd.DataFrame, overrides: Overrides) -> tuple[tuple[Feature, ...], tuple[Question, ...]]:
    """Guess what the columns hold, and say what was guessed; see :meth:`armin.schema.Schema.infer`."""
    if len(frame) == 0:
        raise SchemaError("Schema.infer needs at least one row. Got none.")
    names = [str(c) for c in frame.columns]
    overrides.check(names)
    frame = frame.set_axis(names, axis=1)
    notes: list[Question] = []
    features = tuple(_infer_feature(name, frame[name], overrides, notes) for name in names)
    guarded = [note.column for note in notes if note.about == "protected"]
    for i, note in enumerate(notes):
        if note.about == "protected":  # said together, as naming one would free the others
            message = Message("review.protected_guessed", name=repr(note.column), code=f"protected={guarded}")
            notes[i] = replace(note, message=message)
    return features, tuple(notes)


def _infer_feature(name: str, column: pd.Series[Any], overrides: Overrides, notes: list[Question]) -> Feature:
    if isinstance(column, pd.DataFrame):
        raise SchemaError(f"Column names must be different. {name!r} occurs twice.")
    numeric = isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufb"
    present = column.dropna() if numeric else column[[not is_blank(value) for value in column.tolist()]]
    column = _without_sentinels(name, column, overrides, notes)
    present = column.dropna() if numeric else column[[not is_blank(value) for value in column.tolist()]]
    guarded = not overrides.settles(name) and is_protected(name, _few_texts(present))
    if name in overrides.carried or overrides.kinds.get(name) == "carried":
        return overrides.apply(Feature(name, "carried", protected=guarded))
    told = any(name in said for said in (overrides.kinds, overrides.categories, overrides.bounds, overrides.step))
    why = None if told or overrides.opens(name) else _only_carried(name, column, present)
    if why is not None:
        notes.append(Question(name, "carried", why))
        return overrides.apply(Feature(name, "carried", protected=guarded))
    if not numeric:
        _check_values(name, present)
    kind = overrides.kinds.get(name) or _guess_kind(name, present, overrides)
    fixed = name in overrides.immutable or (overrides.mutable is not None and name not in overrides.mutable)
    if guarded:
        notes.append(Question(name, "protected", Message("review.protected_guessed", name=repr(name))))
    if kind in ("continuous", "integer"):
        feature = _number(name, kind, present, overrides, fixed=fixed or guarded)
    else:
        feature = _category(name, kind, column, present, overrides, fixed=fixed or guarded)
    feature = replace(feature, sentinels=tuple(overrides.sentinels.get(name, column.attrs.get("sentinels", ()))))
    if not overrides.settles(name) and not guarded and feature.actionable and is_past(name):
        feature = replace(feature, direction="fixed")
        message = Message("review.past", name=repr(name), code=f"immutable=[{name!r}]", n=1)
        notes.append(Question(name, "past", message, 'direction = "fixed"'))
    elif not feature.actionable and not fixed and not guarded:
        settled = f"immutable=[{name!r}]"
        notes.append(Question(name, "constant", Message("review.constant", name=repr(name), code=settled, n=1)))
    return overrides.apply(replace(feature, protected=guarded))


def infer_rules(
    frame: pd.DataFrame, schema: Schema, overrides: Overrides
) -> tuple[tuple[Rule | OneOf | Derived, ...], tuple[Question, ...]]:
    """What holds between columns in all rows, and the question whether it is meant; what the user opens stays open."""
    names = [f.name for f in schema if not f.is_carried and f.name not in overrides.categories]
    table = frame.set_axis([str(c) for c in frame.columns], axis=1)[names].copy()
    for feature in schema:
        if feature.sentinels and feature.name in names:
            column = table[feature.name]
            table[feature.name] = column.where(~column.isin(feature.sentinels))
    kept: list[tuple[str, Finding]] = []
    for one in find_dependencies(table):
        if isinstance(one.rule, Derived) and overrides.opens(one.rule.column):
            continue
        try:
            schema = schema.with_rules(one.rule)
        except SchemaError:  # a column that is no number to the schema, or two findings about one column
            continue
        named = one.rule.column if isinstance(one.rule, Derived) else one.columns[0]
        at = next(f.name for f in schema if named in (f.name, *f.columns))
        kept.append((at, one))
    code = f"rules=[{', '.join(one.code for _, one in kept)}]"
    notes = (
        Question(
            column,
            "rule",
            Message("review.rule", name=f"{one.code} in {one.rows:,} of {one.rows:,} rows", code=code, n=1),
        )
        for column, one in kept
    )
    return tuple(one.rule for _, one in kept), tuple(notes)


def _without_sentinels(
    name: str, column: pd.Series[Any], overrides: Overrides, notes: list[Question]
) -> pd.Series[Any]:
    """The column with blanks in the place of values that stand for them, which are among its ``attrs``."""
    told = name in overrides.sentinels
    found: Mapping[Any, int] = dict.fromkeys(overrides.sentinels[name], 0) if told else find_sentinels(column)
    if not found or name in overrides.carried or name in overrides.categories or name in overrides.bounds:
        return column
    values = [int(v) if isinstance(v, float) and v.is_integer() else v for v in found]
    said = {"name": repr(name), "value": ", ".join(map(repr, values)), "code": f"sentinels={{{name!r}: {values}}}"}
    if not told and not certain_sentinels(column):
        notes.append(
            Question(
                name, "sentinel", Message("review.sentinel", n=sum(found.values()), **said), f"sentinels = {values}"
            )
        )
        return column
    if not told:
        name_of = f"{said['value']} in {name!r} ({sum(found.values()):,} rows)"
        message = Message("review.sentinel_taken", name=name_of, code=said["code"], n=1)
        notes.append(Question(name, "sentinel", message, f"sentinels = {values}"))
    plain = column.where(~column.isin(list(found)))
    if isinstance(column.dtype, pd.CategoricalDtype):
        plain = plain.cat.remove_categories([value for value in found if value in column.dtype.categories])
    plain.attrs = {"sentinels": sorted(values, key=lambda value: -found[value])}
    return plain


def _few_texts(present: pd.Series[Any]) -> list[Any]:
    """The different values of a column of few texts, which may say by themselves what they are about."""
    if pd.api.types.is_numeric_dtype(present.dtype):
        return []
    found = list(dict.fromkeys(value for value in present.tolist() if isinstance(value, str)))
    return found if len(found) <= FEW_PLACES else []


def _only_carried(name: str, column: pd.Series[Any], present: pd.Series[Any]) -> Message | None:
    """Why a column can only be carried along; None if it says something that advice could be about."""
    said = {"name": repr(name), "code": f"carried=[{name!r}]"}
    if len(present) == 0:
        return Message("review.carried_empty", **said)
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return Message("review.carried_dates", **said)
    odd = next((value for value in present.tolist() if not isinstance(value, PLAIN)), None)
    if odd is not None:
        return Message("review.carried_odd", kind=type(odd).__name__, **said)
    if all(isinstance(value, str) and _DATE.fullmatch(value.strip()) for value in present.tolist()):
        return Message("review.carried_dates", **said)
    count = int(present.nunique())
    unique = count == len(present) >= ENOUGH_ROWS
    if any(isinstance(value, str) for value in present.tolist()):
        many = count > MOST_CATEGORIES or (unique and not isinstance(column.dtype, pd.CategoricalDtype))
        kind = "categorical"
    else:
        many = (unique and is_identifier(name)) or (count > FEW_PLACES and is_postal(name))
        many = many and pd.api.types.is_integer_dtype(column.dtype)
        kind = "integer"
    if not many:
        return None
    return Message("review.carried_values", n=count, rows=len(present), other=f"kinds={{{name!r}: {kind!r}}}", **said)


def _check_values(name: str, present: pd.Series[Any]) -> None:
    for value in present.tolist():
        if not isinstance(value, PLAIN):
            raise SchemaError(
                f"Column {name!r} must hold numbers, texts or booleans. Got {value!r}, a {type(value).__name__}. "
                f"Turn it into one of these first (a date into an age, an interval into a text), or pass it on to the "
                f"model as it is: carried=[{name!r}]."
            )


def _guess_kind(name: str, present: pd.Series[Any], overrides: Overrides) -> Kind:
    if name in overrides.categories:
        return "binary" if len(overrides.categories[name]) == 2 else "categorical"
    dtype = present.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        if dtype.ordered:
            return "ordinal"
        return "binary" if sum(not is_blank(c) for c in dtype.categories) == 2 else "categorical"
    if pd.api.types.is_bool_dtype(dtype):
        return "binary"
    if not pd.api.types.is_numeric_dtype(dtype):
        values = present.tolist()
        if values and all(isinstance(v, bool | np.bool_) for v in values):
            return "binary"
        if not any(isinstance(v, str) for v in values):
            return _guess_kind(name, present.astype(np.float64), overrides)
        return "binary" if present.nunique() == 2 else "categorical"
    numbers = present.to_numpy(dtype=np.float64)
    if not np.all(np.isfinite(numbers)):
        raise SchemaError(f"Column {name!r} holds infinite values. Replace them by a number or a blank.")
    if name in overrides.bounds or name in overrides.step:
        return "integer" if np.all(numbers == np.round(numbers)) and _whole(name, overrides) else "continuous"
    if set(np.unique(numbers)) == {0.0, 1.0}:
        return "binary"
    return "integer" if np.all(numbers == np.round(numbers)) else "continuous"


def _whole(name: str, overrides: Overrides) -> bool:
    said = [*overrides.bounds.get(name, ()), overrides.step.get(name, 1.0)]
    return all(isinstance(v, int | float) and float(v).is_integer() for v in said)


def _number(name: str, kind: Kind, present: pd.Series[Any], overrides: Overrides, *, fixed: bool) -> Feature:
    found = [(value, as_number(value)) for value in present.tolist()]
    for value, number in found:
        if number is None:
            raise SchemaError(
                f"Column {name!r} is declared {kind} and must hold numbers. Got {value!r}. Turn it into numbers before "
                f"the model is trained, with pandas.to_numeric for example, or leave it to the model as it is: "
                f"carried=[{name!r}]."
            )
    numbers = np.array([number for _, number in found], dtype=np.float64)
    if not np.all(np.isfinite(numbers)):
        raise SchemaError(f"Column {name!r} holds infinite values. Replace them by a number or a blank.")
    if not numbers.size and name not in overrides.bounds:
        raise _empty(name, "bounds", "(low, high)")
    low, high = overrides.bounds[name] if name in overrides.bounds else (float(numbers.min()), float(numbers.max()))
    fixed = fixed or (low == high and not overrides.opens(name))
    limits = None if name in overrides.bounds else _limits(low, high)
    return Feature(name, kind, lower=low, upper=high, direction="fixed" if fixed else "any", limits=limits)


def _limits(low: float, high: float) -> tuple[float, float] | None:
    """What a number can be, guessed from what it was: as much again on either side, so that a slip is still found."""
    least, most = low - (high - low), high + (high - low)
    if not math.isfinite(most - least):
        return None
    return (max(least, 0.0) if low >= 0 else least), (min(most, 0.0) if high <= 0 else most)


def _category(
    name: str, kind: Kind, column: pd.Series[Any], present: pd.Series[Any], overrides: Overrides, *, fixed: bool
) -> Feature:
    if name in overrides.categories:
        values: list[Any] = list(overrides.categories[name])
    elif isinstance(column.dtype, pd.CategoricalDtype):
        values = [value for value in column.dtype.categories.tolist() if not is_blank(value)]
    else:
        values = list(dict.fromkeys(present.tolist()))
        # "yes " beside "yes" is a slip of the keyboard
        values = [v for v in values if not (isinstance(v, str) and v != v.strip() and v.strip() in values)]
        try:
            values.sort()
        except TypeError:
            values.sort(key=str)
    if not values:
        raise _empty(name, "categories", "[...]")
    ordered = name in overrides.categories or isinstance(column.dtype, pd.CategoricalDtype)
    if kind == "ordinal" and not ordered and any(isinstance(v, str) for v in values):
        raise SchemaError(
            f"Column {name!r} is ordinal and holds texts: say their order, categories={{{name!r}: [...]}}."
        )
    fixed = fixed or (len(values) == 1 and not overrides.opens(name))
    if all(isinstance(v, float) and v.is_integer() for v in values):
        values = [int(v) for v in values]  # a table with blanks stores 0 and 1 as 0.0 and 1.0
    return Feature(name, kind, categories=tuple(values), direction="fixed" if fixed else "any")


def _empty(name: str, what: str, how: str) -> SchemaError:
    return SchemaError(
        f"Column {name!r} has no value at all. Say what it may hold, {what}={{{name!r}: {how}}}, or pass it on to the "
        f"model as it is: carried=[{name!r}]."
    )


def widen_feature(feature: Feature, column: pd.Series[Any]) -> Feature:
    """The feature, stretched to include the values of ``column``."""
    present = (
        []
        if feature.is_carried or feature.columns
        else [scalar(v) for v in dict.fromkeys(column.tolist()) if not is_blank(v)]
    )
    if not present:
        return feature
    if feature.is_number:
        numbers = [as_number(v) for v in present]
        for value, number in zip(present, numbers, strict=True):
            if number is None or not math.isfinite(number) or (feature.kind == "integer" and number != round(number)):
                what = "whole numbers" if feature.kind == "integer" else "finite numbers"
                raise DataError(f"Column {feature.name!r} must hold {what}, or blanks. Got {value!r} instead.")
        known = [number for number in numbers if number is not None]
        low, high = min(feature.low_code, *known), max(feature.high_code, *known)
        limits = feature.limits and (min(feature.limits[0], low), max(feature.limits[1], high))
        return replace(feature, lower=low, upper=high, limits=limits)
    new = []
    for value in present:
        try:
            feature.code(value)
        except DataError:
            new.append(value)
    if new and feature.kind != "categorical":
        raise SchemaError(f"{feature.name!r} is {feature.kind}: say where {new[0]!r} belongs in its categories.")
    return replace(feature, categories=feature.categories + tuple(new))
