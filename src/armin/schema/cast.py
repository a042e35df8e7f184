"""Codes back to a column of values, in the type that the user's own table has."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from armin.schema.feature import Feature

__all__ = ["decode_column", "decode_numbers", "decode_values"]


def decode_column(feature: Feature, codes: NDArray[np.float64], dtype: Any = None) -> pd.Series[Any]:
    """The values behind codes.

    Parameters
    ----------
    feature : what the column holds
    codes : array of shape (n,), NaN for blanks
    dtype : the type to use, if it can hold the values as they are; None for the plainest one

    >>> rate = Feature("rate", "continuous", lower=0, upper=1)
    >>> decode_column(rate, np.array([1.0, 0.5]), np.dtype("int64")).tolist()
    [1.0, 0.5]
    """
    values = decode_values(feature, codes, dtype)
    return values if isinstance(values, pd.Series) else pd.Series(values, copy=False)


def decode_values(feature: Feature, codes: NDArray[np.float64], dtype: Any = None, blank: Any = np.nan) -> Any:
    """As :func:`decode_column`, but an array where that has one type, whatever it is put into.

    A table of arrays is made in a fraction of the time that one of columns takes, whose rows must be compared. Where
    the type has no sign of its own for a blank, it is ``blank``.
    """
    if feature.is_number and isinstance(dtype, np.dtype) and dtype.kind in "iuf":
        (values,) = decode_numbers(codes[:, None], dtype)
        if values is not None:
            return values
    if not feature.is_number:
        if not isinstance(dtype, pd.CategoricalDtype) or set(feature.categories) <= set(dtype.categories):
            blanks = np.isnan(codes)
            some = bool(blanks.any())
            # 0 and False are equal, but not the same value
            lookup = _lookup(feature, tuple(map(type, feature.categories)), dtype, some, blank)
            where = (np.where(blanks, len(feature.categories), codes) if some else codes).astype(np.intp)
            taken = lookup.array.take(where)
            # of objects a table would find out anew what they are
            return pd.Series(taken, dtype=lookup.dtype, copy=False) if lookup.dtype == object else taken
        column = _values(feature, codes, blank)
    elif feature.kind == "integer" and (dtype is None or dtype.kind not in "iuf"):
        column = _wholes(codes)
    else:
        column = pd.Series(codes)
    if pd.api.types.is_object_dtype(dtype) and blank is not np.nan and column.isna().any():
        return column.astype(object).where(column.notna(), blank)
    if dtype is None or column.dtype == dtype:
        return column
    if isinstance(dtype, pd.CategoricalDtype):
        return column.astype(_extended(dtype, column))
    return column.astype(dtype) if _fits(column, dtype) else _wider(column)


@lru_cache(maxsize=4096)
def _lookup(feature: Feature, kinds: tuple[type, ...], dtype: Any, with_blank: bool, blank: Any) -> pd.Series[Any]:
    """Every category once, then a blank if there is one, in the type that the column will have."""
    codes = np.append(np.arange(len(feature.categories), dtype=float), [np.nan] * with_blank)
    column = _values(feature, codes, blank)
    if dtype is None:
        column = column.infer_objects()
    elif column.dtype != dtype:
        column = column.astype(dtype) if _fits(column, dtype) else _wider(column)
    return column


def decode_numbers(codes: NDArray[np.float64], dtype: np.dtype[Any]) -> list[NDArray[Any] | None]:
    """The columns of codes (n, columns) in a plain type of numbers; None for each that it does not hold as it is.

    >>> decode_numbers(np.array([[1.0, 0.5, 300.0, -0.0], [2.0, 1.0, 3.0, np.nan]]), np.dtype("uint8"))
    [array([1, 2], dtype=uint8), None, None, None]
    """
    with np.errstate(invalid="ignore"):
        values = codes.astype(dtype, order="F")
    if dtype.kind == "f":
        return list(values.T)
    held = (values == codes).all(axis=0).tolist()
    return [column if holds else None for column, holds in zip(values.T, held, strict=True)]


def _wholes(codes: NDArray[np.float64]) -> pd.Series[Any]:
    """Whole numbers as such, so that a text says 3, not 3.0."""
    if not np.isnan(codes).any():
        return pd.Series(codes.astype(np.int64))
    return pd.Series([c if np.isnan(c) else int(c) for c in codes], dtype=object)


def _values(feature: Feature, codes: NDArray[np.float64], blank: Any) -> pd.Series[Any]:
    blanks = np.isnan(codes)
    lookup = np.empty(len(feature.categories) + 1, dtype=object)
    lookup[:-1] = feature.categories
    lookup[-1] = blank
    where = np.where(blanks, len(feature.categories), np.nan_to_num(codes)).astype(np.intp)
    return pd.Series(lookup[where], dtype=object)


def _fits(column: pd.Series[Any], dtype: Any) -> bool:
    """Whether a type for whole numbers or booleans can hold the column as it is."""
    if dtype.kind not in "iub":
        return True
    if isinstance(dtype, np.dtype) and column.isna().any():
        return False
    try:
        numbers = column.dropna().to_numpy(dtype=np.float64)
    except ValueError:
        return False
    limits = (0, 1) if dtype.kind == "b" else (np.iinfo(_plain(dtype)).min, np.iinfo(_plain(dtype)).max)
    return bool(np.all((numbers == np.round(numbers)) & (numbers >= limits[0]) & (numbers <= limits[1])))


def _wider(column: pd.Series[Any]) -> pd.Series[Any]:
    try:
        return column.astype(np.float64)
    except ValueError:
        return column


def _plain(dtype: Any) -> np.dtype[Any]:
    return dtype if isinstance(dtype, np.dtype) else np.dtype(dtype.numpy_dtype)


def _extended(dtype: pd.CategoricalDtype, column: pd.Series[Any]) -> pd.CategoricalDtype:
    """The type with the values it lacks at the end, so that none turns into a blank."""
    known = set(dtype.categories)
    new = [v for v in dict.fromkeys(column.dropna()) if v not in known]
    return pd.CategoricalDtype([*dtype.categories, *new], ordered=dtype.ordered) if new else dtype
