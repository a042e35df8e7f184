"""The search loop over ReLU networks: open nodes and their bounds."""

from __future__ import annotations

import numpy as np

from armin.solve.search.compiled import entry, inner
from armin.solve.search.relu_bounds import bound_cost, box, loosen_one, quantile, relax_one, shrink
from armin.solve.search.relu_data import (
    BEST,
    CHEAPEST,
    FREE,
    HIGH,
    KEPT,
    LOOSE,
    LOW,
    MUST,
    STATE,
    Crowd,
    Deep,
    Floats,
    Leaf,
    Moves,
    Node,
    Pool,
    Words,
    Work,
)
from armin.solve.search.relu_deep import bound_layers, carry_back, loosen_deep
from armin.solve.search.relu_leaves import best_choice, number_of_choices

__all__ = ["DONE", "FOUND", "FULL", "PAUSED", "run_deep", "run_one"]

DONE, PAUSED, FOUND, FULL = 0, 1, 2, 3
"""Why a run ended: no open node, its share of work is used, a better choice, no place for nodes."""

GO_ON, SKIP = 4, 5


@inner
def _before(pool: Pool, a: int, b: int) -> bool:
    if pool.tally[5] == 0 and pool.bound[a] != pool.bound[b]:
        return bool(pool.bound[a] < pool.bound[b])
    return bool(pool.stamp[a] > pool.stamp[b])


@inner
def _push(pool: Pool, place: int) -> None:
    heap, i = pool.heap, pool.tally[0]
    pool.tally[0] += 1
    pool.stamp[place] = pool.tally[2]
    pool.tally[2] += 1
    while i > 0 and _before(pool, place, heap[(i - 1) >> 1]):
        heap[i] = heap[(i - 1) >> 1]
        i = (i - 1) >> 1
    heap[i] = place


@inner
def _pop(pool: Pool) -> int:
    heap = pool.heap
    top = heap[0]
    pool.tally[0] -= 1
    size = pool.tally[0]
    place, i = heap[size], 0
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and _before(pool, heap[child + 1], heap[child]):
            child += 1
        if not _before(pool, heap[child], place):
            break
        heap[i] = heap[child]
        i = child
    heap[i] = place
    return int(top)


@inner
def _release(pool: Pool, place: int) -> None:
    pool.free[pool.tally[1]] = place
    pool.tally[1] += 1


@inner
def _split(pool: Pool, place: int, d: int, middle: int, bound: float, critical: int) -> None:
    """Branch on feature d: keep it, move it down, move it up; or halve its range."""
    a, b = pool.node[place, LOW, d], pool.node[place, HIGH, d]
    free = pool.node[place, STATE, d] == FREE
    cut = min(max(middle, a), b) if free else (a + b) // 2
    for part in range(3):
        state, low, high = MUST, a, b
        if part == 0:
            state = KEPT
        elif part == 1:
            high = cut
        else:
            low = cut
        if (part == 0 and not free) or low == high:
            continue
        pool.tally[1] -= 1
        new = pool.free[pool.tally[1]]
        for row in range(3):
            for e in range(pool.node.shape[2]):
                pool.node[new, row, e] = pool.node[place, row, e]
        pool.node[new, STATE, d], pool.node[new, LOW, d], pool.node[new, HIGH, d] = state, low, high
        pool.bound[new], pool.critical[new] = bound, critical
        _push(pool, new)


@inner
def _keep_gains(work: Work, leaf: Leaf, g: int, need: float) -> None:
    leaf.need[g] = need
    for j in range(work.gain.size):
        leaf.gain[g, j] = work.gain[j]
    if g == 0:
        for d in range(work.feature.shape[1]):
            leaf.ahead[0, d] = work.feature[BEST, d]


@inner
def _each(
    moves: Moves, crowd: Crowd, work: Work, node: Node, left: int, floor: float, stop: float, first: int, last: int
) -> float:
    """Raise ``each[1]`` of some candidates, whose scores are at most offset + slope @ u, to what acceptance costs.

    Returns the need of the easiest of them.
    """
    need = np.inf
    for n in range(first, last):
        need = min(need, -work.offset[n] - crowd.tolerance)
    cost, most, lines = bound_cost(moves, node, work, left, need, floor, stop)
    for n in range(first, last):
        x = -work.offset[n] - crowd.tolerance
        y = np.inf
        if x <= most:
            y = cost if moves.largest else floor
            for i in range(lines):
                y = max(y, moves.paid + work.lines[i, 0] * x - work.lines[i, 1])
        work.each[1, n] = max(work.each[1, n], y)
    return need


