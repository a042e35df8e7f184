"""Laws that small faults in the code would break: each stands here because such a fault once went unseen."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from armin import ARMIN, Schema
from armin.datasets import make_loans
from armin.errors import ParameterError
from armin.explain.advise import pose
from armin.explain.answer import fresh_validity
from armin.explain.draw import Sample
from armin.explain.judge import Judged, _increasing, judge, judge_choices, judge_path
from armin.explain.verify import SurrogateMismatch
from armin.models.kinds import Above, LinearModel
from armin.problem import Problem, Solution, Status, required_weight
from armin.promise import LEVELS, Promise, Trials, choose_level
from armin.promise.calibration import check_share
from armin.promise.theory import estimation_error, imputation_gap, log_growth, sample_size
from armin.promise.tilt import lost_at

LOANS = make_loans()


# how much is asked


def test_a_share_of_candidates_is_rounded_up_exactly() -> None:
    """In floats 0.55 * 100 is a little more than 55, and 56 candidates would be asked instead."""
    for hundredths in range(1, 101):
        for total in (*range(1, 201), 10_000, 1_000_000):
            asked = max(1, math.ceil(Fraction(hundredths, 100) * total))
            assert required_weight(hundredths / 100, float(total)) == asked, (hundredths, total)


def test_weights_that_are_not_whole_are_asked_as_they_are() -> None:
    assert required_weight(0.5, 2.5) == 1.25
    assert 0 < required_weight(0.0, 2.5) < 1e-6


# how an answer is judged


@given(st.lists(st.tuples(st.floats(0.01, 10), st.booleans()), min_size=1, max_size=30), st.floats(0.1, 10))
@settings(deadline=None, max_examples=60)
def test_a_weighted_fresh_sample_counts_as_its_effective_size(pairs: list[tuple[float, bool]], scale: float) -> None:
    weights, accepted = np.array([w for w, _ in pairs]), np.array([a for _, a in pairs])
    found = fresh_validity(Sample(np.zeros((len(pairs), 1)), weights), accepted)
    assert found.share == pytest.approx(weights[accepted].sum() / weights.sum())
    assert found.of == pytest.approx(1 / ((weights / weights.sum()) ** 2).sum())
    again = fresh_validity(Sample(np.zeros((len(pairs), 1)), scale * weights), accepted)
    assert again.of == pytest.approx(found.of)
    even = fresh_validity(Sample(np.zeros((len(pairs), 1)), np.full(len(pairs), scale)), accepted)
    assert (even.accepted, even.of) == (accepted.sum(), len(pairs))


def test_half_the_weight_on_one_draw_leaves_fewer_than_drawn() -> None:
    found = fresh_validity(Sample(np.zeros((3, 1)), np.array([2.0, 1.0, 1.0])), np.array([True, False, True]))
    assert found.share == pytest.approx(0.75)
    assert found.of == pytest.approx(16 / 6)


def judged(cost: float, weight: int, n: int = 8) -> Judged:
    solution = Solution(Status.OPTIMAL, (0,), cost, cost, 0.0, "test")
    return Judged(solution, np.arange(n) < weight)


EIGHT = Problem.from_tables(
    np.zeros((8, 1)), {0: [0.0, 1.0]}, {0: [0.0, 1.0]}, LinearModel(np.ones((1, 1)), np.zeros(1), Above(0.0)), 1.0
)


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 8)), max_size=10))
@settings(deadline=None, max_examples=150)
def test_of_a_path_only_what_buys_more_for_more_is_kept(pairs: list[tuple[int, int]]) -> None:
    """Points come by rising demand; a repaired one may cost more, and reach more, than a later one."""
    points = [judged(float(cost), weight) for cost, weight in pairs]
    kept = _increasing(EIGHT, points)
    assert all(any(point is one for one in points) for point in kept)
    told = [(point.solution.cost, int(point.accepted.sum())) for point in kept]
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(told))
    if points:
        assert told[-1][0] <= pairs[-1][0]  # the last point is there, or something that costs no more
    rising = all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
    if rising:
        assert len(kept) == len(points)


@pytest.mark.parametrize(
    ("pairs", "kept"),
    [
        ([(1, 2), (2, 2), (3, 4)], [(1, 2), (3, 4)]),  # the second buys nothing
        ([(1, 2), (4, 3), (3, 5)], [(1, 2), (3, 5)]),  # the second was repaired, and the third is cheaper
        ([(2, 2), (2, 3)], [(2, 3)]),
        ([(3, 2), (2, 3), (1, 4)], [(1, 4)]),
    ],
)
def test_dominated_points_are_left_out(pairs: list[tuple[int, int]], kept: list[tuple[int, int]]) -> None:
    found = _increasing(EIGHT, [judged(float(cost), weight) for cost, weight in pairs])
    assert [(point.solution.cost, point.accepted.sum()) for point in found] == kept


class Picky:
    """A model that also refuses what its reading accepts, where a number of the row is in a band."""

    def __init__(self, judge: Any, column: int, band: tuple[float, float]) -> None:
        self.judge, self.column, self.band = judge, column, band

    def accepts(self, codes: np.ndarray) -> np.ndarray:
        low, high = self.band
        return self.judge.accepts(codes) & ~((codes[:, self.column] >= low) & (codes[:, self.column] <= high))


def loan_explainer(**more: Any) -> ARMIN:
    given = {"n_samples": 20, "n_fresh": 0} | more
    return ARMIN.from_settings(LOANS.classifier, LOANS.schema, desired="approved", **given).fit(LOANS.X)


def with_model(explainer: ARMIN, model: Any) -> ARMIN:
    explainer.fitted_ = replace(explainer.fitted_, decision=model, oracle=model)
    return explainer


def test_a_repaired_path_still_buys_more_for_more() -> None:
    """Whoever has a master's degree is refused after all: two points of the path are repaired to the same one."""
    explainer = loan_explainer()
    codes = LOANS.schema.encode(LOANS.applicant)[0]
    degree = LOANS.schema.position("Education")
    picky = Picky(explainer.fitted_.decision, degree, (codes[degree], codes[degree]))
    posed = pose(explainer.current, codes, (), 0.75)
    plain, _ = judge_path(explainer.current, posed.world, posed.stated)
    found, end = judge_path(with_model(explainer, picky).current, posed.world, posed.stated)
    assert end is Status.OPTIMAL
    assert len(found) < len(plain)
    told = [(point.solution.cost, int(point.accepted.sum())) for point in found]
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(told))
    for point in found:  # judged by the model, not by its reading
        after = posed.stated.grid.apply(point.solution.choice, posed.stated.candidates)
        np.testing.assert_array_equal(point.accepted, picky.accepts(after))


