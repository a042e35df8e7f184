"""Exact search for tree ensembles: sets of features first, then ranges of their options.

The budget grows in stages. Within a stage every node whose cheapest choice costs too much, or whose
best leaves cannot convince enough candidates, is cut off; a stage that ends without a choice proves
that none costs less than its budget.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from armin.problem import WEIGHT_TOLERANCE, Choice, Problem, Solution, Status
from armin.solve.search.trees_leaves import Reduced, reduce_problem
from armin.solve.search.trees_bound import (
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
from armin.solve.search.trees_exact import weigh
from armin.solve.search.trees_nodes import explore
from armin.solve.search.trees_tables import COMMON, LIMIT, LOCAL, OWN_WORD, TreeSearch, build_tables

__all__ = ["path_trees", "search_trees"]

_STEP = 1.5  # from one budget to the next
_LARGE = 5000  # leaves from which tables are made anew for each budget
_FEW_NODES, _MANY_NODES = 2000, 20_000  # between two looks at the clock


@dataclass
class _Run:
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

    def begin(self, cap: float) -> None:
        """Start at the root, for choices that cost less than ``cap``."""
        state = self.state
        state.number[CAP] = state.number[STAGE] = cap
        state.counter[TOP] = 1
        state.stack[0] = 0
        free_rest(self.search.tables, cap, state.rest)

    def again(self, other: _Run) -> _Run:
        """``other`` with the incumbent and the count of this one."""
        other.choice, other.cost, other.found = self.choice, self.cost, self.found
        other.state.counter[NODES] = self.state.counter[NODES]
        return other

    def advance(self, nodes: int) -> None:
        """Visit some nodes and keep what they find."""
        tables, state = self.search.tables, self.state
        end = int(state.counter[NODES]) + nodes
        while state.counter[TOP] > 0 and state.counter[NODES] < end:
            if not explore(tables, state, self.node, end - int(state.counter[NODES])):
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
        state.counter[FRONT] = len(found)
        state.front[0, : len(found)] = [c for c, _, _ in found]
        state.front[1, : len(found)] = [w for _, w, _ in found]
        if weight >= (1 - 1e-9) * state.number[TOTAL]:
            self.cost = min(self.cost, cost)
            state.number[CAP] = min(cost, state.number[CAP])

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


def _new_state(problem: Problem, search: TreeSearch, nodes: int) -> TreeState:
    tables = search.tables
    n_common, n_local, limit = (int(tables.shape[i]) for i in (COMMON, LOCAL, LIMIT))
    width = HEAD + n_local + 4 * min(limit, n_common)
    depth = int(tables.local_part[:, 0].sum()) + (n_common + 2) * (limit + 2) + 20 * limit + 64
    words, n = tables.masks.shape[1], tables.weight.size
    total = float(problem.weights.sum())
    return TreeState(
        stack=np.zeros((depth, width), dtype=np.int32),
        counter=np.array([0, nodes, 0, 0, 0], dtype=np.int64),
        number=np.array([np.inf, problem.required - (WEIGHT_TOLERANCE + 1e-12) * total, total, 0.0, 0.0]),
        weight=np.zeros(n),
        mask=np.zeros((UNIONS + n, words - int(tables.shape[OWN_WORD])), dtype=np.uint64),
        work=np.zeros(words, dtype=np.uint64),
        sums=np.zeros(tables.rows.shape[1], dtype=np.int64),
        slot=np.full(1 << (2 * n).bit_length(), -1, dtype=np.int32),
        rest=np.full((LEVELS, n_common + 1, words), ~np.uint64(0)),
        front=np.zeros((2, n + 1)),
    )


def _new_run(reduced: Reduced, cap: float) -> _Run:
    search = build_tables(reduced, cap)
    state = _new_state(reduced.problem, search, 0)
    return _Run(reduced.problem, search, state, np.zeros(state.stack.shape[1], dtype=np.int32))


def search_trees(
    problem: Problem,
    time_limit: float | None = None,
    callback: Callable[[Solution], bool | None] | None = None,
) -> Solution:
    """Solve a problem with a tree ensemble.

    Parameters
    ----------
    problem : the model must be a TreeEnsemble
    time_limit : seconds, or None
    callback : called now and then with the state of the search; it stops when False is returned

    Returns
    -------
    Solution
        Proved, or the best so far with a true bound where time ran out, the callback or an interrupt stopped it.

    >>> import numpy as np
    >>> from armin.models.kinds import Above, TreeEnsemble
    >>> stump = TreeEnsemble(
    ...     roots=np.array([0]), feature=np.array([0, -1, -1]), threshold=np.array([2.0, 0, 0]),
    ...     left=np.array([1, -1, -1]), right=np.array([2, -1, -1]), nan_left=np.zeros(3, dtype=bool),
    ...     value=np.array([[0.0], [-1.0], [1.0]]), base=np.zeros(1), decision=Above(0.0), n_inputs=1,
    ... )
    >>> problem = Problem.from_tables([[0.0], [1.0]], {0: [0, 1, 2, 3]}, {0: [0, 1, 2, 3]}, stump, required=2)
    >>> solution = search_trees(problem)
    >>> solution.status.value, solution.choice, solution.cost
    ('optimal', (3,), 3.0)
    """
    begin = time.perf_counter()
    reduced = reduce_problem(problem)
    dearest = sum(float(o.costs.max()) for o in problem.options) + 1.0
    bound, cap = 0.0, _first_cap(problem)
    large = int(np.count_nonzero(reduced.model.feature < 0)) > _LARGE
    run = _new_run(reduced, cap if large else np.inf)

    def answer(closed: bool) -> Solution:
        seconds, nodes = time.perf_counter() - begin, int(run.state.counter[NODES])
        if run.choice is None:
            status = Status.INFEASIBLE if closed else Status.UNKNOWN
            return Solution(status, None, None, np.inf if closed else bound, seconds, "search", nodes)
        if closed:
            return Solution(Status.OPTIMAL, run.choice, run.cost, run.cost, seconds, "search", nodes)
        return Solution(Status.FEASIBLE, run.choice, run.cost, min(bound, run.cost), seconds, "search", nodes)

    try:
        while True:
            run.begin(min(cap, run.cost))
            while not run.finished:
                run.advance(_FEW_NODES if large else _MANY_NODES)
                if time_limit is not None and time.perf_counter() - begin > time_limit and not run.finished:
                    return answer(False)
                if callback is not None and callback(answer(False)) is False:
                    return answer(False)
            if run.cost <= cap or cap > dearest:
                return answer(True)
            bound = cap
            cap = _STEP * cap if cap < dearest else np.inf
            if large:
                if run.choice is None and run.state.counter[NODES] > _FEW_NODES:
                    run = run.again(_new_run(reduced, _STEP**2 * cap))
                    run.begin(_STEP**2 * cap)
                    run.advance(_FEW_NODES)
                run = run.again(_new_run(reduced, min(cap, run.cost)))
    except KeyboardInterrupt:
        return answer(False)


def path_trees(
    problem: Problem,
    time_limit: float | None = None,
) -> list[tuple[float, Solution]]:
    """Every (accepted weight, cheapest choice) from ``problem.required`` to the whole weight, in one search.

    The last entries may be missing if time runs out; all that are returned are proved.

    >>> import numpy as np
    >>> from armin.models.kinds import Above, TreeEnsemble
    >>> stump = TreeEnsemble(
    ...     roots=np.array([0]), feature=np.array([0, -1, -1]), threshold=np.array([2.0, 0, 0]),
    ...     left=np.array([1, -1, -1]), right=np.array([2, -1, -1]), nan_left=np.zeros(3, dtype=bool),
    ...     value=np.array([[0.0], [-1.0], [1.0]]), base=np.zeros(1), decision=Above(0.0), n_inputs=1,
    ... )
    >>> problem = Problem.from_tables([[0.0], [1.0]], {0: [0, 1, 2, 3]}, {0: [0, 1, 2, 3]}, stump, required=1)
    >>> [(weight, solution.cost) for weight, solution in path_trees(problem)]
    [(1.0, 2.0), (2.0, 3.0)]
    """
    begin = time.perf_counter()
    reduced = reduce_problem(problem)
    dearest = sum(float(o.costs.max()) for o in problem.options) + 1.0
    proved, cap = 0.0, _first_cap(problem)
    run = _new_run(reduced, np.inf)
    run.found = []
    while True:
        run.begin(min(cap, run.cost))
        while not run.finished:
            run.advance(_MANY_NODES)
            if time_limit is not None and time.perf_counter() - begin > time_limit:
                break
        if not run.finished:
            break
        proved = min(cap, run.cost) if run.cost < np.inf else cap
        if run.cost <= cap or cap > dearest:
            proved = np.inf
            break
        cap = _STEP * cap if cap < dearest else np.inf
    seconds, nodes = time.perf_counter() - begin, int(run.state.counter[NODES])
    return [
        (weight, Solution(Status.OPTIMAL, choice, cost, cost, seconds, "search", nodes))
        for cost, weight, choice in run.found
        if cost < proved
    ]


def _first_cap(problem: Problem) -> float:
    """A budget below which there is next to nothing to search."""
    costs = np.concatenate([np.zeros(0), *(o.costs for o in problem.options)])
    costs = costs[costs > 0]
    return 1.01 * float(costs.min()) if costs.size else 1.0
