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

Of two leaves that change the same features, the rest of the search is the same but for the gain that is lacking. So one
that has cost more and still lacks more is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from armin.arrays import FloatArray
from armin.problem.data import WEIGHT_TOLERANCE
from armin.solve.search.linear.contexts import Contexts, Pattern
from armin.solve.search.linear.data import Demand
from armin.solve.search.linear.searcher import Searcher

__all__ = ["Branches"]

N_PRICES = 32
_SHY = 1.0 - 1e-9  # sums in another order may differ in the last digits
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
        self.prices = _Prices(self) if contexts.problem.aggregate == "sum" else None
        self.root = _Branch(self, (), contexts.score)

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
        found: list[_Leaf] = []
        for leaf in self.root.leaves(require, budget):
            if leaf is None:
                yield 0.0, None
            else:
                found.append(leaf)
        found.sort(key=lambda leaf: leaf.bound)
        for leaf in _unbeaten(found) if self.comparable else found:
            if leaf.bound >= budget():
                return
            yield leaf.bound, leaf.branch.below_of(leaf.pick).searcher

    @cached_property
    def comparable(self) -> bool:
        """Whether the gain that is lacking is all that matters about a leaf: one row, and no choice ruled out alone."""
        problem = self.problem
        one = self.crowd.way.size == 1 and problem.aggregate == "sum"
        return one and not problem.rules and not problem.forbidden


class _Leaf(NamedTuple):
    """A leaf that may be looked at: what it costs at least, what was spent, and the gain that it lacks."""

    bound: float
    branch: _Branch
    pick: int
    alike: tuple[object, ...]  # the same for leaves that can be compared
    spent: float
    may: float
    sure: float


