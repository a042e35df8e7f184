"""The MILO room: every formulation and every leaf against brute force."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from differ import check_one
from hard import HARD_KINDS, HardKind, hard_problem
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from plain import Truth
from scipy.optimize import OptimizeResult

from armin.errors import MissingDependencyError, ParameterError, SolverError
from armin.models.kinds import Above, Among, BlackBox, LinearModel, ReluNetwork
from armin.problem import Options, Problem, Solution, Status
from armin.solve import milo, solve_best, solve_robust
from armin.solve.enumerate import solve_by_enumeration
from armin.solve.milo import SOLVERS, highs, solve_by_milo, write_program
from armin.solve.milo.program import TOLERANCE, Answer, Draft, Program
from armin.solve.milo.reduce import merge_candidates, merge_options

from problems import HAND_CHECKED, HandChecked, problems, random_problem, stump, stumps

# the same problems in every run: a failure of a solver must be one that can be looked at
law = settings(max_examples=200, deadline=None, derandomize=True)
few = settings(law, max_examples=40)


def solve_with(problem: Problem, solver: str) -> Solution:
    """Solve, or skip where the solver is absent or its licence refuses."""
    try:
        return solve_by_milo(problem, solver)
    except MissingDependencyError as error:
        pytest.skip(str(error))
    except SolverError as error:
        if solver == "gurobi" and "refused" in str(error):
            pytest.skip(str(error))
        raise


def assert_same_answer(found: Solution, truth: Solution, problem: Problem) -> None:
    assert found.status is truth.status
    assert found.bound == pytest.approx(truth.bound, abs=1e-12)
    if truth.cost is None:
        assert found.choice is None
        assert found.cost is None
    else:
        assert found.choice is not None
        assert found.cost == pytest.approx(truth.cost, abs=1e-12)
        assert problem.cost(found.choice) == found.cost
        assert problem.is_solved_by(found.choice)


@pytest.mark.parametrize("case", HAND_CHECKED, ids=lambda case: case.name)
@pytest.mark.parametrize("solver", SOLVERS)
def test_hand_checked(case: HandChecked, solver: str) -> None:
    found = solve_with(case.problem, solver)
    assert (found.cost, found.choice) == (case.cost, case.choice)


@law
@given(problems(kinds=("linear",)))
def test_linear_is_enumeration(problem: Problem) -> None:
    assert_same_answer(solve_by_milo(problem), solve_by_enumeration(problem), problem)


@law
@given(problems(kinds=("relu", "deep")))
def test_networks_are_enumeration(problem: Problem) -> None:
    assert_same_answer(solve_by_milo(problem), solve_by_enumeration(problem), problem)


@law
@given(problems(kinds=("trees",)))
def test_trees_are_enumeration(problem: Problem) -> None:
    assert_same_answer(solve_by_milo(problem), solve_by_enumeration(problem), problem)


@few
@given(problems())
def test_paper_formulation_is_enumeration(problem: Problem) -> None:
    assert_same_answer(solve_by_milo(problem, formulation="paper"), solve_by_enumeration(problem), problem)


@few
@given(problem=problems())
def test_gurobi_is_enumeration(problem: Problem) -> None:
    assert_same_answer(solve_with(problem, "gurobi"), solve_by_enumeration(problem), problem)


@few
@given(problems(), st.integers(0, 100))
def test_order_of_candidates_does_not_matter(problem: Problem, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(problem.n_candidates)
    shuffled = problem.among(order, required=problem.required)
    first, second = solve_by_milo(problem), solve_by_milo(shuffled)
    assert first.status is second.status
    assert first.cost == second.cost


@few
@given(problems(plain=True))
def test_cost_grows_with_the_requirement(problem: Problem) -> None:
    last = 0.0
    for required in range(1, problem.n_candidates + 1):
        found = solve_by_milo(problem.demanding(required))
        cost = np.inf if found.cost is None else found.cost
        assert cost >= last
        last = cost


@settings(law, max_examples=30)
@given(problems(), st.sampled_from([1e-6, 1e-3, 1e-2]))
def test_time_limit_is_honest(problem: Problem, seconds: float) -> None:
    truth, found = solve_by_enumeration(problem), solve_by_milo(problem, time_limit=seconds)
    assert found.bound <= truth.bound
    if found.status is Status.INFEASIBLE:
        assert truth.status is Status.INFEASIBLE
    if found.status.has_choice:
        assert found.choice is not None
        assert found.cost is not None
        assert problem.is_solved_by(found.choice)
        assert found.bound <= found.cost
    if found.status is Status.OPTIMAL:
        assert found.cost == truth.cost


def scripted(answers: list[Answer], seen: list[Program]) -> object:
    def run(program: Program, time_limit: float | None = None) -> Answer:
        seen.append(program)
        return answers.pop(0)

    return run


def test_unproved_answers_stay_unproved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time-outs with and without values, and a choice that the model refuses."""
    problem = HAND_CHECKED[0].problem  # two features with 3 and 2 options
    program = write_program(problem)

    def values(choice: tuple[int, ...]) -> np.ndarray:
        out = np.zeros(program.cost.size)
        out[[pick[j] for pick, j in zip(program.picks, choice, strict=True)]] = 1.0
        return out

    def ask(*answers: Answer) -> tuple[Solution, list[Program]]:
        seen: list[Program] = []
        monkeypatch.setattr(highs, "run", scripted(list(answers), seen))
        return solve_by_milo(problem, time_limit=100.0), seen

    found, _ = ask(Answer(Status.UNKNOWN, None, 250.0))
    assert (found.status, found.choice, found.cost) == (Status.UNKNOWN, None, None)
    assert found.bound == pytest.approx(250.0 * program.unit)
    found, _ = ask(Answer(Status.FEASIBLE, values((2, 1)), 250.0))
    assert (found.status, found.choice, found.cost) == (Status.FEASIBLE, (2, 1), 3.5)
    assert found.bound == pytest.approx(250.0 * program.unit)
    refused = values((1, 0))  # leaves (3, 0) at 5, below 6
    found, seen = ask(Answer(Status.OPTIMAL, refused, 500.0), Answer(Status.OPTIMAL, values((0, 1)), 750.0))
    assert (found.status, found.choice, found.bound) == (Status.OPTIMAL, (0, 1), 1.5)
    assert seen[1].rows.shape[0] == seen[0].rows.shape[0] + 1
    for choice in ((0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)):
        ruled_out = (seen[1].rows @ values(choice))[-1] > seen[1].row_upper[-1]
        assert ruled_out == (choice == (1, 0))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_split_neighbours(strict: bool, precision: str) -> None:
    """At a threshold and its two float neighbours the program agrees with the model."""
    cut = float(np.float32(0.1))
    kind = np.dtype(precision).type
    near = [float(np.nextafter(kind(cut), kind(side))) for side in (-1, 1)]
    model = stumps([stump(0, cut, 0.0, 1.0)], 1, Above(1.0), strict=strict)
    model = replace(model, input_precision=precision)
    for target in [near[0], cut, near[1], 0.1]:
        outcomes = np.array([[[-1.0], [target]]])
        problem = Problem(
            np.array([[-1.0]]), (Options("x", np.array([0]), outcomes, np.array([0.0, 1.0])),), model, 1.0
        )
        found = solve_by_milo(problem)
        assert (found.status is Status.OPTIMAL) == bool(model.accepts(np.array([[target]]))[0])


