"""Guess what a column holds."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from armin.errors import DataError, SchemaError
from armin.schema.feature import Feature, Kind
from armin.schema.overrides import Overrides
from armin.schema.values import as_number, is_blank, plain_number, scalar

__all__ = ["infer_features", "widen_feature"]

MOST_CATEGORIES = 200
"""A text column with more distinct values than this is taken for an identifier and refused."""


def infer_features(frame: pd.DataFrame | NDArray[Any], overrides: Overrides) -> tuple[Feature, ...]:
    """Guess what the columns hold; see :meth:`armin.schema.Schema.infer`."""
    if isinstance(frame, np.ndarray):
        if frame.ndim != 2:
            raise SchemaError(f"An array must have two dimensions, rows and columns. Got shape {frame.shape}.")
        frame = pd.DataFrame(frame, columns=[f"x{i}" for i in range(frame.shape[1])])
    if not isinstance(frame, pd.DataFrame):
        raise SchemaError(f"Schema.infer takes a DataFrame or an array. Got {type(frame).__name__} instead.")
    if len(frame) == 0:
        raise SchemaError("Schema.infer needs at least one row. Got none.")
    names = [str(c) for c in frame.columns]
    overrides.check(names)
    frame = frame.set_axis(names, axis=1)
    return tuple(_infer_feature(name, frame[name], overrides) for name in names)


def _infer_feature(name: str, column: pd.Series[Any], overrides: Overrides) -> Feature:
    if isinstance(column, pd.DataFrame):
        raise SchemaError(f"Column names must be different. {name!r} occurs twice.")
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        raise SchemaError(
            f"Column {name!r} holds dates, which ARMIN does not change. Turn it into a number (such as an age) first."
        )
    numeric = isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufb"
    present = column.dropna() if numeric else column[[not is_blank(value) for value in column.tolist()]]
    if len(present) == 0 and name not in overrides.bounds and name not in overrides.categories:
        raise SchemaError(f"Column {name!r} has no value at all. Drop it, or say bounds= or categories= for it.")
    if not numeric:
        _check_values(name, present)
    kind = overrides.kinds.get(name) or _guess_kind(name, present, overrides)
    fixed = name in overrides.immutable or (overrides.mutable is not None and name not in overrides.mutable)
    if kind in ("continuous", "integer"):
        feature = _number(name, kind, present, overrides, fixed=fixed)
    else:
        feature = _category(name, kind, column, present, overrides, fixed=fixed)
    return overrides.apply(feature)


def _check_values(name: str, present: pd.Series[Any]) -> None:
    for value in present.tolist():
        if not isinstance(value, str | bool | int | float | np.bool_ | np.integer | np.floating | Decimal):
            raise SchemaError(
                f"Column {name!r} must hold numbers, texts or booleans. Got {value!r}, a {type(value).__name__}. "
                "Turn it into one of these first (a date into an age, an interval into a text)."
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
            raise SchemaError(f"Column {name!r} is declared {kind} and must hold numbers. Got {value!r}.")
    numbers = np.array([number for _, number in found], dtype=np.float64)
    if not np.all(np.isfinite(numbers)):
        raise SchemaError(f"Column {name!r} holds infinite values. Replace them by a number or a blank.")
    low, high = overrides.bounds[name] if name in overrides.bounds else (float(numbers.min()), float(numbers.max()))
    if low == high and not fixed:
        raise _constant(name, low)
    return Feature(name, kind, lower=low, upper=high, direction="fixed" if fixed else "any")


def _category(
    name: str, kind: Kind, column: pd.Series[Any], present: pd.Series[Any], overrides: Overrides, *, fixed: bool
) -> Feature:
    if name in overrides.categories:
        values: list[Any] = list(overrides.categories[name])
    elif isinstance(column.dtype, pd.CategoricalDtype):
        values = [value for value in column.dtype.categories.tolist() if not is_blank(value)]
    else:
        values = list(dict.fromkeys(present.tolist()))
        try:
            values.sort()
        except TypeError:
            values.sort(key=str)
    if len(values) > MOST_CATEGORIES:
        raise SchemaError(
            f"Column {name!r} has {len(values)} different values in {len(present)} rows: that looks like an "
            f"identifier. Drop it, or say categories={{{name!r}: [...]}} if it is meant."
        )
    ordered = name in overrides.categories or isinstance(column.dtype, pd.CategoricalDtype)
    if kind == "ordinal" and not ordered and any(isinstance(v, str) for v in values):
        raise SchemaError(
            f"Column {name!r} is ordinal and holds texts: say their order, categories={{{name!r}: [...]}}."
        )
    if len(values) == 1 and not fixed:
        raise _constant(name, values[0])
    if all(isinstance(v, float) and v.is_integer() for v in values):
        values = [int(v) for v in values]  # a table with blanks stores 0 and 1 as 0.0 and 1.0
    return Feature(name, kind, categories=tuple(values), direction="fixed" if fixed else "any")


def _constant(name: str, value: object) -> SchemaError:
    shown = plain_number(value) if isinstance(value, float) else repr(scalar(value))
    return SchemaError(
        f"Column {name!r} is constant: every row holds {shown}. Drop it, or name it in immutable=[{name!r}]."
    )


def widen_feature(feature: Feature, column: pd.Series[Any]) -> Feature:
    """The feature, stretched to include the values of ``column``."""
    present = [scalar(v) for v in dict.fromkeys(column.tolist()) if not is_blank(v)]
    if not present:
        return feature
    if feature.is_number:
        numbers = [as_number(v) for v in present]
        for value, number in zip(present, numbers, strict=True):
            if number is None or not math.isfinite(number) or (feature.kind == "integer" and number != round(number)):
                what = "whole numbers" if feature.kind == "integer" else "finite numbers"
                raise DataError(f"Column {feature.name!r} must hold {what}, or blanks. Got {value!r} instead.")
        known = [number for number in numbers if number is not None]
        return replace(feature, lower=min(feature.low_code, *known), upper=max(feature.high_code, *known))
    new = []
    for value in present:
        try:
            feature.code(value)
        except DataError:
            new.append(value)
    if new and feature.kind != "categorical":
        raise SchemaError(f"{feature.name!r} is {feature.kind}: say where {new[0]!r} belongs in its categories.")
    return replace(feature, categories=feature.categories + tuple(new))
