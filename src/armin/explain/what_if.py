"""What if: the person's own idea, judged like a plan."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from armin.arrays import FloatArray
from armin.errors import AuditError, DataError
from armin.explain.advise import advise
from armin.explain.answer import fresh_validity, make_recourse
from armin.explain.draw import Sample, candidates_of, fresh_of
from armin.explain.fitted import Fitted
from armin.explain.judge import judge_until_fresh
from armin.explain.reasons import Background, stands
from armin.explain.state import state
from armin.explain.verify import solve_then_verify
from armin.explain.world import World, find_world
from armin.reasons.stand import Standing
from armin.recourse import Recourse, Validity
from armin.recourse.audit import check_action
from armin.report.html import recourse_html
from armin.schema import Feature, Schema, Value
from armin.schema.columns import after_change
from armin.words import Message, Name, Printable

__all__ = ["Idea", "WhatIf", "judge_idea"]

FORMAT = "armin.what-if/1"


@dataclass(frozen=True)
class Idea:
    """One value that a person thinks of.

    Attributes
    ----------
    feature : what changes
    before : the value now; None if it was not given
    after : the value of the idea
    """

    feature: Feature
    before: Value | None
    after: Value

    @property
    def message(self) -> Message:
        """The idea in a few words."""
        return Message("short.to", label=self.feature.named, after=self.feature.said(self.after))


@dataclass(frozen=True, repr=False)
class WhatIf(Printable):
    """What comes of an idea. Print it, show it in a notebook, or take ``to_dict``.

    Attributes
    ----------
    ideas : what the person would change
    now : for how much it works: of fresh ways to fill the blanks, or of the row itself
    as_is : how much is accepted without it
    asked : the share that a plan of this explainer must reach
    cost : what the idea costs, as a plan's changes do
    cost_name : the cost's name
    before, after : where the person stands without it and with it; None where nobody is there to compare with
    why : if a plan would not be allowed to ask for it, the first thing that stands in its way
    barred : all that does, to be said in any language
    plan : the cheapest way from there, with the idea kept; None where none is needed
    wanted : what the desired decisions are called
    blanks : whether anything is blank after the idea

    Examples
    --------
    >>> from armin import ARMIN
    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    >>> found = explainer.what_if(loans.applicant, {"ExistingLoans": 1})
    >>> found.enough, found.plan.found
    (False, True)
    """

    ideas: tuple[Idea, ...]
    now: Validity
    as_is: Validity
    asked: float
    cost: float
    cost_name: str
    before: Standing | None
    after: Standing | None
    why: str
    plan: Recourse | None
    wanted: tuple[Name, ...]
    blanks: bool
    barred: tuple[Message, ...] = ()

    @property
    def enough(self) -> bool:
        """Whether it works for the share that was asked for."""
        return self.now.share >= self.asked - 1e-9

    @property
    def allowed(self) -> bool:
        """Whether a plan might ask for it."""
        return not self.why

    @property
    def headline(self) -> Message:
        """What comes of it, in one sentence."""
        if not self.ideas:
            return Message("what_if.nothing")
        if self.blanks and 0.0 < self.now.share < 1.0:
            return Message("what_if.share", desired=self.wanted, share=self.now.share, before=self.as_is.share)
        return Message("what_if.yes" if self.now.share == 1.0 else "what_if.no", desired=self.wanted)

    @property
    def messages(self) -> tuple[Message, ...]:
        """What stands below the headline."""
        found = [Message("what_if.cost", cost=self.cost, name=self.cost_name)] if self.ideas else []
        if self.after is not None:
            found += self.after.messages
        found += [Message("what_if.not_allowed", why=one) for one in self.barred]
        if self.enough:
            found += [Message("what_if.enough")] if self.blanks else []
        elif self.plan is None or not self.plan.found:
            timed = self.plan is not None and self.plan.outcome == "out_of_time"
            found.append(Message("what_if.no_time" if timed else "what_if.no_way", desired=self.wanted))
        return tuple(found)

    @property
    def steps(self) -> tuple[Message, ...]:
        """What would be left to do from there."""
        return () if self.plan is None else tuple(change.message for change in self.plan.changes)

    def text(self, language: str = "en") -> str:
        """What comes of it, in a language; ``print`` shows it in English."""
        lines = [self.headline.text(language), *(message.text(language) for message in self.messages)]
        if self.steps:
            lines.append(Message("what_if.then").text(language))
            lines += [f"  {i}. {step.text(language)}" for i, step in enumerate(self.steps, start=1)]
        return "\n".join(lines)

    def html(self, language: str = "en") -> str:
        """What comes of it as HTML in a language; notebooks show it in English."""
        below = [*self.messages, *([Message("what_if.then")] if self.steps else [])]
        return recourse_html("plan" if self.enough else "tell", self.headline, (), (*below, *self.steps), language)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data; ``docs/reasons.md`` describes the keys."""
        return {
            "format": FORMAT,
            "ideas": [
                {"feature": one.feature.name, "label": one.feature.title, "before": one.before, "after": one.after}
                for one in self.ideas
            ],
            "share": self.now.share,
            "now": self.now.to_dict(),
            "as_is": self.as_is.to_dict(),
            "asked": self.asked,
            "enough": self.enough,
            "allowed": self.allowed,
            "why": self.why,
            "cost": {"name": self.cost_name, "value": self.cost},
            "standing": {
                "before": None if self.before is None else self.before.to_dict(),
                "after": None if self.after is None else self.after.to_dict(),
            },
            "plan": None if self.plan is None else self.plan.to_dict(),
            "headline": str(self.headline),
            "sentences": [str(message) for message in self.messages],
            "messages": [self.headline.to_dict(), *(message.to_dict() for message in self.messages)],
        }

    def to_json(self, indent: int | None = 2) -> str:
        """The same as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, default=str)


def read_ideas(schema: Schema, codes: FloatArray, changes: Mapping[str, Any]) -> dict[int, float]:
    """The codes of an idea by position, or a refusal; what is so already is left out."""
    if not isinstance(changes, Mapping):
        raise DataError(f"An idea must map columns to values, such as {{'Loans': 1}}. Got {changes!r} instead.")
    found: dict[int, float] = {}
    for name, value in changes.items():
        position = schema.position(name)
        feature = schema.features[position]
        if feature.is_carried:
            raise DataError(f"{name!r} is carried along as it is, so an idea cannot change it. Leave it out.")
        if feature.formula:
            raise DataError(
                f"{name!r} follows from {feature.formula}, so an idea cannot change it. Change these instead."
            )
        code = feature.code(value)
        if np.isnan(code):
            raise DataError(f"An idea must say which value {name!r} would have. Got {value!r}; leave it out instead.")
        if code != codes[position]:
            found[position] = code
    return found


def judge_idea(
    fitted: Fitted,
    codes: FloatArray,
    changes: Mapping[str, Any],
    background: Background | None,
    *,
    locked: Collection[str],
    level: float,
) -> WhatIf:
    """What :meth:`armin.ARMIN.what_if` answers.

    Parameters
    ----------
    fitted, codes : the explainer, and the row (D,) with its blanks
    changes : values of the idea by column
    background : people to compare with; without them nothing is said about scores
    locked : features that the person cannot change
    level : the share that a plan must reach
    """
    schema = fitted.schema
    idea = read_ideas(schema, codes, changes)
    world = find_world(fitted, codes)
    sample = fresh_of(fitted, world, codes) or candidates_of(fitted, world, codes)
    row, after = _moved(schema, codes[None, :], idea)[0], _moved(schema, sample.values, idea)
    why = ""
    try:
        check_action(schema, codes, sample.values, after, max_changes=None, locked=locked)
    except AuditError as error:
        why = str(error)
    now = _validity(fitted, world, row, Sample(after, sample.weights))
    plan = None
    if now.share < level - 1e-9:
        kept = (*locked, *(schema.names[p] for p in idea))
        plan = _from_there(fitted, world, codes, row, idea, kept, level)
    where: tuple[Standing | None, Standing | None] = (None, None)
    if background is not None:
        where = _stands(fitted, world, codes, row, sample, after, background)
    return WhatIf(
        tuple(_idea(schema.features[p], float(codes[p]), code) for p, code in idea.items()),
        now, _validity(fitted, world, codes, sample), level, _cost(fitted, sample, idea), type(fitted.cost).__name__,
        where[0], where[1], why, plan,
        tuple(Name("decisions", str(label), schema.called(label)) for label in fitted.labels),
        bool(np.isnan(row).any()), _barred(schema, codes, sample.values, after, idea, locked) if why else (),
    )  # fmt: skip


def _barred(
    schema: Schema,
    codes: FloatArray,
    before: FloatArray,
    after: FloatArray,
    idea: Mapping[int, float],
    locked: Collection[str],
) -> tuple[Message, ...]:
    """All that stands in the way of an idea that the last check refuses as a plan."""
    found = []
    for p in idea:
        feature, moved = schema.features[p], after[:, p] - before[:, p]
        wrong = {
            "locked": feature.name in locked,
            "fixed": feature.direction == "fixed",
            "only_up": feature.direction == "increase" and bool((moved < 0).any()),
            "only_down": feature.direction == "decrease" and bool((moved > 0).any()),
            "frozen": feature.blank_mode == "freeze" and bool(np.isnan(codes[p])),
        }
        code = next((code for code, yes in wrong.items() if yes), None)
        if code is not None:
            found.append(Message(f"what_if.{code}", label=feature.named))
    return (
        *found,
        *(rule.message(schema) for rule in schema.constraints if not rule.allows(schema, before, after).all()),
    )


def _moved(schema: Schema, rows: FloatArray, idea: Mapping[int, float]) -> FloatArray:
    after = rows.copy()
    for position, code in idea.items():
        after[:, position] = code
    return after_change(schema, after, idea)


def _idea(feature: Feature, before: float, after: float) -> Idea:
    value = feature.value(after)
    assert value is not None  # noqa: S101  a blank was refused
    return Idea(feature, feature.value(before), value)


def _validity(fitted: Fitted, world: World, row: FloatArray, sample: Sample) -> Validity:
    """For how many completions a row is accepted; by the row itself where that is judged, or nothing is blank."""
    complete = not np.isnan(row).any()
    if complete or (world.blanks and world.reapply != "disclosed"):
        accepted = bool(fitted.decision.accepts(row[None, :])[0])
        if complete or world.reapply == "blank" or not accepted:
            return Validity(float(accepted), 1.0)
    return fresh_validity(sample, fitted.decision.accepts(sample.values))


def _cost(fitted: Fitted, sample: Sample, idea: Mapping[int, float]) -> float:
    """What the idea costs, averaged over the completions as the cost of a plan is."""
    share = sample.weights / sample.weights.sum()
    parts = []
    for position, code in idea.items():
        before = sample.values[:, position]
        table = np.asarray(fitted.cost.table(position, before, np.full((before.size, 1), code)), dtype=np.float64)
        parts.append(float(share @ np.nan_to_num(table[:, 0])))  # a blank that is left to the model has no price
    total = (max(parts, default=0.0)) if fitted.cost.aggregate == "max" else sum(parts)
    return float(fitted.cost.finish(total))


def _from_there(
    fitted: Fitted,
    world: World,
    codes: FloatArray,
    row: FloatArray,
    idea: Mapping[int, float],
    locked: tuple[str, ...],
    level: float,
) -> Recourse:
    """The cheapest way from the row with the idea, which stays.

    What is known about the blanks is what was decided about the row without the idea: nothing is known about the
    decision with it.
    """
    if not np.isnan(row).any():
        return advise(fitted.varied(confidence=level), row, locked)

    def work(one: Fitted) -> Recourse:
        here = World(None, world.reapply, True, find_world(one, row).submitted)
        sample, fresh = candidates_of(one, world, codes), fresh_of(one, world, codes)
        drawn = replace(sample, values=_moved(one.schema, sample.values, idea), looked=None)
        others = None if fresh is None else replace(fresh, values=_moved(one.schema, fresh.values, idea), looked=None)
        stated = state(one, here, row, drawn, locked, level)
        judged = judge_until_fresh(one, here, stated, others, level)
        confidence = level if one.settings.states else None
        return make_recourse(one, here, stated, judged, drawn, others, confidence=confidence, locked=locked)

    return solve_then_verify(fitted, work)


def _stands(
    fitted: Fitted,
    world: World,
    codes: FloatArray,
    row: FloatArray,
    sample: Sample,
    after: FloatArray,
    background: Background,
) -> tuple[Standing, Standing]:
    """Where the person stands without the idea and with it."""
    score, people = background.score(fitted, None), background.people
    if score.unit == "log-odds":  # an idea is a person's, and so are the units
        score = background.score(fitted, "probability")
    reference = float(score(people.codes).mean())
    return (
        stands(fitted, world, codes, sample, score, reference, 0.9),
        stands(fitted, world, row, Sample(after, sample.weights), score, reference, 0.9),
    )
