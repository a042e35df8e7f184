"""Ask or act: what telling a blank would be worth, and when it need not be told."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from armin.explainer.base import Explainer, check_whole
from armin.explainer.telling import Desk, Told, matters, settled
from armin.recourse import Recourse
from armin.report.words import figure, percent
from armin.schema import Feature, Rows

__all__ = ["AskOrAct", "Question", "Told", "ask_or_act"]

FORMAT = "armin.ask/1"


@dataclass(frozen=True)
class Question:
    """What telling one blank would be worth.

    Attributes
    ----------
    feature : the blank
    matters : whether some plausible value would change the advice
    accepted_already : chance, without conditioning on the rejection, that the value shows that nothing needs to change
    expected_cost : average cost of the plan once the value is told, where there is a plan; None if there never is
    saving : cost of acting now minus ``expected_cost``; 0 if it does not matter or one of the two does not exist
    error : standard error of the saving
    no_plan : chance that no plan works once the value is told
    undecided : chance that time runs out
    sure : average share of completions for which the plan works once the value is told
    told : the plausible values, with their chances and plans
    sentence : all this in words
    """

    feature: Feature
    matters: bool
    accepted_already: float
    expected_cost: float | None
    saving: float
    error: float
    no_plan: float
    undecided: float
    sure: float | None
    told: tuple[Told, ...]
    sentence: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The question as plain data."""
        return {
            "feature": self.feature.name, "label": self.feature.title, "matters": self.matters,
            "accepted_already": self.accepted_already, "expected_cost": self.expected_cost, "saving": self.saving,
            "error": self.error, "no_plan": self.no_plan, "undecided": self.undecided, "sure": self.sure,
            "sentence": self.sentence,
        }  # fmt: skip


@dataclass(frozen=True)
class AskOrAct:
    """Whether to tell more or to act now. Print it, show it in a notebook, or take ``to_dict``.

    Attributes
    ----------
    plan : what to do without telling more
    accepted_already : chance that the person is accepted as they are, without conditioning on the rejection; None if
        no draw agrees with the rules
    questions : one for each blank, best first
    complete : whether every blank was looked at; False if the search was stopped
    conditioned : whether the rejection is taken as known
    """

    plan: Recourse
    accepted_already: float | None
    questions: tuple[Question, ...]
    complete: bool = True
    conditioned: bool = True

    @property
    def act_now(self) -> float | None:
        """What acting without telling more costs; None without a plan."""
        return self.plan.cost

    @property
    def sure(self) -> float | None:
        """The share of plausible completions for which acting now works, fresh ones where there are any."""
        found = self.plan.fresh or self.plan.validity
        return None if found is None else found.share

    @property
    def best(self) -> str | None:
        """The blank to tell next, or None if nothing need be told."""
        question = self._best
        return None if question is None else question.feature.name

    @property
    def _best(self) -> Question | None:
        return next((q for q in self.questions if _worth(q, self.plan)), None)

    @property
    def sentence(self) -> str:
        """What to do next, in plain words."""
        text = self._advice()
        if self.accepted_already is not None and self.plan.blanks:
            aside = "leaving the known rejection aside, " if self.conditioned else ""
            share = percent(self.accepted_already)
            chance = f"{aside}the chance that you are accepted as you are is {share}."
            text += f" {chance[0].upper()}{chance[1:]}"
        return text if self.complete else f"{text} Not every blank was looked at: the search was stopped."

    def _advice(self) -> str:
        plan, question = self.plan, self._best
        if not plan.blanks:
            what = f"act on the plan, at a cost of {figure(plan.cost or 0.0)}" if plan.changes else None
            what = what or ("nothing needs to change" if plan.found else "and there is no plan")
            return f"Nothing is blank, so there is nothing to ask: {what}."
        if question is not None:
            return f"Tell {question.feature.title} before you act. {question.sentence}"
        if plan.outcome == "already_accepted":
            found = plan.validity
            once = found is None or found.of == 1
            how = ", as the model takes the blanks" if once else _for_share(self.sure)
            return f"You need not tell more: nothing needs to change{how}."
        if plan.found:
            text = (
                f"You need not tell more: acting now costs {figure(plan.cost or 0.0)} and works{_for_share(self.sure)}."
            )
            if self.questions and self.complete and not any(q.matters for q in self.questions):
                text += " No blank would change the advice."
            return text
        if plan.outcome == "out_of_time":
            return "Time ran out before a plan was found, and telling more did not lead to one."
        return "There is no plan, and telling more would not give one."

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain data; ``docs/ask.md`` describes the keys."""
        return {
            "format": FORMAT, "accepted_already": self.accepted_already, "act_now": self.act_now, "sure": self.sure,
            "questions": [question.to_dict() for question in self.questions], "best": self.best,
            "complete": self.complete, "conditioned": self.conditioned, "sentence": self.sentence,
        }  # fmt: skip

    def to_json(self, indent: int | None = 2) -> str:
        """The answer as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def to_frame(self) -> pd.DataFrame:
        """One line per blank, best first."""
        columns = ["matters", "expected_cost", "saving", "error", "no_plan", "accepted_already", "sure"]
        rows = [[getattr(question, name) for name in columns] for question in self.questions]
        names = pd.Index([question.feature.title for question in self.questions], name="blank", dtype=object)
        return pd.DataFrame(rows, columns=columns, index=names)

    def __str__(self) -> str:
        return "\n".join([self.sentence, *(f"  - {question.sentence}" for question in self.questions)])

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{escape(question.sentence)}</li>" for question in self.questions)
        return f"<div><strong>{escape(self.sentence)}</strong>{f'<ul>{items}</ul>' if items else ''}</div>"


