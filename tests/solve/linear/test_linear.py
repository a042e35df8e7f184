"""What is special to the search over linear models; the rest is in the contract of all searches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armin.models.kinds import Above, Among, LinearModel
from armin.problem import Problem, Status
from armin.solve.search import search, search_path
from armin.solve.search.linear import engine, steps

from searching import check, check_path


def test_gains_that_differ_by_rounding_alone_are_not_told_apart() -> None:
    # 0.1 + 0.2 > 0.3 in floating point: the option that the model accepts must not be dropped for its equal
    model = LinearModel(np.array([[1.0]]), np.array([-(0.1 + 0.2)]), Above(0.0))
    problem = Problem.from_tables([[0.0]], {0: [0, 0.3, 0.1 + 0.2]}, {0: [0, 1, 2]}, model, 1)
    assert search(problem).choice == (2,)


def test_a_change_that_moves_both_outputs_alike_may_break_a_tie() -> None:
    # outputs x + 1e16 and x + 1e16 + 1: equal after rounding, and the first of equals wins; x = -1e16 tells them apart
    model = LinearModel(np.ones((2, 1)), np.array([0.0, 1.0]), Among((1,), 2))
    problem = Problem.from_tables([[1e16]], {0: [0, 1, -1e16]}, {0: [0, 1, 2]}, model, 1)
    check(problem, search(problem))
    assert search(problem).choice == (2,)


def long_path() -> Problem:
    rng = np.random.default_rng(3)
    model = LinearModel(rng.normal(size=(1, 12)), np.array([-9.0]), Above(0.0))
    moves = {d: np.append(0.0, np.linspace(-3.0, 3.0, 40)) for d in range(12)}
    costs = {d: np.abs(moves[d]) * rng.uniform(0.5, 1.5) for d in range(12)}
    return Problem.from_tables(rng.normal(size=(20, 12)), moves, costs, model, 15, max_changes=4)


def test_a_long_path_is_a_single_solve_at_every_weight() -> None:
    problem = long_path()
    path = search_path(problem)
    assert len(path) > 5
    for point in path:
        single = search(problem.demanding(point.weight))
        assert single.status is point.solution.status is Status.OPTIMAL
        assert single.cost == pytest.approx(point.solution.cost)


@pytest.mark.parametrize("at_once", [1, 3, 64])
def test_steps_of_a_path_are_the_same_however_many_are_taken_at_once(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = long_path()
    monkeypatch.setattr(engine.LinearEngine, "_ascend", lambda *_: False)
    apart = [(p.weight, p.solution.cost, p.solution.choice) for p in search_path(problem)]
    monkeypatch.undo()
    monkeypatch.setattr(steps, "AT_ONCE", at_once)
    assert [(p.weight, p.solution.cost, p.solution.choice) for p in search_path(problem)] == apart


def test_a_path_in_one_context_is_not_asked_for_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0

    def counted(*arguments: Any) -> bool:
        nonlocal asked
        asked += 1
        return dive(*arguments)

    dive = engine.dive
    monkeypatch.setattr(engine, "dive", counted)
    path = search_path(long_path())
    assert len(path) > 5
    assert asked < 5  # the first step alone


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([(1, 50_000), (3, 1), (64, 5), (64, 50_000)]), st.booleans())
def test_law_a_path_that_goes_on_by_itself_is_that_of_brute_force(seed: int, room: tuple[int, int], tied: bool) -> None:
    rng = np.random.default_rng(seed)
    columns, people = int(rng.integers(2, 5)), int(rng.integers(2, 9))
    if tied:  # scores that meet the cut, as far as the last digit goes
        weights, rows = rng.integers(1, 5, columns) * 0.1, rng.integers(-6, 1, (people, columns)) * 0.1
        moves = {d: np.append(0.0, np.sort(rng.permutation(8)[:4]) * 0.1 + 0.1) for d in range(columns)}
        costs = {d: np.append(0.0, rng.integers(1, 9, 4) * 0.25) for d in range(columns)}
        cut = rng.integers(-2, 6) * 0.01
    else:
        weights, rows = rng.normal(size=columns), np.tile(rng.normal(size=columns), (people, 1))
        rows[:, 0] = rng.normal(size=people)
        moves = {d: np.append(0.0, rng.normal(size=5)) for d in range(columns)}
        costs = {d: np.append(0.0, rng.uniform(0.1, 1.0, 5)) for d in range(columns)}
        cut = float(np.max(rows @ weights)) + rng.uniform(0.0, 1.0)
    model = LinearModel(weights[None, :], np.array([-cut]), Above(0.0))
    problem = Problem.from_tables(rows, moves, costs, model, 1, max_changes=int(rng.integers(1, columns + 1)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "FEW_CHOICES", 0)
        patch.setattr(steps, "AT_ONCE", room[0])
        patch.setattr(engine, "_STEPS", room[1])
        check_path(problem, search_path(problem))
