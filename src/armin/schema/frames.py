"""Tables as people have them, as pandas has them: polars, Arrow and other frames through narwhals, which is optional.

No other library is imported for it: a frame brings its own library along.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import pandas as pd

from armin.errors import DataError, MissingDependencyError
from armin.schema.values import is_blank

__all__ = ["as_frame", "as_original", "blanks_of", "is_foreign", "original_of", "types_of"]

_MARKS = ("__dataframe__", "__arrow_c_stream__", "__narwhals_dataframe__", "__narwhals_lazyframe__")
_LAZY = "LazyFrame"
_NONE = object()  # no blank was seen


def is_foreign(rows: object) -> bool:
    """Whether something is a table of another library than pandas.

    >>> is_foreign(pd.DataFrame({"a": [1]})), is_foreign({"a": 1})
    (False, False)
    """
    if isinstance(rows, pd.DataFrame | pd.Series | np.ndarray | dict | list | tuple):
        return False
    return any(hasattr(rows, mark) for mark in _MARKS) or type(rows).__name__ == _LAZY


def as_frame(table: object) -> pd.DataFrame:
    """A whole table as a pandas frame: pandas itself, an array with two dimensions, or any frame narwhals knows.

    >>> as_frame(np.array([[1.0, 2.0]])).columns.tolist()
    ['x0', 'x1']
    """
    if isinstance(table, pd.DataFrame):
        return table
    if isinstance(table, np.ndarray):
        if table.ndim != 2:
            raise DataError(f"An array must have two dimensions, rows and columns. Got shape {table.shape}.")
        return pd.DataFrame(table, columns=[f"x{i}" for i in range(table.shape[1])])
    if not is_foreign(table):
        raise DataError(
            "A table must be a DataFrame (pandas, polars or another that narwhals knows) or an array. "
            f"Got {type(table).__name__} instead; pandas.DataFrame(...) makes one of lists and dicts."
        )
    return _converted(table)


def types_of(table: pd.DataFrame, *, original: Any = None) -> pd.DataFrame:
    """An empty frame with the types of a table, which knows what stands for a blank in its columns of texts or objects.

    The texts and categories of a table that was another library's are objects to an estimator, and blanks are None; its
    own types are kept too, for an estimator that wants them (:func:`as_original`).

    >>> types_of(pd.DataFrame({"town": pd.Series(["Bonn", None], dtype=object)})).attrs["blanks"]
    {'town': None}
    """
    foreign = is_foreign(original)
    if foreign:
        texts = table.select_dtypes(exclude=["number", "bool", "datetime"])
        table = table.assign(**{name: texts[name].astype(object).where(texts[name].notna(), None) for name in texts})
    like, blanks = table.iloc[:0].copy(), {}
    for name, dtype in table.dtypes.items():
        if not pd.api.types.is_numeric_dtype(dtype):
            default = None if foreign else _NONE  # another library's null is None to an estimator, seen or not
            first = next(filter(is_blank, table[name].tolist()), default)
            if first is not _NONE and (pd.api.types.is_object_dtype(dtype) or isinstance(first, str)):
                blanks[str(name)] = first
    like.attrs = {"blanks": blanks, "original": _original(original) if foreign else None}
    return like


def original_of(like: pd.DataFrame | None) -> tuple[str, dict[str, str]] | None:
    """The library, and the type of each column there, of the table that :func:`types_of` describes."""
    return None if like is None else like.attrs.get("original")


def as_original(frame: pd.DataFrame, original: tuple[str, dict[str, str]]) -> Any:
    """A pandas frame as a table of the library that the training data came from."""
    import narwhals.stable.v1 as nw

    library, types = original
    held = {}
    for name in frame.columns:
        column, blank = frame[name], frame[name].isna()
        held[name] = column.to_numpy() if not blank.any() else column.astype(object).where(~blank, None).tolist()
    schema = {name: getattr(nw, types[name]) for name in frame.columns}
    return nw.from_dict(held, schema, backend=cast(Any, library)).to_native()


def _original(table: Any) -> tuple[str, dict[str, str]] | None:
    """None where a type is more than a name, such as that of times with a zone."""
    try:
        import narwhals.stable.v1 as nw

        frame = nw.from_native(table)
        types = {str(name): str(dtype) for name, dtype in frame.schema.items()}
        known = all(hasattr(nw, dtype) for dtype in types.values())
        return (frame.implementation.value, types) if known else None
    except (ImportError, TypeError, NotImplementedError):
        return None


def blanks_of(like: pd.DataFrame | None) -> Mapping[str, Any]:
    """By column, what stands for a blank in the table that :func:`types_of` describes."""
    return {} if like is None else like.attrs.get("blanks", {})


def _converted(table: Any) -> pd.DataFrame:
    kind = f"{type(table).__module__.split('.')[0]}.{type(table).__name__}"
    try:
        import narwhals.stable.v1 as nw
    except ImportError:
        raise MissingDependencyError(
            f'A {kind} needs the library narwhals. Install it with: pip install "armin[frames]"; or pass '
            "table.to_pandas()."
        ) from None
    try:
        frame = nw.from_native(table)
        if isinstance(frame, nw.LazyFrame):
            raise DataError(f"A {kind} has not been computed yet. Pass table.collect() instead.")
        return pd.DataFrame({str(name): _column(frame[name], nw) for name in frame.columns})
    except (TypeError, NotImplementedError):
        return _interchanged(table, kind)


def _interchanged(table: Any, kind: str) -> pd.DataFrame:
    """A frame that offers no more than the interchange protocol."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer pandas would rather have another protocol
            found: pd.DataFrame = pd.api.interchange.from_dataframe(table)
    except Exception:  # whatever a stranger's protocol raises
        raise DataError(f"A {kind} is no frame that narwhals knows. Turn it into a pandas DataFrame first.") from None
    return found


def _column(series: Any, nw: Any) -> pd.Series[Any]:
    """One column, with the type that pandas would have given it; a whole number beside blanks becomes a float."""
    dtype, blanks = series.dtype, bool(series.null_count())
    if dtype in (nw.Categorical, nw.Enum):
        known = sorted(series.cat.get_categories().to_list()) if dtype == nw.Categorical else list(dtype.categories)
        return pd.Series(pd.Categorical(series.to_list(), categories=known, ordered=False))
    if dtype.is_numeric() and not dtype.is_decimal():
        return pd.Series(series.cast(nw.Float64).to_numpy() if blanks else series.to_numpy())
    if dtype == nw.Boolean and not blanks:
        return pd.Series(series.to_numpy())
    if dtype.is_temporal() and dtype in (nw.Datetime, nw.Date):
        return pd.to_datetime(pd.Series(series.to_list(), dtype=object))
    return pd.Series(series.to_list(), dtype=object).infer_objects()
