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
from armin.explain.minimum import Proof, proved
from armin.explain.rounding import rounded
from armin.models.kinds import LinearModel
from armin.problem import Choice, Status
from armin.problem.stated import Stated
from armin.promise import Calibration, estimation_error, log_growth
from armin.recourse import Change, Recourse, Validity
from armin.recourse.audit import check_action
from armin.recourse.certificate import FAILURE, Certificate, library_versions
from armin.recourse.world import World
from armin.schema import Schema
from armin.words import Message

__all__ = ["accepted_as_is", "changes_of", "fresh_validity", "make_recourse"]


STEPS = (0.02, 0.03, 0.05, 0.1)
"""How far from its bound a plan is said to be, where that is more than the tolerance."""


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
    alternative: bool = False,
    below: float = math.inf,
) -> Recourse:
    """The answer for one row in round numbers, re-checked in user units.

    Parameters
    ----------
    fitted, world, stated, judged : what the steps before found
    sample, fresh : the completions that were optimised over, and those by which the plan is judged
    confidence : what the answer may state as asked for
    locked : features that this person cannot change
    steps : where the time went
    calibration : the test on real people that chose the confidence
    alternative : whether it stands beside a cheaper plan
    below : rounder numbers may not cost as much as this
    """
    if calibration is not None:  # a plan is the one that was tested
        below = 0.0
    stated, judged, proof = _settled(fitted, world, stated, judged, fresh, confidence, alternative, below)
    schema, solution = fitted.schema, judged.solution
    never_blank = _never_blank(fitted, world, stated.row)
    bound = float(stated.cost.finish(proof.bound)) if np.isfinite(proof.bound) else proof.bound
    tolerance = 0.0 if solution.choice is None else _claimed(fitted, stated.cost_of(solution.choice), bound)
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
        "bound": bound,
        "scope": proof.scope,
        "tolerance": tolerance,
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


def _claimed(fitted: Fitted, cost: float, bound: float) -> float:
    """By how much of the bound a plan is said to exceed it at most."""
    steps = (fitted.settings.options.tolerance, *(step for step in STEPS if step > fitted.settings.options.tolerance))
    far = cost / bound - 1 if bound > 0 else 0.0
    return next((step for step in steps if far <= step + 1e-9), far)


def _settled(
    fitted: Fitted,
    world: World,
    stated: Stated,
    judged: Judged,
    fresh: Sample | None,
    level: float | None,
    alternative: bool,
    below: float,
) -> tuple[Stated, Judged, Proof]:
    """A plan in round numbers, and what is known of all others."""
    solution = judged.solution
    if alternative:  # nothing is claimed of plans beside it but that these were listed
        proof = Proof(solution.bound, "list" if stated.outer is not stated.problem else "domain")
    else:
        proof = proved(fitted, stated, solution, judged.demand)
    listed = stated.outer is None or (proof.scope == "list" and not alternative)
    if listed or solution.status is not Status.OPTIMAL or below <= 0:
        return stated, judged, proof
    bound, cost = float(stated.cost.finish(proof.bound)), float(stated.cost.finish(solution.cost or 0.0))
    most = max(bound * (1 + _claimed(fitted, cost, bound)), cost) if fitted.settings.options.tolerance else cost
    stated, judged = rounded(fitted, world, stated, judged, fresh, min(most, below * (1 - 1e-9)), level)
    return stated, judged, proof


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
        scope="domain",
    )
    certificate = Certificate(
        Status.OPTIMAL, 0.0, 0.0, None, answer.validity, found, None, None, None, len(answer.blanks),
        fitted.ready.name, 1, _seed(fitted), library_versions(), world=world, origin=fitted.origin, scope="domain",
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
        growth = _linear_growth(stated, size)
        # a list that was refined for this sample is not one that was chosen before
        if stated.outer is None or stated.outer is problem:
            growth = min(growth, log_growth(size, n_actions=problem.n_choices))
        error = None if math.isinf(growth) else estimation_error(size, failure=FAILURE, log_growth=growth)
    return Certificate(
        answer.status, answer.bound, answer.gap, answer.confidence, answer.validity, answer.fresh, error, calibration,
        answer.conditioned, len(answer.blanks), fitted.ready.name, stated.candidates.shape[0], _seed(fitted),
        library_versions(), world=answer.world, origin=fitted.origin, scope=answer.scope, tolerance=answer.tolerance,
    )  # fmt: skip


def _linear_growth(stated: Stated, size: int) -> float:
    """Ln Π(N) where one linear score decides, whatever the values; infinite where that says nothing.

    Options that move all completions alike add one number to all scores. Those that bring all to one value may be taken
    or not. One that brings a number to at least, or at most, a target adds a number of its own, and who is beyond the
    target is one of N + 1 sets. For B of these, the scores are linear in B + 1 numbers for each of the sets: so many
    parts does an arrangement of N hyperplanes have.
    """
    problem = stated.problem
    if not isinstance(problem.model, LinearModel) or problem.model.weights.shape[0] != 1:
        return math.inf
    reached = bounded = 0
    for move, option in zip(stated.grid.moves, problem.options, strict=True):
        if option.outcomes.shape[0] == 1:
            continue
        moved = option.outcomes - option.outcomes[:, :1]
        if np.ptp(option.outcomes[:, 1:], axis=0).max(initial=0.0) == 0:
            reached += 1
        elif np.ptp(moved, axis=0).max(initial=0.0) <= 1e-9 * max(1.0, float(np.abs(option.outcomes).max())):
            continue
        elif move.mode == "reach" and move.senses[1:].all() and option.columns.size == 1:
            bounded += 1
        else:
            return math.inf
    if not bounded:
        return log_growth(size, linear=True) + reached * math.log(2)
    parts = sum(math.comb(size, j) for j in range(bounded + 2))
    # each may be left alone, go up or go down
    return math.log(parts) + bounded * math.log(3 * (size + 1)) + reached * math.log(2)


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
