"""Answers on disk as they come, in part files: a batch that was stopped goes on with the parts that are missing."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from armin.errors import DataError

__all__ = ["Parts"]

FORMAT = "armin/parts-1"
MANIFEST = "manifest.json"
ROWS, FILES = 512, 64
"""Rows in a part at the most, and files that a small batch is spread over."""


class Parts:
    """A folder with one file for each block of rows, and a manifest that names the question.

    A part is written under another name and renamed when it is whole. Its first line is a checksum of the question, the
    part's name and what follows: a part that is there is complete, and one that was damaged, or is another one, is made
    again.

    Parameters
    ----------
    folder : made if it is not there
    question : the fingerprint of rows, model and settings; a folder with another one is refused
    total : how many rows there are

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parts = Parts(Path(folder) / "answers", "abc", 2)
    ...     parts.add(1, "no plan")
    ...     Parts(Path(folder) / "answers", "abc", 2).missing()
    [0]
    """

    def __init__(self, folder: str | Path, question: str, total: int) -> None:
        self.folder = Path(folder)
        self.total = total
        self.question = question
        self.size = max(1, min(ROWS, total // FILES))
        self._pending: dict[int, dict[int, Any]] = {}
        manifest = {"format": FORMAT, "question": question, "rows": total, "rows_per_part": self.size}
        try:
            self.folder.mkdir(exist_ok=True)
            present = any(self.folder.iterdir())
            if not present:
                self._write(MANIFEST, json.dumps(manifest).encode())
        except OSError as error:
            raise self._unwritable(error) from None
        if present:
            self._check(manifest)
        self._complete = {part for part in range(self._count) if self._path(part).exists() and self._read(part)}

    @property
    def _count(self) -> int:
        return -(-self.total // self.size)

    def missing(self) -> list[int]:
        """The numbers of the rows that have no answer yet."""
        return [row for part in range(self._count) if part not in self._complete for row in self._rows(part)]

    def add(self, row: int, answer: Any) -> None:
        """Keep one answer; it is on disk when all others of its part are there."""
        part = row // self.size
        block = self._pending.setdefault(part, {})
        block[row] = answer
        if len(block) < len(self._rows(part)):
            return
        answers = [block[one] for one in self._rows(part)]
        text = json.dumps(answers, ensure_ascii=False, default=_plain).encode("utf-8", "surrogatepass")
        try:
            self._write(self._path(part).name, self._checksum(part, text) + b"\n" + text)
        except OSError as error:
            raise self._unwritable(error) from None
        self._complete.add(part)
        del self._pending[part]

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """The answers that are on disk, with their rows, in order; one part at a time is in memory."""
        for part in sorted(self._complete):
            yield from zip(self._rows(part), self._read(part), strict=True)

    def __len__(self) -> int:
        """How many answers are on disk."""
        return sum(len(self._rows(part)) for part in self._complete)

    def remove(self) -> None:
        """Delete the parts and, if nothing else is in it, the folder."""
        for part in range(self._count):
            self._path(part).unlink(missing_ok=True)
        (self.folder / MANIFEST).unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _rows(self, part: int) -> range:
        return range(part * self.size, min((part + 1) * self.size, self.total))

    def _path(self, part: int) -> Path:
        return self.folder / f"part-{part:06}.json"

    def _checksum(self, part: int, text: bytes) -> bytes:
        return hashlib.sha256(f"{self.question} {part}\n".encode() + text).hexdigest().encode()

    def _write(self, name: str, content: bytes) -> None:
        half = self.folder / f".{name}.{secrets.token_hex(8)}.tmp"
        try:
            with half.open("xb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            half.replace(self.folder / name)
        except BaseException:
            half.unlink(missing_ok=True)
            raise

    def _read(self, part: int) -> list[Any]:
        """The answers of a part; none if the file is not what was written."""
        checksum, _, text = self._path(part).read_bytes().partition(b"\n")
        if checksum == self._checksum(part, text):
            answers: list[Any] = json.loads(text.decode("utf-8", "surrogatepass"))
            return answers
        logging.getLogger("armin").warning("%s is damaged; its rows are explained again.", self._path(part))
        return []

    def _check(self, manifest: dict[str, Any]) -> None:
        try:
            found = json.loads((self.folder / MANIFEST).read_bytes())
        except (OSError, ValueError):
            found = None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise DataError(f"{str(self.folder)!r} holds something else than answers. Name another folder.")
        if found != manifest:
            raise DataError(
                f"{str(self.folder)!r} holds answers to another question: other rows, settings, model or version. "
                "Name another folder, or delete this one."
            )

    def _unwritable(self, error: OSError) -> DataError:
        return DataError(
            f"{str(self.folder)!r} cannot be written: {error.strerror}. The parts until now are kept in it; make room, "
            "or name a folder that can be written, and go on."
        )


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)
