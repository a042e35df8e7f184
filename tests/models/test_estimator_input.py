"""What a user's estimator is given: always the kind of table that it was trained on."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from armin import ARMIN
from armin.bundle import load_bundle, save_bundle
from armin.bundle.like import describe_types, frame_of_types
from armin.schema import Schema, SchemaNote
from armin.schema.frames import as_frame, as_original, original_of, types_of

pytestmark = pytest.mark.filterwarnings(
    "error", "ignore:ARMIN cannot read", "ignore:.*pickle", "ignore::sklearn.exceptions.ConvergenceWarning"
)

N = 200


def people(**types: Any) -> pd.DataFrame:
    """Rows in an order of columns that is not the alphabet's."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "work": rng.integers(0, 30, N),
        "city": rng.choice(["Oslo", "Rome", "Kyiv"], N),
        "income": rng.normal(50.0, 15.0, N).round(1),
        "owns": rng.random(N) < 0.5,
    })  # fmt: skip
    return frame.astype(types)


FRAMES = {
    "as pandas infers": {},
    "object": {"city": object},
    "nullable": {"work": "Int64", "city": "string", "income": "Float64", "owns": "boolean"},
    "category": {"city": "category"},
    "arrow": {
        "work": "int64[pyarrow]", "city": "string[pyarrow]", "income": "double[pyarrow]", "owns": "bool[pyarrow]",
    },
    "small": {"work": "int16", "income": "float32"},
}  # fmt: skip


def labels(X: pd.DataFrame) -> np.ndarray:
    return np.where(X["income"].astype(float) + X["work"].astype(float) > 60, "yes", "no")


def by_name() -> Any:
    columns = make_column_transformer(
        (StandardScaler(), ["work", "income"]), (OneHotEncoder(handle_unknown="ignore"), ["city"]), remainder="drop"
    )
    return make_pipeline(columns, LogisticRegression())


class Wrapped(ClassifierMixin, BaseEstimator):
    """A user's own classifier around a pipeline, which counts its columns, as many do, and says no names."""

    def __init__(self, inner: Any = None) -> None:
        self.inner = inner

    def fit(self, X: Any, y: Any) -> Wrapped:
        self.inner_ = clone(self.inner).fit(X, y)
        self.classes_, self.n_features_in_ = self.inner_.classes_, X.shape[1]
        return self

    def predict(self, X: Any) -> Any:
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def predict_proba(self, X: Any) -> Any:
        return self.inner_.predict_proba(X.fillna({"income": 40.0, "city": "Rome"}) if hasattr(X, "fillna") else X)


class Strict:
    """Refuses all but the kind of table that it was trained on."""

    def __init__(self, X: pd.DataFrame) -> None:
        self.trained, self.classes_ = X, np.array(["no", "yes"])
        self.n_features_in_ = X.shape[1]

    def predict(self, X: Any) -> Any:
        assert isinstance(X, pd.DataFrame)
        assert X.columns.equals(self.trained.columns)
        for name in X:
            held, meant = X[name].dtype, self.trained[name].dtype
            # NumPy has no type for whole numbers, or truth values, beside a blank
            free = isinstance(meant, np.dtype) and meant.kind in "iub" and X[name].isna().any()
            assert held == meant or free, (name, held, meant)
        return np.where(X.iloc[:, 2].fillna(30).astype(float) + X.iloc[:, 0].fillna(3).astype(float) > 60, "yes", "no")


def rejected(explainer: ARMIN, X: pd.DataFrame, blank: str) -> dict[str, Any]:
    row = next(row for row in X.to_dict("records") if row["income"] < 40 and row["work"] < 10)
    return {str(name): value for name, value in row.items()} | {blank: None}


@pytest.mark.parametrize("types", FRAMES.values(), ids=list(FRAMES))
@pytest.mark.parametrize("blank", ["income", "work", "city", "owns"])
def test_frames_keep_their_columns_order_and_types(types: dict[str, Any], blank: str) -> None:
    if "pyarrow" in str(types):
        pytest.importorskip("pyarrow")
    X = people(**types)
    schema = Schema.infer(X[sorted(X)])
    explainer = ARMIN.from_settings(Strict(X), schema, desired="yes", n_samples=5, n_fresh=20, sampler="marginal").fit(
        X
    )
    row = rejected(explainer, X, blank)
    plan = explainer.explain(row)
    assert plan.changes
    explainer.path(row)
    explainer.alternatives(row, 2)
    explainer.ask(row, n_values=2)
    explainer.stress(row, plan=plan)
    explainer.what_if(row, {plan.changes[0].feature.name: plan.changes[0].after})
    explainer.reasons(row)
    (many,) = explainer.explain_many(pd.DataFrame([row]))
    assert many.cost == plan.cost


