"""Reasons: weights add up, agree with brute force and with shap, and say what blanks leave open."""

from __future__ import annotations

import pickle
import re
import warnings
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from armin import ARMIN, Feature, Schema
from armin.datasets import make_loans
from armin.errors import DataError, ModelError, ParameterError, SchemaError
from armin.models.encoding import read_classifier
from armin.models.oracle import Oracle
from armin.reasons.attribute import attribute, untold
from armin.reasons.games import play, play_all, play_orders
from armin.reasons.pooled import interval, pool, ranks_first
from armin.reasons.score import read_score
from armin.reasons.stand import Standing
from armin.reasons.statements import order_of

from worlds import MODELS, make_world

LAW = settings(deadline=None, max_examples=8)
EXACT = {"linear": "linear", "tree": "trees", "forest": "trees", "boosting": "trees"}


def scored(world, unit=None):
    """A world's score, its codes, and its oracle."""
    like = world.X.iloc[:0]
    oracle = Oracle(world.classifier, world.schema, like, "yes")
    codes = world.schema.encode(world.X)
    return read_score(read_classifier(oracle), oracle, codes, unit), codes, oracle


def by_predict(score, oracle):
    """The score of codes as the classifier itself states it."""

    def ask(codes):
        return asked_itself(oracle.estimator, oracle.table(codes))

    return ask


def asked_itself(classifier, frame):
    """The number that a classifier states: its log odds if it has any, else its probability."""
    if hasattr(classifier, "decision_function"):
        return classifier.decision_function(frame)
    return classifier.predict_proba(frame)[:, 1]


def by_every_order(classifier, person, others):
    """Shapley values by their definition, from frames of the user's own values, sharing no line with the package.

    Each column's gain when it joins those before it, over all orders of the columns.
    """
    groups = [inside for size in range(person.shape[1] + 1) for inside in combinations(person.columns, size)]
    mixed = [others.assign(**{name: person[name].iloc[0] for name in inside}) for inside in groups]
    means = asked_itself(classifier, pd.concat(mixed)).reshape(len(groups), -1).mean(axis=1)
    worth = dict(zip(map(frozenset, groups), means, strict=True))
    total = dict.fromkeys(person.columns, 0.0)
    orders = list(permutations(person.columns))
    for order in orders:
        for k, name in enumerate(order):
            total[name] += worth[frozenset(order[: k + 1])] - worth[frozenset(order[:k])]
    return np.array([total[name] / len(orders) for name in person.columns])


# --- exact weights ----------------------------------------------------------------------------------------------------


@LAW
@given(seed=st.integers(0, 999), kind=st.sampled_from(sorted(EXACT)))
def test_exact_weights_are_the_shapley_values_of_the_classifier_itself(seed, kind):
    world = make_world(seed, kind)
    score, codes, _ = scored(world)
    found = attribute(score, codes[:3], codes[20:27], np.random.default_rng(0))
    assert found.how == EXACT[kind]
    assert found.exact
    assert not found.variance.any()
    for i in range(3):
        person, others = world.X.iloc[[i]], world.X.iloc[20:27]
        assert found.weights[i] == pytest.approx(by_every_order(world.classifier, person, others), abs=1e-9)
    assert found.weights == pytest.approx(play_all(score, codes[:3], codes[20:27], range(5)).weights, abs=1e-9)


@LAW
@given(seed=st.integers(0, 999), kind=st.sampled_from(sorted(MODELS)))
def test_weights_add_up_to_the_score_less_the_reference(seed, kind):
    score, codes, _ = scored(make_world(seed, kind))
    found = attribute(score, codes[:4], codes[10:19], np.random.default_rng(seed))
    assert found.scores == pytest.approx(score(codes[:4]), abs=1e-9)
    assert found.weights.sum(axis=1) == pytest.approx(found.scores - found.reference, abs=1e-9)
    assert found.reference == pytest.approx(float(score(codes[10:19]).mean()), abs=1e-9)


@LAW
@given(seed=st.integers(0, 999), kind=st.sampled_from(["linear", "forest", "network"]))
def test_sampled_orders_agree_within_their_error_and_add_up(seed, kind):
    score, codes, _ = scored(make_world(seed, kind))
    people, others = codes[:2], codes[20:61]
    exact = play_all(score, people, others, range(5))
    found = play_orders(score, people, others, range(5), np.random.default_rng(seed))
    assert found.weights.sum(axis=1) == pytest.approx(exact.weights.sum(axis=1), abs=1e-9)
    assert (np.abs(found.weights - exact.weights) <= 6 * np.sqrt(found.variance) + 1e-9).all()
    few = play(score, people, others, range(5), np.random.default_rng(seed))
    assert few.exact
    assert few.weights == pytest.approx(exact.weights, abs=1e-12)


