"""One driver for all engines: it asks, looks at the clock, reports, and reads the answer off the goal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from armin.problem import Choice, PathPoint, Problem, Solution, Status
from armin.solve.search.goals import BETTER, Frontier, Goal, Several
from armin.solve.stopping import Callback, clock

__all__ = ["Drive", "Engine", "Start", "drive"]


class Engine(Protocol):
    """A search over one problem.

    Attributes
    ----------
    bound : no choice that the goal wants costs less
    nodes : how many nodes were visited
    """

    @property
    def bound(self) -> float: ...

    @property
    def nodes(self) -> int: ...

    def search(self, goal: Goal) -> Iterator[None]:
        """Offer choices to the goal and raise the bound, until nothing that the goal wants is left.

        Yields between shares of work, each some hundredths of a second at most, and may be left there. May be called
        again when the goal wants more than before; what costs less than the bound is not looked for again.
        """


_SURELY = 1.0 + 1e-9  # costs that differ by less may be the same, added up in another order

Start = Callable[[Problem, bool], Engine]
"""Makes an engine for a problem; true where a change without effect makes another choice."""


@dataclass(eq=False)
class Drive:
    """A search under way, or what is left of it.

    Attributes
    ----------
    name : what the solutions say about who found them
    closed : whether all that the goal wants is proved
    """

    problem: Problem
    goal: Goal
    time_limit: float | None
    callback: Callback | None
    name: str = "search"
    engine: Engine | None = None
    closed: bool = False
    start: float = field(default_factory=clock)

    @property
    def bound(self) -> float:
        """No choice that the goal wants costs less."""
        if self.closed:
            return float("inf")
        return 0.0 if self.engine is None else self.engine.bound

    def solution(self) -> Solution:
        """The choice that the goal reports."""
        return self._found(*self.goal.best) if self.goal.best is not None else self._none()

    def points(self, goal: Frontier) -> list[PathPoint]:
        """The path, with a last point that says why it ends before all candidates are accepted."""
        points, total = self._points(goal, len(goal.points)), goal.total
        if goal.next is not None:
            points.append(PathPoint(self._none(), goal.next, goal.next / total))
        return points

    def settled(self, goal: Frontier) -> list[PathPoint]:
        """The beginning of the path that nothing can change any more: all else that is wanted costs more."""
        return self._points(goal, sum(1 for point in goal.points if point.cost * _SURELY < self.bound))

    def _points(self, goal: Frontier, count: int) -> list[PathPoint]:
        points, total, about = [], goal.total, self._about()
        for i, point in enumerate(goal.points[:count]):
            if i + 1 < len(goal.points) and goal.points[i + 1].cost <= point.cost * (1.0 + BETTER):
                continue  # more weight for the same cost but for rounding
            points.append(PathPoint(self._found(point.cost, point.choice, about), point.weight, point.weight / total))
        return points

    def plans(self, goal: Several) -> list[Solution]:
        """The choices, with a last answer that says why there are fewer than were asked for."""
        found = [self._found(cost, choice) for cost, choice in goal.ranked()]
        return found if len(found) == goal.count else [*found, self._none()]

    def goes_on(self) -> bool:
        """Look at the clock and ask the callback."""
        if self.time_limit is not None and clock() - self.start > self.time_limit:
            return False
        return self.callback is None or self.callback(self.solution()) is not False

    def _found(self, cost: float, choice: Choice, about: tuple[float, int] | None = None) -> Solution:
        proved = cost * (1.0 - BETTER) <= self.bound
        status, bound = (Status.OPTIMAL, cost) if proved else (Status.FEASIBLE, self.bound)
        return self._solution(status, choice, cost, bound, about)

    def _none(self) -> Solution:
        return self._solution(Status.INFEASIBLE if self.closed else Status.UNKNOWN, None, None, self.bound)

    def _about(self) -> tuple[float, int]:
        """Seconds and nodes so far."""
        return clock() - self.start, 0 if self.engine is None else self.engine.nodes

    def _solution(
        self,
        status: Status,
        choice: Choice | None,
        cost: float | None,
        bound: float,
        about: tuple[float, int] | None = None,
    ) -> Solution:
        seconds, nodes = about or self._about()
        name = getattr(self.engine, "name", self.name)  # an engine may have a name of its own
        return Solution(status, choice, cost, bound, seconds, name, nodes)


def drive(
    problem: Problem,
    goal: Goal,
    start: Start,
    time_limit: float | None = None,
    callback: Callback | None = None,
    name: str = "search",
    enough: Callable[[Drive], bool] | None = None,
) -> Drive:
    """Search until the goal is reached and proved, or until time, the callback or an interrupt ends it.

    Parameters
    ----------
    problem, goal : what to search, and what for
    start : makes the engine
    time_limit : seconds, or None
    callback : called now and then with the best so far; returning False stops the search
    name : what the solutions say about who found them
    enough : asked now and then; true ends the search
    """
    state = Drive(problem, goal, time_limit, callback, name)
    try:
        state.engine = start(problem, goal.apart)
        more = True
        while more:
            for _ in state.engine.search(goal):
                if not state.goes_on() or (enough is not None and enough(state)):
                    return state
            more = goal.settle()
        state.closed = True
    except KeyboardInterrupt:
        pass
    return state
