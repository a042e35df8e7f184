"""Every goal on every engine, on MILO and on brute force, against a list of all choices."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from random import Random

import numpy as np
import pytest
from differ import check_best as check_several
from hard import HARD_KINDS, hard_problem
from hypothesis import given, settings
from hypothesis import strategies as st
from plain import Truth

from armin.errors import ParameterError
from armin.models.kinds import Above, Among, BlackBox, LinearModel, Model, ReluNetwork
from armin.problem import Options, Problem, Solution, Status
from armin.solve import solve, solve_best, solve_path
from armin.solve.repeat import DIFFER
from armin.solve.search import search, search_best, search_path
from armin.solve.search.goals import Frontier, Several
from armin.solve.search.linear import searcher as linear_searcher
from armin.solve.search.relu import engine as relu_engine
from armin.solve.search.trees import engine as trees_engine

from problems import HAND_CHECKED, Kind, stump, stumps
from searching import (
    check,
    check_best,
    check_honest,
    check_honest_best,
    check_honest_path,
    check_path,
    valid,
    with_bans,
)

KINDS: tuple[Kind, ...] = ("linear", "trees", "relu", "deep", "blackbox")
SOLVERS = [
    *(pytest.param("search", kind, 30, id=f"search-{kind}") for kind in KINDS),
    *(pytest.param("enumerate", kind, 15, id=f"enumerate-{kind}") for kind in ("linear", "trees", "blackbox")),
    *(pytest.param("milo", kind, 6, id=f"milo-{kind}") for kind in ("linear", "trees", "relu")),
]
every_solver = pytest.mark.parametrize(("method", "kind", "examples"), SOLVERS)
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines look up after every few nodes, and split nodes down to single choices."""
    monkeypatch.setattr(linear_searcher, "_NODES", 2)
    monkeypatch.setattr(trees_engine, "_LARGE", -1)
    monkeypatch.setattr(trees_engine, "_FEW_NODES", 5)
    monkeypatch.setattr(relu_engine, "FEW", 1.0)
    monkeypatch.setattr(relu_engine, "FEW_DEEP", 1.0)
    monkeypatch.setattr(relu_engine, "_share", lambda *tables: 1)


# --- the goals -------------------------------------------------------------------------------------------


@every_solver
def test_the_cheapest_choice(method: str, kind: Kind, examples: int) -> None:
    @settings(deadline=None, max_examples=2 * examples)
    @given(with_bans(kind))
    def law(problem: Problem) -> None:
        check(problem, solve(problem, method))

    law()


@every_solver
def test_the_whole_path_and_a_part_of_it(method: str, kind: Kind, examples: int) -> None:
    @settings(deadline=None, max_examples=examples)
    @given(with_bans(kind), st.floats(0.1, 1.0))
    def law(problem: Problem, share: float) -> None:
        check_path(problem, solve_path(problem, method))
        least = share * float(problem.weights.sum())
        check_path(problem, solve_path(problem, method, least=least), least)

    law()


@pytest.mark.parametrize("differ", DIFFER)
@every_solver
def test_several_that_differ(method: str, kind: Kind, examples: int, differ: str) -> None:
    @settings(deadline=None, max_examples=examples)
    @given(with_bans(kind), st.integers(1, 5 if method == "milo" else 12))
    def law(problem: Problem, count: int) -> None:
        check_best(problem, solve_best(problem, count, method, differ=differ), count, differ)

    law()


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("kind", ["linear", "trees", "relu", "deep"])
def test_small_steps_lead_to_the_same_answers(kind: Kind) -> None:
    @settings(deadline=None, max_examples=25)
    @given(with_bans(kind), st.sampled_from(DIFFER))
    def law(problem: Problem, differ: str) -> None:
        check(problem, search(problem))
        check_path(problem, search_path(problem))
        check_best(problem, search_best(problem, 4, differ=differ), 4, differ)

    law()