@LAW
@given(seed=st.integers(0, 99), kind=st.sampled_from(sorted(MODELS)), blank=st.booleans())
def test_a_feature_that_the_model_never_uses_weighs_nothing(seed, kind, blank):
    world = make_world(seed, kind)
    X = world.X.assign(idle=np.arange(len(world.X)) % 7)
    used = make_column_transformer(("passthrough", ["amount", "rate", "level"]), remainder="drop")
    model = make_pipeline(used, MODELS[kind](seed)).fit(X, world.y)
    explainer = ARMIN(model, Schema.infer(X), desired="yes", sampler="marginal").fit(X)
    row = X.iloc[5].to_dict() | ({"idle": None, "rate": None} if blank else {})
    weights = {w.feature.name: w for w in explainer.reasons(row, reference="average", n_samples=10).weights}
    for name in ("idle", "owner", "city"):
        one = weights[name]
        assert (one.weight, one.low, one.high, one.between, one.top) == (0.0, 0.0, 0.0, 0.0, 0.0)
    assert any(one.weight for one in weights.values())


@LAW
@given(seed=st.integers(0, 99), kind=st.sampled_from(sorted(EXACT)), order=st.permutations(list(range(5))))
def test_permuting_columns_changes_nothing(seed, kind, order):
    world = make_world(seed, kind)
    names = [world.schema.names[i] for i in order]
    row = world.X.iloc[[7]]
    there = ARMIN(world.classifier, world.schema, desired="yes", sampler="marginal").fit(world.X)
    schema = Schema(tuple(world.schema[name] for name in names))
    here = ARMIN(world.classifier, schema, desired="yes", sampler="marginal").fit(world.X[names])
    mine, other = here.reasons(row[names], reference="average"), there.reasons(row, reference="average")
    assert mine.standing.score == pytest.approx(other.standing.score, abs=1e-12)
    for value in ("weight", "low", "high", "top"):
        mine_, theirs = ({w.feature.name: getattr(w, value) for w in why.weights} for why in (mine, other))
        assert mine_ == pytest.approx(theirs, abs=1e-9)
    said = [{s.feature.name for s in why.all_statements} for why in (mine, other)]
    assert said[0] == said[1]


def test_categories_of_one_feature_are_one_player():
    """The sum over one-hot columns is another number: here each is half the person's and half the other's."""
    X = pd.DataFrame({"city": ["a", "b", "c"] * 40, "size": np.tile([0.0, 1.0], 60)})
    both = X["city"].eq("a") & X["size"].eq(1.0)
    world = replace(
        make_world(1), X=X, schema=Schema.infer(X, kinds={"size": "continuous"}), y=np.where(both, "yes", "no")
    )
    from sklearn.preprocessing import OneHotEncoder

    encoder = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough")
    world = replace(world, classifier=make_pipeline(encoder, DecisionTreeClassifier(random_state=0)).fit(X, world.y))
    score, codes, oracle = scored(world)
    found = attribute(score, codes[1:2], codes[2:3], np.random.default_rng(0))
    brute = play_all(by_predict(score, oracle), codes[1:2], codes[2:3], range(2))
    assert found.how == "trees"
    assert found.weights == pytest.approx(brute.weights, abs=1e-12)


# --- beside shap ------------------------------------------------------------------------------------------------------


