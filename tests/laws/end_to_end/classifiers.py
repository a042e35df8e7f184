"""Random pipelines around models as people install them, fitted to a random table."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from laws.end_to_end.tables import Table

__all__ = ["Unfit", "User", "random_user"]


class Unfit(Exception):  # noqa: N818  no error: the user would have met it before armin does
    """The pipeline cannot be fitted to the table, or does not predict."""


@dataclass
class User:
    """A fitted classifier and how it was made."""

    classifier: Any
    preprocessing: str
    model: str


# --- steps that people write themselves


class Clipper(TransformerMixin, BaseEstimator):
    """A transformer of a user's own, one column at a time."""

    def fit(self, X: Any, y: Any = None) -> Clipper:
        self.low_, self.high_ = np.nanquantile(np.asarray(X, dtype=float), [0.02, 0.98], axis=0)
        return self

    def transform(self, X: Any) -> np.ndarray:
        return np.clip(np.asarray(X, dtype=float), self.low_, self.high_)


class WithRatio(TransformerMixin, BaseEstimator):
    """A transformer of a user's own that adds a ratio of two columns to a frame."""

    def __init__(self, over: Any = None, under: Any = None) -> None:
        self.over, self.under = over, under

    def fit(self, X: pd.DataFrame, y: Any = None) -> WithRatio:
        self.feature_names_in_ = np.array(list(X.columns), dtype=object)
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        return X.assign(ratio=X[self.over].astype("float64") / (X[self.under].astype("float64").abs() + 1.0))


class Wrapper:
    """A user's own class around a pipeline: classes_ and predict, and nothing else."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.classes_ = inner, inner.classes_

    def predict(self, X: Any) -> np.ndarray:
        return self.inner.predict(X)


class WrapperWithProba(Wrapper):
    """The same with probabilities."""

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.inner.predict_proba(X)


def add_ratio(X: pd.DataFrame, over: Any, under: Any) -> pd.DataFrame:
    """A frame with the ratio of two of its columns."""
    return X.assign(ratio=X[over].astype("float64") / (X[under].astype("float64").abs() + 1.0))


def add_bare_ratio(X: pd.DataFrame, over: Any, under: Any) -> pd.DataFrame:
    """The same as many write it: nobody in the training data has a zero there."""
    return X.assign(ratio=X[over].astype("float64") / X[under].astype("float64"))


def add_product(X: pd.DataFrame, one: Any, other: Any) -> pd.DataFrame:
    """A frame with the product of two of its columns."""
    return X.assign(product=X[one].astype("float64") * X[other].astype("float64"))


def first_by_second(X: Any) -> np.ndarray:
    """An array and the ratio of its first two columns."""
    X = np.asarray(X, dtype=float)
    return np.column_stack([X, X[:, 0] / (np.abs(X[:, -1]) + 1.0)])


def signed_log(X: Any) -> Any:
    """The logarithm of each number, with its sign."""
    return np.sign(X) * np.log1p(np.abs(X))


# --- what stands before the model

NUMBER_STEPS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "as is": lambda rng, k: "passthrough",
    "scale": lambda rng, k: [StandardScaler(), MinMaxScaler(), RobustScaler()][rng.integers(3)],
    "bins": lambda rng, k: KBinsDiscretizer(
        n_bins=int(rng.integers(2, 5)), encode=str(rng.choice(["onehot", "ordinal", "onehot-dense"])),
        quantile_method="averaged_inverted_cdf",
    ),
    "splines": lambda rng, k: SplineTransformer(n_knots=4, degree=int(rng.integers(1, 4))),
    "polynomials": lambda rng, k: make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False)),
    "interactions": lambda rng, k: make_pipeline(StandardScaler(), PolynomialFeatures(2, interaction_only=True)),
    "pca": lambda rng, k: make_pipeline(StandardScaler(), PCA(min(k, int(rng.integers(1, 4))))),
    "quantiles": lambda rng, k: QuantileTransformer(
        n_quantiles=20, output_distribution=str(rng.choice(["uniform", "normal"]))
    ),
    "power": lambda rng, k: PowerTransformer(),
    "logs": lambda rng, k: FunctionTransformer(signed_log),
    "own": lambda rng, k: Clipper(),
    "ratio of an array": lambda rng, k: FunctionTransformer(first_by_second),
    "union": lambda rng, k: FeatureUnion([("scaled", StandardScaler()), ("pca", PCA(1))]),
}  # fmt: skip
NUMBER_WEIGHTS = (4, 6, 1.5, 1, 1, 1.5, 1.5, 1.5, 1, 1.5, 1.5, 1.5, 1)


def _words(rng: np.random.Generator) -> tuple[str, Any]:
    if rng.random() < 0.3:
        unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -1} if rng.random() < 0.7 else {}
        return "ordinal", OrdinalEncoder(**unknown)
    return "one-hot", OneHotEncoder(
        drop=[None, None, "first", "if_binary"][rng.integers(4)],
        handle_unknown=str(rng.choice(["ignore", "ignore", "error"])),
        sparse_output=bool(rng.random() < 0.6),
    )


def _columns(rng: np.random.Generator, table: Table) -> tuple[str, Any]:
    """A ColumnTransformer of steps that fit the table's columns."""
    numbers, words = table.named("number"), table.named("word")
    if table.container == "numpy":
        numbers = [list(table.columns).index(name) for name in numbers]
    weights = np.array(NUMBER_WEIGHTS) / sum(NUMBER_WEIGHTS)
    picked = [list(NUMBER_STEPS)[i] for i in rng.choice(len(weights), 2, p=weights)]
    named, parts = [], []
    groups = [numbers] if len(numbers) < 3 or rng.random() < 0.6 else [numbers[:2], numbers[2:]]
    for i, group in enumerate(groups):
        step = NUMBER_STEPS[picked[i]](rng, len(group))
        if table.gaps or rng.random() < 0.15:
            imputer = SimpleImputer(
                strategy=str(rng.choice(["mean", "median", "most_frequent"])), add_indicator=bool(rng.random() < 0.4)
            )
            step = imputer if step == "passthrough" else Pipeline([("fill", imputer), ("then", step)])
        named.append(picked[i])
        parts.append((f"numbers {i}", step, group))
    if words:
        name, encoder = _words(rng)
        if table.gaps and rng.random() < 0.5:
            encoder = make_pipeline(SimpleImputer(strategy="most_frequent"), encoder)
        named.append(name)
        parts.append(("words", encoder, words))
    remainder = "passthrough" if not table.named("carried") and rng.random() < 0.3 else "drop"
    if remainder == "passthrough" and len(parts) > 1 and parts[0][1] == "passthrough":
        parts = parts[1:]  # the first columns are left to the remainder
    return "+".join(dict.fromkeys(named)), ColumnTransformer(parts, remainder=remainder)


