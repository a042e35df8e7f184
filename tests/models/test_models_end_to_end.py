"""Whole classifiers on raw frames: read = ``predict``, and recourse = brute force through ``predict``.

The frame has every type that a column may have: single and double precision, nullable and plain whole
numbers, booleans, nullable booleans, texts and categories, with blanks where the model can take them.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.fixes import parse_version

from armin import ARMIN, Schema
from armin.errors import ModelError
from armin.explain.advise import pose
from armin.models import TorchClassifier, TreeEnsemble
from armin.models.encoding import ReadClassifier, read_classifier
from armin.models.oracle import Oracle
from armin.problem import Status
from armin.sampling import NativeMissing

try:
    from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
except ImportError:  # scikit-learn before 1.5

    def FixedThresholdClassifier(*args: Any, **params: Any) -> Any:  # noqa: N802  stands for the class
        pytest.skip("new in scikit-learn 1.5")

    TunedThresholdClassifierCV = FixedThresholdClassifier

NUMBERS = ["single", "double", "count", "whole"]
WORDS = ["flag", "maybe", "city", "text", "grade"]
CITIES = ["Zürich", "Kyoto", "Lima", "São Paulo", "Bonn"]
pytestmark = pytest.mark.filterwarnings("ignore")


@cache
def frame(blanks: bool, n: int = 240) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(5)
    X = pd.DataFrame(
        {
            "single": rng.normal(size=n).round(1).astype(np.float32),
            "city": pd.Categorical(rng.choice(CITIES, n), categories=CITIES),
            "double": rng.normal(size=n).round(1),
            "count": pd.array(rng.integers(0, 6, n), dtype="Int64"),
            "flag": rng.random(n) < 0.5,
            "text": rng.choice(["a", "b", "c"], n),
            "whole": rng.integers(-3, 4, n),
            "maybe": pd.array(rng.random(n) < 0.4, dtype="boolean"),
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "top"], n), categories=["low", "mid", "top"], ordered=True
            ),
        }
    )
    score = (
        X["single"] - X["double"] + 1.5 * X["city"].isin(["Kyoto", "Bonn", "Zürich"]) + (X["text"] == "b")
        + 0.3 * X["count"].astype(float) * X["flag"] - 0.4 * X["whole"] * (X["maybe"].astype(bool))
        + (X["grade"] == "top") + rng.normal(size=n) / 2
    )  # fmt: skip
    if blanks:
        for name in ("single", "city", "double", "count", "text", "maybe", "grade"):
            X.loc[rng.random(n) < 0.12, name] = pd.NA if name in ("count", "maybe") else np.nan
    return X, np.where(score > score.median(), "yes", "no")


def with_categories(X: pd.DataFrame) -> pd.DataFrame:
    return X.assign(text=pd.Categorical(X["text"], categories=["c", "a", "b"]))


def one_hot(blanks: bool) -> Any:
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()) if blanks else StandardScaler()
    return make_column_transformer((numbers, NUMBERS), (OneHotEncoder(handle_unknown="ignore"), WORDS))


def ordinal(blanks: bool) -> Any:
    words = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    # scikit-learn refuses to pass a nullable type with blanks through; a scaler takes it
    return make_column_transformer(
        (words, WORDS), ("passthrough", ["single", "double", "whole"]), (MinMaxScaler(), ["count"])
    )


def lgbm(**params: Any) -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    small = {"n_estimators": 8, "num_leaves": 6, "min_child_samples": 5, "min_data_per_group": 5, "cat_smooth": 1}
    return lightgbm.LGBMClassifier(**{**small, "verbose": -1, "n_jobs": 1, **params})


def catboost(**params: Any) -> Any:
    library = pytest.importorskip("catboost")
    quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    return library.CatBoostClassifier(**{"iterations": 8, "depth": 3, "learning_rate": 0.5, **quiet, **params})


def xgb(**params: Any) -> Any:
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1, enable_categorical=True, **params)


def network(**params: Any) -> Any:
    return MLPClassifier((5,), solver="lbfgs", max_iter=60, random_state=0, **params)


def adaboost() -> Any:
    old = {"algorithm": "SAMME"} if parse_version(sklearn.__version__) < parse_version("1.6") else {}
    return AdaBoostClassifier(n_estimators=7, random_state=0, **old)


def voting() -> Any:
    trees = [("a", DecisionTreeClassifier(max_depth=3)), ("b", DecisionTreeClassifier(max_depth=5))]
    return VotingClassifier(trees, voting="soft")


@dataclass(frozen=True)
class Kind:
    """How a classifier is made for a frame, and which frame it takes."""

    make: Callable[[bool], Any]
    nan: bool = True
    words_nan: bool = True
    native: bool = False


def piped(encoder: Callable[[bool], Any], model: Callable[[], Any]) -> Callable[[bool], Any]:
    return lambda blanks: make_pipeline(encoder(blanks), model())


KINDS: dict[str, Kind] = {
    "linear, one-hot": Kind(piped(one_hot, LogisticRegression)),
    "network, one-hot": Kind(piped(one_hot, network)),
    "forest, one-hot": Kind(piped(one_hot, lambda: RandomForestClassifier(6, max_depth=4, random_state=0))),
    "forest, ordinal": Kind(piped(ordinal, lambda: RandomForestClassifier(6, max_depth=4, random_state=0))),
    "boosting, one-hot": Kind(piped(one_hot, lambda: GradientBoostingClassifier(n_estimators=6))),
    "hist, ordinal": Kind(piped(ordinal, lambda: HistGradientBoostingClassifier(max_iter=6, min_samples_leaf=5))),
    "lgbm, ordinal": Kind(piped(ordinal, lgbm)),
    "lgbm, one-hot": Kind(piped(one_hot, lgbm)),
    "xgb, ordinal": Kind(piped(ordinal, xgb)),
    "xgb, one-hot": Kind(piped(one_hot, xgb)),
    "catboost, ordinal": Kind(piped(ordinal, catboost)),
    "adaboost, one-hot": Kind(piped(one_hot, lambda: adaboost())),
    "bagging, ordinal": Kind(piped(ordinal, lambda: BaggingClassifier(n_estimators=4, max_features=5, random_state=0))),
    "voting, ordinal": Kind(piped(ordinal, lambda: voting())),
    "calibrated pipeline": Kind(
        lambda b: CalibratedClassifierCV(make_pipeline(one_hot(b), LinearSVC()), ensemble=False, cv=3)
    ),
    "isotonic pipeline": Kind(
        lambda b: CalibratedClassifierCV(
            make_pipeline(one_hot(b), RandomForestClassifier(6, max_depth=3, random_state=0)),
            method="isotonic",
            ensemble=False,
            cv=3,
        )
    ),
    "fixed threshold": Kind(
        lambda b: FixedThresholdClassifier(
            make_pipeline(one_hot(b), LogisticRegression()), threshold=0.7, pos_label="yes"
        )
    ),
    "tuned threshold": Kind(
        lambda b: TunedThresholdClassifierCV(
            make_pipeline(ordinal(b), HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5)),
            cv=2,
            scoring="balanced_accuracy",
        )
    ),
    "search": Kind(
        lambda b: GridSearchCV(
            make_pipeline(one_hot(b), LogisticRegression()), {"logisticregression__C": [0.1, 1]}, cv=2
        )
    ),
    "hist from types": Kind(
        lambda b: HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5, categorical_features="from_dtype"),
        native=True,
    ),
    "hist by name": Kind(
        lambda b: HistGradientBoostingClassifier(
            max_iter=8, min_samples_leaf=5, categorical_features=["grade", "text", "city"]
        )
    ),
    "lgbm native": Kind(lambda b: lgbm(), native=True),
    "lgbm native, zero as missing": Kind(lambda b: lgbm(zero_as_missing=True), native=True),
    "xgb native": Kind(lambda b: xgb(), native=True),
    "xgb native, one-hot": Kind(lambda b: xgb(max_cat_to_onehot=10), native=True),
    "catboost native": Kind(
        lambda b: catboost(cat_features=["city", "text", "grade"], one_hot_max_size=9), words_nan=False, native=True
    ),
    "calibrated native": Kind(lambda b: CalibratedClassifierCV(lgbm(), ensemble=False, cv=3), native=True),
}


@cache
def fitted(name: str, blanks: bool) -> tuple[Any, pd.DataFrame]:
    X, y = frame(blanks)
    kind = KINDS[name]
    if kind.native:
        X = with_categories(X)
    if not kind.words_nan:
        X = X.assign(**{n: frame(False)[0][n] for n in ("city", "text", "grade", "maybe")})
        X = with_categories(X).astype({"count": float}) if kind.native else X
    labels: Any = (y == "yes").astype(int) if "xgb" in name else y
    return kind.make(blanks).fit(X, labels), X


def read(
    name: str, blanks: bool, threshold: float | None = None, unseen: bool = False
) -> tuple[Oracle, ReadClassifier]:
    estimator, X = fitted(name, blanks)
    schema = Schema.infer(X)
    if unseen:
        schema = schema.widened(X.head(2).astype(object).assign(city=["Atlantis", "Ürümqi"], text=["d", "a"]))
    oracle = Oracle(estimator, schema, X.iloc[:0], estimator.classes_[1], threshold)
    return oracle, read_classifier(oracle)


def random_codes(schema: Schema, n: int, blanks: bool, seed: int = 0, but: tuple[str, ...] = ()) -> np.ndarray:
    rng = np.random.default_rng(seed)
    columns = []
    for feature in schema:
        if feature.kind == "continuous":
            column = rng.normal(size=n) * 2
        elif feature.kind == "integer":
            column = rng.integers(int(feature.low_code), int(feature.high_code) + 1, n).astype(float)
        else:
            column = rng.integers(0, len(feature.categories), n).astype(float)
        if blanks and feature.name not in but:
            column[rng.random(n) < 0.2] = np.nan
        columns.append(column)
    return np.stack(columns, axis=1)


def on_thresholds(read: ReadClassifier, schema: Schema, codes: np.ndarray) -> np.ndarray:
    """Rows at every threshold of a raw number and at its two neighbours, in the precision of the library."""
    model = read.model
    if not isinstance(model, TreeEnsemble):
        return codes
    inner = model.feature >= 0
    if model.category_set is not None:
        inner &= model.category_set < 0
    raw = {schema.position(n) for n in ("single", "double")}
    found = {
        (int(read.owners[f]), float(t))
        for f, t in zip(model.feature[inner], model.threshold[inner], strict=True)
        if int(read.owners[f]) in raw and np.isfinite(t)
    }
    kind = np.dtype(model.input_precision).type
    rows = []
    for i, (position, threshold) in enumerate(sorted(found)):
        cut = kind(threshold)
        for value in (cut, np.nextafter(cut, kind(-np.inf)), np.nextafter(cut, kind(np.inf))):
            row = codes[i % len(codes)].copy()
            row[position] = float(value)
            rows.append(row)
    return np.array(rows) if rows else codes


def agree(oracle: Oracle, read: ReadClassifier, codes: np.ndarray) -> None:
    said = oracle.accepts(codes)
    np.testing.assert_array_equal(read.model.accepts(read.encode(codes)), said)
    assert len(codes) < 100 or (said.any() and not said.all())


@pytest.mark.parametrize("blanks", [False, True], ids=["full", "blanks"])
@pytest.mark.parametrize("name", KINDS)
def test_what_is_read_is_what_predict_says(name: str, blanks: bool) -> None:
    kind = KINDS[name]
    estimator, X = fitted(name, blanks)
    oracle, found = read(name, blanks)
    assert found.owners.max() == len(oracle.schema) - 1
    but = () if kind.words_nan else ("city", "text", "grade", "maybe")
    codes = random_codes(oracle.schema, 300, blanks and kind.nan, but=but)
    agree(oracle, found, oracle.schema.encode(X))
    np.testing.assert_array_equal(
        oracle.accepts(oracle.schema.encode(X)), estimator.predict(X) == estimator.classes_[1]
    )
    agree(oracle, found, codes)
    agree(oracle, found, on_thresholds(found, oracle.schema, codes))


@pytest.mark.parametrize("name", KINDS)
def test_what_is_read_is_what_predict_proba_says(name: str) -> None:
    estimator, _ = fitted(name, True)
    if not hasattr(estimator, "predict_proba"):
        pytest.skip("has no predict_proba")
    kind = KINDS[name]
    but = () if kind.words_nan else ("city", "text", "grade", "maybe")
    for threshold in (0.35, 0.6):
        oracle, found = read(name, True, threshold)
        agree(oracle, found, random_codes(oracle.schema, 200, kind.nan, but=but))


@pytest.mark.parametrize("name", KINDS)
def test_categories_that_were_never_seen(name: str) -> None:
    kind = KINDS[name]
    oracle, found = read(name, True, unseen=True)
    assert "Atlantis" in oracle.schema["city"].categories
    but = () if kind.words_nan else ("city", "text", "grade", "maybe")
    codes = random_codes(oracle.schema, 300, kind.nan, seed=1, but=but)
    codes[:120, oracle.schema.position("city")] = oracle.schema["city"].code("Atlantis")
    codes[100:200, oracle.schema.position("text")] = oracle.schema["text"].code("d")
    if "xgb native" in name:  # since 3.1 XGBoost refuses them, and so does what was read
        try:
            oracle.accepts(codes)
        except ValueError:
            with pytest.raises(ValueError, match="not in the training set"):
                found.encode(codes)
            return
    agree(oracle, found, codes)


# --- recourse on a frame with strings and blanks, by brute force through the user's own predict


def small_frame(blanks: bool, native: bool) -> tuple[pd.DataFrame, np.ndarray]:
    X, y = frame(blanks)
    X = with_categories(X) if native else X
    return X[["single", "city", "double", "count", "text"]], y


def brute_force(explainer: ARMIN, row: dict[str, Any], confidence: float, yes: Any) -> float:
    codes = explainer.schema.encode(row)[0]
    case = pose(explainer.current, codes, (), confidence).stated
    need = math.ceil(confidence * len(case.candidates) - 1e-9)
    best = math.inf
    for choice in itertools.product(*(range(move.size) for move in case.grid.moves)):
        if sum(1 for j in choice if j) <= 2 and case.cost_of(choice) < best:
            after = explainer.schema.decode(case.grid.apply(choice, case.candidates), like=explainer.fitted_.like)
            if (np.asarray(explainer.classifier.predict(after)).ravel() == yes).sum() >= need:
                best = case.cost_of(choice)
    return best


def small_one_hot() -> Any:
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    return make_column_transformer(
        (numbers, ["single", "double", "count"]), (OneHotEncoder(handle_unknown="ignore"), ["city", "text"])
    )


def torch_pipeline(X: pd.DataFrame, y: np.ndarray) -> Any:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    encoder = small_one_hot().fit(X)
    inputs = torch.as_tensor(np.asarray(encoder.transform(X)), dtype=torch.float32)
    target = torch.as_tensor((y == "yes").astype(np.float32))[:, None]
    nn = torch.nn
    module = nn.Sequential(
        nn.Linear(inputs.shape[1], 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(0.1), nn.Linear(6, 1)
    )
    optimizer = torch.optim.Adam(module.parameters(), lr=0.05)
    for _ in range(60):
        optimizer.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(module(inputs), target).backward()
        optimizer.step()
    return make_pipeline(encoder, TorchClassifier(module, classes=["no", "yes"]))


END_TO_END: dict[str, tuple[bool, Callable[[pd.DataFrame, np.ndarray], Any]]] = {
    "scikit-learn, linear": (False, lambda X, y: make_pipeline(small_one_hot(), LogisticRegression()).fit(X, y)),
    "scikit-learn, forest": (
        False,
        lambda X, y: make_pipeline(small_one_hot(), RandomForestClassifier(5, max_depth=3, random_state=0)).fit(X, y),
    ),
    "scikit-learn, network": (False, lambda X, y: make_pipeline(small_one_hot(), network()).fit(X, y)),
    "scikit-learn, histograms": (
        True,
        lambda X, y: HistGradientBoostingClassifier(
            max_iter=5, min_samples_leaf=5, categorical_features="from_dtype"
        ).fit(X, y),
    ),
    "scikit-learn, calibrated": (
        False,
        lambda X, y: CalibratedClassifierCV(make_pipeline(small_one_hot(), LinearSVC()), ensemble=False, cv=3).fit(
            X, y
        ),
    ),
    "scikit-learn, threshold": (
        False,
        lambda X, y: FixedThresholdClassifier(
            make_pipeline(small_one_hot(), LogisticRegression()), threshold=0.65, pos_label="yes"
        ).fit(X, y),
    ),
    "XGBoost": (True, lambda X, y: xgb().fit(X, (y == "yes").astype(int))),
    "LightGBM": (True, lambda X, y: lgbm().fit(X, y)),
    "CatBoost": (
        False,
        lambda X, y: catboost(cat_features=["city", "text"], one_hot_max_size=9).fit(X, y),
    ),
    "PyTorch": (False, torch_pipeline),
}


def checked(classifier: Any, X: pd.DataFrame, sampler: Any) -> None:
    """Explain some rejected rows with blanks, and compare with the best of all choices."""
    yes = classifier.classes_[1]
    explainer = ARMIN.from_settings(
        classifier, Schema.infer(X, step={"single": 1.0, "double": 1.0}), desired=yes, confidence=0.6, n_samples=5,
        decision="complete",
        n_fresh=0, sampler=sampler, max_changes=2, max_options=4,
    ).fit(X)  # fmt: skip
    rejected = X[np.asarray(classifier.predict(X)).ravel() != yes]
    solved = 0
    for i, blank in zip((24, 4, 8, 0, 36, 44), 2 * BLANKS, strict=True):
        row = {**rejected.iloc[i].to_dict(), **dict.fromkeys(blank)}
        recourse = explainer.explain(row)
        best = brute_force(explainer, row, 0.6, yes)
        if recourse.status is Status.INFEASIBLE:
            assert best == math.inf
        else:
            assert recourse.status is Status.OPTIMAL
            assert recourse.cost == pytest.approx(best)
            solved += recourse.cost > 0
    assert solved


BLANKS = [["double", "city"], ["single", "text"], ["city", "count"]]


@pytest.mark.parametrize("library", END_TO_END)
def test_recourse_is_what_brute_force_finds_through_predict(library: str) -> None:
    native, make = END_TO_END[library]
    X, y = small_frame(True, native)
    if library == "CatBoost":  # which takes no blank for a category
        X = X.assign(city=frame(False)[0]["city"].astype(str), text=frame(False)[0]["text"])
        X = X.astype({"count": float})
    checked(make(X, y), X, "donors")


@pytest.mark.parametrize("library", ["scikit-learn, histograms", "XGBoost", "LightGBM"])
def test_recourse_by_the_model_s_own_treatment_of_blanks(library: str) -> None:
    X, y = small_frame(True, native=True)
    checked(END_TO_END[library][1](X, y), X, NativeMissing())


# --- refusals that say what to do


def test_read_around_pipelines() -> None:
    X, y = frame(False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        averaged = CalibratedClassifierCV(make_pipeline(one_hot(False), LinearSVC()), cv=2, ensemble=True).fit(X, y)
    oracle = Oracle(averaged, Schema.infer(X), X.iloc[:0], "yes")
    found, codes = read_classifier(oracle), oracle.schema.encode(X)
    np.testing.assert_array_equal(found.model.accepts(found.encode(codes)), oracle.accepts(codes))
    words = make_pipeline(one_hot(False), GridSearchCV(LogisticRegression(), {"C": [1]}, cv=2)).fit(X, y)
    box = read_classifier(Oracle(words, Schema.infer(X), X.iloc[:0], "yes"))
    assert box.model.n_inputs == box.owners.size


def test_strings_without_an_encoder_are_refused() -> None:
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": ["x", "y", "x", "y"]})
    tree = DecisionTreeClassifier().fit(X.assign(b=[0, 1, 0, 1]), [0, 0, 1, 1])
    oracle = Oracle(tree, Schema.infer(X), X.iloc[:0], 1)
    with pytest.raises(ModelError, match="Encode them in a Pipeline"):
        read_classifier(oracle).encode(np.array([[1.0, 0.0]]))
