"""The paper's heuristic: solve small random subsamples of the candidates, keep what holds for all of them.

>>> import numpy as np
>>> from armin.models.kinds import Above, LinearModel
>>> from armin.problem import Problem
>>> model = LinearModel(np.array([[1.0]]), np.array([-9.0]), Above(0.0))
>>> problem = Problem.from_tables(
...     np.arange(9.0)[:, None], {0: range(10)}, {0: range(10)}, model, required=6
... )
>>> solution = solve_by_subsampling(problem, n_sub=5, repeats=5, rng=0)
>>> solution.status.value, solution.cost >= 6, problem.is_solved_by(solution.choice)
('feasible', True, True)
"""

from __future__ import annotations

import numpy as np

from armin.errors import ParameterError
from armin.problem import Problem, Solution, Status, required_weight
from armin.solve.exact import EXACT
from armin.solve.stopping import clock

__all__ = ["REPEATS", "SECONDS", "solve_by_subsampling"]

REPEATS = 10
"""The paper's number of subsamples, P."""

SECONDS = 60.0
"""The paper's time limit for each subsample."""


def solve_by_subsampling(
    problem: Problem,
    n_sub: int = 10,
    repeats: int = REPEATS,
    rng: np.random.Generator | int = 0,
    time_limit: float | None = SECONDS,
    method: str = "milo",
    solver: str = "highs",
) -> Solution:
    """Solve ``repeats`` random subsamples of ``n_sub`` candidates and return the cheapest choice that holds for all.

    The result is feasible, not proved to be optimal: its bound is 0. It is optimal only where the choice
    costs nothing, or where the "subsample" is all candidates and the method exact. A subsample's choice
    is accepted by the weight of *all* candidates that it makes valid.

    Parameters
    ----------
    problem : the problem
    n_sub : candidates in each subsample, N' in the paper
    repeats : number of subsamples, P in the paper
    rng : a generator, or a seed
    time_limit : seconds for each subsample, or None
    method, solver : how each subsample is solved, as in :func:`armin.solve.solve`
    """
    if n_sub < 1 or repeats < 1:
        raise ParameterError(f"'n_sub' and 'repeats' must be at least 1. Got {n_sub} and {repeats} instead.")
    if method not in EXACT:
        raise ParameterError(f"The 'method' of a subsample must be one of {sorted(EXACT)}. Got {method!r} instead.")
    if n_sub >= problem.n_candidates:
        return EXACT[method](problem, solver, time_limit, None)
    start = clock()
    generator = np.random.default_rng(rng)
    share = problem.required / float(problem.weights.sum())
    best: Solution | None = None
    nodes = 0
    for _ in range(repeats):
        rows = np.sort(generator.choice(problem.n_candidates, n_sub, replace=False))
        weight = float(problem.weights[rows].sum())
        part = problem.among(rows, required=min(required_weight(share, weight), weight))
        found = EXACT[method](part, solver, time_limit, None)
        nodes += found.nodes
        if found.choice is None or found.cost is None or (best and best.cost is not None and found.cost >= best.cost):
            continue
        if problem.is_solved_by(found.choice):
            best = found
    seconds = clock() - start
    if best is None or best.cost is None:
        return Solution(Status.UNKNOWN, None, None, 0.0, seconds, "subsample", nodes)
    status = Status.OPTIMAL if best.cost == 0 else Status.FEASIBLE
    return Solution(status, best.choice, best.cost, 0.0, seconds, "subsample", nodes)
