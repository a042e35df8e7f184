"""Bounds of a node: a linear bound on the scores, and what it costs to meet it.

With s_n(u) <= offset_n + slope @ u and u = sum of U_d[j_d], option j of feature d gains slope @ U_d[j], and a candidate
is accepted only if the gains add up to its need, -offset_n. The least cost of that is a multiple-choice knapsack, and
Lagrange's bound on it is, for every theta >= 0, theta * need - Psi(theta).
"""

from __future__ import annotations

import numpy as np

from armin.compiling import called, called_fast
from armin.solve.search.relu.data import (
    BEST,
    FREE,
    HIGH,
    KEPT,
    LOW,
    MUST,
    REACH,
    STATE,
    VALUE,
    Crowd,
    Floats,
    Ints,
    Moves,
    Node,
    Own,
    Space,
)

__all__ = [
    "add_own",
    "bound_gains",
    "bound_largest",
    "bound_sum",
    "gains",
    "loosen_one",
    "quantile",
    "relax_one",
    "sum_top",
]

INFINITE = 1e300


@called_fast
def relax_one(
    crowd: Crowd, own: Own, u: Floats, q: int, critical: int, slope: Floats, gaps: Floats, offset: Floats
) -> None:
    """For one hidden layer: s_n(u) <= offset[n] + slope @ (u + own move of n) in the whole box, for every candidate n.

    The slopes are those of the critical candidate's chords; the offsets are exact for each candidate:
    the largest of relu(z) - s z (the least where the weight is negative) on its own interval [x, y]. That function is
    convex, so its largest value is at an end: max(relu(x) - s x, relu(y) - s y). Its least value is at 0, or at the end
    next to 0: max(0, (1 - s) x, -s y). As z = F_n + u, the part s F_n goes into the offset. Any slopes give a bound.
    ``gaps`` say how much of the bound is lost per unit of the width of a neuron's interval.
    """
    base = crowd.base
    neurons, n_candidates = base.shape
    for n in range(n_candidates):
        offset[n] = crowd.bias[q]
    for h in range(neurons):
        v, a, b = crowd.margin[q, h], u[0, h], u[1, h]
        low, high = own.low[h, critical] + a, own.high[h, critical] + b
        gap = 0.0
        if low >= 0.0:
            s = 1.0
        elif high <= 0.0:
            s = 0.0
        elif v > 0.0:
            s = high / (high - low)
            gap = -v * low * s / (high - low)
        else:
            s = 1.0 if high > -low else 0.0
            gap = -v * min(high, -low) / (high - low)
        slope[h] = v * s
        gaps[h] = gap
        if v > 0.0:
            for n in range(n_candidates):
                f = base[h, n]
                x, y = own.low[h, n] + a, own.high[h, n] + b
                p = (x if x > 0.0 else 0.0) - s * x
                r = (y if y > 0.0 else 0.0) - s * y
                offset[n] += v * ((p if p > r else r) + s * f)
        elif v < 0.0:
            for n in range(n_candidates):
                f = base[h, n]
                p = (1.0 - s) * (own.low[h, n] + a)
                r = -s * (own.high[h, n] + b)
                p = p if p > r else r
                offset[n] += v * ((p if p > 0.0 else 0.0) + s * f)


@called_fast
def add_own(moves: Moves, own: Own, slope: Floats, offset: Floats, first: int, last: int, loose: Floats) -> None:
    """Add to the offsets of some candidates the most that slope @ (own move) can be in the node.

    The cost of such a feature counts elsewhere, so its best option is free here: that loosens the bound, too.
    """
    for o in range(own.feature.size):
        d, k, loss = own.feature[o], 0.0, 0.0
        for h in range(slope.size):
            k += moves.row[d, h] * slope[h]
        for n in range(first, last):
            p, r = k * own.span[0, o, n], k * own.span[1, o, n]
            offset[n] += p if p > r else r
            loss += abs(r - p)
        loose[d] += loss / (last - first)


