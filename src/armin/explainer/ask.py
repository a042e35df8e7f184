"""Ask or act: what telling a blank would be worth, and when it need not be told."""

from __future__ import annotations

import json
from collections.abc import Collection
from copy import copy
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from armin.explainer.base import Explainer, check_whole
from armin.explainer.compare import after_plan
from armin.impute import NativeMissing
from armin.models.encoding import Oracle, ReadClassifier
from armin.recourse import Recourse
from armin.report.words import figure, percent
from armin.schema import Feature, Rows, Value
from armin.solve.stopping import stopped

__all__ = ["AskOrAct", "Question", "Told", "ask_or_act"]

FloatArray = NDArray[np.float64]
FORMAT = "armin.ask/1"

PLAIN_DRAWS = 1000
"""Draws behind the chance that the person is accepted already."""
REPEATS = 3
"""How often acting now is solved again with other draws, to see by how much its cost is down to chance."""
SIGMAS = 4.0
"""How far beyond chance a plan must fail elsewhere before two plans count as different advice."""


@dataclass(frozen=True)
class Told:
    """What one value, once told, leads to: its chance, and the plan."""

    value: Value | None
    weight: float
    plan: Recourse


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
    plan = explainer.explain(row, locked=locked)
    desk = _Desk(explainer, codes, tuple(locked))
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
        if told is None:
            break
        noise = desk.noise(plan) if noise is None else noise
        already = overall or 0.0
        if blanks.size > 1 and weights.size:
            already = _settled(explainer.schema[d], plain[:, d], weights, verdict, n_values, desk.level(plan))
        questions.append(_question(desk, d, plan, told, already, noise))
    questions.sort(key=lambda q: (not _worth(q, plan), -q.saving, q.no_plan, not q.matters))
    return AskOrAct(plan, overall, tuple(questions), len(questions) == blanks.size, explainer.condition_on_decision)


