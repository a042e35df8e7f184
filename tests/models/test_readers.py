"""The fidelity law: a model that was read accepts exactly what the user's own estimator accepts."""

from __future__ import annotations

import hashlib
import itertools
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    PassiveAggressiveClassifier,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils.fixes import parse_version

from armin.errors import ModelError, NotFittedError, ParameterError
from armin.models import TorchClassifier, prepare_inputs, read_black_box, read_model, register_model, supported_models
from armin.models.decide import AmongLinked, decide_by_score, lowest_accepted
from armin.models.kinds import Above, Among, LinearModel, Model, ReluNetwork, ScoreMixture, TreeEnsemble

try:
    from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
except ImportError:  # scikit-learn before 1.5
    FixedThresholdClassifier = TunedThresholdClassifierCV = None

try:
    import xgboost
except ImportError:
    xgboost = None

try:
    import lightgbm
except ImportError:
    lightgbm = None

try:
    import catboost
except ImportError:
    catboost = None

needs_xgboost = pytest.mark.skipif(xgboost is None, reason="xgboost is an optional extra")

needs_lightgbm = pytest.mark.skipif(lightgbm is None, reason="lightgbm is an optional extra")

needs_catboost = pytest.mark.skipif(catboost is None, reason="catboost is an optional extra")

Array = NDArray[Any]


def quiet_fit(estimator: Any, X: Array, y: Array) -> Any:
    """Fitted without warnings, and the same in every run, whoever else drew random numbers before."""
    if hasattr(estimator, "get_params"):
        unseeded = {k: 0 for k, v in estimator.get_params().items() if k.endswith("random_state") and v is None}
        estimator.set_params(**unseeded)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FutureWarning)
        return estimator.fit(X, y)


