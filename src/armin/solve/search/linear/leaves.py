"""The last level of a tree of contexts: all leaves of all branches at once, for models with one row.

A leaf has decided every feature that moves candidates differently. What is left is the same for all candidates, so of
their scores only the order statistic at the required weight matters, and the bound of a leaf is that of one number. Of
two leaves that change the same features, the rest of the search is the same but for the gain that is lacking. So one
that has cost more and still lacks more is not looked at; and what gain costs at least is worked out by one compiled
loop over all of them, before a search is made for any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.problem.data import WEIGHT_TOLERANCE
from armin.solve.search.handed import hand
from armin.solve.search.linear.contexts import Contexts, Pattern
from armin.solve.search.linear.data import Context, Demand, Written, new_work
from armin.solve.search.linear.prices import priced_out
from armin.solve.search.linear.searcher import Searcher, Turn
from armin.solve.search.linear.worths import SHY, Worths

__all__ = ["Branch", "Leaves", "Picked"]


class Branch(Protocol):
    """All features but the last decided."""

    @property
    def picks(self) -> tuple[int, ...]: ...

    @property
    def score(self) -> FloatArray: ...


@dataclass(frozen=True, eq=False)
class _Ends:
    """One branch: what was decided, and how far its leaves are from the cut."""

    kind: tuple[int, ...]
    spent: float  # for options that stand alone in their pattern; the others are still open
    gained: float
    forced: int
    worth: FloatArray  # (prices,) of what was decided
    rising: FloatArray  # (patterns, N) gain that candidates lack, the least first
    reached: FloatArray  # (N,) or (patterns, N) weight up to each


class Picked(NamedTuple):
    """Leaves that may hold a choice below the budget."""

    bound: FloatArray
    branch: IntArray
    pick: IntArray
    spent: FloatArray
    lack: FloatArray  # the gain that may do
    sure: FloatArray  # the gain that surely does
    kind: IntArray

    def unbeaten(self) -> Picked:
        """By rising bound, without those for which another one of their kind has cost less and lacks less.

        What is lacking is known up to rounding: what may do in one leaf must surely do in the other.
        """
        kept = np.zeros(self.kind.size, dtype=bool)
        for kind in np.unique(self.kind):
            here = np.flatnonzero(self.kind == kind)
            here = here[np.lexsort((self.sure[here], self.spent[here]))]
            kept[here] = self.lack[here] < np.minimum.accumulate(np.append(np.inf, self.sure[here][:-1]))
        rank = np.argsort(self.bound, kind="stable")
        some = rank[kept[rank]]
        return Picked(
            self.bound[some], self.branch[some], self.pick[some], self.spent[some], self.lack[some], self.sure[some],
            self.kind[some],
        )  # fmt: skip


class _Rest(NamedTuple):
    """What leaves that change the same features have in common."""

    given: Context
    written: Written
    work: Written  # so that it lives as long as this does


class Leaves:
    """The leaves of a tree whose features are ``features``, the last of which has this level."""

    def __init__(self, contexts: Contexts, crowd: Demand, features: list[int], worths: Worths) -> None:
        self.contexts, self.crowd, self.features, self.worths = contexts, crowd, features, worths
        self.limit, self.last = contexts.problem.limit, features[-1]
        some = contexts.patterns[self.last]
        self.moves = np.stack([np.zeros(crowd.weight.size) if p.moves is None else p.moves[:, 0] for p in some])
        self.alone = {d: [p.forced and p.option.size == 1 for p in contexts.patterns[d]] for d in features}
        fixed = [p if alone else None for p, alone in zip(some, self.alone[self.last], strict=True)]
        self.gain = np.array([0.0 if p is None else float(p.gain[0, 0]) for p in fixed])
        self.cost = np.array([0.0 if p is None else self._cost(p) for p in fixed])
        self.kind = np.array([self._kind(self.last, pick) for pick in range(len(some))])
        self.price = worths.price[0]
        self.even = bool((crowd.weight == crowd.weight[0]).all())
        self._ends: dict[tuple[int, ...], _Ends] = {}
        self._kinds: dict[tuple[int, ...], int] = {}
        self._rests: dict[tuple[int, ...], _Rest] = {}
        self._searchers: dict[tuple[int, ...], tuple[Searcher, IntArray]] = {}

    def _cost(self, pattern: Pattern) -> float:
        return float(self.contexts.moves.cost[pattern.option[0]])

    def _kind(self, feature: int, pick: int) -> int:
        """The same for picks after which the rest of the search is the same, but for cost and gain so far."""
        return -1 if self.alone[feature][pick] else pick

    def _made(self, branches: Sequence[Branch]) -> list[_Ends]:
        """What is known about branches; made at once for those about which nothing is."""
        new = [branch for branch in branches if branch.picks not in self._ends]
        if new:
            short = -(np.stack([branch.score[:, 0] for branch in new])[:, None, :] + self.moves)
            if self.even:
                short.sort(axis=2)
                reached = [np.cumsum(self.crowd.weight)] * len(new)
            else:
                rank = np.argsort(short, axis=2, kind="stable")
                short = np.take_along_axis(short, rank, axis=2)
                reached = list(np.cumsum(self.crowd.weight[rank], axis=2))
            for branch, rising, weight in zip(new, short, reached, strict=True):
                self._ends[branch.picks] = self._decided(branch.picks, rising, weight)
        return [self._ends[branch.picks] for branch in branches]

    def _decided(self, picks: tuple[int, ...], rising: FloatArray, reached: FloatArray) -> _Ends:
        chosen = [(d, p) for d, p in zip(self.features, picks, strict=False) if p]
        fixed = [self.contexts.patterns[d][p] for d, p in chosen if self.alone[d][p]]
        worth = np.zeros(self.price.size)
        for d, p in chosen:
            worth += self.worths.decided(d, 0)[p]
        kind = tuple(self._kind(d, p) for d, p in zip(self.features, picks, strict=False))
        spent, gained = sum(map(self._cost, fixed)), sum(float(p.gain[0, 0]) for p in fixed)
        return _Ends(kind, spent, gained, len(chosen), worth, rising, reached)

    @cached_property
    def _left(self) -> FloatArray:
        """The most that 0, 1, 2, ... changes that move all candidates alike are worth, (limit + 1, prices)."""
        plain = self.worths.plain[0]
        return np.stack([plain[:changes].sum(axis=0) for changes in range(self.limit + 1)])

    def _short(self, ends: list[_Ends], need: float) -> FloatArray:
        """The gain from which candidates of weight ``need`` are accepted, (branches, patterns)."""
        n = self.crowd.weight.size
        if self.even:
            one = int(ends[0].reached.searchsorted(need))
            return np.array([end.rising[:, one] if one < n else [np.inf] * len(self.gain) for end in ends])
        rising, place = np.stack([e.rising for e in ends]), np.stack([(e.reached < need).sum(axis=1) for e in ends])
        found = np.take_along_axis(rising, np.minimum(place, n - 1)[:, :, None], axis=2)[:, :, 0]
        return np.where(place < n, found, np.inf)

    def _may(self, ends: list[_Ends], require: float) -> FloatArray:
        short = self._short(ends, require - 1e-12 * self.crowd.total)
        most = np.stack([end.rising[:, -1] for end in ends])
        return np.minimum(short, most)

    def least(self, branches: Sequence[Branch], require: float) -> FloatArray:
        """What choices of this weight cost at least in each leaf, (branches, patterns); those not allowed infinite."""
        ends = self._made(branches)
        return np.asarray(self._bounds(ends, self._may(ends, require)))

    def _bounds(self, ends: list[_Ends], may: FloatArray) -> FloatArray:
        forced = np.array([end.forced for end in ends])
        worth = np.stack([end.worth for end in ends])
        short = may - self.contexts.doubt
        open_ = np.repeat((self.limit - forced)[:, None], short.shape[1], axis=1)
        open_[:, 1:] -= 1
        lacking = self.price * short[:, :, None]
        lacking -= worth[:, None, :]
        lacking -= self.worths.decided(self.last, 0)
        lacking -= self._left[np.maximum(open_, 0)]
        found = lacking.max(axis=2)
        bound = np.where(found > 0, SHY * found, 0.0)
        bound[open_ < 0] = np.inf
        return bound

    def picked(self, branches: Sequence[Branch], require: float, most: float) -> Picked:
        """The leaves of branches that may hold a choice of this weight below ``most``."""
        ends, total, doubt = self._made(branches), self.crowd.total, self.contexts.doubt
        may = self._may(ends, require)
        bound = self._bounds(ends, may)
        branch, pick = np.nonzero(bound < most)
        spent, gained = (np.array([getattr(end, name) for end in ends])[branch] for name in ("spent", "gained"))
        enough = self._short(ends, require + (WEIGHT_TOLERANCE + 1e-12) * total)[branch, pick]
        lack = may[branch, pick] - gained - self.gain[pick] - doubt
        sure = enough - gained - self.gain[pick] + doubt
        kind = np.array([self._kinds.setdefault(end.kind, len(self._kinds)) for end in ends])[branch]
        kind = kind * (self.gain.size + 1) + self.kind[pick]
        return Picked(bound[branch, pick], branch, pick, spent + self.cost[pick], lack, sure, kind)

    def hopeless(self, branches: Sequence[Branch], leaves: Picked, some: slice, most: float) -> BoolArray:
        """Whether leaves hold nothing below ``most``, by the price of the gain that they lack."""
        spent, lack, pick = leaves.spent[some], leaves.lack[some], leaves.pick[some]
        found = np.zeros(spent.size, dtype=bool)
        if not np.isfinite(most):
            return found
        groups: dict[tuple[int, ...], list[int]] = {}
        for i, (b, kind) in enumerate(zip(leaves.branch[some].tolist(), self.kind[pick].tolist(), strict=True)):
            groups.setdefault((*self._ends[branches[b].picks].kind, kind), []).append(i)
        for kinds, here in groups.items():
            rest, out = self._rest(kinds), np.zeros(len(here), dtype=bool)
            priced_out(rest.given, rest.written, spent[here], lack[here], most, out)
            found[here] = out
        return found

    def _rest(self, kinds: tuple[int, ...]) -> _Rest:
        if kinds not in self._rests:
            picks = {d: kind for d, kind in zip(self.features, kinds, strict=True) if kind > 0}
            gone = [d for d, kind in zip(self.features, kinds, strict=True) if kind < 0]
            context = self.contexts.make(picks, gone)
            work, written = new_work(context, len(self.contexts.problem.options), self.limit - len(gone), False)
            self._rests[kinds] = _Rest(hand(context), written, work)
        return self._rests[kinds]

    def searcher(self, branch: Branch, pick: int, make: Callable[[dict[int, int]], Searcher]) -> Searcher:
        """The search of a leaf, until the next one is asked for: leaves of one kind share it, and turn it."""
        ends = self._ends[branch.picks]
        picks = {d: p for d, p in zip(self.features, (*branch.picks, pick), strict=True) if p}
        fixed = [d for d in sorted(picks) if self.alone[d][picks[d]]]
        some = [self.contexts.patterns[d][picks[d]] for d in fixed]
        kinds = (*ends.kind, int(self.kind[pick]))
        if kinds not in self._searchers:
            searcher = make(picks)
            self._searchers[kinds] = searcher, searcher.context.start[searcher.context.features.searchsorted(fixed)]
        searcher, at = self._searchers[kinds]
        option = [int(p.option[0] - self.contexts.moves.start[d]) for d, p in zip(fixed, some, strict=True)]
        gain, cost = [float(p.gain[0, 0]) for p in some], [self._cost(p) for p in some]
        reached = ends.reached if self.even else ends.reached[pick]
        searcher.turn(Turn(at, option, gain, cost, ends.rising[pick], reached))
        return searcher
