"""The paper's settings: data set x model, rows predicted undesired, blanks at random."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

from armin import ARMIN, Schema
from armin.costs import TotalLogPercentileShift
from armin.datasets.amputate import mcar
from lab.experiments.data import encoder, load


def _xgboost() -> ClassifierMixin:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=50, max_leaves=8, tree_method="hist", n_jobs=2)


MODELS: dict[str, Callable[[], Any]] = {
    "LR": lambda: LogisticRegression(solver="liblinear", C=1.0),
    "RF": lambda: RandomForestClassifier(50, max_leaf_nodes=8, class_weight="balanced", random_state=0),
    "XGBoost": _xgboost,
    "HistGB": lambda: HistGradientBoostingClassifier(max_iter=50, max_leaf_nodes=8, random_state=0),
    "MLP": lambda: MLPClassifier((30,), max_iter=500, random_state=0),
    "RF500": lambda: RandomForestClassifier(500, max_depth=12, random_state=0, n_jobs=2),
    "MLP3x64": lambda: MLPClassifier((64, 64, 64), max_iter=200, random_state=0),
}


STATED: dict[str, dict[str, list[str]]] = {  # what a lender would add: what has ever happened stays, and time passes
    "FICO": {
        "immutable": ["NumTrades60Ever2DerogPubRec", "NumTrades90Ever2DerogPubRec", "MaxDelqEver"],
        "increase_only": ["MSinceOldestTradeOpen", "AverageMInFile", "MSinceMostRecentDelq"],
    },
}


@dataclass(frozen=True, eq=False)
class Cell:
    """One data set with one fitted model, and rejected rows with and without blanks."""

    dataset: str
    model: str
    explainer: ARMIN
    complete: pd.DataFrame
    masked: pd.DataFrame
    train: pd.DataFrame
    labels: np.ndarray
    desired: int = 0


@dataclass(frozen=True, eq=False)
class _Data:
    X: pd.DataFrame
    y: np.ndarray
    schema: Schema
    encoder: Any


def have_data() -> bool:
    """Whether the real data sets are at hand."""
    return bool(os.environ.get("ARMIN_DATA"))


def _load(name: str) -> _Data:
    if name == "Synthetic":
        return _synthetic()
    data = load(name, "paper")
    return _Data(data.X, np.asarray(data.y), data.schema, encoder(data))


def _synthetic(n: int = 4000) -> _Data:
    """Twenty related integer features and a rule with interactions, for machines without the data."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(n, 5))
    raw = hidden @ rng.normal(size=(5, 20)) + rng.normal(size=(n, 20))
    X = pd.DataFrame((50 + 15 * raw).round().clip(0, 100), columns=[f"f{i:02d}" for i in range(20)]).astype(int)
    score = raw @ rng.normal(size=20) + raw[:, 0] * raw[:, 1] - raw[:, 2] ** 2 + rng.normal(size=n)
    y = (score < np.median(score)).astype(int)
    return _Data(X, y, Schema.infer(X), "passthrough")


def make_cell(
    dataset: str,
    model: str,
    count: int,
    *,
    n_missing: int = 2,
    n_samples: int = 100,
    stated: bool = False,
    made: Callable[[pd.DataFrame, np.ndarray], Any] | None = None,
) -> Cell:
    """Train as in the paper and pick the first ``count`` test rows that are predicted undesired.

    With ``stated``, FICO has constraints: in the paper everything may change. ``made`` fits a classifier of one's own
    on the raw training frame; ``model`` is its name then.
    """
    data = _load(dataset)
    schema = data.schema.update(**STATED.get(dataset, {})) if stated else data.schema
    train, test, y_train, _ = train_test_split(data.X, data.y, test_size=0.25, stratify=data.y, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the paper's number of iterations, reached or not
        if made is not None:
            classifier = made(train, y_train)
        else:
            classifier = make_pipeline(data.encoder, MODELS[model]()).fit(train, y_train)
    explainer = ARMIN.from_settings(
        classifier,
        schema.widened(data.X),
        desired=0,
        cost=TotalLogPercentileShift(base=2, estimate="kde"),
        confidence=0.75,
        n_samples=n_samples,
        max_changes=4,
        max_options=100,
        grid="paper",
        n_fresh=0,
        time_limit=60.0,
        decision="complete",
    ).fit(train)
    rows = test[classifier.predict(test) == 1].head(count)
    masked, _ = mcar(rows, n_missing, random_state=0)
    return Cell(dataset, model, explainer, rows, masked, train, y_train)
