"""Reasons and ideas where people meet them: in a letter, on the command line, in a bundle."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

from armin import ARMIN, Schema
from armin.bundle import inspect_bundle, load_bundle, save_bundle
from armin.cli import app
from armin.datasets import make_loans
from armin.errors import DataError, ParameterError
from armin_desk.letter import write_letter


@pytest.fixture(scope="module")
def loans():
    return make_loans()


@pytest.fixture(scope="module")
def explainer(loans):
    return ARMIN.from_settings(loans.classifier, loans.schema, desired="approved", n_fresh=100).fit(loans.X)


@pytest.fixture(scope="module")
def bundle(explainer, tmp_path_factory):
    return save_bundle(tmp_path_factory.mktemp("why") / "loans.armin", explainer, title="Loans")


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


def flat(text):
    return " ".join(text.split())


def rejected_for_good():
    """A person whom no plan helps, since nothing that may change weighs enough."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 50, (300, 6)), columns=["sex", "late", "years", "cards", "debt", "age"])
    X["sex"] = np.where(X["sex"] < 25, "f", "m")
    score = -2.0 * X["late"] + X["years"] - 1.5 * X["cards"] - X["debt"] + 20 * X["sex"].eq("m") + X["age"]
    y = np.where(score > score.median(), "yes", "no")
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    encoder = make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough")
    model = make_pipeline(encoder, LogisticRegression(max_iter=2000)).fit(X, y)
    with pytest.warns(UserWarning, match="protected"):
        schema = Schema.infer(X, immutable=["late", "years", "cards"], reasons={"late": "R07"})
    row = {"sex": "f", "late": 49, "years": 0, "cards": 49, "debt": 45, "age": 1}
    return ARMIN(model, schema, desired="yes").fit(X), row


# --- the letter -------------------------------------------------------------------------------------------------------


def test_a_letter_without_a_plan_has_four_true_reasons_and_no_protected_one():
    explainer, row = rejected_for_good()
    plan, why = explainer.explain(row), explainer.reasons(row)
    assert plan.outcome == "no_recourse"
    letter = write_letter(plan, row, schema=explainer.schema, reasons=why)
    told = why.statements()
    assert [one.feature.name for one in told][:1] == ["late"]
    assert {one.feature.name for one in told} == {"late", "years", "cards", "debt"}
    assert all(one.weight < 0 for one in told)
    for one in told:
        assert str(one.message) in flat(letter.text)
    assert "[R07]" in letter.text
    section = letter.text.upper().partition("PRINCIPAL REASONS")[2]
    assert "LATE IS 49" in flat(section)
    assert not {"SEX", "AGE", "PROTECTED", "TRAITS"} & set(re.findall(r"\w+", letter.text.upper()))  # nor hinted at
    insisted = write_letter(plan, row, schema=explainer.schema, reasons=why, protected=True)
    assert len(why.statements(protected=True)) == 4
    assert "AGE IS 1" in flat(insisted.text.upper())
    german = write_letter(plan, row, schema=explainer.schema, reasons=why, language="de")
    assert "eschützt" not in flat(german.text)


def test_reasons_must_be_those_of_the_row(explainer, loans):
    plan, other = explainer.explain(loans.applicant), {**loans.applicant, "Age": 33}
    with pytest.raises(DataError, match="found for another row"):
        write_letter(plan, loans.applicant, schema=loans.schema, reasons=explainer.reasons(other))
    with pytest.raises(ParameterError, match="'reasons' must be what"):
        write_letter(plan, loans.applicant, schema=loans.schema, reasons="because")
    without = write_letter(plan, loans.applicant, schema=loans.schema)
    assert "We name what the plan and any other ways ask you to change" in flat(without.text)


def test_nothing_to_name_is_said(explainer, loans):
    why = explainer.reasons(loans.applicant)
    silent = replace(why, each=np.abs(why.each), not_told=None)
    letter = write_letter(explainer.explain(loans.applicant), loans.applicant, schema=loans.schema, reasons=silent)
    assert "No single point weighed against you" in flat(letter.text)
    assert "No single point can be named." in str(silent)


# --- the command line -------------------------------------------------------------------------------------------------


