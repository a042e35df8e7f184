"""Bounds of a node over all candidates, and the steps at which it can still be better."""

from __future__ import annotations

import numpy as np

from armin.compiling import called
from armin.solve.search.goals import Stairs
from armin.solve.search.relu.bounds import (
    add_own,
    bound_gains,
    bound_largest,
    bound_sum,
    gains,
    loosen_one,
    quantile,
    relax_one,
    sum_top,
)
from armin.solve.search.relu.boxes import widen
from armin.solve.search.relu.data import (
    BEST,
    LOOSE,
    VALUE,
    Aim,
    Crowd,
    Deep,
    Floats,
    Leaf,
    Moves,
    Net,
    Node,
    Own,
    Space,
)
from armin.solve.search.relu.deep import bound_layers, carry_back, loosen_deep
from armin.solve.search.relu.reach import gains_of_group, room_of

__all__ = ["bound_deep", "bound_one"]

TRIES = 4
"""Steps at either end that get a bound of their own."""


@called
def _keep_gains(work: Space, leaf: Leaf, g: int, need: float) -> None:
    """Keep the gains of all options under group g's slopes, and its need, for the listing of choices."""
    leaf.need[g] = need
    for j in range(work.gain.size):
        leaf.gain[g, j] = work.gain[j]
    if g == 0:
        for d in range(work.feature.shape[1]):
            leaf.ahead[0, d] = work.feature[BEST, d]


@called
def _each(
    moves: Moves, crowd: Crowd, work: Space, node: Node, left: int, floor: float, stop: float, first: int, last: int
) -> float:
    """Raise ``each[1]`` of some candidates, whose scores are at most offset + slope @ u, to what acceptance costs.

    The gains of the options are there. Candidate n needs slope @ u >= x = -offset[n] - tolerance. Every line (theta,
    Psi) drawn for the easiest of them bounds the others too: cost >= paid + theta x - Psi; beyond the most that can be
    gained it is infinite. Returns the need of the easiest.
    """
    need = np.inf
    for n in range(first, last):
        need = min(need, -work.offset[n] - crowd.tolerance)
    cost, most, lines = bound_gains(moves, node, work, left, need, floor, stop)
    for n in range(first, last):
        x = -work.offset[n] - crowd.tolerance
        y = np.inf
        if x <= most:
            y = cost if moves.largest else floor
            for i in range(lines):
                y = max(y, moves.paid + work.lines[i, 0] * x - work.lines[i, 1])
        work.each[1, n] = max(work.each[1, n], y)
    return need


@called
def _close_way(crowd: Crowd, each: Floats, q: int, first: int, last: int) -> None:
    """After the last margin of a way: the cheapest way counts."""
    if q + 1 == crowd.bias.size or crowd.way[q + 1] != crowd.way[q]:
        for n in range(first, last):
            each[0, n] = max(each[0, n], -each[1, n])


@called
def _open_way(crowd: Crowd, each: Floats, q: int, first: int, last: int, floor: float) -> None:
    """Before the first margin of a way: it costs at least the floor."""
    if q == 0 or crowd.way[q] != crowd.way[q - 1]:
        for n in range(first, last):
            each[1, n] = floor


@called
def _rank(values: Floats, weight: Floats, stairs: Stairs, work: Space, first: int, last: int) -> None:
    """For each step: the largest value that candidates of the weight it requires reach, and one that has it."""
    order, size = work.order, work.order.size
    gap = size // 2
    while gap > 0:
        for i in range(gap, size):
            n, j = order[i], i
            while j >= gap and values[order[j - gap]] < values[n]:
                order[j] = order[j - gap]
                j -= gap
            order[j] = n
        gap //= 2
    i, reached = 0, weight[order[0]]
    for step in range(first, last + 1):
        while reached < stairs.require[step] and i + 1 < size:
            i += 1
            reached += weight[order[i]]
        work.step[step], work.who[step] = values[order[i]], order[i]


@called
def _by_lines(moves: Moves, work: Space, lines: int, need: float) -> float:
    """The cost bound for a need that the lines drawn so far give."""
    most = -np.inf
    for i in range(lines):
        most = max(most, work.lines[i, 0] * need - work.lines[i, 1])
    return moves.paid + most


