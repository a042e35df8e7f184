"""Rules on three features and more: engines know pairs only, so the options are split until sums rule nothing out.

A part of the problem lets each feature take some of its options, but for those that are over a limit whatever the
others do. Without its sums it is a problem that an engine solves; its answer costs no more than the best choice of that
part. If the answer keeps the sums, that is the best choice; if not, the options of one feature are split in two. Parts
are taken by rising bounds, so that the first answer that keeps the sums is the cheapest. Telling the engines what the
sums mean for each pair of features took longer than it spared: pairs make each part slow.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from heapq import heappop, heappush

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.problem import Choice, PairRule, Problem, SumRule
from armin.problem.data import WEIGHT_TOLERANCE
from armin.solve.search.drive import Start
from armin.solve.search.goals import BETTER, Cheapest, Goal, consider

__all__ = ["SplitEngine"]

Domains = tuple[tuple[int, ...], ...]
"""For each feature the options that it may take."""

LOOSE = 1e-12
"""Share by which sums of the same parts in another order may differ, at most."""


class SplitEngine:
    """The engine of a problem with sums: parts of it, each solved by the engine of its model.

    Attributes
    ----------
    bound : no choice that the goal wants costs less
    nodes : how many nodes the engines of all parts visited, and how many parts there were
    """

    def __init__(self, problem: Problem, start: Start) -> None:
        self.problem, self.start, self.bound, self.nodes = problem, start, 0.0, 0

    def search(self, goal: Goal) -> Iterator[None]:
        """Answer the steps of the goal's stairs, the lowest first."""
        slack = WEIGHT_TOLERANCE * float(self.problem.weights.sum())
        while True:
            stairs = goal.stairs()
            step = int(stairs.cost.searchsorted(self.bound, side="right"))
            if step == stairs.cost.size:
                return
            required = min(float(stairs.require[step]) + 2.0 * slack, float(self.problem.weights.sum()))
            yield from self._answer(goal, self.problem.demanding(required))

    def _answer(self, goal: Goal, problem: Problem) -> Iterator[None]:
        """Offer the cheapest choice of this weight, and raise the bound to what it costs."""
        queue: list[tuple[float, int, Domains]] = []
        heappush(queue, (0.0, 0, tuple(tuple(range(option.size)) for option in problem.options)))
        count, best = 0, float("inf")
        while queue and queue[0][0] < best * (1.0 - BETTER):
            bound, _, domains = heappop(queue)
            self.bound = max(self.bound, bound)
            part = Part.of(problem, domains)
            if part is None:
                continue
            self.nodes += 1
            children = part.must_change()
            if not children:
                found = yield from self._solve(part, best)
                if found is None:
                    continue
                bound, choice = max(bound, found[0] * (1.0 - LOOSE)), found[1]
                if problem.is_solved_by(choice):
                    best = min(best, problem.cost(choice))
                    consider(self.problem, goal, choice)
                    continue
                children = part.halves(choice)
            for child in children:
                count += 1
                heappush(queue, (max(bound, _least(problem, child)), count, child))
            yield
        self.bound = max(self.bound, best)

    def _solve(self, part: Part, best: float) -> Generator[None, None, tuple[float, Choice] | None]:
        """The cheapest choice of a part, but for its sums, if it costs less than the best."""
        if not part.free:
            return self.problem.cost(part.fixed), part.fixed
        problem = part.relaxed()
        offset, largest = self.problem.cost(part.fixed), self.problem.aggregate == "max"
        if problem is None or offset >= best:
            return None
        below = best if largest else best - offset
        goal = Cheapest(problem, below)
        engine = self.start(problem, goal.apart)
        for _ in engine.search(goal):
            yield
        self.nodes += engine.nodes
        if goal.best is None:
            return None
        cost, choice = goal.best
        return max(offset, cost) if largest else offset + cost, part.whole(choice)


