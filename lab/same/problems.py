"""The frozen problems, and the answers to what is asked about each."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from armin.problem import Problem, Solution
from armin.solve import solve, solve_best, solve_path, solve_robust
from lab.same.frozen_answers import FROZEN
from lab.same.rebuild import problem_of
from lab.same.store import Form, read

UNBOUNDED = "milo"
"""The method whose bounds depend on a solver's tolerances."""


def answers(progress: Callable[[str], None] = lambda _: None) -> Iterator[tuple[str, Any]]:
    """The answer to every question about every frozen problem, by name."""
    warnings.simplefilter("ignore")
    with np.errstate(all="ignore"):
        for form in read(FROZEN, "problems"):
            progress(form["name"])
            problem = problem_of(form)
            for question in form["questions"]:
                yield f"{form['name']} {' '.join(map(str, question))}", answer(problem, question)


def answer(problem: Problem, question: list[Any]) -> Any:
    """What comes of one question, as plain data: costs, choices, statuses, and bounds where they are determined."""
    goal, method, *more = question
    try:
        return ASK[goal](problem, method, *more)
    except Exception as error:  # an error is an answer too
        return {"error": f"{type(error).__name__}: {error}"}


def form_of(found: Solution, method: str) -> Form:
    """A solution as plain data."""
    choice = None if found.choice is None else [int(j) for j in found.choice]
    kept = {"status": found.status.value, "cost": _number(found.cost), "choice": choice}
    return kept if method == UNBOUNDED else kept | {"bound": _number(found.bound)}


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _solve(problem: Problem, method: str) -> Form:
    return form_of(solve(problem, method), method)


def _path(problem: Problem, method: str, least: float | None) -> list[Form]:
    points = solve_path(problem, method, least=least)
    return [form_of(point.solution, method) | {"weight": float(point.weight)} for point in points]


def _several(problem: Problem, method: str, count: int, differ: Any) -> list[Form]:
    return [form_of(found, method) for found in solve_best(problem, count, method, differ=differ)]


def _robust(problem: Problem, method: str) -> Form:
    return form_of(solve_robust(problem, method), method)


def _stopped(problem: Problem, method: str, calls: int) -> Form:
    """Whether a search that is stopped early claims no more than is true; how far it got is its own business."""
    left = [calls]

    def stop(_: Solution) -> bool:
        left[0] -= 1
        return left[0] > 0

    found, best = solve(problem, method, callback=stop), solve(problem, method)
    optimum = np.inf if best.cost is None else best.cost
    valid = found.choice is None or (problem.is_solved_by(found.choice) and found.cost == problem.cost(found.choice))
    proved = found.status.value not in ("optimal", "infeasible") or found.status is best.status
    return {"honest": bool(valid and proved and found.bound <= optimum * (1 + 1e-9))}


ASK: dict[str, Callable[..., Any]] = {
    "solve": _solve, "path": _path, "several": _several, "robust": _robust, "stopped": _stopped,
}  # fmt: skip
