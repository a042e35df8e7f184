"""The door to the solvers, and the algorithms that only call it."""

from __future__ import annotations

import importlib
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from armin.errors import ParameterError, SolverError
from armin.models.kinds import Above, BlackBox, LinearModel
from armin.problem import Problem, Solution, Status
from armin.solve import METHODS, solve, solve_best, solve_path, solve_robust, stop_when
from armin.solve.enumerate import solve_by_enumeration
from armin.solve.exact import EXACT, FEW_STEPS, listing_is_quick, picked
from armin.solve.milo.program import Draft
from armin.solve.path import PathPoint
from armin.solve.robust import margins
from armin.solve.subsample import solve_by_subsampling

from problems import HAND_CHECKED, KINDS, HandChecked, problems, random_problem

law = settings(max_examples=60, deadline=None, derandomize=True)


# --- solve -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", HAND_CHECKED, ids=lambda case: case.name)
@pytest.mark.parametrize("method", ["auto", "enumerate", "milo"])
def test_hand_checked(case: HandChecked, method: str) -> None:
    found = solve(case.problem, method)
    assert (found.cost, found.choice) == (case.cost, case.choice)
    assert found.status is (Status.INFEASIBLE if case.cost is None else Status.OPTIMAL)


def test_unknown_method_lists_what_exists() -> None:
    with pytest.raises(ParameterError, match=r"'auto', 'enumerate', 'milo', .*'simplex'"):
        solve(HAND_CHECKED[0].problem, "simplex")


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan")])
def test_time_limit_must_be_positive(seconds: float) -> None:
    with pytest.raises(ParameterError, match="time_limit"):
        solve(HAND_CHECKED[0].problem, time_limit=seconds)
    with pytest.raises(ParameterError, match="time_limit"):
        solve_path(HAND_CHECKED[0].problem, time_limit=seconds)


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=8),
    st.one_of(st.none(), st.integers(1, 8)),
    st.sampled_from([1, 7, 100]),
)
@example([40, 50], None, 98)  # as many as may be
@example([40, 50, 2], 2, 97)
@law
def test_whether_listing_is_quick_depends_on_the_number_of_choices_alone(
    sizes: list[int], limit: int | None, candidates: int
) -> None:
    """However it is found out."""
    model = LinearModel(np.ones((1, len(sizes))), np.zeros(1), Above(0.0))
    tables = {d: np.arange(size, dtype=float) for d, size in enumerate(sizes)}
    problem = Problem.from_tables(
        np.zeros((candidates, len(sizes))), tables, tables, model, required=1, max_changes=limit
    )
    assert listing_is_quick(problem) == (problem.n_choices * (len(sizes) + candidates) <= FEW_STEPS)


def test_black_box() -> None:
    problem = random_problem(np.random.default_rng(1), "blackbox")
    assert isinstance(problem.model, BlackBox)
    with pytest.raises(SolverError, match="method='auto'"):
        solve(problem, "milo")
    assert solve(problem).cost == solve(problem, "enumerate").cost


def test_auto_enumerates_the_small_and_not_the_large() -> None:
    model = LinearModel(np.ones((1, 4)), np.array([-20.0]), Above(0.0))
    steps = {p: range(30) for p in range(4)}
    large = Problem.from_tables(np.zeros((2, 4)), steps, steps, model, 2)
    assert solve(large).solver != "enumerate"
    assert solve(large).cost == 20.0
    assert solve(replace(large, max_changes=1)).solver == "enumerate"


# --- subsample -------------------------------------------------------------------------------------------


@law
@given(problems(), st.integers(0, 100))
def test_subsampling_claims_nothing_it_cannot_prove(problem: Problem, seed: int) -> None:
    found = solve_by_subsampling(problem, n_sub=2, repeats=3, rng=seed, method="enumerate")
    truth = solve(problem, "enumerate")
    if problem.n_candidates <= 2:
        assert (found.status, found.cost) == (truth.status, truth.cost)
        return
    assert found.bound == 0.0
    if found.choice is None:
        assert found.status is Status.UNKNOWN
    else:
        assert found.cost is not None
        assert truth.cost is not None
        assert problem.is_solved_by(found.choice)
        assert found.cost >= truth.cost
        assert found.status is (Status.OPTIMAL if found.cost == 0 else Status.FEASIBLE)


