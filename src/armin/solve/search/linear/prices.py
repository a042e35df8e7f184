"""What gain costs at least, compiled: the Lagrangian dual of the multiple-choice knapsack behind a linear model.

With c_o and g_o the cost and gain of option o, G the gain that is needed and at most K changes, the problem is

    C* = min sum c_o   over at most one option for each block, at most K of them, with   sum g_o >= G.

For every price p >= 0 of a unit of gain, and any such choice, sum c_o >= sum c_o - p (sum g_o - G), so

    C* >= D(p) = p G - V(p),   V(p) = max sum (p g_o - c_o)   over the same choices without the demand on gain.

V(p) falls apart: each block is worth w_b(p) = max_o (p g_o - c_o), and the K largest positive w_b count (a block that
must change counts at any worth). D is concave and piecewise linear in p; its slope at p is G minus the gain of the
options that attain V(p), so bisection on the sign of the slope finds its peak. Any p gives a valid bound: that the
bisection is cut off, or p is off by rounding, only makes the bound weaker.
"""

from __future__ import annotations

import numpy as np

from armin.arrays import BoolArray, FloatArray
from armin.compiling import called, entry_bare
from armin.solve.search.linear.data import (
    BOUND,
    DEPTH,
    IS_MAX,
    LEAST,
    LIMIT,
    PRICE,
    Context,
    Written,
)
from armin.solve.search.words import sort_by

__all__ = ["begin", "least_cap", "priced_out", "start_below", "tabulate"]


@called
def _hull(context: Context, work: Written, cap: float) -> None:  # pragma: no cover - compiled
    """The options below ``cap`` that are best at some price: the corners of the upper hull of (cost, gain).

    p g - c is linear in (c, g), so its largest value over a block is taken at a corner of the block's upper convex
    hull, whatever p >= 0. One pass by rising cost: option p falls out where the line from q to o passes above it,
    (g_p - g_q) (c_o - c_q) <= (g_o - g_q) (c_p - c_q). The corners of block b go to ``sorted``, their number to
    ``size``.
    """
    start, gain, cost, corner = context.start, context.gain, context.cost, work.sorted
    for b in range(start.size - 1):
        n = start[b]
        for o in range(start[b], start[b + 1]):
            if cost[o] >= cap:
                break
            if n > start[b] and gain[o, 0] <= gain[corner[n - 1], 0]:
                continue
            while n > start[b]:
                p = corner[n - 1]
                if cost[p] >= cost[o]:
                    n -= 1
                    continue
                if n - 1 > start[b]:
                    q = corner[n - 2]
                    above = (gain[o, 0] - gain[q, 0]) * (cost[p] - cost[q])
                    if (gain[p, 0] - gain[q, 0]) * (cost[o] - cost[q]) <= above:
                        n -= 1
                        continue
                break
            corner[n] = o
            n += 1
        work.size[b] = n - start[b]


@called
def _value_at(context: Context, work: Written, price: float) -> tuple[float, float]:  # pragma: no cover - compiled
    """V(price), and the gain of the options that attain it; sorts the blocks by falling worth, forced ones first."""
    start, worth, reach, rank, key = context.start, work.worth, work.reach, work.rank, work.key
    for b in range(rank.size):
        worth[b], reach[b] = -np.inf, 0.0
        for k in range(start[b], start[b] + work.size[b]):
            o = work.sorted[k]
            value = price * context.gain[o, 0] - context.cost[o]
            if value > worth[b]:
                worth[b], reach[b] = value, context.gain[o, 0]
        rank[b] = b
        key[b] = -np.inf if context.forced[b] else -worth[b]
    sort_by(rank, key)
    total, lifted, left = 0.0, 0.0, work.counter[LIMIT]
    for k in range(rank.size):
        b = rank[k]
        if left > 0 and (context.forced[b] or worth[b] > 0):
            total += worth[b]
            lifted += reach[b]
            left -= 1
    return total, lifted


@called
def _price_of_gain(
    context: Context, work: Written, cap: float, guess: float
) -> tuple[float, float]:  # pragma: no cover - compiled
    """A price p with a good bound D(p) on the cost of choices whose options cost less than ``cap``; and D(p).

    Brackets the peak of D from ``guess`` (the price of a similar budget; 0: none), then bisects. Where the options that
    attain V(p) gain less than is needed, D still rises, and the peak lies above p.
    """
    least = work.number[LEAST]
    _hull(context, work, cap)
    total, lifted = _value_at(context, work, 0.0)
    found, bound = 0.0, -total
    if lifted >= least:
        return found, bound
    low, high, factor = 0.0, 1.0, 8.0
    if guess > 0:
        high, factor = guess, 1.3
        for _ in range(60):  # down to a price that is too low
            total, lifted = _value_at(context, work, guess)
            if guess * least - total > bound:
                found, bound = guess, guess * least - total
            if bound >= cap:
                return found, bound
            if lifted < least:
                low = guess
                break
            high = guess
            guess /= factor
        if high == low:
            high *= factor
    for _ in range(60):  # up to one that is too high
        total, lifted = _value_at(context, work, high)
        if high * least - total > bound:
            found, bound = high, high * least - total
        if lifted >= least or bound >= cap:
            break
        low, high, factor = high, factor * high, 1.5 * factor
    for _ in range(40):
        if high - low <= 1e-3 * high or bound >= cap:
            break
        middle = (low + high) / 2 if low > 0 else high / 16
        total, lifted = _value_at(context, work, middle)
        if middle * least - total > bound:
            found, bound = middle, middle * least - total
        if lifted >= least:
            high = middle
        else:
            low = middle
    return found, bound


