"""What makes an answer quick must not change it: blocks of rows, remembered options, ready samplers, compiled trees."""

from __future__ import annotations

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import plain
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from armin import ARMIN, ExpertOptions
from armin.baselines import ImputationAR, RobustAR
from armin.explain import threads
from armin.explain.advise import advise, pose
from armin.explain.threads import one_thread
from armin.models.kinds import Among, TreeEnsemble
from armin.models.oracle import Oracle
from armin.problem.data import Problem
from armin.recourse import Failure
from armin.sampling import BaseSampler, ChainedEquations, chained, row_sampler, sample_conditioned
from armin.sampling.condition import condition
from armin.schema import Feature, Schema

from batches import Stricter, crowd, said
from problems import random_trees
from worlds import MODELS


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("method", [ARMIN, RobustAR, ImputationAR])
def test_law_many_rows_get_the_answers_that_each_gets_alone(kind: str, method: Any) -> None:
    world, frame = crowd(kind, 3)
    few = {} if method is ImputationAR else {"n_samples": 15}
    explainer = method.from_settings(
        world.classifier, world.schema, desired="yes", n_fresh=60, max_options=8, **few
    ).fit(world.X)
    together = explainer.explain_many(frame)
    alone = [explainer.explain(row) for row in frame.to_dict("records")]
    assert [said(one) for one in together] == [said(one) for one in alone]


@pytest.mark.parametrize("kind", ["linear", "forest"])
def test_rows_about_which_the_model_is_misread_are_explained_by_the_model(kind: str) -> None:
    world, frame = crowd(kind, 2, n=12)
    explainer = ARMIN.from_settings(world.classifier, world.schema, desired="yes", n_samples=10, n_fresh=40).fit(
        world.X
    )
    by_reading = [said(one) for one in explainer.explain_many(frame)]
    model = Stricter(explainer.fitted_.decision, world.schema.position("amount"), 5)
    explainer.fitted_ = replace(explainer.fitted_, decision=model, oracle=model)
    together = [said(one) for one in explainer.explain_many(frame)]
    assert together == [said(explainer.explain(row)) for row in frame.to_dict("records")]
    assert together != by_reading  # it did matter


def test_a_row_that_fails_fails_alone() -> None:
    world, frame = crowd("forest", 1)
    frame.iloc[2, 0] = 99
    explainer = ARMIN.from_settings(world.classifier, world.schema, desired="yes", n_samples=10, n_fresh=20).fit(
        world.X
    )
    answers = list(explainer.explain_many(frame))
    assert [isinstance(one, Failure) for one in answers] == [i == 2 for i in range(len(frame))]
    assert answers[2].index == frame.index[2]


@pytest.mark.parametrize("kind", ["linear", "forest"])
def test_what_is_remembered_holds_for_everybody_and_is_never_changed(kind: str) -> None:
    world, frame = crowd(kind, 5, n=12)
    options = ExpertOptions(n_samples=12, n_fresh=30)
    fresh = lambda: ARMIN(world.classifier, world.schema, desired="yes", options=options).fit(world.X)  # noqa: E731
    explainer = fresh()
    answers = [said(explainer.explain(row)) for row in frame.to_dict("records")]
    kept = explainer.fitted_.remembered._priced
    before = pickle.dumps([(one.move, one.prices, one.options) for one in kept.values()])
    again = [said(explainer.explain(row)) for row in frame.to_dict("records")]
    assert answers == again == [said(fresh().explain(row)) for row in frame.to_dict("records")]
    assert kept
    assert before == pickle.dumps([(one.move, one.prices, one.options) for one in kept.values()])


@pytest.mark.parametrize("kind", MODELS)
def test_a_problem_that_was_stated_from_what_is_remembered_passes_every_check(kind: str) -> None:
    world, frame = crowd(kind, 2, n=12)
    explainer = ARMIN.from_settings(world.classifier, world.schema, desired="yes", n_samples=12, n_fresh=0).fit(world.X)
    for row in frame.to_dict("records"):
        fitted = explainer.current
        problem = pose(fitted, world.schema.encode(row)[0], (), 0.75).stated.problem
        assert isinstance(replace(problem, checks=True), Problem)


def test_settings_copies_and_files_do_not_mix_up_what_is_remembered() -> None:
    world, frame = crowd("forest", 4)
    explainer = ARMIN.from_settings(world.classifier, world.schema, desired="yes", n_samples=12, n_fresh=30).fit(
        world.X
    )
    row = frame.iloc[1].to_dict()
    answer = said(explainer.explain(row))
    assert said(pickle.loads(pickle.dumps(explainer)).explain(row)) == answer
    assert said(copy.deepcopy(explainer).explain(row)) == answer
    assert said(clone(explainer).fit(world.X).explain(row)) == answer
    other = copy.copy(explainer).set_params(options__max_options=4, options__grid="paper")
    alone = ARMIN.from_settings(
        world.classifier, world.schema, desired="yes", n_samples=12, n_fresh=30, max_options=4, grid="paper"
    ).fit(world.X)
    assert said(other.explain(row)) == said(alone.explain(row))
    assert said(explainer.explain(row)) == answer
    dear = ARMIN.from_settings(world.classifier, world.schema, desired="yes", n_samples=12, n_fresh=30, cost="l1").fit(
        world.X
    )
    mixed = replace(explainer.current, cost=dear.fitted_.cost)
    assert advise(mixed, world.schema.encode(row)[0]).cost == dear.explain(row).cost
    assert not pickle.loads(pickle.dumps(explainer)).fitted_.remembered._priced