@called
def _steps_one(
    moves: Moves, stairs: Stairs, work: Space, node: Node, left: int, floor: float, first: int, last: int
) -> tuple[int, int, float]:
    """The steps at which a node can still be better, given the gain that each needs; and its least cost there."""
    gains(moves, node, work.slope, work.gain, work.feature[BEST])
    most, _ = sum_top(node, work.feature[BEST], left, work.chosen)
    while first <= last and work.step[last] > most:
        last -= 1
    bound, lines = floor, 0
    for end in range(2):  # the lowest step, then the highest
        tries = 0
        while first <= last:
            i = first if end == 0 else last
            cost = floor
            if lines > 0:
                cost = max(cost, _by_lines(moves, work, lines, work.step[i]))
            if cost < stairs.cost[i] and tries < TRIES:
                tries += 1
                if moves.largest:
                    cost = bound_largest(moves, node, work, left, work.step[i], floor, stairs.cost[i])
                else:
                    stop = stairs.cost[i] - moves.paid
                    more, lines = bound_sum(moves, node, work, left, work.step[i], stop, lines)
                    cost = max(cost, moves.paid + more)
            if cost < stairs.cost[i]:
                if end == 0:
                    bound = cost
                break
            if end == 0:
                first += 1
            else:
                last -= 1
    return first, last, bound


@called
def _steps_each(crowd: Crowd, stairs: Stairs, work: Space, first: int, last: int, cap: float) -> tuple[int, int, float]:
    """As :func:`_steps_one`, given what the acceptance of each candidate costs at least."""
    if first == last:
        cost, work.who[first] = quantile(work.each[0], crowd.weight, stairs.require[first], work.order)
        return first, last if -cost < cap else first - 1, -cost
    _rank(work.each[0], crowd.weight, stairs, work, first, last)
    while first <= last and -work.step[first] >= stairs.cost[first]:
        first += 1
    while first <= last and -work.step[last] >= stairs.cost[last]:
        last -= 1
    return first, last, -work.step[min(first, last)] if first <= last else np.inf


@called
def bound_one(
    tables: Net, stairs: Stairs, work: Space, leaf: Leaf, node: Node, critical: int, aim: Aim
) -> tuple[int, int, float, int]:
    """One hidden layer: first and last step at which a node can be better, its bound, the candidate that decides it.

    With one margin, s_n(u) <= offset_n + slope @ u with the same slope for all candidates: candidate n can be accepted
    only where slope @ u >= -offset_n, so weight k only where slope @ u >= -(the offset that candidates of weight k
    reach). With several margins each candidate gets a cost of its own: the largest over the margins of a way, the least
    over the ways; those of weight k that are cheapest bound the step.
    """
    moves, crowd, own, loose = tables.moves, tables.crowd, tables.own, work.feature[LOOSE]
    left, floor, first, last, cap = aim.left, aim.floor, aim.first, aim.last, aim.cap
    n_candidates = crowd.weight.size
    for n in range(n_candidates):
        work.each[0, n] = -np.inf
    widen(moves, own, critical, critical + 1, own.apart, work.wide)
    for q in range(crowd.bias.size):
        relax_one(crowd, own, work.box, q, critical, work.slope, work.gap, work.offset)
        add_own(moves, own, work.slope, work.offset, 0, n_candidates, loose)
        if crowd.bias.size == 1:
            break
        loosen_one(work.wide, work.gap, loose)
        _open_way(crowd, work.each, q, 0, n_candidates, floor)
        gains(moves, node, work.slope, work.gain, work.feature[BEST])
        _each(moves, crowd, work, node, left, floor, cap, 0, n_candidates)
        _close_way(crowd, work.each, q, 0, n_candidates)
    if crowd.bias.size > 1:
        first, last, bound = _steps_each(crowd, stairs, work, first, last, cap)
        return first, last, bound, work.who[first] if first <= last else 0
    if first == last:
        # only the candidate at the required weight matters
        score, who = quantile(work.offset, crowd.weight, stairs.require[first], work.order)
        work.step[first], work.who[first] = -score - crowd.tolerance, who
        gains(moves, node, work.slope, work.gain, work.feature[BEST])
        bound, _, _ = bound_gains(moves, node, work, left, work.step[first], floor, cap)
        if bound >= cap:
            last = first - 1
    else:
        _rank(work.offset, crowd.weight, stairs, work, first, last)
        for i in range(first, last + 1):
            work.step[i] = -work.step[i] - crowd.tolerance
        first, last, bound = _steps_one(moves, stairs, work, node, left, floor, first, last)
    if first > last:
        return first, last, np.inf, 0
    _keep_gains(work, leaf, 0, work.step[first])
    loosen_one(work.wide, work.gap, loose)
    return first, last, bound, work.who[first]


