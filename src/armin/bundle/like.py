"""The column types of the training data, without a single row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from armin.errors import DataError, ModelError

__all__ = ["describe_types", "frame_of_types"]


def describe_types(like: pd.DataFrame | None) -> list[dict[str, Any]] | None:
    """The types of a frame's columns as plain data; None stands for training data without names.

    >>> describe_types(pd.DataFrame({"age": np.array([30], dtype="int16")}))
    [{'name': 'age', 'type': 'int16'}]
    """
    if like is None:
        return None
    return [{"name": str(name)} | _describe(str(name), dtype) for name, dtype in like.dtypes.items()]


def frame_of_types(types: Any) -> pd.DataFrame | None:
    """An empty frame with these types.

    >>> frame_of_types([{"name": "age", "type": "int16"}]).dtypes.to_dict()
    {'age': dtype('int16')}
    """
    if types is None:
        return None
    try:
        columns = {str(one["name"]): pd.Series([], dtype=_dtype(one)) for one in types}
    except (KeyError, TypeError, ValueError, ImportError) as error:
        raise DataError(
            f"The bundle names a column type that is not known here ({type(error).__name__}: {error}). "
            "Load it with the version of pandas that packed it; 'armin inspect' shows which."
        ) from None
    return pd.DataFrame(columns)


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
    if "dateutil" in str(one["type"]):  # which would open the file that it is told as a time zone
        raise ValueError("a time zone of dateutil")
    return str(one["type"])


def _text(storage: str, missing: str) -> Any:
    if missing == "NA":
        return pd.StringDtype(storage)
    try:
        return pd.StringDtype(storage, na_value=np.nan)
    except TypeError:  # pandas before 2.3 has no texts with NaN
        return np.dtype(object)