def test_threads_share_what_is_remembered() -> None:
    world, frame = crowd("linear", 6, n=12)
    explainer = ARMIN.from_settings(world.classifier, world.schema, desired="yes", n_samples=12, n_fresh=30).fit(
        world.X
    )
    rows = frame.to_dict("records")
    with ThreadPoolExecutor(4) as pool:
        found = [said(one) for one in pool.map(explainer.explain, rows * 3)]
    alone = ARMIN.from_settings(world.classifier, world.schema, desired="yes", n_samples=12, n_fresh=30).fit(world.X)
    assert found == [said(alone.explain(row)) for row in rows] * 3


def test_the_limit_on_threads_is_lifted_by_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    class Controller:
        lib_controllers = ()

        def __init__(self, kind: str = "") -> None:
            self.kind = kind

        def select(self, user_api: str) -> Controller:
            return Controller(user_api)

        def limit(self, limits: int) -> Controller:
            said.extend([f"limited to {limits}"] if self.kind == "blas" else [])  # OpenMP: in every thread
            return self

        def restore_original_limits(self) -> None:
            said.extend(["lifted"] if self.kind == "blas" else [])

    monkeypatch.setattr(threads, "ThreadpoolController", Controller)
    monkeypatch.setattr(threads, "_limit", threads._Limit())
    inside, done = threading.Event(), threading.Event()

    def other() -> None:
        with one_thread():
            inside.set()
            done.wait(10)

    with one_thread():
        worker = threading.Thread(target=other)
        worker.start()
        inside.wait(10)
    assert said == ["limited to 1"]  # the other one is still at work
    done.set()
    worker.join()
    with pytest.raises(KeyError), one_thread():
        raise KeyError
    assert said == ["limited to 1", "lifted", "limited to 1", "lifted"]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.sampled_from(["float32", "float64"]), st.booleans(), st.booleans())
def test_law_compiled_trees_add_up_to_the_same_bit(seed: int, precision: Any, strict: bool, last: bool) -> None:
    rng = np.random.default_rng(seed)
    model: TreeEnsemble = replace(
        random_trees(rng, 3, Among((1,), 2), n_trees=5, categories=(1,), grid=None),
        strict=strict,
        precision=precision,
        input_precision=precision,
        base_last=last,
    )
    cuts = model.threshold[model.feature >= 0]
    inputs = rng.choice(
        np.concatenate([cuts, cuts + 1, [np.nan, -np.inf, np.inf, 0.1, 0, 1, 2, 3, 4]]), (40, model.n_inputs)
    )
    np.testing.assert_array_equal(model.outputs(inputs), [plain.tree_outputs(model, row) for row in inputs])


def numbers(seed: int, n: int = 400) -> tuple[Schema, np.ndarray]:
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 2))
    X = (10 + 3 * (hidden @ rng.normal(size=(2, 4)) + rng.normal(size=(n, 4)))).round().clip(-20, 40)
    return Schema(tuple(Feature(name, "integer", lower=-20, upper=40) for name in "abcd")), X


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 50), st.integers(1, 300), st.lists(st.integers(0, 3), min_size=2, max_size=2, unique=True))
def test_law_two_blanks_are_drawn_as_by_the_chain(seed: int, n: int, blanks: list[int]) -> None:
    schema, X = numbers(seed % 3)
    sampler = ChainedEquations(sweeps=3).fit(X, schema)
    row = X[seed].copy()
    row[blanks] = np.nan
    quick = sampler.at(row)
    assert isinstance(quick.drawing, chained._Pair)
    few, chained._FEW_LEVELS = chained._FEW_LEVELS, 0
    try:
        chain = sampler.at(row)
    finally:
        chained._FEW_LEVELS = few
    assert isinstance(chain.drawing, chained._Chain)
    one, other = (way.sample(n, np.random.default_rng(seed)).values for way in (quick, chain))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("blanks", [[1], [0, 2], [0, 1, 3]])
