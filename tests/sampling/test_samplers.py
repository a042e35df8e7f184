"""Laws that every sampler keeps, and known joint distributions that their draws must match.

Statistical bounds are ``Z`` standard errors of a normal estimate: two-sided false-alarm rate 1e-4 per comparison for
Z = 3.9. Seeds are fixed, so a test that passes once passes always. Samplers that smooth (donors, leaves, matching, a
latent normal) may miss the theory by a stated amount on top.
"""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from blanks import KINDS, assert_legal, assert_observed_kept, make_feature, problems, random_codes
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from armin.errors import ParameterError
from armin.sampling import (
    SAMPLERS,
    ChainedEquations,
    ForestDonors,
    GaussianCopula,
    Marginal,
    NearestDonors,
    Sampler,
    Uniform,
    as_sampler,
    compared_samplers,
)
from armin.sampling.conditional import Matching, Normal
from armin.schema import Feature, Schema

Z = 3.9
SMALL: dict[str, Any] = {
    "uniform": Uniform(),
    "marginal": Marginal(),
    "donors": NearestDonors(k=4),
    "normal": ChainedEquations(sweeps=2, rounds=1, numbers="normal"),
    "matching": ChainedEquations(sweeps=2, rounds=1, donors=3),
    "forest": ForestDonors(trees=3, sweeps=2, rounds=1),
    "copula": GaussianCopula(sweeps=4),
}


@pytest.mark.parametrize("name", SMALL)
@settings(deadline=None, max_examples=25)
@given(problem=problems(), n=st.integers(1, 20), seed=st.integers(0, 1000))
def test_law_observed_values_are_kept_and_the_rest_is_legal(name: str, problem: Any, n: int, seed: int) -> None:
    schema, X, row = problem
    sampler = clone(SMALL[name]).fit(X, schema)
    values = sampler.sample(row, n, np.random.default_rng(seed)).values
    assert values.shape == (n, len(schema))
    assert_observed_kept(row, values)
    assert_legal(schema, values)
    again = clone(SMALL[name]).fit(X, schema).sample(row, n, np.random.default_rng(seed)).values
    assert np.array_equal(values, again)


def mixed(n: int, seed: int) -> tuple[Schema, np.ndarray]:
    rng = np.random.default_rng(seed)
    schema = Schema(tuple(make_feature(i, kind, rng) for i, kind in enumerate(KINDS)))
    X = random_codes(schema, n, rng)
    X[rng.random(X.shape) < 0.1] = np.nan
    return schema, X


@pytest.mark.parametrize("name", SMALL)
def test_samplers_survive_pickle_and_skops(name: str) -> None:
    skops = pytest.importorskip("skops.io")
    schema, X = mixed(120, 0)
    sampler = clone(SMALL[name]).fit(X, schema)
    row = np.array([np.nan, X[0, 1], np.nan, np.nan, np.nan])
    expected = sampler.sample(row, 30, np.random.default_rng(0)).values
    revived = pickle.loads(pickle.dumps(sampler))
    assert np.array_equal(expected, revived.sample(row, 30, np.random.default_rng(0)).values)
    stored = skops.dumps(sampler)
    trusted = [t for t in skops.get_untrusted_types(data=stored) if t.startswith("armin.")]
    loaded = skops.loads(stored, trusted=trusted)
    assert np.array_equal(expected, loaded.sample(row, 30, np.random.default_rng(0)).values)


# --- a known joint normal ---------------------------------------------------------------------------------------------

COV = np.array([[1.0, 0.6, 0.3], [0.6, 1.0, 0.5], [0.3, 0.5, 1.0]])
# effective number of training rows behind the draws at one row, and the bias that smoothing may add
NORMAL: dict[str, tuple[Any, int, float]] = {
    "normal": (ChainedEquations(sweeps=15, numbers="normal"), 2000, 0.0),
    "matching": (ChainedEquations(sweeps=15), 300, 0.02),
    "forest": (ForestDonors(trees=30, leaf=5, sweeps=8), 60, 0.06),
    "copula": (GaussianCopula(), 2000, 0.02),
    "donors": (NearestDonors(k=100), 60, 0.02),
}


def joint_normal(n: int, seed: int) -> tuple[Schema, np.ndarray]:
    X = np.random.default_rng(seed).multivariate_normal(np.zeros(3), COV, n)
    return Schema(tuple(Feature(name, "continuous", lower=-50, upper=50) for name in "abc")), X


