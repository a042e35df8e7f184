"""Every point of a region is accepted, by the user's own predict."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from armin import ARMIN, ExpertOptions, Schema
from armin.errors import ModelError, ParameterError
from armin.explain.draw import candidates_of
from armin.explain.world import find_world
from armin.schema import Order

MODELS = {
    "linear": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "forest": lambda: RandomForestClassifier(20, max_depth=5, random_state=0),
    "boosting": lambda: make_pipeline(StandardScaler(), GradientBoostingClassifier(random_state=0)),
    "xgboost": lambda: pytest.importorskip("xgboost").XGBClassifier(n_estimators=30, max_depth=4),
}


def table(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=400), "b": rng.integers(0, 30, 400), "c": rng.normal(3, 1e3, 400)})
    y = (X.a + X.b / 10 - X.c / 1e3 + 0.3 * rng.normal(size=400) > 2).astype(int)
    return X.astype(float) if seed % 2 else X, y


@pytest.mark.parametrize("blank", [False, True])
@pytest.mark.parametrize("kind", MODELS)
def test_every_point_of_the_box_is_accepted(kind, blank):
    rng, wide, points = np.random.default_rng(7), 0, 0
    for seed in range(3):
        X, y = table(seed)
        model = MODELS[kind]().fit(X, y)
        options = ExpertOptions(n_samples=20, n_fresh=0)
        explainer = ARMIN(model, Schema.infer(X), desired=1, confidence=0.7, decision="complete", options=options)
        explainer.fit(X)
        for _, row in X[model.predict(X) == 0].head(3).iterrows():
            given = row.to_dict() | ({"b": None} if blank else {})
            region = explainer.region(given)
            if blank:
                fitted, codes = explainer.current.at(given)
                people = candidates_of(fitted, find_world(fitted, codes), codes)
                before, weights = people.values, people.weights
            else:
                before, weights = row.to_numpy(dtype=float)[None, :], np.ones(1)
            boxes = [{span.change.feature.name: (span.low, span.high) for span in region.spans}]
            for span in region.spans:  # one at a time, the others as planned
                planned = {s.change.feature.name: (float(s.change.after),) * 2 for s in region.spans}
                boxes.append(planned | {span.change.feature.name: span.alone})
            for box in boxes:
                tried = 250 if blank else 4000
                after = np.repeat(before[None], tried, axis=0)
                for span in region.spans:
                    name, d = span.change.feature.name, list(X).index(span.change.feature.name)
                    low, high = box[name]
                    at = rng.uniform(low, high, tried)
                    at[:40] = rng.choice([low, high], 40)  # corners
                    at = np.rint(at) if span.change.feature.kind == "integer" else at
                    old = before[None, :, d]
                    if span.change.mode == "observed":
                        after[:, :, d] = at[:, None]
                    else:
                        after[:, :, d] = (np.maximum if span.change.sense > 0 else np.minimum)(old, at[:, None])
                    wide += high > low
                works = model.predict(pd.DataFrame(after.reshape(-1, 3), columns=list(X))).reshape(tried, -1) == 1
                assert (works @ weights >= 0.7 * weights.sum() - 1e-9).all() if blank else works.all()
                points += works.size
    assert wide >= 6
    assert points >= 40_000


def test_what_has_no_region():
    X, y = table(1)
    network = make_pipeline(StandardScaler(), MLPClassifier((4,), max_iter=50, random_state=0)).fit(X, y)
    rejected = X[network.predict(X) == 0].iloc[0].to_dict()
    with pytest.raises(ModelError, match="linear scores and trees"):
        ARMIN(network, Schema.infer(X), desired=1).fit(X).region(rejected)
    model = MODELS["linear"]().fit(X, y)
    with pytest.raises(ParameterError, match="changes something"):
        ARMIN(model, Schema.infer(X), desired=1).fit(X).region(X[model.predict(X) == 1].iloc[0].to_dict())


def test_a_number_that_a_rule_ties_stays():
    X, y = table(1)
    model = MODELS["linear"]().fit(X, y)
    schema = Schema(Schema.infer(X).features, (Order(("a", "b")),))
    region = ARMIN(model, schema, desired=1).fit(X).region(X[model.predict(X) == 0].iloc[0].to_dict())
    for span in region.spans:
        assert span.change.feature.name == "c" or span.low == span.high == span.change.after
    assert str(region).startswith("Every combination")
    assert region.text("de").startswith("Jede Verbindung")
