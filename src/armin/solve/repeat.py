"""Several choices that differ, found one after another: solve, rule out, solve again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from armin.errors import ParameterError
from armin.problem import Choice, Problem, Solution, Status
from armin.solve.stopping import clock

__all__ = ["DIFFER", "Differ", "check_several", "repeat", "without_idle_changes"]

Differ = Literal["choices", "sets", "cores"]
DIFFER: tuple[Differ, ...] = ("choices", "sets", "cores")
"""How choices may differ: in any option; in the set of features that change; in sets none of which contains an earlier
one."""

_RULED_OUT: dict[Differ, Callable[[Problem, Choice], Problem]] = {
    "choices": Problem.excluding,
    "sets": Problem.without_set,
    "cores": Problem.without_core,
}


def check_several(count: int, differ: str) -> None:
    """Raise if these do not say how many choices are wanted, and how they should differ."""
    if count < 1:
        raise ParameterError(f"'count' must be at least 1. Got {count!r} instead.")
    if differ not in DIFFER:
        raise ParameterError(f"'differ' must be one of {DIFFER}. Got {differ!r} instead.")


def repeat(
    problem: Problem,
    count: int,
    differ: Differ,
    ask: Callable[[Problem, float | None], Solution],
    time_limit: float | None = None,
) -> list[Solution]:
    """The ``count`` cheapest choices by asking again and again, each time without those that came before.

    Parameters
    ----------
    problem, count, differ : as in :func:`armin.solve.solve_best`
    ask : solves a problem within the seconds that are left
    time_limit : seconds for all of them, or None
    """
    start = clock()
    found: list[Solution] = []
    while len(found) < count:
        left = None if time_limit is None else time_limit - (clock() - start)
        if (left is not None and left <= 0) or (found and found[-1].status is not Status.OPTIMAL):
            bound = found[-1].bound if found else 0.0
            return [*found, Solution(Status.UNKNOWN, None, None, bound, 0.0, "repeat")]
        solution = ask(problem, left)
        if solution.choice is None:
            return [*found, solution]
        choice = solution.choice
        if differ == "cores":
            choice = without_idle_changes(problem, choice)
            cost = problem.cost(choice)
            solution = replace(solution, choice=choice, cost=cost, bound=min(solution.bound, cost))
        found.append(solution)
        problem = _RULED_OUT[differ](problem, choice)
    return found


def without_idle_changes(problem: Problem, choice: Choice) -> Choice:
    """A valid ``choice`` less the changes that it does not need.

    >>> import numpy as np
    >>> from armin.models.kinds import Above, LinearModel
    >>> model = LinearModel(np.ones((1, 2)), np.array([-1.0]), Above(0.0))
    >>> p = Problem.from_tables([[0, 0]], {0: [0, 1], 1: [0, 1]}, {0: [0, 2], 1: [0, 1]}, model, 1)
    >>> without_idle_changes(p, (1, 1)), without_idle_changes(p, (1, 0))
    ((0, 1), (1, 0))
    """
    costs = {d: float(problem.options[d].costs[j]) for d, j in enumerate(choice) if j}
    for d in sorted(costs, key=lambda d: (-costs[d], d)):  # the most expensive first, so that what is left costs least
        fewer = (*choice[:d], 0, *choice[d + 1 :])
        if problem.is_solved_by(fewer):
            return without_idle_changes(problem, fewer)  # what was needed before may not be now
    return choice