@pytest.mark.slow
@every_kind
def test_all_goals_at_length(kind: Kind) -> None:
    @settings(deadline=None, max_examples=2000)
    @given(with_bans(kind), st.sampled_from(DIFFER))
    def law(problem: Problem, differ: str) -> None:
        check(problem, search(problem))
        check_path(problem, search_path(problem))
        check_best(problem, search_best(problem, 6, differ=differ), 6, differ)

    law()


@every_kind
def test_one_candidate_that_must_always_be_accepted(kind: Kind) -> None:
    """Given more weight than all others together, and that weight as the least that matters."""

    @settings(deadline=None, max_examples=20)
    @given(with_bans(kind))
    def law(problem: Problem) -> None:
        weights = np.ones(problem.n_candidates)
        weights[0] = problem.n_candidates + 1.0
        problem = replace(problem, weights=weights, required=1.0)
        path = search_path(problem, least=float(weights[0]))
        check_path(problem, path, float(weights[0]))
        for point in path:
            assert point.solution.choice is None or problem.accepted(point.solution.choice)[0]

    law()


# --- stopped ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("how", ["callback", "interrupt", "time"])
@every_kind
def test_a_stopped_search_is_honest(kind: Kind, how: str) -> None:
    stopped = 0

    @settings(deadline=None, max_examples=25)
    @given(with_bans(kind), st.integers(0, 4), st.sampled_from(["sets", "cores"]))
    def law(problem: Problem, looks: int, differ: str) -> None:
        nonlocal stopped
        optimum = next((cost for cost, weight, _ in valid(problem) if problem.enough(weight)), np.inf)

        def looking(honest: bool = False) -> Callable[[Solution], bool] | None:
            seen = 0

            def look(solution: Solution) -> bool:
                nonlocal seen
                seen += 1
                if honest:
                    check_honest(problem, solution, optimum)
                if how == "interrupt" and seen > looks:
                    raise KeyboardInterrupt
                return seen <= looks

            return None if how == "time" else look

        limit = 0.0 if how == "time" else None
        found = search(problem, limit, looking(honest=True))
        check_honest(problem, found, optimum)
        stopped += found.status in (Status.FEASIBLE, Status.UNKNOWN)
        check_honest_path(problem, search_path(problem, limit, looking()))
        check_honest_best(problem, search_best(problem, 3, limit, looking(), differ=differ), differ)

    law()
    assert stopped > 0


# --- by hand ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", HAND_CHECKED, ids=lambda case: case.name)
def test_by_hand(case: object) -> None:
    problem, cost, choice = case.problem, case.cost, case.choice  # type: ignore[attr-defined]
    solution = search(problem)
    assert (solution.cost, solution.choice) == (cost, choice)


def adding(kind: str, features: int, need: float) -> Model:
    """A model that accepts if the sum of its inputs, all 0 or 1, is at least ``need``."""
    if kind == "linear":
        return LinearModel(np.ones((1, features)), np.array([-need]), Above(0.0))
    if kind == "trees":
        return stumps([stump(d, 0.5, 0.0, 1.0) for d in range(features)], features, Above(need))
    if kind == "relu":
        return ReluNetwork((np.ones((features, 1)), np.ones((1, 1))), (np.zeros(1), np.array([-need])), Above(0.0))
    return BlackBox(lambda rows: rows.sum(axis=1) >= need, features)


def wide(kind: str, features: int) -> Problem:
    """Many features, each of which adds one; two are needed."""
    costs = {d: [0.0, 1.0 + d / 64] for d in range(features)}
    steps = {d: [0, 1] for d in range(features)}
    return Problem.from_tables(np.zeros((2, features)), steps, costs, adding(kind, features, 2.0), 2, max_changes=2)


