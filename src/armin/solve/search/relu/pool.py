"""Open nodes: a heap, and how a node is split."""

from __future__ import annotations

from armin.compiling import called
from armin.solve.search.relu.data import (
    FREE,
    HIGH,
    KEPT,
    LOW,
    MUST,
    NEWEST,
    OPEN,
    PLACES,
    STAMP,
    STATE,
    Moves,
    Node,
    Pool,
)

__all__ = ["cuts", "cuts_by_cost", "pop", "push", "release", "split"]

NEAR = 0.5
"""Share of the dearest option's cost below which options are cheap."""


@called
def _before(pool: Pool, a: int, b: int) -> bool:
    """Whether node a comes before b: the lower bound; among equals, and where memory is short, the newer one."""
    if pool.tally[NEWEST] == 0 and pool.bound[a] != pool.bound[b]:
        return bool(pool.bound[a] < pool.bound[b])
    return bool(pool.stamp[a] > pool.stamp[b])


@called
def push(pool: Pool, place: int) -> None:
    """Put a node into the heap."""
    heap, i = pool.heap, pool.tally[OPEN]
    pool.tally[OPEN] += 1
    pool.stamp[place] = pool.tally[STAMP]
    pool.tally[STAMP] += 1
    while i > 0 and _before(pool, place, heap[(i - 1) >> 1]):
        heap[i] = heap[(i - 1) >> 1]
        i = (i - 1) >> 1
    heap[i] = place


@called
def pop(pool: Pool) -> int:
    """Take the first node out of the heap."""
    heap = pool.heap
    top = heap[0]
    pool.tally[OPEN] -= 1
    size = pool.tally[OPEN]
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


@called
def release(pool: Pool, place: int) -> None:
    """Give a place back."""
    pool.free[pool.tally[PLACES]] = place
    pool.tally[PLACES] += 1


@called
def cuts(moves: Moves, node: Node, d: int) -> tuple[int, int]:
    """Where to split feature d: options that move down from those that move up, or the middle of a range."""
    a, b = node[LOW, d], node[HIGH, d]
    cut = min(max(moves.middle[d], a), b) if node[STATE, d] == FREE else (a + b) // 2
    return cut, cut


@called
def cuts_by_cost(moves: Moves, node: Node, seen: Node, d: int) -> tuple[int, int]:
    """As :func:`cuts`, but what is open is split into cheap options, with "keep", and dear ones on both sides.

    Dear is what costs half of the dearest option that was looked at (``seen``) or more: it leaves little for others.
    """
    a, b = node[LOW, d], node[HIGH, d]
    x, y = seen[LOW, d], seen[HIGH, d]
    if node[STATE, d] == MUST:
        if y - x > 1:
            return (x + y) // 2, (x + y) // 2
        return cuts(moves, node, d)
    if seen[STATE, d] == KEPT:
        x, y = a, b
    most = 0.0
    for j in range(x, y):
        most = max(most, moves.cost[j])
    low, high = b, a
    for j in range(a, b):
        if moves.cost[j] < NEAR * most:
            low, high = min(low, j), j + 1
    if low < high and (a < low or high < b):
        return low, high
    return cuts(moves, node, d)


@called
def split(pool: Pool, place: int, d: int, first: int, last: int, bound: float, critical: int, weight: float) -> None:
    """Branch on feature d: leave it open among the options ``first .. last - 1``, or keep it where there are none;
    take one of those before, or one of those after. What must change is halved at ``first``.

    The parts cover the node and do not overlap; each inherits the node's bounds, which hold for all its choices.
    """
    a, b = pool.node[place, LOW, d], pool.node[place, HIGH, d]
    free = pool.node[place, STATE, d] == FREE
    for part in range(3):
        state, low, high = MUST, a, first
        if part == 0:
            state, low, high = FREE, first, last
            if first == last:
                state, low, high = KEPT, a, b
        elif part == 2:
            low, high = last, b
        if (part == 0 and not free) or low == high:
            continue
        pool.tally[PLACES] -= 1
        new = pool.free[pool.tally[PLACES]]
        for row in range(3):
            for e in range(pool.node.shape[2]):
                pool.node[new, row, e] = pool.node[place, row, e]
        for g in range(pool.told.shape[1]):
            pool.told[new, g] = pool.told[place, g]
        pool.node[new, STATE, d], pool.node[new, LOW, d], pool.node[new, HIGH, d] = state, low, high
        pool.bound[new], pool.critical[new], pool.high[new] = bound, critical, weight
        push(pool, new)
