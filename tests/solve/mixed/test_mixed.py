"""The search over mixtures: against brute force, and the parts it stands on."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from armin.errors import SolverError
from armin.models import read_model
from armin.models.kinds import Above, LinearModel, ScoreMixture, Term
from armin.models.maps import Map, rises, through
from armin.models.mixing import Slice, nameless
from armin.problem import Problem
from armin.solve import solve
from armin.solve.enumerate import best_by_enumeration, path_by_enumeration, solve_by_enumeration
from armin.solve.robust import margins
from armin.solve.search import search, search_best, search_path
from armin.solve.search.mixed.engine import start_mixed
from armin.solve.search.mixed.joined import in_double

from problems import problems, random_maps, random_problem

MIXTURES = problems(kinds=("mixture",))


@settings(max_examples=120, deadline=None)
@given(MIXTURES)
def test_the_search_finds_what_brute_force_finds(problem: Problem) -> None:
    one, other = search(problem), solve_by_enumeration(problem)
    assert one.solver == "search"
    assert (one.status, one.bound) == (other.status, pytest.approx(other.bound))
    assert (one.cost is None) == (other.cost is None)
    if one.choice is not None:
        assert one.cost == pytest.approx(other.cost)
        assert problem.is_solved_by(one.choice)


@settings(max_examples=40, deadline=None)
@given(MIXTURES)
def test_every_goal_is_reached(problem: Problem) -> None:
    paths = [[(p.weight, p.solution.cost) for p in find(problem)] for find in (search_path, path_by_enumeration)]
    assert len(paths[0]) == len(paths[1])
    for (weight, cost), (same, known) in zip(*paths, strict=True):
        assert weight == pytest.approx(same)
        assert cost == (None if known is None else pytest.approx(known))
    for differ in ("sets", "cores", "choices"):
        found = [[s.cost for s in find(problem, 3, differ=differ)] for find in (search_best, best_by_enumeration)]
        assert found[0] == [None if cost is None else pytest.approx(cost) for cost in found[1]]


@pytest.mark.parametrize("seed", range(12))
def test_a_dive_knows_what_every_change_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, "mixture", n=5, n_numbers=4, block=[0, 3][seed % 2], blanks=seed % 3 == 0)
    model = problem.model
    assert isinstance(model, ScoreMixture)
    engine = start_mixed(problem, model, apart=True)
    assert engine is not None
    nearby, weights = engine.nearby(), problem.weights
    everyone = np.arange(nearby.weight.size)
    choice = tuple(int(rng.integers(option.size)) for option in problem.options)
    kept = {(d, j) for d, j in zip(nearby.feature.tolist(), nearby.option.tolist(), strict=True)}
    choice = tuple(j if (d, j) in kept else 0 for d, j in enumerate(choice))
    ahead = np.mean(model.ahead(problem.inputs(choice), in_order=True), axis=0)
    apart = np.abs(nearby.margins(choice, everyone)[:, None] - ahead[None, :])
    assert max(apart.min(axis=0).max(), apart.min(axis=1).max()) < 1e-5  # sums of single precision
    accepted, _ = nearby.look(choice, everyone, nearby.weight, np.ones(everyone.size, dtype=bool))
    for move, (d, j) in enumerate(zip(nearby.feature.tolist(), nearby.option.tolist(), strict=True)):
        after = np.mean(model.ahead(problem.inputs((*choice[:d], j, *choice[d + 1 :])), in_order=True), axis=0)
        if np.abs(after).min() > 1e-5:
            assert accepted[move] == pytest.approx(float(weights[after >= 0.0].sum()))


@settings(max_examples=200, deadline=None)
@given(st.floats(width=64, allow_nan=False), st.booleans(), st.booleans(), st.integers(-2, 2), st.booleans())
def test_thresholds_in_double_precision_say_the_same(
    cut: float, strict: bool, single: bool, steps: int, near_single: bool
) -> None:
    with np.errstate(over="ignore"):
        asked = in_double(np.array([cut]), strict, single)[0]
        x = float(np.float32(cut)) if near_single else float(asked)
        for _ in range(abs(steps)):
            x = float(np.nextafter(x, np.inf if steps > 0 else -np.inf))
        if not np.isfinite(x):
            return
        seen = float(np.float32(x)) if single else x
    assert (x <= asked) == (seen < cut if strict else seen <= cut)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_term_never_falls(seed: int) -> None:
    rng = np.random.default_rng(seed)
    line = LinearModel(np.ones((1, 1)), np.zeros(1), Above(0.0))
    term = Term(line, np.ones(1), random_maps(rng))
    assert rises(term.maps)
    scores = np.sort(rng.normal(0, 3, 50)) * np.sign(term.coefficients[0])
    low, high = term.value(scores[:, None], in_order=True)
    assert (low <= high).all()
    assert (np.diff(low) >= -1e-12).all()


def test_a_steep_table_carries_the_rounding_before_it() -> None:
    """Where a logistic is 1 but for its last bits, a table may still rise there from 0 to 1."""
    steep = (Map.logistic(), Map.table([1.0 - 2.0**-52, 1.0], [0.0, 1.0]))
    low, high = through(steep, np.array([0.0, 36.0]))
    assert high[0] < 1e-12
    assert low[1] < 0.01
    assert high[1] > 0.99


def test_where_a_weighed_input_is_blank_the_model_is_asked() -> None:
    line = LinearModel(np.ones((1, 1)), np.zeros(1), Above(0.0))
    model = ScoreMixture((Term(line, np.ones(1)),), 1.0, 1e-9, lambda rows: np.isnan(rows[:, 0]), 1)
    rows = np.array([[np.nan], [0.0]])
    problem = Problem.from_tables(rows, {0: [0.0, 2.0]}, {0: [0.0, 1.0]}, model, 2)
    found = search(problem)
    assert (found.solver, found.choice) == ("blackbox", (1,))


def test_milo_refuses_and_robust_recourse_does_not() -> None:
    problem = random_problem(np.random.default_rng(1), "mixture", n=3)
    with pytest.raises(SolverError, match="Got a ScoreMixture"):
        solve(problem, "milo")
    assert ((margins(problem, problem.keep) < 0) <= ~problem.accepted(problem.keep)).all()


def test_members_behind_steps_are_asked_in_silence() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
    y = (X["a"] + X["b"] > 0).to_numpy()
    members = [("a", make_pipeline(StandardScaler(), LogisticRegression())), ("b", RandomForestClassifier(3))]
    votes = VotingClassifier(members, voting="soft").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = read_model(votes, True)
        assert isinstance(model, ScoreMixture)
        near = replace(model, near=1.0)  # everything is asked
        inputs = np.concatenate([X.to_numpy(), StandardScaler().fit_transform(X)], axis=1)
        inner = model.verdict.estimator.estimators_
        assert [type(one) for one in inner] == [Slice, Slice]
        ordered = np.empty_like(inputs)
        ordered[:, inner[1].columns], ordered[:, inner[0].columns] = X.to_numpy(), inputs[:, 3:]
        np.testing.assert_array_equal(near.settles(ordered), votes.predict(X))
    assert hasattr(votes, "feature_names_in_")
    assert not hasattr(nameless(votes.estimators_[1]), "feature_names_in_")