def data(kind: str) -> tuple[Array, Array]:
    """Coarse values, so that many rows lie on thresholds; noisy labels, so that trees grow."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(140, 4)).round(1)
    score = X[:, 0] - X[:, 1] + 0.5 * np.sin(3 * X[:, 2]) + rng.normal(size=140) / 2
    if "cat" in kind:
        X[:, 1] = rng.integers(0, 8, 140)
        score = score + 2 * np.isin(X[:, 1], [1, 4, 6])
    if "nan" in kind:
        X[rng.random(X.shape) < 0.15] = np.nan
    if "multi" in kind:
        return X, np.digitize(score, [-0.7, 0.7])
    if "words" in kind:
        return X, np.where(score > 0, "yes", "no")
    return X, (score > 0).astype(int)


def legacy_ovr() -> Any:
    if "multi_class" not in LogisticRegression().get_params():
        pytest.skip("this scikit-learn has no multi_class any more")
    return LogisticRegression(multi_class="ovr", C=3.0)


def xgb(**params: Any) -> Any:
    return xgboost.XGBClassifier(**{"n_estimators": 9, "max_depth": 3, "n_jobs": 1, **params})


LINEAR: dict[str, tuple[str, Callable[[], Any]]] = {
    "logistic": ("words", lambda: LogisticRegression()),
    "logistic liblinear": ("binary", lambda: LogisticRegression(solver="liblinear")),
    "logistic multinomial": ("multi", lambda: LogisticRegression(C=3.0)),
    "logistic ovr": ("multi", legacy_ovr),
    "logistic cv": ("binary", lambda: LogisticRegressionCV(Cs=2, cv=2)),
    "linear svc": ("binary", lambda: LinearSVC()),
    "linear svc multi": ("multi", lambda: LinearSVC()),
    "sgd hinge": ("words", lambda: SGDClassifier(random_state=0)),
    "sgd log": ("binary", lambda: SGDClassifier(loss="log_loss", random_state=0)),
    "sgd huber": ("binary", lambda: SGDClassifier(loss="modified_huber", alpha=0.05, random_state=0)),
    "ridge": ("binary", lambda: RidgeClassifier()),
    "ridge cv multi": ("multi", lambda: RidgeClassifierCV()),
    "perceptron": ("binary", lambda: Perceptron()),
    "passive aggressive": ("binary", lambda: PassiveAggressiveClassifier(random_state=0)),
    "lda": ("binary", lambda: LinearDiscriminantAnalysis()),
    "lda multi": ("multi", lambda: LinearDiscriminantAnalysis()),
    "bernoulli": ("words", lambda: BernoulliNB(binarize=0.2)),
    "bernoulli multi": ("multi", lambda: BernoulliNB()),
    "mlp": ("words", lambda: MLPClassifier((6,), solver="lbfgs", max_iter=60, random_state=1)),
    "mlp deep": ("binary", lambda: MLPClassifier((5, 4, 3), solver="lbfgs", max_iter=60, random_state=1)),
    "mlp multi": ("multi", lambda: MLPClassifier((6, 4), solver="lbfgs", max_iter=60, random_state=1)),
}

TREES: dict[str, tuple[str, Callable[[], Any]]] = {
    "tree": ("words nan", lambda: DecisionTreeClassifier(max_depth=4, random_state=0)),
    "tree balanced": ("multi nan", lambda: DecisionTreeClassifier(max_depth=4, class_weight="balanced")),
    "extra tree": ("binary", lambda: ExtraTreeClassifier(max_depth=4, random_state=0)),
    "forest": ("binary nan", lambda: RandomForestClassifier(7, max_depth=4, random_state=0)),
    "forest fitted without nan": ("words", lambda: RandomForestClassifier(4, max_depth=3, random_state=0)),
    "forest balanced": (
        "binary",
        lambda: RandomForestClassifier(5, max_leaf_nodes=8, class_weight="balanced", random_state=0),
    ),
    "forest multi": ("multi nan", lambda: RandomForestClassifier(6, max_depth=3, random_state=0)),
    "extra trees": ("binary", lambda: ExtraTreesClassifier(6, max_depth=4, random_state=0)),
    "boosting": ("words", lambda: GradientBoostingClassifier(n_estimators=8, random_state=0)),
    "boosting exponential": ("binary", lambda: GradientBoostingClassifier(loss="exponential", n_estimators=8)),
    "boosting from zero": ("binary", lambda: GradientBoostingClassifier(init="zero", n_estimators=8, subsample=0.7)),
    "boosting from dummy": (
        "binary",
        lambda: GradientBoostingClassifier(init=DummyClassifier(strategy="uniform"), n_estimators=4),
    ),
    "boosting multi": ("multi", lambda: GradientBoostingClassifier(n_estimators=5, random_state=0)),
    "hist": ("words nan", lambda: HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5)),
    "hist multi": ("multi nan", lambda: HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5)),
    "hist categories": (
        "binary cat nan",
        lambda: HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5, categorical_features=[1]),
    ),
}

XGBOOST: dict[str, tuple[str, Callable[[], Any]]] = {
    "xgb": ("binary nan", lambda: xgb()),
    "xgb hinge": ("binary", lambda: xgb(objective="binary:hinge")),
    "xgb logitraw": ("binary", lambda: xgb(objective="binary:logitraw")),
    "xgb base score": ("binary nan", lambda: xgb(base_score=0.2, max_leaves=5, grow_policy="lossguide")),
    "xgb multi": ("multi nan", lambda: xgb(n_estimators=5)),
    "xgb softmax": ("multi", lambda: xgb(n_estimators=4, objective="multi:softmax")),
    "xgb parallel trees": ("multi nan", lambda: xgb(n_estimators=3, num_parallel_tree=2, subsample=0.7)),
    "xgb categories": (
        "binary cat nan",
        lambda: xgb(enable_categorical=True, feature_types=["q", "c", "q", "q"], max_cat_to_onehot=3),
    ),
    "xgb forest": ("binary nan", lambda: xgboost.XGBRFClassifier(n_estimators=6, max_depth=3, n_jobs=1)),
}

LIGHTGBM: dict[str, tuple[str, Callable[[], Any]]] = {
    "lgbm": ("words nan", lambda: lgbm()),
    "lgbm without nan": ("binary", lambda: lgbm()),
    "lgbm zero as missing": ("binary nan", lambda: lgbm(zero_as_missing=True)),
    "lgbm no missing": ("binary", lambda: lgbm(use_missing=False)),
    "lgbm base": ("binary nan", lambda: lgbm(boost_from_average=False, is_unbalance=True)),
    "lgbm sigmoid": ("binary nan", lambda: lgbm(sigmoid=0.7, max_depth=3)),
    "lgbm cross entropy": ("binary", lambda: lgbm(objective="cross_entropy")),
    "lgbm dart": ("binary nan", lambda: lgbm(boosting_type="dart", n_estimators=12)),
    "lgbm goss": ("binary nan", lambda: lgbm(data_sample_strategy="goss")),
    "lgbm forest": ("binary nan", lambda: lgbm(boosting_type="rf", subsample=0.7, subsample_freq=1)),
    "lgbm multi": ("multi nan", lambda: lgbm(n_estimators=5)),
    "lgbm forest multi": ("multi", lambda: lgbm(n_estimators=4, boosting_type="rf", subsample=0.7, subsample_freq=1)),
    "lgbm one against all": ("multi nan", lambda: lgbm(n_estimators=5, objective="multiclassova", sigmoid=2.0)),
    "lgbm categories": ("binary cat nan", lambda: lgbm(categorical_feature=[1])),
}


CATBOOST: dict[str, tuple[str, Callable[[], Any]]] = {
    "cat": ("words nan", lambda: cat()),
    "cat without nan": ("binary", lambda: cat()),
    "cat largest": ("binary nan", lambda: cat(nan_mode="Max", boost_from_average=True)),
    "cat lossguide": ("binary nan", lambda: cat(grow_policy="Lossguide")),
    "cat cross entropy": ("binary nan", lambda: cat(loss_function="CrossEntropy")),
    "cat multi": ("multi nan", lambda: cat()),
    "cat depthwise multi": ("multi nan", lambda: cat(grow_policy="Depthwise", iterations=4)),
}


def cat(**params: Any) -> Any:
    quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    return catboost.CatBoostClassifier(**{"iterations": 7, "depth": 3, "learning_rate": 0.5, **quiet, **params})


def adaboost(**params: Any) -> Any:
    if parse_version(sklearn.__version__) < parse_version("1.6"):
        params["algorithm"] = "SAMME"  # the only one since
    return AdaBoostClassifier(random_state=0, **params)


def stump() -> Any:
    return DecisionTreeClassifier(max_depth=2, random_state=0)


def three() -> list[tuple[str, Any]]:
    """Members of three kinds: a logistic of a sum, shares of trees, and a logistic of parabolas."""
    forest = RandomForestClassifier(4, max_depth=3, random_state=0)
    return [("a", LogisticRegression()), ("b", forest), ("c", GaussianNB())]


META: dict[str, tuple[str, Callable[[], Any]]] = {
    "bagging": ("words nan", lambda: BaggingClassifier(n_estimators=5, max_features=0.6, random_state=0)),
    "bagging multi": (
        "multi nan",
        lambda: BaggingClassifier(stump(), 4, max_features=3, bootstrap_features=True, random_state=0),
    ),
    "bagging few rows": ("multi", lambda: BaggingClassifier(stump(), 6, max_samples=3, random_state=1)),
    "voting": (
        "multi nan",
        lambda: VotingClassifier(
            [("a", stump()), ("b", DecisionTreeClassifier(max_leaf_nodes=9)), ("c", DecisionTreeClassifier())],
            voting="soft",
        ),
    ),
    "voting weights": (
        "words",
        lambda: VotingClassifier([("a", stump()), ("b", DecisionTreeClassifier())], voting="soft", weights=[1, 0.3]),
    ),
    "hard votes": ("multi nan", lambda: VotingClassifier([("a", stump()), ("b", ExtraTreeClassifier(max_depth=3))])),
    "hard votes weights": (
        "words",
        lambda: VotingClassifier(
            [("a", stump()), ("b", DecisionTreeClassifier()), ("c", ExtraTreeClassifier())], weights=[0.5, 0.3, 0.2]
        ),
    ),
    "mixed votes": (
        "multi nan",
        lambda: VotingClassifier(
            [("a", stump()), ("b", RandomForestClassifier(4, max_depth=3, random_state=0))], voting="soft"
        ),
    ),
    "mixed votes weights": (
        "words",
        lambda: VotingClassifier(
            [("a", ExtraTreesClassifier(3, max_depth=3, random_state=0)), ("b", BaggingClassifier(stump(), 3))],
            voting="soft",
            weights=[0.3, 1],
        ),
    ),
    "stack of forests": (
        "words nan",
        lambda: StackingClassifier(
            [("a", RandomForestClassifier(4, max_depth=3, random_state=0)), ("b", stump())], cv=2
        ),
    ),
    "stack of boosters": (
        "multi",
        lambda: StackingClassifier(
            [(k, GradientBoostingClassifier(n_estimators=n)) for k, n in (("a", 3), ("b", 4))],
            RidgeClassifier(),
            stack_method="decision_function",
            cv=2,
        ),
    ),
    "stack of scores": (
        "binary",
        lambda: StackingClassifier([("a", LinearSVC()), ("b", RidgeClassifier())], cv=2),
    ),
    "adaboost": ("words", lambda: adaboost(n_estimators=9)),
    "adaboost deep": ("binary", lambda: adaboost(estimator=stump(), n_estimators=7)),
    "adaboost multi": ("multi", lambda: adaboost(estimator=stump(), n_estimators=7)),
    "threshold on logistic": (
        "words",
        lambda: FixedThresholdClassifier(LogisticRegression(), threshold=0.7, pos_label="no"),
    ),
    "threshold on score": ("binary", lambda: FixedThresholdClassifier(LinearSVC(), threshold=-0.3)),
    "threshold on forest": (
        "words nan",
        lambda: FixedThresholdClassifier(RandomForestClassifier(8, max_depth=3, random_state=0), threshold=0.25),
    ),
    "threshold on the first share": (
        "words",
        lambda: FixedThresholdClassifier(
            RandomForestClassifier(8, max_depth=3, random_state=0), threshold=0.625, pos_label="no"
        ),
    ),
    "threshold tuned": ("binary", lambda: TunedThresholdClassifierCV(GradientBoostingClassifier(n_estimators=5), cv=3)),
    "threshold tuned network": (
        "binary",
        lambda: TunedThresholdClassifierCV(
            MLPClassifier((4,), solver="lbfgs", max_iter=40, random_state=0), cv=2, response_method="predict_proba"
        ),
    ),
    "calibrated sigmoid": ("words", lambda: CalibratedClassifierCV(LinearSVC(), ensemble=False, cv=3)),
    "calibrated isotonic": (
        "binary",
        lambda: CalibratedClassifierCV(
            GradientBoostingClassifier(n_estimators=9), method="isotonic", ensemble=False, cv=3
        ),
    ),
    "calibrated forest": (
        "binary nan",
        lambda: CalibratedClassifierCV(RandomForestClassifier(9, max_depth=3, random_state=0), ensemble=False, cv=3),
    ),
    "calibrated votes": (
        "binary",
        lambda: CalibratedClassifierCV(
            VotingClassifier([("a", stump()), ("b", RandomForestClassifier(3, max_depth=3))], voting="soft"),
            method="isotonic",
            ensemble=False,
            cv=2,
        ),
    ),
    "calibrated folds": ("words", lambda: CalibratedClassifierCV(LinearSVC(), cv=3)),
    "calibrated svc": ("binary", lambda: CalibratedClassifierCV(SVC(kernel="linear"), ensemble=False, cv=3)),
    "calibrated threshold": (
        "binary",
        lambda: FixedThresholdClassifier(
            CalibratedClassifierCV(HistGradientBoostingClassifier(max_iter=5), ensemble=False, cv=3), threshold=0.37
        ),
    ),
    "folds of forests": (
        "binary nan",
        lambda: CalibratedClassifierCV(RandomForestClassifier(5, max_depth=3, random_state=0), cv=3),
    ),
    "folds of forests isotonic": (
        "words",
        lambda: CalibratedClassifierCV(ExtraTreesClassifier(5, max_depth=3, random_state=0), method="isotonic", cv=3),
    ),
    "folds of boosters": (
        "words nan",
        lambda: CalibratedClassifierCV(HistGradientBoostingClassifier(max_iter=5), cv=2),
    ),
    "folds of scores isotonic": ("binary", lambda: CalibratedClassifierCV(LinearSVC(), method="isotonic", cv=3)),
    "folds of bayes isotonic": ("words", lambda: CalibratedClassifierCV(GaussianNB(), method="isotonic", cv=3)),
    "folds of pipelines": (
        "binary",
        lambda: CalibratedClassifierCV(make_pipeline(StandardScaler(), LogisticRegression()), cv=2),
    ),
    "soft votes of all": ("words", lambda: VotingClassifier(three(), voting="soft")),
    "soft votes of all weights": ("binary", lambda: VotingClassifier(three(), voting="soft", weights=[2, 1, 0.3])),
    "soft votes of boosters": (
        "binary nan",
        lambda: VotingClassifier(
            [
                ("a", HistGradientBoostingClassifier(max_iter=4)),
                ("b", RandomForestClassifier(3, max_depth=3, random_state=0)),
                ("c", CalibratedClassifierCV(stump(), cv=2)),
            ],
            voting="soft",
        ),
    ),
    "hard votes of all": ("words", lambda: VotingClassifier(three())),
    "hard votes of two": ("binary", lambda: VotingClassifier(three()[:2])),
    "hard votes of all weights": ("binary", lambda: VotingClassifier(three(), weights=[0.5, 0.3, 0.2])),
    "threshold on votes": (
        "words",
        lambda: FixedThresholdClassifier(VotingClassifier(three(), voting="soft"), threshold=0.3, pos_label="no"),
    ),
    "calibrated votes of two": (
        "binary",
        lambda: CalibratedClassifierCV(VotingClassifier(three()[:2], voting="soft"), ensemble=False, cv=2),
    ),
    "stack of all": ("words", lambda: StackingClassifier(three(), cv=2)),
    "stack of all passed": ("binary", lambda: StackingClassifier(three()[:2], cv=2, passthrough=True)),
    "stack of labels": (
        "binary",
        lambda: StackingClassifier(three(), RidgeClassifier(), cv=2, stack_method="predict"),
    ),
    "stack of pipelines": (
        "words",
        lambda: StackingClassifier([("a", stump()), ("b", make_pipeline(StandardScaler(), LinearSVC()))], cv=2),
    ),
    "searched": ("words", lambda: GridSearchCV(stump(), {"max_depth": [2, 3]}, cv=2)),
    "searched at random": (
        "binary",
        lambda: RandomizedSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, n_iter=2, cv=2, random_state=0),
    ),
}
META_OF_OTHERS: dict[str, tuple[str, Callable[[], Any]]] = {
    "threshold on lgbm": ("words nan", lambda: FixedThresholdClassifier(lgbm(n_estimators=5), threshold=0.6)),
    "calibrated lgbm": ("words nan", lambda: CalibratedClassifierCV(lgbm(n_estimators=5), ensemble=False, cv=3)),
    "threshold on xgb": ("binary nan", lambda: FixedThresholdClassifier(xgb(n_estimators=5), threshold=0.3)),
    "threshold on cat": ("words nan", lambda: FixedThresholdClassifier(cat(iterations=4), threshold=0.4)),
    "calibrated xgb": (
        "binary nan",
        lambda: CalibratedClassifierCV(xgb(n_estimators=5), method="isotonic", ensemble=False, cv=3),
    ),
    "folds of xgb": ("binary nan", lambda: CalibratedClassifierCV(xgb(n_estimators=4), method="isotonic", cv=2)),
    "votes of xgb": (
        "binary",
        lambda: VotingClassifier([("x", xgb(n_estimators=3)), *three()[:2]], voting="soft"),
    ),
    "votes of lgbm": ("words", lambda: VotingClassifier([("x", lgbm(n_estimators=3)), *three()[:2]], voting="soft")),
    "votes of cat": ("words", lambda: VotingClassifier([("x", cat(iterations=3)), three()[1]], voting="soft")),
}

ALL = {**LINEAR, **TREES, **XGBOOST, **LIGHTGBM, **CATBOOST, **META, **META_OF_OTHERS}
needs_thresholds = pytest.mark.skipif(FixedThresholdClassifier is None, reason="new in scikit-learn 1.5")
NEEDS = {"threshold": needs_thresholds, "xgb": needs_xgboost, "lgbm": needs_lightgbm, "cat": needs_catboost}
# sums of support vectors, or of several scores at once, in another order
INEXACT = (
    "calibrated svc", "stack of scores", "calibrated folds", "stack of pipelines", "folds of bayes isotonic",
    "soft votes of all", "soft votes of all weights", "hard votes of all", "hard votes of all weights",
    "threshold on votes", "stack of all", "stack of labels", "calibrated votes of two",
)  # fmt: skip


def lgbm(**params: Any) -> Any:
    small = {"n_estimators": 9, "num_leaves": 7, "min_child_samples": 5, "cat_smooth": 1, "min_data_per_group": 5}
    return lightgbm.LGBMClassifier(**{**small, "verbose": -1, "n_jobs": 1, "random_state": 0, **params})


def each(names: Iterable[str]) -> list[Any]:
    return [pytest.param(n, marks=[mark for word, mark in NEEDS.items() if word in n.split()]) for n in names]


def ask(model: Model, estimator: Any, rows: Array) -> Array:
    """What the model says about rows as the estimator takes them."""
    return model.accepts(prepare_inputs(estimator)(rows))


@cache
def fitted(name: str) -> Any:
    kind, make = ALL[name]
    X, y = data(kind)
    return quiet_fit(make(), X, y)


def said(estimator: Any, X: Array, desired: list[Any], threshold: float | None) -> Array:
    if threshold is None:
        return np.isin(np.asarray(estimator.predict(X)).ravel(), desired)
    columns = [list(estimator.classes_).index(label) for label in desired]
    return np.asarray(estimator.predict_proba(X)[:, columns].sum(axis=1) >= threshold)


def allows_nan(estimator: Any, X: Array) -> bool:
    try:
        estimator.predict(np.full((1, X.shape[1]), np.nan))
    except ValueError:
        return False
    return True


def rows_for(name: str, model: Model) -> Array:
    """Rows of the data, random ones, and those on which the model is most likely to be misread."""
    estimator, X = fitted(name), data(ALL[name][0])[0]
    rng = np.random.default_rng(3)
    wild = rng.normal(size=(60, X.shape[1])) * 2
    if "categories" in name:
        wild[:, 1] = rng.integers(0, 8, 60)
    parts = [X, wild]
    if isinstance(model, TreeEnsemble):
        parts.append(rows_on_thresholds(model, X))
    elif isinstance(model, ScoreMixture):
        parts += [
            rows_on_thresholds(term.model, X)
            for term in model.terms
            if isinstance(term.model, TreeEnsemble) and (term.columns is None or term.columns.max() < X.shape[1])
        ]
        if name not in INEXACT:
            parts.append(rows_on_the_boundary(estimator, wild))
    elif name not in INEXACT:
        parts.append(rows_on_the_boundary(estimator, wild))
    rows = np.concatenate(parts)
    if "categories" in name:
        rows[-10:, 1] = np.arange(10)  # 8 and 9 are unknown
        rows[-16:-10, 1] = [200.0, -1.0, -3.0, np.nan, 2.5, -0.5]
    if isinstance(model, TreeEnsemble | ScoreMixture) and allows_nan(estimator, X):
        holes = rows[: X.shape[0]].copy()
        holes[rng.random(holes.shape) < 0.3] = np.nan
        rows = np.concatenate([rows, holes])
    return rows


def rows_on_thresholds(model: TreeEnsemble, X: Array) -> Array:
    """A row at every split threshold and at its two neighbours, in the precision of the inputs."""
    inner = np.flatnonzero((model.feature >= 0) & np.isfinite(model.threshold))  # infinite: all but NaN go left
    if model.category_set is not None:
        inner = inner[model.category_set[inner] < 0]
    kind = np.dtype(model.input_precision).type
    cut = model.threshold[inner].astype(kind)
    with np.errstate(over="ignore"):  # beyond the largest number is infinity
        values = np.stack([cut, np.nextafter(cut, kind(-np.inf)), np.nextafter(cut, kind(np.inf))], axis=1)
    rows = np.repeat(X[np.arange(inner.size) % X.shape[0]], 3, axis=0)
    rows[np.arange(rows.shape[0]), np.repeat(model.feature[inner], 3)] = values.astype(np.float64).ravel()
    # between two float32 values, where rounding decides
    beside = rows[:: max(1, rows.shape[0] // 50)].copy()
    return np.concatenate([rows, np.nextafter(beside, np.inf), np.nextafter(beside, -np.inf)])


def rows_on_the_boundary(estimator: Any, rows: Array) -> Array:
    """Bisect between rows of different answers until they are neighbours."""
    answers = estimator.predict(rows)
    first = [(i, j) for i in range(len(rows)) for j in (i + 1, i + 2) if j < len(rows) and answers[i] != answers[j]]
    a, b = (rows[[pair[side] for pair in first[:25]]] for side in (0, 1))
    here = answers[[pair[0] for pair in first[:25]]]
    trail = []
    for _ in range(60):
        middle = a + (b - a) / 2
        same = (estimator.predict(middle) == here)[:, None]
        a, b = np.where(same, middle, a), np.where(same, b, middle)
        trail.append(middle)
    return np.concatenate([*trail[-12:], a, b])


def thresholds_for(estimator: Any, X: Array, label: Any) -> list[float]:
    """Round ones, and one that a row attains exactly, with its neighbours."""
    share = estimator.predict_proba(X)[:, list(estimator.classes_).index(label)]
    lowest = max(0.0, share.min()) + 1e-9  # there every row would be accepted
    inside = np.sort(share[(share > lowest) & (share < 1)])
    if inside.size == 0:
        return [0.5]
    attained = inside[inside.size // 2]
    near = [attained, np.nextafter(attained, attained.dtype.type(1)), np.nextafter(attained, attained.dtype.type(0))]
    return [0.5, 0.7, *(float(t) for t in near)]


@pytest.mark.parametrize("name", each(ALL))
def test_read_model_says_what_predict_says(name: str) -> None:
    estimator = fitted(name)
    classes = estimator.classes_.tolist()
    wishes = [[c] for c in classes] + ([classes[:2], classes[1:], classes[::2]] if len(classes) > 2 else [])
    for wish in wishes:
        model = read_model(estimator, wish if len(wish) > 1 else wish[0])
        rows = rows_for(name, model)
        expected = said(estimator, rows, wish, None)
        assert expected.any()
        assert not expected.all()
        assert model.n_inputs == prepare_inputs(estimator)(rows).shape[1]
        np.testing.assert_array_equal(ask(model, estimator, rows), expected)


def check_says_the_same(model: Model, estimator: Any, rows: Array, label: Any, threshold: float) -> None:
    """The model says what the estimator does.

    Some estimators give a row that attains the threshold one probability alone and another in company, by the last
    digit: how BLAS adds up depends on the machine and on how many rows there are. Of these few, either may be said.
    """
    found, wanted = ask(model, estimator, rows), said(estimator, rows, [label], threshold)
    apart = np.flatnonzero(found != wanted)
    assert apart.size <= 2
    for i in apart:
        np.testing.assert_array_equal(found[[i]], said(estimator, rows[[i]], [label], threshold))
        together, alone = (estimator.predict_proba(some) for some in (rows, rows[[i]]))
        np.testing.assert_allclose(together[[i]], alone, rtol=1e-14)


@pytest.mark.parametrize("name", each(name for name, (kind, _) in ALL.items() if "multi" not in kind))
def test_read_model_says_what_predict_proba_says(name: str) -> None:
    estimator = fitted(name)
    if not hasattr(estimator, "predict_proba"):
        with pytest.raises(ParameterError, match="needs an estimator with predict_proba"):
            read_model(estimator, estimator.classes_[0], threshold=0.5)
        return
    X = data(ALL[name][0])[0]
    for label in estimator.classes_:
        for threshold in [0.5, 0.7] if name in INEXACT else thresholds_for(estimator, X, label):
            model = read_model(estimator, label, threshold=threshold)
            check_says_the_same(model, estimator, rows_for(name, model), label, threshold)


@pytest.mark.parametrize("name", ["forest multi", "tree balanced"])
def test_threshold_on_one_of_three_classes_of_a_forest(name: str) -> None:
    estimator, X = fitted(name), data(ALL[name][0])[0]
    for label in estimator.classes_:
        for threshold in thresholds_for(estimator, X, label):
            model = read_model(estimator, label, threshold=threshold)
            rows = rows_for(name, model)
            np.testing.assert_array_equal(ask(model, estimator, rows), said(estimator, rows, [label], threshold))


@pytest.mark.parametrize(
    "name", each([*TREES, *XGBOOST, *LIGHTGBM, *CATBOOST, *(m for m in META if m[:3] in ("bag", "vot", "ada"))])
)
def test_outputs_of_trees_are_those_of_the_library_bit_for_bit(name: str) -> None:
    estimator = fitted(name)
    model = read_model(estimator, estimator.classes_[-1])
    rows = rows_for(name, model)
    if hasattr(estimator, "get_booster"):
        theirs = estimator.predict(rows, output_margin=True)
    elif hasattr(estimator, "tree_count_"):
        theirs = estimator.predict(rows, prediction_type="RawFormulaVal")
    elif hasattr(estimator, "booster_"):
        theirs = estimator.predict(rows, raw_score=True)
        if estimator.boosting_type == "rf":  # predict and predict_proba take the mean, raw_score the sum
            theirs = theirs / estimator.n_estimators_
    elif hasattr(estimator, "decision_function"):
        theirs = estimator.decision_function(rows)
    else:
        theirs = estimator.predict_proba(rows)
    inputs = prepare_inputs(estimator)(rows)
    np.testing.assert_array_equal(model.outputs(inputs), theirs.reshape(rows.shape[0], -1))


@pytest.mark.parametrize("name", ["mlp", "mlp deep", "mlp multi", "logistic", "lda multi"])
def test_outputs_of_linear_models_and_networks_are_those_of_the_library(name: str) -> None:
    estimator = fitted(name)
    model = read_model(estimator, estimator.classes_[-1])
    rows = rows_for(name, model)
    if isinstance(model, LinearModel):
        np.testing.assert_array_equal(model.outputs(rows).squeeze(), estimator.decision_function(rows))
    else:
        assert isinstance(model, ReluNetwork)
        assert len(model.weights) == estimator.n_layers_ - 1
        largest = model.outputs(rows)
        chances = expit(largest[:, 0]) if largest.shape[1] == 1 else None
        if chances is not None:
            np.testing.assert_allclose(chances, estimator.predict_proba(rows)[:, 1], rtol=1e-12)


# --- models that are exact in real arithmetic only: away from the last bits of the boundary


def test_linear_support_vectors() -> None:
    X, y = data("words")
    svc = SVC(kernel="linear").fit(X, y)
    rows = np.random.default_rng(0).normal(size=(500, 4))
    for label in svc.classes_:
        np.testing.assert_array_equal(read_model(svc, label).accepts(rows), svc.predict(rows) == label)
    tied = SVC(kernel="linear").fit([[-1.0, 0.0], [1.0, 0.0]], [0, 1])
    on = np.array([[0.0, 0.0], [0.0, 5.0]])
    for label in (0, 1):
        np.testing.assert_array_equal(read_model(tied, label).accepts(on), tied.predict(on) == label)


@pytest.mark.parametrize("kind", ["binary", "multi"])
def test_identity_network_becomes_linear(kind: str) -> None:
    X, y = data(kind)
    mlp = quiet_fit(MLPClassifier((5, 3), activation="identity", max_iter=60, random_state=0), X, y)
    rows = np.random.default_rng(0).normal(size=(500, 4))
    for label in mlp.classes_:
        model = read_model(mlp, label)
        assert isinstance(model, LinearModel)
        np.testing.assert_array_equal(model.accepts(rows), mlp.predict(rows) == label)


# --- ties


def test_tie_of_a_linear_score_goes_to_the_first_class() -> None:
    logistic = LogisticRegression().fit([[0.0, 0.0], [1.0, 1.0]], ["a", "b"])
    logistic.coef_, logistic.intercept_ = np.array([[1.0, -1.0]]), np.array([0.0])
    rows = np.array([[3.0, 3.0], [np.nextafter(3, 4), 3.0], [3.0, np.nextafter(3, 4)]])
    assert logistic.predict(rows).tolist() == ["a", "b", "a"]
    assert read_model(logistic, "a").accepts(rows).tolist() == [True, False, True]
    assert read_model(logistic, "b").accepts(rows).tolist() == [False, True, False]
    assert read_model(logistic, "a").decision == Above(0.0)
    assert read_model(logistic, "b").decision == Above.strictly(0.0)


def test_tie_of_two_trees() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 3, size=(30, 3)).astype(float), rng.integers(0, 2, 30)
    forest = RandomForestClassifier(2, max_depth=2, min_samples_leaf=1, random_state=3)
    grid = np.array(np.meshgrid([0, 1, 2], [0, 1, 2], [0, 1, 2])).reshape(3, -1).T.astype(float)
    ties = 0
    for seed in range(20):
        forest.set_params(random_state=seed, max_depth=None).fit(X[:12], y[:12])
        shares = forest.predict_proba(grid)
        ties += int((shares[:, 0] == shares[:, 1]).sum())
        for label in (0, 1):
            np.testing.assert_array_equal(read_model(forest, label).accepts(grid), forest.predict(grid) == label)
            half = read_model(forest, label, threshold=0.5)
            np.testing.assert_array_equal(half.accepts(grid), shares[:, label] >= 0.5)
    assert ties > 0


@pytest.mark.parametrize(
    ("make", "winner"),
    [
        (lambda: GradientBoostingClassifier(n_estimators=2), 1),
        (lambda: HistGradientBoostingClassifier(max_iter=2), 0),
        pytest.param(lambda: xgb(n_estimators=2), 0, marks=needs_xgboost),
        pytest.param(lambda: xgb(n_estimators=2, objective="binary:hinge", base_score=0.5), None, marks=needs_xgboost),
    ],
)
def test_score_of_zero(make: Callable[[], Any], winner: int | None) -> None:
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 1, 0, 1])
    booster = make().fit(X, y)
    answers = booster.predict(X)
    if winner is not None:
        assert set(answers) == {winner}
    for label in (0, 1):
        np.testing.assert_array_equal(read_model(booster, label).accepts(X), answers == label)
        half = read_model(booster, label, threshold=0.5)
        np.testing.assert_array_equal(half.accepts(X), booster.predict_proba(X)[:, label] >= 0.5)


def network_of_one_layer(classes: int, weights: list[list[float]]) -> Any:
    X = np.arange(12.0)[:, None]
    mlp = quiet_fit(MLPClassifier((2,), max_iter=1, random_state=0), X, np.arange(12) % classes)
    mlp.coefs_ = [np.array([[1.0, 0.0]]), np.array(weights)]
    mlp.intercepts_ = [np.zeros(2), np.zeros(len(weights[0]))]
    return mlp


def test_score_that_the_logistic_rounds_to_one_half() -> None:
    mlp = network_of_one_layer(2, [[1.0], [0.0]])
    X = np.array([[0.0], [1e-300], [1e-17], [1e-16], [2.3e-16], [1e-15], [1.0]])
    assert mlp.predict(X).tolist()[2] == 0  # although the score is positive
    assert mlp.predict(X).tolist()[-1] == 1
    for label in (0, 1):
        np.testing.assert_array_equal(read_model(mlp, label).accepts(X), mlp.predict(X) == label)


def test_scores_that_the_softmax_rounds_to_one_probability() -> None:
    mlp = network_of_one_layer(3, [[0.0, 1.0, -1.0], [0.0, 0.0, 0.0]])
    X = np.array([[0.0], [1e-300], [1e-17], [1e-16], [2.3e-16], [1e-15], [1e-11], [1.0]])
    assert mlp.predict(X).tolist()[2] == 0  # although the score of class 1 is larger
    assert mlp.predict(X).tolist()[-1] == 1
    for label in (0, 1, 2):
        np.testing.assert_array_equal(read_model(mlp, label).accepts(X), mlp.predict(X) == label)


@needs_xgboost
@pytest.mark.parametrize("objective", ["multi:softprob", "multi:softmax"])
def test_margins_that_xgboost_rounds_to_one_probability(objective: str) -> None:
    X, y = np.zeros((12, 2)), np.arange(12) % 3
    booster = xgb(objective=objective, n_estimators=1).fit(X, y)
    model = read_model(booster, 1)
    assert isinstance(model.decision, AmongLinked)
    steps = np.arange(-40, 41)[:, None] * np.float32(2.0**-26)
    margins = np.concatenate([np.float32([[0.1, 0.1, -1.0]]) + steps * np.float32([[0, 1, 0]])] * 2).astype(np.float32)
    margins[len(steps) :, 2] = margins[0, 0]
    rows = np.zeros((margins.shape[0], 2))
    for label in (0, 1, 2):
        expected = booster.predict(rows, base_margin=margins) == label
        np.testing.assert_array_equal(read_model(booster, label).decision.accepts(margins.astype(float)), expected)


# --- tiny data sets, where everything ties


def tiny_makers() -> list[Callable[[], Any]]:
    makers: list[Callable[[], Any]] = [
        lambda: DecisionTreeClassifier(random_state=0),
        lambda: RandomForestClassifier(2, random_state=0),
        lambda: GradientBoostingClassifier(n_estimators=3, max_depth=2, learning_rate=1.0),
        lambda: HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=1),
        lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5),
        lambda: RidgeClassifier(),
    ]
    if xgboost is not None:
        makers += [lambda: xgb(n_estimators=3, learning_rate=1.0, min_child_weight=0)]
    return makers


@settings(deadline=None, max_examples=40)
@given(
    which=st.sampled_from(range(len(tiny_makers()))),
    points=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), min_size=4, max_size=12),
    n_classes=st.sampled_from([2, 3]),
)
def test_tiny_training_sets(which: int, points: list[tuple[int, int, int]], n_classes: int) -> None:
    table = np.array(points, dtype=float)
    X, y = table[:, :2], table[:, 2].astype(int) % n_classes
    y = np.unique(y, return_inverse=True)[1]
    if np.unique(y).size < 2:
        y[0] = 1 - y[0]
    estimator = tiny_makers()[which]().fit(X, y)
    grid = np.array(np.meshgrid(np.arange(-1, 3, 0.5), np.arange(-1, 3, 0.5))).reshape(2, -1).T
    for label in estimator.classes_:
        model = read_model(estimator, label)
        rows = np.concatenate([grid, rows_on_thresholds(model, X)]) if isinstance(model, TreeEnsemble) else grid
        np.testing.assert_array_equal(model.accepts(rows), estimator.predict(rows) == label)
        if estimator.classes_.size == 2 and hasattr(estimator, "predict_proba"):
            share = estimator.predict_proba(rows)[:, list(estimator.classes_).index(label)]
            threshold = min(1.0, max(1e-3, float(share[0])))
            cut = read_model(estimator, label, threshold=threshold)
            np.testing.assert_array_equal(cut.accepts(rows), share >= threshold)


# --- the cut


@given(st.floats(-1e300, 1e300))
def test_lowest_accepted_finds_any_float(cut: float) -> None:
    assert lowest_accepted(lambda s: s[:, 0] >= cut) == cut
    assert lowest_accepted(lambda s: s[:, 0] > cut) == np.nextafter(cut, np.inf)


@given(st.floats(-(2.0**100), 2.0**100, width=32))
def test_lowest_accepted_in_single_precision(cut: float) -> None:
    def strictly(scores: Array) -> Array:
        assert scores.dtype == np.float32
        return np.asarray(scores[:, 0] > np.float32(cut))

    assert lowest_accepted(strictly, "float32") == float(np.nextafter(np.float32(cut), np.float32(np.inf)))
    assert decide_by_score(lambda s: ~strictly(s), "m", "float32") == (-1.0, Above(-cut))


# --- categories


def test_unknown_categories_of_hist_boosting_follow_the_missing_ones() -> None:
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(0, 6, 300) * 3, rng.normal(size=300)].astype(float)
    X[rng.random(300) < 0.3, 0] = np.nan
    sides = set()
    for like in ([0, 3], [6, 9, 12, 15]):  # the missing ones behave like few or like most categories
        y = ((np.isin(X[:, 0], like) | np.isnan(X[:, 0])) ^ (rng.random(300) < 0.1)).astype(int)
        for sign in (0, 1):
            booster = HistGradientBoostingClassifier(max_iter=4, categorical_features=[0]).fit(X, y ^ sign)
            nodes = np.concatenate([stage[0].nodes for stage in booster._predictors])
            sides |= set(nodes["missing_go_to_left"][nodes["is_categorical"] == 1].tolist())
            rows = np.array([[c, z] for c in [*range(-2, 20), 40, 1000, 2.5, np.nan] for z in (-1.0, 0.0, 1.0)])
            inputs = prepare_inputs(booster)(rows)
            np.testing.assert_array_equal(read_model(booster, 1).outputs(inputs)[:, 0], booster.decision_function(rows))
    assert sides == {0, 1}


# --- early stopping, labels, copies, laziness


@needs_xgboost
def test_trees_after_the_best_iteration_do_not_count() -> None:
    X, y = data("binary")
    booster = xgb(n_estimators=60, learning_rate=0.9, early_stopping_rounds=4)
    booster.fit(X[:90], y[:90], eval_set=[(X[90:], y[90:])], verbose=False)
    model = read_model(booster, 1)
    assert isinstance(model, TreeEnsemble)
    assert model.n_trees == booster.best_iteration + 1 < booster.get_booster().num_boosted_rounds()
    np.testing.assert_array_equal(model.accepts(X), booster.predict(X) == 1)


@needs_xgboost
def test_base_score_as_a_number_and_as_a_list() -> None:
    X, y = data("multi")
    for base in (None, 0.3):
        booster = xgb(n_estimators=3, base_score=base).fit(X, y)
        np.testing.assert_array_equal(read_model(booster, 2).outputs(X), booster.predict(X, output_margin=True))


@needs_xgboost
def test_pandas_categories_of_xgboost_are_read_by_code() -> None:
    pd = pytest.importorskip("pandas", reason="pandas makes the categories")
    X, y = data("binary cat")
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["b"] = pd.Categorical.from_codes(X[:, 1].astype(int), list("zyxwvuts"))
    booster = xgb(enable_categorical=True).fit(frame, y)
    np.testing.assert_array_equal(read_model(booster, 1).accepts(X), booster.predict(frame) == 1)


def test_desired_may_be_one_label_or_any_collection() -> None:
    forest, X = fitted("forest multi"), data("multi nan")[0]
    expected = np.isin(forest.predict(X), [0, 2])
    for desired in ([0, 2], (2, 0), {0, 2}, frozenset({0, 2}), np.array([0, 2]), [0, 2, 2]):
        np.testing.assert_array_equal(read_model(forest, desired).accepts(X), expected)
    for desired in (1, np.int64(1), 1.0, [1], np.array(1)):
        np.testing.assert_array_equal(read_model(forest, desired).accepts(X), forest.predict(X) == 1)
    yes = fitted("mlp")
    assert read_model(yes, np.str_("yes")).decision == read_model(yes, ["yes"]).decision
    truth = DecisionTreeClassifier().fit([[0], [1]], [False, True])
    assert read_model(truth, True).accepts(np.array([[0.0], [1.0]])).tolist() == [False, True]


@pytest.mark.parametrize("name", each(ALL))
def test_reading_copies_and_changes_nothing(name: str) -> None:
    estimator = fitted(name)
    label = estimator.classes_[0]

    def state() -> str:
        if hasattr(estimator, "get_booster"):
            kept = {k: v for k, v in vars(estimator).items() if k != "_Booster"}
            return str(joblib.hash((kept, bytes(estimator.get_booster().save_raw("json")))))
        return hashlib.sha256(pickle.dumps(estimator)).hexdigest()

    before = state()
    model = read_model(estimator, label)
    assert state() == before
    for array in vars(model).values():
        if isinstance(array, np.ndarray):
            assert array.flags.owndata
            for theirs in vars(estimator).values():
                assert not (isinstance(theirs, np.ndarray) and np.shares_memory(array, theirs))
    rows = rows_for(name, model)
    again = pickle.loads(pickle.dumps(model))
    rows = prepare_inputs(estimator)(rows)
    np.testing.assert_array_equal(again.accepts(rows), model.accepts(rows))


def test_no_library_is_imported_before_it_is_needed() -> None:
    code = "import sys, armin.models; print([m for m in ('xgboost', 'lightgbm') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_black_box_asks_the_estimator() -> None:
    X, y = data("multi")
    knn = KNeighborsClassifier(5).fit(X, y)
    np.testing.assert_array_equal(read_black_box(knn, [0, 2]).accepts(X), np.isin(knn.predict(X), [0, 2]))
    box = read_black_box(knn, [0, 2], threshold=0.6)
    np.testing.assert_array_equal(box.accepts(X), knn.predict_proba(X)[:, [0, 2]].sum(axis=1) >= 0.6)
    assert box.n_inputs == 4


# --- the registry


class Always(ClassifierMixin, BaseEstimator):
    def fit(self, X: Array, y: Array) -> Always:
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def predict(self, X: Array) -> Array:
        return np.repeat(self.classes_[1], len(X))


class Sub(Always):
    pass


class Stubborn(LogisticRegression):
    def predict(self, X: Array) -> Array:
        return np.repeat(self.classes_[0], len(X))


class Renamed(LogisticRegression):
    pass


def always(estimator: Any, target: Any) -> LinearModel:
    return LinearModel(np.zeros((1, 4)), np.zeros(1), Above(0.0 if target.accepted == (1,) else 1.0))


def test_readers_can_be_registered_by_class_and_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from armin.models import read

    monkeypatch.setattr(read, "_ENTRIES", dict(read._ENTRIES))
    X, y = data("binary")
    estimator = Always().fit(X, y)
    with pytest.raises(ModelError, match="register_model"):
        read_model(estimator, 1)
    register_model(f"{Always.__module__.partition('.')[0]}.anything.Always", always, kind="constant")
    assert read_model(Sub().fit(X, y), 1).accepts(X).all()
    assert any(row[1:] == ("Always", "constant") for row in supported_models())
    register_model(Stubborn, always)
    assert not read_model(quiet_fit(Stubborn(), X, y), 0).accepts(X).any()
    with pytest.raises(ParameterError, match=r"'library\.Class'"):
        register_model("JustAName", always)


def test_subclasses_are_read_unless_they_decide_by_themselves() -> None:
    class Contrary(LogisticRegression):
        def decision_function(self, X: Array) -> Array:
            return -super().decision_function(X)

    X, y = data("binary")
    plain = quiet_fit(Renamed(), X, y)
    np.testing.assert_array_equal(read_model(plain, 1).accepts(X), plain.predict(X) == 1)
    with pytest.raises(ModelError, match=r"own decision_function\(\)"):
        read_model(quiet_fit(Contrary(), X, y), 1)


def test_every_supported_class_is_in_this_file() -> None:
    missing = {"xgb": xgboost is None, "lgbm": lightgbm is None, "cat": catboost is None}
    if any(missing.values()) or FixedThresholdClassifier is None:
        pytest.skip("some of the libraries are not installed")
    tested = {type(fitted(name)).__name__ for name in ALL if name != "logistic ovr"}
    named = {
        name for library, name, _ in supported_models() if library in ("sklearn", "xgboost", "lightgbm", "catboost")
    }
    bayes = {"GaussianNB", "MultinomialNB", "ComplementNB", "CategoricalNB"}  # in test_readers_field.py
    assert named - tested == {"SVC", "FrozenEstimator", "HalvingGridSearchCV", "HalvingRandomSearchCV"} | bayes


def test_a_model_that_was_fitted_before_its_calibration() -> None:
    frozen = pytest.importorskip("sklearn.frozen")
    X, y = data("words")
    forest = frozen.FrozenEstimator(RandomForestClassifier(5, max_depth=3, random_state=0).fit(X[:70], y[:70]))
    score = frozen.FrozenEstimator(LinearSVC().fit(X[:70], y[:70]))
    methods = ["sigmoid", "isotonic"] + ["temperature"] * (parse_version(sklearn.__version__) >= parse_version("1.8"))
    for inner, method in itertools.product((forest, score), methods):
        outer = CalibratedClassifierCV(inner, method=method).fit(X[70:], y[70:])
        for label in outer.classes_:
            np.testing.assert_array_equal(ask(read_model(outer, label), outer, X), outer.predict(X) == label)
            half = read_model(outer, label, threshold=0.6)
            share = outer.predict_proba(X)[:, list(outer.classes_).index(label)]
            np.testing.assert_array_equal(half.accepts(X), share >= 0.6)


def test_halving_search() -> None:
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.model_selection import HalvingGridSearchCV

    X, y = data("words")
    search = HalvingGridSearchCV(stump(), {"max_depth": [1, 3]}, cv=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(read_model(search, "yes").accepts(X), search.predict(X) == "yes")


@pytest.mark.parametrize("name", ["linear", "network"])
def test_models_in_single_precision_agree_away_from_the_boundary(name: str) -> None:
    X, y = data("binary")
    maker = (
        LogisticRegression() if name == "linear" else MLPClassifier((5,), solver="lbfgs", max_iter=50, random_state=0)
    )
    estimator = quiet_fit(maker, X.astype(np.float32), y)
    rows = np.random.default_rng(0).normal(size=(2000, 4)).astype(np.float32)
    model = read_model(estimator, 1)
    said_yes = estimator.predict(rows) == 1
    away = np.abs(estimator.predict_proba(rows)[:, 1] - 0.5) > 1e-5
    np.testing.assert_array_equal(model.accepts(rows.astype(np.float64))[away], said_yes[away])
    assert away.mean() > 0.99


# --- refusals


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda X, y: KNeighborsClassifier().fit(X, y), ModelError, "cannot read a sklearn.KNeighborsClassifier"),
        (lambda X, y: KNeighborsClassifier().fit(X, y), ModelError, "method='blackbox'"),
        (lambda X, y: KNeighborsClassifier().fit(X, y), ModelError, "RandomForestClassifier"),
        (lambda X, y: LinearRegression().fit(X, y), ModelError, "cannot read a sklearn.LinearRegression"),
        (lambda X, y: RandomForestRegressor(2).fit(X, y), ModelError, "cannot read"),
        (lambda X, y: LogisticRegression(), NotFittedError, r"Call its fit\(X, y\) first"),
        (lambda X, y: RandomForestClassifier(), NotFittedError, "RandomForestClassifier must be fitted"),
        (lambda X, y: SVC().fit(X, y), ModelError, "kernel='rbf'"),
        (lambda X, y: SVC(kernel="linear").fit(X, X[:, 0].round()), ModelError, "two classes"),
        (lambda X, y: MLPClassifier((2,), activation="tanh", max_iter=2).fit(X, y), ModelError, "'tanh'"),
        (lambda X, y: MLPClassifier((2,), max_iter=2).fit(X, np.c_[y, 1 - y]), ModelError, "has several"),
        (lambda X, y: RidgeClassifier().fit(X, np.c_[y, 1 - y]), ModelError, "has several"),
        (lambda X, y: DecisionTreeClassifier().fit(X, np.c_[y, y]), ModelError, "This DecisionTreeClassifier has 2"),
        (lambda X, y: SGDClassifier().fit(X, y).sparsify(), ModelError, r"densify\(\)"),
        (
            lambda X, y: GradientBoostingClassifier(init=LogisticRegression(), n_estimators=1).fit(X, y),
            ModelError,
            "starts from LogisticRegression",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::FutureWarning")
def test_refused(make: Callable[[Array, Array], Any], error: type[Exception], message: str) -> None:
    X, y = data("binary")
    with pytest.raises(error, match=message):
        read_model(make(X, y), 1)


@needs_xgboost
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"booster": "dart"}, "'dart'"),
        ({"booster": "gblinear"}, "'gblinear'"),
        ({"missing": -1.0}, "missing=-1.0"),
        ({"objective": "binary:logistic", "n_estimators": 0}, "has no trees"),
        ({"objective": "count:poisson"}, "count:poisson"),
        ({"objective": lambda y, p: (p - y, np.ones_like(p))}, "objective"),
    ],
)
def test_refused_of_xgboost(params: dict[str, Any], message: str) -> None:
    X, y = data("binary")
    booster = xgb(**params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        booster.fit(X, y)
    with pytest.raises(ModelError, match=message):
        read_model(booster, 1)


@needs_xgboost
def test_refused_of_xgboost_when_not_fitted_or_with_vector_leaves() -> None:
    with pytest.raises(NotFittedError, match="XGBClassifier must be fitted"):
        read_model(xgb(), 1)
    X, y = data("multi")
    vector = xgb(multi_strategy="multi_output_tree", tree_method="hist", n_estimators=2).fit(X, y)
    with pytest.raises(ModelError, match="several"):
        read_model(vector, 1)


@needs_lightgbm
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"objective": lambda y, p: (p - y, np.ones_like(p))}, "has a function"),
        ({"linear_tree": True}, "linear_tree=False"),
        ({"pred_early_stop": True}, "pred_early_stop=True"),
    ],
)
def test_refused_of_lightgbm(params: dict[str, Any], message: str) -> None:
    X, y = data("binary")
    with pytest.raises(ModelError, match=message):
        read_model(lgbm(**params).fit(X, y), 1)


@needs_lightgbm
def test_a_bare_booster_is_refused_with_advice() -> None:
    X, y = data("binary")
    with pytest.raises(ModelError, match="LGBMClassifier"):
        read_model(lgbm().fit(X, y).booster_, 1)


@needs_lightgbm
def test_trees_after_the_best_iteration_of_lightgbm_do_not_count() -> None:
    X, y = data("words nan")
    booster = lgbm(n_estimators=60, learning_rate=0.9)
    booster.fit(X[:90], y[:90], eval_set=[(X[90:], y[90:])], callbacks=[lightgbm.early_stopping(3, verbose=False)])
    model = read_model(booster, "yes")
    assert isinstance(model, TreeEnsemble)
    assert model.n_trees == booster.best_iteration_ < 60
    np.testing.assert_array_equal(ask(model, booster, X), booster.predict(X) == "yes")


@needs_lightgbm
def test_whole_numbers_that_lightgbm_rounds_to_single_precision() -> None:
    X = np.arange(2**24 - 60, 2**24 + 60)[:, None]
    y = np.arange(120) % 5 < 2
    booster = lgbm(min_child_samples=1, min_data_in_bin=1).fit(X.astype(float), y)
    for rows in (X, X.astype(float), X.astype(np.float32)):
        inputs = prepare_inputs(booster)(rows)
        np.testing.assert_array_equal(
            read_model(booster, True).outputs(inputs)[:, 0], booster.predict(rows, raw_score=True)
        )


@needs_catboost
def test_refused_of_catboost() -> None:
    rng = np.random.default_rng(0)
    words = rng.choice(list("abcdefgh"), 200)
    table = np.array([[w, float(x)] for w, x in zip(words, rng.normal(size=200), strict=True)], dtype=object)
    y = np.isin(words, ["a", "d", "e"]).astype(int)
    with pytest.raises(ModelError, match="CTR"):
        read_model(cat(cat_features=[0], one_hot_max_size=2).fit(table, y), 1)
    scaled = cat().fit(table[:, 1:].astype(float), y)
    scaled.set_scale_and_bias(2.0, 0.0)
    with pytest.raises(ModelError, match="scale 2"):
        read_model(scaled, 1)


@needs_catboost
def test_probability_threshold_of_catboost() -> None:
    X, y = data("binary nan")
    booster = cat().fit(X, y)
    booster.set_probability_threshold(0.8)
    np.testing.assert_array_equal(read_model(booster, 1).accepts(X), booster.predict(X) == 1)


def torch_modules(nn: Any) -> dict[str, tuple[Any, list[Any]]]:
    deep = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(0.5), nn.Linear(6, 3), nn.ReLU())
    return {
        "deep": (nn.Sequential(nn.Flatten(), deep, nn.Linear(3, 1)), ["no", "yes"]),
        "linked": (nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1), nn.Sigmoid()), [0, 1]),
        "linear": (nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 5), nn.Identity(), nn.Linear(5, 1)), [0, 1]),
        "two outputs": (nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)), [0, 1]),
        "three outputs": (nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3), nn.Softmax(dim=1)), [0, 1, 2]),
        "double": (nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1)).double(), [0, 1]),
        "relu at the end": (nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1), nn.ReLU()), [0, 1]),
    }


def test_networks_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is an optional extra")
    torch.manual_seed(0)
    rows = np.random.default_rng(0).normal(size=(1500, 4)) * 3
    for module, classes in torch_modules(torch.nn).values():
        network = TorchClassifier(module, classes, threshold=0.55)
        assert network.n_features_in_ == 4
        for label in classes:
            np.testing.assert_array_equal(
                ask(read_model(network, label), network, rows), network.predict(rows) == label
            )
        if len(classes) == 2:
            share = network.predict_proba(rows)[:, 1]
            at = float(np.sort(share[(share > 0) & (share < 1)])[700 % (share > 0).sum()])
            model = read_model(network, classes[1], threshold=at)
            away = np.abs(share - at) > 1e-6
            np.testing.assert_array_equal(ask(model, network, rows)[away], (share >= at)[away])
        assert module.training  # asked in eval mode, and left as it was
    with pytest.raises(ModelError, match="Tanh"):
        read_model(TorchClassifier(torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.Tanh()), [0, 1]), 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CalibratedClassifierCV(MLPClassifier((2,), max_iter=5), cv=2), "MLPClassifier is neither"),
        (lambda: CalibratedClassifierCV(VotingClassifier(three(), voting="soft"), cv=2), "A map of the mean of 3 maps"),
        (lambda: BaggingClassifier(LogisticRegression(), 2), "has a LogisticRegression"),
        (lambda: AdaBoostClassifier(LogisticRegression(), n_estimators=2), "has a LogisticRegression"),
        (lambda: VotingClassifier([("a", MLPClassifier((2,), max_iter=5))], voting="soft"), "MLPClassifier is neither"),
        (lambda: VotingClassifier([("a", KNeighborsClassifier()), *three()[1:]]), "cannot read a sklearn.KNeighbors"),
        (
            lambda: StackingClassifier([("a", make_pipeline(StandardScaler(), LinearSVC()))], cv=2, passthrough=True),
            "does not pass its inputs through",
        ),
        (lambda: StackingClassifier([("a", LinearSVC())], stump(), cv=2), "final_estimator is linear"),
        (
            lambda: VotingClassifier([("a", SGDClassifier(loss="modified_huber")), three()[1]], voting="soft"),
            "something else",
        ),
        pytest.param(
            lambda: FixedThresholdClassifier(KNeighborsClassifier(), threshold=0.3),
            "cannot read a sklearn.KNeighbors",
            marks=needs_thresholds,
        ),
        (lambda: GridSearchCV(stump(), {"max_depth": [2]}, cv=2, scoring="accuracy", refit=False), "refit=True"),
    ],
)
def test_refused_around_others(make: Callable[[], Any], message: str) -> None:
    X, y = data("binary")
    with pytest.raises((ModelError, NotFittedError), match=message):
        read_model(quiet_fit(make(), X, y), 1)


def test_desired_must_be_some_of_the_labels() -> None:
    logistic = fitted("logistic")
    with pytest.raises(ParameterError, match=r"among the labels \['no', 'yes'\] of LogisticRegression. Got 'maybe'"):
        read_model(logistic, "maybe")
    with pytest.raises(ParameterError, match="Got 1"):
        read_model(logistic, 1)
    for desired in (["no", "yes"], []):
        with pytest.raises(ParameterError, match="some, and not all"):
            read_model(logistic, desired)
    with pytest.raises(ParameterError, match="some, and not all"):
        read_model(DecisionTreeClassifier().fit([[0], [1]], [5, 5]), 5)


@pytest.mark.parametrize("threshold", [0, 0.0, -0.1, 1.5, float("nan"), "0.5", True])
def test_threshold_must_be_a_probability(threshold: Any) -> None:
    with pytest.raises(ParameterError, match="probability in"):
        read_model(fitted("logistic"), "yes", threshold=threshold)


def test_threshold_that_is_no_cut_is_refused() -> None:
    for name in ("logistic multinomial", "mlp multi", "boosting multi", "hist multi"):
        with pytest.raises(ModelError, match="cannot be read exactly"):
            read_model(fitted(name), 0, threshold=0.5)


@pytest.mark.parametrize("name", ["forest multi", "bagging multi", "mixed votes"])
def test_threshold_on_several_labels_of_a_forest(name: str) -> None:
    estimator, X = fitted(name), data(ALL[name][0])[0]
    share = estimator.predict_proba(X)[:, [0, 2]].sum(axis=1)
    for at in (0.5, float(np.median(share)), *np.quantile(share, [0.2, 0.7])):
        for threshold in (at, np.nextafter(at, 0), np.nextafter(at, 1)):
            model = read_model(estimator, [0, 2], threshold=float(threshold))
            rows = rows_for(name, model)
            np.testing.assert_array_equal(ask(model, estimator, rows), said(estimator, rows, [0, 2], threshold))


def test_kinds_are_the_ones_announced() -> None:
    kinds = {"linear": LinearModel, "network": ReluNetwork, "trees": TreeEnsemble}
    announced = {name: kind for _, name, kind in supported_models()}
    for name in ("logistic", "mlp", "forest", "boosting", "hist"):
        estimator = fitted(name)
        model = read_model(estimator, "yes" if "yes" in estimator.classes_ else 1)
        assert type(model) is kinds[announced[type(estimator).__name__]]
    assert isinstance(read_model(fitted("forest"), 1).decision, Among)


def test_the_page_on_models_says_what_the_registries_say() -> None:
    script = Path(__file__).resolve().parents[2] / "docs" / "build.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
