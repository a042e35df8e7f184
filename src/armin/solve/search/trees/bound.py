"""Masks and bounds of the search over a tree ensemble, compiled.

The *mask* M(A) of a set A of options of one feature has the bits of the leaves that some option in A leads to (leaves
whose path does not ask about the feature count always). A node allows a set A_d for each feature d; tree t can then
only reach leaves in the AND of the masks M(A_d), so

    score(any choice of the node) <= base + sum over trees t of max { value(l) : leaf l of t in AND_d M(A_d) }.

It is a bound as a choice of the node takes one option in each A_d, and its leaf in t is in every M(A_d); the leaves
that attain the maxima may ask for different options, so it need not be attained. Bits are by falling value: the
maximum is the lowest bit. Candidates in the same cells of the local features share their masks (a *group*), and the
node is lost if the groups whose bound reaches the cut weigh less than what is needed.

The mask of a range of options is an OR, that of kept features an AND of rows. Both do not mind if a row is met twice,
so two overlapping rows of length 2^k give any range (a *sparse table*).
"""

from __future__ import annotations

import numpy as np

from armin.arrays import FloatArray
from armin.compiling import called, entry_bare, inlined
from armin.solve.search.goals import Stairs
from armin.solve.search.trees.data import (
    COST,
    COUNT,
    GROUPS,
    KEPT,
    LEVELS,
    MASK,
    NONE,
    SLACK,
    START,
    UNIONS,
    WAY,
    State,
    Trees,
)
from armin.solve.search.words import Bits, copy_into, lowest_bit

__all__ = ["and_both", "and_kept", "and_range", "enough", "free_rest", "last_below", "needed"]


@called
def last_below(costs: FloatArray, at: int, high: int, room: float) -> int:  # pragma: no cover - compiled
    """The last option of a side, not after ``high``, that costs less than ``room``; -1 if none."""
    while high >= 0 and costs[at + high] >= room:
        high -= 1
    return high


@called
def _level(length: int) -> int:  # pragma: no cover - compiled
    """The largest k with 2^k <= length."""
    k = 0
    while 2 << k <= length:
        k += 1
    return k


@called
def and_kept(tables: Trees, work: Bits, first: int, end: int) -> None:  # pragma: no cover - compiled
    """AND with the masks of keeping the features first..end-1: two rows of the sparse table cover them."""
    if first >= end:
        return
    k = _level(end - first)
    row_0 = KEPT + k * tables.shape.common + first
    row_1 = KEPT + k * tables.shape.common + end - (1 << k)
    for w in range(work.size):
        work[w] &= tables.masks[row_0, w] & tables.masks[row_1, w]


@called
def and_range(tables: Trees, work: Bits, d: int, side: int, low: int, high: int) -> None:  # pragma: no cover - compiled
    """AND with the mask of the options low..high of a side."""
    at, size = tables.sides[d, side, MASK], tables.sides[d, side, COUNT]
    k = _level(high - low + 1)
    row_0 = at + k * size + low
    row_1 = at + k * size + high + 1 - (1 << k)
    for w in range(work.size):
        work[w] &= tables.masks[row_0, w] | tables.masks[row_1, w]


@called
def and_both(
    tables: Trees, work: Bits, d: int, high_0: int, high_1: int, keep: int
) -> None:  # pragma: no cover - compiled
    """AND with the mask of the first options of both sides, and of row ``keep`` (``NONE`` is the empty mask)."""
    sides, masks = tables.sides, tables.masks
    a, b, c, e = NONE, NONE, NONE, NONE
    if high_0 >= 0:
        k = _level(high_0 + 1)
        a = sides[d, 0, MASK] + k * sides[d, 0, COUNT]
        b = a + high_0 + 1 - (1 << k)
    if high_1 >= 0:
        k = _level(high_1 + 1)
        c = sides[d, 1, MASK] + k * sides[d, 1, COUNT]
        e = c + high_1 + 1 - (1 << k)
    for w in range(work.size):
        work[w] &= masks[a, w] | masks[b, w] | masks[c, w] | masks[e, w] | masks[keep, w]


@called
def needed(stairs: Stairs, cost: float) -> float:  # pragma: no cover - compiled
    """The weight that a choice of this cost or more must reach to be of use: that of the first step that costs more."""
    for i in range(stairs.cost.size):
        if stairs.cost[i] > cost:
            return float(stairs.require[i])
    return np.inf


@inlined
def _passes(tables: Trees, state: State, g: int) -> bool:  # pragma: no cover - compiled
    """Whether the best leaves left to group g (or union of groups) reach the cut in all rows of some way.

    Row by row: ``sums[r]`` (the shared trees) + the value of the lowest bit of work AND mask[g] in each own tree >= 0.
    """
    shape, part, rows, values, work = tables.shape, tables.part, tables.rows, tables.values, state.work
    mask, n_rows, own_word = state.mask[g], rows.shape[1], shape.own_word
    offset = n_rows * shape.shared
    way, good = -1, False
    for r in range(n_rows):
        if rows[WAY, r] != way:
            if good:
                return True
            way, good = rows[WAY, r], True
        if good:
            score = state.sums[r]
            for v in range(offset + r * shape.own, offset + (r + 1) * shape.own):
                w = part[v]
                word = work[w] & mask[w - own_word]
                while word == 0:
                    w += 1
                    word = work[w] & mask[w - own_word]
                score += values[w, lowest_bit(word)]
            good = score >= 0
    return good


@called
def enough(tables: Trees, state: State, need: float) -> bool:  # pragma: no cover - compiled
    """Whether groups of weight ``need`` can be accepted by the best leaves left in ``state.work``.

    The first rows of ``mask`` are unions of groups that must not all fail: the mask of a union contains those of its
    groups, so where all unions fail, all their groups do, and they outweigh what may be lost.
    """
    part, values, work, n_shared = tables.part, tables.values, state.work, tables.shape.shared
    for r in range(tables.rows.shape[1]):
        score = tables.rows[START, r] + tables.rows[SLACK, r]
        for v in range(r * n_shared, (r + 1) * n_shared):
            w = part[v]
            while work[w] == 0:
                w += 1
            score += values[w, lowest_bit(work[w])]
        state.sums[r] = score
    hope = False
    for g in range(UNIONS):
        if _passes(tables, state, g):
            hope = True
            break
    if not hope:
        return False
    accepted, total = 0.0, tables.shape.total
    for g in range(state.counter[GROUPS]):
        if _passes(tables, state, UNIONS + g):
            accepted += state.weight[g]
            if accepted >= need:
                return True
        else:
            total -= state.weight[g]
            if total < need:
                return False
    return accepted >= need


@entry_bare
def free_rest(tables: Trees, cap: float, rest: Bits) -> None:  # pragma: no cover - compiled
    """``rest[l, i]``: every feature from i on is kept or takes any option below the l-th of the room levels.

    Level l stands for a room of cap (l + 1) / LEVELS. A node with less room than that lets in more leaves than it
    need, never fewer.
    """
    sides, costs, common = tables.sides, tables.costs, tables.shape.common
    for level in range(LEVELS):
        room = cap if level == LEVELS - 1 else cap * (level + 1) / LEVELS
        for d in range(common - 1, -1, -1):
            high_0 = last_below(costs, sides[d, 0, COST], sides[d, 0, COUNT] - 1, room)
            high_1 = last_below(costs, sides[d, 1, COST], sides[d, 1, COUNT] - 1, room)
            copy_into(rest[level, d + 1], rest[level, d])
            and_both(tables, rest[level, d], d, high_0, high_1, KEPT + d)
