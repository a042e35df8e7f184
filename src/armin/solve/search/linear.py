"""Exact search for linear models: a multiple-choice knapsack over an order statistic.

Candidates whose scores all move by the same amount matter only through the score that must still
be lifted over the cut: the weighted k-th best. What remains is to buy a total gain at least cost,
one option per feature. A multiplier λ prices gain; the search leaves the best priced options only
as far as the gap to the incumbent allows, so that few nodes are visited.

Options of a missing feature that move candidates differently (a category set to one value) are
sorted by *pattern*: all options of one pattern move the candidates by the pattern plus a constant.
Each combination of patterns is a *context*, searched on its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from armin.errors import SolverError
from armin.models.kinds import FloatArray, LinearModel
from armin.problem import WEIGHT_TOLERANCE, Choice, Problem, Solution, Status
from armin.solve.search.linear_contexts import Context, Rows, accepting_rows, contexts
from armin.solve.search.linear_nodes import CAP, DEPTH, NODES, bounds, dive, least_cap, price_of_gain, value_at

__all__ = ["search_linear"]


@dataclass
class _Incumbent:
    problem: Problem
    plain: bool
    choice: Choice | None = None
    cost: float = np.inf
    nodes: int = 0

    def offer(self, choice: Choice, sure: bool) -> bool:
        """Take the choice if it is valid; whether it was."""
        cost = self.problem.cost(choice)
        if cost >= self.cost:
            return False
        if sure:
            if not self.problem.allows(choice):
                return False
        elif not self.problem.is_solved_by(choice):
            return False
        self.choice, self.cost = choice, cost
        return True


def _order_statistic(problem: Problem, score: FloatArray, doubt: float) -> tuple[float, float]:
    """The total gain from which a choice may be valid, and from which it surely is."""
    total = float(problem.weights.sum())
    rank = np.argsort(-score, kind="stable")
    reached = np.cumsum(problem.weights[rank])
    need = problem.required - WEIGHT_TOLERANCE * total
    least = int(np.searchsorted(reached, need - 1e-12 * total))
    sure = int(np.searchsorted(reached, need + 1e-12 * total))
    n = score.size
    low = -float(score[rank[min(least, n - 1)]]) - doubt
    high = -float(score[rank[sure]]) + doubt if sure < n else np.inf
    return low, high


class _Searcher:
    """The search of one context; ``run`` can be called again with a larger cap."""

    def __init__(self, problem: Problem, context: Context, rows: Rows) -> None:
        self.problem, self.context, self.rows = problem, context, rows
        self.is_max = problem.aggregate == "max"
        self.total = float(problem.weights.sum())
        self.need = problem.required - (WEIGHT_TOLERANCE + 1e-12) * self.total
        self.scalar = rows.offset.size == 1
        self.doubt = (len(problem.options) + 2) * rows.doubt
        self.least, self.sure = -np.inf, np.inf
        if self.scalar:
            self.least, self.sure = _order_statistic(problem, context.score[:, 0], self.doubt)
        blocks = context.features.size
        self.rank, self.worth = np.zeros(blocks, dtype=np.int64), np.zeros(blocks)
        self.owner = np.repeat(np.arange(blocks), np.diff(context.start))
        self.price, self.bound = 0.0, 0.0
        self.sorted = np.zeros(0, dtype=np.intp)
        self.worths, self.gains = np.zeros((1, 1)), np.zeros((1, 1, 1))
        depth = problem.limit + 2
        self.block, self.entry = np.zeros(depth, dtype=np.int64), np.zeros(depth, dtype=np.int64)
        self.spent, self.lifted = np.zeros(depth), np.zeros((depth, rows.offset.size))
        self.count, self.number = np.zeros(2, dtype=np.int64), np.array([np.inf, self.least])

    def least_cap(self, low: float, high: float) -> float:
        """A budget below which nothing is valid in this context."""
        c = self.context
        if not self.scalar or self.is_max or self.least <= 0:
            return low
        args = (c.start, c.gain, c.cost, c.forced, self.problem.limit)
        return (1 - 1e-12) * float(least_cap(*args, self.least, low, high))

    def prepare(self, cap: float) -> None:
        """Sort blocks and options for the search below ``cap``, and begin at the root."""
        c = self.context
        args = (c.start, c.gain, c.cost, c.forced, self.problem.limit, cap)
        self.price, self.bound = 0.0, 0.0
        if self.scalar and not self.is_max:
            self.price, bound = price_of_gain(*args, self.least, self.rank, self.worth)
            self.bound = float(bound) - 1e-12 * abs(float(bound))
        value_at(*args, self.price, self.rank, self.worth)
        self.worths, self.gains = bounds(*args, self.rank, self.worth)
        value = c.gain[:, 0] if self.is_max and self.scalar else self.price * c.gain[:, 0] - c.cost
        self.sorted = np.lexsort((-value, self.owner))
        self.count[DEPTH] = 0
        self.block[0] = self.entry[0] = 0
        self.spent[0] = 0.0
        self.lifted[0] = 0.0

    @property
    def keep_may_do(self) -> bool:
        """Whether changing nothing may be valid here."""
        return not self.context.forced.any() and (not self.scalar or self.least <= 0.0)

    def run(self, cap: float, nodes: int) -> bool:
        """Search on; true at a choice that may be valid."""
        c = self.context
        self.number[CAP] = cap
        return bool(
            dive(
                c.start,
                c.gain,
                c.cost,
                int(c.forced.sum()),
                self.problem.limit,
                self.rank,
                self.sorted,
                self.worths,
                self.gains,
                self.is_max,
                self.price,
                c.score,
                self.rows.way,
                self.problem.weights,
                self.need,
                self.total,
                self.doubt,
                self.block,
                self.entry,
                self.spent,
                self.lifted,
                self.count,
                self.number,
                nodes,
            )
        )

    @property
    def finished(self) -> bool:
        return bool(self.count[DEPTH] < 0)

    def choice(self) -> tuple[Choice, bool]:
        """The choice at the present depth, and whether it is surely accepted."""
        c = self.context
        out = [0] * len(self.problem.options)
        for depth in range(int(self.count[DEPTH])):
            b = int(self.rank[self.block[depth]])
            o = int(self.sorted[c.start[b] + self.entry[depth] - 1])
            out[int(c.features[b])] = int(c.option[o])
        sure = self.scalar and float(self.lifted[self.count[DEPTH], 0]) >= self.sure
        return tuple(out), sure


def search_linear(
    problem: Problem,
    time_limit: float | None = None,
    callback: Callable[[Solution], bool | None] | None = None,
) -> Solution:
    """Solve a problem with a linear model.

    Parameters
    ----------
    problem : the model must be a LinearModel
    time_limit : seconds, or None
    callback : called now and then with the state of the search; it stops when False is returned

    Returns
    -------
    Solution
        Proved, or the best so far with a true bound where time ran out, the callback or an interrupt stopped it.

    >>> import numpy as np
    >>> from armin.models.kinds import Above
    >>> model = LinearModel(np.array([[1.0, 1.0]]), np.array([-6.0]), Above(0.0))
    >>> problem = Problem.from_tables(
    ...     [[1.0, 0.0], [3.0, 0.0]], {0: [0, 2, 4], 1: [0, 5]}, {0: [0, 1, 2], 1: [0, 1.5]}, model, required=1
    ... )
    >>> solution = search_linear(problem)
    >>> solution.status.value, solution.choice, solution.cost
    ('optimal', (0, 1), 1.5)
    """
    begin = time.perf_counter()
    if not isinstance(problem.model, LinearModel):
        raise SolverError(f"The linear search needs a LinearModel. Got {type(problem.model).__name__}; use solve().")
    rows = accepting_rows(problem, problem.model)
    searchers = [_Searcher(problem, context, rows) for context in contexts(problem, rows)]
    best = _Incumbent(problem, not problem.rules and not problem.forbidden)
    dearest = sum(float(o.costs.max()) for o in problem.options) + 1.0
    cheapest = float(np.concatenate([np.ones(1), *(o.costs[o.costs > 0] for o in problem.options)]).min())
    bound = 0.0

    def answer(closed: bool) -> Solution:
        seconds, nodes = time.perf_counter() - begin, sum(int(s.count[NODES]) for s in searchers)
        if best.choice is None:
            status = Status.INFEASIBLE if closed else Status.UNKNOWN
            return Solution(status, None, None, np.inf if closed else bound, seconds, "search", nodes)
        status = Status.OPTIMAL if closed else Status.FEASIBLE
        return Solution(
            status, best.choice, best.cost, best.cost if closed else min(bound, best.cost), seconds, "search", nodes
        )

    try:
        if any(s.keep_may_do for s in searchers) and best.offer(problem.keep, False):
            return answer(True)
        cap = min((s.least_cap(cheapest, dearest) for s in searchers), default=dearest)
        if cap > cheapest:
            bound = cap
        while True:
            cap = 1.1 * cap if cap < dearest else np.inf
            for searcher in searchers:
                searcher.prepare(min(cap, best.cost))
                while not searcher.finished and searcher.bound < min(cap, best.cost):
                    if searcher.run(min(cap, best.cost), 100_000):
                        best.offer(*searcher.choice())
                    if time_limit is not None and time.perf_counter() - begin > time_limit:
                        return answer(False)
                    if callback is not None and callback(answer(False)) is False:
                        return answer(False)
            if best.choice is not None or cap > dearest:
                return answer(True)
            bound = max(bound, cap)
            cap *= 1.2
    except KeyboardInterrupt:
        return answer(False)
