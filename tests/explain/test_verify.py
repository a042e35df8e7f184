"""A stranger's check accepts what is so, and refuses what was changed."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import armin.verify
from armin import ARMIN, Schema
from armin.errors import ParameterError
from armin.verify import ForgedError, verify

MODELS = {
    "linear": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "forest": lambda: RandomForestClassifier(5, max_depth=4, random_state=0),
    "boosting": lambda: make_pipeline(StandardScaler(), GradientBoostingClassifier(n_estimators=5, random_state=0)),
}


def evidence(kind: str, cost: str, blank: bool) -> tuple[dict, ARMIN]:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=300),
            "b": rng.integers(0, 30, 300),
            "c": rng.normal(3, 1e3, 300),
            "d": rng.normal(size=300),
        }
    )
    y = (X.a + X.b / 10 - X.c / 1e3 + 0.3 * rng.normal(size=300) > 2).astype(int)
    model = MODELS[kind]().fit(X, y)
    explainer = ARMIN(model, Schema.infer(X, immutable=["d"]), desired=1, cost=cost).fit(X)
    row = X[model.predict(X) == 0].iloc[3].to_dict()
    found = explainer.evidence(row | ({"b": None} if blank else {}))
    return json.loads(json.dumps(found)), explainer


@pytest.mark.parametrize("blank", [False, True])
@pytest.mark.parametrize("cost", ["tlps", "mps", "l1", "l2", "changes"])
@pytest.mark.parametrize("kind", MODELS)
def test_what_is_so_is_accepted(kind, cost, blank):
    found, explainer = evidence(kind, cost, blank)
    verify(found, found["fingerprint"])
    inputs = np.array(found["inputs_after"])
    accepted = armin.verify._accepts(found["model"], inputs)
    assert (accepted == explainer.fitted_.read.model.accepts(inputs)).all()


def forgeries(found: dict, rng: np.random.Generator):
    """One thing that is not so any more, and would help whoever says it."""
    while True:
        forged = copy.deepcopy(found)
        change = forged["changes"][int(rng.integers(len(found["changes"])))]
        p = [feature["name"] for feature in found["features"]].index(change["feature"])
        feature = forged["features"][p]
        kind = int(rng.integers(12))
        if kind == 0:
            forged["cost"]["value"] *= 1 - rng.uniform(1e-6, 0.5)
        elif kind == 1:
            change["target"] += rng.choice([-1, 1]) * rng.uniform(1e-3, 0.9) * (feature["high"] - feature["low"])
        elif kind == 2:
            forged["share"]["accepted"] += float(rng.choice([-1, 1]) * rng.uniform(1e-6, 3))
        elif kind == 3:
            forged["claim"]["bound"] = forged["cost"]["value"] * (1 + rng.uniform(1e-6, 1))
        elif kind == 4:
            forged["claim"] = {
                "kind": "cheapest",
                "bound": forged["cost"]["value"] * rng.uniform(0, 0.999),
                "tolerance": 0,
            }
        elif kind == 5:
            feature["high"] += rng.uniform(1e-6, 10)
        elif kind == 6:
            change["feature"] = "d"
        elif kind == 7:
            forged["row"][3] = float(rng.normal())
        elif kind == 8:
            values = forged["model"]["weights" if found["model"]["kind"] == "linear" else "value"]
            line = values[int(rng.integers(len(values)))]
            line[int(rng.integers(len(line)))] += rng.uniform(1e-6, 2)
        elif kind == 9:
            i = int(rng.integers(len(forged["inputs_after"])))
            forged["inputs_after"][i][3] += rng.uniform(1e-6, 3)
        elif kind == 10:
            forged["candidates"][int(rng.integers(len(forged["candidates"])))][0] += rng.uniform(1e-6, 3)
        else:
            forged["max_changes"] = len(found["changes"]) - 1 or -1
        yield kind, forged


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("blank", [False, True])
def test_what_was_changed_is_refused(kind, blank):
    found, _ = evidence(kind, "tlps", blank)
    rng, seen = np.random.default_rng(0), set()
    for (which, forged), _ in zip(forgeries(found, rng), range(170), strict=False):
        with pytest.raises(ForgedError):
            verify(forged, found["fingerprint"])
        seen.add(which)
    assert len(seen) == 12


def test_a_model_of_ones_own_is_not_theirs():
    found, _ = evidence("linear", "l1", False)
    forged = copy.deepcopy(found)
    forged["model"]["intercept"][0] += 5.0
    forged["fingerprint"] = armin.verify.fingerprint_of(forged)
    verify(forged)  # true of that model
    with pytest.raises(ForgedError, match="asked about"):
        verify(forged, found["fingerprint"])


def test_damage_is_one_error():
    found, _ = evidence("forest", "tlps", True)
    for name in found:
        if name not in ("certificate", "inputs_before", "fingerprint"):
            with pytest.raises(ForgedError):
                verify({**found, name: None}, found["fingerprint"])
        if name != "certificate":
            with pytest.raises(ForgedError):
                verify({key: value for key, value in found.items() if key != name}, found["fingerprint"])


def test_the_file_runs_alone(tmp_path):
    found, _ = evidence("forest", "tlps", True)
    alone = tmp_path / "verify.py"
    alone.write_text(Path(armin.verify.__file__).read_text())
    assert len(alone.read_text().splitlines()) <= 300
    (tmp_path / "evidence.json").write_text(json.dumps(found))
    run = [sys.executable, "-I", str(alone), str(tmp_path / "evidence.json"), found["fingerprint"]]
    assert "holds" in subprocess.run(run, capture_output=True, text=True, check=True, cwd=tmp_path).stdout


def test_what_it_cannot_be_written_for():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(100, 2)), columns=["a", "b"])
    model = LogisticRegression().fit(X, X.a > 0)
    explainer = ARMIN(model, Schema.infer(X), desired=True, cost=lambda feature, one, two: 1.0).fit(X)
    with pytest.raises(ParameterError, match="tlps, mps, l1, l2, changes"):
        explainer.evidence({"a": -1.0, "b": 0.0})
    with pytest.raises(ParameterError, match="none"):
        explainer.set_params(cost="l1").fit(X).evidence({"a": 1.0, "b": 0.0})
