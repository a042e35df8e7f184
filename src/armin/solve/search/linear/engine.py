"""The engine for linear models: its contexts, their state, and the budgets that it goes through."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import numpy as np

from armin.models.kinds import LinearModel
from armin.problem import Problem
from armin.solve.search.goals import BETTER, FEW_CHOICES, Frontier, Goal, consider
from armin.solve.search.linear.branches import Branches
from armin.solve.search.linear.contexts import Contexts, contexts, fold
from armin.solve.search.linear.data import CAP, DEPTH, FOUND, NODES, PRICE, Demand
from armin.solve.search.linear.fronts import MOST_BANS, SIZE, WHOLE, Fronts, advance, new_fronts, set_out, take
from armin.solve.search.linear.nodes import dive, keep_choice
from armin.solve.search.linear.searcher import Searcher
from armin.solve.search.linear.steps import ascend

__all__ = ["LinearEngine", "start_linear"]

FEW_CONTEXTS = 8
"""Up to this many contexts are all made at once; more are made as they are needed."""

_TRY = 4096  # nodes for each budget of the context that is looked at first
_PROBE = 256  # nodes without a budget that may settle a problem at once
_LAYERS = ((20_000, 512), (1_000_000, 8192), (20_000_000, 65536))  # nodes of a context, then layers of so many states
_STEPS = 50_000  # nodes of a path's steps between two looks at the clock
_STATES = 1_000_000  # between two looks at the clock
_LOOKS = 64  # choices that the model is asked about, between two looks at the clock


class LinearEngine:
    """All contexts of a problem, searched for one required weight after another.

    Where there are few choices, one pass looks at each of them once at most, whatever the goal. Where there are many
    contexts, they are leaves of a tree, and only those that may hold a choice within the budget are made.

    Attributes
    ----------
    bound : no choice that the goal wants costs less
    """

    def __init__(self, problem: Problem, found: Contexts, crowd: Demand) -> None:
        self.problem, self.bound = problem, 0.0
        costs, start = found.moves.cost, found.moves.start[:-1]
        self.dearest = sum(np.maximum.reduceat(costs, start).tolist() if start.size else []) + 1.0
        self.cheapest = float(costs.min(where=costs > 0, initial=1.0))
        self.contexts, self.few = found, found.has_at_most(FEW_CHOICES)
        # nothing is ruled out but by the number of changes, which the search counts itself
        self.free = not (problem.rules or problem.forbidden or problem.forbidden_sets or problem.forbidden_cores)
        self._room: dict[int, tuple[Fronts, Fronts]] = {}
        self.tree: Branches | None = None
        if found.count > FEW_CONTEXTS and not self.few:
            self.tree = Branches(found, crowd)
            self.searchers = [self.tree.kept]
        else:
            self.searchers = [Searcher(problem, found.make(picks), crowd) for picks in found.combinations()]
        # whether compiled code can go from one step of a path to the next
        self.plain = self.free and len(self.searchers) == 1 and self.tree is None and self.searchers[0].counted

    @property
    def nodes(self) -> int:
        made = self.searchers if self.tree is None else self.tree.made
        return sum(int(s.work.counter[NODES]) for s in made)

    def search(self, goal: Goal) -> Iterator[None]:
        """Answer the steps of the goal's stairs, the lowest first: what it costs bounds all that follow."""
        kept = False  # whether the goal has heard of changing nothing
        while True:
            stairs = goal.stairs()
            step = int(stairs.cost.searchsorted(self.bound, side="right"))
            if step == stairs.cost.size:
                return
            require, few = float(stairs.require[step]), self.few
            # whether the cheapest choice of this weight is all that a pass should find
            single = goal.one_by_one or (goal.kind == "path" and not few)
            for searcher in self.searchers:
                searcher.demand(require, single)
            if not kept and any(s.keep_may_do for s in self.searchers):
                kept = True
                if consider(self.problem, goal, self.problem.keep):
                    continue
            if few:
                yield from self._sweep(goal)
                return
            # compiled code knows no part's budget, so it answers a whole problem's path only
            if isinstance(goal, Frontier) and self.bound > 0.0 and step + 1 == stairs.cost.size and self.plain:
                answered = self._ascend(self.searchers[0], goal, require)
                yield
                if answered:
                    continue
            yield from self._answer(goal, require, single)

    def _ascend(self, searcher: Searcher, goal: Frontier, require: float) -> bool:
        """Answer the steps from this one on in one context, as far as compiled code can; whether it answered any."""
        steps, handed = searcher.steps
        steps.number[:] = require, self.bound, goal.step, self.cheapest, self.dearest, self.contexts.choices
        work = searcher.work
        count = ascend(searcher.given, searcher.crowd, searcher.written, goal.bans(), handed, _STEPS)
        for k in range(count):
            n = steps.size.item(k)
            work.best[:n], work.counter[FOUND] = steps.best[k, :n], n
            if not self._offer(searcher, goal):
                count = k
                break
            self.bound = goal.points[-1].cost * (1.0 - BETTER)
        work.counter[FOUND] = -1
        searcher.demand(require, True)  # compiled code has asked for more, step by step
        self.plain = count > 0
        return count > 0

    def _sweep(self, goal: Goal) -> Iterator[None]:
        """Offer all that any step of the stairs could want, in one pass."""
        for searcher in self.searchers:
            yield from self._stage(searcher, goal, np.inf, np.inf)
        self.bound = goal.worst

    def _answer(self, goal: Goal, require: float, single: bool) -> Iterator[None]:
        """Let the budget grow until the cheapest choice of this weight is proved, or that there is none."""
        low = max(self.cheapest, self.bound)
        cap, before = low, self.nodes
        if self.tree is not None:
            yield
            cap = min(max(low, self.tree.least(require)), self.dearest)
            yield
            yield from self._try(self.tree.likely(require), goal, require, single)
            if _known(goal, require) < np.inf:  # what is known is budget enough
                yield from self._climb(self.tree, goal, require, single, np.inf)
                self.bound = _known(goal, require)
                return
        elif self.bound == 0.0:  # else the bound is a good start
            cap = min((s.least_cap(low, self.dearest) for s in self.searchers), default=self.dearest)
        if cap > low:
            self.bound = cap
        for searcher in self.searchers if self.tree is None else ():
            if not searcher.priced:
                yield from self._stage(searcher, goal, require, np.inf, _PROBE)
        left = [s for s in self.searchers if s.priced or not s.finished]
        while True:
            # a budget spares nothing where what was spent on smaller ones is a good part of all there is
            nodes = self.nodes - before
            spent = 4 * nodes > FEW_CHOICES and 4 * nodes > self.contexts.choices
            cap = 1.1 * cap if cap < self.dearest and not spent else np.inf
            if self.tree is not None:
                yield from self._climb(self.tree, goal, require, single, cap)
            else:
                for searcher in left:
                    yield from self._stage(searcher, goal, require, cap)
            known = _known(goal, require)
            if known <= cap or cap > self.dearest:
                self.bound = known
                return
            self.bound = max(self.bound, cap)
            cap *= 1.2

    def _try(self, searcher: Searcher, goal: Goal, require: float, single: bool) -> Iterator[None]:
        """Look for some choice in one context, so that the others need not be looked at for anything dearer."""
        searcher.demand(require, single)
        cap = searcher.least_cap(self.cheapest, self.dearest)
        while cap <= self.dearest and _known(goal, require) > cap:
            cap *= 1.3
            yield from self._stage(searcher, goal, require, cap, _TRY)

    def _climb(self, tree: Branches, goal: Goal, require: float, single: bool, cap: float) -> Iterator[None]:
        """Search the contexts of a tree that may hold a choice below a budget, the most promising first."""
        for bound, searcher in tree.leaves(require, lambda: min(cap, _known(goal, require))):
            self.bound = max(self.bound, bound)  # leaves come by rising bounds
            if searcher is None:
                yield
                continue
            if searcher.require != require:
                searcher.demand(require, single)
            yield from self._stage(searcher, goal, require, cap)

    def _stage(
        self, searcher: Searcher, goal: Goal, require: float, cap: float, most: float = np.inf
    ) -> Iterator[None]:
        """Search one context below a budget, in no more than ``most`` nodes."""
        work, bans = searcher.work, goal.bans()
        searcher.begin(min(cap, _known(goal, require)))
        end = int(work.counter[NODES]) + most
        ahead = [*_LAYERS] if most == np.inf and searcher.plain else []
        due = work.counter[NODES] + ahead[0][0] if ahead else np.inf
        while not searcher.finished and work.counter[NODES] < end:
            nodes = int(min(searcher.share, min(due, end) - work.counter[NODES]))
            check = dive(searcher.given, searcher.crowd, searcher.written, bans, nodes)
            better = work.counter[FOUND] >= 0 and self._offer(searcher, goal)
            if check:
                keep_choice(searcher.given, searcher.written)
                better = self._offer(searcher, goal) or better
            work.counter[FOUND] = -1
            if better:
                bans = goal.bans()
                work.number[CAP] = min(cap, _known(goal, require))
            if not searcher.finished:
                yield
            if not searcher.finished and work.counter[NODES] >= due:
                if (yield from self._layers(searcher, goal, require, cap, ahead.pop(0)[1])):
                    return
                bans = goal.bans()
                due = work.counter[NODES] + ahead[0][0] if ahead else np.inf

    def _layers(
        self, searcher: Searcher, goal: Goal, require: float, cap: float, width: int
    ) -> Generator[None, None, bool]:
        """Settle one context in layers of so many states, or find a good choice; whether it is settled."""
        work = searcher.work
        searcher.begin(min(cap, _known(goal, require)))
        bans = goal.bans()
        if searcher.finished:
            return True
        if bans.price.size > MOST_BANS or not (work.number[PRICE] > 0.0 and work.number[CAP] < np.inf):
            return False
        fronts, handed = self._fronts(width)
        set_out(searcher.given, searcher.written, handed, bans)
        while not advance(searcher.given, searcher.written, handed, bans, _STATES):
            yield
        for k in range(int(fronts.counter[SIZE])):  # by rising cost
            if fronts.cost[fronts.which[0], k] >= min(cap, _known(goal, require)):
                break
            sure = take(searcher.written, handed, k)
            self._offer(searcher, goal)
            if sure:
                break
            if k % _LOOKS == _LOOKS - 1:
                yield
        searcher.begin(min(cap, _known(goal, require)))
        if fronts.counter[WHOLE]:
            work.counter[DEPTH] = -1
        return bool(fronts.counter[WHOLE])

    def _fronts(self, width: int) -> tuple[Fronts, Fronts]:
        if width not in self._room:
            self._room[width] = new_fronts(len(self.problem.options), width)
        return self._room[width]

    def _offer(self, searcher: Searcher, goal: Goal) -> bool:
        """Offer what was found if the problem allows it."""
        choice, weight = searcher.found()
        cost = self.problem.cost(choice)
        return cost < goal.worst and (self.free or self.problem.allows(choice)) and goal.offer(choice, cost, weight)


def _known(goal: Goal, require: float) -> float:
    """What a choice of this weight must cost less than."""
    stairs = goal.stairs()  # a requirement that is infinite stands for all of them
    return float(stairs.cost[stairs.require.searchsorted(require, side="right") - 1])


def start_linear(problem: Problem, model: LinearModel, apart: bool) -> LinearEngine | None:
    """A search that has not begun; None where some input is not a number.

    With ``apart``, changes that gain nothing are told apart from "keep".
    """
    rows = fold(model)
    found = contexts(problem, model, rows, apart or bool(problem.forbidden_sets))
    if found is None:
        return None
    weights = np.ascontiguousarray(problem.weights, dtype=np.float64)
    return LinearEngine(problem, found, Demand(rows.way.astype(np.int64), weights, float(weights.sum())))
