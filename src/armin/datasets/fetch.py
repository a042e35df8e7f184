"""Where the rows come from: ``ARMIN_DATA``, else the cache, else a download; and a check that they are the right ones.

``ARMIN_DATA`` names a folder with one folder for each data set, such as ``fico/heloc_raw.csv``. What is downloaded is
kept in ``ARMIN_CACHE``, or in ``~/.cache/armin``. Rows are known by a fingerprint that does not depend on their order.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from armin.errors import DataError

__all__ = ["Source", "fingerprint", "load_table"]

_BLANK = np.iinfo(np.int64).min
_DIGITS = 1e9  # published numbers have at most nine decimals, or are not near half of the ninth


@dataclass(frozen=True)
class Source:
    """A published table: its files, its columns, and how to know it.

    Attributes
    ----------
    name : the data set
    files : the files under ``ARMIN_DATA``; a file may lack the ending ``.gz``
    read : the paths of these files to one frame
    numbers, texts : the columns that are used, by what they hold
    n_rows, mark : number of rows and fingerprint of the columns that are used
    origin : where people get the files
    openml : arguments of ``fetch_openml``; empty if OpenML has no copy
    rename : names in the OpenML copy that differ
    """

    name: str
    files: tuple[str, ...]
    read: Callable[[list[Path]], pd.DataFrame]
    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    n_rows: int
    mark: str
    origin: str
    openml: Mapping[str, Any] = field(default_factory=dict)
    rename: Mapping[str, str] = field(default_factory=dict)


def load_table(source: Source, *, download: bool = True) -> tuple[pd.DataFrame, str]:
    """The checked rows of a source, and where they were read.

    Parameters
    ----------
    source : the published table
    download : whether to ask OpenML if the files are not on this machine

    Raises
    ------
    DataError
        If there is no file and no download, or if the rows are not those that were published.
    """
    folder = os.environ.get("ARMIN_DATA", "").strip()
    if folder:
        found = [_present(Path(folder).expanduser() / name) for name in source.files]
        paths = [path for path in found if path is not None]
        if len(paths) == len(found):
            where = ", ".join(str(path) for path in paths)
            return _checked(source, _parsed(source, where, lambda: source.read(paths)), where), where
    cached = _cache_file(source)
    if cached.is_file():
        raw = _parsed(source, str(cached), lambda: pd.read_csv(cached))
        return _checked(source, raw, str(cached)), _openml_name(source)
    if not (download and source.openml):
        raise DataError(_absent(source, folder, "" if source.openml else "OpenML has no copy of it. "))
    table = _download(source, folder)
    _keep(table, cached)
    return table, _openml_name(source)


def _present(path: Path) -> Path | None:
    """The file, or the same without its ``.gz``."""
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    return next((p for p in (path, plain) if p.is_file()), None)


def _parsed(source: Source, where: str, read: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    try:
        return read()
    except (OSError, EOFError, ValueError) as error:
        raise DataError(
            f"{source.name}: {where} cannot be read: {error}. Replace it by the file from {source.origin}."
        ) from error


def _cache_folder() -> Path:
    said = os.environ.get("ARMIN_CACHE", "").strip()
    return Path(said).expanduser() if said else Path.home() / ".cache" / "armin"


def _cache_file(source: Source) -> Path:
    return _cache_folder() / f"{source.name.lower()}.csv.gz"


def _openml_name(source: Source) -> str:
    return "OpenML " + " ".join(str(value) for value in source.openml.values()) + ", rows in the order of that copy"


def _download(source: Source, folder: str) -> pd.DataFrame:
    from sklearn.datasets import fetch_openml

    where = _openml_name(source)
    try:
        frame = fetch_openml(**source.openml, as_frame=True, cache=False).frame
    except (OSError, ValueError) as error:
        raise DataError(_absent(source, folder, f"The download from OpenML failed ({error}). ")) from error
    return _checked(source, frame.rename(columns=dict(source.rename)), where)


def _keep(table: pd.DataFrame, path: Path) -> None:
    """Write to the cache, whole or not at all; a cache that cannot be written costs a download, not the data."""
    part = path.with_name(f"{os.getpid()}-{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(part, index=False, compression="gzip")
        part.replace(path)
    except OSError as error:
        warnings.warn(
            f"The download is not kept: {error}. Set ARMIN_CACHE to a folder that can be written.", stacklevel=2
        )


def _absent(source: Source, folder: str, why: str) -> str:
    home = folder or "FOLDER"
    files = " and ".join(str(Path(home) / name) for name in source.files)
    state = f"ARMIN_DATA is {folder}, which does not hold it" if folder else "ARMIN_DATA is not set"
    return (
        f"The data set {source.name} is not on this machine: {state}, and there is no {_cache_file(source)}. {why}"
        f"Get it from {source.origin}, put it at {files}, and set the environment variable ARMIN_DATA to {home}."
    )


def _checked(source: Source, raw: pd.DataFrame, where: str) -> pd.DataFrame:
    """The columns that are used, as plain numbers and texts; refused unless they are the published rows."""
    table = _tidy(source, raw, where)
    if len(table) != source.n_rows:
        raise DataError(_wrong(source, where, f"it has {len(table):,} rows instead of {source.n_rows:,}"))
    mark = fingerprint(table)
    if mark != source.mark:
        raise DataError(_wrong(source, where, f"the fingerprint of its rows is {mark} instead of {source.mark}"))
    return table


def _tidy(source: Source, raw: pd.DataFrame, where: str) -> pd.DataFrame:
    columns: dict[str, Any] = {}
    for name in (*source.numbers, *source.texts):
        if name not in raw.columns:
            raise DataError(_wrong(source, where, f"it has no column {name!r}"))
        column = raw[name].reset_index(drop=True)
        if name in source.numbers:
            try:
                numeric = pd.api.types.is_numeric_dtype(column.dtype)
                columns[name] = column if numeric else pd.to_numeric(column.astype(object))
            except (TypeError, ValueError):
                raise DataError(_wrong(source, where, f"its column {name!r} holds more than numbers")) from None
        else:
            texts = column.astype(object).where(column.notna(), None)
            columns[name] = texts.map(lambda v: v.strip() if isinstance(v, str) else v).replace("?", None)
    return pd.DataFrame(columns)


def _wrong(source: Source, where: str, what: str) -> str:
    return (
        f"{source.name}: {where} is not the published table: {what}. "
        f"Replace it by the one from {source.origin}; a file in {_cache_folder()} may be deleted."
    )


def fingerprint(table: pd.DataFrame) -> str:
    """A name for the rows of a table, whatever their order.

    >>> table = pd.DataFrame({"age": [30, 40], "job": ["a", None]})
    >>> fingerprint(table) == fingerprint(table[::-1])
    True
    >>> fingerprint(table) == fingerprint(table.fillna("a"))
    False
    """
    rows = np.zeros(len(table), dtype=np.uint64)
    for name in table.columns:
        rows = _mixed(rows ^ _keys(table[name]))
    return hashlib.sha256(np.sort(rows).astype("<u8").tobytes()).hexdigest()[:16]


def _keys(column: pd.Series[Any]) -> NDArray[np.uint64]:
    """Each value as a whole number of 64 bits; equal values, equal numbers, on every machine."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        blanks = np.isnan(numbers)
        whole = np.rint(np.where(blanks, 0.0, numbers) * _DIGITS).astype(np.int64)
        keys: NDArray[np.uint64] = np.where(blanks, _BLANK, whole).view(np.uint64)
    else:
        codes, levels = pd.factorize(column)
        known = [int.from_bytes(hashlib.sha256(str(level).encode()).digest()[:8], "little") for level in levels]
        keys = np.array([*known, 0], dtype=np.uint64)[codes]  # a blank has code -1, the last
    return keys


def _mixed(rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64: every bit of the input moves about half of the bits of the output."""
    rows = rows + np.uint64(0x9E3779B97F4A7C15)
    rows = (rows ^ (rows >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    rows = (rows ^ (rows >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return rows ^ (rows >> np.uint64(31))
