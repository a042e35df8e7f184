"""Exact search over ReLU networks: the cheapest choice, proved over all candidates.

A node of the search gives each feature a range of options. The action enters the network once, as
u = sum of U_d[j_d] in the first layer, so one box for u and one linear bound on the scores, with
offsets of its own for each candidate, say whether candidates of the required weight can still be
accepted, and at what cost at least. As the same bound serves every required weight, one search finds
the whole path: a node is dropped when it can improve the answer for no weight.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from armin.errors import ParameterError
from armin.problem import PathPoint, Problem, Solution, Status
from armin.solve.search.blackbox import search_black_box, search_black_box_best, search_black_box_path
from armin.solve.search.goals import BETTER, BestGoal, OneGoal, PathGoal
from armin.solve.search.relu.engine import Callback, drive, network_of

__all__ = ["search_relu", "search_relu_best", "search_relu_path"]


def _has_gaps(problem: Problem) -> bool:
    return not all(np.isfinite(table).all() for table in (problem.candidates, *(o.outcomes for o in problem.options)))


def search_relu(problem: Problem, time_limit: float | None = None, callback: Callback | None = None) -> Solution:
    """Find the cheapest choice for a problem whose model is a ReLU network, and prove it.

    Parameters
    ----------
    problem : the problem
    time_limit : seconds after which the best choice so far and a true bound are returned
    callback : called with the state of the search now and then; returning False ends it, as an interrupt does

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
    network_of(problem)
    if _has_gaps(problem):  # bounds need numbers; asking the model does not
        return search_black_box(problem, time_limit, callback)
    return drive(problem, OneGoal(problem), time_limit, callback).solution()


def search_relu_best(
    problem: Problem, count: int, time_limit: float | None = None, callback: Callback | None = None
) -> list[Solution]:
    """Find the cheapest choices that change different sets of features, the cheapest first, in one search.

    Parameters
    ----------
    problem, time_limit, callback : as in :func:`search_relu`
    count : how many

    Returns
    -------
    list of Solution
        Fewer than ``count`` if there are no more, or if time ran out. All carry the time and the nodes of the whole
        search.

    Examples
    --------
    >>> import numpy as np
    >>> from armin.models.kinds import Above, ReluNetwork
    >>> net = ReluNetwork((np.array([[1.0], [1.0]]), np.array([[1.0]])), (np.zeros(1), np.array([-6.0])), Above(0.0))
    >>> problem = Problem.from_tables(
    ...     [[2, 1], [3, 1]], {0: [0, 2, 4], 1: [0, 5]}, {0: [0, 1, 2], 1: [0, 1.5]}, net, required=2
    ... )
    >>> [(solution.choice, solution.cost) for solution in search_relu_best(problem, 3)]
    [((0, 1), 1.5), ((2, 0), 2.0), ((1, 1), 2.5)]
    """
    network_of(problem)
    if count < 1:
        raise ParameterError(f"The 'count' of search_relu_best must be at least 1. Got {count!r} instead.")
    if _has_gaps(problem):
        return search_black_box_best(problem, count, time_limit, callback)
    goal = BestGoal(problem, count)
    state = drive(problem, goal, time_limit, callback)
    last = state.solution()
    solutions = []
    for cost, choice in goal.ranked():
        proved = cost <= state.bound
        status, bound = (Status.OPTIMAL, cost) if proved else (Status.FEASIBLE, state.bound)
        solutions.append(replace(last, status=status, choice=choice, cost=cost, bound=bound))
    return solutions


def search_relu_path(
    problem: Problem, time_limit: float | None = None, callback: Callback | None = None
) -> list[PathPoint]:
    """Solve for every required weight in one search, whatever ``problem.required`` says.

    Parameters
    ----------
    problem, time_limit, callback : as in :func:`search_relu`

    Returns
    -------
    list of PathPoint
        As :func:`armin.solve.path.solve_path`. All carry the time and the nodes of the whole search.

    Examples
    --------
    >>> import numpy as np
    >>> from armin.models.kinds import Above, ReluNetwork
    >>> net = ReluNetwork((np.array([[1.0]]), np.array([[1.0]])), (np.zeros(1), np.array([-4.0])), Above(0.0))
    >>> problem = Problem.from_tables([[1.0], [2.0], [2.0]], {0: [0, 1, 2, 3]}, {0: [0, 1, 2, 3]}, net, required=1)
    >>> [(point.solution.cost, point.weight) for point in search_relu_path(problem)]
    [(2.0, 2.0), (3.0, 3.0)]
    """
    network_of(problem)
    if _has_gaps(problem):
        return search_black_box_path(problem, time_limit, callback)
    goal = PathGoal(problem, problem.smallest_step)
    state = drive(problem, goal, time_limit, callback)
    last, points = state.solution(), list[PathPoint]()
    for i, point in enumerate(goal.points):
        if i + 1 < len(goal.points) and goal.points[i + 1].cost <= point.cost * (1.0 + BETTER):
            continue  # more weight for the same cost but for rounding
        proved = point.cost <= state.bound
        status, bound = (Status.OPTIMAL, point.cost) if proved else (Status.FEASIBLE, state.bound)
        solution = replace(last, status=status, choice=point.choice, cost=point.cost, bound=bound)
        points.append(PathPoint(solution, point.weight, point.weight / goal.total))
    if goal.next is not None:
        status = Status.INFEASIBLE if state.bound == float("inf") else Status.UNKNOWN
        solution = replace(last, status=status, choice=None, cost=None, bound=state.bound)
        points.append(PathPoint(solution, goal.next, goal.next / goal.total))
    return points
