"""The knapsack of one context, block after block, without choices that another one beats; compiled.

The dive of :mod:`armin.solve.search.linear.nodes` looks at every choice that the price of gain does not rule out. Where
many features may change there are billions of them, though most differ in nothing that matters: after some blocks, all
that counts about what was taken is what it cost, what it gained and how many changes it used up. So the *states* after
each block are kept as a front. State B is left out if another one, A, has cost no more, used up no more changes, and
gained more by at least SURE - LEAST: whatever follows, if B may do with it, A surely does. And it is left out if what
must follow costs too much: with V_i(q) the most that the blocks from i on can be worth at the price q, if

    spent + q (LEAST - gained) - V_i(q) >= budget

for one of a few prices. The price that is best for all blocks is not best for the last ones, so there are several.

A choice that changes a set S of features may have to cost less than others (``Bans``). A state carries a bit for each
such set that it still agrees with; A beats B only if its bits are among B's.

A front that is longer than it may be keeps the states with the smallest bounds, and no longer proves anything; the
cheapest choice that is left is a good one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armin.arrays import FloatArray
from armin.compiling import called, entry_bare, inlined
from armin.solve.search.goals import Bans
from armin.solve.search.handed import space
from armin.solve.search.linear.data import CAP, FOUND, LEAST, LIMIT, NODES, PRICE, SURE, Context, Written
from armin.solve.search.linear.prices import tabulate
from armin.solve.search.words import Bits, Ints, add_bit, sort_by

__all__ = ["MOST_BANS", "SIZE", "WHOLE", "Fronts", "advance", "new_fronts", "set_out", "take"]

LAYER, CHOICE, SIZE, NEXT, WHOLE, USED, CLASSES, WIDTH, COUNTED = range(9)
"""Entries of ``Fronts.counter``: the block of the order that is next, its choice that is next, states of the layer
before, states of the next layer so far, whether no state was dropped for want of room, events that were noted, classes
of the present merger, states that a layer may have, whether changes are counted."""

MOST_BANS = 63
"""Sets of features that states can tell apart."""

_MOST_CLASSES = 64
_BINS = 256
_ROOM = 4  # times the states that a layer may have, for the next one while it is being made
_PRICES = np.array([0.25, 0.5, 0.7, 0.85, 1.0, 1.15, 1.4, 2.0, 4.0])


class Fronts(NamedTuple):
    """Three lists of states by rising cost: a layer, the next one so far, and room for what that one becomes.

    The options that a state has taken are a chain of events, its own last one first.
    """

    counter: Ints
    which: Ints  # (3,) which row of the arrays below is which list
    cost: FloatArray  # (3, room)
    gain: FloatArray
    alive: Bits  # bans that are still agreed with
    changes: Ints
    event: Ints  # the last one; -1: none
    took: Ints  # the option taken in the present block; -1: none
    former: Ints  # (events,) the one before
    option: Ints  # (events,)
    price: FloatArray  # (prices,)
    value: FloatArray  # (blocks + 1, prices) V_i
    inside: Bits  # (blocks,) bans on a set with the block's feature
    core: Bits  # (1,) bans on every larger set too
    top: FloatArray  # (classes,) most gain of a state with this many changes and bans
    top_changes: Ints
    top_alive: Bits
    bins: Ints


def new_fronts(blocks: int, width: int) -> tuple[Fronts, Fronts]:
    """Lists of ``width`` states a layer, for a context with so many blocks: for Python, and compiled code."""
    room, events = _ROOM * width, (blocks + 1) * width
    found, handed = space(
        Fronts,
        {
            "counter": (np.int64, (9,)),
            "which": (np.int64, (3,)),
            "cost": (np.float64, (3, room)),
            "gain": (np.float64, (3, room)),
            "alive": (np.uint64, (3, room)),
            "changes": (np.int64, (3, room)),
            "event": (np.int64, (3, room)),
            "took": (np.int64, (3, room)),
            "former": (np.int64, (events,)),
            "option": (np.int64, (events,)),
            "price": (np.float64, (_PRICES.size,)),
            "value": (np.float64, (blocks + 1, _PRICES.size)),
            "inside": (np.uint64, (blocks,)),
            "core": (np.uint64, (1,)),
            "top": (np.float64, (_MOST_CLASSES,)),
            "top_changes": (np.int64, (_MOST_CLASSES,)),
            "top_alive": (np.uint64, (_MOST_CLASSES,)),
            "bins": (np.int64, (_BINS,)),
        },
    )
    found.counter[WIDTH] = width
    found.price[:] = _PRICES
    return found, handed


@inlined
def _bound(
    work: Written, fronts: Fronts, i: int, cost: float, gain: float, changes: int
) -> float:  # pragma: no cover - compiled
    """What a state costs at least when blocks from i on are open."""
    left, lack = work.counter[LIMIT] - changes, work.number[LEAST] - gain
    if left < 0 or work.gains[i, left, 0] < lack:
        return np.inf
    priced, worth = work.number[PRICE] * lack, work.worths[i, left]
    # less a little: sums in another order may differ in the last digits
    most = cost + priced - worth - 1e-12 * (cost + abs(priced) + abs(worth))
    for k in range(fronts.price.size):
        priced, worth = fronts.price[k] * work.number[PRICE] * lack, fronts.value[i, k]
        most = max(most, cost + priced - worth - 1e-12 * (cost + abs(priced) + abs(worth)))
    return float(most)


@called
def _reach(context: Context, work: Written, b: int, slack: float) -> float:  # pragma: no cover - compiled
    """Leave out the options of a block that lose ``slack`` against its best choice; how far the others move the gain.

    Infinite where only one choice is left.
    """
    best = work.worth[b] if context.forced[b] else max(work.worth[b], 0.0)
    n, far = 0, 0.0
    for k in range(context.start[b], context.start[b] + work.size[b]):  # the best first
        o = work.sorted[k]
        if best + work.value[o] >= slack:
            break
        far = max(far, abs(context.gain[o, 0]))
        n += 1
    work.size[b] = n
    stays = not context.forced[b] and best < slack
    return np.inf if n + stays <= 1 else far


@entry_bare
def set_out(context: Context, work: Written, fronts: Fronts, bans: Bans) -> None:  # pragma: no cover - compiled
    """Put the blocks into order, bound what each can still do, and make the first layer: nothing taken.

    To be called after ``begin``. Blocks without a choice come first, then those that move the gain furthest: what lacks
    after them is bought in small steps, of which the prices give a good account.
    """
    count, number, rank, key = fronts.counter, work.number, work.rank, work.key
    blocks = rank.size
    best = 0.0
    for b in range(blocks):
        best += work.worth[b] if context.forced[b] else max(work.worth[b], 0.0)
    slack = number[CAP] - (number[PRICE] * number[LEAST] - best)
    slack += 1e-9 * (number[CAP] + abs(number[PRICE] * number[LEAST]) + abs(best))
    for b in range(blocks):
        key[b] = -_reach(context, work, b, slack)
    sort_by(rank, key)
    tabulate(context, work)
    for k in range(fronts.price.size):
        price = fronts.price[k] * number[PRICE]
        fronts.value[blocks, k] = 0.0
        for i in range(blocks - 1, -1, -1):
            b = rank[i]
            worth = -np.inf if context.forced[b] else 0.0
            for j in range(context.start[b], context.start[b] + work.size[b]):
                o = work.sorted[j]
                worth = max(worth, price * context.gain[o, 0] - context.cost[o])
            fronts.value[i, k] = fronts.value[i + 1, k] + worth
    _set_bans(context, fronts, bans)
    count[LAYER], count[CHOICE], count[SIZE], count[NEXT], count[WHOLE], count[USED] = 0, -1, 1, 0, 1, 0
    count[COUNTED] = 1 if work.counter[LIMIT] < blocks else 0
    fronts.which[0], fronts.which[1], fronts.which[2] = 0, 1, 2
    fronts.cost[0, 0], fronts.gain[0, 0], fronts.changes[0, 0], fronts.event[0, 0] = 0.0, 0.0, 0, -1


@called
def _set_bans(context: Context, fronts: Fronts, bans: Bans) -> None:  # pragma: no cover - compiled
    """Which bans the first state agrees with: those on features that can all change."""
    fronts.core[0] = fronts.alive[0, 0] = np.uint64(0)
    for b in range(context.features.size):
        fronts.inside[b] = np.uint64(0)
    for s in range(bans.price.size):
        found, size = 0, 0
        for b in range(context.features.size):
            at = context.features[b]
            if (bans.sets[s, at // 64] >> np.uint64(at % 64)) & np.uint64(1):
                add_bit(fronts.inside[b : b + 1], s)
                found += 1
        for at in range(64 * bans.sets.shape[1]):
            if (bans.sets[s, at // 64] >> np.uint64(at % 64)) & np.uint64(1):
                size += 1
        if found == size:
            add_bit(fronts.alive[0], s)
        if bans.core[s]:
            add_bit(fronts.core, s)


@entry_bare
def advance(
    context: Context, work: Written, fronts: Fronts, bans: Bans, steps: int
) -> bool:  # pragma: no cover - compiled
    """Go on with the layers for about so many states; whether all are made."""
    count, blocks = fronts.counter, work.rank.size
    while count[LAYER] < blocks and steps > 0:
        i = count[LAYER]
        b = work.rank[i]
        if count[CHOICE] < work.size[b]:
            if count[CHOICE] >= 0 or not context.forced[b]:
                o = -1 if count[CHOICE] < 0 else work.sorted[context.start[b] + count[CHOICE]]
                if count[NEXT] > (_ROOM - 1) * count[WIDTH]:
                    _thin(work, fronts, i + 1)
                _merge(context, work, fronts, bans, o)
                steps -= count[SIZE] + count[NEXT]
                work.counter[NODES] += count[SIZE]
            count[CHOICE] += 1
            continue
        if count[NEXT] > count[WIDTH]:
            _thin(work, fronts, i + 1)
        _note(fronts)
        count[LAYER], count[CHOICE] = i + 1, -1
    return bool(count[LAYER] >= blocks)


@called
def _merge(context: Context, work: Written, fronts: Fronts, bans: Bans, o: int) -> None:  # pragma: no cover - compiled
    """Add to the next layer what the present one becomes by option ``o`` (-1: none)."""
    count, cost, gain, alive, changes = fronts.counter, fronts.cost, fronts.gain, fronts.alive, fronts.changes
    here, so_far, out = fronts.which[0], fronts.which[1], fronts.which[2]
    i, n, m = count[LAYER], count[SIZE], count[NEXT]
    inside = fronts.inside[work.rank[i]]
    agreed = ~inside if o < 0 else inside | fronts.core[0]
    more_cost, more_gain = (0.0, 0.0) if o < 0 else (context.cost[o], context.gain[o, 0])
    one = 1 if o >= 0 and count[COUNTED] != 0 else 0
    cap, apart = work.number[CAP], work.number[SURE] - work.number[LEAST]
    last = i + 1 == work.rank.size
    count[CLASSES] = 0
    j = k = size = 0
    while j < n or k < m:
        new = k >= m
        if j < n and k < m:
            now, then = cost[here, j] + more_cost, cost[so_far, k]
            new = now < then or (now == then and gain[here, j] + more_gain > gain[so_far, k])
        if new:
            now, lifted, used = cost[here, j] + more_cost, gain[here, j] + more_gain, changes[here, j] + one
            left, event, took = alive[here, j] & agreed, fronts.event[here, j], o
            j += 1
            if now >= cap or _bound(work, fronts, i + 1, now, lifted, used) >= cap:
                continue
            if last and left != np.uint64(0) and _banned(bans, left, now):
                continue
        else:
            now, lifted, used = cost[so_far, k], gain[so_far, k], changes[so_far, k]
            left, event, took = alive[so_far, k], fronts.event[so_far, k], fronts.took[so_far, k]
            k += 1
        if _beaten(fronts, lifted + apart, used, left):
            continue
        _enter(fronts, lifted, used, left)
        cost[out, size], gain[out, size], changes[out, size] = now, lifted, used
        alive[out, size], fronts.event[out, size], fronts.took[out, size] = left, event, took
        size += 1
    fronts.which[1], fronts.which[2], count[NEXT] = out, so_far, size


@inlined
def _banned(bans: Bans, alive: np.uint64, cost: float) -> bool:  # pragma: no cover - compiled
    """Whether a choice is too dear for what it changes."""
    price = np.inf
    for s in range(bans.price.size):
        if (alive >> np.uint64(s)) & np.uint64(1):
            price = min(price, bans.price[s])
    return cost >= price


@inlined
def _beaten(fronts: Fronts, gain: float, changes: int, alive: np.uint64) -> bool:  # pragma: no cover - compiled
    """Whether a state that was entered before, and has cost no more, has gained this much."""
    for c in range(fronts.counter[CLASSES]):
        if fronts.top[c] >= gain and fronts.top_changes[c] <= changes and fronts.top_alive[c] & ~alive == np.uint64(0):
            return True
    return False


@inlined
def _enter(fronts: Fronts, gain: float, changes: int, alive: np.uint64) -> None:  # pragma: no cover - compiled
    """Let a state beat those that follow; one of a new class, where there are too many, does not."""
    n = fronts.counter[CLASSES]
    for c in range(n):
        if fronts.top_changes[c] == changes and fronts.top_alive[c] == alive:
            fronts.top[c] = max(fronts.top[c], gain)
            return
    if n < fronts.top.size:
        fronts.top[n], fronts.top_changes[n], fronts.top_alive[n] = gain, changes, alive
        fronts.counter[CLASSES] = n + 1


@called
def _thin(work: Written, fronts: Fronts, i: int) -> None:  # pragma: no cover - compiled
    """Keep of the next layer, after which blocks from i on are open, about as many states as a layer may have."""
    count, bins, so_far = fronts.counter, fronts.bins, fronts.which[1]
    n, least, cap = count[NEXT], np.inf, work.number[CAP]
    for k in range(n):
        least = min(least, _bound_of(work, fronts, i, k))
    for at in range(bins.size):
        bins[at] = 0
    scale = bins.size / max(cap - least, 1e-300)
    for k in range(n):
        bins[_bin_of(work, fronts, i, k, least, scale)] += 1
    end, kept = 0, 0
    while end < bins.size and (end == 0 or kept + bins[end] <= count[WIDTH]):
        kept += bins[end]
        end += 1
    size = 0
    for k in range(n):
        if size < count[WIDTH] and _bin_of(work, fronts, i, k, least, scale) < end:
            fronts.cost[so_far, size], fronts.gain[so_far, size] = fronts.cost[so_far, k], fronts.gain[so_far, k]
            fronts.event[so_far, size], fronts.took[so_far, size] = fronts.event[so_far, k], fronts.took[so_far, k]
            fronts.changes[so_far, size] = fronts.changes[so_far, k]
            fronts.alive[so_far, size] = fronts.alive[so_far, k]
            size += 1
    if size < n:
        count[WHOLE] = 0
    count[NEXT] = size


@called
def _bound_of(work: Written, fronts: Fronts, i: int, k: int) -> float:  # pragma: no cover - compiled
    """What state k of the next layer costs at least."""
    so_far = fronts.which[1]
    return float(_bound(work, fronts, i, fronts.cost[so_far, k], fronts.gain[so_far, k], fronts.changes[so_far, k]))


@called
def _bin_of(work: Written, fronts: Fronts, i: int, k: int, least: float, scale: float) -> int:  # pragma: no cover
    """Where a state stands between the least bound and the budget."""
    return min(fronts.bins.size - 1, int((_bound_of(work, fronts, i, k) - least) * scale))


@called
def _note(fronts: Fronts) -> None:  # pragma: no cover - compiled
    """Make the next layer the present one, and note what its states have taken."""
    count, so_far = fronts.counter, fronts.which[1]
    for k in range(count[NEXT]):
        if fronts.took[so_far, k] >= 0:
            e = count[USED]
            fronts.former[e], fronts.option[e] = fronts.event[so_far, k], fronts.took[so_far, k]
            fronts.event[so_far, k], fronts.took[so_far, k] = e, -1
            count[USED] = e + 1
    fronts.which[0], fronts.which[1] = so_far, fronts.which[0]
    count[SIZE], count[NEXT] = count[NEXT], 0


@entry_bare
def take(work: Written, fronts: Fronts, k: int) -> bool:  # pragma: no cover - compiled
    """Remember the options of state k of the last layer; whether its gain is surely enough."""
    here, n = fronts.which[0], 0
    e = fronts.event[here, k]
    while e >= 0:
        work.best[n] = fronts.option[e]
        n += 1
        e = fronts.former[e]
    work.counter[FOUND] = n
    return bool(fronts.gain[here, k] >= work.number[SURE])
