"""What may be varied from answer to answer without learning anything again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from armin.actions import Grid
from armin.problem import PathPoint, Problem, Solution
from armin.solve import solve, solve_best, solve_path
from armin.solve.repeat import Differ
from armin.solve.robust import solve_robust
from armin.solve.stopping import Until

__all__ = ["Decision", "Reapply", "Settings", "Solving"]

Decision = Literal["auto", "complete", "blank"] | None
"""What has been decided about the person: see :class:`armin.ARMIN`."""
Reapply = Literal["told", "blank", "either"]
"""Who judges afterwards: see :class:`armin.ARMIN`."""
Solver = Callable[[Problem], Solution]


@dataclass(frozen=True)
class Solving:
    """How problems are solved; picklable, as it travels to other processes.

    Attributes
    ----------
    method : a name that :func:`armin.solve.solve` knows, or a function from a problem to a solution
    solver : the MILO solver, where one is used
    for_all : whether every candidate must be accepted, by constraint generation
    time_limit : seconds for one solve, or None
    """

    method: str | Solver = "auto"
    solver: str = "highs"
    for_all: bool = False
    time_limit: float | None = None

    @property
    def _named(self) -> str:
        """The method for ``solve``: a black box is a kind of model, and a function is not a name."""
        return self.method if isinstance(self.method, str) and self.method != "blackbox" else "auto"

    def __call__(self, problem: Problem) -> Solution:
        """The cheapest choice."""
        if callable(self.method):
            return self.method(problem)
        if self.for_all:
            return solve_robust(problem, self._named, solver=self.solver, time_limit=self.time_limit)
        return solve(problem, self._named, solver=self.solver, time_limit=self.time_limit)

    def path(self, problem: Problem, least: float, until: Until | None = None) -> list[PathPoint]:
        """The cheapest choice for every requirement from ``least`` on, or as far as ``until`` says."""
        limit = self.time_limit
        return solve_path(problem, self._named, solver=self.solver, time_limit=limit, least=least, until=until)

    def best(self, problem: Problem, count: int, differ: Differ = "cores") -> list[Solution]:
        """The cheapest choices that differ; if nothing else is said, none changes all the features of a cheaper one."""
        found = solve_best(problem, count, self._named, differ=differ, solver=self.solver, time_limit=self.time_limit)
        return [solution for solution in found if solution.choice is not None]


@dataclass(frozen=True)
class Settings:
    """Everything about an answer that needs no learning; :class:`armin.ARMIN` describes the parameters.

    Attributes
    ----------
    name : the method's name, for the answer
    confidence : the share of completions that must be accepted
    states : whether an answer may state that confidence
    checks : whether the demand is raised until fresh completions agree
    trusts : whether the reading of the model, rather than the model, sorts completions out
    """

    name: str
    confidence: float = 1.0
    states: bool = True
    checks: bool = False
    decision: Decision = "auto"
    reapply: Reapply = "told"
    n_samples: int = 100
    n_fresh: int = 1000
    max_changes: int | None = 4
    max_options: int = 100
    grid: Grid = "human"
    solving: Solving = Solving()
    random_state: int | None = 0
    trusts: bool = True
