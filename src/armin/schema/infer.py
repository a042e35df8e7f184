"""Guess what a column holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from armin.errors import SchemaError
from armin.schema.feature import Feature, Kind, Value, is_blank
from armin.schema.table import Overrides, Schema

__all__ = ["infer_schema", "widen_feature"]

MOST_CATEGORIES = 200
"""A text column with more distinct values than this is taken for an identifier and refused."""


def infer_schema(frame: pd.DataFrame | NDArray[Any], overrides: Overrides) -> Schema:
    """Guess a schema; see :meth:`armin.schema.Schema.infer`."""
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
    return Schema(tuple(_infer_feature(name, frame[name], overrides) for name in names))


def _infer_feature(name: str, column: pd.Series[Any], overrides: Overrides) -> Feature:
    if isinstance(column, pd.DataFrame):
        raise SchemaError(f"Column names must be different. {name!r} occurs twice.")
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        raise SchemaError(
            f"Column {name!r} holds dates, which ARMIN does not change. Turn it into a number (such as an age) first."
        )
    present = column[~column.map(is_blank).astype(bool)]
    if len(present) == 0 and name not in overrides.bounds and name not in overrides.categories:
        raise SchemaError(f"Column {name!r} has no value at all. Drop it, or say bounds= or categories= for it.")
    kind = overrides.kinds.get(name) or _guess_kind(name, present, overrides)
    fixed = name in overrides.immutable or (overrides.mutable is not None and name not in overrides.mutable)
    if kind in ("continuous", "integer"):
        feature = _number(name, kind, present, overrides, fixed=fixed)
    else:
        feature = _category(name, kind, column, present, overrides, fixed=fixed)
    return overrides.apply(feature)


def _guess_kind(name: str, present: pd.Series[Any], overrides: Overrides) -> Kind:
    if name in overrides.categories:
        return "binary" if len(overrides.categories[name]) == 2 else "categorical"
    dtype = present.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        if dtype.ordered:
            return "ordinal"
        return "binary" if len(dtype.categories) == 2 else "categorical"
    if pd.api.types.is_bool_dtype(dtype):
        return "binary"
    if not pd.api.types.is_numeric_dtype(dtype):
        texts = present.map(type).eq(str).any()
        if not texts and present.map(lambda v: isinstance(v, bool | np.bool_)).all():
            return "binary"
        if not texts and present.map(lambda v: isinstance(v, int | float | np.number)).all():
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
    return all(float(v) == round(float(v)) for v in said)


def _number(name: str, kind: Kind, present: pd.Series[Any], overrides: Overrides, *, fixed: bool) -> Feature:
    try:
        numbers = present.to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        wrong = next(v for v in present if not isinstance(v, int | float | np.number))
        raise SchemaError(f"Column {name!r} is declared {kind} and must hold numbers. Got {wrong!r}.") from None
    if not np.all(np.isfinite(numbers)):
        raise SchemaError(f"Column {name!r} holds infinite values. Replace them by a number or a blank.")
    if name in overrides.bounds:
        low, high = (float(b) for b in overrides.bounds[name])
    else:
        low, high = float(numbers.min()), float(numbers.max())
    if low == high and not fixed:
        raise _constant(name, low)
    return Feature(name, kind, lower=low, upper=high, direction="fixed" if fixed else "any")


def _category(
    name: str, kind: Kind, column: pd.Series[Any], present: pd.Series[Any], overrides: Overrides, *, fixed: bool
) -> Feature:
    if name in overrides.categories:
        values: list[Any] = list(overrides.categories[name])
    elif isinstance(column.dtype, pd.CategoricalDtype):
        values = column.dtype.categories.tolist()
    else:
        values = list(present.unique())
        try:
            values.sort()
        except TypeError:
            values.sort(key=str)
    if len(values) > MOST_CATEGORIES:
        raise SchemaError(
            f"Column {name!r} has {len(values)} different texts in {len(present)} rows: that looks like an identifier. "
            f"Drop it, or say categories={{{name!r}: [...]}} if it is meant."
        )
    ordered = name in overrides.categories or isinstance(column.dtype, pd.CategoricalDtype)
    if kind == "ordinal" and not ordered and any(isinstance(v, str) for v in values):
        raise SchemaError(
            f"Column {name!r} is ordinal and holds texts: say their order, categories={{{name!r}: [...]}}."
        )
    if len(values) == 1 and not fixed:
        raise _constant(name, values[0])
    clean = tuple(_scalar(v) for v in values)
    return Feature(name, kind, categories=clean, direction="fixed" if fixed else "any")


def _constant(name: str, value: object) -> SchemaError:
    return SchemaError(
        f"Column {name!r} is constant: every row holds {_scalar(value)!r}. Drop it, or name it in immutable=[{name!r}]."
    )


def _scalar(value: Any) -> Value:
    return cast("Value", value.item() if isinstance(value, np.generic) else value)


def widen_feature(feature: Feature, column: pd.Series[Any]) -> Feature:
    """The feature, stretched to include the values of ``column``."""
    present = [v for v in column.tolist() if not is_blank(v)]
    if not present:
        return feature
    if feature.is_number:
        assert feature.lower is not None  # noqa: S101  a number has bounds
        assert feature.upper is not None  # noqa: S101
        numbers = [float(v) for v in present]
        return replace(feature, lower=min(feature.lower, *numbers), upper=max(feature.upper, *numbers))
    new = [_scalar(v) for v in dict.fromkeys(present) if v not in feature.categories]
    if new and feature.kind != "categorical":
        raise SchemaError(f"{feature.name!r} is {feature.kind}: say where {new[0]!r} belongs in its categories.")
    return replace(feature, categories=feature.categories + tuple(new))