def ask_or_act(
    explainer: Explainer, row: Rows | pd.Series[Any], *, locked: Collection[str] = (), n_values: int = 24
) -> AskOrAct:
    """What telling each blank of a row would be worth.

    Each plausible value is told in turn, and the row explained anew, exactly as the person would get it. Values come
    from the completions that acting now rests on, so they agree with the rejection if the explainer does.

    Parameters
    ----------
    explainer : a fitted explainer
    row, locked : as in :meth:`armin.ARMIN.explain`
    n_values : try at most this many values of each blank; numbers are cut into groups of equal chance

    Returns
    -------
    AskOrAct
        What is known so far if :func:`armin.solve.stopping.stop_when` says stop.

    Examples
    --------
    >>> from armin import ARMIN
    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    >>> answer = ask_or_act(explainer, loans.applicant, n_values=6)
    >>> [question.feature.name for question in answer.questions], answer.questions[0].matters
    (['Income'], True)
    """
    check_whole("ask_or_act", "n_values", n_values, 2)
    codes = explainer._one_row(row, locked)
    explainer = explainer._at(explainer._level(codes, locked)[0])
    plan = explainer.explain(row, locked=locked)
    desk = Desk(explainer, codes, tuple(locked))
    blanks = np.flatnonzero(np.isnan(codes))
    if not blanks.size:
        accepted = float(explainer.decision_.accepts(codes[None, :])[0])
        return AskOrAct(plan, accepted, (), conditioned=explainer.condition_on_decision)
    plain, weights, verdict = desk.plain()
    overall = float(weights[verdict].sum() / weights.sum()) if weights.size else None
    noise: float | None = None
    questions: list[Question] = []
    for d in blanks.tolist():
        told = desk.tell(d, n_values)
        noise = desk.noise(plan) if noise is None else noise
        if told is None or noise is None:
            break
        already = overall or 0.0
        if blanks.size > 1 and weights.size:
            already = settled(explainer.schema[d], plain[:, d], weights, verdict, n_values, desk.level(plan))
        questions.append(_question(desk, d, plan, told, already, noise))
    questions.sort(key=lambda q: (not _worth(q, plan), -q.saving, q.no_plan, not q.matters))
    return AskOrAct(plan, overall, tuple(questions), len(questions) == blanks.size, explainer.condition_on_decision)


