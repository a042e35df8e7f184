"""What a node can reach if all trees have to agree on what is spent, compiled.

In the plain bound every tree takes its best leaf, whatever must change for it. But few features may change, the budget
is spent once, and all trees see the same choice. Take the cheapest choice of the node as a reference: what changes
takes its cheapest option, what is open is kept. A leaf l *asks* for the set F(l) of features that must do more than
that, each at an extra cost e_d(l). Share its value over b_t, the best leaf of tree t that asks for nothing, among them
in any way, g_d(l) >= 0 with the sum v(l) - b_t. With

    m_t(d, E) = max { g_d(l) : l a leaf of t, d in F(l), e_d(l) <= E },     phi(d, E) = sum over trees t of m_t(d, E),

a choice that spends E_d on feature d beyond the reference has a score of at most b + sum over d of phi(d, E_d), since
its leaf in t asks for nothing or gains the sum of g_d(l) <= m_t(d, E_d). The E_d add up to less than the room that is
left, and at most k open features change: a knapsack, solved over ``PURSE`` levels of spending, rounded down.

Gains are shared in proportion to what a feature takes of the room and of the changes that are left.
"""

from __future__ import annotations

import numpy as np

from armin.arrays import FloatArray
from armin.compiling import called, inlined
from armin.solve.search.trees.data import (
    CHANGED,
    CHANGES,
    ENTRY,
    FEATURE,
    HEAD,
    NEXT,
    OPEN,
    PURSE,
    SLACK,
    START,
    TOUCHED,
    UNIONS,
    WAY,
    Node,
    State,
    Trees,
)
from armin.solve.search.words import lowest_bit

__all__ = ["hopes"]

_TINY = 1e-12


@called
def hopes(tables: Trees, state: State, node: Node, room: float) -> bool:  # pragma: no cover - compiled
    """Whether a node can be valid; where features are open, ``state.hope`` says which may be the next that changes.

    ``state.work`` holds the leaves that the node can reach, whatever open features do, ``state.reference`` what its
    cheapest choice pays for each feature. One of the unions must pass; the last ones have the highest scores.
    """
    shape, purse, n_rows = tables.shape, state.purse, tables.rows.shape[1]
    first, is_open, gain = node[NEXT], node[NEXT] < shape.common, state.gain[1]
    left = shape.limit - state.counter[CHANGES] - node[CHANGED] if is_open else 0
    for d in range(first, shape.common):
        state.hope[d] = False
    hopeless = True
    for u in range(UNIONS, -1, -1):
        _shares(tables, state, u if u < UNIONS else -1, left, room)
        if u == UNIONS:
            continue  # the trees in which candidates do not differ, once for all
        for r in range(n_rows):
            for k in range(left + 1):
                for e in range(PURSE):
                    purse[r, k, e] = 0.0
        hopeless = False
        # what changes already first; then what is open, the last one first; in the end nothing more
        for i in range(node[CHANGED] + shape.common - first + 1):
            d, change = -1, i >= node[CHANGED]
            if not change:
                d = node[HEAD + shape.local + ENTRY * i + FEATURE]
            elif i < node[CHANGED] + shape.common - first:
                d = shape.common - 1 - (i - node[CHANGED])
            if change and d >= 0:
                state.hope[d] |= _passes(tables, state, d, left)
                hopeless |= not state.hope[d]
            elif change and not is_open:
                hopeless = not _passes(tables, state, d, left)
            for r in range(n_rows):
                if d >= 0 and gain[r, d, PURSE - 1] > 0.0:
                    _pack(purse[r], gain[r, d], left, 1 if change else 0)
        if not hopeless:
            return True
    return bool(is_open)


@inlined
def _pack(purse: FloatArray, gain: FloatArray, left: int, change: int) -> None:  # pragma: no cover - compiled
    """Let a feature join the knapsack: ``purse[k, e]``, the most that k changes and a spending of e can gain."""
    for k in range(left, change - 1, -1):
        for e in range(PURSE - 1, -1, -1):
            most = purse[k, e]
            for x in range(e + 1):
                most = max(most, purse[k - change, e - x] + gain[x])
            purse[k, e] = most