def test_subsampling_keeps_the_share_and_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Problem] = []

    def spy(problem: Problem, solver: str, time_limit: float | None, callback: object) -> Solution:
        asked.append(problem)
        assert time_limit == 7.0
        return solve_by_enumeration(problem)

    monkeypatch.setitem(EXACT, "enumerate", spy)
    rng = np.random.default_rng(5)
    problem = replace(random_problem(rng, "linear", n=40, grid=None), required=30.0)
    first = solve_by_subsampling(problem, n_sub=10, repeats=4, rng=3, time_limit=7.0, method="enumerate")
    assert [part.n_candidates for part in asked] == [10] * 4
    assert [part.required for part in asked] == [8.0] * 4  # ceil(0.75 * 10)
    second = solve_by_subsampling(problem, n_sub=10, repeats=4, rng=3, time_limit=7.0, method="enumerate")
    assert first.choice == second.choice
    assert all(np.array_equal(a.candidates, b.candidates) for a, b in zip(asked[:4], asked[4:], strict=True))


def test_subsampling_finds_what_is_easy() -> None:
    model = LinearModel(np.ones((1, 1)), np.array([-9.0]), Above(0.0))
    problem = Problem.from_tables(np.arange(20.0)[:, None] / 4, {0: range(10)}, {0: range(10)}, model, 12)
    found = solve(problem, "subsample", time_limit=60)
    truth = solve(problem, "milo")
    assert found.status is Status.FEASIBLE
    assert found.cost is not None
    assert truth.cost is not None
    assert truth.cost <= found.cost <= truth.cost + 2


def test_subsampling_refusals() -> None:
    with pytest.raises(ParameterError, match="at least 1"):
        solve_by_subsampling(HAND_CHECKED[0].problem, n_sub=0)
    with pytest.raises(ParameterError, match="of a subsample must be one of"):
        solve_by_subsampling(HAND_CHECKED[0].problem, method="subsample")


# --- robust ----------------------------------------------------------------------------------------------


@law
@given(problems(kinds=(*KINDS, "blackbox")))
def test_robust_is_the_whole_problem(problem: Problem) -> None:
    whole = problem.demanding(float(problem.weights.sum()))
    truth, found = solve(whole, "enumerate"), solve_robust(problem, "enumerate")
    assert (found.status, found.cost, found.bound) == (truth.status, truth.cost, truth.bound)
    if found.choice is not None:
        assert whole.is_solved_by(found.choice)


def test_robust_with_milo_looks_at_few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("armin.solve.robust")
    sizes: list[int] = []

    def spy(problem: Problem, method: str, *, solver: str, time_limit: float | None) -> Solution:
        sizes.append(problem.n_candidates)
        return solve(problem, method, solver=solver, time_limit=time_limit)

    monkeypatch.setattr(module, "solve", spy)
    model = LinearModel(np.ones((1, 2)), np.array([-9.0]), Above(0.0))
    candidates = np.column_stack([np.arange(50) / 10, np.zeros(50)])
    steps = {0: range(12), 1: range(12)}
    problem = Problem.from_tables(candidates, steps, {0: range(12), 1: np.arange(12) / 2}, model, 1)
    assert solve_robust(problem, "milo").cost == 4.5
    assert sizes == [1]  # the worst candidate comes first, and what helps it helps all


@law
@given(problems(kinds=(*KINDS, "blackbox")))
def test_margins_follow_the_decision(problem: Problem) -> None:
    rng = np.random.default_rng(0)
    choice = tuple(int(rng.integers(option.size)) for option in problem.options)
    accepted, margin = problem.accepted(choice), margins(problem, choice)
    assert np.all(margin[accepted] >= -1e-9)
    assert np.all(margin[~accepted] <= 1e-9)