def _question(desk: Desk, d: int, plan: Recourse, told: tuple[Told, ...], already: float, noise: float) -> Question:
    feature = desk.quick.schema[d]
    weights = np.array([t.weight for t in told])
    costs = np.array([np.nan if t.plan.cost is None else t.plan.cost for t in told])
    found = ~np.isnan(costs)
    expected: float | None = None
    saving, error, sure = 0.0, noise, None
    if found.any():
        share = weights[found] / weights[found].sum()
        expected = float(share @ costs[found])
        shares = [t.plan.validity.share for t in told if t.plan.validity is not None]
        sure = min(1.0, round(float(share @ np.array(shares)), 9))
        error = float(np.sqrt(noise**2 + desk.variance(d, share, costs[found], expected, noise)))
        saving = 0.0 if plan.cost is None else plan.cost - expected
    undecided = float(sum(t.weight for t in told if t.plan.outcome == "out_of_time"))
    lost = float(weights[~found].sum()) - undecided
    counts = matters(desk, d, plan, told, saving > 2 * error)
    if not counts:
        saving, expected = 0.0, expected if plan.cost is None else plan.cost
    no_plan = lost if lost > 1e-12 else 0.0
    question = Question(feature, counts, already, expected, saving, error, no_plan, undecided, sure, told)
    return replace(question, sentence=_sentence(question, plan, desk.level(plan)))


def _worth(question: Question, plan: Recourse) -> bool:
    """Whether telling beats acting now, beyond chance and without losing more people."""
    if not question.matters or question.expected_cost is None:
        return False
    if not plan.found:
        return True
    failing = 0.0 if plan.validity is None else 1 - plan.validity.share
    lost = question.no_plan + question.undecided
    return question.saving > max(2 * question.error, 1e-9) and lost <= failing + 1e-9


def _sentence(question: Question, plan: Recourse, level: float) -> str:
    label, expected = question.feature.title, question.expected_cost
    start = label[0].upper() + label[1:]
    if not question.matters:
        if plan.found:
            return f"{start} would not change the advice: you need not tell it."
        if expected is None:
            return f"{start} would not help: whatever it is, no plan works for {percent(level)}."
        return f"{start} makes no clear difference: either way, a plan that works for {percent(level)} is a close call."
    if expected is None:
        return f"If you tell {label}, no plan is left for any plausible value."
    free = sum(t.weight for t in question.told if t.plan.outcome == "already_accepted")
    more = []
    if plan.cost is None:
        share = _of_ten(1 - question.no_plan - question.undecided)
        cost = f"at a cost of {figure(expected)} on average"
        text = f"If you tell {label}, there is a plan for {share} plausible values, {cost}"
        more.append("without it there is none")
    else:
        same = figure(expected) == figure(plan.cost)
        now_costs = ", as now" if same else f" instead of {figure(plan.cost)}"
        text = f"If you tell {label}, the plan costs {figure(expected)}{now_costs}, on average"
        if question.error > 0.005 * max(plan.cost, expected):
            text += f" (give or take {figure(question.error)})"
        now = plan.validity.share if plan.validity is not None else None
        if now is not None and question.sure is not None and question.sure > now + 0.01:
            more.append(f"it then works for {percent(question.sure)} instead of {percent(now)}")
        if question.no_plan:
            more.append(f"for {_of_ten(question.no_plan)} plausible values there is no plan")
    if free:
        more.append(f"for {_of_ten(free)} plausible values nothing more is needed")
    return "; ".join([text, *more]) + "."


def _of_ten(share: float) -> str:
    tenths = round(10 * share)
    if share >= 1 - 1e-9:
        return "all"
    return f"{tenths} of 10" if 0 < tenths < 10 else f"{percent(share)} of the"


def _for_share(share: float | None) -> str:
    return "" if share is None else f" for {percent(share)} of the plausible values"
