"""Each formula against a simulation that would fail if the formula were wrong."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from armin.errors import ParameterError
from armin.promise import (
    closed_form_action,
    estimation_error,
    imputation_gap,
    imputation_gap_bound,
    log_growth,
    sample_size,
    sample_size_anywhere,
)


@pytest.mark.parametrize(("missing", "distance", "failure"), [(1, 0.05, 0.1), (2, 0.15, 0.05), (3, 0.2, 0.2)])
def test_sample_size_is_enough_and_not_wasteful(missing, distance, failure):
    n = sample_size(missing, width=1.0, distance=distance, failure=failure)
    rng = np.random.default_rng(0)
    repeats = 4000
    # the truth well inside the box, where the probability of a near draw is exactly (2ε/w)^D*
    truth = rng.uniform(distance, 1 - distance, (repeats, 1, missing))
    near = (np.abs(rng.uniform(size=(repeats, n, missing)) - truth) <= distance).all(axis=2).any(axis=1)
    # five standard errors: a false alarm once in two million runs
    error = 5 * math.sqrt(failure * (1 - failure) / repeats)
    assert 1 - near.mean() <= failure + error
    # the formula uses 1 - p <= exp(-p), so the failure rate it allows is nearly reached, not beaten by far
    assert 1 - near.mean() >= failure * (1 - (2 * distance) ** missing) ** 4 - error - 0.5 * failure


@pytest.mark.parametrize(("missing", "distance", "failure"), [(1, 0.05, 0.1), (2, 0.15, 0.05), (3, 0.3, 0.2)])
def test_the_published_sample_size_fails_at_the_borders_and_the_corrected_one_does_not(missing, distance, failure):
    """The truth in a corner, on a face, anywhere: the corrected number is enough, and just so in the corner."""
    rng = np.random.default_rng(0)
    repeats = 2000
    places = {
        "corner": rng.integers(0, 2, (repeats, 1, missing)).astype(float),
        "face": np.concatenate([np.zeros((repeats, 1, 1)), rng.uniform(size=(repeats, 1, missing - 1))], axis=2),
        "anywhere": rng.uniform(size=(repeats, 1, missing)),
    }
    error = 5 * math.sqrt(failure * (1 - failure) / repeats)

    def failures(n: int, truth: np.ndarray) -> float:
        near = (np.abs(rng.uniform(size=(repeats, n, missing)) - truth) <= distance).all(axis=2).any(axis=1)
        return 1 - float(near.mean())

    published = sample_size(missing, width=1.0, distance=distance, failure=failure)
    corrected = sample_size_anywhere(missing, width=1.0, distance=distance, failure=failure)
    assert corrected == math.ceil(math.log(1 / failure) / distance**missing)
    assert failures(published, places["corner"]) > failure + error
    for truth in places.values():
        assert failures(corrected, truth) <= failure + error
    # not wasteful: with half of it a corner is missed too often
    assert failures(corrected // 2, places["corner"]) > failure + error


def test_the_erratum_on_the_page_is_what_the_integrals_say():
    """Each number of the table: the mean of (1 - p(truth))^N, where p is the share of the box within ε of the truth."""
    page = Path(__file__).parents[2] / "docs" / "promise.md"
    table = page.read_text(encoding="utf-8").split("**An erratum.**")[1].split("Corrected:")[0]
    lines = [line.replace("*", "").strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    sizes = [int(re.search(r"N = (\d+)", head)[1]) for head in lines[0][1:]]
    arguments = {"width": 1.0, "distance": 0.1, "failure": 0.05}
    assert sizes == [sample_size(2, **arguments), sample_size_anywhere(2, **arguments)]
    nodes, weights = np.polynomial.legendre.leggauss(200)
    # p is smooth between the kinks at ε and 1 - ε, so each of the three pieces is integrated by itself
    places = {
        "at least ε from every border": [(0.1, 0.9)], "uniform in the box": [(0.0, 0.1), (0.1, 0.9), (0.9, 1.0)],
        "in a corner": [],
    }  # fmt: skip
    for name, *said in lines[1:]:
        pieces = places[name]
        x = np.concatenate([low + (high - low) * (nodes + 1) / 2 for low, high in pieces]) if pieces else np.zeros(1)
        w = np.concatenate([(high - low) * weights / 2 for low, high in pieces]) if pieces else np.ones(1)
        p = np.minimum(x + 0.1, 1) - np.maximum(x - 0.1, 0)
        for n, number in zip(sizes, said, strict=True):
            exact = float(((1 - np.outer(p, p)) ** n * np.outer(w, w)).sum() / w.sum() ** 2)
            digits = len(number.split(".")[1])
            assert round(exact, digits) == float(number), (name, n, exact)


@pytest.mark.parametrize("n", [20, 100, 500])
def test_estimation_error_covers_the_best_looking_linear_action(n):
    """The optimiser picks the shift that just reaches ρN; its validity rarely falls short by more than the bound."""
    rng = np.random.default_rng(1)
    failure, repeats = 0.1, 2000
    scores = np.sort(rng.normal(size=(repeats, n)), axis=1)
    required = math.ceil(0.75 * n)
    shift = -scores[:, n - required]  # the smallest shift for which `required` scores are >= 0
    empirical = (scores + shift[:, None] >= 0).mean(axis=1)
    from scipy.stats import norm

    true = 1 - norm.cdf(-shift)
    bound = estimation_error(n, failure=failure, log_growth=log_growth(n, linear=True))
    assert (empirical - true > bound).mean() <= failure
    # and a bound half as large as the second term alone would be broken more often than that for some action
    worst = (np.arange(n, 0, -1) / n - (1 - norm.cdf(scores))).max(axis=1)
    assert (worst > 0.5 * math.sqrt(math.log(1 / failure) / (2 * n))).mean() > failure


def test_log_growth_counts_the_patterns_of_a_linear_classifier():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=12)
    patterns = {tuple(scores + shift >= 0) for shift in np.linspace(-5, 5, 5001)}
    assert len(patterns) == 13
    assert math.exp(log_growth(12, linear=True)) == pytest.approx(13)
    assert log_growth(3, n_actions=10**6) == pytest.approx(3 * math.log(2))


@settings(deadline=None, max_examples=40, derandomize=True)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 5))
def test_closed_form_is_the_shortest_action(seed, d):
    rng = np.random.default_rng(seed)
    beta, x = rng.normal(size=d), rng.normal(size=d)
    action = closed_form_action(beta, x)
    assert beta @ (x + action) >= -1e-9
    found = minimize(
        lambda a: a @ a, np.zeros(d), constraints={"type": "ineq", "fun": lambda a: beta @ (x + a)}, method="SLSQP"
    )
    assert action @ action == pytest.approx(found.fun, abs=1e-6, rel=1e-4)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 4))
def test_the_gap_of_imputation_obeys_its_bound_for_any_imputation(seed, d):
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(d, d))
    x = rng.normal(size=(4000, d)) @ mix + rng.normal(size=d)
    beta = rng.normal(size=d)
    guesses = [np.full(len(x), x[:, 0].mean()), x[:, 0] * rng.uniform(0, 1) + rng.normal(size=len(x)), -x[:, 0]]
    for guess in guesses:
        found = imputation_gap(beta, 0, x, guess)
        assert found.gap <= found.bound * (1 + 1e-12)


def test_the_bound_is_tight_where_no_decision_is_disputed():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(5000, 2)) - [0, 50]  # everybody is rejected, imputed or not
    found = imputation_gap([2.0, 1.0], 0, x, np.full(5000, x[:, 0].mean()))
    assert found.disputed == 0
    assert found.gap == pytest.approx(found.bound)
    assert found.loss == pytest.approx(x[:, 0].var())


def test_loss_is_variance_plus_covariance_term_for_an_unbiased_imputation():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(3000, 2))
    guess = 0.6 * x[:, 0] + rng.normal(0, 0.3, 3000)
    guess += x[:, 0].mean() - guess.mean()
    found = imputation_gap([1.0, -1.0], 0, x, guess)
    assert found.loss == pytest.approx(x[:, 0].var() + found.covariance)
    same = imputation_gap_bound([1.0, -1.0], 0, loss=found.loss, score=found.score, disputed=found.disputed)
    assert same == found.bound


@pytest.mark.parametrize(
    "call",
    [
        lambda: sample_size(-1, width=1, distance=0.1, failure=0.1),
        lambda: sample_size_anywhere(-1, width=1, distance=0.1, failure=0.1),
        lambda: sample_size_anywhere(1, width=1, distance=0.0, failure=0.1),
        lambda: sample_size(1, width=0, distance=0.1, failure=0.1),
        lambda: sample_size(1, width=1, distance=0.1, failure=1.0),
        lambda: estimation_error(0, failure=0.1, log_growth=1.0),
        lambda: estimation_error(10, failure=0.1, log_growth=-1.0),
        lambda: closed_form_action([0.0, 0.0], [1.0, 1.0]),
    ],
)
def test_refusals(call):
    with pytest.raises(ParameterError, match="must"):
        call()
