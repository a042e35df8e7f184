"""The binary form of JSON in which XGBoost keeps a model, read by the letter and within limits."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["read_ubjson"]

_NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}
_WHOLE = b"iUIlL"
_PLAIN = {b"T": True, b"F": False, b"Z": None}
_MOST_VALUES = 5_000_000
"""Values outside of arrays of numbers; each takes a hundred bytes once it is read. A tree has about thirty."""
_DEEPEST = 30


class _Source:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.left = _MOST_VALUES

    def take(self, count: int) -> bytes:
        if not 0 <= count <= len(self.data) - self.at:
            raise ValueError("too short")
        self.at += count
        return self.data[self.at - count : self.at]

    def next_is(self, mark: bytes) -> bool:
        found = self.data[self.at : self.at + 1] == mark
        self.at += found
        return found

    def number(self, kind: bytes) -> Any:
        size = np.dtype(_NUMBERS[kind]).itemsize
        found = np.frombuffer(self.take(size), _NUMBERS[kind])[0]
        return found.item()

    def count(self) -> int:
        kind = self.take(1)
        if kind not in _WHOLE:
            raise ValueError("count")
        return int(self.number(kind))

    def text(self) -> str:
        return self.take(self.count()).decode()

    def value(self, depth: int = 0) -> Any:
        self.left -= 1
        if self.left < 0 or depth > _DEEPEST:
            raise ValueError("too many values")
        kind = self.take(1)
        if kind == b"{":
            return self.table(depth)
        if kind == b"[":
            return self.several(depth)
        if kind == b"S":
            return self.text()
        return _PLAIN[kind] if kind in _PLAIN else self.number(kind)

    def table(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not self.next_is(b"}"):
            name = self.text()
            if name in found:
                raise ValueError("twice")
            found[name] = self.value(depth + 1)
        return found

    def several(self, depth: int) -> Any:
        if self.next_is(b"$"):
            kind = _NUMBERS[self.take(1)]
            if not self.next_is(b"#"):
                raise ValueError("count")
            return np.frombuffer(self.take(self.count() * np.dtype(kind).itemsize), kind)
        if self.next_is(b"#"):
            return [self.value(depth + 1) for _ in range(self.count())]
        found = []
        while not self.next_is(b"]"):
            found.append(self.value(depth + 1))
        return found


def read_ubjson(data: bytes) -> Any:
    r"""What the bytes say; an array of numbers of one kind is an array, any other a list.

    Raises
    ------
    ValueError
        If the bytes say it in another way than XGBoost writes it, end too early, go on, or name a thing twice.

    Examples
    --------
    >>> read_ubjson(b"{i\x01a[$l#i\x02" + bytes([0, 0, 0, 1, 255, 255, 255, 255]) + b"}")["a"].tolist()
    [1, -1]
    """
    source = _Source(data)
    try:
        found = source.value()
    except (KeyError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from None
    if source.at != len(data):
        raise ValueError("goes on")
    return found
