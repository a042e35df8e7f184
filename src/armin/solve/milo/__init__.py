"""The paper's mixed-integer linear programs, and the solvers that take them.

``linear``, ``relu`` and ``trees`` write a problem as a :class:`~armin.solve.milo.program.Program`;
``highs``, ``gurobi`` and ``scip`` solve it. The program is a relaxation by a named tolerance, so each
answer is checked with the model itself; one that does not stand is ruled out and the program solved
again. Hence the final answer is exact, ties included.

>>> import numpy as np
>>> from armin.models.kinds import Above, LinearModel
>>> from armin.problem import Problem
>>> model = LinearModel(np.array([[1.0, 1.0]]), np.array([-6.0]), Above(0.0))
>>> problem = Problem.from_tables(
...     [[1.0, 0.0], [3.0, 0.0]], {0: [0, 2, 4], 1: [0, 5]}, {0: [0, 1, 2], 1: [0, 1.5]}, model, required=2
... )
>>> solution = solve_by_milo(problem)
>>> solution.status.value, solution.choice, solution.cost
('optimal', (0, 1), 1.5)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

from armin.arrays import IntArray
from armin.errors import ParameterError, SolverError
from armin.models.kinds import BlackBox, LinearModel, ReluNetwork, ScoreMixture, TreeEnsemble
from armin.problem import Problem, Solution, Status
from armin.solve.blocks import parts_of
from armin.solve.milo.linear import write_linear
from armin.solve.milo.program import SOLVER_TOLERANCE, Answer, Late, Program
from armin.solve.milo.reduce import merge_candidates, merge_options
from armin.solve.milo.relu import write_relu
from armin.solve.milo.trees import write_trees
from armin.solve.stopping import Callback

__all__ = ["FORMULATIONS", "SOLVERS", "solve_by_milo", "write_program"]

FORMULATIONS = ("tight", "paper")
"""``"paper"`` writes the paper's rows; ``"tight"`` stronger or fewer ones with the same solutions."""

SOLVERS = ("highs", "gurobi", "scip")
"""The leaves, by name."""


def write_program(problem: Problem, formulation: str = "tight", until: float = float("inf")) -> Program:
    """Write ``problem`` as a mixed-integer linear program; gives up where the clock passes ``until``.

    >>> import numpy as np
    >>> from armin.models.kinds import Above
    >>> model = LinearModel(np.ones((1, 1)), np.array([-3.0]), Above(0.0))
    >>> p = Problem.from_tables([[1.0], [2.0]], {0: [0, 1, 2]}, {0: [0, 1, 2]}, model, required=1)
    >>> write_program(p, "paper").picks
    (array([0, 1, 2]),)
    """
    if formulation not in FORMULATIONS:
        raise ParameterError(f"The 'formulation' must be one of {FORMULATIONS}. Got {formulation!r} instead.")
    match problem.model:
        case LinearModel():
            return write_linear(problem, problem.model, formulation, until)
        case ReluNetwork():
            return write_relu(problem, problem.model, formulation, until)
        case TreeEnsemble():
            return write_trees(problem, problem.model, formulation, until)
        case BlackBox() | ScoreMixture():
            raise SolverError(
                "Method 'milo' needs a linear model, a ReLU network or a tree ensemble. Got a "
                f"{type(problem.model).__name__}. Use method='auto' or method='enumerate'."
            )