@called
def _offsets(crowd: Crowd, deep: Deep, own: Own, moves: Moves, work: Space, g: int, shift: float) -> None:
    """What the scores of group g are at most when nothing changes, given the slopes.

    Along a feature that moves each candidate on its own, all are where the group ends: options move them from there.
    """
    for n in range(deep.group[g], deep.group[g + 1]):
        x = shift
        for h in range(work.slope.size):
            x += work.slope[h] * crowd.base[h, n]
        work.offset[n] = x
    for o in range(own.feature.size):
        e, k = own.axis[o], 0.0
        if e < 0:
            continue
        for h in range(work.slope.size):
            k += moves.row[own.feature[o], h] * work.slope[h]
        end = max(k * deep.place[0, g, e], k * deep.place[1, g, e])
        for n in range(deep.group[g], deep.group[g + 1]):
            work.offset[n] += end - k * deep.spot[e, n]


@called
def _bound_group(tables: Net, deep: Deep, work: Space, leaf: Leaf, node: Node, aim: Aim, g: int) -> float:
    """Set ``each[0]`` of the candidates of group g to minus what acceptance costs, or the cap; returns the least cost.

    As :func:`bound_one` with several margins, with slopes of its own.
    """
    moves, crowd, own = tables.moves, tables.crowd, tables.own
    first, last, cap = deep.group[g], deep.group[g + 1], aim.cap
    bound_layers(moves, deep, own, work, node, aim.left, room_of(moves, aim.floor, cap), g)
    for n in range(first, last):
        work.each[0, n] = -np.inf
    for q in range(crowd.bias.size):
        for h in range(deep.width[-1]):
            deep.back[0, h] = crowd.margin[q, h]
        shift = crowd.bias[q] + carry_back(deep, deep.width.size - 1, work.slope, True)
        _offsets(crowd, deep, own, moves, work, g, shift)
        _open_way(crowd, work.each, q, first, last, aim.floor)
        gains_of_group(moves, deep.delta[:, g], node, work.slope, work.gain, work.feature[BEST], work.feature[VALUE])
        need = _each(moves, crowd, work, node, aim.left, aim.floor, cap, first, last)
        if q == 0:
            _keep_gains(work, leaf, g, need)
        if work.each[1, first] < cap:
            loosen_deep(deep, work.feature[LOOSE])
        _close_way(crowd, work.each, q, first, last)
    least = cap
    for n in range(first, last):
        work.each[0, n] = max(work.each[0, n], -cap)
        least = min(least, -work.each[0, n])
    return least


@called
def bound_deep(
    tables: Net, deep: Deep, stairs: Stairs, work: Space, leaf: Leaf, node: Node, told: Floats, critical: int,
    aim: Aim, trial: float, all_groups: bool,
) -> tuple[int, int, float, int]:  # fmt: skip
    """Several hidden layers, group by group of candidates: first and last step, the bound, a group that is in the way.

    Only choices that cost less than ``trial`` are looked at, so no bound is larger. Candidates after the last group
    get none (their cost is the floor). ``told`` is what acceptance in each group costs at least, here and in all that
    this node is a part of: what reaches the trial is not worked out again. Once the groups that cost too much outweigh
    what may be lost, the node is; and once the others are too many for that, it is to be split, whatever the rest
    says, unless ``all_groups`` are asked for.
    """
    crowd, floor, first_step, last_step = tables.crowd, aim.floor, aim.first, aim.last
    spare = crowd.total - stairs.require[first_step]
    n_groups, lost, open_ = deep.group.size - 1, 0.0, 0.0
    blocked, here = -1, Aim(aim.left, floor, first_step, last_step, trial)
    for n in range(crowd.weight.size):
        work.each[0, n] = -floor
        if n >= deep.group[-1]:
            open_ += crowd.weight[n]
    for i in range(n_groups):
        g = i
        if critical < n_groups and i <= critical:  # the group in the way comes first
            g = critical if i == 0 else i - 1
        if told[g] >= trial:
            leaf.need[g] = np.inf
            for n in range(deep.group[g], deep.group[g + 1]):
                work.each[0, n] = -trial
        else:
            told[g] = max(told[g], _bound_group(tables, deep, work, leaf, node, here, g))
        for n in range(deep.group[g], deep.group[g + 1]):
            if -work.each[0, n] >= trial:
                lost += crowd.weight[n]
            else:
                open_ += crowd.weight[n]
        if told[g] < trial and blocked < 0:
            blocked = g
        if lost > spare:
            return first_step, last_step, trial, max(blocked, 0)
        if first_step == last_step and open_ >= stairs.require[first_step] and not all_groups:
            break
    first_step, last_step, bound = _steps_each(crowd, stairs, work, first_step, last_step, aim.cap)
    if n_groups == 1:
        for i in range(first_step, last_step + 1):
            work.step[i] = leaf.need[0]
    return first_step, last_step, bound, max(blocked, 0)
