"""The search loop over ReLU networks."""

from __future__ import annotations

import numpy as np

from armin.solve.search.compiled import entry, inner
from armin.solve.search.relu.boxes import box, shrink
from armin.solve.search.relu.data import (
    CHEAPEST,
    FREE,
    HIGH,
    LOOSE,
    LOW,
    MUST,
    STATE,
    Crowd,
    Deep,
    Leaf,
    Moves,
    Node,
    Pool,
    Stairs,
    Words,
    Work,
)
from armin.solve.search.relu.leaves import list_choices, number_of_choices, price_of, step_above
from armin.solve.search.relu.nodes import bound_deep, bound_one
from armin.solve.search.relu.pool import pop, push, release, split

__all__ = ["BETTER_FOUND", "DONE", "FULL", "PAUSED", "run"]

DONE, PAUSED, BETTER_FOUND, FULL = 0, 1, 2, 3
"""Why a run ended: no open node, its share of work is used, better choices, no place for nodes."""

GO_ON, SKIP = 4, 5


@inner
def _cap(words: Words, leaf: Leaf, node: Node) -> float:
    """What a node must cost less than because of the features that it changes, once they are settled."""
    if words.sets.shape[0] == 0:
        return np.inf
    choice = leaf.choice[0]
    for d in range(choice.size):
        choice[d] = words.fixed[d]
    for d in range(node.shape[1]):
        if node[STATE, d] == FREE:
            return np.inf
        if node[STATE, d] == MUST:
            choice[words.slot[d]] = 1
    return price_of(words, choice)


@inner
def _start(
    moves: Moves, stairs: Stairs, words: Words, pool: Pool, work: Work, leaf: Leaf, end: int
) -> tuple[int, int, float, int, int, int, float]:
    """Take the next node and put the box around it.

    Returns what to do, its place, its least cost, the changes left, the steps that it may improve, and their cost.
    """
    last = stairs.cost.size - 1
    if pool.tally[0] == 0 or (pool.bound[pool.heap[0]] >= stairs.cost[last] and pool.tally[5] == 0):
        pool.tally[0] = 0
        return DONE, 0, 0.0, 0, 0, 0, 0.0
    if pool.tally[3] + pool.tally[4] // 16 >= end:
        return PAUSED, 0, 0.0, 0, 0, 0, 0.0
    if pool.tally[1] < 4:
        return FULL, 0, 0.0, 0, 0, 0, 0.0
    place = pop(pool)
    pool.tally[3] += 1
    node = pool.node[place]
    while last > 0 and stairs.top[last - 1] >= pool.high[place]:
        last -= 1
    cap = stairs.cost[last]
    floor, left = shrink(moves, node, work.feature[CHEAPEST], cap)
    cap = min(cap, _cap(words, leaf, node))
    least = max(floor, pool.bound[place])
    first = step_above(stairs.cost, least, 0, last)
    if floor < 0.0 or first > last or least >= cap:
        release(pool, place)
        return SKIP, 0, 0.0, 0, 0, 0, 0.0
    box(moves, node, left, work.box, work.wide, work.top)
    for d in range(node.shape[1]):
        work.feature[LOOSE, d] = 0.0
    return GO_ON, place, floor, left, first, last, cap


@inner
def _widest(node: Node, work: Work) -> int:
    """The feature that loosens the relaxation most, of those that can be split."""
    pick, most = -1, 0.0
    for d in range(node.shape[1]):
        wide = node[STATE, d] == MUST and node[HIGH, d] - node[LOW, d] > 1
        if (wide or node[STATE, d] == FREE) and (pick < 0 or work.feature[LOOSE, d] > most):
            pick, most = d, work.feature[LOOSE, d]
    return pick


@entry
def run(
    moves: Moves,
    crowd: Crowd,
    deep: Deep,
    words: Words,
    stairs: Stairs,
    work: Work,
    leaf: Leaf,
    pool: Pool,
    share: int,
    few: float,
) -> tuple[int, int]:
    """Search for choices that improve a step of the stairs, lowest bound first.

    Nodes with at most ``few`` choices are listed. Returns why it ended, and the number of choices in ``leaf``.
    """
    end = pool.tally[3] + pool.tally[4] // 16 + share
    one = deep.width.size == 1
    n_groups = 0
    if crowd.bias.size == 1:
        n_groups = 1 if one else deep.group.size - 1
    while True:
        code, place, floor, left, first, last, cap = _start(moves, stairs, words, pool, work, leaf, end)
        if code == SKIP:
            continue
        if code != GO_ON:
            return code, 0
        node, critical = pool.node[place], 0
        if one:
            first, last, bound, critical = bound_one(
                moves, crowd, stairs, work, leaf, node, pool.critical[place], left, floor, first, last, cap
            )
        else:
            first, last, bound = bound_deep(moves, crowd, deep, stairs, work, leaf, node, left, floor, first, last, cap)
        bound = max(bound, floor, pool.bound[place])
        if first <= last and bound < cap:
            if number_of_choices(node, left, leaf.sums) <= few:
                found, scored = list_choices(
                    moves, crowd, deep, stairs, words, work, leaf, node, left, first, last, cap, n_groups
                )
                pool.tally[4] += scored
                if found > 0:
                    push(pool, place)
                    return BETTER_FOUND, found
            else:
                pick = _widest(node, work)
                split(pool, place, pick, moves.middle[pick], bound, critical, stairs.top[last])
        release(pool, place)
