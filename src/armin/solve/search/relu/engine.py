"""The engine for ReLU networks: the compiled search, case by case and share by share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from armin.models.kinds import ReluNetwork
from armin.models.sums import largest_inputs
from armin.problem.data import WEIGHT_TOLERANCE, Choice, Problem
from armin.solve.search.dive import dive, dive_together
from armin.solve.search.goals import BETTER, Bans, Goal, Stairs, consider, wanted
from armin.solve.search.relu.data import (
    NEWEST,
    OPEN,
    PLACES,
    STAMP,
    VISITED,
    Deep,
    Leaf,
    Net,
    Pool,
    Space,
    larger_pool,
    new_leaf,
    new_pool,
    new_work,
)
from armin.solve.search.relu.groups import Group, groups_of_cases, tables_of_group
from armin.solve.search.relu.loop import BETTER_FOUND, DONE, FULL, run
from armin.solve.search.relu.nearby import ReluNearby
from armin.solve.search.relu.tables import Case, Plan, cases_of, choices_table, first_node, plan_of, tables_of

__all__ = ["ReluEngine", "start_relu"]

FEW, FEW_DEEP = 500.0, 64.0
"""Nodes with at most this many choices are listed, with one hidden layer and with more."""

LISTED, LEAST_LISTED = 500_000_000, 16.0
"""Products that one list may take, about: candidates times weights between hidden layers, for each choice; and how many
choices are listed whatever they take."""

EARLY_NODES = 4000
"""Nodes spent at most on each of the smaller numbers of changes, which give good choices early."""

SOON, LOOKS = 10, 120
"""Shares of work after which a dive is worth its time, and how often it may look around."""

LATER, ROUGH = 100, 4
"""Shares of work after which a dive from changes that help together is, and how many of each feature it combines."""

GLANCE = 64
"""Nodes spent on the question whether any case of a group can have what is wanted."""

LARGE = 4096
"""Weights between hidden layers from which a dive comes first."""

MOST_BYTES = 1_000_000_000
"""Beyond this size of the list of open nodes, the newest comes first, so that it grows no more."""


@dataclass(eq=False)
class _Open:
    """A case under search."""

    tables: Net
    deep: Deep | None
    work: Space
    leaf: Leaf
    pool: Pool
    version: int = -1

    def bound(self) -> float:
        """The lowest bound of an open node."""
        size = int(self.pool.tally[OPEN])
        if size == 0:
            return float("inf")
        if self.pool.tally[NEWEST]:
            return float(self.pool.bound[self.pool.heap[:size]].min())
        return float(self.pool.bound[self.pool.heap[0]])


class ReluEngine:
    """A best-first search over all cases of a problem.

    Attributes
    ----------
    bound : no choice that the goal wants costs less
    nodes : how many nodes were visited
    refused : choices that must not be listed
    version : counts what tables have to be told
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.bound, self.nodes = plan, 0.0, 0
        self.groups = groups_of_cases(plan)
        self.cases = [] if self.groups else cases_of(plan)
        self.few = FEW
        if len(plan.network.weights) > 1:
            products = plan.problem.n_candidates * sum(w.size for w in plan.network.weights[1:])
            self.few = min(FEW_DEEP, max(LEAST_LISTED, LISTED / products))
        self.refused: list[Choice] = sorted(plan.problem.forbidden)
        self.version = 0
        self.bans: Bans | None = None
        self.dived = self.combined = False

    def search(self, goal: Goal) -> Iterator[None]:
        """Few changes first, which soon give good choices; then all."""
        consider(self.plan.problem, goal, self.plan.problem.keep)
        self._news(goal)
        limit = self.plan.problem.limit
        if sum(w.size for w in self.plan.network.weights[1:]) > LARGE and not self.dived:
            yield from self._dive(goal)
        if goal.worst == float("inf"):
            for early in (early for early in (1, 2, 3) if early < limit):
                if not self.dived:
                    yield from self._explore(goal, early, self.nodes + EARLY_NODES)
        yield from self._explore(goal, limit, None)

    def _explore(self, goal: Goal, limit: int, last: int | None) -> Iterator[None]:
        """Search all cases with at most ``limit`` changes, the lowest bound first.

        Up to ``last`` nodes, or, if it is None, until all is proved.
        """
        queue: list[tuple[float, int, _Open | Case | Group]] = []
        whole: list[Group | Case] = [*self.groups] or [*self.cases]
        for count, each in enumerate(whole):
            if each.changes <= limit:
                heappush(queue, (each.floor, count, each))
        count = len(whole)
        while queue:
            bound, _, item = heappop(queue)
            if last is None:
                self.bound = max(self.bound, min(bound, goal.worst))
            if bound >= goal.worst * (1.0 - BETTER):
                break
            if last is not None and self.nodes > last:
                return
            if isinstance(item, Group) and item.size > 1:
                bound = max(bound, self._bound(item, limit, goal))
                for half in item.halves() if bound < goal.worst else ():
                    heappush(queue, (max(bound, half.floor), count, half))
                    count += 1
                yield
                continue
            case = item.case if isinstance(item, Group) else item
            task = case if isinstance(case, _Open) else _opened(self.plan, case, limit, goal.required)
            if self._advance(task, goal) != DONE:
                heappush(queue, (max(bound, task.bound()), count, task))
                count += 1
            yield
            if goal.kind == "cheapest" and self.nodes > SOON * _share(task.tables, task.deep) and not self.dived:
                yield from self._dive(goal)
                if last is not None:
                    return
            elif goal.kind == "cheapest" and self.nodes > LATER * _share(task.tables, task.deep):
                yield from self._dive_together(goal)
        if last is None:
            self.bound = goal.worst

    def _dive(self, goal: Goal) -> Iterator[None]:
        """Look for a good choice without proof."""
        self.dived = True
        yield from dive(self.plan.problem, goal, ReluNearby(self.plan), LOOKS)
        self._news(goal)

    def _dive_together(self, goal: Goal) -> Iterator[None]:
        """Look for a choice whose changes help only together, once."""
        if not self.combined:
            self.combined = True
            near, rough = ReluNearby(self.plan), ReluNearby(self.plan, ROUGH)
            yield from dive_together(self.plan.problem, goal, near, rough, LOOKS)
            self._news(goal)

    def _bound(self, group: Group, limit: int, goal: Goal) -> float:
        """What a choice of a group that is wanted costs at least; infinite where there is none."""
        tables, stairs = tables_of_group(self.plan, group, limit), goal.stairs()
        task = _made(self.plan, tables, None, group.changed, group.floor, goal.required)
        self._make_room(task, stairs)
        bans = self.bans if self.bans is not None else goal.bans()
        code, _ = run(tables, None, stairs, bans, task.work, task.leaf, task.pool, GLANCE, self.few)
        self.nodes += int(task.pool.tally[VISITED])
        return float("inf") if code == DONE else task.bound()

    def _advance(self, task: _Open, goal: Goal) -> int:
        """Let a case run for its share of work."""
        stairs = goal.stairs()
        bans = self.bans if self.bans is not None else goal.bans()
        if task.version != self.version:
            self._refresh(task, stairs)
        before, share = int(task.pool.tally[VISITED]), _share(task.tables, task.deep)
        code, found = run(task.tables, task.deep, stairs, bans, task.work, task.leaf, task.pool, share, self.few)
        self.nodes += int(task.pool.tally[VISITED]) - before
        if code == BETTER_FOUND:
            self.take(goal, task.leaf, found)
        elif code == FULL:
            pool = larger_pool(task.pool)
            size = int(pool.tally[OPEN])
            if sum(array.nbytes for array in pool) > MOST_BYTES and not pool.tally[NEWEST]:
                newest = np.argsort(-pool.stamp[pool.heap[:size]], kind="stable")
                pool.heap[:size] = pool.heap[:size][newest]
                pool.tally[NEWEST] = 1
            task.pool = pool
        return int(code)

    def take(self, goal: Goal, leaf: Leaf, found: int) -> None:
        """Offer choices to the goal once the model has confirmed them; never list those again that it did not."""
        problem, stairs = self.plan.problem, goal.stairs()
        for i in np.argsort(leaf.found[0, :found], kind="stable"):
            cost, claimed = float(leaf.found[0, i]), float(leaf.found[1, i])
            if not wanted(stairs, cost, claimed):
                continue
            choice = tuple(leaf.choice[1 + i].tolist())
            weight = problem.weight_accepted(choice)
            taken = problem.allows(choice) and goal.offer(choice, problem.cost(choice), weight)
            if taken:
                stairs = goal.stairs()
            if not taken or claimed > weight + WEIGHT_TOLERANCE * float(problem.weights.sum()):
                self.refused.append(choice)
        self._news(goal)

    def _news(self, goal: Goal) -> None:
        self.version += 1
        self.bans = goal.bans()

    def _refresh(self, task: _Open, stairs: Stairs) -> None:
        """Tell a case what else was found or refused meanwhile."""
        forbidden = choices_table(self.refused, len(self.plan.problem.options))
        task.tables = task.tables._replace(words=task.tables.words._replace(forbidden=forbidden))
        self._make_room(task, stairs)
        task.version = self.version

    def _make_room(self, task: _Open, stairs: Stairs) -> None:
        """For all steps of the stairs."""
        if task.work.step.size < stairs.cost.size:
            size = 2 * stairs.cost.size
            task.work = task.work._replace(step=np.zeros(size), who=np.zeros(size, np.int64))


