"""Contexts made as they are needed: their bounds are bounds, and nothing is lost by leaving most of them out."""

from __future__ import annotations

import numpy as np
import pytest

from armin.models.kinds import Above, LinearModel
from armin.problem import Options, Problem
from armin.solve import solve, solve_best, solve_path
from armin.solve.search.linear import engine
from armin.solve.search.linear.branches import Branches
from armin.solve.search.linear.contexts import contexts, fold
from armin.solve.search.linear.data import Demand
from differ import Discrepancy, small_steps, trials
from hard import hard_problem
from plain import Truth


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
