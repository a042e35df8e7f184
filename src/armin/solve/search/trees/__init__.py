"""Exact search for tree ensembles: sets of features first, then ranges of their options.

The budget grows in stages. Within a stage every node whose cheapest choice costs too much, or whose
best leaves cannot convince enough candidates, is cut off; a stage that ends without a choice proves
that none costs less than its budget.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from armin.problem import PathPoint, Problem, Solution, Status
from armin.solve.search.trees.engine import Stages, new_stages
from armin.solve.search.words import end_of_path

__all__ = ["best_trees", "path_trees", "search_trees"]

Callback = Callable[[Solution], bool | None]


class _Watch:
    """Looks at the clock and calls the callback; false when the search must stop."""

    def __init__(self, stages: Stages, begin: float, time_limit: float | None, callback: Callback | None) -> None:
        self.stages, self.begin, self.time_limit, self.callback = stages, begin, time_limit, callback

    def __call__(self) -> bool:
        if self.time_limit is not None and time.perf_counter() - self.begin > self.time_limit:
            return False
        return self.callback is None or self.callback(self.answer(False)) is not False

    def answer(self, closed: bool) -> Solution:
        """What is known now."""
        run, bound = self.stages.run, self.stages.bound
        seconds = time.perf_counter() - self.begin
        if run.choice is None:
            status = Status.INFEASIBLE if closed else Status.UNKNOWN
            return Solution(status, None, None, np.inf if closed else bound, seconds, "search", run.nodes)
        if closed:
            return Solution(Status.OPTIMAL, run.choice, run.cost, run.cost, seconds, "search", run.nodes)
        return Solution(Status.FEASIBLE, run.choice, run.cost, min(bound, run.cost), seconds, "search", run.nodes)

    def solve(self) -> Solution:
        """Search to the end, or to where something stops it."""
        try:
            return self.answer(self.stages.go(self))
        except KeyboardInterrupt:
            return self.answer(False)


def search_trees(problem: Problem, time_limit: float | None = None, callback: Callback | None = None) -> Solution:
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
    return _Watch(new_stages(problem), begin, time_limit, callback).solve()


def best_trees(
    problem: Problem, count: int, time_limit: float | None = None, callback: Callback | None = None
) -> list[Solution]:
    """The ``count`` cheapest choices that change different sets of features, the cheapest first.

    Parameters
    ----------
    problem : the model must be a TreeEnsemble
    count : how many choices
    time_limit : seconds for all of them, or None
    callback : as in :func:`search_trees`

    Returns
    -------
    list of Solution
        If there are fewer, a last one without a choice says why: infeasible (there is no other) or unknown.

    >>> import numpy as np
    >>> from armin.models.kinds import Above, TreeEnsemble
    >>> stumps = TreeEnsemble(
    ...     roots=np.array([0, 3]), feature=np.array([0, -1, -1, 1, -1, -1]),
    ...     threshold=np.array([2.0, 0, 0, 2.0, 0, 0]),
    ...     left=np.array([1, -1, -1, 4, -1, -1]), right=np.array([2, -1, -1, 5, -1, -1]),
    ...     nan_left=np.zeros(6, dtype=bool), value=np.array([[0.0], [0.0], [1.0], [0.0], [0.0], [1.0]]),
    ...     base=np.zeros(1), decision=Above(1.0), n_inputs=2,
    ... )
    >>> problem = Problem.from_tables([[0.0, 1.0]], {0: [0, 3], 1: [0, 2]}, {0: [0, 3], 1: [0, 2]}, stumps, required=1)
    >>> [(solution.choice, solution.cost) for solution in best_trees(problem, 5)]
    [((0, 1), 2.0), ((1, 0), 3.0), ((1, 1), 5.0), (None, None)]
    """
    begin = time.perf_counter()
    watch = _Watch(new_stages(problem, apart=True), begin, time_limit, callback)
    found: list[Solution] = []
    while len(found) < count:
        solution = watch.solve()
        found.append(solution)
        if solution.status is not Status.OPTIMAL or solution.choice is None or solution.cost is None:
            break
        watch.stages.without(solution.choice, solution.cost)
    return found


def path_trees(problem: Problem, time_limit: float | None = None, callback: Callback | None = None) -> list[PathPoint]:
    """Solve a problem with a tree ensemble for every required weight at once.

    Parameters
    ----------
    problem : the model must be a TreeEnsemble; what it requires does not matter
    time_limit : seconds for the whole path, or None
    callback : called now and then; the search stops when False is returned

    Returns
    -------
    list of PathPoint
        As :func:`armin.solve.path.solve_path` returns: every point with a choice is proved.

    >>> import numpy as np
    >>> from armin.models.kinds import Above, TreeEnsemble
    >>> stump = TreeEnsemble(
    ...     roots=np.array([0]), feature=np.array([0, -1, -1]), threshold=np.array([2.0, 0, 0]),
    ...     left=np.array([1, -1, -1]), right=np.array([2, -1, -1]), nan_left=np.zeros(3, dtype=bool),
    ...     value=np.array([[0.0], [-1.0], [1.0]]), base=np.zeros(1), decision=Above(0.0), n_inputs=1,
    ... )
    >>> problem = Problem.from_tables([[0.0], [1.0]], {0: [0, 1, 2, 3]}, {0: [0, 1, 2, 3]}, stump, required=1)
    >>> [(point.weight, point.solution.cost) for point in path_trees(problem)]
    [(1.0, 2.0), (2.0, 3.0)]
    """
    begin = time.perf_counter()
    stages = new_stages(problem.demanding(float(problem.weights.min())))
    stages.run.found = []
    watch = _Watch(stages, begin, time_limit, callback)
    try:
        closed = stages.go(watch)
    except KeyboardInterrupt:
        closed = False
    run, total = stages.run, float(problem.weights.sum())
    seconds = time.perf_counter() - begin
    points = []
    for cost, _, choice in run.found or []:
        if closed or cost < stages.bound:
            weight = problem.weight_accepted(choice)
            solution = Solution(Status.OPTIMAL, choice, cost, cost, seconds, "search", run.nodes)
            points.append(PathPoint(solution, weight, weight / total))
    status, bound = (Status.INFEASIBLE, np.inf) if closed else (Status.UNKNOWN, stages.bound)
    return end_of_path(problem, points, Solution(status, None, None, bound, seconds, "search", run.nodes))
