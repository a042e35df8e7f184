"""The column types of the training data, without a single row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from armin.errors import DataError, ModelError
from armin.schema.frames import blanks_of, original_of

__all__ = ["describe_types", "frame_of_types"]

_SIGNS = {"None": None, "nan": np.nan, "NA": pd.NA, "NaT": pd.NaT}
"""What stands for a blank in a column of objects."""


def describe_types(like: pd.DataFrame | None) -> list[dict[str, Any]] | None:
    """The types of a frame's columns as plain data; None stands for training data without names.

    >>> describe_types(pd.DataFrame({"age": np.array([30], dtype="int16")}))
    [{'name': 'age', 'type': 'int16'}]
    """
    if like is None:
        return None
    blanks, (library, types) = blanks_of(like), original_of(like) or ("", {})
    return [
        {"name": _label(name)}
        | _describe(str(name), dtype)
        | _sign(blanks, str(name))
        | ({"original": [library, types[str(name)]]} if library else {})
        for name, dtype in zip(like.columns, like.dtypes, strict=True)
    ]


def frame_of_types(types: Any) -> pd.DataFrame | None:
    """An empty frame with these types.

    >>> frame_of_types([{"name": "age", "type": "int16"}]).dtypes.to_dict()
    {'age': dtype('int16')}
    """
    if types is None:
        return None
    try:
        columns = {_label(one["name"]): pd.Series([], dtype=_dtype(one)) for one in types}
    except (KeyError, TypeError, ValueError, ImportError) as error:
        raise DataError(
            f"The bundle names a column type that is not known here ({type(error).__name__}: {error}). "
            "Load it with the version of pandas that packed it; 'armin inspect' shows which."
        ) from None
    like = pd.DataFrame(columns)
    texts = {str(one["name"]): str(one["blank_text"]) for one in types if "blank_text" in one}
    signs = {str(one["name"]): _SIGNS.get(one["blank"]) for one in types if "blank" in one}
    kept = {str(one["name"]): one["original"] for one in types if "original" in one}
    original = (next(iter(kept.values()))[0], {name: dtype for name, (_, dtype) in kept.items()}) if kept else None
    like.attrs = {"blanks": texts | signs, "original": original}
    return like


def _sign(blanks: Mapping[str, Any], name: str) -> dict[str, str]:
    """What stands for a blank in a column, as plain data; nothing if its type says so."""
    if name not in blanks:
        return {}
    blank = blanks[name]
    if isinstance(blank, str):
        return {"blank_text": blank}
    return {"blank": next((said for said, sign in _SIGNS.items() if sign is blank), "nan")}


def _label(name: Any) -> int | str:
    """The label of a column, which is a number where an array was turned into a frame."""
    return name if isinstance(name, int) else str(name)


def _describe(name: str, dtype: Any) -> dict[str, Any]:
    if isinstance(dtype, pd.CategoricalDtype):
        values = [v.item() if isinstance(v, np.generic) else v for v in dtype.categories]
        if not all(isinstance(v, str | int | float) for v in values):
            raise ModelError(f"Column {name!r} has categories of a type that cannot be stored. Texts and numbers can.")
        of = _describe(name, dtype.categories.dtype)
        return {"type": "category", "categories": values, "of": of, "ordered": bool(dtype.ordered)}
    if isinstance(dtype, pd.StringDtype):
        missing = "NA" if dtype.na_value is pd.NA else "nan"
        return {"type": "text", "storage": dtype.storage, "missing": missing}
    found = str(dtype)
    try:
        same = pd.Series([], dtype=found).dtype == dtype
    except (TypeError, ValueError):
        same = False
    if not same:
        raise ModelError(f"Column {name!r} has the type {found!r}, which cannot be stored. Convert it before fit.")
    return {"type": found}


def _dtype(one: dict[str, Any]) -> Any:
    if one["type"] == "category":
        values = pd.Index(one["categories"], dtype=_dtype(one["of"]))
        return pd.CategoricalDtype(values, ordered=one["ordered"])
    if one["type"] == "text":
        return _text(one["storage"], one["missing"])
    return str(one["type"])


def _text(storage: str, missing: str) -> Any:
    if missing == "NA":
        return pd.StringDtype(storage)
    try:
        return pd.StringDtype(storage, na_value=np.nan)
    except TypeError:  # pandas before 2.3 has no texts with NaN
        return np.dtype(object)
