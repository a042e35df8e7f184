"""One question where two were put before, and quicker ways to the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from armin import ARMIN
from armin.explain.memory import SurrogateJudge, mismatched
from armin.models.alike import takes_alike
from armin.models.inputs import shared_columns
from armin.models.oracle import Oracle
from armin.schema import Schema
from armin.solve.search.linear.contexts import _alone
from armin.solve.search.linear.worths import _most_of, bound_each, most_worth

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.integers(-3, 9, (200, 3)), columns=["a", "b", "c"])
Y = np.where(X["a"] + X["b"] * X["c"] + RNG.normal(0, 3, 200) > 4, "yes", "no")
STEPS = [
    StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler(), PowerTransformer(),
    QuantileTransformer(n_quantiles=20), SimpleImputer(), SimpleImputer(strategy="most_frequent", add_indicator=True),
    make_column_transformer(("passthrough", ["c", "a"]), (StandardScaler(), ["b"])),
    FeatureUnion([("one", StandardScaler()), ("other", "passthrough")]), "passthrough",
]  # fmt: skip
MODELS = [
    RandomForestClassifier(5, max_depth=4, random_state=0),
    HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=4, random_state=0),
]


def as_text(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype(str)


class Own(RandomForestClassifier):
    """Theirs by inheritance only."""


def judged_alike(model: Any) -> Oracle:
    return Oracle(model, Schema.infer(X), X, "yes")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("step", STEPS, ids=str)
@pytest.mark.filterwarnings("ignore::UserWarning")  # an indicator of blanks that training did not show
def test_law_whole_numbers_are_judged_alike_beside_a_blank(step: Any, model: Any) -> None:
    pipeline = make_pipeline(step, model).fit(X, Y)
    oracle = judged_alike(pipeline)
    assert takes_alike(pipeline)
    assert oracle.mixes
    codes = X.to_numpy(dtype=float)
    holes = codes.copy()
    holes[::3, 1] = np.nan
    mixed = np.concatenate([codes, holes])
    shown = oracle.table(mixed)
    assert list(shown.columns) == list(X.columns)
    np.testing.assert_array_equal(shown.to_numpy(), mixed)
    apart = np.concatenate([pipeline.predict(X), pipeline.predict(X.astype(float).where(~np.isnan(holes)))])
    np.testing.assert_array_equal(oracle.accepts(mixed), apart == "yes")
    assert (oracle.table(codes).dtypes == X.dtypes).all()  # without a blank, the types of training


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(FunctionTransformer(as_text), OneHotEncoder(handle_unknown="ignore"), LogisticRegression()),
        make_pipeline(SelectKBest(k=1), MODELS[0]),
        make_pipeline(Own(3, random_state=0)),
        VotingClassifier([("a", MODELS[0]), ("b", MODELS[1])]),
        GradientBoostingClassifier(n_estimators=3, init=LogisticRegression()),
    ],
    ids=lambda model: str(model)[:40],
)
def test_what_is_not_known_to_take_numbers_alike_is_asked_apart(model: Any) -> None:
    assert not takes_alike(model.fit(X, Y))
    assert not judged_alike(model).mixes


@pytest.mark.parametrize(("known", "calls"), [(True, [float]), (False, [int, float])])
def test_an_answer_asks_the_model_once_if_types_do_not_matter(known: bool, calls: list[type]) -> None:
    cls = RandomForestClassifier if known else Own
    model = cls(5, max_depth=4, random_state=0).fit(X, Y)
    explainer = ARMIN.from_settings(
        model, Schema.infer(X), desired="yes", decision="complete", n_samples=20, n_fresh=50
    ).fit(X)
    row = next(r for r in X.to_dict("records") if model.predict(pd.DataFrame([r | {"b": np.nan}]))[0] == "no")
    explainer.explain(row | {"b": None})  # whether it takes blanks is found out once
    seen: list[Any] = []
    predict = model.predict
    model.predict = lambda rows: (seen.append(rows), predict(rows))[1]
    answer = explainer.explain(row | {"b": None})
    assert answer.resubmitted is not None
    assert [frame["b"].dtype for frame in seen] == [np.dtype(kind) for kind in calls]
    assert all(frame["a"].dtype == (float if known else int) for frame in seen)


def test_a_wrong_guess_about_a_row_with_blanks_is_found_among_others() -> None:
    model = MODELS[0].fit(X, Y)
    oracle = judged_alike(model)
    codes = X.to_numpy(dtype=float)[:90]
    holes = codes[:2].copy()
    holes[:, 2] = np.nan
    right = oracle.accepts(holes)
    for change in (False, True):
        guess = SurrogateJudge(None, oracle)  # type: ignore[arg-type]  # which is not asked
        guess.supposed(codes, oracle.accepts(codes))
        guess.supposed(holes, np.array([right[0], right[1] ^ change]))
        assert mismatched([guess, None]).tolist() == [change, False]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 400))
def test_law_columns_are_fixed_where_all_rows_agree(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    codes = np.repeat(rng.choice([0.0, 1.5, np.nan], (1, 5)), n, axis=0)
    codes[rng.integers(0, n), rng.integers(0, 5)] += rng.choice([0.0, 1.0])
    np.testing.assert_array_equal(
        shared_columns(codes), [all(v == column[0] for v in column) for column in codes.T.tolist()]
    )


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 9), st.sampled_from([0.0, 1e-9, 0.3]))
def test_law_whoever_is_alone_is_like_nobody(seed: int, n: int, size: int, doubt: float) -> None:
    rng = np.random.default_rng(seed)
    some = rng.choice([-1.0, 0.0, 0.1, 0.2, 0.3, 7.0], (n, size)) * rng.choice([1.0, 1e6])
    shape = some[:, rng.integers(0, size, size)] + rng.uniform(-1, 1, (n, size)) * rng.choice([0.0, doubt])
    alike = np.abs(shape[:, :, None] - shape[:, None, :]).max(axis=0) <= doubt
    assert (alike[_alone(shape, doubt)].sum(axis=1) == 1).all()


def test_most_are_seen_to_be_alone() -> None:
    before = np.random.default_rng(0).integers(0, 60, 40).astype(float)
    reached = np.maximum(np.arange(5.0, 45.0)[None, :], before[:, None]) - before[:, None]  # "to at least ..."
    assert _alone(reached - reached[0], 1e-9).all()
    assert not _alone(np.zeros((40, 3)), 1e-9).any()


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_law_a_quantile_is_the_one_of_numpy_to_the_last_bit(seed: int, n: int) -> None:
    ratio = np.random.default_rng(seed).gamma(1.0, 1.0, n)
    assert _most_of(ratio) == float(np.quantile(ratio, 0.9))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(1, 9))
def test_law_compiled_worths_and_bounds_are_what_their_formulas_say(seed: int, n: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    price, cost, gain = rng.gamma(1.0, 1.0, 5), rng.gamma(1.0, 1.0, size), rng.normal(size=size)
    moves, which = rng.normal(size=(3, n)), rng.integers(0, 3, size)
    worth = np.full((n, 5), -np.inf)
    most_worth(moves, which, gain, cost, price, worth)
    each = (moves[which] + gain[:, None])[:, :, None] * price - cost[:, None, None]
    np.testing.assert_array_equal(worth, each.max(axis=0))
    short, decided, constant = rng.normal(size=(size, n)), rng.normal(size=5), rng.normal(size=(size, 5))
    stay, move, found = rng.normal(size=(n, 5)), rng.normal(size=(n, 5)), np.empty((size, n))
    bound_each(short, price, decided, constant, stay, move, found)
    lacking = price * short[:, :, None] - decided - constant[:, None, :]
    lacking[0] -= stay
    lacking[1:] -= move
    np.testing.assert_array_equal(found, lacking.max(axis=2))
