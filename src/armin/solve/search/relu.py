"""Exact search over ReLU networks: the cheapest choice, proved over all candidates.

A node of the search gives each feature a range of options. The action enters the network once, as
u = sum of U_d[j_d] in the first layer, so one box for u and one linear bound on the scores, with
offsets of its own for each candidate, say whether candidates of the required weight can still be
accepted, and at what cost at least.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np

from armin.errors import SolverError
from armin.models.kinds import ReluNetwork
from armin.problem import Choice, Problem, Solution, Status
from armin.solve.search.blackbox import search_black_box
from armin.solve.search.relu_data import Leaf, Pool, Tables, Work, larger_pool, new_leaf, new_pool, new_work
from armin.solve.search.relu_kernels import DONE, FOUND, FULL, run_deep, run_one
from armin.solve.search.relu_tables import Case, Plan, cases_of, first_node, plan_of, tables_of

__all__ = ["search_relu"]

BETTER = 1e-12
"""A choice is better only if it is cheaper by more than this share: below it, sums differ by their order alone."""

FEW, FEW_DEEP = 500.0, 64.0
"""Nodes with at most this many choices are listed, with one hidden layer and with more."""

EARLY_NODES = 4000
"""Nodes spent at most on each of the smaller numbers of changes, which give good choices early."""

MOST_BYTES = 1_000_000_000
"""Beyond this size of the list of open nodes, the newest comes first, so that it grows no more."""

Callback = Callable[[Solution], bool | None]


@dataclass(eq=False)
class _Open:
    """A case under search."""

    tables: Tables
    work: Work
    leaf: Leaf
    pool: Pool

    def bound(self) -> float:
        size = int(self.pool.tally[0])
        if size == 0:
            return float("inf")
        if self.pool.tally[5]:
            return float(self.pool.bound[self.pool.heap[:size]].min())
        return float(self.pool.bound[self.pool.heap[0]])


@dataclass(eq=False)
class _State:
    """What is known so far."""

    problem: Problem
    forbidden: np.ndarray[tuple[int, int], np.dtype[np.int64]]
    deadline: float
    callback: Callback | None
    start: float = field(default_factory=time.perf_counter)
    choice: Choice | None = None
    cost: float = float("inf")
    bound: float = 0.0
    nodes: int = 0
    stopped: bool = False

    def solution(self) -> Solution:
        seconds = time.perf_counter() - self.start
        bound = min(self.bound, self.cost)
        if self.choice is None:
            status = Status.INFEASIBLE if bound == float("inf") else Status.UNKNOWN
            return Solution(status, None, None, bound, seconds, "search", self.nodes)
        status = Status.OPTIMAL if bound >= self.cost else Status.FEASIBLE
        return Solution(status, self.choice, self.cost, bound, seconds, "search", self.nodes)

    def offer(self, choice: Choice) -> None:
        """Take ``choice`` if it is better and the model confirms it; remember it if not."""
        if self.problem.is_solved_by(choice):
            cost = self.problem.cost(choice)
            if cost < self.cost:
                self.choice, self.cost = choice, cost
                self.report()
        else:
            self.forbidden = np.concatenate([self.forbidden, np.array([choice], dtype=np.int64)])

    def report(self) -> None:
        if self.callback is not None and self.callback(self.solution()) is False:
            self.stopped = True


def search_relu(problem: Problem, time_limit: float | None = None, callback: Callback | None = None) -> Solution:
    """Find the cheapest choice for a problem whose model is a ReLU network, and prove it.

    Parameters
    ----------
    problem : the problem
    time_limit : seconds after which the best choice so far and a true bound are returned
    callback : called with the state of the search now and then; returning False ends it

    Examples
    --------
    >>> import numpy as np
    >>> from armin.models.kinds import Above, ReluNetwork
    >>> net = ReluNetwork((np.array([[1.0], [1.0]]), np.array([[1.0]])), (np.zeros(1), np.array([-6.0])), Above(0.0))
    >>> problem = Problem.from_tables(
    ...     [[1, 0], [3, 0]], {0: [0, 2, 4], 1: [0, 5]}, {0: [0, 1, 2], 1: [0, 1.5]}, net, required=2
    ... )
    >>> solution = search_relu(problem)
    >>> solution.status.value, solution.choice, solution.cost
    ('optimal', (0, 1), 1.5)
    """
    model = problem.model
    if not isinstance(model, ReluNetwork):
        raise SolverError(
            f"search_relu needs a ReluNetwork. Got a {type(model).__name__}. Use solve() to pick a solver."
        )
    if not all(np.isfinite(table).all() for table in (problem.candidates, *(o.outcomes for o in problem.options))):
        return search_black_box(problem, time_limit, callback)  # bounds need numbers; asking the model does not
    state = _State(problem, np.zeros((0, len(problem.options)), np.int64), float("inf"), callback)
    if time_limit is not None:
        state.deadline = state.start + time_limit
    try:
        if problem.is_solved_by(problem.keep):
            state.choice, state.cost = problem.keep, 0.0
        else:
            _search(plan_of(problem, model), state)
    except KeyboardInterrupt:
        state.stopped = True
    return state.solution()


def _search(plan: Plan, state: _State) -> None:
    state.forbidden = plan.shared.words.forbidden
    cases = cases_of(plan)
    few = FEW if len(plan.network.weights) == 1 else FEW_DEEP
    for limit in sorted({limit for limit in (1, 2, 3) if limit < plan.problem.limit}):
        _explore(plan, cases, state, limit, few, early=True)
    _explore(plan, cases, state, plan.problem.limit, few, early=False)


def _opened(plan: Plan, case: Case, limit: int) -> _Open:
    tables = tables_of(plan, case, limit)
    pool = new_pool(tables.words.slot.size, 256)
    pool.node[0], pool.critical[0] = first_node(plan, case, tables)
    pool.bound[0] = case.floor
    pool.tally[0], pool.tally[1], pool.tally[2] = 1, 255, 1  # the free place at the end of the list is place 0
    return _Open(tables, new_work(tables), new_leaf(tables), pool)


def _share(tables: Tables) -> int:
    """How many nodes take some hundredths of a second."""
    h, n = tables.crowd.base.shape
    work = h * (20 * n + 40 * tables.words.slot.size)
    if tables.deep.width.size > 1:
        work += 10 * (tables.deep.group.size - 1) * int(tables.deep.weight.size) * h
    return int(max(16, 100_000_000 // max(1, work)))


def _explore(plan: Plan, cases: list[Case], state: _State, limit: int, few: float, early: bool) -> None:
    """Search all cases with at most ``limit`` changes, the lowest bound first; ``early`` ones give up soon."""
    queue: list[tuple[float, int, _Open | None]] = []
    for i, case in enumerate(cases):
        if len(case.changed) + sum(1 for _, j in case.picked if j) <= limit:
            heappush(queue, (case.floor, i, None))
    last = state.nodes + EARLY_NODES
    while queue and not state.stopped:
        bound, i, task = heappop(queue)
        if not early:
            state.bound = max(state.bound, min(bound, state.cost))
        if bound >= state.cost * (1.0 - BETTER):
            break
        if time.perf_counter() > state.deadline or (early and state.nodes > last):
            state.stopped = not early or time.perf_counter() > state.deadline
            return
        task = task or _opened(plan, cases[i], limit)
        if _advance(task, state, few) != DONE:
            heappush(queue, (max(bound, task.bound()), i, task))
        state.report()
    if not early and not state.stopped:
        state.bound = state.cost


def _advance(task: _Open, state: _State, few: float) -> int:
    """Let a case run for its share of work."""
    words = task.tables.words
    if words.forbidden.shape[0] != state.forbidden.shape[0]:
        task.tables = task.tables._replace(words=words._replace(forbidden=state.forbidden))
    before = int(task.pool.tally[3])
    share = _share(task.tables)
    run = run_one if task.tables.deep.width.size == 1 else run_deep
    code, _ = run(*task.tables, task.work, task.leaf, task.pool, state.cost * (1.0 - BETTER), share, few)
    state.nodes += int(task.pool.tally[3]) - before
    if code == FOUND:
        state.offer(tuple(int(j) for j in task.leaf.choice[1]))
    elif code == FULL:
        pool = larger_pool(task.pool)
        size = int(pool.tally[0])
        if sum(array.nbytes for array in pool) > MOST_BYTES and not pool.tally[5]:
            newest = np.argsort(-pool.stamp[pool.heap[:size]], kind="stable")
            pool.heap[:size] = pool.heap[:size][newest]
            pool.tally[5] = 1
        task.pool = pool
    return int(code)
