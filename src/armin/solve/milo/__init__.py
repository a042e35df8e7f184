"""The paper's mixed-integer linear programs, and the solvers that take them.

``relu`` (with ``linear``) and ``trees`` write a problem as a :class:`~armin.solve.milo.program.Program`;
``highs`` and ``gurobi`` solve it. The program is a relaxation by one tolerance, so each answer is
evaluated by the model itself; one that it refuses is ruled out and the program solved again. Hence
the final answer is exact, ties included, as far as the solver is.

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

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

import numpy as np

from armin.errors import ParameterError, SolverError
from armin.models.kinds import LinearModel, Model, ReluNetwork, TreeEnsemble
from armin.problem import Choice, Problem, Solution, Status
from armin.solve.blocks import parts_of
from armin.solve.milo.program import MAX_COST, TOLERANCE, Answer, OutOfTime, Program
from armin.solve.milo.reduce import reduced
from armin.solve.milo.relu import write_network
from armin.solve.milo.trees import write_trees
from armin.solve.stopping import Callback

__all__ = ["FORMULATIONS", "SOLVERS", "solve_by_milo", "write_program"]

FORMULATIONS = ("tight", "paper")
"""``"paper"`` writes the paper's rows; ``"tight"`` stronger or fewer ones with the same solutions."""

SOLVERS = ("highs", "gurobi")
"""The solvers; each is the module of that name, with a function ``run``."""

MAX_REFUSALS = 1000
"""So many solutions of programs may be refused by the model before a problem is left undecided."""


def write_program(problem: Problem, formulation: str = "tight", until: float = float("inf")) -> Program:
    """Write ``problem`` as a mixed-integer linear program; raises ``OutOfTime`` once the clock has passed ``until``.

    >>> import numpy as np
    >>> from armin.models.kinds import Above
    >>> model = LinearModel(np.ones((1, 1)), np.array([-3.0]), Above(0.0))
    >>> p = Problem.from_tables([[1.0], [2.0]], {0: [0, 1, 2]}, {0: [0, 1, 2]}, model, required=1)
    >>> write_program(p, "paper").picks
    (array([0, 1, 2]),)
    """
    return _writer(problem.model, formulation)(problem, problem.model, formulation, until)


def _writer(model: Model, formulation: str) -> Callable[..., Program]:
    if formulation not in FORMULATIONS:
        raise ParameterError(f"The 'formulation' must be one of {FORMULATIONS}. Got {formulation!r} instead.")
    match model:
        case LinearModel() | ReluNetwork():
            return write_network
        case TreeEnsemble():
            return write_trees
    raise SolverError(
        "Method 'milo' needs a linear model, a ReLU network or a tree ensemble. Got a "
        f"{type(model).__name__}. Use method='auto' or method='enumerate'."
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
    solver : ``"highs"`` (SciPy's) or ``"gurobi"``
    time_limit : seconds for all of it, or None
    formulation : ``"tight"`` or ``"paper"``
    callback : called between two programs; returning False ends it. A solver at work does not look at it.
    """
    start, name = time.perf_counter(), f"milo-{solver}"
    if problem.blocks and problem.sums:
        raise SolverError(
            "MILO takes a rule on three features or more, or inputs that several features determine, not both. "
            "Use method='search', which goes through the choices in order of cost."
        )
    if problem.blocks:
        return _by_parts(problem, solver, time_limit, formulation, callback)
    run, write = _solver(solver), _writer(problem.model, formulation)
    bound, nodes = 0.0, 0

    def ended(status: Status, choice: Choice | None = None, reason: str = "") -> Solution:
        if reason:
            logging.getLogger("armin").warning("A program was left undecided: %s.", reason)
        cost = None if choice is None else problem.cost(choice)
        low = bound if cost is None else cost if status is Status.OPTIMAL else min(bound, cost)
        return Solution(status, choice, cost, low, time.perf_counter() - start, name, nodes, reason)

    if problem.is_solved_by(problem.keep):
        return ended(Status.OPTIMAL, problem.keep)
    if not problem.options:
        bound = float("inf")
        return ended(Status.INFEASIBLE)
    until = float("inf") if time_limit is None else start + time_limit
    try:
        every = tuple(np.arange(option.size) for option in problem.options)
        smaller, kept = reduced(problem, until) if formulation == "tight" else (problem, every)
        program = write(smaller, smaller.model, formulation, until)
    except OutOfTime:
        return ended(Status.UNKNOWN)
    for _ in range(MAX_REFUSALS):
        left = until - time.perf_counter()
        if left <= 0 or (callback is not None and callback(ended(Status.UNKNOWN)) is False):
            return ended(Status.UNKNOWN)
        answer = run(program, None if time_limit is None else left)
        nodes += answer.nodes
        bound = max(bound, _safe(answer) * program.unit)
        if answer.values is None:
            return ended(answer.status, None, answer.reason)
        picked = program.choice(answer.values)
        choice = tuple(int(keep[j]) for keep, j in zip(kept, picked, strict=True))
        if problem.is_solved_by(choice):
            return ended(answer.status, choice, answer.reason)
        program = program.without(picked)
    return ended(Status.UNKNOWN, None, f"the model refused {MAX_REFUSALS} solutions, all within rounding of its cut")


def _by_parts(
    problem: Problem, solver: str, time_limit: float | None, formulation: str, callback: Callback | None
) -> Solution:
    """The best of the parts that a problem with blocks comes apart into, each written as a program of its own."""
    start, name = time.perf_counter(), f"milo-{solver}"
    best: Solution | None = None
    bound, nodes, reason = float("inf"), 0, ""
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
        nodes, reason = nodes + found.nodes, found.reason or reason
        bound = min(bound, max(part.floor, found.bound))
        if found.choice is not None:
            whole = merged.whole(found.choice)
            cost = problem.cost(whole)
            best = replace(found, choice=whole, cost=cost) if cost < worst else best
    seconds = time.perf_counter() - start
    if best is None or best.cost is None:
        status = Status.INFEASIBLE if bound == float("inf") else Status.UNKNOWN
        return Solution(status, None, None, bound, seconds, name, nodes, reason)
    proved = bound >= best.cost * (1.0 - 1e-12)  # costs of a part are added up in another order
    status, bound = (Status.OPTIMAL, best.cost) if proved else (Status.FEASIBLE, min(bound, best.cost))
    return Solution(status, best.choice, best.cost, bound, seconds, name, nodes, "" if proved else reason)


def _safe(answer: Answer) -> float:
    """The bound, less what the solver may be wrong about."""
    if answer.status is Status.INFEASIBLE:
        return float("inf")
    return answer.bound - TOLERANCE * max(MAX_COST, answer.bound)


def _solver(name: str) -> Callable[[Program, float | None], Answer]:
    if name not in SOLVERS:
        raise ParameterError(f"The 'solver' must be one of {SOLVERS}. Got {name!r} instead.")
    run: Callable[[Program, float | None], Answer] = import_module(f"armin.solve.milo.{name}").run
    return run
