"""A small and fixed part of the long run (``make fuzz``): hard cases, every engine, every goal, plain brute force."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from differ import Discrepancy, check_one, small_steps, trials
from hard import HARD_KINDS, HardKind, hard_problem
from hypothesis import given, settings
from hypothesis import strategies as st
from plain import Truth, accepts, outputs_of

from armin.models.decide import AmongLinked
from armin.models.kinds import Above, Among, LinearModel, ReluNetwork
from armin.models.sums import affine, doubt_of, largest_inputs
from armin.problem import Problem, Solution, Status
from armin.solve import solve, solve_robust
from armin.solve.search import search, search_best, search_path

PROBLEMS = 25


@pytest.mark.parametrize("composed", [False, True], ids=["", "composed"])
@pytest.mark.parametrize("small", [False, True], ids=["", "small steps"])
@pytest.mark.parametrize("kind", HARD_KINDS)
def test_every_engine_and_goal_is_what_plain_brute_force_finds(kind: HardKind, small: bool, composed: bool) -> None:
    for seed in range(PROBLEMS):
        rng = np.random.default_rng([seed, HARD_KINDS.index(kind), small, *([1] if composed else [])])
        problem = hard_problem(rng, kind, composed=composed)
        for name, ask in trials(problem, Truth(problem), rng, milo=seed % 8 == 0):
            try:
                with small_steps(small):
                    ask()
            except Discrepancy as found:
                pytest.fail(f"seed {seed}, {name}: {found}")


def test_features_without_options_may_determine_an_input_together() -> None:
    """A rule about which features change names some of them, and there is no way for them to change."""
    problem = hard_problem(np.random.default_rng([7, 0, 25, HARD_KINDS.index("mixture")]), "mixture", composed=True)
    assert problem.blocks
    assert problem.forbidden_sets
    assert {option.size for option in problem.options} == {1}
    for _, ask in trials(problem, Truth(problem), np.random.default_rng(0), milo=False):
        ask()


@pytest.mark.parametrize("kind", ["classes", "relu", "trees"])
def test_decisions_that_round_are_asked(kind: HardKind) -> None:
    """Within their rounding an output may be behind and win, so no bound may rule it out."""
    left, seed = 30, 0
    while left:
        seed += 1
        rng = np.random.default_rng([seed, 8])
        problem = hard_problem(rng, kind)
        decision = getattr(problem.model, "decision", None)
        if not isinstance(decision, AmongLinked) or problem.n_choices < 4:
            continue
        left, truth = left - 1, Truth(problem)
        for name, ask in trials(problem, truth, rng, milo=left % 10 == 0):
            if name in ("best search", "path search", "robust search", "best milo"):
                ask()


@pytest.mark.parametrize("seed", [163, 8388])
def test_what_a_dive_offers_was_evaluated_by_the_model(seed: int) -> None:
    """Where a decision rounds, margins alone let a refused choice through, and robust recourse went in circles."""
    problem = hard_problem(np.random.default_rng([1794858491, 0, seed, HARD_KINDS.index("trees")]), "trees")
    assert isinstance(getattr(problem.model, "decision", None), AmongLinked)
    with small_steps(True):
        for n in range(problem.n_candidates):
            part = problem.among([n], required=float(problem.weights[n]))
            check_one(Truth(part), search(part))
        check_one(Truth(problem), solve_robust(problem, "search"), Truth(problem).total)


def test_products_without_all_their_digits_are_off_by_more_than_a_part_of_themselves() -> None:
    """Weights of 1e-323: a margin in parts of the terms is nothing there, and MILO called 1.75 proved where 1.5 is."""
    problem = hard_problem(np.random.default_rng([1794966208, 0, 7242, HARD_KINDS.index("linear")]), "linear")
    assert np.abs(problem.model.weights).max() < 1e-320
    check_one(Truth(problem), solve(problem, "milo"))


def test_a_network_with_terms_that_a_program_leaves_out() -> None:
    """HiGHS found no solution where two candidates of three are far beyond the cut for 0.75."""
    problem = hard_problem(np.random.default_rng([1794974424, 0, 2722, HARD_KINDS.index("deep")]), "deep")
    asked = problem.demanding(2.0)
    check_one(Truth(asked), solve(asked, "milo"))


def test_the_check_notices_wrong_answers() -> None:
    """What is wrong by the least step of a cost, a weight or a status is found out."""
    model = LinearModel(np.ones((1, 1)), np.array([-2.0]), Above(0.0))
    truth = Truth(Problem.from_tables([[0.0], [1.0]], {0: [0, 1, 2]}, {0: [0, 1, 2]}, model, 2))
    right = Solution(Status.OPTIMAL, (2,), 2.0, 2.0, 0.0, "")
    check_one(truth, right)
    for status, choice, cost, bound in (
        (Status.OPTIMAL, (1,), 1.0, 1.0),
        (Status.OPTIMAL, (2,), 1.0, 1.0),
        (Status.FEASIBLE, (2,), 2.0, 0.0),
        (Status.OPTIMAL, (2,), 2.0, 2.5),
        (Status.INFEASIBLE, None, None, np.inf),
        (Status.UNKNOWN, None, None, 0.0),
    ):
        with pytest.raises(Discrepancy):
            check_one(truth, Solution(status, choice, cost, bound, 0.0, ""))


# --- one order of summation ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["linear", "classes", "relu", "deep"])
def test_a_row_is_decided_alike_alone_and_in_any_company(kind: HardKind) -> None:
    doubtful = 0
    for seed in range(30):
        rng = np.random.default_rng([seed, 77])
        problem = hard_problem(rng, kind)
        model = problem.model
        assert isinstance(model, LinearModel | ReluNetwork)
        choices = [tuple(int(rng.integers(o.size)) for o in problem.options) for _ in range(15)]
        rows = np.concatenate([problem.inputs(choice) for choice in choices])
        together = model.settles(rows)
        assert together.tolist() == [accepts(model, row) for row in rows.tolist()]
        assert [bool(model.settles(row[None])[0]) for row in rows] == together.tolist()
        doubt = doubt_of(largest_inputs(rows), model.magnitudes)
        doubtful += int(model.decision.doubtful(model.outputs(rows), doubt).sum())
    assert doubtful > 100, "next to nothing is at a tie: the test shows little"


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 31, 511, 512, 513, 1023, 1600]), st.integers(0, 5))
def test_the_largest_inputs_of_many_rows_are_those_of_each_column(seed: int, rows: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(2 * rows, columns))[::2] * 10.0 ** rng.integers(-300, 300, columns)
    odd = rng.choice([0.0, np.nan, np.inf, -np.inf, 1.0], inputs.shape, p=[0.0005, 0.0005, 0.0005, 0.0005, 0.998])
    inputs = np.where(odd == 1.0, inputs, odd)
    plain = [np.abs(column).max(initial=0.0) for column in inputs.T]
    np.testing.assert_array_equal(largest_inputs(inputs), plain)
    np.testing.assert_array_equal(largest_inputs(np.asfortranarray(inputs)), plain)


def test_a_cut_at_the_exact_score_of_a_choice() -> None:
    """Three features with three options each, seven inputs, and a choice whose score is the cut."""
    for seed in range(80):
        rng = np.random.default_rng([seed, 1])
        rows = np.repeat(rng.integers(-9, 10, (1, 7)) * 0.1, 3, axis=0)
        rows[:, 6] = rng.integers(-9, 10, 3) * 0.1
        steps = {d: np.append(0.0, rng.integers(-9, 10, 2) * 0.1) for d in range(3)}
        costs = {d: np.append(0.0, rng.integers(1, 9, 2) * 0.25) for d in range(3)}
        model = LinearModel(rng.integers(-9, 10, (1, 7)) * 0.1, np.zeros(1), Above(0.0))
        problem = Problem.from_tables(rows, steps, costs, model, required=int(rng.integers(1, 4)))
        tied = problem.inputs((1, 2, 1))[int(rng.integers(3))].tolist()
        problem = replace(problem, model=replace(model, decision=Above(outputs_of(model, tied)[0])))
        truth = Truth(problem)
        for method in ("auto", "search"):
            check_one(truth, solve(problem, method))
            check_one(truth, solve_robust(problem, method), truth.total)


def test_doubt_covers_every_order_of_summation() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        sizes = [int(s) for s in rng.integers(1, 30, int(rng.integers(2, 5)))]
        layers = [
            (rng.normal(size=(a, b)) * 10.0 ** rng.integers(-8, 9, (a, b)), rng.normal(size=b))
            for a, b in itertools.pairwise(sizes)
        ]
        inputs = rng.normal(size=(5, sizes[0])) * 10.0 ** rng.integers(-8, 9, (5, sizes[0]))
        magnitudes = tuple((np.abs(w), np.abs(b)) for w, b in layers)
        doubt = doubt_of(largest_inputs(inputs), magnitudes)
        results = []
        for shuffled in (False, True):
            hidden = inputs
            for i, (weight, bias) in enumerate(layers):
                order = rng.permutation(weight.shape[0]) if shuffled else np.arange(weight.shape[0])
                hidden = np.maximum(hidden, 0.0) if i else hidden
                hidden = affine(hidden[:, order], weight[order], bias)
            results.append(hidden)
        assert np.abs(results[0] - results[1]).max() <= doubt


# --- nodes -----------------------------------------------------------------------------------------------


def test_a_small_linear_problem_has_no_more_nodes_than_choices() -> None:
    infeasible = 0
    for seed in range(300):
        rng = np.random.default_rng([seed, 5])
        problem = hard_problem(rng, "classes" if seed % 2 else "linear")
        most = problem.n_choices
        found = search(problem)
        infeasible += found.status is Status.INFEASIBLE
        assert found.nodes <= most
        assert search_path(problem)[-1].solution.nodes <= most
        assert search_best(problem, 3)[-1].nodes <= most
    assert infeasible > 20, "next to nothing is infeasible: the test shows little"


def several_classes(features: int, options: int) -> Problem:
    """Five classes; what helps against one rival hurts against another, so that nothing is ever accepted."""
    rng = np.random.default_rng(features)
    weights = np.zeros((5, features))
    weights[1] = rng.uniform(0.5, 1.5, features)
    weights[2] = -1.5 * weights[1]
    model = LinearModel(weights, np.array([-0.5, 0.0, 0.0, -9.0, -9.0]), Among((0,), 5))
    steps = {d: np.arange(options) - options // 2 for d in range(features)}
    steps = {d: np.concatenate([[0], s[s != 0]]) for d, s in steps.items()}
    costs = {d: np.abs(s) * rng.uniform(0.01, 3.0) for d, s in steps.items()}
    return Problem.from_tables(np.zeros((4, features)), steps, costs, model, 4, max_changes=3)


@pytest.mark.parametrize(("features", "options"), [(4, 4), (6, 5), (8, 9)])
def test_where_several_classes_rule_everything_out_it_is_seen_early(features: int, options: int) -> None:
    problem = several_classes(features, options)
    found = search(problem)
    assert found.status is Status.INFEASIBLE
    assert found.nodes <= 1.5 * problem.n_choices
