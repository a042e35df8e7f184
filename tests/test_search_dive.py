"""The first plan and the bounds for hard problems, on small ones where every choice can be listed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from armin.models.kinds import ReluNetwork, TreeEnsemble
from armin.problem import Problem
from armin.solve.search import search, search_best, search_path
from armin.solve.search.dive import Nearby, dive
from armin.solve.search.goals import Cheapest, Frontier, Goal, Several
from armin.solve.search.relu import engine as relu_engine
from armin.solve.search.relu.nearby import ReluNearby
from armin.solve.search.relu.tables import plan_of
from armin.solve.search.trees import engine as trees_engine
from armin.solve.search.trees.leaves import reduce_problem
from armin.solve.search.trees.nearby import TreesNearby

from problems import Kind, problems, random_problem
from searching import check, check_best, check_path, frontier, with_bans

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def nearby_of(problem: Problem) -> Nearby:
    if isinstance(problem.model, TreeEnsemble):
        return TreesNearby(reduce_problem(problem, problem.model))
    assert isinstance(problem.model, ReluNetwork)
    return ReluNearby(plan_of(problem, problem.model))


def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dive first, and use the bounds for hard problems from the first node on."""
    monkeypatch.setattr(trees_engine, "_SOON", 0)
    monkeypatch.setattr(trees_engine, "_PLAIN", 0)
    monkeypatch.setattr(relu_engine, "SOON", 0)


@pytest.mark.parametrize("kind", ["trees", "relu", "deep"])
def test_what_a_dive_offers_is_true(kind: Kind) -> None:
    @QUICK
    @given(problems((kind,)))
    def law(problem: Problem) -> None:
        best, several = Cheapest(problem), Several(problem, 3)
        for goal in (best, several):
            for _ in dive(problem, goal, nearby_of(problem), 60):
                pass
        for plan in [best.best, *several.ranked()]:
            if plan is not None:
                assert problem.is_solved_by(plan[1])
                assert plan[0] == problem.cost(plan[1])
        path = Frontier(problem)
        for _ in dive(problem, path, nearby_of(problem), 60):
            pass
        truth = frontier(problem)
        for point in path.points:
            assert problem.allows(point.choice)
            assert point.weight == pytest.approx(problem.weight_accepted(point.choice), rel=1e-9)
            assert point.cost >= min(cost for cost, weight in truth if weight >= point.weight - 1e-9) * (1 - 1e-9)

    law()


@pytest.mark.parametrize("kind", ["trees", "relu", "deep"])
def test_a_look_around_knows_what_every_single_change_does(kind: Kind) -> None:
    @QUICK
    @given(problems((kind,)), st.randoms(use_true_random=False))
    def law(problem: Problem, rng: object) -> None:
        nearby = nearby_of(problem)
        if not nearby.feature.size:
            return
        start = list(problem.keep)
        moves = np.random.default_rng(0).permutation(nearby.feature.size)[:2]
        for move in moves:
            start[nearby.feature[move]] = int(nearby.option[move])
        everybody, choice = np.arange(nearby.weight.size), tuple(start)
        accepted, _ = nearby.look(choice, everybody, nearby.weight, np.ones(everybody.size, dtype=bool))
        for move in range(nearby.feature.size):
            d = int(nearby.feature[move])
            after = (*choice[:d], int(nearby.option[move]), *choice[d + 1 :])
            margins = nearby.margins(after, everybody)
            clear = (
                float(nearby.weight[margins > nearby.slack].sum()),
                float(nearby.weight[margins >= -nearby.slack].sum()),
            )
            true = problem.weight_accepted(after)
            assert clear[0] - 1e-9 <= true <= clear[1] + 1e-9
            assert clear[0] - 1e-9 <= accepted[move] <= clear[1] + 1e-9

    law()


@pytest.mark.parametrize("kind", ["trees", "relu", "deep"])
def test_the_answer_is_the_same_after_a_dive(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(monkeypatch)

    @QUICK
    @given(with_bans(kind), st.integers(1, 4))
    def law(problem: Problem, count: int) -> None:
        check(problem, search(problem))
        check_path(problem, search_path(problem))
        check_best(problem, search_best(problem, count), count)

    law()


@pytest.mark.parametrize("kind", ["trees", "relu", "deep"])
def test_a_dive_takes_the_same_way_every_time(kind: Kind) -> None:
    problem = random_problem(np.random.default_rng(3), kind)
    ways = []
    for _ in range(2):
        goal: Goal = Cheapest(problem)
        ways.append([goal.worst for _ in dive(problem, goal, nearby_of(problem), 60)])
    assert ways[0] == ways[1]