@pytest.mark.parametrize("kind", ["linear", "trees", "relu", "blackbox"])
def test_more_than_64_features(kind: str) -> None:
    problem = wide(kind, 70)
    pairs = frozenset(frozenset({a, b}) for a in range(70) for b in range(a) if {a, b} != {69, 66})
    for banned in (replace(problem, forbidden_sets=pairs), replace(problem, forbidden_cores=pairs)):
        solution = search(banned)
        assert solution.choice is not None
        assert [d for d, j in enumerate(solution.choice) if j] == [66, 69]
    for differ in ("sets", "cores"):
        found = search_best(problem, 5, differ=differ)
        assert [s.cost for s in found] == [2 + x / 64 for x in (1, 2, 3, 3, 4)]


@pytest.mark.parametrize("kind", ["linear", "trees", "relu", "blackbox"])
def test_a_change_without_effect_makes_another_set_but_no_other_core(kind: str) -> None:
    model = {
        "linear": LinearModel(np.array([[1.0, 0.0]]), np.array([-1.0]), Above(0.0)),
        "trees": stumps([stump(0, 0.5, -1, 1)], 2, Above(0.0)),
        "relu": ReluNetwork((np.array([[1.0], [0.0]]), np.ones((1, 1))), (np.zeros(1), np.array([-1.0])), Above(0.0)),
        "blackbox": BlackBox(lambda rows: rows[:, 0] >= 1, 2),
    }[kind]
    problem = Problem.from_tables([[0, 0]], {0: [0, 1], 1: [0, 7, 1]}, {0: [0, 1], 1: [0, 3, 2]}, model, 1)
    assert [(s.choice, s.cost) for s in search_best(problem, 2)] == [((1, 0), 1.0), ((1, 2), 3.0)]
    assert search(problem.without_set((1, 0))).choice == (1, 2)
    cores = search_best(problem, 2, differ="cores")
    assert [(s.choice, s.status) for s in cores] == [((1, 0), Status.OPTIMAL), (None, Status.INFEASIBLE)]
    choices = search_best(problem, 4, differ="choices")
    assert [s.choice for s in choices] == [(1, 0), (1, 2), (1, 1), None]


@pytest.mark.parametrize("method", ["search", "enumerate", "milo"])
def test_where_nothing_needs_to_change_there_is_one_core(method: str) -> None:
    problem = Problem.from_tables([[1, 1]], {0: [0, 1], 1: [0, 1]}, {0: [0, 1], 1: [0, 0]}, adding("linear", 2, 1.0), 1)
    cores = solve_best(problem, 3, method, differ="cores")
    assert [(s.choice, s.status) for s in cores] == [((0, 0), Status.OPTIMAL), (None, Status.INFEASIBLE)]
    sets = solve_best(problem, 9, method)
    assert [s.cost for s in sets] == [0.0, 0.0, 1.0, 1.0, None]


@pytest.mark.parametrize("method", ["search", "enumerate", "milo"])
def test_the_empty_core_rules_out_everything(method: str) -> None:
    problem = replace(wide("linear", 3), forbidden_cores=frozenset({frozenset()}))
    assert solve(problem, method).status is Status.INFEASIBLE
    assert not problem.allows(problem.keep)


def test_a_later_smaller_set_replaces_what_was_found() -> None:
    # {0, 1} for 1 + 1, {0} alone for 3, {1} alone for 4: all are cores; {0, 2} is none, as {0} costs less
    model = LinearModel(np.array([[2.0, 1.0, 0.5]]), np.array([-4.0]), Above(0.0))
    problem = Problem.from_tables(
        [[0, 0, 0]], {0: [0, 1, 2], 1: [0, 2, 4], 2: [0, 1]}, {0: [0, 1, 3], 1: [0, 1, 4], 2: [0, 2.5]}, model, 1
    )
    for method in ("search", "enumerate", "milo"):
        found = solve_best(problem, 5, method, differ="cores")
        assert [(s.choice, s.cost) for s in found] == [
            ((1, 1, 0), 2.0),
            ((2, 0, 0), 3.0),
            ((0, 2, 0), 4.0),
            (None, None),
        ]


