"""Contexts of the search over a tree ensemble, compiled: which candidates are in which cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from armin.solve.search.trees.bound import CAP, CHANGES, CONTEXT, GROUPS, HEAD, TOP, TOTAL, UNIONS, and_kept, needed
from armin.solve.search.trees.tables import COMMON, IS_MAX, KEEP_AT, LIMIT, LOCAL, OWN, OWN_WORD, SHARED
from armin.solve.search.words import copy_into, kernel, lowest_bit, sort_by

__all__ = ["enter", "pick_options"]


@kernel
def pick_options(
    shape: Any, local_part: Any, local_cost: Any, stack: Any, count: Any, number: Any, node: Any
) -> bool:  # pragma: no cover - compiled
    """Branch on the next local feature; true if none is left and the context can be entered."""
    i = node[1]
    cost, changes = 0.0, 0
    for f in range(i):
        if node[HEAD + f] > 0:
            part = local_cost[f, node[HEAD + f]]
            cost = max(cost, part) if shape[IS_MAX] else cost + part
            changes += 1
    if cost >= number[CAP]:
        return False
    if i == shape[LOCAL]:
        number[CONTEXT] = cost
        count[CHANGES] = changes
        return True
    for j in range(local_part[i, 0] - 1, -1, -1):
        part = local_cost[i, j]
        if j > 0 and (changes >= shape[LIMIT] or (part if shape[IS_MAX] else cost + part) >= number[CAP]):
            continue
        copy_into(node, stack[count[TOP]])
        stack[count[TOP], 1] = i + 1
        stack[count[TOP], HEAD + i] = j
        count[TOP] += 1
    return False


@kernel
def enter(tables: Any, state: Any, chosen: Any) -> None:  # pragma: no cover - compiled
    """Enter a context: the groups that the chosen local options leave, those with low scores first."""
    first, total = _group(tables.local_cell, tables.local_part, chosen, tables.weight, state.slot)
    shape, work, own_word = tables.shape, state.work, tables.shape[OWN_WORD]
    offset = tables.rows.shape[1] * shape[SHARED]
    width = work.size - own_word
    copy_into(tables.masks[1], work)
    and_kept(work, tables.masks, shape[KEEP_AT], shape[COMMON], 0, shape[COMMON])
    score = np.zeros(first.size, np.int64)
    masks = np.empty((first.size, width), np.uint64)
    for g in range(first.size):
        for i in range(width):
            masks[g, i] = ~np.uint64(0)
        for f in range(shape[LOCAL]):
            row = tables.local_part[f, 1] + tables.local_cell[f, chosen[f], first[g]]
            for i in range(width):
                masks[g, i] &= tables.cell_masks[row, i]
        for v in range(offset, offset + shape[OWN]):
            for w in range(tables.part[v], tables.part[v + 1]):
                word = work[w] & masks[g, w - own_word]
                if word != 0:
                    score[g] += tables.values[w, lowest_bit(word)]
                    break
    rank = np.arange(first.size)
    sort_by(rank, score)
    for g in range(first.size):
        state.weight[g] = total[rank[g]]
        copy_into(masks[rank[g]], state.mask[UNIONS + g])
    # groups that outweigh what may fail: at least one of them must pass
    need = needed(state.counter, state.number, state.front, state.number[CONTEXT])
    spare, end = state.number[TOTAL] - need, 0
    while end < first.size and spare >= 0:
        spare -= state.weight[end]
        end += 1
    for u in range(UNIONS):
        for i in range(width):
            word = np.uint64(0)
            for g in range(u * end // UNIONS, max((u + 1) * end // UNIONS, u * end // UNIONS + 1)):
                word |= state.mask[UNIONS + g, i]
            state.mask[u, i] = word
    state.counter[GROUPS] = first.size


@kernel
def _group(local_cell: Any, local_part: Any, chosen: Any, weight: Any, slot: Any) -> Any:  # pragma: no cover - compiled
    """Candidates with the same cells after the chosen local options: one of each group, and the weights."""
    n = weight.size
    key = np.zeros(n, np.int64)
    for f in range(local_part.shape[0]):
        row = local_cell[f, chosen[f]]
        for c in range(n):
            key[c] = key[c] * local_part[f, 2] + row[c]
    first = np.zeros(n, np.int64)
    total = np.zeros(n)
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
    return first[:count], total[:count]
