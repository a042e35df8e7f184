"""The MILO room: every formulation and every leaf against brute force."""

from __future__ import annotations

import importlib
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from armin.errors import MissingDependencyError, ParameterError, SolverError
from armin.models.kinds import Above, Among, BlackBox, LinearModel, ReluNetwork
from armin.problem import Options, Problem, Solution, Status
from armin.solve import solve_best
from armin.solve.enumerate import solve_by_enumeration
from armin.solve.milo import SOLVERS, solve_by_milo, write_program
from armin.solve.milo.highs import Way
from armin.solve.milo.program import VISIBLE, Answer, Draft, Program
from armin.solve.milo.reduce import merge_candidates, merge_options
from differ import check_one, is_faint
from hard import HARD_KINDS, HardKind, hard_problem
from plain import Truth

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


@pytest.mark.parametrize("solver", ["gurobi", "scip"])
@few
@given(problem=problems())
def test_leaves_agree(problem: Problem, solver: str) -> None:
    assert_same_answer(solve_with(problem, solver), solve_by_enumeration(problem), problem)


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


def leaf_answer(answers: list[Answer], seen: list[Program]) -> object:
    def run(program: Program, time_limit: float | None = None) -> Answer:
        seen.append(program)
        return answers.pop(0)

    return run


def test_unproved_answers_stay_unproved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time-outs with and without values, and a choice that the model refuses."""
    problem = HAND_CHECKED[0].problem  # two features with 3 and 2 options
    program = write_program(problem)
    highs = importlib.import_module("armin.solve.milo.highs")

    def values(choice: tuple[int, ...]) -> np.ndarray:
        out = np.zeros(program.cost.size)
        out[[pick[j] for pick, j in zip(program.picks, choice, strict=True)]] = 1.0
        return out

    def ask(*answers: Answer) -> tuple[Solution, list[Program]]:
        seen: list[Program] = []
        monkeypatch.setattr(highs, "run", leaf_answer(list(answers), seen))
        return solve_by_milo(problem, time_limit=100.0), seen

    found, _ = ask(Answer(Status.UNKNOWN, None, 0.25))
    assert (found.status, found.choice, found.cost) == (Status.UNKNOWN, None, None)
    assert found.bound == pytest.approx(0.25 * program.unit)
    found, _ = ask(Answer(Status.FEASIBLE, values((2, 1)), 0.25))
    assert (found.status, found.choice, found.cost) == (Status.FEASIBLE, (2, 1), 3.5)
    assert found.bound == pytest.approx(0.25 * program.unit)
    refused = values((1, 0))  # leaves (3, 0) at 5, below 6
    found, seen = ask(Answer(Status.OPTIMAL, refused, 0.5), Answer(Status.OPTIMAL, values((0, 1)), 0.75))
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
    highs = importlib.import_module("armin.solve.milo.highs")
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
    with pytest.raises(ParameterError, match=r"'highs', 'gurobi', 'scip'.*'cplex'"):
        solve_by_milo(problem, "cplex")
    with pytest.raises(ParameterError, match=r"'tight', 'paper'.*'loose'"):
        solve_by_milo(problem, formulation="loose")
    blank = Problem.from_tables([[np.nan, 1]], {1: [0, 1]}, {1: [0, 1]}, problem.model, 1)
    with pytest.raises(SolverError, match="impute first"):
        solve_by_milo(blank)


@pytest.mark.parametrize(("solver", "library"), [("gurobi", "gurobipy"), ("scip", "pyscipopt")])
def test_missing_solver_says_what_to_install(solver: str, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingDependencyError, match=rf"pip install armin\[{solver}\]"):
        solve_by_milo(HAND_CHECKED[0].problem, solver)


def test_solver_libraries_stay_out_until_asked() -> None:
    code = (
        "import sys, armin.solve.milo, armin.solve.path, armin.solve.robust, armin.solve.subsample\n"
        "bad = {'highspy', 'gurobipy', 'pyscipopt'} & set(sys.modules)\n"
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


def test_infeasible_is_said_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS's presolve has called programs infeasible that are not: without presolve it must agree."""
    highs = importlib.import_module("armin.solve.milo.highs")
    run, asked = highs._run, []

    def wrong_presolve(program: Program, time_limit: float | None, way: Way) -> Answer | None:
        asked.append(way.presolve)
        return run(program, time_limit, way) if way.presolve == "off" else Answer(Status.INFEASIBLE, None, np.inf)

    monkeypatch.setattr(highs, "_run", wrong_presolve)
    assert solve_by_milo(HAND_CHECKED[0].problem).cost == HAND_CHECKED[0].cost
    assert asked == ["choose", "off"]
    assert solve_by_milo(HAND_CHECKED[8].problem).status is Status.INFEASIBLE


def test_infeasible_is_said_twice_of_trimmed_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    highs = importlib.import_module("armin.solve.milo.highs")
    run, asked = highs._run, []

    def wrong(program: Program, time_limit: float | None, way: Way) -> Answer | None:
        asked.append(way.presolve)
        return run(program, time_limit, way) if way.presolve == "choose" else Answer(Status.INFEASIBLE, None, np.inf)

    monkeypatch.setattr(highs, "_run", wrong)
    found = highs.run(replace(write_program(HAND_CHECKED[0].problem), trimmed=True))
    assert found.status is Status.OPTIMAL
    assert asked == ["off", "choose"]