class _Desk:
    """One person's row, and an explainer that remembers what it has asked the model."""

    def __init__(self, explainer: Explainer, codes: FloatArray, locked: tuple[str, ...]) -> None:
        self.codes, self.locked = codes, locked
        self.quick = copy(explainer)
        self.quick.n_fresh = 0
        self.quick.decision_ = _Remembering(explainer.decision_)
        same = explainer.oracle_ is explainer.decision_
        self.quick.oracle_ = self.quick.decision_ if same else _Remembering(explainer.oracle_)
        self.quick.read_ = replace(explainer.read_, encode=_Tables(explainer.read_))
        # a child of the stream for fresh completions, so that neither stream is used twice
        self.rng = explainer._streams(codes)[1].spawn(1)[0]
        sample = self.quick._samples(codes)[0]
        once = bool(np.isnan(sample.values).any()) or len(sample.weights) < 2  # not completed many times
        # without draws behind them, plans differ if they say different things
        self.exact = once or int(np.isnan(codes).sum()) == 1
        if once and np.isnan(codes).any():
            sample = self.quick._draw(codes, 200, self.rng)
        self.sample = sample

    def level(self, plan: Recourse) -> float:
        """The share of completions that must be accepted."""
        return self.quick._asked if plan.confidence is None else plan.confidence

    def explain(self, codes: FloatArray) -> Recourse:
        """What somebody who tells ``codes`` gets."""
        features = self.quick.schema.features
        row = {f.name: f.value(float(code)) for f, code in zip(features, codes, strict=True)}
        return self.quick.explain(row, locked=self.locked)

    def plain(self) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
        """Completions without regard to the decision, their weights, and which of them are accepted."""
        draws = self.quick.sampler_.sample(self.codes, PLAIN_DRAWS, self.rng)
        legal = self.quick.schema.plausible(draws.values)
        values, weights = draws.values[legal], draws.weights[legal]
        verdict = self.quick.decision_.accepts(values) if len(values) else np.zeros(0, dtype=bool)
        return values, weights, verdict

    def telling(self, position: int, code: float) -> FloatArray:
        """The row with one blank told."""
        codes = self.codes.copy()
        codes[position] = code
        return codes

    def tell(self, position: int, most: int) -> tuple[Told, ...] | None:
        """Tell each plausible value in turn; None if the search was stopped."""
        feature = self.quick.schema[position]
        values, weights = representatives(feature, self.sample.values[:, position], self.sample.weights, most)
        self._look_ahead([self.telling(position, float(v)) for v in values])
        told = []
        for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
            if stopped():
                return None
            told.append(Told(feature.value(value), weight, self.explain(self.telling(position, value))))
        return None if stopped() else tuple(told)

    def _look_ahead(self, rows: list[FloatArray]) -> None:
        """Ask the model once about the draws that ``explain`` is going to make, row by row, from the same streams."""
        if not np.isnan(rows[0]).any():
            self.quick.read_.encode(np.stack(rows))
            return
        if self.quick.random_state is None or isinstance(self.quick.sampler, NativeMissing):
            return
        n, batches = self.quick.n_samples, []
        for row in rows:
            rng = self.quick._streams(row)[0]
            batches += [self.quick.sampler_.sample(row, n, rng).values for _ in range(2)]
        self.quick.read_.encode(np.concatenate(batches))
        if self.quick.condition_on_decision:
            self.quick.decision_.accepts(np.concatenate(batches))

    def noise(self, plan: Recourse) -> float:
        """By how much the cost of acting now is down to the draws."""
        if plan.cost is None:
            return 0.0
        costs, other = [plan.cost], copy(self)
        for k in range(1, REPEATS + 1):
            if stopped():
                break
            other.quick = copy(self.quick)
            if self.quick.random_state is not None:
                other.quick.random_state = int(self.quick.random_state) + k
            cost = other.explain(self.codes).cost
            costs += [] if cost is None else [cost]
        return float(np.std(costs, ddof=1)) if len(costs) > 1 else 0.0

    def variance(self, d: int, share: FloatArray, costs: FloatArray, expected: float, noise: float) -> float:
        """How far the average over the told values may be off, squared."""
        w = self.sample.weights
        drawn = float(share @ (costs - expected) ** 2 * (w**2).sum() / w.sum() ** 2)
        each = noise**2 if np.isnan(self.codes).sum() > 1 else 0.0
        if self.quick.schema[d].is_ordered and np.unique(self.sample.values[:, d]).size > costs.size > 1:
            # values that speak for a group: neighbours tell what is left to chance within it
            each = max(each, float((np.diff(costs) ** 2).mean()) / 2)
        return drawn + each * float((share**2).sum())

    def differ(self, position: int, one: Told, other: Told) -> bool:
        """Whether two plans are different advice, beyond the chance of the draws that they rest on."""
        values, weights = [], []
        for told in (one, other):
            code = self.quick.schema[position].code(told.value)
            sample = self.quick._samples(self.telling(position, code))[0]
            values.append(sample.values)
            weights.append(sample.weights / sample.weights.sum())
        least = min(self.level(one.plan), 1 - 1 / max(2, min(map(len, values))))
        slack = SIGMAS * float(np.sqrt(least * (1 - least) * sum((w**2).sum() for w in weights)))
        costs = np.full((2, 2), np.nan)  # plan by world
        for p, told in enumerate((one, other)):
            if not told.plan.found:
                continue
            for w in range(2):
                after = after_plan(told.plan, self.quick.schema, values[w])
                if w != p and float(weights[w] @ self.quick.oracle_.accepts(after)) < least - slack:
                    return True
                costs[p, w] = self._cost(values[w], after, weights[w])
        # both would do in both worlds: different only if each is clearly the cheaper one in its own
        return bool(costs[0, 0] < 0.98 * costs[1, 0] and costs[1, 1] < 0.98 * costs[0, 1])

    def _cost(self, before: FloatArray, after: FloatArray, share: FloatArray) -> float:
        """The average cost of a change of completions, as acting is priced."""
        cost, parts = self.quick.cost_, [0.0]
        for d in np.flatnonzero((before != after).any(axis=0)).tolist():
            prices = cost.table(d, before[:, d], np.stack([before[:, d], after[:, d]], axis=1))
            parts.append(float(share @ np.asarray(prices)[:, 1]))
        return float(cost.finish(max(parts) if cost.aggregate == "max" else sum(parts)))


def _question(desk: _Desk, d: int, plan: Recourse, told: tuple[Told, ...], already: float, noise: float) -> Question:
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
    matters = _matters(desk, d, plan, told, saving > 2 * error)
    if not matters:
        saving, expected = 0.0, expected if plan.cost is None else plan.cost
    no_plan = lost if lost > 1e-12 else 0.0
    question = Question(feature, matters, already, expected, saving, error, no_plan, undecided, sure, told)
    return replace(question, sentence=_sentence(question, plan, desk.level(plan)))


def _matters(desk: _Desk, d: int, plan: Recourse, told: tuple[Told, ...], saves: bool) -> bool:
    """Whether the advice depends on the value, or only the value makes it possible."""
    name = desk.quick.schema[d].name
    groups: dict[tuple[Any, ...], list[Told]] = {}
    for t in told:
        groups.setdefault(_advice_key(t.plan, name), []).append(t)
    heads = [max(group, key=lambda t: t.weight) for group in groups.values()]
    sizes = [sum(t.weight for t in group) for group in groups.values()]
    heads = [head for _, head in sorted(zip(sizes, heads, strict=True), key=lambda pair: -pair[0])]
    if desk.exact:
        if len(heads) > 1:
            return True
    elif any(desk.differ(d, heads[0], other) for other in heads[1:]):
        return True
    # acting on a value that is told has other options than acting on a blank
    moved = any(change.feature.name == name for change in (*plan.changes, *heads[0].plan.changes))
    return moved and ((heads[0].plan.found and not plan.found) or saves)


