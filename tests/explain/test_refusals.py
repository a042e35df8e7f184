"""Bad input: a clear error that names the thing, the rule, the value received and the next step."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import armin
from armin import ARMIN, ArminError, Schema
from armin.baselines import ImputationAR, RobustAR
from armin.errors import (
    DataError,
    MissingDependencyError,
    ModelError,
    NotFittedError,
    ParameterError,
    RefusedError,
    SchemaError,
    UnreadableError,
)
from armin.explain.reading import BlackBoxWarning
from armin.schema import SchemaNote

from worlds import make_world


@pytest.fixture(scope="module")
def world():
    return make_world(1)


def explainer(world, **parameters):
    return ARMIN.from_settings(
        world.classifier, world.schema, **{"desired": "yes", "n_samples": 5, "n_fresh": 0, **parameters}
    )


def test_an_unfitted_model(world):
    numbers = world.X[["amount", "rate"]]
    with pytest.raises(NotFittedError, match=r"LogisticRegression.*fit"):
        ARMIN(LogisticRegression(), Schema.infer(numbers), desired="yes").fit(numbers)


def test_an_unfitted_explainer(world):
    with pytest.raises(NotFittedError, match=r"This ARMIN is not fitted. Call fit\(X_train\)"):
        explainer(world).explain(world.row)


def test_a_model_that_is_not_supported_names_what_is_and_works_as_a_black_box(world):
    numbers = world.X[["amount", "rate"]]
    model = KNeighborsClassifier().fit(numbers, world.y)
    schema = Schema.infer(numbers, step={"rate": 2.0})
    with pytest.raises(ModelError, match=r"(?s)KNeighborsClassifier.*LogisticRegression.*register_model.*blackbox"):
        ARMIN.from_settings(model, schema, desired="yes", method="search").fit(numbers)
    with pytest.warns(BlackBoxWarning, match=r"KNeighborsClassifier.*supported_models.*in order of cost"):
        asked = ARMIN.from_settings(model, schema, desired="yes", max_options=8, n_samples=10).fit(numbers)
    assert asked.explain({"amount": 0, "rate": None}).outcome == "plan"
    box = ARMIN.from_settings(model, schema, desired="yes", method="blackbox", max_options=8, n_samples=10).fit(numbers)
    answer = box.explain({"amount": 0, "rate": None})
    assert answer.outcome == "plan"
    assert answer.validity.share >= 0.75


def test_what_a_reader_does_not_take_is_asked_in_order_of_cost(world):
    """The default calibration around a network is a mean of maps of its score: it is not read, but it decides."""
    numbers = world.X[["amount", "rate"]]
    network = MLPClassifier((2,), solver="lbfgs", max_iter=2000, random_state=0)
    model = CalibratedClassifierCV(network, method="isotonic", cv=2).fit(numbers, world.y)
    schema = Schema.infer(numbers, step={"rate": 2.0})
    with pytest.raises(UnreadableError, match=r"MLPClassifier is neither"):
        ARMIN.from_settings(model, schema, desired="yes", method="search").fit(numbers)
    with pytest.warns(BlackBoxWarning, match=r"MLPClassifier is neither.*in order of cost"):
        asked = ARMIN.from_settings(model, schema, desired="yes", max_options=8, n_samples=10).fit(numbers)
    assert asked.explain({"amount": 0, "rate": None}).found


def test_a_regressor(world):
    numbers = world.X[["amount", "rate"]]
    model = LinearRegression().fit(numbers, np.arange(len(numbers)))
    with pytest.raises(ArminError, match="LinearRegression"):
        ARMIN(model, Schema.infer(numbers), desired=1).fit(numbers)


def test_a_wrong_desired_label_lists_the_right_ones(world):
    with pytest.raises(ParameterError, match=r"'desired'.*'no', 'yes'.*Got 'maybe'"):
        explainer(world, desired="maybe").fit(world.X)


@pytest.mark.parametrize("confidence", [0, -0.1, 1.2, float("nan"), "high", True, None])
def test_confidence_outside_its_range(world, confidence):
    with pytest.raises(ParameterError, match=r"'confidence' parameter of ARMIN must be in \(0, 1\]. Got .* instead"):
        explainer(world, confidence=confidence).fit(world.X)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tolerance", -1), ("n_samples", 0), ("n_samples", 2.5),
        ("max_changes", 0), ("max_options", 1), ("n_fresh", -1),
        ("time_limit", 0), ("random_state", "a"), ("random_state", -1), ("cost", "cheap"), ("sampler", "magic"),
        ("grid", "fine"), ("method", "guess"), ("solver", "cplex"), ("threshold", 1.5), ("schema", None),
    ],
)  # fmt: skip
def test_every_parameter_is_checked_and_named(world, name, value):
    parameters = {"desired": "yes", "n_samples": 5, "n_fresh": 0, "method": "milo", name: value}
    schema = parameters.pop("schema", world.schema)
    with pytest.raises(ParameterError, match=rf"(?s){name}.*{value if value is not None else 'NoneType'}"):
        ARMIN.from_settings(world.classifier, schema, **parameters).fit(world.X).explain(world.row)


def test_unknown_columns(world):
    with pytest.raises(DataError, match=r"Unknown column 'wealth'"):
        explainer(world).fit(world.X.assign(wealth=1))
    fitted = explainer(world).fit(world.X)
    with pytest.raises(DataError, match=r"Unknown column 'wealth'"):
        fitted.explain({**world.row, "wealth": 3})


def test_a_column_that_is_missing_altogether(world):
    fitted = explainer(world).fit(world.X)
    row = {k: v for k, v in world.row.items() if k != "city"}
    with pytest.raises(DataError, match=r"'city' is missing altogether.*blank"):
        fitted.explain(row)


def test_an_unknown_category(world):
    fitted = explainer(world).fit(world.X)
    with pytest.raises(DataError, match=r"'city' must be one of 'Bonn', 'Kyoto', 'Lima', or blank. Got 'Oslo'"):
        fitted.explain({**world.row, "city": "Oslo"})


def test_a_value_out_of_bounds(world):
    fitted = explainer(world).fit(world.X)
    with pytest.raises(DataError, match=r"'amount' must be in \[0, 12\], or blank. Got 99"):
        fitted.explain({**world.row, "amount": 99})


@pytest.mark.parametrize("value", [float("inf"), -float("inf")])
def test_infinite_values(world, value):
    fitted = explainer(world).fit(world.X)
    with pytest.raises(DataError, match=r"'rate' must be finite, or blank"):
        fitted.explain({**world.row, "rate": value})
    with pytest.raises(SchemaError, match=r"'rate' holds infinite values"):
        Schema.infer(world.X.assign(rate=[value, *world.X["rate"][1:]]))


def test_a_row_that_is_all_blanks(world):
    fitted = explainer(world).fit(world.X)
    with pytest.raises(DataError, match="all blanks"):
        fitted.explain(dict.fromkeys(world.row))


def test_two_rows_at_once(world):
    with pytest.raises(DataError, match=r"One row is asked about at a time\. Got 2"):
        explainer(world).fit(world.X).explain(world.X.head(2))


def test_a_constant_column():
    with pytest.warns(SchemaNote, match=r"'b' is the same in every row.*immutable=\['b'\]"):
        assert not Schema.infer(pd.DataFrame({"a": [1, 2], "b": [3, 3]}))["b"].actionable
    fixed = Schema.infer(pd.DataFrame({"a": [1, 2], "b": [3, 3]}), immutable=["b"])
    assert fixed["b"].direction == "fixed"


def test_everything_immutable(world):
    schema = Schema.infer(world.X, immutable=list(world.X.columns))
    with pytest.raises(ParameterError, match="Every feature of the schema is immutable"):
        ARMIN(world.classifier, schema, desired="yes").fit(world.X)


def test_a_locked_feature_that_does_not_exist(world):
    fitted = explainer(world).fit(world.X)
    with pytest.raises(SchemaError, match="'wealth' is not a column"):
        fitted.explain(world.row, locked=["wealth"])
    with pytest.raises(ParameterError, match="'locked' must be a list"):
        fitted.explain(world.row, locked="city")


def test_schema_and_classifier_with_different_columns(world):
    schema = Schema.infer(world.X.rename(columns={"city": "town"}))
    with pytest.raises(DataError, match=r"all its columns in the schema.*'city' is only in the classifier"):
        ARMIN(world.classifier, schema, desired="yes").fit(world.X.rename(columns={"city": "town"}))


@pytest.mark.parametrize("method", ["auto", "blackbox"])
def test_a_category_that_the_classifier_does_not_take(method):
    towns = pd.Categorical(["Bonn", "Lima"] * 20, categories=["Bonn", "Lima", "Oslo"])
    X = pd.DataFrame({"town": towns, "n": range(40)})
    encode = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression()).fit(X, X.n > 20)
    explainer = ARMIN.from_settings(model, Schema.infer(X), desired=True, method=method).fit(X)
    with pytest.raises(RefusedError, match=r"The classifier raised ValueError: .*'Oslo'.*schema"):
        explainer.explain({"town": "Lima", "n": 3})
    with pytest.raises(RefusedError, match="Oslo"):
        explainer.reasons({"town": "Oslo", "n": 3})


class Silent(ClassifierMixin, BaseEstimator):
    """Refuses blanks without a word."""

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def predict(self, X):
        if np.isnan(np.asarray(X, dtype=float)).any():
            raise AssertionError
        return np.asarray(X)[:, 0] > 20


def test_a_classifier_that_refuses_blanks_without_a_word():
    X = np.column_stack([np.arange(40.0), np.arange(40.0) % 3])
    explainer = ARMIN.from_settings(
        Silent().fit(X, X[:, 0] > 20), Schema.infer(X), desired=True, method="blackbox"
    ).fit(X)
    assert explainer.explain([3.0, None]).found
    explainer.set_params(decision="blank")
    with pytest.raises(ModelError, match=r"does not take them \(AssertionError\)"):
        explainer.explain([3.0, None])


def test_a_solver_that_is_not_installed(world, monkeypatch):
    monkeypatch.setitem(sys.modules, "gurobipy", None)
    fitted = explainer(world, method="milo", solver="gurobi").fit(world.X)
    with pytest.raises(MissingDependencyError, match=r"armin\[gurobi\]"):
        fitted.explain(world.row)


def test_one_failing_row_does_not_lose_the_others(world):
    fitted = explainer(world).fit(world.X)
    frame = pd.DataFrame([world.row, {**world.row, "city": "Oslo"}, world.row], index=["a", "b", "c"])
    answers = fitted.explain_many(frame)
    assert [type(a).__name__ for a in answers] == ["Recourse", "Failure", "Recourse"]
    assert answers.failures[0].index == "b"
    assert "Oslo" in str(answers.failures[0])
    assert answers.to_frame().loc["b", "outcome"] == "failed"


def test_arguments_are_never_changed(world):
    X, row = world.X.copy(), dict(world.row)
    for cls in (ARMIN, RobustAR, ImputationAR):
        cls.from_settings(world.classifier, world.schema, desired="yes", n_fresh=0).fit(world.X).explain(row)
    pd.testing.assert_frame_equal(X, world.X)
    assert row == world.row


def test_importing_armin_pulls_in_no_solver_plotting_or_web_library():
    code = (
        "import sys, armin; "
        "bad = {'gurobipy', 'matplotlib', 'xgboost', 'lightgbm', 'fastapi', 'numba', 'typer'}; "
        "print(sorted(bad & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_version():
    assert armin.__version__