def _before(rng: np.random.Generator, table: Table) -> tuple[str, list[tuple[str, Any]]]:
    """Steps before the model, and what they are called."""
    numbers = table.named("number")
    names, steps = [], []
    if table.container == "pandas" and len(numbers) >= 2 and isinstance(numbers[0], str) and rng.random() < 0.2:
        one, other = (numbers[i] for i in rng.choice(len(numbers), 2, replace=False))
        kind = int(rng.integers(4))
        step = [
            FunctionTransformer(add_ratio, kw_args={"over": one, "under": other}),
            FunctionTransformer(add_product, kw_args={"one": one, "other": other}),
            WithRatio(one, other),
            FunctionTransformer(add_bare_ratio, kw_args={"over": one, "under": other}),
        ][kind]
        names.append(["ratio", "product", "own ratio", "bare ratio"][kind])
        steps.append(("make", step))
        table = _with(table, "product" if kind == 1 else "ratio")
    if not steps and not table.named("word") and not table.named("carried") and not table.gaps and rng.random() < 0.5:
        name = list(NUMBER_STEPS)[rng.integers(len(NUMBER_STEPS))]
        step = NUMBER_STEPS[name](rng, len(numbers))
        if rng.random() < 0.4 or step == "passthrough":
            return "none", []
        return name, [("numbers", step)]
    name, columns = _columns(rng, table)
    names.append(name)
    steps.append(("columns", columns))
    if rng.random() < 0.12:
        names.append("select")
        steps.append(("select", SelectKBest(k=min(3, len(numbers))) if rng.random() < 0.6 else VarianceThreshold()))
    elif rng.random() < 0.05:
        names.append("nested")
        steps = [("all", Pipeline([*steps, ("scale", StandardScaler(with_mean=False))]))]
    return " > ".join(names), steps


def _with(table: Table, name: str) -> Table:
    """The table as later steps see it: with one column of numbers more."""
    number = table.columns[table.named("number")[0]]
    return Table(table.X, table.y, {**table.columns, name: number}, table.gaps, table.container)


# --- models as installed


def _boosted(library: str, rng: np.random.Generator, **more: Any) -> Any:
    if library == "xgboost":
        from xgboost import XGBClassifier

        return XGBClassifier(n_jobs=1, **more)
    from lightgbm import LGBMClassifier

    return LGBMClassifier(verbose=-1, n_jobs=1, **more)


def _catboost(rng: np.random.Generator) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        iterations=int(rng.integers(10, 40)), verbose=False, allow_writing_files=False, thread_count=1
    )