def test_ties_by_the_hundred_need_no_repetition() -> None:
    """A strict rule on a coarse grid: every choice ties, and one program says so."""
    model = LinearModel(np.array([[1.0] * 6]), np.zeros(1), Above.strictly(3.0))
    options = {p: [0, 0.5] for p in range(6)}
    problem = Problem.from_tables(np.zeros((1, 6)), options, {p: [0, 1.0] for p in range(6)}, model, 1)
    assert solve_by_milo(problem).status is Status.INFEASIBLE
    reaching = replace(problem, model=replace(model, decision=Above(3.0)))
    assert solve_by_milo(reaching).choice == (1,) * 6


def test_ties_that_hang_on_rounding() -> None:
    """0.1 + 0.2 - 0.3 is positive in floats: the model accepts, so the program must not lose it."""
    model = LinearModel(np.array([[0.1, 0.2, -0.3]]), np.zeros(1), Above.strictly(0.0))
    tables = {p: [0, 1] for p in range(3)}
    problem = Problem.from_tables([[0, 0, 1]], tables, {0: [0, 1], 1: [0, 1], 2: [0, 9]}, model, 1)
    assert_same_answer(solve_by_milo(problem), solve_by_enumeration(problem), problem)


def test_scores_of_any_scale() -> None:
    rng = np.random.default_rng(0)
    for scale in (1e-12, 1e12):
        for kind in ("linear", "relu"):
            problem = random_problem(rng, kind, grid=None, n=4)
            model = problem.model
            if isinstance(model, LinearModel):
                model = replace(model, weights=model.weights * scale, intercept=model.intercept * scale)
            elif isinstance(model, ReluNetwork):
                weights, biases = [w * scale for w in model.weights[-1:]], [b * scale for b in model.biases[-1:]]
                model = replace(model, weights=(*model.weights[:-1], *weights), biases=(*model.biases[:-1], *biases))
            for required in (1, 4):
                scaled = replace(problem, model=model, required=required)
                assert_same_answer(solve_by_milo(scaled), solve_by_enumeration(scaled), scaled)