def test_robust_when_time_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("armin.solve.robust")
    problem = HAND_CHECKED[1].problem

    def late(problem: Problem, method: str, *, solver: str, time_limit: float | None) -> Solution:
        return Solution(Status.UNKNOWN, None, None, 0.75, 0.0, "late")

    monkeypatch.setattr(module, "solve", late)
    found = solve_robust(problem, time_limit=5.0)
    assert (found.status, found.choice, found.cost, found.bound) == (Status.UNKNOWN, None, None, 0.75)
    monkeypatch.undo()
    found = solve_robust(problem, time_limit=1e-9)
    assert (found.status, found.choice, found.bound) == (Status.UNKNOWN, None, 0.0)


# --- path ------------------------------------------------------------------------------------------------


def cost_on_path(points: list[PathPoint], required: float) -> float:
    """The cost at a requirement, infinite where the path says that there is none."""
    for point in points:
        if point.solution.cost is not None and point.weight >= required - 1e-9:
            return point.solution.cost
    return np.inf


@law
@given(problems())
def test_path_is_every_requirement(problem: Problem) -> None:
    points = solve_path(problem, "enumerate")
    total = float(problem.weights.sum())
    for required in {*problem.weights.tolist(), *(total * k / 8 for k in range(1, 9))}:
        truth = solve(problem.demanding(required), "enumerate")
        assert cost_on_path(points, required) == (np.inf if truth.cost is None else truth.cost)
    with_choice = [point for point in points if point.solution.choice is not None]
    assert all(a.weight < b.weight for a, b in pairwise(with_choice))
    costs = [point.solution.cost for point in with_choice]
    assert all(a < b for a, b in pairwise(costs))  # type: ignore[operator]
    for point in with_choice:
        assert point.solution.status is Status.OPTIMAL
        assert problem.weight_accepted(point.solution.choice) == point.weight  # type: ignore[arg-type]
        assert point.confidence == point.weight / total
    assert points[-1].weight == pytest.approx(total) or points[-1].solution.status is Status.INFEASIBLE


@settings(law, max_examples=15)
@given(problems(kinds=("linear",)))
def test_path_by_milo_is_path_by_enumeration(problem: Problem) -> None:
    first, second = solve_path(problem, "milo"), solve_path(problem, "enumerate")
    for required in np.linspace(0, problem.weights.sum(), 9)[1:]:
        assert cost_on_path(first, required) == pytest.approx(cost_on_path(second, required))


def test_path_says_why_it_ended() -> None:
    hill = next(case.problem for case in HAND_CHECKED if case.name == "hill, both")
    points = solve_path(hill)
    assert [(point.solution.status, point.weight) for point in points] == [
        (Status.OPTIMAL, 1.0),
        (Status.INFEASIBLE, 2.0),
    ]
    late = solve_path(hill, "milo", time_limit=1e-9)
    assert [(point.solution.status, point.solution.choice) for point in late] == [(Status.UNKNOWN, None)]


