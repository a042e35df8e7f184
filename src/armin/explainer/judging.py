"""The user's own model has the last word: on one action, and on a whole path in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from armin.arrays import BoolArray, FloatArray
from armin.errors import AuditError
from armin.models.encoding import Oracle
from armin.problem import PathPoint, Problem, Solution
from armin.problem.stated import Case

__all__ = ["Judged", "MisreadError", "Solver", "accepted_by_all", "judge", "judge_path"]

Solver = Callable[[Problem], Solution]

MOST_REPAIRS = 50
"""How often an action that the user's own model refuses is replaced by the next best before giving up."""

MOST_ROWS = 50_000
"""Rows that the user's model is asked about at once."""


class MisreadError(Exception):
    """The classifier disagrees with its reading as arrays about a completion as it stands."""


@dataclass(frozen=True, eq=False)
class Judged:
    """A solution, and the user's own model about it.

    Attributes
    ----------
    solution : what the solver found
    accepted : for which candidates the model accepts it
    fresh : for which of other completions, if there were any
    """

    solution: Solution
    accepted: BoolArray
    fresh: BoolArray | None = None


def judge(
    oracle: Oracle,
    case: Case,
    problem: Problem,
    solver: Solver,
    *,
    fresh: FloatArray | None = None,
    rejected: bool = False,
) -> Judged:
    """Solve, and let the user's own model judge; an action that it refuses is replaced by the next best.

    Parameters
    ----------
    oracle : the user's model
    case, problem : the row, and what is asked of it
    solver : solves a problem
    fresh : other completions to judge the action by
    rejected : whether the candidates were drawn as rejected by the reading of the model; the model is asked about that

    Raises
    ------
    MisreadError
        If the model accepts a candidate that its reading rejects.
    """
    spent, n = 0.0, case.candidates.shape[0]
    for _ in range(MOST_REPAIRS):
        solution = solver(problem)
        spent += solution.seconds
        if solution.choice is None:
            return Judged(replace(solution, seconds=spent), np.zeros(n, dtype=bool))
        # one call: it is the calls to a pipeline that are dear, not the rows
        rows = [case.grid.apply(solution.choice, case.candidates)]
        if fresh is not None:
            rows.append(case.grid.apply_to_others(solution.choice, fresh))
        if rejected:
            rows.append(case.candidates)
        verdict = oracle.accepts(np.concatenate(rows))
        if rejected and verdict[-n:].any():
            raise MisreadError
        if problem.enough(float(problem.weights[verdict[:n]].sum())):
            others = None if fresh is None else verdict[n : n + fresh.shape[0]]
            return Judged(replace(solution, seconds=spent), verdict[:n], others)
        problem = problem.excluding(solution.choice)
    raise AuditError(
        f"The classifier refused {MOST_REPAIRS} actions in a row that it accepts when read as arrays. "
        "Please report this with the model; method='blackbox' asks the classifier itself."
    )


def judge_path(
    oracle: Oracle, case: Case, found: Sequence[PathPoint], solver: Solver, *, rejected: bool = False
) -> list[Judged]:
    """Let the user's own model judge the points of a path that have an action; refused ones are repaired.

    Points that buy no more confidence for more cost are left out. Parameters are those of :func:`judge`.
    """
    points = [point for point in found if point.solution.choice is not None]
    choices = [point.solution.choice for point in points if point.solution.choice is not None]
    rows = [case.grid.apply(choice, case.candidates) for choice in choices]
    verdicts = accepted_by_all(oracle, [*rows, case.candidates] if rejected else rows)
    if rejected and verdicts.pop().any():
        raise MisreadError
    judged = []
    for point, choice, verdict in zip(points, choices, verdicts, strict=True):
        problem = case.problem.demanding(point.weight)
        if problem.enough(float(problem.weights[verdict].sum())):
            judged.append(Judged(point.solution, verdict))
            continue
        repaired = judge(oracle, case, problem.excluding(choice), solver)
        if repaired.solution.choice is not None:
            judged.append(repaired)
    return _increasing(case.problem, judged)


def accepted_by_all(oracle: Oracle, blocks: Sequence[FloatArray]) -> list[BoolArray]:
    """For each block of rows, which of them the model accepts: few calls, many rows."""
    verdicts: list[BoolArray] = []
    batch: list[FloatArray] = []
    for i, block in enumerate(blocks):
        batch.append(block)
        if sum(part.shape[0] for part in batch) >= MOST_ROWS or i == len(blocks) - 1:
            together = oracle.accepts(np.concatenate(batch))
            verdicts += np.split(together, np.cumsum([part.shape[0] for part in batch])[:-1])
            batch = []
    return verdicts


def _increasing(problem: Problem, judged: Sequence[Judged]) -> list[Judged]:
    """Only the points that buy more confidence for more cost."""
    kept: list[tuple[Judged, float]] = []
    for point in judged:
        weight = float(problem.weights[point.accepted].sum())
        while kept and (point.solution.cost or 0.0) <= (kept[-1][0].solution.cost or 0.0):
            kept.pop()
        if not kept or weight > kept[-1][1]:
            kept.append((point, weight))
    return [point for point, _ in kept]