def test_tight_trees_bound_more_than_the_paper() -> None:
    """Two of four votes, without integrality: three quarters of each vote are free under the paper's rows."""
    trees = [stump(p, 0.5, 0.0, 1.0) for p in range(4)]
    actions, costs = {p: [0, 1] for p in range(4)}, {p: [0, 1] for p in range(4)}
    problem = Problem.from_tables(np.zeros((1, 4)), actions, costs, stumps(trees, 4, Above(2.0)), 1)
    bounds = {}
    for formulation in ("paper", "tight"):
        program = write_program(problem, formulation)
        bounds[formulation] = highs.run(replace(program, integer=np.zeros_like(program.integer))).bound * program.unit
    assert bounds == {"paper": pytest.approx(0.0), "tight": pytest.approx(2.0)}


def test_candidates_that_move_alike_share_one_row() -> None:
    model = LinearModel(np.ones((1, 2)), np.array([-5.0]), Above(0.0))
    candidates = np.column_stack([np.arange(50) / 7, np.zeros(50)])
    problem = Problem.from_tables(candidates, {0: [0, 1, 2], 1: [0, 3]}, {0: [0, 1, 2], 1: [0, 2]}, model, 40)
    scores = write_program(problem).rows.toarray()[:, :5].any(axis=1).sum()
    assert scores == 3  # one option per feature, twice, and the common gain
    assert_same_answer(solve_by_milo(problem), solve_by_enumeration(problem), problem)


def test_merge_candidates_keeps_blanks_and_weights() -> None:
    model = stumps([stump(0, 0.5, 0.0, 1.0)], 2, Above(1.0))
    candidates = np.array([[np.nan, 0.0], [1.0, 0.0], [np.nan, -0.0]])
    problem = Problem.from_tables(candidates, {1: [0, 1]}, {1: [0, 1]}, model, 2.5, weights=[0.5, 1, 1.5])
    assert merge_candidates(problem).weights.tolist() == [2.0, 1.0]


def test_merge_options_keeps_the_cheapest_of_each_cell() -> None:
    model = stumps([stump(0, 2.5, 0.0, 1.0), stump(0, 4.5, 1.0, 0.0)], 2, Above(2.0))
    problem = Problem.from_tables([[0, 0]], {0: [0, 1, 3, 4, 5], 1: [0, 1]}, {0: [0, 1, 4, 3, 2], 1: [0, 1]}, model, 1)
    kept = merge_options(problem, model)[1]
    assert [keep.tolist() for keep in kept] == [[0, 3, 4], [0]]
    assert solve_by_milo(problem).choice == (3, 0)
    everything = merge_options(problem.excluding((3, 0)), model)[1]
    assert [keep.tolist() for keep in everything] == [[0, 1, 2, 3, 4], [0, 1]]
    assert solve_by_milo(problem.excluding((3, 0))).cost == 4.0


def test_three_classes_need_one_way() -> None:
    """Each candidate may be accepted as class 0 or as class 2."""
    weights = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    model = LinearModel(weights, np.array([-2.0, 0.0, -2.0]), Among((0, 2), 3))
    problem = Problem.from_tables([[0, 0]], {0: [0, 2], 1: [0, 3]}, {0: [0, 2], 1: [0, 1]}, model, 1)
    found = solve_by_milo(problem)
    assert (found.choice, found.cost) == ((0, 1), 1.0)
    both = Problem.from_tables([[0, -9], [-9, 0]], {0: [0, 2], 1: [0, 3]}, {0: [0, 2], 1: [0, 1]}, model, 2)
    assert solve_by_milo(both).choice == (1, 1)