def in_eighths(seed, n=150):
    """Numbers that single precision holds exactly, since shap compares what scikit-learn rounds first."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(-40, 40, (n, 5)) / 8.0, columns=list("abcde"))
    return X, (X["a"] * X["b"] + X["c"] - X["d"] > 0).astype(int).to_numpy()


TREES = {
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": RandomForestClassifier(6, max_depth=4, random_state=0),
    "extra": ExtraTreesClassifier(6, max_depth=4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=6, random_state=0),
    "hist": HistGradientBoostingClassifier(max_iter=6, random_state=0),
}


@pytest.mark.parametrize("kind", ["linear", *TREES])
def test_weights_are_those_of_shap(kind):
    shap = pytest.importorskip("shap")
    X, y = in_eighths(4)
    others, people = X.iloc[:30], X.iloc[40:45]
    model = LogisticRegression() if kind == "linear" else TREES[kind]
    model.fit(X, y)
    oracle = Oracle(model, Schema.infer(X), X.iloc[:0], 1)
    codes = oracle.schema.encode(X)
    score = read_score(read_classifier(oracle), oracle, codes)
    ours = attribute(score, codes[40:45], codes[:30], np.random.default_rng(0)).weights
    masker = shap.maskers.Independent(others, max_samples=100)
    asked = model.decision_function if score.unit == "log-odds" else lambda rows: model.predict_proba(rows)[:, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the names of columns are lost on the way
        exact = shap.explainers.Exact(lambda rows: asked(pd.DataFrame(rows, columns=X.columns)), masker)(people).values
    assert ours == pytest.approx(exact, abs=1e-9)
    if kind == "linear":
        theirs = shap.LinearExplainer(model, masker).shap_values(people)
        assert ours == pytest.approx(theirs, abs=1e-9)
        return
    theirs = np.asarray(shap.TreeExplainer(model, others).shap_values(people, check_additivity=False))
    theirs = theirs[..., 1] if theirs.ndim == 3 else theirs
    assert ours == pytest.approx(theirs, abs=1e-6)  # which adds up in single precision


# --- scores and units -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "unit"),
    [
        (LogisticRegression(), "log-odds"),
        (RandomForestClassifier(5, max_depth=3, random_state=0), "probability"),
        (GradientBoostingClassifier(n_estimators=3), "log-odds"),
        (LinearSVC(), "points"),
    ],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)
def test_the_unit_is_found_by_comparing_with_the_classifier(model, unit):
    X, y = in_eighths(1)
    oracle = Oracle(model.fit(X, y), Schema.infer(X), X.iloc[:0], 1)
    codes = oracle.schema.encode(X)
    score = read_score(read_classifier(oracle), oracle, codes)
    assert score.unit == unit
    assert ((score(codes) >= score.threshold) == (model.predict(X) == 1)).all()


def test_a_model_without_probabilities_has_no_reasons_in_probability():
    X, y = in_eighths(1)
    explainer = ARMIN(LinearSVC().fit(X, y), Schema.infer(X), desired=1).fit(X)
    assert explainer.reasons(X.iloc[[0]]).standing.unit == "points"
    with pytest.raises(ModelError, match="LinearSVC states no probability"):
        explainer.reasons(X.iloc[[0]], unit="probability")


class Only:
    """A classifier that says yes or no."""

    classes_ = np.array([0, 1])

    def __init__(self, cut):
        self.cut = cut

    def fit(self, X, y):
        return self

    def predict(self, X):
        return (X["a"] > self.cut).astype(int).to_numpy()


class Unsure(Only):
    """A classifier whose probability does not decide."""

    def predict_proba(self, X):
        share = np.full(len(X), 0.7)
        return np.column_stack([1 - share, share])


@pytest.mark.parametrize(
    ("model", "unit", "threshold"),
    [(SVC(), "points", 0.0), (Only(0.5), "decision", 0.5), (Unsure(0.5), "probability", None)],
)
@pytest.mark.filterwarnings("ignore::armin.explain.reading.BlackBoxWarning")
def test_a_model_that_must_be_asked_has_the_score_that_decides(model, unit, threshold):
    X, y = in_eighths(3)
    explainer = ARMIN.from_settings(model.fit(X, y), Schema.infer(X), desired=0, method="blackbox").fit(X)
    rows = X[model.predict(X) == 1].iloc[:3]
    for i in range(3):
        why = explainer.reasons(rows.iloc[[i]], background=X.iloc[:6])
        where = why.standing
        assert (where.unit, where.threshold) == (unit, threshold)
        assert not why.accepted
        assert threshold is None or where.score < threshold
        assert why.each.sum() == pytest.approx(where.score - where.reference, abs=1e-9)
    said = str(where)
    assert ("decision only" in said) == (unit == "decision")
    assert ("is needed" in said) == (unit == "points")
    assert "%" not in said or unit == "probability"


@pytest.mark.parametrize(
    ("score", "threshold", "unit", "says"),
    [
        (-2.37, 8.9e-8, "log-odds", "Your score is -2.37 in log odds; 0 is needed."),
        (-0.004, 1.7e-16, "points", "Your score is -0.004 points; 0 is needed."),
        (0.496, 0.5, "probability", "Your score is 49.6 %; 50.0 % is needed."),
        (0.49996, 0.5, "probability", "Your score is 49.996 %; 50.000 % is needed."),
        (0.5, 0.5, "probability", "Your score is 50 %; 50 % is needed."),
        (0.3, 0.5, "probability", "Your score is 30 %; 50 % is needed."),
        (1.4999, 1.5, "points", "Your score is 1.4999 points; 1.5000 is needed."),
    ],
)
def test_a_score_reads_as_what_it_is_beside_the_threshold(score, threshold, unit, says):
    here = Standing(score, score, score, 0.9, threshold, 0.0, None, unit, 0.0)
    assert str(here).replace("; 0.00 is", "; 0 is") == says
    wide = replace(here, low=score - 1.0, high=score + 1.0, unit="log-odds")
    assert str(wide).count("log odds") == 1
    assert str(replace(here, low=score - 1e-5, high=score + 1e-5)).count("lies between") == 0


@LAW
@given(
    seed=st.integers(0, 99),
    unit=st.sampled_from(["probability", "log-odds"]),
    kind=st.sampled_from(["linear", "forest"]),
)
def test_other_units_add_up_too(seed, unit, kind):
    score, codes, oracle = scored(make_world(seed, kind), unit)
    assert score.unit == unit
    found = attribute(score, codes[:2], codes[10:20], np.random.default_rng(0))
    assert found.weights.sum(axis=1) == pytest.approx(found.scores - found.reference, abs=1e-9)
    if unit == "probability":
        assert found.scores == pytest.approx(oracle.estimator.predict_proba(oracle.table(codes[:2]))[:, 1], abs=1e-12)


def test_several_labels_and_black_boxes_are_asked():
    X, y = in_eighths(2)
    three = np.where(X["e"] > 3, 2, y)
    schema = Schema.infer(X)
    for model, labels in ((LogisticRegression().fit(X, three), 1), (GaussianNB().fit(X, y), 1)):
        why = (
            ARMIN.from_settings(model, schema, desired=labels, method="auto")
            .fit(X)
            .reasons(X.iloc[[3]], reference="average")
        )
        share = model.predict_proba(X.iloc[[3]])[0, 1]
        if why.standing.unit == "probability":
            assert why.standing.score == pytest.approx(share, abs=1e-9)
        assert why.each.sum() == pytest.approx(why.standing.score - why.standing.reference, abs=1e-9)


def test_what_several_columns_make_is_attributed_to_them():
    X, y = in_eighths(6)
    joint = make_column_transformer(
        (make_pipeline(PolynomialFeatures(2, include_bias=False), StandardScaler()), ["a", "b"]),
        remainder="passthrough",
    )
    model = make_pipeline(joint, LogisticRegression(max_iter=500)).fit(X, y)
    oracle = Oracle(model, Schema.infer(X), X.iloc[:0], 1)
    codes = oracle.schema.encode(X)
    read = read_classifier(oracle)
    assert read.joint
    score = read_score(read, oracle, codes)
    found = attribute(score, codes[:3], codes[10:16], np.random.default_rng(0))
    brute = play_all(score, codes[:3], codes[10:16], range(5))
    assert found.how == "linear"
    assert found.weights == pytest.approx(brute.weights, abs=1e-9)


# --- blanks -----------------------------------------------------------------------------------------------------------


@LAW
@given(seed=st.integers(0, 99), kind=st.sampled_from(sorted(MODELS)))
def test_without_blanks_there_is_nothing_between(seed, kind):
    world = make_world(seed, kind)
    why = (
        ARMIN(world.classifier, world.schema, desired="yes")
        .fit(world.X)
        .reasons(world.X.iloc[[3]], reference="average")
    )
    assert why.each.shape[0] == 1
    assert all(w.between == 0.0 and w.top in (0.0, 1.0) for w in why.weights)
    if why.exact:
        assert all(w.low == w.weight == w.high and w.total == 0.0 for w in why.weights)
    assert why.unknown == ()
    assert why.standing.low == why.standing.high


@LAW
@given(seed=st.integers(0, 999), kind=st.sampled_from(sorted(EXACT)))
def test_every_completion_adds_up_and_only_blanks_leave_anything_open(seed, kind):
    world = make_world(seed, kind)
    explainer = ARMIN(world.classifier, world.schema, desired="yes", sampler="marginal").fit(world.X)
    why = explainer.reasons(world.row, n_samples=20, reference="average")
    assert why.each.sum(axis=1) == pytest.approx(why.scores - why.standing.reference, abs=1e-9)
    assert why.accepted is False
    if kind == "linear":  # nothing interacts
        assert all(w.blank or w.between == 0.0 for w in why.weights)
    assert all(w.low - 1e-12 <= w.high for w in why.weights)


def test_not_having_told_is_weighed_by_itself():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=400).round(2), "b": rng.normal(size=400).round(2)})
    y = (X["a"] + X["b"] > 0).astype(int)
    # who does not tell is taken for the worst
    model = make_pipeline(SimpleImputer(strategy="constant", fill_value=-9.0), LogisticRegression()).fit(X, y)
    explainer = ARMIN(model, Schema.infer(X), desired=1).fit(X)
    why = explainer.reasons({"a": None, "b": 1.0}, reference="average")
    told = model.decision_function(pd.DataFrame({"a": [np.nan], "b": [1.0]}))[0]
    assert why.standing.submitted == pytest.approx(told, abs=1e-9)
    # from the reference over each completion to the row with its blanks
    assert (why.each + why.not_told).sum(axis=1) == pytest.approx(told - why.standing.reference, abs=1e-9)
    by_name = {w.feature.name: w for w in why.weights}
    assert by_name["a"].untold < -1.0
    assert by_name["b"].untold == 0.0
    assert next(s.kind for s in why.statements()) == "untold"


def test_many_blanks_are_weighed_by_orders():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(80, 10)).round(1), columns=[f"x{i}" for i in range(10)])
    model = HistGradientBoostingClassifier(max_iter=5).fit(X, (X.sum(axis=1) > 0).astype(int))
    oracle = Oracle(model, Schema.infer(X), X.iloc[:0], 1)
    codes = oracle.schema.encode(X)
    score = read_score(read_classifier(oracle), oracle, codes)
    row = np.append(np.full(9, np.nan), codes[0, 9])
    found = untold(score, row, codes[:2], rng)
    lost = score.blanks(row[None, :])[0] - score(np.column_stack([codes[:2, :9], np.full(2, codes[0, 9])]))
    same = untold(score, row, np.column_stack([codes[:2, :9], np.full(2, codes[0, 9])]), rng)
    assert same.sum(axis=1) == pytest.approx(lost, abs=1e-9)
    assert found.shape == (2, 10)


@LAW
@given(seed=st.integers(0, 10_000), n=st.integers(2, 60))
def test_rubins_rules(seed, n):
    rng = np.random.default_rng(seed)
    values, variance = rng.normal(size=(n, 3)), rng.random((n, 3))
    found = pool(values, variance, np.ones(n))
    assert found.mean == pytest.approx(values.mean(axis=0))
    assert found.between == pytest.approx(values.var(axis=0, ddof=1))
    assert found.total == pytest.approx(variance.mean(axis=0) + (1 + 1 / n) * values.var(axis=0, ddof=1))
    # a weight of two is the same row twice, but for what the size is worth
    twice = pool(np.concatenate([values, values[:1]]), np.concatenate([variance, variance[:1]]), np.ones(n + 1))
    weighed = pool(values, variance, np.append(2.0, np.ones(n - 1)))
    assert weighed.mean == pytest.approx(twice.mean)


def test_an_interval_covers_one_more_draw_as_often_as_it_says():
    rng = np.random.default_rng(0)
    draws = rng.exponential(size=(99, 4000))
    low, high = interval(draws, np.zeros(4000), np.ones(99), 0.9)
    one_more = rng.exponential(size=4000)
    covered = ((low <= one_more) & (one_more <= high)).mean()
    assert abs(covered - 0.9) < 4 * np.sqrt(0.09 / 4000)


@LAW
@given(shares=st.lists(st.integers(1, 60), min_size=2, max_size=7), n=st.sampled_from([20, 50, 100]))
def test_an_interval_of_few_values_covers_what_it_says_and_holds_no_end_that_it_need_not(shares, n):
    p = np.array(shares) / sum(shares)
    draws = np.random.default_rng(sum(shares)).choice(len(shares), (n, 500), p=p).astype(float)
    low, high = interval(draws, np.zeros(500), np.ones(n), 0.9)
    covered = np.array([p[int(a) : int(b) + 1].sum() for a, b in zip(low, high, strict=True)])
    assert covered.mean() >= 0.9
    enough = 0.9 * (n + 1) + 1
    for k in range(0, 500, 25):
        inside = ((draws[:, k] >= low[k]) & (draws[:, k] <= high[k])).sum()
        ends = [(draws[:, k] == end).sum() for end in (low[k], high[k])]
        assert low[k] == high[k] or inside - min(ends) < enough


def test_who_is_first():
    values = np.array([[0.5, 0.4, -1.0, 0.0], [-0.1, -0.2, -0.3, -0.4]])
    assert ranks_first(values, 3).tolist() == [[True, True, False, False], [False] * 4]


# --- references -------------------------------------------------------------------------------------------------------


def test_references():
    world = make_world(8, "linear")
    explainer = ARMIN(world.classifier, world.schema, desired="yes").fit(world.X)
    row = world.X.iloc[[4]]
    found = {name: explainer.reasons(row, reference=name) for name in ("average", "accepted", "nearest", "threshold")}
    sizes = {name: why.compared for name, why in found.items()}
    yes = int((world.classifier.predict(world.X) == "yes").sum())
    assert sizes == {"average": 120, "accepted": yes, "nearest": 1, "threshold": max(5, round(yes / 10))}
    cut = found["average"].standing.threshold
    assert found["accepted"].standing.reference > found["threshold"].standing.reference >= cut
    with pytest.raises(ParameterError, match="'reference' must be one of 'average'"):
        explainer.reasons(row, reference="best")
    for given_, said in ({"unit": "miles"}, "'unit'"), ({"method": "guess"}, "'method'"), ({"level": 1.0}, "'level'"):
        with pytest.raises(ParameterError, match=said):
            explainer.reasons(row, **given_)
    rejected = world.X[world.classifier.predict(world.X) == "no"]
    with pytest.raises(DataError, match=r"None of the .* people to compare with is accepted"):
        explainer.reasons(row, background=rejected)
    with pytest.raises(DataError, match="at least one row with a value"):
        explainer.reasons(row, background=world.X.iloc[:0])
    with pytest.raises(DataError, match=r"One row is asked about at a time. Got 2 instead"):
        explainer.reasons(world.X.iloc[:2])
    del explainer.background_
    with pytest.raises(DataError, match="this explainer keeps none"):
        explainer.reasons(row)
    assert explainer.reasons(row, background=world.X).compared == yes


# --- LIME -------------------------------------------------------------------------------------------------------------


def test_lime_finds_the_line_of_a_linear_score():
    """Against one person a linear score is linear in what is kept: LIME must find the weights, but for its penalty."""
    world = make_world(9, "linear")
    explainer = ARMIN(world.classifier, world.schema, desired="yes").fit(world.X)
    row = world.X.iloc[[2]]
    lime, exact = (explainer.reasons(row, reference="nearest", method=m) for m in ("lime", "shapley"))
    assert lime.how == "lime"
    assert not lime.exact
    assert lime.each == pytest.approx(exact.each, abs=0.05 * np.abs(exact.each).max())
    assert any(message.code == "why.sampled" for message in lime.messages)


# --- statements -------------------------------------------------------------------------------------------------------


def test_no_seed_reorders_what_is_told_apart():
    world = make_world(11, "forest")
    explainer = ARMIN(world.classifier, world.schema, desired="yes", sampler="marginal", random_state=0).fit(world.X)
    kept = explainer.background_
    orders = []
    for seed in range(6):
        explainer.set_params(random_state=seed)
        explainer.background_ = kept
        why = explainer.reasons(world.row)
        orders.append(
            {(s.feature.name, s.kind): (i, {n.key for n in s.tied}) for i, s in enumerate(why.all_statements)}
        )
    for one in orders:
        for other in orders:
            for a in one.keys() & other.keys():
                for b in one.keys() & other.keys():
                    if (one[a][0] < one[b][0]) != (other[a][0] < other[b][0]):
                        assert b[0] in one[a][1] or b[0] in other[a][1]


def test_ties_stand_in_the_order_of_the_columns():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(50, 2))
    values = np.column_stack(
        [np.full(50, 0.1), 1.0 + noise[:, 0] - noise[:, 0].mean(), 1.01 + noise[:, 1], np.full(50, 9.0)]
    )
    order, tied = order_of(values, np.zeros_like(values), np.ones(50))
    assert order[0] == 3
    assert order[1:3] == [1, 2]
    assert tied[1] == (2,)
    assert tied[2] == (1,)
    assert 3 not in tied
    assert order_of(np.full((1, 2), -1.0), np.zeros((1, 2)), np.ones(1)) == ([], {})


def test_ties_name_neither_what_is_not_stated_nor_what_is_protected():
    """Eight columns that weigh the same, one of them a protected trait: four are stated, the others counted."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (400, 8)), columns=[*"abcdefg", "sex"])
    model = LogisticRegression().fit(X, X.sum(axis=1) > 4)
    model.coef_[:], model.intercept_[:] = 1.0, -6.5
    explainer = ARMIN(model, Schema.infer(X, protected=["sex"]), desired=True, sampler="marginal").fit(X)
    explainer.background_ = np.ones((20, 8))
    why = explainer.reasons(dict.fromkeys("abcdefg", 0) | {"sex": 0, "b": None}, n_samples=30)
    told = why.statements()
    assert len(told) == 4
    assert [one.feature.name for one in told] == ["a", "c", "d", "e"]
    assert "sex" in {name.key for one in why.all_statements for name in one.tied}
    for i, one in enumerate(told):
        assert {name.key for name in one.tied} <= {other.feature.name for other in told[:i]}
        assert len({name.key for name in one.tied}) == len(one.tied)
        assert one.unnamed == 3
        assert "sex" not in str(one)
    assert "3 points that are not named here may weigh as much" in str(told[0])


