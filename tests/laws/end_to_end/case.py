"""One case: a table, a classifier, a schema and a row from one seed; every call, judged."""

from __future__ import annotations

import json
import math
import os
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

import armin
from armin import Schema
from armin.errors import ArminError, AuditError, RefusedError, RowError
from armin.problem import Status
from armin.recourse import Failure, Recourse

from laws.end_to_end.classifiers import Unfit, random_user
from laws.end_to_end.judge import Judge, differences, same_answer
from laws.end_to_end.questions import (
    Question,
    accepting,
    explainer_of,
    random_parameters,
    random_row,
    random_schema,
)
from laws.end_to_end.tables import random_table

__all__ = ["Case", "Fault", "run_case"]

HOME = os.path.dirname(os.path.abspath(armin.__file__))
SLOW = ("RandomForest", "ExtraTrees", "Bagging", "Calibrated", "KNeighbors", "SVC", "CatBoost", "Voting", "HistGrad")


@dataclass
class Fault:
    """A law that did not hold, or an error that no user should see."""

    seed: int
    law: str
    detail: str
    where: str = ""

    @property
    def cause(self) -> str:
        """What faults of one cause have in common."""
        return f"{self.law} @ {self.where}" if self.where else self.law


@dataclass
class Case:
    """What came of one seed."""

    seed: int
    tags: dict[str, list[str]] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    unfit: str = ""
    seconds: float = 0.0

    def report(self, law: str, detail: str, where: str = "") -> None:
        self.faults.append(Fault(self.seed, law, detail[:1500], where))

    def call(self, name: str, ask: Callable[[], Any], limit: float = math.inf) -> Any:
        """The answer to a call; None if it was refused. Whatever else is raised is a fault, as are our warnings."""
        self.calls[name] += 1
        start = time.process_time()
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                answer = ask()
            except RefusedError as error:  # the user's own pipeline does not take what the schema allows
                self.refusals[f"RefusedError: {_shape(error.short)}"] += 1
                return None
            except (AuditError, RowError) as error:
                self.report(f"{name}: {type(error).__name__}", f"{error}\n{_frames(error)}", _where(error))
                return None
            except ArminError as error:
                self.refusals[f"{type(error).__name__}: {_shape(str(error))}"] += 1
                return None
            except Exception as error:
                law = f"{name}: {type(error).__name__}: {_shape(str(error))}"
                self.report(law, f"{error}\n{_frames(error)}", _where(error))
                return None
        for warning in heard:
            if warning.filename.startswith(HOME) or "feature names" in str(warning.message):
                where = f"{os.path.basename(warning.filename)}:{warning.lineno}"
                self.report(f"{name}: {warning.category.__name__}", str(warning.message), where)
        if time.process_time() - start > limit:
            self.report(f"{name}: too slow", f"{time.process_time() - start:.1f} s of CPU time")
        return answer


def _shape(text: str) -> str:
    """A message without what differs from case to case."""
    words = [w for w in text.split() if not any(c.isdigit() for c in w) and "'" not in w and "[" not in w]
    return " ".join(words)[:90]


def _frames(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)[-8:])


def _where(error: BaseException) -> str:
    """The innermost place in the package."""
    places = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(HOME)]
    return f"{os.path.relpath(places[-1].filename, HOME)}:{places[-1].name}" if places else ""


