"""Running the compiled search over ReLU networks, case by case and share by share, until it ends or must stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np

from armin.errors import SolverError
from armin.models.kinds import ReluNetwork
from armin.problem.data import WEIGHT_TOLERANCE, Choice, Problem, Solution, Status
from armin.solve.search.goals import BETTER, Goal
from armin.solve.search.relu.data import (
    Ints,
    Leaf,
    Pool,
    Stairs,
    Tables,
    Work,
    larger_pool,
    new_leaf,
    new_pool,
    new_work,
)
from armin.solve.search.relu.loop import BETTER_FOUND, DONE, FULL, run
from armin.solve.search.relu.tables import Case, Plan, cases_of, first_node, plan_of, tables_of

__all__ = ["Callback", "Drive", "drive", "network_of"]

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
    version: int = -1

    def bound(self) -> float:
        size = int(self.pool.tally[0])
        if size == 0:
            return float("inf")
        if self.pool.tally[5]:
            return float(self.pool.bound[self.pool.heap[:size]].min())
        return float(self.pool.bound[self.pool.heap[0]])


@dataclass(eq=False)
class Drive:
    """A search under way.

    Attributes
    ----------
    bound : no choice that is better than what the goal knows costs less
    stopped : whether it was ended before it could prove all
    refused : choices that must not be listed
    version : counts what tables have to be told
    """

    problem: Problem
    goal: Goal
    deadline: float
    callback: Callback | None
    start: float = field(default_factory=time.perf_counter)
    bound: float = 0.0
    nodes: int = 0
    stopped: bool = False
    refused: list[Choice] = field(default_factory=list)
    version: int = 0

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.start

    def solution(self) -> Solution:
        """The choice that the goal reports."""
        if self.goal.best is None:
            status = Status.INFEASIBLE if self.bound == float("inf") else Status.UNKNOWN
            return Solution(status, None, None, self.bound, self.seconds, "search", self.nodes)
        cost, choice = self.goal.best
        status = Status.OPTIMAL if self.bound >= cost else Status.FEASIBLE
        return Solution(status, choice, cost, min(self.bound, cost), self.seconds, "search", self.nodes)

    def report(self) -> None:
        if self.callback is not None and self.callback(self.solution()) is False:
            self.stopped = True

    def take(self, leaf: Leaf, found: int) -> None:
        """Offer choices to the goal once the model has confirmed them; never list those again that it did not."""
        better, stairs = False, self.goal.stairs()
        for i in np.argsort(leaf.found[0, :found], kind="stable"):
            cost, claimed = float(leaf.found[0, i]), float(leaf.found[1, i])
            if not _wanted(stairs, cost, claimed):
                continue
            choice = tuple(leaf.choice[1 + i].tolist())
            weight = self.problem.weight_accepted(choice)
            taken = self.problem.allows(choice) and self.goal.offer(choice, self.problem.cost(choice), weight)
            if taken:
                better, stairs = True, self.goal.stairs()
            if not taken or claimed > weight + WEIGHT_TOLERANCE * float(self.problem.weights.sum()):
                self.refused.append(choice)
        self.version += 1
        if better:
            self.report()


def _wanted(stairs: Stairs, cost: float, weight: float) -> bool:
    i = int(np.searchsorted(stairs.cost, cost, side="right"))
    return i < stairs.cost.size and weight >= stairs.require[i]


def network_of(problem: Problem) -> ReluNetwork:
    """The model of ``problem``, which must be a ReLU network."""
    if not isinstance(problem.model, ReluNetwork):
        raise SolverError(
            f"search_relu needs a ReluNetwork. Got a {type(problem.model).__name__}. Use solve() to pick a solver."
        )
    return problem.model


def drive(problem: Problem, goal: Goal, time_limit: float | None, callback: Callback | None) -> Drive:
    """Search until the goal is reached and proved, or time runs out, or someone interrupts."""
    state = Drive(problem, goal, float("inf"), callback, refused=sorted(problem.forbidden))
    if time_limit is not None:
        state.deadline = state.start + time_limit
    try:
        if problem.allows(problem.keep):
            goal.offer(problem.keep, 0.0, problem.weight_accepted(problem.keep))
        if goal.worst > 0.0:
            _search(plan_of(problem, network_of(problem)), state)
        else:
            state.bound = goal.worst
    except KeyboardInterrupt:
        state.stopped = True
    return state


def _search(plan: Plan, state: Drive) -> None:
    cases = cases_of(plan)
    few = FEW if len(plan.network.weights) == 1 else FEW_DEEP
    for limit in sorted({limit for limit in (1, 2, 3) if limit < plan.problem.limit}):
        _explore(plan, cases, state, limit, few, early=True)
    _explore(plan, cases, state, plan.problem.limit, few, early=False)


def _opened(plan: Plan, case: Case, limit: int, required: float) -> _Open:
    tables = tables_of(plan, case, limit, required)
    pool = new_pool(tables.words.slot.size, 256)
    pool.node[0], pool.critical[0] = first_node(plan, case, tables, required)
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


def _explore(plan: Plan, cases: list[Case], state: Drive, limit: int, few: float, early: bool) -> None:
    """Search all cases with at most ``limit`` changes, the lowest bound first; ``early`` ones give up soon."""
    queue: list[tuple[float, int, _Open | None]] = []
    for i, case in enumerate(cases):
        if len(case.changed) + sum(1 for _, j in case.picked if j) <= limit:
            heappush(queue, (case.floor, i, None))
    last = state.nodes + EARLY_NODES
    while queue and not state.stopped:
        bound, i, task = heappop(queue)
        if not early:
            state.bound = max(state.bound, min(bound, state.goal.worst))
        if bound >= state.goal.worst * (1.0 - BETTER):
            break
        if time.perf_counter() > state.deadline or (early and state.nodes > last):
            state.stopped = not early or time.perf_counter() > state.deadline
            return
        task = task or _opened(plan, cases[i], limit, state.goal.required)
        if _advance(task, state, few) != DONE:
            heappush(queue, (max(bound, task.bound()), i, task))
        state.report()
    if not early and not state.stopped:
        state.bound = state.goal.worst


def _advance(task: _Open, state: Drive, few: float) -> int:
    """Let a case run for its share of work."""
    stairs = state.goal.stairs()
    if task.version != state.version:
        _refresh(task, state, stairs)
    before = int(task.pool.tally[3])
    code, found = run(*task.tables, stairs, task.work, task.leaf, task.pool, _share(task.tables), few)
    state.nodes += int(task.pool.tally[3]) - before
    if code == BETTER_FOUND:
        state.take(task.leaf, found)
    elif code == FULL:
        pool = larger_pool(task.pool)
        size = int(pool.tally[0])
        if sum(array.nbytes for array in pool) > MOST_BYTES and not pool.tally[5]:
            newest = np.argsort(-pool.stamp[pool.heap[:size]], kind="stable")
            pool.heap[:size] = pool.heap[:size][newest]
            pool.tally[5] = 1
        task.pool = pool
    return int(code)


def _refresh(task: _Open, state: Drive, stairs: Stairs) -> None:
    """Tell a case what else was found or refused meanwhile."""
    sets, price = state.goal.sets()
    forbidden: Ints = np.array(state.refused, dtype=np.int64).reshape(-1, len(state.problem.options))
    words = task.tables.words._replace(forbidden=forbidden, sets=sets, price=price)
    task.tables = task.tables._replace(words=words)
    if task.work.step.size < stairs.cost.size:
        size = 2 * stairs.cost.size
        task.work = task.work._replace(step=np.zeros(size), who=np.zeros(size, np.int64))
    task.version = state.version
