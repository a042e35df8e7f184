"""The nodes of the search over a tree ensemble, compiled.

A node fixes the options of local features first (its *context*), then a set of common features
that change, then ranges of their options. Its cost is at least that of its context and the cheapest
option of every feature that changes; its score at most what :mod:`armin.solve.search.trees.bound` says.
"""

from __future__ import annotations

import numpy as np

from armin.compiling import called, entry_bare
from armin.solve.search.goals import Bans, Stairs
from armin.solve.search.trees.bound import and_both, and_kept, and_range, enough, last_below, needed
from armin.solve.search.trees.context import enter, pick_options
from armin.solve.search.trees.data import (
    ALL,
    BOTH,
    CAP,
    CHANGED,
    CHANGES,
    CONTEXT,
    COST,
    COUNT,
    CUT,
    ENTRY,
    FEATURE,
    HEAD,
    HIGH,
    KIND,
    LEVELS,
    LOW,
    NEXT,
    NODES,
    NONE,
    OPEN,
    PLAIN,
    PROVED,
    SIDE,
    STAGE,
    TOP,
    TRIED,
    Node,
    State,
    Trees,
)
from armin.solve.search.trees.shares import hopes
from armin.solve.search.words import add_bit, any_number, copy_into, price_of

__all__ = ["explore", "extend", "halve", "least_cost", "open_rest", "price_at", "restrict"]

PICK, SET, BOX = range(3)
"""Kinds of nodes."""


@called
def _cheapest(tables: Trees, d: int) -> float:  # pragma: no cover - compiled
    """The least cost of changing common feature d: options of a side come by rising cost."""
    low = np.inf
    for side in range(2):
        if tables.sides[d, side, COUNT] > 0:
            low = min(low, tables.costs[tables.sides[d, side, COST]])
    return low


@called
def _lowest(tables: Trees, node: Node, p: int) -> float:  # pragma: no cover - compiled
    """The least cost of the range at entry p of a node."""
    d, side = node[p + FEATURE], node[p + SIDE]
    if side == BOTH:
        return _cheapest(tables, d)
    return float(tables.costs[tables.sides[d, side, COST] + node[p + LOW]])


@called
def least_cost(tables: Trees, node: Node, cost: float) -> float:  # pragma: no cover - compiled
    """The cost of a node if every feature that changes takes its cheapest option: no choice of it costs less."""
    for k in range(node[CHANGED]):
        part = _lowest(tables, node, HEAD + tables.shape.local + ENTRY * k)
        cost = max(cost, part) if tables.shape.is_max else cost + part
    return cost


@called
def restrict(tables: Trees, state: State, node: Node, cost: float, cap: float) -> int:  # pragma: no cover - compiled
    """Cut the ranges of a node to what the budget allows, AND their masks into ``state.work``; note their least costs.

    With ``cost`` the least cost of the node, an option of feature d may cost up to cap - (cost - cheapest of d): with
    a dearer one, the node's choices cost ``cap`` or more. Returns the position of the widest range, 0 if all are single
    options, -1 if one is empty.
    """
    sides, costs, work = tables.sides, tables.costs, state.work
    copy_into(tables.masks[ALL], work)
    start, pick, widest = any_number(0), 0, 1
    for d in range(tables.shape.common):
        state.reference[d] = np.inf if d < node[NEXT] else OPEN
    for k in range(node[CHANGED]):
        p = HEAD + tables.shape.local + ENTRY * k
        d = node[p + FEATURE]
        least = _lowest(tables, node, p)
        room = cap if tables.shape.is_max else cap - (cost - least)
        state.reference[d] = least
        and_kept(tables, work, start, d)
        start = d + 1
        if node[p + SIDE] == BOTH:
            high_0 = last_below(costs, sides[d, 0, COST], sides[d, 0, COUNT] - 1, room)
            high_1 = last_below(costs, sides[d, 1, COST], sides[d, 1, COUNT] - 1, room)
            if high_0 < 0 and high_1 < 0:
                return -1
            and_both(tables, work, d, high_0, high_1, any_number(NONE))
            width = high_0 + high_1 + 2
            if high_0 < 0 or high_1 < 0:
                node[p + SIDE] = 1 if high_0 < 0 else 0
                node[p + HIGH] = max(high_0, high_1)
        else:
            side = node[p + SIDE]
            node[p + HIGH] = last_below(costs, sides[d, side, COST], node[p + HIGH], room)
            width = node[p + HIGH] - node[p + LOW] + 1
            if width < 1:
                return -1
            and_range(tables, work, d, side, node[p + LOW], node[p + HIGH])
        if width > widest:
            pick, widest = p, width
    and_kept(tables, work, start, node[NEXT])
    return pick


@called
def extend(tables: Trees, state: State, node: Node, cost: float, cap: float) -> None:  # pragma: no cover - compiled
    """Open the sets with one more feature, each after the last one of the node, so that every set comes once."""
    p = HEAD + tables.shape.local + ENTRY * node[CHANGED]
    for d in range(tables.shape.common - 1, node[NEXT] - 1, -1):
        part = _cheapest(tables, d)
        if not state.hope[d] or (part if tables.shape.is_max else cost + part) >= cap:
            continue
        child = state.stack[state.counter[TOP]]
        copy_into(node, child)
        child[NEXT], child[CHANGED] = d + 1, node[CHANGED] + 1
        child[p + FEATURE], child[p + SIDE], child[p + LOW], child[p + HIGH] = d, BOTH, 0, 0
        state.counter[TOP] += 1


