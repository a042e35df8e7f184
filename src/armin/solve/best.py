"""Several actions to choose from: the cheapest ones that differ.

>>> import numpy as np
>>> from armin.models.kinds import Above, LinearModel
>>> from armin.problem import Problem
>>> model = LinearModel(np.ones((1, 2)), np.array([-2.0]), Above(0.0))
>>> problem = Problem.from_tables([[0, 0]], {0: [0, 1, 2], 1: [0, 2]}, {0: [0, 1, 2], 1: [0, 3]}, model, 1)
>>> [(s.choice, s.cost) for s in solve_best(problem, 3)]
[((2, 0), 2.0), ((0, 1), 3.0), ((1, 1), 4.0)]
>>> [(s.choice, s.status.value) for s in solve_best(problem, 3, differ="cores")]
[((2, 0), 'optimal'), ((0, 1), 'optimal'), (None, 'infeasible')]
"""

from __future__ import annotations

from armin.problem import Problem, Solution
from armin.solve.exact import check_time_limit, picked
from armin.solve.methods import solve
from armin.solve.repeat import Differ, check_several, repeat
from armin.solve.stopping import Callback, watched

__all__ = ["solve_best"]


def solve_best(
    problem: Problem,
    count: int,
    method: str = "auto",
    *,
    differ: Differ = "sets",
    solver: str = "highs",
    time_limit: float | None = None,
    callback: Callback | None = None,
) -> list[Solution]:
    """Find the ``count`` cheapest choices that differ.

    Parameters
    ----------
    problem : the problem
    count : how many
    method, solver : how each is found, as in :func:`armin.solve.solve`
    differ : which difference is meant. ``"choices"``: any other choice. ``"sets"``: no two change the same set of
        features. ``"cores"``: no choice changes all the features of one before it; if nothing needs to change, that is
        the only one. Each is the cheapest of those that differ so from all before it. Among equally cheap ones any may
        come first, but with ``"cores"`` none holds a change that it does not need.
    time_limit : seconds for all of them, or None
    callback : for the search: called now and then with the best so far; returning False stops it

    Returns
    -------
    list of Solution
        Cheapest first. If there are fewer than ``count``, a last one without a choice says why: infeasible (it is
        proved that there is no other) or unknown (time ran out).
    """
    check_several(count, differ)
    check_time_limit(time_limit)
    method = picked(problem, method)
    if method == "search":
        from armin.solve.search import search_best

        return search_best(problem, count, time_limit, watched(callback), differ)
    if method == "enumerate":
        from armin.solve.enumerate import best_by_enumeration

        return best_by_enumeration(problem, count, time_limit, watched(callback), differ)

    def ask(rest: Problem, left: float | None) -> Solution:
        return solve(rest, method, solver=solver, time_limit=left, callback=callback)

    return repeat(problem, count, differ, ask, time_limit)
