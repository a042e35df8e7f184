"""The search over tree ensembles against brute force, on every feature of the problem language."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armin.errors import SolverError
from armin.models.kinds import Above, LinearModel, TreeEnsemble
from armin.problem import Options, Problem, Solution, Status
from armin.solve.enumerate import solve_by_enumeration
from armin.solve.search.trees import best_trees, path_trees, search_trees
from armin.solve.search.trees import engine as trees_run

from problems import HAND_CHECKED, stump, stumps
from searching import check, check_best, check_path, frontier, with_sets

QUICK = settings(deadline=None, max_examples=60)
LONG = settings(deadline=None, max_examples=3000)


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables made anew for each budget, and many looks at the clock."""
    monkeypatch.setattr(trees_run, "_LARGE", -1)
    monkeypatch.setattr(trees_run, "_FEW_NODES", 5)


@pytest.mark.parametrize(
    "case", [c for c in HAND_CHECKED if isinstance(c.problem.model, TreeEnsemble)], ids=lambda case: case.name
)
def test_by_hand(case: object) -> None:
    problem, cost, choice = case.problem, case.cost, case.choice  # type: ignore[attr-defined]
    solution = search_trees(problem)
    assert (solution.cost, solution.choice) == (cost, choice)


@QUICK
@given(with_sets("trees"))
def test_search_is_brute_force(problem: Problem) -> None:
    check(problem, search_trees(problem), solve_by_enumeration(problem))


@QUICK
@given(with_sets("trees"))
def test_path_is_brute_force(problem: Problem) -> None:
    check_path(problem, path_trees(problem))


@QUICK
@given(with_sets("trees"), st.integers(1, 12))
def test_best_are_brute_force(problem: Problem, count: int) -> None:
    check_best(problem, best_trees(problem, count), count)


@pytest.mark.slow
@LONG
@given(with_sets("trees"))
def test_all_is_brute_force_at_length(problem: Problem) -> None:
    check(problem, search_trees(problem), solve_by_enumeration(problem))
    check_path(problem, path_trees(problem))
    check_best(problem, best_trees(problem, 6), 6)


@pytest.mark.usefixtures("small_steps")
def test_tables_for_each_budget() -> None:
    @settings(deadline=None, max_examples=40)
    @given(with_sets("trees"))
    def law(problem: Problem) -> None:
        check(problem, search_trees(problem), solve_by_enumeration(problem))
        check_path(problem, path_trees(problem))
        check_best(problem, best_trees(problem, 4), 4)

    law()


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("how", ["callback", "interrupt", "time"])
def test_a_stopped_search_is_honest(how: str) -> None:
    stopped = 0

    @settings(deadline=None, max_examples=40)
    @given(with_sets("trees"), st.integers(0, 4))
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

        solution = search_trees(problem, 0.0) if how == "time" else search_trees(problem, callback=look)
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
        path = path_trees(problem, 0.0) if how == "time" else path_trees(problem, callback=look)
        expected = frontier(problem)
        got = [(p.solution.cost, p.weight) for p in path if p.solution.choice is not None]
        for cost, weight in got:  # the last one may be beaten at its own cost by what was not searched any more
            assert cost == pytest.approx(next(c for c, w in expected if w >= weight - 1e-9))
        if path[-1].solution.status is Status.UNKNOWN and len(got) < len(expected):
            assert path[-1].solution.bound <= expected[len(got)][0] * (1 + 1e-12)

    law()
    assert stopped > 0


def wide(features: int) -> Problem:
    """Many features, each of which adds one vote; two votes are needed."""
    trees = stumps([stump(d, 0.5, 0.0, 1.0) for d in range(features)], features, Above(2.0))
    costs = {d: [0.0, 1.0 + d / 64] for d in range(features)}
    return Problem.from_tables(np.zeros((2, features)), {d: [0, 1] for d in range(features)}, costs, trees, 2)


def test_more_than_64_features() -> None:
    problem = replace(wide(70), max_changes=2)
    banned = frozenset(frozenset({a, b}) for a in range(70) for b in range(a) if {a, b} != {69, 66})
    solution = search_trees(replace(problem, forbidden_sets=banned))
    assert solution.choice is not None
    assert [d for d, j in enumerate(solution.choice) if j] == [66, 69]
    found = best_trees(wide(70), 5)
    assert [s.cost for s in found] == [2 + x / 64 for x in (1, 2, 3, 3, 4)]


def test_a_change_without_effect_makes_another_set() -> None:
    problem = Problem.from_tables(
        [[0, 0]], {0: [0, 1], 1: [0, 7, 1]}, {0: [0, 1], 1: [0, 3, 2]}, stumps([stump(0, 0.5, -1, 1)], 2, Above(0.0)), 1
    )
    assert [(s.choice, s.cost) for s in best_trees(problem, 2)] == [((1, 0), 1.0), ((1, 2), 3.0)]
    assert search_trees(problem.without_set((1, 0))).choice == (1, 2)


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
    path = path_trees(problem)
    assert [p.weight for p in path] == [float(w) for w in range(1, 16)]
    check_path(problem, path)


def test_threads_and_repeats_agree() -> None:
    rng = np.random.default_rng(3)
    trees = stumps(
        [
            stump(int(d), float(c), -1.0, 1.0)
            for d, c in zip(rng.integers(8, size=40), rng.normal(size=40), strict=True)
        ],
        8,
        Above(0.0),
    )
    moves = {d: np.append(0.0, np.linspace(0.1, 3.0, 12)) for d in range(8)}
    candidates = np.repeat(rng.normal(size=(1, 8)) - 1.0, 20, axis=0)
    candidates[:, :2] = rng.normal(size=(20, 2)) - 1.0
    problem = Problem.from_tables(candidates, moves, moves, trees, 15, max_changes=3)
    alone = search_trees(problem)
    assert alone.status is Status.OPTIMAL
    answers: list[Solution] = []
    threads = [threading.Thread(target=lambda: answers.append(search_trees(problem))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [(s.choice, s.cost, s.nodes) for s in answers] == [(alone.choice, alone.cost, alone.nodes)] * 4
    paths = [path_trees(problem) for _ in range(2)]
    assert [p.solution.choice for p in paths[0]] == [p.solution.choice for p in paths[1]]


def test_refuses_other_models() -> None:
    problem = replace(wide(2), model=LinearModel(np.ones((1, 2)), np.zeros(1), Above(0.0)))
    with pytest.raises(SolverError, match="TreeEnsemble"):
        search_trees(problem)