def _advice_key(plan: Recourse, told: str) -> tuple[Any, ...]:
    """What a plan says; how far the told value itself is from its target is not part of it."""
    said = [(c.feature.name, str(c.after), None if c.feature.name == told else c.amount) for c in plan.changes]
    return (plan.found, *sorted(said, key=str))


def representatives(
    feature: Feature, values: FloatArray, weights: FloatArray, most: int
) -> tuple[FloatArray, FloatArray]:
    """At most ``most`` of the drawn values, with chances that add up to 1.

    Ordered values are cut into groups of equal chance, each spoken for by its median; of categories the most likely
    are kept, and the last one speaks for the rest.

    >>> income = Feature("income", "integer", lower=0, upper=9)
    >>> representatives(income, np.array([1.0, 2.0, 3.0, 8.0]), np.ones(4), 2)
    (array([1., 3.]), array([0.5, 0.5]))
    """
    distinct, place = np.unique(values, return_inverse=True)
    chance = np.bincount(place, weights=weights) / weights.sum()
    if distinct.size <= most:
        return distinct, chance
    if not feature.is_ordered:
        order = np.argsort(-chance, kind="stable")
        kept = order[:most]
        heavy = chance[kept]
        heavy[-1] += chance[order[most:]].sum()
        return distinct[kept], heavy
    middle = np.cumsum(chance) - chance / 2
    group = np.minimum((middle * most).astype(int), most - 1)
    chosen, sizes = [], []
    for g in np.unique(group).tolist():
        inside = np.flatnonzero(group == g)
        run = np.cumsum(chance[inside])
        chosen.append(distinct[inside[np.searchsorted(run, run[-1] / 2 * (1 - 1e-12))]])
        sizes.append(run[-1])
    return np.array(chosen), np.array(sizes)


def _settled(
    feature: Feature, values: FloatArray, weights: FloatArray, verdict: NDArray[np.bool_], most: int, level: float
) -> float:
    """The chance of a value given which enough completions are accepted as they are."""
    heads, _ = representatives(feature, values, weights, most)
    nearest = np.abs(values[:, None] - heads[None, :]).argmin(axis=1)
    size = np.bincount(nearest, weights=weights, minlength=heads.size)
    good = np.bincount(nearest, weights=weights * verdict, minlength=heads.size)
    return float(size[good >= level * size * (1 - 1e-9)].sum() / size.sum())


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


class _Remembering(Oracle):
    """An oracle that does not ask the estimator about the same row twice."""

    def __init__(self, oracle: Oracle) -> None:
        self.__dict__.update(oracle.__dict__)
        self._seen: dict[bytes, bool] = {}

    def accepts(self, codes: FloatArray) -> NDArray[np.bool_]:
        keys = [row.tobytes() for row in np.ascontiguousarray(codes)]
        new = {key: i for i, key in enumerate(keys) if key not in self._seen}
        if new:
            answers = super().accepts(codes[list(new.values())])
            self._seen.update(zip(new, answers.tolist(), strict=True))
        return np.array([self._seen[key] for key in keys], dtype=bool)


class _Tables:
    """The user's transformers as tables that grow: they work column by column, so each value is encoded once."""

    def __init__(self, read: ReadClassifier) -> None:
        self._read = read
        self._columns = [np.flatnonzero(read.owners == d) for d in range(int(read.owners.max(initial=-1)) + 1)]
        self._known: list[dict[float, FloatArray]] = [{} for _ in self._columns]
        self._base: FloatArray | None = None

    def __call__(self, codes: FloatArray) -> FloatArray:
        if np.isnan(codes).any() or not len(codes):
            return self._read.encode(codes)
        values = [np.unique(codes[:, d], return_inverse=True) for d in range(len(self._columns))]
        new = [(d, v) for d, (seen, _) in enumerate(values) for v in seen.tolist() if v not in self._known[d]]
        if new or self._base is None:
            block = np.repeat(codes[:1], len(new) + 1, axis=0)
            for i, (d, v) in enumerate(new):
                block[i, d] = v
            encoded = self._read.encode(block)
            self._base = encoded[-1] if self._base is None else self._base
            for i, (d, v) in enumerate(new):
                self._known[d][v] = encoded[i, self._columns[d]]
        out = np.repeat(self._base[None, :], len(codes), axis=0)
        for d, (seen, place) in enumerate(values):
            if self._columns[d].size:
                table = np.stack([self._known[d][v] for v in seen.tolist()])
                out[:, self._columns[d]] = table[place]
        return out