@pytest.mark.parametrize("n_fresh", [0, 15])
def test_a_search_that_ends_without_a_choice_says_nothing_about_the_others(n_fresh: int) -> None:
    """The last of several solutions may be the proof that there is no other."""
    explainer = loan_explainer(n_fresh=n_fresh)
    posed = pose(explainer.current, LOANS.schema.encode(LOANS.applicant)[0], (), 0.75)
    plain, _ = judge_path(explainer.current, posed.world, posed.stated, posed.fresh)
    solutions = [point.solution for point in plain]
    none = Solution(Status.INFEASIBLE, None, None, math.inf, 0.0, "test")
    for several in ([*solutions, none], [none, *solutions]):
        found = judge_choices(explainer.current, posed.world, posed.stated, several, posed.fresh)
        assert [point.solution for point in found] == solutions
        for point, same in zip(found, plain, strict=True):
            np.testing.assert_array_equal(point.accepted, same.accepted)
            if n_fresh:
                np.testing.assert_array_equal(point.fresh, same.fresh)
    assert judge_choices(explainer.current, posed.world, posed.stated, [none], posed.fresh) == []


def test_a_share_of_completions_is_by_weight() -> None:
    posed = pose(loan_explainer().current, LOANS.schema.encode(LOANS.applicant)[0], (), 0.75)
    weights = np.arange(1.0, len(posed.stated.weights) + 1)
    accepted = np.arange(weights.size) % 3 == 0
    stated = replace(posed.stated, weights=weights)
    assert stated.share(accepted) == pytest.approx(np.average(accepted, weights=weights))
    assert stated.share(np.append(accepted, True)) == stated.share(accepted)  # the row itself does not count


