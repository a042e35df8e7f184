"""From a solution back to the user's words: the last step, with every check."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armin.audit import check_action
from armin.build import Case
from armin.models.encoding import Oracle
from armin.problem import Choice, Solution
from armin.recourse import Change, Recourse, Validity

__all__ = ["Sample", "changes_of", "make_recourse"]


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
    notes: tuple[str, ...] = ()


def make_recourse(
    method: str,
    oracle: Oracle,
    case: Case,
    solution: Solution,
    accepted: NDArray[np.bool_],
    sample: Sample,
    fresh: Sample | None,
    *,
    confidence: float | None,
    locked: Collection[str],
    steps: dict[str, float],
) -> Recourse:
    """The answer for one row, re-checked in user units."""
    schema = oracle.schema
    common: dict[str, Any] = {
        "method": method,
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
        return Recourse(changes=(), cost=None, cost_range=None, validity=None, fresh=None, **common)
    after = case.grid.apply(solution.choice, case.candidates)
    check_action(schema, case.row, case.candidates, after, max_changes=case.problem.max_changes, locked=locked)
    weights = case.problem.weights
    each = case.cost_per_candidate(solution.choice)
    return Recourse(
        changes=changes_of(case, solution.choice),
        cost=case.cost_of(solution.choice),
        cost_range=(float(each.min()), float(np.median(each)), float(each.max())),
        validity=Validity(_tidy(weights[accepted].sum()), _tidy(weights.sum())),
        fresh=None if fresh is None else _fresh_validity(oracle, case, solution.choice, fresh),
        **common,
    )


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


def _fresh_validity(oracle: Oracle, case: Case, choice: Choice, fresh: Sample) -> Validity:
    accepted = oracle.accepts(case.grid.apply_to_others(choice, fresh.values))
    weights = fresh.weights
    # a weighted sample counts as an equal one of its effective size
    size = float(weights.sum() ** 2 / (weights**2).sum())
    return Validity(_tidy(weights[accepted].sum() / weights.sum() * size), _tidy(size))


def _stuck(case: Case, locked: Collection[str]) -> tuple[str, ...]:
    movable = {move.position for move in case.grid.moves}
    stuck = [
        feature.title
        for i, feature in enumerate(case.grid.schema.features)
        if np.isnan(case.row[i]) and feature.blank_mode == "shift" and feature.name not in locked and i not in movable
    ]
    if not stuck:
        return ()
    return (
        f"{', '.join(stuck)}: not given, and no amount of change is legal for every plausible value. "
        "Set its blank mode to 'reach' to allow a target instead.",
    )


def _tidy(weight: float) -> float:
    """A weight without floating-point dirt."""
    whole = round(float(weight))
    return float(whole) if abs(weight - whole) < 1e-9 * max(1.0, abs(weight)) else float(weight)