def test_refusals() -> None:
    problem = HAND_CHECKED[0].problem
    with pytest.raises(SolverError, match=r"BlackBox.*method='enumerate'"):
        solve_by_milo(replace(problem, model=BlackBox(problem.model.accepts, 2)))
    with pytest.raises(ParameterError, match=r"'highs', 'gurobi'.*'cplex'"):
        solve_by_milo(problem, "cplex")
    with pytest.raises(ParameterError, match=r"'tight', 'paper'.*'loose'"):
        solve_by_milo(problem, formulation="loose")
    blank = Problem.from_tables([[np.nan, 1]], {1: [0, 1]}, {1: [0, 1]}, problem.model, 1)
    with pytest.raises(SolverError, match="impute first"):
        solve_by_milo(blank)


def test_missing_solver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gurobipy", None)
    with pytest.raises(MissingDependencyError, match=r"pip install armin\[gurobi\]"):
        solve_by_milo(HAND_CHECKED[0].problem, "gurobi")


def test_solver_libraries_stay_out_until_asked() -> None:
    code = (
        "import sys, armin.solve.milo, armin.solve.path, armin.solve.robust, armin.solve.subsample\n"
        "bad = {'gurobipy', 'scipy.optimize'} & set(sys.modules)\n"
        "bad |= {m for m in sys.modules if m.startswith('armin.solve.search')}\n"
        "sys.exit(str(bad) if bad else 0)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@few
@given(problems(kinds=("trees",)))
def test_reductions_keep_the_answer(problem: Problem) -> None:
    assume(not problem.is_solved_by(problem.keep))
    smaller = merge_options(merge_candidates(problem), problem.model)[0]  # type: ignore[arg-type]
    first, second = solve_by_enumeration(problem), solve_by_enumeration(smaller)
    assert first.status is second.status
    assert first.cost == second.cost


def milp_says(monkeypatch: pytest.MonkeyPatch, status: int, message: str) -> list[bool]:
    """HiGHS ends with a status, whatever it is given; the list fills with the values of ``presolve``."""
    asked: list[bool] = []

    def milp(*_: object, options: dict[str, object], **__: object) -> OptimizeResult:
        asked.append(bool(options["presolve"]))
        return OptimizeResult(status=status, message=message, x=None)

    monkeypatch.setattr(highs, "milp", milp)
    return asked


@pytest.mark.parametrize(("status", "message"), [(4, "Solve error"), (2, "(HiGHS Status 2: Model error)")])
def test_a_program_that_the_solver_cannot_solve_is_left_undecided(
    status: int, message: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """SciPy calls a program infeasible that HiGHS refused to read."""
    asked = milp_says(monkeypatch, status, message)
    found = solve_by_milo(HAND_CHECKED[0].problem)
    assert (found.status, found.choice, found.bound) == (Status.UNKNOWN, None, 0.0)
    assert asked == [False, True]
    assert message in found.reason
    assert message in caplog.text


def test_a_program_without_a_solution_proves_that_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    milp_says(monkeypatch, 2, "The problem is infeasible. (HiGHS Status 8: model_status is Infeasible)")
    found = solve_by_milo(HAND_CHECKED[0].problem)
    assert (found.status, found.bound, found.reason) == (Status.INFEASIBLE, np.inf, "")


def test_a_feasible_answer_keeps_its_dual_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = HAND_CHECKED[0].problem
    program = write_program(problem)
    values = np.zeros(program.cost.size)
    values[[program.picks[0][2], program.picks[1][1]]] = 1.0
    result = OptimizeResult(status=1, message="Time limit reached.", x=values, mip_dual_bound=400.0, mip_node_count=7)
    monkeypatch.setattr(highs, "milp", lambda *_, **__: result)
    found = solve_by_milo(problem, time_limit=100.0)
    assert (found.status, found.choice, found.nodes, found.reason) == (Status.FEASIBLE, (2, 1), 7, "")
    assert found.bound == pytest.approx(400.0 * program.unit, rel=1e-5)
    assert found.bound < 400.0 * program.unit


def test_refusals_without_end_leave_a_problem_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every change is 1e-9 of what it takes away from the cut, so a program cannot tell any of them from enough."""
    model = LinearModel(np.ones((1, 6)), np.array([-1.0]), Above(0.0))
    problem = Problem.from_tables(
        [[1.0 - 1e-9, *[0.0] * 5]], {p: [0, 1e-12] for p in range(6)}, {p: [0, 1.0] for p in range(6)}, model, 1
    )
    assert solve_by_milo(problem).status is Status.INFEASIBLE
    monkeypatch.setattr(milo, "MAX_REFUSALS", 10)
    found = solve_by_milo(problem)
    assert (found.status, found.choice) == (Status.UNKNOWN, None)
    assert 0 < found.bound <= np.inf
    assert "refused 10 solutions" in found.reason


INFEASIBLE: list[tuple[HardKind, list[int]]] = [("relu", [28, 0, 410]), ("deep", [0, 0, 0])]
"""Networks about which HiGHS said without presolve that there is no choice, where there is one."""


@pytest.mark.parametrize(("kind", "seed"), INFEASIBLE)
def test_that_there_is_no_solution_is_believed_if_it_is_said_twice(kind: HardKind, seed: list[int]) -> None:
    problem = hard_problem(np.random.default_rng([*seed, HARD_KINDS.index(kind)]), kind)
    found, truth = (solve_best(problem, 5, method, differ="choices") for method in ("milo", "enumerate"))
    assert [(each.status, each.cost) for each in found] == [(each.status, pytest.approx(each.cost)) for each in truth]


PRESOLVED: list[tuple[HardKind, list[int]]] = [("relu", [1, 0, 42]), ("classes", [1, 0, 43])]
"""Problems about which HiGHS was wrong with presolve, in programs of a few dozen numbers."""


@pytest.mark.parametrize(("kind", "seed"), PRESOLVED)
def test_presolve_is_not_believed(kind: HardKind, seed: list[int]) -> None:
    problem = hard_problem(np.random.default_rng([*seed, HARD_KINDS.index(kind)]), kind)
    check_one(Truth(problem), solve_robust(problem, "milo"), Truth(problem).total)
    found, truth = (solve_best(problem, 5, method, differ="choices") for method in ("milo", "enumerate"))
    assert [each.cost for each in found] == pytest.approx([each.cost for each in truth])


def test_small_terms_are_left_out_and_their_rows_widened() -> None:
    draft = Draft()
    v = draft.add_variables(3, lower=[0.0, 0.0, -2.0], upper=[1.0, 1.0, 2.0])
    draft.add_row(v, [4.0, 1e-9, 1e-9], lower=1.0, upper=2.0)
    program = draft.finish([v])
    assert program.rows.toarray().tolist() == [[1.0, 0.0, 0.0]]
    assert program.row_lower.tolist() == pytest.approx([0.25 - 3e-9 / 4], rel=1e-15)
    assert program.row_upper.tolist() == pytest.approx([0.5 + 3e-9 / 4], rel=1e-15)
    assert program.rows.indices.dtype == np.int32  # all that SciPy 1.11 takes
    assert TOLERANCE < 1e-6


WRONG: list[tuple[HardKind, str, int]] = [
    ("relu", "wide", 10),
    ("deep", "wide", 59),
    ("relu", "cancel", 115),
    ("deep", "cancel", 163),
    ("deep", "cancel", 287),
    ("deep", "wide", 1029),
]
"""Networks with weights or inputs of 1e8, about which a solver is easily wrong."""


@pytest.mark.parametrize(("kind", "scale", "seed"), WRONG)
def test_numbers_of_very_different_size(kind: HardKind, scale: str, seed: int) -> None:
    problem = hard_problem(np.random.default_rng([seed]), kind, scale)
    check_one(Truth(problem), solve_by_milo(problem))


def test_a_neuron_that_is_a_billionth_of_what_enters_it() -> None:
    """It can reach 1e-3 at most, in a row of 1e8: a program sees nothing of it, and the model has the last word."""
    net = ReluNetwork((np.array([[1e8]]), np.array([[1.0]])), (np.array([-1e8]), np.array([-1e-3])), Above(0.0))
    near, far = 1.0 + 1e-11, 1.0 + 2e-11
    problem = Problem.from_tables([[0.0]], {0: [0, near, far]}, {0: [0, 1.0, 2.0]}, net, required=1)
    assert_same_answer(solve_by_milo(problem), solve_by_enumeration(problem), problem)
