"""The search of one context: what it is asked for, its budget, and what it found."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import NamedTuple

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.problem.data import WEIGHT_TOLERANCE, Choice, Problem
from armin.solve.search.handed import hand
from armin.solve.search.linear.data import (
    BOUND,
    CAP,
    DEPTH,
    FOUND,
    LEAST,
    NEED,
    PLAIN,
    SURE,
    Context,
    Demand,
    new_work,
)
from armin.solve.search.linear.prices import begin, least_cap
from armin.solve.search.linear.steps import Steps, new_steps

__all__ = ["Searcher", "Turn", "count_choices"]

_NODES = 100_000  # between two looks at the clock
_LOOKS = 10_000_000  # at a row of a candidate, between two looks at the clock


class Turn(NamedTuple):
    """What is different in a context with the same blocks: some options, and the gains that candidates lack."""

    at: IntArray
    option: list[int]
    gain: list[float]
    cost: list[float]
    rising: FloatArray
    reached: FloatArray


class Searcher:
    """The search of one context."""

    def __init__(self, problem: Problem, context: Context, crowd: Demand) -> None:
        self.problem, self.context, self.crowd = problem, context, crowd
        self.scalar = crowd.way.size == 1
        is_max = problem.aggregate == "max"
        self.work, self.written = new_work(context, len(problem.options), problem.limit, is_max)
        self.given = hand(context)
        self.rising = self.reached = np.zeros(0)
        self.require = -np.inf
        if self.scalar:
            lacking, weight = -context.score[:, 0], crowd.weight
            if bool(np.all(weight == weight[0])):  # then it does not matter who is who
                self.rising, self.reached = np.sort(lacking), np.cumsum(weight)
            else:
                rank = np.argsort(lacking, kind="stable")
                self.rising, self.reached = lacking[rank], np.cumsum(weight[rank])
        # sums of whole numbers do not depend on their order
        self.counts = self.scalar and bool(np.all(crowd.weight == np.floor(crowd.weight)))

    def turn(self, to: Turn) -> None:
        """Turn to another context with the same blocks and one row."""
        context = self.context
        context.option[to.at], context.gain[to.at, 0], context.cost[to.at] = to.option, to.gain, to.cost
        self.rising, self.reached, self.require = to.rising, to.reached, -np.inf

    def demand(self, require: float, single: bool) -> None:
        """Search for choices that this weight accepts; ``single`` if the cheapest of them is all that is wanted."""
        number, total, self.require = self.work.number, self.crowd.total, require
        number[NEED] = require - 1e-12 * total
        number[LEAST], number[SURE] = -np.inf, np.inf
        self.work.counter[DEPTH] = -1
        self.work.counter[PLAIN] = single and not self.problem.rules and not self.problem.forbidden
        if self.scalar:
            # the requirement is lowered by twice the tolerance; one of the two is granted to every choice
            sure = require + (WEIGHT_TOLERANCE + 1e-12) * total
            number[LEAST], number[SURE] = _order_statistic(self.rising, self.reached, number[NEED], sure)
            number[LEAST] -= self.context.doubt
            number[SURE] += self.context.doubt

    @property
    def keep_may_do(self) -> bool:
        """Whether changing nothing may be valid here."""
        return (not self.scalar or self.work.number.item(LEAST) <= 0.0) and not self.context.forced.any()

    @cached_property
    def share(self) -> int:
        """How many nodes take some hundredths of a second: with several rows, each may look at all candidates."""
        return _NODES if self.scalar else min(_NODES, 1 + _LOOKS // self.context.score.size)

    @property
    def priced(self) -> bool:
        """Whether gain has a price, which sees at once where there is not enough of it."""
        return self.scalar and self.problem.aggregate == "sum"

    @property
    def counted(self) -> bool:
        """Whether gain has a price, and the weight that a choice reaches is a sum of whole numbers."""
        return self.priced and self.counts

    @cached_property
    def steps(self) -> tuple[Steps, Steps]:
        """Room for the steps of a path: for Python, and compiled code."""
        return new_steps(self.rising, self.reached, self.work.best.size)

    @property
    def plain(self) -> bool:
        """Whether gain, cost and what changes are all that matters about a choice."""
        return self.priced and bool(self.work.counter[PLAIN])

    def least_cap(self, low: float, high: float) -> float:
        """A budget below which nothing is valid in this context."""
        if not self.priced or self.work.number[LEAST] <= 0 or low >= high:
            return low
        return (1 - 1e-12) * float(least_cap(self.given, self.written, low, high))

    def begin(self, cap: float) -> None:
        """Go to the root, for choices that cost less than ``cap``."""
        begin(self.given, self.written, cap)
        self.work.number[CAP] = cap
        self.work.counter[FOUND] = -1

    @property
    def finished(self) -> bool:
        """Whether no node below the budget is open."""
        return bool(self.work.counter[DEPTH] < 0 or self.work.number[BOUND] >= self.work.number[CAP])

    @cached_property
    def _places(self) -> tuple[list[int], list[int]]:
        """The features of the blocks, and where their options begin."""
        return self.context.features.tolist(), self.context.start.tolist()

    def found(self) -> tuple[Choice, float]:
        """The choice that was found, and the weight that accepts it."""
        out, gain = [0] * len(self.problem.options), 0.0
        (features, start), context = self._places, self.context
        for o in self.work.best[: self.work.counter.item(FOUND)].tolist():
            out[features[bisect_right(start, o) - 1]] = context.option.item(o)
            gain += context.gain.item(o, 0)
        choice = tuple(out)
        if self.counts:
            sure = int(self.rising.searchsorted(gain - self.context.doubt))
            if sure == self.rising.size or self.rising[sure] > gain + self.context.doubt:  # nobody is at the cut
                return choice, float(self.reached[sure - 1]) if sure else 0.0
        return choice, self.problem.weight_accepted(choice)


def _order_statistic(rising: FloatArray, reached: FloatArray, may: float, sure: float) -> tuple[float, float]:
    """The total gain from which candidates of weight ``may`` are accepted, and from which those of ``sure`` are."""
    least, enough, n = int(reached.searchsorted(may)), int(reached.searchsorted(sure)), rising.size
    return float(rising[min(least, n - 1)]), float(rising[enough]) if enough < n else np.inf


def count_choices(sizes: list[int], limit: int) -> float:
    """How many choices there are with at most ``limit`` changes, from the number of options of each feature.

    >>> count_choices([2, 1], 1), count_choices([2, 1], 2)
    (4.0, 6.0)
    """
    sums = np.zeros(limit + 1)
    sums[0] = 1.0
    for size in sizes:
        sums[1:] += size * sums[:-1]
    return float(sums.sum())