def assert_conditional_normal(values: np.ndarray, at: float, effective: int, slack: float) -> None:
    """Mean, variances and covariance of b and c given a."""
    left = COV[1:, 1:] - np.outer(COV[1:, 0], COV[0, 1:])
    inverse = 1 / len(values) + 1 / effective
    spread = np.sqrt(np.diag(left))
    assert (np.abs(values.mean(axis=0) - at * COV[1:, 0]) < Z * spread * np.sqrt((1 + at * at) * inverse) + slack).all()
    error = np.sqrt((left**2 + np.outer(spread**2, spread**2)) * inverse)
    assert (np.abs(np.cov(values.T) - left) < Z * error + slack).all()


@pytest.mark.parametrize("name", NORMAL)
@pytest.mark.parametrize("at", [-1.0, 0.7])
def test_two_blanks_of_a_joint_normal(name: str, at: float) -> None:
    sampler, effective, slack = NORMAL[name]
    schema, X = joint_normal(2000, 1)
    values = clone(sampler).fit(X, schema).sample(np.array([at, np.nan, np.nan]), 3000, np.random.default_rng(2)).values
    assert_conditional_normal(values[:, 1:], at, effective, slack)


@pytest.mark.parametrize("name", ["normal", "matching", "forest", "copula"])
def test_blanks_at_random_in_training_do_not_bias(name: str) -> None:
    sampler, effective, slack = NORMAL[name]
    schema, X = joint_normal(3000, 3)
    X[np.random.default_rng(4).random(X.shape) < 0.2] = np.nan
    values = (
        clone(sampler).fit(X, schema).sample(np.array([0.7, np.nan, np.nan]), 3000, np.random.default_rng(5)).values
    )
    assert_conditional_normal(values[:, 1:], 0.7, effective, slack)


def test_the_marginal_sampler_does_not_follow_the_row() -> None:
    # the test above can fail: a sampler that ignores a breaks its bounds
    schema, X = joint_normal(2000, 1)
    values = Marginal().fit(X, schema).sample(np.array([-1.0, np.nan, np.nan]), 3000, np.random.default_rng(2)).values
    with pytest.raises(AssertionError):
        assert_conditional_normal(values[:, 1:], -1.0, 300, 0.02)


# --- a known table ----------------------------------------------------------------------------------------------------

TABLE = np.array([[0.20, 0.05, 0.05], [0.05, 0.25, 0.05], [0.02, 0.08, 0.25]])


