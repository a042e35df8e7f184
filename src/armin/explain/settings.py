"""What may be varied from answer to answer without learning anything again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from armin.clock import clock
from armin.explain.parameters import AnswerParameters
from armin.problem import PathPoint, Problem, Solution
from armin.solve import solve, solve_best, solve_path
from armin.solve.repeat import Differ
from armin.solve.robust import solve_robust
from armin.solve.stopping import Callback, Until

__all__ = ["Settings", "Solving"]

Solver = Callable[[Problem], Solution]

LEAST_SHARE = 0.02
"""Of the time limit: what a solve gets at least, also if those before it have used all of it up, so that it can end."""


class Meter:
    """The seconds that the solves of one question have taken together."""

    def __init__(self) -> None:
        self.seconds = 0.0


@dataclass(frozen=True)
class Solving:
    """How problems are solved; picklable, as it travels to other processes.

    Attributes
    ----------
    method : a name that :func:`armin.solve.solve` knows, or a function from a problem to a solution
    solver : the MILO solver, where one is used
    for_all : whether every candidate must be accepted, by constraint generation
    time_limit : seconds for all solves of one question together, or None
    meter : what they have taken so far; None if each solve is a question of its own
    share : of the time that is left, what the next solve may take
    """

    method: str | Solver = "auto"
    solver: str = "highs"
    for_all: bool = False
    time_limit: float | None = None
    meter: Meter | None = field(default=None, compare=False, repr=False)
    share: float = 1.0

    def metered(self) -> Solving:
        """The same for a new question: its solves share the time limit."""
        return replace(self, meter=Meter())

    def sharing(self, share: float) -> Solving:
        """The same, where a solve may take a share of the time that is left."""
        return replace(self, share=share)

    @property
    def left(self) -> float:
        """The seconds that the next solve may take; infinite without a limit."""
        if self.time_limit is None:
            return math.inf
        spent = 0.0 if self.meter is None else self.meter.seconds
        return max(self.share * (self.time_limit - spent), LEAST_SHARE * self.time_limit)

    @property
    def used_up(self) -> bool:
        """Whether no more is left than any solve gets."""
        return self.time_limit is not None and self.left <= LEAST_SHARE * self.time_limit

    @contextmanager
    def _limited(self) -> Iterator[float | None]:
        """The seconds that the next solve may take, or None; what it takes is counted."""
        start = clock()
        try:
            yield None if self.time_limit is None else self.left
        finally:
            if self.meter is not None:
                self.meter.seconds += clock() - start

    @property
    def _named(self) -> str:
        """The method for ``solve``: a black box is a kind of model, and a function is not a name."""
        return self.method if isinstance(self.method, str) and self.method != "blackbox" else "auto"

    def __call__(self, problem: Problem, callback: Callback | None = None) -> Solution:
        """The cheapest choice; ``callback`` as in :func:`armin.solve.solve`."""
        if callable(self.method):
            return self.method(problem)
        with self._limited() as limit:
            if self.for_all:
                return solve_robust(problem, self._named, solver=self.solver, time_limit=limit)
            return solve(problem, self._named, solver=self.solver, time_limit=limit, callback=callback)

    def path(self, problem: Problem, least: float, until: Until | None = None) -> list[PathPoint]:
        """The cheapest choice for every requirement from ``least`` on, or as far as ``until`` says."""
        with self._limited() as limit:
            return solve_path(problem, self._named, solver=self.solver, time_limit=limit, least=least, until=until)

    def best(self, problem: Problem, count: int, differ: Differ = "cores") -> list[Solution]:
        """The cheapest choices that differ; if nothing else is said, none changes all the features of a cheaper one."""
        with self._limited() as limit:
            found = solve_best(problem, count, self._named, differ=differ, solver=self.solver, time_limit=limit)
        return [solution for solution in found if solution.choice is not None]


@dataclass
class Settings(AnswerParameters):
    """Everything about an answer that needs no learning; :class:`armin.ARMIN` describes the parameters.

    Attributes
    ----------
    name : the method's name, for the answer
    confidence : the share of completions that must be accepted
    states : whether an answer may state that confidence
    trusts : whether the surrogate, rather than the model, sorts completions out
    """

    name: str
    confidence: float = 1.0
    states: bool = True
    solving: Solving = Solving()
    trusts: bool = True
