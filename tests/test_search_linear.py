"""The search over linear models against brute force, on every feature of the problem language."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armin.errors import SolverError
from armin.models.kinds import Above, Among, LinearModel
from armin.problem import Options, Problem, Solution, Status
from armin.solve.enumerate import solve_by_enumeration
from armin.solve.search.linear import best_linear, path_linear, search_linear
from armin.solve.search.linear import engine as linear_run

from problems import HAND_CHECKED, stump, stumps
from searching import check, check_best, check_path, frontier, with_sets

QUICK = settings(deadline=None, max_examples=60)
LONG = settings(deadline=None, max_examples=3000)


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many looks at the clock."""
    monkeypatch.setattr(linear_run, "_NODES", 2)


@pytest.mark.parametrize(
    "case", [c for c in HAND_CHECKED if isinstance(c.problem.model, LinearModel)], ids=lambda case: case.name
)
def test_by_hand(case: object) -> None:
    problem, cost, choice = case.problem, case.cost, case.choice  # type: ignore[attr-defined]
    solution = search_linear(problem)
    assert (solution.cost, solution.choice) == (cost, choice)


@QUICK
@given(with_sets("linear"))
def test_search_is_brute_force(problem: Problem) -> None:
    check(problem, search_linear(problem), solve_by_enumeration(problem))


@QUICK
@given(with_sets("linear"))
def test_path_is_brute_force(problem: Problem) -> None:
    check_path(problem, path_linear(problem))


@QUICK
@given(with_sets("linear"), st.integers(1, 12))
def test_best_are_brute_force(problem: Problem, count: int) -> None:
    check_best(problem, best_linear(problem, count), count)


@pytest.mark.slow
@LONG
@given(with_sets("linear"))
def test_all_is_brute_force_at_length(problem: Problem) -> None:
    check(problem, search_linear(problem), solve_by_enumeration(problem))
    check_path(problem, path_linear(problem))
    check_best(problem, best_linear(problem, 6), 6)


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("how", ["callback", "interrupt", "time"])
def test_a_stopped_search_is_honest(how: str) -> None:
    stopped = 0

    @settings(deadline=None, max_examples=40)
    @given(with_sets("linear"), st.integers(0, 4))
    def law(problem: Problem, looks: int) -> None:
        nonlocal stopped
        reference = solve_by_enumeration(problem)
        optimum = np.inf if reference.cost is None else reference.cost
        seen: list[Solution] = []

        def look(solution: Solution) -> bool:
            seen.append(solution)
            if how == "interrupt" and len(seen) > looks:
                raise KeyboardInterrupt
            return len(seen) <= looks

        solution = search_linear(problem, 0.0) if how == "time" else search_linear(problem, callback=look)
        for state in [*seen, solution]:
            assert state.bound <= optimum * (1 + 1e-12)
            if state.choice is not None:
                assert problem.is_solved_by(state.choice)
                assert state.cost == problem.cost(state.choice)
        if solution.status in (Status.OPTIMAL, Status.INFEASIBLE):
            check(problem, solution, reference)
        else:
            stopped += 1
        # a stopped path: what it shows is true, and it says that it was stopped
        seen.clear()
        path = path_linear(problem, 0.0) if how == "time" else path_linear(problem, callback=look)
        expected = frontier(problem)
        got = [(p.solution.cost, p.weight) for p in path if p.solution.choice is not None]
        for cost, weight in got:  # the last one may be beaten at its own cost by what was not searched any more
            assert cost == pytest.approx(next(c for c, w in expected if w >= weight - 1e-9))
        if path[-1].solution.status is Status.UNKNOWN and len(got) < len(expected):
            assert path[-1].solution.bound <= expected[len(got)][0] * (1 + 1e-12)

    law()
    assert stopped > 0


def wide(features: int) -> Problem:
    """Many features, each of which adds one; two are needed."""
    model = LinearModel(np.ones((1, features)), np.array([-2.0]), Above(0.0))
    costs = {d: [0.0, 1.0 + d / 64] for d in range(features)}
    return Problem.from_tables(np.zeros((2, features)), {d: [0, 1] for d in range(features)}, costs, model, 2)