def test_rare_draws_are_weighed_as_rejection_would_have_them(blanks: list[int]) -> None:
    """Means of what agrees, by repeated last draws and by rejection, within Z standard errors."""
    schema, X = numbers(1, n=2000)
    sampler, rng = ChainedEquations(sweeps=3).fit(X, schema), np.random.default_rng(0)
    row = np.array([10.0, 10.0, 10.0, 10.0])
    row[blanks] = np.nan
    ready = row_sampler(sampler, row)
    plain = ready.sample(60_000, rng).values
    cut = np.quantile(plain[:, blanks[0]], 0.993)
    accepts = lambda rows: rows[:, blanks[0]] <= cut  # noqa: E731
    total = plain[~accepts(plain)][:, blanks].sum(axis=1)
    found = [condition(ready, 1000, np.random.default_rng(k), accepts, repeats=True) for k in range(4)]
    assert all(one.weighed and not accepts(one.draws.values).any() for one in found)
    assert all(one.draws.weights.sum() == pytest.approx(1000) for one in found)
    means = [np.average(one.draws.values[:, blanks].sum(axis=1), weights=one.draws.weights) for one in found]
    error = total.std() * np.sqrt(1 / total.size + 1 / sum(one.size for one in found))
    sizes = np.array([one.size for one in found])
    assert abs(np.average(means, weights=sizes) - total.mean()) < 3.9 * error + 1e-9
    rate = np.mean([one.rate for one in found])
    assert rate == pytest.approx(total.size / len(plain), rel=0.25)
    assert all(one.size > 50 * (total.size / len(plain)) * 1000 for one in found)  # more than rejection would give


def test_rejection_alone_is_what_is_asked_of_others() -> None:
    schema, X = numbers(2)
    sampler = ChainedEquations().fit(X, schema)
    row = np.array([10.0, np.nan, np.nan, 10.0])
    found = sample_conditioned(sampler, row, 100, np.random.default_rng(0), lambda rows: rows[:, 1] < 16)
    assert not found.weighed
    assert found.n_drawn <= 5000


class Constant(ChainedEquations):
    """Overrides the way draws are made; nothing that its parent makes ready may stand in for it."""

    def _draw(self, row: Any, blanks: Any, n: int, rng: Any) -> Any:
        return np.full((n, blanks.size), 7.0)


class Doubled(ChainedEquations):
    """Overrides sampling as a whole."""

    def sample(self, row: Any, n: int, rng: Any) -> Any:
        draws = super().sample(row, n, rng)
        return replace(draws, weights=2 * draws.weights)


def test_a_sampler_of_your_own_is_asked_itself() -> None:
    schema, X = numbers(0)
    row = np.array([10.0, np.nan, np.nan, 10.0])
    ready = row_sampler(Constant().fit(X, schema), row)
    assert (ready.sample(5, np.random.default_rng(0)).values[:, 1:3] == 7).all()
    assert ready.ways == 0
    doubled = Doubled().fit(X, schema)
    assert isinstance(doubled, BaseSampler)
    assert (row_sampler(doubled, row).sample(5, np.random.default_rng(0)).weights == 2).all()


class OwnTree(DecisionTreeClassifier):
    """Nothing is known about what types mean to it."""


@pytest.mark.parametrize("dtype", ["int64", "int8", "float64", "float32"])
@pytest.mark.parametrize("names", [True, False])
@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("cls", [DecisionTreeClassifier, OwnTree])
def test_tables_are_those_that_column_by_column_makes(dtype: str, names: bool, typed: bool, cls: Any) -> None:
    rng = np.random.default_rng(0)
    schema = Schema((Feature("a", "integer", lower=0, upper=9), Feature("b", "integer", lower=0, upper=900)))
    X = pd.DataFrame(rng.integers(0, 9, (50, 2)), columns=["b", "a"]).astype(dtype)
    model = cls().fit(X if names else X.to_numpy(), rng.integers(0, 2, 50))
    oracle = Oracle(model, schema, X[["a", "b"]].iloc[:0] if typed else None, 1)
    slow = copy.copy(oracle)
    slow._plain = None
    for codes in ([[1.0, 2.0], [3.0, 4.0]], [[1.0, np.nan], [3.0, 4.0]], [[np.nan, 500.0], [3.0, np.nan]]):
        quick, plain = oracle.table(np.array(codes)), slow.table(np.array(codes))
        assert type(quick) is type(plain)
        if isinstance(plain, pd.DataFrame):
            # beside a blank, whole numbers may be floats for a model that is known to take them alike
            strict = cls is OwnTree or not np.isnan(codes).any()
            pd.testing.assert_frame_equal(quick, plain, check_dtype=strict)
        else:
            assert quick.dtype == plain.dtype
            np.testing.assert_array_equal(quick.astype(float), plain.astype(float))


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.one_of(st.integers(-1, 11), st.floats(0, 10), st.none(), st.just("")), min_size=3, max_size=3),
    st.sampled_from([0, 1, "0", 1.0, True, None, "x"]),
)
def test_law_one_row_is_read_as_a_table_of_it(values: list[Any], category: Any) -> None:
    schema = Schema(
        (
            Feature("a", "integer", lower=0, upper=10), Feature("b", "continuous", lower=0, upper=10),
            Feature("c", "integer", lower=0, upper=10), Feature("d", "binary", categories=(0, 1)),
        )
    )  # fmt: skip
    row = dict(zip("abcd", [*values, category], strict=True))

    def read(given: Any) -> Any:
        try:
            return schema.encode(given).tolist()
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    table = pd.DataFrame([row, row], dtype=object)
    both = read(table)
    expected = both if isinstance(both, str) else both[:1]
    frames = [pd.DataFrame([row], dtype=object), row, pd.Series(row, dtype=object)]
    for one in frames:
        assert str(read(one)) == str(expected)
