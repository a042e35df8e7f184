"""The nodes of the search over a tree ensemble, compiled.

A node fixes the options of local features first (its *context*), then a set of common features
that change, then ranges of their options.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from armin.solve.search.trees.bound import (
    CAP,
    CHANGES,
    CONTEXT,
    GROUPS,
    HEAD,
    LEVELS,
    NODES,
    STAGE,
    TOP,
    TOTAL,
    and_both,
    and_kept,
    and_range,
    enough,
    last_below,
    needed,
)
from armin.solve.search.trees.context import enter, pick_options
from armin.solve.search.trees.tables import COMMON, IS_MAX, KEEP_AT, LIMIT, LOCAL
from armin.solve.search.words import copy_into, is_banned, kernel

__all__ = ["explore"]

_PICK, _SET, _BOX = 0, 1, 2  # kinds of nodes
_BOTH = 2  # neither side of a feature has been chosen yet


@kernel
def _cheapest(sides: Any, costs: Any, d: int) -> Any:  # pragma: no cover - compiled
    low = np.inf
    for side in range(2):
        if sides[d, side, 1] > 0:
            low = min(low, costs[sides[d, side, 2]])
    return low


@kernel
def _least(shape: Any, sides: Any, costs: Any, node: Any, cost: float) -> float:  # pragma: no cover - compiled
    """The cost of a node if every feature takes its cheapest option."""
    for k in range(node[2]):
        p = HEAD + shape[LOCAL] + 4 * k
        part = _lowest(sides, costs, node, p)
        cost = max(cost, part) if shape[IS_MAX] else cost + part
    return cost


@kernel
def _lowest(sides: Any, costs: Any, node: Any, p: int) -> Any:  # pragma: no cover - compiled
    if node[p + 1] == _BOTH:
        return _cheapest(sides, costs, node[p])
    return costs[sides[node[p], node[p + 1], 2] + node[p + 2]]


@kernel
def _restrict(
    shape: Any, sides: Any, costs: Any, masks: Any, work: Any, node: Any, cost: float, cap: float
) -> int:  # pragma: no cover - compiled
    """Cut the ranges of a node to what the budget allows, AND their masks into ``work``.

    Returns the position of the widest range, 0 if all are single options, -1 if one is empty.
    """
    copy_into(masks[1], work)
    start, pick, widest = 0, 0, 1
    for k in range(node[2]):
        p = HEAD + shape[LOCAL] + 4 * k
        d = node[p]
        room = cap if shape[IS_MAX] else cap - (cost - _lowest(sides, costs, node, p))
        and_kept(work, masks, shape[KEEP_AT], shape[COMMON], start, d)
        start = d + 1
        if node[p + 1] == _BOTH:
            high_0 = last_below(costs, sides[d, 0, 2], sides[d, 0, 1] - 1, room)
            high_1 = last_below(costs, sides[d, 1, 2], sides[d, 1, 1] - 1, room)
            if high_0 < 0 and high_1 < 0:
                return -1
            and_both(work, masks, sides, d, high_0, high_1, 0)
            width = high_0 + high_1 + 2
            if high_0 < 0 or high_1 < 0:
                node[p + 1] = 1 if high_0 < 0 else 0
                node[p + 3] = max(high_0, high_1)
        else:
            side = node[p + 1]
            node[p + 3] = last_below(costs, sides[d, side, 2], node[p + 3], room)
            width = node[p + 3] - node[p + 2] + 1
            if width < 1:
                return -1
            and_range(work, masks, sides[d, side, 0], sides[d, side, 1], node[p + 2], node[p + 3])
        if width > widest:
            pick, widest = p, width
    and_kept(work, masks, shape[KEEP_AT], shape[COMMON], start, node[1])
    return pick


@kernel
def _extend(
    shape: Any, sides: Any, costs: Any, stack: Any, count: Any, node: Any, cost: float, cap: float
) -> None:  # pragma: no cover - compiled
    """Open the sets with one more feature."""
    p = HEAD + shape[LOCAL] + 4 * node[2]
    for d in range(shape[COMMON] - 1, node[1] - 1, -1):
        part = _cheapest(sides, costs, d)
        if (part if shape[IS_MAX] else cost + part) >= cap:
            continue
        child = stack[count[TOP]]
        copy_into(node, child)
        child[1], child[2] = d + 1, node[2] + 1
        child[p], child[p + 1], child[p + 2], child[p + 3] = d, _BOTH, 0, 0
        count[TOP] += 1


@kernel
def _split(sides: Any, costs: Any, stack: Any, count: Any, node: Any, p: int) -> None:  # pragma: no cover - compiled
    """Halve one range, the cheaper half on top of the stack."""
    dear, cheap = stack[count[TOP]], stack[count[TOP] + 1]
    copy_into(node, dear)
    copy_into(node, cheap)
    if node[p + 1] == _BOTH:
        d = node[p]
        better = 0 if costs[sides[d, 0, 2]] <= costs[sides[d, 1, 2]] else 1
        cheap[p + 1], cheap[p + 2], cheap[p + 3] = better, 0, sides[d, better, 1] - 1
        dear[p + 1], dear[p + 2], dear[p + 3] = 1 - better, 0, sides[d, 1 - better, 1] - 1
    else:
        middle = (node[p + 2] + node[p + 3]) // 2
        dear[p + 2] = middle + 1
        cheap[p + 3] = middle
    count[TOP] += 2


@kernel
def _ruled_out(shape: Any, bit: Any, banned: Any, changed: Any, node: Any) -> bool:  # pragma: no cover - compiled
    """Whether the features that a node changes are a set that is ruled out."""
    for w in range(changed.size):
        changed[w] = 0
    for f in range(shape[LOCAL]):
        at = bit[shape[COMMON] + f]
        if node[HEAD + f] > 0 and at >= 0:
            changed[at // 64] |= np.uint64(1) << np.uint64(at % 64)
    for k in range(node[2]):
        at = bit[node[HEAD + shape[LOCAL] + 4 * k]]
        changed[at // 64] |= np.uint64(1) << np.uint64(at % 64)
    return is_banned(changed, banned)


@kernel
def explore(tables: Any, state: Any, node: Any, nodes: int) -> bool:  # pragma: no cover - compiled
    """Visit at most ``nodes`` nodes; true when ``node`` is a single choice that may well be valid."""
    shape, part, sides, costs, masks, rows, values = (
        tables.shape,
        tables.part,
        tables.sides,
        tables.costs,
        tables.masks,
        tables.rows,
        tables.values,
    )
    stack, count, number, work, front = state.stack, state.counter, state.number, state.work, state.front
    end = count[NODES] + nodes
    while count[TOP] > 0 and count[NODES] < end:
        count[TOP] -= 1
        count[NODES] += 1
        copy_into(stack[count[TOP]], node)
        if node[0] == _PICK:
            if not pick_options(shape, tables.local_part, tables.local_cost, stack, count, number, node):
                continue
            enter(tables, state, node[HEAD:])
            node[0], node[1], node[2] = _SET, 0, 0
        cap = number[CAP]
        cost = _least(shape, sides, costs, node, number[CONTEXT])
        if cost >= cap:
            continue
        need = needed(count, number, front, cost)
        if node[0] == _SET:
            if node[1] < shape[COMMON] and count[CHANGES] + node[2] < shape[LIMIT]:
                if _restrict(shape, sides, costs, masks, work, node, cost, cap) < 0:
                    continue
                level = LEVELS - 1
                if not shape[IS_MAX] and number[STAGE] < np.inf:
                    level = min(level, int((cap - cost) / number[STAGE] * LEVELS))
                for w in range(work.size):
                    work[w] &= state.rest[level, node[1], w]
                if not enough(
                    shape,
                    part,
                    rows,
                    values,
                    count[GROUPS],
                    state.weight,
                    state.mask,
                    work,
                    state.sums,
                    number[TOTAL],
                    need,
                ):
                    continue
                _extend(shape, sides, costs, stack, count, node, cost, cap)
            if tables.banned.shape[0] > 0 and _ruled_out(shape, tables.bit, tables.banned, state.changed, node):
                continue
            node[0], node[1] = _BOX, shape[COMMON]
        pick = _restrict(shape, sides, costs, masks, work, node, cost, cap)
        if pick < 0 or not enough(
            shape, part, rows, values, count[GROUPS], state.weight, state.mask, work, state.sums, number[TOTAL], need
        ):
            continue
        if pick == 0:
            return True
        _split(sides, costs, stack, count, node, pick)
    return False
