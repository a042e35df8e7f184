"""HiGHS, as SciPy brings it."""

from __future__ import annotations

import time

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from armin.problem import Status
from armin.solve.milo.program import Answer, Program

__all__ = ["run"]


def run(program: Program, time_limit: float | None = None) -> Answer:
    """Minimise ``program`` with HiGHS, without presolve.

    With presolve, HiGHS is more often wrong about small programs (ERGO-Code/HiGHS#3094), looks at its clock seconds
    late, and is no faster on these programs. It has the second word where there is an error or no solution: that there
    is none is believed only if both say so.
    """
    start = time.perf_counter()
    said = []
    for presolve in (False, True):
        options = {"presolve": presolve, "mip_rel_gap": 0.0}
        if time_limit is not None:
            options["time_limit"] = max(0.0, time_limit - (time.perf_counter() - start))
        result = milp(
            program.cost,
            integrality=program.integer,
            bounds=Bounds(program.lower, program.upper),
            constraints=LinearConstraint(program.rows, program.row_lower, program.row_upper),
            options=options,
        )
        nodes, bound = int(result.get("mip_node_count") or 0), result.get("mip_dual_bound")
        if result.status == 0:
            return Answer(Status.OPTIMAL, result.x, float(program.cost @ result.x), nodes)
        if result.status == 1:
            bound = float(bound) if bound is not None and np.isfinite(bound) else 0.0
            return Answer(Status.UNKNOWN if result.x is None else Status.FEASIBLE, result.x, max(0.0, bound), nodes)
        said.append(result.message.strip())
    if all(
        "infeasible" in each.lower() for each in said
    ):  # SciPy gives programs that HiGHS cannot read the same status
        return Answer(Status.INFEASIBLE, None, float("inf"), nodes)
    return Answer(Status.UNKNOWN, reason=f"HiGHS without presolve: {said[0]}; with presolve: {said[1]}")