# --- corners ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["linear", "trees", "relu", "blackbox"])
@pytest.mark.parametrize("need", [0.0, 3.0])
def test_nothing_can_change(kind: str, need: float) -> None:
    """No feature, or features without another option: the keep choice does, or nothing does."""
    for steps in ({}, {0: [0]}, {0: [0], 1: [0]}):
        problem = Problem.from_tables([[1, 1], [1, 0]], steps, steps, adding(kind, 2, need), 1)
        check(problem, search(problem))
        check_path(problem, search_path(problem))
        for differ in DIFFER:
            check_best(problem, search_best(problem, 2, differ=differ), 2, differ)


@pytest.mark.parametrize("kind", ["linear", "relu"])
@pytest.mark.parametrize("accepted", [(0, 1), ()])
def test_all_labels_are_desired_or_none_is(kind: str, accepted: tuple[int, ...]) -> None:
    decision = Among(accepted, 2)
    model: Model = LinearModel(np.ones((2, 1)), np.zeros(2), decision)
    if kind == "relu":
        model = ReluNetwork((np.ones((1, 2)), np.eye(2)), (np.zeros(2), np.zeros(2)), decision)
    problem = Problem.from_tables([[0], [1]], {0: [0, 1, 2]}, {0: [0, 1, 0.1]}, model, 2)
    problem = replace(problem, forbidden_sets=frozenset({frozenset()}))
    check(problem, search(problem))
    check_path(problem, search_path(problem))
    for differ in DIFFER:
        check_best(problem, search_best(problem, 3, differ=differ), 3, differ)


@pytest.mark.parametrize("decision", [Above(0.0), Among((0,), 2)])
@pytest.mark.parametrize("kind", ["linear", "relu"])
def test_inputs_that_are_not_numbers(kind: str, decision: Above | Among) -> None:
    outputs = decision.n_outputs
    model: Model = LinearModel(np.ones((outputs, 2)), np.zeros(outputs), decision)
    if kind == "relu":
        model = ReluNetwork((np.ones((2, outputs)), np.eye(outputs)), (np.ones(outputs), -np.ones(outputs)), decision)
    candidates = np.array([[np.nan, -3.0], [-1.0, -3.0], [0.0, -3.0]])
    outcomes = np.stack([candidates[:, 1:], candidates[:, 1:] + 3, candidates[:, 1:] + 4], axis=1)
    problem = Problem(candidates, (Options("y", np.array([1]), outcomes, np.array([0.0, 1.0, 2.0])),), model, 2.0)
    check(problem, search(problem))
    check_path(problem, search_path(problem))
    check_best(problem, search_best(problem, 3), 3)


def test_threads_and_repeats_agree() -> None:
    rng = np.random.default_rng(3)
    moves = {d: np.append(0.0, np.linspace(0.1, 3.0, 12)) for d in range(8)}
    candidates = np.repeat(rng.normal(size=(1, 8)) - 1.0, 20, axis=0)
    candidates[:, :2] = rng.normal(size=(20, 2)) - 1.0
    cuts = zip(rng.integers(8, size=40), rng.normal(size=40), strict=True)
    models = [
        LinearModel(rng.normal(size=(1, 8)), np.array([-4.0]), Above(0.0)),
        stumps([stump(int(d), float(c), -1.0, 1.0) for d, c in cuts], 8, Above(0.0)),
        ReluNetwork(
            (rng.normal(size=(8, 6)), rng.normal(size=(6, 1))), (rng.normal(size=6), np.array([-4.0])), Above(0.0)
        ),
    ]
    tasks = [Problem.from_tables(candidates, moves, moves, model, 15, max_changes=3) for model in models]

    def facts(problem: Problem) -> list[object]:
        every = [search(problem), *(p.solution for p in search_path(problem)), *search_best(problem, 3)]
        return [(s.status, s.choice, s.cost, s.bound, s.nodes) for s in every]

    alone = [facts(problem) for problem in tasks]
    assert all(answers[0][0] is Status.OPTIMAL for answers in alone)  # type: ignore[index]
    together: dict[int, list[object]] = {}
    threads = [
        threading.Thread(target=lambda i=i: together.setdefault(i, facts(tasks[i % 3])))  # type: ignore[misc]
        for i in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[i] for i in range(6)] == [*alone, *alone]


