"""The engine for mixtures: the stages of the search over trees, with the tables and the bound of mixtures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armin.models.kinds import ScoreMixture
from armin.problem import Problem
from armin.solve.search.dive import Nearby
from armin.solve.search.goals import Bans, Stairs
from armin.solve.search.handed import hand
from armin.solve.search.mixed.bound import knapsack
from armin.solve.search.mixed.data import Mixed, build_mix
from armin.solve.search.mixed.joined import Joined, join_members
from armin.solve.search.mixed.nearby import MixedNearby
from armin.solve.search.mixed.nodes import explore
from armin.solve.search.trees.data import NODES
from armin.solve.search.trees.engine import Run, TreeEngine, budgets, is_large, new_state
from armin.solve.search.trees.leaves import Reduced, reduce_problem
from armin.solve.search.trees.tables import build_tables

__all__ = ["MixedEngine", "start_mixed"]

_NEVER = 1 << 60
_SOON = 12_000_000  # nodes times words, for every 64 groups, after which a dive is worth its time
_LOOKS = 30  # of a dive


@dataclass(eq=False)
class MixedRun(Run):
    """The tables for a budget, and the state of the search through them."""

    mixed: Mixed | None = None

    def begin(self, cap: float, proved: float, plain: int = 0) -> None:
        """Start at the root, for choices that cost less than ``cap``; those below ``proved`` are all known."""
        assert self.mixed is not None  # noqa: S101  set when it is made
        super().begin(cap, proved, _NEVER)  # there is no second bound
        knapsack(self.tables, self.mixed.handed, self.mixed.written, cap)

    def explore(self, stairs: Stairs, bans: Bans, nodes: int) -> bool:
        """Visit at most so many nodes; whether ``self.node`` is a single choice that may well be valid."""
        assert self.mixed is not None  # noqa: S101  set when it is made
        handed, written = self.mixed.handed, self.mixed.written
        return explore(self.tables, self.written, handed, written, stairs, bans, self.node, nodes)


class MixedEngine(TreeEngine):
    """A search whose budget grows: a stage that ends without a choice proves that none costs less.

    Attributes
    ----------
    bound : no choice that the goal wants costs less
    """

    def __init__(
        self, mixture: ScoreMixture, joined: Joined, reduced: Reduced, cap: float, dearest: float, large: bool
    ) -> None:
        super().__init__(reduced, cap, dearest, large)
        self.mixture, self.joined = mixture, joined
        self.soon, self.looks = _SOON, _LOOKS

    def nearby(self) -> Nearby:
        """What a dive looks at."""
        return MixedNearby(self.reduced, self.joined, self.mixture.cut, self.mixture.near)

    def new_run(self, cap: float) -> Run:
        """Tables for choices that cost less than ``cap``, and a search through them."""
        search = build_tables(self.reduced, cap)
        problem, nodes = self.reduced.problem, self.nodes
        state, written = new_state(problem, search)
        state.counter[NODES] = nodes
        mixed = build_mix(self.reduced, self.joined, search, self.mixture.cut, self.mixture.near)
        whole = bool(np.all(problem.weights == np.floor(problem.weights)))
        node = np.zeros(state.stack.shape[1], dtype=np.int64)
        tables, exact = hand(search.tables), hand(search.exact)
        return MixedRun(problem, search, state, node, whole, False, tables, written, exact, mixed=mixed)


def start_mixed(problem: Problem, model: ScoreMixture, apart: bool) -> MixedEngine | None:
    """A search that has not begun; None where an input that a line weighs is not a number."""
    joined = join_members(model)
    lines = np.flatnonzero(joined.tests.seen)
    known = [problem.candidates[:, lines]]
    known += [o.outcomes[:, :, np.isin(o.columns, lines)] for o in problem.options]
    if not all(np.isfinite(part).all() for part in known):
        return None
    reduced = reduce_problem(problem, joined.trees, apart, joined.tests)
    cap, dearest = budgets(problem)
    return MixedEngine(model, joined, reduced, cap, dearest, is_large(joined.trees))
