"""Contexts made when they are needed: a tree over the options that move candidates differently.

Each level decides one feature: its first pattern ("keep", and whatever moves all candidates alike), or one of the
others. A leaf is a context. What lies below a branch is bounded for each candidate on its own. With s_n the score of
candidate n after what is decided, h_no and c_o the gain and cost of option o for that candidate, and p >= 0 a price of
gain, a choice below the branch that makes candidate n accepted costs at least

    L_n = max_p  -p s_n - V_n(p) - sum over decided changes of max_o (p g_o - c_o),

where V_n(p) is the most that the changes that are left can be worth, max_o (p h_no - c_o) for a feature that is not
yet decided; see :mod:`armin.solve.search.linear.prices`. A choice that some weight accepts makes candidates of that
weight accepted, and costs at least what the dearest of them does: at least the weighted order statistic of the L_n. Any
prices give a bound, so a fixed list of them will do. With several rows, L_n is the largest bound of the rows of a way,
and the smallest over the ways.

With one row, the last level is worked out for all branches at once: see :mod:`armin.solve.search.linear.leaves`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from armin.arrays import FloatArray
from armin.solve.search.linear.contexts import Contexts, Pattern
from armin.solve.search.linear.data import Demand
from armin.solve.search.linear.leaves import Leaves, Picked
from armin.solve.search.linear.searcher import Searcher
from armin.solve.search.linear.worths import Worths

__all__ = ["Branches"]

_AT_ONCE = 32  # leaves whose gain is priced together
_MANY = 256  # branches whose leaves are looked at between two looks at the clock
_SORT_AFTER = 3  # different requirements, before the bounds of a branch are sorted


class Branches:
    """The tree of one problem.

    Attributes
    ----------
    made : the searches of all leaves that were made
    kept : that of the leaf in which no feature has to change
    """

    def __init__(self, contexts: Contexts, crowd: Demand) -> None:
        self.contexts, self.crowd, self.problem = contexts, crowd, contexts.problem
        self.features = contexts.uneven
        self.limit = contexts.problem.limit
        self.made: list[Searcher] = []
        self.kept = self.search_of({})
        self.prices = Worths(contexts, crowd, self.features) if contexts.problem.aggregate == "sum" else None
        self.root = _Branch(self, (), contexts.score)
        # whether the gain that is lacking is all that matters about a leaf: one row, and no choice ruled out alone
        one = crowd.way.size == 1 and not (self.problem.rules or self.problem.forbidden)
        self.last = Leaves(contexts, crowd, self.features, self.prices) if one and self.prices is not None else None

    def search_of(self, picks: dict[int, int]) -> Searcher:
        """The search of a leaf."""
        searcher = Searcher(self.problem, self.contexts.make(picks), self.crowd)
        self.made.append(searcher)
        return searcher

    def least(self, require: float) -> float:
        """No choice of this weight costs less."""
        return float(self.root.least(require).min(initial=np.inf))

    def likely(self, require: float) -> Searcher:
        """The leaf to which the smallest bounds lead."""
        branch = self.root
        while len(branch.picks) < len(self.features):
            branch = branch.below_of(int(np.argmin(branch.least(require))))
        return branch.searcher

    def leaves(self, require: float, budget: Callable[[], float]) -> Iterator[tuple[float, Searcher | None]]:
        """The leaves that may hold a choice of this weight below the budget; None after work that took a while.

        Each comes with a bound on what it holds and what the leaves after it hold.
        """
        if self.last is None:
            yield from self._each_leaf(require, budget)
            return
        ends: list[_Branch] = []
        for branch in self.root.ends(require, budget):
            if branch is None:
                yield 0.0, None
            else:
                ends.append(branch)
        parts = []
        for i in range(0, len(ends), _MANY):
            part = self.last.picked(ends[i : i + _MANY], require, budget())
            parts.append(part._replace(branch=part.branch + i))
            yield 0.0, None
        if not parts:
            return
        found = Picked(*map(np.concatenate, zip(*parts, strict=True))).unbeaten()
        out = np.zeros(0, dtype=bool)
        for i, bound in enumerate(found.bound.tolist()):
            if bound >= budget():
                return
            if i == out.size:  # the budget only falls: what is out stays out
                out = np.append(out, self.last.hopeless(ends, found, slice(i, i + _AT_ONCE), budget()))
            if not out[i]:
                branch, pick = ends[found.branch[i]], int(found.pick[i])
                yield bound, self.last.searcher(branch, pick, self.search_of)

    def _each_leaf(self, require: float, budget: Callable[[], float]) -> Iterator[tuple[float, Searcher | None]]:
        """The same, branch by branch."""
        found: list[tuple[float, _Branch, int]] = []
        for branch in self.root.ends(require, budget):
            if branch is None:
                yield 0.0, None
                continue
            new = require not in branch.asked
            least, most = branch.least(require), budget()
            if new:
                yield 0.0, None
            found += [(float(least[pick]), branch, pick) for pick in np.flatnonzero(least < most).tolist()]
        for bound, branch, pick in sorted(found, key=lambda leaf: leaf[0]):
            if bound >= budget():
                return
            yield bound, branch.below_of(pick).searcher


class _Branch:
    """Some features decided: ``picks`` has a pattern for each of the first features of the tree."""

    def __init__(self, tree: Branches, picks: tuple[int, ...], score: FloatArray) -> None:
        self.tree, self.picks, self.score = tree, picks, score
        self.below: dict[int, _Branch] = {}
        self.asked: dict[float, FloatArray] = {}

    @property
    def forced(self) -> int:
        return sum(1 for pick in self.picks if pick)

    @cached_property
    def searcher(self) -> Searcher:
        tree = self.tree
        picks = {d: p for d, p in zip(tree.features, self.picks, strict=True) if p}
        return tree.search_of(picks) if picks else tree.kept

    @cached_property
    def bounds(self) -> FloatArray:
        """For each pattern of the next feature and each candidate, what accepting it costs at least."""
        tree, some = self.tree, self.patterns
        if tree.prices is None:  # the dearest change that was decided on is all that is known
            dear = [tree.contexts.moves.cost[p.option].min() if p.forced else 0.0 for p in some]
            before = self._dearest_before()
            return np.repeat(np.maximum(dear, before)[:, None], self.score.shape[0], axis=1)
        scores = np.stack([self.score if p.moves is None else self.score + p.moves for p in some])
        return tree.prices.bounds(self.picks, scores)

    def _dearest_before(self) -> float:
        cost = self.tree.contexts.moves.cost
        return max((float(cost[p.option].min()) for p in self.decided), default=0.0)

    @cached_property
    def ranked(self) -> tuple[FloatArray, FloatArray]:
        """The bounds in rising order, and the weight of the candidates up to each."""
        rank = np.argsort(self.bounds, axis=1, kind="stable")
        return np.take_along_axis(self.bounds, rank, axis=1), np.cumsum(self.tree.crowd.weight[rank], axis=1)

    def least(self, require: float) -> FloatArray:
        """For each pattern of the next feature, what choices of this weight below it cost at least."""
        last = self.tree.last
        if last is not None and self.is_end:
            return np.asarray(last.least([self], require)[0])
        if require not in self.asked:
            self.asked[require] = self._least(require - 1e-12 * self.tree.crowd.total)
        return self.asked[require]

    def _least(self, need: float) -> FloatArray:
        weight, n = self.tree.crowd.weight, self.bounds.shape[1]
        if len(self.asked) < _SORT_AFTER and (weight == weight[0]).all():
            place = min(max(int(np.cumsum(weight).searchsorted(need)), 0), n - 1)
            return np.asarray(np.partition(self.bounds, place, axis=1)[:, place])
        rising, reached = self.ranked
        place = np.minimum((reached < need).sum(axis=1), n - 1)
        return np.asarray(rising[np.arange(place.size), place])

    def below_of(self, pick: int) -> _Branch:
        """The branch in which the next feature has this pattern."""
        if pick not in self.below:
            moves = self.tree.contexts.patterns[self.tree.features[len(self.picks)]][pick].moves
            score = self.score if moves is None else self.score + moves
            self.below[pick] = _Branch(self.tree, (*self.picks, pick), score)
        return self.below[pick]

    @property
    def is_end(self) -> bool:
        """Whether only the last feature is left."""
        return len(self.picks) + 1 == len(self.tree.features)

    def ends(self, require: float, budget: Callable[[], float]) -> Iterator[_Branch | None]:
        """The branches with one feature left that may hold a choice below the budget; None after work for a while."""
        if self.is_end:
            yield self
            return
        new = require not in self.asked
        least, most = self.least(require), budget()
        if new:
            yield None
        for pick in np.flatnonzero(least < most).tolist():
            yield from self.below_of(pick).ends(require, budget)

    @cached_property
    def patterns(self) -> list[Pattern]:
        """The patterns of the next feature that leave no more changes than are allowed."""
        tree = self.tree
        found = tree.contexts.patterns[tree.features[len(self.picks)]]
        return found if self.forced < tree.limit else found[:1]

    @cached_property
    def decided(self) -> list[Pattern]:
        """The patterns of the features that have to change."""
        each = zip(self.tree.features, self.picks, strict=False)
        return [self.tree.contexts.patterns[d][p] for d, p in each if p]
