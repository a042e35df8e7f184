"""The steps put together: draw, state, solve and judge, answer; for one plan, several, or a whole path."""

from __future__ import annotations

import math
import time
from collections.abc import Collection
from dataclasses import dataclass, replace

from armin.arrays import FloatArray
from armin.explain.answer import accepted_as_is, make_recourse
from armin.explain.draw import Sample, candidates_of, draw, fresh_of, row_stream
from armin.explain.fitted import Fitted
from armin.explain.judge import (
    Judged,
    at_level,
    judge_choices,
    judge_path,
    judge_until_fresh,
    no_point,
)
from armin.explain.others import dominates
from armin.explain.state import state
from armin.explain.verify import SurrogateMismatch, solve_then_verify
from armin.explain.ways import find_lesser, find_ways, way_of
from armin.explain.world import find_world
from armin.problem import Status
from armin.problem.stated import Stated
from armin.promise import Calibration
from armin.recourse import Recourse, RecoursePath
from armin.recourse.world import World
from armin.words import Message

__all__ = ["Posed", "advise", "advise_others", "advise_path", "pose"]


@dataclass(frozen=True, eq=False)
class Posed:
    """One row's question, ready to be solved.

    Attributes
    ----------
    world : what is known, and who will judge
    sample : the completions to optimise over
    fresh : other ones to judge by, or None
    stated : the problem
    drawn : whether the candidates were drawn as rejected by the surrogate
    """

    world: World
    sample: Sample
    fresh: Sample | None
    stated: Stated
    drawn: bool


def pose(fitted: Fitted, codes: FloatArray, locked: Collection[str], level: float) -> Posed:
    """Draw and state: what :func:`advise` solves."""
    world = find_world(fitted, codes)
    sample, fresh = candidates_of(fitted, world, codes), fresh_of(fitted, world, codes)
    return _posed(fitted, world, codes, sample, fresh, locked, level)


def _posed(
    fitted: Fitted,
    world: World,
    codes: FloatArray,
    sample: Sample,
    fresh: Sample | None,
    locked: Collection[str],
    level: float,
) -> Posed:
    drawn = fitted.uses_surrogate and world.conditioned and bool(sample.kept)
    return Posed(world, sample, fresh, state(fitted, world, codes, sample, locked, level), drawn)


def advise(
    fitted: Fitted, codes: FloatArray, locked: Collection[str] = (), calibration: Calibration | None = None
) -> Recourse:
    """What one person should change.

    Parameters
    ----------
    fitted : the explainer
    codes : the row (D,), NaN for blanks
    locked : features that this person cannot change
    calibration : a test on real people: the answer is then the point of the path that it chose
    """
    return solve_then_verify(fitted, lambda one: _advise(one, codes, locked, calibration))


def _advise(fitted: Fitted, codes: FloatArray, locked: Collection[str], calibration: Calibration | None) -> Recourse:
    return _worked_out(fitted, codes, locked, calibration)[0]


def _worked_out(
    fitted: Fitted, codes: FloatArray, locked: Collection[str], calibration: Calibration | None
) -> tuple[Recourse, Posed | None, Judged | None]:
    """The answer, the question, and what was found; the latter are None where the row is accepted as it is."""
    level = fitted.settings.confidence if calibration is None else calibration.used_level
    start = time.perf_counter()
    world = find_world(fitted, codes)
    if world.accepted:
        return _accepted(fitted, world, codes, start), None, None
    sample, fresh = candidates_of(fitted, world, codes), fresh_of(fitted, world, codes)
    sampled = time.perf_counter()
    # a promise was tested on the values that are listed for the user's own confidence
    listed = level if calibration is None else fitted.settings.confidence
    posed = _posed(fitted, world, codes, sample, fresh, locked, listed)
    built = time.perf_counter()
    if calibration is None:
        judged = judge_until_fresh(fitted, world, posed.stated, fresh, level, drawn=posed.drawn)
    else:
        judged = _from_path(fitted, posed, level)
    steps = {"sampling": sampled - start, "building": built - sampled, "solving": time.perf_counter() - built}
    confidence = level if fitted.settings.states else None
    answer = make_recourse(
        fitted, world, posed.stated, judged, sample, fresh,
        confidence=confidence, locked=locked, steps=steps, calibration=calibration,
    )  # fmt: skip
    return answer, posed, judged


