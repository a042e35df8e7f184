"""Laws that small faults would break: whom a promise is tested on, and the plain parts that nothing else entered."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from armin import ARMIN, Schema
from armin.errors import DataError, ParameterError, SchemaError
from armin.explain import calibrate as testing
from armin.explain.advise import pose
from armin.explain.answer import _stuck
from armin.explain.ask import AskOrAct, _question
from armin.explain.compare import Comparison
from armin.explain.judge import judge_path
from armin.explain.methods import UntestedError
from armin.explain.stress import StressCurve, StressPoint, StressTest
from armin.explain.telling import Teller
from armin.problem import Status
from armin.promise import Calibration, Promise, Tilt, Trials, choose_level
from armin.recourse import Change, Recourse, Validity
from armin.recourse.certificate import Certificate
from armin.schema import AtMostOne, Feature, Rule, Together

RNG = np.random.default_rng(1)
X = pd.DataFrame(RNG.integers(0, 1000, (160, 3)), columns=["a", "b", "c"])
MODEL = LogisticRegression().fit(X / 1000, np.where(X.sum(axis=1) > 1500, "yes", "no"))
MODEL.coef_ = MODEL.coef_ / 1000  # for rows as they are
SCHEMA = Schema.infer(X)


def explainer(**more: object) -> ARMIN:
    given = {"n_samples": 12, "n_fresh": 30, "sampler": "uniform"} | more
    return ARMIN.from_settings(MODEL, SCHEMA, desired="yes", **given).fit(
        X[:60], people=X[60:] if "promise" in more else None
    )


# whom a promise is tested on


def hides(pattern: str, least: int = 0) -> Any:
    """A missingness model: "b" and "ab" in turn, or only what is asked for; those with a small ``a`` hide nothing."""

    def make(rows: pd.DataFrame, random_state: object = None) -> pd.DataFrame:
        rows = rows.astype(float).copy()
        mine = pattern.split()
        for i in range(len(rows)):
            if rows["a"].iloc[i] >= least:
                rows.iloc[i, [rows.columns.get_loc(name) for name in mine[i % len(mine)]]] = np.nan
        return rows

    return make


def people_for(monkeypatch: pytest.MonkeyPatch, enough: int, blanks: tuple[str, ...] | None, model: Any) -> Any:
    monkeypatch.setattr("armin.explain.methods.ENOUGH", enough)
    fitted = explainer(promise=Promise(0.6, n_people=40, missingness=model))
    return fitted, fitted._tested_on(fitted.current, Promise.of(fitted.promise), blanks)


@pytest.mark.parametrize("blanks", [("b",), ("a", "b")])
def test_named_blanks_are_tested_on_those_whom_the_missingness_model_gives_just_these(monkeypatch, blanks):
    _, (people, masks, words) = people_for(monkeypatch, 1, blanks, hides("b ab"))
    assert words == "same"
    assert len(people) == len(masks) > 0
    assert (masks == [name in blanks for name in SCHEMA.names]).all()


def test_where_too_few_have_just_these_blanks_all_with_some_blank_stand_for_them(monkeypatch):
    fitted, (people, masks, words) = people_for(monkeypatch, 10_000, ("b",), hides("b ab", least=400))
    assert words == "model"
    assert masks.any(axis=1).all()
    assert (masks[:, 1]).all()
    assert set(masks[:, 0].tolist()) == {True, False}
    assert len(people) < len(fitted.others_)  # who hides nothing is not among them
    _, (same, _, again) = people_for(monkeypatch, 1, None, hides("b ab", least=400))
    assert again == "model"  # no blanks were named
    assert len(same) == len(people)


def test_enough_is_counted_among_those_whom_the_promise_is_about(monkeypatch):
    fitted, (people, masks, _) = people_for(monkeypatch, 1, ("b",), hides("b"))
    about = int(testing.tested_people(fitted.current, people, masks).sum())
    assert 0 < about < len(people)  # some are accepted
    assert people_for(monkeypatch, about, ("b",), hides("b"))[1][2] == "same"
    assert people_for(monkeypatch, about + 1, ("b",), hides("b"))[1][2] == "model"


def test_blanks_that_the_missingness_model_never_makes_cannot_be_tested(monkeypatch):
    with pytest.raises(UntestedError, match="never leaves c blank"):
        people_for(monkeypatch, 1, ("c",), hides("b ab"))
    with pytest.raises(DataError, match="makes no blank"):
        people_for(monkeypatch, 1, None, hides("b", least=1001))


def test_nobody_is_tested_where_nobody_hides_anything_and_everybody_where_nothing_was_decided():
    rows = X[:20].to_numpy(dtype=float)
    nothing, b = np.zeros((20, 3), dtype=bool), np.repeat([[False, True, False]], 20, axis=0)
    for decision in ("complete", None):
        fitted = explainer(decision=decision).current
        assert not testing.tested_people(fitted, rows, nothing).any()
    assert testing.tested_people(explainer(decision=None).current, rows, b).all()
    rejected = MODEL.predict(pd.DataFrame(rows, columns=X.columns)) == "no"
    assert (testing.tested_people(explainer(decision="complete").current, rows, b) == rejected).all()


def test_an_explainer_that_may_not_test_says_so_and_does_not(monkeypatch):
    fitted = explainer(promise=Promise(0.6, n_people=10))
    row = {"a": 300, "b": None, "c": 200}
    monkeypatch.setattr("armin.explain.methods.calibrate", lambda *a, **k: pytest.fail("tests"))
    answer = fitted.without_testing().explain(row)
    assert answer.certificate.calibration is None
    assert [note.code for note in answer.notes][:1] == ["notes.untested"]
    locked = fitted.without_testing().explain(row, locked=["c"])
    assert [note.code for note in locked.notes][:1] == ["notes.untested_locked"]
    assert fitted.calibrations_ == {}


def test_a_tested_answer_does_not_say_that_it_is_untested():
    fitted = explainer(promise=Promise(0.5, n_people=12))
    answer = fitted.explain({"a": 300, "b": None, "c": 200})  # one blank of three
    assert answer.certificate.calibration is not None
    assert "notes.untested" not in {note.code for note in answer.notes}


def calibration(**more: Any) -> Calibration:
    trials = Trials(np.array([0.5, 1.0]), np.ones((40, 2), dtype=bool), np.ones((40, 2), dtype=bool))
    return choose_level(trials, 0.8, **more)


@dataclass(frozen=True)
class Told:
    """As much of an answer as a note needs."""

    world: Any
    notes: tuple[Any, ...] = ()


@pytest.mark.parametrize("tests", [True, False])
def test_one_blank_is_enough_for_a_promise_and_none_needs_no_test(monkeypatch, tests):
    promised = explainer(promise=Promise(0.6, n_people=10))
    promised = promised if tests else promised.without_testing()
    found, fitted = calibration(), promised.current
    monkeypatch.setattr("armin.explain.methods.calibrate", lambda *given, **named: found)
    monkeypatch.setattr("armin.explain.methods.advise", lambda *given: Told(SimpleNamespace(accepted=False)))
    one, none = np.array([300.0, np.nan, 200.0]), np.array([300.0, 100.0, 200.0])
    level = fitted.settings.confidence
    assert promised._level(fitted, one, ()) == ((found.used_level, found) if tests else (level, None))
    assert promised._level(fitted, none, ()) == (level, None)
    assert [note.code for note in promised._explain(fitted, one, ()).notes] == ([] if tests else ["notes.untested"])
    assert promised._explain(fitted, none, ()).notes == ()


def test_tilts_are_of_ordered_features_that_everybody_hides():
    X = pd.DataFrame({"number": [1.0, 2.0] * 20, "yes": [0, 1] * 20, "kind": ["x", "y"] * 20, "rest": range(40)})
    schema = Schema((
        Feature("number", "continuous", lower=0, upper=9), Feature("yes", "binary", categories=(0, 1)),
        Feature("kind", "categorical", categories=("x", "y")), Feature("rest", "integer", lower=0, upper=40),
    ))  # fmt: skip
    people = schema.encode(X)
    masks = np.ones((40, 4), dtype=bool)
    masks[:, 3] = False
    works = people[:, 0] > 1.5  # whoever has the higher number: a promise is lost if others hide it
    planned = np.ones((40, 2), dtype=bool)
    trials = Trials(np.array([0.5, 1.0]), planned, np.repeat(works[:, None], 2, axis=1))

    fitted: Any = SimpleNamespace(schema=schema)
    found = calibration()
    assert found.kept
    tilts = testing._tilts(fitted, people, masks, trials, found)
    assert [tilt.feature for tilt in tilts] == ["number"]
    masks[0, 0] = False
    assert testing._tilts(fitted, people, masks, trials, found) == ()


def test_a_promise_that_can_be_lost_says_when():
    tilts = (Tilt("up", 0.5), Tilt("down", -0.25), Tilt("never", None))
    said = replace(calibration(), tilts=tilts).asides
    assert [one.code for one in said] == ["calibration.planned", "calibration.lost_up", "calibration.lost_down"]
    assert said[1].values["factor"] == pytest.approx(math.exp(0.5))
    assert said[2].values["factor"] == pytest.approx(math.exp(0.25))


# plain parts


@pytest.mark.parametrize(
    ("change", "name"), [({"options__method": "blackbox"}, "method"), ({"desired": "no"}, "desired")]
)
def test_what_was_changed_after_fit_is_named(change, name):
    with pytest.raises(ParameterError, match=f"The '{name}' parameter of ARMIN was changed after fit"):
        _ = explainer().set_params(**change).current


def test_a_certificate_as_plain_data():
    given: dict[str, Any] = {
        "status": Status.OPTIMAL, "bound": 1.0, "gap": 0.0, "confidence": 0.8, "validity": Validity(9, 10),
        "fresh": Validity(8, 10), "error": 0.25, "calibration": None, "conditioned": None, "blanks": 1, "sampler": "s",
        "samples": 10, "seed": 0,
    }  # fmt: skip
    full = Certificate(**given).to_dict()
    assert full["validity"] == Validity(9, 10).to_dict()
    assert full["fresh"] == {
        **Validity(8, 10).to_dict(), "interval": list(Validity(8, 10).interval()), "level": 0.95,
    }  # fmt: skip
    bare = Certificate(**given | {"validity": None, "fresh": None, "bound": math.inf}).to_dict()
    assert (bare["validity"], bare["fresh"], bare["bound"]) == (None, None, None)
    json.dumps(bare, allow_nan=False)


def test_a_row_is_submitted_with_what_is_set_and_other_blanks_stay():
    observed = Change(SCHEMA["a"], "observed", 300, 400, 100.0, 1.0)
    reached = Change(SCHEMA["b"], "reach", None, 500, None, 1.0)
    shifted = Change(SCHEMA["c"], "shift", None, None, 50.0, 1.0)
    plan: Any = SimpleNamespace(changes=(observed, reached, shifted))
    who = np.array([[300.0, 100.0, 200.0]])
    after = Recourse.submitted(plan, SCHEMA, np.array([300.0, np.nan, np.nan]), who)
    assert np.array_equal(after, [[400.0, 500.0, np.nan]], equal_nan=True)
    assert np.array_equal(Recourse.submitted(plan, SCHEMA, who[0], who)[:, [0, 2]], [[400.0, 250.0]])


@dataclass(frozen=True)
class NotBoth(Rule):
    """A rule of one's own that knows no faster way: not both above 5."""

    features: tuple[str, ...] = ("a", "b")

    def sentence(self, schema: Schema) -> str:
        return "not both"

    def allows(self, schema: Schema, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        return np.asarray(~(after[:, :2] > 5).all(axis=1))


SMALL = Schema(tuple(Feature(name, "integer", lower=0, upper=9) for name in "abc"))


def test_a_rule_of_ones_own_is_asked_about_every_completion():
    candidates = np.array([[1.0, 2.0, 0.0], [7.0, 2.0, 0.0]])
    first = SimpleNamespace(position=0, values=np.array([[1.0, 6.0], [7.0, 6.0]]))
    second = SimpleNamespace(position=1, values=np.array([[2.0, 8.0]]))
    assert NotBoth().table(SMALL, first, second, candidates).tolist() == [[True, False], [True, False]]
    one = SimpleNamespace(position=0, values=first.values[:1])
    only = NotBoth().table(SMALL, one, second, candidates[:1])
    assert only.tolist() == [[True, True], [True, False]]


def test_a_rule_that_says_nothing_is_no_rule():
    class Silent(Rule):
        features = ("a", "z")

    with pytest.raises(NotImplementedError):
        Silent().allows(SMALL, np.zeros((1, 3)), np.zeros((1, 3)))
    with pytest.raises(SchemaError, match="z"):
        Silent().check(SMALL)


@pytest.mark.parametrize("kind", [Together, AtMostOne])
def test_groups_are_enforced_by_pairs(kind):
    assert kind(("a", "b", "c")).pairs() == [kind(("a", "b")), kind(("a", "c")), kind(("b", "c"))]


def test_whom_a_choice_is_judged_by():
    codes = np.array([300.0, np.nan, 200.0])
    stated = pose(explainer().current, codes, (), 0.75).stated
    choice = tuple(0 for _ in stated.problem.options)
    assert stated.asks_completions
    assert not stated.asks_row
    assert np.array_equal(stated.after(choice), stated.candidates)


# what is said


def test_blanks_that_cannot_move_are_named():
    schema = Schema(
        (Feature("a", "integer", lower=0, upper=9, blank="shift"), Feature("b", "integer", lower=0, upper=9))
    )
    blank = np.array([np.nan, np.nan])

    def stuck(moves: tuple[int, ...], locked: tuple[str, ...] = (), row: np.ndarray = blank) -> list[str]:
        grid = SimpleNamespace(schema=schema, moves=[SimpleNamespace(position=i) for i in moves])
        said = _stuck(SimpleNamespace(grid=grid, row=row), locked)
        return [name.key for message in said for name in message.values["features"]]

    assert stuck(()) == ["a"]  # b is set, not shifted
    assert stuck((0, 1)) == []
    assert stuck((), locked=("a",)) == []
    assert stuck((), row=np.array([1.0, np.nan])) == []


def curve(feature: Feature | None, beyond: float) -> StressCurve:
    """A plan that works for all, and for this share where the blank is other than it seems."""
    points = [StressPoint(delta, beyond if delta else 1.0, 500.0, math.nan) for delta in (-1.0, 0.0, 1.0)]
    return StressCurve(feature, None, tuple(points), 1.0, False)


def test_a_stress_test_speaks_of_single_blanks_first():
    plan = explainer().explain({"a": 300, "b": None, "c": 200})
    single, together = curve(SCHEMA["b"], 0.9), curve(None, 0.2)

    def said(*curves: StressCurve) -> str:
        return StressTest(plan, 0.75, "tilt", curves).sentence

    assert said(single, together) == said(together, single) == said(single)
    assert said(single) != said(together)


def test_all_questions_must_be_idle_for_telling_to_change_nothing():
    plan = explainer().explain({"a": 300, "b": None, "c": None})
    idle = question([4.0, 4.0], noise=1.0, variance=0.0, acting=[(0.9, 0.0), (0.9, 0.0)])
    other = question([4.0, None], noise=1.0, variance=0.0, acting=[(0.9, 0.0), (0.9, 0.0)])
    assert (idle.matters, other.matters, other.worth) == (False, True, False)

    def codes(*questions: Any) -> list[str]:
        return [message.code for message in AskOrAct(plan, None, questions).messages]

    assert codes(idle, idle) == ["ask.act", "ask.same"]
    assert codes(idle, other) == codes(other, idle) == ["ask.act"]


def question(costs: list[float | None], noise: float, variance: float, acting: list[tuple[float, float]]) -> Any:
    """What is made of a blank with equally likely values: plans by their costs, and acting now for 4."""
    feature = SCHEMA.features[0]
    teller = SimpleNamespace(
        quick=SimpleNamespace(schema=[feature]), variance=lambda *given: variance, now=lambda *given: acting
    )
    plans = [SimpleNamespace(cost=c, share=None if c is None else 0.9, outcome="plan") for c in costs]
    told: Any = tuple(SimpleNamespace(weight=1 / len(costs), plan=plan) for plan in plans)
    return _question(
        teller, 0, SimpleNamespace(cost=4.0, share=0.8, confidence=0.75, outcome="plan"), told, None, noise
    )


def test_what_telling_is_worth_comes_with_its_error():
    asked = question([1.0, 2.0, None], noise=3.0, variance=16.0, acting=[(0.9, 1.0), (0.7, 3.0), (0.8, 2.0)])
    assert asked.expected_cost == pytest.approx(1.5)
    assert asked.error == pytest.approx(5.0)
    assert asked.no_plan == pytest.approx(1 / 3)
    assert asked.least == 0.7
    assert asked.most == 3.0


def test_noise_needs_two_plans():
    quick = SimpleNamespace(settings=SimpleNamespace(random_state=0))

    def noise(*costs: float | None) -> float:
        again = [SimpleNamespace(cost=cost) for cost in costs]
        teller: Any = SimpleNamespace(quick=quick, codes=np.zeros(1), explain_all=lambda rows, seeds: again)
        return Teller.noise(teller, SimpleNamespace(cost=2.0))

    assert noise(None, None) == 0.0
    assert noise(4.0, None) == pytest.approx(np.std([2.0, 4.0], ddof=1))


def test_a_comparison_names_the_plan_that_does_best_at_worst():
    plans: Any = {name: SimpleNamespace(changes=(), outcome=name) for name in "pq"}
    validity = pd.DataFrame({"one": [0.9, 0.7], "two": [0.5, 0.6]}, index=["p", "q"])
    said = str(Comparison(plans, validity)._least(plans))
    assert "“q”" in said
    assert "60" in said
    same: Any = dict.fromkeys("pq", plans["p"])
    assert "“" not in str(Comparison(same, validity)._least(same))


@pytest.mark.parametrize(("completions", "row", "least"), [(True, False, 1.0), (True, True, 7.0), (False, True, 1.0)])
def test_a_path_begins_at_the_lightest_completion(completions, row, least):
    stated = replace(
        pose(explainer().current, np.array([300.0, np.nan, 200.0]), (), 0.75).stated,
        weights=np.array([1.0, 2.0, 3.0]), asks_completions=completions, asks_row=row,
    )  # fmt: skip
    seen = []

    def path(problem: object, weight: float) -> Any:
        seen.append(weight)
        raise StopIteration

    fitted: Any = SimpleNamespace(settings=SimpleNamespace(solving=SimpleNamespace(path=path)))
    with pytest.raises(StopIteration):
        judge_path(fitted, None, stated)
    assert seen == [least]
