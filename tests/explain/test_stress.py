"""Stress tests of plans against informative blanks, and plans under several samplers."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from armin import ARMIN, Schema
from armin.datasets import make_loans
from armin.errors import ParameterError
from armin.explain.stress import StressCurve, StressPoint

MEAN, SD = 40.0, 8.0


def gaussian(row, n, rng):
    """Similar people: income N(40, 8), and a kind that is 30 to 70, whatever the rest."""
    return pd.DataFrame({"income": rng.normal(MEAN, SD, n), "kind": rng.choice(["a", "b"], n, p=[0.7, 0.3])})


def model_of(income, savings, kind, intercept):
    """Accepted where income * w + savings * w + (kind is b) * w + intercept > 0."""
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    X = pd.DataFrame({"income": [0.0, 1.0], "savings": [0.0, 1.0], "kind": ["a", "b"]})
    encoder = make_column_transformer((OrdinalEncoder(), ["kind"]), remainder="passthrough")
    model = make_pipeline(encoder, LogisticRegression()).fit(X, ["no", "yes"])
    model[-1].coef_ = np.array([[kind, income, savings]], dtype=float)
    model[-1].intercept_ = np.array([intercept], dtype=float)
    return model


def explainer_of(model, **more):
    X = pd.DataFrame({"income": [-60.0, 140.0, 40.0], "savings": [0.0, 60.0, 20.0], "kind": ["a", "b", "a"]})
    schema = Schema.infer(
        X, immutable=["income", "kind"], units={"income": "k$"}, labels={"income": "your income"},
        kinds={"income": "continuous", "savings": "continuous"},
    )  # fmt: skip
    settings = {"sampler": gaussian, "decision": None, "n_fresh": 1000, **more}
    return ARMIN.from_settings(model, schema, desired="yes", **settings).fit(X)


ROW = {"income": None, "savings": 10.0, "kind": "a"}


def error_of(share, size):
    """Five standard errors of a share: a false alarm in under one of a million points."""
    return 5 * np.sqrt(max(share * (1 - share), 0.25 / size) / size)


def test_a_tilted_gaussian_matches_its_closed_form():
    test = explainer_of(model_of(1, 1, 0, -65)).stress(ROW)
    (change,) = test.plan.changes
    limit = 65 - change.after  # accepted where income is above this
    (curve,) = test.curves
    assert curve.spread == pytest.approx(SD, rel=0.12)
    assert len(curve.points) == 17
    for point in curve.points:
        mean = MEAN + point.delta * SD**2 / curve.spread
        truth = norm.sf(limit, mean, SD)
        assert point.size >= 100
        # the effective size is the one of a mean of the weights; a tail under a strong tilt is noisier than that
        assert abs(point.validity - truth) <= 2 * error_of(truth, point.size)
        assert abs(point.mean - mean) <= 10 * SD / np.sqrt(point.size)
    low, high = curve.keeps(0.75)
    exact = (limit + SD * norm.ppf(0.75) - MEAN) * curve.spread / SD**2
    assert high == 2.0
    assert abs(low - exact) < 0.2


def test_a_shifted_gaussian_matches_its_closed_form():
    test = explainer_of(model_of(1, 1, 0, -65)).stress(ROW, kind="shift")
    (curve,) = test.curves
    limit = 65 - test.plan.changes[0].after
    for point in curve.points:
        truth = norm.sf(limit, MEAN + point.delta * curve.spread, SD)
        assert abs(point.validity - truth) <= error_of(truth, point.size)


@pytest.mark.parametrize("kind", ["tilt", "shift"])
def test_the_known_rejection_stays_known_under_stress(kind):
    row = {**ROW, "savings": 20.0}
    test = explainer_of(model_of(1, 1, 0, -65), decision="complete").stress(row, kind=kind)
    (curve,) = test.curves
    limit, rejected = 65 - test.plan.changes[0].after, 65 - row["savings"]
    for point in curve.points:
        move = SD**2 / curve.spread if kind == "tilt" else curve.spread
        law = norm(MEAN + point.delta * move, SD)
        truth = (law.cdf(rejected) - law.cdf(limit)) / law.cdf(rejected)
        if point.reliable:
            assert abs(point.validity - truth) <= (2 if kind == "tilt" else 1) * error_of(truth, point.size)
    assert sum(point.reliable for point in curve.points) >= 12


def test_no_tilt_is_the_fresh_validity_of_the_same_draws():
    for condition in (True, False):
        explainer = explainer_of(model_of(1, 1, 5, -65), decision="complete" if condition else None)
        row = {**ROW, "kind": None}
        plan = explainer.explain(row)
        # gentle tilts need no more draws than the explainer's own
        test = explainer.stress(row, tilts=[-0.5, 0.0, 0.5])
        for curve in test.curves:
            assert curve.points[1].size == pytest.approx(1000)
            assert curve.points[1].validity == pytest.approx(plan.fresh.share, abs=1e-12)


def test_what_the_model_ignores_has_the_full_range():
    for kind in ("tilt", "shift"):
        test = explainer_of(model_of(0, 1, 0, -30)).stress(ROW, kind=kind)
        (curve,) = test.curves
        assert curve.keeps(1.0) == (-2.0, 2.0)
        assert "over the whole range tested (-2 to 2)" in test.sentence


def test_a_category_moves_by_its_log_odds():
    test = explainer_of(model_of(0, 1, 8, -40)).stress({**ROW, "kind": None, "income": 40.0})
    (curve,) = test.curves
    assert curve.level == "b"
    base = curve.points[8].mean
    for point in curve.points:
        odds = base / (1 - base) * np.exp(point.delta)
        assert point.mean == pytest.approx(odds / (1 + odds))
        assert 0 <= point.validity <= 1


def test_all_blanks_together_and_against_the_plan():
    def two(row, n, rng):
        return pd.DataFrame({"income": rng.normal(MEAN, SD, n), "savings": np.clip(rng.normal(30, 6, n), 0, 60)})

    explainer = explainer_of(model_of(1, -1, 6, -10), sampler=two)
    test = explainer.stress({"income": None, "savings": None, "kind": "a"}, kind="tilt")
    assert [c.label for c in test.curves] == [
        "your income", "savings", "all blanks in the same direction", "all blanks against the plan",
    ]  # fmt: skip
    single, other, same, against = test.curves
    known = [p for p in against.points if p.reliable]
    assert known[-1].validity < known[0].validity
    # against the plan is at least as bad as either alone, and the same direction cancels out
    at = known[-1].delta
    alone = [p.validity for p in single.points if p.delta == -at] + [p.validity for p in other.points if p.delta == at]
    assert known[-1].validity <= min(alone) + 0.05
    ends = [p.validity for p in same.points if p.reliable]
    assert max(ends) - min(ends) < known[0].validity - known[-1].validity


def test_an_interval_ends_where_validity_falls_or_draws_run_out():
    shares = [0.4, 0.6, 0.8, 0.9, 1.0]
    points = [StressPoint(d, v, 500.0, d) for d, v in zip((-2.0, -1.0, 0.0, 1.0, 2.0), shares, strict=True)]
    curve = StressCurve(None, None, tuple(points), 1.0)
    assert curve.keeps(0.75) == pytest.approx((-0.25, 2.0))
    assert curve.keeps(0.5) == pytest.approx((-1.5, 2.0))
    assert curve.keeps(0.81) is None
    points[3] = StressPoint(1.0, 0.9, 3.0, 1.0)
    assert StressCurve(None, None, tuple(points), 1.0).keeps(0.75) == pytest.approx((-0.25, 0.0))


def test_the_answer_in_every_form():
    explainer = explainer_of(model_of(1, 1, 0, -65))
    test = explainer.stress(ROW)
    assert "your income" in test.sentence
    assert "spreads lower than similar people's: down to about" in test.sentence
    assert "k$" in test.sentence
    frame = test.to_frame()
    assert frame.shape == (17, 6)
    summary = json.loads(test.to_json())
    assert summary["format"] == "armin.stress/1"
    assert summary["curves"][0]["keeps"] == pytest.approx(test.curves[0].keeps(0.75))
    pytest.importorskip("matplotlib")
    ax = test.plot()
    assert len(ax.get_lines()) == 3
    assert explainer.stress(ROW).to_json() == test.to_json()


def test_nothing_to_test_and_a_plan_of_ones_own():
    explainer = explainer_of(model_of(1, 1, 0, -65))
    complete = explainer.stress({**ROW, "income": 30.0})
    assert complete.curves == ()
    assert complete.sentence.startswith("Nothing is blank")
    hopeless = explainer_of(model_of(1, 1, 0, -500))
    assert hopeless.stress(ROW).sentence == "There is no plan to test."
    dear = explainer_of(model_of(1, 1, 0, -65), confidence=0.99)
    plan = dear.explain(ROW)
    own, other = explainer.stress(ROW), explainer.stress(ROW, plan=plan)
    assert other.asked == 0.99
    assert all(a.validity <= b.validity for a, b in zip(own.curves[0].points, other.curves[0].points, strict=True))


def test_refusals():
    explainer = explainer_of(model_of(1, 1, 0, -65))
    for tilts in ([1.0, 2.0], [0.0, 0.0], [], [0.0, np.nan], [1.0, 0.0]):
        with pytest.raises(ParameterError, match="'tilts' must be increasing"):
            explainer.stress(ROW, tilts=tilts)
    with pytest.raises(ParameterError, match="'savings' is given"):
        explainer.stress(ROW, features=["savings"])
    with pytest.raises(ParameterError, match="list of column names"):
        explainer.stress(ROW, features="income")
    with pytest.raises(ParameterError, match="'kind' must be"):
        explainer.stress(ROW, kind="twist")


def _german(text: str, *own: str) -> None:
    """No English word is left once our own names are taken out."""
    for name in own:
        text = text.replace(name, "")
    english = {"the", "of", "works", "keeps", "plan of", "blanks", "advice", "share", "lower", "higher", "on", "ways"}
    assert not english & set(re.findall(r"[a-zäöüß]+", text)), text


def test_samplers_side_by_side():
    loans = make_loans(400)
    explainer = ARMIN.from_settings(
        loans.classifier, loans.schema, desired="approved", sampler="donors", n_fresh=100
    ).fit(loans.X)
    seen = explainer.compare_samplers(loans.applicant, loans.X, ("donors", "marginal"))
    assert list(seen.plans) == ["donors", "marginal"]
    # the same sampler on the same data is the explainer itself
    assert seen.plans["donors"].cost == explainer.explain(loans.applicant).cost
    assert seen.validity.loc["donors", "donors"] == pytest.approx(explainer.explain(loans.applicant).fresh.share)
    assert explainer.sampler == "donors"
    assert len(explainer.compare_samplers(loans.applicant, loans.X).plans) >= 3
    own = {"rich": lambda row, n, rng: pd.DataFrame({"Income": np.full(n, 44_000)}),
           "poor": lambda row, n, rng: pd.DataFrame({"Income": np.full(n, 9_000)})}  # fmt: skip
    apart = explainer.compare_samplers(loans.applicant, loans.X, own)
    assert not apart.same_advice
    assert apart.sentence.startswith("The advice depends on how the blanks are filled: 2 ways lead to")
    assert str(apart).startswith(apart.sentence)
    same = explainer.compare_samplers(loans.applicant, loans.X, {"one": own["rich"], "two": own["rich"]})
    assert same.sentence.startswith(
        "The advice does not depend on how the blanks are filled: all 2 ways lead to the same"
    )
    for told in (apart, same):
        _german(told.text("de"), *(change.feature.title for plan in told.plans.values() for change in plan.changes))
        assert "wirkt bei: " in told.to_frame("de").columns[-1]


def test_samplers_refusals():
    loans = make_loans(300)
    explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    with pytest.raises(ParameterError, match="at least one sampler"):
        explainer.compare_samplers(loans.applicant, loans.X, ())
    with pytest.raises(ParameterError, match="list of names"):
        explainer.compare_samplers(loans.applicant, loans.X, "donors")
    with pytest.raises(ParameterError, match="must be one of"):
        explainer.compare_samplers(loans.applicant, loans.X, ("guess",))


@pytest.mark.parametrize("kind", ["tilt", "shift"])
def test_a_stress_test_speaks_german_in_print_and_picture(kind):
    pytest.importorskip("matplotlib")
    test = explainer_of(model_of(1, 1, 0, -65)).stress({**ROW, "kind": None}, kind=kind)
    assert len(test.curves) == (2 if kind == "tilt" else 1)
    assert test.text() == str(test)
    assert str(test).startswith(test.sentence)
    assert [m["code"] for m in test.to_dict()["messages"]] == [m.code for m in test.messages]
    names = [curve.feature.title for curve in test.curves if curve.feature is not None]
    _german(test.text("de"), *names)
    ax = test.plot(language="de")
    _german(" ".join([ax.get_xlabel(), ax.get_ylabel(), *(text.get_text() for text in ax.texts)]))
    _german(" ".join(text.get_text() for text in ax.get_legend().get_texts()), *names)
    assert ax.xaxis.get_major_formatter()(0.5, None) == "0,5"
    for against in (False, True):
        both = StressCurve(None, None, (), 1.0, against)
        _german(both.message.text("de"))
        assert both.label == ("all blanks against the plan" if against else "all blanks in the same direction")
