"""A cost as one person feels it, and how a form shows a column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armin import ARMIN, Feature, Schema
from armin.costs import MaxPercentileShift, NumberOfChanges, TotalLogPercentileShift, WeightedL1, WeightedL2, personal
from armin.datasets import make_loans
from armin.errors import ParameterError, SchemaError

FRAME = pd.DataFrame({"a": np.arange(60), "b": np.tile(["x", "y", "z"], 20), "c": np.linspace(0, 1, 60)})
SCHEMA = Schema.infer(FRAME)
COSTS = (TotalLogPercentileShift, MaxPercentileShift, NumberOfChanges, WeightedL1, WeightedL2)


@pytest.mark.parametrize("make", COSTS)
@given(factor=st.floats(0.01, 100), start=st.integers(0, 59), end=st.integers(0, 59))
@settings(max_examples=30, deadline=None)
def test_one_change_costs_so_many_times_what_it_usually_does(make, factor, start, end):
    cost = make().fit(SCHEMA.encode(FRAME), SCHEMA)
    felt = personal(cost, {"a": factor}, SCHEMA)
    before, after = np.array([float(start)]), np.array([[float(start), float(end)]])
    usual, own = cost.table(0, before, after)[0], felt.table(0, before, after)[0]
    assert own[0] == usual[0] == 0
    assert felt.finish(float(own[1])) == pytest.approx(factor * cost.finish(float(usual[1])), rel=1e-9)
    # what is not named stays as it is
    assert np.array_equal(cost.table(2, before / 59, after / 59), felt.table(2, before / 59, after / 59))


@given(factor=st.floats(1.0, 20.0))
@settings(max_examples=8, deadline=None)
def test_what_becomes_harder_never_makes_the_plan_easier(factor):
    loans = LOANS
    usual = EXPLAINER.explain(loans.person)
    felt = EXPLAINER.with_difficulty({"ExistingLoans": factor}).explain(loans.person)
    assert usual.cost - 1e-9 <= felt.cost <= factor * usual.cost + 1e-9
    assert felt.cost_name == usual.cost_name


LOANS = make_loans()
EXPLAINER = ARMIN(LOANS.classifier, LOANS.schema, desired="approved").fit(LOANS.X)


def test_the_explainer_itself_is_left_alone():
    before = EXPLAINER.explain(LOANS.applicant).to_dict()
    EXPLAINER.with_difficulty({"ExistingLoans": "very hard"}).explain(LOANS.applicant)
    after = EXPLAINER.explain(LOANS.applicant).to_dict()
    assert before["changes"] == after["changes"]


@pytest.mark.parametrize(
    ("said", "wanted"),
    [({"Shoes": "hard"}, "not a column"), ({"Income": "terrible"}, "one of easy"), ({"Income": 0}, "positive number"),
     ({"Income": float("nan")}, "positive number"), ({"Income": True}, "positive number")],
)  # fmt: skip
def test_a_difficulty_that_cannot_be_meant_is_refused(said, wanted):
    with pytest.raises(ParameterError, match=wanted):
        EXPLAINER.with_difficulty(said)


def test_a_promise_is_not_made_for_costs_it_was_not_tested_with():
    promising = ARMIN(LOANS.classifier, LOANS.schema, desired="approved", promise=0.9).fit(LOANS.X)
    assert promising.with_difficulty({"Purpose": "hard"}).promise is None
    assert promising.promise is not None


def test_a_form_survives_its_file():
    schema = SCHEMA.with_form(
        a={"group": "Money", "order": 2, "help": "In a year.", "example": "12", "short": "A"},
        b={"values": {"x": "the first", "y": 'with "quotes"'}},
    )
    again = Schema.from_toml(schema.to_toml())
    assert again == schema
    assert again["b"].show("x") == "the first"
    assert again["b"].show("z") == "z"
    assert schema.with_form(a={"group": "Home"})["a"].shown.help == "In a year."


@pytest.mark.parametrize(
    ("said", "wanted"),
    [({"a": {"colour": "red"}}, "knows no 'colour'"), ({"a": {"order": "first"}}, "must be a number"),
     ({"a": {"help": 3}}, "must be a text"), ({"b": {"values": ["x"]}}, "table of category"),
     ({"b": {"values": {"w": "none"}}}, "not one of its categories"), ({"d": {"help": ""}}, "not a column")],
)  # fmt: skip
def test_a_form_that_cannot_be_meant_is_refused(said, wanted):
    with pytest.raises(SchemaError, match=wanted):
        SCHEMA.with_form(**said)


def test_a_feature_with_a_form_can_be_hashed():
    shown = Schema((Feature("a", "integer", lower=0, upper=9),)).with_form(a={"values": {}})["a"].shown
    assert hash(shown) == hash(Feature("b", "integer", lower=0, upper=9).shown)