@pytest.mark.parametrize("kind", ["linear", "forest"])
def test_what_a_statement_says_is_true_and_a_reason(kind):
    """Each comparison holds among the people, and goes the way in which the model decides."""
    world = make_world(12, kind)
    explainer = ARMIN(world.classifier, world.schema, desired="yes").fit(world.X)
    seen = set()
    for i in np.flatnonzero(world.classifier.predict(world.X) == "no")[:30]:
        row = world.X.iloc[[int(i)]]
        why = explainer.reasons(row)
        for statement in why.statements():
            position = world.schema.position(statement.feature.name)
            message, mine = statement.message, why.row[position]
            theirs = why.people.usual[:, position]
            seen.add(message.code)
            assert statement.weight < 0
            if message.code.startswith(("reason.high", "reason.low")):
                beyond = theirs < mine if "high" in message.code else theirs > mine
                tenths = message.values.get("tenths", 10)
                assert tenths / 10 <= beyond.mean() + 1e-9 < tenths / 10 + 0.1 + 1e-9
                assert beyond.mean() > 0.5
                moved = np.repeat(why.row[None], beyond.sum(), axis=0)
                moved[:, position] = theirs[beyond]
                before, after = (chances(world, codes).mean() for codes in (why.row[None], moved))
                assert after > before
            elif message.code == "reason.category":
                same = why.people.codes[:, position] == mine
                assert message["share"] == pytest.approx(why.people.accepted[same].mean())
                assert message["others"] == pytest.approx(why.people.accepted[~same].mean())
                assert message["share"] < message["others"]
            else:
                assert message.code == "reason.together"
                moved = np.repeat(why.row[None], theirs.size, axis=0)
                moved[:, position] = theirs
                assert message["share"] == pytest.approx((chances(world, moved) > chances(world, why.row[None])).mean())
                assert message["share"] > 0.5
    assert "reason.category" in seen
    assert {"reason.low", "reason.high"} & seen


