"""Pipelines: what stands behind each model input, and that the arrays decide as the user's own ``predict`` does."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

from armin.actions import build_grid
from armin.costs import as_cost
from armin.errors import DataError, ModelError
from armin.models.encoding import ReadClassifier, read_classifier
from armin.models.kinds import BlackBox, LinearModel, ReluNetwork
from armin.models.oracle import Oracle
from armin.models.tracing import column_positions, register_transformer, trace, traceable_transformers
from armin.problem.stated import state_problem
from armin.schema import Schema

NUMBERS, TEXTS = ["age", "income", "kids"], ["purpose", "level", "owns"]


def make_people(n: int = 240, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 70, n),
            "income": np.exp(rng.normal(10, 0.5, n)).round(2),
            "purpose": rng.choice(["car", "home", "<0>", "<2>_x"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "owns": rng.random(n) < 0.4,
            "level": rng.choice(["low", "mid", "high"], n),
            "kids": rng.integers(0, 4, n),
        }
    )
    score = (
        X.income / 20_000 + X.age / 50 + (X.purpose == "home") + X.owns + (X.level == "high") + rng.normal(0, 0.5, n)
    )
    return X, np.where(score > score.median(), "yes", "no")


PEOPLE, ANSWERS = make_people()
SCHEMA = Schema.infer(PEOPLE, protected=[])
FINALS: dict[str, Any] = {
    "linear": LogisticRegression(max_iter=300),
    "forest": RandomForestClassifier(8, max_depth=4, random_state=0),
    "network": MLPClassifier((6,), max_iter=15, random_state=0),
}


def one_hot(**how: Any) -> Any:
    return make_column_transformer((OneHotEncoder(**how), TEXTS), remainder=StandardScaler())


def on_numbers(step: Any) -> Any:
    return make_column_transformer((OneHotEncoder(), TEXTS), (step, ["income", "age"]), remainder="drop")


def on_texts(step: Any) -> Any:
    return make_column_transformer((step, TEXTS), remainder="passthrough")


class Doubler(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Not known to the library, but alone with one column."""

    def fit(self, X: Any, y: Any = None) -> Doubler:
        self.n_features_in_ = 1
        return self

    def transform(self, X: Any) -> Any:
        return np.hstack([np.asarray(X, dtype=float), np.asarray(X, dtype=float) ** 2])

    def get_feature_names_out(self, names: Any = None) -> Any:
        return np.array(["a", "b"], dtype=object)


