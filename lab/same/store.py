"""Nested lists and dicts with arrays in them, as two files: a text with the structure, and an archive with the arrays.

All arrays of one type lie one after the other in a single array of the archive; the text says where each begins.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Form = dict[str, Any]
"""What is stored: texts, numbers, lists, dicts and arrays."""


class Pool:
    """Arrays by their place."""

    def __init__(self, known: dict[str, np.ndarray] | None = None) -> None:
        self._known = known or {}
        self._new: dict[str, list[np.ndarray]] = {}
        self._sizes: dict[str, int] = {}

    def put(self, array: np.ndarray) -> list[Any]:
        """Keep an array, and say where."""
        kind = array.dtype.name
        start = self._sizes.get(kind, 0)
        self._new.setdefault(kind, []).append(array.ravel())
        self._sizes[kind] = start + array.size
        return [kind, start, list(array.shape)]

    def get(self, place: list[Any]) -> np.ndarray:
        """The array at a place."""
        kind, start, shape = place
        return self._known[kind][start : start + int(np.prod(shape))].reshape(shape).copy()

    def arrays(self) -> dict[str, np.ndarray]:
        """All that was put, one long array of each type."""
        return {kind: np.concatenate(parts) for kind, parts in self._new.items()}


def flattened(value: Any, pool: Pool) -> Any:
    """The same with places instead of arrays."""
    if isinstance(value, np.ndarray):
        return {"array": pool.put(value)}
    if isinstance(value, dict):
        return {name: flattened(part, pool) for name, part in value.items()}
    return [flattened(part, pool) for part in value] if isinstance(value, list | tuple) else value


def restored(value: Any, pool: Pool) -> Any:
    """The same with arrays instead of places."""
    if isinstance(value, dict):
        if set(value) == {"array"}:
            return pool.get(value["array"])
        return {name: restored(part, pool) for name, part in value.items()}
    return [restored(part, pool) for part in value] if isinstance(value, list) else value


def write(folder: Path, name: str, forms: Iterable[Form]) -> None:
    """Write ``name.jsonl``, a line for each form, and ``name.npz``."""
    pool = Pool()
    lines = [json.dumps(flattened(form, pool), separators=(",", ":")) for form in forms]
    (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    np.savez_compressed(folder / f"{name}.npz", **pool.arrays())


def read(folder: Path, name: str) -> Iterator[Form]:
    """The forms of ``name.jsonl`` and ``name.npz``, one by one."""
    with np.load(folder / f"{name}.npz") as archive:
        pool = Pool({kind: archive[kind] for kind in archive.files})
    with (folder / f"{name}.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield restored(json.loads(line), pool)
