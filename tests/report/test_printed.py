"""How answers look where people read them: printed, in a notebook, in the console, in English and in German."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import Any

import pytest
from sklearn.linear_model import LogisticRegression

from armin import ARMIN, ExpertOptions
from armin.datasets import make_loans
from armin.sampling.assess import assess
from armin.schema import Feature, Order, Schema
from armin.words import Name, Printable, Quantity

LOANS = make_loans(300)
RAW = re.compile(
    r"\b(Name|Message|Quantity|Feature|Schema|Change|array|Fitted)\(|<[\w.]+ object|dtype=|\bnan\b|\bNone\b"
)


@cache
def answers() -> dict[str, Any]:
    settings = {"desired": "approved", "n_samples": 10, "n_fresh": 30}
    explainer = ARMIN.from_settings(LOANS.classifier, LOANS.schema, **settings).fit(LOANS.X)
    half = len(LOANS.X) // 2
    promised = ARMIN.from_settings(LOANS.classifier, LOANS.schema, promise=0.6, **settings)
    promised.fit(LOANS.X[:half], people=LOANS.X[half:])
    row = LOANS.applicant
    plan, ask, why = explainer.explain(row), explainer.ask(row, n_values=3), explainer.reasons(row)
    stress = explainer.stress({**row, "Purpose": None})
    review = LOANS.schema.update(protected=[], mutable=["Age"]).review()
    return {
        "explain": plan,
        "change": plan.changes[0],
        "certificate": plan.certificate,
        "promise": promised.explain(row),
        "calibration": promised.tested(row),
        "path": explainer.path(row),
        "alternatives": explainer.alternatives(row),
        "none": type(explainer.alternatives(row))(),
        "ask": ask,
        "question": ask.questions[0],
        "what_if": explainer.what_if(row, {"ExistingLoans": 1}),
        "reasons": why,
        "standing": why.standing,
        "statement": why.statements()[0],
        "stress": stress,
        "curve": stress.curves[1],
        "compare": explainer.compare_samplers(row, LOANS.X, ("donors", "marginal")),
        "many": explainer.explain_many(LOANS.X.head(3).assign(Age=[30, 1000, 40])),
        "failure": explainer.explain_many(LOANS.X.head(1).assign(Age=1000))[0],
        "recheck": explainer.recheck(plan, row),
        "assess": assess("marginal", LOANS.X, schema=LOANS.schema, n_draws=10),
        "review": review,
        "asked": next(iter(review)),
    }


NAMES = (
    "explain", "change", "certificate", "promise", "calibration", "path", "alternatives", "none", "ask", "question",
    "what_if", "reasons", "standing", "statement", "stress", "curve", "compare", "many", "failure", "recheck", "assess",
    "review", "asked",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_no_form_of_an_answer_shows_what_is_inside(name: str) -> None:
    answer = answers()[name]
    assert isinstance(answer, Printable)
    forms = [repr(answer), str(answer), answer._repr_html_()]
    forms += [form(language) for form in (answer.text, answer.html) for language in ("en", "de")]
    for form in forms:
        assert form
        assert not RAW.search(form), form
    assert str(answer).startswith(answer.text("en"))
    assert answer._repr_html_() == answer.html("en")
    assert "\n" not in repr(answer)
    assert len(repr(answer)) < 500
    assert repr(answer).startswith(f"<{type(answer).__name__}: ")


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("curve",)])
def test_what_is_german_is_german_in_html_too(name: str) -> None:
    answer = answers()[name]
    assert answer.html("de") != answer.html("en")
    english = re.sub(r"<[^>]*>", " ", answer.html("de"))
    assert not re.search(r"\b(the plan|works for|what to do|no cheaper|acting now|your score)\b", english.lower())


def test_a_stress_test_names_its_blanks() -> None:
    test = answers()["stress"]
    names = [curve.text() for curve in test.curves]
    assert "Income" in names
    for name in names:
        assert f"<td style='text-align:left'>{escape(name)}</td>" in test.html()


def test_names_and_quantities_say_themselves() -> None:
    assert f"{Name('labels', 'income', 'your income')} of {Quantity(34500, '€')}" == "your income of €34,500"


def test_an_explainer_and_its_schema_are_read_at_a_glance() -> None:
    features = tuple(Feature(f"column{i}", "integer", lower=0, upper=9) for i in range(80))
    schema = Schema(features).with_rules(Order(("column2", "column1")))
    short = "<Schema: 80 features (column0, column1, column2, column3, column4, column5, …), 1 rule>"
    assert repr(schema) == short
    explainer = ARMIN(LogisticRegression(), schema, desired="yes", options=ExpertOptions(time_limit=5.0))
    assert repr(explainer).splitlines() == [
        "ARMIN, not fitted",
        "  classifier: LogisticRegression",
        f"  schema: {short[9:-1]}",
        "  desired: 'yes'",
        "  time_limit: 5.0",
    ]


def test_a_fitted_explainer_is_a_few_short_lines() -> None:
    explainer = ARMIN(LOANS.classifier, LOANS.schema, desired="approved", cost=lambda *_: 1.0, max_changes=None)
    lines = repr(explainer.fit(LOANS.X)).splitlines()
    assert lines[0] == "ARMIN, fitted"
    assert lines[1].endswith("ColumnTransformer, LogisticRegression; read as LinearModel")
    assert [line.split(":")[0].strip() for line in lines[4:]] == ["max_changes", "cost"]
    assert max(map(len, lines)) <= 122


def test_a_schema_in_a_notebook_is_a_table() -> None:
    schema = Schema(tuple(Feature(f"column{i}", "integer", lower=0, upper=9) for i in range(80)))
    assert "column79" in schema._repr_html_()
    assert not RAW.search(answers()["review"].text())
    assert "Feature(" not in ARMIN("a model", schema, desired="yes")._repr_html_()
