"""The HiGHS leaf: the only file that imports highspy."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from armin.problem import Status
from armin.solve.milo.program import SOLVER_TOLERANCE, Answer, Program

__all__ = ["run"]

_ENUMERATION = 1 << 16
"""The presolve rule that may drop a row sum_j pi_j = 1 of a feature (ERGO-Code/HiGHS#3216)."""

_EVERY_RULE = (1 << 20) - 1
"""All presolve rules that can be turned off."""

GRACE = 0.03
"""Seconds that HiGHS gets to look up after its limit, so that what it has found is not lost."""


class Way(NamedTuple):
    """One way to ask HiGHS: with presolve or without, which of its rules are off, where random numbers start."""

    presolve: str
    rules_off: int = _ENUMERATION
    seed: int = 0


WITH, WITHOUT = Way("choose"), Way("off")
SPARE = (Way("choose", _EVERY_RULE), Way("off", seed=1))
"""What is left to try where one of the first two ended with an error."""


def run(program: Program, time_limit: float | None = None) -> Answer:
    """Minimise ``program`` with HiGHS on one thread.

    That a program has no solution is believed only if HiGHS says so in two ways, at first with presolve and without:
    with it, it was wrong in 1 of 7,599 small programs, without it in one of those of an hour's ``make fuzz``. Programs
    from which small numbers had to be left out come from models with numbers of very different size, and there
    presolve was wrong in 3 of about 10,000: they go without it first. A way that ends with an error says nothing, and
    the next is tried; where none is left, the program is not answered.
    """
    start = time.perf_counter()
    first = (WITHOUT, WITH) if program.trimmed else (WITH, WITHOUT)
    infeasible = False
    for way in (*first, *SPARE):
        left = None if time_limit is None else time_limit - (time.perf_counter() - start)
        answer = _run(program, left, way)
        if answer is None:  # presolve went wrong, which HiGHS notices at the end (ERGO-Code/HiGHS#2402), or numbers did
            continue
        if infeasible or answer.status is not Status.INFEASIBLE:
            return answer
        infeasible = True
    logging.getLogger("armin").warning(
        "HiGHS could not solve a program, with presolve or without: it is left undecided. Use another solver or method."
    )
    return Answer(Status.UNKNOWN, None, 0.0)


def _run(program: Program, time_limit: float | None, way: Way) -> Answer | None:
    import highspy

    highs = highspy.Highs()
    highs.silent()
    settings = {
        "parallel": "off",
        "presolve": way.presolve,
        "presolve_rule_off": way.rules_off,
        "mip_rel_gap": 0.0,
        "mip_abs_gap": 0.0,
        "mip_feasibility_tolerance": SOLVER_TOLERANCE,
        "primal_feasibility_tolerance": SOLVER_TOLERANCE,
        "dual_feasibility_tolerance": SOLVER_TOLERANCE,
        "small_matrix_value": 1e-12,
        "random_seed": way.seed,
    }
    if time_limit is not None:
        settings["time_limit"] = max(0.0, time_limit)
    for name, value in settings.items():
        highs.setOptionValue(name, value)
    highs.passModel(
        program.cost.size,
        program.row_lower.size,
        program.rows.nnz,
        int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMinimize),
        0.0,
        program.cost,
        program.lower,
        program.upper,
        program.row_lower,
        program.row_upper,
        program.rows.indptr.astype(np.int32),
        program.rows.indices.astype(np.int32),
        program.rows.data,
        program.integer.astype(np.int32),
    )
    if not _ended(highs.run, time_limit):
        return Answer(Status.UNKNOWN, None, 0.0)
    ended, info, ends = highs.getModelStatus(), highs.getInfo(), highspy.HighsModelStatus
    nodes = max(0, int(info.mip_node_count))
    found = info.primal_solution_status == int(highspy.SolutionStatus.kSolutionStatusFeasible)
    values = np.array(highs.getSolution().col_value) if found else None
    # every variable is bounded, so that "unbounded or infeasible" is infeasible
    if ended in (ends.kInfeasible, ends.kUnboundedOrInfeasible):
        return Answer(Status.INFEASIBLE, None, float("inf"), nodes)
    if ended == ends.kOptimal and values is not None:
        return Answer(Status.OPTIMAL, values, float(program.cost @ values), nodes)
    if ended == ends.kTimeLimit:
        status = Status.UNKNOWN if values is None else Status.FEASIBLE
        return Answer(status, values, max(0.0, float(info.mip_dual_bound)), nodes)
    return None


def _ended(work: Callable[[], object], time_limit: float | None) -> bool:
    """Whether some work ended within a limit and a little more.

    HiGHS looks at its clock rarely (seconds late while it prepares a large program), so it works in a thread; where it
    is too late, it is left alone with a program that nobody waits for, until it looks up. Only the end of the process
    waits for it: one that ends while HiGHS is at work may be aborted.
    """
    if time_limit is None:
        work()
        return True
    thread = threading.Thread(target=work, daemon=False)
    thread.start()
    thread.join(max(0.0, time_limit) + GRACE)
    return not thread.is_alive()
