"""Recourse that holds for every candidate, by adding candidates one at a time (the paper's RobustAR).

>>> import numpy as np
>>> from armin.models.kinds import Above, LinearModel
>>> from armin.problem import Problem
>>> model = LinearModel(np.array([[1.0]]), np.array([-9.0]), Above(0.0))
>>> problem = Problem.from_tables(np.arange(9.0)[:, None], {0: range(10)}, {0: range(10)}, model, required=1)
>>> solve_robust(problem).cost
9.0
"""

from __future__ import annotations

import numpy as np

from armin.arrays import FloatArray
from armin.models.kinds import BlackBox, ScoreMixture
from armin.problem import Choice, Problem, Solution, Status
from armin.solve.methods import solve
from armin.solve.stopping import clock

__all__ = ["margins", "solve_robust"]


def solve_robust(
    problem: Problem, method: str = "auto", *, solver: str = "highs", time_limit: float | None = None
) -> Solution:
    """Find the cheapest choice that every candidate is accepted after, whatever ``problem.required`` says.

    Solves the problem for a growing set of candidates and adds, each time, the one with the largest
    logistic loss. Equal to solving the whole problem at ``required`` = total weight. A subset asks for
    less than the whole, so its bound is a bound, and what is impossible for it is impossible.

    Parameters
    ----------
    problem : the problem
    method, solver : how each subset is solved, as in :func:`armin.solve.solve`
    time_limit : seconds for all of it, or None
    """
    start = clock()
    whole = problem.demanding(float(problem.weights.sum()))
    rows = [_worst(whole, whole.keep) or 0]
    bound, nodes = 0.0, 0
    while True:
        spent = clock() - start
        left = None if time_limit is None else time_limit - spent
        if left is not None and left <= 0:
            return Solution(Status.UNKNOWN, None, None, bound, spent, "robust", nodes)
        part = whole.among(rows, required=float(whole.weights[rows].sum()))
        found = solve(part, method, solver=solver, time_limit=left)
        seconds = clock() - start
        bound, nodes = max(bound, found.bound), nodes + found.nodes
        if found.choice is None or found.cost is None:
            return Solution(found.status, None, None, bound, seconds, "robust", nodes)
        worst = _worst(whole, found.choice)
        if worst is None:
            bound = min(bound, found.cost)
            return Solution(found.status, found.choice, found.cost, bound, seconds, "robust", nodes)
        rows.append(worst)


def _worst(problem: Problem, choice: Choice) -> int | None:
    """The candidate with the largest loss among those that ``choice`` does not help, if any."""
    refused = np.flatnonzero(~problem.accepted(choice))
    if refused.size == 0:
        return None
    return int(refused[np.argmin(margins(problem, choice)[refused])])


def margins(problem: Problem, choice: Choice) -> FloatArray:
    """How far each candidate (N,) is from the cut after ``choice``: negative where it falls short.

    The logistic loss decreases in it. Of several ways to be accepted the best counts, of several
    conditions the worst. A BlackBox says only yes (1) or no (-1).

    >>> from armin.models.kinds import Above, LinearModel
    >>> model = LinearModel(np.ones((1, 1)), np.array([-1.0]), Above(0.0))
    >>> margins(Problem.from_tables([[0.5], [2]], {0: [0, 1]}, {0: [0, 1]}, model, 1), (1,)).tolist()
    [0.5, 2.0]
    """
    if isinstance(problem.model, BlackBox):
        return np.where(problem.accepted(choice), 1.0, -1.0)
    if isinstance(problem.model, ScoreMixture):
        return problem.model.ahead(problem.inputs(choice))[1]
    outputs = problem.model.outputs(problem.inputs(choice))
    best = np.full(problem.n_candidates, -np.inf)
    for way in problem.model.decision.ways():
        short = outputs @ way.coefficients.T - way.cuts
        best = np.fmax(best, short.min(axis=1, initial=np.inf))
    return best
