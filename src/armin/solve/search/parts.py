"""The engine for problems with blocks: it goes through their parts, each with the engine of its model.

A part in which no cluster changes more than one member has as many options as the features have, and is searched
first. What it finds is a budget for the others, whose combinations are written down only as far as a choice below the
budget can have them. Where nothing is found, the budget grows.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from armin.problem import Choice, Problem
from armin.solve.blocks import Merged, Part, loosened, parts_of
from armin.solve.clusters import TooManyError
from armin.solve.given import pivot_of
from armin.solve.search.blackbox import BlackBoxEngine
from armin.solve.search.drive import Engine, Start
from armin.solve.search.goals import BETTER, Cheapest, Goal, consider
from armin.solve.search.pivot import PivotEngine
from armin.solve.search.views import Seen

__all__ = ["PartsEngine"]

_STEP = 2.0  # from one budget to the next
_SHARES = 4  # of work, for a look at all parts at once: what takes longer is better looked at part by part


@dataclass(frozen=True, eq=False)
class _Below:
    """A problem as the only part of itself, in which choices that cost ``cap`` are not looked for."""

    problem: Problem
    cap: float
    spent: ClassVar[float] = 0.0

    @property
    def of(self) -> Problem:
        return self.problem

    def whole(self, choice: Choice) -> Choice:
        return choice

    def narrowed(self, choice: Choice) -> Choice:
        return choice

    def features_of(self, features: frozenset[int], *, exactly: bool) -> frozenset[int]:
        return features


@dataclass(eq=False)
class _Run:
    """The search of one part.

    Attributes
    ----------
    cap : the part has all its choices that cost less
    done : all that costs less is known
    piece : whether it is cut from a part that was too large, and so not kept when it is done
    """

    part: Part
    merged: Merged | None = None
    engine: Engine | None = None
    cap: float = -1.0
    done: float = 0.0
    nodes: int = 0
    piece: bool = False

    @property
    def bound(self) -> float:
        """No choice that is wanted and in no part before this one costs less."""
        return max(self.part.floor, self.done)


class PartsEngine:
    """A search through the parts of a problem with blocks.

    Attributes
    ----------
    bound : no choice that the goal wants costs less
    nodes : how many nodes were visited in all parts
    """

    def __init__(self, problem: Problem, apart: bool, start: Start) -> None:
        self.problem, self.apart, self.start = problem, apart, start
        self.runs: list[_Run] = []
        self.instead: Engine | None = None
        self.dearest = sum(float(o.costs.max()) for o in problem.options) + 1.0
        self.cap = 0.0

    @property
    def bound(self) -> float:
        if self.instead is not None:
            return self.instead.bound
        return min((run.bound for run in self.runs), default=0.0)

    @property
    def name(self) -> str:
        """What the solutions say about who found them."""
        return str(getattr(self.instead, "name", "search"))

    @property
    def nodes(self) -> int:
        asked = 0 if self.instead is None else self.instead.nodes
        return asked + sum(run.nodes + (0 if run.engine is None else run.engine.nodes) for run in self.runs)

    def search(self, goal: Goal) -> Iterator[None]:
        """Offer the choices of all parts, under budgets that grow until the goal has what it wants."""
        if not self.runs:
            banned = bool(self.problem.forbidden_sets or self.problem.forbidden_cores)
            fixed = banned or self.apart or goal.kind == "several"
            self.runs = [_Run(part) for part in parts_of(self.problem, fixed)]
            self.cap = _STEP * max((run.part.floor for run in self.runs), default=0.0)
        if self.instead is None:
            try:
                yield from self._through(goal)
            except TooManyError:  # in order of cost, which needs no list
                self.instead = BlackBoxEngine(self.problem)
        if self.instead is not None:
            yield from self.instead.search(goal)

    def _through(self, goal: Goal) -> Iterator[None]:
        yield from self._advance(self.runs[0], goal, np.inf)
        if goal.worst < np.inf:  # what is known is budget enough
            self.cap = max(self.cap, goal.worst)
        while len(self.runs) > 1:
            cap = min(goal.worst, self.cap)
            pivot = pivot_of(self.problem, cap)
            if pivot is not None:
                self.instead = PivotEngine(self.problem, self.apart, self.start, pivot)
                return
            settled = yield from self._loosely(goal, cap)
            for run in () if settled else self.runs[1:]:
                yield from self._advance(run, goal, min(goal.worst, self.cap))
            if goal.worst <= self.cap or self.cap > self.dearest:
                break
            self.cap = max(_STEP * self.cap, self.dearest / 256.0) if self.cap < self.dearest else np.inf
        for run in self.runs:
            run.done = goal.worst

    def _loosely(self, goal: Goal, cap: float) -> Generator[None, None, bool]:
        """Look at all parts at once, with changes of a cluster counted as one; whether that settles what is below cap.

        It does if it ends soon, and finds nothing or a cheapest choice that changes no more features than may change.
        """
        apt = goal.kind == "cheapest" and any(run.part.floor < cap for run in self.runs[1:])
        loose = loosened([run.part for run in self.runs]) if apt else None
        try:
            merged = None if loose is None else loose.merged(cap)
        except TooManyError:  # part by part there are fewer
            return False
        if merged is None:
            return False
        yield
        mine = Cheapest(merged.problem)
        engine = self.start(merged.problem, self.apart)
        closed = True
        for i, _ in enumerate(engine.search(Seen(mine, _Below(merged.problem, cap)))):
            self._raise(min(engine.bound, cap))
            yield
            if i >= _SHARES:
                closed = False
                break
        self.runs[0].nodes += engine.nodes
        if not closed:
            return False
        if mine.best is None:
            self._raise(cap)
            return True
        self._raise(min(mine.best[0], cap))
        return consider(self.problem, goal, merged.whole(mine.best[1]))

    def _raise(self, bound: float) -> None:
        """Take note that no part but the first has a choice that is wanted and costs less."""
        for run in self.runs[1:]:
            run.done = max(run.done, bound * (1.0 - 4.0 * BETTER))

    def _advance(self, run: _Run, goal: Goal, cap: float) -> Iterator[None]:
        """Offer all choices of a part that cost less than ``cap``."""
        if run.part.floor < cap:
            if run.cap < cap:
                run.nodes += 0 if run.engine is None else run.engine.nodes
                run.engine = run.merged = None
                try:
                    run.merged = run.part.merged(cap)
                except TooManyError:
                    yield from self._in_pieces(run, goal, cap)
                    return
                run.cap = cap
                run.engine = None if run.merged is None else self.start(run.merged.problem, self.apart)
                yield
            if run.engine is not None and run.merged is not None:
                for _ in run.engine.search(Seen(goal, run.merged)):
                    run.done = max(run.done, min(run.engine.bound, run.cap))
                    yield
        run.done = max(run.done, min(cap, goal.worst))
        if run.piece:  # there may be many, each with a large table
            run.nodes += 0 if run.engine is None else run.engine.nodes
            run.engine, run.merged, run.cap = None, None, -1.0

    def _in_pieces(self, run: _Run, goal: Goal, cap: float) -> Iterator[None]:
        """Offer all choices of a part that has too many combinations to write down at once."""
        pieces = run.part.pieces(cap)
        if not pieces:
            raise TooManyError("One option of each feature is too many.")
        at = self.runs.index(run)
        new = [_Run(part, done=run.done, piece=True) for part in sorted(pieces, key=lambda part: part.floor)]
        new[0].nodes = run.nodes
        self.runs[at : at + 1] = new
        yield
        for one in new:
            yield from self._advance(one, goal, min(cap, goal.worst))