def test_where_one_of_two_runs_ends_with_an_error_the_other_is_asked_again() -> None:
    """HiGHS says that there is no third set, without presolve; with it, it ends with an error."""
    problem = hard_problem(np.random.default_rng([1794990276, 0, 2202, HARD_KINDS.index("relu")]), "relu")
    found = solve_best(problem, 3, "milo", differ="sets")
    assert [(s.status, s.cost) for s in found] == [
        (Status.OPTIMAL, 0.1),
        (Status.OPTIMAL, 0.35),
        (Status.INFEASIBLE, None),
    ]


def test_a_third_way_where_presolve_ends_with_an_error_every_time() -> None:
    """HiGHS says that there is no fourth set, without presolve; with it, it ends with an error from any seed."""
    problem = hard_problem(np.random.default_rng([1794994680, 0, 268, HARD_KINDS.index("classes")]), "classes")
    found = solve_best(problem, 4, "milo", differ="sets")
    assert [(s.status, s.cost) for s in found[:-1]] == [
        (s.status, s.cost) for s in solve_best(problem, 3, "search", differ="sets")
    ]
    assert found[-1].status is Status.INFEASIBLE


def test_a_single_verdict_of_no_solution_is_not_believed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    highs = importlib.import_module("armin.solve.milo.highs")
    asked: list[Way] = []

    def mostly_errors(program: Program, time_limit: float | None, way: Way) -> Answer | None:
        asked.append(way)
        return Answer(Status.INFEASIBLE, None, np.inf) if len(asked) == 1 else None

    monkeypatch.setattr(highs, "_run", mostly_errors)
    found = solve_by_milo(HAND_CHECKED[0].problem)
    assert (found.status, found.choice, found.bound) == (Status.UNKNOWN, None, 0.0)
    assert len(set(asked)) == len(asked) == 4
    assert "is left undecided" in caplog.text


def test_a_process_ends_after_a_solver_that_was_left_alone() -> None:
    """Where it ended before, the solver's libraries were torn down under its feet, and the process could be aborted."""
    script = (
        "import time\n"
        "from armin.solve.milo.highs import _ended\n"
        "print(_ended(lambda: (time.sleep(0.5), print('looked up')), 0.01), flush=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["False", "looked up"]


WRONG: list[tuple[HardKind, str, int]] = [
    ("relu", "wide", 10),
    ("deep", "wide", 59),
    ("relu", "cancel", 115),
    ("deep", "cancel", 163),
    ("deep", "cancel", 287),
    ("deep", "wide", 1029),
]
"""Networks with weights or inputs of 1e8 about which HiGHS was believed, and wrong."""


@pytest.mark.parametrize(("kind", "scale", "seed"), WRONG)
def test_numbers_that_a_solver_cannot_see_prove_nothing_wrong(kind: HardKind, scale: str, seed: int) -> None:
    problem = hard_problem(np.random.default_rng([seed]), kind, scale)
    check_one(Truth(problem), solve_by_milo(problem), doubted=is_faint(problem))


def test_a_faint_program_is_left_unproved() -> None:
    """The hidden neuron can reach 1e-3 at most, in a row of 1e8: the answer is found and checked, but not proved."""
    net = ReluNetwork((np.array([[1e8]]), np.array([[1.0]])), (np.array([-1e8]), np.array([-1e-3])), Above(0.0))
    near, far = 1.0 + 1e-11, 1.0 + 2e-11
    problem = Problem.from_tables([[0.0]], {0: [0, near, far]}, {0: [0, 1.0, 2.0]}, net, required=1)
    truth, found = solve_by_enumeration(problem), solve_by_milo(problem)
    assert write_program(problem).faint
    assert truth.cost == found.cost
    assert found.status is Status.FEASIBLE
    assert found.bound == 1.0  # what any change costs


def test_neurons_without_all_their_digits_prove_nothing() -> None:
    """Products of 1e-160 and 1e-160: no unit measures such a neuron, and MILO proved that 2.1 does not exist."""
    problem = hard_problem(np.random.default_rng([100_002]), "relu", "tiny")
    found = solve_by_milo(problem)
    assert write_program(problem).faint
    assert found.bound <= Truth(problem).optimum() < np.inf
    check_one(Truth(problem), found, doubted=True)


@settings(law, max_examples=60)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["linear", "classes", "relu", "deep", "trees"]),
    st.sampled_from(["wide", "cancel", "tiny"]),
)
def test_proofs_hold_and_doubts_have_a_reason(seed: int, kind: HardKind, scale: str) -> None:
    """What is proved is true, and only a program with faint numbers may leave its answer unproved."""
    problem = hard_problem(np.random.default_rng([seed]), kind, scale)
    check_one(Truth(problem), solve_by_milo(problem), doubted=is_faint(problem))


@law
@given(st.integers(0, 2**32 - 1))
def test_rows_without_small_numbers_hold_wherever_they_did(seed: int) -> None:
    rng = np.random.default_rng(seed)
    low, high = -rng.random(6), rng.random(6)
    values = rng.normal(size=6) * 10.0 ** rng.uniform(-12, 2, 6)
    draft = Draft()
    variables = draft.add_variables(6, low, high)
    points = rng.uniform(low, high, (50, 6))
    sums = points @ values
    draft.add_row(variables, values, lower=float(sums.min()), upper=float(sums.max()))
    program = draft.finish([variables])
    after = (program.rows @ points.T)[0]
    slack = 1e-15 * np.abs(program.rows.data).sum()
    assert program.row_lower[0] - slack <= after.min()
    assert after.max() <= program.row_upper[0] + slack
    assert np.all(np.abs(program.rows.data) > VISIBLE)
    for end in (program.row_lower[0], program.row_upper[0]):
        assert end == 0 or abs(end) >= VISIBLE
