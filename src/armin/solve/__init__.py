"""Solve a :class:`~armin.problem.Problem`: the cheapest choice, every confidence at once, several choices.

>>> import numpy as np
>>> from armin.models.kinds import Above, LinearModel
>>> from armin.problem import Problem
>>> model = LinearModel(np.array([[1.0]]), np.array([-3.0]), Above(0.0))
>>> problem = Problem.from_tables([[1.0], [2.0]], {0: [0, 1, 2]}, {0: [0, 1, 2]}, model, required=1)
>>> solution = solve(problem, method="enumerate")
>>> solution.status.value, solution.choice, solution.cost
('optimal', (1,), 1.0)
"""

from __future__ import annotations

from armin.solve.best import solve_best
from armin.solve.methods import METHODS, solve
from armin.solve.path import solve_path
from armin.solve.robust import solve_robust
from armin.solve.stopping import Callback, stop_when, stopped

__all__ = ["METHODS", "Callback", "solve", "solve_best", "solve_path", "solve_robust", "stop_when", "stopped"]
