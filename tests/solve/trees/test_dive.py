"""The first plan and the bounds for hard problems, on small ones where every choice can be listed."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from armin.models.kinds import Above, ReluNetwork, TreeEnsemble
from armin.problem import Problem
from armin.solve.search import search, search_best, search_path
from armin.solve.search.dive import PARTS, Nearby, _knapsack, dive, dive_together
from armin.solve.search.goals import Cheapest, Frontier, Goal, Several
from armin.solve.search.relu import engine as relu_engine
from armin.solve.search.relu.nearby import ReluNearby
from armin.solve.search.relu.tables import plan_of
from armin.solve.search.trees import engine as trees_engine
from armin.solve.search.trees.leaves import reduce_problem
from armin.solve.search.trees.nearby import TreesNearby

from problems import Kind, problems, random_problem, stump, stumps
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


def _additive(kind: Kind) -> TreeEnsemble | ReluNetwork:
    """Six inputs added up, at least 12: two stumps for each, or neurons."""
    if kind == "trees":
        trees = [stump(d, cut, 0.0, gain) for d in range(6) for cut, gain in ((0.5, 1.0), (3.5, 3.0))]
        return stumps(trees, 6, Above(12.0))
    deep = [np.eye(6)] if kind == "deep" else []
    biases = (*(np.zeros(6) for _ in range(1 + len(deep))), np.array([-12.0]))
    return ReluNetwork((np.eye(6), *deep, np.ones((6, 1))), biases, Above(0.0))


@pytest.mark.parametrize("kind", ["trees", "relu", "deep"])
def test_steps_that_do_their_share_get_there_where_cheap_ones_use_up_the_changes(kind: Kind) -> None:
    amounts, costs = [0.0, 1.0, 4.0], [0.0, 0.1, 2.0]  # the small change is the better bargain, but three are allowed
    each = range(6)
    problem = Problem.from_tables(
        np.zeros((1, 6)), dict.fromkeys(each, amounts), dict.fromkeys(each, costs), _additive(kind), 1, max_changes=3
    )
    goal = Cheapest(problem)
    for _, _ in zip(range(3), dive(problem, goal, nearby_of(problem), 60), strict=False):
        pass
    assert goal.best is not None
    assert goal.best[0] == pytest.approx(6.0)


@pytest.mark.parametrize("kind", ["trees", "relu", "deep"])
def test_the_answer_is_the_same_after_the_beginning_of_a_dive(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees_engine, "_SOONER", 1 << 60)
    monkeypatch.setattr(trees_engine, "_MORE", 0)
    monkeypatch.setattr(relu_engine, "SOON", 0)
    monkeypatch.setattr(relu_engine, "LATER", 0)

    @QUICK
    @given(with_bans(kind))
    def law(problem: Problem) -> None:
        check(problem, search(problem))
        check_path(problem, search_path(problem))

    law()


def test_what_helps_together_is_true_and_no_dearer_than_before() -> None:
    @QUICK
    @given(problems(("relu", "deep")), st.integers(1, 4))
    def law(problem: Problem, few: int) -> None:
        goal, plan = Cheapest(problem), plan_of(problem, problem.model)
        near, rough = ReluNearby(plan), ReluNearby(plan, few)
        for _ in dive(problem, goal, near, 4):
            pass
        before = goal.worst
        for _ in dive_together(problem, goal, near, rough, 60):
            pass
        assert goal.worst <= before
        if goal.best is not None:
            assert problem.is_solved_by(goal.best[1])
            assert goal.best[0] == problem.cost(goal.best[1])

    law()


def test_changes_that_help_only_together_are_found() -> None:
    """Every single change of the first two inputs makes matters worse; both help more than anything else."""
    first = np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
    # 3 relu(a + b - 1) - 2 |a - b| + c: alone, a and b cost two, together they give three
    weights = (
        np.hstack([first[:, :1], first[:, 1:2], -first[:, 1:2], first[:, 2:]]),
        np.array([[3.0], [-2], [-2], [1]]),
    )
    model = ReluNetwork(weights, (np.array([-1.0, 0, 0, 0]), np.array([-3.0])), Above(0.0))
    problem = Problem.from_tables(
        np.zeros((2, 3)),
        {0: [0, 1], 1: [0, 1], 2: [0, 1, 2, 3]},
        {0: [0, 1], 1: [0, 1], 2: [0, 1, 2, 30]},
        model,
        2,
        max_changes=3,
    )
    plan = plan_of(problem, model)
    assert isinstance(problem.model, ReluNetwork)
    goal = Cheapest(problem)
    goal.offer((0, 0, 3), 30.0, 2.0)
    for _ in dive_together(problem, goal, ReluNearby(plan), ReluNearby(plan, 1), 10):
        pass
    assert goal.best == (2.0, (1, 1, 0))


@pytest.mark.parametrize("seed", range(4))
def test_candidates_that_are_looked_at_together_are_told_apart(seed: int) -> None:
    problem = random_problem(np.random.default_rng(seed), "trees", n=200, grid=None, blanks=True)
    nearby = nearby_of(problem)
    everybody, rng = np.arange(nearby.weight.size), np.random.default_rng(seed)
    assert everybody.size > 32  # more than go through a tree at once
    for move in rng.permutation(nearby.feature.size)[:5]:
        start = list(problem.keep)
        start[nearby.feature[move]] = int(nearby.option[move])
        choice, counts = tuple(start), rng.random(everybody.size) < 0.5
        margins = nearby.margins(choice, everybody)
        accepted, lacking = nearby.look(choice, everybody, nearby.weight, counts)
        assert margins.tolist() == [nearby.margins(choice, everybody[i : i + 1])[0] for i in everybody]
        alone = [nearby.look(choice, everybody[[i]], nearby.weight[[i]], counts[[i]]) for i in everybody]
        np.testing.assert_allclose(accepted, sum(a for a, _ in alone), rtol=1e-9)
        np.testing.assert_allclose(lacking, sum(b for _, b in alone), rtol=1e-9, atol=1e-9)


@QUICK
@given(st.randoms(use_true_random=False), st.integers(1, 3), st.floats(0.5, 12.0))
def test_a_knapsack_of_changes_makes_as_much_as_can_be_for_the_least(rng: object, count: int, room: float) -> None:
    draw = np.random.default_rng(rng.getrandbits(32))  # type: ignore[attr-defined]
    feature = np.repeat(np.arange(4), 3)
    parts, cost = draw.integers(0, PARTS + 1, feature.size), draw.integers(1, 30, feature.size) / 4
    moves = _knapsack(parts, cost, feature, count, room).tolist()
    ways = [w for k in range(count + 1) for w in combinations(range(feature.size), k) if len({*feature[[*w]]}) == k]
    made = [(min(PARTS, int(parts[[*w]].sum())), -float(cost[[*w]].sum())) for w in ways]
    most = max(m for m in made if -m[1] < room)
    if most[0] > 0:
        assert len({*feature[moves]}) == len(moves) <= count
        assert (min(PARTS, int(parts[moves].sum())), -float(cost[moves].sum())) == most
    assert parts[moves].tolist()[0] == parts[moves].max()


def test_after_a_dive_that_looks_at_all_no_single_change_can_be_replaced_by_a_cheaper_one() -> None:
    @QUICK
    @given(st.integers(0, 10_000))
    def law(seed: int) -> None:
        problem = random_problem(np.random.default_rng(seed), "trees", n=12, max_changes=3)
        nearby, goal = nearby_of(problem), Cheapest(problem)
        nearby.most = 2
        for _ in dive(problem, goal, nearby, 2000, packed=True):
            pass
        if goal.best is None:
            return
        cost, best = goal.best
        for d, move in product([d for d, j in enumerate(best) if j], range(nearby.feature.size)):
            after = [0 if e == d else j for e, j in enumerate(best)]
            after[nearby.feature[move]] = int(nearby.option[move])
            choice = tuple(after)
            assert problem.cost(choice) >= cost * (1 - 1e-9) or not problem.is_solved_by(choice)

    law()


def test_a_knapsack_finds_plans_that_replacing_one_change_by_two_does_not() -> None:
    reached = [0, 0]
    for seed in range(20):
        rng = np.random.default_rng(seed)
        steps, costs = rng.random((12, 5)), np.cumsum(rng.random((12, 5)) ** 2, axis=1)
        trees = [stump(d, j + 0.5, 0.0, float(steps[d, j])) for d in range(12) for j in range(5)]
        each = {d: [0.0, *costs[d].tolist()] for d in range(12)}
        amounts = {d: [0.0, 1.0, 2.0, 3.0, 4.0, 5.0] for d in range(12)}
        model = stumps(trees, 12, Above(8.0))
        problem = Problem.from_tables(np.zeros((1, 12)), amounts, each, model, 1, max_changes=6)
        best = search(problem).cost
        for packed in (False, True):
            goal = Cheapest(problem)
            for _ in dive(problem, goal, nearby_of(problem), 60, packed=packed):
                pass
            reached[packed] += best is not None and goal.worst <= best * (1 + 1e-9)
    assert reached[True] >= 16 > reached[False]
