"""The dive through the multiple-choice knapsack behind a linear model, compiled.

A node has taken options in some blocks; block i of the order and those after it are open. With one row, the candidates
matter only through the gain G that lifts the score at the required weight over the cut, and a node is left where

    gained + most gain of what is open < G,   or   spent + p (G - gained) - V_open(p) >= budget

(the dual bound of :mod:`armin.solve.search.linear.prices` on what is open). With several rows, the most gain of what is
open is added to each row of each candidate on its own, and those are counted that some way could still accept: each
row's gain may come from other options, so the count is too large, never too small.
"""

from __future__ import annotations

import numpy as np

from armin.arrays import FloatArray
from armin.compiling import called, entry_bare, inlined
from armin.solve.search.goals import Bans
from armin.solve.search.linear.data import (
    CAP,
    DEPTH,
    FORCED,
    FOUND,
    IS_MAX,
    LEAST,
    LIMIT,
    NEED,
    NODES,
    PLAIN,
    PRICE,
    SURE,
    Context,
    Demand,
    Written,
)
from armin.solve.search.words import add_bit, price_of

__all__ = ["dive", "go_on", "keep_choice"]


@called
def _can(
    context: Context, crowd: Demand, need: float, gain: FloatArray, more: FloatArray
) -> bool:  # pragma: no cover - compiled
    """Whether candidates of weight ``need`` can be accepted with these gains and at most ``more``.

    Candidate c counts if in some way all rows r have score[c, r] + gain[r] + more[r] >= -doubt. Stops as soon as enough
    are accepted, or too many are lost.
    """
    accepted, total = 0.0, crowd.total
    for c in range(context.score.shape[0]):
        good, last = False, -1
        for r in range(crowd.way.size):
            if crowd.way[r] != last:
                if good:
                    break
                good, last = True, crowd.way[r]
            if context.score[c, r] + gain[r] + more[r] < -context.doubt:
                good = False
        if good:
            accepted += crowd.weight[c]
            if accepted >= need:
                return True
        else:
            total -= crowd.weight[c]
            if total < need:
                return False
    return accepted >= need


@inlined
def _hopeless(context: Context, crowd: Demand, work: Written, scalar: bool) -> bool:  # pragma: no cover - compiled
    """Whether nothing below the present node can be valid and cheaper than the budget; see the bounds above."""
    number, depth = work.number, work.counter[DEPTH]
    i, left = work.block[depth], work.counter[LIMIT] - depth
    if left == 0 or i >= work.rank.size or work.spent[depth] >= number[CAP]:
        return True
    if scalar:
        lack = number[LEAST] - work.lifted[depth, 0]
        if work.gains[i, left, 0] < lack:
            return True
        priced = work.spent[depth] + number[PRICE] * lack - work.worths[i, left]
        return bool(work.counter[IS_MAX] == 0 and priced >= number[CAP])
    # once for each block
    return work.entry[depth] == 0 and not _can(context, crowd, number[NEED], work.lifted[depth], work.gains[i, left])


@inlined
def _go_down(context: Context, work: Written, bans: Bans, o: int, cost: float) -> bool:  # pragma: no cover - compiled
    """Take option o of the present block; false if what it changes makes it, and all that follows, too dear."""
    depth = work.counter[DEPTH] + 1
    i = work.block[depth - 1]
    if bans.price.size > 0:
        for w in range(work.changed.shape[1]):
            work.changed[depth, w] = work.changed[depth - 1, w]
        add_bit(work.changed[depth], context.features[work.rank[i]])
        if cost >= price_of(bans, work.changed[depth], np.bool_(False)):
            return False
    work.counter[DEPTH] = depth
    work.spent[depth], work.block[depth], work.entry[depth] = cost, i + 1, 0
    for r in range(context.gain.shape[1]):
        work.lifted[depth, r] = work.lifted[depth - 1, r] + context.gain[o, r]
    return True


@entry_bare
def dive(context: Context, crowd: Demand, work: Written, bans: Bans, nodes: int) -> bool:  # pragma: no cover - compiled
    """:func:`go_on`, for Python."""
    return go_on(context, crowd, work, bans, nodes)


@called
def go_on(
    context: Context, crowd: Demand, work: Written, bans: Bans, nodes: int
) -> bool:  # pragma: no cover - compiled
    """Go on with the search; true at a choice that may be valid and must be checked.

    Choices whose gain is surely enough, and that nothing but the cost could speak against, are kept in ``work.best``
    at once, and the budget falls to their cost.
    """
    count, number, gain, cost, start = work.counter, work.number, context.gain, context.cost, context.start
    # looked up once, here and in what is put into this code: what is looked up in a loop may be so at every turn
    rank, size, entries, block, sort = work.rank, work.size, work.entry, work.block, work.sorted
    spent, lifted, worths, gains = work.spent, work.lifted, work.worths, work.gains
    end, scalar, is_max = count[NODES] + nodes, gain.shape[1] == 1, count[IS_MAX] != 0
    while count[DEPTH] >= 0 and count[NODES] < end:
        depth = count[DEPTH]
        if _hopeless(context, crowd, work, scalar):
            count[DEPTH] -= 1
            continue
        i = block[depth]
        b = rank[i]
        if entries[depth] >= size[b]:
            if i < count[FORCED]:
                count[DEPTH] -= 1
            else:
                block[depth] += 1
                entries[depth] = 0
            continue
        o = sort[start[b] + entries[depth]]
        entries[depth] += 1
        if i + 1 >= count[FORCED]:  # a choice, not yet the beginning of some
            count[NODES] += 1
        now = max(spent[depth], cost[o]) if is_max else spent[depth] + cost[o]
        lack = number[LEAST] - lifted[depth, 0] - gain[o, 0]
        left = count[LIMIT] - depth
        if scalar and not is_max and now + number[PRICE] * lack - worths[i + 1, left - 1] >= number[CAP]:
            entries[depth] = size[b]  # options that follow are worth less
            continue
        if now >= number[CAP] or not _go_down(context, work, bans, o, now):
            continue
        depth += 1
        if i + 1 < count[FORCED] or (scalar and lifted[depth, 0] < number[LEAST]):
            continue
        if bans.price.size > 0 and now >= price_of(bans, work.changed[depth], np.bool_(True)):
            continue
        if not scalar:
            if _can(context, crowd, number[NEED], lifted[depth], gains[rank.size, 0]):
                return True
        elif count[PLAIN] != 0 and lifted[depth, 0] >= number[SURE]:
            _keep(context, work)
            number[CAP] = now
        else:
            return True
    return False


@inlined
def _keep(context: Context, work: Written) -> None:  # pragma: no cover - compiled
    work.counter[FOUND] = work.counter[DEPTH]
    for k in range(work.counter[DEPTH]):
        work.best[k] = work.sorted[context.start[work.rank[work.block[k]]] + work.entry[k] - 1]


@entry_bare
def keep_choice(context: Context, work: Written) -> None:  # pragma: no cover - compiled
    """Remember the options of the present node."""
    _keep(context, work)
