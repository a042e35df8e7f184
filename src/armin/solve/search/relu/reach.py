"""What the options of a node can add to a linear function of the first layer, within a budget.

A choice that is wanted costs less than some budget, and all its changes share it. So the most that they can add is a
multiple-choice knapsack, and Lagrange's bound on it is, for every price >= 0 of a unit of cost,
price * budget + the most of gain - price * cost.
"""

from __future__ import annotations

from armin.compiling import called_fast
from armin.solve.search.relu.bounds import INFINITE, sum_top
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
    Floats,
    Moves,
    Node,
    Space,
)

__all__ = ["gains_of_group", "most_within", "room_of", "trial_of"]

PRICES = 5
"""Prices that are tried."""

STEEP = 1e2
"""The largest price, in gains per budget: beyond it rounding of costs would count."""

HAIR = 1e-12
"""Share of a budget that is added to it: a sum of costs in another order may round to less."""


STEPS, GROW, AHEAD = 4, 1.4, 1.1
"""How often a budget is divided by ``GROW`` for the first look at a node; and how many times its bound a look goes
at least."""


@called_fast
def trial_of(moves: Moves, bound: float, cap: float) -> float:
    """Up to which cost to look at a node of which ``bound`` is known; twice as far each time where there is no cap."""
    if cap < INFINITE:
        trial = cap
        for _ in range(STEPS):
            if trial / GROW > AHEAD * bound:
                trial /= GROW
        return trial
    least = INFINITE
    for j in range(moves.cost.size):
        if moves.cost[j] > 0.0:
            least = min(least, moves.cost[j])
    trial = 2.0 * max(bound, moves.paid + least)
    return trial if trial < INFINITE else cap


@called_fast
def room_of(moves: Moves, floor: float, cap: float) -> float:
    """What a node may spend beyond the cheapest options of what must change; infinite where costs are a maximum."""
    if moves.largest or cap >= INFINITE:
        return INFINITE
    return cap - floor + HAIR * cap


@called_fast
def gains_of_group(
    moves: Moves, delta: Floats, node: Node, slope: Floats, gain: Floats, best: Floats, span: Floats
) -> None:
    """What each option adds under the slopes, at most, for some candidates; the best of each feature, and its span.

    ``delta`` (2, M) is how far an option moves them along the feature's row: at least, and at most.
    """
    for d in range(node.shape[1]):
        span[d] = 0.0
        if node[STATE, d] == KEPT:
            continue
        low, high = node[LOW, d], node[HIGH, d]
        least, most = INFINITE, -INFINITE
        if moves.line[d]:
            k = 0.0
            for h in range(slope.size):
                k += moves.row[d, h] * slope[h]
            along = delta[1] if k > 0.0 else delta[0]
            for j in range(low, high):
                gain[j] = k * along[j]
            for j in range(low, high):
                least, most = min(least, gain[j]), max(most, gain[j])
        else:
            for j in range(low, high):
                k = 0.0
                for h in range(slope.size):
                    k += moves.move[j, h] * slope[h]
                gain[j] = k
                least, most = min(least, k), max(most, k)
        best[d] = most
        span[d] = max(most, 0.0) - min(least, 0.0) if node[STATE, d] == FREE else most - least


@called_fast
def _at_price(moves: Moves, node: Node, work: Space, left: int, cheapest: Floats, price: float) -> tuple[float, float]:
    """The most of gain - price * (cost beyond the cheapest of what must change), and that cost where it is taken."""
    value, spent = work.feature[VALUE], work.feature[REACH]
    for d in range(value.size):
        if node[STATE, d] == KEPT:
            continue
        base = cheapest[d] if node[STATE, d] == MUST else 0.0
        most, paid = -INFINITE, 0.0
        for j in range(node[LOW, d], node[HIGH, d]):
            x = work.gain[j] - price * (moves.cost[j] - base)
            if x > most:
                most, paid = x, moves.cost[j] - base
        value[d], spent[d] = most, paid
    total, size = sum_top(node, value, left, work.chosen)
    cost = 0.0
    for d in range(value.size):
        if node[STATE, d] == MUST:
            cost += spent[d]
    for i in range(size):
        cost += spent[work.chosen[i]]
    return total, cost


@called_fast
def most_within(moves: Moves, node: Node, work: Space, left: int, cheapest: Floats, room: float) -> float:
    """The most that options can gain (``work.gain``) for less than ``room``, or more.

    L(price) = price * room + the most of gain - price * cost is convex, with slope room - cost: at 0 it counts no cost;
    if the best options together cost too much there, the price rises until they do not, and then lies where the
    tangents on both sides meet. Every price gives a bound, so the least that was seen holds.
    """
    total, _ = sum_top(node, work.feature[BEST], left, work.chosen)
    if room >= INFINITE:
        return total
    best, cost = _at_price(moves, node, work, left, cheapest, 0.0)
    if cost <= room or not best > 0.0:
        return best
    left_price, left_value, left_slope = 0.0, best, room - cost
    right_price, right_value, right_slope = INFINITE, 0.0, 0.0
    price, steepest = 0.5 * best / room, STEEP * best / room
    for _ in range(PRICES):
        if not price < steepest:
            break
        gained, cost = _at_price(moves, node, work, left, cheapest, price)
        value = gained + price * room
        best = min(best, value)
        if cost <= room:
            right_price, right_value, right_slope = price, value, room - cost
        else:
            left_price, left_value, left_slope = price, value, room - cost
        if right_price >= INFINITE:
            price = 4.0 * price
            continue
        bend = right_slope - left_slope
        if not bend > 0.0:
            break
        price = (left_value - left_slope * left_price - right_value + right_slope * right_price) / bend
        if not left_price < price < right_price:
            break
    return best
