"""Every confidence at once: one shared search, or the paper's path algorithm.

>>> import numpy as np
>>> from armin.models.kinds import Above, LinearModel
>>> from armin.problem import Problem
>>> model = LinearModel(np.array([[1.0]]), np.array([-4.0]), Above(0.0))
>>> problem = Problem.from_tables([[1.0], [2.0], [2.0]], {0: [0, 1, 2, 3]}, {0: [0, 1, 2, 3]}, model, required=1)
>>> [(point.solution.cost, point.weight) for point in solve_path(problem)]
[(2.0, 2.0), (3.0, 3.0)]
"""

from __future__ import annotations

from dataclasses import replace

from armin.errors import ParameterError
from armin.problem.data import WEIGHT_TOLERANCE, PathPoint, Problem, Solution, Status
from armin.solve.exact import check_time_limit, picked
from armin.solve.methods import solve
from armin.solve.stopping import Callback, Until, clock, stopped, watched

__all__ = ["PathPoint", "solve_path"]


def solve_path(
    problem: Problem,
    method: str = "auto",
    *,
    solver: str = "highs",
    time_limit: float | None = None,
    callback: Callback | None = None,
    least: float | None = None,
    until: Until | None = None,
) -> list[PathPoint]:
    """Solve ``problem`` for every required weight, whatever ``problem.required`` says.

    Parameters
    ----------
    problem : the problem
    method, solver : how each point is solved, as in :func:`armin.solve.solve`
    time_limit : seconds for the whole path, or None
    callback : for the search: called now and then with the best so far; returning False stops it
    least : the least required weight that matters; all if None. Where one candidate must always be accepted, give it
        more weight than all others together, and that weight here.
    until : for the search: called with the beginning of the path, from the cheapest point on, whenever more of it is
        proved; returning True ends the path there

    Returns
    -------
    list of PathPoint
        Cost and confidence both increase strictly. If the path ends before all candidates are accepted,
        a last point without a choice says why: infeasible (proved) or unknown (time ran out).
    """
    check_time_limit(time_limit)
    total = float(problem.weights.sum())
    if least is not None and not 0 < least <= total:
        raise ParameterError(f"'least' must be in (0, {total:g}], the total weight of the candidates. Got {least!r}.")
    method = picked(problem, method)
    if method == "search":
        from armin.solve.search import search_path

        return search_path(problem, time_limit, watched(callback), least, until)
    if method == "enumerate":
        from armin.solve.enumerate import path_by_enumeration

        return path_by_enumeration(problem, time_limit, watched(callback), least)
    start = clock()
    step = problem.smallest_step
    required = float(problem.weights.min()) if least is None else least
    points: list[PathPoint] = []
    while True:
        left = None if time_limit is None else time_limit - (clock() - start)
        if (left is not None and left <= 0) or stopped():
            bound = points[-1].solution.bound if points else 0.0
            found = Solution(Status.UNKNOWN, None, None, bound, 0.0, "path")
        else:
            found = solve(problem.demanding(required), method, solver=solver, time_limit=left, callback=callback)
        if found.choice is None or found.cost is None:
            return [*points, PathPoint(found, required, required / total)]
        weight = problem.weight_accepted(found.choice)
        # more confidence for no more cost: the points before are dominated
        while points and (points[-1].solution.cost or 0.0) >= found.cost:
            bound = points.pop().solution.bound
            if bound < found.cost:  # not proved for the requirements that the dominated point answered
                found = replace(found, status=Status.FEASIBLE, bound=min(bound, found.bound))
        points.append(PathPoint(found, weight, weight / total))
        if weight + step > total * (1 + WEIGHT_TOLERANCE):
            return points
        required = min(weight + step, total)