def _accepted(fitted: Fitted, world: World, codes: FloatArray, start: float) -> Recourse:
    """The model accepts the row as it stands; it is asked whether that is so, and how far telling would change it."""
    if fitted.uses_surrogate and not fitted.decision.accepts(codes[None, :])[0]:
        raise SurrogateMismatch
    n = max(fitted.settings.options.n_fresh, fitted.settings.options.n_samples, 1)
    fresh = draw(fitted, world, codes, n, row_stream(fitted.settings.random_state, codes, "fresh"))
    return accepted_as_is(fitted, world, codes, fresh, {"sampling": time.perf_counter() - start})


def _from_path(fitted: Fitted, posed: Posed, level: float) -> Judged:
    """The cheapest point of the path that reaches a level: what calibration has tested, to the letter."""
    start = time.perf_counter()
    points, end = judge_path(fitted, posed.world, posed.stated, drawn=posed.drawn)
    found = at_level(posed.stated, points, level)
    if found is None:
        return no_point(posed.stated.problem, end, time.perf_counter() - start)
    again = judge_choices(fitted, posed.world, posed.stated, [found.solution], posed.fresh)[0]
    spent = replace(found.solution, seconds=time.perf_counter() - start)
    return replace(found, solution=spent, fresh=again.fresh, row=again.row)


def advise_path(fitted: Fitted, codes: FloatArray, locked: Collection[str], level: float) -> RecoursePath:
    """The cheapest action for every confidence; ``level`` is the one that was asked for."""
    return solve_then_verify(fitted, lambda one: _path(one, codes, locked, level))


def _path(fitted: Fitted, codes: FloatArray, locked: Collection[str], level: float) -> RecoursePath:
    world = find_world(fitted, codes)
    if world.accepted:
        return RecoursePath((_accepted(fitted, world, codes, time.perf_counter()),), level, Status.OPTIMAL)
    posed = pose(fitted, codes, locked, level)
    judged, end = judge_path(fitted, posed.world, posed.stated, posed.fresh, drawn=posed.drawn)
    costs = [posed.stated.cost.finish(point.solution.cost or 0.0) for point in judged]
    points = [
        make_recourse(
            fitted, posed.world, posed.stated, point, posed.sample, posed.fresh,
            confidence=posed.stated.share(point.accepted), locked=locked, below=below,
        )
        for point, below in zip(judged, [*costs[1:], math.inf], strict=False)
    ]  # fmt: skip
    # the far ends of all ranges are listed: where they do not suffice, nothing does
    everything = posed.stated.outer is not None and not fitted.schema.rules
    return RecoursePath.judged(points, level, end, "domain" if everything else "list")


def advise_others(
    fitted: Fitted, codes: FloatArray, count: int, locked: Collection[str], calibration: Calibration | None
) -> tuple[Recourse, ...]:
    """Several plans to choose from, the cheapest first; none if there is no plan or nothing needs to be done."""
    return solve_then_verify(fitted, lambda one: _others(one, codes, count, locked, calibration))


def _others(
    fitted: Fitted, codes: FloatArray, count: int, locked: Collection[str], calibration: Calibration | None
) -> tuple[Recourse, ...]:
    first, posed, judged = _worked_out(fitted, codes, locked, calibration)
    if posed is None or judged is None or not first.changes or count == 1:
        return (first,) if first.found else ()
    level = fitted.settings.confidence if calibration is None else calibration.used_level
    world, stated, fresh = posed.world, posed.stated, posed.fresh
    chosen = find_ways(fitted, world, stated, fresh, judged, count - 1, level)
    found = [way.judged for way in chosen.ways if way.judged is not None]
    if len(found) < count - 1:
        found += find_lesser(fitted, world, stated, fresh, [judged, *found], level)[: count - 1 - len(found)]
    ways = [way_of(stated, fresh, one) for one in (judged, *found)]
    plans = [first.ranked(1)]
    for one, way in sorted(zip(found, ways[1:], strict=True), key=lambda pair: pair[1].cost):
        plan = make_recourse(
            fitted, world, stated, one, posed.sample, fresh,
            confidence=level if fitted.settings.states else None, locked=locked, alternative=True,
        )  # fmt: skip
        if any(dominates(other, way) for other in ways):
            plan = replace(plan, notes=(*plan.notes, Message("others.no_surer")))
        plans.append(plan.ranked(len(plans) + 1))
    return tuple(plans)
