"""Contexts of the search over a tree ensemble, compiled: which candidates are in which cell.

A context fixes the option of every local feature. What is left of the candidates then is the cell of each in each local
feature: equal ones are a group, whose mask is the AND of its cells' masks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from armin.arrays import FloatArray
from armin.compiling import called
from armin.solve.search.goals import Stairs
from armin.solve.search.trees.bound import and_kept, needed
from armin.solve.search.trees.data import (
    ALL,
    CAP,
    CHANGES,
    CONTEXT,
    COST,
    COUNT,
    ENTERED,
    GROUPS,
    HEAD,
    MASK,
    NEXT,
    PROVED,
    TOP,
    UNIONS,
    Node,
    State,
    Trees,
)
from armin.solve.search.words import Ints, any_number, copy_into, lowest_bit, sort_by

__all__ = ["enter", "group", "pick_options"]


@called
def pick_options(tables: Trees, state: State, node: Node) -> bool:  # pragma: no cover - compiled
    """Branch on the next local feature; true if none is left and the context can be entered."""
    shape, stack, count, number = tables.shape, state.stack, state.counter, state.number
    i = node[NEXT]
    cost, changes = 0.0, 0
    for f in range(i):
        if node[HEAD + f] > 0:
            part = tables.local_cost[f, node[HEAD + f]]
            cost = max(cost, part) if shape.is_max else cost + part
            changes += 1
    if cost >= number[CAP]:
        return False
    if i == shape.local:
        number[CONTEXT] = cost
        count[CHANGES] = changes
        return True
    for j in range(tables.local_part[i, COUNT] - 1, -1, -1):
        part = tables.local_cost[i, j]
        if j > 0 and (changes >= shape.limit or (part if shape.is_max else cost + part) >= number[CAP]):
            continue
        child = stack[count[TOP]]
        copy_into(node, child)
        child[NEXT] = i + 1
        child[HEAD + i] = j
        count[TOP] += 1
    return False


@called
def enter(tables: Trees, state: State, stairs: Stairs, chosen: Node) -> None:  # pragma: no cover - compiled
    """Enter a context: the groups that the chosen local options leave, those with low scores first.

    The scores are those of the best leaves of the own trees in row 0 when all common features are kept. The first
    groups that together outweigh what may fail are joined into ``UNIONS`` unions: one of them must pass.
    """
    groups = group(
        tables.weight, tables.local_part, tables.local_cell, chosen, state.slot, state.key, state.first, state.total
    )
    shape, work = tables.shape, state.work
    own_word, offset = shape.own_word, tables.rows.shape[1] * shape.shared
    width = work.size - own_word
    copy_into(tables.masks[ALL], work)
    and_kept(tables, work, any_number(0), shape.common)
    masks = state.masks
    for g in range(groups):
        for i in range(width):
            masks[g, i] = ~np.uint64(0)
        for f in range(shape.local):
            row = tables.local_part[f, MASK] + tables.local_cell[f, chosen[f], state.first[g]]
            for i in range(width):
                masks[g, i] &= tables.cell_masks[row, i]
        points = 0
        for v in range(offset, offset + shape.own):
            for w in range(tables.part[v], tables.part[v + 1]):
                word = work[w] & masks[g, w - own_word]
                if word != 0:
                    points += tables.values[w, lowest_bit(word)]
                    break
        state.score[g], state.rank[g] = points, g
    sort_by(state.rank[:groups], state.score)
    for g in range(groups):
        state.weight[g] = state.total[state.rank[g]]
        copy_into(masks[state.rank[g]], state.mask[UNIONS + g])
    need = needed(stairs, max(state.number[CONTEXT], state.number[PROVED]))
    spare, end = shape.total - need, 0
    while end < groups and spare >= 0:
        spare -= state.weight[end]
        end += 1
    for u in range(UNIONS):
        for i in range(width):
            word = np.uint64(0)
            for g in range(u * end // UNIONS, max((u + 1) * end // UNIONS, u * end // UNIONS + 1)):
                word |= state.mask[UNIONS + g, i]
            state.mask[u, i] = word
    state.counter[GROUPS] = groups
    state.counter[ENTERED] += groups


@called
def group(
    weight: FloatArray,
    local_part: Ints,
    local_cell: NDArray[np.int32],
    chosen: Node,
    slot: NDArray[np.int32],
    key: Ints,
    first: Ints,
    total: FloatArray,
) -> int:  # pragma: no cover - compiled
    """Candidates with the same cells after the chosen local options: how many groups; one of each, and its weight.

    The cells of a candidate are digits of one number; equal numbers are found by open addressing.
    """
    n = weight.size
    for c in range(n):
        key[c], total[c] = 0, 0.0
    for f in range(local_part.shape[0]):
        row = local_cell[f, chosen[f]]
        for c in range(n):
            key[c] = key[c] * local_part[f, COST] + row[c]
    count = 0
    for i in range(slot.size):
        slot[i] = -1
    bits = np.uint64(slot.size - 1)
    for c in range(n):
        at = (np.uint64(key[c]) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)
        while True:
            g = slot[at & bits]
            if g < 0:
                g = count
                slot[at & bits] = g
                first[g] = c
                count += 1
                break
            if key[first[g]] == key[c]:
                break
            at += np.uint64(1)
        total[g] += weight[c]
    return count
