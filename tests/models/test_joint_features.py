"""Pipelines with features made from several columns: what stands behind each input, and that plans are the cheapest."""

from __future__ import annotations

import linecache
import pickle
import warnings
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures, StandardScaler

from armin import ARMIN
from armin.errors import DataError, ModelError
from armin.explain.advise import pose
from armin.explain.reading import BlackBoxWarning
from armin.models import register_transformer
from armin.models.encoding import ReadClassifier, read_classifier
from armin.models.kinds import BlackBox, TreeEnsemble
from armin.models.oracle import Oracle
from armin.models.probing import comparable, draw_codes, probe_dependencies
from armin.models.tracing import through, trace
from armin.problem import Status
from armin.schema import Feature, Schema

from ratios import ANSWERS, NUMBERS, PEOPLE, fit

SCHEMA = Schema.infer(PEOPLE)
FINALS: dict[str, Any] = {
    "linear": LogisticRegression(max_iter=500),
    "forest": RandomForestClassifier(8, max_depth=4, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=12, max_leaf_nodes=6),
    "network": MLPClassifier((6,), max_iter=40, random_state=0),
}


def ratios(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(dti=frame.debt / frame.income, use=frame.balance / frame.limit)


def with_difference(x: Any) -> Any:
    x = np.asarray(x, dtype=float)
    return np.column_stack([x, x[:, 1] - x[:, 0]])


class Ratio(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A step of a user's own, of which nothing is known."""

    def fit(self, X: Any, y: Any = None) -> Ratio:
        self.n_features_in_ = np.shape(X)[1]
        return self

    def transform(self, X: Any) -> Any:
        x = np.asarray(X, dtype=float)
        return np.column_stack([x[:, 0] / (1 + x[:, 1]), x[:, 2:]])


def frames(step: Any, *rest: Any) -> Any:
    numbers = make_pipeline(step, *rest, StandardScaler())
    return make_column_transformer((OneHotEncoder(sparse_output=False), ["home"]), (numbers, NUMBERS))


JOINT: dict[str, tuple[Any, set[frozenset[str]]]] = {
    "pandas": (
        lambda: make_pipeline(
            FunctionTransformer(ratios),
            make_column_transformer((OneHotEncoder(), ["home"]), remainder=StandardScaler()),
        ),
        {frozenset({"debt", "income"}), frozenset({"balance", "limit"})},
    ),
    "numpy, two at a time": (
        lambda: make_column_transformer(
            (FunctionTransformer(with_difference), ["balance", "limit"]), (StandardScaler(), ["debt", "income"])
        ),
        {frozenset({"balance", "limit"})},
    ),
    "union": (
        lambda: make_column_transformer(
            (
                FeatureUnion([("as", StandardScaler()), ("x", PolynomialFeatures(2, interaction_only=True))]),
                ["debt", "income"],
            ),
            (OneHotEncoder(), ["home"]),
        ),
        {frozenset({"debt", "income"})},
    ),
    "squares and products": (
        lambda: make_column_transformer(
            (make_pipeline(PolynomialFeatures(2), StandardScaler()), ["balance", "limit"]),
            (StandardScaler(), ["debt", "income"]),
        ),
        {frozenset({"balance", "limit"})},
    ),
    "own step": (lambda: frames(Ratio()), {frozenset({"debt", "income"})}),
    "components of two": (
        lambda: make_column_transformer((PCA(2), ["debt", "income"]), (OneHotEncoder(), ["home"])),
        {frozenset({"debt", "income"})},
    ),
    "a category and a number": (
        lambda: make_pipeline(
            FunctionTransformer(lambda f: f.assign(own_debt=f.debt * (f.home == "own"))),
            make_column_transformer((OneHotEncoder(), ["home"]), remainder="passthrough"),
        ),
        {frozenset({"debt", "home"})},
    ),
}


def read(estimator: Any, schema: Schema = SCHEMA, like: Any = PEOPLE) -> tuple[Oracle, ReadClassifier]:
    oracle = Oracle(estimator, schema, like.iloc[:0], "yes")
    return oracle, read_classifier(oracle)


@pytest.mark.parametrize("steps", JOINT)
def test_what_stands_behind_each_input_and_that_it_decides_as_predict_does(steps: str) -> None:
    make, sets = JOINT[steps]
    first = fit(make(), FINALS["linear"])
    inputs = first[:-1].transform(PEOPLE)
    codes = draw_codes(SCHEMA, 150, np.random.default_rng(5))
    for final in FINALS.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the network is not trained to the end
            whole = Pipeline([*first.steps[:-1], ("final", clone(final).fit(comparable(inputs), ANSWERS))])
        oracle, classifier = read(whole)
        found = {frozenset(SCHEMA.names[p] for p in joint.positions) for joint in classifier.joint}
        assert found == sets
        np.testing.assert_array_equal(classifier.model.accepts(classifier.encode(codes)), oracle.accepts(codes))
        exact = comparable(whole[:-1].transform(oracle.table(codes)))
        np.testing.assert_array_equal(classifier.encode(codes), exact)
        again = classifier.encode(codes[[3, 3, 7]])
        np.testing.assert_array_equal(again, exact[[3, 3, 7]])


@pytest.mark.parametrize("final", ["forest", "boosting"])
def test_the_reading_holds_at_thresholds_and_their_neighbours_behind_engineered_columns(final: str) -> None:
    schema = SCHEMA.update(
        bounds={"balance": (0, 1000), "limit": (-1000, 1000), "income": (1, 1000), "debt": (0, 1000)}
    )
    steps = FunctionTransformer(lambda f: f[NUMBERS].assign(dti=f.debt / f.income, room=f.limit - f.balance))
    oracle, classifier = read(fit(steps, FINALS[final]), schema)
    model = classifier.model
    assert isinstance(model, TreeEnsemble)
    asked = 0
    for column, moved, neutral, value in ((4, "debt", "income", 1.0), (5, "limit", "balance", 0.0)):
        cuts = np.unique(model.threshold[model.feature == column])
        near = np.concatenate([cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf)])
        near = np.concatenate([near, np.nextafter(near.astype(np.float32), np.float32(np.inf)).astype(float)])
        rows = draw_codes(schema, near.size, np.random.default_rng(2))
        rows[:, schema.position(neutral)] = value
        rows[:, schema.position(moved)] = near  # the ratio to 1 and the difference to 0 are the value itself
        assert (classifier.encode(rows)[:, column] == near).all()
        np.testing.assert_array_equal(model.accepts(classifier.encode(rows)), oracle.accepts(rows))
        asked += near.size
    assert asked > 20


def explainer(steps: str, final: str, **how: Any) -> ARMIN:
    settings_ = {"n_samples": 8, "n_fresh": 0, "max_options": 6, "max_changes": 3, "sampler": "donors", **how}
    classifier = fit(JOINT[steps][0](), FINALS[final])
    return ARMIN.from_settings(classifier, SCHEMA, desired="yes", **settings_).fit(PEOPLE)


def rejected(armin: ARMIN, count: int, *blank: str) -> list[pd.DataFrame]:
    rows = PEOPLE[armin.classifier.predict(PEOPLE) == "no"].iloc[:count].copy()
    rows[list(blank)] = np.nan
    return [rows.iloc[i : i + 1] for i in range(len(rows))]


@pytest.mark.parametrize("final", FINALS)
@pytest.mark.parametrize("blank", [(), ("debt",), ("income", "limit")], ids=["complete", "one", "two"])
def test_plans_are_the_cheapest_of_all_that_predict_accepts(final: str, blank: tuple[str, ...]) -> None:
    """Every choice of the grid, applied in codes and judged by the user's own ``predict``."""
    armin = explainer("pandas", final, method="search", decision="complete", max_changes=2)
    blocks = 0
    for row in rejected(armin, 2, *blank):
        case = pose(armin.current, SCHEMA.encode(row)[0], (), armin.confidence).stated
        blocks += len(case.problem.blocks)
        choices = [
            (c, case.cost_of(c)) for c in np.ndindex(*(m.size for m in case.grid.moves)) if np.count_nonzero(c) <= 2
        ]
        choices.sort(key=lambda item: item[1])
        found = armin.explain(row)
        best = None
        for start in range(0, len(choices), 2000):
            part = choices[start : start + 2000]
            after = np.concatenate([case.grid.apply(c, case.candidates) for c, _ in part])
            ok = armin.fitted_.oracle.accepts(after).reshape(len(part), -1) @ case.weights
            good = np.flatnonzero(ok >= case.problem.required - 1e-9)
            if good.size:
                best = part[good[0]][1]
                break
        assert found.status is (Status.OPTIMAL if best is not None else Status.INFEASIBLE)
        if best is not None:
            assert found.cost == pytest.approx(best, rel=1e-9)
    assert blocks


@pytest.mark.parametrize("steps", ["pandas", "a category and a number", "own step"])
@pytest.mark.parametrize("reapply", ["disclosed", "blank", "either"])
def test_a_stated_problem_has_the_inputs_that_the_pipeline_gives(steps: str, reapply: str) -> None:
    """Whatever is chosen, also for the row with its blanks, whose decision the boosting takes."""
    armin = explainer(steps, "boosting", reapply=reapply, decision=None)
    rng = np.random.default_rng(0)
    for row in rejected(armin, 2, "debt", "limit"):
        case = pose(armin.current, SCHEMA.encode(row)[0], (), armin.confidence).stated
        problem = case.problem
        assert problem.blocks or reapply == "blank"
        batch = np.array([[rng.integers(o.size) for o in problem.options] for _ in range(12)])
        for choice, inputs in zip(batch.tolist(), problem.inputs_after(batch), strict=True):
            exact = armin.fitted_.read.encode(case.after(tuple(choice)))
            np.testing.assert_array_equal(problem.inputs(tuple(choice)), exact)
            np.testing.assert_array_equal(inputs, exact)
            some = problem.among([0], float(problem.weights[0]))
            np.testing.assert_array_equal(some.inputs(tuple(choice)), exact[:1])


def test_every_question_is_answered_and_every_solver_agrees() -> None:
    by = {method: explainer("pandas", "forest", method=method) for method in ("search", "milo", "enumerate")}
    row = rejected(by["search"], 1, "income")[0]
    costs = {method: armin.explain(row).cost for method, armin in by.items()}
    assert costs["search"] == pytest.approx(costs["enumerate"])
    assert costs["milo"] == pytest.approx(costs["enumerate"])
    paths = {m: [(p.cost, p.share) for p in by[m].path(row).points] for m in ("search", "enumerate")}
    assert np.allclose(paths["search"], paths["enumerate"])
    others = {m: sorted(r.cost for r in by[m].alternatives(row, 3)) for m in ("search", "enumerate")}
    assert others["search"] == pytest.approx(others["enumerate"])


def test_an_explainer_can_be_copied_and_pickled() -> None:
    armin = explainer("pandas", "forest")
    row = rejected(armin, 1, "income")[0]
    text = armin.explain(row).to_dict()["changes"]
    for other in (deepcopy(armin), pickle.loads(pickle.dumps(armin))):
        assert other.explain(row).to_dict()["changes"] == text


# --- asking ----------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=25)
@given(st.lists(st.sets(st.integers(0, 4), max_size=3), min_size=1, max_size=6), st.integers(0, 99))
def test_asking_finds_what_outputs_depend_on(sets: list[set[int]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    schema = Schema(tuple(Feature(name, "continuous", lower=-3, upper=30) for name in "abcde"))
    weights = [rng.uniform(0.5, 2, len(s)) for s in sets]

    def steps(codes: np.ndarray) -> np.ndarray:
        parts = [np.prod(np.abs(codes[:, sorted(s)]) ** w, axis=1) for s, w in zip(sets, weights, strict=True)]
        return np.column_stack(parts)

    found = probe_dependencies(schema, steps, "a product")
    as_sets = [{f} if isinstance(f, int) else set(f or ()) for f in found]
    assert as_sets == sets


def test_a_dependence_that_shows_in_few_rows_is_found_by_those_held_out() -> None:
    schema = Schema(tuple(Feature(name, "continuous", lower=0, upper=1) for name in "abc"))
    found = probe_dependencies(schema, lambda x: np.where(x[:, 1] > 0.99, x[:, 0], x[:, 2])[:, None], "a switch")
    assert found == [frozenset({0, 1, 2})]


def test_steps_that_contradict_themselves_or_refuse_are_said_to() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ModelError, match=r"Dice could not be found by asking.*register_transformer.*blackbox"):
        probe_dependencies(
            SCHEMA, lambda x: np.repeat([[0.0]], len(x), axis=0) + (rng.random((len(x), 1)) < 0.001), "Dice"
        )

    def refuse(x: np.ndarray) -> np.ndarray:
        raise ValueError("no such rows")

    with pytest.raises(ModelError, match=r"refused rows.*no such rows.*bounds.*blackbox"):
        probe_dependencies(SCHEMA, refuse, "Refuser")


def test_what_a_step_declares_is_believed() -> None:
    class Sum(TransformerMixin, BaseEstimator):  # type: ignore[misc]
        def fit(self, X: Any, y: Any = None) -> Sum:
            return self

        def transform(self, X: Any) -> Any:
            x = np.asarray(X, dtype=float)
            return np.column_stack([x[:, 0] + x[:, 1], x[:, 2], x[:, 3] * 0])

    register_transformer(Sum, lambda fitted, n: [{0, 1}, {2}, ()])
    assert trace(Sum(), 4) == [frozenset({0, 1}), 2, None]
    assert through([5, 6, frozenset({1, 2}), None], trace(Sum(), 4)) == [frozenset({5, 6}), frozenset({1, 2}), None]


# --- what is left to the black box -----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_mixes_everything_is_asked_in_order_of_cost_and_says_so() -> None:
    X = PEOPLE[NUMBERS]
    classifier = fit(make_pipeline(StandardScaler(), PCA(3)), FINALS["forest"], X)
    schema = Schema.infer(X)
    how = {"n_samples": 4, "n_fresh": 0, "max_options": 60, "max_changes": 3}
    with pytest.warns(BlackBoxWarning, match=r"PCA.*in order of cost.*one change.*with two.*time_limit") as caught:
        armin = ARMIN.from_settings(classifier, schema, desired="yes", **how).fit(X)
    assert [one.filename for one in caught] == [__file__]
    assert "fit(X)" in linecache.getline(__file__, caught[0].lineno)  # the user's own line
    assert isinstance(armin.fitted_.read.model, BlackBox)
    row = X[classifier.predict(X) == "no"].iloc[:1]
    found = armin.explain(row)
    assert found.solver == "blackbox"
    assert "searched in order of cost" in found.text("en")
    assert "nach steigenden Kosten durchsucht" in found.text("de")
    with pytest.raises(ModelError, match=r"PCA.*blackbox"):
        ARMIN.from_settings(classifier, schema, desired="yes", method="search").fit(X)


def test_columns_that_a_pipeline_drops_need_not_be_known_and_others_may_be_carried() -> None:
    wide = PEOPLE.assign(id=np.arange(len(PEOPLE)), note=np.arange(len(PEOPLE)) % 7)
    steps = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), ["home"]))
    classifier = fit(steps, FINALS["forest"], wide)
    codes = draw_codes(SCHEMA, 60, np.random.default_rng(1))
    oracle, reading = read(classifier)  # the schema has neither "id" nor "note"
    np.testing.assert_array_equal(reading.model.accepts(reading.encode(codes)), oracle.accepts(codes))
    more = Schema.infer(wide.assign(never_seen=np.arange(len(wide)) % 3), carried=["id"])
    oracle, reading = read(classifier, more, wide.assign(never_seen=0))
    codes = draw_codes(more, 60, np.random.default_rng(1))
    np.testing.assert_array_equal(reading.model.accepts(reading.encode(codes)), oracle.accepts(codes))
    assert not np.isin(reading.owners, [more.position(n) for n in ("id", "note", "never_seen")]).any()
    with pytest.raises(DataError, match="'limit' is only in the classifier"):
        read(classifier, Schema.infer(PEOPLE.drop(columns="limit")))


