"""The layers in which a linear model's knapsack is settled: what they leave out, and what they find."""

from __future__ import annotations

import numpy as np
import pytest
from differ import Discrepancy, small_steps, trials
from hard import hard_problem
from hypothesis import given, settings
from hypothesis import strategies as st
from plain import Truth

from armin.models.kinds import Above, LinearModel
from armin.problem import Problem, Solution, Status
from armin.solve.search import search, search_best, search_path
from armin.solve.search.linear import engine

from searching import check, check_best, check_path, with_bans

WIDTHS = [(1,), (2, 16), (1000,)]
"""Too short for most fronts, for some, and for none of a small problem."""


def layered(patch: pytest.MonkeyPatch, widths: tuple[int, ...]) -> None:
    """Let every context be settled layer by layer."""
    layers = tuple((0, width) for width in widths)
    for name, value in (("FEW_CHOICES", 0), ("_PROBE", 1), ("_TRY", 2), ("_LAYERS", layers)):
        patch.setattr(engine, name, value)


def wide_problem(changes: int | None = None) -> Problem:
    """Sixty columns of thirty options, some of which weigh far more than others: too many choices are near the best."""
    rng, columns, levels = np.random.default_rng(0), 60, np.append(0.0, np.linspace(0.1, 2.0, 30))
    weights = np.exp(2.0 * rng.normal(size=columns))
    costs = {d: np.where(levels > 0, 0.2 + levels, 0.0) * weights[d] * rng.uniform(1.0, 3.0) for d in range(columns)}
    model = LinearModel(weights[None, :], np.array([-3.0]), Above(0.0))
    rows = np.tile(rng.normal(0.0, 0.1, size=columns), (20, 1))
    rows[:, 0] += rng.normal(size=20)
    return Problem.from_tables(rows, dict.fromkeys(range(columns), levels), costs, model, 15, max_changes=changes)


def front_cost(problem: Problem, most: float) -> float:
    """What the cheapest choice costs, if ``most`` is enough: all pairs of cost and gain that no other one beats."""
    model = problem.model
    assert isinstance(model, LinearModel)
    score = problem.candidates @ model.weights[0] + model.intercept[0]
    need = -float(np.sort(score)[-int(problem.required)])
    cost, gain = np.zeros(1), np.zeros(1)
    for options in problem.options:
        moves = (options.outcomes[0, :, 0] - options.outcomes[0, 0, 0]) * model.weights[0, options.columns[0]]
        cost, gain = (cost[:, None] + options.costs).ravel(), (gain[:, None] + moves).ravel()
        rank = np.lexsort((-gain, cost))
        rank = rank[cost[rank] <= most * (1 + 1e-9)]
        cost, gain = cost[rank], gain[rank]
        kept = np.append(True, gain[1:] > np.maximum.accumulate(gain)[:-1])
        cost, gain = cost[kept], gain[kept]
    return float(cost[gain >= need - 1e-9].min())


