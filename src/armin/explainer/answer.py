"""From a solution back to the user's words: the last step, with every check."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armin.models.encoding import Oracle
from armin.models.kinds import LinearModel
from armin.problem import Choice, Problem, Solution
from armin.problem.stated import Case
from armin.promise import Calibration, estimation_error, log_growth
from armin.recourse import Change, Recourse, Validity
from armin.recourse.audit import check_action
from armin.recourse.certificate import FAILURE, Certificate, library_versions
from armin.solve.enumerate import count_choices
from armin.words import Message

__all__ = ["Origin", "Sample", "changes_of", "fresh_validity", "make_recourse"]


@dataclass(frozen=True, eq=False)
class Sample:
    """The completions of one row, and how they came about.

    Attributes
    ----------
    values : codes (N, D)
    weights : positive numbers (N,)
    kept : the share of all draws that agree with what is known; None if nothing was asked of them
    notes : what a careful reader should know
    """

    values: NDArray[np.float64]
    weights: NDArray[np.float64]
    kept: float | None = None
    notes: tuple[Message, ...] = ()


@dataclass(frozen=True)
class Origin:
    """Where an answer comes from, for its certificate.

    Attributes
    ----------
    method : the explainer's name
    sampler : the sampler, with its parameters
    seed : the seed
    """

    method: str
    sampler: str
    seed: int | None


def make_recourse(
    origin: Origin,
    oracle: Oracle,
    case: Case,
    solution: Solution,
    accepted: NDArray[np.bool_],
    sample: Sample,
    fresh: Validity | None,
    *,
    confidence: float | None,
    locked: Collection[str],
    steps: dict[str, float],
    calibration: Calibration | None = None,
) -> Recourse:
    """The answer for one row, re-checked in user units."""
    schema = oracle.schema
    common: dict[str, Any] = {
        "method": origin.method,
        "status": solution.status,
        "desired": tuple(oracle.target.labels),
        "cost_name": type(case.cost).__name__,
        "confidence": confidence,
        "blanks": tuple(f for f, code in zip(schema.features, case.row, strict=True) if np.isnan(code)),
        "seconds": solution.seconds,
        "solver": solution.solver,
        "nodes": solution.nodes,
        "conditioned": sample.kept,
        "notes": sample.notes + _stuck(case, locked),
        "seconds_by_step": steps,
        "bound": float(case.cost.finish(solution.bound)) if np.isfinite(solution.bound) else solution.bound,
    }
    if solution.choice is None:
        empty = Recourse(changes=(), cost=None, cost_range=None, validity=None, fresh=None, **common)
        return replace(empty, certificate=_certificate(origin, empty, case, calibration))
    after = case.grid.apply(solution.choice, case.candidates)
    check_action(schema, case.row, case.candidates, after, max_changes=case.problem.max_changes, locked=locked)
    weights = case.problem.weights
    each = case.cost_per_candidate(solution.choice)
    answer = Recourse(
        changes=changes_of(case, solution.choice),
        cost=case.cost_of(solution.choice),
        cost_range=(float(each.min()), float(np.median(each)), float(each.max())),
        validity=Validity(_tidy(weights[accepted].sum()), _tidy(weights.sum())),
        fresh=fresh,
        **common,
    )
    return replace(answer, certificate=_certificate(origin, answer, case, calibration))


def _certificate(origin: Origin, answer: Recourse, case: Case, calibration: Calibration | None) -> Certificate:
    problem, error = case.problem, None
    if answer.blanks and answer.validity is not None and problem.n_candidates > 1:
        # a weighted sample counts as an equal one of its effective size
        size = max(1, math.floor(problem.weights.sum() ** 2 / (problem.weights**2).sum() + 1e-9))
        growth = min(log_growth(size, n_actions=count_choices(problem)), _linear_growth(problem, size))
        error = estimation_error(size, failure=FAILURE, log_growth=growth)
    return Certificate(
        answer.status, answer.bound, answer.gap, answer.confidence, answer.validity, answer.fresh, error, calibration,
        answer.conditioned, len(answer.blanks), origin.sampler, problem.n_candidates, origin.seed, library_versions(),
    )  # fmt: skip


def _linear_growth(problem: Problem, size: int) -> float:
    """Ln Π(N) where one linear score decides; infinite where that says nothing.

    If every option moves all completions alike, or brings them all to one value, then the order of their scores
    depends only on which of the latter kind are taken: at most 2^B orders, each cut in N + 1 ways.
    """
    if not isinstance(problem.model, LinearModel) or problem.model.weights.shape[0] != 1:
        return math.inf
    reached = 0
    for option in problem.options:
        if option.outcomes.shape[0] == 1:
            continue
        moved = option.outcomes - option.outcomes[:, :1]
        if np.ptp(option.outcomes[:, 1:], axis=0).max(initial=0.0) == 0:
            reached += 1
        elif np.ptp(moved, axis=0).max(initial=0.0) > 1e-9 * max(1.0, float(np.abs(option.outcomes).max())):
            return math.inf
    return log_growth(size, linear=True) + reached * math.log(2)


def changes_of(case: Case, choice: Choice) -> tuple[Change, ...]:
    """The changes of a choice, dearest first."""
    changes = []
    for move, option, j in zip(case.grid.moves, case.problem.options, choice, strict=True):
        if not j:
            continue
        feature = case.grid.schema.features[move.position]
        target, now = float(move.targets[j]), float(case.row[move.position])
        amount: float | None = None
        if move.mode == "shift":
            amount = target
        elif move.mode == "observed" and feature.is_ordered:
            amount = target - now
        after = None if move.mode == "shift" else feature.value(target)
        cost = float(case.cost.finish(float(option.costs[j])))
        changes.append(Change(feature, move.mode, feature.value(now), after, amount, cost))
    return tuple(sorted(changes, key=lambda change: -change.cost))


def fresh_validity(fresh: Sample, accepted: NDArray[np.bool_]) -> Validity:
    """For how much of a fresh sample an action works, given which of it the model accepts."""
    weights = fresh.weights
    # a weighted sample counts as an equal one of its effective size
    size = float(weights.sum() ** 2 / (weights**2).sum())
    return Validity(_tidy(weights[accepted].sum() / weights.sum() * size), _tidy(size))


def _stuck(case: Case, locked: Collection[str]) -> tuple[Message, ...]:
    movable = {move.position for move in case.grid.moves}
    stuck = tuple(
        feature.named
        for i, feature in enumerate(case.grid.schema.features)
        if np.isnan(case.row[i]) and feature.blank_mode == "shift" and feature.name not in locked and i not in movable
    )
    return (Message("stuck.shift", features=stuck),) if stuck else ()


def _tidy(weight: float) -> float:
    """A weight without floating-point dirt."""
    whole = round(float(weight))
    return float(whole) if abs(weight - whole) < 1e-9 * max(1.0, abs(weight)) else float(weight)