@called
def loosen_one(wide: Floats, gaps: Floats, loose: Floats) -> None:
    """Add to ``loose`` how much of the gaps each feature answers for: its share of the width of each neuron's interval.

    Only the order of the search depends on it.
    """
    for h in range(gaps.size):
        if gaps[h] > 0.0:
            for d in range(loose.size):
                loose[d] += gaps[h] * wide[d, h]


@called
def quantile(values: Floats, weight: Floats, required: float, order: Ints) -> tuple[float, int]:
    """The largest value that candidates of the required weight reach, and one that has it.

    The weighted order statistic, by quickselect: split what is left into above, equal and below a pivot, and go on in
    the part in which the weight, added from the top, passes ``required``.
    """
    first, last, reached = 0, values.size, 0.0
    while True:
        pivot = values[order[(first + last) // 2]]
        i, j, k = first, first, last  # order[first:i] above, order[i:j] equal, order[k:last] below
        above, equal = 0.0, 0.0
        while j < k:
            n = order[j]
            x = values[n]
            if x > pivot:
                above += weight[n]
                order[j] = order[i]
                order[i] = n
                i += 1
                j += 1
            elif x < pivot:
                k -= 1
                order[j] = order[k]
                order[k] = n
            else:
                equal += weight[n]
                j += 1
        if reached + above >= required:
            last = i
        elif reached + above + equal >= required or k == last:
            return pivot, order[i]
        else:
            reached += above + equal
            first = k


@called_fast
def gains(moves: Moves, node: Node, slope: Floats, gain: Floats, best: Floats) -> None:
    """What each option adds under the slopes, and the best of each feature.

    gain_j = slope @ U_d[j]; along a line U_d[j] = delta_j row_d it is (slope @ row_d) delta_j, largest at an end.
    """
    for d in range(node.shape[1]):
        if node[STATE, d] == KEPT:
            continue
        low, high = node[LOW, d], node[HIGH, d]
        if moves.line[d]:
            k = 0.0
            for h in range(slope.size):
                k += moves.row[d, h] * slope[h]
            for j in range(low, high):
                gain[j] = k * moves.delta[j]
            best[d] = max(gain[low], gain[high - 1])
        else:
            most = -INFINITE
            for j in range(low, high):
                k = 0.0
                for h in range(slope.size):
                    k += moves.move[j, h] * slope[h]
                gain[j] = k
                most = max(most, k)
            best[d] = most


@called
def sum_top(node: Node, value: Floats, left: int, chosen: Ints) -> tuple[float, int]:
    """The values of all that must change and the ``left`` largest positive ones of what may; those are ``chosen``."""
    total = 0.0
    size = 0
    for d in range(value.size):
        if node[STATE, d] == MUST:
            total += value[d]
        elif node[STATE, d] == FREE and value[d] > 0.0:
            if size < left:
                i = size
                size += 1
            elif size > 0 and value[d] > value[chosen[size - 1]]:
                i = size - 1
            else:
                continue
            while i > 0 and value[chosen[i - 1]] < value[d]:
                chosen[i] = chosen[i - 1]
                i -= 1
            chosen[i] = d
    for i in range(size):
        total += value[chosen[i]]
    return total, size


@called_fast
def _psi(moves: Moves, node: Node, work: Space, left: int, theta: float) -> tuple[float, float]:
    """Psi(theta) = max of theta * gain - cost over the relaxed choices, and the gain where it is taken.

    Features are independent but for the number of changes, so each takes its own best option, and of what may change
    the ``left`` largest positive values count. The gain is the slope of Psi at theta.
    """
    value, reach = work.feature[VALUE], work.feature[REACH]
    for d in range(value.size):
        if node[STATE, d] == KEPT:
            continue
        most, arg = -INFINITE, 0.0
        for j in range(node[LOW, d], node[HIGH, d]):
            x = theta * work.gain[j] - moves.cost[j]
            if x > most:
                most, arg = x, work.gain[j]
        value[d], reach[d] = most, arg
    total, size = sum_top(node, value, left, work.chosen)
    got = 0.0
    for d in range(value.size):
        if node[STATE, d] == MUST:
            got += reach[d]
    for i in range(size):
        got += reach[work.chosen[i]]
    return total, got


@called
def bound_sum(
    moves: Moves, node: Node, work: Space, left: int, need: float, stop: float, lines: int
) -> tuple[float, int]:
    """Least sum of costs that can gain ``need``: the largest theta * need - Psi(theta); and the number of lines drawn.

    For a choice with gain >= need, cost >= cost - theta (gain - need) >= theta * need - Psi(theta). That is concave in
    theta with slope need - gain: theta grows while the gain is too small; between a theta that is too small and one
    that is too large, the next one is where the tangents meet. A line (theta, Psi(theta)) bounds the cost for every
    other need too; ``lines`` are there already. Stops at a bound of ``stop``.
    """
    theta, step, last = 0.0, lines, min(lines + 32, work.lines.shape[0])
    left_theta, left_psi, left_gain = 0.0, 0.0, 0.0
    right_theta, right_psi, right_gain = np.inf, 0.0, 0.0
    bound = -np.inf
    while step < last:
        psi, got = _psi(moves, node, work, left, theta)
        work.lines[step, 0], work.lines[step, 1] = theta, psi
        step += 1
        bound = max(bound, theta * need - psi)
        if bound >= stop or (theta == 0.0 and got >= need):
            break
        if got >= need:
            right_theta, right_psi, right_gain = theta, psi, got
        else:
            left_theta, left_psi, left_gain = theta, psi, got
        if right_theta == np.inf:
            guess = stop if stop < INFINITE else 1.0
            theta = 4.0 * theta if theta > 0.0 else 2.0 * guess / (need - got)
            if not theta < 1e12:
                break
            continue
        # where the tangents at both ends meet
        rise = right_gain - left_gain
        if not rise > 0.0:
            break
        theta = (left_psi - left_gain * left_theta - right_psi + right_gain * right_theta) / rise
        peak = theta * (need - left_gain) + left_theta * left_gain - left_psi
        if not left_theta < theta < right_theta or peak <= bound + 1e-3 * abs(bound):
            break
    return bound, step


@called
def bound_largest(moves: Moves, node: Node, work: Space, left: int, need: float, floor: float, stop: float) -> float:
    """Least maximum of costs that can gain ``need``.

    Bisection on what an option may cost: the most that can be gained rises with it. Returns an end at which the need
    is not yet met, which no valid choice undercuts.
    """
    below, above = floor, stop
    value = work.feature[VALUE]
    for step in range(18):
        if step == 0:
            allowed = floor
        elif above < INFINITE:
            allowed = 0.5 * (below + above)
        else:
            allowed = 2.0 * below + 1.0
        for d in range(value.size):
            if node[STATE, d] == KEPT:
                continue
            most = -INFINITE
            for j in range(node[LOW, d], node[HIGH, d]):
                if moves.cost[j] <= allowed and work.gain[j] > most:
                    most = work.gain[j]
            value[d] = most
        total, _ = sum_top(node, value, left, work.chosen)
        if total < need:
            below = allowed
        elif step == 0:
            return floor
        else:
            above = allowed
    return below


@called
def bound_gains(
    moves: Moves, node: Node, work: Space, left: int, need: float, floor: float, stop: float
) -> tuple[float, float, int]:
    """The least cost that can gain ``need``, the most that can be gained, and the number of lines drawn."""
    most, _ = sum_top(node, work.feature[BEST], left, work.chosen)
    if most < need:
        return np.inf, most, 0
    if moves.largest:
        return bound_largest(moves, node, work, left, need, floor, stop), most, 0
    cost, lines = bound_sum(moves, node, work, left, need, stop - moves.paid, 0)
    return moves.paid + cost, most, lines
