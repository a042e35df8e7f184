"""Wide tables: few predictors and one regression on all; the sampler that fits the table; progress."""

from __future__ import annotations

import io
import logging
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from blanks import assert_legal, assert_observed_kept
from hypothesis import given, settings
from hypothesis import strategies as st
from lab.benchmarks.wide import factor_table

from armin import ARMIN, Feature, Schema
from armin.bundle import load_bundle, save_bundle
from armin.datasets import make_loans
from armin.errors import NotFittedError, ParameterError
from armin.sampling import AutoSampler, ChainedEquations, ForestDonors, Marginal, as_sampler
from armin.sampling.among import Among
from armin.sampling.assess import assess
from armin.sampling.conditional import Categories, Normal
from armin.sampling.design import Design
from armin.sampling.progress import followed
from armin.sampling.together import Together, associations, strongest
from armin.sampling.wide import WIDE, chooses

FEW = WIDE + 4


def wide_codes(columns: int, rows: int, blank: float = 0.0) -> tuple[Schema, np.ndarray]:
    X, schema = factor_table(columns, rows, blank=blank)
    return schema, schema.encode(X)


@pytest.fixture(scope="module")
def fitted() -> tuple[Schema, np.ndarray, ChainedEquations]:
    """A wide table, and the default sampler fitted to most of its rows, which have blanks."""
    schema, codes = wide_codes(FEW, 700, 0.05)
    return schema, codes[500:], ChainedEquations(rounds=1).fit(codes[:500], schema)


# ---------------------------------------------------------------- few predictors, and all together


@pytest.mark.parametrize("cls", [ChainedEquations, ForestDonors])
def test_up_to_the_threshold_nothing_is_chosen(cls: Any) -> None:
    schema, codes = wide_codes(12, 200, 0.1)
    row = codes[0].copy()
    row[[1, 3, 5]] = np.nan
    one, other = cls().fit(codes, schema), cls(predictors=None).fit(codes, schema)
    draws = [sampler.sample(row, 50, np.random.default_rng(0)).values for sampler in (one, other)]
    np.testing.assert_array_equal(draws[0], draws[1])


def test_predictors_are_chosen_from_the_threshold_on(fitted: Any) -> None:
    schema, codes, sampler = fitted
    assert all(isinstance(model, Among) for model in sampler.models_)
    at_threshold = ChainedEquations(rounds=0).fit(codes[:60, :WIDE], Schema(schema.features[:WIDE]))
    assert not any(isinstance(model, Among) for model in at_threshold.models_)