def test_reasons_on_the_command_line(bundle, loans, tmp_path):
    rows = tmp_path / "ada.json"
    rows.write_text(json.dumps(loans.applicant))
    found = run("reasons", rows, "--bundle", bundle)
    assert found.exit_code == 0, found.output
    assert "Your score is" in found.output
    assert "What spoke against" in found.output
    data = json.loads(run("reasons", rows, "--bundle", bundle, "--json", "--reference", "average").output)
    assert data["reference"]["name"] == "average"
    lines = run("reasons", rows, "--bundle", bundle, "--to", "csv").output.splitlines()
    assert lines[0] == "row,feature,weight,low,high,top,untold"
    assert len(lines) == 1 + len(loans.schema)
    lime = json.loads(
        run("reasons", rows, "--bundle", bundle, "--json", "--way", "lime", "--unit", "probability").output
    )
    assert (lime["method"], lime["unit"]) == ("lime", "probability")
    assert "<svg" in run("reasons", rows, "--bundle", bundle, "--to", "html").output


def test_what_if_on_the_command_line(bundle, loans, tmp_path):
    rows = tmp_path / "ada.json"
    rows.write_text(json.dumps(loans.applicant))
    found = run("what-if", rows, "--bundle", bundle, "--change", "ExistingLoans=1")
    assert found.exit_code == 0, found.output
    assert "With your idea the decision is" in found.output
    lines = run("what-if", rows, "--bundle", bundle, "--change", "ExistingLoans=1", "--to", "csv").output.splitlines()
    assert lines[0] == "row,share,cost,enough,advice"
    data = json.loads(run("what-if", rows, "--bundle", bundle, "--change", "ExistingLoans=1", "--json").output)
    assert data["ideas"][0]["after"] == 1
    two = tmp_path / "two.json"
    two.write_text(json.dumps([loans.applicant, loans.applicant]))
    for wrong, said in (
        ("Loans", "must be NAME=VALUE"), ("Debt=1", "'Debt' is not a column"),
        ("ExistingLoans=many", "must be a number"), ("ExistingLoans=99", "must be in"),
    ):  # fmt: skip
        bad = run("what-if", two, "--bundle", bundle, "--change", wrong)
        assert bad.exit_code == 2
        assert bad.output.count(said) == 1
    twice = run("what-if", rows, "--bundle", bundle, "--change", "ExistingLoans=1", "--change", "ExistingLoans=0")
    assert "twice" in twice.output


def test_the_letter_of_the_command_line_states_reasons(bundle, loans, tmp_path):
    rows = tmp_path / "ada.json"
    rows.write_text(json.dumps(loans.applicant))
    found = run("letter", rows, "--bundle", bundle, "--to", "text")
    assert found.exit_code == 0, found.output
    assert "weighed against you in the model" in " ".join(found.output.split())


# --- the bundle -------------------------------------------------------------------------------------------------------


def test_a_bundle_keeps_people_to_compare_with_and_says_so(bundle, explainer, loans):
    assert any(
        "200 training rows as they are, to compare people with" in line for line in inspect_bundle(bundle)["kept"]
    )
    again = load_bundle(bundle).explainer
    here, there = again.reasons(loans.applicant), explainer.reasons(loans.applicant)
    assert here.to_dict() == there.to_dict()


def test_a_bundle_without_people_still_judges_ideas(bundle, loans):
    again = load_bundle(bundle).explainer
    del again.background_
    assert not again.has_people
    found = again.what_if(loans.applicant, {"ExistingLoans": 1})
    assert found.after is None
    assert found.plan.found


def test_a_bundle_may_leave_people_out(explainer, loans, tmp_path):
    file = save_bundle(tmp_path / "lean.armin", explainer, background=False)
    assert not any("compare people with" in line for line in inspect_bundle(file)["kept"])
    with pytest.raises(DataError, match="this explainer keeps none"):
        load_bundle(file).explainer.reasons(loans.applicant)


def test_pack_warns_of_traits_that_the_model_uses():
    from armin.cli.packing import traits

    explainer, _ = rejected_for_good()
    (said,) = traits(explainer)
    assert "Warning: the model uses protected traits: sex and age." in said
    open_schema = Schema(tuple(replace(feature, protected=False) for feature in explainer.schema))
    free = ARMIN(explainer.classifier, open_schema, desired="yes").bind(
        explainer.fitted_.like, cost=explainer.fitted_.cost, sampler=explainer.fitted_.sampler
    )
    (said,) = traits(free)
    assert "not marked so: sex and age" in said
