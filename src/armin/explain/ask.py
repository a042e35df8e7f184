"""Ask or act: what telling a blank would be worth, and when it need not be told."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from armin.arrays import FloatArray
from armin.explain.fitted import Fitted
from armin.explain.telling import Teller, Told
from armin.promise import Calibration
from armin.recourse import Recourse
from armin.schema import Feature
from armin.words import Message, Name, Printable

__all__ = ["AskOrAct", "Question", "Told", "ask_or_act"]

FORMAT = "armin.ask/2"
SLACK = 0.03
"""Two standard errors of a share of 1,000 fresh completions: by less, a plan does not count as worse."""
CLEARLY = 0.02
"""A plan that is cheaper by less than this share, or than chance explains, is not clearly cheaper."""


@dataclass(frozen=True, repr=False)
class Question(Printable):
    """What telling one blank would be worth. Every claim is about the values that were tried.

    Attributes
    ----------
    feature : the blank
    matters : whether some value that was tried calls for another plan: acting now does not work for the share asked
        for, or something clearly cheaper does
    alone : chance that telling this value, and nothing else, gets the row accepted; None if that cannot be known:
        the complete person is known to be rejected, or the model takes no other blanks
    expected_cost : average cost of the plan once the value is told, where there is a plan; None if there never is
    saving : cost of acting now minus ``expected_cost``; 0 if it does not matter or one of the two does not exist
    error : standard error of the saving
    no_plan : chance that no plan works once the value is told
    undecided : chance that time runs out
    sure : average share of completions for which the plan works once the value is told
    told : the plausible values, with their chances and plans
    least : the share of fresh completions for which acting now works, at the worst of the told values; None without a
        plan
    most : what telling saves at the best of these values
    now : what acting without telling costs, and for which share it works; None without a plan
    decides : whether the blank itself is in the way: with all blanks told, nothing else needs to change
    """

    feature: Feature
    matters: bool
    alone: float | None
    expected_cost: float | None
    saving: float
    error: float
    no_plan: float
    undecided: float
    sure: float | None
    told: tuple[Told, ...]
    least: float | None = None
    most: float = 0.0
    now: tuple[float, float | None] | None = None
    decides: bool = False

    @property
    def free(self) -> float:
        """Chance that nothing more is needed once the value is told."""
        return float(sum(t.weight for t in self.told if t.plan.outcome == "already_accepted"))

    @property
    def worth(self) -> bool:
        """Whether telling beats acting now, beyond chance and without losing more people."""
        if not self.matters or self.expected_cost is None:
            return False
        if self.now is None:
            return True
        failing = 0.0 if self.now[1] is None else 1 - self.now[1]
        lost = self.no_plan + self.undecided
        return self.saving > max(2 * self.error, 1e-9) and lost <= failing + 1e-9

    @property
    def messages(self) -> tuple[Message, ...]:
        """All this in sentences."""
        label, n = self.feature.named, len(self.told)
        said = []
        if self.alone is not None and self.alone > 0:
            said.append(Message("question.alone", label=label, share=self.alone))
        if self.decides:
            return tuple(said or [Message("question.with_others", label=label)])
        if not self.matters and self.least is not None:
            return (*said, Message("question.same", label=label, n=n, share=self.least, saved=self.most))
        if not self.matters:
            return (*said, Message("question.no_help", label=label, n=n))
        if self.expected_cost is None:
            return (*said, Message("question.lost", label=label, n=n))
        if self.now is None:
            share = 1 - self.no_plan - self.undecided
            said.append(Message("question.opens", label=label, share=share, cost=self.expected_cost))
        else:
            said += self._costs(label, *self.now)
        if self.free > 0 and self.alone is None:
            said.append(Message("question.free", share=self.free))
        if self.undecided > 0:
            said.append(Message("question.undecided", share=self.undecided))
        return tuple(said)

    def _costs(self, label: Name, cost: float, share: float | None) -> list[Message]:
        expected = self.expected_cost or 0.0
        said = [Message("question.as_now", label=label, cost=expected)]
        if abs(self.saving) > max(2 * self.error, 1e-9):
            said = [Message("question.cheaper", label=label, cost=expected, now=cost, error=self.error)]
        if share is not None and self.sure is not None and self.sure > share + 0.01:
            said.append(Message("question.surer", share=self.sure, now=share))
        if self.no_plan > 0:
            said.append(Message("question.no_plan", share=self.no_plan))
        return said

    @property
    def sentence(self) -> str:
        """All this in English."""
        return self.text()

    def text(self, language: str = "en") -> str:
        """All this in a language."""
        return " ".join(message.text(language) for message in self.messages)

    def to_dict(self) -> dict[str, Any]:
        """The question as plain data."""
        return {
            "feature": self.feature.name, "label": self.feature.title, "matters": self.matters, "alone": self.alone,
            "expected_cost": self.expected_cost, "saving": self.saving, "error": self.error, "no_plan": self.no_plan,
            "undecided": self.undecided, "sure": self.sure, "worth": self.worth, "decides": self.decides,
            "sentence": self.sentence,
        }  # fmt: skip


@dataclass(frozen=True, repr=False)
class AskOrAct(Printable):
    """Whether to tell more or to act now. Print it, show it in a notebook, or take ``to_dict``.

    Attributes
    ----------
    plan : what to do without telling more
    accepted_already : chance that the complete person is accepted as they are, without conditioning on a rejection;
        None if no draw agrees with the rules
    questions : one for each blank that was looked at, best first
    """

    plan: Recourse
    accepted_already: float | None
    questions: tuple[Question, ...]

    @property
    def complete(self) -> bool:
        """Whether every blank was looked at; False if the search was stopped."""
        return len(self.questions) == len(self.plan.blanks) or self.plan.world.accepted

    @property
    def act_now(self) -> float | None:
        """What acting without telling more costs; None without a plan."""
        return self.plan.cost

    @property
    def sure(self) -> float | None:
        """The share of plausible completions for which acting now works."""
        return self.plan.share

    @property
    def best(self) -> str | None:
        """The blank to tell next, or None if none of those looked at is worth telling."""
        return next((question.feature.name for question in self.questions if question.worth), None)

    @property
    def messages(self) -> tuple[Message, ...]:
        """What to do next; what was not looked at is not claimed."""
        plan, said = self.plan, [*self._advice()]
        if plan.blanks and not self.complete:
            said.append(Message("ask.stopped", looked=len(self.questions), blanks=len(plan.blanks)))
        if plan.blanks and self.accepted_already is not None and not plan.world.accepted:
            code = "ask.chance_aside" if plan.world.conditioned else "ask.chance"
            said.append(Message(code, share=self.accepted_already))
        return tuple(said)

    def _advice(self) -> list[Message]:
        plan, blanks = self.plan, tuple(feature.named for feature in self.plan.blanks)
        if not blanks:
            how = "act" if plan.changes else "accepted" if plan.found else "none"
            return [Message(f"ask.nothing_{how}", **({"cost": plan.cost} if how == "act" else {}))]
        if plan.world.accepted:
            stays = [] if plan.fresh is None else [Message("ask.stays", share=plan.fresh.share)]
            return [Message("ask.accepted"), *stays]
        if plan.outcome == "tell":
            return [Message("ask.all_told", blanks=blanks, share=self.sure)]
        best = next((question for question in self.questions if question.worth), None)
        if best is not None:
            first, *more = best.messages
            return [Message("ask.tell", label=best.feature.named, sentence=first), *more]
        if plan.outcome == "already_accepted":
            return [Message("ask.enough", share=self.sure)]
        if plan.found:
            code = "ask.act" if self.complete else "ask.act_alone"
            said = [Message(code, cost=plan.cost or 0.0, share=self.sure)]
            if self.complete and not any(question.matters for question in self.questions):
                said.append(Message("ask.same"))
            return said
        if not self.complete:
            return [Message("ask.no_plan_yet")]
        return [Message("ask.time" if plan.outcome == "out_of_time" else "ask.no_plan")]

    @property
    def sentence(self) -> str:
        """What to do next, in plain English."""
        return self.text()

    def text(self, language: str = "en") -> str:
        """What to do next, in a language."""
        return " ".join(message.text(language) for message in self.messages)

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain data; ``docs/ask.md`` describes the keys."""
        return {
            "format": FORMAT, "accepted_already": self.accepted_already, "act_now": self.act_now, "sure": self.sure,
            "questions": [question.to_dict() for question in self.questions], "best": self.best,
            "complete": self.complete, "conditioned": self.plan.world.conditioned,
            "world": self.plan.world.to_dict(), "sentence": self.sentence,
        }  # fmt: skip

    def to_json(self, indent: int | None = 2) -> str:
        """The answer as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def to_frame(self) -> pd.DataFrame:
        """One line per blank, best first."""
        columns = ["matters", "alone", "expected_cost", "saving", "error", "no_plan", "sure"]
        rows = [[getattr(question, name) for name in columns] for question in self.questions]
        names = pd.Index([question.feature.title for question in self.questions], name="blank", dtype=object)
        return pd.DataFrame(rows, columns=columns, index=names)

    def __str__(self) -> str:
        return "\n".join([self.sentence, *(f"  - {question.sentence}" for question in self.questions)])

    def html(self, language: str = "en") -> str:
        """The answer as HTML in a language; notebooks show it in English."""
        items = "".join(f"<li>{escape(question.text(language))}</li>" for question in self.questions)
        return f"<div><strong>{escape(self.text(language))}</strong>{f'<ul>{items}</ul>' if items else ''}</div>"


def ask_or_act(
    fitted: Fitted,
    codes: FloatArray,
    locked: tuple[str, ...],
    n_values: int,
    explain: Callable[[], Recourse],
    level_of: Callable[[FloatArray], Calibration | None],
) -> AskOrAct:
    """What :meth:`armin.ARMIN.ask` answers.

    Values come from the completions that acting now rests on, so they agree with a rejection that is known.

    Parameters
    ----------
    fitted, codes, locked : the explainer, the row and what it may not change
    n_values : at most so many values of each blank
    explain : gives the plan for the row as it is
    level_of : the test on real people that chooses the confidence of a row, or None
    """
    plan = explain()
    blanks = np.flatnonzero(np.isnan(codes))
    if not blanks.size:
        return AskOrAct(plan, float(fitted.decision.accepts(codes[None, :])[0]), ())
    teller = Teller(fitted, codes, locked, level_of)
    values, weights = teller.plain()
    overall = teller.accepted(values, weights)
    if plan.world.accepted:
        return AskOrAct(plan, overall, ())
    noise: float | None = None
    questions: list[Question] = []
    for d in blanks.tolist():
        told = teller.tell(d, n_values)
        noise = teller.noise(plan) if noise is None and told is not None else noise
        if told is None or noise is None:
            break
        questions.append(_question(teller, d, plan, told, teller.alone(d, values, weights), noise))
    questions.sort(key=lambda q: (not q.worth, -q.saving, q.no_plan, not q.matters))
    return AskOrAct(plan, overall, tuple(questions))


def _question(
    teller: Teller, d: int, plan: Recourse, told: tuple[Told, ...], alone: float | None, noise: float
) -> Question:
    feature = teller.quick.schema[d]
    weights = np.array([t.weight for t in told])
    costs = np.array([np.nan if t.plan.cost is None else t.plan.cost for t in told])
    found = ~np.isnan(costs)
    expected: float | None = None
    saving, error, sure = 0.0, noise, None
    if found.any():
        share = weights[found] / weights[found].sum()
        expected = float(share @ costs[found])
        shares = [t.plan.share for t in told if t.plan.share is not None]
        sure = min(1.0, round(float(share @ np.array(shares)), 9))
        error = float(np.sqrt(noise**2 + teller.variance(d, share, costs[found], expected, noise)))
        saving = 0.0 if plan.cost is None else plan.cost - expected
    undecided = float(sum(t.weight for t in told if t.plan.outcome == "out_of_time"))
    lost = float(weights[~found].sum()) - undecided
    matters, least, most = bool(found.any()), None, 0.0
    if plan.cost is not None:
        acting = teller.now(plan, d, told)
        least = min(share for share, _ in acting)
        most = max(saved for _, saved in acting)
        beyond = max(CLEARLY * plan.cost, 2 * noise)
        matters = any(_other(plan, t, share, saved > beyond) for t, (share, saved) in zip(told, acting, strict=True))
    decides = plan.outcome == "tell"
    matters = matters or decides
    if (decides or not matters) and plan.cost is not None:
        saving, expected = 0.0, plan.cost
    return Question(
        feature, matters, alone, expected, saving, error, lost if lost > 1e-12 else 0.0, undecided, sure, told, least,
        max(0.0, most), None if plan.cost is None else (plan.cost, plan.share), decides,
    )  # fmt: skip


def _other(plan: Recourse, told: Told, share: float, saves: bool) -> bool:
    """Whether a told value calls for another plan than acting now, which then works for ``share``."""
    if told.plan.cost is None or saves:
        return True
    asked = plan.confidence if plan.confidence is not None else 0.5
    enough = min(asked, told.plan.share or 0.0)
    return share < enough - SLACK
