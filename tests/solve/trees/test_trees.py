"""What is special to the search over tree ensembles; the rest is in the contract of all searches."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armin.models.kinds import Above, TreeEnsemble
from armin.problem import Options, Problem
from armin.solve.repeat import Differ
from armin.solve.search import search, search_best, search_path
from armin.solve.search.trees import engine
from armin.solve.search.trees.engine import TreeEngine, start_trees
from armin.solve.search.trees.leaves import reduce_problem
from armin.solve.search.trees.terms import TermsEngine

from problems import random_problem, random_trees, stump, stumps
from searching import check, check_best, check_path, with_bans


def test_many_weights_make_a_long_path() -> None:
    # weights 1, 2, 4, 8, each with a stump of its own: more points than candidates
    rng = np.random.default_rng(0)
    n = 4
    outcomes = np.zeros((n, 16, 1))
    outcomes[:, 0, 0] = -1.0 - np.arange(n)
    for j in range(1, 16):
        outcomes[:, j, 0] = np.where((j >> np.arange(n)) & 1, 1.0 + np.arange(n), -1.0 - np.arange(n))
    options = (Options("x", np.array([0]), outcomes, np.append(0.0, np.sort(rng.random(15)))),)
    weights = 2.0 ** np.arange(n)
    problem = Problem(outcomes[:, 0], options, stumps([stump(0, 0.0, -1, 1)], 1, Above(0.0)), 1.0, weights)
    path = search_path(problem)
    assert [p.weight for p in path] == [float(w) for w in range(1, 16)]
    check_path(problem, path)


def made_for(problem: Problem) -> TreeEngine | TermsEngine:
    assert isinstance(problem.model, TreeEnsemble)
    return start_trees(problem, problem.model, False)


def check_tables(problem: Problem, differ: Differ) -> None:
    assert isinstance(problem.model, TreeEnsemble)
    if reduce_problem(problem, problem.model).commons:
        assert isinstance(made_for(problem), TermsEngine)
    check(problem, search(problem))
    check_path(problem, search_path(problem))
    check_best(problem, search_best(problem, 3, differ=differ), 3, differ)


@given(problem=with_bans("trees", pairs=True), differ=st.sampled_from(["sets", "cores"]))
@settings(deadline=None, max_examples=60)
def test_a_sum_of_tables_is_searched_as_such_and_right(problem: Problem, differ: Differ) -> None:
    check_tables(problem, differ)


@pytest.mark.slow
@given(problem=with_bans("trees", pairs=True), differ=st.sampled_from(["sets", "cores"]))
@settings(deadline=None, max_examples=3000)
def test_many_sums_of_tables_are_searched_right(problem: Problem, differ: Differ) -> None:
    check_tables(problem, differ)


def long_problem(seed: int, changes: int = 4) -> Problem:
    """Many options and candidates that differ: more than a list of all choices could hold."""
    rng = np.random.default_rng(seed)
    width, n = 8, 30
    candidates = np.repeat(rng.normal(0, 2, (1, width)), n, axis=0)
    candidates[:, :2] = rng.normal(0, 2, (n, 2))
    options = []
    for d in range(width):
        steps = np.append(0.0, rng.normal(0, 3, 25))
        outcomes = candidates[:, None, d : d + 1] + steps[None, :, None]
        options.append(Options(f"f{d}", np.array([d]), outcomes if d < 2 else outcomes[:1], np.abs(steps) ** 1.3))
    model = random_trees(rng, width, Above(0.0), n_trees=40, depth=6, grid=None, pairs=True)
    return Problem(candidates, tuple(options), model, required=0.7 * n, max_changes=changes)


@pytest.mark.parametrize("seed", range(6))
def test_tables_and_leaves_lead_to_the_same_plans(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = long_problem(seed)
    assert isinstance(made_for(problem), TermsEngine)
    one, path = search(problem), search_path(problem)
    monkeypatch.setattr(engine, "add_up", lambda reduced: None)
    assert isinstance(made_for(problem), TreeEngine)
    other, other_path = search(problem), search_path(problem)
    assert (one.status, one.cost) == (other.status, pytest.approx(other.cost, rel=1e-12))
    assert [p.weight for p in path] == [p.weight for p in other_path]
    assert [p.solution.cost for p in path] == pytest.approx([p.solution.cost for p in other_path], rel=1e-12)


@given(seed=st.integers(0, 100), times=st.floats(1.0001, 1e6))
@settings(deadline=None, max_examples=60)
def test_budgets_end_at_what_a_plan_costs_and_none_ends_just_below(seed: int, times: float) -> None:
    problem = random_problem(np.random.default_rng(seed), "trees")
    assert isinstance(problem.model, TreeEnsemble)
    searching = TreeEngine(reduce_problem(problem, problem.model), 0.7, 1e9, False)
    plan = 0.7 * times
    budgets = [searching.cap]
    while searching.cap < plan:
        searching.cap = searching._next_cap(1.5, plan)
        budgets.append(searching.cap)
    assert budgets[-1] == plan
    assert all(1.2 * a <= b for a, b in pairwise(budgets[1:]))
    assert len(budgets) <= 3 + np.log(times) / np.log(1.3)


def test_budgets_from_the_smallest_number_to_a_large_plan() -> None:
    problem = random_problem(np.random.default_rng(0), "trees")
    assert isinstance(problem.model, TreeEnsemble)
    searching = TreeEngine(reduce_problem(problem, problem.model), 5e-324, 1e300, False)
    while searching.cap < 1e299:
        before, searching.cap = searching.cap, searching._next_cap(1.5, 1e299)
        assert before < searching.cap <= 1e299
