"""The engine for linear models: its contexts, their state, and the budgets that it goes through."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from armin.arrays import FloatArray
from armin.models.kinds import LinearModel
from armin.problem.data import WEIGHT_TOLERANCE, Choice, Problem
from armin.solve.search.goals import FEW_CHOICES, Frontier, Goal, Several, consider
from armin.solve.search.linear.contexts import contexts, fold
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
    Crowd,
    new_work,
)
from armin.solve.search.linear.nodes import dive, keep_choice
from armin.solve.search.linear.prices import begin, least_cap

__all__ = ["LinearEngine", "start_linear"]

_NODES = 100_000  # between two looks at the clock
_LOOKS = 10_000_000  # at a row of a candidate, between two looks at the clock
_PROBE = 256  # nodes without a budget that may settle a problem at once


class _Searcher:
    """The search of one context."""

    def __init__(self, problem: Problem, context: Context, crowd: Crowd) -> None:
        self.problem, self.context, self.crowd = problem, context, crowd
        self.scalar = crowd.way.size == 1
        self.work = new_work(context, len(problem.options), problem.limit, problem.aggregate == "max")
        self.rising = self.reached = np.zeros(0)
        if self.scalar:
            rank = np.argsort(-context.score[:, 0], kind="stable")
            self.rising, self.reached = -context.score[rank, 0], np.cumsum(crowd.weight[rank])
        # sums of whole numbers do not depend on their order
        self.counts = self.scalar and bool(np.all(crowd.weight == np.floor(crowd.weight)))

    @cached_property
    def choices(self) -> float:
        """How many choices this context has."""
        # elementary symmetric sums of the blocks' sizes, without the lower ones where a block must change
        sums = np.zeros(self.problem.limit + 1)
        sums[0] = 1.0
        for size, forced in zip(np.diff(self.context.start).tolist(), self.context.forced.tolist(), strict=True):
            more = size * sums[:-1]
            sums = np.zeros(sums.size) if forced else sums
            sums[1:] += more
        return float(sums.sum())

    def demand(self, require: float, single: bool) -> None:
        """Search for choices that this weight accepts; ``single`` if the cheapest of them is all that is wanted."""
        number, total = self.work.number, self.crowd.total
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
        return not self.context.forced.any() and (not self.scalar or self.work.number[LEAST] <= 0.0)

    @cached_property
    def share(self) -> int:
        """How many nodes take some hundredths of a second: with several rows, each may look at all candidates."""
        return _NODES if self.scalar else min(_NODES, 1 + _LOOKS // self.context.score.size)

    @property
    def priced(self) -> bool:
        """Whether gain has a price, which sees at once where there is not enough of it."""
        return self.scalar and self.problem.aggregate == "sum"

    def least_cap(self, low: float, high: float) -> float:
        """A budget below which nothing is valid in this context."""
        if not self.priced or self.work.number[LEAST] <= 0 or low >= high:
            return low
        return (1 - 1e-12) * float(least_cap(self.context, self.work, low, high))

    def begin(self, cap: float) -> None:
        """Go to the root, for choices that cost less than ``cap``."""
        begin(self.context, self.work, cap)
        self.work.number[CAP] = cap
        self.work.counter[FOUND] = -1

    @property
    def finished(self) -> bool:
        """Whether no node below the budget is open."""
        return bool(self.work.counter[DEPTH] < 0 or self.work.number[BOUND] >= self.work.number[CAP])

    def found(self) -> tuple[Choice, float]:
        """The choice that was found, and the weight that accepts it."""
        out, gain = [0] * len(self.problem.options), 0.0
        for o in self.work.best[: int(self.work.counter[FOUND])].tolist():
            b = int(self.context.start.searchsorted(o, side="right")) - 1
            out[int(self.context.features[b])] = int(self.context.option[o])
            gain += float(self.context.gain[o, 0])
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


class LinearEngine:
    """All contexts of a problem, searched for one required weight after another.

    Where there are few choices, one pass looks at each of them once at most, whatever the goal.

    Attributes
    ----------
    bound : no choice that the goal wants costs less
    """

    def __init__(self, problem: Problem, searchers: list[_Searcher]) -> None:
        self.problem, self.searchers, self.bound = problem, searchers, 0.0
        costs = np.concatenate([np.zeros(1), *(o.costs for o in problem.options)])
        self.dearest = sum(float(o.costs.max()) for o in problem.options) + 1.0
        self.cheapest = float(costs.min(where=costs > 0, initial=1.0))

    @cached_property
    def choices(self) -> float:
        """How many choices there are."""
        return sum(s.choices for s in self.searchers)

    @cached_property
    def few(self) -> bool:
        """Whether there are few choices; those with two changes are counted first, as that is quick."""
        if self.problem.limit >= 2:
            first = self.searchers[0].context  # in which nothing is forced
            sizes = np.diff(first.start)
            if first.cost.size**2 - int(sizes @ sizes) > 2 * FEW_CHOICES:
                return False
        return self.choices <= FEW_CHOICES

    @property
    def nodes(self) -> int:
        return sum(int(s.work.counter[NODES]) for s in self.searchers)

    def search(self, goal: Goal) -> Iterator[None]:
        """Answer the steps of the goal's stairs, the lowest first: what it costs bounds all that follow."""
        kept = False  # whether the goal has heard of changing nothing
        while True:
            stairs = goal.stairs()
            step = int(stairs.cost.searchsorted(self.bound, side="right"))
            if step == stairs.cost.size:
                return
            require, few = float(stairs.require[step]), self.few
            # whether the cheapest choice of this weight is all that a pass should find
            single = goal.one_by_one if isinstance(goal, Several) else not (few and isinstance(goal, Frontier))
            for searcher in self.searchers:
                searcher.demand(require, single)
            if not kept and any(s.keep_may_do for s in self.searchers):
                kept = True
                if consider(self.problem, goal, self.problem.keep):
                    continue
            if few:
                yield from self._sweep(goal)
                return
            yield from self._answer(goal, require)

    def _sweep(self, goal: Goal) -> Iterator[None]:
        """Offer all that any step of the stairs could want, in one pass."""
        for searcher in self.searchers:
            yield from self._stage(searcher, goal, np.inf, np.inf)
        self.bound = goal.worst

    def _answer(self, goal: Goal, require: float) -> Iterator[None]:
        """Let the budget grow until the cheapest choice of this weight is proved, or that there is none."""
        low = max(self.cheapest, self.bound)
        cap, before = low, self.nodes
        if self.bound == 0.0:  # else the bound is a good start
            cap = min((s.least_cap(low, self.dearest) for s in self.searchers), default=self.dearest)
        if cap > low:
            self.bound = cap
        for searcher in self.searchers:
            if not searcher.priced:
                yield from self._stage(searcher, goal, require, np.inf, _PROBE)
        left = [s for s in self.searchers if s.priced or not s.finished]
        while True:
            # a budget spares nothing where what was spent on smaller ones is a good part of all there is
            nodes = self.nodes - before
            spent = 4 * nodes > FEW_CHOICES and 4 * nodes > self.choices
            cap = 1.1 * cap if cap < self.dearest and not spent else np.inf
            for searcher in left:
                yield from self._stage(searcher, goal, require, cap)
            known = _known(goal, require)
            if known <= cap or cap > self.dearest:
                self.bound = known
                return
            self.bound = max(self.bound, cap)
            cap *= 1.2

    def _stage(
        self, searcher: _Searcher, goal: Goal, require: float, cap: float, most: float = np.inf
    ) -> Iterator[None]:
        """Search one context below a budget, in no more than ``most`` nodes."""
        work, bans = searcher.work, goal.bans()
        searcher.begin(min(cap, _known(goal, require)))
        end = int(work.counter[NODES]) + most
        while not searcher.finished and work.counter[NODES] < end:
            nodes = int(min(searcher.share, end - work.counter[NODES]))
            check = dive(searcher.context, searcher.crowd, work, bans, nodes)
            better = work.counter[FOUND] >= 0 and self._offer(searcher, goal)
            if check:
                keep_choice(searcher.context, work)
                better = self._offer(searcher, goal) or better
            work.counter[FOUND] = -1
            if better:
                bans = goal.bans()
                work.number[CAP] = min(cap, _known(goal, require))
            if not searcher.finished:
                yield

    def _offer(self, searcher: _Searcher, goal: Goal) -> bool:
        """Offer what was found if the problem allows it."""
        choice, weight = searcher.found()
        cost = self.problem.cost(choice)
        return cost < goal.worst and self.problem.allows(choice) and goal.offer(choice, cost, weight)


def _known(goal: Goal, require: float) -> float:
    """What a choice of this weight must cost less than."""
    stairs = goal.stairs()  # a requirement that is infinite stands for all of them
    return float(stairs.cost[stairs.require.searchsorted(require, side="right") - 1])


def start_linear(problem: Problem, model: LinearModel, apart: bool) -> LinearEngine | None:
    """A search that has not begun; None where some input is not a number.

    With ``apart``, changes that gain nothing are told apart from "keep".
    """
    rows = fold(model)
    found = contexts(problem, model, rows, apart or bool(problem.forbidden_sets))
    if found is None:
        return None
    weights = np.ascontiguousarray(problem.weights, dtype=np.float64)
    crowd = Crowd(rows.way.astype(np.int64), weights, float(weights.sum()))
    return LinearEngine(problem, [_Searcher(problem, context, crowd) for context in found])
