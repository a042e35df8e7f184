"""An exercise: a data set, a model and a method of somebody else, in one file and one command."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from armin.errors import ParameterError

pytest.importorskip("matplotlib")
pytest.importorskip("lab.experiments", reason="the experiments live beside the package")

from lab.experiments.cli import choose, main
from lab.experiments.methods import METHODS
from lab.experiments.store import read_rows
from lab.experiments.worlds import DATASETS, MODELS

PLUGIN = '''
"""Somebody's credit data, a model and a method."""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import OneHotEncoder

from armin import Schema
from lab.experiments.methods import Outcome, register
from lab.experiments.worlds import Data, add_dataset, add_model


def german() -> Data:
    rng = np.random.default_rng(7)
    n = 400
    X = pd.DataFrame({
        "duration": rng.integers(6, 60, n),
        "amount": rng.lognormal(8, 0.6, n).round(),
        "age": rng.integers(19, 75, n),
        "checking": pd.Categorical(rng.choice(["none", "below 0", "below 200", "more"], n)),
        "purpose": pd.Categorical(rng.choice(["car", "furniture", "education"], n)),
    })
    risk = X["duration"] / 24 + X["amount"] / 5000 - X["age"] / 60 + (X["checking"] == "below 0")
    y = pd.Series(np.where(risk + rng.normal(0, 0.7, n) > 2.2, "bad", "good"))
    schema = Schema.infer(X, immutable=["age"], blanks={"duration": "shift", "amount": "shift"})
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["checking", "purpose"]), remainder="passthrough"
    )
    return Data(X, y, schema, desired="good", undesired="bad", encoder=encoder)


add_dataset("German", german)
add_model("Naive", GaussianNB)


@register("shorter")
class Shorter:
    label = "ask for half as long"
    clocked = False

    def fit(self, context):
        return self

    def explain(self, row):
        return Outcome("feasible", lambda rows: rows.assign(duration=np.maximum(6, rows["duration"] // 2)))
'''


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "german_plugin.py").write_text(PLUGIN, encoding="utf-8")
    yield "german_plugin"
    DATASETS.pop("German", None)
    MODELS.pop("Naive", None)
    METHODS.pop("shorter", None)


def test_a_data_set_a_model_and_a_method_in_one_file_and_one_command(tmp_path: Path, plugin: str) -> None:
    out, docs = str(tmp_path / "out"), tmp_path / "docs"
    asked = ["--plugin", plugin, "--datasets", "German", "--models", "Naive", "--methods", "shorter", "mean"]
    main(["run", "mcar", *asked, "--missing", "1", "--instances", "3", "--out", out, "--docs", str(docs)])
    rows = read_rows(tmp_path / "out", "mcar")
    assert {(r["dataset"], r["model"]) for r in rows} == {("German", "Naive")}
    assert {m: len([r for r in rows if r["method"] == m]) for m in ("shorter", "mean")} == {"shorter": 3, "mean": 3}
    assert not [r["note"] for r in rows if r["status"] == "failed"]
    text = (docs / "reproduction.md").read_text(encoding="utf-8")
    assert "ask for half as long" in text
    assert "| German | Naive |" in text
    assert "mcar, 0 of 36 cells complete: only others: German Naive." in text

    # blanks at random and not at random, for any column, beside the others
    for blanks in ("mar:amount:age", "mnar:duration"):
        main(["run", "mcar", *asked, "--blanks", blanks, "--instances", "2", "--out", out, "--resume"])
    rows = [r for r in read_rows(tmp_path / "out", "mcar") if r["variant"]]
    assert {(r["variant"], tuple(r["blanks"])) for r in rows} == {
        ("blanks=mar:amount:age", ("amount",)),
        ("blanks=mnar:duration", ("duration",)),
    }
    main(["report", "--plugin", plugin, "--out", out, "--docs", str(docs)])
    text = (docs / "reproduction.md").read_text(encoding="utf-8")
    assert "### 1 value missing, blanks=mar:amount:age" in text
    assert (docs / "img" / "paper" / "mcar-1-blanks-mnar-duration.svg").is_file()
    with pytest.raises(SystemExit, match="need the column 'income', which German does not have"):
        main(["run", "mcar", *asked, "--blanks", "mnar:income", "--instances", "1", "--out", out])


def test_what_nobody_has_registered_is_an_error() -> None:
    with pytest.raises(ParameterError, match=r"There is no data set 'German'\. There are: FICO"):
        choose("mcar", datasets=["German"])
    with pytest.raises(ParameterError, match=r"There is no model 'Naive'"):
        choose("mcar", models=["Naive"])
    with pytest.raises(ParameterError, match=r"Nothing to run: 'mar' has the data sets GiveMeCredit"):
        choose("mar", datasets=["FICO"])


def test_the_peers_bring_no_build_for_graphics_cards() -> None:
    """dice-ml asks for the plain xgboost, whose wheel brings GPU libraries: it is installed without its wishes."""
    here = Path(__file__).parents[2]
    groups = tomllib.loads((here / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    named = {
        group: {entry.split(">")[0].split("=")[0].lower() for entry in entries} for group, entries in groups.items()
    }
    assert {"dice-ml", "nicex"} == named["peers"]
    assert "xgboost-cpu" in named["bench"]
    assert not any({"dice-ml", "xgboost"} & names for group, names in named.items() if group not in ("peers", "oldest"))
    lines = [line for line in (here / "Makefile").read_text(encoding="utf-8").splitlines() if "--group peers" in line]
    assert len(lines) == 3
    assert all("--no-deps" in line for line in lines)


def test_a_rival_that_does_not_end_is_not_waited_for(monkeypatch):
    from types import SimpleNamespace

    import numpy as np
    from lab.experiments.methods import dice

    monkeypatch.setattr(dice, "LIMIT", 0.2)
    rival = dice.DiceGenetic()
    rows = np.zeros((1, 1))
    schema = SimpleNamespace(encode=lambda row: rows, decode=lambda codes, like: codes)
    rival.context_ = SimpleNamespace(schema=schema, train=None)
    rival.imputer_ = SimpleNamespace(impute=lambda codes: codes)
    rival.vary_, rival.ranges_ = [], {}

    def for_ever(*_, **__):
        while True:
            try:
                sum(range(1000))
            except Exception:  # noqa: S112  as DiCE may
                continue

    rival.engine_ = SimpleNamespace(generate_counterfactuals=for_ever)
    found = rival.explain(None)
    assert (found.status, found.note) == ("unknown", "no answer within 0.2 CPU seconds")
