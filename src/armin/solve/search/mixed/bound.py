"""What the scores of a mixture can be in a node, and what becomes of them, compiled.

A term is m(s), where m never falls and s is a score: a sum of trees, or of what each input adds. A node allows a set of
options for each feature, so each score has a bound s' of its own, and

    sum over terms of m(s)  <=  sum over terms of m(s').

Scores of trees are bounded by masks of leaves, as in :mod:`armin.solve.search.trees.bound`. Of scores that add up what
each input says, a feature that changes adds at most the most of its range; features that are open add at most what the
best of them can, where at most k change and what they cost stays within the room (a knapsack over ``LEVELS`` levels of
spending, rounded down). The bounds may ask for different options, so they need not be attained together; where every
range is a single option they are the scores.
"""

from __future__ import annotations

import math

import numpy as np

from armin.arrays import FloatArray
from armin.compiling import called, entry_bare, inlined
from armin.solve.search.mixed.data import Mix, MixState
from armin.solve.search.mixed.joined import Maps
from armin.solve.search.trees.bound import last_below
from armin.solve.search.trees.data import (
    BOTH,
    CHANGED,
    CHANGES,
    COST,
    COUNT,
    ENTRY,
    FEATURE,
    GROUPS,
    HEAD,
    HIGH,
    LEVELS,
    LOW,
    NEXT,
    SIDE,
    STAGE,
    UNIONS,
    Node,
    State,
    Trees,
)
from armin.solve.search.words import lowest_bit

__all__ = ["add_lines", "add_own", "enough", "knapsack", "mapped", "total_of"]

LINE, LOGISTIC, TABLE, STEP = range(4)
"""Kinds of maps."""


@called
def mapped(maps: Maps, m: int, score: float) -> float:  # pragma: no cover - compiled
    """At least what term m makes of a score; ``up`` is where more than that lies after the maps so far."""
    up = 1.0
    for i in range(maps.at[m], maps.at[m + 1]):
        kind = maps.kind[i]
        if kind == STEP:
            score = 1.0 if score >= maps.shift[i] else 0.0
        elif kind == TABLE:
            low, high = maps.table[i], maps.table[i + 1] - 1
            if score >= maps.xs[high]:
                score = maps.ys[high]
            elif score <= maps.xs[low]:
                score = maps.ys[low]
            else:
                while high - low > 1:
                    middle = (low + high) // 2
                    if maps.xs[middle] <= score:
                        low = middle
                    else:
                        high = middle
                share = (score - maps.xs[low]) / (maps.xs[high] - maps.xs[low])
                score = maps.ys[low] + share * (maps.ys[high] - maps.ys[low])
        else:
            score = maps.slope[i] * score + maps.shift[i]
            if maps.slope[i] < 0.0:
                up = -up
            if kind == LOGISTIC:
                score = 1.0 / (1.0 + math.exp(-score))
        score += up * maps.blur[i]
    return score


@inlined
def total_of(mix: Mix, scores: FloatArray) -> float:  # pragma: no cover - compiled
    """At least the sum of what the terms make of their scores."""
    total = 0.0
    for m in range(scores.size):
        total += mapped(mix.maps, m, scores[m])
    return total


@called
def add_own(tables: Trees, state: State, mix: Mix, mixed: MixState, g: int) -> None:  # pragma: no cover - compiled
    """``mixed.own``: the bounds of the scores of group (or union) g."""
    shape, part, work, own = tables.shape, tables.part, state.work, mixed.own
    own_word, mask = shape.own_word, state.mask[g]
    for m in range(own.size):
        own[m] = mixed.score[m] + mixed.base[g, m]
    for v in range(shape.shared, shape.shared + shape.own):
        w = part[v]
        word = work[w] & mask[w - own_word]
        while word == 0:
            w += 1
            word = work[w] & mask[w - own_word]
        own[mix.term[v]] += mix.value[w, lowest_bit(word)]


@inlined
def _passes(tables: Trees, state: State, mix: Mix, mixed: MixState, g: int) -> bool:  # pragma: no cover - compiled
    add_own(tables, state, mix, mixed, g)
    return total_of(mix, mixed.own) >= mix.least