@inner
def _close_way(crowd: Crowd, each: Floats, q: int, first: int, last: int) -> None:
    """After the last margin of a way: the cheapest way counts."""
    if q + 1 == crowd.bias.size or crowd.way[q + 1] != crowd.way[q]:
        for n in range(first, last):
            each[0, n] = max(each[0, n], -each[1, n])


@inner
def _open_way(crowd: Crowd, each: Floats, q: int, first: int, last: int, floor: float) -> None:
    if q == 0 or crowd.way[q] != crowd.way[q - 1]:
        for n in range(first, last):
            each[1, n] = floor


@inner
def _bound_one(
    moves: Moves, crowd: Crowd, work: Work, leaf: Leaf, node: Node, critical: int, left: int, floor: float, stop: float
) -> tuple[float, int]:
    """Bound of a node for one hidden layer, and the candidate that decides it."""
    n_candidates = crowd.weight.size
    simple = crowd.bias.size == 1
    for n in range(n_candidates):
        work.each[0, n] = -np.inf
    for q in range(crowd.bias.size):
        relax_one(crowd, work.box, q, critical, work.slope, work.gap, work.offset)
        if simple:
            # only the candidate at the required weight matters
            score, who = quantile(work.offset, crowd.weight, crowd.required, work.order)
            need = -score - crowd.tolerance
            cost, _, _ = bound_cost(moves, node, work, left, need, floor, stop)
            if cost < stop:
                _keep_gains(work, leaf, 0, need)
                loosen_one(work.box, work.wide, work.gap, work.feature[LOOSE])
            return cost, who
        loosen_one(work.box, work.wide, work.gap, work.feature[LOOSE])
        _open_way(crowd, work.each, q, 0, n_candidates, floor)
        _each(moves, crowd, work, node, left, floor, stop, 0, n_candidates)
        _close_way(crowd, work.each, q, 0, n_candidates)
    cost, who = quantile(work.each[0], crowd.weight, crowd.required, work.order)
    return -cost, who


@inner
def _bound_deep(
    moves: Moves, crowd: Crowd, deep: Deep, work: Work, leaf: Leaf, node: Node, left: int, floor: float, stop: float
) -> float:
    """Bound of a node for several hidden layers, group by group of candidates."""
    lost = 0.0
    for n in range(crowd.weight.size):
        work.each[0, n] = -np.inf if n < deep.group[-1] else -floor
    for g in range(deep.group.size - 1):
        first, last = deep.group[g], deep.group[g + 1]
        bound_layers(moves, deep, work, node, left, g)
        for q in range(crowd.bias.size):
            for h in range(deep.width[-1]):
                deep.back[0, h] = crowd.margin[q, h]
            shift = crowd.bias[q] + carry_back(deep, deep.width.size - 1, work.slope, True)
            for n in range(first, last):
                x = shift
                for h in range(work.slope.size):
                    x += work.slope[h] * crowd.base[h, n]
                work.offset[n] = x
            _open_way(crowd, work.each, q, first, last, floor)
            need = _each(moves, crowd, work, node, left, floor, stop, first, last)
            if q == 0:
                _keep_gains(work, leaf, g, need)
            if work.each[1, first] < stop:
                loosen_deep(deep, work.wide, work.feature[LOOSE])
            _close_way(crowd, work.each, q, first, last)
        for n in range(first, last):
            if -work.each[0, n] >= stop:
                lost += crowd.weight[n]
        if lost > crowd.total - crowd.required:
            return np.inf
    cost, _ = quantile(work.each[0], crowd.weight, crowd.required, work.order)
    return -cost


