"""Solve a :class:`~armin.problem.Problem`.

>>> import numpy as np
>>> from armin.models.kinds import Above, LinearModel
>>> from armin.problem import Problem
>>> model = LinearModel(np.array([[1.0]]), np.array([-3.0]), Above(0.0))
>>> problem = Problem.from_tables([[1.0], [2.0]], {0: [0, 1, 2]}, {0: [0, 1, 2]}, model, required=1)
>>> solution = solve(problem, method="enumerate")
>>> solution.status.value, solution.choice, solution.cost
('optimal', (1,), 1.0)
"""

from __future__ import annotations

from collections.abc import Callable

from armin.errors import ParameterError
from armin.models.kinds import BlackBox
from armin.problem import Problem, Solution

__all__ = ["METHODS", "solve"]

FEW_EVALUATIONS = 200_000
"""Up to this many model evaluations (choices times candidates), "auto" enumerates."""


def solve(
    problem: Problem, method: str = "auto", *, solver: str = "highs", time_limit: float | None = None
) -> Solution:
    """Find the cheapest choice that satisfies ``problem``.

    Parameters
    ----------
    problem : the problem
    method : one of :data:`METHODS`: ``"auto"``, ``"enumerate"`` (brute force), ``"milo"`` (the paper's
        programs) or ``"subsample"`` (the paper's heuristic, which proves nothing)
    solver : the MILO solver, where one is used: ``"highs"``, ``"gurobi"`` or ``"scip"``
    time_limit : seconds, or None for no limit

    Returns
    -------
    Solution
        Its status says whether the choice is proved optimal, found in time, impossible, or not found.
    """
    if method not in METHODS:
        raise ParameterError(f"The 'method' must be one of {sorted(METHODS)}. Got {method!r} instead.")
    if time_limit is not None and not time_limit > 0:
        raise ParameterError(f"The 'time_limit' must be a positive number of seconds, or None. Got {time_limit!r}.")
    return METHODS[method](problem, solver, time_limit)


def _auto(problem: Problem, solver: str, time_limit: float | None) -> Solution:
    from armin.solve.enumerate import count_choices

    few = count_choices(problem) * problem.n_candidates <= FEW_EVALUATIONS
    method = "enumerate" if few or isinstance(problem.model, BlackBox) else "milo"
    return METHODS[method](problem, solver, time_limit)


def _enumerate(problem: Problem, solver: str, time_limit: float | None) -> Solution:
    from armin.solve.enumerate import solve_by_enumeration

    return solve_by_enumeration(problem, time_limit)


def _milo(problem: Problem, solver: str, time_limit: float | None) -> Solution:
    from armin.solve.milo import solve_by_milo

    return solve_by_milo(problem, solver, time_limit)


def _subsample(problem: Problem, solver: str, time_limit: float | None) -> Solution:
    from armin.solve.subsample import REPEATS, SECONDS, solve_by_subsampling

    each = SECONDS if time_limit is None else time_limit / REPEATS
    return solve_by_subsampling(problem, time_limit=each, solver=solver)


METHODS: dict[str, Callable[[Problem, str, float | None], Solution]] = {
    "auto": _auto,
    "enumerate": _enumerate,
    "milo": _milo,
    "subsample": _subsample,
}
"""Every method by name: a function of problem, solver and time limit. Each imports what it needs when called."""
