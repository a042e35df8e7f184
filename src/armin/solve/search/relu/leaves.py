"""Listing the choices of a small node."""

from __future__ import annotations

import numpy as np

from armin.compiling import called, called_fast
from armin.solve.search.goals import Bans, Stairs
from armin.solve.search.relu.data import (
    BLOCK,
    FREE,
    HIGH,
    LOW,
    MUST,
    STATE,
    Aim,
    Crowd,
    Deep,
    Floats,
    Ints,
    Leaf,
    Moves,
    Names,
    Net,
    Node,
    Space,
)
from armin.solve.search.relu.deep import carry_forward
from armin.solve.search.words import Bits, add_bit, price_of

__all__ = ["list_choices", "mark_changed", "number_of_choices", "step_above"]


@called_fast
def _score(
    crowd: Crowd, deep: Deep | None, base: Floats, q: int, u: Floats, first: int, last: int, now: int, score: Floats
) -> None:
    """Margin q of the candidates ``first .. last - 1`` at u."""
    count = last - first
    for n in range(count):
        score[n] = crowd.bias[q]
    for h in range(crowd.margin.shape[1]):
        v = crowd.margin[q, h]
        if deep is not None:
            for n in range(count):
                score[n] += v * deep.layer[now, h, n]
        else:
            a = u[h]
            for n in range(count):
                x = base[h, first + n] + a
                score[n] += v * (x if x > 0.0 else 0.0)


@called
def _accepted(
    crowd: Crowd, deep: Deep | None, base: Floats, u: Floats, required: float, score: Floats, alive: Ints
) -> float:
    """The weight accepted at base + u, within the tolerance; -1 if less than ``required``."""
    n_candidates, n_margins = crowd.weight.size, crowd.bias.size
    spare, lost, now = crowd.total - required, 0.0, 0
    for first in range(0, n_candidates, BLOCK):
        last = min(n_candidates, first + BLOCK)
        count = last - first
        if deep is not None:
            now = carry_forward(deep, base, u, first, last)
        for n in range(count):
            alive[n] = 0
        for q in range(n_margins):
            if q == 0 or crowd.way[q] != crowd.way[q - 1]:
                for n in range(count):
                    alive[n] |= 2  # may be accepted this way
            _score(crowd, deep, base, q, u, first, last, now, score)
            for n in range(count):
                if score[n] < -crowd.tolerance:
                    alive[n] &= 1
            if q + 1 == n_margins or crowd.way[q + 1] != crowd.way[q]:
                for n in range(count):
                    alive[n] = 1 if alive[n] else 0
        for n in range(count):
            if alive[n] == 0:
                lost += crowd.weight[first + n]
        if lost > spare:
            return -1.0
    return crowd.total - lost


@called
def mark_changed(choice: Ints, changed: Bits) -> None:
    """The set of features in which ``choice`` is not "keep", as bits."""
    for w in range(changed.size):
        changed[w] = 0
    for d in range(choice.size):
        if choice[d] != 0:
            add_bit(changed, d)


@called
def _allowed(words: Names, choice: Ints) -> bool:
    """Whether no rule and no list forbids ``choice``."""
    for i in range(words.rule.shape[0]):
        first, second, at, width = words.rule[i, 0], words.rule[i, 1], words.rule[i, 2], words.rule[i, 3]
        if not words.table[at + choice[first] * width + choice[second]]:
            return False
    for i in range(words.forbidden.shape[0]):
        same = True
        for d in range(choice.size):
            if words.forbidden[i, d] != choice[d]:
                same = False
                break
        if same:
            return False
    return True