def _balanced(rng: np.random.Generator) -> dict[str, Any]:
    return {"class_weight": "balanced"} if rng.random() < 0.2 else {}


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(1000))


MODELS: dict[str, tuple[float, Callable[[np.random.Generator], Any]]] = {
    "LogisticRegression": (5, lambda rng: LogisticRegression(max_iter=500, **_balanced(rng))),
    "DecisionTree": (3, lambda rng: DecisionTreeClassifier(random_state=_seed(rng), **_balanced(rng))),
    "RandomForest": (3, lambda rng: RandomForestClassifier(random_state=_seed(rng), **_balanced(rng))),
    "ExtraTrees": (1, lambda rng: ExtraTreesClassifier(random_state=_seed(rng))),
    "HistGradientBoosting": (1.5, lambda rng: HistGradientBoostingClassifier(random_state=0)),
    "GradientBoosting": (1.5, lambda rng: GradientBoostingClassifier(random_state=_seed(rng))),
    "AdaBoost": (0.5, lambda rng: AdaBoostClassifier(n_estimators=20, random_state=0)),
    "LinearSVC": (1.5, lambda rng: LinearSVC(**_balanced(rng))),
    "SVC": (0.5, lambda rng: SVC(probability=False)),
    "GaussianNB": (0.5, lambda rng: GaussianNB()),
    "KNeighbors": (0.5, lambda rng: KNeighborsClassifier()),
    "MLP": (1.5, lambda rng: MLPClassifier((int(rng.integers(4, 16)),), max_iter=200, random_state=_seed(rng))),
    "XGB": (2, lambda rng: _boosted("xgboost", rng)),
    "LGBM": (2, lambda rng: _boosted("lightgbm", rng)),
    "CatBoost": (0.7, _catboost),
    "Voting soft": (
        1,
        lambda rng: VotingClassifier(
            [("lr", LogisticRegression(max_iter=500)), ("tree", DecisionTreeClassifier(max_depth=4, random_state=0))],
            voting="soft",
        ),
    ),
    "Voting hard": (
        1,
        lambda rng: VotingClassifier(
            [("lr", LogisticRegression(max_iter=500)), ("tree", DecisionTreeClassifier(max_depth=4, random_state=0)),
             ("rf", RandomForestClassifier(10, random_state=0))],
        ),
    ),
    "Calibrated": (
        1,
        lambda rng: CalibratedClassifierCV(
            [LinearSVC(), RandomForestClassifier(20, random_state=0), LogisticRegression()][rng.integers(3)],
            method=str(rng.choice(["sigmoid", "isotonic"])), cv=3,
        ),
    ),
    "Bagging": (1, lambda rng: BaggingClassifier(random_state=_seed(rng))),
}  # fmt: skip


def _native(rng: np.random.Generator, table: Table) -> User | None:
    """A booster on the frame itself, categories and blanks included; None if the table does not allow it."""
    words = [table.columns[name] for name in table.named("word")]
    if table.container != "pandas" or table.named("carried"):
        return None
    if not all(isinstance(column.values.dtype, pd.CategoricalDtype) for column in words):
        return None
    name = str(rng.choice(["HistGradientBoosting", "LGBM", "XGB"]))
    if name == "XGB":
        table.y = np.unique(table.y, return_inverse=True)[1]  # it takes no other labels
    if name == "HistGradientBoosting":
        model: Any = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    elif name == "LGBM":
        model = _boosted("lightgbm", rng)
    else:
        model = _boosted("xgboost", rng, enable_categorical=True)
    return User(model, "none", name)


def random_user(rng: np.random.Generator, table: Table) -> User:
    """A classifier that is fitted to the table, as somebody might have trained it."""
    user = _native(rng, table) if rng.random() < 0.15 else None
    if user is None:
        weights = np.array([weight for weight, _ in MODELS.values()])
        name = list(MODELS)[rng.choice(len(weights), p=weights / weights.sum())]
        preprocessing, steps = _before(rng, table)
        model = MODELS[name][1](rng)
        if name == "XGB":
            table.y = np.unique(table.y, return_inverse=True)[1]  # it takes no other labels
        user = User(Pipeline([*steps, ("model", model)]) if steps else model, preprocessing, name)
    wraps = rng.random()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            user.classifier.fit(table.X, table.y)
            user.classifier.predict(table.X[:5])
    except Exception as error:
        raise Unfit(f"{type(error).__name__}: {error}"[:200]) from error
    if wraps < 0.08:
        has_proba = hasattr(user.classifier, "predict_proba") and wraps < 0.05
        user.classifier = (WrapperWithProba if has_proba else Wrapper)(user.classifier)
        user.model = f"wrapped {user.model}"
    return user
