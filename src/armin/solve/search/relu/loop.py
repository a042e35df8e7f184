"""The search loop over ReLU networks."""

from __future__ import annotations

import numpy as np

from armin.compiling import called, entry_bare
from armin.solve.search.goals import Bans, Stairs
from armin.solve.search.relu.boxes import box, place_own, shrink
from armin.solve.search.relu.data import (
    CHEAPEST,
    FREE,
    HIGH,
    LOOSE,
    LOW,
    MUST,
    NEWEST,
    OPEN,
    PLACES,
    SCORED,
    STATE,
    VISITED,
    Aim,
    Deep,
    Leaf,
    Names,
    Net,
    Node,
    Own,
    Pool,
    Space,
)
from armin.solve.search.relu.leaves import list_choices, mark_changed, number_of_choices, step_above
from armin.solve.search.relu.nodes import bound_deep, bound_one
from armin.solve.search.relu.pool import cuts, cuts_by_cost, pop, push, release, split
from armin.solve.search.relu.reach import trial_of
from armin.solve.search.words import add_bit, price_of

__all__ = ["BETTER_FOUND", "DONE", "FULL", "PAUSED", "run"]

DONE, PAUSED, BETTER_FOUND, FULL = 0, 1, 2, 3
"""Why a run ended: no open node, its share of work is used, better choices, no place for nodes."""

GO_ON, SKIP = 4, 5


@called
def _price(words: Names, bans: Bans, leaf: Leaf, node: Node) -> float:
    """What a node must cost less than because of the features that it changes."""
    if bans.price.size == 0:
        return np.inf
    settled = True
    mark_changed(words.fixed, leaf.changed)
    for d in range(node.shape[1]):
        if node[STATE, d] == FREE:
            settled = False
        if node[STATE, d] == MUST:
            add_bit(leaf.changed, words.slot[d])
    return price_of(bans, leaf.changed, settled)


@called
def _start(
    tables: Net, stairs: Stairs, bans: Bans, work: Space, leaf: Leaf, pool: Pool, end: int
) -> tuple[int, int, Aim]:
    """Take the next node, and drop what is too dear in it.

    Returns what to do, its place, and what is wanted of it. A node is skipped if its least cost reaches what it must
    undercut at the highest step that it may still improve (steps cost more the higher they are).
    """
    moves, nothing = tables.moves, Aim(0, 0.0, 0, 0, 0.0)
    last = stairs.cost.size - 1
    if pool.tally[OPEN] == 0 or (pool.bound[pool.heap[0]] >= stairs.cost[last] and pool.tally[NEWEST] == 0):
        pool.tally[OPEN] = 0
        return DONE, 0, nothing
    if pool.tally[VISITED] + pool.tally[SCORED] // 16 >= end:
        return PAUSED, 0, nothing
    if pool.tally[PLACES] < 4:
        return FULL, 0, nothing
    place = pop(pool)
    pool.tally[VISITED] += 1
    node = pool.node[place]
    while last > 0 and stairs.top[last - 1] >= pool.high[place]:
        last -= 1
    cap = min(stairs.cost[last], _price(tables.words, bans, leaf, node))
    floor, left = shrink(moves, node, work.feature[CHEAPEST], cap)
    cap = min(cap, _price(tables.words, bans, leaf, node))  # features may be settled now
    least = max(floor, pool.bound[place])
    first = step_above(stairs.cost, least, 0, last)
    if floor < 0.0 or first > last or least >= cap:
        release(pool, place)
        return SKIP, 0, nothing
    for d in range(node.shape[1]):
        work.feature[LOOSE, d] = 0.0
    return GO_ON, place, Aim(left, floor, first, last, cap)


@called
def _open(node: Node, d: int) -> bool:
    """Whether more than one option of a feature is left."""
    return bool(node[STATE, d] == FREE or (node[STATE, d] == MUST and node[HIGH, d] - node[LOW, d] > 1))