def test_a_column_from_outside_is_a_constant() -> None:
    steps = FunctionTransformer(lambda f: f[NUMBERS].assign(rate=0.035, burden=f.debt * 0.035))
    _, reading = read(fit(steps, FINALS["forest"]))
    assert reading.owners.tolist() == [0, 1, 2, 3, -1, 0]


def test_a_bundle_keeps_what_is_made_from_several_columns(tmp_path: Path) -> None:
    pytest.importorskip("skops")
    from armin.bundle import load_bundle, save_bundle

    armin = explainer("squares and products", "forest", sampler="marginal")
    row = rejected(armin, 1, "limit")[0]
    loaded = load_bundle(save_bundle(tmp_path / "made.armin", armin)).explainer
    assert len(loaded.fitted_.read.joint) == len(armin.fitted_.read.joint) == 1
    assert loaded.explain(row).to_dict()["changes"] == armin.explain(row).to_dict()["changes"]


def test_the_combiners_of_other_libraries_are_asked() -> None:
    creation = pytest.importorskip("feature_engine.creation")
    X = PEOPLE[NUMBERS]
    schema = Schema.infer(X)
    codes = draw_codes(schema, 60, np.random.default_rng(3))
    for step, sets in (
        (creation.MathFeatures(variables=["debt", "balance"], func=["sum"]), {("debt", "balance")}),
        (
            creation.RelativeFeatures(variables=["debt", "balance"], reference=["income"], func=["div"]),
            {("debt", "income"), ("income", "balance")},
        ),
    ):
        oracle, reading = read(fit(step, FINALS["forest"], X), schema, X)
        assert {tuple(schema.names[p] for p in joint.positions) for joint in reading.joint} == sets
        np.testing.assert_array_equal(reading.model.accepts(reading.encode(codes)), oracle.accepts(codes))


@pytest.mark.parametrize("final", ["linear", "boosting"])
def test_what_columns_make_together_is_guessed_right_for_fresh_completions(
    final: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from armin.explain import verify

    seen = []

    def watched(guesses: Any) -> Any:
        wrong = guessed(guesses)
        seen.append(bool(wrong.any()))
        return wrong

    guessed = verify.mismatched
    monkeypatch.setattr(verify, "mismatched", watched)
    encode = make_column_transformer((OneHotEncoder(), ["home"]), remainder=StandardScaler())
    model = make_pipeline(FunctionTransformer(ratios), encode, clone(FINALS[final])).fit(PEOPLE, ANSWERS)
    schema = SCHEMA.update(immutable=["home"])
    explainer = ARMIN.from_settings(model, schema, desired="yes", n_samples=20, n_fresh=100, max_options=12).fit(PEOPLE)
    rejected = PEOPLE[model.predict(PEOPLE) == "no"].head(4).to_dict("records")
    changed = 0
    for row in rejected:
        changed += len(explainer.explain({**row, "home": None}).changes)  # a blank beside the block
    assert changed
    assert len(seen) >= 4
    assert not any(seen)  # a reading that is wrong costs the whole search once more