STEPS: dict[str, Callable[[], Any]] = {
    "one hot": lambda: one_hot(),
    "one hot, dense": lambda: one_hot(sparse_output=False),
    "one hot, drop first": lambda: one_hot(drop="first"),
    "one hot, drop if binary": lambda: one_hot(drop="if_binary"),
    "one hot, ignore unknown": lambda: one_hot(handle_unknown="ignore"),
    "one hot, rare together": lambda: one_hot(min_frequency=30),
    "one hot, few, unknown is rare": lambda: one_hot(max_categories=2, handle_unknown="infrequent_if_exist"),
    "one hot, rare together, drop first": lambda: one_hot(min_frequency=30, drop="first"),
    "one hot, own names": lambda: one_hot(feature_name_combiner=lambda f, c: f"{c}|{f}"),
    "ordinal": lambda: on_texts(OrdinalEncoder()),
    "ordinal, unknown and rare": lambda: on_texts(
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, min_frequency=20)
    ),
    "target": lambda: on_texts(TargetEncoder(random_state=0)),
    "standard": lambda: on_numbers(StandardScaler()),
    "min max": lambda: on_numbers(MinMaxScaler()),
    "min max, clipped": lambda: on_numbers(MinMaxScaler(clip=True)),
    "max abs": lambda: on_numbers(MaxAbsScaler()),
    "robust": lambda: on_numbers(RobustScaler()),
    "power": lambda: on_numbers(PowerTransformer()),
    "box cox": lambda: on_numbers(PowerTransformer(method="box-cox")),
    "quantile": lambda: on_numbers(QuantileTransformer(n_quantiles=40)),
    "quantile, normal": lambda: on_numbers(QuantileTransformer(n_quantiles=40, output_distribution="normal")),
    "bins, one hot": lambda: on_numbers(KBinsDiscretizer(4)),
    "bins, ordinal": lambda: on_numbers(KBinsDiscretizer(4, encode="ordinal")),
    "splines": lambda: on_numbers(SplineTransformer(n_knots=4)),
    "splines, no bias": lambda: on_numbers(SplineTransformer(n_knots=4, include_bias=False, extrapolation="linear")),
    "binarizer": lambda: on_numbers(Binarizer(threshold=30)),
    "imputer": lambda: on_numbers(SimpleImputer(add_indicator=True)),
    "missing indicator": lambda: on_numbers(
        FeatureUnion([("is", MissingIndicator(features="all")), ("v", "passthrough")])
    ),
    "logarithm": lambda: on_numbers(FunctionTransformer(np.log1p)),
    "identity": lambda: on_numbers(FunctionTransformer()),
    "own function, one to one": lambda: on_numbers(
        FunctionTransformer(lambda x: np.sqrt(x), feature_names_out="one-to-one")
    ),
    "own function, one column": lambda: make_column_transformer(
        (FunctionTransformer(lambda x: np.hstack([x, 1 / x])), ["age"]), (OneHotEncoder(), TEXTS), remainder="drop"
    ),
    "own class, one column": lambda: make_column_transformer((Doubler(), ["age"]), (OneHotEncoder(), TEXTS)),
    "passthrough": lambda: on_numbers("passthrough"),
    "drop": lambda: on_numbers("drop"),
    "no columns at all for a step": lambda: make_column_transformer((OneHotEncoder(), TEXTS), (StandardScaler(), [])),
    "columns by place": lambda: make_column_transformer(
        (OneHotEncoder(), [2, 4, -3]), (StandardScaler(), slice(0, 2)), remainder="passthrough"
    ),
    "columns by mask": lambda: make_column_transformer(
        (OneHotEncoder(), [False, False, True, False, True, False]), (MinMaxScaler(), np.array([True] + [False] * 5))
    ),
    "columns by names from to": lambda: make_column_transformer(
        (OneHotEncoder(), slice("purpose", "level")), remainder="passthrough"
    ),
    "columns by type": lambda: make_column_transformer(
        (OneHotEncoder(), make_column_selector(dtype_exclude=np.number)),
        (StandardScaler(), make_column_selector(dtype_include=np.number)),
    ),
    "columns by pattern": lambda: make_column_transformer(
        (OneHotEncoder(), make_column_selector(pattern="^p|level")), remainder=MinMaxScaler()
    ),
    "a column used twice": lambda: make_column_transformer(
        (OneHotEncoder(), ["purpose"]), (StandardScaler(), ["income", "age"]), (KBinsDiscretizer(3), ["age"])
    ),
    "nested": lambda: make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), ["purpose", "level"]),
        (
            make_pipeline(SimpleImputer(), make_column_transformer((StandardScaler(), [1]), remainder="passthrough")),
            ["kids", "income"],
        ),
    ),
    "nested by name, other order": lambda: ColumnTransformer(
        [
            (
                "in",
                ColumnTransformer([("x", OneHotEncoder(), ["purpose"]), ("y", "passthrough", ["age"])]),
                ["age", "purpose"],
            ),
            ("s", StandardScaler(), ["income"]),
        ]
    ),
    "union": lambda: on_numbers(
        FeatureUnion([("a", StandardScaler()), ("b", KBinsDiscretizer(3)), ("c", "passthrough"), ("d", "drop")])
    ),
    "pandas out": lambda: make_pipeline(
        on_texts(OneHotEncoder(sparse_output=False)).set_output(transform="pandas"),
        make_column_transformer((StandardScaler(), ["remainder__income"]), remainder="passthrough"),
    ),
    "pandas out, short names": lambda: (
        one_hot(sparse_output=False).set_params(verbose_feature_names_out=False).set_output(transform="pandas")
    ),
    "pipelines in pipelines": lambda: make_pipeline(
        make_pipeline(one_hot(), StandardScaler(with_mean=False)), MaxAbsScaler()
    ),
    "passthrough first": lambda: Pipeline([("nothing", "passthrough"), ("prepare", one_hot())]),
    "identity first": lambda: make_pipeline(FunctionTransformer(), one_hot()),
    "best inputs": lambda: make_pipeline(one_hot(), SelectKBest(k=5)),
    "inputs that vary": lambda: make_pipeline(one_hot(), VarianceThreshold(0.1)),
    "inputs of a model": lambda: make_pipeline(one_hot(), SelectFromModel(LogisticRegression(max_iter=300))),
}


