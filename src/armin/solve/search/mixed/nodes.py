"""The nodes of the search over a mixture, compiled: those of the search over trees, with the bound of mixtures."""

from __future__ import annotations

import numpy as np

from armin.compiling import called, entry_bare
from armin.solve.search.goals import Bans, Stairs
from armin.solve.search.mixed.bound import add_lines, add_own, enough, total_of
from armin.solve.search.mixed.data import Mix, MixState
from armin.solve.search.trees.bound import and_kept, needed
from armin.solve.search.trees.context import group, pick_options
from armin.solve.search.trees.data import (
    ALL,
    CAP,
    CHANGED,
    CHANGES,
    CONTEXT,
    ENTERED,
    GROUPS,
    HEAD,
    KIND,
    MASK,
    NEXT,
    NODES,
    PROVED,
    TOP,
    UNIONS,
    Node,
    State,
    Trees,
)
from armin.solve.search.trees.nodes import BOX, PICK, SET, extend, halve, least_cost, open_rest, price_at, restrict
from armin.solve.search.words import any_number, copy_into, lowest_bit, sort_by

__all__ = ["explore"]


@called
def _enter(
    tables: Trees, state: State, mix: Mix, mixed: MixState, stairs: Stairs, chosen: Node
) -> None:  # pragma: no cover - compiled
    """Enter a context: the groups that the chosen local options leave, those with low sums first.

    The first groups that together outweigh what may fail are joined into ``UNIONS`` unions: one of them must pass.
    """
    groups = group(
        tables.weight, tables.local_part, tables.local_cell, chosen, state.slot, state.key, state.first, state.total
    )
    shape, work, terms = tables.shape, state.work, mix.start.size
    width = work.size - shape.own_word
    copy_into(tables.masks[ALL], work)
    and_kept(tables, work, any_number(0), shape.common)
    for m in range(terms):
        mixed.score[m] = mix.start[m]
    for v in range(shape.shared):
        w = tables.part[v]
        while work[w] == 0:
            w += 1
        mixed.score[mix.term[v]] += mix.value[w, lowest_bit(work[w])]
    for g in range(groups):
        for i in range(width):
            state.masks[g, i] = ~np.uint64(0)
        for m in range(terms):
            mixed.bases[g, m] = 0.0
        for f in range(shape.local):
            row = tables.local_part[f, MASK] + tables.local_cell[f, chosen[f], state.first[g]]
            for i in range(width):
                state.masks[g, i] &= tables.cell_masks[row, i]
            for m in range(terms):
                mixed.bases[g, m] += mix.local[row, m]
        copy_into(state.masks[g], state.mask[UNIONS])
        copy_into(mixed.bases[g], mixed.base[UNIONS])
        add_own(tables, state, mix, mixed, any_number(UNIONS))
        state.score[g], state.rank[g] = total_of(mix, mixed.own), g
    sort_by(state.rank[:groups], state.score)
    for g in range(groups):
        state.weight[g] = state.total[state.rank[g]]
        copy_into(state.masks[state.rank[g]], state.mask[UNIONS + g])
        copy_into(mixed.bases[state.rank[g]], mixed.base[UNIONS + g])
    need = needed(stairs, max(state.number[CONTEXT], state.number[PROVED]))
    spare, end = shape.total - need, 0
    while end < groups and spare >= 0:
        spare -= state.weight[end]
        end += 1
    for u in range(UNIONS):
        low, high = u * end // UNIONS, max((u + 1) * end // UNIONS, u * end // UNIONS + 1)
        for i in range(width):
            word = np.uint64(0)
            for g in range(low, high):
                word |= state.mask[UNIONS + g, i]
            state.mask[u, i] = word
        for m in range(terms):
            most = -np.inf
            for g in range(low, high):
                most = max(most, mixed.base[UNIONS + g, m])
            mixed.base[u, m] = most
    state.counter[GROUPS] = groups
    state.counter[ENTERED] += groups


@entry_bare
def explore(
    tables: Trees, state: State, mix: Mix, mixed: MixState, stairs: Stairs, bans: Bans, node: Node, nodes: int
) -> bool:  # pragma: no cover - compiled
    """Visit at most ``nodes`` nodes; true when ``node`` is a single choice that may well be valid."""
    shape, stack, count, number = tables.shape, state.stack, state.counter, state.number
    end = count[NODES] + nodes
    while count[TOP] > 0 and count[NODES] < end:
        count[TOP] -= 1
        count[NODES] += 1
        copy_into(stack[count[TOP]], node)
        if node[KIND] == PICK:
            if not pick_options(tables, state, node):
                continue
            _enter(tables, state, mix, mixed, stairs, node[HEAD:])
            node[KIND], node[NEXT], node[CHANGED] = SET, 0, 0
        cap = min(number[CAP], price_at(tables, state, bans, node, node[KIND] == BOX))
        cost = least_cost(tables, node, number[CONTEXT])
        if cost >= cap:
            continue
        need = needed(stairs, max(cost, number[PROVED]))
        grows = node[KIND] == SET and node[NEXT] < shape.common and count[CHANGES] + node[CHANGED] < shape.limit
        while True:  # a set that may grow; then, and otherwise, the set as it is
            if not grows:
                cap = min(cap, price_at(tables, state, bans, node, np.bool_(True)))
                if cost >= cap:
                    break
                node[KIND], node[NEXT] = BOX, shape.common
            pick = restrict(tables, state, node, cost, cap)
            if pick < 0:
                break
            if grows:
                open_rest(tables, state, node, cost, cap)
            add_lines(tables, state, mix, mixed, node, cost, cap, grows)
            if not enough(tables, state, mix, mixed, need):
                break
            if not grows:
                if pick == 0:
                    return True
                halve(tables, state, node, pick)
                break
            for d in range(node[NEXT], shape.common):
                state.hope[d] = True
            extend(tables, state, node, cost, cap)
            grows = False
    return False