def test_an_honest_model_is_not_called_misread() -> None:
    explainer = loan_explainer()
    posed = pose(explainer.current, LOANS.schema.encode(LOANS.applicant)[0], (), 0.75)
    assert posed.drawn
    plain = judge(explainer.current, posed.world, posed.stated, posed.stated.problem)
    found = judge(explainer.current, posed.world, posed.stated, posed.stated.problem, drawn=True)
    assert found.solution.choice == plain.solution.choice
    np.testing.assert_array_equal(found.accepted, plain.accepted)


class Contrary:
    """A model that takes back what its reading says to rows with blanks."""

    def __init__(self, judge: Any) -> None:
        self.judge = judge

    def accepts(self, codes: np.ndarray) -> np.ndarray:
        return self.judge.accepts(codes) ^ np.isnan(codes).any(axis=1)


@pytest.mark.parametrize("reapply", ["disclosed", "blank"])
def test_a_model_that_disagrees_about_the_row_with_its_blanks_is_noticed(reapply: str) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 9, (200, 3)).astype(float), columns=["a", "b", "c"])
    y = np.where(X.sum(axis=1) > 14, "yes", "no")
    model = make_pipeline(SimpleImputer(), LogisticRegression()).fit(X, y)
    explainer = ARMIN.from_settings(
        model, Schema.infer(X), desired="yes", reapply=reapply, n_samples=10, n_fresh=0
    ).fit(X)
    codes = np.array([2.0, np.nan, 3.0])
    posed = pose(explainer.current, codes, (), 0.75)
    assert posed.world.submitted is False
    judge(explainer.current, posed.world, posed.stated, posed.stated.problem)
    contrary = with_model(explainer, Contrary(explainer.fitted_.decision)).current
    with pytest.raises(SurrogateMismatch):
        judge(contrary, posed.world, posed.stated, posed.stated.problem)
    with pytest.raises(SurrogateMismatch):
        judge_path(contrary, posed.world, posed.stated)


# what is promised


def everybody(plans: int, failures: int) -> Trials:
    worked = np.repeat((np.arange(plans) >= failures)[:, None], LEVELS.size, axis=1)
    return Trials(LEVELS, np.ones_like(worked), worked)


@pytest.mark.parametrize(("plans", "failures"), [(1, 0), (20, 0), (20, 3), (20, 19), (150, 40)])
def test_the_best_promise_is_the_exact_bound(plans: int, failures: int) -> None:
    """At the bound, so few failures are exactly as unlikely as is allowed for the first start."""
    found = choose_level(everybody(plans, failures), 0.999, 0.9)
    assert found.level is None
    assert binom.cdf(failures, plans, 1 - found.best) == pytest.approx(0.1 * 0.5)
    assert found.best_level == 1.0


def test_where_nothing_works_or_nobody_has_a_plan_nothing_can_be_promised() -> None:
    lost = choose_level(everybody(12, 12), 0.9)
    assert (lost.best, lost.best_level) == (0.0, 1.0)
    nobody = np.zeros((12, LEVELS.size), dtype=bool)
    found = choose_level(Trials(LEVELS, nobody, nobody), 0.9)
    assert (found.best, found.level, found.tests) == (0.0, None, ())


def test_one_person_may_be_enough_for_a_small_promise() -> None:
    assert choose_level(everybody(1, 0), 0.2, 0.5).level == LEVELS[0]  # 0.2 <= 0.5 * 0.5
    assert not choose_level(everybody(1, 0), 0.3, 0.5).kept


