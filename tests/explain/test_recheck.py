"""Plans that are kept: read back from their dictionaries, told where they come from, and judged again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

from armin import ARMIN, Schema
from armin.baselines import ImputationAR, RobustAR
from armin.bundle import inspect_bundle, load_bundle, save_bundle
from armin.cli import app
from armin.datasets import make_loans
from armin.errors import DataError, SchemaError
from armin.recourse import Recourse
from armin.recourse.origin import short
from armin.schema import Linear
from armin_desk.letter import write_letter

from worlds import MODELS, make_world

# read back


@settings(max_examples=6, deadline=None, phases=[Phase.generate])
@given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(sorted(MODELS)),
    method=st.sampled_from([ARMIN, RobustAR, ImputationAR]),
    blanks=st.integers(0, 2),
)
def test_an_answer_survives_its_dictionary(seed: int, kind: str, method: Any, blanks: int) -> None:
    world = make_world(seed, kind, blanks=blanks)
    options = {} if method is ImputationAR else {"n_samples": 8}
    explainer = method.from_settings(
        world.classifier, world.schema, desired="yes", n_fresh=20, max_options=5, **options
    )
    answer = explainer.fit(world.X).explain(world.row)
    for twin in (
        Recourse.from_dict(answer.to_dict() | {"row": 7}, world.schema),
        Recourse.from_json(answer.to_json(), world.schema),
    ):
        assert json.loads(twin.to_json()) == json.loads(answer.to_json())
        assert str(twin) == str(answer)
        np.testing.assert_array_equal(
            twin.apply_codes(world.schema, world.schema.encode(world.X.iloc[:5])),
            answer.apply_codes(world.schema, world.schema.encode(world.X.iloc[:5])),
        )


@pytest.fixture(scope="module")
def loans() -> Any:
    return make_loans()


@pytest.fixture(scope="module")
def explainer(loans: Any) -> ARMIN:
    return ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)


@pytest.fixture(scope="module")
def plan(loans: Any, explainer: ARMIN) -> Recourse:
    return explainer.explain(loans.applicant)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "armin.recourse/9"}, "Got 'armin.recourse/9' instead"),
        ({"status": "fine"}, "damaged (ValueError"),
        ({"cost": None}, "damaged (TypeError"),
    ],
)
def test_what_is_no_answer_is_refused(plan: Recourse, loans: Any, change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        Recourse.from_dict(plan.to_dict() | change, loans.schema)


def test_other_texts_are_refused(plan: Recourse, loans: Any) -> None:
    for text in ("{", "[1]"):
        with pytest.raises(DataError, match="A kept answer must be"):
            Recourse.from_json(text, loans.schema)
    with pytest.raises(SchemaError, match="not a column"):
        Recourse.from_json(plan.to_json(), Schema.infer(pd.DataFrame({"x": [1, 2]})))


# judged again


@settings(max_examples=5, deadline=None, phases=[Phase.generate])
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(sorted(MODELS)), blanks=st.integers(0, 2))
def test_the_same_explainer_says_the_same_share(seed: int, kind: str, blanks: int) -> None:
    world = make_world(seed, kind, blanks=blanks)
    one = ARMIN.from_settings(
        world.classifier, world.schema, desired="yes", n_samples=8, n_fresh=40, max_options=5
    ).fit(world.X)
    answer = one.explain(world.row)
    found = one.recheck(answer, world.row)
    if not answer.found:
        assert found.verdict == "no_plan"
        return
    assert found.now is not None
    assert found.now.share == pytest.approx(answer.share)
    assert found.same_schema
    if found.verdict != "accepted":
        assert (found.verdict == "holds") == (answer.share >= (answer.confidence or answer.share) - 1e-9)


def refit(loans: Any, y: Any) -> ARMIN:
    model = make_loans().classifier
    steps = model.steps
    steps[-1] = (steps[-1][0], LogisticRegression(max_iter=500))
    return ARMIN(model.fit(loans.X, y), loans.schema, desired="approved").fit(loans.X)


@pytest.fixture(scope="module")
def harder(loans: Any) -> ARMIN:
    """Approves only above an income that hardly anybody has."""
    return refit(loans, np.where(loans.X["Income"] > loans.X["Income"].quantile(0.97), "approved", "rejected"))


def test_a_model_that_asks_for_more(loans: Any, plan: Recourse, harder: ARMIN) -> None:
    found = harder.recheck(plan, loans.applicant)
    assert found.verdict == "falls_short"
    assert found.now.share < 0.5 < found.before
    assert "were asked for" in str(found)
    assert found.text("de").startswith("Der Plan wirkt jetzt nur für")


def test_a_model_that_accepts_as_things_stand(loans: Any, plan: Recourse) -> None:
    y = np.where(loans.X["Age"] > 20, "approved", "rejected")
    y[:5] = "rejected"
    found = refit(loans, y).recheck(plan, loans.applicant)
    assert (found.verdict, found.fine) == ("accepted", True)


def test_a_change_that_is_forbidden_now(loans: Any, plan: Recourse) -> None:
    changed = [change.feature.name for change in plan.changes]
    assert changed == ["ExistingLoans"]
    fixed = ARMIN(loans.classifier, loans.schema.update(immutable=changed), desired="approved").fit(loans.X)
    found = fixed.recheck(plan, loans.applicant)
    assert (found.verdict, found.same_schema) == ("not_allowed", False)
    assert "'ExistingLoans' is immutable" in str(found)
    ruled = loans.schema.with_rules(Linear("Age <= 20 * ExistingLoans + 20"))
    found = ARMIN(loans.classifier, ruled, desired="approved").fit(loans.X).recheck(plan, loans.applicant)
    assert "breaks a rule" in found.why
    locked = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    assert locked.recheck(plan, loans.applicant, locked=changed).verdict == "not_allowed"


def test_a_value_that_is_gone(loans: Any, plan: Recourse) -> None:
    schema = loans.schema.update(bounds={"ExistingLoans": (1, 6)})
    narrow = ARMIN(loans.classifier, schema, desired="approved").fit(loans.X[loans.X["ExistingLoans"] >= 1])
    found = narrow.recheck(plan, loans.applicant)
    assert (found.verdict, found.now) == ("does_not_fit", None)
    assert "'ExistingLoans' must be in [1, 6]" in str(found)


# where an answer comes from


def test_fingerprints(explainer: ARMIN, harder: ARMIN, loans: Any, tmp_path: Path) -> None:
    pytest.importorskip("skops")
    one = inspect_bundle(save_bundle(tmp_path / "one.armin", explainer, title="One"))["fingerprint"]
    two = inspect_bundle(save_bundle(tmp_path / "two.armin", explainer, title="Two"))["fingerprint"]
    assert one == two
    other = inspect_bundle(save_bundle(tmp_path / "three.armin", harder))["fingerprint"]
    assert one["model"] != other["model"]
    assert (one["schema"], one["bundle"] != other["bundle"]) == (other["schema"], True)
    loaded = load_bundle(tmp_path / "one.armin").explainer
    answer, fresh = loaded.explain(loans.applicant), explainer.explain(loans.applicant)
    assert answer == fresh
    assert answer.certificate.to_dict()["fingerprint"] == one
    assert fresh.certificate.to_dict()["fingerprint"] == {"model": None, "schema": one["schema"], "bundle": None}
    assert short(one["model"]) in write_letter(answer, loans.applicant, schema=loans.schema).text
    assert "Model" not in write_letter(fresh, loans.applicant, schema=loans.schema).text
    kept = Recourse.from_json(answer.to_json(), loans.schema)
    found = load_bundle(tmp_path / "three.armin").explainer.recheck(kept, loans.applicant)
    assert (found.same_model, found.same_schema) == (False, True)


# on the command line


@pytest.fixture(scope="module")
def folder(explainer: ARMIN, harder: ARMIN, loans: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("skops")
    folder = tmp_path_factory.mktemp("recheck")
    save_bundle(folder / "old.armin", explainer)
    save_bundle(folder / "new.armin", harder)
    pd.DataFrame([{"name": "Ada", **loans.applicant}]).to_csv(folder / "people.csv", index=False)
    done = CliRunner().invoke(
        app, ["explain", str(folder / "people.csv"), "--bundle", str(folder / "old.armin"), "--id-column", "name",
              "--output", str(folder / "plans.jsonl")],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    return folder


def run(folder: Path, *words: str, plans: str = "plans.jsonl", bundle: str = "old.armin") -> Any:
    return CliRunner().invoke(
        app, ["recheck", str(folder / plans), "--rows", str(folder / "people.csv"), "--bundle", str(folder / bundle),
              *words],
    )  # fmt: skip


def test_the_command_says_what_holds(folder: Path) -> None:
    done = run(folder, "--id-column", "name")
    assert (done.exit_code, done.output.startswith("Row Ada: The plan still holds")) == (0, True)
    done = run(folder, "--id-column", "name", "--json", bundle="new.armin")
    assert done.exit_code == 1
    data = json.loads(done.output)
    assert (data["row"], data["verdict"], data["same_model"]) == ("Ada", "falls_short", False)
    done = run(folder, "--id-column", "name", "--to", "csv", bundle="new.armin")
    header, line = done.output.splitlines()
    assert header.split(",")[:3] == ["row", "verdict", "before"]
    assert line.startswith("Ada,falls_short,")
    pytest.importorskip("pyarrow")
    done = run(folder, "--id-column", "name", "--output", str(folder / "a.parquet"), bundle="new.armin")
    assert (done.exit_code, done.output) == (1, "")
    (row,) = pd.read_parquet(folder / "a.parquet").to_dict("records")
    assert (row["row"], row["verdict"], row["same_model"]) == ("Ada", "falls_short", False)
    assert row["now"] == data["now"]["share"]


def test_a_feature_that_is_gone(folder: Path, loans: Any) -> None:
    X = loans.X.drop(columns="ExistingLoans")
    schema = Schema(tuple(f for f in loans.schema if f.name != "ExistingLoans"))
    model = LogisticRegression().fit(X[["Age", "Income"]].fillna(0), loans.y)
    X, schema = X[["Age", "Income"]], Schema(tuple(f for f in schema if f.name in ("Age", "Income")))
    schema = schema.update(mutable=["Income"])
    save_bundle(folder / "less.armin", ARMIN(model, schema, desired="approved").fit(X))
    done = run(folder, "--id-column", "name", bundle="less.armin")
    assert done.exit_code == 1
    assert "does not fit the schema any more: The schema has no column 'ExistingLoans'" in done.output
    assert "left out: Purpose, Education, ExistingLoans" in done.stderr


def test_the_command_refuses(folder: Path) -> None:
    done = run(folder)  # nobody is called Ada without the id column
    assert done.exit_code in (1, 2)
    assert "--id-column" in done.output or "name" in done.stderr
    for text, message in (("{", "cannot be read as JSON"), ('{"a": 1}', "Plan 1"), ("[3]", "Plan 1")):
        (folder / "bad.json").write_text(text)
        done = run(folder, "--id-column", "name", plans="bad.json")
        assert (done.exit_code, message in done.stderr) == (2, True)
    done = run(folder, "--id-column", "name", plans="none.json")
    assert (done.exit_code, "cannot be read" in done.stderr) == (2, True)
    done = run(folder, "--id-column", "name", "--to", "html")
    assert (done.exit_code, "--to html" in done.stderr) == (2, True)
    done = run(folder, "--id-column", "nobody")
    assert (done.exit_code, "no column 'nobody'" in done.stderr) == (2, True)
    (folder / "failed.json").write_text('{"row": "Ada", "outcome": "failed", "error": "x"}')
    done = run(folder, "--id-column", "name", plans="failed.json")
    assert (done.exit_code, "There was no plan to check" in done.output) == (1, True)