@called
def enough(tables: Trees, state: State, mix: Mix, mixed: MixState, need: float) -> bool:  # pragma: no cover - compiled
    """Whether groups of weight ``need`` can be accepted by what ``state.work`` and ``mixed.line`` leave.

    The first rows are unions of groups that must not all fail, as in the search over trees.
    """
    part, work, score = tables.part, state.work, mixed.score
    for m in range(score.size):
        score[m] = mix.start[m] + mixed.line[m]
    for v in range(tables.shape.shared):
        w = part[v]
        while work[w] == 0:
            w += 1
        score[mix.term[v]] += mix.value[w, lowest_bit(work[w])]
    hope = False
    for g in range(UNIONS):
        if _passes(tables, state, mix, mixed, g):
            hope = True
            break
    if not hope:
        return False
    accepted, total = 0.0, tables.shape.total
    for g in range(state.counter[GROUPS]):
        if _passes(tables, state, mix, mixed, UNIONS + g):
            accepted += state.weight[g]
            if accepted >= need:
                return True
        else:
            total -= state.weight[g]
            if total < need:
                return False
    return accepted >= need


@called
def _most(mix: Mix, at: int, low: int, high: int, line: int) -> float:  # pragma: no cover - compiled
    """The most that the options low..high of a side, which begins at ``at``, add to a line."""
    k = 0
    while 2 << k <= high - low + 1:
        k += 1
    return float(max(mix.gain[k, at + low, line], mix.gain[k, at + high + 1 - (1 << k), line]))


@called
def add_lines(
    tables: Trees, state: State, mix: Mix, mixed: MixState, node: Node, cost: float, cap: float, grows: bool
) -> None:  # pragma: no cover - compiled
    """``mixed.line``: the most that the options of a node add to each term, after its ranges were cut to the budget."""
    sides, costs, is_max = tables.sides, tables.costs, tables.shape.is_max
    for one in range(mix.lines.size):
        total = 0.0
        for k in range(node[CHANGED]):
            p = HEAD + tables.shape.local + ENTRY * k
            d = node[p + FEATURE]
            if node[p + SIDE] == BOTH:
                room = cap if is_max else cap - (cost - state.reference[d])
                most = -np.inf
                for side in range(2):
                    high = last_below(costs, sides[d, side, COST], sides[d, side, COUNT] - 1, room)
                    if high >= 0:
                        most = max(most, _most(mix, sides[d, side, COST], 0, high, one))
                total += most
            else:
                total += _most(mix, sides[d, node[p + SIDE], COST], node[p + LOW], node[p + HIGH], one)
        if grows:
            level = LEVELS - 1
            if not is_max and state.number[STAGE] < np.inf:
                level = min(level, int((cap - cost) / state.number[STAGE] * LEVELS))
            left = tables.shape.limit - state.counter[CHANGES] - node[CHANGED]
            total += mixed.top[level, node[NEXT], left, one]
        mixed.line[mix.lines[one]] = total


@entry_bare
def knapsack(tables: Trees, mix: Mix, mixed: MixState, cap: float) -> None:  # pragma: no cover - compiled
    """``mixed.top[e, d, k]``: the most that k of the features from d on add for less than (e + 1) / LEVELS of ``cap``.

    An option that costs c spends floor(c / cap * LEVELS) levels. The levels of several options add up to no more than
    that of their sum, so no choice is left out.
    """
    sides, costs, common, top = tables.sides, tables.costs, tables.shape.common, mixed.top
    limit, is_max, best = top.shape[2] - 1, tables.shape.is_max, mixed.best
    for one in range(mix.lines.size):
        for e in range(LEVELS):
            for k in range(limit + 1):
                top[e, common, k, one] = 0.0
        for d in range(common - 1, -1, -1):
            for e in range(LEVELS):
                best[e] = 0.0
            for side in range(2):
                at = sides[d, side, COST]
                for i in range(at, at + sides[d, side, COUNT]):
                    if costs[i] < cap:
                        x = 0
                        if not is_max and cap < np.inf:
                            x = min(LEVELS - 1, int(costs[i] / cap * LEVELS * (1.0 - 1e-12)))
                        best[x] = max(best[x], mix.gain[0, i, one])
            for e in range(LEVELS):
                top[e, d, 0, one] = 0.0
                for k in range(1, limit + 1):
                    most = top[e, d + 1, k, one]
                    for x in range(e + 1):
                        if best[x] > 0.0:
                            most = max(most, top[e - x, d + 1, k - 1, one] + best[x])
                    top[e, d, k, one] = most
