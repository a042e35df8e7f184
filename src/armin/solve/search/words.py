"""What the compiled searches share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped, unused-ignore]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from armin.problem.data import WEIGHT_TOLERANCE, PathPoint, Problem, Solution
from armin.solve.search.compiled import kernel

__all__ = [
    "Words",
    "copy_into",
    "end_of_path",
    "is_banned",
    "kernel",
    "lowest_bit",
    "next_requirement",
    "sets_as_words",
    "sort_by",
]

Words = NDArray[np.uint64]


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def lowest_bit(typingctx: Any, word: Any) -> Any:  # pragma: no cover - compiled
    """Position of the lowest set bit of a 64-bit word."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), code


@kernel
def sort_by(items: Any, key: Any) -> None:  # pragma: no cover - compiled
    """Sort ``items`` by ``key[item]``, then by item, in place (Shell's method: small code, quick to compile)."""
    gap = items.size // 2
    while gap > 0:
        for i in range(gap, items.size):
            item = items[i]
            j = i
            while j >= gap and (
                key[items[j - gap]] > key[item] or (key[items[j - gap]] == key[item] and items[j - gap] > item)
            ):
                items[j] = items[j - gap]
                j -= gap
            items[j] = item
        gap //= 2


@kernel
def copy_into(source: Any, target: Any) -> None:  # pragma: no cover - compiled
    """``target[:] = source``; a plain loop compiles many times faster."""
    for i in range(source.size):
        target[i] = source[i]


def sets_as_words(sets: Iterable[frozenset[int]], size: int) -> Words:
    """Sets of numbers below ``size`` as bits, one row each.

    >>> sets_as_words([frozenset({0, 2}), frozenset({65})], 70).tolist()
    [[5, 0], [0, 2]]
    """
    rows = sorted(sum(1 << i for i in numbers) for numbers in sets)
    width = (size + 63) // 64 if size else 1
    words = [[(row >> (64 * w)) & (2**64 - 1) for w in range(width)] for row in rows]
    return np.array(words, dtype=np.uint64).reshape(len(rows), width)


@kernel
def is_banned(changed: Any, banned: Any) -> bool:  # pragma: no cover - compiled
    """Whether the set ``changed`` is one of the rows of ``banned``."""
    for s in range(banned.shape[0]):
        same = True
        for w in range(changed.size):
            if banned[s, w] != changed[w]:
                same = False
                break
        if same:
            return True
    return False


def end_of_path(problem: Problem, points: list[PathPoint], reason: Solution) -> list[PathPoint]:
    """The path with a last point that says why it ends, unless it ends with all candidates accepted."""
    required = next_requirement(problem, points)
    if required is None:
        return points
    return [*points, PathPoint(reason, required, required / float(problem.weights.sum()))]


def next_requirement(problem: Problem, points: list[PathPoint]) -> float | None:
    """The least weight that the path does not answer yet, or None."""
    if not points:
        return float(problem.weights.min())
    total, step = float(problem.weights.sum()), problem.smallest_step
    weight = points[-1].weight
    return None if weight + step > total * (1 + WEIGHT_TOLERANCE) else min(weight + step, total)
