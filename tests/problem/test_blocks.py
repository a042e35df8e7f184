"""Model inputs that several features determine together: every solver against a list of all choices."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given as given_
from hypothesis import settings
from hypothesis import strategies as st

from armin.errors import ParameterError, SolverError
from armin.models.kinds import Above, LinearModel
from armin.problem import Block, JointTable, Options, Problem, Solution, Status
from armin.solve import clusters, given, solve, solve_best, solve_path, thin
from armin.solve.blocks import Part, parts_of
from armin.solve.repeat import DIFFER, Differ
from armin.solve.robust import solve_robust
from armin.solve.search import parts, search
from armin.solve.search.goals import Goal

from agreement import with_sums
from blocky import blocky, random_blocks
from problems import Kind, stump, stumps
from searching import check, check_best, check_honest, check_path, valid

KINDS: tuple[Kind, ...] = ("linear", "trees", "relu", "deep", "mixture", "blackbox")
SOLVERS = [
    *(pytest.param("search", kind, 12, id=f"search-{kind}") for kind in KINDS),
    pytest.param("enumerate", "trees", 6, id="enumerate"),
    *(pytest.param("milo", kind, 4, id=f"milo-{kind}") for kind in ("linear", "trees", "relu")),
]
every_solver = pytest.mark.parametrize(("method", "kind", "examples"), SOLVERS)


def check_all(method: str, kind: Kind, examples: int) -> None:
    """The cheapest choice, the whole path, several that differ: each against a list of all choices."""

    @settings(deadline=None, max_examples=examples)
    @given_(blocky(kind), st.integers(1, 4), st.sampled_from(DIFFER))
    def law(problem: Problem, count: int, differ: Differ) -> None:
        check(problem, solve(problem, method))
        check_path(problem, solve_path(problem, method))
        check_best(problem, solve_best(problem, count, method, differ=differ), count, differ)

    law()


@every_solver
def test_every_question(method: str, kind: Kind, examples: int) -> None:
    check_all(method, kind, examples)


@pytest.mark.slow
@every_solver
def test_every_question_at_length(method: str, kind: Kind, examples: int) -> None:
    check_all(method, kind, 20 * examples)


@pytest.mark.parametrize("kind", KINDS)
def test_one_for_all_candidates(kind: Kind) -> None:
    @settings(deadline=None, max_examples=5)
    @given_(blocky(kind))
    def law(problem: Problem) -> None:
        whole = problem.demanding(float(problem.weights.sum()))
        check(whole, replace(solve_robust(problem, "search"), seconds=0.0))

    law()


@pytest.mark.parametrize("kind", ["linear", "trees", "relu"])
def test_a_search_that_is_stopped_claims_no_more_than_is_true(kind: Kind) -> None:
    @settings(deadline=None, max_examples=8)
    @given_(blocky(kind), st.integers(0, 5))
    def law(problem: Problem, looks: int) -> None:
        optimum = min((cost for cost, weight, _ in valid(problem) if problem.enough(weight)), default=np.inf)
        seen: list[Solution] = []

        def stop(solution: Solution) -> bool:
            seen.append(solution)
            return len(seen) <= looks

        for found in (search(problem, callback=stop), *seen):
            check_honest(problem, found, optimum)

    law()


def ask_all(problem: Problem, count: int, differ: Differ, looks: int) -> Solution:
    """Every question to the search, one of them stopped after some looks; the cheapest choice."""
    found = solve(problem, "search")
    check(problem, found)
    check_path(problem, solve_path(problem, "search"))
    check_best(problem, solve_best(problem, count, "search", differ=differ), count, differ)
    seen: list[Solution] = []

    def stop(solution: Solution) -> bool:
        seen.append(solution)
        return len(seen) <= looks

    for one in (search(problem, callback=stop), *seen):
        check_honest(problem, one, np.inf if found.cost is None else found.cost)
    return found


@pytest.mark.parametrize("kind", ["linear", "trees", "relu"])
@pytest.mark.parametrize("most", [1, 3])
def test_parts_with_too_many_combinations_are_searched_in_pieces(
    kind: Kind, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "MOST_COMBINATIONS", most)
    cut, pieces = 0, Part.pieces

    def counted(part: Part, cap: float) -> list[Part]:
        nonlocal cut
        cut += 1
        return pieces(part, cap)

    monkeypatch.setattr(Part, "pieces", counted)

    @settings(deadline=None, max_examples=8)
    @given_(blocky(kind), st.integers(1, 4), st.sampled_from(DIFFER), st.integers(0, 5))
    def law(problem: Problem, count: int, differ: Differ, looks: int) -> None:
        assert ask_all(problem, count, differ, looks).solver == "search"

    law()
    assert cut


@pytest.mark.parametrize("kind", ["linear", "trees", "relu", "deep", "mixture"])
def test_one_member_of_a_cluster_is_given_after_the_other(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every question, where the options of a shared feature are gone through instead of all combinations."""
    monkeypatch.setattr(given, "MANY", -1)
    pivots = 0
    start = parts.PivotEngine

    def counted(*args: Any) -> Any:
        nonlocal pivots
        pivots += 1
        return start(*args)

    monkeypatch.setattr(parts, "PivotEngine", counted)

    @settings(deadline=None, max_examples=12)
    @given_(blocky(kind), st.integers(1, 4), st.sampled_from(DIFFER), st.integers(0, 8))
    def law(problem: Problem, count: int, differ: Differ, looks: int) -> None:
        ask_all(problem, count, differ, looks)

    law()
    assert pivots


