"""What the measurements of honesty, blanks, alternatives and worlds share: data, models, and results as tables."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import beta
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from armin import Schema
from armin.datasets import BlankOneHotEncoder, load_dataset, make_loans
from lab.experiments.data import FILES

PAPER = ("FICO", "Attrition", "Student", "WineQuality")
MOST_TRAINING = 8000


@dataclass(frozen=True, eq=False)
class Data:
    """Rows, what they hold, and the label that people want."""

    name: str
    X: pd.DataFrame
    y: np.ndarray
    schema: Schema
    desired: Any

    def split(self, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
        """Training rows, other rows, and the labels of the former."""
        train, test, y, _ = train_test_split(self.X, self.y, test_size=0.25, stratify=self.y, random_state=seed)
        return train[:MOST_TRAINING], test, y[:MOST_TRAINING]


def load(name: str, *, blanks: bool = False) -> Data:
    """A data set by its name; with ``blanks``, as it was published (Adult and GiveMeCredit only)."""
    if name == "Synthetic":
        loans = make_loans()
        return Data(name, loans.X, np.asarray(loans.y), loans.schema, "approved")
    native = name == "Adult" or (name == "GiveMeCredit" and blanks)
    data = load_dataset(FILES[name], form="native" if native else "paper")
    X, y, schema = data.X, np.asarray(data.y), data.schema
    if name == "GiveMeCredit" and blanks:  # a few rows hold amounts that nobody has
        ends = {f.name: X[f.name].astype(float).quantile([0.001, 0.999]).round() for f in schema if f.actionable}
        schema = schema.update(bounds={column: (float(low), float(high)) for column, (low, high) in ends.items()})
    keep = np.ones(len(X), dtype=bool) if blanks else X.notna().all(axis=1).to_numpy(dtype=bool, copy=True)
    for feature in schema if blanks else ():
        if feature.is_number:  # bounds are trimmed: rows beyond them do not fit
            values = X[feature.name].to_numpy(dtype=float)
            keep &= np.isnan(values) | ((values >= feature.low_code) & (values <= feature.high_code))
    return Data(name, X[keep].reset_index(drop=True), y[keep], schema, data.desired)


def columns_of(X: pd.DataFrame) -> tuple[list[str], dict[str, list[str]]]:
    """The numbers of a frame, and the categories of the others."""
    others = {}
    for name in X.columns:
        if isinstance(X[name].dtype, pd.CategoricalDtype):
            others[str(name)] = [str(c) for c in X[name].cat.categories]
        elif not pd.api.types.is_numeric_dtype(X[name].dtype):
            others[str(name)] = sorted(str(c) for c in X[name].dropna().unique())
    return [str(c) for c in X.columns if c not in others], others


def _through(X: pd.DataFrame) -> Any:
    """An encoder that lets blanks through."""
    numbers, others = columns_of(X)
    one_hot = BlankOneHotEncoder(categories=list(others.values()), sparse_output=False)
    return make_column_transformer(("passthrough", numbers), (one_hot, list(others))) if others else None


def _imputing(X: pd.DataFrame) -> Any:
    """An encoder that fills blanks: the median of a number, the most frequent category."""
    numbers, others = columns_of(X)
    filled: list[Any] = [(make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers)]
    if others:
        onehot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        filled.append((make_pipeline(SimpleImputer(strategy="most_frequent"), onehot), list(others)))
    return make_column_transformer(*filled)


def _xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=40, max_leaves=8, tree_method="hist", n_jobs=1, random_state=0)


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=40, num_leaves=8, n_jobs=1, random_state=0, verbose=-1)


MODELS: dict[str, tuple[Callable[[pd.DataFrame], Any], Callable[[], Any]]] = {
    "HistGradientBoosting": (
        _through,
        lambda: HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=8, random_state=0),
    ),
    "XGBoost": (_through, _xgboost),
    "LightGBM": (_through, _lightgbm),
    "forest, imputer": (
        _imputing,
        lambda: RandomForestClassifier(50, max_leaf_nodes=8, class_weight="balanced", random_state=0),
    ),
    "MLP, imputer": (_imputing, lambda: MLPClassifier((10,), max_iter=100, random_state=0)),
    "LR, imputer": (_imputing, lambda: LogisticRegression(max_iter=500)),
    "LR": (_imputing, lambda: LogisticRegression(max_iter=500)),
    "RF": (_imputing, lambda: RandomForestClassifier(50, max_leaf_nodes=8, class_weight="balanced", random_state=0)),
}


def train(name: str, X: pd.DataFrame, y: np.ndarray, desired: Any) -> Any:
    """A fitted pipeline whose label 1 is the desired one."""
    encoder, model = MODELS[name]
    steps = [step for step in (encoder(X), model()) if step is not None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return make_pipeline(*steps).fit(X, (y == desired).astype(int))


def accepted(model: Any, rows: pd.DataFrame) -> np.ndarray:
    """Which rows a model of :func:`train` accepts."""
    return np.asarray(model.predict(rows)) == 1


def interval(successes: float, of: float, level: float = 0.95) -> tuple[float, float]:
    """The exact binomial interval."""
    tail = (1 - level) / 2
    low = 0.0 if successes <= 0 else float(beta.ppf(tail, successes, of - successes + 1))
    high = 1.0 if successes >= of else float(beta.ppf(1 - tail, successes + 1, of - successes))
    return low, high


def share(part: float, of: float) -> str:
    """A count and its share, for a table."""
    return f"{part:.0f} of {of:.0f}" + (f" ({part / of:.2f})" if of else "")


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a Markdown table."""
    if not rows:
        return "(nothing)"
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(_cell(row.get(name)) for name in names) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def options(doc: str | None, rows: int) -> argparse.ArgumentParser:
    """The options that every measurement has."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=rows, help="people in each cell")
    parser.add_argument("--quick", action="store_true", help="a few people, to see that it runs")
    parser.add_argument("--json", type=Path, help="write the results here")
    return parser


def require_data() -> None:
    """Stop where the data sets are not at hand."""
    if not os.environ.get("ARMIN_DATA"):
        raise SystemExit("The data sets are not here. Set ARMIN_DATA to their folder.")


def write(path: Path | None, results: Mapping[str, Any], start: float) -> None:
    """Print how long it took, and write the results with it."""
    spent = {"seconds": round(time.perf_counter() - start, 1), "cpu_seconds": round(time.process_time(), 1)}
    print(f"\n{spent['seconds']:.0f} s by the clock, {spent['cpu_seconds']:.0f} s of computing")
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        about = {"python": platform.python_version(), "machine": platform.machine(), **spent}
        path.write_text(json.dumps({"about": about, **results}, indent=1, default=float), encoding="utf-8")


@contextmanager
def clocked(into: list[float]) -> Iterator[None]:
    """Add the seconds of computing that a block takes."""
    start = time.process_time()
    yield
    into.append(time.process_time() - start)
