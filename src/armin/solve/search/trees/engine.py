"""One search over a tree ensemble: the tables, the state, what was found, and the budgets it goes through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from armin.problem.data import WEIGHT_TOLERANCE, Choice, Problem
from armin.solve.search.trees.bound import (
    CAP,
    FRONT,
    GROUPS,
    HEAD,
    LEVELS,
    NEED,
    NODES,
    STAGE,
    TOP,
    TOTAL,
    UNIONS,
    TreeState,
    free_rest,
)
from armin.solve.search.trees.exact import weigh
from armin.solve.search.trees.leaves import Reduced, reduce_problem
from armin.solve.search.trees.nodes import explore
from armin.solve.search.trees.tables import COMMON, LIMIT, LOCAL, OWN_WORD, TreeSearch, build_tables
from armin.solve.search.words import sets_as_words

__all__ = ["Run", "Stages", "new_stages"]

_STEP = 1.5  # from one budget to the next
_LARGE = 5000  # leaves from which tables are made anew for each budget
_FEW_NODES, _MANY_NODES = 2000, 20_000  # between two looks at the clock


@dataclass
class Run:
    """One search: the tables, the state, and the best choice so far."""

    problem: Problem
    search: TreeSearch
    state: TreeState
    node: NDArray[np.int32]
    choice: Choice | None = None
    cost: float = np.inf
    found: list[tuple[float, float, Choice]] | None = None
    """Cost, accepted weight and choice along the frontier, where all of it is asked for."""

    @property
    def finished(self) -> bool:
        """Whether no node is open."""
        return bool(self.state.counter[TOP] == 0)

    @property
    def nodes(self) -> int:
        """How many nodes were visited."""
        return int(self.state.counter[NODES])

    def begin(self, cap: float, proved: float) -> None:
        """Start at the root, for choices that cost less than ``cap``; those below ``proved`` are all known."""
        state = self.state
        state.number[CAP] = state.number[STAGE] = cap
        state.counter[TOP] = 1
        state.stack[0] = 0
        for cost, weight, _ in self.found or []:
            if cost <= proved:  # what is still to be found costs more, and must be worth more
                state.number[NEED] = max(state.number[NEED], weight + WEIGHT_TOLERANCE * state.number[TOTAL])
        free_rest(self.search.tables, cap, state.rest)

    def again(self, other: Run) -> Run:
        """``other`` with the incumbent and the count of this one."""
        other.choice, other.cost, other.found = self.choice, self.cost, self.found
        other.state.counter[NODES] = self.state.counter[NODES]
        if self.found:
            other.set_front(self.found)
        return other

    def advance(self, nodes: int) -> None:
        """Visit some nodes and keep what they find."""
        tables, end = self.search.tables, self.nodes + nodes
        while not self.finished and self.nodes < end:
            if not explore(tables, self.state, self.node, end - self.nodes):
                return
            choice = self.read()
            if self.problem.allows(choice):
                self.offer(choice, self.problem.cost(choice))

    def offer(self, choice: Choice, cost: float) -> None:
        """Take the single choice in ``state.work`` if the model accepts it for enough weight."""
        tables, state = self.search.tables, self.state
        groups, own_word = int(state.counter[GROUPS]), int(tables.shape[OWN_WORD])
        found = weigh(self.search.exact, tables.part, state.weight, state.mask, state.work, groups, own_word)
        if self.found is not None:
            self.note(choice, cost, found)
        elif cost < self.cost and found >= state.number[NEED] and self.problem.enough(self.weight_of(choice, found)):
            self.choice, self.cost = choice, cost
            state.number[CAP] = min(cost, state.number[CAP])

    def note(self, choice: Choice, cost: float, weight: float) -> None:
        """Add a choice to the frontier of costs and weights, and drop those that it beats."""
        state, found = self.state, self.found or []
        if weight < state.number[NEED] or any(c <= cost and w >= weight for c, w, _ in found):
            return
        found = sorted([(c, w, x) for c, w, x in found if c < cost or w > weight] + [(cost, weight, choice)])
        self.found = found
        self.set_front(found)
        if weight >= (1 - WEIGHT_TOLERANCE) * state.number[TOTAL]:
            self.cost = min(self.cost, cost)
            state.number[CAP] = min(cost, state.number[CAP])

    def set_front(self, found: list[tuple[float, float, Choice]]) -> None:
        """Tell the kernels what was found."""
        if len(found) > self.state.front.shape[1]:
            self.state = self.state._replace(front=np.zeros((2, 2 * len(found))))
        self.state.counter[FRONT] = len(found)
        self.state.front[0, : len(found)] = [c for c, _, _ in found]
        self.state.front[1, : len(found)] = [w for _, w, _ in found]

    def weight_of(self, choice: Choice, found: float) -> float:
        """The accepted weight, added up as the problem does where the order of a sum might matter."""
        if abs(found - self.state.number[NEED]) > 1e-11 * self.state.number[TOTAL]:
            return found
        return self.problem.weight_accepted(choice)

    def read(self) -> Choice:
        """The choice of the single node in ``self.node``."""
        search, node = self.search, self.node
        choice = [0] * len(self.problem.options)
        n_local = len(search.local_feature)
        for f, feature in enumerate(search.local_feature):
            if feature >= 0:
                choice[feature] = int(search.local_option[f][node[HEAD + f]])
        for k in range(int(node[2])):
            d, side, low = (int(i) for i in node[HEAD + n_local + 4 * k :][:3])
            choice[search.common_feature[d]] = int(search.option[search.tables.sides[d, side, 2] + low])
        return tuple(choice)


def _new_state(problem: Problem, search: TreeSearch) -> TreeState:
    tables = search.tables
    n_common, n_local, limit = (int(tables.shape[i]) for i in (COMMON, LOCAL, LIMIT))
    width = HEAD + n_local + 4 * min(limit, n_common)
    depth = int(tables.local_part[:, 0].sum()) + (n_common + 2) * (limit + 2) + 20 * limit + 64
    words, n = tables.masks.shape[1], tables.weight.size
    total = float(problem.weights.sum())
    return TreeState(
        stack=np.zeros((depth, width), dtype=np.int32),
        counter=np.zeros(5, dtype=np.int64),
        number=np.array([np.inf, problem.required - (WEIGHT_TOLERANCE + 1e-12) * total, total, 0.0, 0.0]),
        weight=np.zeros(n),
        mask=np.zeros((UNIONS + n, words - int(tables.shape[OWN_WORD])), dtype=np.uint64),
        work=np.zeros(words, dtype=np.uint64),
        sums=np.zeros(tables.rows.shape[1], dtype=np.int64),
        slot=np.full(1 << (2 * n).bit_length(), -1, dtype=np.int32),
        rest=np.full((LEVELS, n_common + 1, words), ~np.uint64(0)),
        front=np.zeros((2, n + 1)),
        changed=np.zeros(tables.banned.shape[1], dtype=np.uint64),
    )


def _new_run(reduced: Reduced, cap: float) -> Run:
    search = build_tables(reduced, cap)
    state = _new_state(reduced.problem, search)
    return Run(reduced.problem, search, state, np.zeros(state.stack.shape[1], dtype=np.int32))


@dataclass
class Stages:
    """A search whose budget grows: a stage that ends without a choice proves that none costs less."""

    reduced: Reduced
    run: Run
    large: bool
    cap: float
    dearest: float
    bound: float = 0.0

    def go(self, watch: Callable[[], bool]) -> bool:
        """Let the budget grow until all is proved; false if ``watch`` stopped it."""
        step, before = _STEP, 0
        while True:
            run, start = self.run, self.run.nodes
            run.begin(min(self.cap, run.cost), self.bound)
            going = True
            while going and not run.finished:
                run.advance(_FEW_NODES if self.large else _MANY_NODES)
                going = watch()
            if run.finished and (run.cost <= self.cap or self.cap > self.dearest):
                return True
            if not going:
                return False
            now = run.nodes - start
            if before > _FEW_NODES // 2 and now < 1.25 * before:
                step *= _STEP  # dearer budgets add little: hurry
            before = now
            self.bound, self.cap = self.cap, step * self.cap if self.cap < self.dearest else np.inf
            if self.large:
                self.renew()

    def renew(self) -> None:
        """Tables for the present budget, after a short look at a larger one if nothing was found yet."""
        run = self.run
        if run.choice is None and run.found is None and run.nodes > _FEW_NODES:
            far = _STEP**2 * self.cap
            run = run.again(_new_run(self.reduced, far))
            run.begin(far, self.bound)
            run.advance(_FEW_NODES)
        self.run = run.again(_new_run(self.reduced, min(self.cap, run.cost)))

    def without(self, choice: Choice, cost: float) -> None:
        """Rule out the set of features of the best choice, and be ready to look for the next one."""
        problem = self.reduced.problem.without_set(choice)
        self.reduced = replace(self.reduced, problem=problem)
        self.bound, self.cap = cost, max(self.cap, 1.1 * cost)
        self.run.choice, self.run.cost, self.run.problem = None, np.inf, problem
        if self.large:
            self.run = self.run.again(_new_run(self.reduced, self.cap))
        else:
            banned = sets_as_words(problem.forbidden_sets, len(problem.options))
            search = self.run.search
            self.run.search = replace(search, tables=search.tables._replace(banned=banned))


def new_stages(problem: Problem, apart: bool = False) -> Stages:
    """A search that has not begun; with ``apart``, for problems from which sets of features will be ruled out."""
    reduced = reduce_problem(problem, apart)
    dearest = sum(float(o.costs.max()) for o in problem.options) + 1.0
    # a budget below which there is next to nothing to search
    costs = np.concatenate([np.zeros(0), *(o.costs for o in problem.options)])
    costs = costs[costs > 0]
    cap = 1.01 * float(costs.min()) if costs.size else 1.0
    large = int(np.count_nonzero(reduced.model.feature < 0)) > _LARGE
    return Stages(reduced, _new_run(reduced, cap if large else np.inf), large, cap, dearest)