@inlined
def _passes(tables: Trees, state: State, d: int, left: int) -> bool:  # pragma: no cover - compiled
    """Whether a union can pass if open feature d changes and what is in the knapsack follows (d = -1: nothing does)."""
    way, good, last = -1, False, max(left - 1, 0)
    for r in range(tables.rows.shape[1]):
        if tables.rows[WAY, r] != way:
            if good:
                return True
            way, good = tables.rows[WAY, r], True
        most = state.purse[r, last, PURSE - 1]
        if d >= 0:
            most = 0.0
            for x in range(PURSE):
                most = max(most, state.purse[r, last, PURSE - 1 - x] + state.gain[1, r, d, x])
        good = good and state.base[1, r] + most >= 0.0
    return good


@inlined
def _shares(tables: Trees, state: State, u: int, left: int, room: float) -> None:  # pragma: no cover - compiled
    """Fill ``state.gain[1]`` with phi for every row, feature and spending, and ``state.base[1]`` with b, for union u.

    With u = -1, only the trees in which candidates do not differ, in ``state.gain[0]`` and ``state.base[0]``.
    """
    shape, n_rows, to = tables.shape, tables.rows.shape[1], 0 if u < 0 else 1
    trees = shape.shared if u < 0 else shape.own
    for r in range(n_rows):
        # sums of floats may be off by a few units for each tree
        first = tables.rows[START, r] + tables.rows[SLACK, r] + 8 * (shape.shared + shape.own) + 64
        state.base[to, r] = first if u < 0 else state.base[0, r]
        for d in range(shape.common):
            if state.reference[d] < np.inf:
                for e in range(PURSE):
                    state.gain[to, r, d, e] = 0.0 if u < 0 else state.gain[0, r, d, e]
        at = r * shape.shared if u < 0 else n_rows * shape.shared + r * shape.own
        for v in range(at, at + trees):
            state.base[to, r] += _share(tables, state, v, u, left, room)
            for k in range(state.counter[TOUCHED]):
                d, most = state.touched[k], 0.0
                for e in range(PURSE):
                    most = max(most, state.share[d, e])
                    state.gain[to, r, d, e] += most


@inlined
def _share(tables: Trees, state: State, v: int, u: int, left: int, room: float) -> float:  # pragma: no cover - compiled
    """Fill ``state.share`` with the best shares of one tree by spending, for a union or (-1) everybody; returns b_t."""
    shape, values, owes, owes_cost, listed = tables.shape, tables.values, tables.owes, tables.owes_cost, state.listed
    work, mask, references, share, worth = state.work, state.mask, state.reference, state.share, state.worth
    count, touched, owes_at = state.counter, state.touched, tables.owes_at
    size, home, done, w, end = 0, 0.0, False, tables.part[v], tables.part[v + 1]
    while w < end and not done:  # leaves come by falling value: the first that asks for nothing is the last
        word = work[w]
        if u >= 0:
            word &= mask[u, w - shape.own_word]
        while word != 0 and not done:
            b = lowest_bit(word)
            word &= word - np.uint64(1)
            at = owes_at[w, b]
            whole, spent, changes = 0.0, 0.0, 0
            for e in range(at + 1, at + 1 + owes[at]):
                reference = references[owes[e]]
                more, part = _asked(owes_cost[e], reference, shape.is_max, left, room)
                whole += part
                spent += more
                changes += reference == OPEN
            home = float(values[w, b])
            if whole == 0.0:
                done = True
            elif changes <= left and spent * (1.0 - _TINY) < room:
                listed[size], worth[0, size], worth[1, size] = at, home, whole
                size += 1
        w += 1
    for k in range(count[TOUCHED]):
        for e in range(PURSE + 1):
            share[touched[k], e] = 0.0
    count[TOUCHED] = 0
    for i in range(size):
        at, gain = listed[i], (worth[0, i] - home) / worth[1, i]
        for e in range(at + 1, at + 1 + owes[at]):
            d = owes[e]
            more, part = _asked(owes_cost[e], references[d], shape.is_max, left, room)
            if part > 0.0:
                if share[d, PURSE] == 0.0:
                    share[d, PURSE] = 1.0
                    touched[count[TOUCHED]] = d
                    count[TOUCHED] += 1
                level = 0 if room == np.inf else min(PURSE - 1, int(more / room * PURSE * (1.0 - _TINY)))
                share[d, level] = max(share[d, level], gain * part)
    return home


@inlined
def _asked(
    cost: float, reference: float, is_max: bool, left: int, room: float
) -> tuple[float, float]:  # pragma: no cover - compiled
    """What a feature must spend beyond the reference, and its part in what a leaf asks for."""
    if reference == OPEN:
        more = 0.0 if is_max else cost
        return more, 1.0 / left + more / room
    more = cost - reference
    if is_max or more <= 0.0:
        return 0.0, 0.0
    return more, more / room
