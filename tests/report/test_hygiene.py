"""What leaves: nothing steers a terminal, no cell is a formula, letters load nothing; what is kept is nobody's own."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.requirements import Requirement
from typer.testing import CliRunner

from armin import ARMIN, Feature, Schema
from armin.bundle.kept import what_is_kept
from armin.bundle.model import parts_of
from armin.cli import app
from armin.cli.hygiene import cell, escaped, visible
from armin.datasets import make_loans
from armin.errors import ParameterError
from armin.sampling import NearestDonors, PrivateCopula
from armin.sampling.anonymous import coarse, grouped, unique_rows
from armin.sampling.neighbours import Neighbours
from armin_desk.letter import write_letter
from armin_desk.letter.render import sealed

ROOT = Path(__file__).resolve().parents[2]
STEERING = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0), 0x202E, 0x2066, 0x061C]))
NASTY = st.text(
    st.one_of(st.sampled_from("=+-@\t\r\n'\x1b\x9b\u202e0123456789.eE"), st.characters(codec="utf-8")), max_size=20
)


@given(NASTY)
def test_no_cell_is_a_formula(text: str) -> None:
    made = cell(text)
    assert visible(made) == made
    if made[:1] in tuple("=+-@\t\r\n"):
        assert made == "" or float(made) == float(text)
    assert made in (visible(text), f"'{visible(text)}")


@given(st.one_of(st.floats(), st.integers(), st.none(), st.booleans()))
def test_numbers_stay_numbers(value: Any) -> None:
    assert cell(value) is value
    if isinstance(value, int) and not isinstance(value, bool):
        assert cell(str(value)) == str(value)


@given(NASTY)
def test_escaped_json_is_the_same_data(text: str) -> None:
    made = escaped(json.dumps({"a": text}, ensure_ascii=False))
    assert json.loads(made) == {"a": text}
    assert not set(made) & set(STEERING)


@given(NASTY)
def test_escaped_toml_is_the_same_data(text: str) -> None:
    schema = Schema((Feature("x", "categorical", categories=(text + "a", "b" + text, "c")),)) if text.strip() else None
    if schema is None:
        return
    made = escaped(schema.to_toml())
    assert Schema.from_toml(made) == schema
    assert not set(made) & (set(STEERING) - {"\n"})


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("skops")
    from armin.bundle import save_bundle

    loans = make_loans(300)
    explainer = ARMIN.from_settings(
        loans.classifier, loans.schema, desired="approved", n_samples=5, n_fresh=0, sampler="private"
    )
    return save_bundle(tmp_path_factory.mktemp("b") / "b.armin", explainer.fit(loans.X), title="Loans\x1b[2J")


def explained(bundle: Path, *words: str) -> Any:
    row = make_loans(300).applicant | {"Income": -5}  # refused, and quoted in the answer
    rows = json.dumps([row | {"who": '=HYPERLINK("http://x","y")\x1b[2J\x9b'}])
    return CliRunner().invoke(
        app, ["explain", "-", "--format", "json", "--id-column", "who", "--bundle", str(bundle), *words], input=rows
    )


def test_answers_steer_nothing(bundle: Path) -> None:
    table = list(csv.reader(io.StringIO(explained(bundle, "--to", "csv").stdout)))
    assert table[1][0] == '\'=HYPERLINK("http://x","y")[2J'
    for words in (["--to", "table"], ["--to", "json"], ["--to", "csv"]):
        shown = explained(bundle, *words)
        assert "HYPERLINK" in shown.stdout
        assert not set(shown.output) & (set(STEERING) - {"\n"})
    seen = CliRunner().invoke(app, ["inspect", str(bundle)])
    assert "Loans" in seen.stdout
    assert not set(seen.output) & (set(STEERING) - {"\n"})
    wrong = CliRunner().invoke(app, ["inspect", "no\x1b[2Jsuch.armin"])
    assert "\x1b" not in wrong.output


TEMPLATES = {
    "as usual": '<!doctype html>\n<html lang="en"><head>{link}</head><body>{{{{ title }}}}</body></html>',
    "without a head": "{link}<p>{{{{ title }}}}</p>",
    "with a comment": "<!-- ours --><html><head>{link}</head></html>",
}


@pytest.mark.parametrize("layout", TEMPLATES)
def test_a_template_loads_nothing_from_elsewhere(layout: str, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    link = '<link rel="stylesheet" href="https://example.org/a.css"><img src="https://example.org/a.png">'
    (tmp_path / "letter.html.j2").write_text(TEMPLATES[layout].format(link=link), "utf-8")
    loans = make_loans(300)
    explainer = ARMIN.from_settings(
        loans.classifier, loans.schema, desired="approved", n_samples=5, n_fresh=0, sampler="uniform"
    )
    plan = explainer.fit(loans.X).explain(loans.applicant)
    html = write_letter(plan, loans.applicant, schema=loans.schema, templates=tmp_path).html
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', html)
    assert policy is not None
    assert policy[1].startswith("default-src &#x27;none&#x27;;")
    assert "https:" not in policy[1]
    assert policy.end() <= html.index("<link")  # a policy binds what comes after it


@pytest.mark.parametrize(
    "link",
    [
        '<META HTTP-EQUIV=" Refresh " content="0; url=https://example.org">',
        '<link rel="stylesheet preconnect" href="//x">',
    ],
)
def test_a_template_that_goes_elsewhere_by_itself_is_refused(link: str) -> None:
    """No policy forbids these."""
    assert "Policy" in sealed("<html><head><meta charset='utf-8'><link rel='icon' href='data:,'></head></html>")
    with pytest.raises(ParameterError, match=r"template holds <(meta|link) .*nothing from elsewhere"):
        sealed(f"<html><head>{link}</head></html>")


# what is kept


ROWS = st.integers(0, 10_000).map(lambda seed: np.random.default_rng(seed))
MIXED = Schema(
    (
        Feature("a", "continuous", lower=-9, upper=9),
        Feature("b", "integer", lower=0, upper=50),
        Feature("c", "categorical", categories=("x", "y", "z")),
    )
)


def some_rows(rng: np.random.Generator) -> np.ndarray:
    n = int(rng.integers(8, 60))
    X = np.column_stack([rng.normal(size=n).clip(-9, 9), rng.integers(0, 51, n), rng.integers(0, 3, n)]).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


@settings(max_examples=40, deadline=None)
@given(ROWS, st.integers(2, 8))
def test_no_group_is_too_small(rng: np.random.Generator, least: int) -> None:
    X = some_rows(rng)
    made = grouped(X, MIXED, least)
    assert made.shape == X.shape
    _, counts = np.unique(np.where(np.isnan(made), 1e9, made), axis=0, return_counts=True)
    assert counts.min() >= least
    assert unique_rows(made)[1] == 0
    for d in (0, 1):
        column = coarse(MIXED[d], X[:, d], least)
        known = column[~np.isnan(column)]
        assert np.array_equal(np.isnan(column), np.isnan(X[:, d]))
        assert known.size < least or np.unique(known, return_counts=True)[1].min() >= least
    MIXED.decode(made)  # legal values


def test_the_private_sampler_keeps_no_row_and_nobodys_number() -> None:
    loans = make_loans(400)
    codes = loans.schema.encode(loans.X)
    sampler = PrivateCopula().fit(codes, loans.schema)
    assert not any(isinstance(part, Neighbours) for part in parts_of(sampler))
    for d, feature in enumerate(loans.schema):
        margin = sampler.margins_[d]
        assert margin is not None
        held = coarse(feature, codes[:, d], 10)
        assert set(margin.values) == set(held)
        assert not feature.is_number or len(margin.values) <= len(codes) // 10
    assert "No row" in sampler.kept()[0]
    assert not any("Of the" in sentence for sentence in what_is_kept({"sampler_": sampler}))
    with pytest.raises(ParameterError, match="at_least"):
        PrivateCopula(at_least=0).fit(codes, loans.schema)


def test_how_many_people_are_unique_is_said() -> None:
    loans = make_loans(400)
    codes = np.vstack([loans.schema.encode(loans.X)] * 2)
    codes[0, 0] += 0.0
    said = what_is_kept({"sampler_": NearestDonors().fit(codes, loans.schema)})
    assert any(sentence.startswith("Of the 800 rows that are kept, 0 are the only one") for sentence in said)
    said = what_is_kept({"sampler_": NearestDonors().fit(codes[:400], loans.schema)})
    assert any(f"kept, {unique_rows(codes[:400])[1]} are the only one" in sentence for sentence in said)
    assert unique_rows(codes[:400])[1] > 300
    grouped_donors = NearestDonors(anonymous=5).fit(codes[:400], loans.schema)
    assert "each the middle of a group of at least 5 people" in grouped_donors.kept()[0]
    assert any("kept, 0 are" in sentence for sentence in what_is_kept({"sampler_": grouped_donors}))


# libraries


def pins() -> dict[str, str]:
    lines = (ROOT / ".ci" / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.lower().replace("_", "-").split("==") for line in lines if not line.startswith("#"))


def test_pins_fit_the_floors() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["test"]]
    for name, extra in project["project"]["optional-dependencies"].items():
        wanted += [] if name in ("torch", "optbinning", "frames") else extra  # not installed by make
    pinned = pins()
    desk = tomllib.loads((ROOT / "desk/pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted += [*desk["dependencies"][1:], *desk["optional-dependencies"]["pdf"]]  # the first is armin itself
    for text in wanted:
        need = Requirement(text)
        name = need.name.lower().replace("_", "-")
        assert name in pinned, text
        assert need.specifier.contains(pinned[name]), text


def test_pins_name_no_place() -> None:
    text = (ROOT / ".ci" / "constraints.txt").read_text(encoding="utf-8")
    assert all(re.fullmatch(r"#.*|[A-Za-z0-9._-]+==[A-Za-z0-9.+_-]+", line) for line in text.splitlines())


@pytest.mark.parametrize(
    ("name", "least"),
    [("pyarrow", "23.0.1"), ("jinja2", "3.1.6"), ("lightgbm", "4.6"), ("uvicorn", "0.37"), ("weasyprint", "70"),
     ("starlette", "1.3.1"), ("h11", "0.16"), ("onnx", "1.21"), ("cryptography", "46.0.7")],
)  # fmt: skip
def test_floors_are_above_known_holes(name: str, least: str) -> None:
    projects = [
        tomllib.loads((ROOT / folder / "pyproject.toml").read_text("utf-8"))["project"] for folder in (".", "desk")
    ]
    extras = [extra for project in projects for extra in project["optional-dependencies"].values()]
    found = [Requirement(text) for extra in [*extras, projects[1]["dependencies"]] for text in extra]
    mine = [need for need in found if need.name == name]
    assert mine
    assert all(str(need.specifier) == f">={least}" for need in mine)
    with suppress(PackageNotFoundError):
        assert mine[0].specifier.contains(version(name))
