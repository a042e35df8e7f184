"""Rows on disk: one file for each cell, one line for each row, times beside them.

``results`` holds what is the same on every machine; ``times`` holds the seconds, and the answers that depend on them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["CellFile", "Row", "key_of", "read_rows", "read_times"]

Row = dict[str, Any]
Key = tuple[int, str]


def key_of(row: Row) -> Key:
    """What makes a row of a cell unique: the person and the method.

    >>> key_of({"instance": 3, "method": "exact"})
    (3, 'exact')
    """
    return int(row["instance"]), str(row["method"])


class CellFile:
    """The two files of a cell, open for appending.

    Parameters
    ----------
    folder : where results and times are
    experiment, cell : their names
    resume : keep what is there; otherwise start over
    """

    def __init__(self, folder: Path, experiment: str, cell: str, *, resume: bool) -> None:
        self.results = folder / "results" / experiment / f"{cell}.jsonl"
        self.times = folder / "times" / experiment / f"{cell}.jsonl"
        for path in (self.results, self.times):
            path.parent.mkdir(parents=True, exist_ok=True)
            if resume:
                _mend(path)
            else:
                path.write_bytes(b"")
        timed = {key_of(row) for row in _lines(self.times)}
        # a row counts as done if its time is there too
        kept = [row for row in _lines(self.results) if key_of(row) in timed]
        if resume:
            self.results.write_text("".join(_line(row) for row in kept), encoding="utf-8")
        self.done = {key_of(row) for row in kept}

    def add(self, row: Row, time: Row) -> None:
        """Write one row; a kill leaves at most half a line, which the next run drops."""
        for path, content in ((self.times, time), (self.results, row)):
            with path.open("a", encoding="utf-8") as file:
                file.write(_line(content))
        self.done.add(key_of(row))


def read_rows(folder: Path, experiment: str) -> list[Row]:
    """The results of an experiment, in a fixed order; what depends on the clock is taken from the times."""
    rows = []
    for path in sorted((folder / "results" / experiment).glob("*.jsonl")):
        times = {key_of(t): t for t in _lines(folder / "times" / experiment / path.name)}
        for row in _lines(path):
            time = times.get(key_of(row), {})
            clocked = time.get("row", {}) if row.get("status") == "clocked" else {}
            rows.append({**row, **clocked, "seconds": time.get("seconds")})
    return sorted(rows, key=lambda r: (r["dataset"], r["model"], r["missing"], r["variant"], *key_of(r)))


def read_times(folder: Path) -> Row:
    """What the times were measured on."""
    path = folder / "times" / "machine.json"
    found: Row = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found


def _line(row: Row) -> str:
    return json.dumps(row, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def _mend(path: Path) -> None:
    """Drop a half-written last line."""
    if not path.is_file():
        return
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        path.write_bytes(whole)


def _lines(path: Path) -> Iterator[Row]:
    if path.is_file():
        with path.open(encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    yield json.loads(line)