def test_a_long_table_has_them_chosen_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that 33 columns of 10,000 rows do not take longer than 53."""
    assert [chooses(10_000, columns) for columns in (20, 22, 23, 33, WIDE, WIDE + 1)] == [False] * 2 + [True] * 4
    assert [chooses(1_000, columns) for columns in (33, WIDE, WIDE + 1)] == [False, False, True]
    schema, codes = wide_codes(24, 60)
    monkeypatch.setattr("armin.sampling.wide._WORK", 60 * 24**2)
    for rows, chosen in ((60, False), (61, True)):
        sampler = ChainedEquations(rounds=0).fit(np.vstack([codes, codes])[:rows], schema)
        assert all(isinstance(model, Among) == chosen for model in sampler.models_ if model is not None)
        assert any(model is not None for model in sampler.models_)


@pytest.mark.parametrize("blanks", [[0], [3], [0, 1], [0, 3, 4, 5], list(range(0, FEW, 3))])
def test_draws_of_a_wide_table_are_legal(fitted: Any, blanks: list[int]) -> None:
    schema, codes, sampler = fitted
    row = np.where(np.isnan(codes[0]), [f.low_code for f in schema], codes[0])
    row[blanks] = np.nan
    draws = sampler.sample(row, 30, np.random.default_rng(0))
    assert_observed_kept(row, draws.values)
    assert_legal(schema, draws.values)
    np.testing.assert_array_equal(draws.values, sampler.sample(row, 30, np.random.default_rng(0)).values)
    again = pickle.loads(pickle.dumps(sampler))
    np.testing.assert_array_equal(draws.values, again.sample(row, 30, np.random.default_rng(0)).values)


def test_a_wide_table_is_drawn_better_than_from_its_columns(fitted: Any) -> None:
    schema, codes, sampler = fitted
    judged = assess(sampler, codes, schema=schema, hide=2, n_draws=40, n_rows=150)
    plain = assess(Marginal().fit(codes, schema), codes, schema=schema, hide=2, n_draws=40, n_rows=150)
    gain = plain.energies - judged.energies
    assert gain.mean() > 5 * gain.std() / np.sqrt(gain.size)
    assert judged.overall["calibrated"]


def test_a_wide_forest_asks_about_the_strongest() -> None:
    schema, codes = wide_codes(FEW, 200)
    sampler = ForestDonors(trees=3, predictors=4).fit(codes, schema)
    for d, forest in enumerate(sampler.forests_):
        assert forest is not None
        inner = forest.below[:, 0] != np.arange(forest.column.size)
        assert np.unique(forest.column[inner]).size <= 4
        assert d not in forest.column[inner]


@given(st.integers(0, 2**32 - 1), st.integers(0, 4))
@settings(max_examples=25, deadline=None)
def test_law_restricting_is_fixing_the_rest(seed: int, moving: int) -> None:
    """A regression on few columns and one sum, with most of the row fixed, is the same regression."""
    rng = np.random.default_rng(seed)
    width, inputs, classes = 9, 5, 3
    at, main = np.sort(rng.choice(width, 4, replace=False)), np.sort(rng.choice(width, 6, replace=False))
    turn, weights = rng.normal(size=(4, 3)), rng.normal(size=(6, 2))
    feature = Feature("a", "continuous", lower=-9, upper=9)
    normal = Normal(
        feature, 0.0, 1.0, 0.3, rng.normal(size=inputs), rng.normal(size=(inputs, inputs)), rng.normal(size=inputs), 0.5
    )
    root = rng.normal(size=((inputs + 1) * 2, 4))
    category = Categories(rng.normal(size=(inputs, classes)), rng.normal(size=classes), np.array([1, 2]), root)
    free = rng.choice(width, moving, replace=False)
    fixed = rng.normal(size=width)
    fixed[free] = 0.0
    x = rng.normal(size=(7, moving))
    full = np.repeat(fixed[None], 7, axis=0)
    full[:, free] = x
    seen = np.hstack([full[:, at] @ turn, full[:, main] @ weights])
    near: Any = Among(normal, at, turn, main, weights).restricted(fixed, free)
    np.testing.assert_allclose(near.mean(x), normal.mean(seen), atol=1e-9)
    np.testing.assert_allclose(near.doubt(x), normal.doubt(seen), atol=1e-8)
    other: Any = Among(category, at, turn, main, weights).restricted(fixed, free)
    np.testing.assert_allclose(other.chances(x), category.chances(seen), atol=1e-9)
    # the covariance of the scores of the drawn categories, from the coefficients' own
    products = []
    for one, given_ in ((other, x), (category, seen)):
        padded = np.column_stack([given_, np.ones(7)])
        scores = np.einsum("np,psr->nsr", padded, one.root.reshape(padded.shape[1], 2, -1))
        products.append(np.einsum("nsr,ntr->nst", scores, scores))
    np.testing.assert_allclose(*products, atol=1e-8)


def test_what_all_say_together_is_a_ridge_regression() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 6)) @ rng.normal(size=(6, 6))
    rows -= rows.mean(axis=0)
    own = (slice(0, 1), slice(1, 3), slice(3, 4), slice(4, 5), slice(5, 6))
    found = Together.of(rows, own)
    for at in own:
        rest = np.setdiff1d(np.arange(6), np.arange(6)[at])
        assert (found.weights[at, at] == 0).all()
        ridges = [
            np.linalg.solve(
                rows[:, rest].T @ rows[:, rest] + p * 200 * np.eye(rest.size), rows[:, rest].T @ rows[:, at]
            )
            for p in (0.003, 0.03, 0.3)
        ]
        assert any(np.allclose(found.weights[rest][:, at], ridge, atol=1e-8) for ridge in ridges)


def test_a_training_row_has_no_say_in_what_the_others_say_of_it() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(80, 3))
    moved = rows.copy()
    moved[5, 0] += 3.0  # its own value, which its own prediction must not see
    own = (slice(0, 1), slice(1, 2), slice(2, 3))
    noise = [Together.of(one, own).seen[5, 0] for one in (rows, moved)]
    assert noise[0] == pytest.approx(noise[1], abs=1e-12)


def test_the_strongest_are_found_also_where_relations_bend() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(600, 6)).clip(-4, 4)
    X[:, 0] = (np.abs(X[:, 3]) + 0.2 * X[:, 0]).clip(-4, 4)
    schema = Schema(tuple(Feature(f"c{d}", "continuous", lower=-4, upper=4) for d in range(6)))
    design = Design.of(X, schema)
    shares = associations(design, design.encode(X))
    assert strongest(shares, 1)[0].tolist() == [3]
    assert (np.diag(shares) == 0).all()
    assert shares.max() <= 1.0
    assert shares[1, 2] < 0.05 < shares[0, 3]


def test_bad_predictors_are_refused() -> None:
    schema, codes = wide_codes(3, 30)
    for cls in (ChainedEquations, ForestDonors):
        with pytest.raises(
            ParameterError, match=r"'predictors' must be a whole number of at least 1\. Got 0 instead\."
        ):
            cls(predictors=0).fit(codes, schema)


# ---------------------------------------------------------------- the sampler that fits the table


def bent(rows: int) -> tuple[Schema, np.ndarray]:
    """A relation that no straight line sees."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 20, rows).astype(float)
    b = (a * 7 % 20 + rng.integers(0, 2, rows)).clip(0, 20)
    schema = Schema((Feature("a", "integer", lower=0, upper=20), Feature("b", "integer", lower=0, upper=20)))
    return schema, np.column_stack([a, b])