def _opened(plan: Plan, case: Case, limit: int, required: float) -> _Open:
    tables, deep = tables_of(plan, case, limit, required)
    return _made(plan, tables, deep, case.changed, case.floor, required)


def _made(plan: Plan, tables: Net, deep: Deep | None, changed: frozenset[int], floor: float, required: float) -> _Open:
    pool = new_pool(tables.words.slot.size, 256, 0 if deep is None else deep.group.size - 1)
    pool.node[0], pool.critical[0] = first_node(plan, changed, tables, required)
    pool.bound[0] = floor
    # the free place at the end of the list is place 0
    pool.tally[OPEN], pool.tally[PLACES], pool.tally[STAMP] = 1, 255, 1
    return _Open(tables, deep, new_work(tables), new_leaf(tables, deep), pool)


def _share(tables: Net, deep: Deep | None) -> int:
    """How many nodes take some hundredths of a second."""
    h, n = tables.crowd.base.shape
    d, m = tables.words.slot.size, tables.moves.cost.size
    if deep is None:
        return int(max(16, 100_000_000 // max(1, h * (20 * n + 40 * d))))
    # both ends of all neurons: carried back, put together with all options, and priced a few times
    neurons = int(deep.width.sum())
    work = (deep.group.size - 1) * 2 * neurons * (deep.weight.size // deep.width.size + d * h + 6 * m)
    return int(max(2, 400_000_000 // (work + 20 * h * n)))


def start_relu(problem: Problem, model: ReluNetwork) -> ReluEngine | None:
    """A search that has not begun; None where some input is not a number."""
    largest = (largest_inputs(problem.candidates), *(option.largest for option in problem.options))
    if not all(np.isfinite(each).all() for each in largest):
        return None
    return ReluEngine(plan_of(problem, model))
