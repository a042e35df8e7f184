"""Ask or act: what telling a blank is worth."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from armin import ARMIN, Schema
from armin.baselines import ImputationAR, RobustAR
from armin.datasets import make_loans
from armin.errors import NotFittedError, ParameterError
from armin.explain.advise import advise
from armin.explain.memory import RememberingJudge
from armin.explain.telling import Teller, representatives
from armin.schema import Feature
from armin.solve.stopping import stop_when

from worlds import make_world


def linear(coefficients, intercept, columns=("f_income", "f_debt", "f_noise")):
    """A logistic regression with the coefficients that the test wants."""
    frame = pd.DataFrame(np.zeros((2, len(columns))), columns=list(columns))
    model = LogisticRegression().fit(frame, ["no", "yes"])
    model.coef_, model.intercept_ = np.array([coefficients], dtype=float), np.array([intercept], dtype=float)
    return model


@pytest.fixture(scope="module")
def people():
    """Independent whole numbers, so that no column tells anything about another."""
    rng = np.random.default_rng(1)
    return pd.DataFrame({name: rng.integers(0, 21, 600) for name in ("f_income", "f_debt", "f_noise")})


def schema_for(people, **more):
    labels = {"f_income": "your monthly income", "f_debt": "your debt", "f_noise": "your lucky number"}
    return Schema.infer(people, labels=labels, **more)


def explainer_for(people, model, method=ARMIN, schema=None, **more):
    given = {"n_samples": 60, "n_fresh": 200, **more}
    return method.from_settings(model, schema or schema_for(people, immutable=["f_noise"]), desired="yes", **given).fit(
        people
    )


@pytest.mark.parametrize("method", [ARMIN, RobustAR])
@pytest.mark.parametrize("cost", ["tlps", "l1"])
def test_telling_never_costs_more_than_certainty_without_telling(people, method, cost):
    more = {"confidence": 1.0} if method is ARMIN else {}
    schema = schema_for(people, immutable=["f_income"])
    for debt in (8, 14, 20):
        explainer = explainer_for(people, linear([1, -1, 0.5], -8), method, schema, cost=cost, **more)
        answer = explainer.ask({"f_income": None, "f_debt": debt, "f_noise": 3})
        (question,) = answer.questions
        assert answer.act_now is not None
        assert all(told.plan.cost <= answer.act_now + 1e-9 for told in question.told)
        assert question.saving >= -1e-9
        assert question.no_plan == 0


def test_every_told_value_gets_what_the_person_would_get():
    loans = make_loans()
    explainer = ARMIN(loans.classifier, loans.schema, desired="approved", sampler="donors").fit(loans.X)
    row = {**loans.applicant, "Purpose": None}
    answer = explainer.ask(row, n_values=5)
    assert {q.feature.name for q in answer.questions} == {"Income", "Purpose"}
    for question in answer.questions:
        assert sum(told.weight for told in question.told) == pytest.approx(1)
        for told in question.told:
            plan = explainer.explain({**row, question.feature.name: told.value})
            assert plan.outcome == told.plan.outcome
            assert plan.cost == told.plan.cost
            assert [str(c) for c in plan.changes] == [str(c) for c in told.plan.changes]
    assert answer.plan.cost == explainer.explain(row).cost == answer.act_now


def anybody(row, n, rng):
    """Completions that know nothing of the rest of the row."""
    return pd.DataFrame(rng.integers(0, 21, (n, 3)), columns=["f_income", "f_debt", "f_noise"])


@pytest.mark.parametrize("sampler", ["marginal", anybody])
def test_what_the_model_ignores_never_matters(people, sampler):
    explainer = explainer_for(people, linear([1, -1, 0], -6), sampler=sampler)
    found = 0
    for debt in (3, 6, 9, 12, 15, 18):
        answer = explainer.ask({"f_income": None, "f_debt": debt, "f_noise": None}, n_values=8)
        noise = next(q for q in answer.questions if q.feature.name == "f_noise")
        assert not noise.matters
        assert noise.saving == 0
        assert answer.best != "f_noise"
        found += answer.plan.found
        if answer.plan.found:
            assert noise.sentence.startswith("Your lucky number need not be told before you act: whichever of the")
    assert found


def test_what_decides_matters_and_is_asked_first(people):
    schema = schema_for(people, immutable=["f_income", "f_noise"])
    explainer = explainer_for(people, linear([1, -1, 0], 0.5), schema=schema, confidence=1.0, sampler="marginal")
    answer = explainer.ask({"f_income": None, "f_debt": 18, "f_noise": None})
    assert answer.best == "f_income"
    assert answer.questions[0].feature.name == "f_income"
    assert answer.questions[0].matters
    assert answer.questions[0].saving > 2 * answer.questions[0].error > 0
    assert answer.sentence.startswith("Tell your monthly income before you act. If you tell your monthly income")


def test_the_expected_cost_is_the_average_that_theory_gives():
    """Two kinds of people, 30 to 70, of whom each needs another amount."""
    X = pd.DataFrame({"kind": ["a", "b"] * 50, "points": [0, 20] * 50})
    schema = Schema.infer(X, immutable=["kind"])
    frame = pd.DataFrame({"kind": ["a", "b"], "points": [0, 1]})

    class Needs:
        classes_ = np.array(["no", "yes"])

        def fit(self, X, y=None):
            return self

        def predict(self, rows):
            need = np.where(rows["kind"] == "a", 5, 12)
            return np.where(rows["points"] >= need, "yes", "no")

    def draw(row, n, rng):
        return pd.DataFrame({"kind": rng.choice(["a", "b"], n, p=[0.3, 0.7])})

    explainer = ARMIN.from_settings(
        Needs().fit(frame), schema, desired="yes", sampler=draw, cost="l1", confidence=1.0, method="blackbox",
        n_samples=400, n_fresh=0,
    ).fit(X)  # fmt: skip
    answer = explainer.ask({"kind": None, "points": 0})
    (question,) = answer.questions
    costs = {told.value: told.plan.cost for told in question.told}
    assert costs["a"] / costs["b"] == pytest.approx(5 / 12)
    assert answer.act_now == pytest.approx(costs["b"])
    share = next(told.weight for told in question.told if told.value == "a")
    assert abs(share - 0.3) < 5 * np.sqrt(0.21 / 400)  # false alarm: under 1 in a million
    assert question.expected_cost == pytest.approx(share * costs["a"] + (1 - share) * costs["b"])
    spread = abs(costs["b"] - costs["a"]) * np.sqrt(share * (1 - share) / 400)
    assert question.error == pytest.approx(spread)
    assert answer.best == "kind"


def test_the_chance_of_being_accepted_already_does_not_know_the_rejection(people):
    def draw(row, n, rng):
        return pd.DataFrame({"f_income": np.where(rng.random(n) < 0.3, 20, 0)})

    schema = schema_for(people, immutable=["f_income", "f_noise"])
    row = {"f_income": None, "f_debt": 5, "f_noise": 1}
    told = {}
    for condition in (True, False):
        explainer = explainer_for(
            people, linear([1, -1, 0], 0.5), schema=schema, sampler=draw, decision="complete" if condition else None
        )
        answer = explainer.ask(row)
        assert abs(answer.accepted_already - 0.3) < 5 * np.sqrt(0.21 / 1000)  # false alarm: under 1 in a million
        assert answer.questions[0].alone == (None if condition else answer.accepted_already)
        assert ("leaving the known rejection aside" in answer.sentence.lower()) == condition
        told[condition] = answer.questions[0].told
    assert [t.value for t in told[True]] == [0]
    assert [t.value for t in told[False]] == [0, 20]
    assert [t.plan.outcome for t in told[False]] == ["plan", "already_accepted"]


def test_order_of_columns_and_calls_do_not_matter():
    for seed in (1,):
        world = make_world(seed, "tree", blanks=2)
        explainer = ARMIN.from_settings(world.classifier, world.schema, desired="yes", n_samples=30, max_options=8).fit(
            world.X
        )
        answer = explainer.ask(world.row, n_values=6)
        turned = dict(reversed(world.row.items()))
        again = explainer.ask(pd.DataFrame([turned], dtype=object), n_values=6)
        assert again.to_json() == answer.to_json()


def test_sentences_speak_of_labels_and_numbers_only(people):
    explainer = explainer_for(people, linear([1, -1, 0.5], -8), sampler="donors")
    answer = explainer.ask({"f_income": None, "f_debt": 15, "f_noise": None}, n_values=6)
    for question in answer.questions:
        assert question.feature.title.lower() in question.sentence.lower()
        assert question.sentence.endswith(".")
    assert "f_" not in str(answer)
    assert "f_" not in answer._repr_html_()
    assert list(answer.to_frame().index) == [q.feature.title for q in answer.questions]


def test_the_dictionary_keeps_its_contract(people):
    explainer = explainer_for(people, linear([1, -1, 0.5], -8), sampler="donors")
    summary = json.loads(explainer.ask({"f_income": None, "f_debt": 9, "f_noise": 2}, n_values=4).to_json())
    assert summary["format"] == "armin.ask/2"
    assert {"accepted_already", "act_now", "questions", "best", "sentence"} <= set(summary)
    needed = {"feature", "label", "matters", "alone", "expected_cost", "saving", "sentence"}
    assert all(needed <= set(question) for question in summary["questions"])


def test_nothing_blank_and_nothing_to_do(people):
    explainer = explainer_for(people, linear([1, -1, 0], -2), decision=None, sampler="marginal")
    complete = explainer.ask({"f_income": 3, "f_debt": 9, "f_noise": 2})
    assert (complete.questions, complete.best, complete.accepted_already) == ((), None, 0.0)
    assert complete.sentence.startswith("Nothing is blank, so there is nothing to ask: act on the plan")
    fine = explainer.ask({"f_income": 20, "f_debt": 0, "f_noise": None}, n_values=4)
    assert (fine.act_now, fine.best, fine.accepted_already) == (0.0, None, 1.0)
    assert fine.sentence.startswith("You need not tell more: nothing needs to change for 100 %")
    assert not fine.questions[0].matters


def test_a_plan_that_only_telling_makes_possible(people):
    """Income cannot change and debt not enough: only people of high income have a way."""
    schema = schema_for(people, immutable=["f_income", "f_noise"])
    explainer = explainer_for(people, linear([1, -0.2, 0], -9.5), schema=schema, confidence=0.9, sampler="marginal")
    answer = explainer.ask({"f_income": None, "f_debt": 20, "f_noise": 1})
    (question,) = answer.questions
    assert answer.act_now is None
    assert answer.best == "f_income"
    assert 0 < question.no_plan < 1
    assert question.expected_cost > 0
    assert "without it there is none" in question.sentence
    hopeless = explainer_for(people, linear([0, -0.2, 0], -9.5), schema=schema, sampler="marginal")
    none = hopeless.ask({"f_income": None, "f_debt": 20, "f_noise": 1}, n_values=4)
    assert none.best is None
    assert none.sentence.startswith(
        "There is no plan, and telling any one blank alone gives none, for no value that was tried."
    )
    assert none.questions[0].expected_cost is None


def test_a_guess_is_compared_as_it_is(people):
    """Where blanks are guessed once there is no chance in the plans: another plan is other advice."""
    model = linear([1, -1, 0], -1)
    naive = ImputationAR.from_settings(
        model, schema_for(people, immutable=["f_income"]), desired="yes", n_fresh=100
    ).fit(people)
    answer = naive.ask({"f_income": None, "f_debt": 18, "f_noise": None}, n_values=6)
    matters = {question.feature.name: question.matters for question in answer.questions}
    assert matters == {"f_income": True, "f_noise": False}


def test_it_stops_when_told_with_what_it_knows(people):
    explainer = explainer_for(people, linear([1, -1, 0.5], -8), sampler="marginal")
    row = {"f_income": None, "f_debt": 14, "f_noise": None}
    with stop_when(lambda: True):
        answer = explainer.ask(row, n_values=4)
    assert not answer.complete
    assert answer.questions == ()
    assert "Only 0 of 2 blanks were looked at" in answer.sentence
    assert "need not" not in answer.sentence
    whole = explainer.ask(row, n_values=4)
    assert whole.complete
    assert len(whole.questions) == 2


def test_refusals(people):
    explainer = explainer_for(people, linear([1, -1, 0.5], -8), sampler="marginal")
    row = {"f_income": None, "f_debt": 14, "f_noise": 1}
    with pytest.raises(ParameterError, match="'n_values' parameter of ask"):
        explainer.ask(row, n_values=1)
    with pytest.raises(ParameterError, match="'locked' must be a list"):
        explainer.ask(row, locked="f_debt")
    with pytest.raises(NotFittedError):
        ARMIN(linear([1, -1, 0], 0), schema_for(people), desired="yes").ask(row)


@pytest.mark.parametrize("kind", ["linear", "forest"])
def test_remembering_changes_nothing(kind):
    world = make_world(2, kind, blanks=2)
    explainer = ARMIN.from_settings(world.classifier, world.schema, desired="yes", n_samples=5).fit(world.X)
    codes = world.schema.encode(world.X)
    fitted = explainer.fitted_
    plain, memory = fitted.read.encode.encode, RememberingJudge(fitted.oracle)
    for part in (codes[:7], codes[3:40], codes):
        np.testing.assert_array_equal(fitted.read.encode(part), plain(part))
        np.testing.assert_array_equal(memory.accepts(part), fitted.oracle.accepts(part))


class Stricter:
    """A model that refuses some of what its reading accepts, and counts how often it is asked."""

    def __init__(self, judge, column, least):
        self.judge, self.column, self.least, self.calls = judge, column, least, 0

    def accepts(self, codes):
        self.calls += 1
        return self.judge.accepts(codes) & ~(codes[:, self.column] < self.least)


@pytest.mark.parametrize("kind", ["linear", "forest"])
def test_where_the_reading_is_wrong_the_model_itself_decides(kind):
    """Telling every value, first as the reading has it and then by the model: nothing of the reading is left."""
    world = make_world(2, kind, blanks=2)
    explainer = ARMIN.from_settings(world.classifier, world.schema, desired="yes", n_samples=8, n_fresh=0).fit(world.X)
    fitted, codes = explainer.current, world.schema.encode(world.row)[0]
    (first, _) = np.flatnonzero(np.isnan(codes)).tolist()
    told = np.unique(world.schema.encode(world.X)[:, first])[:4]
    rows = [np.where(np.arange(codes.size) == first, value, codes) for value in told.tolist()]
    by_reading = Teller(fitted, codes, (), lambda row: None).explain_all(rows, [0] * len(rows))
    model = Stricter(fitted.decision, world.schema.position("amount"), 5)
    strict = replace(fitted, decision=model, oracle=model)
    found = Teller(strict, codes, (), lambda row: None).explain_all(rows, [0] * len(rows))
    assert found == [advise(strict.varied(random_state=0), row) for row in rows]
    assert found != by_reading  # the reading alone would have said something else


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.floats(0.1, 5)), min_size=1, max_size=60),
    st.integers(2, 12),
    st.booleans(),
)
def test_representatives_speak_for_everybody(pairs, most, ordered):
    values = np.array([float(v) for v, _ in pairs])
    weights = np.array([w for _, w in pairs])
    kinds = tuple(str(i) for i in range(31))
    feature = Feature("a", "integer", lower=0, upper=30) if ordered else Feature("a", "categorical", categories=kinds)
    heads, chance = representatives(feature, values, weights, most)
    assert 1 <= len(heads) <= most
    assert len(set(heads)) == len(heads)
    assert set(heads) <= set(values)
    assert (chance > 0).all()
    assert chance.sum() == pytest.approx(1)
    if len(set(values)) <= most:
        assert heads @ chance == pytest.approx(values @ weights / weights.sum())
    elif ordered:
        # no group holds more than its part and one value's
        heaviest = np.bincount(values.astype(int), weights).max() / weights.sum()
        assert chance.max() <= heaviest + 1 / most + 1e-9
