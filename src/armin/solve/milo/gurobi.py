"""Gurobi: the only file that imports gurobipy."""

from __future__ import annotations

import numpy as np

from armin.errors import MissingDependencyError, SolverError
from armin.problem import Status
from armin.solve.milo.program import TOLERANCE, Answer, Program

__all__ = ["run"]

SETTINGS = {
    "OutputFlag": 0,
    "Threads": 1,
    "MIPGap": 0.0,
    "MIPGapAbs": 0.0,
    "FeasibilityTol": TOLERANCE,
    "IntFeasTol": TOLERANCE,
    "OptimalityTol": TOLERANCE,
    "DualReductions": 0,  # tells infeasible from unbounded
}


def run(program: Program, time_limit: float | None = None) -> Answer:
    """Minimise ``program`` with Gurobi on one thread."""
    try:
        import gurobipy
    except ImportError as error:
        raise MissingDependencyError(
            "solver='gurobi' needs gurobipy, which is not installed. Run: pip install armin[gurobi]"
        ) from error
    try:
        with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
            for name, value in SETTINGS.items():
                model.setParam(name, value)
            if time_limit is not None:
                model.setParam("TimeLimit", time_limit)
            kinds = np.where(program.integer, "I", "C")
            v = model.addMVar(program.cost.size, lb=program.lower, ub=program.upper, obj=program.cost, vtype=kinds)
            for bound, sense in ((program.row_lower, ">"), (program.row_upper, "<")):
                which = np.flatnonzero(np.isfinite(bound))
                model.addMConstr(program.rows[which], v, sense, bound[which])
            model.optimize()
            nodes, values = int(model.NodeCount), np.asarray(v.X, dtype=np.float64) if model.SolCount else None
            if model.Status == gurobipy.GRB.INFEASIBLE:
                return Answer(Status.INFEASIBLE, None, float("inf"), nodes)
            if model.Status == gurobipy.GRB.OPTIMAL:
                return Answer(Status.OPTIMAL, values, float(model.ObjVal), nodes)
            status = Status.UNKNOWN if values is None else Status.FEASIBLE
            if model.Status == gurobipy.GRB.TIME_LIMIT:
                return Answer(status, values, max(0.0, float(model.ObjBound)), nodes)
            return Answer(status, values, 0.0, nodes, f"Gurobi stopped with status {model.Status}")
    except gurobipy.GurobiError as error:
        raise SolverError(
            f"Gurobi refused: {error}. The licence that comes with gurobipy is limited in size; "
            "use solver='highs', or install a full licence."
        ) from error
