"""What is special to the search over ReLU networks; the rest is in the contract of all searches."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from armin.arrays import FloatArray
from armin.models.kinds import Above, Among, LinearModel, ReluNetwork
from armin.problem import Options, Problem, Solution, Status
from armin.solve import search as searches
from armin.solve.enumerate import solve_by_enumeration
from armin.solve.search import search, search_best, search_path
from armin.solve.search.goals import Goal
from armin.solve.search.relu import engine as relu_engine
from armin.solve.search.relu import groups as relu_groups
from armin.solve.search.relu.boxes import place_own, shrink
from armin.solve.search.relu.data import FREE, KEPT, MUST, Deep, Moves, Net, Node, Own, Space, new_work
from armin.solve.search.relu.deep import bound_layers
from armin.solve.search.relu.reach import room_of
from armin.solve.search.relu.tables import cases_of, first_node, plan_of, tables_of

from problems import DECISIONS, problems, random_network, random_problem
from searching import check, check_best, check_honest, check_honest_best, check_honest_path, check_path

NETWORKS = problems(("relu", "deep"))
FEW = settings(max_examples=60, deadline=None)
MANY = settings(max_examples=1500, deadline=None)


# --- problems --------------------------------------------------------------------------------------------


def with_odd_moves(problem: Problem, rng: np.random.Generator) -> Problem:
    """The first feature moves each candidate by its own multiple."""
    first = problem.options[0]
    factor = rng.choice([0.5, 1.0, 2.0], (problem.n_candidates, 1, 1))
    now = problem.candidates[:, None, first.columns]
    outcomes = now + (np.broadcast_to(first.outcomes, (problem.n_candidates, *first.outcomes.shape[1:])) - now) * factor
    return replace(problem, options=(replace(first, outcomes=outcomes), *problem.options[1:]))


def with_products(problem: Problem, rng: np.random.Generator, features: int = 2) -> Problem:
    """The first features move each candidate in its own way, as a product with a blank does."""
    options = list(problem.options)
    for d, option in enumerate(options[:features]):
        now = problem.candidates[:, None, option.columns]
        moves = rng.normal(size=(problem.n_candidates, option.size - 1, option.columns.size)) * rng.uniform(0.1, 2.0)
        outcomes = np.concatenate([now, now + moves], axis=1)
        options[d] = replace(option, outcomes=outcomes)
    return replace(problem, options=tuple(options))


def with_targets(problem: Problem, rng: np.random.Generator, features: int = 2) -> Problem:
    """The first features are brought to at least, or at most, so much; candidates differ in them."""
    candidates, options = problem.candidates.copy(), list(problem.options)
    for d, option in enumerate(options[:features]):
        now = rng.normal(size=(problem.n_candidates, option.columns.size)) * 2.0
        candidates[:, option.columns] = now
        targets = rng.normal(size=(option.size - 1, option.columns.size)) * 2.0
        up = (rng.random(option.size - 1) < 0.6)[None, :, None]
        after = np.where(up, np.maximum(now[:, None], targets), np.minimum(now[:, None], targets))
        options[d] = replace(option, outcomes=np.concatenate([now[:, None], after], axis=1))
    return replace(problem, candidates=candidates, options=tuple(options))


def with_forbidden_sets(problem: Problem, rng: np.random.Generator) -> Problem:
    """Some sets of features are ruled out, that of the cheapest choice among them."""
    size = len(problem.options)
    sets = {frozenset(np.flatnonzero(rng.random(size) < 0.5).tolist()) for _ in range(int(rng.integers(1, 4)))}
    found = solve_by_enumeration(problem)
    banned = replace(problem, forbidden_sets=frozenset(sets))
    return banned if found.choice is None else banned.without_set(found.choice)


@st.composite
def any_problem(draw: st.DrawFn) -> Problem:
    problem = draw(NETWORKS)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):
        problem = draw(st.sampled_from([with_odd_moves, with_targets]))(problem, rng)
    return with_forbidden_sets(problem, rng) if draw(st.booleans()) else problem


def wide_problem(rng: np.random.Generator, kind: str, features: int = 9, size: int = 8, n: int = 30) -> Problem:
    """Large enough to be split into many nodes, small enough to enumerate; a few random choices in a hundred do."""
    hidden = (6, 5) if kind == "deep" else (8,)
    sizes = [features + 1, *hidden, 1]
    weights = tuple(rng.normal(size=(a, b)) / np.sqrt(a) for a, b in pairwise(sizes))
    biases = tuple(rng.normal(size=b) * 0.5 for b in hidden)
    candidates = np.repeat(rng.normal(size=(1, features + 1)), n, axis=0)
    candidates[:, [0, features]] = rng.normal(size=(n, 2))
    options = []
    for d in range(features):
        steps = np.append(0.0, rng.normal(size=size))
        now = candidates[:, d] if d == 0 else candidates[:1, d]
        costs = np.abs(steps) * rng.uniform(0.5, 2.0)
        options.append(Options(f"f{d}", np.array([d]), (now[:, None] + steps)[:, :, None], costs))
    net = ReluNetwork(weights, (*biases, np.zeros(1)), Above(0.0))
    required = int(rng.integers(n // 2, n + 1))
    problem = Problem(candidates, tuple(options), net, float(required), max_changes=3)
    reached = []
    for _ in range(300):
        choice = np.zeros(features, dtype=int)
        choice[rng.choice(features, 3, replace=False)] = rng.integers(1, size + 1, 3)
        reached.append(np.sort(net.outputs(problem.inputs(tuple(choice.tolist())))[:, 0])[n - required])
    cut = float(np.quantile(reached, 0.98))
    return replace(problem, model=ReluNetwork(weights, (*biases, np.array([-cut])), Above(0.0)))


def many_features(size: int = 70) -> Problem:
    """More features than a machine word has bits; each alone suffices, at rising cost."""
    net = ReluNetwork((np.ones((size, 1)), np.ones((1, 1))), (np.zeros(1), np.array([-1.0])), Above(0.0))
    return Problem.from_tables(
        np.zeros((1, size)), {d: [0, 1] for d in range(size)}, {d: [0, 1 + d] for d in range(size)}, net, required=1
    )


# --- what must hold --------------------------------------------------------------------------------------


@pytest.fixture
def split_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Split nodes down to single choices, and look up after every node."""
    monkeypatch.setattr(relu_groups, "FEWEST", 1)
    monkeypatch.setattr(relu_engine, "FEW", 1.0)
    monkeypatch.setattr(relu_engine, "FEW_DEEP", 1.0)
    monkeypatch.setattr(relu_engine, "_share", lambda *tables: 1)


