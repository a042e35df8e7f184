"""Three independent solvers, one optimum: search = MILO = brute force, on every feature of the problem language."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armin.problem import Status
from armin.solve import solve, solve_path

from agreement import check, same
from problems import problems, random_problem

KINDS = ("linear", "relu", "deep", "trees")
SEEDS = st.integers(0, 2**32 - 1)


@settings(deadline=None, max_examples=120)
@given(problem=problems(kinds=KINDS))
def test_all_solvers_agree(problem):
    check(problem)


@settings(deadline=None, max_examples=30)
@given(problem=problems(kinds=("blackbox",)))
def test_search_of_black_boxes_agrees(problem):
    same(solve(problem, "search"), solve(problem, "enumerate"))


@pytest.mark.slow
@settings(deadline=None, max_examples=3000)
@given(problem=problems(kinds=KINDS))
def test_all_solvers_agree_thousands_of_times(problem):
    check(problem)


@settings(deadline=None, max_examples=60)
@given(problem=problems(kinds=KINDS), seed=SEEDS)
def test_forbidden_sets_and_cores_of_features(problem, seed):
    rng = np.random.default_rng(seed)
    sets = {frozenset(np.flatnonzero(rng.random(len(problem.options)) < 0.5).tolist()) for _ in range(3)}
    check(replace(problem, forbidden_sets=frozenset(sets)))
    check(replace(problem, forbidden_cores=frozenset(sets)))


@settings(deadline=None, max_examples=60)
@given(problem=problems(kinds=KINDS))
def test_the_path_is_the_optimum_at_every_requirement(problem):
    points = solve_path(problem, "search")
    total = float(problem.weights.sum())
    for level in np.unique(np.linspace(0.02, 1.0, 12) * total):
        if level <= 0:
            continue
        best = solve(problem.demanding(float(level)), "enumerate")
        point = next((p for p in points if p.weight >= level - 1e-9 * total and p.solution.choice is not None), None)
        assert (best.cost is None) == (point is None)
        if point is not None:
            assert point.solution.cost == pytest.approx(best.cost)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stopped_search_states_a_true_bound(kind):
    stopped = 0
    for seed in range(40):
        problem = random_problem(np.random.default_rng(seed), kind, n=8, n_numbers=5, n_missing=2)
        best = solve(problem, "enumerate")
        found = solve(problem, "search", callback=lambda _: False)
        truth = np.inf if best.cost is None else best.cost
        assert found.bound <= truth + 1e-9
        assert found.cost is None or found.cost >= truth - 1e-9
        assert found.status is not Status.OPTIMAL or found.cost == pytest.approx(truth)
        stopped += found.status in (Status.FEASIBLE, Status.UNKNOWN)
    # the linear search ends on such small problems before it asks
    assert stopped or kind == "linear", "nothing was ever stopped: the test shows nothing"
