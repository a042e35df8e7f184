"""Other ways that are other ways: none changes all that another plan changes, and what costs more should be surer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from armin.explain.judge import Judged
from armin.recourse import Recourse
from armin.words import Message

__all__ = ["Chosen", "Way", "beside", "choose_ways", "dominates"]

SLACK = 1e-9
"""Costs (relatively) and shares (absolutely) that differ by less are the same."""
MOST_STEPS = 20_000
"""Sets of ways that are looked at before the best so far is taken."""


@dataclass(frozen=True, eq=False)
class Way:
    """A plan that works, as far as choosing among plans needs to know it.

    Attributes
    ----------
    features : the positions of the features that it changes
    cost : what it costs
    share : for how much of the completions it works, as the answer will say
    judged : where it comes from
    """

    features: frozenset[int]
    cost: float
    share: float
    judged: Judged | None = None


@dataclass(frozen=True, eq=False)
class Chosen:
    """Ways to show beside the first plan, cheapest first.

    Attributes
    ----------
    ways : the ways
    worse : for each, whether the first plan or another of them costs no more and is as sure
    """

    ways: tuple[Way, ...] = ()
    worse: tuple[bool, ...] = ()

    @property
    def good(self) -> int:
        """How many are worse than no other."""
        return self.worse.count(False)


def dominates(one: Way, other: Way) -> bool:
    """Whether a way costs no more than another and is as sure, and is better in one of the two.

    >>> dominates(Way(frozenset({0}), 1.0, 0.9), Way(frozenset({1}), 2.0, 0.9))
    True
    >>> dominates(Way(frozenset({0}), 1.0, 0.9), Way(frozenset({1}), 1.0, 0.9))
    False
    """
    if one.cost > other.cost * (1 + SLACK) or one.share < other.share - SLACK:
        return False
    return one.cost < other.cost * (1 - SLACK) or one.share > other.share + SLACK


def choose_ways(first: Way, pool: Sequence[Way], count: int) -> Chosen:
    """Up to ``count`` ways of a pool to show beside the first plan.

    No way may change all that the first plan or another way changes. First come ways that no plan shown dominates, as
    many as there can be together, without one in whose place a way that dominates it could stand; then, if there are
    too few, as many others as can be added. Of equally many, those whose cheapest are cheapest.

    >>> first = Way(frozenset({0}), 1.0, 0.8)
    >>> pool = [Way(frozenset({1}), 2.0, 0.8), Way(frozenset({2}), 3.0, 0.9), Way(frozenset({0, 3}), 1.5, 1.0)]
    >>> [sorted(way.features) for way in choose_ways(first, pool, 1).ways]
    [[2]]
    >>> choose_ways(first, pool, 2).worse
    (True, False)
    """
    ways = [way for way in pool if not way.features >= first.features]
    ways.sort(key=lambda way: (way.cost, -way.share, len(way.features), sorted(way.features)))
    search = _Choosing(first, _best_of_each(ways), count)
    search.add_good(())
    search.fill(search.best, 0)
    shown = sorted(search.best)
    worse = (search.beaten(i, tuple(shown)) for i in shown)
    return Chosen(tuple(search.ways[i] for i in shown), tuple(worse))


def beside(first: Recourse, others: Sequence[Recourse], count: int) -> list[Recourse]:
    """A plan and up to ``count - 1`` others that are other ways beside it, cheapest first.

    Those that are more expensive and no surer say so.
    """

    def way(plan: Recourse) -> Way:
        changed = frozenset(names.index(change.feature.name) for change in plan.changes)
        return Way(changed, plan.cost or 0.0, plan.share or 0.0)

    names = sorted({change.feature.name for plan in (first, *others) for change in plan.changes})
    plans = {way(plan): plan for plan in others if plan.changes}
    chosen = choose_ways(way(first), list(plans), count - 1)
    note = Message("others.no_surer")
    shown = [first.ranked(1)]
    for found, worse in zip(chosen.ways, chosen.worse, strict=True):
        notes = tuple(said for said in plans[found].notes if said != note)
        plan = replace(plans[found], notes=(*notes, note) if worse else notes)
        shown.append(plan.ranked(len(shown) + 1))
    return shown


def _best_of_each(ways: Sequence[Way]) -> list[Way]:
    """Of ways that change the same features, cheapest first, those that are surer than the cheaper ones."""
    kept: list[Way] = []
    surest: dict[frozenset[int], float] = {}
    for way in ways:
        if way.share > surest.get(way.features, -1.0) + SLACK:
            surest[way.features] = way.share
            kept.append(way)
    return kept


class _Choosing:
    """A search through sets of ways, which come by cost: a way is dominated by cheaper ones only."""

    def __init__(self, first: Way, ways: Sequence[Way], count: int) -> None:
        self.first, self.ways, self.count = first, ways, count
        self.best: tuple[int, ...] = ()
        self.steps, n = 0, len(ways)
        self.clash = [{j for j in range(n) if _clash(ways[i], ways[j])} for i in range(n)]
        self.better = [[j for j in range(n) if dominates(ways[j], ways[i])] for i in range(n)]
        # how many of the ways from each place on can follow each other so that none is less sure
        chain, self.longest = [1] * n, [0] * (n + 1)
        for i in reversed(range(n)):
            later = (chain[j] for j in range(i + 1, n) if ways[j].share > ways[i].share - SLACK)
            chain[i] = 1 + max(later, default=0)
            self.longest[i] = max(chain[i], self.longest[i + 1])

    def beaten(self, i: int, taken: tuple[int, ...]) -> bool:
        """Whether the first plan or one of those taken dominates a way."""
        return dominates(self.first, self.ways[i]) or any(j in taken for j in self.better[i])

    def add_good(self, taken: tuple[int, ...]) -> None:
        """Look at all sets that begin with those taken and in which none is dominated."""
        self.steps += 1
        if len(taken) > len(self.best) and self._stands(taken):
            self.best = taken
        if len(taken) == self.count:
            return
        for i in range(taken[-1] + 1 if taken else 0, len(self.ways)):
            most = len(taken) + min(self.count - len(taken), self.longest[i])
            if self.steps >= MOST_STEPS or most <= len(self.best):
                return
            if self.clash[i].isdisjoint(taken) and not self.beaten(i, taken):
                self.add_good((*taken, i))

    def fill(self, taken: tuple[int, ...], start: int) -> None:
        """Look at all sets that hold those taken and ways from ``start`` on."""
        self.steps += 1
        if len(taken) > len(self.best):
            self.best = taken
        for i in range(start, len(self.ways)):
            most = len(taken) + min(self.count - len(taken), len(self.ways) - i)
            if self.steps >= 2 * MOST_STEPS or most <= len(self.best):
                return
            if self.clash[i].isdisjoint(taken):
                self.fill((*taken, i), i + 1)

    def _stands(self, taken: tuple[int, ...]) -> bool:
        """Whether no way that dominates one of a set could stand in its place."""
        for i in taken:
            rest = {j for j in taken if j != i}
            if any(j not in rest and self.clash[j].isdisjoint(rest) for j in self.better[i]):
                return False
        return True


def _clash(one: Way, other: Way) -> bool:
    """Whether one of two ways changes all that the other changes."""
    return one.features <= other.features or one.features >= other.features