@called
def _test(
    tables: Net,
    deep: Deep | None,
    stairs: Stairs,
    bans: Bans,
    leaf: Leaf,
    depth: int,
    cost: float,
    required: float,
    n_groups: int,
    n_found: int,
) -> tuple[float, int]:
    """The weight that the choice taken so far reaches if it is better than all found, else -1; and how many there are.

    It joins them, in the place of one that it beats. With groups, sum_i gain_g[j_i] < need_g says that no candidate of
    group g is accepted, before any score is computed.
    """
    crowd, words = tables.crowd, tables.words
    choice = leaf.choice[0]
    for d in range(choice.size):
        choice[d] = words.fixed[d]
    for i in range(depth):
        choice[words.slot[leaf.sequence[leaf.taken[0, i]]]] = words.option[leaf.taken[1, i]]
    if bans.price.size > 0:
        mark_changed(choice, leaf.changed)
        if cost >= price_of(bans, leaf.changed, True):
            return -1.0, n_found
    if deep is not None:
        lost = 0.0
        for g in range(n_groups):
            gain = 0.0
            for i in range(depth):
                gain += leaf.gain[g, leaf.taken[1, i]]
            if gain < leaf.need[g]:
                for n in range(deep.group[g], deep.group[g + 1]):
                    lost += crowd.weight[n]
        if lost > crowd.total - required:
            return -1.0, n_found
    weight = _accepted(crowd, deep, tables.own.low, leaf.u[depth], required, leaf.score, leaf.alive)
    if weight < 0.0:
        return -1.0, n_found
    weight = min(weight, stairs.top[-1])
    place = n_found
    for i in range(n_found):
        if leaf.found[0, i] <= cost and leaf.found[1, i] >= weight:
            return -1.0, n_found
        if leaf.found[0, i] >= cost and leaf.found[1, i] <= weight:
            place = i
    if not _allowed(words, choice):
        return -1.0, n_found
    for d in range(choice.size):
        leaf.choice[1 + place, d] = choice[d]
    leaf.found[0, place], leaf.found[1, place] = cost, weight
    return weight, max(n_found, place + 1)


@called
def step_above(cost: Floats, x: float, first: int, last: int) -> int:
    """The first step in ``first .. last`` that costs more than x; ``last + 1`` if none."""
    while first <= last:
        middle = (first + last) // 2
        if cost[middle] > x:
            last = middle - 1
        else:
            first = middle + 1
    return first


@called
def number_of_choices(node: Node, left: int, sums: Floats) -> float:
    """How many choices a node holds.

    The product of the sizes n_d of what must change, times e_0 + ... + e_left, where e_k, the elementary symmetric sum
    of the sizes of what may change, counts the ways to change k of them.
    """
    product = 1.0
    for i in range(left + 1):
        sums[i] = 0.0
    sums[0] = 1.0
    for d in range(node.shape[1]):
        size = node[HIGH, d] - node[LOW, d]
        if node[STATE, d] == MUST:
            product *= size
        elif node[STATE, d] == FREE:
            for i in range(left, 0, -1):
                sums[i] += sums[i - 1] * size
    total = 0.0
    for i in range(left + 1):
        total += sums[i]
    return product * total


@called
def _arrange(moves: Moves, leaf: Leaf, node: Node, left: int) -> tuple[int, int, float]:
    """Put what must change first, and note what the later features can still gain and must still cost."""
    sequence, best, more_gain, more_cost = leaf.sequence, leaf.ahead[0], leaf.ahead[1], leaf.ahead[2]
    size, n_must = 0, 0
    for d in range(node.shape[1]):
        if node[STATE, d] == MUST:
            sequence[n_must] = d
            n_must += 1
    size = n_must
    for d in range(node.shape[1]):
        if node[STATE, d] == FREE:
            sequence[size] = d
            size += 1
    more_gain[size] = 0.0
    for i in range(size - 1, n_must - 1, -1):
        more_gain[i] = max(more_gain[i + 1], best[sequence[i]])
    free_gain = left * more_gain[n_must]
    gain, cost = free_gain, 0.0
    for i in range(n_must - 1, -1, -1):
        least = np.inf
        for j in range(node[LOW, sequence[i]], node[HIGH, sequence[i]]):
            least = min(least, moves.cost[j])
        gain += best[sequence[i]]
        cost = max(cost, least) if moves.largest else cost + least
        more_gain[i], more_cost[i] = gain, cost
    more_cost[n_must] = 0.0
    return n_must, size, free_gain