@inner
def _start(moves: Moves, pool: Pool, work: Work, incumbent: float, end: int) -> tuple[int, int, float, int]:
    """Take the next node and put the box around it: what to do, its place, its least cost, the changes left."""
    if pool.tally[0] == 0 or (pool.bound[pool.heap[0]] >= incumbent and pool.tally[5] == 0):
        pool.tally[0] = 0
        return DONE, 0, 0.0, 0
    if pool.tally[3] + pool.tally[4] // 16 >= end:
        return PAUSED, 0, 0.0, 0
    if pool.tally[1] < 4:
        return FULL, 0, 0.0, 0
    place = _pop(pool)
    pool.tally[3] += 1
    node = pool.node[place]
    floor, left = shrink(moves, node, work.feature[CHEAPEST], incumbent)
    if floor < 0.0 or pool.bound[place] >= incumbent:
        _release(pool, place)
        return SKIP, 0, 0.0, 0
    box(moves, node, left, work.box, work.wide, work.top)
    for d in range(node.shape[1]):
        work.feature[LOOSE, d] = 0.0
    return GO_ON, place, floor, left


@inner
def _finish(
    moves: Moves,
    crowd: Crowd,
    deep: Deep,
    words: Words,
    work: Work,
    leaf: Leaf,
    pool: Pool,
    place: int,
    left: int,
    bound: float,
    incumbent: float,
    critical: int,
    few: float,
    n_groups: int,
) -> float:
    """List a node's choices, or split it, or drop it; the cost of a better choice, else infinity."""
    node = pool.node[place]
    bound = max(bound, pool.bound[place])
    if bound < incumbent:
        if number_of_choices(node, left, leaf.sums) <= few:
            cost, scored = best_choice(moves, crowd, deep, words, leaf, node, left, incumbent, n_groups)
            pool.tally[4] += scored
            if cost < incumbent:
                _push(pool, place)
                return cost
        else:
            pick, most = -1, 0.0
            for d in range(node.shape[1]):
                wide = node[STATE, d] == MUST and node[HIGH, d] - node[LOW, d] > 1
                if (wide or node[STATE, d] == FREE) and (pick < 0 or work.feature[LOOSE, d] > most):
                    pick, most = d, work.feature[LOOSE, d]
            _split(pool, place, pick, moves.middle[pick], bound, critical)
    _release(pool, place)
    return np.inf


@entry
def run_one(
    moves: Moves,
    crowd: Crowd,
    deep: Deep,
    words: Words,
    work: Work,
    leaf: Leaf,
    pool: Pool,
    incumbent: float,
    share: int,
    few: float,
) -> tuple[int, float]:
    """Search a network with one hidden layer for a choice that costs less than ``incumbent``, lowest bound first.

    Nodes with at most ``few`` choices are listed. Returns why it ended, and the cost of the choice in ``leaf``.
    """
    end = pool.tally[3] + pool.tally[4] // 16 + share
    n_groups = 1 if crowd.bias.size == 1 else 0
    while True:
        code, place, floor, left = _start(moves, pool, work, incumbent, end)
        if code == SKIP:
            continue
        if code != GO_ON:
            return code, np.inf
        node = pool.node[place]
        bound, critical = _bound_one(moves, crowd, work, leaf, node, pool.critical[place], left, floor, incumbent)
        bound = max(bound, floor)
        cost = _finish(
            moves, crowd, deep, words, work, leaf, pool, place, left, bound, incumbent, critical, few, n_groups
        )
        if cost < incumbent:
            return FOUND, cost


@entry
def run_deep(
    moves: Moves,
    crowd: Crowd,
    deep: Deep,
    words: Words,
    work: Work,
    leaf: Leaf,
    pool: Pool,
    incumbent: float,
    share: int,
    few: float,
) -> tuple[int, float]:
    """As :func:`run_one`, for networks with several hidden layers."""
    end = pool.tally[3] + pool.tally[4] // 16 + share
    n_groups = deep.group.size - 1 if crowd.bias.size == 1 else 0
    while True:
        code, place, floor, left = _start(moves, pool, work, incumbent, end)
        if code == SKIP:
            continue
        if code != GO_ON:
            return code, np.inf
        bound = _bound_deep(moves, crowd, deep, work, leaf, pool.node[place], left, floor, incumbent)
        bound = max(bound, floor)
        cost = _finish(moves, crowd, deep, words, work, leaf, pool, place, left, bound, incumbent, 0, few, n_groups)
        if cost < incumbent:
            return FOUND, cost
