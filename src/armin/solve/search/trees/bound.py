"""Masks and bounds of the search over a tree ensemble, compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from armin.arrays import FloatArray
from armin.solve.search.trees.tables import COMMON, KEEP_AT, OWN, OWN_WORD, SHARED
from armin.solve.search.words import Words, copy_into, kernel, lowest_bit

__all__ = ["TreeState", "and_both", "and_kept", "and_range", "enough", "free_rest", "last_below", "needed"]

TOP, NODES, GROUPS, CHANGES, FRONT = 0, 1, 2, 3, 4  # entries of TreeState.count
CAP, NEED, TOTAL, CONTEXT, STAGE = 0, 1, 2, 3, 4  # entries of TreeState.number
HEAD = 3  # a node is: kind, next feature, number of features; local options; (feature, side, low, high) ...
UNIONS = 3  # masks of several groups together
LEVELS = 16  # of what may still be spent


class TreeState(NamedTuple):
    """What the search writes: a stack of open nodes and the present context."""

    stack: NDArray[np.int32]
    counter: NDArray[np.int64]
    number: FloatArray
    weight: FloatArray  # of the groups of this context
    mask: Words  # (groups, own virtual trees)
    work: Words  # (V,)
    sums: NDArray[np.int64]
    slot: NDArray[np.int32]
    rest: Words  # (levels, D + 1, words) see _free
    front: FloatArray  # (2, .) rising costs and weights of the choices found
    changed: Words  # a set of features


@kernel
def last_below(costs: Any, at: int, high: int, room: float) -> int:  # pragma: no cover - compiled
    """The last option of a side, not after ``high``, that costs less than ``room``; -1 if none."""
    while high >= 0 and costs[at + high] >= room:
        high -= 1
    return high


@kernel
def _level(length: int) -> int:  # pragma: no cover - compiled
    """The largest k with 2^k <= length."""
    k = 0
    while 2 << k <= length:
        k += 1
    return k


@kernel
def and_kept(work: Any, masks: Any, at: int, count: int, first: int, end: int) -> None:  # pragma: no cover - compiled
    """AND with the masks of keeping the features first..end-1."""
    if first >= end:
        return
    k = _level(end - first)
    row_0 = at + k * count + first
    row_1 = at + k * count + end - (1 << k)
    for w in range(work.size):
        work[w] &= masks[row_0, w] & masks[row_1, w]


@kernel
def and_range(work: Any, masks: Any, at: int, size: int, low: int, high: int) -> None:  # pragma: no cover - compiled
    """AND with the mask of the options low..high of a side."""
    k = _level(high - low + 1)
    row_0 = at + k * size + low
    row_1 = at + k * size + high + 1 - (1 << k)
    for w in range(work.size):
        work[w] &= masks[row_0, w] | masks[row_1, w]


@kernel
def and_both(
    work: Any, masks: Any, sides: Any, d: int, high_0: int, high_1: int, keep: int
) -> None:  # pragma: no cover - compiled
    """AND with the mask of the first options of both sides, and of row ``keep`` (0 is the empty mask)."""
    a, b, c, e = 0, 0, 0, 0
    if high_0 >= 0:
        k = _level(high_0 + 1)
        a = sides[d, 0, 0] + k * sides[d, 0, 1]
        b = a + high_0 + 1 - (1 << k)
    if high_1 >= 0:
        k = _level(high_1 + 1)
        c = sides[d, 1, 0] + k * sides[d, 1, 1]
        e = c + high_1 + 1 - (1 << k)
    for w in range(work.size):
        work[w] &= masks[a, w] | masks[b, w] | masks[c, w] | masks[e, w] | masks[keep, w]


@kernel
def needed(count: Any, number: Any, front: Any, cost: float) -> Any:  # pragma: no cover - compiled
    """The weight that a choice of this cost must reach to be of use."""
    need = number[NEED]
    for i in range(count[FRONT]):
        if front[0, i] > cost:
            break
        need = max(need, front[1, i] + 1e-9 * number[TOTAL])
    return need


@kernel
def _passes(
    shape: Any, part: Any, rows: Any, values: Any, mask: Any, work: Any, sums: Any
) -> bool:  # pragma: no cover - compiled
    """Whether the best leaves left in ``work`` and ``mask`` make some way of being accepted possible."""
    n_rows, n_own, own_word = rows.shape[1], shape[OWN], shape[OWN_WORD]
    offset = n_rows * shape[SHARED]
    way, good = -1, False
    for r in range(n_rows):
        if rows[2, r] != way:
            if good:
                return True
            way, good = rows[2, r], True
        if good:
            score = sums[r]
            for v in range(offset + r * n_own, offset + (r + 1) * n_own):
                w = part[v]
                word = work[w] & mask[w - own_word]
                while word == 0:
                    w += 1
                    word = work[w] & mask[w - own_word]
                score += values[w, lowest_bit(word)]
            good = score >= 0
    return good


@kernel
def enough(
    shape: Any,
    part: Any,
    rows: Any,
    values: Any,
    groups: int,
    weight: Any,
    mask: Any,
    work: Any,
    sums: Any,
    total: float,
    need: float,
) -> bool:  # pragma: no cover - compiled
    """Whether groups of weight ``need`` can be accepted by the best leaves left in ``work``.

    The first rows of ``mask`` are unions of groups that must not all fail; if they do, that is a quick no.
    """
    n_shared = shape[SHARED]
    for r in range(rows.shape[1]):
        score = rows[0, r] + rows[1, r]
        for v in range(r * n_shared, (r + 1) * n_shared):
            w = part[v]
            while work[w] == 0:
                w += 1
            score += values[w, lowest_bit(work[w])]
        sums[r] = score
    hope = False
    for g in range(UNIONS):
        if _passes(shape, part, rows, values, mask[g], work, sums):
            hope = True
            break
    if not hope:
        return False
    accepted = 0.0
    for g in range(groups):
        if _passes(shape, part, rows, values, mask[UNIONS + g], work, sums):
            accepted += weight[g]
            if accepted >= need:
                return True
        else:
            total -= weight[g]
            if total < need:
                return False
    return accepted >= need


@kernel
def free_rest(tables: Any, cap: float, rest: Any) -> None:  # pragma: no cover - compiled
    """``rest[l, i]``: every feature from i on is kept or takes any option below the l-th of the room levels."""
    shape, sides, costs = tables.shape, tables.sides, tables.costs
    for level in range(LEVELS):
        room = cap if level == LEVELS - 1 else cap * (level + 1) / LEVELS
        for d in range(shape[COMMON] - 1, -1, -1):
            high_0 = last_below(costs, sides[d, 0, 2], sides[d, 0, 1] - 1, room)
            high_1 = last_below(costs, sides[d, 1, 2], sides[d, 1, 1] - 1, room)
            copy_into(rest[level, d + 1], rest[level, d])
            and_both(rest[level, d], tables.masks, sides, d, high_0, high_1, shape[KEEP_AT] + d)