def run_case(seed: int, time_limit: float = 2.0) -> Case:
    """Make everything from the seed, ask, and judge."""
    case, start = Case(seed), time.process_time()
    rng = np.random.default_rng(seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the user's own steps; calls listen to those of the package
            _run(case, rng, time_limit)
    except Unfit as error:
        case.unfit = str(error)
    except Exception as error:  # the judge itself
        case.report(
            f"the judge: {type(error).__name__}: {_shape(str(error))}", f"{error}\n{_frames(error)}", _where(error)
        )
    case.seconds = time.process_time() - start
    return case


def _run(case: Case, rng: np.random.Generator, time_limit: float) -> None:
    table = random_table(rng)
    user = random_user(rng, table)
    case.tags["dtype"] = sorted({column.backend for column in table.columns.values()})
    case.tags["container"] = [table.container + (" with blanks" if table.gaps else "")]
    case.tags["preprocessing"] = user.preprocessing.replace(" > ", "+").split("+")
    case.tags["model"] = [user.model]
    schema = case.call("Schema.infer", lambda: random_schema(rng, table))
    if schema is None:
        return
    parameters = random_parameters(rng, table, user)
    explainer = explainer_of(user, schema, parameters, time_limit)
    case.tags["decision"] = [str(parameters["decision"])]
    case.tags["reapply"] = [parameters["reapply"]]
    case.tags["sampler"] = [parameters["sampler"]]
    explainer = case.call("fit", lambda: explainer.fit(table.X))
    if explainer is None:
        return
    accepts = accepting(table, user, parameters)
    question = random_row(rng, table, schema, accepts(table.X))
    case.tags["blanks"] = [str(question.blanks)]
    judge = Judge(
        table, schema, accepts, explainer, question.row, question.values, question.locked, parameters["confidence"],
        np.random.default_rng(case.seed), any(name in user.model for name in SLOW), case.report,
    )  # fmt: skip
    asked = _Asked(case, judge, explainer, schema, question, time_limit, np.random.default_rng([case.seed, 1]))
    case.tags["method"] = list(question.calls)
    plan = asked.explain()
    if plan is None:
        return
    for name in question.calls:
        getattr(asked, name)(plan)


@dataclass
class _Asked:
    """The calls of one case."""

    case: Case
    judge: Judge
    explainer: Any
    schema: Schema
    question: Question
    time_limit: float
    rng: np.random.Generator

    @property
    def _patience(self) -> float:
        """Seconds of CPU time beyond which one search is far beyond its limit."""
        return 20.0 + 6.0 * self.time_limit

    def _timely(self, *plans: Recourse) -> bool:
        """Whether answers do not depend on the clock."""
        spent = [plan.seconds_by_step.get("solving", plan.seconds) for plan in plans]
        proved = all(plan.status in (Status.OPTIMAL, Status.INFEASIBLE) for plan in plans)
        return proved and max(spent, default=0.0) < self.time_limit / 4

    def explain(self, first: Recourse | None = None) -> Recourse | None:
        """The plan for the row; with a plan, whether it is the same again."""
        row, locked = self.question.row, self.question.locked
        plan = self.case.call("explain", lambda: self.explainer.explain(row, locked=locked), self._patience)
        if plan is None or first is not None:
            if plan is not None and first is not None and self._timely(plan, first) and not same_answer(plan, first):
                self.case.report("explain: another answer the second time", f"{differences(first, plan)}")
            return plan
        self.case.outcomes[plan.outcome] += 1
        self.case.outcomes[plan.solver] += 1
        self._shown("explain", plan)
        checks = self.explainer.options.checks and self.explainer.options.n_fresh > 0
        self.judge.answer(plan, "explain", checks=checks)
        return plan

    def _shown(self, what: str, answer: Any) -> None:
        """Every way to show an answer works."""
        shows: dict[str, Callable[[], Any]] = {
            "text": lambda: answer.text("en") + answer.text("de"), "str": lambda: str(answer),
            "repr": lambda: repr(answer), "html": lambda: answer._repr_html_(),
        }  # fmt: skip
        for name, show in shows.items():
            if hasattr(answer, {"text": "text", "html": "_repr_html_"}.get(name, "__str__")):
                self.case.call(f"{what} {name}", show)
        for name in ("to_dict", "to_list", "to_json", "to_frame"):
            if hasattr(answer, name):
                said = self.case.call(f"{what} {name}", getattr(answer, name))
                if name in ("to_dict", "to_list") and said is not None:
                    self.case.call(
                        f"{what} as JSON", lambda said=said: json.dumps(said, allow_nan=False, default=_plain)
                    )
        if isinstance(answer, Recourse):
            again = self.case.call(f"{what} from_json", lambda: Recourse.from_json(answer.to_json(), self.schema))
            if again is not None and again.to_dict() != answer.to_dict():
                self.case.report(f"{what}: to_json and back", f"{differences(answer, again)}")

    def path(self, plan: Recourse) -> None:
        """Costs and shares rise; without fresh completions each point is what explain says at its share."""
        bare = self.explainer.at(self.judge.level).set_params(options__n_fresh=0)
        row, locked = self.question.row, self.question.locked
        path = self.case.call("path", lambda: bare.path(row, locked=locked), self._patience)
        full = self.case.call("path", lambda: self.explainer.path(row, locked=locked), self._patience)
        for found in (path, full):
            if found is not None:
                self._shown("path", found)
                pairs = [(p.share, p.cost) for p in found]
                if any(b[0] <= a[0] or b[1] <= a[1] for a, b in pairwise(pairs)):
                    self.case.report("path: costs and shares rise", f"{pairs}")
        for point in full or ():
            self.judge.answer(point, "path point", checks=True, level=0.0, brute=False)
        if path is None or plan.world.accepted:
            return
        for point in path:
            self.judge.answer(point, "path point", checks=False, level=0.0, brute=False)
        if path.end is Status.UNKNOWN or not self._timely(*path):
            return
        if plan.world.reapply == "either":  # a point has both verdicts of everybody, the search that of one row
            return
        if path.end is Status.OPTIMAL and (not len(path) or path[-1].share < 1 - 1e-9):
            self.case.report("path: ends before all are accepted", f"{[(p.share, p.cost) for p in path]}")
        if not len(path):
            return
        point = path[int(self.rng.integers(len(path)))]
        self._same_at(bare, point)

    def _same_at(self, bare: Any, point: Recourse) -> None:
        """The point of a path costs what explain says at its share."""
        share = min(1.0, float(point.share or 0.0))
        if share <= 0.0:
            return
        there = bare.at(share)
        row, locked = self.question.row, self.question.locked
        plan = self.case.call("explain", lambda: there.explain(row, locked=locked), self._patience)
        if plan is None or not self._timely(plan, point):
            return
        if plan.cost is None or abs(plan.cost - (point.cost or 0.0)) > 1e-7 * max(1.0, plan.cost):
            self.case.report(
                "path: a point is not what explain says", f"share {share}: {point.cost}, explain {plan.cost}"
            )

    def alternatives(self, plan: Recourse) -> None:
        """Sorted, distinct, valid; the first is the plan."""
        count = int(self.rng.integers(2, 5))
        row, locked = self.question.row, self.question.locked
        plans = self.case.call(
            "alternatives", lambda: self.explainer.alternatives(row, count, locked=locked), 2 * self._patience
        )
        if plans is None:
            return
        self._shown("alternatives", plans)
        if len(plans) > count or (
            bool(plans) != plan.found and plan.status is not Status.UNKNOWN and self._timely(plan)
        ):
            self.case.report("alternatives: how many", f"{len(plans)} of {count}, explain: {plan.outcome}")
        if not plans:
            return
        costs = [p.cost for p in plans]
        if any(b < a - 1e-9 * max(1.0, a) for a, b in pairwise(costs)):
            self.case.report("alternatives: not by cost", f"{costs}")
        sets = [frozenset(c.feature.name for c in p.changes) for p in plans]
        whats = [tuple(sorted(str(c) for c in p.changes)) for p in plans]
        if len(set(whats)) != len(whats) or (len(plans) > 1 and len(set(sets)) != len(sets)):
            self.case.report("alternatives: not distinct", f"{whats}")
        if self._timely(plan, plans[0]) and abs((plans[0].cost or 0) - (plan.cost or 0)) > 1e-9:
            self.case.report("alternatives: the first is not the plan", f"{plans[0].cost} {plan.cost}")
        for other in plans:
            self.judge.answer(other, "alternative", checks=True, brute=False)

    def ask(self, plan: Recourse) -> None:
        """What each blank is worth; a told value leads to the plan that the person would get."""
        row, locked = self.question.row, self.question.locked
        limit = self._patience * (1 + 4 * self.question.blanks)
        answer = self.case.call("ask", lambda: self.explainer.ask(row, locked=locked, n_values=4), limit)
        if answer is None:
            return
        self._shown("ask", answer)
        if self._timely(plan, answer.plan) and not same_answer(plan, answer.plan):
            self.case.report("ask: another plan", f"{differences(plan, answer.plan)}")
        told = [(q.feature.name, t) for q in answer.questions for t in q.told if t.value is not None]
        if told:
            name, one = told[int(self.rng.integers(len(told)))]
            known = self.question.values | {name: one.value}
            again = self.case.call("explain", lambda: self.explainer.explain(known, locked=locked), self._patience)
            if again is None or not self._timely(again, one.plan):
                return
            apart = differences(one.plan, again)
            if again.world.accepted and one.plan.world.accepted:  # nothing to do; how many draws say so may differ
                apart = {key: value for key, value in apart.items() if key in ("outcome", "changes", "cost")}
            if apart:
                self.case.report("ask: a told value leads to another plan", f"{name}={one.value!r} {apart}")

    def what_if(self, plan: Recourse) -> None:
        """An idea is judged by the user's model."""
        free = [f for f in self.schema if not f.is_carried]
        some = [
            free[i] for i in self.rng.choice(len(free), min(len(free), int(self.rng.integers(1, 3))), replace=False)
        ]
        idea = {}
        for feature in some:
            code = self.rng.uniform(feature.low_code, feature.high_code)
            idea[feature.name] = feature.value(code if feature.kind == "continuous" else float(np.rint(code)))
        row, locked = self.question.row, self.question.locked
        answer = self.case.call("what_if", lambda: self.explainer.what_if(row, idea, locked=locked), 2 * self._patience)
        if answer is None:
            return
        self._shown("what_if", answer)
        codes = self.judge.codes.copy()
        for feature in some:
            codes[self.schema.position(feature.name)] = feature.code(idea[feature.name])
        if not np.isnan(codes).any():
            said = bool(self.judge.accepted(codes[None, :])[0])
            if said != (answer.now.share == 1.0) and not self.judge.unstable(codes):
                self.case.report("what_if: the row with the idea", f"stated {answer.now}, by hand {said}")

    def reasons(self, plan: Recourse) -> None:
        """Why."""
        row = self.question.row
        reference = str(self.rng.choice(["accepted", "average", "nearest", "threshold"]))
        answer = self.case.call(
            "reasons", lambda: self.explainer.reasons(row, reference=reference, n_samples=20), 3 * self._patience
        )
        if answer is not None:
            self._shown("reasons", answer)

    def stress(self, plan: Recourse) -> None:
        """Over which range a plan keeps its share."""
        row, locked = self.question.row, self.question.locked
        answer = self.case.call(
            "stress", lambda: self.explainer.stress(row, locked=locked, tilts=[-1.0, 0.0, 1.0]), 2 * self._patience
        )
        if answer is not None:
            self._shown("stress", answer)

    def recheck(self, plan: Recourse) -> None:
        """A plan that is kept holds for the same row."""
        row, locked = self.question.row, self.question.locked
        if not plan.changes:
            return
        kept = Recourse.from_json(plan.to_json(), self.schema)
        answer = self.case.call("recheck", lambda: self.explainer.recheck(kept, row, locked=locked), self._patience)
        if answer is not None:
            self._shown("recheck", answer)

    def explain_many(self, plan: Recourse) -> None:
        """Many rows get what each gets alone."""
        table = self.judge.table
        frame = table.X[:4]
        answers = self.case.call("explain_many", lambda: self.explainer.explain_many(frame), 4 * self._patience)
        if answers is None:
            return
        self._shown("explain_many", answers)
        for i, answer in enumerate(answers):
            one = frame.iloc[[i]] if table.container == "pandas" else frame[i : i + 1]
            alone = self.case.call("explain", lambda one=one: self.explainer.explain(one), self._patience)
            if isinstance(answer, Failure):
                if alone is not None:
                    self.case.report("explain_many: fails where explain does not", str(answer))
                elif isinstance(answer.error, RowError) and not isinstance(answer.error, RefusedError):
                    self.case.report("explain_many: RowError", str(answer))
            elif alone is not None and self._timely(alone, answer) and not same_answer(alone, answer):
                self.case.report("explain_many: another answer", f"{differences(answer, alone)}")


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)
