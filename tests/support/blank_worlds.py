"""Training rows with blanks, pipelines that decide about them, and people with blanks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from armin import Schema

MODELS = {
    "linear": lambda seed: LogisticRegression(),
    "network": lambda seed: MLPClassifier((4,), max_iter=150, random_state=seed),
    "forest": lambda seed: RandomForestClassifier(5, max_leaf_nodes=6, random_state=seed),
    "boosting": lambda seed: HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=5, min_samples_leaf=5),
}


def blank_world(seed: int, kind: str, blanks: int = 2) -> tuple[pd.DataFrame, Any, Schema, dict[str, Any]]:
    """Training rows with blanks, a pipeline that decides about them, and a person with blanks."""
    rng = np.random.default_rng(seed)
    n = 150
    X = pd.DataFrame(
        {
            "amount": rng.integers(0, 7, n).astype(float),
            "rate": rng.normal(0, 1, n).round(1),
            "owner": rng.choice(["no", "yes"], n),
            "level": rng.integers(1, 5, n).astype(float),
        }
    )
    X.iloc[0], X.iloc[1] = [0, -3.0, "no", 1], [6, 3.0, "yes", 4]
    score = 0.5 * X["amount"] + X["rate"] + (X["owner"] == "yes") + 0.3 * X["level"] + rng.normal(0, 0.5, n)
    y = np.where(score > np.quantile(score, 0.55), "yes", "no")
    complete = X.copy()
    for name in ("amount", "rate", "owner", "level"):
        X.loc[rng.random(n) < 0.15, name] = None if name == "owner" else np.nan
    numbers: Any = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    encoder = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="constant", fill_value="none"), OneHotEncoder()), ["owner"]),
        (
            numbers if numbers == "passthrough" else make_pipeline(numbers, StandardScaler()),
            ["amount", "rate", "level"],
        ),
    )
    model = make_pipeline(encoder, MODELS[kind](seed)).fit(X, y)
    schema = Schema.infer(complete, kinds={"level": "integer"}, step={"rate": 1.0})
    row = complete.iloc[int(rng.integers(n))].to_dict()
    for name in rng.choice(X.columns, blanks, replace=False):
        row[str(name)] = None
    return X, model, schema, row
