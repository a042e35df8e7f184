"""The engine for sums of tables: tree ensembles in which no tree asks about more than two features."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from armin.problem import Choice, Problem
from armin.solve.search.dive import dive
from armin.solve.search.goals import Goal, wanted
from armin.solve.search.handed import hand, space
from armin.solve.search.trees.additive import Tabulated
from armin.solve.search.trees.leaves import Reduced
from armin.solve.search.trees.nearby import TreesNearby
from armin.solve.search.trees.walks import CAP, DEPTH, LEVELS, NODES, OVER, Walk, begin, walk, weigh_choice
from armin.solve.stopping import clock

__all__ = ["TermsEngine"]

_STEP, _LEAP = 1.5, 3.0  # from one budget to the next, and after one with next to nothing in it
_FEW = 200  # nodes
_SLICE, _SLICE_NODES = 0.01, 50  # seconds between two looks at the clock, about; and nodes in the first of them
_SOON = 30_000  # nodes after which a dive is worth its time
_LOOKS = 30  # of a dive


def _new_walk(problem: Problem, made: Tabulated) -> tuple[Walk, Walk]:
    tables = made.tables
    n, common, changes, options = tables.weight.size, tables.common, tables.limit + 1, tables.option_cell.size
    return space(
        Walk,
        {
            "counter": (np.int64, (6,)),
            "number": (np.float64, (4,)),
            "context": (np.int64, (tables.local,)),
            "order": (np.int64, (common,)),
            "place": (np.int64, (common,)),
            "gain": (np.int64, (options,)),
            "hidden": (np.int64, (options,)),
            "purse": (np.int64, (common + 1, changes, LEVELS + 1)),
            "best": (np.int64, (LEVELS + 1,)),
            "now": (np.int64, (common,)),
            "feature": (np.int64, (changes,)),
            "option": (np.int64, (changes,)),
            "cost": (np.float64, (changes,)),
            "shared": (np.int64, (changes,)),
            "most": (np.int64, (changes,)),
            "more": (np.int64, (changes, n)),
            "next": (np.int64, (changes, 2)),
            "lack": (np.int64, (1,)),
            "base": (np.int64, (n,)),
            "rank": (np.int64, (n,)),
            "score": (np.float64, (max(n, common),)),
            "slot": (np.int32, (1 << (2 * n).bit_length(),)),
            "key": (np.int64, (n,)),
            "first": (np.int64, (n,)),
            "total": (np.float64, (n,)),
            "changed": (np.uint64, (max(1, (len(problem.options) + 63) // 64),)),
        },
    )


class TermsEngine:
    """A search whose budget grows, as :class:`armin.solve.search.trees.engine.TreeEngine`, over tables.

    Attributes
    ----------
    bound : no choice that the goal wants costs less
    """

    kernel = "walks.walk"  # what takes longest to compile

    def __init__(self, reduced: Reduced, made: Tabulated, cap: float, dearest: float) -> None:
        self.reduced, self.problem, self.made, self.cap, self.dearest = reduced, reduced.problem, made, cap, dearest
        self.bound = 0.0
        self.work, self._written = _new_walk(self.problem, made)
        self._tables, self._sums = hand(made.tables), hand(made.sums)
        weights = self.problem.weights
        self._whole = bool(np.all(weights == np.floor(weights)))  # their sum does not depend on their order
        self._plain = reduced.model.decision.blur == 0.0  # the outputs alone decide; else the model is asked
        self._dived = False

    @property
    def nodes(self) -> int:
        return int(self.work.counter[NODES])

    def search(self, goal: Goal) -> Iterator[None]:
        """Let the budget grow until all is proved."""
        if self.bound > 0.0:  # more is wanted
            self.cap = max(self.cap, 1.1 * self.bound)
        while True:
            cap, before = min(self.cap, goal.worst, self.dearest), self.nodes
            begin(self._tables, self._written, cap, self.bound, cap)
            size = _SLICE_NODES
            while not self.work.counter[OVER]:
                start = clock()
                self._advance(goal, size)
                size = max(1, min(2 * size, int(size * _SLICE / max(clock() - start, 1e-6))))
                if not self.work.counter[OVER]:
                    yield
                    if self.nodes - before > _SOON and goal.kind == "cheapest":
                        yield from self._dive(goal)
                        self.work.number[CAP] = min(self.work.number[CAP], goal.worst)
            if goal.worst <= self.cap or self.cap >= self.dearest:
                self.bound = goal.worst
                return
            self.bound = self.cap
            self.cap *= _LEAP if self.nodes - before < _FEW else _STEP
            yield

    def _advance(self, goal: Goal, nodes: int) -> None:
        """Visit some nodes and offer what they find."""
        work, end = self.work, self.nodes + nodes
        stairs, bans = goal.stairs(), goal.bans()
        while not work.counter[OVER] and self.nodes < end:
            if not walk(self._tables, self._written, stairs, bans, end - self.nodes):
                return
            choice = self._read()
            cost = self.problem.cost(choice)
            if self._plain:
                weight = float(weigh_choice(self._tables, self._written, self._sums))
            else:
                weight = self.problem.weight_accepted(choice)
            if not wanted(stairs, cost, weight) or not self.problem.allows(choice):
                continue
            if not self._whole:  # added up as the problem does
                weight = self.problem.weight_accepted(choice)
            if goal.offer(choice, cost, weight):
                stairs, bans = goal.stairs(), goal.bans()
                work.number[CAP] = min(work.number[CAP], goal.worst)

    def _read(self) -> Choice:
        """The choice that was made last."""
        work, choice = self.work, [0] * len(self.problem.options)
        for f, local in enumerate(self.reduced.locals_):
            if local.feature >= 0:
                choice[local.feature] = int(local.option[work.context[f]])
        for k in range(int(work.counter[DEPTH])):
            choice[self.reduced.commons[work.feature[k]].feature] = int(self.made.option[work.option[k]])
        return tuple(choice)

    def _dive(self, goal: Goal) -> Iterator[None]:
        """Look for a good choice without proof, once."""
        if not self._dived:
            self._dived = True
            nearby = TreesNearby(self.reduced)
            yield
            yield from dive(self.problem, goal, nearby, _LOOKS)
