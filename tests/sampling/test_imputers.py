"""Laws of samplers and imputers, and closed forms that their draws must match."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from blanks import KINDS, assert_legal, assert_observed_kept, make_feature, problems, random_codes
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.base import clone

from armin.errors import ArminError, DataError, NotFittedError, ParameterError
from armin.sampling import (
    ChainedEquations,
    Draws,
    FromCallable,
    KNearestImputer,
    Marginal,
    MeanImputer,
    MICEImputer,
    NearestDonors,
    Uniform,
    as_imputer,
    as_sampler,
    sample_conditioned,
)
from armin.sampling.conditional import Matching, Normal, truncated_normal
from armin.sampling.design import Design
from armin.sampling.neighbours import Neighbours
from armin.schema import Feature, Schema

# Every statistical bound below is Z standard errors of a normal estimate: two-sided false-alarm rate 5.8e-7 per
# comparison. Seeds are fixed, so a test that passes once passes always.
Z = 5.0

SAMPLERS = {
    "uniform": Uniform(),
    "marginal": Marginal(),
    "donors": NearestDonors(k=4),
    "chained": ChainedEquations(sweeps=3, rounds=2, numbers="normal"),
    "matching": ChainedEquations(sweeps=3, rounds=2, numbers="matching", donors=4),
}
IMPUTERS = {"mean": MeanImputer(), "knn": KNearestImputer(k=2), "mice": MICEImputer(sweeps=3, rounds=1)}


@pytest.mark.parametrize("name", SAMPLERS)
@settings(deadline=None, max_examples=60)
@given(problem=problems(), n=st.integers(1, 30), seed=st.integers(0, 1000))
def test_law_draws_are_legal_and_reproducible(name: str, problem: Any, n: int, seed: int) -> None:
    schema, X, row = problem
    before = X.copy(), row.copy()
    sampler = clone(SAMPLERS[name]).fit(X, schema)
    draws = sampler.sample(row, n, np.random.default_rng(seed))
    assert draws.values.shape == (n, len(schema))
    assert (draws.weights > 0).all()
    assert_legal(schema, draws.values)
    assert_observed_kept(row, draws.values)
    assert np.array_equal(before[0], X, equal_nan=True)
    assert np.array_equal(before[1], row, equal_nan=True)
    again = clone(SAMPLERS[name]).fit(X, schema).sample(row, n, np.random.default_rng(seed))
    revived = pickle.loads(pickle.dumps(sampler)).sample(row, n, np.random.default_rng(seed))
    assert np.array_equal(draws.values, again.values)
    assert np.array_equal(draws.values, revived.values)


@pytest.mark.parametrize("name", IMPUTERS)
@settings(deadline=None, max_examples=40)
@given(problem=problems())
def test_law_imputations_are_legal_and_reproducible(name: str, problem: Any) -> None:
    schema, X, row = problem
    imputer = clone(IMPUTERS[name]).fit(X, schema)
    filled = imputer.impute(row)
    assert_legal(schema, filled[None, :])
    assert_observed_kept(row, filled[None, :])
    assert np.array_equal(filled, pickle.loads(pickle.dumps(imputer)).impute(row))


@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
def test_seeds_matter_and_a_full_row_is_copied(sampler: Any) -> None:
    schema, X = gaussian_pair(50, 0.5, seed=0)
    fitted = clone(sampler).fit(X, schema)
    row = np.array([0.3, np.nan])
    first = fitted.sample(row, 50, np.random.default_rng(0)).values
    assert not np.array_equal(first, fitted.sample(row, 50, np.random.default_rng(1)).values)
    assert len(np.unique(first[:, 1])) > 3
    full = fitted.sample(np.array([0.3, 0.1]), 3, np.random.default_rng(0))
    assert full.values.tolist() == [[0.3, 0.1]] * 3


@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_tiny_training_data(sampler: Any, n: int) -> None:
    rng = np.random.default_rng(n)
    schema = Schema(tuple(make_feature(i, kind, rng) for i, kind in enumerate(KINDS)))
    X = random_codes(schema, n, rng)
    values = clone(sampler).fit(X, schema).sample(np.full(5, np.nan), 20, rng).values
    assert_legal(schema, values)


# --- closed forms -----------------------------------------------------------------------------------------------------


def gaussian_pair(n: int, r: float, seed: int, bound: float = 50.0) -> tuple[Schema, np.ndarray]:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = r * a + np.sqrt(1 - r * r) * rng.normal(size=n)
    schema = Schema(tuple(Feature(name, "continuous", lower=-bound, upper=bound) for name in "ab"))
    return schema, np.column_stack([a, b])


@pytest.mark.parametrize("at", [-1.0, 0.0, 2.0])
def test_chained_matches_the_conditional_normal(at: float) -> None:
    # b | a  ~  N(r a, 1 - r²)
    n_train, n, r = 5000, 20_000, 0.8
    schema, X = gaussian_pair(n_train, r, seed=1)
    sampler = ChainedEquations(numbers="normal").fit(X, schema)
    b = sampler.sample(np.array([at, np.nan]), n, np.random.default_rng(2)).values[:, 1]
    variance = 1 - r * r
    mean_error = np.sqrt(variance * ((1 + at * at) / n_train + 1 / n))
    assert abs(b.mean() - r * at) < Z * mean_error
    assert abs(b.var() / variance - 1) < Z * np.sqrt(2 / n_train + 2 / n)


def test_chained_predictive_variance_includes_the_coefficients() -> None:
    # ordinary least squares with n rows: predictive variance s² (1 + 1/n + (x - mean)² / Sxx), far from the data
    rng = np.random.default_rng(3)
    a = rng.normal(size=12)
    X = np.column_stack([a, 2 * a + rng.normal(size=12)])
    schema = Schema(tuple(Feature(name, "continuous", lower=-500, upper=500) for name in "ab"))
    sampler = ChainedEquations(numbers="normal").fit(X, schema)
    b = sampler.sample(np.array([30.0, np.nan]), 20_000, np.random.default_rng(4)).values[:, 1]
    slope, intercept = np.polyfit(a, X[:, 1], 1)
    s2 = np.sum((X[:, 1] - slope * a - intercept) ** 2) / 10
    expected = np.sqrt(s2 * (1 + 1 / 12 + (30 - a.mean()) ** 2 / (12 * a.var())))
    assert expected > 5 * np.sqrt(s2)
    assert 0.8 * expected < b.std() < 1.25 * expected  # ridge and maximum likelihood shrink it by a few percent


def test_matching_has_the_conditional_moments_on_average() -> None:
    # z = (b - r a) / sqrt(1 - r²) over many rows has mean 0 and variance 1; donors of one row are few, so average rows
    n_train, rows, n, r = 5000, 100, 200, 0.8
    schema, X = gaussian_pair(n_train, r, seed=5)
    sampler = ChainedEquations(numbers="matching").fit(X, schema)
    rng = np.random.default_rng(6)
    at = rng.uniform(-1.5, 1.5, rows)
    z = np.array([sampler.sample(np.array([a, np.nan]), n, rng).values[:, 1] - r * a for a in at]) / np.sqrt(1 - r * r)
    # at least 20 donors stand behind each of the rows
    assert abs(z.mean()) < Z / np.sqrt(20 * rows)
    assert abs(z.var() - 1) < Z * np.sqrt(2 / (20 * rows))


@pytest.mark.parametrize("numbers", ["normal", "matching"])
def test_gibbs_matches_the_joint_normal_of_two_blanks(numbers: Any) -> None:
    n_train, n = 5000, 4000
    cov = np.array([[1.0, 0.6, 0.3], [0.6, 1.0, 0.5], [0.3, 0.5, 1.0]])
    X = np.random.default_rng(7).multivariate_normal(np.zeros(3), cov, n_train)
    schema = Schema(tuple(Feature(name, "continuous", lower=-50, upper=50) for name in "abc"))
    sampler = ChainedEquations(sweeps=15, numbers=numbers).fit(X, schema)
    values = sampler.sample(np.array([1.0, np.nan, np.nan]), n, np.random.default_rng(8)).values[:, 1:]
    mean = cov[1:, 0]
    left = cov[1:, 1:] - np.outer(cov[1:, 0], cov[0, 1:])
    # mean and covariance of the estimate from n_train rows (500 near ones for matching), plus the Monte Carlo error
    effective = 1 / (1 / n + 2 / (n_train if numbers == "normal" else 500))
    assert np.abs(values.mean(axis=0) - mean).max() < Z / np.sqrt(effective)
    assert np.abs(np.cov(values.T) - left).max() < Z * np.sqrt(2 / effective)


TABLE = np.array([[0.20, 0.05, 0.05], [0.05, 0.25, 0.05], [0.02, 0.08, 0.25]])


@pytest.mark.parametrize("kind", ["categorical", "binary"])
@pytest.mark.parametrize("given_code", [0, 1])
def test_chained_matches_a_known_table(kind: str, given_code: int) -> None:
    table = TABLE if kind == "categorical" else TABLE[:2, :2] / TABLE[:2, :2].sum()
    size, n_train, n = len(table), 20_000, 20_000
    cells = np.random.default_rng(9).choice(size * size, n_train, p=table.ravel())
    X = np.column_stack([cells // size, cells % size]).astype(float)
    categories = tuple(range(size))
    schema = Schema(tuple(Feature(name, kind, categories=categories) for name in "ab"))
    sampler = ChainedEquations(max_rows=None).fit(X, schema)
    values = sampler.sample(np.array([given_code, np.nan]), n, np.random.default_rng(10)).values[:, 1]
    shares = np.bincount(values.astype(int), minlength=size) / n
    p = table[given_code] / table[given_code].sum()
    n_given = n_train * table[given_code].sum()
    # 0.003 covers the ridge penalty, whose pull on 20,000 rows is below that
    assert (np.abs(shares - p) < Z * np.sqrt(p * (1 - p) * (1 / n + 1 / n_given)) + 0.003).all()


@pytest.mark.parametrize("sampler", [ChainedEquations(), NearestDonors()], ids=["chained", "donors"])
def test_two_blank_categories_keep_their_joint(sampler: Any) -> None:
    # a copy of a is b, and c says nothing: a and b must be drawn together, not each from its own marginal
    rng = np.random.default_rng(11)
    a = rng.integers(0, 2, 2000).astype(float)
    X = np.column_stack([a, a, rng.integers(0, 2, 2000).astype(float)])
    schema = Schema(tuple(Feature(name, "binary", categories=("n", "y")) for name in "abc"))
    values = clone(sampler).fit(X, schema).sample(np.array([np.nan, np.nan, 1.0]), 1000, rng).values
    assert np.mean(values[:, 0] == values[:, 1]) > 0.97
    # donors and the Gibbs start are draws of at most 1000; the share of ones is 1/2 up to that many
    assert abs(values[:, 0].mean() - 0.5) < Z * 0.5 * np.sqrt(1 / 1000 + 1 / 1000)


def test_duplicate_blanks_start_near_the_observed_value() -> None:
    # a and b are the same number, so the Gibbs chain never leaves its start: only a start near c follows c
    rng = np.random.default_rng(26)
    c = rng.normal(size=3000)
    a = 0.95 * c + np.sqrt(1 - 0.95**2) * rng.normal(size=3000)
    schema = Schema(tuple(Feature(name, "continuous", lower=-50, upper=50) for name in "abc"))
    sampler = ChainedEquations(numbers="normal").fit(np.column_stack([a, a, c]), schema)
    values = sampler.sample(np.array([np.nan, np.nan, 1.5]), 500, rng).values
    # 50 donors around 1.5, conditional deviation 0.31
    assert abs(values[:, 0].mean() - 0.95 * 1.5) < Z * 0.31 / np.sqrt(40) + 0.1
    assert np.abs(values[:, 0] - values[:, 1]).max() < 0.1


def test_a_category_that_training_did_not_show_is_not_drawn() -> None:
    rng = np.random.default_rng(27)
    schema = Schema(tuple(Feature(name, "categorical", categories=("x", "y", "z")) for name in "ab"))
    X = rng.choice([0.0, 2.0], (200, 2))
    values = ChainedEquations().fit(X, schema).sample(np.array([1.0, np.nan]), 500, rng).values
    assert set(values[:, 1]) == {0.0, 2.0}


def plain_normal(feature: Feature, coefficient: float) -> Normal:
    """A regression on one column, with known coefficient and unit noise."""
    return Normal(feature, 0.0, 1.0, 0.0, np.array([coefficient]), np.zeros((1, 1)), np.zeros(1), 1.0)


def test_integers_at_a_bound_keep_their_half_unit() -> None:
    # a normal with mean 0 and deviation 1 on 0, 1, 2: the masses of (-½, ½), (½, 1½), (1½, 2½)
    n = 20_000
    model = plain_normal(Feature("a", "integer", lower=0, upper=2), 0.0)
    drawn = model.draw(np.zeros((n, 1)), np.random.default_rng(28))
    p = np.diff(norm.cdf([-0.5, 0.5, 1.5, 2.5]))
    p /= p.sum()
    assert (np.abs(np.bincount(drawn.astype(int)) / n - p) < Z * np.sqrt(p * (1 - p) / n)).all()


def test_matching_picks_evenly_from_the_nearest() -> None:
    feature = Feature("a", "continuous", lower=0, upper=99)
    design = np.array([[0.0], [1.0], [2.0], [3.0], [10.0], [10.0]])
    model = Matching.of(plain_normal(feature, 1.0), design, np.array([50.0, 51, 52, 53, 60, 61]), k=3)
    n = 9000
    rng = np.random.default_rng(29)
    near = model.draw(np.full((n, 1), 0.9), rng)
    assert set(near) == {50.0, 51.0, 52.0}
    assert all(abs((near == v).mean() - 1 / 3) < Z * np.sqrt(2 / 9 / n) for v in (50, 51, 52))
    # the two at 10 share a mean, so they share the chance of being picked
    far = model.draw(np.full((n, 1), 10.0), rng)
    assert set(far) == {53.0, 60.0, 61.0}
    assert all(abs((far == v).mean() - 1 / 3) < Z * np.sqrt(2 / 9 / n) for v in (53, 60, 61))


def test_integers_have_the_mass_of_their_unit_interval() -> None:
    rng = np.random.default_rng(12)
    a = rng.normal(size=5000)
    X = np.column_stack([a, np.clip(np.round(5 + 2 * a + rng.normal(size=5000)), 0, 10)])
    schema = Schema((Feature("a", "continuous", lower=-9, upper=9), Feature("b", "integer", lower=0, upper=10)))
    b = ChainedEquations(numbers="normal").fit(X, schema).sample(np.array([0.0, np.nan]), 20_000, rng).values[:, 1]
    # rounding twice adds 1/12 twice to the noise of 1
    assert abs(b.mean() - 5) < Z * np.sqrt(1.2 / 5000 + 1.2 / 20_000)
    assert 0.95 < b.var() < 1.35


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_truncated_normal_matches_redrawing(side: float) -> None:
    rng = np.random.default_rng(13)
    n = 40_000
    low, high = sorted((side * 0.5, side * 3.0))
    drawn = truncated_normal(np.zeros(n), np.ones(n), low, high, rng)
    plain = rng.normal(size=40 * n)
    redrawn = plain[(plain >= low) & (plain <= high)][:n]
    assert drawn.min() >= low
    assert drawn.max() <= high
    assert abs(drawn.mean() - redrawn.mean()) < Z * np.sqrt(2 * redrawn.var() / n)
    assert abs(np.median(drawn) - np.median(redrawn)) < Z * 1.26 * np.sqrt(2 * redrawn.var() / n)


def test_truncated_normal_beyond_hope_is_the_nearer_bound() -> None:
    drawn = truncated_normal(np.array([-1e9, 1e9, 0.5]), np.array([1.0, 1.0, 0.0]), 0.0, 1.0, np.random.default_rng(0))
    assert drawn.tolist() == [0.0, 1.0, 0.5]


def test_training_blanks_do_not_bias_the_chain() -> None:
    # b is blank where a is large (missing at random): the regression of b on a is unharmed, the column's mean is not
    schema, X = gaussian_pair(6000, 0.8, seed=14)
    holed = X.copy()
    holed[X[:, 0] > 0.5, 1] = np.nan
    holed[::7, 0] = np.nan
    sampler = ChainedEquations(rounds=5, numbers="normal").fit(holed, schema)
    b = sampler.sample(np.array([1.5, np.nan]), 10_000, np.random.default_rng(15)).values[:, 1]
    # about 3500 rows know b, all on one side: the line at 1.5 is known to 0.6 sqrt((1 + 4²) / 3500)
    assert abs(b.mean() - 1.2) < Z * 0.6 * np.sqrt(17 / 3500 + 1 / 10_000)
    assert abs(np.nanmean(holed[:, 1]) - 0.0) > 0.3


def test_donors_follow_the_observed_value() -> None:
    schema, X = gaussian_pair(4000, 0.9, seed=16)
    sampler = NearestDonors(k=50).fit(X, schema)
    rng = np.random.default_rng(17)
    for at in (-1.5, 0.0, 1.5):
        b = sampler.sample(np.array([at, np.nan]), 2000, rng).values[:, 1]
        # about 50 donors, their a within 0.1 of the row's
        assert abs(b.mean() - 0.9 * at) < Z * np.sqrt(0.19 / 40) + 0.1


def test_marginal_and_uniform_have_their_distribution() -> None:
    schema = Schema((Feature("a", "integer", lower=0, upper=4), Feature("b", "continuous", lower=-2, upper=6)))
    X = np.array([[0.0, 1.0]] * 3 + [[4.0, 2.0]])
    n = 20_000
    rng = np.random.default_rng(18)
    row = np.array([np.nan, np.nan])
    a = Marginal().fit(X, schema).sample(row, n, rng).values[:, 0]
    assert abs((a == 4).mean() - 0.25) < Z * np.sqrt(0.25 * 0.75 / n)
    values = Uniform().fit(X, schema).sample(row, n, rng).values
    shares = np.bincount(values[:, 0].astype(int), minlength=5) / n
    assert (np.abs(shares - 0.2) < Z * np.sqrt(0.2 * 0.8 / n)).all()
    assert abs(values[:, 1].mean() - 2.0) < Z * (8 / np.sqrt(12)) / np.sqrt(n)


# --- donors and neighbours --------------------------------------------------------------------------------------------


def test_blanks_are_copied_together_from_one_donor() -> None:
    schema = Schema(tuple(Feature(name, "integer", lower=0, upper=99) for name in "abc"))
    X = np.array([[i, i, i] for i in range(100)], dtype=float)
    values = (
        NearestDonors(k=10).fit(X, schema).sample(np.array([50, np.nan, np.nan]), 200, np.random.default_rng(0)).values
    )
    assert (values[:, 1] == values[:, 2]).all()
    assert set(values[:, 1]) <= set(range(45, 56))
    # the nearer, the likelier
    assert np.mean(np.abs(values[:, 1] - 50) <= 2) > 0.5


def test_blanks_never_known_together_are_drawn_in_blocks() -> None:
    schema = Schema(tuple(Feature(name, "integer", lower=0, upper=99) for name in "abc"))
    X = np.array([[i, i, np.nan] for i in range(50)] + [[i, np.nan, i] for i in range(50)], dtype=float)
    values = (
        NearestDonors(k=5).fit(X, schema).sample(np.array([20, np.nan, np.nan]), 300, np.random.default_rng(0)).values
    )
    assert abs(values[:, 1].mean() - 20) < 3
    assert abs(values[:, 2].mean() - 20) < 3
    assert (values[:, 1] != values[:, 2]).any()


def test_ties_are_all_donors() -> None:
    schema = Schema((Feature("a", "binary", categories=(0, 1)), Feature("b", "integer", lower=0, upper=199)))
    X = np.array([[i % 2, i] for i in range(200)], dtype=float)
    b = NearestDonors(k=5).fit(X, schema).sample(np.array([1.0, np.nan]), 2000, np.random.default_rng(0)).values[:, 1]
    assert set(b) == set(range(1, 200, 2))


@settings(deadline=None, max_examples=40)
@given(problem=problems())
def test_law_distance_is_a_sum_over_observed_features(problem: Any) -> None:
    schema, X, row = problem
    near = Neighbours.of(X, schema)
    expected = np.zeros(len(X))
    for d, f in enumerate(schema):
        known = ~np.isnan(X[:, d])
        if np.isnan(row[d]) or not known.any():
            continue
        if f.kind in ("binary", "categorical"):
            terms = (X[:, d] != row[d]).astype(float)
        else:
            variance = X[known, d].var()
            terms = (X[:, d] - row[d]) ** 2 / (2 * variance if variance > 0 else 1.0)
        expected += np.where(known, terms, terms[known].mean())
    assert near.squared_distances(row) == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_design_is_centred() -> None:
    rng = np.random.default_rng(0)
    schema = Schema(tuple(make_feature(i, kind, rng) for i, kind in enumerate(KINDS)))
    X = random_codes(schema, 300, rng)
    design = Design.of(X, schema)
    coded = design.encode(X)
    assert coded.mean(axis=0) == pytest.approx(np.zeros(design.width), abs=1e-9)
    assert coded[:, 0].std() == pytest.approx(1.0)
    whole = coded[:, design.columns[3]] + design.centre[design.columns[3]]
    assert whole.sum(axis=1) == pytest.approx(np.ones(300))


# --- the user's own ---------------------------------------------------------------------------------------------------

PERSON = Schema(
    (
        Feature("age", "integer", lower=18, upper=90),
        Feature("income", "continuous", lower=0.0, upper=9.0),
        Feature("job", "categorical", categories=("none", "part", "full")),
    )
)
PEOPLE = np.array([[20.0, 1.0, 0], [40.0, 3.0, 2], [60.0, 2.0, 1], [35.0, 2.5, 2], [50.0, np.nan, 2]])
HOLES = np.array([30.0, np.nan, np.nan])


def own_frame(row: dict[str, Any], n: int, rng: np.random.Generator) -> pd.DataFrame:
    assert row == {"age": 30, "income": None, "job": None}
    return pd.DataFrame({"age": 77, "income": rng.uniform(0, 9, n), "job": rng.choice(["none", "full"], n)})


def own_codes(row: dict[str, Any], n: int, rng: np.random.Generator) -> np.ndarray:
    return np.column_stack([np.full(n, -5.0), rng.uniform(0, 9, n), rng.integers(0, 3, n)])


@pytest.mark.parametrize("function", [own_frame, own_codes])
def test_own_function(function: Any) -> None:
    sampler = FromCallable(function).fit(PEOPLE, PERSON)
    values = sampler.sample(HOLES, 40, np.random.default_rng(0)).values
    assert_legal(PERSON, values)
    assert_observed_kept(HOLES, values)
    revived = pickle.loads(pickle.dumps(sampler))
    assert np.array_equal(values, revived.sample(HOLES, 40, np.random.default_rng(0)).values)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (pd.DataFrame({"income": [1.0, 2.0]}), "'job' is not among income"),
        (pd.DataFrame({"income": [1.0], "job": ["full"]}), "n = 2 rows. Got 1"),
        (pd.DataFrame({"income": [1.0, 99.0], "job": ["full", "full"]}), "99"),
        (pd.DataFrame({"income": [1.0, 2.0], "job": ["full", "boss"]}), "boss"),
        (pd.DataFrame({"income": [1.0, None], "job": ["full", "full"]}), "fill every blank.*'income'"),
        (np.array([[30.0, 1.0, 0.5]] * 2), "'job' must be whole"),
        (np.array([[30.0, 99.0, 0.0]] * 2), "'income' must be in"),
        (np.zeros((2, 2)), r"shape \(2, 3\)"),
        ("nothing", "must return a DataFrame"),
    ],
)
def test_own_function_is_checked(answer: Any, message: str) -> None:
    sampler = FromCallable(lambda row, n, rng: answer).fit(PEOPLE, PERSON)
    with pytest.raises(DataError, match=message):
        sampler.sample(HOLES, 2, np.random.default_rng(0))


# --- single imputation ------------------------------------------------------------------------------------------------


def test_mean_imputer() -> None:
    schema = Schema((*PERSON.features, Feature("rank", "ordinal", categories=("low", "mid", "high", "top"))))
    X = np.column_stack([PEOPLE, [0.0, 3, 3, 3, 0]])
    filled = MeanImputer().fit(X, schema).impute(np.full(4, np.nan))
    assert filled.tolist() == [41.0, 2.125, 2.0, 3.0]  # mean of ages, of incomes, mode, median


def test_knn_imputer_uses_only_rows_that_know_the_blank() -> None:
    filled = KNearestImputer(k=1).fit(PEOPLE, PERSON).impute(np.array([49.0, np.nan, np.nan]))
    assert filled.tolist() == [49.0, 3.0, 2.0]  # 50 does not know its income: 40 is nearest that does


def test_mice_imputer_is_the_conditional_mean() -> None:
    schema, X = gaussian_pair(5000, 0.8, seed=20)
    imputer = MICEImputer().fit(X, schema)
    for at in (-1.0, 2.0):
        assert abs(imputer.impute(np.array([at, np.nan]))[1] - 0.8 * at) < Z * 0.6 * np.sqrt((1 + at * at) / 5000)


def test_mice_imputer_takes_the_likeliest_category() -> None:
    cells = np.random.default_rng(21).choice(9, 3000, p=TABLE.ravel())
    schema = Schema(tuple(Feature(name, "categorical", categories=("x", "y", "z")) for name in "ab"))
    imputer = MICEImputer().fit(np.column_stack([cells // 3, cells % 3]).astype(float), schema)
    assert [imputer.impute(np.array([code, np.nan]))[1] for code in range(3)] == [0.0, 1.0, 2.0]


def test_mice_imputer_with_two_blanks_solves_both() -> None:
    cov = np.array([[1.0, 0.6, 0.5], [0.6, 1.0, 0.9], [0.5, 0.9, 1.0]])
    X = np.random.default_rng(22).multivariate_normal(np.zeros(3), cov, 5000)
    schema = Schema(tuple(Feature(name, "continuous", lower=-50, upper=50) for name in "abc"))
    filled = MICEImputer(sweeps=60).fit(X, schema).impute(np.array([1.0, np.nan, np.nan]))
    assert np.abs(filled[1:] - cov[1:, 0]).max() < Z * np.sqrt(2 / 5000)


# --- given the decision -----------------------------------------------------------------------------------------------


def pair_sampler() -> ChainedEquations:
    schema, X = gaussian_pair(1000, 0.5, seed=23)
    return ChainedEquations(numbers="normal").fit(X, schema)


def test_conditioned_draws_are_all_rejected() -> None:
    found = sample_conditioned(
        pair_sampler(), np.array([0.0, np.nan]), 200, np.random.default_rng(0), lambda x: x[:, 1] > 0
    )
    assert (found.draws.values[:, 1] <= 0).all()
    assert len(found.draws) == 200
    assert (found.draws.weights == 1).all()
    assert found.conditioned
    assert found.enough
    assert found.n_kept >= 200
    assert abs(found.rate - 0.5) < Z * np.sqrt(0.25 / found.n_drawn + 0.25 / 1000)


def test_conditioned_draws_have_the_conditional_distribution() -> None:
    # uniform on 0 … 9, rejected below 3: uniform on 0, 1, 2
    schema = Schema((Feature("a", "integer", lower=0, upper=9),))
    sampler = Uniform().fit(np.zeros((1, 1)), schema)
    found = sample_conditioned(sampler, np.array([np.nan]), 9000, np.random.default_rng(1), lambda x: x[:, 0] >= 3)
    shares = np.bincount(found.draws.values[:, 0].astype(int)) / 9000
    assert (np.abs(shares - 1 / 3) < Z * np.sqrt(2 / 9 / 9000)).all()
    assert abs(found.rate - 0.3) < Z * np.sqrt(0.21 / found.n_drawn)


def test_few_rejected_draws_are_weighted_not_repeated() -> None:
    found = sample_conditioned(
        pair_sampler(), np.array([0.0, np.nan]), 100, np.random.default_rng(2), lambda x: x[:, 1] > -1.9, max_draws=1000
    )
    assert found.conditioned
    assert not found.enough
    assert 0 < len(found.draws) == found.n_kept < 100
    assert found.n_drawn == 1000
    assert found.draws.weights.sum() == pytest.approx(100)
    assert len(np.unique(found.draws.values[:, 1])) == found.n_kept
    assert (found.draws.values[:, 1] <= -1.9).all()


def test_no_rejected_draw_is_said() -> None:
    row = np.array([0.0, np.nan])
    found = sample_conditioned(pair_sampler(), row, 20, np.random.default_rng(3), lambda x: np.full(len(x), True))
    assert not found.conditioned
    assert not found.enough
    assert found.rate == 0.0
    assert found.n_drawn == 1000
    plain = pair_sampler().sample(row, 20, np.random.default_rng(3))
    assert np.array_equal(found.draws.values, plain.values)


@pytest.mark.parametrize("accepted", [True, False])
def test_a_row_without_blanks_is_asked_once(accepted: bool) -> None:
    calls: list[int] = []

    def accepts(x: np.ndarray) -> np.ndarray:
        calls.append(len(x))
        return np.full(len(x), accepted)

    found = sample_conditioned(pair_sampler(), np.array([0.0, 1.0]), 7, np.random.default_rng(0), accepts)
    assert calls == [7]
    assert found.conditioned is not accepted
    assert found.draws.values.tolist() == [[0.0, 1.0]] * 7


@settings(deadline=None, max_examples=60)
@given(cut=st.floats(-3, 3), n=st.integers(1, 60), most=st.integers(1, 500), seed=st.integers(0, 99))
def test_law_conditioning(cut: float, n: int, most: int, seed: int) -> None:
    schema, X = gaussian_pair(60, 0.5, seed=24)
    sampler = Marginal().fit(X, schema)
    row = np.array([0.0, np.nan])

    def ask() -> Any:
        return sample_conditioned(sampler, row, n, np.random.default_rng(seed), lambda x: x[:, 1] > cut, max_draws=most)

    found = ask()
    assert found.draws.weights.sum() == pytest.approx(n)
    assert n <= found.n_drawn <= max(n, most)
    assert found.enough == (found.n_kept >= n)
    assert found.conditioned == (found.n_kept > 0)
    assert len(found.draws) == (min(found.n_kept, n) or n)
    if found.conditioned:
        assert (found.draws.values[:, 1] <= cut).all()
    assert np.array_equal(found.draws.values, ask().draws.values)


def test_a_model_that_does_not_answer_with_booleans_is_refused() -> None:
    rng = np.random.default_rng(0)
    row = np.array([0.0, np.nan])
    with pytest.raises(ParameterError, match="booleans"):
        sample_conditioned(pair_sampler(), row, 5, rng, lambda x: x[:, 1])
    with pytest.raises(ParameterError, match="booleans"):
        sample_conditioned(pair_sampler(), row, 5, rng, lambda x: np.array([True]))
    with pytest.raises(ParameterError, match="max_draws"):
        sample_conditioned(pair_sampler(), row, 5, rng, lambda x: x[:, 1] > 0, max_draws=0)


# --- names and refusals -----------------------------------------------------------------------------------------------


def test_aliases() -> None:
    assert isinstance(as_sampler("chained"), ChainedEquations)
    assert isinstance(as_sampler("donors"), NearestDonors)
    assert isinstance(as_sampler("marginal"), Marginal)
    assert isinstance(as_sampler("uniform"), Uniform)
    own = as_sampler(own_frame)
    assert isinstance(own, FromCallable)
    assert own.function is own_frame
    sampler = NearestDonors(k=3)
    assert as_sampler(sampler) is sampler
    assert isinstance(as_imputer("mean"), MeanImputer)
    assert isinstance(as_imputer("knn"), KNearestImputer)
    assert isinstance(as_imputer("mice"), MICEImputer)
    imputer = KNearestImputer(k=3)
    assert as_imputer(imputer) is imputer


@pytest.mark.parametrize("spec", ["mice", "", None, 3, Uniform, MeanImputer()])
def test_unknown_samplers_are_refused(spec: Any) -> None:
    with pytest.raises(ParameterError, match="'chained', 'copula', 'donors', 'forest', 'marginal', 'private'"):
        as_sampler(spec)


@pytest.mark.parametrize("spec", ["chained", None, MeanImputer, Uniform(), own_frame])
def test_unknown_imputers_are_refused(spec: Any) -> None:
    with pytest.raises(ParameterError, match="'knn', 'mean', 'mice'"):
        as_imputer(spec)


@pytest.mark.parametrize("sampler", [*SAMPLERS.values(), FromCallable(own_frame)])
def test_unfitted_samplers_are_refused(sampler: Any) -> None:
    with pytest.raises(NotFittedError, match=r"fit\(codes, schema\)"):
        clone(sampler).sample(HOLES, 3, np.random.default_rng(0))


@pytest.mark.parametrize("imputer", IMPUTERS.values(), ids=IMPUTERS)
def test_unfitted_imputers_are_refused(imputer: Any) -> None:
    with pytest.raises(NotFittedError):
        clone(imputer).impute(HOLES)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((0, 3)), "n >= 1"),
        (np.zeros((2, 2)), r"shape \(n, 3\)"),
        (np.array([[20.0, 1.0, 3.0]]), "'job' must be whole, in .0, 2.*Got 3"),
        (np.array([[20.0, 1.0, 0.5]]), "'job' must be whole"),
        (np.array([[20.5, 1.0, 0.0]]), "'age' must be whole"),
        (np.array([[20.0, np.inf, 0.0]]), "'income' must be in"),
        (np.array([[20.0, 10.0, 0.0]]), "'income' must be in"),
    ],
)
def test_illegal_training_codes_are_refused(X: np.ndarray, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Marginal().fit(X, PERSON)


def test_illegal_rows_and_arguments_are_refused() -> None:
    sampler = Marginal().fit(PEOPLE, PERSON)
    rng = np.random.default_rng(0)
    with pytest.raises(DataError, match=r"shape \(3,\)"):
        sampler.sample(np.zeros(2), 3, rng)
    with pytest.raises(DataError, match="'job'"):
        sampler.sample(np.array([20.0, np.nan, 7.0]), 3, rng)
    with pytest.raises(ParameterError, match=r"'n' must be a whole number of at least 1\. Got 0"):
        sampler.sample(HOLES, 0, rng)
    with pytest.raises(ParameterError, match="default_rng"):
        sampler.sample(HOLES, 3, 0)
    with pytest.raises(ParameterError, match="Schema"):
        Marginal().fit(PEOPLE, "schema")


@pytest.mark.parametrize(
    "sampler",
    [
        NearestDonors(k=0),
        NearestDonors(k=2.5),
        ChainedEquations(sweeps=0),
        ChainedEquations(rounds=-1),
        ChainedEquations(numbers="mean"),
        ChainedEquations(donors=0),
        ChainedEquations(penalty=0.0),
        ChainedEquations(max_rows=0),
        KNearestImputer(k=0),
        MICEImputer(sweeps=0),
        FromCallable("draw"),
    ],
    ids=repr,
)
def test_bad_parameters_are_refused_in_fit(sampler: Any) -> None:
    with pytest.raises(ParameterError, match="must be"):
        sampler.fit(PEOPLE, PERSON)


@pytest.mark.parametrize(
    ("values", "weights"),
    [
        (np.array([[np.nan]]), np.ones(1)),
        (np.zeros((2, 1)), np.ones(1)),
        (np.zeros((2, 1)), np.array([1.0, 0.0])),
        (np.zeros((1, 1)), np.array([np.nan])),
    ],
)
def test_draws_check_themselves(values: np.ndarray, weights: np.ndarray) -> None:
    with pytest.raises(ArminError):
        Draws(values, weights)


def test_max_rows_limits_the_regressions() -> None:
    schema, X = gaussian_pair(3000, 0.8, seed=25)
    sampler = ChainedEquations(max_rows=100, numbers="matching").fit(X, schema)
    assert all(model.values.size == 100 for model in sampler.models_)
