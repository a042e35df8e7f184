"""Tables with real blanks: everything is fitted, drawn and explained, and no row is dropped."""

from __future__ import annotations

import os

import numpy as np
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from armin import ARMIN
from armin.explain.advise import pose

pytest.importorskip("lab.experiments", reason="the experiments live beside the package")

from lab.experiments.data import load

needs_data = pytest.mark.skipif(not os.environ.get("ARMIN_DATA"), reason="the data sets are not here (ARMIN_DATA)")
PEOPLE = 3


@needs_data
@pytest.mark.parametrize("name", ["FICO", "GiveMeCredit", "Adult"])
def test_rows_with_real_blanks_are_explained_and_none_is_dropped(name: str) -> None:
    data = load(name)
    some = np.random.default_rng(0).permutation(len(data.X))[:1500]
    X, y = data.X.iloc[some], np.asarray(data.y)[some]
    assert X.isna().any().any()
    encoder = make_column_transformer(
        (
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan),
            make_column_selector(dtype_exclude="number"),
        ),
        remainder="passthrough",
    )
    model = make_pipeline(encoder, HistGradientBoostingClassifier(max_iter=20, max_leaf_nodes=8, random_state=0))
    model.fit(X, y)
    explainer = ARMIN.from_settings(
        model, data.schema.widened(X), desired=data.desired, n_samples=30, n_fresh=100, time_limit=5.0
    )
    explainer.fit(X)
    rejected = X[(model.predict(X) != data.desired) & X.isna().any(axis=1).to_numpy()].head(PEOPLE)
    assert len(rejected) == PEOPLE
    answers = explainer.explain_many(rejected)
    assert answers.failures == []
    assert len(answers) == PEOPLE
    for (_, row), answer in zip(rejected.iterrows(), answers, strict=True):
        codes = explainer.schema.encode(row.to_frame().T)[0]
        sample = pose(explainer.current, codes, (), 0.75).sample
        known = ~np.isnan(codes)
        assert (sample.values[:, known] == codes[known]).all()
        assert not np.isnan(sample.values).any()
        assert {f.name for f in answer.blanks} == set(np.array(explainer.schema.names)[~known])
        if answer.found:
            assert answer.validity.share >= 0.75 - 1e-9