def test_path_does_not_prove_more_than_its_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unproved point that a later one dominates leaves its doubt behind."""
    module = importlib.import_module("armin.solve.path")
    blank = next(case.problem for case in HAND_CHECKED if case.name == "blank, all")  # weights 1, 2 and 3 at 0, 2, 5
    answers = {1.0: (Status.FEASIBLE, (2,), 5.0, 0.5), 2.0: (Status.FEASIBLE, (1,), 2.0, 1.0)}

    def unsure(problem: Problem, method: str, *, solver: str, time_limit: float | None, callback: object) -> Solution:
        status, choice, cost, bound = answers.get(problem.required, (Status.OPTIMAL, (2,), 5.0, 5.0))
        return Solution(status, choice, cost, bound, 0.0, "unsure")

    monkeypatch.setattr(module, "solve", unsure)
    monkeypatch.setitem(answers, 1.0, (Status.FEASIBLE, (1,), 2.0, 0.5))
    points = solve_path(blank, "milo")
    assert [(point.solution.cost, point.weight) for point in points] == [(2.0, 2.0), (5.0, 3.0)]
    assert points[0].solution.status is Status.FEASIBLE
    again = replace(blank, weights=np.array([1.0, 1.0, 1.0]))
    monkeypatch.setitem(answers, 1.0, (Status.FEASIBLE, (0,), 5.0, 0.5))  # as if keeping had cost 5
    monkeypatch.setitem(answers, 2.0, (Status.OPTIMAL, (1,), 2.0, 2.0))
    points = solve_path(again, "milo")
    assert [(point.solution.status, point.solution.bound) for point in points] == [
        (Status.FEASIBLE, 0.5),
        (Status.OPTIMAL, 5.0),
    ]


def test_every_method_is_reachable() -> None:
    problem = HAND_CHECKED[0].problem
    for method in METHODS:
        assert solve(problem, method).cost == 1.5


# --- limits ----------------------------------------------------------------------------------------------


def many_choices() -> Problem:
    """22,801 choices, none of which is accepted."""
    model = LinearModel(np.ones((1, 2)), np.array([-1e3]), Above(0.0))
    steps = {d: np.arange(151.0) for d in range(2)}
    return Problem.from_tables(np.zeros((2, 2)), steps, steps, model, required=1)


def test_brute_force_listens() -> None:
    problem = many_choices()
    said: list[Solution] = []

    def once(best: Solution) -> bool:
        said.append(best)
        return False

    found = solve(problem, "enumerate", callback=once)
    assert (found.status, found.solver, len(said)) == (Status.UNKNOWN, "enumerate", 1)
    assert 0 < found.nodes < problem.n_choices == 151**2
    assert solve_path(problem, "enumerate", callback=once)[-1].solution.nodes == found.nodes
    assert solve_best(problem, 2, "enumerate", callback=once)[-1].nodes == found.nodes
    assert solve(problem, "enumerate").nodes == problem.n_choices


@pytest.mark.parametrize("method", ["milo", "enumerate"])
def test_a_stop_from_outside_is_heard(method: str) -> None:
    problem = many_choices()
    with stop_when(lambda: True):
        assert solve(problem, method).status is Status.UNKNOWN
        assert solve_robust(problem, method).status is Status.UNKNOWN
        assert solve_path(problem, method)[-1].solution.status is Status.UNKNOWN
        assert solve_best(problem, 2, method)[-1].status is Status.UNKNOWN


def test_a_program_is_not_written_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[object] = []
    monkeypatch.setattr(Draft, "add_row", lambda *row, **ends: rows.append(row))
    for kind in ("linear", "relu", "trees"):
        problem = random_problem(np.random.default_rng(4), kind, n=5)
        problem = problem.excluding(problem.keep)
        assert solve(problem, "milo", time_limit=1e-9).status is Status.UNKNOWN
    assert not rows


def test_one_list_answers_every_question() -> None:
    """The whole path and several plans ask the model about each choice once."""
    asked: list[int] = []

    def above(rows: np.ndarray) -> np.ndarray:
        asked.append(rows.shape[0])
        return rows.sum(axis=1) >= 3

    steps = {d: np.arange(4.0) for d in range(3)}
    box = BlackBox(above, 3)
    problem = Problem.from_tables([[0, 0, 0], [1, 0, 0], [2, 0, 0]], steps, steps, box, required=2)
    path = solve_path(problem)
    assert [(p.solution.cost, p.weight, p.solution.solver) for p in path] == [
        (1.0, 1.0, "enumerate"),
        (2.0, 2.0, "enumerate"),
        (3.0, 3.0, "enumerate"),
    ]
    assert path[0].solution.nodes == problem.n_choices == 64
    assert asked == [64 * 3, 3, 3, 3]  # once about all; once more about those that are better
    found = solve_best(problem, 3)
    assert [s.cost for s in found] == [2.0, 2.0, 2.0]
    assert found[0].nodes == 64


def test_one_candidate_does_not_make_a_long_list_short() -> None:
    """A list of choices costs their inputs too, whoever is asked about them: Student took 60 ms instead of 27."""
    model = LinearModel(np.ones((1, 10)), np.array([-9.0]), Above(0.0))
    options = {d: [0, 1, 2, 3, 4] for d in range(10)}
    one = Problem.from_tables([[0] * 10], options, options, model, 1, max_changes=4)
    assert one.n_choices > 60_000
    assert picked(one, "auto") == "search"
    few = Problem.from_tables([[0] * 10] * 100, {0: [0, 1, 2]}, {0: [0, 1, 2]}, model, 1)
    assert picked(few, "auto") == "enumerate"
