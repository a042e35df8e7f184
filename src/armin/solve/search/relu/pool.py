"""Open nodes: a heap, and how a node is split."""

from __future__ import annotations

from armin.compiling import called
from armin.solve.search.relu.data import FREE, HIGH, KEPT, LOW, MUST, NEWEST, OPEN, PLACES, STAMP, STATE, Pool

__all__ = ["pop", "push", "release", "split"]


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
def split(pool: Pool, place: int, d: int, middle: int, bound: float, critical: int, weight: float) -> None:
    """Branch on feature d: keep it, move it down, move it up; or halve its range.

    The parts cover the node and do not overlap; each inherits the node's bound, which holds for all its choices.
    """
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
        pool.tally[PLACES] -= 1
        new = pool.free[pool.tally[PLACES]]
        for row in range(3):
            for e in range(pool.node.shape[2]):
                pool.node[new, row, e] = pool.node[place, row, e]
        pool.node[new, STATE, d], pool.node[new, LOW, d], pool.node[new, HIGH, d] = state, low, high
        pool.bound[new], pool.critical[new], pool.high[new] = bound, critical, weight
        push(pool, new)
