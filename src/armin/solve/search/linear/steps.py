"""The steps of a path in one context, one after the other without a word to Python in between; compiled.

A step is the cheapest choice of some weight, and finding it takes a few hundredths of a millisecond: no more than
asking for it. So compiled code goes on by itself, with the budgets of :mod:`armin.solve.search.linear.engine`, as long
as all is plain: the gain of what was found surely does, and nobody is so near the cut that the model must be asked.
Else the step is left to the engine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armin.arrays import FloatArray
from armin.compiling import called, entry_bare
from armin.problem.data import WEIGHT_TOLERANCE
from armin.solve.search.goals import BETTER, Bans
from armin.solve.search.handed import space
from armin.solve.search.linear.data import (
    BOUND,
    CAP,
    DEPTH,
    FOUND,
    LEAST,
    NEED,
    NODES,
    PLAIN,
    SURE,
    Context,
    Demand,
    Written,
)
from armin.solve.search.linear.nodes import go_on
from armin.solve.search.linear.prices import start_below
from armin.solve.search.words import Ints

__all__ = ["AT_ONCE", "Steps", "ascend", "new_steps"]

REQUIRE, REACHED, STEP, CHEAPEST, DEAREST, CHOICES = range(6)
"""Entries of ``Steps.number``: the weight that is required, the bound on the cost so far, what must be added to a
weight to ask for more, the least and the most that a choice can cost, how many choices there are."""

AT_ONCE = 64
"""Steps that are answered without a word to Python."""


class Steps(NamedTuple):
    """Who must be convinced by a path in one context, and what was found."""

    number: FloatArray
    rising: FloatArray  # (N,) gains that candidates lack
    reached: FloatArray  # (N,) weight up to each, whole numbers
    size: Ints  # (steps,) changes of the choice that was found
    best: Ints  # (steps, limit) its options


def new_steps(rising: FloatArray, reached: FloatArray, limit: int) -> tuple[Steps, Steps]:
    """Room for the steps of a context: for Python, and compiled code."""
    n = rising.size
    found, handed = space(
        Steps,
        {
            "number": (np.float64, (6,)),
            "rising": (np.float64, (n,)),
            "reached": (np.float64, (n,)),
            "size": (np.int64, (AT_ONCE,)),
            "best": (np.int64, (AT_ONCE, limit)),
        },
    )
    found.rising[:], found.reached[:] = rising, reached
    return found, handed


@entry_bare
def ascend(
    context: Context, crowd: Demand, work: Written, bans: Bans, steps: Steps, nodes: int
) -> int:  # pragma: no cover - compiled
    """Answer one step after the other, the lowest first; how many were answered.

    Ends at the last weight that there is, after about so many nodes, and at a step that is not plain.
    """
    number, total, end = steps.number, crowd.total, work.counter[NODES] + nodes
    for found in range(steps.size.size):
        _demand(context, crowd, work, steps)
        if work.number[LEAST] <= 0.0 or not _cheapest(context, crowd, work, bans, steps, end):
            return found
        gain, n = 0.0, work.counter[FOUND]
        for k in range(n):
            gain += context.gain[work.best[k], 0]
            steps.best[found, k] = work.best[k]
        at = _place(steps.rising, gain - context.doubt)
        if at == 0 or (at < steps.rising.size and steps.rising[at] <= gain + context.doubt):
            return found  # somebody is at the cut
        steps.size[found] = n
        number[REACHED] = work.number[CAP] * (1.0 - BETTER)
        weight = steps.reached[at - 1]
        if weight + number[STEP] > total * (1.0 + WEIGHT_TOLERANCE):
            return found + 1
        number[REQUIRE] = min(weight + number[STEP], total) - 2.0 * WEIGHT_TOLERANCE * total
    return int(steps.size.size)


@called
def _demand(context: Context, crowd: Demand, work: Written, steps: Steps) -> None:  # pragma: no cover - compiled
    """What :meth:`armin.solve.search.linear.searcher.Searcher.demand` does, for one row."""
    require, rising, reached = steps.number[REQUIRE], steps.rising, steps.reached
    number = work.number
    number[NEED] = require - 1e-12 * crowd.total
    least = _place(reached, number[NEED])
    enough = _place(reached, require + (WEIGHT_TOLERANCE + 1e-12) * crowd.total)
    number[LEAST] = rising[min(least, rising.size - 1)] - context.doubt
    number[SURE] = rising[enough] + context.doubt if enough < rising.size else np.inf
    work.counter[PLAIN] = 1


@called
def _cheapest(
    context: Context, crowd: Demand, work: Written, bans: Bans, steps: Steps, end: int
) -> bool:  # pragma: no cover - compiled
    """Let the budget grow until the cheapest choice is found; false where something else must be done."""
    number, count, before = work.number, work.counter, work.counter[NODES]
    cap, dearest = max(steps.number[CHEAPEST], steps.number[REACHED]), steps.number[DEAREST]
    while cap <= dearest:
        spent = 4 * (count[NODES] - before) > steps.number[CHOICES]
        cap = 1.1 * cap if cap < dearest and not spent else np.inf
        start_below(context, work, cap)
        number[CAP], count[FOUND] = cap, -1
        if number[BOUND] < cap:
            if go_on(context, crowd, work, bans, end - count[NODES]):
                return False
            if count[DEPTH] >= 0 and number[BOUND] < number[CAP]:  # there is more to look at
                return False
        if count[FOUND] >= 0:
            return True
        cap *= 1.2
    return False


@called
def _place(rising: FloatArray, value: float) -> int:  # pragma: no cover - compiled
    """How many of the numbers are less."""
    low, high = 0, rising.size
    while low < high:
        middle = (low + high) // 2
        if rising[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