@entry_bare
def least_cap(context: Context, work: Written, low: float, high: float) -> float:  # pragma: no cover - compiled
    """A budget below which nothing is valid, between ``low`` and ``high``.

    A choice that costs less than B uses options below B only. If the dual bound over those options reaches B, there is
    no such choice. The bound falls as B grows (more options), so the largest such B is found by bisection.
    """
    price, bound = _price_of_gain(context, work, high, 0.0)
    if bound >= high:
        return high
    while high > 1.02 * low:
        middle = np.sqrt(low * high)
        price, bound = _price_of_gain(context, work, middle, price)
        if bound >= middle:
            low = middle
        else:
            high = middle
    return low


@entry_bare
def priced_out(
    context: Context, work: Written, spent: FloatArray, lack: FloatArray, cap: float, out: BoolArray
) -> None:  # pragma: no cover - compiled
    """Whether nothing that costs less than ``cap`` gains what is lacking, for several demands on one context.

    Demand i has ``spent[i]`` beforehand, and ``lack[i]`` to gain. What costs less than the rest of the budget uses
    options below that only; sums in another order may differ in the last digits, so the rest is taken a little larger.
    """
    price = 0.0
    for i in range(spent.size):
        left = cap - spent[i] + 1e-9 * cap
        if spent[i] >= cap:
            out[i] = True
            continue
        work.number[LEAST] = lack[i]
        price, bound = _price_of_gain(context, work, left, price)
        out[i] = spent[i] + bound - 1e-9 * (spent[i] + abs(bound)) >= cap


@entry_bare
def begin(context: Context, work: Written, cap: float) -> None:  # pragma: no cover - compiled
    """:func:`start_below`, for Python."""
    start_below(context, work, cap)


@called
def start_below(context: Context, work: Written, cap: float) -> None:  # pragma: no cover - compiled
    """Sort blocks and options for the search below ``cap``, bound what each can still do, and go to the root.

    Options of a block come by falling p g_o - c_o, so that once one is priced out, all that follow are. (Where the cost
    is a maximum there is no price; then options come by falling gain.)
    """
    start, gain, cost = context.start, context.gain, context.cost
    is_max, scalar = work.counter[IS_MAX] != 0, gain.shape[1] == 1
    price, bound = 0.0, 0.0
    if scalar and not is_max:
        price, bound = _price_of_gain(context, work, cap, work.number[PRICE])
    else:
        _hull(context, work, cap)
    # less a little: sums of costs in another order may differ in the last digits
    work.number[PRICE], work.number[BOUND] = price, bound - 1e-12 * abs(bound)
    _value_at(context, work, price)
    for b in range(work.rank.size):
        work.size[b] = 0
        for o in range(start[b], start[b + 1]):
            if cost[o] < cap:
                work.sorted[start[b] + work.size[b]] = o
                work.size[b] += 1
                work.value[o] = -gain[o, 0] if is_max and scalar else cost[o] - price * gain[o, 0]
        sort_by(work.sorted[start[b] : start[b] + work.size[b]], work.value)
    tabulate(context, work)
    work.counter[DEPTH] = 0
    work.block[0] = work.entry[0] = 0
    work.spent[0] = 0.0
    for r in range(gain.shape[1]):
        work.lifted[0, r] = 0.0


@called
def tabulate(context: Context, work: Written) -> None:  # pragma: no cover - compiled
    """From block i of the order on, with k changes left: the most worth, and the most gain in each row.

    ``worths[i, k] = max(worths[i + 1, k], worths[i + 1, k - 1] + w_b)`` with b the i-th block, without the first case
    where b must change; ``gains`` alike with the largest gain of b. Hence ``worths[i, k]`` is V(p) over what is still
    open at a node, and D(p) there is what is spent + p (G - what is gained) - ``worths[i, k]``.
    """
    start, gain, forced = context.start, context.gain, context.forced
    n_rows, limit = gain.shape[1], work.counter[LIMIT]
    worths, gains, most = work.worths, work.gains, work.most
    for i in range(work.rank.size - 1, -1, -1):
        b = work.rank[i]
        for r in range(n_rows):
            most[r] = -np.inf
            for k in range(start[b], start[b] + work.size[b]):
                most[r] = max(most[r], gain[work.sorted[k], r])
        for k in range(limit + 1):
            if forced[b]:
                worths[i, k] = worths[i + 1, k - 1] + work.worth[b] if k > 0 else -np.inf
            else:
                worths[i, k] = worths[i + 1, k]
                if k > 0:
                    worths[i, k] = max(worths[i, k], worths[i + 1, k - 1] + work.worth[b])
            for r in range(n_rows):
                if forced[b]:
                    gains[i, k, r] = gains[i + 1, k - 1, r] + most[r] if k > 0 else -np.inf
                else:
                    gains[i, k, r] = gains[i + 1, k, r]
                    if k > 0:
                        gains[i, k, r] = max(gains[i, k, r], gains[i + 1, k - 1, r] + most[r])