def fit(steps: Any, final: Any, X: Any = PEOPLE, y: Any = ANSWERS) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_pipeline(steps, clone(final)).fit(X, y)


def read(estimator: Any, schema: Schema = SCHEMA, like: Any = PEOPLE, **how: Any) -> tuple[Oracle, ReadClassifier]:
    oracle = Oracle(estimator, schema, None if like is None else like.iloc[:0], "yes", how.pop("threshold", None))
    return oracle, read_classifier(oracle, **how)


def random_codes(schema: Schema, n: int, seed: int = 0, blanks: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    columns = [
        rng.uniform(f.low_code, f.high_code, n)
        if f.kind == "continuous"
        else rng.integers(f.low_code, f.high_code + 1, n)
        for f in schema
    ]
    codes = np.array(columns, dtype=np.float64).T
    codes[rng.random(codes.shape) < blanks] = np.nan
    return codes


def check_trace(classifier: ReadClassifier, codes: np.ndarray) -> None:
    """An input changes only when the column that is said to stand behind it changes."""
    rng = np.random.default_rng(1)
    n, width = codes.shape
    others = np.tile(codes, (width, 1, 1))
    for d in range(width):
        others[d, :, d] = codes[rng.permutation(n), d]
    encoded = classifier.encode(np.concatenate([codes, *others])).reshape(width + 1, n, -1)
    assert encoded.shape[2] == classifier.model.n_inputs == classifier.owners.size
    before = encoded[0]
    for d, after in enumerate(encoded[1:]):
        changed = (after != before) & ~(np.isnan(after) & np.isnan(before))
        assert not changed[:, classifier.owners != d].any()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("steps", STEPS)
def test_the_read_model_decides_as_predict_does(steps: str) -> None:
    estimator = fit(STEPS[steps](), FINALS["linear"])
    codes = random_codes(SCHEMA, 200)
    check_trace(read(estimator)[1], codes)
    inputs = estimator[:-1].transform(PEOPLE)
    for final in FINALS.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the network is not trained to the end
            whole = Pipeline([*estimator.steps[:-1], ("final", clone(final).fit(inputs, ANSWERS))])
        oracle, classifier = read(whole)
        np.testing.assert_array_equal(classifier.model.accepts(classifier.encode(codes)), oracle.accepts(codes))


@pytest.mark.parametrize("steps", STEPS)
def test_the_problem_holds_what_the_pipeline_computes_to_the_last_bit(steps: str) -> None:
    """For any choice, in every mode, the tables give the very inputs that the user's transformers give."""
    _, classifier = read(fit(STEPS[steps](), FINALS["linear"]))
    schema = SCHEMA.update(blanks={"kids": "reach", "age": "shift"})
    rng = np.random.default_rng(0)
    candidates = random_codes(schema, 7)
    row = candidates[0].copy()
    blank = [schema.position(name) for name in ("age", "kids", "purpose")]
    candidates[:, [i for i in range(len(schema)) if i not in blank]] = np.delete(row, blank)
    candidates[:, schema.position("age")] = rng.integers(30, 50, 7)  # so that an amount is legal for all
    row[blank] = np.nan
    for kind in ("human", "paper"):
        grid = build_grid(schema, row, candidates, max_options=30, grid=kind)  # type: ignore[arg-type]
        assert {move.mode for move in grid.moves} == {"observed", "shift", "reach"}
        cost = as_cost("changes").fit(candidates, schema)
        case = state_problem(row, candidates, np.ones(7), grid, classifier, cost, 7.0, None)
        choices = [tuple(int(rng.integers(move.size)) for move in grid.moves) for _ in range(25)]
        expected = classifier.encode(np.concatenate([grid.apply(choice, candidates) for choice in choices]))
        found = np.concatenate([case.problem.inputs(choice) for choice in choices])
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(case.problem.inputs(case.problem.keep), classifier.encode(candidates))


BLANK_STEPS: dict[str, Callable[[], Any]] = {
    "imputers with indicators": lambda: make_column_transformer(
        (SimpleImputer(add_indicator=True), NUMBERS),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), ["purpose", "level"]),
    ),
    "constant": lambda: make_column_transformer(
        (SimpleImputer(strategy="constant", fill_value=-1.0), NUMBERS),
        (make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), OneHotEncoder()), ["purpose", "level"]),
    ),
    "blank as a category": lambda: make_column_transformer(
        (OneHotEncoder(), ["purpose", "level"]), (SimpleImputer(), ["income"])
    ),
    "ordinal": lambda: make_column_transformer(
        (OrdinalEncoder(encoded_missing_value=-2), ["purpose", "level"]), (SimpleImputer(), ["income"])
    ),
    "target": lambda: make_column_transformer(
        (TargetEncoder(random_state=0), ["purpose", "level"]), (SimpleImputer(), ["age"])
    ),
    "an empty column": lambda: make_column_transformer(
        (SimpleImputer(), ["income", "empty"]), (OneHotEncoder(), ["level"])
    ),
}


