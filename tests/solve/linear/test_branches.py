"""Contexts made as they are needed: their bounds are bounds, and nothing is lost by leaving most of them out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from differ import Discrepancy, small_steps, trials
from hard import hard_problem
from hypothesis import given, settings
from hypothesis import strategies as st
from plain import Truth

from armin.models.kinds import Above, LinearModel
from armin.problem import Options, PathPoint, Problem
from armin.solve import solve, solve_best, solve_path
from armin.solve.search.linear import engine
from armin.solve.search.linear.branches import Branches
from armin.solve.search.linear.contexts import contexts, fold
from armin.solve.search.linear.data import Demand

from problems import problems


def reaching(seed: int, blanks: int, size: int = 12, candidates: int = 20) -> Problem:
    """Numbers that are brought to at least, or at most, so much: whoever is beyond stays, so each moves on its own."""
    rng = np.random.default_rng(seed)
    columns = blanks + 3
    rows = rng.normal(size=(candidates, columns)).round(2)
    rows[:, blanks:] = rows[0, blanks:]
    options = []
    for d in range(columns):
        targets = np.sort(rng.normal(size=size - 1)).round(2)
        now = rows[:, d]
        after = np.where(targets > np.median(now), np.maximum(now[:, None], targets), np.minimum(now[:, None], targets))
        outcomes = np.concatenate([now[:, None], after], axis=1)[:, :, None]
        costs = np.append(0.0, np.abs(targets - np.median(now)) * rng.uniform(0.5, 2.0) + 0.1)
        options.append(Options(f"f{d}", np.array([d]), outcomes if d < blanks else outcomes[:1], costs))
    weights = rng.normal(size=(1, columns))
    model = LinearModel(weights, np.array([-2.0]), Above(0.0))
    return Problem(rows, tuple(options), model, 0.75 * candidates, np.ones(candidates), max_changes=3)


@pytest.mark.parametrize("kind", ["linear", "classes"])
def test_hard_cases_in_a_tree_of_contexts(kind: str) -> None:
    """As for all engines, on problems whose contexts are otherwise all made at once."""
    made, seed = 0, 0
    while made < 25:
        seed += 1
        rng = np.random.default_rng([seed, 77])
        problem = hard_problem(rng, kind)  # type: ignore[arg-type]
        model = problem.model
        assert isinstance(model, LinearModel)
        found = contexts(problem, model, fold(model), False)
        if found is None or found.count < 2:
            continue
        made += 1
        for name, ask in trials(problem, Truth(problem), rng, milo=False):
            if "search" in name:
                try:
                    with small_steps(True):
                        ask()
                except Discrepancy as wrong:
                    pytest.fail(f"seed {seed}, {name}: {wrong}")


@pytest.mark.parametrize("seed", range(12))
def test_blanks_that_reach_a_value_are_solved_as_by_brute_force(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = reaching(seed, blanks=2, size=7)
    listed, path = solve(problem, "enumerate"), solve_path(problem, "enumerate")
    plans = solve_best(problem, 4, "enumerate")
    monkeypatch.setattr(engine, "FEW_CHOICES", 0)
    monkeypatch.setattr(engine, "FEW_CONTEXTS", 1)
    found = solve(problem, "search")
    assert (found.status, found.cost) == (listed.status, pytest.approx(listed.cost))
    assert [p.solution.cost for p in solve_path(problem, "search")] == pytest.approx([p.solution.cost for p in path])
    assert [p.cost for p in solve_best(problem, 4, "search")] == pytest.approx([p.cost for p in plans])


@pytest.mark.parametrize("seed", range(6))
def test_no_leaf_is_cheaper_than_the_bounds_above_it(seed: int) -> None:
    """For every requirement, the cheapest choice of the whole problem costs no less than the tree says."""
    problem = reaching(seed, blanks=3, size=5)
    model = problem.model
    assert isinstance(model, LinearModel)
    rows = fold(model)
    found = contexts(problem, model, rows, False)
    assert found is not None
    tree = Branches(found, Demand(rows.way.astype(np.int64), problem.weights, float(problem.weights.sum())))
    for point in solve_path(problem, "enumerate"):
        if point.solution.cost is not None:
            assert tree.least(point.weight) <= point.solution.cost * (1 + 1e-12)
    high = float(problem.weights.sum())
    assert tree.least(0.5 * high) <= tree.least(high)


def test_six_blanks_make_few_of_their_contexts() -> None:
    """There are very many contexts here; listing them would end in memory, not in an answer."""
    problem = reaching(3, blanks=6, size=24)
    model = problem.model
    assert isinstance(model, LinearModel)
    found = contexts(problem, model, fold(model), False)
    assert found is not None
    assert found.count > 1e5
    start = engine.start_linear(problem, model, False)
    assert start is not None
    assert start.tree is not None
    assert len(start.tree.made) == 1
    assert solve(problem, "search").status.value in ("optimal", "infeasible")


def tree_of(problem: Problem) -> Branches:
    """The tree of a problem, whether it is worth one or not."""
    model = problem.model
    assert isinstance(model, LinearModel)
    rows = fold(model)
    found = contexts(problem, model, rows, False)
    assert found is not None
    return Branches(found, Demand(rows.way.astype(np.int64), problem.weights, float(problem.weights.sum())))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_leaves_at_once_have_the_bounds_of_leaves_one_by_one(seed: int, weighted: bool) -> None:
    """Of a leaf one order statistic matters; candidate by candidate the bound is the same."""
    problem = reaching(seed, blanks=2, size=6)
    if weighted:
        problem = replace(problem, weights=np.random.default_rng(seed).uniform(0.5, 2.0, 20), required=5.0)
    at_once, single = tree_of(problem), tree_of(problem)
    assert at_once.last is not None
    total, single.last = float(problem.weights.sum()), None
    for require in (0.3 * total, 0.75 * total, total):
        ends = [[b for b in tree.root.ends(require, lambda: np.inf) if b is not None] for tree in (at_once, single)]
        assert [b.picks for b in ends[0]] == [b.picks for b in ends[1]]
        bounds = at_once.last.least(ends[0], require)
        for mine, branch in zip(bounds, ends[1], strict=True):
            others = branch.least(require)
            np.testing.assert_allclose(mine[: others.size], others, rtol=1e-9)
            assert np.isinf(mine[others.size :]).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_leaves_that_are_priced_out_hold_nothing(seed: int, weighted: bool) -> None:
    """Whatever the budget, a leaf that is out has no valid choice below it; and some are out."""
    problem = replace(reaching(seed, blanks=2, size=5), max_changes=3)
    if weighted:
        problem = replace(problem, weights=np.random.default_rng(seed).uniform(0.5, 2.0, 20))
    problem = replace(problem, required=0.6 * float(problem.weights.sum()))
    tree = tree_of(problem)
    assert tree.last is not None
    ends = [b for b in tree.root.ends(problem.required, lambda: np.inf) if b is not None]
    leaves = tree.last.picked(ends, problem.required, np.inf)
    shape, cheapest = tuple(o.size for o in problem.options), dict[tuple[int, ...], float]()
    for choice in np.ndindex(*shape):
        if problem.allows(choice) and problem.enough(problem.weight_accepted(choice)):
            blank = choice[:2]
            cheapest[blank] = min(cheapest.get(blank, np.inf), problem.cost(choice))
    budgets, out = np.quantile([*cheapest.values(), 1.0, 2.0], [0.1, 0.5, 0.9]), 0
    for most in budgets.tolist():
        gone = tree.last.hopeless(ends, leaves, slice(None), most)
        out += int(gone.sum())
        for i in np.flatnonzero(gone):
            picks = dict(zip(tree.features, (*ends[leaves.branch[i]].picks, int(leaves.pick[i])), strict=True))
            ways = [
                tree.contexts.patterns[d][picks[d]].option - tree.contexts.moves.start[d] if d in picks else [0]
                for d in range(2)
            ]
            ways = [np.append(w, 0) if picks.get(d, 0) == 0 else w for d, w in enumerate(ways)]
            held = [cheapest.get((int(a), int(b)), np.inf) for a in ways[0] for b in ways[1]]
            assert min(held) >= most * (1 - 1e-12)
    assert out


@pytest.mark.parametrize("kind", ["linear", "trees", "relu"])
@settings(max_examples=40, deadline=None)  # the first one compiles
@given(data=st.data())
def test_law_a_path_that_ends_early_is_the_beginning_of_the_path(kind: str, data: st.DataObject) -> None:
    """What is settled stays: nothing found later changes a point of which the caller was told."""
    problem = data.draw(problems(kinds=(kind,)))  # type: ignore[arg-type]
    count = data.draw(st.integers(1, 4))
    told: list[list[tuple[object, float]]] = []

    def until(points: list[PathPoint]) -> bool:
        told.append([(p.solution.choice, p.weight) for p in points])
        return len(points) >= count

    with small_steps(True):
        whole = [(p.solution.choice, p.weight) for p in solve_path(problem, "search")]
        short = [(p.solution.choice, p.weight) for p in solve_path(problem, "search", until=until)]
    assert all(part == whole[: len(part)] for part in told)
    assert short == (told[-1] if told and len(told[-1]) >= count else whole)


def test_a_path_ends_where_it_is_told_to() -> None:
    problem = reaching(1, blanks=2, size=12)
    whole = solve_path(problem, "search")
    assert len(whole) > 3
    short = solve_path(problem, "search", until=lambda points: len(points) >= 2)
    assert 2 <= len(short) < len(whole)
    assert [(p.solution.choice, p.weight, p.solution.status) for p in short] == [
        (p.solution.choice, p.weight, p.solution.status) for p in whole[: len(short)]
    ]
    assert short[-1].solution.nodes < whole[-1].solution.nodes