def around(inner: Any) -> dict[str, Any]:
    own = Wrapped(inner)
    return {
        "alone": own,
        "in a pipeline": make_pipeline(own),
        "behind a step": make_pipeline(FunctionTransformer(), own),
        "calibrated": CalibratedClassifierCV(own, cv=2),
        "in a vote": VotingClassifier([("own", own), ("plain", clone(inner))], voting="soft"),
        "wrapped twice": Wrapped(own),
    }


@pytest.mark.parametrize("place", around(by_name()))
@pytest.mark.parametrize("passed", ["frame", "array"])
def test_a_wrapper_that_says_no_names_gets_the_frame_it_was_trained_on(place: str, passed: str) -> None:
    X = people()
    model = around(by_name())[place].fit(X, labels(X))
    explainer = ARMIN.from_settings(model, Schema.infer(X), desired="yes", n_samples=5, sampler="marginal", n_fresh=20)
    explainer.fit(X if passed == "frame" else X.to_numpy())
    assert explainer.explain(rejected(explainer, X, "city")).found


@pytest.mark.parametrize("passed", ["frame", "array"])
@pytest.mark.parametrize("inner", [LogisticRegression(), RandomForestClassifier(5), Wrapped(LogisticRegression())])
def test_what_was_trained_on_arrays_gets_arrays_and_does_not_warn(inner: Any, passed: str) -> None:
    X = people()[["work", "income"]]
    array = X.to_numpy()
    for model in (clone(inner), make_pipeline(StandardScaler(), clone(inner))):
        model.fit(array, labels(X))
        explainer = ARMIN.from_settings(
            model, Schema.infer(X[["income", "work"]]), desired="yes", sampler="marginal", n_samples=5
        )
        if passed == "array":
            explainer.set_params(schema=Schema.infer(X))
        explainer.fit(X if passed == "frame" else array)
        low = {"income": 20.0, "work": 2}
        plan = explainer.explain(low)
        assert plan.found
        after = low | {c.feature.name: c.after for c in plan.changes}
        assert model.predict(np.array([[after["work"], after["income"]]]))[0] == "yes"


@pytest.mark.parametrize(
    ("library", "name", "settings"),
    [("xgboost", "XGBClassifier", {}), ("lightgbm", "LGBMClassifier", {"verbose": -1})],
)
def test_a_booster_gets_what_it_was_trained_on(library: str, name: str, settings: dict[str, Any]) -> None:
    booster = getattr(pytest.importorskip(library), name)(n_estimators=3, **settings)
    X = people()[["work", "income"]]
    y = (labels(X) == "yes").astype(int)
    for trained, framed in ((X, True), (X.to_numpy(), False)):
        explainer = ARMIN(clone(booster).fit(trained, y), Schema.infer(X), desired=1, sampler="marginal").fit(X)
        assert explainer.fitted_.decision.framed == framed
        explainer.explain({"work": 2, "income": None})


def test_a_rule_on_arrays_gets_arrays() -> None:
    class Rule:
        classes_ = np.array([0, 1])

        def predict(self, X: Any) -> Any:
            return (X[:, 0] * 2 + X[:, 1] > 60).astype(int)

    X = people()[["work", "income"]]
    explainer = ARMIN(Rule(), Schema.infer(X), desired=1, sampler="marginal").fit(X)
    assert explainer.explain({"work": 2, "income": 30.0}).found


def test_labels_that_are_numbers() -> None:
    X = people()[["work", "income", "owns"]].set_axis([0, 1, 2], axis=1)
    y = np.where(X[1] + X[0] > 60, "yes", "no")

    class ByNumber(BaseEstimator):
        def fit(self, X: Any, y: Any = None) -> ByNumber:
            return self

        def transform(self, X: Any) -> Any:
            return X[[0, 1]].to_numpy(dtype=float)

    model = make_pipeline(ByNumber(), LogisticRegression()).fit(X, y)
    explainer = ARMIN.from_settings(model, Schema.infer(X), desired="yes", method="blackbox", sampler="marginal").fit(X)
    assert explainer.explain({"0": 2, "1": 30.0, "2": True}).found


