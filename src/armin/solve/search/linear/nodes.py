"""The multiple-choice knapsack behind a linear model, compiled: prices, bounds and the dive."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from armin.arrays import FloatArray
from armin.solve.search.words import Words, is_banned, kernel, sort_by

__all__ = ["Work", "begin", "dive", "efficient", "least_cap", "spread"]

DEPTH, NODES, FOUND, FORCED, LIMIT, IS_MAX, PLAIN = range(7)
"""Entries of ``Work.counter``: depth of the search (-1: done), nodes, changes of the best choice (-1: none), forced
blocks, changes allowed, whether costs combine by max, whether choices that are surely accepted need no other check."""
CAP, LEAST, SURE, PRICE, BOUND, NEED, TOTAL = range(7)
"""Entries of ``Work.number``: budget, gain that may do, gain that surely does, price of gain, bound on the cost,
weight that must be accepted, all weight."""


class Work(NamedTuple):
    """What the search writes."""

    counter: NDArray[np.int64]
    number: FloatArray
    rank: NDArray[np.int64]  # (blocks,) blocks in the order of the search
    worth: FloatArray  # (blocks,) of the best option at the price
    size: NDArray[np.int64]  # (blocks,) options below the budget
    sorted: NDArray[np.int64]  # (options,) those options of each block, the best at the price first
    worths: FloatArray  # (blocks + 1, limit + 1) most worth from a block of the order on with so many changes left
    gains: FloatArray  # (blocks + 1, limit + 1, rows) most gain
    block: NDArray[np.int64]  # (depth,) of the present node
    entry: NDArray[np.int64]
    spent: FloatArray
    lifted: FloatArray  # (depth, rows)
    changed: Words  # (depth, .) sets of features
    best: NDArray[np.int64]  # (depth,) options of the best choice


@kernel
def spread(outcomes: Any, coefficients: Any, low: Any, high: Any) -> Any:  # pragma: no cover - compiled
    """The least and the greatest move over the candidates, for each option and row; returns the largest inputs."""
    n, size, width = outcomes.shape
    largest = np.zeros(width)
    for c in range(n):
        for e in range(width):
            for j in range(size):
                value = abs(outcomes[c, j, e])
                if not value <= largest[e]:
                    largest[e] = value
        for r in range(coefficients.shape[0]):
            start = 0.0
            for e in range(width):
                start += outcomes[c, 0, e] * coefficients[r, e]
            for j in range(size):
                move = -start
                for e in range(width):
                    move += outcomes[c, j, e] * coefficients[r, e]
                if c == 0 or move < low[j, r]:
                    low[j, r] = move
                if c == 0 or move > high[j, r]:
                    high[j, r] = move
    return largest


@kernel
def efficient(
    start: Any, gain: Any, cost: Any, even: Any, special: Any, apart: bool, doubt: Any
) -> Any:  # pragma: no cover - compiled
    """The options of each feature, by rising cost, that no other one beats; all of them where ``special``.

    Gains that differ by less than the feature's ``doubt`` are not compared, as the model's own sum may do so.
    """
    kept = np.zeros(cost.size, np.int64)
    size = np.zeros(start.size - 1, np.int64)
    items = np.zeros(cost.size, np.int64)
    n = 0
    for d in range(start.size - 1):
        low, high = start[d] + 1, start[d + 1]
        if low >= high:
            continue
        down = cost[low] > cost[high - 1]
        m = 0
        for k in range(high - low):
            o = high - 1 - k if down else low + k
            if even[o] and (special[d] or apart or gain[o, 0] > -doubt[d]):
                items[m] = o
                m += 1
        sort_by(items[:m], cost)
        best = -np.inf if apart else 0.0
        for k in range(m):
            o = items[k]
            if special[d] or gain[o, 0] > best - doubt[d]:
                last = kept[n - 1]
                if not special[d] and size[d] > 0 and cost[last] == cost[o] and gain[last, 0] <= gain[o, 0] - doubt[d]:
                    n -= 1
                    size[d] -= 1
                kept[n] = o
                n += 1
                size[d] += 1
                best = max(best, gain[o, 0])
    return kept[:n], size


@kernel
def _hull(
    start: Any, gain: Any, cost: Any, cap: float, corner: Any, corners: Any
) -> None:  # pragma: no cover - compiled
    """The options below ``cap`` that are best at some price; blocks are sorted by cost."""
    for b in range(start.size - 1):
        n = start[b]
        for o in range(start[b], start[b + 1]):
            if cost[o] >= cap:
                break
            if n > start[b] and gain[o, 0] <= gain[corner[n - 1], 0]:
                continue
            while n > start[b]:
                p = corner[n - 1]
                if cost[p] >= cost[o]:
                    n -= 1
                    continue
                if n - 1 > start[b]:
                    q = corner[n - 2]
                    if (gain[p, 0] - gain[q, 0]) * (cost[o] - cost[q]) <= (gain[o, 0] - gain[q, 0]) * (
                        cost[p] - cost[q]
                    ):
                        n -= 1
                        continue
                break
            corner[n] = o
            n += 1
        corners[b] = n - start[b]


@kernel
def _value_at(
    start: Any,
    gain: Any,
    cost: Any,
    forced: Any,
    corner: Any,
    corners: Any,
    limit: int,
    price: float,
    rank: Any,
    worth: Any,
    key: Any,
    best: Any,
) -> Any:  # pragma: no cover - compiled
    """What the best priced options are worth together, and their gain; sorts the blocks."""
    blocks = forced.size
    for b in range(blocks):
        worth[b] = -np.inf
        best[b] = 0.0
        for k in range(start[b], start[b] + corners[b]):
            o = corner[k]
            value = price * gain[o, 0] - cost[o]
            if value > worth[b]:
                worth[b], best[b] = value, gain[o, 0]
        rank[b] = b
        key[b] = -np.inf if forced[b] else -worth[b]
    sort_by(rank, key)
    total, lifted, left = 0.0, 0.0, limit
    for k in range(blocks):
        b = rank[k]
        if left > 0 and (forced[b] or worth[b] > 0):
            total += worth[b]
            lifted += best[b]
            left -= 1
    return total, lifted


@kernel
def _price_of_gain(
    start: Any,
    gain: Any,
    cost: Any,
    forced: Any,
    limit: int,
    cap: float,
    least: float,
    rank: Any,
    worth: Any,
    corner: Any,
    corners: Any,
    guess: float,
) -> Any:  # pragma: no cover - compiled
    """A price of gain with a good dual bound on the cost below ``cap``, and that bound."""
    key, best = np.zeros(forced.size), np.zeros(forced.size)
    _hull(start, gain, cost, cap, corner, corners)
    total, lifted = _value_at(start, gain, cost, forced, corner, corners, limit, 0.0, rank, worth, key, best)
    found, bound = 0.0, -total
    if lifted >= least:
        return found, bound
    low, high, factor = 0.0, 1.0, 8.0
    if guess > 0:
        high, factor = guess, 1.3
        for _ in range(60):  # down to a price that is too low
            total, lifted = _value_at(start, gain, cost, forced, corner, corners, limit, guess, rank, worth, key, best)
            if guess * least - total > bound:
                found, bound = guess, guess * least - total
            if bound >= cap:
                return found, bound
            if lifted < least:
                low = guess
                break
            high = guess
            guess /= factor
        if high == low:
            high *= factor
    for _ in range(60):
        total, lifted = _value_at(start, gain, cost, forced, corner, corners, limit, high, rank, worth, key, best)
        if high * least - total > bound:
            found, bound = high, high * least - total
        if lifted >= least or bound >= cap:
            break
        low, high, factor = high, factor * high, 1.5 * factor
    for _ in range(40):
        if high - low <= 1e-3 * high or bound >= cap:
            break
        middle = (low + high) / 2 if low > 0 else high / 16
        total, lifted = _value_at(start, gain, cost, forced, corner, corners, limit, middle, rank, worth, key, best)
        if middle * least - total > bound:
            found, bound = middle, middle * least - total
        if lifted >= least:
            high = middle
        else:
            low = middle
    return found, bound


@kernel
def least_cap(context: Any, work: Any, low: float, high: float) -> float:  # pragma: no cover - compiled
    """A budget for which the dual bound proves that no valid choice costs less."""
    start, gain, cost, forced = context.start, context.gain, context.cost, context.forced
    limit, least = work.counter[LIMIT], work.number[LEAST]
    corner, corners = work.sorted, work.size
    price, bound = _price_of_gain(
        start, gain, cost, forced, limit, high, least, work.rank, work.worth, corner, corners, 0.0
    )
    if bound >= high:
        return high
    while high > 1.02 * low:
        middle = np.sqrt(low * high)
        price, bound = _price_of_gain(
            start, gain, cost, forced, limit, middle, least, work.rank, work.worth, corner, corners, price
        )
        if bound >= middle:
            low = middle
        else:
            high = middle
    return low


@kernel
def begin(context: Any, work: Any, cap: float) -> None:  # pragma: no cover - compiled
    """Sort blocks and options for the search below ``cap``, bound what each can still do, and go to the root."""
    start, gain, cost, forced = context.start, context.gain, context.cost, context.forced
    limit, is_max, scalar = work.counter[LIMIT], work.counter[IS_MAX] != 0, gain.shape[1] == 1
    rank, worth, number = work.rank, work.worth, work.number
    price, bound = 0.0, 0.0
    if scalar and not is_max:
        price, bound = _price_of_gain(
            start, gain, cost, forced, limit, cap, number[LEAST], rank, worth, work.sorted, work.size, number[PRICE]
        )
    else:
        _hull(start, gain, cost, cap, work.sorted, work.size)
    number[PRICE], number[BOUND] = price, bound - 1e-12 * abs(bound)
    key, best = np.zeros(forced.size), np.zeros(forced.size)
    _value_at(start, gain, cost, forced, work.sorted, work.size, limit, price, rank, worth, key, best)
    value = np.zeros(cost.size)
    for b in range(forced.size):
        work.size[b] = 0
        for o in range(start[b], start[b + 1]):
            if cost[o] < cap:
                work.sorted[start[b] + work.size[b]] = o
                work.size[b] += 1
                value[o] = -gain[o, 0] if is_max and scalar else cost[o] - price * gain[o, 0]
        sort_by(work.sorted[start[b] : start[b] + work.size[b]], value)
    _bounds(start, gain, forced, limit, rank, worth, work)
    work.counter[DEPTH] = 0
    work.block[0] = work.entry[0] = 0
    work.spent[0] = 0.0
    for r in range(gain.shape[1]):
        work.lifted[0, r] = 0.0


@kernel
def _bounds(
    start: Any, gain: Any, forced: Any, limit: int, rank: Any, worth: Any, work: Any
) -> None:  # pragma: no cover - compiled
    """From block i of the order on with r changes left: the most worth, and the most gain in each row."""
    blocks, n_rows = forced.size, gain.shape[1]
    worths, gains = work.worths, work.gains
    most = np.zeros(n_rows)
    for i in range(blocks - 1, -1, -1):
        b = rank[i]
        for r in range(n_rows):
            most[r] = -np.inf
            for k in range(start[b], start[b] + work.size[b]):
                most[r] = max(most[r], gain[work.sorted[k], r])
        for k in range(limit + 1):
            if forced[b]:
                worths[i, k] = worths[i + 1, k - 1] + worth[b] if k > 0 else -np.inf
            else:
                worths[i, k] = worths[i + 1, k]
                if k > 0:
                    worths[i, k] = max(worths[i, k], worths[i + 1, k - 1] + worth[b])
            for r in range(n_rows):
                if forced[b]:
                    gains[i, k, r] = gains[i + 1, k - 1, r] + most[r] if k > 0 else -np.inf
                else:
                    gains[i, k, r] = gains[i + 1, k, r]
                    if k > 0:
                        gains[i, k, r] = max(gains[i, k, r], gains[i + 1, k - 1, r] + most[r])


@kernel
def _can(score: Any, way: Any, weight: Any, gain: Any, more: Any, doubt: float, need: float, total: float) -> bool:
    """Whether candidates of weight ``need`` can be accepted with these gains and at most ``more``."""
    # pragma: no cover - compiled
    accepted = 0.0
    for c in range(score.shape[0]):
        good, last = False, -1
        for r in range(way.size):
            if way[r] != last:
                if good:
                    break
                good, last = True, way[r]
            if score[c, r] + gain[r] + more[r] < -doubt:
                good = False
        if good:
            accepted += weight[c]
            if accepted >= need:
                return True
        else:
            total -= weight[c]
            if total < need:
                return False
    return accepted >= need


@kernel
def dive(
    context: Any, work: Any, way: Any, weight: Any, banned: Any, nodes: int
) -> bool:  # pragma: no cover - compiled
    """Go on with the search; true at a choice that may be valid and must be checked."""
    start, gain, cost, features, score, doubt = (
        context.start,
        context.gain,
        context.cost,
        context.features,
        context.score,
        context.doubt,
    )
    count, number, block, entry, changed = work.counter, work.number, work.block, work.entry, work.changed
    rank, size, order, worths, gains = work.rank, work.size, work.sorted, work.worths, work.gains
    spent, lifted = work.spent, work.lifted
    limit, forced, least, price = count[LIMIT], count[FORCED], number[LEAST], number[PRICE]
    end, n_rows = count[NODES] + nodes, gain.shape[1]
    scalar, is_max, ruled = n_rows == 1, count[IS_MAX] != 0, banned.shape[0] > 0
    while count[DEPTH] >= 0 and count[NODES] < end:
        depth = count[DEPTH]
        i, left, here = block[depth], limit - depth, spent[depth]
        back = left == 0 or i >= rank.size or here >= number[CAP]
        if not back:
            if scalar:
                back = lifted[depth, 0] + gains[i, left, 0] < least or (
                    not is_max and here + price * (least - lifted[depth, 0]) - worths[i, left] >= number[CAP]
                )
            elif entry[depth] == 0:
                back = not _can(score, way, weight, lifted[depth], gains[i, left], doubt, number[NEED], number[TOTAL])
        if back:
            count[DEPTH] -= 1
            continue
        b = rank[i]
        if entry[depth] >= size[b]:
            if i < forced:
                count[DEPTH] -= 1
            else:
                block[depth] += 1
                entry[depth] = 0
            continue
        o = order[start[b] + entry[depth]]
        entry[depth] += 1
        count[NODES] += 1
        now = max(here, cost[o]) if is_max else here + cost[o]
        rest = price * (least - lifted[depth, 0] - gain[o, 0]) - worths[i + 1, left - 1]
        if scalar and not is_max and now + rest >= number[CAP]:
            entry[depth] = size[b]  # options that follow are worth less
            continue
        if now >= number[CAP]:
            continue
        depth += 1
        count[DEPTH] = depth
        spent[depth], block[depth], entry[depth] = now, i + 1, 0
        for r in range(n_rows):
            lifted[depth, r] = lifted[depth - 1, r] + gain[o, r]
        if ruled:
            for w in range(changed.shape[1]):
                changed[depth, w] = changed[depth - 1, w]
            changed[depth, features[b] // 64] |= np.uint64(1) << np.uint64(features[b] % 64)
        if i + 1 < forced or (scalar and lifted[depth, 0] < least):
            continue
        if ruled and is_banned(changed[depth], banned):
            continue
        if not scalar:
            if _can(score, way, weight, lifted[depth], gains[rank.size, 0], doubt, number[NEED], number[TOTAL]):
                return True
        elif count[PLAIN] != 0 and lifted[depth, 0] >= number[SURE]:
            keep_choice(work, start, depth)
            number[CAP] = now
        else:
            return True
    return False


@kernel
def keep_choice(work: Any, start: Any, depth: int) -> None:  # pragma: no cover - compiled
    """Remember the options of the present node."""
    work.counter[FOUND] = depth
    for k in range(depth):
        work.best[k] = work.sorted[start[work.rank[work.block[k]]] + work.entry[k] - 1]