def test_who_keeps_what_is_cut_is_in_the_first_piece() -> None:
    """With any number of changes one part has all choices: a floor under its first piece would deny some of them."""
    one = tiny()
    options = (*one.options, *(replace(o, costs=o.costs / 8) for o in one.options))
    blocks = (one.blocks[0], replace(one.blocks[0], members=(2, 3), columns=np.array([1])))
    model = LinearModel(np.ones((1, 2)), np.array([-3.0]), Above(0.0))
    problem = Problem(np.zeros((1, 2)), options, model, 1, blocks=blocks)
    *_, every = parts_of(problem, fixed=False)
    by_pattern = every.pieces(np.inf)
    further = by_pattern[-1].pieces(np.inf)  # of the other cluster, which has more combinations now
    halves = every.clusters[0].halves(frozenset({0, 1}), np.inf) or ()
    assert [part.must for part in by_pattern] == [(False, False), (True, False), (True, False)]
    assert [part.floor for part in by_pattern] == [0.0, 1.0, 2.0]
    assert [part.floor for part in further] == [2.0, 2.125, 2.25]
    assert [half.least(frozenset({0, 1})) for half in halves] == [2.0, 3.0]
    assert min(float(part.floor) for part in every.pieces(np.inf)) <= (solve(problem, "search").cost or 0.0) == 0.375


@pytest.mark.parametrize("kind", ["linear", "trees", "relu"])
def test_what_cannot_be_written_down_at_all_is_gone_through_in_order_of_cost(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "MOST_COMBINATIONS", 0)
    asked = 0

    @settings(deadline=None, max_examples=6)
    @given_(blocky(kind))
    def law(problem: Problem) -> None:
        nonlocal asked
        found = solve(problem, "search")
        check(problem, found)
        asked += found.solver == "blackbox"

    law()
    assert asked


def test_milo_says_that_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "MOST_COMBINATIONS", 1)
    with pytest.raises(SolverError, match=r"'a', 'b' determine inputs.*more than 1 combinations.*method='auto'"):
        solve(tiny(), "milo")


def tiny() -> Problem:
    """Two features of two options each, whose sum is one model input; only both changes together do."""
    options = tuple(Options(n, np.zeros(0, dtype=np.intp), np.zeros((1, 3, 0)), np.arange(3.0)) for n in "ab")
    table = np.add.outer(np.arange(3.0), np.arange(3.0))[None, :, :, None]
    model = LinearModel(np.ones((1, 1)), np.array([-3.0]), Above(0.0))
    return Problem(np.zeros((1, 1)), options, model, 1, blocks=(Block((0, 1), np.array([0]), JointTable(table)),))


def test_changes_are_counted_by_columns() -> None:
    problem = tiny()
    assert {m: solve(problem, m).choice in {(1, 2), (2, 1)} for m in ("search", "milo", "enumerate")} == {
        "search": True, "milo": True, "enumerate": True,
    }  # fmt: skip
    for method in ("search", "milo", "enumerate"):
        assert solve(replace(problem, max_changes=1), method).status is Status.INFEASIBLE
        assert solve(replace(problem, forbidden_cores=frozenset({frozenset({0, 1})})), method).choice is None


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (lambda b: replace(b, members=(0,)), r"two or more of the 2 features' positions.*\(0,\)"),
        (lambda b: replace(b, members=(1, 0)), r"ascending.*\(1, 0\)"),
        (lambda b: replace(b, members=(0, 2)), r"\(0, 2\)"),
        (lambda b: replace(b, outcomes=JointTable(np.ones((1, 3, 3, 1)))), "keep every candidate"),
        (lambda b: replace(b, outcomes=JointTable(np.zeros((1, 3, 3, 2)))), r"shape \(1 or 1, combinations, 1\)"),
    ],
)
def test_blocks_that_cannot_be_meant_are_refused(block: Callable[[Block], Block], words: str) -> None:
    problem = tiny()
    with pytest.raises(ParameterError, match=words):
        replace(problem, blocks=(block(problem.blocks[0]),))
    with pytest.raises(ParameterError, match=r"inputs \[0\] belong to a Block and"):
        replace(problem, blocks=problem.blocks * 2)


