"""Small random worlds: a frame of mixed columns with blanks, a fitted pipeline, a schema, rows to explain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from armin import Schema

MODELS = {
    "linear": lambda seed: LogisticRegression(),
    "network": lambda seed: MLPClassifier((3,), max_iter=60, random_state=seed),
    "tree": lambda seed: DecisionTreeClassifier(max_leaf_nodes=6, random_state=seed),
    "forest": lambda seed: RandomForestClassifier(4, max_leaf_nodes=5, random_state=seed),
    "boosting": lambda seed: GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=seed),
}


@dataclass(frozen=True)
class World:
    X: pd.DataFrame
    y: np.ndarray
    schema: Schema
    classifier: Any
    row: dict[str, Any]


def make_world(seed: int, kind: str = "linear", blanks: int = 2) -> World:
    """A world in which a rejected row has ``blanks`` blanks among numbers, binaries and categories."""
    rng = np.random.default_rng(seed)
    n = 120
    X = pd.DataFrame(
        {
            "amount": rng.integers(0, 7, n),
            "rate": rng.normal(0, 1, n).round(2),
            "owner": rng.choice(["no", "yes"], n),
            "city": rng.choice(["Bonn", "Kyoto", "Lima"], n),
            "level": rng.choice([1, 2, 3], n),
        }
    )
    X.iloc[0] = [0, -3.0, "no", "Bonn", 1]
    X.iloc[1] = [6, 3.0, "yes", "Kyoto", 3]
    X.iloc[2, 3] = "Lima"
    score = (
        0.5 * X["amount"] + X["rate"] + (X["owner"] == "yes") - (X["city"] == "Bonn") + 0.3 * X["level"]
        + rng.normal(0, 0.7, n)
    )  # fmt: skip
    y = np.where(score > np.quantile(score, 0.6), "yes", "no")
    encoder = make_column_transformer(
        (OneHotEncoder(), ["owner", "city"]), (StandardScaler(), ["amount", "rate"]), remainder="passthrough"
    )
    classifier = make_pipeline(encoder, MODELS[kind](seed)).fit(X, y)
    directions = rng.choice(["any", "increase", "decrease", "fixed"], 5, p=[0.55, 0.2, 0.1, 0.15])
    schema = Schema.infer(
        X,
        kinds={"level": "ordinal"},
        step={"rate": 1.0},
        blanks={"rate": str(rng.choice(["shift", "reach"])), "level": str(rng.choice(["shift", "reach"]))},
        immutable=[c for c, d in zip(X.columns, directions, strict=True) if d == "fixed" and c != "amount"],
        increase_only=[c for c, d in zip(X.columns, directions, strict=True) if d == "increase" and c != "city"],
        decrease_only=[c for c, d in zip(X.columns, directions, strict=True) if d == "decrease" and c != "city"],
    )
    rejected = np.flatnonzero(classifier.predict(X) == "no")
    row = X.iloc[int(rng.choice(rejected)) if rejected.size else 0].to_dict()
    for name in rng.choice(X.columns, blanks, replace=False):
        row[str(name)] = None
    return World(X, y, schema, classifier, row)