def check_all(problem: Problem, wanted: int) -> None:
    check(problem, search(problem))
    check_path(problem, search_path(problem))
    for differ in ("sets", "cores"):
        check_best(problem, search_best(problem, wanted, differ=differ), wanted, differ)


# --- agreement -------------------------------------------------------------------------------------------


@given(any_problem(), st.integers(1, 5))
@settings(max_examples=20, deadline=None)
def test_search_path_and_best_agree_with_brute_force(problem: Problem, wanted: int) -> None:
    check_all(problem, wanted)


@pytest.mark.usefixtures("split_all")
@pytest.mark.parametrize("seed", range(40))
def test_agreement_with_every_node_split(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(
        rng,
        "deep" if seed % 3 == 0 else "relu",
        decision=DECISIONS[seed % len(DECISIONS)],
        block=seed % 4 if seed % 4 > 1 else 0,
        mode="reach" if seed % 5 == 0 else "shift",
        aggregate="max" if seed % 7 == 0 else "sum",
        weighted=seed % 2 == 0,
        n_rules=seed % 3,
        n_forbidden=seed % 4,
        max_changes=(None, 1, 2, 3)[seed % 4],
    )
    check_all(with_forbidden_sets(problem, rng) if seed % 2 else problem, 3)


@pytest.mark.parametrize(("kind", "seed"), [("relu", 0), ("relu", 1), ("deep", 2)])
def test_larger_problems(kind: str, seed: int) -> None:
    problem = wide_problem(np.random.default_rng(seed), kind)
    check_all(problem, 4)
    points = search_path(problem)
    for required in range(1, problem.n_candidates + 1):
        answer = next(p for p in points if p.weight >= required or p.solution.choice is None)
        single = search(problem.demanding(float(required)))
        assert single.cost == pytest.approx(answer.solution.cost)


@pytest.mark.parametrize(("kind", "seed"), [("relu", 0), ("relu", 1), ("relu", 2), ("deep", 3), ("deep", 4)])
def test_targets_for_blanks_are_one_search_not_one_for_each_combination(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = with_targets(wide_problem(rng, kind, features=6, size=7, n=20), rng)
    assert isinstance(problem.model, ReluNetwork)
    engine = relu_engine.start_relu(problem, problem.model)
    assert engine is not None
    assert len(engine.cases) == 1
    assert (engine.plan.own, engine.plan.odd) == ((0, 1), ())
    for required in (3, 10, 15, 20):
        asked = problem.demanding(float(required))
        check(asked, search(asked))
    check_path(problem, search_path(problem))
    check_best(problem, search_best(problem, 3), 3, "sets")


@pytest.mark.parametrize("seed", range(40))
def test_cases_taken_together_agree_with_brute_force(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else there is: rules and forbidden choices name options, of which a group has many."""
    monkeypatch.setattr(searches, "FEW_CHOICES", 0)
    monkeypatch.setattr(relu_groups, "FEWEST", 2)
    monkeypatch.setattr(relu_engine, "GLANCE", (1, 4, 64)[seed % 3])
    rng = np.random.default_rng(seed)
    problem = random_problem(
        rng,
        "relu",
        decision=DECISIONS[0],
        mode="reach" if seed % 5 == 0 else "shift",
        aggregate="max" if seed % 7 == 0 else "sum",
        weighted=seed % 2 == 0,
        n_rules=seed % 4,
        n_forbidden=seed % 3,
        max_changes=(None, 1, 2, 3)[seed % 4],
    )
    problem = with_products(problem, rng, features=1 + seed % 3)
    problem = with_forbidden_sets(problem, rng) if seed % 2 else problem
    assert isinstance(problem.model, ReluNetwork)
    engine = relu_engine.start_relu(problem, problem.model)
    assert engine is not None
    assert engine.groups or not engine.plan.odd
    check_all(problem, 3)


@pytest.mark.parametrize("seed", range(6))
def test_a_group_is_no_harder_than_any_of_its_cases(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = with_products(wide_problem(rng, "relu", features=5, size=9, n=20), rng, features=2)
    assert isinstance(problem.model, ReluNetwork)
    engine = relu_engine.start_relu(problem, problem.model)
    assert engine is not None
    assert len(engine.groups) == 4
    todo, seen = list(engine.groups), 0
    while todo:
        group = todo.pop()
        network, optimist = engine.plan.network, relu_groups.tables_of_group(engine.plan, group, problem.limit)
        scores = network.scores(optimist.crowd.base.T)
        for picks in product(*(some.picks.tolist() for some in group.among)):
            choice = list(problem.keep)
            for some, j in zip(group.among, picks, strict=True):
                choice[some.position] = j
            assert group.floor <= problem.cost(tuple(choice)) * (1.0 + 1e-12)
            true = problem.model.outputs(problem.inputs(tuple(choice)))[:, 0]
            assert np.all(np.sort(scores) >= np.sort(true) - 1e-9)
            seen += 1
        if group.size > 1:
            todo += group.halves()
        else:
            assert group.floor == pytest.approx(
                problem.cost(tuple(dict(group.case.picked).get(f, 0) for f in range(5)))
            )
    assert seen > 9 * 9


def test_a_choice_that_is_ruled_out_does_not_rule_out_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches, "FEW_CHOICES", 0)
    net = ReluNetwork((np.eye(3), np.ones((3, 1))), (np.zeros(3), np.array([-3.5])), Above(0.0))
    candidates = np.zeros((4, 3))
    moves = np.random.default_rng(0).uniform(2.0, 3.0, (4, 9, 2))  # all of them are accepted
    outcomes = np.concatenate([candidates[:, None, :2], moves], axis=1)
    odd = Options("odd", np.array([0, 1]), outcomes, np.append(0.0, np.ones(9)))
    idle = Options("idle", np.array([2]), np.zeros((1, 2, 1)), np.array([0.0, 1.0]))
    problem = Problem(candidates, (odd, idle), net, 4.0, max_changes=1)
    for j in range(1, 9):  # in the end only the last one is left
        problem = replace(problem, forbidden=problem.forbidden | {(j, 0)})
        found = search(problem)
        assert (found.status, found.cost) == (Status.OPTIMAL, 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_few_of_many_cases_are_opened(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    problem = wide_problem(rng, "relu", features=6, size=16, n=20)
    options = list(problem.options)
    for d in range(2):  # each candidate in its own way, but not by much
        outcomes = np.repeat(options[d].outcomes[:1], 20, axis=0) + rng.normal(size=(20, 17, 1)) * 0.05
        outcomes[:, 0] = problem.candidates[:, options[d].columns]
        options[d] = replace(options[d], outcomes=outcomes)
    problem = replace(problem, options=tuple(options)).demanding(15.0)
    opened = []
    monkeypatch.setattr(relu_engine, "_opened", lambda *a, real=relu_engine._opened: opened.append(a) or real(*a))
    together = search(problem)
    some = len(opened)
    opened.clear()
    monkeypatch.setattr(relu_groups, "FEWEST", 10**9)
    one_by_one = search(problem)
    assert together.cost == pytest.approx(one_by_one.cost)
    assert some < len(opened) / 2


@pytest.mark.usefixtures("split_all")
@pytest.mark.parametrize("seed", range(20))
def test_targets_agree_with_every_node_split(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(
        rng,
        "deep" if seed % 3 == 0 else "relu",
        decision=DECISIONS[seed % len(DECISIONS)],
        aggregate="max" if seed % 7 == 0 else "sum",
        weighted=seed % 2 == 0,
        n_rules=seed % 3,
        n_forbidden=seed % 4,
        max_changes=(None, 1, 2, 3)[seed % 4],
    )
    check_all(with_targets(problem, rng, features=1 + seed % 3), 3)


def test_bounds_with_own_moves_hold_for_every_choice_of_a_node() -> None:
    """The first layer of each candidate after each choice lies where the node says."""
    rng = np.random.default_rng(7)
    problem = with_targets(wide_problem(rng, "relu", features=4, size=5, n=8), rng)
    assert isinstance(problem.model, ReluNetwork)
    plan = plan_of(problem, problem.model)
    (case,) = cases_of(plan)
    tables, deep = tables_of(plan, case, problem.limit, problem.required)
    assert deep is None
    moves, own = tables.moves, tables.own
    for _ in range(30):
        node, _ = first_node(plan, case.changed, tables, problem.required)
        picks = {}
        for d in range(node.shape[1]):
            low, high = np.sort(rng.choice(np.arange(moves.start[d], moves.start[d + 1] + 1), 2, replace=False))
            node[:, d] = rng.choice([KEPT, FREE, MUST]), low, high
            picks[d] = [j for j in range(low, high) if node[0, d] != KEPT] + ([-1] if node[0, d] != MUST else [])
        place_own.py_func(moves, tables.crowd, own, node)  # type: ignore[attr-defined]  # as it is before compilation
        for o, d in enumerate(own.feature.tolist()):
            for j in picks[d]:
                moved = own.move[own.start[o] + j - moves.start[d]] if j >= 0 else np.zeros(own.move.shape[1])
                assert np.all((own.span[0, o] <= moved) & (moved <= own.span[1, o]))
        first, second = own.feature.tolist()
        for i, j in product(picks[first], picks[second]):
            layer = tables.crowd.base.copy()
            for o, (d, k) in enumerate([(first, i), (second, j)]):
                if k >= 0:
                    layer += moves.row[d][:, None] * own.move[own.start[o] + k - moves.start[d]][None, :]
            assert np.all((own.low <= layer + 1e-12) & (layer <= own.high + 1e-12))


@njit  # type: ignore[untyped-decorator]  # parts are called by compiled code only
def _bounded(moves: Moves, deep: Deep, own: Own, work: Space, node: Node, cap: float, g: int) -> float:
    floor, left = shrink(moves, node, work.feature[0], cap)
    if floor >= 0.0:
        bound_layers(moves, deep, own, work, node, left, room_of(moves, floor, cap), g)
    return floor


def _layers_after(tables: Net, deep: Deep, options: tuple[int, ...], who: slice) -> list[FloatArray]:
    """What enters the neurons of some candidates, layer by layer, after options of the tables."""
    moves, own = tables.moves, tables.own
    z = tables.crowd.base[:, who].copy()
    for j in options:
        z += moves.move[j][:, None]
        for o, d in enumerate(own.feature.tolist()):
            if moves.start[d] <= j < moves.start[d + 1]:
                z += moves.row[d][:, None] * own.move[own.start[o] + j - moves.start[d], who]
    layers = [z]
    for i, (inner, outer) in enumerate(pairwise(deep.width.tolist())):
        z = deep.weight[i, :outer, :inner] @ np.maximum(z, 0.0) + deep.bias[i, :outer, None]
        layers.append(z)
    return layers


@pytest.mark.parametrize("seed", range(8))
def test_neurons_stay_within_their_intervals_for_every_choice_below_the_budget(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = wide_problem(rng, "deep", features=4, size=5, n=8)
    problem = replace(problem, max_changes=2 + seed % 3, aggregate="max" if seed == 7 else "sum")
    problem = with_targets(problem, rng) if seed % 2 else problem
    assert isinstance(problem.model, ReluNetwork)
    plan = plan_of(problem, problem.model)
    tables, deep = tables_of(plan, cases_of(plan)[0], problem.limit, problem.required)
    assert deep is not None
    moves, work, asked = tables.moves, new_work(tables), 0
    for _ in range(6):
        node, _ = first_node(plan, frozenset(), tables, problem.required)
        for d in range(node.shape[1]):
            low, high = np.sort(rng.choice(np.arange(moves.start[d], moves.start[d + 1] + 1), 2, replace=False))
            node[:, d] = rng.choice([KEPT, FREE, FREE, MUST]), low, high
        picks = [[*range(b * (s != KEPT), c * (s != KEPT))] + [-1] * (s != MUST) for s, b, c in node.T.tolist()]
        total = max if moves.largest else sum
        cap = rng.uniform(0.3, 1.0) * float(total([moves.cost[p].max() for p in picks if p != [-1]] or [1.0]))
        g = int(rng.integers(deep.group.size - 1))
        if _bounded(moves, deep, tables.own, work, node, cap, g) < 0.0:
            continue
        for choice in product(*picks):
            options = tuple(j for j in choice if j >= 0)
            if len(options) > problem.limit or not total([0.0, *(float(moves.cost[j]) for j in options)]) < cap:
                continue
            asked += 1
            for i, z in enumerate(_layers_after(tables, deep, options, slice(deep.group[g], deep.group[g + 1]))):
                low, high = deep.z[0, i, : z.shape[0], None], deep.z[1, i, : z.shape[0], None]
                assert np.all((low - 1e-9 <= z) & (z <= high + 1e-9))  # rounding
    assert asked > 20


# --- faults that were found --------------------------------------------------------------------------------


@pytest.mark.parametrize("hidden", [(3,), (3, 2)])
def test_where_every_label_is_desired_nothing_has_to_change(hidden: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    for _ in range(4):
        problem = random_problem(rng, "relu", n_numbers=3)
        net = random_network(rng, problem.model.n_inputs, hidden, Among((0, 1, 2), 3))
        every = replace(problem, model=net, required=float(problem.weights.sum()))
        found = search(every)
        assert (found.status, found.cost, found.choice) == (Status.OPTIMAL, 0.0, problem.keep)
        options = tuple(replace(o, costs=np.append(0.0, o.costs[1:] + 0.1)) for o in every.options)
        changed = replace(every, options=options, forbidden_sets=frozenset([frozenset()]))
        check(changed, search(changed))
        assert search(changed).cost == pytest.approx(min(float(o.costs[1:].min()) for o in options if o.size > 1))


@pytest.mark.parametrize("hidden", [(1,), (1, 1)])
def test_as_many_plans_as_there_are(hidden: tuple[int, ...]) -> None:
    """Each of three features alone suffices, and so does each larger set: seven sets, the cheapest first."""
    weights = (np.ones((3, 1)), *(np.ones((1, 1)) for _ in hidden))
    net = ReluNetwork(weights, (*(np.zeros(1) for _ in hidden), np.array([-1.0])), Above(0.0))
    prices = {d: [0.0, 1.0 + d] for d in range(3)}
    problem = Problem.from_tables(np.zeros((2, 3)), {d: [0, 1] for d in range(3)}, prices, net, required=2)
    assert [s.cost for s in search_best(problem, 7)] == [1.0, 2.0, 3.0, 3.0, 4.0, 5.0, 6.0]
    check_best(problem, search_best(problem, 9), 9, "sets")
    assert [s.cost for s in search_best(problem, 3, differ="cores")] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("hidden", [(2,), (2, 2)])
@pytest.mark.parametrize("bias", [5.0, -5.0])
def test_nothing_is_free(hidden: tuple[int, ...], bias: float) -> None:
    """No feature at all, and features that can only be kept: kept is right, or nothing is."""
    sizes = [2, *hidden, 1]
    weights = tuple(np.full((a, b), 0.1) for a, b in pairwise(sizes))
    net = ReluNetwork(weights, (*(np.zeros(b) for b in hidden), np.array([bias])), Above(0.0))
    rows = np.array([[1.0, 2.0], [0.0, 1.0]])
    single = tuple(Options(f"f{d}", np.array([d]), rows[:, [d]][:, None], np.zeros(1)) for d in range(2))
    for options in ((), single):
        problem = Problem(rows, options, net, 2.0)
        check_all(problem, 2)
        assert search(problem).status == (Status.OPTIMAL if bias > 0 else Status.INFEASIBLE)


@pytest.mark.slow
@given(any_problem(), st.integers(1, 5))
@MANY
def test_search_path_and_best_agree_with_brute_force_on_many(problem: Problem, wanted: int) -> None:
    check_all(problem, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_larger_problems_on_many(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = wide_problem(rng, "deep" if seed % 3 == 0 else "relu", features=7, size=6)
    if seed % 2:
        problem = with_forbidden_sets(problem, rng)
    check_all(problem, 5)


def test_a_network_without_hidden_layer_is_a_linear_model() -> None:
    rng = np.random.default_rng(5)
    for _ in range(5):
        problem = random_problem(rng, "linear", n_numbers=4)
        assert isinstance(problem.model, LinearModel)
        net = ReluNetwork((problem.model.weights.T,), (problem.model.intercept,), problem.model.decision)
        check_all(replace(problem, model=net), 2)


def test_more_features_than_bits_in_a_word() -> None:
    problem = many_features()
    best = search_best(replace(problem, max_changes=1), 66)
    assert [s.cost for s in best] == [1.0 + d for d in range(66)]
    assert all(s.choice is not None and s.choice[d] == 1 for d, s in enumerate(best))
    banned = replace(problem, max_changes=1, forbidden_sets=frozenset(frozenset([d]) for d in range(65)))
    assert search(banned).cost == 66.0


def test_ruled_out_sets_are_never_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = wide_problem(np.random.default_rng(1), "relu")
    for _ in range(3):
        found = search(problem)
        assert found.choice is not None
        problem = problem.without_set(found.choice)
    listed = []
    take = relu_engine.ReluEngine.take

    def noting(self: relu_engine.ReluEngine, goal: Goal, leaf: relu_engine.Leaf, found: int) -> None:
        listed.extend(frozenset(np.flatnonzero(row).tolist()) for row in leaf.choice[1 : 1 + found])
        take(self, goal, leaf, found)

    monkeypatch.setattr(relu_engine.ReluEngine, "take", noting)
    check(problem, search(problem))
    assert listed
    assert not problem.forbidden_sets & set(listed)


def test_blanks_are_answered_by_asking_the_model() -> None:
    class Blind(ReluNetwork):
        def accepts(self, inputs: FloatArray) -> np.ndarray:  # type: ignore[override]
            return super().accepts(np.nan_to_num(inputs))

    base = random_problem(np.random.default_rng(3), "relu", n_numbers=3)
    assert isinstance(base.model, ReluNetwork)
    candidates = base.candidates.copy()
    candidates[:, -1] = np.nan  # a column that nobody can change
    net = Blind(base.model.weights, base.model.biases, base.model.decision)
    check_all(replace(base, candidates=candidates, model=net), 3)


# --- stopped early ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("split_all")
@pytest.mark.parametrize("kind", ["relu", "deep"])
def test_a_callback_that_says_no_ends_the_search_with_a_true_bound(kind: str) -> None:
    for seed in range(6):
        problem = wide_problem(np.random.default_rng(seed), kind, features=5, size=5, n=10)
        truth = solve_by_enumeration(problem).cost
        for stop in (1, 2, 5, 9, 17, 40, 90):
            calls = count(1)

            def limited(state: Solution, calls=calls, stop=stop) -> bool:
                return next(calls) < stop

            def limited_and_honest(state: Solution, limited=limited, problem=problem, truth=truth) -> bool:
                check_honest(problem, state, truth)
                return limited(state)

            check_honest(problem, search(problem, callback=limited_and_honest), truth)
            check_honest_path(problem, search_path(problem, callback=limited))
            check_honest_best(problem, search_best(problem, 3, callback=limited, differ="cores"), "cores")


def test_a_time_limit_of_nothing_claims_nothing() -> None:
    problem = wide_problem(np.random.default_rng(2), "relu")
    found = search(problem, time_limit=1e-9)
    assert found.status in (Status.UNKNOWN, Status.FEASIBLE)
    check_honest(problem, found, solve_by_enumeration(problem).cost)
    assert search_path(problem, time_limit=1e-9)[-1].solution.status in (Status.UNKNOWN, Status.FEASIBLE)
    best = search_best(problem, 3, time_limit=1e-9)
    assert all(s.status in (Status.UNKNOWN, Status.FEASIBLE) for s in best)
    assert best[-1].choice is None or len(best) == 3


@pytest.mark.usefixtures("split_all")
def test_an_interrupt_returns_what_is_known() -> None:
    problem = wide_problem(np.random.default_rng(1), "relu")
    truth = solve_by_enumeration(problem).cost
    calls = count(1)

    def interrupting(state: Solution) -> None:
        if next(calls) == 1:
            raise KeyboardInterrupt

    found = search(problem, callback=interrupting)
    assert found.status in (Status.UNKNOWN, Status.FEASIBLE)
    check_honest(problem, found, truth)


@pytest.mark.usefixtures("split_all")
def test_a_full_memory_changes_the_order_not_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relu_engine, "MOST_BYTES", 0)
    small = relu_engine.new_pool
    monkeypatch.setattr(relu_engine, "new_pool", lambda features, places, groups: small(features, 256, groups))
    problem = wide_problem(np.random.default_rng(1), "relu", features=6, size=6, n=10)
    check_all(problem, 3)


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("classes", [False, True])
def test_outputs_are_rounded_at_their_own_size_however_little_is_left_of_them(deep: bool, classes: bool) -> None:
    """A score of -3e8 that rounds up to the cut is accepted, although what is left of both is below the cut."""
    far, near = -3e8, float(np.nextafter(-3e8, 0.0))
    one, nothing = np.ones((1, 1)), np.zeros(1)
    if classes:
        last, lift, decision = np.array([[0.1, 0.0]]), np.array([far, near]), Among((0,), 2)
    else:
        last, lift, decision = np.array([[0.1]]), np.array([far]), Above(near)
    before = 2 if deep else 1
    model = ReluNetwork((*[one] * before, last), (*[nothing] * before, lift), decision)
    problem = Problem.from_tables([[0.0], [1e-8]], {0: [0.0, 1e-7, 3.5e-7]}, {0: [0.0, 1.0, 2.0]}, model, required=2)
    assert [problem.is_solved_by((j,)) for j in range(3)] == [False, False, True]
    found = search(problem)
    assert (found.status, found.choice, found.cost) == (Status.OPTIMAL, (2,), 2.0)
