"""What if: an idea is judged like a plan, and the way from there keeps it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armin import ARMIN
from armin.datasets import make_loans
from armin.errors import DataError, SchemaError
from armin.schema import Together

from worlds import MODELS, make_world

LAW = settings(deadline=None, max_examples=8)


@LAW
@given(seed=st.integers(0, 500), kind=st.sampled_from(sorted(MODELS)))
def test_a_plan_as_an_idea_is_judged_as_the_plan_was(seed, kind):
    """Changes of told features, taken as an idea, work for as many fresh completions and cost the same."""
    world = make_world(seed, kind, blanks=1)
    explainer = ARMIN.from_settings(world.classifier, world.schema, desired="yes", sampler="marginal", n_fresh=200).fit(
        world.X
    )
    plan = explainer.explain(world.row)
    if not plan.changes or any(change.mode != "observed" for change in plan.changes):
        return
    found = explainer.what_if(world.row, {change.feature.name: change.after for change in plan.changes})
    assert found.cost == pytest.approx(plan.cost, rel=1e-9)
    assert found.now.share == pytest.approx(plan.fresh.share, abs=1e-12)
    assert found.allowed


@LAW
@given(seed=st.integers(0, 500), kind=st.sampled_from(["linear", "forest"]))
def test_the_way_from_there_keeps_the_idea_and_works(seed, kind):
    world = make_world(seed, kind, blanks=1)
    explainer = ARMIN.from_settings(world.classifier, world.schema, desired="yes", sampler="marginal", n_fresh=200).fit(
        world.X
    )
    told = [f for f in world.schema if f.is_number and world.row[f.name] is not None]
    if not told:
        return
    feature = told[0]
    idea = {feature.name: feature.value(feature.high_code)}
    found = explainer.what_if(world.row, idea)
    if found.enough:
        assert found.plan is None
        return
    assert feature.name not in {change.feature.name for change in found.plan.changes}
    if found.plan.found and found.plan.changes:
        assert found.plan.share >= found.now.share - 1e-9
        assert any(message.code == "what_if.no_way" for message in found.messages) is False


def test_a_complete_row_with_an_idea_is_asked_about_as_it_is():
    world = make_world(1, "linear")
    explainer = ARMIN(world.classifier, world.schema, desired="yes").fit(world.X)
    row = world.X.iloc[[int(np.flatnonzero(world.classifier.predict(world.X) == "no")[0])]]
    for amount in range(7):
        found = explainer.what_if(row, {"amount": amount})
        says = world.classifier.predict(row.assign(amount=amount))[0] == "yes"
        assert found.now.share == float(says)
        assert found.after.score >= found.after.threshold if says else found.after.score < found.after.threshold
        if not says and found.plan.found:
            after = found.plan.apply(row.assign(amount=amount))
            assert world.classifier.predict(after)[0] == "yes"


def test_blanks_are_as_the_decision_without_the_idea_has_them():
    """Completions that only the idea makes accepted must not be ruled out as contradicting the rejection."""
    loans = make_loans()
    explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    found = explainer.what_if(loans.applicant, {"ExistingLoans": 1})
    assert 0 < found.now.share < 0.75
    assert found.as_is.share == 0.0
    assert found.plan.found
    assert found.plan.share >= 0.75
    assert "ExistingLoans" not in {change.feature.name for change in found.plan.changes}
    assert found.after.score > found.before.score
    data = found.to_dict()
    assert data["format"] == "armin.what-if/1"
    assert data["plan"]["outcome"] == "plan"
    assert "then also" in str(found).lower()
    assert found.text("de") != found.text()
    assert found.html() == found._repr_html_()


def test_an_idea_that_plans_may_not_ask_for_is_judged_and_said():
    loans = make_loans()
    explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    found = explainer.what_if(loans.applicant, {"Age": 60})
    assert not found.allowed
    assert "'Age' is immutable" in found.why
    assert "A plan would not ask for this. Plans leave Age as it is." in str(found)
    assert "Ein Plan würde das nicht verlangen." in found.text("de")
    locked = explainer.what_if(loans.applicant, {"ExistingLoans": 1}, locked=["ExistingLoans"])
    assert "locked" in locked.why
    assert "You said that the number of existing loans cannot change." in str(locked)


def test_all_that_stands_in_the_way_is_said_in_words():
    loans = make_loans()
    schema = loans.schema.update(increase_only=["Income"], decrease_only=["ExistingLoans"]).with_rules(
        Together(("Purpose", "Income"))
    )
    explainer = ARMIN(loans.classifier, schema, desired="approved").fit(loans.X)
    row = {**loans.applicant, "Income": 40_000}
    found = explainer.what_if(row, {"Income": 39_000, "ExistingLoans": 3, "Age": 50})
    assert {one.code for one in found.barred} == {
        "what_if.fixed", "what_if.only_down", "what_if.only_up", "rules.together"
    }  # fmt: skip
    assert str(found).count("A plan would not ask for this.") == len(found.barred)


def test_refusals():
    loans = make_loans()
    explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    with pytest.raises(SchemaError, match="'Debt' is not a column"):
        explainer.what_if(loans.applicant, {"Debt": 1})
    with pytest.raises(DataError, match="must be in"):
        explainer.what_if(loans.applicant, {"ExistingLoans": 99})
    with pytest.raises(DataError, match="An idea must say which value 'Income' would have"):
        explainer.what_if(loans.applicant, {"Income": None})
    with pytest.raises(DataError, match="An idea must map columns to values"):
        explainer.what_if(loans.applicant, ["Income"])
    nothing = explainer.what_if(loans.applicant, {"ExistingLoans": loans.applicant["ExistingLoans"]})
    assert nothing.ideas == ()
    assert nothing.cost == 0.0
    assert "changes nothing" in str(nothing)
