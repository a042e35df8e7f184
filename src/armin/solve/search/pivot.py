"""The engine for blocks with too many combinations: it goes through the options of one feature that they share.

For each option there is a problem of the other features (``armin.solve.given``), with an engine of its own. They are
taken in the order of what the option costs, under budgets that grow until something is found, which is a budget for
all that come after.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from armin.problem import Choice, Problem
from armin.solve.given import Given, given
from armin.solve.search.drive import Engine, Start
from armin.solve.search.goals import BETTER, Goal, consider
from armin.solve.search.views import Seen

__all__ = ["PivotEngine"]

_STEP = 4.0  # from one budget to the next
_FIRST = 64.0  # part of what all changes together may cost that is the first budget


@dataclass(eq=False)
class _Run:
    """The search of the problem with one option given, which is made when its turn comes.

    Attributes
    ----------
    given : the problem, once it is made; None also if nothing in it is allowed
    floor : what its choices cost at least
    done : no choice in it that is wanted costs less
    """

    of: Problem
    option: int
    floor: float
    cap: float = 0.0
    done: float = 0.0
    made: bool = False
    given: Given | None = None
    engine: Engine | None = None

    @property
    def bound(self) -> float:
        return max(self.floor, self.done)

    @property
    def spent(self) -> float:
        return 0.0 if self.of.aggregate == "max" else self.floor

    @property
    def problem(self) -> Problem:
        return self._given().problem

    def whole(self, choice: Choice) -> Choice:
        return self._given().whole(choice)

    def narrowed(self, choice: Choice) -> Choice | None:
        return self._given().narrowed(choice)

    def features_of(self, features: frozenset[int], *, exactly: bool) -> frozenset[int] | None:
        return self._given().features_of(features, exactly=exactly)

    def _given(self) -> Given:
        assert self.given is not None  # noqa: S101  whoever asks has made it
        return self.given


class PivotEngine:
    """A search through the options of one feature.

    Attributes
    ----------
    bound : no choice that the goal wants costs less
    nodes : how many nodes were visited
    """

    def __init__(self, problem: Problem, apart: bool, start: Start, feature: int) -> None:
        self.problem, self.apart, self.start, self.feature = problem, apart, start, feature
        costs = problem.options[feature].costs
        order = np.lexsort((np.arange(costs.size), costs)).tolist()
        self.runs = [_Run(problem, j, float(costs[j])) for j in order if j == 0 or problem.limit > 0]
        self.dearest = sum(float(o.costs.max()) for o in problem.options) + 1.0
        self.cap = self.dearest / _FIRST
        self.bound, self.nodes = 0.0, 0

    def search(self, goal: Goal) -> Iterator[None]:
        """Offer the choices with each option, under budgets that grow until the goal has what it wants."""
        while True:
            for run in self.runs:
                if run.floor < min(goal.worst, self.cap):
                    yield from self._advance(run, goal)
            if goal.worst <= self.cap or self.cap == np.inf:
                break
            self.cap = min(_STEP * self.cap, goal.worst) if self.cap < self.dearest else np.inf
        for run in self.runs:
            run.done = max(run.done, goal.worst)
        self.bound = max(self.bound, goal.worst)

    def _advance(self, run: _Run, goal: Goal) -> Iterator[None]:
        """Offer all choices with one option that cost less than the budget."""
        run.cap = self.cap
        others = min((one.bound for one in self.runs if one is not run), default=np.inf)
        nodes = self.nodes - (0 if run.engine is None else run.engine.nodes)
        if not run.made:
            run.given, run.made = given(self.problem, self.feature, run.option), True
            if run.given is not None and run.given.may_change:
                run.engine = self.start(run.problem, self.apart)
            yield
        if run.given is not None:
            consider(self.problem, goal, run.whole(run.problem.keep))
        if run.engine is not None:
            for _ in run.engine.search(Seen(goal, run)):
                run.done = max(run.done, min(run.spent + run.engine.bound * (1.0 - 4.0 * BETTER), run.cap))
                self.bound, self.nodes = max(self.bound, min(others, run.bound)), nodes + run.engine.nodes
                yield
        run.done = max(run.done, min(run.cap, goal.worst))
        self.bound = max(self.bound, min(others, run.bound))