def _unbeaten(leaves: list[_Leaf]) -> list[_Leaf]:
    """The leaves without those that have cost more than another one that changes the same features, and lack more.

    What is lacking is known up to rounding: what ``may`` do in one leaf must ``sure``ly do in the other.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    for i, leaf in enumerate(leaves):
        groups.setdefault(leaf.alike, []).append(i)
    kept = []
    for group in groups.values():
        least = np.inf
        for i in sorted(group, key=lambda i: (leaves[i].spent, leaves[i].sure)):
            if leaves[i].may < least:
                kept.append(i)
                least = min(least, leaves[i].sure)
    return [leaves[i] for i in sorted(kept)]


class _Branch:
    """Some features decided: ``picks`` has a pattern for each of the first features of the tree."""

    def __init__(self, tree: Branches, picks: tuple[int, ...], score: FloatArray) -> None:
        self.tree, self.picks, self.score = tree, picks, score
        self.below: dict[int, _Branch] = {}
        self.asked: dict[float, FloatArray] = {}
        self.short: dict[float, tuple[FloatArray, FloatArray]] = {}

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

    def leaves(self, require: float, budget: Callable[[], float]) -> Iterator[_Leaf | None]:
        """The leaves below this branch that may hold a choice below the budget; None after work that took a while."""
        new = require not in self.asked
        least, most = self.least(require), budget()
        if new:
            yield None
        some = np.flatnonzero(least < most).tolist()
        if len(self.picks) + 1 < len(self.tree.features):
            for pick in some:
                yield from self.below_of(pick).leaves(require, budget)
            return
        if not self.tree.comparable:
            yield from (_Leaf(float(least[pick]), self, pick, (), 0.0, 0.0, 0.0) for pick in some)
            return
        may, sure = self.lacking(require)
        picked = np.array([bool(pick) for pick in self.picks], dtype=bool).tobytes()
        for pick in some:
            spent = self.spent[pick]
            # options of one pattern differ in cost and gain: such a leaf is compared with none
            alike = (picked, pick > 0) if np.isfinite(spent) else (*self.picks, pick)
            yield _Leaf(float(least[pick]), self, pick, alike, spent, float(may[pick]), float(sure[pick]))

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

    @cached_property
    def spent(self) -> list[float]:
        """For each pattern of the next feature: what all changes decided on cost; NaN if that is not decided."""
        cost, found = self.tree.contexts.moves.cost, []
        for pattern in self.patterns:
            forced = [*self.decided, *([pattern] if pattern.forced else [])]
            alone = all(p.option.size == 1 for p in forced)
            found.append(sum(float(cost[p.option[0]]) for p in forced) if alone else float("nan"))
        return found

    def lacking(self, require: float) -> tuple[FloatArray, FloatArray]:
        """For each pattern of the next feature, the gain that may do for this weight, and that surely does."""
        if require not in self.short:
            total, n = self.tree.crowd.total, self.score.shape[0]
            rising, reached = self.shortfalls
            gained = sum(float(p.gain[0, 0]) for p in self.decided)
            own = np.array([float(p.gain[0, 0]) if p.forced else 0.0 for p in self.patterns])
            may = np.minimum((reached < require - 1e-12 * total).sum(axis=1), n - 1)
            sure = (reached < require + (WEIGHT_TOLERANCE + 1e-12) * total).sum(axis=1)
            each, doubt = np.arange(may.size), self.tree.contexts.doubt
            enough = np.where(sure < n, rising[each, np.minimum(sure, n - 1)], np.inf)
            self.short[require] = rising[each, may] - gained - own - doubt, enough - gained - own + doubt
        return self.short[require]

    @cached_property
    def shortfalls(self) -> tuple[FloatArray, FloatArray]:
        """For each pattern of the next feature, how far candidates are from the cut, and the weight up to each."""
        short = -np.stack([self.score[:, 0] + (0.0 if p.moves is None else p.moves[:, 0]) for p in self.patterns])
        rank = np.argsort(short, axis=1, kind="stable")
        return np.take_along_axis(short, rank, axis=1), np.cumsum(self.tree.crowd.weight[rank], axis=1)


class _Prices:
    """What changes are worth at each of a list of prices, for every candidate and row."""

    def __init__(self, tree: Branches) -> None:
        self.tree, self.contexts = tree, tree.contexts
        self.rows = tree.contexts.score.shape[1]
        self.cost = tree.contexts.moves.cost
        self.price = [self._list(row) for row in range(self.rows)]
        self._left: dict[tuple[int, int, int], FloatArray] = {}

    def _list(self, row: int) -> FloatArray:
        """Prices at which options of different value for money become worth it; 0 and a very high one beside them."""
        gains = [self._gains(d, p, row) for d, each in enumerate(self.contexts.patterns) for p in range(len(each))]
        costs = [self.cost[p.option] for each in self.contexts.patterns for p in each]
        gain, cost = np.concatenate([g.max(axis=0) for g in gains]), np.concatenate(costs)
        use = (gain > self.contexts.doubt) & (cost > 0)
        if not use.any():
            return np.zeros(1)
        ratio = cost[use] / gain[use]
        low, high = float(ratio.min()), float(np.quantile(ratio, 0.9))
        dear = 1e3 * float(ratio.max())
        return np.concatenate([[0.0], np.geomspace(low, max(high, 8 * low), N_PRICES - 2), [dear]])

    def _gains(self, feature: int, pattern: int, row: int) -> FloatArray:
        """The gain of each option of a pattern, for each candidate or for all of them."""
        found = self.contexts.patterns[feature][pattern]
        moves = np.zeros((1, 1)) if found.moves is None else found.moves[:, row][:, None]
        return np.asarray(moves + found.gain[:, row][None, :])

    def _worth(self, feature: int, pattern: int, row: int) -> FloatArray:
        """The worth of the best option of a pattern, (N or 1, prices)."""
        price, gains = self.price[row], self._gains(feature, pattern, row)
        cost = self.cost[self.contexts.patterns[feature][pattern].option]
        worth = np.full((gains.shape[0], price.size), -np.inf)
        for o in range(cost.size):
            np.maximum(worth, gains[:, o : o + 1] * price - cost[o], out=worth)
        return worth

    @cached_property
    def _plain(self) -> list[FloatArray]:
        """For each row: what the first patterns of all features are worth, the most first, (features, prices)."""
        found = []
        for row in range(self.rows):
            worths = [self._worth(d, 0, row) for d in range(len(self.contexts.patterns))]
            rising = np.sort(np.maximum(np.concatenate(worths), 0.0), axis=0)
            found.append(rising[::-1][: max(self.tree.limit, 1)])
        return found

    @cached_property
    def _open(self) -> list[list[FloatArray]]:
        """For each row and feature of the tree: what it is worth while it is not decided, (N, prices)."""
        return [
            [
                np.maximum.reduce([self._worth(d, p, row) for p in range(1, len(self.contexts.patterns[d]))])
                for d in self.tree.features
            ]
            for row in range(self.rows)
        ]

    def _most(self, row: int, level: int, changes: int) -> FloatArray:
        """What so many changes can be worth at most when the first ``level`` features are decided, (N, prices).

        A feature that was decided to change may count again for what else it could do: that only weakens the bound.
        """
        key = (row, level, changes)
        if key not in self._left:
            self._left[key] = self._top(self._plain[row], self._open[row][level:], max(changes, 0))
        return self._left[key]

    def _top(self, plain: FloatArray, own: list[FloatArray], changes: int) -> FloatArray:
        """The sum of the ``changes`` largest of what all candidates share (falling) and what each has of its own.

        The largest sum of the first i of the one and the first ``changes - i`` of the other.
        """
        shared = np.concatenate([np.zeros((1, plain.shape[1])), np.cumsum(plain, axis=0)])
        shape = (self.contexts.score.shape[0], plain.shape[1])
        best = np.broadcast_to(shared[min(changes, len(plain))], shape).copy()
        rising = np.sort(np.maximum(np.stack(own), 0.0), axis=0) if own else np.zeros((0, *shape))
        sums = np.cumsum(rising[::-1], axis=0)
        for i in range(1, min(len(own), changes) + 1):
            np.maximum(best, sums[i - 1] + shared[min(changes - i, len(plain))], out=best)
        return best

    def _decided(self, picks: tuple[int, ...], row: int) -> FloatArray:
        """What the changes that were decided on are worth beyond the moves in the scores, (prices,)."""
        total = np.zeros(self.price[row].size)
        for d, p in zip(self.tree.features, picks, strict=False):
            if p:
                total += self._constant(d, p, row)
        return total

    def _constant(self, feature: int, pattern: int, row: int) -> FloatArray:
        found = self.contexts.patterns[feature][pattern]
        values = found.gain[:, row][:, None] * self.price[row] - self.cost[found.option][:, None]
        return np.asarray(values.max(axis=0))

    def bounds(self, picks: tuple[int, ...], scores: FloatArray) -> FloatArray:
        """The bounds (patterns, N) for each pattern of the next feature, after which candidates have these scores."""
        way = self.tree.crowd.way
        each = [self._row_bounds(picks, scores[:, :, row], row) for row in range(self.rows)]
        best = np.full(scores.shape[:2], np.inf)
        for w in np.unique(way):
            rows = [each[r] for r in np.flatnonzero(way == w)]
            np.minimum(best, np.maximum.reduce(rows), out=best)
        return best

    def _row_bounds(self, picks: tuple[int, ...], scores: FloatArray, row: int) -> FloatArray:
        price, level = self.price[row], len(picks) + 1
        changes = self.tree.limit - sum(1 for pick in picks if pick)
        feature, decided = self.tree.features[len(picks)], self._decided(picks, row)
        stay, move = self._most(row, level, changes), self._most(row, level, changes - 1)
        constant = np.stack([np.zeros(price.size), *(self._constant(feature, p, row) for p in range(1, len(scores)))])
        short = -scores - self.contexts.doubt  # the gain that is lacking
        found = np.full(scores.shape, -np.inf)
        for i in range(price.size):
            lacking = price[i] * short - decided[i] - constant[:, i : i + 1]
            lacking[0] -= stay[:, i]
            lacking[1:] -= move[None, :, i]
            np.maximum(found, lacking, out=found)
        return np.where(found > 0, _SHY * found, 0.0)
