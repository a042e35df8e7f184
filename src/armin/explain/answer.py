"""Step four: from a solution back to the user's words, with every check."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from armin.arrays import BoolArray, FloatArray
from armin.costs.personal import cost_name
from armin.explain.draw import Sample
from armin.explain.fitted import Fitted
from armin.explain.judge import Judged
from armin.models.kinds import LinearModel
from armin.problem import Choice, Problem, Status
from armin.problem.stated import Stated
from armin.promise import Calibration, estimation_error, log_growth
from armin.recourse import Change, Recourse, Validity
from armin.recourse.audit import check_action
from armin.recourse.certificate import FAILURE, Certificate, library_versions
from armin.recourse.world import World
from armin.schema import Schema
from armin.words import Message

__all__ = ["accepted_as_is", "changes_of", "fresh_validity", "make_recourse"]


def make_recourse(
    fitted: Fitted,
    world: World,
    stated: Stated,
    judged: Judged,
    sample: Sample,
    fresh: Sample | None,
    *,
    confidence: float | None,
    locked: Collection[str] = (),
    steps: dict[str, float] | None = None,
    calibration: Calibration | None = None,
) -> Recourse:
    """The answer for one row, re-checked in user units.

    Parameters
    ----------
    fitted, world, stated, judged : what the steps before found
    sample, fresh : the completions that were optimised over, and those by which the plan is judged
    confidence : what the answer may state as asked for
    locked : features that this person cannot change
    steps : where the time went
    calibration : the test on real people that chose the confidence
    """
    schema, solution = fitted.schema, judged.solution
    never_blank = _never_blank(fitted, world, stated.row)
    common: dict[str, Any] = {
        "method": fitted.settings.name,
        "status": solution.status,
        "desired": fitted.labels,
        "decisions": dict(schema.decisions),
        "schema": schema,
        "cost_name": cost_name(stated.cost),
        "confidence": confidence,
        "blanks": tuple(schema.features[i] for i in np.flatnonzero(np.isnan(stated.row)).tolist()),
        "seconds": solution.seconds,
        "solver": solution.solver,
        "nodes": solution.nodes,
        "conditioned": sample.kept,
        "notes": sample.notes + _stuck(stated, locked) + _beyond(schema, stated.row) + never_blank,
        "seconds_by_step": steps or {},
        "bound": float(stated.cost.finish(solution.bound)) if np.isfinite(solution.bound) else solution.bound,
        "world": world,
    }
    if solution.choice is None:
        empty = Recourse(changes=(), cost=None, cost_range=None, validity=None, fresh=None, **common)
        return replace(empty, certificate=_certificate(fitted, empty, stated, calibration))
    after = stated.grid.apply(solution.choice, stated.candidates)
    check_action(schema, stated.row, stated.candidates, after, max_changes=stated.problem.max_changes, locked=locked)
    each = np.sort(stated.cost_per_candidate(solution.choice))
    # everybody submits the same row, and the model has decided about that
    exact = stated.asks_row and not stated.asks_completions and not stated.grid.reaches(solution.choice)
    answer = Recourse(
        changes=changes_of(stated, solution.choice),
        cost=stated.cost_of(solution.choice),
        cost_range=(float(each[0]), float(each[(each.size - 1) // 2] + each[each.size // 2]) / 2, float(each[-1])),
        validity=_validity(stated, judged, exact=exact),
        fresh=None if fresh is None or judged.fresh is None or exact else fresh_validity(fresh, judged.fresh),
        resubmitted=None if never_blank and world.reapply == "disclosed" else judged.row,
        **common,
    )
    return replace(answer, certificate=_certificate(fitted, answer, stated, calibration))


def accepted_as_is(fitted: Fitted, world: World, codes: FloatArray, fresh: Sample, steps: dict[str, float]) -> Recourse:
    """The answer for a row that the model accepts with its blanks: nothing needs to be done.

    ``fresh`` says for how many completions it would stay so if the blanks had to be told.
    """
    stays = fitted.decision.accepts(fresh.values)
    found = fresh_validity(fresh, stays)
    answer = Recourse(
        method=fitted.settings.name,
        status=Status.OPTIMAL,
        desired=fitted.labels,
        decisions=dict(fitted.schema.decisions),
        schema=fitted.schema,
        changes=(),
        cost=0.0,
        cost_name=cost_name(fitted.cost),
        cost_range=(0.0, 0.0, 0.0),
        confidence=None,
        validity=Validity(1.0, 1.0),
        fresh=found,
        blanks=tuple(fitted.schema.features[i] for i in np.flatnonzero(np.isnan(codes)).tolist()),
        bound=0.0,
        seconds=0.0,
        solver="none",
        seconds_by_step=steps,
        world=world,
        resubmitted=True,
        notes=_beyond(fitted.schema, codes),
    )
    certificate = Certificate(
        Status.OPTIMAL, 0.0, 0.0, None, answer.validity, found, None, None, None, len(answer.blanks),
        fitted.ready.name, 1, _seed(fitted), library_versions(), world=world, origin=fitted.origin,
    )  # fmt: skip
    return replace(answer, certificate=certificate)


def _validity(stated: Stated, judged: Judged, *, exact: bool) -> Validity:
    """On what was optimised over: the completions, the rows that are submitted, or both."""
    if exact:
        return Validity(float(judged.works.all()), 1.0)
    return Validity(_tidy(stated.weights[judged.works].sum()), _tidy(stated.weights.sum()))


def _seed(fitted: Fitted) -> int | None:
    seed = fitted.settings.random_state
    return None if seed is None else int(seed)


def _certificate(fitted: Fitted, answer: Recourse, stated: Stated, calibration: Calibration | None) -> Certificate:
    problem, weights, error = stated.problem, stated.weights, None
    if answer.blanks and answer.validity is not None and stated.asks_completions and weights.size > 1:
        # a weighted sample counts as an equal one of its effective size
        size = max(1, math.floor(weights.sum() ** 2 / (weights**2).sum() + 1e-9))
        growth = min(log_growth(size, n_actions=problem.n_choices), _linear_growth(problem, size))
        error = estimation_error(size, failure=FAILURE, log_growth=growth)
    return Certificate(
        answer.status, answer.bound, answer.gap, answer.confidence, answer.validity, answer.fresh, error, calibration,
        answer.conditioned, len(answer.blanks), fitted.ready.name, stated.candidates.shape[0], _seed(fitted),
        library_versions(), world=answer.world, origin=fitted.origin,
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


def changes_of(stated: Stated, choice: Choice) -> tuple[Change, ...]:
    """The changes of a choice, the most expensive first."""
    changes = []
    for move, option, j in zip(stated.grid.moves, stated.problem.options, choice, strict=True):
        if not j:
            continue
        feature = stated.grid.schema.features[move.position]
        target, now = float(move.targets[j]), float(stated.row[move.position])
        amount: float | None = None
        if move.mode == "shift":
            amount = target
        elif move.mode == "observed" and feature.is_ordered:
            amount = target - now
        after = None if move.mode == "shift" else feature.value(target)
        cost = float(stated.cost.finish(float(option.costs[j])))
        sense = int(move.senses[j])
        raw = float(option.costs[j])
        changes.append(Change(feature, move.mode, feature.value(now), after, amount, cost, sense, raw))
    return tuple(sorted(changes, key=lambda change: -change.cost))


def fresh_validity(fresh: Sample, accepted: BoolArray) -> Validity:
    """For how much of a fresh sample an action works, given which of it the model accepts."""
    weights = fresh.weights
    # a weighted sample counts as an equal one of its effective size
    size = float(weights.sum() ** 2 / (weights**2).sum())
    return Validity(_tidy(weights[accepted].sum() / weights.sum() * size), _tidy(size))


def _stuck(stated: Stated, locked: Collection[str]) -> tuple[Message, ...]:
    movable, features = {move.position for move in stated.grid.moves}, stated.grid.schema.features
    stuck = tuple(
        features[i].named
        for i in np.flatnonzero(np.isnan(stated.row)).tolist()
        if features[i].blank_mode == "shift" and features[i].name not in locked and i not in movable
    )
    return (Message("stuck.shift", features=stuck),) if stuck else ()


def _never_blank(fitted: Fitted, world: World, row: FloatArray) -> tuple[Message, ...]:
    """A note where a model that would answer is not taken at its word, since it has never seen such a blank."""
    never = fitted.never_blank(row)
    if not never or not world.answers or fitted.settings.decision != "auto" or world.decision != "complete":
        return ()
    return (Message("notes.never_blank", labels=tuple(feature.named for feature in never)),)


def _beyond(schema: Schema, row: FloatArray) -> tuple[Message, ...]:
    """A note for each value that lies beyond what the model has seen."""
    return tuple(
        Message(
            "notes.beyond", label=feature.named, value=feature.said(feature.value(code)),
            low=feature.said(feature.value(feature.low_code)), high=feature.said(feature.value(feature.high_code)),
        )
        for feature, code in zip(schema, row.tolist(), strict=True)
        if feature.is_beyond(code)
    )  # fmt: skip


def _tidy(weight: float) -> float:
    """A weight without floating-point dirt."""
    whole = round(float(weight))
    return float(whole) if abs(weight - whole) < 1e-9 * max(1.0, abs(weight)) else float(weight)
