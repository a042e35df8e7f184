"""Rows of any form that people have them in, as a frame with a schema's columns, or as codes at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from armin.errors import DataError
from armin.schema.columns import fold, folded
from armin.schema.frames import as_frame, is_foreign

if TYPE_CHECKING:
    from armin.schema.table import Schema

__all__ = ["encode_one", "frame_of"]


def frame_of(schema: Schema, rows: Any) -> pd.DataFrame:
    """A DataFrame with the schema's columns; see :meth:`armin.schema.Schema.frame`.

    >>> from armin.schema import Feature, Schema
    >>> frame_of(Schema((Feature("id", "carried"), Feature("a", "integer", lower=0, upper=9))), {"a": 3}).shape
    (1, 2)
    """
    if isinstance(rows, pd.DataFrame) or is_foreign(rows):
        frame = as_frame(rows)
    elif isinstance(rows, pd.Series):
        frame = pd.DataFrame([rows.to_dict()], columns=list(rows.index), dtype=object)
    elif isinstance(rows, Mapping):
        for key, value in rows.items():
            if isinstance(value, list | tuple | np.ndarray | dict) and str(key) not in schema.carried:
                raise DataError(f"A row is one value per column. Got {type(value).__name__} for {key!r} instead.")
        frame = pd.DataFrame([dict(rows)], columns=list(rows), dtype=object)
    else:
        frame = _from_array(schema, rows)
    frame = folded(schema, frame.set_axis([str(c) for c in frame.columns], axis=1))
    names = frame.columns.tolist()
    _check_columns(schema, names)
    absent = {name: None for name in schema.carried if name not in names}
    return (frame.assign(**absent) if absent else frame)[schema.names]


def encode_one(schema: Schema, rows: object) -> NDArray[np.float64] | None:
    """One row as codes (1, D), value by value and without a table in between.

    None where there are many rows, or where something is wrong, which is then said with the table at hand.
    """
    if isinstance(rows, pd.DataFrame):
        if len(rows) != 1:
            return None
        names, values = [str(name) for name in rows.columns.tolist()], rows.to_numpy(dtype=object)[0].tolist()
    elif isinstance(rows, Mapping):
        names, values = [str(name) for name in rows], list(rows.values())
    else:
        return None
    given = dict(zip(names, values, strict=True))
    try:
        for feature in schema.features:
            if feature.columns and feature.name not in given and all(name in given for name in feature.columns):
                (given[feature.name],) = fold(feature, [[given.pop(name)] for name in feature.columns])
                names = list(given)
    except DataError:
        return None
    known = len(given) + sum(name not in given for name in schema.carried)
    if len(given) != len(names) or known != len(schema.features):
        return None
    try:
        return np.array([[0.0 if f.is_carried else f.code(given[f.name]) for f in schema.features]])
    except (DataError, KeyError):
        return None


def _from_array(schema: Schema, rows: object) -> pd.DataFrame:
    try:
        array = np.asarray(rows, dtype=None if isinstance(rows, np.ndarray) else object)
    except ValueError:
        raise DataError("Rows must be a DataFrame, Series, dict or array with one value per column.") from None
    array = array[None, :] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[1] != len(schema.columns):
        raise DataError(
            f"A row must have {len(schema.columns)} values, one for each of {', '.join(schema.columns)}. "
            f"Got {type(rows).__name__} of shape {np.shape(array)} instead."
        )
    return pd.DataFrame(array, columns=schema.columns)


def _check_columns(schema: Schema, names: list[str]) -> None:
    unknown = [n for n in names if n not in schema.names]
    if unknown:
        raise DataError(
            f"Unknown column {unknown[0]!r}. The schema has: {', '.join(schema.columns)}. "
            f"Drop it before the call: frame.drop(columns={unknown!r})."
        )
    twice = [n for n in names if names.count(n) > 1]
    if twice:
        raise DataError(f"Column names must be different. {twice[0]!r} occurs twice; keep one of them.")
    absent = [f.name for f in schema.features if f.name not in names and not f.is_carried]
    if absent:
        raise DataError(
            f"Column {absent[0]!r} is missing altogether. A value that is not known must be there as a blank "
            "(None, NaN or an empty text)."
        )
