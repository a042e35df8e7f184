"""The search over a sum of tables, compiled.

A choice is a context (the options of local features) and a list of changes of common features. With x the cells of a
choice, its gain over keeping all common features is the sum of what each change adds, one after the other in the order
of the features:

    S_d[j] - S_d[keep] + sum over pairs (d, e) of T_de[j, x_e] - T_de[keep, x_e],

where x_e is what e has become if e comes before d, and "keep" if after. Over all cells that e may take, that is at most

    G_d[j] = S_d[j] - S_d[keep] + sum over e before d of max { T_de[j, x] - T_de[keep, x] : x }
                                + sum over e after d of T_de[j, keep] - T_de[keep, keep],

which depends on d and j alone. So what the features from d on can still gain with k changes and some room is at most
the optimum of a knapsack, ``purse[d, k, room]``, over ``LEVELS`` levels of spending, costs rounded down. A pair of a
common and a local feature takes its maximum over the cells of the local one in G, and each candidate's own cell once
the change is made.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from armin.arrays import FloatArray
from armin.compiling import called, entry_bare, inlined
from armin.solve.search.goals import Bans, Stairs
from armin.solve.search.trees.additive import Additive, Sums
from armin.solve.search.trees.bound import needed
from armin.solve.search.trees.context import group
from armin.solve.search.words import Bits, Ints, add_bit, price_of, sort_by

__all__ = ["Walk", "begin", "walk", "weigh_choice"]

LEVELS = 64
"""Levels of what may be spent."""

DEPTH, NODES, GROUPS, CHANGES, WITHIN, OVER = range(6)
"""Entries of ``Walk.counter``: changes of common features so far, nodes visited, groups of the present context, how
many features it changes, whether there is a present context, and whether all were visited."""

CAP, PROVED, UNIT, CONTEXT = range(4)
"""Entries of ``Walk.number``: budget, cost below which all is known, what a level stands for, cost of the context."""

_TINY = 1e-9


class Walk(NamedTuple):
    """What the search writes."""

    counter: Ints
    number: FloatArray
    context: Ints  # (F,) option of each local feature
    order: Ints  # (C,) common features, those that can gain most first
    place: Ints  # (C,) and the place of each there
    gain: Ints  # (options,) G
    hidden: Ints  # (options,) the part of it that candidates may differ in
    purse: Ints  # (C + 1, K + 1, LEVELS + 1)
    best: Ints  # (LEVELS + 1,)
    now: Ints  # (C,) cell of each common feature
    feature: Ints  # (K + 1,) the changes that were made
    option: Ints  # (K + 1,)
    cost: FloatArray  # (K + 1,) after so many changes
    shared: Ints  # (K + 1,) what they gain, the same for all candidates
    most: Ints  # (K + 1,) and with the most of what candidates differ in
    more: Ints  # (K + 1, N') what each group gains besides
    next: Ints  # (K + 1, 2) place of the next feature to change, and its next option
    lack: Ints  # (1,) what the groups that are needed must gain at least
    base: Ints  # (N',) what each group has
    rank: Ints  # (N',)
    score: FloatArray  # (N',)
    slot: NDArray[np.int32]  # a hash table
    key: Ints  # (N',) the cells of a candidate as one number
    first: Ints  # (N',) a candidate of each group
    total: FloatArray  # (N',) weight of each group
    changed: Bits  # a set of features


@inlined
def _level(work: Walk, room: float) -> int:  # pragma: no cover - compiled
    """The level of a room: never too low."""
    return min(LEVELS, int(room / work.number[UNIT] * (1.0 + _TINY)))


@called
def _gains(tables: Additive, work: Walk, cap: float) -> None:  # pragma: no cover - compiled
    """G of every option that costs less than ``cap``."""
    score, at = tables.score, tables.option_at
    for d in range(tables.common):
        keep, single = tables.keep[d], tables.single_at[d]
        for i in range(at[d], at[d + 1]):
            if tables.option_cost[i] >= cap:
                break
            j = tables.option_cell[i]
            total = score[single + j] - score[single + keep]
            for k in range(tables.near_at[d], tables.near_at[d + 1]):
                e, where, mine, step = tables.near[k, 0], tables.near[k, 1], tables.near[k, 2], tables.near[k, 3]
                new, old = where + j * mine, where + keep * mine
                x = tables.keep[e] * step
                most = score[new + x] - score[old + x]
                if work.place[e] < work.place[d]:
                    for o in range(at[e], at[e + 1]):
                        if tables.option_cost[o] >= cap:
                            break
                        x = tables.option_cell[o] * step
                        most = max(most, score[new + x] - score[old + x])
                total += most
            hidden = 0
            for k in range(tables.own_at[d], tables.own_at[d + 1]):
                f, where, mine, step = tables.own[k, 0], tables.own[k, 1], tables.own[k, 2], tables.own[k, 3]
                new, old = where + j * mine, where + keep * mine
                most = score[new] - score[old]
                for c in range(1, tables.cells[tables.common + f]):
                    most = max(most, score[new + c * step] - score[old + c * step])
                hidden += most
            work.gain[i], work.hidden[i] = total + hidden, hidden


@called
def _pack(tables: Additive, work: Walk, cap: float) -> None:  # pragma: no cover - compiled
    """The knapsacks of all ends of the order."""
    purse, best, at = work.purse, work.best, tables.option_at
    count, limit = tables.common, tables.limit
    for k in range(limit + 1):
        for e in range(LEVELS + 1):
            purse[count, k, e] = 0
    for p in range(count - 1, -1, -1):
        d = work.order[p]
        for e in range(LEVELS + 1):
            best[e] = 0
        for i in range(at[d], at[d + 1]):
            if tables.option_cost[i] >= cap:
                break
            x = int(tables.option_cost[i] / work.number[UNIT] * (1.0 - _TINY))
            if x <= LEVELS:
                best[x] = max(best[x], work.gain[i])
        for k in range(limit + 1):
            for e in range(LEVELS + 1):
                purse[p, k, e] = purse[p + 1, k, e]
        gain = 0
        for x in range(LEVELS + 1):
            if best[x] > gain:  # more than anything cheaper
                gain = best[x]
                for k in range(1, limit + 1):
                    for e in range(x, LEVELS + 1):
                        purse[p, k, e] = max(purse[p, k, e], purse[p + 1, k - 1, e - x] + gain)


@entry_bare
def begin(tables: Additive, work: Walk, cap: float, proved: float, room: float) -> None:  # pragma: no cover - compiled
    """Start over, for choices that cost less than ``cap``, with ``room`` a finite budget that is no less."""
    count, number = work.counter, work.number
    number[CAP], number[PROVED], number[UNIT] = cap, proved, room / LEVELS
    count[DEPTH], count[WITHIN], count[OVER] = 0, 0, 0
    for f in range(tables.local):
        work.context[f] = 0
    count[CHANGES] = -1  # before the first context
    for d in range(tables.common):
        work.now[d] = tables.keep[d]
    _gains(tables, work, cap)
    for d in range(tables.common):
        best = 0
        for i in range(tables.option_at[d], tables.option_at[d + 1]):
            if tables.option_cost[i] >= cap:
                break
            best = max(best, work.gain[i])
        work.place[d], work.order[d] = d, d
        work.score[d] = -float(best)
    sort_by(work.order, work.score)
    for p in range(tables.common):
        work.place[work.order[p]] = p
    _gains(tables, work, cap)
    _pack(tables, work, cap)


@called
def _next_context(tables: Additive, work: Walk) -> bool:  # pragma: no cover - compiled
    """Go on to the next options of the local features, those of the last one first; false if there are none."""
    count, number, context = work.counter, work.number, work.context
    if count[CHANGES] < 0:  # the first: all are kept
        count[CHANGES], number[CONTEXT] = 0, 0.0
        return bool(number[CAP] > 0.0)
    for f in range(tables.local - 1, -1, -1):
        context[f] += 1
        cost, changes = 0.0, 0
        for g in range(f + 1):
            if context[g] > 0 and context[g] < tables.local_part[g, 1]:
                cost += tables.local_cost[g, context[g]]
                changes += 1
        if context[f] < tables.local_part[f, 1] and changes <= tables.limit and cost < number[CAP]:
            count[CHANGES], number[CONTEXT] = changes, cost
            return True
        context[f] = 0
    return False


@called
def _enter(tables: Additive, work: Walk, need: float) -> bool:  # pragma: no cover - compiled
    """Group the candidates of a context and note what they have; false if not enough of them can get there."""
    score, base, local = tables.score, work.base, tables.common
    groups = group(
        tables.weight, tables.local_part, tables.local_cell, work.context, work.slot, work.key, work.first, work.total
    )
    work.counter[GROUPS] = groups
    left = tables.limit - work.counter[CHANGES]
    gain = work.purse[0, left, _level(work, work.number[CAP] - work.number[CONTEXT])]
    shared = tables.start
    for d in range(tables.common):
        shared += score[tables.single_at[d] + tables.keep[d]]
        for k in range(tables.near_at[d], tables.near_at[d + 1]):
            if tables.near[k, 0] > d:
                e = tables.near[k, 0]
                shared += score[
                    tables.near[k, 1] + tables.keep[d] * tables.near[k, 2] + tables.keep[e] * tables.near[k, 3]
                ]
    able = 0.0
    for g in range(groups):
        n, total = work.first[g], shared
        for f in range(tables.local):
            total += score[tables.single_at[local + f] + tables.local_cell[f, work.context[f], n]]
        for k in range(tables.inside.shape[0]):
            a, b = tables.inside[k, 0], tables.inside[k, 1]
            x = tables.local_cell[a, work.context[a], n] * tables.inside[k, 3]
            y = tables.local_cell[b, work.context[b], n] * tables.inside[k, 4]
            total += score[tables.inside[k, 2] + x + y]
        for d in range(tables.common):
            for k in range(tables.own_at[d], tables.own_at[d + 1]):
                f = tables.own[k, 0]
                x = tables.local_cell[f, work.context[f], n] * tables.own[k, 3]
                total += score[tables.own[k, 1] + tables.keep[d] * tables.own[k, 2] + x]
        base[g] = total
        work.more[0, g] = 0
        if total + gain >= 0:
            able += work.total[g]
    if able < need:
        return False
    for g in range(groups):
        work.rank[g], work.score[g] = g, -float(base[g])
    sort_by(work.rank[:groups], work.score)
    reached = 0.0
    for i in range(groups):
        reached += work.total[work.rank[i]]
        work.lack[0] = -base[work.rank[i]]
        if reached >= need:
            return True
    return False


@called
def _weight(work: Walk, depth: int, gain: int) -> float:  # pragma: no cover - compiled
    """The weight of the groups that a gain for all, besides their own, brings to the cut."""
    total = 0.0
    for g in range(work.counter[GROUPS]):
        if work.base[g] + work.more[depth, g] + gain >= 0:
            total += work.total[g]
    return total


@called
def _price(
    tables: Additive, work: Walk, bans: Bans, depth: int, settled: bool | np.bool_
) -> float:  # pragma: no cover - compiled
    """What the changes so far must cost less than because of the features that they change."""
    if bans.price.size == 0:
        return np.inf
    for w in range(work.changed.size):
        work.changed[w] = 0
    for f in range(tables.local):
        if work.context[f] > 0 and tables.bit[tables.common + f] >= 0:
            add_bit(work.changed, tables.bit[tables.common + f])
    for k in range(depth):
        add_bit(work.changed, tables.bit[work.feature[k]])
    return price_of(bans, work.changed, settled)


@called
def _own_gains(tables: Additive, work: Walk, depth: int, d: int, j: int) -> None:  # pragma: no cover - compiled
    """What each group gains besides when common feature d goes to cell j."""
    score, keep = tables.score, tables.keep[d]
    for g in range(work.counter[GROUPS]):
        work.more[depth + 1, g] = work.more[depth, g]
    for k in range(tables.own_at[d], tables.own_at[d + 1]):
        f, where, step = tables.own[k, 0], tables.own[k, 1], tables.own[k, 3]
        new, old = where + j * tables.own[k, 2], where + keep * tables.own[k, 2]
        for g in range(work.counter[GROUPS]):
            x = tables.local_cell[f, work.context[f], work.first[g]] * step
            work.more[depth + 1, g] += score[new + x] - score[old + x]


@called
def _change(
    tables: Additive, work: Walk, stairs: Stairs, bans: Bans, p: int, i: int, gain: int, rest: int
) -> bool:  # pragma: no cover - compiled
    """Make a change if what it leads to may be valid; true if it is a choice that may well be valid itself."""
    depth, d, j = work.counter[DEPTH], work.order[p], tables.option_cell[i]
    cost, cap = work.cost[depth] + tables.option_cost[i], work.number[CAP]
    need = needed(stairs, max(cost, work.number[PROVED]))
    shared = work.shared[depth] + gain
    _own_gains(tables, work, depth, d, j)
    if _weight(work, depth + 1, shared + rest) < need:
        return False
    work.feature[depth], work.option[depth] = d, i
    if cost >= _price(tables, work, bans, depth + 1, np.bool_(False)):
        return False
    depth += 1
    work.counter[DEPTH], work.now[d] = depth, j
    work.counter[NODES] += 1
    work.cost[depth], work.shared[depth] = cost, shared
    work.most[depth] = work.most[depth - 1] + gain + work.hidden[i]
    last = p + 1 == tables.common or work.counter[CHANGES] + depth == tables.limit
    work.next[depth, 0] = tables.common if last else p + 1
    work.next[depth, 1] = 0 if last else tables.option_at[work.order[p + 1]]
    if cost >= min(cap, _price(tables, work, bans, depth, np.bool_(True))):
        return False
    return _weight(work, depth, shared) >= need


@entry_bare
def walk(tables: Additive, work: Walk, stairs: Stairs, bans: Bans, nodes: int) -> bool:  # pragma: no cover - compiled
    """Visit at most ``nodes`` nodes; true when the changes made are a choice that may well be valid."""
    count, number, at = work.counter, work.number, tables.option_at
    end = count[NODES] + nodes
    while count[OVER] == 0 and count[NODES] < end:
        if count[WITHIN] == 0:
            if not _next_context(tables, work):
                count[OVER] = 1
                return False
            count[NODES] += 1
            count[DEPTH] = 0
            price = _price(tables, work, bans, 0, np.bool_(False))
            need = needed(stairs, max(number[CONTEXT], number[PROVED]))
            if number[CONTEXT] >= min(number[CAP], price) or not _enter(tables, work, need):
                continue
            count[WITHIN] = 1
            work.cost[0], work.shared[0], work.most[0] = number[CONTEXT], 0, 0
            full = count[CHANGES] == tables.limit
            work.next[0, 0], work.next[0, 1] = (tables.common if full else 0), at[work.order[0]]
            price = _price(tables, work, bans, 0, np.bool_(True))
            if number[CONTEXT] < min(number[CAP], price) and _weight(work, 0, 0) >= need:
                return True
            continue
        depth = count[DEPTH]
        p, i = work.next[depth, 0], work.next[depth, 1]
        cost, most, cap, lack = work.cost[depth], work.most[depth], number[CAP], work.lack[0]
        left, made, found = tables.limit - count[CHANGES] - depth, False, False
        while p < tables.common and not made:
            d = work.order[p]
            if i == at[d] and most + work.purse[p, left, _level(work, max(cap - cost, 0.0))] < lack:
                p = tables.common  # neither this feature nor those after it
                break
            if i == at[d + 1] or cost + tables.option_cost[i] >= cap:
                p += 1
                i = at[work.order[p]] if p < tables.common else 0
                continue
            rest = work.purse[p + 1, left - 1, _level(work, cap - cost - tables.option_cost[i])]
            if most + work.gain[i] + rest >= lack:
                j, keep = tables.option_cell[i], tables.keep[d]
                gain = tables.score[tables.single_at[d] + j] - tables.score[tables.single_at[d] + keep]
                for k in range(tables.near_at[d], tables.near_at[d + 1]):
                    x = tables.near[k, 1] + work.now[tables.near[k, 0]] * tables.near[k, 3]
                    gain += tables.score[x + j * tables.near[k, 2]] - tables.score[x + keep * tables.near[k, 2]]
                if most + gain + work.hidden[i] + rest >= lack:
                    found = _change(tables, work, stairs, bans, p, i, gain, rest)
                    made = count[DEPTH] > depth
            i += 1
        work.next[depth, 0], work.next[depth, 1] = p, i
        if found:
            return True
        if not made and p >= tables.common:
            if depth == 0:
                count[WITHIN] = 0
            else:
                count[DEPTH] = depth - 1
                d = work.feature[depth - 1]
                work.now[d] = tables.keep[d]
    return False


@entry_bare
def weigh_choice(tables: Additive, work: Walk, sums: Sums) -> float:  # pragma: no cover - compiled
    """The weight that accepts the changes made, by the model's own sum: tree after tree, in its precision."""
    weight = 0.0
    for g in range(work.counter[GROUPS]):
        out, single = 0.0, np.float32(0.0)
        if not sums.base_last:
            out, single = sums.base, np.float32(sums.base)
        for t in range(sums.at.shape[0]):
            at = sums.at[t, 0]
            for k in range(2):
                s = sums.at[t, 1 + k]
                if s >= tables.common:
                    f = s - tables.common
                    at += tables.local_cell[f, work.context[f], work.first[g]] * sums.at[t, 3 + k]
                elif s >= 0:
                    at += work.now[s] * sums.at[t, 3 + k]
            out += sums.value[at]
            single += np.float32(sums.value[at])
        if sums.base_last:
            out += sums.base
            single += np.float32(sums.base)
        if sums.divisor != 1.0:
            out /= sums.divisor
            single /= np.float32(sums.divisor)
        if sums.single:
            out = float(single)
        if out >= sums.cut:
            weight += work.total[g]
    return weight