@pytest.mark.parametrize(
    "sampler",
    [ChainedEquations(), ForestDonors(max_rows=None), NearestDonors()],
    ids=["chained", "forest", "donors"],
)
@pytest.mark.parametrize("given_code", [0, 2])
def test_a_known_table(sampler: Any, given_code: int) -> None:
    n_train, n = 4000, 8000
    cells = np.random.default_rng(6).choice(9, n_train, p=TABLE.ravel())
    schema = Schema(tuple(Feature(name, "categorical", categories=("x", "y", "z")) for name in "ab"))
    fitted = clone(sampler).fit(np.column_stack([cells // 3, cells % 3]).astype(float), schema)
    drawn = fitted.sample(np.array([given_code, np.nan]), n, np.random.default_rng(7)).values[:, 1]
    shares = np.bincount(drawn.astype(int), minlength=3) / n
    p = TABLE[given_code] / TABLE[given_code].sum()
    # 0.005: the pull of the penalty
    error = np.sqrt(p * (1 - p) * (1 / n + 1 / (n_train * TABLE[given_code].sum())))
    assert (np.abs(shares - p) < Z * error + 0.005).all()


def test_the_copula_keeps_margins_and_the_sign_of_a_table() -> None:
    rng = np.random.default_rng(8)
    a = rng.integers(0, 2, 4000)
    b = np.where(rng.random(4000) < 0.8, a, 1 - a)
    schema = Schema(tuple(Feature(name, "binary", categories=("n", "y")) for name in "ab"))
    sampler = GaussianCopula().fit(np.column_stack([a, b]).astype(float), schema)
    given_one = sampler.sample(np.array([1.0, np.nan]), 8000, rng).values[:, 1].mean()
    free = sampler.sample(np.array([np.nan, np.nan]), 8000, rng).values
    # a single latent normal variable for each feature: near 0.8, not at it
    assert abs(given_one - 0.8) < 0.05
    assert abs(free[:, 1].mean() - b.mean()) < Z * 0.5 / np.sqrt(8000) + 0.005


# --- forests, matching, mixtures --------------------------------------------------------------------------------------


def test_a_forest_sees_what_is_not_linear() -> None:
    rng = np.random.default_rng(9)
    a = rng.uniform(-1, 1, (2000, 2))
    X = np.column_stack([a, a[:, 0] * a[:, 1] > 0]).astype(float)
    schema = Schema(
        (*(Feature(n, "continuous", lower=-1, upper=1) for n in "ab"), Feature("c", "binary", categories=(0, 1)))
    )
    forest, chain = ForestDonors().fit(X, schema), ChainedEquations().fit(X, schema)
    row = np.array([0.6, -0.6, np.nan])
    assert forest.sample(row, 1000, rng).values[:, 2].mean() < 0.05
    assert chain.sample(row, 1000, rng).values[:, 2].mean() > 0.3


def test_donors_are_matched_by_the_mean_without_them() -> None:
    # leaving a row out by hand gives the mean that the closed form gives
    rng = np.random.default_rng(10)
    x, y = rng.normal(size=(8, 1)), rng.normal(size=8)
    prior, noise = 2.0, 0.5

    def slope(rows: np.ndarray) -> float:
        return float(x[rows, 0] @ y[rows] / (x[rows, 0] @ x[rows, 0] + noise * prior))

    everyone = np.arange(8)
    root = np.array([[np.sqrt(1 / (prior + x[:, 0] @ x[:, 0] / noise))]])
    feature_ = Feature("y", "continuous", lower=-9, upper=9)
    normal = Normal(feature_, 0.0, 1.0, 0.0, np.array([slope(everyone)]), root, np.zeros(1), noise)
    matching = Matching.of(normal, x, y, 3)
    by_hand = [x[i, 0] * slope(np.delete(everyone, i)) for i in range(8)]
    assert matching.means == pytest.approx(np.sort(by_hand), abs=1e-8)
    assert matching.values == pytest.approx(y[np.argsort(by_hand)])


@pytest.mark.parametrize("numbers", ["normal", "matching"])
def test_restricting_a_regression_changes_nothing(numbers: Any) -> None:
    schema, X = mixed(300, 11)
    chain = ChainedEquations(numbers=numbers, rounds=1).fit(X, schema)
    row = X[~np.isnan(X).any(axis=1)][0]
    full = chain.design_.encode(row[None, :])
    holed = row.copy()
    holed[[0, 3]] = np.nan
    free = np.concatenate([np.arange(chain.design_.width)[chain.design_.columns[d]] for d in (0, 3)])
    for model in chain.models_:
        assert model is not None
        small = model.restricted(chain.design_.row(holed), free)
        if hasattr(model, "chances"):
            assert small.chances(full[:, free]) == pytest.approx(model.chances(full))
            wide, narrow = (
                np.append(full, 1.0) @ model.root.reshape(full.size + 1, -1),
                np.append(full[:, free], 1.0) @ small.root.reshape(free.size + 1, -1),
            )
            s = model.drawn.size
            wide, narrow = wide.reshape(s, -1), narrow.reshape(s, -1)
            assert narrow @ narrow.T == pytest.approx(wide @ wide.T, abs=1e-8)
        else:
            assert small.mean(full[:, free]) == pytest.approx(model.mean(full))
            one, other = (m.normal if numbers == "matching" else m for m in (model, small))
            assert other.doubt(full[:, free]) == pytest.approx(one.doubt(full), abs=1e-9)


@pytest.mark.parametrize(
    ("sampler", "message"),
    [
        (ForestDonors(trees=0), "'trees'"),
        (ForestDonors(leaf=0), "'leaf'"),
        (ForestDonors(rounds=-1), "'rounds'"),
        (ForestDonors(max_rows=0), "'max_rows'"),
        (GaussianCopula(sweeps=0), "'sweeps'"),
        (GaussianCopula(shrinkage=0.0), "'shrinkage'"),
        (ChainedEquations(penalty=-1.0), "'penalty'"),
    ],
    ids=lambda x: None if isinstance(x, str) else type(x).__name__,
)
def test_bad_parameters_are_refused(sampler: Any, message: str) -> None:
    schema, X = joint_normal(20, 14)
    with pytest.raises(ParameterError, match=message):
        sampler.fit(X, schema)


def test_names() -> None:
    assert isinstance(as_sampler("forest"), ForestDonors)
    assert isinstance(as_sampler("copula"), GaussianCopula)
    assert all(isinstance(sampler, Sampler) for sampler in SMALL.values())


def test_the_page_lists_every_sampler_as_it_describes_itself() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "samplers.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r'^\| `"(\w+)"`[^|]*\| (`\w+` \| .*) \|$', page, re.MULTILINE))
    assert list(rows) == list(SAMPLERS.all())
    for alias, cls in SAMPLERS.all().items():
        assert rows[alias].startswith(f"`{cls.__name__}` | {cls.summary}")


def test_what_is_compared_by_default_is_not_a_matter_of_order() -> None:
    assert compared_samplers() == tuple(sorted(compared_samplers()))
    assert set(compared_samplers()) == set(SAMPLERS.all()) - {"auto", "private", "uniform"}