@called
def list_choices(
    tables: Net,
    deep: Deep | None,
    stairs: Stairs,
    bans: Bans,
    work: Space,
    leaf: Leaf,
    node: Node,
    aim: Aim,
    n_groups: int,
) -> tuple[int, int]:
    """List the choices of a node that are better at one of the steps ``first .. last``, and cost less than ``cap``.

    All features that move candidates on their own are decided, so that ``own.low`` is where the others start from.

    They go to ``leaf.choice[1:]``; returns their number, and how many were scored. Options are taken level by level,
    what must change first. With one group, a partial choice is left where what it gained and the most that can follow
    is less than the step needs (``leaf.gain``, ``work.step``: the bound s_n(u) <= offset_n + slope @ u is linear in
    the options, so gains add up); with more, ``leaf.need`` rules out whole choices; with none, they say nothing.
    """
    moves, left, first, last, cap = tables.moves, aim.left, aim.first, aim.last, aim.cap
    n_must, size, free_gain = _arrange(moves, leaf, node, left)
    at, taken, paid, got, more_gain = leaf.taken[0], leaf.taken[1], leaf.got[0], leaf.got[1], leaf.ahead[1]
    deepest, n_found, scored = n_must + left, 0, 0
    neurons = leaf.u.shape[1]
    for h in range(neurons):
        leaf.u[0, h] = 0.0
    paid[0], got[0] = moves.paid, 0.0
    level = -1
    if size > 0 and deepest > 0:
        level = 0
        at[0], taken[0] = 0, node[LOW, leaf.sequence[0]]
    start = n_must == 0  # whether to ask about the choice that changes nothing more
    while start or level >= 0:
        done, following, cost, gain = 0, 0, moves.paid, 0.0
        rest_cost, rest_gain = 0.0, 0.0
        if not start:
            if taken[level] == node[HIGH, leaf.sequence[at[level]]]:
                at[level] += 1
                if level >= n_must and at[level] < size:
                    taken[level] = node[LOW, leaf.sequence[at[level]]]
                else:
                    level -= 1
                    if level >= 0:
                        taken[level] += 1
                continue
            j, done, following = taken[level], level + 1, level + 1
            cost = max(paid[level], moves.cost[j]) if moves.largest else paid[level] + moves.cost[j]
            gain = got[level] + leaf.gain[0, j]
            rest_gain = free_gain
            if done < n_must:
                rest_cost, rest_gain = leaf.ahead[2, done], more_gain[done]
            elif done > n_must:
                following = at[level] + 1
                rest_gain = (deepest - done) * more_gain[following]
            least = max(cost, rest_cost) if moves.largest else cost + rest_cost
            i = step_above(stairs.cost, least, first, last)
            if i > last or least >= cap or (n_groups == 1 and gain + rest_gain < work.step[i]):
                taken[level] += 1
                continue
            for h in range(neurons):
                leaf.u[done, h] = leaf.u[level, h] + moves.move[j, h]
            paid[done], got[done] = cost, gain
        if done >= n_must:
            i = step_above(stairs.cost, cost, first, last)
            if i <= last and cost < cap and (n_groups != 1 or gain >= work.step[i]):
                scored += 1
                weight, n_found = _test(
                    tables, deep, stairs, bans, leaf, done, cost, stairs.require[i], n_groups, n_found
                )
                if weight >= 0.0:
                    if weight >= stairs.top[last]:
                        cap = cost
                    if n_found == leaf.found.shape[1]:
                        return n_found, scored
        if start:
            start = False
        elif done < deepest and following < size:
            level = done
            at[level], taken[level] = following, node[LOW, leaf.sequence[following]]
        else:
            taken[level] += 1
    return n_found, scored