class Part:
    """A part of a problem: for each feature some of its options, none of which the rules forbid with all others.

    Attributes
    ----------
    fixed : the options of the features that have no choice
    free : the features that have one, "keep" among their options
    """

    def __init__(self, problem: Problem, domains: Domains) -> None:
        self.problem, self.domains = problem, domains
        self.fixed: Choice = tuple(options[0] if len(options) == 1 else 0 for options in domains)
        self.free = [d for d, options in enumerate(domains) if len(options) > 1]

    @classmethod
    def of(cls, problem: Problem, domains: Domains) -> Part | None:
        """A part without the options that no choice can hold; None if it holds no choice at all."""
        left = [np.array(options, dtype=np.intp) for options in domains]
        sizes: list[int] = []
        while sizes != [options.size for options in left]:
            sizes = [options.size for options in left]
            for rule in problem.rules:
                table = rule.allowed[np.ix_(left[rule.first], left[rule.second])]
                left[rule.first] = left[rule.first][table.any(axis=1)]
                left[rule.second] = left[rule.second][table.any(axis=0)]
            for each in problem.sums:
                if all(left[d].size for d in each.features):
                    _thin(each, left)
            changed = [d for d, options in enumerate(left) if 0 not in options]
            if len(changed) > problem.limit or not all(options.size for options in left):
                return None
            if len(changed) == problem.limit:
                left = [options if d in changed else options[:1] * 0 for d, options in enumerate(left)]
        return cls(problem, tuple(tuple(options.tolist()) for options in left))

    def must_change(self) -> list[Domains]:
        """If a feature with several options must change: a part for each of them."""
        for d in self.free:
            if 0 not in self.domains[d]:
                return [self._with(d, (j,)) for j in self.domains[d]]
        return []

    def halves(self, choice: Choice) -> list[Domains]:
        """Two parts, of which only one holds a choice that is over a limit; none if all choices of the part are."""
        for each in self.problem.sums:
            total = np.sum([part[:, choice[d]] for d, part in zip(each.features, each.parts, strict=True)], axis=0)
            over = int(np.argmax(total - each.most))
            if total[over] <= each.most[over]:
                continue
            spare = {
                d: float(part[over, choice[d]] - part[over, list(self.domains[d])].min())
                for d, part in zip(each.features, each.parts, strict=True)
            }
            d = max(spare, key=lambda feature: spare[feature])
            if spare[d] <= 0.0:
                return []
            part = each.parts[each.features.index(d)][over]
            less = tuple(j for j in self.domains[d] if part[j] < part[choice[d]])
            return [self._with(d, less), self._with(d, tuple(j for j in self.domains[d] if j not in less))]
        return []

    def whole(self, choice: Choice) -> Choice:
        """The choice of the problem behind one of :meth:`relaxed`."""
        found = list(self.fixed)
        for d, j in zip(self.free, choice, strict=True):
            found[d] = self.domains[d][j]
        return tuple(found)

    def relaxed(self) -> Problem | None:
        """The part as a problem of its own, without its sums; None if what is fixed is ruled out."""
        problem, place = self.problem, {d: i for i, d in enumerate(self.free)}
        fixed = {d for d, j in enumerate(self.fixed) if j}
        if any(core <= fixed for core in problem.forbidden_cores):
            return None
        options = tuple(
            replace(o, outcomes=o.outcomes[:, keep], costs=o.costs[keep])
            for o, keep in ((problem.options[d], list(self.domains[d])) for d in self.free)
        )
        forbidden = {
            tuple(self.domains[d].index(choice[d]) for d in self.free)
            for choice in problem.forbidden
            if all(j in options for j, options in zip(choice, self.domains, strict=True))
        }
        sets = [s - fixed for s in problem.forbidden_sets if fixed <= s <= fixed | set(self.free)]
        if frozenset() in sets:
            forbidden.add((0,) * len(self.free))
        cores = [core - fixed for core in problem.forbidden_cores if core <= fixed | set(self.free)]
        return replace(
            problem,
            candidates=problem.inputs(self.fixed),
            options=options,
            max_changes=problem.limit - len(fixed),
            rules=self._pairs(place),
            sums=(),
            forbidden=frozenset(forbidden),
            forbidden_sets=frozenset(frozenset(place[d] for d in s) for s in sets if s),
            forbidden_cores=frozenset(frozenset(place[d] for d in core) for core in cores),
            checks=False,
        )

    def _pairs(self, place: dict[int, int]) -> tuple[PairRule, ...]:
        """What the pair rules say about the free features; those on others are in the options that are left."""
        found = []
        for rule in self.problem.rules:
            if rule.first in place and rule.second in place:
                table = rule.allowed[np.ix_(self.domains[rule.first], self.domains[rule.second])]
                found.append(PairRule(place[rule.first], place[rule.second], table))
        return tuple(found)

    def _with(self, feature: int, options: tuple[int, ...]) -> Domains:
        return (*self.domains[:feature], options, *self.domains[feature + 1 :])


def _thin(rule: SumRule, left: list[IntArray]) -> None:
    """Drop options that are over a limit whatever the other features do."""
    least = [part[:, left[d]].min(axis=1) for d, part in zip(rule.features, rule.parts, strict=True)]
    total = np.sum(least, axis=0)
    for d, part, low in zip(rule.features, rule.parts, least, strict=True):
        left[d] = left[d][(part[:, left[d]] + (total - low)[:, None] <= _most(rule)[:, None]).all(axis=0)]


def _most(rule: SumRule) -> FloatArray:
    """The limits, with room for sums in another order."""
    size = np.abs(rule.most) + sum(np.abs(part).max(axis=1) for part in rule.parts)
    return np.asarray(rule.most + LOOSE * size)


def _least(problem: Problem, domains: Domains) -> float:
    """What every choice of a part costs at least."""
    costs = [float(o.costs[list(options)].min()) for o, options in zip(problem.options, domains, strict=True)]
    return (max(costs) if problem.aggregate == "max" else sum(costs)) * (1.0 - LOOSE)
