"""The user's own model has the last word: on one action, and on a whole path in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from armin.build import Case
from armin.errors import AuditError
from armin.models.encoding import Oracle
from armin.problem import Choice, PathPoint, Problem, Solution

__all__ = ["Solver", "accepted_by_all", "increasing", "judge", "judge_path"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Solver = Callable[[Problem], Solution]

MOST_REPAIRS = 50
"""How often an action that the user's own model refuses is replaced by the next best before giving up."""

MOST_ROWS = 50_000
"""Rows that the user's model is asked about at once."""


def judge(oracle: Oracle, case: Case, problem: Problem, solver: Solver) -> tuple[Solution, BoolArray]:
    """Solve, and let the user's own model judge; an action that it refuses is replaced by the next best.

    Returns
    -------
    solution, and for which candidates the model accepts it
    """
    spent = 0.0
    for _ in range(MOST_REPAIRS):
        solution = solver(problem)
        spent += solution.seconds
        if solution.choice is None:
            return replace(solution, seconds=spent), np.zeros(problem.n_candidates, dtype=bool)
        accepted = oracle.accepts(case.grid.apply(solution.choice, case.candidates))
        if problem.enough(float(problem.weights[accepted].sum())):
            return replace(solution, seconds=spent), accepted
        problem = problem.excluding(solution.choice)
    raise AuditError(
        f"The classifier refused {MOST_REPAIRS} actions in a row that it accepts when read as arrays. "
        "Please report this with the model; method='blackbox' asks the classifier itself."
    )


def judge_path(
    oracle: Oracle, case: Case, found: Sequence[PathPoint], solver: Solver
) -> list[tuple[Solution, BoolArray]]:
    """Let the user's own model judge the points of a path that have an action; refused ones are repaired."""
    points = [point for point in found if point.solution.choice is not None]
    choices = [point.solution.choice for point in points if point.solution.choice is not None]
    accepted = accepted_by_all(oracle, choices, lambda choice: case.grid.apply(choice, case.candidates))
    judged = []
    for point, verdict in zip(points, accepted, strict=True):
        problem = case.problem.demanding(point.weight)
        if problem.enough(float(problem.weights[verdict].sum())) or point.solution.choice is None:
            judged.append((point.solution, verdict))
            continue
        solution, verdict = judge(oracle, case, problem.excluding(point.solution.choice), solver)
        if solution.choice is not None:
            judged.append((solution, verdict))
    return judged


def accepted_by_all(
    oracle: Oracle, choices: Sequence[Choice], apply: Callable[[Choice], FloatArray]
) -> list[BoolArray]:
    """For each choice, which of the rows that ``apply`` gives the model accepts: few calls, many rows."""
    verdicts: list[BoolArray] = []
    batch: list[FloatArray] = []
    rows = 0
    for i, choice in enumerate(choices):
        batch.append(apply(choice))
        rows += batch[-1].shape[0]
        if rows >= MOST_ROWS or i == len(choices) - 1:
            together = oracle.accepts(np.concatenate(batch))
            verdicts += np.split(together, np.cumsum([part.shape[0] for part in batch])[:-1])
            batch, rows = [], 0
    return verdicts


def increasing(problem: Problem, judged: Sequence[tuple[Solution, BoolArray]]) -> list[tuple[Solution, BoolArray]]:
    """Only the points that buy more confidence for more cost."""
    kept: list[tuple[Solution, BoolArray, float]] = []
    for solution, accepted in judged:
        weight = float(problem.weights[accepted].sum())
        while kept and (solution.cost or 0.0) <= (kept[-1][0].cost or 0.0):
            kept.pop()
        if not kept or weight > kept[-1][2]:
            kept.append((solution, accepted, weight))
    return [(solution, accepted) for solution, accepted, _ in kept]
