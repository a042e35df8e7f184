"""Where published rows come from, and a check that they are the right ones.

Files are looked for in the folder that ``ARMIN_DATA`` names, then beside the description. What is not there is taken
from OpenML by scikit-learn, which keeps it in ``ARMIN_CACHE``, or where scikit-learn keeps data. Rows are known by a
fingerprint that does not depend on their order.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
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
    origin : where people get the files
    files : the files, read one below the other; a file may lack the ending ``.gz``
    numbers, texts : the columns that are used, by what they hold
    folder : where files are looked for if not in ``ARMIN_DATA``
    read : arguments of ``pandas.read_csv``
    by_file : columns that the files lack, with one value for each file
    rename : published names, and the names of ``numbers`` and ``texts``
    recode : by column, published texts and the texts they stand for
    rows, mark : number of rows and fingerprint; not checked if None and empty
    openml : arguments of ``fetch_openml``; empty if OpenML has no copy
    """

    name: str
    origin: str
    files: tuple[str, ...]
    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    folder: Path | None = None
    read: Mapping[str, Any] = field(default_factory=dict)
    by_file: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rename: Mapping[str, str] = field(default_factory=dict)
    recode: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    rows: int | None = None
    mark: str = ""
    openml: Mapping[str, Any] = field(default_factory=dict)


def load_table(source: Source, *, download: bool = True) -> tuple[pd.DataFrame, str]:
    """The checked rows of a source, and where they were read.

    Parameters
    ----------
    source : the published table
    download : whether to ask OpenML, or what is kept of it, if the files are not on this machine

    Raises
    ------
    DataError
        If there is no file and no download, or if the rows are not those that were published.
    """
    said = os.environ.get("ARMIN_DATA", "").strip()
    folders = [Path(said).expanduser() if said else None, source.folder]
    for folder in filter(None, folders):
        paths = [path for name in source.files if (path := _present(folder / name))]
        if len(paths) == len(source.files):
            where = ", ".join(map(str, paths))
            return _checked(source, _read(source, paths, where), where), where
    if not (download and source.openml):
        raise DataError(_absent(source, said, "" if source.openml else "OpenML has no copy of it. "))
    from sklearn.datasets import fetch_openml

    try:
        frame = fetch_openml(**source.openml, as_frame=True, data_home=os.environ.get("ARMIN_CACHE") or None).frame
    except (OSError, ValueError) as error:
        raise DataError(_absent(source, said, f"The download from OpenML failed ({error}). ")) from error
    where = "OpenML " + " ".join(map(str, source.openml.values())) + ", rows in the order of that copy"
    return _checked(source, frame, where), where


def _present(path: Path) -> Path | None:
    """The file, or the same without its ``.gz``."""
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    return next((p for p in (path, plain) if p.is_file()), None)


def _read(source: Source, paths: Sequence[Path], where: str) -> pd.DataFrame:
    try:
        parts = [pd.read_csv(path, **source.read) for path in paths]
    except (OSError, EOFError, ValueError) as error:
        raise DataError(
            f"{source.name}: {where} cannot be read: {error}. Replace it by the file from {source.origin}."
        ) from error
    for name, values in source.by_file.items():
        parts = [part.assign(**{name: value}) for part, value in zip(parts, values, strict=True)]
    return pd.concat(parts, ignore_index=True)


def _absent(source: Source, said: str, why: str) -> str:
    home = said or "FOLDER"
    files = " and ".join(str(Path(home) / name) for name in source.files)
    state = f"ARMIN_DATA is {said}, which does not hold it" if said else "ARMIN_DATA is not set"
    return (
        f"The data set {source.name} is not on this machine: {state}. {why}"
        f"Get it from {source.origin}, put it at {files}, and set the environment variable ARMIN_DATA to {home}."
    )


def _checked(source: Source, raw: pd.DataFrame, where: str) -> pd.DataFrame:
    """The columns that are used, as plain numbers and texts; refused unless they are the published rows."""
    table = _tidy(source, raw.rename(columns=dict(source.rename)), where)
    if source.rows is not None and len(table) != source.rows:
        raise DataError(_wrong(source, where, f"it has {len(table):,} rows instead of {source.rows:,}"))
    if source.mark and (mark := fingerprint(table)) != source.mark:
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
            stripped = texts.map(lambda v: v.strip() if isinstance(v, str) else v).replace("?", None)
            meanings = source.recode.get(name, {})
            columns[name] = stripped.map(lambda v, known=meanings: known.get(str(v), v)) if meanings else stripped
    return pd.DataFrame(columns)


def _wrong(source: Source, where: str, what: str) -> str:
    return (
        f"{source.name}: {where} is not the published table: {what}. "
        f"Replace it by the one from {source.origin}; a copy that scikit-learn keeps may be deleted."
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
