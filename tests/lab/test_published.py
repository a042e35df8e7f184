"""The authors' methods as their code runs them: options, completions, rules, and how they count."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from armin import Schema
from armin.errors import ParameterError

pytest.importorskip("matplotlib")
pytest.importorskip("lab.experiments", reason="the experiments live beside the package")

from lab.experiments.config import PUBLISHED
from lab.experiments.measure import on_person
from lab.experiments.methods import Context, make_method
from lab.experiments.methods.choices import Action, PublishedOptions
from lab.experiments.methods.imputers import PosteriorDraws, UncentredRidge
from lab.experiments.worlds import DATASETS, Data, add_dataset, make_people, make_world


def frame(seed: int = 3, n: int = 160) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({
        "a": rng.integers(0, 20, n), "b": rng.normal(50, 1, n).round(2),
        "c": pd.Categorical(rng.choice(["x", "y", "z"], n)),
    })  # fmt: skip
    y = pd.Series(((X["a"] / 5 + X["b"] - 50 + (X["c"] == "x") + rng.normal(size=n)) < 2.2).astype(int))
    return X, y


def context(model: object = None) -> Context:
    X, y = frame()
    encoder = make_column_transformer(
        ("passthrough", ["a", "b"]), (OneHotEncoder(sparse_output=False), ["c"]), verbose_feature_names_out=False
    )
    classifier = make_pipeline(encoder, LogisticRegression() if model is None else model).fit(X, y)
    schema = Schema.infer(X, blanks={"a": "shift", "b": "shift"})
    return Context(classifier, schema, 0, X, y, PUBLISHED)


def rejected(known: Context) -> pd.DataFrame:
    return known.train[known.classifier.predict(known.train) != known.desired]


class TestCompletions:
    @settings(max_examples=25, deadline=None)
    @given(st.integers(0, 10_000), st.floats(-50, 50))
    def test_deviations_agree_where_columns_have_mean_zero_and_grow_with_the_mean(self, seed: int, far: float) -> None:
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 3))
        X -= X.mean(axis=0)
        y = X @ [1.0, -2.0, 0.5] + rng.normal(size=40)
        old, new = UncentredRidge().fit(X, y), BayesianRidge().fit(X, y)
        np.testing.assert_allclose(old.predict(X, return_std=True)[1], new.predict(X, return_std=True)[1], rtol=1e-9)
        moved = X + np.array([far, 0.0, 0.0])
        old, new = UncentredRidge().fit(moved, y), BayesianRidge().fit(moved, y)
        np.testing.assert_allclose(old.predict(moved), new.predict(moved), rtol=1e-7, atol=1e-7)
        expected = np.sqrt(np.einsum("ij,jk,ik->i", moved, old.sigma_, moved) + 1 / old.alpha_)
        np.testing.assert_allclose(old.predict(moved, return_std=True)[1], expected)

    def test_the_draws_of_that_time_scatter_more_and_leave_the_bounds(self) -> None:
        rng = np.random.default_rng(0)
        far = rng.normal(50, 1, 200)  # far from zero, beside its spread
        X = pd.DataFrame({"a": (10 + 3 * (far - 50) + rng.normal(size=200)).round(2), "b": far.round(2)})
        schema = Schema.infer(X)
        row = np.array([np.nan, 50.0])
        now, old = (
            sampler.fit(schema.encode(X), schema).sample(row, 200, np.random.default_rng(0)).values[:, 0]
            for sampler in (PosteriorDraws(), PosteriorDraws(centred=False, clipped=False))
        )
        feature = schema["a"]
        assert old.std() > 2 * now.std()
        assert ((now >= feature.low_code) & (now <= feature.high_code)).all()
        assert ((old < feature.low_code) | (old > feature.high_code)).any()


class TestOptions:
    @settings(max_examples=40, deadline=None)
    @given(st.integers(0, 10_000), st.booleans())
    def test_every_option_is_within_bounds_for_every_completion(self, seed: int, forest: bool) -> None:
        known = FOREST if forest else LINEAR
        options, rng = PublishedOptions(known), np.random.default_rng(seed)
        people = known.codes[rng.integers(0, len(known.codes), 7)].copy()
        codes = people[0].copy()
        blank = rng.random(3) < 0.6
        codes[blank], people[:, ~blank] = np.nan, people[0, ~blank]
        grid = options.grid(codes, people)
        for move in grid.moves:
            feature = known.schema.features[move.position]
            if not feature.is_number:
                assert len(np.unique(people[:, move.position])) == 1  # a category that is not known is left alone
                continue
            low, high = options.low[move.position], options.high[move.position]
            over = 0.0 if forest else (high - low) / 99 if feature.kind == "continuous" else 1.0
            assert (move.values[:, 1:] >= low - 1e-9).all()
            assert (move.values[:, 1:] <= high + over + 1e-9).all()
            assert move.values.shape[1] <= PUBLISHED.max_options

    def test_forests_move_to_their_thresholds(self) -> None:
        options = PublishedOptions(FOREST)
        grid = options.grid(FOREST.codes[0], FOREST.codes[:1])
        move = next(m for m in grid.moves if FOREST.schema.features[m.position].name == "a")
        cuts = {np.floor(t) for t in options.thresholds[move.position]}
        assert {v - 1 if v > FOREST.codes[0, move.position] else v for v in move.values[0, 1:]} <= cuts

    def test_an_amount_may_take_somebody_beyond_a_bound_and_a_category_must_be_left(self) -> None:
        known = LINEAR
        low, high = known.codes.min(axis=0), known.codes.max(axis=0)
        up = Action(((0, True, 5.0),), low, high, known.schema)
        assert up.legal(np.array([high[0] - 5, 50.0, 0.0]))
        assert not up.legal(np.array([high[0] - 4, 50.0, 0.0]))
        to = Action(((2, False, 1.0),), low, high, known.schema)
        assert to.legal(np.array([3.0, 50.0, 0.0]))
        assert not to.legal(np.array([3.0, 50.0, 1.0]))


LINEAR = context()
FOREST = context(RandomForestClassifier(10, max_leaf_nodes=6, random_state=0))


class TestMethods:
    @pytest.mark.parametrize("known", [LINEAR, FOREST], ids=["linear", "forest"])
    def test_the_published_optimum_is_the_least_of_all_single_changes(self, known: Context) -> None:
        """Among the options there is none of one change that works and costs less."""
        method = make_method("optimal-published").fit(known)
        options = PublishedOptions(known)
        for i in range(3):
            person = rejected(known).iloc[[i]]
            outcome = method.explain(person)
            codes = known.schema.encode(person)[0]
            assert outcome.apply is not None
            assert known.classifier.predict(outcome.apply(person))[0] == known.desired
            for move in options.grid(codes, codes[None, :]).moves:
                after = np.repeat(codes[None, :], move.size, axis=0)
                after[:, move.position] = move.values[0]
                prices = known.cost.table(move.position, codes[move.position : move.position + 1], move.values)[0]
                # an option beyond the bound is not decoded; the margin keeps clear of the border itself
                inside = move.values[0] <= known.schema.features[move.position].high_code
                works = known.classifier.predict_proba(known.schema.decode(after[inside], like=known.train))[:, 0]
                cheap = prices[inside][works > 0.5 + 1e-4]
                assert not cheap.size or cheap.min() >= outcome.cost - 1e-9

    def test_robust_works_for_every_completion_where_it_ends_on_its_own(self) -> None:
        method = make_method("robust-published").fit(LINEAR)
        person = rejected(LINEAR).iloc[[0]].astype({"a": float})
        person.loc[:, "a"] = np.nan
        fitted, codes = method.explainer_.current.at(person)
        action = method._chosen(fitted, codes)
        people = method._completions(fitted, codes)
        assert (method._chances(fitted, action.on(people)) >= 0.5).all()

    def test_nobody_can_do_what_has_no_solution_and_it_counts_as_published(self) -> None:
        X, y = frame()
        worst = X.assign(c=pd.Categorical(["z"] * len(X), X["c"].cat.categories), a=0).iloc[[0]]
        masked = worst.astype({"b": float})
        masked.loc[:, "b"] = np.nan
        strict, easy = (
            Context(LINEAR.classifier, LINEAR.schema.update(immutable=names), 0, X, y, PUBLISHED)
            for names in (["a", "b"], ["b", "c"])
        )
        outcome = make_method("mean-published").fit(strict).explain(masked)
        assert outcome.status == "infeasible"
        row = on_person(strict, worst, outcome, {"c": 0.0})
        assert (row["valid"], row["cost"], row["sign"]) == (False, 0.0, 0.0)
        assert make_method("mean-published").fit(easy).explain(masked).status == "feasible"

    def test_what_leaves_the_bounds_is_marked(self) -> None:
        method = make_method("rung-published").fit(LINEAR)
        rows = []
        for i in range(4):
            person = rejected(LINEAR).iloc[[i]]
            masked = person.astype({"a": float})
            masked.loc[:, "a"] = np.nan
            rows.append(on_person(LINEAR, person, method.explain(masked), {}))
        assert all(isinstance(r["legal"], bool) for r in rows)


def small() -> Data:
    X, y = frame(n=400)
    encoder = make_column_transformer(("passthrough", ["a", "b"]), (OneHotEncoder(), ["c"]))
    return Data(X, y, Schema.infer(X), 0, 1, encoder)


class TestWorlds:
    @pytest.fixture(autouse=True)
    def known(self) -> object:
        add_dataset("SmallWorld", small)
        yield
        DATASETS.pop("SmallWorld")
        make_world.cache_clear()

    def test_splits_and_masks_differ_and_are_the_same_again(self) -> None:
        one, two = make_world("SmallWorld", "LR", 0), make_world("SmallWorld", "LR", 1)
        assert not one.test.index.equals(two.test.index)
        first, second = (make_people(one, "mcar", 1, 20, mask).masked for mask in (0, 1))
        assert not first.isna().equals(second.isna())
        assert first.equals(make_people(one, "mcar", 1, 20, 0).masked)
        assert make_people(one, "mcar", 1, 20).complete.equals(make_people(one, "mcar", 1, 20, 1).complete)

    def test_any_column_can_be_blank_at_random_or_not(self) -> None:
        world = make_world("SmallWorld", "LR", 0)
        at_random = make_people(world, "mar:a:b", 1, 10)
        assert at_random.masked["a"].isna().all()
        assert (at_random.complete["b"] > world.test["b"].median() - 1e-9).all()
        not_at_random = make_people(world, "mnar:b", 1, 10)
        assert not_at_random.masked["b"].isna().all()
        assert (not_at_random.complete["b"] >= world.test["b"].median()).all()

    @pytest.mark.parametrize("blanks", ["mar:a:nothing", "mnar:nothing", "mar"])
    def test_a_column_that_is_not_there(self, blanks: str) -> None:
        with pytest.raises(ParameterError, match=r"need the column .* Its columns are: a, b, c"):
            make_people(make_world("SmallWorld", "LR", 0), blanks, 1, 10)
