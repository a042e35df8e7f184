"""Make blanks: anywhere, where another column is high, where the value itself is high, or as others have them.

Blanks are made in raw columns, so a category is blanked at once. Every function leaves its input alone and gives the
rows with blanks and the mask of the blanks it made.

>>> X = pd.DataFrame({"age": [30, 50], "job": ["a", "b"]})
>>> holed, mask = mar(X, "job", driver="age")
>>> holed["job"].tolist(), mask["job"].tolist()
(['a', nan], [False, True])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from armin.errors import DataError, ParameterError
from armin.schema import is_blank

__all__ = ["Amputated", "mar", "masks_like", "mcar", "mnar"]

Side = Literal["above", "below"]
_EXACT = 2**53


class Amputated(NamedTuple):
    """Rows with blanks, and which cells were blanked.

    >>> rows = Amputated(pd.DataFrame({"age": [np.nan]}), pd.DataFrame({"age": [True]}))
    >>> int(rows.mask.to_numpy().sum())
    1
    """

    X: pd.DataFrame
    mask: pd.DataFrame


def mcar(X: pd.DataFrame, n_missing: int, random_state: int = 0, *, columns: Sequence[str] | None = None) -> Amputated:
    """Blank the same number of values in every row, each set of columns as likely as any other.

    With one seed, what is blanked for ``n_missing`` is blanked for ``n_missing + 1`` too.

    Parameters
    ----------
    X : the rows; a value that is blank already is not counted and not chosen
    n_missing : how many values to blank in each row
    random_state : the seed
    columns : the columns to choose from; all of them if left out

    Returns
    -------
    Amputated

    Examples
    --------
    >>> X = pd.DataFrame({"age": [30, 50], "income": [1.5, 2.5], "job": ["a", "b"]})
    >>> mcar(X, 2).mask.sum(axis=1).tolist()
    [2, 2]
    """
    _check_frame(X)
    names = _names(X, columns if columns is not None else list(X.columns), "columns")
    if isinstance(n_missing, bool) or not isinstance(n_missing, int | np.integer) or n_missing < 0:
        raise ParameterError(
            f"The 'n_missing' parameter must be a whole number of at least 0. Got {n_missing!r} instead."
        )
    free = ~_blanks(X[names])
    short = np.flatnonzero(free.sum(axis=1) < n_missing)
    if short.size:
        row = short[0]
        raise DataError(
            f"Row {X.index[row]!r} has {int(free[row].sum())} values to choose from; 'n_missing' is {n_missing}. "
            "Ask for fewer blanks, or leave such rows out."
        )
    keys = np.where(free, _generator(random_state).random(free.shape), np.inf)
    rank = keys.argsort(axis=1).argsort(axis=1)
    return _blank(X, names, free & (rank < n_missing))


def mar(
    X: pd.DataFrame,
    target: str | Sequence[str],
    driver: str,
    *,
    quantile: float = 0.5,
    side: Side = "above",
    steepness: float | None = None,
    random_state: int = 0,
) -> Amputated:
    """Blank a column where another one, which stays known, is high (or low): missing at random.

    Parameters
    ----------
    X : the rows
    target : the column to blank, or several, which are then blanked together
    driver : the number, or ordered category, that decides; where it is blank itself nothing is blanked
    quantile : where it starts, as a quantile of the driver in X: 0.5 is the median
    side : blank where the driver is "above" or "below" that value
    steepness : None blanks every row beyond the value. A number makes it a matter of chance,
        P(blank) = 1 / (1 + exp(-steepness z)), where z is the distance beyond the value in standard deviations
    random_state : the seed, if there is chance in it

    Returns
    -------
    Amputated

    Examples
    --------
    >>> X = pd.DataFrame({"age": [20, 30, 40, 50], "income": [1, 2, 3, 4]})
    >>> mar(X, "income", driver="age").X["income"].tolist()
    [1.0, 2.0, nan, nan]
    """
    _check_frame(X)
    targets = _names(X, [target] if isinstance(target, str) else target, "target")
    _names(X, [driver], "driver")
    if driver in targets:
        raise ParameterError(
            f"In mar the driver stays known, so it cannot be a target. Got {driver!r}; use mnar for that."
        )
    chosen = _driven(X, driver, quantile, side, steepness, random_state)
    return _blank(X, targets, np.repeat(chosen[:, None], len(targets), axis=1))


def mnar(
    X: pd.DataFrame,
    target: str,
    *,
    quantile: float = 0.5,
    side: Side = "above",
    steepness: float | None = None,
    random_state: int = 0,
) -> Amputated:
    """Blank a column where its own value is high (or low): missing not at random.

    Parameters
    ----------
    X : the rows
    target : the number, or ordered category, to blank
    quantile, side, steepness, random_state : as in :func:`mar`

    Returns
    -------
    Amputated

    Examples
    --------
    >>> X = pd.DataFrame({"age": [20, 30, 40, 50], "income": [1, 2, 3, 4]})
    >>> mnar(X, "income", quantile=0.75).X["income"].tolist()
    [1.0, 2.0, 3.0, nan]
    """
    _check_frame(X)
    _names(X, [target], "target")
    return _blank(X, [target], _driven(X, target, quantile, side, steepness, random_state)[:, None])


def masks_like(X: pd.DataFrame, donors: pd.DataFrame, random_state: int = 0) -> Amputated:
    """Blank each row as some row with real blanks is blank.

    Parameters
    ----------
    X : the rows
    donors : rows with the same columns; those with at least one blank and one value are drawn from, with replacement
    random_state : the seed

    Returns
    -------
    Amputated

    Examples
    --------
    >>> donors = pd.DataFrame({"age": [None, 3.0], "job": ["a", "b"]})
    >>> masks_like(pd.DataFrame({"age": [30, 50], "job": ["a", "b"]}), donors).X["age"].tolist()
    [nan, nan]
    """
    _check_frame(X)
    _check_frame(donors)
    if set(donors.columns) != set(X.columns):
        wrong = sorted(map(str, set(donors.columns) ^ set(X.columns)))[0]
        raise DataError(f"'donors' must have the columns of X. {wrong!r} is only in one of them.")
    masks = _blanks(donors[list(X.columns)])
    masks = masks[masks.any(axis=1) & ~masks.all(axis=1)]
    if not len(masks):
        raise DataError("'donors' must hold a row with a blank and a value. Got none; use the raw form of the data.")
    drawn = masks[_generator(random_state).integers(len(masks), size=len(X))]
    return _blank(X, list(X.columns), drawn)


def _driven(
    X: pd.DataFrame, driver: str, quantile: float, side: Side, steepness: float | None, random_state: int
) -> NDArray[np.bool_]:
    if not 0 <= quantile <= 1:
        raise ParameterError(f"The 'quantile' parameter must be in [0, 1]. Got {quantile!r} instead.")
    if side not in ("above", "below"):
        raise ParameterError(f"The 'side' parameter must be 'above' or 'below'. Got {side!r} instead.")
    if steepness is not None and not 0 <= steepness < np.inf:
        raise ParameterError(f"The 'steepness' parameter must be a number of at least 0, or None. Got {steepness!r}.")
    values = _numbers(X[driver])
    known = ~np.isnan(values)
    if not known.any():
        raise DataError(f"Column {driver!r} decides what is blanked, but has no value at all.")
    beyond = (values - np.quantile(values[known], quantile)) * (1.0 if side == "above" else -1.0)
    if steepness is None:
        return np.asarray(np.nan_to_num(beyond) > 0)
    spread = float(values[known].std()) or 1.0
    # P(blank) = 1 / (1 + exp(-steepness z)), written with tanh so that nothing overflows
    chance = 0.5 * (1.0 + np.tanh(0.5 * steepness * np.nan_to_num(beyond) / spread))
    return known & (_generator(random_state).random(len(values)) < chance)


def _numbers(column: pd.Series[Any]) -> NDArray[np.float64]:
    """A column as numbers; the position of an ordered category; NaN for blanks."""
    if isinstance(column.dtype, pd.CategoricalDtype) and column.dtype.ordered:
        codes = column.cat.codes.to_numpy(dtype=np.float64)
        return np.where(codes < 0, np.nan, codes)
    if not pd.api.types.is_numeric_dtype(column.dtype):
        raise DataError(
            f"Column {column.name!r} must hold numbers or ordered categories to decide what is blanked. "
            f"Got {column.dtype} instead."
        )
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))


def _blanks(frame: pd.DataFrame) -> NDArray[np.bool_]:
    """Which cells are blank, an empty text included."""
    mask: NDArray[np.bool_] = np.array(frame.isna(), dtype=bool)
    for j, name in enumerate(frame.columns):
        if pd.api.types.is_string_dtype(frame[name].dtype) or frame[name].dtype == object:
            mask[:, j] |= frame[name].map(is_blank).to_numpy(dtype=bool)
    return mask


def _blank(X: pd.DataFrame, names: Sequence[str], chosen: NDArray[np.bool_]) -> Amputated:
    """Blank the chosen cells of some columns; a column without blanks keeps its type."""
    mask = pd.DataFrame(False, index=X.index, columns=X.columns)
    chosen = chosen & ~_blanks(X[list(names)])
    holed: dict[str, pd.Series[Any]] = {}
    for j, name in enumerate(names):
        mask[name] = chosen[:, j]
        if chosen[:, j].any():
            holed[name] = _with_room(X[name]).mask(chosen[:, j])
    return Amputated(X.assign(**holed) if holed else X.copy(), mask)


def _with_room(column: pd.Series[Any]) -> pd.Series[Any]:
    """The column in a type that can hold a blank and every value exactly."""
    dtype = column.dtype
    if not isinstance(dtype, np.dtype) or dtype.kind not in "iub":
        return column
    if dtype.kind == "b":
        return column.astype(object)
    large = len(column) and max(abs(int(column.min())), abs(int(column.max()))) > _EXACT
    return column.astype(("UInt64" if dtype.kind == "u" else "Int64") if large else np.float64)


def _check_frame(frame: object) -> None:
    if not isinstance(frame, pd.DataFrame):
        raise DataError(f"Blanks are made in a DataFrame of raw columns. Got {type(frame).__name__} instead.")
    if not frame.columns.is_unique:
        raise DataError("Column names must be different, so that a blank has one place.")


def _names(X: pd.DataFrame, names: Sequence[str], what: str) -> list[str]:
    if isinstance(names, str):
        raise ParameterError(f"'{what}' must be a list of column names. Got the text {names!r}; write [{names!r}].")
    unknown = [name for name in names if name not in X.columns]
    if unknown:
        raise ParameterError(
            f"'{what}' names {unknown[0]!r}, which is not a column. The columns are: {', '.join(map(str, X.columns))}."
        )
    if len(set(names)) != len(names) or not names:
        raise ParameterError(f"'{what}' must name different columns, at least one. Got {list(names)!r} instead.")
    return list(names)


def _generator(random_state: int) -> np.random.Generator:
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer) or random_state < 0:
        raise ParameterError(
            f"The 'random_state' parameter must be a whole number of at least 0. Got {random_state!r} instead."
        )
    return np.random.default_rng(int(random_state))