@called
def halve(tables: Trees, state: State, node: Node, p: int) -> None:  # pragma: no cover - compiled
    """Halve one range, the cheaper half on top of the stack."""
    top = state.counter[TOP]
    dear, cheap = state.stack[top], state.stack[top + 1]
    copy_into(node, dear)
    copy_into(node, cheap)
    if node[p + SIDE] == BOTH:
        d, sides, costs = node[p + FEATURE], tables.sides, tables.costs
        better = 0 if costs[sides[d, 0, COST]] <= costs[sides[d, 1, COST]] else 1
        cheap[p + SIDE], cheap[p + LOW], cheap[p + HIGH] = better, 0, sides[d, better, COUNT] - 1
        dear[p + SIDE], dear[p + LOW], dear[p + HIGH] = 1 - better, 0, sides[d, 1 - better, COUNT] - 1
    else:
        middle = (node[p + LOW] + node[p + HIGH]) // 2
        dear[p + LOW] = middle + 1
        cheap[p + HIGH] = middle
    state.counter[TOP] = top + 2


@called
def price_at(
    tables: Trees, state: State, bans: Bans, node: Node, settled: bool | np.bool_
) -> float:  # pragma: no cover - compiled
    """What a node must cost less than because of the features that it changes."""
    if bans.price.size == 0:
        return np.inf
    shape, changed = tables.shape, state.changed
    for w in range(changed.size):
        changed[w] = 0
    for f in range(shape.local):
        at = tables.bit[shape.common + f]
        if node[HEAD + f] > 0 and at >= 0:
            add_bit(changed, at)
    for k in range(node[CHANGED]):
        add_bit(changed, tables.bit[node[HEAD + shape.local + ENTRY * k + FEATURE]])
    return price_of(bans, changed, settled)


@called
def open_rest(tables: Trees, state: State, node: Node, cost: float, cap: float) -> None:  # pragma: no cover - compiled
    """AND with what is open, kept or at any option: the level just above what may still be spent, cap - cost."""
    level = LEVELS - 1
    if not tables.shape.is_max and state.number[STAGE] < np.inf:
        level = min(level, int((cap - cost) / state.number[STAGE] * LEVELS))
    for w in range(state.work.size):
        state.work[w] &= state.rest[level, node[NEXT], w]


@called
def _agreed(tables: Trees, state: State, node: Node, room: float, grows: bool) -> bool:  # pragma: no cover - compiled
    """Whether a node is left by the bound over all trees at once, where that is worth its time.

    On sets always, once there are many nodes. On boxes of trees with few leaves while it cuts off one in four; else on
    some, to see whether it does again. What counts is the search so far, not the clock: the same problem takes the same
    way.
    """
    count = state.counter
    if grows:
        for d in range(node[NEXT], tables.shape.common):
            state.hope[d] = True
    if count[NODES] <= count[PLAIN] or (tables.shape.is_max and not grows):
        return True
    if grows:
        return hopes(tables, state, node, room)
    if 2 * state.work.size > 3 * (tables.part.size - 1) or (4 * count[CUT] < count[TRIED] and count[NODES] % 8 != 0):
        return True
    good = hopes(tables, state, node, room)
    count[TRIED] += 1
    count[CUT] += not good
    if count[TRIED] > 1024:
        count[TRIED] //= 2
        count[CUT] //= 2
    return good


@entry_bare
def explore(
    tables: Trees, state: State, stairs: Stairs, bans: Bans, node: Node, nodes: int
) -> bool:  # pragma: no cover - compiled
    """Visit at most ``nodes`` nodes; true when ``node`` is a single choice that may well be valid."""
    shape, stack, count, number = tables.shape, state.stack, state.counter, state.number
    end = count[NODES] + nodes
    while count[TOP] > 0 and count[NODES] < end:
        count[TOP] -= 1
        count[NODES] += 1
        copy_into(stack[count[TOP]], node)
        if node[KIND] == PICK:
            if not pick_options(tables, state, node):
                continue
            enter(tables, state, stairs, node[HEAD:])
            node[KIND], node[NEXT], node[CHANGED] = SET, 0, 0
        cap = min(number[CAP], price_at(tables, state, bans, node, node[KIND] == BOX))
        cost = least_cost(tables, node, number[CONTEXT])
        if cost >= cap:
            continue
        need = needed(stairs, max(cost, number[PROVED]))
        grows = node[KIND] == SET and node[NEXT] < shape.common and count[CHANGES] + node[CHANGED] < shape.limit
        while True:  # a set that may grow; then, and otherwise, the set as it is
            if not grows:
                cap = min(cap, price_at(tables, state, bans, node, np.bool_(True)))
                if cost >= cap:
                    break
                node[KIND], node[NEXT] = BOX, shape.common
            pick = restrict(tables, state, node, cost, cap)
            if pick < 0:
                break
            if grows:
                open_rest(tables, state, node, cost, cap)
            if not enough(tables, state, need):
                break
            if pick == 0 and not grows:
                return True
            if not _agreed(tables, state, node, cap if shape.is_max else cap - cost, grows):
                break
            if not grows:
                halve(tables, state, node, pick)
                break
            extend(tables, state, node, cost, cap)
            grows = False
    return False