def chances(world, codes):
    """The chance of the wish of complete rows of codes."""
    frame = pd.DataFrame({f.name: [f.value(float(code)) for code in codes[:, i]] for i, f in enumerate(world.schema)})
    return world.classifier.predict_proba(frame)[:, list(world.classifier.classes_).index("yes")]


def test_what_most_people_who_are_accepted_have_too_is_no_reason():
    """A gain that few have weighs by its mean; that somebody has none, as most do, sets nobody apart."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"gain": np.where(rng.random(400) < 0.2, 50, 0), "debt": rng.integers(0, 10, 400)})
    model = LogisticRegression().fit(X, X["debt"] < 5)
    model.coef_[:], model.intercept_[:] = [[0.1, -1.0]], 4.5
    why = ARMIN(model, Schema.infer(X), desired=True).fit(X).reasons({"gain": 0, "debt": 7})
    assert {weight.feature.name: weight.weight < 0 for weight in why.weights} == {"gain": True, "debt": True}
    [one] = why.statements()
    assert (one.feature.name, one.message.code) == ("debt", "reason.high")
    assert re.fullmatch(r"Debt is 7, which is higher than for [6-9] in 10 people who are accepted\.", str(one))


def test_protected_traits_are_withheld_unless_the_bank_insists():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], 300), "age": rng.integers(18, 80, 300), "income": rng.integers(10, 90, 300),
            "nationality": rng.choice(["here", "there"], 300), "debt": rng.integers(0, 40, 300),
        }
    )  # fmt: skip
    y = X["income"] + X["age"] + 30 * X["sex"].eq("m") + 30 * X["nationality"].eq("here") - X["debt"] > 120
    model = make_pipeline(FunctionTransformer(_numbers), LogisticRegression(max_iter=500)).fit(X, y)
    with pytest.warns(UserWarning, match="protected"):
        schema = Schema.infer(X)
    explainer = ARMIN.from_settings(model, schema, desired=True, method="blackbox").fit(X)
    row = {"sex": "f", "age": 20, "income": 12, "nationality": "there", "debt": 39}
    why = explainer.reasons(row)
    assert {s.feature.name for s in why.statements()} <= {"income", "debt"}
    assert {s.feature.name for s in why.withheld} == {"sex", "age", "nationality"}
    assert {s.feature.name for s in why.statements(protected=True)} & {"sex", "age", "nationality"}
    assert "why.withheld" in [m.code for m in why.messages]
    assert {w.feature.name for w in why.weights} == set(X.columns)  # the bank sees all


def _numbers(frame):
    return frame.assign(sex=frame["sex"].eq("m"), nationality=frame["nationality"].eq("here")).astype(float)


def test_a_trait_in_disguise_is_said():
    rng = np.random.default_rng(5)
    age = rng.integers(20, 70, 300)
    X = pd.DataFrame(
        {"age": age, "years_in_job": (age - 18) * 0.8 + rng.normal(0, 2, 300), "debt": rng.integers(0, 40, 300)}
    )
    X = X.round(1)
    model = LogisticRegression(max_iter=500).fit(X, X["years_in_job"] - X["debt"] / 2 > 5)
    schema = Schema.infer(X, protected=["age"], reasons={"debt": "R07"})
    why = ARMIN(model, schema, desired=True).fit(X).reasons({"age": 25, "years_in_job": 1.0, "debt": 30})
    told = {s.feature.name: s for s in why.statements()}
    assert [name.key for name in told["years_in_job"].tells] == ["age"]
    assert told["debt"].tells == ()
    assert told["debt"].code == "R07"
    assert "says much about age, which is protected" in str(told["years_in_job"])


def test_reason_codes_survive_a_file_and_must_be_texts():
    schema = Schema((Feature("debt", "integer", lower=0, upper=9),)).update(reasons={"debt": "R07"})
    assert Schema.from_toml(schema.to_toml()) == schema
    assert schema["debt"].reason == "R07"
    with pytest.raises(SchemaError, match=r"The reason of 'debt' must be a text. Got 7 instead"):
        Feature("debt", "integer", lower=0, upper=9, reason=7)


def test_at_most_four():
    world = make_world(4, "linear")
    why = ARMIN(world.classifier, world.schema, desired="yes").fit(world.X).reasons(world.row)
    assert len(why.statements()) <= 4
    for most in (0, 5, True, 2.0):
        with pytest.raises(ParameterError, match="'most' must be a whole number from 1 to 4"):
            why.statements(most)


def test_views():
    world = make_world(14, "forest")
    why = ARMIN(world.classifier, world.schema, desired="yes").fit(world.X).reasons(world.row)
    data = why.to_dict()
    assert data["format"] == "armin.reasons/1"
    assert data["completions"] == 100
    assert why.to_json().startswith("{")
    assert str(why) == why.text("en") != why.text("de")
    assert "<svg" in why.html()
    assert why._repr_html_() == why.html()
    assert list(why.to_frame()["weight"].abs()) == sorted(why.to_frame()["weight"].abs(), reverse=True)
    assert set("o|") <= set(why.standing.picture())
    pytest.importorskip("matplotlib")
    drawn = why.plot(language="de")
    assert len(drawn.get_yticklabels()) == 5
    assert not drawn.get_title(loc="left").endswith(":")
    assert [one.get_text() for one in drawn.get_legend().get_texts()] == ["wo das wahre Gewicht liegen kann"]


def test_a_chance_is_the_score_as_a_probability():
    world = make_world(2, "linear")
    explainer = ARMIN(world.classifier, world.schema, desired="yes").fit(world.X)
    own, asked = (explainer.reasons(world.row, unit=unit).standing for unit in (None, "probability"))
    chance = explainer.reasons(world.row).chance
    assert own.unit == "log-odds"
    for name in ("score", "low", "high", "threshold", "share"):
        assert getattr(chance, name) == pytest.approx(getattr(asked, name), abs=1e-9)


def test_an_explainer_that_has_answered_can_still_be_kept():
    world = make_world(2, "forest")
    explainer = ARMIN(world.classifier, world.schema, desired="yes").fit(world.X)
    why = explainer.reasons(world.row)
    again, kept = pickle.loads(pickle.dumps(explainer)), pickle.loads(pickle.dumps(why))
    assert again.reasons(world.row).to_dict() == why.to_dict() == kept.to_dict()
    assert explainer.reasons(world.row).to_dict() == why.to_dict()  # from what is remembered


def test_another_seed_leaves_the_reasons_of_a_complete_person_as_they_are():
    """With whom somebody is compared follows no seed; only what the blanks may hide is drawn."""
    loans = make_loans()
    told = []
    for seed in range(4):
        explainer = ARMIN(loans.classifier, loans.schema, desired="approved", random_state=seed).fit(loans.X)
        told.append(explainer.reasons(loans.person).to_dict())
    assert all(one == told[0] for one in told)
