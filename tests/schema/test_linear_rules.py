"""Linear rules: read from a text, said as a sentence, enforced in the problem, checked again at the end."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from armin import ARMIN, Schema
from armin.actions import build_grid
from armin.errors import AuditError, SchemaError
from armin.explain.advise import pose
from armin.problem.rules import apply_rules, sum_rules
from armin.recourse.audit import check_action
from armin.schema import Feature, Linear, Rule

SCHEMA = Schema(
    (
        Feature("Rent", "integer", lower=0, upper=6),
        Feature("Loan", "integer", lower=0, upper=6, label="the monthly loan"),
        Feature("Income", "integer", lower=0, upper=9, blank="shift"),
        Feature("price of the car", "integer", lower=0, upper=9),
        Feature("city", "categorical", categories=("Bonn", "Kyoto")),
    )
)
SAID = {
    "Loan <= 0.8 * `price of the car`": "the monthly loan must be at most 0.8 × price of the car.",
    "Rent + Loan <= 0.4 * Income": "Rent + the monthly loan must be at most 0.4 × Income.",
    "Income - 2*Rent >= Loan / 2 + 1": "Income − 2 × Rent must be at least 0.5 × the monthly loan + 1.",
    "Rent ≤ 4": "Rent must be at most 4.",
    "Rent + Loan + `price of the car` <= 1_5": "Rent + the monthly loan + price of the car must be at most 15.",
}  # fmt: skip
RULES = [Linear(text) for text in SAID]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_rule_is_a_sentence_and_survives_a_file(rule: Linear) -> None:
    schema = SCHEMA.with_rules(rule)
    assert str(rule.message(schema)) == SAID[rule.text]
    assert Schema.from_toml(schema.to_toml()) == schema


def test_a_rule_in_german() -> None:
    said = Linear("Rent + Loan <= 0.4 * Income").message(SCHEMA).text("de")
    assert said == "Rent + the monthly loan darf nicht mehr sein als 0,4 × Income."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Rent + Loan", "cannot be read"),
        ("Rent <= Loan <= Income", "cannot be read"),
        ("Rent < Loan <= 3", "cannot be read at"),
        ("Rent * Loan <= 3", "cannot be read at 'Loan'"),
        ("0.4 * (Rent + Loan) <= 3", "cannot be read at"),
        ("Rent Loan <= 3", "lacks a sign before 'Loan'"),
        ("Rent + <= 3", "cannot be read at 'its end'"),
        ("Rent <=", "lacks a side"),
        ("Rent / 0 <= 3", "cannot be read at"),
        ("3 <= 4", "says nothing about any column"),
        ("Rent <= Rent", "says nothing about any column"),
        ("Rent <= 2 * Wealth", "'Wealth' is not a column"),
        ("Rent <= 2 * city", "'city' is categorical"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, message: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(message)):
        SCHEMA.with_rules(Linear(text))


def test_a_factor_that_is_said_twice_counts_twice() -> None:
    rule = Linear("Rent + Rent + 1 <= 3 * Loan - 2")
    assert (rule.factors, rule.most) == ({"Rent": 2.0, "Loan": -3.0}, -3.0)


def test_rounding_breaks_no_rule() -> None:
    """0.1 * 3 is more than 0.3 to a computer."""
    rule = Linear("0.1 * Rent <= 0.3")
    codes = np.array([[3.0, 0, 0, 0, 0], [4.0, 0, 0, 0, 0]])
    assert rule.fits(SCHEMA, codes).tolist() == [True, False]


def row_with_blanks(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    high = np.array([f.high_code for f in SCHEMA])
    candidates = np.repeat(np.floor(rng.uniform(size=(1, 5)) * (high + 1)), 4, axis=0)
    row = candidates[0].copy()
    for i in rng.choice(4, int(rng.integers(0, 3)), replace=False):
        row[i] = np.nan
        candidates[:, i] = np.floor(rng.uniform(size=4) * (high[i] + 1))
    return row, candidates


@settings(deadline=None, max_examples=100, derandomize=True)
@given(seed=st.integers(0, 10**6), which=st.sets(st.integers(0, len(RULES) - 1), min_size=1, max_size=3))
def test_the_problem_allows_exactly_what_the_rules_allow(seed: int, which: set[int]) -> None:
    """Whether three features of a rule can move, or two, or one, or none."""
    rng = np.random.default_rng(seed)
    schema = SCHEMA.with_rules(*(RULES[i] for i in sorted(which)))
    row, candidates = row_with_blanks(rng)
    locked = frozenset(name for name in schema.names if rng.uniform() < 0.25)
    full = build_grid(schema, row, candidates, max_options=3, frozen=locked)
    thinned, pairs = apply_rules(full, candidates)
    sums = sum_rules(thinned, candidates)
    kept = set()
    for c in itertools.product(*(range(m.size) for m in thinned.moves)):
        if all(pair.allowed[c[pair.first], c[pair.second]] for pair in pairs) and all(s.allows(c) for s in sums):
            named = ((m.position, m.targets[j]) for m, j in zip(thinned.moves, c, strict=True))
            kept.add(frozenset((p, t) for p, t in named if not np.isnan(t)))
    wanted = set()
    for choice in itertools.product(*(range(m.size) for m in full.moves)):
        after = full.apply(choice, candidates)
        if all(rule.allows(schema, candidates, after).all() for rule in schema.rules):
            picked = zip(full.moves, choice, strict=True)
            wanted.add(frozenset((m.position, m.targets[j]) for m, j in picked if j))
    assert kept == wanted


@settings(deadline=None, max_examples=40, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_a_table_is_what_asking_about_every_pair_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    row, candidates = row_with_blanks(rng)
    moves = build_grid(SCHEMA, row, candidates, max_options=4).moves
    for rule in RULES:
        for first, second in itertools.permutations(moves, 2):
            table = rule.table(SCHEMA, first, second, candidates)
            np.testing.assert_array_equal(table, Rule.table(rule, SCHEMA, first, second, candidates))


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_last_check_knows_the_rule(rule: Linear) -> None:
    schema, rng, refused = SCHEMA.with_rules(rule), np.random.default_rng(0), 0
    for _ in range(200):
        before, after = (np.floor(rng.uniform(size=(2, 5)) * [7, 7, 10, 10, 2]) for _ in range(2))
        if rule.allows(schema, before, after).all():
            check_action(schema, before[0], before, after, max_changes=None)
        else:
            with pytest.raises(AuditError, match="breaks a rule"):
                check_action(schema, before[0], before, after, max_changes=None)
            refused += 1
    assert refused


def budget() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"rent": rng.integers(2, 12, 400), "loan": rng.integers(0, 12, 400)})
    X["income"] = X["rent"] + X["loan"] + rng.integers(0, 15, 400)
    X["savings"] = rng.integers(0, 30, 400)
    return X, np.where(X["savings"] + 2 * X["loan"] - X["rent"] > 14, "yes", "no")


@pytest.mark.parametrize("model", [LogisticRegression(), DecisionTreeClassifier(max_depth=4, random_state=0)], ids=str)
@pytest.mark.parametrize("method", ["enumerate", "search", "milo"])
def test_advice_obeys_the_rule_end_to_end(model: object, method: str) -> None:
    X, y = budget()
    rule = Linear("rent + loan <= 0.6 * income")
    options = {
        "desired": "yes",
        "n_samples": 8,
        "n_fresh": 0,
        "max_options": 6,
        "method": method,
        "max_changes": 3,
        "grid": "human",
    }
    model = type(model)(**model.get_params()).fit(X, y)  # type: ignore[attr-defined]
    schema = Schema.infer(X, immutable=["savings"])
    free, ruled = (ARMIN.from_settings(model, one, **options).fit(X) for one in (schema, schema.with_rules(rule)))
    dearer = 0
    for loan in (1, 3):
        row = {"rent": 5, "loan": loan, "income": 14, "savings": None}
        one, other = free.explain(row), ruled.explain(row)
        if other.cost is not None and one.cost is not None:
            assert other.cost >= one.cost - 1e-9
            dearer += other.cost > one.cost + 1e-9
            after = {c.feature.name: c.after for c in other.changes if c.after is not None}
            values = row | after
            assert values["rent"] + values["loan"] <= 0.6 * values["income"] + 1e-6
    assert dearer, "the rule was never binding: the test shows nothing"


def test_completions_that_break_the_rule_are_not_plausible() -> None:
    X, y = budget()
    schema = Schema.infer(X).with_rules(Linear("rent + loan <= income"))
    explainer = ARMIN.from_settings(
        LogisticRegression().fit(X, y), schema, desired="yes", sampler="uniform", n_fresh=0
    ).fit(X)
    row = schema.encode({"rent": 8, "loan": None, "income": 15, "savings": 3})[0]
    sample = pose(explainer.current, row, (), 0.75).sample
    assert (sample.values[:, 0] + sample.values[:, 1] <= sample.values[:, 2]).all()