TEXT = ["str"] if int(pd.__version__.split(".")[0]) >= 3 else []  # before, astype("str") turned blanks into "nan"


@pytest.mark.filterwarnings("ignore:Skipping features:UserWarning")
@pytest.mark.parametrize("steps", BLANK_STEPS)
@pytest.mark.parametrize("dtype", ["object", *TEXT, "category"])
def test_blanks_reach_the_pipeline_as_blanks(steps: str, dtype: str) -> None:
    rng = np.random.default_rng(3)
    X = PEOPLE.astype({"income": "float64", "age": "float64", "kids": "float64"}).drop(columns="owns")
    X["empty"] = np.nan
    for column in X:
        X.loc[rng.random(len(X)) < 0.2, column] = np.nan
    X = X.astype({"purpose": dtype, "level": dtype})
    schema = Schema.infer(X, bounds={"empty": (0, 1)}, protected=[])
    oracle, classifier = read(fit(BLANK_STEPS[steps](), FINALS["linear"], X), schema, X)
    codes = random_codes(schema, 200, blanks=0.3)
    codes[:, schema.position("empty")] = np.nan
    np.testing.assert_array_equal(classifier.model.accepts(classifier.encode(codes)), oracle.accepts(codes))
    check_trace(classifier, codes)


@pytest.mark.parametrize("final", ["linear", "network"])
@pytest.mark.parametrize(
    "mixing",
    [
        lambda: PCA(4),
        lambda: PCA(4, whiten=True),
        lambda: IncrementalPCA(4),
        lambda: TruncatedSVD(4),
        lambda: make_pipeline(PCA(5), StandardScaler(), PCA(3)),
        lambda: make_pipeline(MinMaxScaler(), PCA(3)).set_output(transform="pandas"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_steps_that_mix_linearly_are_folded_into_linear_models_and_networks(mixing: Any, final: str) -> None:
    raw = make_column_transformer((OneHotEncoder(sparse_output=False), TEXTS), remainder="passthrough")
    estimator = fit(make_pipeline(raw, mixing()), FINALS[final])
    oracle, classifier = read(estimator)
    codes = random_codes(SCHEMA, 500)
    assert isinstance(classifier.model, LinearModel | ReluNetwork)
    np.testing.assert_array_equal(classifier.model.accepts(classifier.encode(codes)), oracle.accepts(codes))
    check_trace(classifier, codes)
    if final == "linear":
        # incomes are 5,000 times larger than indicators: the fold must not lose digits to that
        scores = estimator.decision_function(oracle.table(codes))
        found = classifier.model.outputs(classifier.encode(codes))[:, 0]  # type: ignore[union-attr]
        np.testing.assert_allclose(np.abs(found), np.abs(scores), rtol=1e-9, atol=1e-10)


class Crossing(StandardScaler):  # type: ignore[misc]
    """Inherits a name that is known, and does something else."""

    def transform(self, X: Any, copy: Any = None) -> Any:
        scaled = super().transform(X)
        return scaled[:, ::-1] + scaled


class Same(StandardScaler):  # type: ignore[misc]
    """Inherits everything."""


@pytest.mark.parametrize(
    ("steps", "final", "words"),
    [
        (
            lambda: make_pipeline(one_hot(sparse_output=False), PolynomialFeatures(4)),
            "linear",
            ["PolynomialFeatures mixes columns", "4 features that may change", "at most 3", "blackbox"],
        ),
        (lambda: make_pipeline(one_hot(), Normalizer()), "linear", ["Normalizer mixes", "6 features", "blackbox"]),
        (
            lambda: make_pipeline(one_hot(sparse_output=False), PCA(3), PolynomialFeatures()),
            "linear",
            ["PCA mixes columns"],
        ),
        (
            lambda: make_pipeline(one_hot(sparse_output=False), PCA(3)),
            "forest",
            ["PCA", "mix columns", "linear models and ReLU networks", "blackbox"],
        ),
        (lambda: make_pipeline(one_hot(sparse_output=False), PCA(3), MinMaxScaler(clip=True)), "linear", ["PCA"]),
    ],
)
def test_what_cannot_be_followed_is_refused(steps: Any, final: str, words: list[str]) -> None:
    with pytest.raises(ModelError) as refusal:
        read(fit(steps(), FINALS[final]))
    for word in words:
        assert word in str(refusal.value)


def test_a_refused_pipeline_can_still_be_asked() -> None:
    oracle, classifier = read(fit(make_pipeline(one_hot(), Normalizer()), FINALS["forest"]), blackbox=True)
    codes = random_codes(SCHEMA, 100)
    assert isinstance(classifier.model, BlackBox)
    np.testing.assert_array_equal(classifier.encode(codes), codes)
    np.testing.assert_array_equal(classifier.model.accepts(codes), oracle.accepts(codes))
    assert classifier.owners.tolist() == list(range(len(SCHEMA)))


def test_a_subclass_that_changes_nothing_is_followed() -> None:
    oracle, classifier = read(fit(on_numbers(Same()), FINALS["linear"]))
    codes = random_codes(SCHEMA, 100)
    np.testing.assert_array_equal(classifier.model.accepts(classifier.encode(codes)), oracle.accepts(codes))


def test_a_transformer_can_be_registered() -> None:
    class Halver(TransformerMixin, BaseEstimator):  # type: ignore[misc]
        def fit(self, X: Any, y: Any = None) -> Halver:
            self.n_features_in_ = np.shape(X)[1]
            return self

        def transform(self, X: Any) -> Any:
            return np.asarray(X, dtype=float) / 2

    X = PEOPLE[NUMBERS]
    estimator = fit(Halver(), LogisticRegression(), X)
    schema = Schema.infer(X, protected=[])
    with pytest.raises(ModelError, match="Halver"):
        trace(Halver(), 3)
    register_transformer(Halver)
    assert "Halver" in traceable_transformers()
    oracle, classifier = read(estimator, schema, X)
    codes = random_codes(schema, 100)
    np.testing.assert_array_equal(classifier.model.accepts(classifier.encode(codes)), oracle.accepts(codes))


@pytest.mark.parametrize("final", FINALS)
def test_the_schema_may_list_the_columns_in_another_order(final: str) -> None:
    schema = Schema.infer(PEOPLE[["owns", "income", "purpose", "kids", "age", "level"]], protected=[])
    oracle, classifier = read(fit(one_hot(), FINALS[final]), schema)
    codes = random_codes(schema, 300)
    np.testing.assert_array_equal(classifier.model.accepts(classifier.encode(codes)), oracle.accepts(codes))
    check_trace(classifier, codes)
    same, other = random_codes(SCHEMA, 50), [SCHEMA.position(name) for name in schema.names]
    np.testing.assert_array_equal(oracle.accepts(same[:, other]), read(oracle.estimator)[0].accepts(same))


def test_columns_that_differ_are_refused() -> None:
    estimator = fit(one_hot(), FINALS["linear"])
    with pytest.raises(DataError, match=r"all its columns.*'age' is only in the classifier"):
        read(estimator, Schema.infer(PEOPLE.drop(columns="age"), protected=[]))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("final", FINALS)
def test_estimators_fitted_on_arrays_get_arrays(final: str) -> None:
    mixed = make_column_transformer((OneHotEncoder(), [2, 3, 4]), remainder="passthrough")
    oracle, classifier = read(fit(mixed, FINALS[final], PEOPLE.to_numpy()), like=None)
    codes = random_codes(SCHEMA, 200)
    np.testing.assert_array_equal(classifier.model.accepts(classifier.encode(codes)), oracle.accepts(codes))
    numbers = PEOPLE[["age", "owns", "income"]]
    schema = Schema.infer(numbers, protected=[])
    oracle, classifier = read(fit(StandardScaler(), FINALS[final], numbers.to_numpy(dtype=float)), schema, None)
    codes = random_codes(schema, 200)
    assert oracle.table(codes).dtype == np.float64
    np.testing.assert_array_equal(classifier.model.accepts(classifier.encode(codes)), oracle.accepts(codes))


@pytest.mark.parametrize(
    "dtypes",
    [
        {"income": "float32"},
        {"age": "int8", "kids": "uint8"},
        {"age": "Int64", "income": "Float64", "owns": "boolean"},
        {"purpose": "category", "level": "category", "owns": "category"},
        {"purpose": "object", "level": "object", "owns": "object"},
        {"purpose": "string", "level": "string"},
    ],
)
@pytest.mark.parametrize("final", FINALS)
def test_every_dtype_reaches_the_pipeline_as_in_training(dtypes: Any, final: str) -> None:
    X = PEOPLE.astype(dtypes)
    schema = Schema.infer(X, protected=[])
    oracle, classifier = read(fit(one_hot(), FINALS[final], X), schema, X)
    codes = random_codes(schema, 200)
    assert [str(t) for t in oracle.table(codes).dtypes] == [str(t) for t in X.dtypes]
    np.testing.assert_array_equal(classifier.model.accepts(classifier.encode(codes)), oracle.accepts(codes))
    seen = schema.encode(X)
    expected = np.asarray(oracle.estimator.predict(X) == "yes")
    np.testing.assert_array_equal(oracle.accepts(seen), expected)


@pytest.mark.parametrize("dtype", ["str", "category"])
def test_a_category_that_the_encoder_never_saw_is_treated_as_predict_treats_it(dtype: str) -> None:
    X = PEOPLE.astype({"purpose": dtype})
    schema = Schema.infer(X, protected=[]).widened({**X.iloc[0].to_dict(), "purpose": "boat"})
    assert schema["purpose"].categories[-1] == "boat"
    oracle, classifier = read(fit(one_hot(handle_unknown="ignore"), FINALS["linear"], X), schema, X)
    codes = random_codes(schema, 200)
    np.testing.assert_array_equal(classifier.model.accepts(classifier.encode(codes)), oracle.accepts(codes))
    boat = schema.encode({**X.iloc[0].to_dict(), "purpose": "boat"})
    assert classifier.encode(boat)[0, classifier.owners == schema.position("purpose")].sum() == 0


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("final", FINALS)
def test_a_threshold_on_the_probability(threshold: float, final: str) -> None:
    oracle, classifier = read(fit(one_hot(), FINALS[final]), threshold=threshold)
    codes = random_codes(SCHEMA, 300)
    share = oracle.estimator.predict_proba(oracle.table(codes))[:, 1]
    np.testing.assert_array_equal(oracle.accepts(codes), share >= threshold)
    np.testing.assert_array_equal(classifier.model.accepts(classifier.encode(codes)), oracle.accepts(codes))


class Rule(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A user's own class that speaks of columns by name and keeps no record of them."""

    classes_ = np.array(["no", "yes"])

    def fit(self, X: Any, y: Any) -> Rule:
        self.fitted_ = True
        return self

    def predict(self, X: Any) -> Any:
        return np.where((X["age"] > 40) & (X["purpose"] == "home"), "yes", "no")


def test_a_black_box_may_ask_for_columns_by_name() -> None:
    _, classifier = read(Rule().fit(PEOPLE, ANSWERS), blackbox=True)
    codes = random_codes(SCHEMA, 100)
    frame = SCHEMA.decode(codes)
    expected = ((frame["age"] > 40) & (frame["purpose"] == "home")).to_numpy()
    np.testing.assert_array_equal(classifier.model.accepts(codes), expected)


def test_texts_without_an_encoder_are_refused() -> None:
    fitted = LogisticRegression().fit(PEOPLE[["age"]].to_numpy(), ANSWERS)
    schema = Schema.infer(PEOPLE[["purpose"]])
    _, classifier = read(fitted, schema, None)
    with pytest.raises(ModelError, match=r"not numbers.*Pipeline"):
        classifier.encode(np.zeros((1, 1)))


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        ("b", [1]),
        (["c", "a"], [2, 0]),
        (1, [1]),
        (-1, [3]),
        ([0, -2], [0, 2]),
        (slice(1, 3), [1, 2]),
        (slice("b", "c"), [1, 2]),
        (slice(None, "b"), [0, 1]),
        (slice("c", None), [2, 3]),
        (slice(-2, None), [2, 3]),
        (slice(None), [0, 1, 2, 3]),
        ([True, False, False, True], [0, 3]),
        (np.array([False] * 4), []),
        ([], []),
        (pd.Index(["d"]), [3]),
        (np.array([3, 1]), [3, 1]),
    ],
)
def test_column_positions(which: Any, expected: list[int]) -> None:
    class Fitted:
        feature_names_in_ = np.array(["a", "b", "c", "d"], dtype=object)

    assert column_positions(which, Fitted(), 4) == expected


def test_trace_of_texts_and_nothing() -> None:
    assert trace("passthrough", 3) == [0, 1, 2]
    assert trace(None, 2) == [0, 1]
    assert trace("drop", 3) == []


@pytest.mark.parametrize("final", [LogisticRegression(), RandomForestClassifier(5, max_depth=3, random_state=0)])
def test_skrub_table_vectorizer_is_followed(final):
    skrub = pytest.importorskip("skrub", reason="skrub is not installed")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"a": rng.normal(size=200).round(1), "job": rng.choice(["x", "y", "z"], 200), "n": rng.integers(0, 5, 200)}
    )
    y = np.where(X["a"] + (X["job"] == "x") + 0.2 * X["n"] > 1, "yes", "no")
    squash = [skrub.SquashingScaler()] if hasattr(skrub, "SquashingScaler") else []
    classifier = make_pipeline(skrub.TableVectorizer(), *squash, final).fit(X, y)
    schema = Schema.infer(X, protected=[])
    oracle = Oracle(classifier, schema, X.iloc[:0], "yes")
    read = read_classifier(oracle)
    assert sorted(set(read.owners.tolist())) == [0, 1, 2]
    codes = schema.encode(X)
    assert np.array_equal(read.model.accepts(read.encode(codes)), oracle.accepts(codes))
