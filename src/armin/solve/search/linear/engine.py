"""One search over a linear model: its contexts, their state, the incumbent, and the budgets it goes through."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from armin.arrays import FloatArray
from armin.errors import SolverError
from armin.models.kinds import LinearModel
from armin.problem.data import WEIGHT_TOLERANCE, Choice, Problem, Solution, Status
from armin.solve.search.linear.contexts import Context, Rows, accepting_rows, contexts
from armin.solve.search.linear.nodes import (
    BOUND,
    CAP,
    DEPTH,
    FOUND,
    LEAST,
    NEED,
    NODES,
    SURE,
    Work,
    begin,
    dive,
    keep_choice,
    least_cap,
)
from armin.solve.search.words import Words, sets_as_words

__all__ = ["LinearRun", "new_run"]

_NODES = 100_000  # between two looks at the clock


class _Searcher:
    """The search of one context."""

    def __init__(self, problem: Problem, context: Context, rows: Rows) -> None:
        self.problem, self.context, self.way = problem, context, rows.way
        self.weights = np.ascontiguousarray(problem.weights, dtype=np.float64)
        self.total = float(problem.weights.sum())
        self.scalar = rows.offset.size == 1
        self.work = _new_work(problem, context, self.total)
        self.rising = self.reached = np.zeros(0)
        if self.scalar:
            rank = np.argsort(-context.score[:, 0], kind="stable")
            self.rising, self.reached = -context.score[rank, 0], np.cumsum(self.weights[rank])

    def demand(self, required: float) -> None:
        """Search for choices that this weight accepts."""
        need = required - WEIGHT_TOLERANCE * self.total
        number = self.work.number
        number[NEED] = need - 1e-12 * self.total
        number[LEAST], number[SURE] = -np.inf, np.inf
        self.work.counter[DEPTH] = -1
        if self.scalar:
            number[LEAST], number[SURE] = _order_statistic(self.rising, self.reached, need, self.total)
            number[LEAST] -= self.context.doubt
            number[SURE] += self.context.doubt

    @property
    def keep_may_do(self) -> bool:
        """Whether changing nothing may be valid here."""
        return not self.context.forced.any() and (not self.scalar or self.work.number[LEAST] <= 0.0)

    def least_cap(self, low: float, high: float) -> float:
        """A budget below which nothing is valid in this context."""
        if not self.scalar or self.problem.aggregate == "max" or self.work.number[LEAST] <= 0 or low >= high:
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

    def choice(self) -> Choice:
        """The choice that was found."""
        out = [0] * len(self.problem.options)
        for o in self.work.best[: int(self.work.counter[FOUND])].tolist():
            b = int(np.searchsorted(self.context.start, o, side="right")) - 1
            out[int(self.context.features[b])] = int(self.context.option[o])
        return tuple(out)


def _order_statistic(rising: FloatArray, reached: FloatArray, need: float, total: float) -> tuple[float, float]:
    """The total gain from which a choice may be valid, and from which it is but for rounding."""
    least = int(np.searchsorted(reached, need - 1e-12 * total))
    sure = int(np.searchsorted(reached, need + 1e-12 * total))
    n = rising.size
    return float(rising[min(least, n - 1)]), float(rising[sure]) if sure < n else np.inf


def _new_work(problem: Problem, context: Context, total: float) -> Work:
    blocks, n_rows, limit = context.features.size, context.gain.shape[1], problem.limit
    depth, width = limit + 2, max(1, (len(problem.options) + 63) // 64)
    plain = not problem.rules and not problem.forbidden
    shape = [-1, 0, -1, int(context.forced.sum()), limit, problem.aggregate == "max", plain]
    return Work(
        counter=np.array(shape, dtype=np.int64),
        number=np.array([np.inf, 0.0, 0.0, 0.0, 0.0, 0.0, total]),
        rank=np.zeros(blocks, dtype=np.int64),
        worth=np.zeros(blocks),
        size=np.zeros(blocks, dtype=np.int64),
        sorted=np.zeros(context.cost.size, dtype=np.int64),
        worths=np.zeros((blocks + 1, limit + 1)),
        gains=np.zeros((blocks + 1, limit + 1, n_rows)),
        block=np.zeros(depth, dtype=np.int64),
        entry=np.zeros(depth, dtype=np.int64),
        spent=np.zeros(depth),
        lifted=np.zeros((depth, n_rows)),
        changed=np.zeros((depth, width), dtype=np.uint64),
        best=np.zeros(depth, dtype=np.int64),
    )


class LinearRun:
    """All contexts of a problem, to be solved for one required weight after another."""

    def __init__(
        self,
        problem: Problem,
        searchers: list[_Searcher],
        start: float,
        time_limit: float | None,
        callback: Callable[[Solution], bool | None] | None,
    ) -> None:
        self.problem, self.searchers = problem, searchers
        self.start, self.time_limit, self.callback = start, time_limit, callback
        costs = np.concatenate([np.zeros(1), *(o.costs for o in problem.options)])
        self.dearest = sum(float(o.costs.max()) for o in problem.options) + 1.0
        self.cheapest = float(costs.min(where=costs > 0, initial=1.0))
        self.sets = problem.forbidden_sets
        self.banned: Words = sets_as_words(self.sets, len(problem.options))
        self.required, self.bound = 0.0, 0.0
        self.choice: Choice | None = None
        self.cost = np.inf

    def ban(self, choice: Choice) -> None:
        """Rule out the set of features that ``choice`` changes."""
        self.sets = self.sets | {frozenset(d for d, j in enumerate(choice) if j)}
        self.banned = sets_as_words(self.sets, len(self.problem.options))

    def solve(self, required: float, floor: float) -> Solution:
        """The cheapest choice that ``required`` weight accepts, where none is known to cost less than ``floor``."""
        self.required, self.bound, self.choice, self.cost = required, floor, None, np.inf
        try:
            return self._answer(self._search())
        except KeyboardInterrupt:
            return self._answer(False)

    def _search(self) -> bool:
        """Let the budget grow until all is proved; false if something stopped it."""
        for searcher in self.searchers:
            searcher.demand(self.required)
        if frozenset() not in self.sets and any(s.keep_may_do for s in self.searchers):
            self._offer(self.problem.keep)
            if self.choice is not None:
                return True
        low = max(self.cheapest, self.bound)
        cap = low
        if self.bound == 0.0:  # else the bound is a good start
            cap = min((s.least_cap(low, self.dearest) for s in self.searchers), default=self.dearest)
        if cap > low:
            self.bound = cap
        while True:
            cap = 1.1 * cap if cap < self.dearest else np.inf
            for searcher in self.searchers:
                if not self._stage(searcher, min(cap, self.cost)):
                    return False
            if self.choice is not None or cap > self.dearest:
                return True
            self.bound = max(self.bound, cap)
            cap *= 1.2

    def _stage(self, searcher: _Searcher, cap: float) -> bool:
        """Search one context below a budget; false if something stopped it."""
        searcher.begin(cap)
        work = searcher.work
        while not searcher.finished:
            check = dive(searcher.context, work, searcher.way, searcher.weights, self.banned, _NODES)
            if work.counter[FOUND] >= 0:  # surely valid
                self.choice = searcher.choice()
                self.cost = self.problem.cost(self.choice)
            if check:
                keep_choice(work, searcher.context.start, int(work.counter[DEPTH]))
                self._offer(searcher.choice())
                work.number[CAP] = min(cap, self.cost)
            work.counter[FOUND] = -1
            if not self._watch() and not searcher.finished:
                return False
        return True

    def _offer(self, choice: Choice) -> None:
        """Take the choice if it is cheaper and valid."""
        cost = self.problem.cost(choice)
        if cost < self.cost and self.problem.allows(choice):
            weight = self.problem.weight_accepted(choice)
            if weight >= self.required - WEIGHT_TOLERANCE * float(self.problem.weights.sum()):
                self.choice, self.cost = choice, cost

    def _watch(self) -> bool:
        if self.time_limit is not None and time.perf_counter() - self.start > self.time_limit:
            return False
        return self.callback is None or self.callback(self._answer(False)) is not False

    def _answer(self, closed: bool) -> Solution:
        seconds, nodes = time.perf_counter() - self.start, sum(int(s.work.counter[NODES]) for s in self.searchers)
        if self.choice is None:
            status, bound = (Status.INFEASIBLE, np.inf) if closed else (Status.UNKNOWN, self.bound)
            return Solution(status, None, None, bound, seconds, "search", nodes)
        status = Status.OPTIMAL if closed else Status.FEASIBLE
        bound = self.cost if closed else min(self.bound, self.cost)
        return Solution(status, self.choice, self.cost, bound, seconds, "search", nodes)


def new_run(
    problem: Problem,
    time_limit: float | None,
    callback: Callable[[Solution], bool | None] | None,
    apart: bool = False,
) -> LinearRun | None:
    """A search that has not begun; None where some input is not a number.

    With ``apart``, for problems from which sets of features will be ruled out.
    """
    start = time.perf_counter()
    model = problem.model
    if not isinstance(model, LinearModel):
        raise SolverError(f"The linear search needs a LinearModel. Got {type(model).__name__}; use solve().")
    rows = accepting_rows(model)
    found = contexts(problem, model, rows, apart or bool(problem.forbidden_sets))
    if found is None:
        return None
    searchers = [_Searcher(problem, context, rows) for context in found]
    return LinearRun(problem, searchers, start, time_limit, callback)