@called
def _widest(node: Node, own: Own, work: Space, few: bool) -> int:
    """The feature that loosens the relaxation most, of those that can be split; -1 if the node can be listed.

    Where there are few choices, only what moves candidates on their own has to be split.
    """
    pick, most = -1, 0.0
    for i in range(own.feature.size if few else node.shape[1]):
        d = own.feature[i] if few else i
        if _open(node, d) and (pick < 0 or work.feature[LOOSE, d] > most):
            pick, most = d, work.feature[LOOSE, d]
    return pick


@called
def _bound_within(
    tables: Net, deep: Deep, stairs: Stairs, work: Space, leaf: Leaf, pool: Pool, place: int, aim: Aim, few: bool
) -> tuple[int, int, float, float, int]:
    """First and last step, bound and group in the way of a node of a deep network; and the cost up to which it looked.

    With less to spend, bounds are tighter: so a node is asked first what it has for little, and for more when its turn
    comes again. Small nodes are to be listed, and asked about all at once.
    """
    node = pool.node[place]
    trial = aim.cap if few else trial_of(tables.moves, max(aim.floor, pool.bound[place]), aim.cap)
    for row in range(3):
        for d in range(node.shape[1]):
            work.node[row, d] = node[row, d]
    floor, left = shrink(tables.moves, work.node, work.feature[CHEAPEST], trial)
    if floor < 0.0:
        return aim.first, aim.last, trial, trial, pool.critical[place]
    told, critical = pool.told[place], pool.critical[place]
    here = Aim(left, floor, aim.first, aim.last, aim.cap)
    first, last, bound, critical = bound_deep(
        tables, deep, stairs, work, leaf, work.node, told, critical, here, trial, few
    )
    return first, last, bound, trial, critical


@entry_bare
def run(
    tables: Net,
    deep: Deep | None,
    stairs: Stairs,
    bans: Bans,
    work: Space,
    leaf: Leaf,
    pool: Pool,
    share: int,
    few: float,
) -> tuple[int, int]:
    """Search for choices that improve a step of the stairs, lowest bound first.

    Nodes with at most ``few`` choices are listed. Returns why it ended, and the number of choices in ``leaf``.
    """
    end = pool.tally[VISITED] + pool.tally[SCORED] // 16 + share
    n_groups = 1
    if deep is not None:
        n_groups = deep.group.size - 1
    if tables.crowd.bias.size > 1:
        n_groups = 0
    while True:
        code, place, aim = _start(tables, stairs, bans, work, leaf, pool, end)
        if code == SKIP:
            continue
        if code != GO_ON:
            return code, 0
        node, trial, small = pool.node[place], aim.cap, False
        if deep is None:
            place_own(tables.moves, tables.crowd, tables.own, node)
            box(tables.moves, node, aim.left, work.box, work.wide, work.top)
            first, last, bound, critical = bound_one(tables, stairs, work, leaf, node, pool.critical[place], aim)
        else:
            small = number_of_choices(node, aim.left, leaf.sums) <= few
            first, last, bound, trial, critical = _bound_within(
                tables, deep, stairs, work, leaf, pool, place, aim, small
            )
        bound = max(bound, aim.floor, pool.bound[place])
        if first <= last and bound < aim.cap:
            if bound >= trial:
                pool.bound[place] = bound
                push(pool, place)
                continue
            if deep is None:
                small = number_of_choices(node, aim.left, leaf.sums) <= few
            pick = _widest(node, tables.own, work, small)
            if pick < 0:
                if deep is not None:
                    place_own(tables.moves, tables.crowd, tables.own, node)
                rest = Aim(aim.left, aim.floor, first, last, aim.cap)
                found, scored = list_choices(tables, deep, stairs, bans, work, leaf, node, rest, n_groups)
                pool.tally[SCORED] += scored
                if found > 0:
                    push(pool, place)
                    return BETTER_FOUND, found
            else:
                if deep is None:
                    low, high = cuts(tables.moves, node, pick)
                else:
                    low, high = cuts_by_cost(tables.moves, node, work.node, pick)
                split(pool, place, pick, low, high, bound, critical, stairs.top[last])
        release(pool, place)