def test_more_than_64_features() -> None:
    problem = replace(wide(70), max_changes=2)
    banned = frozenset(frozenset({a, b}) for a in range(70) for b in range(a) if {a, b} != {69, 66})
    solution = search_linear(replace(problem, forbidden_sets=banned))
    assert solution.choice is not None
    assert [d for d, j in enumerate(solution.choice) if j] == [66, 69]
    found = best_linear(wide(70), 5)
    assert [s.cost for s in found] == [2 + x / 64 for x in (1, 2, 3, 3, 4)]


def test_a_change_without_effect_makes_another_set() -> None:
    model = LinearModel(np.array([[1.0, 0.0]]), np.array([-1.0]), Above(0.0))
    problem = Problem.from_tables([[0, 0]], {0: [0, 1], 1: [0, 7, 1]}, {0: [0, 1], 1: [0, 3, 2]}, model, 1)
    assert [(s.choice, s.cost) for s in best_linear(problem, 2)] == [((1, 0), 1.0), ((1, 2), 3.0)]
    assert search_linear(problem.without_set((1, 0))).choice == (1, 2)


def test_gains_that_differ_by_rounding_alone_are_not_told_apart() -> None:
    # 0.1 + 0.2 > 0.3 in floating point: the option that the model accepts must not be dropped for its equal
    model = LinearModel(np.array([[1.0]]), np.array([-(0.1 + 0.2)]), Above(0.0))
    problem = Problem.from_tables([[0.0]], {0: [0, 0.3, 0.1 + 0.2]}, {0: [0, 1, 2]}, model, 1)
    assert search_linear(problem).choice == (2,)


def test_a_change_that_moves_both_outputs_alike_may_break_a_tie() -> None:
    # outputs x + 1e16 and x + 1e16 + 1: equal after rounding, and the first of equals wins; x = -1e16 tells them apart
    model = LinearModel(np.ones((2, 1)), np.array([0.0, 1.0]), Among((1,), 2))
    problem = Problem.from_tables([[1e16]], {0: [0, 1, -1e16]}, {0: [0, 1, 2]}, model, 1)
    check(problem, search_linear(problem), solve_by_enumeration(problem))
    assert search_linear(problem).choice == (2,)


@pytest.mark.parametrize("decision", [Above(0.0), Among((0,), 2)])
def test_inputs_that_are_not_numbers(decision: Above | Among) -> None:
    model = LinearModel(np.ones((decision.n_outputs, 2)), np.zeros(decision.n_outputs), decision)
    candidates = np.array([[np.nan, -3.0], [-1.0, -3.0], [0.0, -3.0]])
    outcomes = np.stack([candidates[:, 1:], candidates[:, 1:] + 3, candidates[:, 1:] + 4], axis=1)
    options = (Options("y", np.array([1]), outcomes, np.array([0.0, 1.0, 2.0])),)
    problem = Problem(candidates, options, model, 2.0)
    check(problem, search_linear(problem), solve_by_enumeration(problem))
    check_path(problem, path_linear(problem))
    check_best(problem, best_linear(problem, 3), 3)


def test_threads_and_repeats_agree() -> None:
    rng = np.random.default_rng(3)
    model = LinearModel(rng.normal(size=(1, 12)), np.array([-9.0]), Above(0.0))
    moves = {d: np.append(0.0, np.linspace(-3.0, 3.0, 40)) for d in range(12)}
    costs = {d: np.abs(moves[d]) * rng.uniform(0.5, 1.5) for d in range(12)}
    problem = Problem.from_tables(rng.normal(size=(20, 12)), moves, costs, model, 15, max_changes=4)
    alone = search_linear(problem)
    assert alone.status is Status.OPTIMAL
    answers: list[Solution] = []
    threads = [threading.Thread(target=lambda: answers.append(search_linear(problem))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [(s.choice, s.cost, s.nodes) for s in answers] == [(alone.choice, alone.cost, alone.nodes)] * 4
    paths = [path_linear(problem) for _ in range(2)]
    assert [p.solution.choice for p in paths[0]] == [p.solution.choice for p in paths[1]]
    for point in paths[0]:
        single = search_linear(problem.demanding(point.weight))
        assert single.cost == pytest.approx(point.solution.cost)


def test_refuses_other_models() -> None:
    problem = replace(wide(2), model=stumps([stump(0, 0.0, -1, 1)], 2, Above(0.0)))
    with pytest.raises(SolverError, match="LinearModel"):
        search_linear(problem)
