"""The HiGHS leaf: the only file that imports highspy."""

from __future__ import annotations

import numpy as np

from armin.errors import SolverError
from armin.problem import Status
from armin.solve.milo.program import SMALLEST, SOLVER_TOLERANCE, Answer, Program

__all__ = ["run"]


def run(program: Program, time_limit: float | None = None) -> Answer:
    """Minimise ``program`` with HiGHS on one thread."""
    import highspy

    highs = highspy.Highs()
    highs.silent()
    settings = {
        "parallel": "off",
        "mip_rel_gap": 0.0,
        "mip_abs_gap": 0.0,
        "mip_feasibility_tolerance": SOLVER_TOLERANCE,
        "primal_feasibility_tolerance": SOLVER_TOLERANCE,
        "dual_feasibility_tolerance": SOLVER_TOLERANCE,
        "small_matrix_value": SMALLEST,
        "random_seed": 0,
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
    highs.run()
    ended = highs.getModelStatus()
    info = highs.getInfo()
    nodes = max(0, int(info.mip_node_count))
    found = info.primal_solution_status == int(highspy.SolutionStatus.kSolutionStatusFeasible)
    values = np.array(highs.getSolution().col_value) if found else None
    ends = highspy.HighsModelStatus
    # every variable is bounded, so that "unbounded or infeasible" is infeasible
    if ended in (ends.kInfeasible, ends.kUnboundedOrInfeasible):
        return Answer(Status.INFEASIBLE, None, float("inf"), nodes)
    if ended == ends.kOptimal and values is not None:
        return Answer(Status.OPTIMAL, values, float(program.cost @ values), nodes)
    if ended == ends.kTimeLimit:
        status = Status.UNKNOWN if values is None else Status.FEASIBLE
        return Answer(status, values, max(0.0, float(info.mip_dual_bound)), nodes)
    raise SolverError(f"HiGHS stopped with status {highs.modelStatusToString(ended)!r}. Try another solver.")
