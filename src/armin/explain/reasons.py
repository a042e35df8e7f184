"""Why: a row, its completions and the people to compare with, put together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from armin.arrays import FloatArray
from armin.errors import DataError, ParameterError
from armin.explain.draw import Sample, draw, row_stream
from armin.explain.fitted import Fitted
from armin.explain.world import World, find_world
from armin.models.encoding import ReadClassifier, read_classifier
from armin.models.kinds import BlackBox
from armin.models.oracle import Oracle
from armin.reasons import People, Reasons, Reference
from armin.reasons.answers import Method
from armin.reasons.attribute import Attribution, attribute, untold
from armin.reasons.lime import attribute_lime
from armin.reasons.people import check_reference
from armin.reasons.score import Score, Unit, read_score
from armin.reasons.stand import Standing, standing
from armin.reasons.statements import Exchange
from armin.words import Name

__all__ = ["PEOPLE", "Background", "chosen_people", "find_reasons", "stands"]

PEOPLE = 200
"""People of the training data that are kept to compare with."""


@dataclass(frozen=True, eq=False)
class Background:
    """The people to compare with, and the scores of the model in each unit that was asked for.

    Attributes
    ----------
    people : complete, and judged by the model
    read : the model as it decides, without a safety margin
    """

    people: People
    read: ReadClassifier
    known: dict[Unit | None, Score] = field(default_factory=dict)

    @classmethod
    def of(cls, fitted: Fitted, rows: FloatArray) -> Background:
        """The background of some training rows (B, D); their blanks are filled by one draw each, whatever the seed."""
        rows = rows[~np.isnan(rows).all(axis=1)]
        if not rows.shape[0]:
            raise DataError("'background' must hold at least one row with a value. Got none. Give some training rows.")
        rng = np.random.default_rng(0)
        complete = np.array(
            [fitted.ready.at(row).sample(1, rng).values[0] if np.isnan(row).any() else row for row in rows]
        ).reshape(rows.shape)
        people = People(fitted.schema, complete, fitted.decision.accepts(complete))
        read = fitted.read
        if fitted.stricter and isinstance(fitted.decision, Oracle):
            read = read_classifier(fitted.decision, blackbox=isinstance(read.model, BlackBox))
        return cls(people, read)

    def score(self, fitted: Fitted, unit: Unit | None) -> Score:
        """The score in a unit."""
        if unit not in self.known:
            assert isinstance(fitted.decision, Oracle)  # noqa: S101  before any surrogate
            self.known[unit] = read_score(self.read, fitted.decision, self.people.codes, unit)
        return self.known[unit]


def chosen_people(codes: FloatArray) -> FloatArray:
    """Some rows of the training data (n, D) to compare with, in their order; the same whatever the seed."""
    if codes.shape[0] <= PEOPLE:
        return codes.copy()
    rng = np.random.default_rng(0)
    found: FloatArray = codes[np.sort(rng.choice(codes.shape[0], PEOPLE, replace=False))]
    return found


def find_reasons(
    fitted: Fitted,
    codes: FloatArray,
    background: Background,
    *,
    reference: Reference,
    unit: Unit | None,
    method: Method,
    n: int,
    level: float,
    most: int,
) -> Reasons:
    """What :meth:`armin.ARMIN.reasons` answers."""
    check_reference(reference)
    if method not in ("shapley", "lime"):
        raise ParameterError(f"'method' must be 'shapley' or 'lime'. Got {method!r} instead.")
    if not 0.0 < level < 1.0:
        raise ParameterError(f"'level' must be a number between 0 and 1. Got {level!r} instead.")
    world = find_world(fitted, codes)
    sample = _completions(fitted, world, codes, n)
    score = background.score(fitted, unit)
    people = background.people
    group = people.group(reference, codes, score(people.codes))
    rng = row_stream(fitted.settings.random_state, codes, "candidates")
    found = _weighed(score, sample, group, method, rng)
    decided = world.decision == "blank" and world.answers
    not_told = untold(score, codes, sample.values, rng) if decided else None
    where = stands(fitted, world, codes, sample, score, found.reference, level)
    return Reasons(
        _accepted(fitted, world, codes, where),
        tuple(Name("decisions", str(label), fitted.schema.called(label)) for label in fitted.labels),
        where, reference, people, group.shape[0], method, found.how, level, most, codes,
        found.weights, found.variance, not_told, found.scores, sample.weights,
        Exchange.of(score, codes, sample.values, people), sample.notes,
    )  # fmt: skip


def _completions(fitted: Fitted, world: World, codes: FloatArray, n: int) -> Sample:
    """The plausible ways to fill the blanks, as what is known about the decision has it; the row if it is complete."""
    if not world.blanks:
        return Sample(codes[None, :].copy(), np.ones(1))
    return draw(fitted, world, codes, n, row_stream(fitted.settings.random_state, codes, "fresh"))


def _weighed(score: Score, sample: Sample, group: FloatArray, method: Method, rng: np.random.Generator) -> Attribution:
    """What each feature weighs in each completion; equal completions are looked at once."""
    distinct, which = np.unique(sample.values, axis=0, return_inverse=True)
    found = (attribute_lime if method == "lime" else attribute)(score, distinct, group, rng)
    back = which.ravel()
    return replace(found, weights=found.weights[back], variance=found.variance[back], scores=found.scores[back])


def stands(
    fitted: Fitted, world: World, codes: FloatArray, sample: Sample, score: Score, reference: float, level: float
) -> Standing:
    """Where a row stands, by its completions and, where the model decides about its blanks, by itself."""
    submitted = None
    if world.decision == "blank" and world.answers and score.blanks is not None:
        submitted = float(score.blanks(codes[None, :])[0])
    accepted = fitted.decision.accepts(sample.values).astype(np.float64)
    return standing(
        score(sample.values), sample.weights, accepted, level,
        threshold=score.threshold, reference=reference, submitted=submitted, unit=score.unit,
    )  # fmt: skip


def _accepted(fitted: Fitted, world: World, codes: FloatArray, where: Standing) -> bool:
    """Whether the decision is the desired one, as far as there is one."""
    if not world.blanks:
        return bool(fitted.decision.accepts(codes[None, :])[0])
    if world.decision == "blank":
        return bool(world.submitted)
    return where.share >= 0.5
