"""A blank reaches the user's model as its training data had it: None, NaN and "" are different categories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from armin import ARMIN, ArminError, Schema, load_bundle, save_bundle


def people(blank: Any, dtype: Any, carried: bool = False) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows in which a blank town decides."""
    rng = np.random.default_rng(0)
    town = pd.Series(["Bonn", "Lima", blank], dtype=object)[rng.integers(0, 3, 150)].reset_index(drop=True)
    X = pd.DataFrame({"town": town.astype(dtype), "income": rng.normal(50, 10, 150)})
    refused = town.map(lambda value: value != "Bonn" and value != "Lima")
    return X, np.where(refused, 0, 1)


def fitted(X: pd.DataFrame, y: np.ndarray) -> Pipeline:
    """A model that knows the blank as a category of its own, and takes no other."""
    encoder = OneHotEncoder(handle_unknown="error")
    return make_pipeline(
        make_column_transformer((encoder, ["town"]), remainder="passthrough"), LogisticRegression(max_iter=1000)
    ).fit(X, y)


@pytest.mark.parametrize("submitted", [None, np.nan, pd.NA, ""])
@pytest.mark.parametrize(
    ("blank", "dtype"), [(None, object), (np.nan, object), ("", object), ("", "str"), ("", "category")]
)
def test_the_row_with_its_blank_is_what_the_model_was_trained_on(
    blank: Any, dtype: Any, submitted: Any, tmp_path: Path
) -> None:
    X, y = people(blank, dtype)
    model, schema = fitted(X, y), Schema.infer(X)
    explainer = ARMIN(model, schema, desired=1, decision="blank", reapply="blank", sampler="marginal").fit(X)
    plan = explainer.explain({"town": submitted, "income": 50.0})
    assert plan.world.submitted is False  # and not that the model takes no blanks
    assert plan.resubmitted
    again = load_bundle(save_bundle(tmp_path / "kept.armin", explainer)).explainer
    assert again.explain({"town": submitted, "income": 50.0}) == plan


@pytest.mark.parametrize("dtype", ["String", "Categorical"])
def test_so_is_that_of_a_polars_frame(dtype: str) -> None:
    polars = pytest.importorskip("polars")
    pytest.importorskip("narwhals")
    X, y = people(None, object)
    told = {"town": polars.Series(X["town"].tolist(), dtype=getattr(polars, dtype)), "income": X["income"].to_numpy()}
    frame = polars.DataFrame(told)
    model, schema = fitted(frame, y), Schema.infer(frame)
    explainer = ARMIN(model, schema, desired=1, decision="blank", reapply="blank", sampler="marginal").fit(frame)
    plan = explainer.explain({"town": None, "income": 50.0})
    assert plan.world.submitted is False
    assert plan.resubmitted


def test_a_null_of_polars_is_none_to_the_model_although_training_had_no_null() -> None:
    """An imputer that looks for NaN leaves None in place, and the encoder behind it refuses it: so does ``predict``."""
    polars = pytest.importorskip("polars")
    pytest.importorskip("narwhals")
    X, y = people("Rome", object)
    frame = polars.DataFrame({name: X[name].tolist() for name in X})
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="error"))
    encoder = make_column_transformer((words, ["town"]), remainder="passthrough")
    model = make_pipeline(encoder, LogisticRegression(max_iter=1000)).fit(frame, y)
    row = polars.DataFrame({"town": [None], "income": [50.0]}, schema=frame.schema)
    with pytest.raises(ValueError, match="unknown categories"):
        model.predict(row)
    explainer = ARMIN(model, Schema.infer(frame), desired=1, reapply="blank", sampler="marginal").fit(frame)
    with pytest.raises(ArminError, match="unknown categories"):
        explainer.explain(row)


@pytest.mark.parametrize("blank", [None, np.nan])
def test_so_does_a_blank_that_is_carried_along(blank: Any) -> None:
    X, y = people(blank, object)
    schema = Schema.infer(X, carried=["town"])
    explainer = ARMIN(fitted(X, y), schema, desired=1, sampler="marginal").fit(X)
    assert explainer.explain({"town": "", "income": 50.0}).outcome != "already_accepted"