def test_refusals() -> None:
    problem = wide("linear", 2)
    with pytest.raises(ParameterError, match="'count'"):
        solve_best(problem, 0)
    with pytest.raises(ParameterError, match=r"'differ' must be one of .*'cores'.*'plans'"):
        solve_best(problem, 1, differ="plans")  # type: ignore[arg-type]
    for least in (0.0, 2.5):
        with pytest.raises(ParameterError, match=r"'least' must be in \(0, 2\]"):
            solve_path(problem, least=least)


@pytest.mark.parametrize("count", range(1, 6))
def test_a_plan_that_is_proved_is_not_ruled_out_by_another_of_its_cost(count: int) -> None:
    """The first plan changes three features, and plans that change two of them cost as much: where one of these took
    its place, the other was passed over.
    """
    numbers = [1795000176, 0, 12201, HARD_KINDS.index("linear")]
    problem = hard_problem(np.random.default_rng(numbers), "linear")
    found = search_best(problem, count, differ="cores")
    check_several(Truth(problem), found, count, "cores")
    assert [s.cost for s in found] == pytest.approx([0.7, 0.7, 0.7, 0.8, None][:count])


@given(
    st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 63), st.integers(1, 12)), max_size=20),
    st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_law_the_stairs_of_a_path_are_those_of_its_points(
    weights: list[float], offers: list[tuple[int, int]], some: bool
) -> None:
    """However they came about: one more step at the end, or all of them anew."""
    model = LinearModel(np.ones((1, 1)), np.zeros(1), Above(0.0))
    ones = np.ones((len(weights), 1))
    problem = Problem.from_tables(ones, {0: [0, 1]}, {0: [0, 1]}, model, required=0.5, weights=weights)
    goal = Frontier(problem, 1.0 if some and sum(weights) >= 1 else None)
    for who, cost in offers:
        goal.offer((1,), float(cost), sum(weight for i, weight in enumerate(weights) if who >> i & 1))
        for found, anew in zip(goal.stairs(), Frontier(problem, goal.least, goal.points).stairs(), strict=True):
            np.testing.assert_array_equal(found, anew)


@pytest.mark.parametrize("cores", [False, True])
def test_law_nothing_dearer_is_wanted_than_what_was_taken(cores: bool) -> None:
    """Plans are looked for one by one: an engine that passes over what costs more than it found must lose nothing."""

    @given(st.lists(st.sampled_from([1.0, 2.0]), min_size=6, max_size=6), st.randoms(use_true_random=False))
    @settings(max_examples=100, deadline=None)
    def law(prices: list[float], random: Random) -> None:
        model = LinearModel(np.ones((1, 3)), np.array([-3.0]), Above(0.0))  # three small changes, or a large one more
        tables = {d: [0.0, 1.0, 2.0] for d in range(3)}
        costs = {d: [0.0, *prices[2 * d : 2 * d + 2]] for d in range(3)}
        problem = Problem.from_tables(np.zeros((1, 3)), tables, costs, model, required=1, aggregate="max")
        goal, bound, more = Several(problem, 4, cores, one_by_one=True), 0.0, True
        while more:
            choices = [choice for choice in product(range(3), repeat=3) if problem.is_solved_by(choice)]
            random.shuffle(choices)
            for choice in choices:
                cost = problem.cost(choice)
                if bound <= cost < goal.worst and goal.offer(choice, cost, 1.0):
                    assert goal.worst <= cost
            bound = goal.worst
            more = goal.settle()
        found = goal.ranked()
        assert [cost for cost, _ in found] == sorted(cost for cost, _ in found)

    law()
