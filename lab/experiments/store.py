"""Rows on disk: one file for each cell, one line for each row, times beside them; or packed, one file per experiment.

``results`` holds what is the same on every machine; ``times`` holds the seconds, and the answers that depend on them,
and where each cell comes from (``*.origin.json``). A folder of packed rows is read in the same way: ``NAME.jsonl.gz``
holds what is the same on every machine, and ``NAME.times.jsonl.gz`` beside it what depends on the machine.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from armin.errors import DataError

__all__ = [
    "CellFile",
    "Row",
    "key_of",
    "pack",
    "read_head",
    "read_rows",
    "read_times",
    "refuse_other_code",
]

Row = dict[str, Any]
Key = tuple[int, str]


def key_of(row: Row) -> Key:
    """What makes a row of a cell unique: the person and the method.

    >>> key_of({"instance": 3, "method": "exact"})
    (3, 'exact')
    """
    return int(row["instance"]), str(row["method"])


class CellFile:
    """The files of a cell, open for appending.

    Parameters
    ----------
    folder : where results and times are
    experiment, cell : their names
    resume : keep what is there; otherwise start over
    origin : what made the rows that are added
    """

    def __init__(self, folder: Path, experiment: str, cell: str, *, resume: bool, origin: Row | None = None) -> None:
        self.results = folder / "results" / experiment / f"{cell}.jsonl"
        self.times = folder / "times" / experiment / f"{cell}.jsonl"
        for path in (self.results, self.times):
            path.parent.mkdir(parents=True, exist_ok=True)
            if not resume:
                path.write_bytes(b"")
        timed = {key_of(row): row for row in _lines(self.times)}
        # a row counts as done if its time is there too
        kept = {key_of(row): row for row in _lines(self.results) if key_of(row) in timed}
        if resume:
            _replace(self.times, timed.values())
            _replace(self.results, kept.values())
        _replace(_origin_path(folder, experiment, cell), [origin or {}])
        self.done = set(kept)

    def add(self, row: Row, time: Row) -> None:
        """Write one row; a kill leaves at most half a line, which the next run drops."""
        for path, content in ((self.times, time), (self.results, row)):
            with path.open("a", encoding="utf-8") as file:
                file.write(_line(content))
        self.done.add(key_of(row))


def refuse_other_code(folder: Path, cells: Iterable[tuple[str, str]], origins: Iterable[Row]) -> None:
    """Refuse to go on where stored rows were made by other code, other libraries or other settings.

    Parameters
    ----------
    folder : where results and times are
    cells : experiment and cell of each file
    origins : what would make further rows of each
    """
    for (experiment, cell), now in zip(cells, origins, strict=True):
        path = folder / "results" / experiment / f"{cell}.jsonl"
        if not path.is_file() or not path.stat().st_size:
            continue
        then = next(_lines(_origin_path(folder, experiment, cell)), {})
        names = ("code", "settings", "versions")
        other = [name for name in names if then.get(name) != now.get(name)]
        if other:
            said = "; ".join(f"{name} {then.get(name, 'not known')}, now {now.get(name)}" for name in other)
            raise DataError(
                f"The rows in {path} were made by other code: {said}. Rows of two codes do not mix. Start over without "
                "--resume, or leave them and write elsewhere with --out."
            )


def read_rows(folder: Path, experiment: str) -> list[Row]:
    """The results of an experiment, in a fixed order; what depends on the clock is taken from the times."""
    rows, times = _stored(folder, experiment)
    return [_timed(row, times.get(_place(row), {})) for row in rows]


def _timed(row: Row, time: Row) -> Row:
    clocked = time.get("row", {}) if row.get("status") == "clocked" else {}
    engine = {"engine": time["engine"]} if "engine" in time else {}
    return {**row, **clocked, **engine, "seconds": time.get("seconds")}


def _place(row: Row) -> tuple[Any, ...]:
    """Where a row stands among all rows of its experiment."""
    return (row["dataset"], row["model"], row["missing"], row["variant"], *key_of(row))


def _stored(folder: Path, experiment: str) -> tuple[list[Row], dict[tuple[Any, ...], Row]]:
    """The rows of an experiment, in a fixed order, and the times by the place of their row."""
    packed = _packed_path(folder, experiment)
    if packed.is_file():
        _, *rows = _packed(packed)
        return rows, {_place(time): time for time in list(_packed(_times_path(folder, experiment)))[1:]}
    rows, times = [], {}
    for path in sorted((folder / "results" / experiment).glob("*.jsonl")):
        clock = {key_of(time): time for time in _lines(folder / "times" / experiment / path.name)}
        for row in _lines(path):
            rows.append(row)
            if key_of(row) in clock:
                times[_place(row)] = clock[key_of(row)]
    return sorted(rows, key=_place), times


def read_head(folder: Path, experiment: str) -> Row:
    """Where the rows of an experiment come from: file, code, libraries, commit; empty if there are none."""
    packed = _packed_path(folder, experiment)
    if packed.is_file():
        return {**next(_packed(packed)), "file": packed.as_posix()}
    origins = [
        found for path in sorted((folder / "times" / experiment).glob("*.origin.json")) for found in _lines(path)
    ]
    if not origins:
        return {}
    every = {name: sorted({o[name] for o in origins if o.get(name)}) for name in ("code", "commit")}
    versions = next((o["versions"] for o in origins if o.get("versions")), {})
    return {**every, "versions": versions, "file": (folder / "results" / experiment).as_posix()}


def pack(folders: Sequence[Path], target: Path) -> list[Path]:
    """Write all rows of some folders to two compressed files per experiment: the rows, and their times.

    Parameters
    ----------
    folders : where rows are; an experiment must be in one of them only
    target : where the files go

    Returns
    -------
    list of Path
        The files; those of times are the ones that depend on the machine.
    """
    homes: dict[str, Path] = {}
    for folder in folders:
        names = sorted(path.name for path in (folder / "results").glob("*") if any(path.glob("*.jsonl")))
        if not names:
            raise DataError(f"There are no rows in {folder}. Make some with: python -m lab.experiments run all.")
        for name in names:
            if name in homes:
                raise DataError(
                    f"The rows of {name!r} are in {homes[name]} and in {folder}. Rows of two runs do not mix. Move one "
                    "of the two away."
                )
            homes[name] = folder
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for name, folder in sorted(homes.items()):
        rows, times = _stored(folder, name)
        head = {k: v for k, v in read_head(folder, name).items() if k != "file"}
        head |= {"experiment": name, "rows": len(rows)}
        clock = {
            "experiment": name,
            "machine": read_times(folder),
            "depends": "on the machine, and on what else it did",
        }
        placed = [
            {k: row[k] for k in ("dataset", "model", "missing", "variant")} | times[_place(row)]
            for row in rows
            if _place(row) in times
        ]
        written += [
            _write_packed(_packed_path(target, name), (head, *rows)),
            _write_packed(_times_path(target, name), (clock, *placed)),
        ]
    return written


def read_times(folder: Path) -> Row:
    """What the times were measured on."""
    path = folder / "times" / "machine.json"
    if path.is_file():
        found: Row = json.loads(path.read_text(encoding="utf-8"))
        return found
    for packed in sorted(folder.glob("*.times.jsonl.gz")):
        return dict(next(_packed(packed))["machine"])
    return {}


def _packed_path(folder: Path, experiment: str) -> Path:
    return folder / f"{experiment}.jsonl.gz"


def _times_path(folder: Path, experiment: str) -> Path:
    return folder / f"{experiment}.times.jsonl.gz"


def _write_packed(path: Path, rows: Iterable[Row]) -> Path:
    text = "".join(_line(row) for row in rows)
    path.write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))
    return path


def _origin_path(folder: Path, experiment: str, cell: str) -> Path:
    return folder / "times" / experiment / f"{cell}.origin.json"


def _line(row: Row) -> str:
    return json.dumps(row, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def _replace(path: Path, rows: Iterable[Row]) -> None:
    """Write a file anew in one step: a kill leaves the old one or the new one."""
    text = "".join(_line(row) for row in rows)
    beside = path.with_name(path.name + ".new")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, path)


def _packed(path: Path) -> Iterator[Row]:
    """The lines of a packed file; none if it is not there."""
    if not path.is_file():
        return
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _lines(path: Path) -> Iterator[Row]:
    """The whole lines of a file; a half-written last one is not there."""
    if path.is_file():
        with path.open(encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    yield json.loads(line)