def test_a_carried_column_that_the_estimator_needs() -> None:
    X = people().assign(day=pd.date_range("2020-01-01", periods=N))

    class Dated:
        classes_ = np.array(["no", "yes"])
        n_features_in_ = 5

        def predict(self, X: Any) -> Any:
            late = X["day"].dt.year.astype(int) > 2018  # a blank has no year
            return np.where(late & (X["income"] + X["work"] > 60), "yes", "no")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SchemaNote)
        schema = Schema.infer(X)
    assert schema.carried == ["day"]
    explainer = ARMIN(Dated(), schema, desired="yes", sampler="marginal").fit(X)
    assert explainer.explain(X[labels(X) == "no"].iloc[0].to_dict()).found


def test_a_bundle_remembers_what_the_estimator_takes(tmp_path: Any) -> None:
    X = people()[["income", "work", "owns", "city"]]
    model = Wrapped(by_name()).fit(X, labels(X))
    explainer = ARMIN.from_settings(
        model, Schema.infer(X[sorted(X)]), desired="yes", n_samples=5, n_fresh=20, sampler="marginal"
    )
    explainer.fit(X)
    row = rejected(explainer, X, "city")
    save_bundle(tmp_path / "one.armin", explainer, trust=True)
    loaded = load_bundle(tmp_path / "one.armin", trust=True).explainer
    assert loaded.fitted_.decision.columns == list(X)
    assert loaded.explain(row).changes == explainer.explain(row).changes


def doubled(rows: Any) -> Any:
    """A step for tables of polars only."""
    import polars

    return rows.with_columns(polars.col("a") * 2).to_numpy()


def test_a_step_that_takes_tables_of_polars_gets_them() -> None:
    polars = pytest.importorskip("polars")
    pytest.importorskip("narwhals")
    rng = np.random.default_rng(0)
    X = polars.DataFrame({"a": rng.normal(size=150), "b": rng.normal(size=150), "c": rng.integers(0, 3, 150)})
    y = (X["a"] + X["b"] > 0).to_numpy().astype(int)
    model = make_pipeline(FunctionTransformer(doubled), StandardScaler(), LogisticRegression()).fit(X, y)
    explainer = ARMIN(model, Schema.infer(X), desired=1, sampler="marginal").fit(X)
    plan = explainer.explain({"a": -1.0, "b": None, "c": 1})
    assert plan.found
    after = plan.apply(pd.DataFrame({"a": [-1.0], "b": [-0.5], "c": [1]}))
    assert model.predict(polars.DataFrame({name: after[name].tolist() for name in after})).tolist() == [1]


def test_a_step_that_makes_arrays_of_polars_is_not_given_names() -> None:
    """With pandas it would name the columns, of which the model behind it would warn."""
    polars = pytest.importorskip("polars")
    pytest.importorskip("narwhals")
    rng = np.random.default_rng(0)
    X = polars.DataFrame({"a": rng.normal(size=150), "b": rng.normal(size=150)})
    y = (X["a"] + X["b"] > 0).to_numpy().astype(int)
    model = make_pipeline(FunctionTransformer(np.sign), LogisticRegression()).fit(X, y)
    explainer = ARMIN(model, Schema.infer(X), desired=1, sampler="marginal").fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert explainer.explain({"a": -1.0, "b": None}).found


def test_types_of_other_libraries_survive_a_bundle() -> None:
    polars = pytest.importorskip("polars")
    pytest.importorskip("narwhals")
    X = polars.DataFrame({"a": [1.0, None], "t": polars.Series(["x", None], dtype=polars.Categorical)})
    like = types_of(as_frame(X), original=X)
    again = frame_of_types(json.loads(json.dumps(describe_types(like))))
    assert original_of(again) == ("polars", {"a": "Float64", "t": "Categorical"})
    back = as_original(pd.DataFrame({"a": [np.nan, 2.0], "t": [None, "x"]}), original_of(again))
    assert back.schema == X.schema
    assert back.null_count().row(0) == (1, 1)
