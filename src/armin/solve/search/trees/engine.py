"""The engine for tree ensembles: the tables, the state, and the budgets that it goes through."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, log, nextafter

import numpy as np
from numpy.typing import NDArray

from armin.models.kinds import TreeEnsemble
from armin.problem import Choice, Problem
from armin.solve.search.dive import Nearby, dive
from armin.solve.search.goals import Bans, Goal, Stairs, wanted
from armin.solve.search.handed import hand, space
from armin.solve.search.trees.additive import add_up
from armin.solve.search.trees.bound import free_rest
from armin.solve.search.trees.data import (
    CAP,
    CHANGED,
    COST,
    COUNT,
    ENTERED,
    ENTRY,
    GROUPS,
    HEAD,
    LEVELS,
    NODES,
    PLAIN,
    PROVED,
    PURSE,
    STAGE,
    TOP,
    UNIONS,
    Exact,
    State,
    Trees,
)
from armin.solve.search.trees.exact import weigh
from armin.solve.search.trees.leaves import Reduced, reduce_problem
from armin.solve.search.trees.nearby import TreesNearby
from armin.solve.search.trees.nodes import explore
from armin.solve.search.trees.tables import TreeSearch, build_tables
from armin.solve.search.trees.terms import TermsEngine
from armin.solve.stopping import clock

__all__ = ["Run", "TreeEngine", "budgets", "is_large", "new_state", "start_trees"]

_STEP = 1.5  # from one budget to the next
_LEAP = 8.0  # of what a plan costs, the part below which budgets are not worth their time
_LARGE = 5000  # leaves from which tables are made anew for each budget
_FEW_NODES, _MANY_NODES = 2000, 20_000  # between two looks at what was found, and whether a dive would help
_FIRST_NODES = 250  # the same while there is no plan
_SLICE, _SLICE_NODES = 0.01, 50  # seconds between two looks at the clock, about; and nodes in the first of them
_PLAIN = 3000  # nodes of a stage that get by with the plain bound: most problems end before
_NEVER = 1 << 60
_SOON = 5_000_000  # nodes times words, for every 64 groups, after which a dive is worth its time
_SOONER = 10  # a dive begins after this part of that, if there is no plan,
_MORE = 8  # and stops after so many looks more, once there is one
_WORDS = 6  # of a group that take as long to make as one of a node takes to visit
_HEAVY = 12  # what a node with the second bound takes, compared with the plain one
_LOOKS = 120  # of a dive


@dataclass(eq=False)
class Run:
    """The tables for a budget, and the state of the search through them."""

    problem: Problem
    search: TreeSearch
    state: State
    node: NDArray[np.int64]
    whole: bool
    """Whether weights are whole numbers, whose sum does not depend on their order."""
    plain: bool
    """Whether the outputs alone decide; else the model is asked."""
    tables: Trees
    """The tables, and the state, as compiled code gets them."""
    written: State
    exact: Exact
    heavy: int = 0
    """Nodes with the second bound."""

    @property
    def finished(self) -> bool:
        """Whether no node is open."""
        return bool(self.state.counter[TOP] == 0)

    @property
    def nodes(self) -> int:
        """How many nodes were visited."""
        return int(self.state.counter[NODES])

    @property
    def work(self) -> int:
        """About how much was done: nodes times words, for every 64 groups; and the groups that were made."""
        nodes, count = self.nodes + (_HEAVY - 1) * self.heavy, self.state.counter
        made = int(count[ENTERED]) * int(self.state.masks.shape[1]) // _WORDS
        return nodes * self.state.work.size * (1 + int(count[GROUPS]) // 64) + made

    def begin(self, cap: float, proved: float, plain: int = _PLAIN) -> None:
        """Start at the root, for choices that cost less than ``cap``; those below ``proved`` are all known.

        So many nodes get by with the ``plain`` bound.
        """
        state = self.state
        state.number[CAP] = state.number[STAGE] = cap
        state.number[PROVED] = proved
        state.counter[TOP], state.counter[PLAIN] = 1, state.counter[NODES] + plain
        state.stack[0] = 0
        free_rest(self.tables, cap, state.rest)

    def slices(self, goal: Goal, nodes: int) -> Iterator[None]:
        """Visit so many nodes, with pauses; the clock decides how many pauses there are, but not what is found."""
        end, size = self.nodes + nodes, _SLICE_NODES
        while not self.finished and self.nodes < end:
            before, start = self.nodes, clock()
            self.advance(goal, min(size, end - before))
            self.heavy += max(0, self.nodes - max(before, int(self.state.counter[PLAIN])))
            size = max(1, min(2 * size, int(size * _SLICE / max(clock() - start, 1e-6))))
            if not self.finished:
                yield

    def advance(self, goal: Goal, nodes: int) -> None:
        """Visit some nodes and offer what they find."""
        state, end = self.state, self.nodes + nodes
        stairs, bans = goal.stairs(), goal.bans()
        while not self.finished and self.nodes < end:
            if not self.explore(stairs, bans, end - self.nodes):
                return
            choice = self.read()
            cost = self.problem.cost(choice)
            if self.plain:
                weight = float(weigh(self.exact, self.tables, self.written))
            else:
                weight = self.problem.weight_accepted(choice)
            if not wanted(stairs, cost, weight) or not self.problem.allows(choice):
                continue
            if not self.whole:  # added up as the problem does
                weight = self.problem.weight_accepted(choice)
            if goal.offer(choice, cost, weight):
                stairs, bans = goal.stairs(), goal.bans()
                state.number[CAP] = min(state.number[CAP], goal.worst)

    def explore(self, stairs: Stairs, bans: Bans, nodes: int) -> bool:
        """Visit at most so many nodes; whether ``self.node`` is a single choice that may well be valid."""
        return explore(self.tables, self.written, stairs, bans, self.node, nodes)

    def read(self) -> Choice:
        """The choice of the single node in ``self.node``."""
        search, node = self.search, self.node
        choice = [0] * len(self.problem.options)
        n_local = len(search.local_feature)
        for f, feature in enumerate(search.local_feature):
            if feature >= 0:
                choice[feature] = int(search.local_option[f][node[HEAD + f]])
        for k in range(int(node[CHANGED])):
            d, side, low = (int(i) for i in node[HEAD + n_local + ENTRY * k :][:3])
            choice[search.common_feature[d]] = int(search.option[search.tables.sides[d, side, COST] + low])
        return tuple(choice)


def new_state(problem: Problem, search: TreeSearch) -> tuple[State, State]:
    """Space for a search through the tables, for Python and for compiled code."""
    tables, shape = search.tables, search.tables.shape
    width = HEAD + shape.local + ENTRY * min(shape.limit, shape.common)
    depth = int(tables.local_part[:, COUNT].sum()) + (shape.common + 2) * (shape.limit + 2) + 20 * shape.limit + 64
    words, n, rows = tables.masks.shape[1], tables.weight.size, tables.rows.shape[1]
    leaves = 64 * int(np.diff(tables.part).max(initial=1))
    state, written = space(
        State,
        {
            "stack": (np.int64, (depth, width)),
            "counter": (np.int64, (9,)),
            "number": (np.float64, (4,)),
            "weight": (np.float64, (n,)),
            "mask": (np.uint64, (UNIONS + n, words - shape.own_word)),
            "work": (np.uint64, (words,)),
            "sums": (np.int64, (rows,)),
            "slot": (np.int32, (1 << (2 * n).bit_length(),)),
            "rest": (np.uint64, (LEVELS, shape.common + 1, words)),
            "reference": (np.float64, (shape.common,)),
            "listed": (np.int64, (leaves,)),
            "worth": (np.float64, (2, leaves)),
            "touched": (np.int64, (shape.common + 1,)),
            "share": (np.float64, (shape.common, PURSE + 1)),
            "gain": (np.float64, (2, rows, shape.common, PURSE)),
            "base": (np.float64, (2, rows)),
            "purse": (np.float64, (rows, shape.limit + 1, PURSE)),
            "hope": (np.bool_, (shape.common,)),
            "changed": (np.uint64, (max(1, (len(problem.options) + 63) // 64),)),
            "key": (np.int64, (n,)),
            "first": (np.int64, (n,)),
            "rank": (np.int64, (n,)),
            "total": (np.float64, (n,)),
            "score": (np.float64, (n,)),
            "masks": (np.uint64, (n, words - shape.own_word)),
        },
    )
    state.number[CAP] = np.inf
    state.slot[:] = -1
    state.rest[:] = ~np.uint64(0)
    return state, written


def _new_run(reduced: Reduced, cap: float, nodes: int = 0) -> Run:
    search = build_tables(reduced, cap)
    state, written = new_state(reduced.problem, search)
    state.counter[NODES] = nodes
    whole = bool(np.all(reduced.problem.weights == np.floor(reduced.problem.weights)))
    plain = reduced.model.decision.blur == 0.0
    node = np.zeros(state.stack.shape[1], dtype=np.int64)
    return Run(reduced.problem, search, state, node, whole, plain, hand(search.tables), written, hand(search.exact))


class TreeEngine:
    """A search whose budget grows: a stage that ends without a choice proves that none costs less.

    Attributes
    ----------
    bound : no choice that the goal wants costs less
    """

    def __init__(self, reduced: Reduced, cap: float, dearest: float, large: bool) -> None:
        self.reduced, self.cap, self.dearest, self.large, self.bound = reduced, cap, dearest, large, 0.0
        self.run: Run | None = None
        self.soon, self.looks = _SOON, _LOOKS
        self._dived = False
        self._diving: Iterator[None] | None = None

    @property
    def nodes(self) -> int:
        return 0 if self.run is None else self.run.nodes

    def new_run(self, cap: float) -> Run:
        """Tables for choices that cost less than ``cap``, and a search through them."""
        return _new_run(self.reduced, cap, self.nodes)

    def nearby(self) -> Nearby:
        """What a dive looks at."""
        return TreesNearby(self.reduced)

    def search(self, goal: Goal) -> Iterator[None]:
        """Let the budget grow until all is proved."""
        step, before, seen = _STEP, 0, 0
        # a second bound and a dive pay where one choice is wanted, or where the model is large
        hard = self.large or goal.kind == "cheapest"
        if self.large:
            yield from self._dive(goal)
            if goal.worst < np.inf:
                self.cap = max(self.cap, goal.worst / _LEAP)  # tables for each of many tiny budgets would take too long
        if self.bound > 0.0:  # more is wanted: the tables may have been made for less
            self.cap = max(self.cap, 1.1 * self.bound)
        if self.run is None or (self.large and self.bound > 0.0):
            self.run = self.new_run(self.cap if self.large else np.inf)
        while True:
            run, start = self.run, self.run.nodes
            run.begin(min(self.cap, goal.worst), self.bound, _PLAIN if hard else _NEVER)
            while not run.finished:
                yield from run.slices(goal, self._share())
                if hard and not self._dived:
                    if not run.finished and run.work > self.soon:
                        yield from self._dive(goal)
                    elif goal.known == np.inf and run.work > self.soon // _SOONER:
                        yield from self._begin_dive(goal)
                    run.state.number[CAP] = min(run.state.number[CAP], goal.worst)
            if goal.worst <= self.cap or self.cap > self.dearest:
                self.bound = goal.worst
                return
            now = run.nodes - start
            if before > _FEW_NODES // 2 and now < 1.25 * before:
                step *= _STEP  # dearer budgets add little: hurry
            before = now
            self.bound, self.cap = self.cap, self._next_cap(step, goal.worst)
            if self._diving is not None and goal.worst < np.inf:
                self.cap = max(self.cap, goal.worst / _LEAP)
            # a budget with next to nothing in it is no share of work
            if self.large or run.nodes - seen > _FEW_NODES // 4:
                seen = run.nodes
                yield
            if self.large:
                yield from self._renew(goal)
                yield

    def _next_cap(self, step: float, plan: float) -> float:
        """The next budget, about ``step`` times this one.

        Where what a plan costs is the last budget, equal steps lead there: a step that ended just below it would take
        nearly as long as the last one, and prove next to nothing.
        """
        if self.cap < plan < np.inf:
            far = log(plan) - log(self.cap)  # the quotient may be too large for a number
            steps = max(1, round(far / log(step)))
            return plan if steps == 1 else max(self.cap * exp(far / steps), nextafter(self.cap, plan))
        return step * self.cap if self.cap < self.dearest else np.inf

    def _share(self) -> int:
        """Nodes between two looks at whether a dive would help."""
        if self._dived and not self.large:
            return _MANY_NODES
        return _FEW_NODES if self._dived or self._diving is not None else _FIRST_NODES

    def _dive(self, goal: Goal) -> Iterator[None]:
        """Look for a good choice without proof, once."""
        if not self._dived:
            self._dived = True
            if self._diving is None:
                yield
                self._diving = self._new_dive(goal)
                yield
            yield from self._diving

    def _begin_dive(self, goal: Goal) -> Iterator[None]:
        """Begin a dive, up to a little after the first choice that it finds."""
        if self._diving is None:
            self._diving, more = self._new_dive(goal), _MORE
            for _ in self._diving:
                yield
                more -= goal.known < np.inf
                if more < 0:
                    return

    def _new_dive(self, goal: Goal) -> Iterator[None]:
        return dive(self.reduced.problem, goal, self.nearby(), self.looks, packed=True)

    def _renew(self, goal: Goal) -> Iterator[None]:
        """Tables for the present budget, after a short look at a larger one if nothing was found yet."""
        if goal.known == np.inf and goal.kind != "path" and self.nodes > _FEW_NODES:
            far = _STEP**2 * self.cap
            self.run = self.new_run(far)
            self.run.begin(far, self.bound)
            yield from self.run.slices(goal, _FEW_NODES)
            yield
        self.run = self.new_run(min(self.cap, goal.worst))


def start_trees(problem: Problem, model: TreeEnsemble, apart: bool) -> TreeEngine | TermsEngine:
    """A search that has not begun; with ``apart``, changes without effect are told apart from "keep"."""
    reduced = reduce_problem(problem, model, apart)
    cap, dearest = budgets(problem)
    made = add_up(reduced)
    if made is not None:
        return TermsEngine(reduced, made, cap, dearest)
    return TreeEngine(reduced, cap, dearest, is_large(model))


def budgets(problem: Problem) -> tuple[float, float]:
    """A budget below which there is next to nothing to search, and one that is enough for everything."""
    dearest = sum(float(o.costs.max()) for o in problem.options) + 1.0
    costs = np.concatenate([np.zeros(0), *(o.costs for o in problem.options)])
    costs = costs[costs > 0]
    return (1.01 * float(costs.min()) if costs.size else 1.0), dearest


def is_large(model: TreeEnsemble) -> bool:
    """Whether tables are made anew for each budget."""
    return int(np.count_nonzero(model.feature < 0)) > _LARGE
