"""The command line: what it prints is what the API says, and its exit codes are those of its help."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import typer
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from typer.testing import CliRunner

import armin
import armin.bundle
from armin import ARMIN, Schema
from armin.baselines import ImputationAR, RobustAR
from armin.cli import app, plugins
from armin.cli.files import match_label, read_csv

HEADER = "income,debt,cover\n"
PLAN = ",40,NA\n"
ACCEPTED = "90,5,full\n"
HOPELESS = "12,10,full\n"


@dataclass(frozen=True)
class Desk:
    """The files of a small task, and the same things as objects."""

    folder: Path
    X: pd.DataFrame
    schema: Schema
    classifier: Any

    def path(self, name: str, text: str | None = None) -> str:
        if text is not None:
            (self.folder / name).write_text(text, encoding="utf-8")
        return str(self.folder / name)

    def call(self, *arguments: str, rows: str = PLAN, command: str = "explain", **options: str | None) -> Any:
        settings: dict[str, str | None] = {
            "model": self.path("model.joblib"),
            "train": self.path("train.csv"),
            "schema": self.path("schema.toml"),
            "desired": "1",
            "label-column": "repaid",
            **{name.replace("_", "-"): value for name, value in options.items()},
        }
        given = [part for name, value in settings.items() if value is not None for part in (f"--{name}", value)]
        words = [command, "-", *given, *arguments]
        return CliRunner().invoke(app, words, input=HEADER + rows, env={"COLUMNS": "200"})

    def pack(self, *arguments: str) -> Any:
        words = ["pack", "--model", self.path("model.joblib"), "--train", self.path("train.csv"), "--desired", "1"]
        words += ["--schema", self.path("schema.toml"), "--label-column", "repaid", *arguments]
        return CliRunner().invoke(app, words, env={"COLUMNS": "200"})


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    folder = tmp_path_factory.mktemp("desk")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "income": rng.integers(10, 100, 300),
            "debt": rng.integers(0, 60, 300),
            "cover": rng.choice(["NA", "part", "full"], 300),  # a category that looks like a blank
        }
    )
    y = (X["income"] - X["debt"] + 10 * (X["cover"] == "full") > 30).astype(int)
    encode = make_column_transformer((OneHotEncoder(), ["cover"]), (StandardScaler(), ["income", "debt"]))
    classifier = make_pipeline(encode, LogisticRegression()).fit(X, y)
    schema = Schema.infer(X, immutable=["income"], decrease_only=["debt"])
    X.assign(repaid=y).to_csv(folder / "train.csv", index=False)
    schema.to_toml(folder / "schema.toml")
    joblib.dump(classifier, folder / "model.joblib")
    return Desk(folder, X, schema, classifier)


def lines_of(result: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


# happy paths


def test_text(desk: Desk) -> None:
    result = desk.call("--trust", rows=PLAN + ACCEPTED)
    assert result.exit_code == 0, result.output
    explainer = ARMIN(desk.classifier, desk.schema, desired=1).fit(desk.X)
    plan = explainer.explain({"income": None, "debt": 40, "cover": "NA"})
    assert f"Row 1: {plan.to_dict()['headline']}" in result.stdout
    for change in plan.changes:
        assert str(change) in result.stdout
    assert "Row 2: Nothing needs to change" in result.stdout
    assert "\x1b" not in result.output
    assert result.stderr == ""


@pytest.mark.parametrize("method", [ARMIN, RobustAR, ImputationAR])
def test_json_says_what_the_api_says(desk: Desk, method: type) -> None:
    result = desk.call("--trust", "--json", "--seed", "3", "--cost", "l1", method=method.__name__.lower())
    (found,) = lines_of(result)
    explainer = method(desk.classifier, desk.schema, desired=1, random_state=3, cost="l1").fit(desk.X)
    recourse = explainer.explain({"income": None, "debt": 40, "cover": "NA"})
    assert result.exit_code == (0 if recourse.found else 1)
    expected = json.loads(recourse.to_json())
    assert found.pop("row") == 1
    for data in (found, expected):
        del data["proof"]["seconds"], data["proof"]["steps"]
    assert found == expected
    assert found["method"] == method.__name__


def test_settings_arrive(desk: Desk) -> None:
    more = ["--samples", "20", "--confidence", "0.6", "--sampler", "uniform"]
    (found,) = lines_of(desk.call("--trust", "--json", *more))
    assert found["confidence"]["asked"] == 0.6
    assert found["validity"]["of"] == 20
    explainer = ARMIN.from_settings(
        desk.classifier, desk.schema, desired=1, sampler="uniform", confidence=0.6, n_samples=20
    )
    recourse = explainer.fit(desk.X).explain({"income": None, "debt": 40, "cover": "NA"})
    assert found["fresh"] == recourse.to_dict()["fresh"]
    two, one = (lines_of(desk.call("--trust", "--json", rows="25,40,NA\n", max_changes=k))[0] for k in ("2", "1"))
    assert (len(two["changes"]), one["outcome"]) == (2, "no_recourse")
    (found,) = lines_of(desk.call("--trust", "--json", "--threshold", "0.999999", rows=ACCEPTED))
    assert found["outcome"] != "already_accepted"


def test_path(desk: Desk) -> None:
    result = desk.call("--trust", "--json", command="path")
    assert result.exit_code == 0, result.output
    (found,) = lines_of(result)
    path = ARMIN(desk.classifier, desk.schema, desired=1).fit(desk.X).path({"income": None, "debt": 40, "cover": "NA"})
    assert [(p["share"], p["cost"]) for p in found["points"]] == [(p.share, p.cost) for p in path]
    assert found["asked"] == 0.75
    text = desk.call("--trust", command="path")
    assert text.exit_code == 0
    assert text.stdout.startswith("Row 1: the cheapest plan for every confidence")
    assert "█" in text.stdout


def test_rows_from_a_file_with_names_label_and_bom(desk: Desk) -> None:
    rows = desk.path("rows.csv", "\ufeffwho,repaid,income,debt,cover\n007,0,,40,NA\nAda,0,90,5,full\n")
    base = ["--model", desk.path("model.joblib"), "--trust", "--train", desk.path("train.csv")]
    base += ["--schema", desk.path("schema.toml"), "--desired", "1", "--label-column", "repaid", "--json"]
    result = CliRunner().invoke(app, ["explain", rows, *base, "--id-column", "who"])
    assert result.exit_code == 0, result.output
    assert [line["row"] for line in lines_of(result)] == ["007", "Ada"]
    result = CliRunner().invoke(app, ["explain", rows, *base])
    assert result.exit_code == 2
    assert "'who'" in result.stderr
    assert "--id-column" in result.stderr


def test_jobs_change_nothing(desk: Desk) -> None:
    rows = PLAN + ",55,part\n"
    one, two = desk.call("--trust", rows=rows, jobs="1"), desk.call("--trust", rows=rows, jobs="2")
    assert [line for line in one.stdout.splitlines() if "Proof" not in line] == [
        line for line in two.stdout.splitlines() if "Proof" not in line
    ]


def test_progress_goes_to_a_terminal_only(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes the streams for terminals
    result = desk.call("--trust", "--json", rows=PLAN + ACCEPTED)
    assert "Explaining" in result.stderr
    assert len(lines_of(result)) == 2


def test_schema_makes_a_first_schema(desk: Desk) -> None:
    result = CliRunner().invoke(app, ["schema", desk.path("train.csv"), "--label-column", "repaid"])
    assert result.exit_code == 0, result.output
    schema = Schema.from_toml(result.stdout)
    assert schema.names == ["income", "debt", "cover"]
    assert schema["income"].kind == "integer"


def test_version_and_help() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout == f"armin {armin.__version__}\n"
    text = CliRunner().invoke(app, ["explain", "--help-all"], env={"COLUMNS": "200"}).stdout
    assert "Exit codes: 0 every row has a plan" in text
    for option in ("--trust", "--json", "--time-limit", "--label-column", "--jobs", "--method", "--seed", "--bundle"):
        assert option in text


@pytest.mark.parametrize("command", ["explain", "path", "ask"])
def test_help_fits_on_a_screen_and_experts_ask_for_more(command: str) -> None:
    short = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "80"}).stdout
    assert 24 <= len(short.splitlines()) <= 50
    for option in ("--bundle", "--confidence", "--model", "--output", "--help-all"):
        assert option in short
    every = CliRunner().invoke(app, [command, "--help-all"], env={"COLUMNS": "80"}).stdout
    assert "Experts' options" in every
    for option in ("--sampler", "--time-limit", "--seed", "--resume", "--trusted-key"):
        assert option not in short
        assert option in every


def test_commands_are_in_groups() -> None:
    text = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80"}).stdout
    groups = [text.index(name) for name in ("─ Advise people ─", "─ Prepare a model ─", "─ Show ─")]
    assert groups == sorted(groups)
    assert "─ Commands" not in text  # none is left over


COMMANDS = ("explain", "path", "ask", "letter", "schema", "pack", "inspect", "calibrate", "serve", "demo")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example(command: str) -> None:
    text = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).stdout
    assert f"Example: armin {command}" in text


def test_shell_completion_is_there() -> None:
    assert "--install-completion" in CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).stdout
    shown = CliRunner().invoke(
        app,
        [],
        prog_name="armin",
        env={"_ARMIN_COMPLETE": "complete_bash", "COMP_WORDS": "armin ex", "COMP_CWORD": "1"},
    )
    assert "explain" in shown.stdout.split()


# bundles


@pytest.fixture(scope="module")
def bundle(desk: Desk) -> str:
    pytest.importorskip("skops")
    people = json.dumps([{"name": "Ada", "story": "Says little.", "row": {"income": None, "debt": 40, "cover": "NA"}}])
    file = desk.path("desk.armin")
    result = desk.pack("--trust", "--title", "Loans", "--people", desk.path("people.json", people), "--output", file)
    assert (result.exit_code, result.stdout) == (0, "")  # quiet in a pipe
    kept, *touched = [line for line in result.stderr.splitlines() if not line.startswith("Made the key")]
    assert re.match(r"Of the 300 rows that are kept, \d+ are the only one with their values", kept)
    assert touched == ["Advice may change: debt and cover.", "Advice never changes: income."]
    return file


def from_bundle(bundle: str, *words: str, rows: str = HEADER + PLAN, command: str = "explain") -> Any:
    return CliRunner().invoke(app, [command, "-", "--bundle", bundle, *words], input=rows, env={"COLUMNS": "200"})


def without_times(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for line in lines:
        for answer in [line, *(point["recourse"] for point in line.get("points", []))]:
            if "proof" in answer:
                del answer["proof"]["seconds"], answer["proof"]["steps"]
                del answer["certificate"]["fingerprint"]  # files have none of a model
    return lines


@pytest.mark.parametrize("command", ["explain", "path"])
def test_a_bundle_says_what_its_files_say(desk: Desk, bundle: str, command: str) -> None:
    there = desk.call("--trust", "--json", rows=PLAN + ACCEPTED, command=command)
    here = from_bundle(bundle, "--to", "json", rows=HEADER + PLAN + ACCEPTED, command=command)
    assert here.exit_code == there.exit_code == 0, here.output
    assert without_times(lines_of(here)) == without_times(lines_of(there))


def test_what_a_bundle_leaves_open(desk: Desk, bundle: str) -> None:
    more = ["--confidence", "0.6", "--samples", "20", "--seed", "4", "--max-changes", "2", "--time-limit", "9"]
    here, there = from_bundle(bundle, "--json", *more), desk.call("--trust", "--json", *more)
    assert without_times(lines_of(here)) == without_times(lines_of(there))
    (found,) = lines_of(from_bundle(bundle, "--json", "--locked", "debt"))
    assert "debt" not in [change["feature"] for change in found["changes"]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--cost", "l1"), "--cost is fixed in the bundle"),
        (("--sampler", "donors"), "--sampler is fixed in the bundle"),
        (("--threshold", "0.3"), "--threshold is fixed in the bundle"),
        (("--method", "RobustAR"), "--method is fixed in the bundle: ARMIN"),
        (("--confidence", "7"), "must be in (0, 1]"),
        (("--to", "csv", "--json"), "contradict"),
        (("--to", "xml"), "--to"),
    ],
)
def test_what_a_bundle_does_not_leave_open(bundle: str, words: tuple[str, ...], message: str) -> None:
    result = from_bundle(bundle, *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_inspect(bundle: str) -> None:
    text = CliRunner().invoke(app, ["inspect", bundle])
    assert text.exit_code == 0
    for words in (
        "Loans",
        "ColumnTransformer → LogisticRegression",
        "known types only",
        "300 training rows",
    ):
        assert words in text.stdout
    found = json.loads(CliRunner().invoke(app, ["inspect", bundle, "--json"]).stdout)
    assert (found["title"], found["people"], found["trust"]) == ("Loans", 1, [])


def test_a_bundle_is_signed_and_only_taken_from_who_is_trusted(desk: Desk, bundle: str, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key, private, public = Ed25519PrivateKey.generate(), tmp_path / "key.pem", tmp_path / "pub.pem"
    private.write_bytes(key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo))
    file = str(tmp_path / "signed.armin")
    assert desk.pack("--trust", "--key", str(private), "--output", file).exit_code == 0
    assert re.search(
        r"Signed: +with the key ed25519:\w{16}; the signature is valid; the key is not yours",
        CliRunner().invoke(app, ["inspect", file]).stdout,
    )
    assert re.search(r"Signed: +with your own key ed25519", CliRunner().invoke(app, ["inspect", bundle]).stdout)
    assert from_bundle(file, "--trusted-key", str(public)).exit_code == 0
    assert from_bundle(bundle, "--trusted-key", str(public)).exit_code == 0
    refused = from_bundle(file)
    assert (refused.exit_code, "neither your key nor a trusted one" in refused.stderr) == (2, True)
    assert "--trusted-key PUB.pem" in refused.stderr
    alone = CliRunner().invoke(app, ["explain", "-", "--trusted-key", str(public)], input=HEADER + PLAN)
    assert "--trusted-key is about a bundle" in alone.stderr


def test_a_damaged_bundle_is_one_line(desk: Desk) -> None:
    for command in (["inspect"], ["explain", "-", "--bundle"]):
        result = CliRunner().invoke(app, [*command, desk.path("broken.armin", "no zip file")], input=HEADER + PLAN)
        assert (result.exit_code, result.stdout) == (2, "")
        assert len(result.stderr.splitlines()) == 1


def test_pack_refuses(desk: Desk, tmp_path: Path) -> None:
    out = ["--output", str(tmp_path / "b.armin")]
    assert "was not opened" in desk.pack(*out).stderr
    bad = desk.path("bad.json", '{"name": "Ada"}')
    result = desk.pack("--trust", "--people", bad, *out)
    assert (result.exit_code, "must hold a list" in result.stderr) == (2, True)
    bad = desk.path("bad.json", '[{"name": "Ada", "row": {"income": "abc", "debt": 1, "cover": "NA"}}]')
    result = desk.pack("--trust", "--people", bad, *out)
    assert (result.exit_code, "Prepared applicant 1: Column 'income'" in result.stderr) == (2, True)
    assert not list(tmp_path.iterdir())


def test_calibrate_puts_a_promise_into_a_bundle(desk: Desk, bundle: str, tmp_path: Path) -> None:
    promised = str(tmp_path / "promised.armin")
    words = ["calibrate", desk.path("train.csv"), "--bundle", bundle, "--label-column", "repaid", "--output", promised]
    words += ["--people", "15", "--promise", "0.5", "--assurance", "0.8"]
    refused = CliRunner().invoke(app, words)
    assert (refused.exit_code, "--blank" in refused.stderr) == (2, True)
    result = CliRunner().invoke(app, [*words, "--blank", "income", "--blank", "income,cover", "--forget-people"])
    assert result.exit_code in (0, 1), result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("income: ")
    assert lines[1].startswith("income, cover: ")
    assert result.exit_code == (1 if "cannot be kept" in result.stdout else 0)
    (found,) = lines_of(from_bundle(promised, "--json"))
    assert "real people" in json.dumps(found)
    (other,) = lines_of(from_bundle(promised, "--json", rows=HEADER + "20,,NA\n"))
    assert (other["outcome"], "held-out" in other["error"]) == ("failed", True)  # these people were forgotten
    (plain,) = lines_of(from_bundle(promised, "--json", "--confidence", "0.75"))
    assert "real people" not in json.dumps(plain["confidence"])


def test_ask(bundle: str) -> None:
    result = from_bundle(bundle, "--json", "--samples", "20", command="ask")
    (found,) = lines_of(result)
    assert result.exit_code == 0, result.output
    assert found["format"] == "armin.ask/2"
    assert [question["feature"] for question in found["questions"]] == ["income"]
    table = from_bundle(bundle, "--to", "csv", "--samples", "20", command="ask").stdout.splitlines()
    assert table[0].startswith("row,feature,matters")
    assert table[1].startswith("1,income,")
    assert found["sentence"] in from_bundle(bundle, "--samples", "20", command="ask").stdout


# formats


def test_rows_in_every_format(desk: Desk, bundle: str, tmp_path: Path) -> None:
    rows = [
        {"who": "007", "income": None, "debt": 40, "cover": "NA"},
        {"who": "8", "income": 90, "debt": 5, "cover": "full"},
    ]
    (tmp_path / "r.json").write_text(json.dumps(rows))
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    (tmp_path / "r.csv").write_text(pd.DataFrame(rows).astype({"income": "Int64"}).to_csv(index=False))
    files = ["r.json", "r.jsonl", "r.csv"]
    try:
        pd.DataFrame(rows).to_parquet(tmp_path / "r.parquet")
        files.append("r.parquet")
    except ImportError:
        pass
    answers = []
    for name in files:
        base = ["explain", str(tmp_path / name), "--bundle", bundle, "--id-column", "who", "--json"]
        result = CliRunner().invoke(app, base)
        assert result.exit_code == 0, result.output
        answers.append(without_times(lines_of(result)))
    assert all(answer == answers[0] for answer in answers)
    assert [line["row"] for line in answers[0]] == ["007", "8"]
    one = from_bundle(bundle, "--format", "json", "--json", rows=json.dumps(rows[0]), command="explain")
    assert "'who'" in one.stderr  # not a column of the schema
    one = from_bundle(bundle, "--format", "json", "--json", "--id-column", "who", rows=json.dumps(rows[0]))
    assert without_times(lines_of(one)) == answers[0][:1]


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("json", "[1, 2]", "a list of objects"),
        ("json", '{"income": ', "line 1"),
        ("json", "\x80", "cannot be read"),
        ("json", "[" * 100_000, "cannot be read"),
        ("jsonl", '{"income": 1}\nsecret', "one object per line"),
        ("parquet", "no parquet", "cannot be read as Parquet"),
    ],
)
def test_bad_rows_in_every_format(bundle: str, kind: str, text: str, message: str) -> None:
    result = from_bundle(bundle, "--format", kind, rows=text)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert "secret" not in result.stderr


def test_answers_in_every_format(bundle: str, tmp_path: Path) -> None:
    rows = "who," + HEADER + "<b>," + PLAN + "Bo," + ACCEPTED + "Cy,,,\n"
    for name in ("a.csv", "a.html", "a.jsonl", "a.txt"):
        result = from_bundle(bundle, "--output", str(tmp_path / name), "--id-column", "who", rows=rows)
        assert (result.exit_code, result.output) == (1, ""), result.output
    table = pd.read_csv(tmp_path / "a.csv")
    assert table["row"].tolist() == ["<b>", "Bo", "Cy"]
    assert table["outcome"].tolist() == ["plan", "already_accepted", "failed"]
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    assert "Row &lt;b&gt;" in page
    assert "<b>" not in page
    assert [json.loads(line)["row"] for line in (tmp_path / "a.jsonl").read_text("utf-8").splitlines()] == [
        "<b>",
        "Bo",
        "Cy",
    ]
    assert (tmp_path / "a.txt").read_text("utf-8").startswith("Row <b>: ")
    for name in ("a.xlsx", "a.parquet.zip"):
        result = from_bundle(bundle, "--output", str(tmp_path / name), rows=HEADER + PLAN)
        assert result.exit_code == 2
        assert "must end in one of .csv, .htm" in result.stderr
        assert not (tmp_path / name).exists()
    assert from_bundle(bundle, "--to", "csv", "--output", str(tmp_path / "a.xlsx"), rows=HEADER + PLAN).exit_code == 0
    path = from_bundle(bundle, "--to", "csv", command="path").stdout.splitlines()
    assert path[0] == "row,share,cost,changes"
    assert len(path) > 1
    assert "<table>" in from_bundle(bundle, "--to", "html", command="path").stdout


@pytest.mark.parametrize(("command", "column"), [("explain", "share"), ("path", "share"), ("ask", "matters")])
def test_answers_as_parquet(bundle: str, tmp_path: Path, command: str, column: str) -> None:
    pytest.importorskip("pyarrow")
    rows = HEADER + PLAN + "=1,,\n"
    files = [tmp_path / "a.parquet", tmp_path / "b.csv"]
    for file in files:
        result = from_bundle(bundle, "--output", str(file), rows=rows, command=command)
        assert (result.exit_code, result.output) == (1, "")
    found, same = pd.read_parquet(files[0]), pd.read_csv(files[1])
    assert list(found) == list(same)
    assert found["row"].tolist() == same["row"].tolist()
    assert found[column].dropna().tolist() == same[column].dropna().tolist()
    assert found.iloc[-1, -1] == same.iloc[-1, -1]
    assert pd.api.types.is_bool_dtype(found[column]) == (column == "matters")
    assert found["row"].dtype == "int64"


def test_parquet_needs_a_file_and_its_library(bundle: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = from_bundle(bundle, "--to", "parquet", rows=HEADER + PLAN)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--output FILE.parquet" in result.stderr
    monkeypatch.setattr("armin.cli.answers.find_spec", lambda name: None)
    result = from_bundle(bundle, "--output", str(tmp_path / "a.pq"), rows=HEADER + PLAN)
    assert result.exit_code == 2
    assert "armin[parquet]" in result.stderr
    assert list(tmp_path.iterdir()) == []


# letters and the desk


def test_a_letter_is_what_its_suffix_says(bundle: str, tmp_path: Path) -> None:
    result = from_bundle(bundle, "--output", str(tmp_path / "a.docx"), rows=HEADER + PLAN, command="letter")
    assert result.exit_code == 2
    assert "must end in one of .htm, .html, .pdf, .txt" in result.stderr


def test_letter(bundle: str, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    result = from_bundle(bundle, "--applicant", "Ada Lovelace", "--organisation", "Bank", command="letter")
    assert result.exit_code == 0, result.output
    assert "Ada Lovelace" in result.stdout
    assert "<html" in result.stdout
    rows = "who," + HEADER + "Ada," + PLAN + "Bo," + HOPELESS
    refused = from_bundle(bundle, "--id-column", "who", rows=rows, command="letter")
    assert (refused.exit_code, "--output" in refused.stderr) == (2, True)
    folder = tmp_path / "letters"
    words = ["--id-column", "who", "--language", "de", "--to", "text", "--output", str(folder)]
    assert from_bundle(bundle, *words, rows=rows, command="letter").exit_code == 1  # Bo has no plan
    assert sorted(file.name for file in folder.iterdir()) == ["Ada.txt", "Bo.txt"]
    assert "Ada" in (folder / "Ada.txt").read_text("utf-8")


def test_a_bundle_brings_its_own_letter_texts(desk: Desk, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    own, other, file = tmp_path / "own", tmp_path / "other", str(tmp_path / "b.armin")
    for folder, title in ((own, "Ihr Weg"), (other, "Der andere Weg")):
        folder.mkdir()
        (folder / "de.toml").write_text(f'[plan]\ntitle = "{title}"\n', "utf-8")
    assert desk.pack("--trust", "--letter", str(own), "--output", file).exit_code == 0
    assert re.search(r"Letter:\s+de\n", CliRunner().invoke(app, ["inspect", file]).stdout)
    words = ["--language", "de", "--to", "text"]
    assert "IHR WEG" in from_bundle(file, *words, command="letter").stdout
    assert "DER ANDERE WEG" in from_bundle(file, *words, "--templates", str(other), command="letter").stdout
    promised = str(tmp_path / "promised.armin")
    calibrated = ["calibrate", desk.path("train.csv"), "--bundle", file, "--label-column", "repaid"]
    calibrated += ["--people", "60", "--promise", "0.5", "--blank", "income", "--output", promised]
    assert CliRunner().invoke(app, calibrated).exit_code in (0, 1)
    assert "IHR WEG" in from_bundle(promised, *words, command="letter").stdout
    (own / "letter.css").write_text("p {}", "utf-8")
    refused = desk.pack("--trust", "--letter", str(own), "--output", file)
    assert (refused.exit_code, "'letter.css' is a template" in refused.stderr) == (2, True)


def test_serve_passes_everything_on(
    bundle: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("fastapi")
    import armin_desk.serve

    calls: list[tuple[Any, dict[str, Any]]] = []
    monkeypatch.setattr(armin_desk.serve, "serve", lambda path, **words: calls.append((path, words)))
    key = tmp_path / "key"
    words = ["serve", bundle, "--host", "192.0.2.7", "--port", "81", "--workers", "2", "--api-key-file", str(key)]
    assert "cannot be read" in CliRunner().invoke(app, words).stderr
    key.write_text("\n")
    assert "is empty" in CliRunner().invoke(app, words).stderr
    key.write_text("a key that nobody guesses\n")
    result = CliRunner().invoke(app, words)
    assert (result.exit_code, result.output) == (0, "")
    [(path, passed)] = calls
    settings, ready = passed.pop("settings"), passed.pop("ready")
    said = {"host": "192.0.2.7", "port": 81, "workers": 2, "trust": False, "trusted_keys": ()}
    assert (path, passed) == (Path(bundle), said)
    assert (settings.api_key, settings.organisation, settings.time_limit) == ("a key that nobody guesses", "", 10.0)
    ready()
    assert "http://192.0.2.7:81/" in capsys.readouterr().err


def test_serve_does_not_open_to_others_without_a_key(bundle: str) -> None:
    pytest.importorskip("fastapi")
    result = CliRunner().invoke(app, ["serve", bundle, "--host", "192.0.2.7"])
    assert (result.exit_code, "needs a key" in result.stderr) == (2, True)


class Elsewhere:
    """An entry point of another package."""

    def __init__(self, name: str, found: Callable[..., Any]) -> None:
        self.name, self.value, self.dist, self.found = name, "elsewhere:add", None, found

    def load(self) -> Callable[..., Any]:
        return self.found


def from_elsewhere(monkeypatch: pytest.MonkeyPatch, **groups: list[Elsewhere]) -> None:
    """As if these packages were installed, and no others."""
    monkeypatch.setattr(plugins, "entry_points", lambda group: groups.get(group.removeprefix("armin."), []))


def test_commands_of_other_packages_are_added(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def add(whole: typer.Typer) -> None:
        whole.command("hello")(lambda: typer.echo("from elsewhere"))

    def fail(whole: typer.Typer) -> None:
        raise ImportError("Ada's income")

    own = typer.Typer()
    own.command("stay")(lambda: typer.echo("still there"))
    from_elsewhere(monkeypatch, commands=[Elsewhere("a", fail), Elsewhere("b", add)])
    plugins.add_commands(own)
    noted = capsys.readouterr().err
    assert ("elsewhere:add are not there" in noted, "ImportError" in noted, "Ada" in noted) == (True, True, False)
    assert [CliRunner().invoke(own, [name]).output for name in ("stay", "hello")] == [
        "still there\n",
        "from elsewhere\n",
    ]


def test_the_demo_shows_the_page_of_an_installed_package(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, Any]] = []
    from_elsewhere(monkeypatch)
    result = CliRunner().invoke(app, ["demo", "--web"])
    assert (result.exit_code, "pip install armin-desk" in result.stderr) == (2, True)
    from_elsewhere(monkeypatch, demos=[Elsewhere("web", lambda **words: shown.append(words))])
    assert CliRunner().invoke(app, ["demo", "--web", "--port", "81", "--no-browser"]).exit_code == 0
    assert shown == [{"port": 81, "open_browser": False}]


def test_the_desk_declares_its_commands() -> None:
    pytest.importorskip("fastapi")
    project = tomllib.loads((Path(__file__).parents[2] / "desk/pyproject.toml").read_text("utf-8"))["project"]
    declared = project["entry-points"]
    own = typer.Typer()
    for group, value in ((plugins.COMMANDS, "desk"), (plugins.DEMOS, "web")):
        found = EntryPoint(value, declared[group][value], group).load()
        assert callable(found)
        if group == plugins.COMMANDS:
            found(own)
    assert sorted(typer.main.get_command(own).commands) == ["letter", "serve"]  # type: ignore[attr-defined]


def test_a_fault_of_our_own_shows_no_data(bundle: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise KeyError("Ada's income")

    monkeypatch.setattr(armin.bundle.archive, "read_archive", fail)
    monkeypatch.setattr(armin.bundle.look, "read_archive", fail)
    result = CliRunner().invoke(app, ["inspect", bundle])
    assert (result.exit_code, "KeyError" in result.stderr) == (2, True)
    assert "Ada" not in result.output
    monkeypatch.setenv("ARMIN_DEBUG", "1")
    assert isinstance(CliRunner().invoke(app, ["inspect", bundle]).exception, KeyError)


# exit codes 0 and 1


@pytest.mark.parametrize(
    ("rows", "code", "outcomes"),
    [
        (PLAN + ACCEPTED, 0, ["plan", "already_accepted"]),
        (ACCEPTED + HOPELESS, 1, ["already_accepted", "no_recourse"]),
        (",,\n" + PLAN, 1, ["failed", "plan"]),
        ("abc,40,part\n" + PLAN, 1, ["failed", "plan"]),
        (PLAN + ",40,none\n", 1, ["plan", "failed"]),
    ],
)
def test_codes_for_rows(desk: Desk, rows: str, code: int, outcomes: list[str]) -> None:
    result = desk.call("--trust", "--json", rows=rows)
    assert [line["outcome"] for line in lines_of(result)] == outcomes
    assert result.exit_code == code
    assert result.stderr == ""


def test_codes_for_paths(desk: Desk) -> None:
    result = desk.call("--trust", "--json", rows=HOPELESS + ",,\n", command="path")
    assert result.exit_code == 1
    hopeless, failed = lines_of(result)
    assert hopeless["points"] == []
    assert failed["outcome"] == "failed"


def test_a_failed_row_names_its_column_in_text(desk: Desk) -> None:
    result = desk.call("--trust", rows="abc,40,part\n")
    assert result.exit_code == 1
    assert result.stdout.startswith("Row 1: not explained. Column 'income'")


def test_no_rows(desk: Desk) -> None:
    result = desk.call("--trust", "--json", rows="")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no rows" in result.stderr


# exit code 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"desired": "2"}, "[0, 1]"),
        ({"confidence": "1.2"}, "must be in (0, 1]. Got 1.2"),
        ({"method": "RobustAR", "confidence": "0.5"}, "--confidence does not apply to RobustAR"),
        ({"method": "ImputationAR", "samples": "5"}, "--samples does not apply to ImputationAR"),
        ({"method": "DiCE"}, "--method"),
        ({"cost": "free"}, "'free'"),
        ({"sampler": "psychic"}, "'psychic'"),
        ({"jobs": "0"}, "--jobs"),
        ({"time-limit": "0"}, "time_limit"),
        ({"model": None}, "Missing: --model."),
        ({"model": None, "train": None, "schema": None, "desired": None}, "Name a bundle with --bundle"),
        ({"bundle": "gone.armin"}, "--bundle holds what --model says"),
        ({"to": "csv", "output": "no/such/folder/x.csv"}, "cannot be written"),
        ({"locked": "gone"}, "'gone'"),
        ({"model": "gone.joblib"}, "There is no model file 'gone.joblib'"),
        ({"train": "gone.csv"}, "There is no file 'gone.csv'"),
        ({"schema": "gone.toml"}, "There is no schema file 'gone.toml'"),
        ({"label-column": "gone"}, "'gone'"),
        ({"label-column": None}, "add --label-column 'repaid'"),
        ({"id-column": "gone"}, "'gone'"),
    ],
)
def test_bad_options(desk: Desk, options: dict[str, str | None], message: str) -> None:
    result = desk.call("--trust", **options)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("which", "content", "message"),
    [
        ("model", b"not a pickle", "cannot be loaded"),
        ("model", pickle.dumps(["a", "list"]), "classifier"),
        ("train", b"", "cannot be read as CSV"),
        ("train", b"\x80\x04\x95\xff\x00binary", "cannot be read as CSV"),
        ("train", b"income,debt,cover,repaid\n1,2,part,0\n1,2,part,0,9,9\n", "line 3"),
        ("train", b"income,debt,cover,repaid\nx,2,part,0\n3,4,full,1\n", "Column 'income' must be a number"),
        ("train", b"income,debt,repaid\n1,2,0\n", "'cover' is missing"),
        ("schema", b"income = ", "TOML"),
        ("schema", b"\x80\x04binary", "cannot be read as a schema"),
        ("schema", b'armin_schema = 1\n[features.income]\nkind = "integer"\nbounds = ["a", "b"]\n', "bounds"),
    ],
)
def test_bad_files(desk: Desk, tmp_path: Path, which: str, content: bytes, message: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    result = desk.call("--trust", **{which: str(file)})
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("rows", ["1,2,part,4\n", PLAN + "1,2,part,4\n"])
def test_a_line_with_too_many_cells_is_refused(desk: Desk, rows: str) -> None:
    result = desk.call("--trust", rows=rows)
    assert result.exit_code == 2
    assert "Standard input cannot be read as CSV" in result.stderr


class Trap:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


def test_a_model_is_not_opened_without_trust(desk: Desk, tmp_path: Path) -> None:
    mark, file = tmp_path / "mark", tmp_path / "model.pkl"
    file.write_bytes(pickle.dumps(Trap(mark)))
    result = desk.call(model=str(file))
    assert result.exit_code == 2
    assert "runs the code it holds" in result.stderr
    assert "--trust" in result.stderr
    assert not mark.exists()
    desk.call("--trust", model=str(file))
    assert mark.exists()  # the trap works


# the pieces


class Labelled:
    """A classifier as far as labels go."""

    def __init__(self, labels: list[Any]) -> None:
        self.classes_ = np.array(labels)


@pytest.mark.parametrize(
    ("labels", "text", "expected"),
    [
        ([0, 1], "1", 1),
        ([0, 1], "1.0", 1),
        ([0.0, 1.0], "1", 1.0),
        ([-1, 1], "-1", -1),
        (["no", "yes"], "yes", "yes"),
        (["0", "1"], "1", "1"),
        ([False, True], "true", True),
        ([False, True], "False", False),
        ([0, 1], "yes", "yes"),
        ([0, 1], "nan", "nan"),
    ],
)
def test_match_label(labels: list[Any], text: str, expected: object) -> None:
    found = match_label(Labelled(labels), text)
    assert found == expected
    assert type(found) is type(expected)


def test_blanks_and_categories_in_a_csv(tmp_path: Path) -> None:
    schema = Schema.infer(
        pd.DataFrame({"n": [1, 2, 3], "c": ["NA", "b", "01"], "k": [1, 2, 1]}),
        kinds={"k": "categorical"},
    )
    file = tmp_path / "rows.csv"
    file.write_text("n,c,k\nNA,NA,1\n, ,null\n3,01,2\n", encoding="utf-8")
    codes = schema.encode(read_csv(str(file), schema))
    c = schema["c"].categories
    np.testing.assert_array_equal(codes, [[np.nan, c.index("NA"), 0], [np.nan, np.nan, np.nan], [3, c.index("01"), 1]])


TRAIN = "income,debt,cover\n41,3,full\n52,4.5,part\n33,5,full\n41,6,part\n"


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " ", "   "])
def test_what_stands_between_cells_is_recognised(desk: Desk, separator: str) -> None:
    train = desk.path("other.csv", TRAIN.replace(",", separator))
    result = CliRunner().invoke(app, ["schema", train])
    assert result.exit_code == 0, result.output
    schema = Schema.from_toml(result.stdout)
    assert schema.names == ["income", "debt", "cover"]
    assert schema["debt"].high_code == 6


@pytest.mark.parametrize("separator", [",", ";", " "])
@pytest.mark.parametrize(
    "rows",
    [
        TRAIN.partition("\n")[2],
        "a,b\nb,a\na,b\n",  # no number anywhere
        "a,a\nb,a\na,b\n",
        "-9,0,1\n3,2,1\n4,5,6\n",
    ],
)
def test_a_first_line_that_is_a_person_is_refused(desk: Desk, rows: str, separator: str) -> None:
    result = CliRunner().invoke(app, ["schema", desk.path("bare.csv", rows.replace(",", separator))])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Is the first line of" in result.stderr
    assert "names of the columns into the first line" in result.stderr


@pytest.mark.parametrize(
    "rows",
    [
        "0,1,2\n3,2,1\n4,5,6\n",  # counted
        "1,2,3\n3,2,1\n4,5,6\n",
        "2019,2020\nyes,no\nno,yes\n",
        "yes,no\n1,2\n3,4\n",
        "job title\nsenior clerk\nclerk\n",
    ],
)
def test_names_that_look_odd_are_taken(desk: Desk, rows: str) -> None:
    result = CliRunner().invoke(app, ["schema", desk.path("odd.csv", rows)])
    assert result.exit_code == 0, result.output
    assert Schema.from_toml(result.stdout).names == rows.partition("\n")[0].split(",")


# a real process


def test_a_real_pipe(desk: Desk) -> None:
    command = [sys.executable, "-m", "armin", "explain", "-", "--model", desk.path("model.joblib"), "--trust"]
    command += ["--train", desk.path("train.csv"), "--label-column", "repaid", "--schema", desk.path("schema.toml")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [*command, "--desired", "1"], input=HEADER + PLAN + HOPELESS, capture_output=True, text=True,
        encoding="utf-8", env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("Row 1: ")
    assert "Row 2: No allowed action leads to" in done.stdout
    assert "\x1b" not in done.stdout
    assert done.stderr == ""
