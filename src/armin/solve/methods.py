"""One solve by any method."""

from __future__ import annotations

from armin.errors import ParameterError
from armin.problem import Problem, Solution
from armin.solve.exact import EXACT, Method, check_time_limit
from armin.solve.stopping import Callback, watched

__all__ = ["METHODS", "solve"]


def solve(
    problem: Problem,
    method: str = "auto",
    *,
    solver: str = "highs",
    time_limit: float | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Find the cheapest choice that satisfies ``problem``.

    Parameters
    ----------
    problem : the problem
    method : one of :data:`METHODS`: ``"auto"``, ``"search"`` (the exact search), ``"enumerate"`` (brute force),
        ``"milo"`` (the paper's programs) or ``"subsample"`` (the paper's heuristic, which proves nothing)
    solver : the MILO solver, where one is used: ``"highs"`` (SciPy's) or ``"gurobi"``
    time_limit : seconds, or None for no limit
    callback : for the search: called now and then with the best so far; returning False stops it

    Returns
    -------
    Solution
        Its status says whether the choice is proved optimal, found in time, impossible, or not found.
    """
    if method not in METHODS:
        raise ParameterError(f"The 'method' must be one of {sorted(METHODS)}. Got {method!r} instead.")
    check_time_limit(time_limit)
    return METHODS[method](problem, solver, time_limit, watched(callback))


def _subsample(problem: Problem, solver: str, time_limit: float | None, callback: Callback | None) -> Solution:
    from armin.solve.subsample import REPEATS, SECONDS, solve_by_subsampling

    each = SECONDS if time_limit is None else time_limit / REPEATS
    return solve_by_subsampling(problem, time_limit=each, solver=solver)


METHODS: dict[str, Method] = EXACT | {"subsample": _subsample}
"""Every method by name: a function of problem, solver, time limit and callback, which imports what it needs."""
