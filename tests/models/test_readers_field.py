"""The fidelity law for the models of this field: naive Bayes, additive machines, scorecards, regressions, ONNX files.

What was read equals the library's own ``predict`` on random rows, at every threshold and at its float neighbours, on
blanks and unknown categories; and recourse on a small problem is what asking the library in the order of cost finds.
"""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from armin import ARMIN, Schema
from armin.errors import ModelError, ParameterError
from armin.models import (
    OnnxClassifier,
    ScorecardCut,
    StatsmodelsClassifier,
    TreeEnsemble,
    prepare_inputs,
    read_model,
    supported_models,
)
from armin.models.encoding import read_classifier
from armin.models.kinds import Above, Margins
from armin.models.library_decides import LibraryDecides
from armin.models.nodes import plant
from armin.models.oracle import Oracle
from armin.models.steps import Axis, table_tree
from armin.problem import Problem
from armin.solve import solve

from problems import problems

pytestmark = pytest.mark.filterwarnings("ignore")
Array = NDArray[Any]


def agrees(estimator: Any, rows: Any, *, exact: bool = True, thresholds: bool = True) -> None:
    """What was read is what the library says, for every label, and at thresholds that rows attain."""
    inputs, said = prepare_inputs(estimator)(rows), np.asarray(estimator.predict(rows)).ravel()
    labels = np.asarray(estimator.classes_ if hasattr(estimator, "classes_") else estimator.estimator_.classes_)
    for j, label in enumerate(labels.tolist()):
        model = read_model(estimator, label)
        np.testing.assert_array_equal(model.accepts(inputs), said == label)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.accepts(inputs), said == label)
        if not thresholds or labels.size > 2:
            continue
        share = np.asarray(estimator.predict_proba(rows))[:, j]
        inside = np.sort(share[(share > 0) & (share < 1)])
        at = inside[inside.size // 2]
        near = (at, np.nextafter(at, at.dtype.type(1)), np.nextafter(at, at.dtype.type(0)))
        for threshold in (0.5, 0.7, *near):
            found = read_model(estimator, label, threshold=float(threshold)).accepts(inputs)
            away = np.full(share.size, True) if exact else np.abs(share - threshold) > 1e-6
            np.testing.assert_array_equal(found[away], (share >= threshold)[away])


def on_thresholds(model: TreeEnsemble, rows: pd.DataFrame, columns: list[str], seed: int = 0) -> pd.DataFrame:
    """Rows of which one value stands at a threshold, or beside it, in the precision of the inputs."""
    rng, kind = np.random.default_rng(seed), np.dtype(model.input_precision).type
    parts = []
    for j, name in enumerate(rows.columns):
        cut = np.unique(model.threshold[(model.feature == j) & np.isfinite(model.threshold)]).astype(kind)
        if name in columns and cut.size:
            values = np.concatenate([cut, np.nextafter(cut, kind(-np.inf)), np.nextafter(cut, kind(np.inf))])
            parts.append(rows.iloc[rng.integers(0, len(rows), values.size)].assign(**{name: values.astype(np.float64)}))
    return pd.concat([rows, *parts], ignore_index=True)


@cache
def people(n: int = 260) -> tuple[pd.DataFrame, Array]:
    """Numbers, counts, words and categories, with blanks in some."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame(
        {
            "income": rng.normal(size=n).round(1),
            "debt": rng.normal(size=n).round(1),
            "loans": rng.integers(0, 6, n).astype(float),
            "city": rng.choice(["Rome", "Oslo", "Bonn"], n),
        }
    )
    score = X["income"] - X["debt"] * (1 + (X["city"] == "Rome")) - 0.3 * X["loans"] + rng.normal(size=n) / 2
    return X, np.asarray(score)


def labels_of(score: Array, n_classes: int) -> Array:
    cuts = [np.median(score)] if n_classes == 2 else np.quantile(score, [0.3, 0.7])
    return np.array(["no", "maybe", "yes"] if n_classes > 2 else ["no", "yes"], dtype=object)[np.digitize(score, cuts)]


def numbers() -> pd.DataFrame:
    return people()[0][["income", "debt", "loans"]]


def same_as_asking(
    estimator: Any, X: pd.DataFrame, *, rows: int = 3, desired: Any = "yes", threshold: Any = None
) -> None:
    """The proven optimum through the reading costs what asking the estimator in the order of cost finds."""
    schema = Schema.infer(X)
    settings_ = {
        "desired": desired,
        "threshold": threshold,
        "n_samples": 8,
        "max_changes": 2,
        "max_options": 6,
        "confidence": 0.6,
    }
    read = ARMIN.from_settings(estimator, schema, method="search", grid="human", random_state=0, **settings_).fit(X)
    asked = ARMIN.from_settings(estimator, schema, method="blackbox", grid="human", random_state=0, **settings_).fit(X)
    oracle = Oracle(estimator, schema, X, desired, threshold)
    codes = schema.encode(X)
    found = read_classifier(oracle)
    np.testing.assert_array_equal(found.model.accepts(found.encode(codes)), oracle.accepts(codes))
    rejected = X[~oracle.accepts(codes)]
    rejected = rejected.iloc[:: len(rejected) // rows].head(rows)
    assert len(rejected) == rows
    changed = 0
    for _, row in rejected.iterrows():
        blank = row.copy()
        blank[X.columns[0]] = np.nan
        one, other = read.explain(blank), asked.explain(blank)
        assert one.status == other.status
        assert one.cost == pytest.approx(other.cost, abs=1e-9)
        changed += bool(one.changes)
    assert changed


# --- tables as trees, and the rule that asks


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_table_over_bins_is_a_tree(data: st.DataObject) -> None:
    n_axes, n_outputs = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 2))
    axes = [
        Axis(
            i,
            np.sort(data.draw(st.lists(st.integers(-5, 5).map(float), max_size=5, unique=True)) or [0.0]),
            data.draw(st.booleans()),
        )
        for i in range(n_axes)
    ]
    axes = [Axis(a.feature, np.asarray(a.cuts, dtype=np.float64), a.blank) for a in axes]
    shape = (*(a.n_bins for a in axes), n_outputs)
    values = np.array(
        data.draw(st.lists(st.integers(0, 2), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    )
    values = values.reshape(shape).astype(float)
    ensemble = plant([table_tree(axes, values)], np.zeros(n_outputs), Above(0.0), n_axes)
    edges = np.array([-9.0, 9.0, np.inf, -np.inf, np.nan, *np.arange(-5.0, 6.0)])
    edges = np.concatenate([edges, np.nextafter(edges[5:], np.inf), np.nextafter(edges[5:], -np.inf)])
    grid = np.array(np.meshgrid(*[edges] * n_axes)).reshape(n_axes, -1).T
    bins = []
    for axis, column in zip(axes, grid.T, strict=True):
        found = np.searchsorted(axis.cuts, column)  # at most the cut: the lower bin
        bins.append(np.where(np.isnan(column), axis.n_bins - 1, np.minimum(found, axis.cuts.size)))
    np.testing.assert_array_equal(ensemble.outputs(grid), values[tuple(bins)])


def test_a_rule_asks_only_where_rounding_could_matter() -> None:
    asked: list[int] = []

    def verdict(outputs: Array) -> Array:
        asked.append(len(outputs))
        return outputs[:, 0] + outputs[:, 1] >= 1.0

    rule = LibraryDecides((), 2, (Margins(np.ones((1, 2)), np.ones(1)),), 1e-12, verdict)
    outputs = np.array([[0.1, 0.2], [0.9, 0.3], [0.7, 0.1 + 0.2], [0.7, 0.3], [np.nan, 0.0]])
    assert rule.accepts(outputs).tolist() == [False, True, True, True, False]
    assert asked == [3]
    assert rule.doubtful(outputs, 0.3).tolist() == [False, True, True, True, True]


def by_parity(outputs: Array) -> Array:
    """A verdict that no margin could foresee."""
    return np.asarray(np.floor(outputs.sum(axis=1) * 4) % 2 == 0)


@settings(max_examples=50, deadline=None)
@given(problem=problems(kinds=("linear", "relu", "trees")), near=st.sampled_from([1e-9, 0.25, 1.0]))
def test_all_solvers_agree_where_only_the_library_can_tell(problem: Problem, near: float) -> None:
    decision = problem.model.decision
    rule = LibraryDecides((), decision.n_outputs, decision.ways(), near, by_parity)
    stated = replace(problem, model=replace(problem.model, decision=rule))
    reference = solve(stated, "enumerate")
    for method in ("search", "milo"):
        found = solve(stated, method)
        assert found.status is reference.status
        assert reference.cost is None or found.cost == pytest.approx(reference.cost, rel=1e-9, abs=1e-12)


# --- naive Bayes


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "make",
    [
        MultinomialNB,
        ComplementNB,
        lambda: ComplementNB(norm=True),
        lambda: CategoricalNB(min_categories=6),
        lambda: BernoulliNB(binarize=2.5),
        lambda: BernoulliNB(binarize=None),
    ],
    ids=["multinomial", "complement", "complement norm", "categorical", "bernoulli", "bernoulli bits"],
)
def test_naive_bayes_of_counts(make: Any, n_classes: int) -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(0, 6, size=(150, 5)).astype(float)
    estimator = make()
    if getattr(estimator, "binarize", 0.0) is None:
        X = (X > 2).astype(float)
    y = labels_of(X[:, 0] - X[:, 1] + rng.normal(size=150), n_classes)
    rows = rng.integers(0, 6, size=(600, 5)).astype(float)
    fractions = rows + rng.choice([0.0, 0.4, 1 - 1e-12], rows.shape) * (rows < 5)  # a CategoricalNB cuts them off
    estimator.fit(X, y)
    agrees(estimator, np.concatenate([rows, fractions]))
    if isinstance(estimator, CategoricalNB):
        model = read_model(estimator, "yes")
        np.testing.assert_array_equal(model.outputs(fractions), estimator.predict_joint_log_proba(fractions))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gaussian_naive_bayes(n_classes: int) -> None:
    X, score = numbers(), people()[1]
    estimator = GaussianNB().fit(X, labels_of(score, n_classes))
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(800, 3)) * 3, columns=X.columns)
    agrees(estimator, rows, exact=False)
    if n_classes > 2:
        with pytest.raises(ModelError, match="cannot be read exactly"):
            read_model(estimator, "yes", threshold=0.5)


def test_a_subclass_of_naive_bayes_with_its_own_rule_is_refused() -> None:
    class Own(GaussianNB):
        def predict(self, X: Any) -> Any:
            return self.classes_[np.zeros(len(X), dtype=int)]

    X, score = numbers(), people()[1]
    own = Own().fit(X, labels_of(score, 2))
    with pytest.raises(ModelError, match="its own predict"):
        read_classifier(Oracle(own, Schema.infer(X), X, "yes"))


def test_recourse_with_naive_bayes() -> None:
    X, score = numbers(), people()[1]
    y = labels_of(score, 2)
    same_as_asking(make_pipeline(StandardScaler(), GaussianNB()).fit(X, y), X)
    same_as_asking(GaussianNB().fit(X, labels_of(score, 3)), X)
    same_as_asking(CalibratedClassifierCV(GaussianNB(), ensemble=False, cv=2).fit(X, y), X)
    counts = X.assign(income=X["income"].rank() // 60, debt=X["debt"].rank() // 60)
    same_as_asking(CategoricalNB(min_categories=7).fit(counts, y), counts)


@pytest.mark.parametrize("threshold", [None, 0.35, 0.8])
def test_recourse_with_a_mean_of_calibrated_scores(threshold: float | None) -> None:
    X, score = numbers(), people()[1]
    calibrated = CalibratedClassifierCV(LinearSVC(), cv=3).fit(X, labels_of(score, 2))
    same_as_asking(calibrated, X, threshold=threshold)
    scaled = CalibratedClassifierCV(make_pipeline(StandardScaler(), LogisticRegression()), cv=2)
    same_as_asking(scaled.fit(X, labels_of(score, 2)), X, threshold=threshold)


def test_recourse_with_votes() -> None:
    X, score = numbers(), people()[1]
    members = [("a", DecisionTreeClassifier(max_depth=3)), ("b", RandomForestClassifier(5, max_depth=3))]
    same_as_asking(VotingClassifier(members, voting="soft").fit(X, labels_of(score, 3)), X)
    same_as_asking(VotingClassifier([(k, members[0][1]) for k in "ab"]).fit(X, labels_of(score, 2)), X)


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_recourse_with_votes_of_all_kinds(voting: str) -> None:
    X, score = numbers(), people()[1]
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    members = [("a", scaled), ("b", RandomForestClassifier(5, max_depth=3, random_state=0)), ("c", GaussianNB())]
    same_as_asking(VotingClassifier(members, voting=voting).fit(X, labels_of(score, 2)), X)
    same_as_asking(StackingClassifier(members, cv=2).fit(X, labels_of(score, 2)), X)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_recourse_with_calibrated_folds_of_trees(method: str) -> None:
    X, score = numbers(), people()[1]
    for member in (RandomForestClassifier(5, max_depth=3, random_state=0), GaussianNB()):
        same_as_asking(CalibratedClassifierCV(member, method=method, cv=2).fit(X, labels_of(score, 2)), X)


# --- interpret


@cache
def machine(n_classes: int, interactions: int) -> Any:
    glassbox = pytest.importorskip("interpret.glassbox")
    X, score = people()
    X = X.copy()
    X.loc[::9, "income"] = np.nan
    X.loc[::11, "city"] = None
    params = {"outer_bags": 2, "max_rounds": 40, "n_jobs": 1, "interactions": interactions, "random_state": 0}
    return glassbox.ExplainableBoostingClassifier(**params).fit(X, labels_of(score, n_classes)), X


@pytest.mark.parametrize(("n_classes", "interactions"), [(2, 3), (2, 0), (3, 0)])
def test_explainable_boosting(n_classes: int, interactions: int) -> None:
    ebm, X = machine(n_classes, interactions)
    model = read_model(ebm, "yes")
    assert isinstance(model, TreeEnsemble)
    assert model.n_trees == len(ebm.term_features_)
    rows = on_thresholds(model, X, ["income", "debt", "loans"])
    strange = rows.head(60).assign(city="Lima", loans=[np.inf, -np.inf, 2.5] * 20)
    everything = pd.concat([rows, strange], ignore_index=True)
    agrees(ebm, everything)
    theirs = ebm.decision_function(everything).reshape(len(everything), -1)
    np.testing.assert_array_equal(model.outputs(prepare_inputs(ebm)(everything)), theirs)


def test_recourse_with_explainable_boosting() -> None:
    ebm, X = machine(2, 3)
    same_as_asking(ebm, X[X["city"].notna() & X["income"].notna()].reset_index(drop=True))


def test_explainable_boosting_without_terms_is_refused() -> None:
    ebm, _ = machine(2, 0)
    bare = pickle.loads(pickle.dumps(ebm))
    bare.term_features_, bare.term_scores_ = [], []
    with pytest.raises(ModelError, match="when it has terms"):
        read_model(bare, "yes")
    wide = pickle.loads(pickle.dumps(ebm))
    wide.term_features_ = [(0, 1, 2)]
    wide.term_scores_ = [np.zeros((3, 3, 3))]
    with pytest.raises(ModelError, match="a term of 3"):
        read_model(wide, "yes")


def test_other_glass_boxes_of_interpret() -> None:
    glassbox = pytest.importorskip("interpret.glassbox")
    score, kinds = people()[1], ["continuous", "continuous", "nominal"]
    for box in (glassbox.LogisticRegression(max_iter=500), glassbox.ClassificationTree()):
        box.fit(numbers(), labels_of(score, 2))
        model = read_model(box, "yes")
        rows = on_thresholds(model, numbers(), list(numbers())) if isinstance(model, TreeEnsemble) else numbers()
        agrees(box, rows)
        with pytest.raises(ModelError, match="that is nominal"):
            read_model(type(box)(feature_types=kinds).fit(numbers(), labels_of(score, 2)), "yes")


# --- optbinning


@cache
def scorecard() -> tuple[Any, pd.DataFrame]:
    optbinning = pytest.importorskip("optbinning")
    X, score = people()
    X = X.copy()
    X.loc[::9, "income"] = np.nan
    bins = optbinning.BinningProcess(list(X.columns), categorical_variables=["city"])
    scale = {"pdo": 20, "odds": 50, "scorecard_points": 600}
    card = optbinning.Scorecard(
        bins, LogisticRegression(), scaling_method="pdo_odds", scaling_method_params=scale, rounding=True
    )
    return card.fit(X, (score > np.median(score)).astype(int), metric_missing="empirical"), X


def rows_on_splits(card: Any, X: pd.DataFrame) -> pd.DataFrame:
    """Rows at the splits of each column, and beside them."""
    parts = [X]
    for name in ("income", "debt", "loans"):
        cut = np.asarray(card.binning_process_.get_binned_variable(name).splits, dtype=float)
        values = np.concatenate([cut, np.nextafter(cut, -np.inf), np.nextafter(cut, np.inf), [np.nan]])
        parts.append(X.iloc[np.arange(values.size) * 7 % len(X)].assign(**{name: values}))
    return pd.concat(parts, ignore_index=True)


def test_scorecards() -> None:
    card, X = scorecard()
    rows = rows_on_splits(card, X)
    agrees(card, rows)
    cut = float(np.sort(card.score(X))[len(X) // 2])
    approves = ScorecardCut(card, cut, classes=["no", "yes"])
    agrees(approves, rows, thresholds=False)
    assert (card.score(rows) == cut).any()
    with pytest.raises(ParameterError, match="two labels"):
        read_model(ScorecardCut(card, cut, classes=["a", "b", "c"]), "a")


def test_recourse_with_scorecards() -> None:
    optbinning = pytest.importorskip("optbinning")
    card, X = scorecard()
    whole = X[X["income"].notna()].reset_index(drop=True)
    same_as_asking(card, whole, desired=1)
    # columns are taken by their names, whatever their order
    same_as_asking(ScorecardCut(card, 560, classes=["no", "yes"]), whole[["loans", "city", "income", "debt"]])
    bins = optbinning.BinningProcess(["income", "debt", "loans"], selection_criteria={"iv": {"min": 0.01}})
    y = labels_of(people()[1], 2)[X["income"].notna()]
    numeric = whole[["income", "debt", "loans"]]
    same_as_asking(make_pipeline(bins, LogisticRegression()).fit(numeric, (y == "yes").astype(int)), numeric, desired=1)


# --- statsmodels


@pytest.mark.parametrize("kind", ["Logit", "Probit", "GLM", "GLM cloglog", "GLM array", "formula"])
def test_regressions_of_statsmodels(kind: str) -> None:
    sm = pytest.importorskip("statsmodels.api")
    X, y = numbers(), (people()[1] > 0).astype(float)
    design = sm.add_constant(X)
    if kind in ("Logit", "Probit"):
        results = getattr(sm, kind)(y, design).fit(disp=0)
    elif kind == "formula":
        results = (
            pytest.importorskip("statsmodels.formula.api").logit("y ~ income + debt + loans", X.assign(y=y)).fit(disp=0)
        )
    else:
        link = sm.families.links.CLogLog() if "cloglog" in kind else None
        rows = design.to_numpy() if "array" in kind else design
        results = sm.GLM(y, rows, family=sm.families.Binomial(link=link)).fit()
    estimator = StatsmodelsClassifier(results, classes=["no", "yes"], threshold=0.4)
    rng = np.random.default_rng(0)
    agrees(estimator, pd.DataFrame(rng.normal(size=(500, 3)) * 2, columns=X.columns), exact=False)
    assert estimator.n_features_in_ == 3
    shares = np.asarray(results.predict(design.to_numpy() if "array" in kind else design))
    np.testing.assert_allclose(estimator.predict_proba(X)[:, 1], shares, rtol=1e-12)
    if kind == "Logit":
        same_as_asking(estimator, X)
        same_as_asking(estimator, X[["loans", "debt", "income"]])


def test_designs_that_are_not_plain_are_refused() -> None:
    sm = pytest.importorskip("statsmodels.api")
    formula = pytest.importorskip("statsmodels.formula.api")
    X, score = people()
    frame = X.assign(y=(score > 0).astype(float), z=labels_of(score, 3))
    results = formula.logit("y ~ income + C(city)", frame).fit(disp=0)
    with pytest.raises(ModelError, match="makes columns of its own"):
        read_model(StatsmodelsClassifier(results), 1)
    several = sm.MNLogit(np.digitize(score, [-1, 1]), sm.add_constant(numbers())).fit(disp=0)
    with pytest.raises(ModelError, match="one parameter for each column"):
        read_model(StatsmodelsClassifier(several), 1)
    with pytest.raises(ParameterError, match="two labels"):
        read_model(StatsmodelsClassifier(several, classes=[1, 2, 3]), 1)


# --- ONNX

ONNX = {
    "tree": lambda: DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": lambda: RandomForestClassifier(6, max_depth=4, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=6, random_state=0),
    "hist": lambda: HistGradientBoostingClassifier(max_iter=5),
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "network": lambda: make_pipeline(StandardScaler(), MLPClassifier((5, 4), max_iter=40, random_state=0)),
}


def onnx_file(estimator: Any, X: Array, **options: Any) -> OnnxClassifier:
    skl2onnx = pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return OnnxClassifier(skl2onnx.to_onnx(estimator, X[:1], **options))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ONNX)
def test_onnx_files(name: str, n_classes: int) -> None:
    X, score = numbers().to_numpy(dtype=np.float32), people()[1]
    estimator = ONNX[name]().fit(X, labels_of(score, n_classes).astype(str))
    file = onnx_file(estimator, X, options={"zipmap": False} if n_classes == 3 else None)
    assert sorted(file.classes_) == sorted(estimator.classes_)
    model = read_model(file, "yes")
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)).round(2), columns=["a", "b", "c"])
    trees = isinstance(model, TreeEnsemble)
    if trees:
        rows = on_thresholds(model, rows, ["a", "b", "c"])
    agrees(file, rows, exact=trees)
    if name == "hist":
        agrees(file, rows.mask(np.random.default_rng(1).random(rows.shape) < 0.3))
    again = pickle.loads(pickle.dumps(file))
    np.testing.assert_array_equal(again.predict(rows), file.predict(rows))


def test_recourse_with_an_onnx_file_of_a_pipeline(tmp_path: Any) -> None:
    skl2onnx = pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    types = pytest.importorskip("skl2onnx.common.data_types")
    X, score = people()
    encoder = make_column_transformer((StandardScaler(), ["income", "debt"]), (OneHotEncoder(), ["city"]))
    single = X.drop(columns="loans").astype({"income": np.float32, "debt": np.float32})
    estimator = make_pipeline(encoder, RandomForestClassifier(5, max_depth=3, random_state=0))
    estimator.fit(single, labels_of(score, 2).astype(str))
    kinds = [(n, (types.StringTensorType if n == "city" else types.FloatTensorType)([None, 1])) for n in single]
    path = tmp_path / "model.onnx"
    path.write_bytes(skl2onnx.convert_sklearn(estimator, initial_types=kinds).SerializeToString())
    file = OnnxClassifier(path)
    assert list(file.feature_names_in_) == list(single.columns)
    same_as_asking(file, single)
    X32 = numbers().to_numpy(dtype=np.float32)
    plain = onnx_file(ONNX["logistic"]().fit(X32, labels_of(score, 2).astype(str)), X32)
    same_as_asking(plain, numbers().astype(np.float32))


def test_the_weights_of_an_onnx_file_are_read_from_beside_it(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx = pytest.importorskip("onnx")
    X, score = numbers().to_numpy(dtype=np.float32), people()[1]
    network = MLPClassifier((4,), max_iter=20, random_state=0).fit(X, labels_of(score, 2).astype(str))
    whole = onnx_file(network, X)
    here, elsewhere = tmp_path / "model", tmp_path / "elsewhere"
    for folder in (here, elsewhere):
        folder.mkdir()
        # what is saved beside the model is other than what is in the current directory
        other = network if folder is here else clone(network).set_params(random_state=1).fit(X, network.predict(X))
        proto = onnx_file(other, X).graph.proto
        for tensor in proto.graph.initializer:
            if tensor.data_type != onnx.TensorProto.STRING:  # what is raw can be put into another file
                tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), tensor.name))
        onnx.save_model(
            proto, folder / "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0
        )
        assert (folder / "weights.bin").stat().st_size >= 4 * sum(layer.size for layer in network.coefs_)
    monkeypatch.chdir(elsewhere)
    found = OnnxClassifier(here / "model.onnx")
    np.testing.assert_array_equal(found.predict_proba(X), whole.predict_proba(X))
    assert read_model(found, "yes").accepts(X).tolist() == (whole.predict(X) == "yes").tolist()
    kept = pickle.loads(pickle.dumps(found))
    with pytest.raises(ModelError, match=r"'weights.bin'. Pass the path"):
        _ = OnnxClassifier((here / "model.onnx").read_bytes()).content
    (here / "weights.bin").unlink()
    with pytest.raises(ModelError, match=r"'weights.bin' in '.*model', beside the model"):
        _ = OnnxClassifier(here / "model.onnx").content
    np.testing.assert_array_equal(kept.predict(X), whole.predict(X))


def test_onnx_files_that_cannot_be_read_are_refused() -> None:
    from sklearn.decomposition import PCA
    from sklearn.linear_model import RidgeClassifier
    from sklearn.neighbors import KNeighborsClassifier

    X, y = numbers().to_numpy(dtype=np.float32), labels_of(people()[1], 2).astype(str)
    with pytest.raises(ModelError, match="This one is made of"):
        read_model(onnx_file(KNeighborsClassifier(1).fit(X, y), X), "yes")
    mixed = onnx_file(make_pipeline(PCA(2), RandomForestClassifier(2)).fit(X, y), X)
    with pytest.raises(ModelError, match="work column by column"):
        read_classifier(Oracle(mixed, Schema.infer(numbers()), numbers(), "yes"))
    with pytest.raises(ModelError, match="no probabilities"):
        read_model(onnx_file(RidgeClassifier().fit(X, y), X), "yes", threshold=0.5)
    tanh = make_pipeline(StandardScaler(), MLPClassifier((3,), activation="tanh", max_iter=5))
    with pytest.raises(ModelError, match="Tanh"):
        read_model(onnx_file(tanh.fit(X, y), X), "yes")


@pytest.mark.parametrize(
    ("name", "attribute", "message"),
    [("forest", "nodes_values", "nodes_values as a list"), ("logistic", "intercepts", "intercepts as a list"),
     ("forest", "nodes_modes", "all BRANCH_LT")],
)  # fmt: skip
def test_onnx_classifiers_in_another_form_are_refused(name: str, attribute: str, message: str) -> None:
    X = numbers().to_numpy(dtype=np.float32)
    file = onnx_file(ONNX[name]().fit(X, labels_of(people()[1], 2).astype(str)), X)
    node = next(n for n in file.model.graph.node if n.op_type.endswith("Classifier"))
    kept = [a for a in node.attribute if a.name == attribute]
    if attribute == "nodes_modes":
        kept[0].strings[0] = b"BRANCH_GT"
    else:
        node.attribute.remove(kept[0])
    with pytest.raises(ModelError, match=message):
        read_model(OnnxClassifier(file.model), "yes")


def test_the_parts_of_a_classifier_are_not_listed() -> None:
    names = {name for _, name, _ in supported_models()}
    assert {"GaussianNB", "ScorecardCut", "OnnxClassifier", "StatsmodelsClassifier"} <= names
    assert "GaussianSums" not in names