def test_auto_takes_what_is_clearly_better_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    schema, codes = bent(800)
    with caplog.at_level("INFO", "armin"):
        sampler = AutoSampler(("marginal", "donors"), rows=60).fit(codes, schema)
    assert caplog.messages == [str(sampler.message)] == sampler.kept()[:1]
    assert sampler.taken_ == "donors"
    assert sampler.scores_["donors"] < sampler.scores_["marginal"]
    assert repr(sampler).endswith(": NearestDonors()")
    assert "donors" in str(sampler.message)
    assert "marginal" in sampler.message.text("de")
    row = np.array([3.0, np.nan])
    drawn = sampler.sample(row, 20, np.random.default_rng(0)).values
    alone = as_sampler("donors").fit(codes, schema).sample(row, 20, np.random.default_rng(0)).values
    np.testing.assert_array_equal(drawn, alone)
    np.testing.assert_array_equal(sampler.at(row).sample(20, np.random.default_rng(0)).values, alone)


def test_auto_stays_with_the_first_where_none_is_better() -> None:
    rng = np.random.default_rng(3)
    schema, _ = bent(1)
    codes = rng.integers(0, 20, (400, 2)).astype(float)
    sampler = AutoSampler(("marginal", "donors"), rows=60).fit(codes, schema)
    assert sampler.taken_ == "marginal"
    assert "none was clearly better" in str(sampler.message)


def test_auto_with_few_rows_does_not_guess() -> None:
    schema, codes = bent(40)
    sampler = AutoSampler(("marginal", "donors")).fit(codes, schema)
    assert (sampler.taken_, sampler.scores_) == ("marginal", {})
    assert "too few rows" in str(sampler.message)


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"candidates": ()}, "'candidates' must be a list of at least one sampler"),
        ({"candidates": "chained"}, "'candidates' must be a list"),
        ({"candidates": ("nobody",)}, "'sampler' must be one of"),
        ({"candidates": ("auto", "chained")}, "'candidates' must be samplers that draw by themselves"),
        ({"rows": 0}, "'rows' must be a whole number"),
        ({"cells": 0}, "'cells' must be a whole number"),
    ],
)
def test_auto_refuses(given_: dict[str, Any], message: str) -> None:
    schema, codes = bent(30)
    with pytest.raises(ParameterError, match=message):
        AutoSampler(**given_).fit(codes, schema)


def test_auto_is_chosen_once_and_travels_in_the_bundle(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    loans = make_loans()
    auto = AutoSampler(("marginal", "donors"), rows=40)
    explainer = ARMIN.from_settings(loans.classifier, loans.schema, desired="approved", sampler=auto, n_fresh=50)
    with pytest.raises(NotFittedError, match="not fitted"):
        _ = explainer.sampler_
    with caplog.at_level(logging.INFO, "armin"):
        explainer.fit(loans.X)
    taken: Any = explainer.sampler_
    assert str(taken.message) in caplog.text
    plan = explainer.explain(loans.applicant)
    loaded = load_bundle(save_bundle(tmp_path / "auto.armin", explainer)).explainer
    again: Any = loaded.sampler_
    assert (again.taken_, again.scores_, repr(again)) == (taken.taken_, taken.scores_, repr(taken))
    assert loaded.explain(loans.applicant).to_dict()["changes"] == plan.to_dict()["changes"]


def test_the_name_auto_is_known() -> None:
    assert isinstance(as_sampler("auto"), AutoSampler)


# ---------------------------------------------------------------- progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("terminal", "level", "shown"), [(True, 0, True), (True, logging.ERROR, False), (False, 0, False)]
)
def test_progress_is_for_terminals_that_want_it(
    terminal: bool, level: int, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr("armin.sampling.progress._PATIENCE", -1.0)
    monkeypatch.setattr(logging.getLogger("armin"), "level", level)
    logging.getLogger("armin").manager._clear_cache()  # type: ignore[attr-defined]  # a level set by hand is remembered
    assert list(followed(range(3), "progress.fit")) == [0, 1, 2]
    assert ("Learning how columns go together" in screen.getvalue()) == shown
