"""The comparison with other methods: one judge for all, and what is not installed is named."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab.benchmarks.cells import Cell
from lab.benchmarks.peers.base import AbsentError, Found, Peer, ask_each, require
from lab.benchmarks.peers.judged import Verdict, broken_by, code_of, judge
from lab.benchmarks.peers.ours import ours
from lab.benchmarks.peers.run import plain, run_cell
from lab.benchmarks.peers.table import Line, line, table
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from armin import ARMIN, Feature, Schema


@pytest.fixture(scope="module")
def cell() -> Cell:
    """Income and debts decide; age may not change, savings may only grow."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 300),
            "income": rng.integers(10, 90, 300),
            "savings": rng.integers(0, 50, 300),
            "home": pd.Categorical(rng.choice(["owns", "rents"], 300), categories=["owns", "rents"]),
        }
    )
    y = (X["income"] + X["savings"] + rng.normal(0, 3, 300) < 75).astype(int).to_numpy()
    schema = Schema.infer(X, immutable=["age"], increase_only=["savings"])
    encoder = make_column_transformer((OneHotEncoder(), ["home"]), remainder="passthrough")
    model = make_pipeline(encoder, LogisticRegression(max_iter=1000)).fit(X, y)
    explainer = ARMIN.from_settings(model, schema, desired=0, decision="complete", n_fresh=0).fit(X)
    rows = X[model.predict(X) == 1].head(5)
    return Cell("small", "LR", explainer, rows, rows, X, y)


AGE = Feature("age", "integer", lower=18, upper=90, direction="fixed")
SAVINGS = Feature("savings", "continuous", lower=0, upper=50, direction="increase")
DEBTS = Feature("debts", "integer", lower=0, upper=9, direction="decrease")
HOME = Feature("home", "categorical", categories=("owns", "rents"))


@pytest.mark.parametrize(
    ("feature", "before", "value", "words"),
    [
        (AGE, 30, 30, set()),
        (AGE, 30, 31, {"immutable"}),
        (AGE, 90, 95, {"bounds"}),
        (SAVINGS, 20, 20.5, set()),
        (SAVINGS, 20, 19.5, {"direction"}),
        (SAVINGS, 20, 51, {"bounds"}),
        (SAVINGS, 20, -1, {"bounds", "direction"}),
        (SAVINGS, 20, "much", {"kind"}),
        (DEBTS, 3, 2, set()),
        (DEBTS, 3, 4, {"direction"}),
        (DEBTS, 3, 2.5, {"kind"}),
        (HOME, 0, "rents", set()),
        (HOME, 0, "borrows", {"category"}),
    ],
)
def test_constraints_that_are_broken_are_named(feature, before, value, words):
    assert broken_by(feature, value, float(before), code_of(feature, value)) == words


@given(st.sampled_from([AGE, SAVINGS, DEBTS, HOME]), st.data())
def test_staying_breaks_nothing(feature, data):
    legal = range(int(feature.low_code), int(feature.high_code) + 1)
    value = feature.value(float(data.draw(st.sampled_from(legal))))
    assert broken_by(feature, value, feature.code(value), code_of(feature, value)) == set()


def test_a_plan_is_judged_by_model_schema_and_cost(cell):
    row = cell.complete.iloc[[0]]
    stay = judge(cell, row, row)
    assert stay == Verdict(valid=False, broken=(), cost=0.0, changes=0)
    rich = judge(cell, row, row.assign(income=89, age=row["age"] + 1))
    assert rich.valid
    assert rich.broken == ("immutable",)
    assert rich.changes == 2
    assert rich.cost > 0
    assert judge(cell, row, row.assign(home="borrows")) == Verdict(False, ("category",), math.inf, 1)


def test_the_judge_agrees_with_the_answer_about_its_cost(cell):
    row = cell.complete.iloc[[1]]
    answer = cell.explainer.explain(row)
    verdict = judge(cell, row, answer.apply(row))
    assert verdict.valid
    assert verdict.broken == ()
    assert verdict.cost == pytest.approx(answer.cost)
    assert verdict.changes == len(answer.changes)


def test_peers_side_by_side(cell):
    def richer(cell, rows):
        return ask_each(rows, lambda row: row.assign(income=89, savings=0))

    def nothing(cell, rows):
        return ask_each(rows, lambda row: None)

    def broken(cell, rows):
        raise RuntimeError("cannot be set up")

    def gone(cell, rows):
        require("no_such_package", "pip install it")

    peers = [
        Peer("ours", ours), Peer("richer", richer, most=2), Peer("nothing", nothing), Peer("broken", broken),
        Peer("gone", gone),
    ]  # fmt: skip
    us, rich, none, failed, absent = run_cell(cell, peers)
    assert (us.people, us.plans, us.valid, us.broken, us.kept) == (4, 4, 4, 0, 4)  # the first is asked uncounted
    assert (us.cost_valid, us.cost_kept, us.cheaper, us.cpu_ratio) == (1, 1, 0, 1)
    assert rich.people == 2
    assert rich.valid == 2
    assert rich.broken_by == ("direction",)
    assert rich.cost_valid > 1
    assert math.isnan(rich.cost_kept)
    assert (none.people, none.plans) == (4, 0)
    assert failed.reason == "failed: RuntimeError"
    assert absent.reason == "not installed: pip install it"
    head, _, *lines = table([us, rich, none, failed, absent]).split("\n")
    assert {text.count("|") for text in lines} == {head.count("|")}
    json.dumps([plain(one) for one in (us, rich, none, failed, absent)], allow_nan=False)


def test_an_exception_is_an_answer_that_was_not_found(cell):
    def fail(row):
        raise ValueError("too hard")

    (found,) = ask_each(cell.complete.head(1), fail)
    assert found.plan is None
    assert found.note == "ValueError: too hard"
    assert line("d", "m", "p", [found], [None], [found], [1.0]).reason == "raised ValueError"


def test_require_says_how_to_get_it():
    require("numpy", "unneeded")
    with pytest.raises(AbsentError, match="not installed: like this"):
        require("no_such_package", "like this")


def test_a_line_sums_up_the_same_people():
    base = [Found(None, 0.1, 0.01), Found(None, 0.1, 0.03), Found(None, 9.0, 9.0)]
    found = [Found(None, 0.2, 0.04), Found(None, 0.4, 0.04)]
    verdicts = [Verdict(True, (), 3.0, 1), Verdict(True, ("bounds",), 8.0, 3)]
    got = line("d", "m", "p", found, verdicts, base, [4.0, 2.0, 1.0])
    assert got == Line(
        "d", "m", "p", people=2, plans=2, valid=2, broken=1, broken_by=("bounds",), kept=1, cpu_ms=40.0,
        cpu_p95_ms=40.0, wall_ms=pytest.approx(300.0), cpu_ratio=pytest.approx(2.0), cost_valid=(0.75 + 4) / 2,
        cost_kept=0.75, cheaper=1, changes=2.0,
    )  # fmt: skip
