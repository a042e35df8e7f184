"""The model's own treatment of blanks, safety margins, and plans judged by several views."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from armin import ARMIN, Schema
from armin.errors import ModelError, ParameterError
from armin.explain.advise import pose
from armin.sampling import NativeMissing

from worlds import make_world


@pytest.fixture(scope="module")
def boosted():
    """A frame with real blanks and a booster that routes NaN by itself."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=400).round(2), "b": rng.integers(0, 9, 400).astype(float)})
    X["c"] = rng.choice(["x", "y"], 400)
    y = (X["a"] + 0.3 * X["b"] + (X["c"] == "y") + rng.normal(0, 0.3, 400) > 2).astype(int)
    X.loc[rng.uniform(size=400) < 0.2, "a"] = np.nan
    encoder = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
    model = make_pipeline(encoder, HistGradientBoostingClassifier(max_iter=20, max_leaf_nodes=5)).fit(X, y)
    return X, y, model, Schema.infer(X, step={"a": 0.5})


def test_native_missing_explains_the_row_as_the_model_sees_it(boosted):
    X, _, model, schema = boosted
    row = {"a": None, "b": 1, "c": "x"}
    explainer = ARMIN.from_settings(model, schema, desired=1, sampler=NativeMissing(), max_options=12, n_fresh=300).fit(
        X
    )
    native = explainer.explain(row)
    assert native.found
    assert native.changes
    assert native.outcome == ("plan" if native.share >= 0.75 else "falls_short")
    assert "a" not in {change.feature.name for change in native.changes}
    frame = pd.DataFrame([{**row, "a": np.nan}])
    for change in native.changes:
        frame[change.feature.name] = change.after
    assert model.predict(frame)[0] == 1
    # and it is judged by plausible people, not by the row with its blank
    assert native.fresh is not None
    assert native.fresh.of == 300


def test_a_pipeline_that_imputes_by_itself_has_a_native_view():
    world = make_world(5, blanks=0)
    numbers = world.X[["amount", "rate"]]
    model = make_pipeline(SimpleImputer(add_indicator=True), LogisticRegression()).fit(numbers, world.y)
    schema = Schema.infer(numbers, step={"rate": 0.5})
    native = ARMIN.from_settings(model, schema, desired="yes", sampler=NativeMissing(), n_fresh=0).fit(numbers)
    answer = native.explain({"amount": 0, "rate": None})
    assert answer.outcome in ("plan", "no_recourse")


def test_a_model_without_blanks_is_refused():
    world = make_world(5, blanks=1)
    explainer = ARMIN(world.classifier, world.schema, desired="yes", sampler=NativeMissing()).fit(world.X)
    row = {**world.row, "rate": None}
    with pytest.raises(ModelError, match=r"NativeMissing needs a classifier that accepts blanks"):
        explainer.explain(row)


@pytest.mark.parametrize("kind", ["linear", "forest", "network"])
def test_a_margin_asks_for_more_probability(kind):
    stricter = 0
    for seed in range(6):
        world = make_world(seed, kind, blanks=1)
        settings = {"desired": "yes", "n_samples": 10, "n_fresh": 0, "sampler": "donors", "max_options": 8}
        plain = ARMIN.from_settings(world.classifier, world.schema, **settings).fit(world.X).explain(world.row)
        explainer = ARMIN.from_settings(world.classifier, world.schema, margin=0.15, **settings).fit(world.X)
        safe = explainer.explain(world.row)
        if not safe.found:
            continue
        assert safe.cost >= plain.cost - 1e-9
        stricter += safe.cost > plain.cost + 1e-9
        sample = pose(explainer.current, world.schema.encode(world.row)[0], (), 0.75).sample
        after = safe.apply(world.schema.decode(sample.values, like=world.X))
        probability = world.classifier.predict_proba(after)[:, list(world.classifier.classes_).index("yes")]
        assert (probability >= 0.65).sum() == safe.validity.accepted
        assert safe.validity.share >= 0.75
    assert stricter


def test_margin_refusals():
    world = make_world(1)
    with pytest.raises(ParameterError, match="'margin' parameter"):
        ARMIN.from_settings(world.classifier, world.schema, desired="yes", margin=1.0).fit(world.X)
    with pytest.raises(ParameterError, match="at most 1"):
        ARMIN.from_settings(world.classifier, world.schema, desired="yes", threshold=0.9, margin=0.2).fit(world.X)
