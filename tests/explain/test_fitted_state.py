"""Laws that small faults would break: what a fitted explainer keeps, refuses and asks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from armin import ARMIN, Schema
from armin.baselines import ImputationAR
from armin.errors import ArminError, DataError, ModelError, ParameterError
from armin.explain.advise import advise
from armin.explain.calibrate import run_trials
from armin.explain.compare import compare
from armin.explain.draw import fresh_of
from armin.explain.parameters import check_parameters
from armin.explain.telling import Teller
from armin.explain.world import find_world
from armin.promise import Promise
from armin.sampling import Uniform

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.integers(0, 1000, (200, 3)), columns=["a", "b", "c"])
MODEL = LogisticRegression().fit(X / 1000, np.where(X.sum(axis=1) > 1500, "yes", "no"))
MODEL.coef_ = MODEL.coef_ / 1000  # for rows as they are
SCHEMA = Schema.infer(X)
SEEN: list[np.ndarray] = []


class Watched(Uniform):
    """A sampler that remembers what it was shown."""

    def fit(self, X: np.ndarray, schema: Schema) -> Watched:
        SEEN.append(X)
        super().fit(X, schema)
        return self


FILLING = make_pipeline(SimpleImputer(), LogisticRegression(max_iter=5000))
FILLING.fit(X, np.where(X.sum(axis=1) > 1500, "yes", "no"))


def explainer(**more: object) -> ARMIN:
    given = {"n_samples": 12, "n_fresh": 30, "sampler": "uniform"} | more
    return ARMIN.from_settings(MODEL, SCHEMA, desired="yes", **given)


@pytest.mark.parametrize("given", [X, X.to_numpy()], ids=["frame", "array"])
def test_people_to_test_on_are_set_aside_and_nobody_learns_from_them(given: pd.DataFrame | np.ndarray) -> None:
    SEEN.clear()
    fitted = explainer(sampler=Watched(), promise=Promise(0.8, n_people=500)).fit(given)
    (learned,) = SEEN
    assert len(learned) == 150
    mine = {row.tobytes() for row in learned}
    assert 0 < len(fitted.people_) <= 50
    assert not any(row.tobytes() in mine for row in fitted.people_)
    assert not fitted.held_out_
    assert not fitted.fitted_.decision.accepts(fitted.people_).any()
    assert len(fitted.others_) == 50  # whoever may be rejected with blanks


def test_people_are_refused_without_a_promise_and_where_the_model_learned_from_them() -> None:
    with pytest.raises(ParameterError, match="for testing a promise"):
        explainer().fit(X, people=X[:10])
    with pytest.raises(DataError, match="held out"):
        explainer(promise=0.8).fit(X, people=X[:60])
    kept = explainer(promise=0.8, decision="complete").fit(X[:100], people=X[100:])
    assert kept.held_out_
    assert len(kept.others_) == 0
    np.testing.assert_array_equal(kept.people_, X[100:][MODEL.predict(X[100:]) == "no"])


def test_nothing_to_choose_from_where_nothing_is_to_be_done_or_can_be() -> None:
    fitted = explainer(max_changes=1).fit(X)
    (accepted,) = fitted.alternatives({"a": 900, "b": 900, "c": 900}, count=3)
    assert accepted.outcome == "already_accepted"
    nowhere = fitted.alternatives({"a": 10, "b": 10, "c": 10}, count=3, locked=["a", "b", "c"])
    assert nowhere == ()
    (alone,) = fitted.alternatives({"a": 400, "b": 500, "c": 400}, count=1)
    several = fitted.alternatives({"a": 400, "b": 500, "c": 400}, count=3)
    assert alone == several[0]
    assert len(several) > 1


@pytest.mark.parametrize("settings", [{"decision": "blank"}, {"reapply": "blank"}, {"reapply": "either"}])
def test_a_question_that_the_model_cannot_answer_is_refused(settings: dict[str, str]) -> None:
    """A logistic regression takes no blanks."""
    fitted, codes = explainer().fit(X).current, np.array([400.0, np.nan, 400.0])
    with pytest.raises(ModelError, match="does not take them"):
        find_world(fitted.varied(**settings), codes)
    assert find_world(fitted.varied(**settings), np.array([400.0, 1.0, 400.0])).submitted is None
    with pytest.raises(ParameterError, match="'decision' must be"):
        find_world(fitted.varied(decision="maybe"), codes)
    assert find_world(fitted.varied(decision=None), codes).decision is None
    assert find_world(fitted, codes).decision == "complete"


def test_acting_now_in_the_worlds_of_told_values() -> None:
    """For each told value: the share of fresh completions of that row for which the plan works."""
    fitted, codes = explainer(confidence=0.6).fit(X).current, np.array([400.0, np.nan, np.nan])
    teller = Teller(fitted, codes, (), lambda row: None)
    plan = explainer(confidence=0.6).fit(X).explain({"a": 400, "b": None, "c": None})
    told = teller.tell(1, 3)
    assert told is not None
    acting = teller.now(plan, 1, told)
    assert any(saved != 0 for _, saved in acting)
    most = plan.cost + max(one.plan.cost for one in told)
    assert all(abs(saved) <= most for _, saved in acting)
    for one, (share, saved) in zip(told, acting, strict=True):
        row = np.array([400.0, float(one.value), np.nan])
        fresh = fresh_of(fitted, find_world(fitted, row), row)
        works = fitted.oracle.accepts(plan.apply_codes(SCHEMA, fresh.values))
        assert share == pytest.approx(np.average(works, weights=fresh.weights))
        if one.plan.changes == plan.changes:
            assert saved == pytest.approx(0.0)


def test_telling_opens_a_way_where_acting_now_has_none() -> None:
    """Only "b" can move, by 500: whoever has more than 400 of "a" has a plan, and one must know that."""
    fitted = explainer(confidence=1.0).fit(X)
    found = fitted.ask({"a": None, "b": 500, "c": 100}, locked=["a", "c"], n_values=6)
    (asked,) = found.questions
    assert found.act_now is None
    assert asked.now is None
    assert asked.saving == 0.0
    assert asked.expected_cost is not None
    assert 0 < asked.no_plan < 1
    assert asked.worth
    assert found.best == "a"


def test_every_plan_is_judged_by_every_way_to_fill_blanks() -> None:
    fitted = explainer(confidence=0.6).fit(X).current
    codes, ways = np.array([400.0, np.nan, 300.0]), {}
    for name, seed in (("one", 0), ("two", 1)):
        ways[name] = fitted.varied(random_state=seed)
    plans = {name: advise(way, codes, ["b"]) for name, way in ways.items()}
    found = compare(ways, codes, plans).validity
    assert found.to_numpy().min() < 1.0
    for judge, way in ways.items():
        fresh = fresh_of(way, find_world(way, codes), codes)
        for name, plan in plans.items():
            works = way.oracle.accepts(plan.apply_codes(SCHEMA, fresh.values))
            assert found.loc[name, judge] == pytest.approx(np.average(works, weights=fresh.weights))


def test_whoever_can_change_nothing_has_no_plan_at_any_level() -> None:
    fitted = explainer().fit(X).current
    person = np.array([[200.0, 300.0, 100.0]])
    tried = run_trials(fitted, person, np.array([[False, True, False]]), locked=("a", "b", "c"))
    assert not tried.planned.any()
    assert not tried.worked.any()
    free = run_trials(fitted, person, np.array([[False, True, False]]))
    assert free.planned.all()


def test_a_row_that_is_accepted_with_its_blanks_needs_nothing() -> None:
    filled = ARMIN.from_settings(FILLING, SCHEMA, desired="yes", n_samples=12, n_fresh=30, sampler="uniform")
    found = filled.fit(X).explain({"a": 950, "b": None, "c": 950})
    assert found.outcome == "already_accepted"
    assert (found.cost, found.bound, found.gap, found.cost_range) == (0.0, 0.0, 0.0, (0.0, 0.0, 0.0))
    assert (found.validity.accepted, found.validity.of) == (1.0, 1.0)
    assert found.certificate.message.code == "certificate.accepted"
    assert found.certificate.samples == 1
    assert found.resubmitted
    assert found.fresh.of == 30


@pytest.mark.parametrize("name", ["cost", "sampler", "imputer", "promise"])
def test_names_that_nobody_knows_are_refused_before_anything_is_learned(name: str) -> None:
    with pytest.raises(ArminError):
        check_parameters(ImputationAR if name == "imputer" else ARMIN, {name: "foo"})


def test_fresh_completions_that_doubt_a_plan_make_it_ask_for_more() -> None:
    rows = [{"a": a, "b": None, "c": c} for a in (200, 350, 500) for c in (150, 400)]
    settings = {"confidence": 0.6, "n_samples": 7, "n_fresh": 200}
    careful, plain = explainer(**settings).fit(X), explainer(**settings, checks=False).fit(X)
    careful, plain = ([one.explain(row, locked=["b"]) for row in rows] for one in (careful, plain))
    assert any(one.fresh.share < 0.6 for one in plain)  # few completions flatter the plan that they chose
    for checked, one in zip(careful, plain, strict=True):
        assert checked.fresh.share >= 0.6 - 1e-9 or checked.validity.share == 1.0
        assert checked.fresh.share >= one.fresh.share
        assert checked.cost >= one.cost - 1e-9
        if one.fresh.share >= 0.6:
            assert checked == one


def test_a_promise_is_tested_for_the_blanks_of_the_row_at_hand() -> None:
    fitted = explainer(promise=Promise(0.5, n_people=15)).fit(X[:150], people=X[150:])
    tested = fitted.explain({"a": 300, "b": None, "c": 200}).certificate.calibration
    assert tested is not None
    assert (tested.masks, tested.people) == ("same", 15)
    (pattern,) = fitted.calibrations_
    assert pattern.blanks == ("b",)
    assert fitted.explain({"a": 300, "b": 100, "c": 200}).certificate.calibration is None


@pytest.mark.parametrize("reapply", ["blank", "either"])
def test_acting_now_is_judged_by_the_row_where_the_model_decides_about_it(reapply: str) -> None:
    given = {"n_samples": 12, "n_fresh": 30, "sampler": "uniform", "confidence": 0.6, "reapply": reapply}
    fitted, codes = (
        ARMIN.from_settings(FILLING, SCHEMA, desired="yes", **given).fit(X).current,
        np.array([200.0, np.nan, np.nan]),
    )
    teller, plan = Teller(fitted, codes, ("b",), lambda row: None), advise(fitted, codes, ["b"])
    told = teller.tell(1, 4)
    assert told is not None
    taken = []
    for one, (share, _) in zip(told, teller.now(plan, 1, told), strict=True):
        row = np.array([200.0, float(one.value), np.nan])
        fresh = fresh_of(fitted, find_world(fitted, row), row)
        works = np.average(fitted.oracle.accepts(plan.apply_codes(SCHEMA, fresh.values)), weights=fresh.weights)
        rows = fitted.oracle.accepts(plan.submitted(SCHEMA, row, fresh.values))
        taken.append(float(np.average(rows, weights=fresh.weights)))
        assert share <= taken[-1] + 1e-12
        assert share == pytest.approx(taken[-1]) if reapply == "blank" else share <= works + 1e-12
    assert min(taken) < 0.5 < max(taken)
