"""Several actions to choose from: the cheapest ones that change different sets of features.

>>> import numpy as np
>>> from armin.models.kinds import Above, LinearModel
>>> from armin.problem import Problem
>>> model = LinearModel(np.ones((1, 2)), np.array([-2.0]), Above(0.0))
>>> problem = Problem.from_tables([[0, 0]], {0: [0, 1, 2], 1: [0, 2]}, {0: [0, 1, 2], 1: [0, 3]}, model, 1)
>>> [(s.choice, s.cost) for s in solve_best(problem, 3)]
[((2, 0), 2.0), ((0, 1), 3.0), ((1, 1), 4.0)]
"""

from __future__ import annotations

import time

from armin.errors import ParameterError
from armin.problem import Problem, Solution
from armin.solve import listing_is_quick, solve

__all__ = ["solve_best"]


def solve_best(
    problem: Problem,
    count: int,
    method: str = "auto",
    *,
    solver: str = "highs",
    time_limit: float | None = None,
    differ: str = "sets",
) -> list[Solution]:
    """Find the ``count`` cheapest choices, no two of which change the same set of features.

    Parameters
    ----------
    problem : the problem
    count : how many; fewer come back if there are no more, or if time runs out
    method, solver : how each is found, as in :func:`armin.solve.solve`
    time_limit : seconds for all of them, or None

    Returns
    -------
    list of Solution
        Cheapest first. Where the last one is not proved, its status says so.
    """
    if count < 1:
        raise ParameterError(f"'count' must be at least 1. Got {count!r} instead.")
    if method == "search" or (method == "auto" and not listing_is_quick(problem)):
        from armin.solve.search import search_best

        return [solution for solution in search_best(problem, count, time_limit) if solution.choice is not None]
    start = time.perf_counter()
    found: list[Solution] = []
    for _ in range(count):
        left = None if time_limit is None else time_limit - (time.perf_counter() - start)
        if left is not None and left <= 0:
            break
        solution = solve(problem, method, solver=solver, time_limit=left)
        if solution.choice is None:
            break
        found.append(solution)
        problem = problem.without_set(solution.choice)
    return found
