"""The multiple-choice knapsack behind a linear model, compiled: prices, bounds and the dive."""

from __future__ import annotations

from typing import Any

import numpy as np

from armin.solve.search.words import kernel, sort_by

__all__ = ["CAP", "DEPTH", "LEAST", "NODES", "bounds", "dive", "least_cap", "price_of_gain", "spread", "value_at"]

DEPTH, NODES = 0, 1  # entries of ``count``
CAP, LEAST = 0, 1  # entries of ``number``: budget, gain that may do


@kernel
def spread(outcomes: Any, coefficients: Any) -> Any:  # pragma: no cover - compiled
    """The least and the greatest move over the candidates, for each option and row."""
    n, size, width = outcomes.shape
    n_rows = coefficients.shape[0]
    low = np.zeros((size, n_rows))
    high = np.zeros((size, n_rows))
    for c in range(n):
        for r in range(n_rows):
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
    return low, high


@kernel
def value_at(
    start: Any, gain: Any, cost: Any, forced: Any, limit: int, cap: float, price: float, rank: Any, worth: Any
) -> Any:  # pragma: no cover - compiled
    """What the best priced options below ``cap`` are worth together, and their gain; sorts the blocks."""
    blocks = forced.size
    best = np.zeros(blocks)
    key = np.zeros(blocks)
    for b in range(blocks):
        worth[b] = -np.inf
        for o in range(start[b], start[b + 1]):
            value = price * gain[o, 0] - cost[o]
            if cost[o] < cap and value > worth[b]:
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
def price_of_gain(
    start: Any, gain: Any, cost: Any, forced: Any, limit: int, cap: float, least: float, rank: Any, worth: Any
) -> Any:  # pragma: no cover - compiled
    """A price of gain with a good dual bound on the cost below ``cap``, and that bound."""
    total, lifted = value_at(start, gain, cost, forced, limit, cap, 0.0, rank, worth)
    found, bound = 0.0, -total
    if lifted >= least:
        return found, bound
    low, high = 0.0, 1.0
    for _ in range(60):
        total, lifted = value_at(start, gain, cost, forced, limit, cap, high, rank, worth)
        if high * least - total > bound:
            found, bound = high, high * least - total
        if lifted >= least or bound >= cap:
            break
        low, high = high, 8 * high
    for _ in range(40):
        if high - low <= 1e-3 * high or bound >= cap:
            break
        middle = (low + high) / 2 if low > 0 else high / 16
        total, lifted = value_at(start, gain, cost, forced, limit, cap, middle, rank, worth)
        if middle * least - total > bound:
            found, bound = middle, middle * least - total
        if lifted >= least:
            high = middle
        else:
            low = middle
    return found, bound


@kernel
def least_cap(
    start: Any, gain: Any, cost: Any, forced: Any, limit: int, least: float, low: float, high: float
) -> float:  # pragma: no cover - compiled
    """A budget for which the dual bound proves that no valid choice costs less."""
    rank = np.zeros(forced.size, np.int64)
    worth = np.zeros(forced.size)
    _, bound = price_of_gain(start, gain, cost, forced, limit, high, least, rank, worth)
    if bound >= high:
        return high
    while high > 1.02 * low:
        middle = np.sqrt(low * high)
        _, bound = price_of_gain(start, gain, cost, forced, limit, middle, least, rank, worth)
        if bound >= middle:
            low = middle
        else:
            high = middle
    return low


@kernel
def bounds(
    start: Any, gain: Any, cost: Any, forced: Any, limit: int, cap: float, rank: Any, worth: Any
) -> Any:  # pragma: no cover - compiled
    """From block i of the order on with r changes left: the most worth, and the most gain in each row."""
    blocks, n_rows = forced.size, gain.shape[1]
    worths = np.zeros((blocks + 1, limit + 1))
    gains = np.zeros((blocks + 1, limit + 1, n_rows))
    most = np.zeros((blocks, n_rows))
    for b in range(blocks):
        for r in range(n_rows):
            most[b, r] = -np.inf
            for o in range(start[b], start[b + 1]):
                if cost[o] < cap:
                    most[b, r] = max(most[b, r], gain[o, r])
    for i in range(blocks - 1, -1, -1):
        b = rank[i]
        for k in range(limit + 1):
            if forced[b]:
                worths[i, k] = worths[i + 1, k - 1] + worth[b] if k > 0 else -np.inf
            else:
                worths[i, k] = worths[i + 1, k]
                if k > 0:
                    worths[i, k] = max(worths[i, k], worths[i + 1, k - 1] + worth[b])
            for r in range(n_rows):
                if forced[b]:
                    gains[i, k, r] = gains[i + 1, k - 1, r] + most[b, r] if k > 0 else -np.inf
                else:
                    gains[i, k, r] = gains[i + 1, k, r]
                    if k > 0:
                        gains[i, k, r] = max(gains[i, k, r], gains[i + 1, k - 1, r] + most[b, r])
    return worths, gains


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
    start: Any,
    gain: Any,
    cost: Any,
    n_forced: int,
    limit: int,
    rank: Any,
    sorted_: Any,
    worths: Any,
    gains: Any,
    is_max: bool,
    price: float,
    score: Any,
    way: Any,
    weight: Any,
    need: float,
    total: float,
    doubt: float,
    block: Any,
    entry: Any,
    spent: Any,
    lifted: Any,
    count: Any,
    number: Any,
    nodes: int,
) -> bool:  # pragma: no cover - compiled
    """Go on with the search; true at a choice that may be valid (blocks and options of each depth)."""
    end = count[NODES] + nodes
    scalar = gain.shape[1] == 1
    while count[DEPTH] >= 0 and count[NODES] < end:
        depth = count[DEPTH]
        i, left = block[depth], limit - depth
        here = spent[depth]
        back = left == 0 or i >= rank.size or here >= number[CAP]
        if not back:
            if scalar:
                back = lifted[depth, 0] + gains[i, left, 0] < number[LEAST]
                if not is_max and not back:
                    back = here + price * (number[LEAST] - lifted[depth, 0]) - worths[i, left] >= number[CAP]
            elif entry[depth] == 0:
                back = not _can(score, way, weight, lifted[depth], gains[i, left], doubt, need, total)
        if back:
            count[DEPTH] -= 1
            continue
        b = rank[i]
        if entry[depth] >= start[b + 1] - start[b]:
            if i < n_forced:
                count[DEPTH] -= 1
            else:
                block[depth] += 1
                entry[depth] = 0
            continue
        o = sorted_[start[b] + entry[depth]]
        entry[depth] += 1
        count[NODES] += 1
        now = max(here, cost[o]) if is_max else here + cost[o]
        if scalar:
            rest = lifted[depth, 0] + gain[o, 0]
            if not is_max and now + price * (number[LEAST] - rest) - worths[i + 1, left - 1] >= number[CAP]:
                entry[depth] = start[b + 1] - start[b]  # options that follow are worth less
                continue
        if now >= number[CAP]:
            continue
        for r in range(gain.shape[1]):
            lifted[depth + 1, r] = lifted[depth, r] + gain[o, r]
        spent[depth + 1], block[depth + 1], entry[depth + 1] = now, i + 1, 0
        count[DEPTH] += 1
        if i + 1 >= n_forced:
            if scalar:
                if lifted[depth + 1, 0] >= number[LEAST]:
                    return True
            elif _can(score, way, weight, lifted[depth + 1], gains[rank.size, 0], doubt, need, total):
                return True
    return False