@pytest.mark.parametrize("name", ["share", "assurance"])
@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, 1.5, True, "0.9", math.nan])
def test_a_promise_is_a_share(name: str, value: Any) -> None:
    with pytest.raises(ParameterError):
        Promise(**({"share": 0.9} | {name: value}))
    with pytest.raises(ParameterError):
        check_share(name, value)


@pytest.mark.parametrize("failure", [0.0, 1.0, -0.5, 2.0])
def test_a_failure_probability_is_strictly_between(failure: float) -> None:
    with pytest.raises(ParameterError):
        sample_size(1, width=1.0, distance=0.1, failure=failure)
    with pytest.raises(ParameterError):
        estimation_error(10, failure=failure, log_growth=log_growth(10))


def test_an_imputation_that_is_right_costs_nothing() -> None:
    x = np.array([[1.0, 2.0], [-3.0, 1.0], [0.0, 0.0]])
    found = imputation_gap([1.0, 1.0], 0, x, x[:, 0])
    assert (found.gap, found.bound, found.loss, found.disputed, found.score) == (0.0, 0.0, 0.0, 0.0, 0.0)
    assert found.covariance == pytest.approx(-x[:, 0].var())


def test_an_imputation_loses_the_variance_and_its_covariance() -> None:
    x = np.random.default_rng(0).normal(2, 3, (50, 2))
    guess = x[::-1, 0] + 1.0  # the value of another one, and a bias
    found = imputation_gap([1.0, 1.0], 0, x, guess)
    assert found.loss == pytest.approx(x[:, 0].var() + found.covariance)


@pytest.mark.parametrize("shape", [(3, 3), (2, 2), (4, 2)])
def test_trials_of_another_shape_are_refused(shape: tuple[int, int]) -> None:
    fine, other = np.ones((3, 2), dtype=bool), np.ones(shape, dtype=bool)
    Trials(np.array([0.5, 1.0]), fine, fine)
    with pytest.raises(ParameterError):
        Trials(np.array([0.5, 1.0]), fine, other)
    with pytest.raises(ParameterError):
        Trials(np.array([0.25, 0.5, 1.0]), fine, fine)


def test_a_score_of_zero_is_accepted_and_disputed_only_with_less() -> None:
    x = np.array([[1.0, -1.0], [1.0, -1.0], [3.0, 1.0], [-1.0, -1.0]])  # scores 0, 0, 4, -2
    found = imputation_gap([1.0, 1.0], 0, x, np.array([2.0, 0.5, -1.0, 1.0]))  # then 1, -0.5, 0, 0
    assert found.disputed == 0.5  # the second and the fourth
    assert found.score == pytest.approx((0 + 4) / 2)


@given(st.integers(0, 10_000), st.floats(0.55, 0.95))
@settings(deadline=None, max_examples=40)
def test_a_promise_is_lost_at_the_first_tilt_that_still_says_something(seed: int, promise: float) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(3, 2, int(rng.integers(20, 60))).round(1)
    worked = rng.random(values.size) < 1 / (1 + np.exp(-rng.normal(0, 2) * (values - 3) - 2))
    z = (values - values.mean()) / values.std()

    def lost(delta: float) -> bool:
        share = np.exp(delta * z) / np.exp(delta * z).sum()
        return bool(1 / (share**2).sum() >= 20 and share[worked].sum() < promise)

    tried = [sign * step / 20 for step in range(61) for sign in (1, -1)]
    tilt = lost_at("a", values, worked, promise)
    assert tilt is not None
    assert tilt.delta == next((pytest.approx(delta) for delta in tried if lost(delta)), None)


def test_a_tilt_needs_people_who_differ() -> None:
    yes = np.ones(40, dtype=bool)
    assert lost_at("a", np.full(40, 3.0), yes, 0.9) is None
    assert lost_at("a", np.arange(19.0), yes[:19], 0.9) is None
    two = np.repeat([1.0, 3.0], 20)  # a spread of exactly one
    assert lost_at("a", two, yes, 0.9).delta is None
    assert lost_at("a", two[10:30], yes[:20], 0.9).delta is None