def test_thinning_leaves_few_of_ten_thousand_combinations() -> None:
    """Two columns of a hundred options each and their ratio: what a linear model or a few trees are given."""
    first, second = np.linspace(1, 100, 100), np.linspace(1, 100, 100)[::-1]
    options = tuple(
        Options(n, np.array([i]), x[None, :, None], np.abs(np.arange(100.0)))
        for i, (n, x) in enumerate((("a", first), ("b", second)))
    )
    table = JointTable(np.divide.outer(first, second)[None, :, :, None])
    candidates = np.array([[first[0], second[0], first[0] / second[0]]])
    line = LinearModel(np.array([[0.1, -0.2, 1.0]]), np.array([-9.0]), Above(0.0))
    trees = stumps([stump(2, c, 0, 1) for c in (0.5, 2.0, 8.0)] + [stump(0, 30.0, 0, 1)], 3, Above(3.0))
    for model, most in ((line, 250), (trees, 12)):
        problem = Problem(candidates, options, model, 1, blocks=(Block((0, 1), np.array([2]), table),))
        parts = [part.merged(np.inf) for part in parts_of(problem, fixed=False)]
        assert [part.problem.options[0].size <= most for part in parts if part is not None] == [True] * len(parts)
        check(problem, solve(problem, "search"))


@pytest.mark.parametrize("kind", ["linear", "trees", "relu"])
def test_rules_on_many_features_hold_beside_blocks(kind: Kind) -> None:
    """Neither way to cut a problem knows the other's parts, so that choices are looked at in order of cost."""

    @settings(deadline=None, max_examples=8)
    @given_(blocky(kind), st.integers(0, 2**32 - 1))
    def law(problem: Problem, seed: int) -> None:
        both = with_sums(problem, np.random.default_rng(seed))
        check(both, solve(both))
        check(both, solve(both, "search"))
        check_path(both, solve_path(both, "search"))
        if both.sums and both.blocks:
            with pytest.raises(SolverError, match="not both"):
                solve(both, "milo")

    law()


@st.composite
def two_pairs(draw: st.DrawFn, kind: Kind) -> Problem:
    """Two clusters of two features each and one feature more, so that changes of one leave fewer to the other."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    problem = random_blocks(
        rng, kind, n_features=5, n_blocks=2, bans=False, members=[[0, 1], [2, 3]],
        decision=Above(0.0), n=draw(st.integers(1, 4)), n_missing=draw(st.integers(0, 2)),
        mode=draw(st.sampled_from(["shift", "reach"])), max_changes=draw(st.sampled_from([2, 3])),
        aggregate=draw(st.sampled_from(["sum", "sum", "max"])), weighted=draw(st.booleans()),
        n_rules=draw(st.integers(0, 1)), n_forbidden=draw(st.integers(0, 2)), grid=draw(st.sampled_from([0.5, None])),
    )  # fmt: skip
    return problem.demanding(float(problem.weights.sum()))


@pytest.mark.parametrize("kind", ["linear", "trees", "relu"])
def test_a_look_at_all_parts_at_once_settles_only_what_it_may(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes of a cluster count as one there: what it finds is taken only if it changes no more than may change."""
    settled: list[bool] = []
    look = parts.PartsEngine._loosely

    def looked(engine: parts.PartsEngine, goal: Goal, cap: float) -> Generator[None, None, bool]:
        settled.append((yield from look(engine, goal, cap)))
        return settled[-1]

    monkeypatch.setattr(parts.PartsEngine, "_loosely", looked)

    @settings(deadline=None, max_examples=40)
    @given_(two_pairs(kind))
    def law(problem: Problem) -> None:
        check(problem, solve(problem, "search"))

    law()
    assert set(settled) == {True, False}


@pytest.mark.parametrize("kind", ["linear", "trees"])
def test_what_is_left_of_options_below_a_budget_is_what_thinning_them_leaves(kind: Kind) -> None:
    """Whatever is left out is beaten by something that costs no more, so that budgets and thinning change places."""

    @settings(deadline=None, max_examples=25)
    @given_(blocky(kind), st.floats(0.1, 1.0))
    def law(problem: Problem, share: float) -> None:
        for cluster in clusters.clusters_of(problem):
            made = cluster.combined(tuple(cluster.patterns), np.inf)
            options, every = made.options, made.every
            largest = thin.magnitudes(problem)
            largest[options.columns] = np.fmax(largest[options.columns], made.sizes)
            below = np.flatnonzero(options.costs < share * options.costs.max() + 1e-9)
            some = replace(options, outcomes=options.outcomes[:, below], costs=options.costs[below])
            both = []
            for offered, picks in ((options, every), (some, every[below])):
                kept = thin.thinned(offered, problem.model, largest, cluster.classes(picks), with_keep=True)
                both.append({tuple(pick) for pick in picks[kept].tolist()})
            assert {tuple(pick) for pick in every[below].tolist()} & both[0] == both[1]

    law()
