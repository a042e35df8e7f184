"""Answers on disk as they come: a batch that was killed goes on where it was."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

from armin.errors import DataError

__all__ = ["Journal", "fingerprint"]

FORMAT = "armin/journal-1"
_HEAD = f'{{"format": "{FORMAT}", "asked": "'.encode()
SYNC = 1.0
"""Seconds after which what was written is also sent to the disk itself."""


def fingerprint(asked: Mapping[str, Any]) -> str:
    """One line that stands for a question; values are compared by what they print.

    >>> fingerprint({"rows": 2})[:8]
    '67456591'
    """
    return hashlib.sha256(json.dumps(asked, sort_keys=True, default=repr).encode()).hexdigest()


class Journal:
    """A file of JSON lines: first what was asked, then one answer a line.

    A line that was cut off when the writer died is taken away; of two answers to one row the first counts. Only one
    writer at a time may hold it.

    Parameters
    ----------
    path : the file; made if it is not there
    asked : the :func:`fingerprint` of the question; a file with another one is refused

    Attributes
    ----------
    kept : the answers that are there, by the number of their row

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "answers.jsonl"
    ...     with Journal(file, "abc") as journal:
    ...         journal.add(0, {"outcome": "plan"})
    ...     Journal(file, "abc").close().kept
    {0: {'outcome': 'plan'}}
    """

    def __init__(self, path: str | Path, asked: str) -> None:
        self.path = Path(path)
        self.kept: dict[int, Any] = {}
        self._synced = time.monotonic()
        try:
            self._stream: IO[bytes] = self.path.open("a+b")
        except OSError as error:
            raise DataError(
                f"{str(self.path)!r} cannot be written: {error.strerror}. Name a file in a folder that is there."
            ) from None
        try:
            self._lock()
            self._read(asked)
        except BaseException:
            self._stream.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, row: int, answer: Any) -> None:
        """Write one answer."""
        self._write({"row": row, "answer": answer})

    def close(self) -> Self:
        """Let go of the file."""
        with suppress(OSError):  # each line was sent when it was added; what could not be was told then
            self._stream.close()
        return self

    def _write(self, data: Mapping[str, Any]) -> None:
        line = json.dumps(data, ensure_ascii=False, default=_plain) + "\n"
        try:
            self._stream.write(line.encode("utf-8", "surrogatepass"))
            self._stream.flush()
            if time.monotonic() - self._synced > SYNC:
                os.fsync(self._stream.fileno())
                self._synced = time.monotonic()
        except OSError as error:
            raise DataError(
                f"{str(self.path)!r} cannot be written: {error.strerror}. The answers until now are kept in it; "
                "make room and go on."
            ) from None

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # not on this system
            return
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DataError(
                f"{str(self.path)!r} is being written by another run. Wait until it ends, or name another file."
            ) from None

    def _read(self, asked: str) -> None:
        self._stream.seek(0)
        good = 0
        for i, line in enumerate(self._stream):
            try:
                data = json.loads(line.decode("utf-8", "surrogatepass")) if line.endswith(b"\n") else None
            except ValueError:
                data = None
            if not isinstance(data, dict):
                break  # cut off here
            if i == 0:
                self._check(data, asked)
            elif type(data.get("row")) is int and "answer" in data:
                self.kept.setdefault(data["row"], data["answer"])
            good += len(line)
        size = self._stream.seek(0, os.SEEK_END)
        if not good and size:
            self._check_beginning()
        if good < size:
            self._stream.truncate(good)
        if not good:
            self._write({"format": FORMAT, "asked": asked})  # begins with _HEAD

    def _check_beginning(self) -> None:
        """What has no whole line is a journal only if it was cut off while the first one was written."""
        self._stream.seek(0)
        begun = self._stream.read(4096)
        self._stream.seek(0, os.SEEK_END)
        if b"\n" in begun or not begun.startswith(_HEAD[: len(begun)]):
            raise DataError(f"{str(self.path)!r} holds something else than answers. Name another file.")

    def _check(self, data: Mapping[str, Any], asked: str) -> None:
        if data.get("format") != FORMAT:
            raise DataError(f"{str(self.path)!r} holds something else than answers. Name another file.")
        if data.get("asked") != asked:
            raise DataError(
                f"{str(self.path)!r} holds answers to another question: other rows, settings, model or version. "
                "Name another file, or delete this one."
            )


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)
