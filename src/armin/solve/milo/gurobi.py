"""The Gurobi leaf: the only file that imports gurobipy."""

from __future__ import annotations

import numpy as np

from armin.errors import MissingDependencyError, SolverError
from armin.problem import Status
from armin.solve.milo.program import SOLVER_TOLERANCE, Answer, Program

__all__ = ["run"]


def run(program: Program, time_limit: float | None = None) -> Answer:
    """Minimise ``program`` with Gurobi on one thread."""
    try:
        import gurobipy
    except ImportError as error:
        raise MissingDependencyError(
            "solver='gurobi' needs gurobipy, which is not installed. Run: pip install armin[gurobi]"
        ) from error
    settings = {
        "OutputFlag": 0,
        "Threads": 1,
        "Seed": 0,
        "MIPGap": 0.0,
        "MIPGapAbs": 0.0,
        "FeasibilityTol": SOLVER_TOLERANCE,
        "IntFeasTol": SOLVER_TOLERANCE,
        "OptimalityTol": SOLVER_TOLERANCE,
    }
    if time_limit is not None:
        settings["TimeLimit"] = max(0.0, time_limit)
    try:
        with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
            for name, value in settings.items():
                model.setParam(name, value)
            kinds = np.where(program.integer, "I", "C")
            v = model.addMVar(program.cost.size, lb=program.lower, ub=program.upper, obj=program.cost, vtype=kinds)
            for bound, sense in ((program.row_lower, ">"), (program.row_upper, "<")):
                which = np.flatnonzero(np.isfinite(bound))
                model.addMConstr(program.rows[which], v, sense, bound[which])
            model.optimize()
            return _answer(model, v, gurobipy.GRB)
    except gurobipy.GurobiError as error:
        raise SolverError(
            f"Gurobi refused: {error}. The licence that comes with gurobipy is limited in size; "
            "use solver='highs', or install a full licence."
        ) from error


def _answer(model, v, grb) -> Answer:  # type: ignore[no-untyped-def]  # gurobipy's own types, imported only above
    nodes = int(model.NodeCount)
    # every variable is bounded, so that "infeasible or unbounded" is infeasible
    if model.Status in (grb.INFEASIBLE, grb.INF_OR_UNBD):
        return Answer(Status.INFEASIBLE, None, float("inf"), nodes)
    values = np.asarray(v.X, dtype=np.float64) if model.SolCount else None
    if model.Status == grb.OPTIMAL and values is not None:
        return Answer(Status.OPTIMAL, values, float(model.ObjVal), nodes)
    if model.Status == grb.TIME_LIMIT:
        bound = float(model.ObjBound) if model.ObjBound > -grb.INFINITY else 0.0
        return Answer(Status.UNKNOWN if values is None else Status.FEASIBLE, values, max(0.0, bound), nodes)
    raise SolverError(f"Gurobi stopped with status {model.Status}. Try another solver.")
