"""The SCIP leaf: the only file that imports pyscipopt."""

from __future__ import annotations

import numpy as np

from armin.errors import MissingDependencyError, SolverError
from armin.problem import Status
from armin.solve.milo.program import SOLVER_TOLERANCE, Answer, Program

__all__ = ["run"]


def run(program: Program, time_limit: float | None = None) -> Answer:
    """Minimise ``program`` with SCIP on one thread."""
    try:
        import pyscipopt
    except ImportError as error:
        raise MissingDependencyError(
            "solver='scip' needs pyscipopt, which is not installed. Run: pip install armin[scip]"
        ) from error
    model = pyscipopt.Model()
    model.hideOutput()
    model.setParam("lp/threads", 1)
    model.setParam("numerics/feastol", SOLVER_TOLERANCE)
    model.setParam("limits/gap", 0.0)
    if time_limit is not None:
        model.setParam("limits/time", max(0.0, time_limit))
    columns = zip(program.lower, program.upper, program.cost, program.integer, strict=True)
    v = [model.addVar(lb=a, ub=b, obj=c, vtype="I" if whole else "C") for a, b, c, whole in columns]
    ends = program.rows.indptr
    for i, (low, high) in enumerate(zip(program.row_lower, program.row_upper, strict=True)):
        part = slice(ends[i], ends[i + 1])
        terms = zip(program.rows.indices[part], program.rows.data[part], strict=True)
        row = pyscipopt.quicksum(float(a) * v[j] for j, a in terms)
        if np.isfinite(low) and np.isfinite(high):
            model.addCons((float(low) <= row) <= float(high))
        elif np.isfinite(low):
            model.addCons(row >= float(low))
        else:
            model.addCons(row <= float(high))
    model.optimize()
    ended, nodes = model.getStatus(), int(model.getNTotalNodes())
    # every variable is bounded, so that "infeasible or unbounded" is infeasible
    if ended in ("infeasible", "inforunbd"):
        return Answer(Status.INFEASIBLE, None, float("inf"), nodes)
    values = None
    if model.getNSols():
        best = model.getBestSol()
        values = np.array([model.getSolVal(best, variable) for variable in v])
    if ended in ("optimal", "gaplimit") and values is not None:
        return Answer(Status.OPTIMAL, values, float(program.cost @ values), nodes)
    if ended == "timelimit":
        bound = float(model.getDualbound())
        bound = bound if abs(bound) < model.infinity() else 0.0
        return Answer(Status.UNKNOWN if values is None else Status.FEASIBLE, values, max(0.0, bound), nodes)
    raise SolverError(f"SCIP stopped with status {ended!r}. Try another solver.")