@pytest.mark.parametrize("widths", WIDTHS, ids=str)
def test_every_goal_is_what_plain_brute_force_finds(widths: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(40):
        rng = np.random.default_rng([seed, 77])
        problem = hard_problem(rng, "linear")
        for name, ask in trials(problem, Truth(problem), rng, milo=False):
            if "enumerate" in name or "auto" in name:
                continue
            try:
                with small_steps(True), monkeypatch.context() as patch:
                    layered(patch, widths)
                    ask()
            except Discrepancy as found:
                pytest.fail(f"seed {seed}, {name}: {found}")


@settings(max_examples=60, deadline=None)
@given(with_bans("linear"), st.sampled_from(WIDTHS))
def test_sets_that_are_ruled_out_stay_out(problem: Problem, widths: tuple[int, ...]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        layered(patch, widths)
        check(problem, search(problem))
        check_path(problem, search_path(problem))
        check_best(problem, search_best(problem, 3), 3)
        check_best(problem, search_best(problem, 3, differ="cores"), 3, "cores")


@pytest.mark.parametrize("changes", [None, 12])
def test_many_choices_near_the_best_are_not_looked_at_one_by_one(changes: int | None) -> None:
    problem = wide_problem(changes)

    def few(found: Solution) -> bool:
        return found.nodes < 10_000_000  # the dive alone needs far more

    found = search(problem, callback=few)
    assert found.status is Status.OPTIMAL
    assert found.cost is not None
    if changes is None:
        assert found.cost == pytest.approx(front_cost(problem, found.cost))


def test_a_front_that_is_too_long_still_holds_a_good_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = wide_problem()
    best = search(problem).cost
    monkeypatch.setattr(engine, "_LAYERS", ((20_000, 16),))
    seen: list[float] = []

    def stop(found: Solution) -> bool:
        seen.extend([] if found.cost is None else [found.cost])
        return found.nodes < 3_000_000

    found = search(problem, callback=stop)
    assert best is not None
    assert found.bound <= best * (1 + 1e-9)
    assert min(seen) <= 1.01 * best


@pytest.mark.parametrize("widths", WIDTHS, ids=str)
def test_ties_limits_and_alternatives_survive_the_layers(
    widths: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    layered(monkeypatch, widths)
    for seed in range(40):
        rng = np.random.default_rng([seed, 78])
        weights = rng.integers(1, 5, size=5) * 0.1
        moves = {d: np.append(0.0, rng.permutation(6)[:3] * 0.1 + 0.1) for d in range(5)}
        costs = {d: np.append(0.0, rng.integers(1, 9, size=3) * 0.1) for d in range(5)}
        need = float(rng.integers(2, 9)) * 0.05
        model = LinearModel(weights[None, :], np.array([-need]), Above(0.0))
        rows = np.tile(np.zeros(5), (3, 1))
        rows[:, 0] = rng.integers(-2, 1, size=3) * 0.1
        limit = int(rng.integers(2, 6))
        problem = Problem.from_tables(rows, moves, costs, model, int(rng.integers(1, 4)), max_changes=limit)
        check(problem, search(problem))
        check_path(problem, search_path(problem))
        check_best(problem, search_best(problem, 4), 4)
        check_best(problem, search_best(problem, 4, differ="cores"), 4, "cores")


def one_person(moves: dict[int, np.ndarray], costs: dict[int, np.ndarray], model: LinearModel, limit: int) -> Problem:
    return Problem.from_tables(np.zeros((1, len(moves))), moves, costs, model, 1, max_changes=limit)


def test_a_state_is_not_beaten_by_one_that_may_have_gained_less(monkeypatch: pytest.MonkeyPatch) -> None:
    layered(monkeypatch, (1000,))
    for seed in range(900, 960):  # in one of them the last digit decides between choices whose gains look the same
        rng = np.random.default_rng([seed, 79])
        columns = int(rng.integers(3, 6))
        weights = rng.integers(1, 8, size=columns) * 0.1
        moves = {d: np.append(0.0, np.sort(rng.permutation(8)[:4]) * 0.1 + 0.1) for d in range(columns)}
        costs = {d: np.append(0.0, np.sort(rng.integers(1, 9, size=4) * 0.1)) for d in range(columns)}
        score = np.array([moves[d][rng.integers(0, 5)] for d in range(columns)]) @ weights
        model = LinearModel(weights[None, :], -np.array([score]), Above(0.0))
        problem = one_person(moves, costs, model, int(rng.integers(2, columns + 1)))
        check(problem, search(problem))


def test_a_state_is_not_beaten_by_one_with_more_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    layered(monkeypatch, (1000,))
    for seed in range(80):
        rng = np.random.default_rng([seed, 80])
        columns, limit = int(rng.integers(4, 7)), int(rng.integers(3, 5))
        moves = {d: np.append(0.0, np.sort(rng.uniform(0.1, 1.0, size=3))) for d in range(columns)}
        # small steps are cheap, so that what several of them gain may be had by one
        costs = {d: moves[d] ** 2 * rng.uniform(0.5, 1.5) + 0.02 * (moves[d] > 0) for d in range(columns)}
        most = np.sort([own[-1] for own in moves.values()])[::-1][:limit].sum()
        model = LinearModel(np.ones((1, columns)), -np.array([most * rng.uniform(0.5, 0.9)]), Above(0.0))
        problem = one_person(moves, costs, model, limit)
        check(problem, search(problem))
        check_best(problem, search_best(problem, 4, differ="cores"), 4, "cores")
