"""Where the first layer can go in a node."""

from __future__ import annotations

import numpy as np

from armin.compiling import called, called_fast
from armin.solve.search.relu.data import FREE, HIGH, KEPT, LOW, MUST, STATE, Crowd, Floats, Moves, Node, Own

__all__ = ["box", "place_own", "shrink", "widen"]


@called
def shrink(moves: Moves, node: Node, cheapest: Floats, incumbent: float) -> tuple[float, int]:
    """Drop options that are too dear beside the others; the least cost (-1 if nothing remains) and the changes left.

    What must change costs at least the sum of the cheapest, the floor. An option of feature d is too dear if it costs
    incumbent - floor or more (plus the cheapest of d, if d must change and is in the floor).
    """
    floor = moves.paid
    left = moves.limit
    for d in range(node.shape[1]):
        if node[STATE, d] == MUST:
            least = np.inf
            for j in range(node[LOW, d], node[HIGH, d]):
                least = min(least, moves.cost[j])
            cheapest[d] = least
            left -= 1
            floor = max(floor, least) if moves.largest else floor + least
    if left < 0 or not floor < incumbent:
        return -1.0, 0
    for d in range(node.shape[1]):
        if node[STATE, d] == FREE and left == 0:
            node[STATE, d] = KEPT
        if node[STATE, d] == KEPT:
            continue
        room = incumbent
        if not moves.largest:
            room = incumbent - floor
            if node[STATE, d] == MUST:
                room += cheapest[d]
        a, b = node[LOW, d], node[HIGH, d]
        while a < b and moves.cost[a] >= room:
            a += 1
        while a < b and moves.cost[b - 1] >= room:
            b -= 1
        node[LOW, d], node[HIGH, d] = a, b
        if a == b:
            if node[STATE, d] == MUST:
                return -1.0, 0
            node[STATE, d] = KEPT
    return floor, left


@called_fast
def _ends(moves: Moves, d: int, low: int, high: int, least: Floats, most: Floats) -> None:
    """The least and the most that the options ``low .. high - 1`` of feature d add to each neuron."""
    if moves.line[d]:
        x, y = moves.delta[low], moves.delta[high - 1]
        for h in range(least.size):
            p, q = x * moves.row[d, h], y * moves.row[d, h]
            least[h] = p if p < q else q
            most[h] = q if p < q else p
        return
    for h in range(least.size):
        least[h] = moves.move[low, h]
        most[h] = least[h]
    for j in range(low + 1, high):
        for h in range(least.size):
            p = moves.move[j, h]
            least[h] = p if p < least[h] else least[h]
            most[h] = p if p > most[h] else most[h]


@called_fast
def box(moves: Moves, node: Node, left: int, u: Floats, wide: Floats, top: Floats) -> None:
    """Bounds on u = sum of U_d[j_d]: all that must change, and the ``left`` largest of what may.

    For each neuron on its own: u_h <= sum over MUST of max_j U_d[j]_h + the ``left`` largest of max(0, max_j U_d[j]_h)
    over FREE, and the same from below. ``top`` keeps the largest so far, in order.
    """
    neurons = u.shape[1]
    n_free = 0
    for d in range(node.shape[1]):
        if node[STATE, d] == FREE:
            n_free += 1
    keep = min(left, n_free)
    last = top.shape[1] - 1
    for h in range(neurons):
        u[0, h] = 0.0
        u[1, h] = 0.0
    for i in range(keep):
        for h in range(neurons):
            top[0, i, h] = 0.0
            top[1, i, h] = 0.0
    least, most = top[0, last], top[1, last]
    for d in range(node.shape[1]):
        if node[STATE, d] == KEPT:
            continue
        _ends(moves, d, node[LOW, d], node[HIGH, d], least, most)
        if node[STATE, d] == FREE:
            for h in range(neurons):
                least[h] = least[h] if least[h] < 0.0 else 0.0
                most[h] = most[h] if most[h] > 0.0 else 0.0
        for h in range(neurons):
            wide[d, h] = most[h] - least[h]
        if node[STATE, d] == MUST or keep == n_free:
            for h in range(neurons):
                u[0, h] += least[h]
                u[1, h] += most[h]
            continue
        for i in range(keep):
            for h in range(neurons):
                p, q = top[0, i, h], least[h]
                top[0, i, h] = q if q < p else p
                least[h] = p if q < p else q
                p, q = top[1, i, h], most[h]
                top[1, i, h] = q if q > p else p
                most[h] = p if q > p else q
    if keep < n_free:
        for i in range(keep):
            for h in range(neurons):
                u[0, h] += top[0, i, h]
                u[1, h] += top[1, i, h]


@called_fast
def place_own(moves: Moves, crowd: Crowd, own: Own, node: Node) -> None:
    """Where the options of the node leave each candidate before all move by u: ``own.span``, ``low`` and ``high``.

    Nothing else of a node depends on the candidate: a feature that moves each on its own adds nothing to u.
    """
    neurons, n_candidates = crowd.base.shape
    if own.feature.size == 0:
        return
    for h in range(neurons):
        for n in range(n_candidates):
            own.low[h, n] = crowd.base[h, n]
            own.high[h, n] = crowd.base[h, n]
    for o in range(own.feature.size):
        d = own.feature[o]
        least, most = own.span[0, o], own.span[1, o]
        if node[STATE, d] == KEPT:
            for n in range(n_candidates):
                least[n] = 0.0
                most[n] = 0.0
            continue
        at = own.start[o] - moves.start[d]
        first, last = at + node[LOW, d], at + node[HIGH, d] - 1
        for n in range(n_candidates):
            least[n] = own.move[first, n]
            most[n] = own.move[last, n]
        if node[STATE, d] == FREE:
            for n in range(n_candidates):
                least[n] = least[n] if least[n] < 0.0 else 0.0
                most[n] = most[n] if most[n] > 0.0 else 0.0
        for h in range(neurons):
            r = moves.row[d, h]
            if r > 0.0:
                for n in range(n_candidates):
                    own.low[h, n] += r * least[n]
                    own.high[h, n] += r * most[n]
            elif r < 0.0:
                for n in range(n_candidates):
                    own.low[h, n] += r * most[n]
                    own.high[h, n] += r * least[n]


@called
def widen(moves: Moves, own: Own, first: int, last: int, apart: Floats, wide: Floats) -> None:
    """How far the node's options move some candidates apart, feature by feature, and each of their neurons."""
    for o in range(own.feature.size):
        d = own.feature[o]
        most = 0.0
        for n in range(first, last):
            most = max(most, own.span[1, o, n] - own.span[0, o, n])
        apart[d] = most
        for h in range(wide.shape[1]):
            wide[d, h] = abs(moves.row[d, h]) * most
