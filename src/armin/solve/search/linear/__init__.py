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
from dataclasses import replace

from armin.problem.data import WEIGHT_TOLERANCE, PathPoint, Problem, Solution, Status
from armin.solve.search.blackbox import search_black_box
from armin.solve.search.linear.engine import LinearRun, new_run

__all__ = ["best_linear", "path_linear", "search_linear"]

Callback = Callable[[Solution], bool | None]


def search_linear(problem: Problem, time_limit: float | None = None, callback: Callback | None = None) -> Solution:
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
    >>> from armin.models.kinds import Above, LinearModel
    >>> model = LinearModel(np.array([[1.0, 1.0]]), np.array([-6.0]), Above(0.0))
    >>> problem = Problem.from_tables(
    ...     [[1.0, 0.0], [3.0, 0.0]], {0: [0, 2, 4], 1: [0, 5]}, {0: [0, 1, 2], 1: [0, 1.5]}, model, required=1
    ... )
    >>> solution = search_linear(problem)
    >>> solution.status.value, solution.choice, solution.cost
    ('optimal', (0, 1), 1.5)
    """
    run = new_run(problem, time_limit, callback)
    if run is None:  # bounds need numbers; asking the model does not
        return search_black_box(problem, time_limit, callback)
    return run.solve(problem.required, 0.0)


def best_linear(
    problem: Problem, count: int, time_limit: float | None = None, callback: Callback | None = None
) -> list[Solution]:
    """The ``count`` cheapest choices that change different sets of features, the cheapest first.

    Parameters
    ----------
    problem : the model must be a LinearModel
    count : how many choices
    time_limit : seconds for all of them, or None
    callback : as in :func:`search_linear`

    Returns
    -------
    list of Solution
        If there are fewer, a last one without a choice says why: infeasible (there is no other) or unknown.

    >>> import numpy as np
    >>> from armin.models.kinds import Above, LinearModel
    >>> model = LinearModel(np.array([[1.0, 1.0]]), np.array([-6.0]), Above(0.0))
    >>> problem = Problem.from_tables(
    ...     [[1.0, 0.0], [3.0, 0.0]], {0: [0, 2, 4], 1: [0, 5]}, {0: [0, 1, 2], 1: [0, 1.5]}, model, required=1
    ... )
    >>> [(solution.choice, solution.cost) for solution in best_linear(problem, 3)]
    [((0, 1), 1.5), ((2, 0), 2.0), ((1, 1), 2.5)]
    """
    begin = time.perf_counter()
    run = new_run(problem, time_limit, callback, apart=True)
    found: list[Solution] = []
    while len(found) < count:
        if run is None:
            solution = search_black_box(problem, _left(begin, time_limit), callback)
        else:
            solution = run.solve(problem.required, (found[-1].cost or 0.0) if found else 0.0)
        found.append(solution)
        if solution.status is not Status.OPTIMAL or solution.choice is None:
            break
        if run is None:
            problem = problem.without_set(solution.choice)
        else:
            run.ban(solution.choice)
    return found


def path_linear(problem: Problem, time_limit: float | None = None, callback: Callback | None = None) -> list[PathPoint]:
    """Solve a problem with a linear model for every required weight, with tables that are made once.

    Parameters
    ----------
    problem : the model must be a LinearModel; what it requires does not matter
    time_limit : seconds for the whole path, or None
    callback : called now and then; the search stops when False is returned

    Returns
    -------
    list of PathPoint
        As :func:`armin.solve.path.solve_path` returns: every point with a choice is proved.

    >>> import numpy as np
    >>> from armin.models.kinds import Above, LinearModel
    >>> model = LinearModel(np.array([[1.0]]), np.array([-4.0]), Above(0.0))
    >>> problem = Problem.from_tables([[1.0], [2.0], [2.0]], {0: [0, 1, 2, 3]}, {0: [0, 1, 2, 3]}, model, required=1)
    >>> [(point.solution.cost, point.weight) for point in path_linear(problem)]
    [(2.0, 2.0), (3.0, 3.0)]
    """
    begin = time.perf_counter()
    run = new_run(problem, time_limit, callback)
    total, step = float(problem.weights.sum()), problem.smallest_step
    required = float(problem.weights.min())
    points: list[PathPoint] = []
    while True:
        floor = points[-1].solution.bound if points else 0.0
        found = _point(problem, run, required, floor, _left(begin, time_limit), callback)
        if found.status is not Status.OPTIMAL or found.choice is None or found.cost is None:
            if found.choice is not None:
                found = replace(found, status=Status.UNKNOWN, choice=None, cost=None)
            return [*points, PathPoint(found, required, required / total)]
        weight = problem.weight_accepted(found.choice)
        while points and (points[-1].solution.cost or 0.0) >= found.cost:  # more confidence for no more cost
            points.pop()
        points.append(PathPoint(found, weight, weight / total))
        if weight + step > total * (1 + WEIGHT_TOLERANCE):
            return points
        required = min(weight + step, total)


def _point(
    problem: Problem,
    run: LinearRun | None,
    required: float,
    floor: float,
    left: float | None,
    callback: Callback | None,
) -> Solution:
    """The cheapest choice for one required weight."""
    if run is not None:
        return run.solve(required, floor)
    if left is not None and left <= 0:
        return Solution(Status.UNKNOWN, None, None, floor, 0.0, "search")
    return search_black_box(problem.demanding(required), left, callback)


def _left(begin: float, time_limit: float | None) -> float | None:
    """The time that is left."""
    return None if time_limit is None else max(0.0, time_limit - (time.perf_counter() - begin))
