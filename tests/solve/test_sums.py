"""Linear rules on three features and more: search = MILO = brute force, and the path and the others with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armin.errors import ParameterError
from armin.models.kinds import Above, LinearModel
from armin.problem import PairRule, Problem, SumRule
from armin.solve import solve, solve_best, solve_path
from armin.solve.exact import picked
from armin.solve.search.split import Part

from agreement import check, with_sums
from problems import KINDS, problems, random_problem

SEEDS = st.integers(0, 2**32 - 1)


@st.composite
def summed(draw: st.DrawFn) -> Problem:
    problem = draw(problems(kinds=KINDS))
    return with_sums(problem, np.random.default_rng(draw(SEEDS)), draw(st.integers(1, 2)))


@settings(deadline=None, max_examples=80)
@given(problem=summed())
def test_all_solvers_agree(problem):
    check(problem)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_part_in_which_rules_leave_a_feature_nothing():
    rng = np.random.default_rng(3)
    problem = with_sums(random_problem(rng, n_numbers=4), rng, 2)
    first, second = problem.sums[0].features[:2]
    table = np.ones((problem.options[first].size, problem.options[second].size), dtype=bool)
    table[0, 1:] = False  # changing the second takes a change of the first
    ruled = replace(problem, rules=(PairRule(first, second, table),))
    every = [tuple(range(options.size)) for options in problem.options]
    every[first], every[second] = (0,), every[second][1:]
    assert Part.of(ruled, tuple(every)) is None
    assert Part.of(problem, tuple(every)) is not None


@pytest.mark.slow
@settings(deadline=None, max_examples=2000)
@given(problem=summed())
def test_all_solvers_agree_thousands_of_times(problem):
    check(problem)


@settings(deadline=None, max_examples=25)
@given(problem=summed())
def test_the_path_is_the_same(problem):
    found, reference = solve_path(problem, "search"), solve_path(problem, "enumerate")
    assert [p.solution.status for p in found] == [p.solution.status for p in reference]
    assert [p.weight for p in found] == pytest.approx([p.weight for p in reference])
    for one, other in zip(found, reference, strict=True):
        assert one.solution.cost == pytest.approx(other.solution.cost)


@settings(deadline=None, max_examples=25)
@given(problem=summed(), differ=st.sampled_from(["choices", "sets", "cores"]))
def test_the_cheapest_that_differ_are_the_same(problem, differ):
    found, reference = (solve_best(problem, 3, method, differ=differ) for method in ("search", "enumerate"))
    assert [s.status for s in found] == [s.status for s in reference]
    for one, other in zip(found, reference, strict=True):
        assert one.cost == pytest.approx(other.cost)


@settings(deadline=None, max_examples=15)
@given(problem=problems(kinds=("blackbox",)), seed=SEEDS)
def test_a_black_box_obeys_too(problem, seed):
    problem = with_sums(problem, np.random.default_rng(seed))
    found, reference = solve(problem, "search"), solve(problem, "enumerate")
    assert (found.status, found.cost) == (reference.status, pytest.approx(reference.cost))


@settings(deadline=None, max_examples=20)
@given(problem=summed())
def test_what_is_listed_is_what_is_allowed(problem):
    from armin.solve.enumerate import enumerate_choices

    listed = {tuple(choice) for choice in enumerate_choices(replace(problem, forbidden=frozenset()))[0].tolist()}
    for choice in np.ndindex(*(option.size for option in problem.options)):
        assert (choice in listed) == replace(problem, forbidden=frozenset()).allows(choice)


def test_a_sum_that_forbids_to_change_nothing_is_refused():
    model = LinearModel(np.ones((1, 3)), np.zeros(1), Above(0.0))
    three = {d: [0, 1] for d in range(3)}
    problem = Problem.from_tables([[0, 0, 0]], three, three, model, 1)
    part = np.array([[1.0, 0.0]])
    with pytest.raises(ParameterError, match="SumRule must have parts"):
        replace(problem, sums=(SumRule((0, 1, 2), (part, part, part), np.array([2.0])),))
    with pytest.raises(ParameterError, match="SumRule must have parts of the shapes"):
        replace(problem, sums=(SumRule((0, 1, 2), (part, part, part[:, :1]), np.array([9.0])),))


@pytest.mark.parametrize("aggregate", ["sum", "max"])
def test_by_hand(aggregate):
    """Four units in all: the cheapest would take two of the first and two of the second, which the sum forbids."""
    model = LinearModel(np.ones((1, 3)), np.array([-4.0]), Above(0.0))
    steps, costs = {d: [0, 1, 2] for d in range(3)}, {0: [0, 1, 2], 1: [0, 1, 2], 2: [0, 2, 7]}
    problem = replace(Problem.from_tables([[0, 0, 0]], steps, costs, model, 1), aggregate=aggregate)
    assert solve(problem, "search").cost == (4.0 if aggregate == "sum" else 2.0)
    step = np.array([[0.0, 1.0, 2.0]])
    ruled = replace(problem, sums=(SumRule((0, 1, 2), (2 * step, 2 * step, step), np.array([7.0])),))
    for method in ("search", "milo", "enumerate"):
        assert solve(ruled, method).cost == (5.0 if aggregate == "sum" else 2.0), method


def test_auto_gives_linear_models_with_a_sum_to_milo():
    """Too many choices to list: 40 steps of each of four features, of which the sum allows three a little."""
    steps = {d: np.arange(41.0) for d in range(4)}
    costs = {0: steps[0], 1: 2 * steps[1], 2: 3 * steps[2], 3: 4 * steps[3]}
    model = LinearModel(np.ones((1, 4)), np.array([-30.0]), Above(0.0))
    problem = Problem.from_tables(np.zeros((1, 4)), steps, costs, model, required=1)
    ruled = replace(problem, sums=(SumRule((0, 1, 2), (steps[0][None],) * 3, np.array([20.0])),))
    found = solve(ruled)
    assert (found.solver, found.choice, found.cost) == ("milo-highs", (20, 0, 0, 10), 60.0)
    assert [picked(one, "auto") for one in (problem, ruled)] == ["search", "milo"]
    assert solve_path(ruled)[-1].solution.cost == solve_best(ruled, 1)[0].cost == 60.0