def solve_by_milo(
    problem: Problem,
    solver: str = "highs",
    time_limit: float | None = None,
    formulation: str = "tight",
    callback: Callback | None = None,
) -> Solution:
    """Solve ``problem`` with a mixed-integer linear solver.

    Parameters
    ----------
    problem : the problem; its model must not be a BlackBox or a ScoreMixture
    solver : ``"highs"``, ``"gurobi"`` or ``"scip"``
    time_limit : seconds for all of it, or None
    formulation : ``"tight"`` or ``"paper"``
    callback : asked between two programs; returning False ends it. A solver at work does not look at it.
    """
    start = time.perf_counter()
    if problem.blocks and problem.sums:
        raise SolverError(
            "MILO takes a rule on three features or more, or inputs that several features determine, not both. "
            "Use method='search', which goes through the choices in order of cost."
        )
    if problem.blocks:
        return _by_parts(problem, solver, time_limit, formulation, callback)
    run = _leaf(solver)
    name = f"milo-{solver}"
    if isinstance(problem.model, BlackBox | ScoreMixture) or formulation not in FORMULATIONS:
        write_program(problem, formulation)  # says what is wrong
    if problem.is_solved_by(problem.keep):
        return Solution(Status.OPTIMAL, problem.keep, 0.0, 0.0, time.perf_counter() - start, name)
    if not problem.options:
        return Solution(Status.INFEASIBLE, None, None, float("inf"), time.perf_counter() - start, name)
    until = float("inf") if time_limit is None else start + time_limit
    smaller, kept = _reduce(problem, until) if formulation == "tight" else (problem, None)
    bound, nodes = 0.0, 0
    try:
        program = write_program(smaller, formulation, until)
    except Late:
        return Solution(Status.UNKNOWN, None, None, bound, time.perf_counter() - start, name)
    if program.faint:
        bound = _least_change(problem)
    while True:
        spent = time.perf_counter() - start
        known = Solution(Status.UNKNOWN, None, None, bound, spent, name, nodes)
        late = time_limit is not None and spent >= time_limit
        if late or (callback is not None and callback(known) is False):
            return known
        answer = run(program, None if time_limit is None else time_limit - spent)
        if program.faint:
            answer = _doubted(answer)
        nodes += answer.nodes
        bound = max(bound, _safe(answer) * program.unit)
        seconds = time.perf_counter() - start
        if answer.values is None:
            return Solution(answer.status, None, None, bound, seconds, name, nodes)
        picked = program.choice(answer.values)
        choice = picked if kept is None else tuple(int(keep[j]) for keep, j in zip(kept, picked, strict=True))
        if problem.is_solved_by(choice):
            cost = problem.cost(choice)
            bound = cost if answer.status is Status.OPTIMAL else min(bound, cost)
            return Solution(answer.status, choice, cost, bound, seconds, name, nodes)
        program = program.without(picked)


def _by_parts(
    problem: Problem, solver: str, time_limit: float | None, formulation: str, callback: Callback | None
) -> Solution:
    """The best of the parts that a problem with blocks comes apart into, each written as a program of its own."""
    start, name = time.perf_counter(), f"milo-{solver}"
    best: Solution | None = None
    bound, nodes = float("inf"), 0
    fixed = bool(problem.forbidden_sets or problem.forbidden_cores)
    for part in parts_of(problem, fixed):
        worst = float("inf") if best is None or best.cost is None else best.cost
        merged = part.merged(worst) if part.floor < worst else None
        if merged is None:
            continue
        left = None if time_limit is None else time_limit - (time.perf_counter() - start)
        if left is not None and left <= 0:
            bound = min(bound, part.floor)
            continue
        found = solve_by_milo(merged.problem, solver, left, formulation, callback)
        nodes += found.nodes
        bound = min(bound, max(part.floor, found.bound))
        if found.choice is not None:
            whole = merged.whole(found.choice)
            cost = problem.cost(whole)
            best = replace(found, choice=whole, cost=cost) if cost < worst else best
    seconds = time.perf_counter() - start
    if best is None or best.cost is None:
        status = Status.INFEASIBLE if bound == float("inf") else Status.UNKNOWN
        return Solution(status, None, None, bound, seconds, name, nodes)
    proved = bound >= best.cost * (1.0 - 1e-12)  # costs of a part are added up in another order
    status, bound = (Status.OPTIMAL, best.cost) if proved else (Status.FEASIBLE, min(bound, best.cost))
    return Solution(status, best.choice, best.cost, bound, seconds, name, nodes)


def _reduce(problem: Problem, until: float) -> tuple[Problem, tuple[IntArray, ...] | None]:
    merged = merge_candidates(problem)
    if isinstance(merged.model, TreeEnsemble):
        return merge_options(merged, merged.model, until)
    return merged, None


def _safe(answer: Answer) -> float:
    """The bound, less what the solver may err."""
    if answer.status is Status.INFEASIBLE:
        return float("inf")
    return max(0.0, answer.bound - SOLVER_TOLERANCE * max(1.0, abs(answer.bound)))


def _doubted(answer: Answer) -> Answer:
    """The answer to a program whose numbers the solver cannot be trusted with: a choice to ask the model about."""
    status = Status.UNKNOWN if answer.values is None else Status.FEASIBLE
    return Answer(status, answer.values, 0.0, answer.nodes)


def _least_change(problem: Problem) -> float:
    """What any change costs at least: a bound without a solver, where doing nothing is no answer."""
    return min((float(option.costs[1:].min()) for option in problem.options if option.size > 1), default=float("inf"))


def _leaf(solver: str) -> Callable[[Program, float | None], Answer]:
    if solver not in SOLVERS:
        raise ParameterError(f"The 'solver' must be one of {SOLVERS}. Got {solver!r} instead.")
    run: Callable[[Program, float | None], Answer] = import_module(f"armin.solve.milo.{solver}").run
    return run
