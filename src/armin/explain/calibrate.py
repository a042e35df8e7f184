"""Try an explainer on real people whose complete rows are known."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from armin.arrays import BoolArray, FloatArray
from armin.errors import DataError, ParameterError
from armin.explain.draw import candidates_of
from armin.explain.fitted import Fitted
from armin.explain.judge import Judged, judge_path
from armin.explain.state import state
from armin.explain.verify import solve_then_verify
from armin.explain.world import find_world
from armin.problem.stated import Stated
from armin.promise import LEVELS, Calibration, Trials, choose_level
from armin.promise.promise import Missingness, Promise
from armin.promise.tilt import Tilt, lost_at
from armin.recourse.world import World
from armin.schema import Carried, Schema

__all__ = ["calibrate", "check_held_out", "masks_from", "numbered", "pick", "run_trials", "tested_people"]

ENOUGH = 30
"""So many people with one pattern of blanks are tested by themselves; fewer, together with other patterns."""


def calibrate(
    fitted: Fitted,
    promise: Promise,
    people: FloatArray,
    masks: BoolArray,
    *,
    words: str,
    locked: Collection[str] = (),
    held_out: bool = True,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Calibration:
    """The smallest confidence, and none below the explainer's own, that keeps a promise for people with blanks.

    Parameters
    ----------
    fitted : the explainer
    promise : what is promised
    people : codes (n, D) of complete rows
    masks : where each has a blank (n, D)
    words : a code of the catalogue that says how the blanks came about
    locked : features that nobody may change
    held_out : whether the user named these people as unknown to the model
    n_jobs, progress : as in :meth:`armin.ARMIN.explain_many`
    """
    tested = tested_people(fitted, people, masks)
    rng = np.random.default_rng(fitted.settings.random_state)
    chosen = pick(np.flatnonzero(tested), promise.n_people, rng)
    if not chosen.size:
        raise DataError(
            f"A promise of {promise.share:g} needs complete held-out rows that the model rejects. Got none with such "
            "blanks. Give some: fit(X, people=frame) or calibrate(frame), or ask for a confidence instead."
        )
    people, masks = people[chosen], masks[chosen]
    trials = run_trials(fitted, people, masks, locked=locked, n_jobs=n_jobs, progress=progress)
    world = _world_of(fitted, people, masks)
    found = choose_level(
        trials, promise.share, promise.assurance, least=fitted.settings.confidence, masks=words, held_out=held_out,
        decision=None if world is None else world.decision, reapply=fitted.settings.reapply,
    )  # fmt: skip
    return replace(found, tilts=_tilts(fitted, people, masks, trials, found))


def _world_of(fitted: Fitted, people: FloatArray, masks: BoolArray) -> World | None:
    if not people.shape[0]:
        return None
    return find_world(fitted, np.where(masks[0], np.nan, people[0]))


def tested_people(fitted: Fitted, people: FloatArray, masks: BoolArray) -> BoolArray:
    """Which people are those that the promise is about: rejected as complete people, or as rows with their blanks."""
    tested: BoolArray = np.asarray(masks.any(axis=1) & ~np.isnan(people).any(axis=1))
    if not tested.any() or fitted.settings.decision is None:
        return tested
    blank = np.where(masks, np.nan, people)
    takes = np.array([t and fitted.decides(row) for t, row in zip(tested, blank, strict=True)])
    for who, rows in ((tested & takes, blank), (tested & ~takes, people)):
        if who.any():
            tested[who] &= ~fitted.decision.accepts(rows[who])
    return tested


def numbered(schema: Schema, frame: pd.DataFrame) -> tuple[FloatArray, Carried]:
    """The codes (n, D) of many people, and the book of what they carry along, in which each has a place."""
    codes, book = schema.encode(frame, clip=True), Carried.of(schema, frame)
    codes[:, [schema.position(name) for name in schema.carried]] = np.arange(len(codes))[:, None]
    return codes, book


def pick(positions: Any, most: int, rng: np.random.Generator) -> Any:
    """At most ``most`` of ``positions``, at random."""
    if positions.shape[0] > most:
        return positions[rng.choice(positions.shape[0], most, replace=False)]
    return positions


def check_held_out(people: FloatArray, known: FloatArray) -> None:
    """Refuse people who are in the training data: a promise must be tested on others."""
    seen, counts = np.unique(known, axis=0, return_counts=True)
    if not len(seen) or not len(people):
        return
    keys = {row.tobytes() for row in seen}
    inside = float(np.mean([row.tobytes() in keys for row in people]))
    repeats = float(counts[counts > 1].sum() / counts.sum())
    # small tables of categories repeat themselves; training data passed off as other people repeat beyond that
    if inside > max(0.5, min(2 * repeats, 0.99)):
        raise DataError(
            f"'people' must be held out, but {inside:.0%} of them are rows of the training data X. "
            "Split the data first: fit(X_train, people=X_other)."
        )


def masks_from(fitted: Fitted, people: FloatArray, missingness: Missingness) -> BoolArray:
    """Where a missingness model of the user makes blanks in ``people``."""
    made = missingness(fitted.schema.decode(people, like=fitted.like, carried=fitted.carried))
    frame = getattr(made, "X", made)
    if not isinstance(frame, pd.DataFrame) or len(frame) != people.shape[0]:
        raise ParameterError(
            f"'missingness' must return a DataFrame with as many rows as it was given ({people.shape[0]}). "
            f"Got {type(frame).__name__} instead."
        )
    return np.isnan(fitted.schema.encode(frame, clip=True))


def run_trials(
    fitted: Fitted,
    people: FloatArray,
    masks: BoolArray,
    *,
    locked: Collection[str] = (),
    levels: FloatArray = LEVELS,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Trials:
    """Give each person blanks, advise them at every level, and judge the advice by who they really are.

    Parameters
    ----------
    fitted : the explainer
    people : codes (n, D) of complete rows
    masks : where each gets blanks (n, D)
    locked : features that nobody may change
    levels : the confidences to try
    n_jobs, progress : as in :meth:`armin.ARMIN.explain_many`

    Returns
    -------
    Trials
    """
    from joblib import Parallel, delayed

    tasks = (delayed(_one_trial)(fitted, p, m, tuple(locked), levels) for p, m in zip(people, masks, strict=True))
    found = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
    if progress:
        from rich.console import Console
        from rich.progress import track

        found = track(found, description="Calibrating", total=len(people), transient=True, console=Console(stderr=True))
    outcomes = list(found)
    shape = (len(outcomes), levels.size)
    planned = np.array([planned for planned, _ in outcomes], dtype=bool).reshape(shape)
    worked = np.array([worked for _, worked in outcomes], dtype=bool).reshape(shape)
    return Trials(levels, planned, worked)


def _one_trial(
    fitted: Fitted, person: FloatArray, mask: BoolArray, locked: tuple[str, ...], levels: FloatArray
) -> tuple[BoolArray, BoolArray]:
    """At which levels there is a plan, and at which it works."""
    fitted, person = fitted.alone(person)
    row = np.where(mask, np.nan, person)
    stated, judged = solve_then_verify(fitted, lambda one: _advised(one, row, locked))
    planned, worked = np.zeros(levels.size, dtype=bool), np.zeros(levels.size, dtype=bool)
    if not judged:
        return planned, worked
    valid = np.ones(len(judged), dtype=bool)
    choices = [point.solution.choice for point in judged if point.solution.choice is not None]
    if stated.asks_completions:
        after = [stated.grid.apply_to_others(choice, person[None, :]) for choice in choices]
        valid &= fitted.decision.accepts(np.concatenate(after))
    if stated.asks_row:  # what this person would submit, who knows what the blanks hide
        submitted = [stated.submitted(choice, person[None, :]) for choice in choices]
        valid &= fitted.decision.accepts(np.concatenate(submitted))
    shares = np.array([stated.share(point.accepted) for point in judged])
    # the cheapest point that reaches the level, as in an answer
    first = np.searchsorted(shares, levels - 1e-9)
    planned = first < shares.size
    worked[planned] = valid[first[planned]]
    return planned, worked


def _advised(fitted: Fitted, row: FloatArray, locked: tuple[str, ...]) -> tuple[Stated, list[Judged]]:
    world = find_world(fitted, row)
    sample = candidates_of(fitted, world, row)
    stated = state(fitted, world, row, sample, locked, fitted.settings.confidence)
    drawn = fitted.uses_surrogate and world.conditioned and bool(sample.kept)
    return stated, judge_path(fitted, world, stated, drawn=drawn)[0]


def _tilts(
    fitted: Fitted, people: FloatArray, masks: BoolArray, trials: Trials, found: Calibration
) -> tuple[Tilt, ...]:
    """For each ordered feature that everybody hides: how unlike these people those who hide it may be."""
    if not found.kept or not people.shape[0]:
        return ()
    at = int(np.searchsorted(trials.levels, found.used_level - 1e-9))
    planned, worked = trials.planned[:, at], trials.worked[:, at]
    tilts = []
    for d in np.flatnonzero(masks.all(axis=0)).tolist():
        feature = fitted.schema.features[d]
        if feature.is_ordered and feature.kind != "binary":
            tilt = lost_at(feature.name, people[planned, d], worked[planned], found.promise)
            tilts += [tilt] if tilt is not None else []
    return tuple(tilts)
