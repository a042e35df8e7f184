"""Look for ways beside the first plan: by whole paths, each without what is known, and only as many as are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from armin.arrays import BoolArray, FloatArray
from armin.explain.draw import Sample
from armin.explain.fitted import Fitted
from armin.explain.judge import Judged, judge_choices
from armin.explain.others import SLACK, Chosen, Way, choose_ways
from armin.models.encoding import ReadClassifier
from armin.problem import Choice, PairRule, Problem, Solution
from armin.problem.stated import Stated
from armin.recourse.world import World

__all__ = ["find_lesser", "find_ways", "share_of", "way_of"]

MOST_ROUNDS = 8
"""How often other ways are looked for before those that are known are shown."""

DEMANDS, MANY = 4, 8
"""If some ways are worse than others after that: for how many demands, and how many plans for each."""

Sets = frozenset[frozenset[int]]


@dataclass(frozen=True, eq=False)
class _Reading:
    """The model as it was read, as a judge: much quicker to ask than the model itself."""

    read: ReadClassifier

    def accepts(self, codes: FloatArray) -> BoolArray:
        return self.read.model.accepts(self.read.encode(codes))


def find_ways(
    fitted: Fitted, world: World, stated: Stated, fresh: Sample | None, first: Judged, count: int, level: float
) -> Chosen:
    """Up to ``count`` ways to show beside the first plan, judged by the user's own model.

    Parameters
    ----------
    fitted, world, stated, fresh : the row, what is known about it, and completions to judge by
    first : the plan that is shown anyway
    count : how many others
    level : the share that was asked for; a way that fresh completions grant less is shown only if the first plan is
        no better
    """
    if fitted.uses_surrogate:
        quick = replace(fitted, oracle=_Reading(fitted.read))
        found = _Finding(quick, world, stated, fresh, first, count, level).run()
        known = [way.judged for way in found.ways if way.judged is not None]
        again = judge_choices(fitted, world, stated, [judged.solution for judged in known], fresh)
        if all(_same(one, other) for one, other in zip(known, again, strict=True)):
            return found
    return _Finding(fitted, world, stated, fresh, first, count, level).run()


def _same(one: Judged, other: Judged) -> bool:
    """Whether two judges agree about a plan."""
    if (one.fresh is None) != (other.fresh is None) or one.row != other.row:
        return False
    agree = one.fresh is None or other.fresh is None or bool((one.fresh == other.fresh).all())
    return agree and bool((one.accepted == other.accepted).all())


def share_of(stated: Stated, fresh: Sample | None, judged: Judged) -> float:
    """The share of a plan that the answer states: of fresh completions where there are any."""
    if fresh is None or judged.fresh is None:
        return stated.share(judged.accepted)
    return float(fresh.weights[judged.fresh].sum() / fresh.weights.sum())


def find_lesser(
    fitted: Fitted, world: World, stated: Stated, fresh: Sample | None, known: Sequence[Judged], level: float
) -> list[Judged]:
    """Plans that change all that the first of some known plans changes, but one of them by less, cheapest first.

    Where too few plans do without one of its features, somebody who cannot go as far is still helped by one that asks
    for less there and for something else beside it. None does all that another plan does, at least as far.
    """
    problem = stated.problem
    first = known[0].solution.choice or ()
    sets = frozenset(_changed(judged.solution.choice or ()) for judged in known)
    found: list[Judged] = []
    for d in sorted(_changed(first)):
        limited = _asking_less(replace(problem, forbidden_sets=problem.forbidden_sets | sets), d, first[d])
        if limited is not None:
            solutions = fitted.settings.solving.best(limited, 1)
            found += judge_choices(fitted, world, stated, solutions, fresh)
    found.sort(key=lambda judged: judged.solution.cost or 0.0)
    taken = list(known)
    for judged in found:
        enough = problem.enough(float(problem.weights[judged.accepted].sum()))
        if enough and share_of(stated, fresh, judged) >= level - SLACK and _differs(problem, judged, taken):
            taken.append(judged)
    return taken[len(known) :]


def _changed(choice: Choice) -> frozenset[int]:
    return frozenset(d for d, j in enumerate(choice) if j)


def _differs(problem: Problem, judged: Judged, others: Sequence[Judged]) -> bool:
    """Whether a plan changes another set of features than each other one, and none of the two does all that the other
    does.
    """

    def contains(one: Choice, other: Choice) -> bool:
        cost = [option.costs for option in problem.options]
        return all(one[d] and cost[d][one[d]] >= cost[d][j] * (1 - SLACK) for d, j in enumerate(other) if j)

    mine = judged.solution.choice or ()
    theirs = [other.solution.choice or () for other in others]
    return not any(_changed(mine) == _changed(o) or contains(mine, o) or contains(o, mine) for o in theirs)


def _asking_less(problem: Problem, feature: int, option: int) -> Problem | None:
    """The problem without the options of a feature that go at least as far as one does; None if it has no other.

    They are ruled out by a table with any other feature, which every engine knows how to obey.
    """
    other = next((i for i in range(len(problem.options)) if i != feature), None)
    costs = problem.options[feature].costs
    less = costs < costs[option] * (1 - SLACK)
    less[0] = True
    if other is None or less.sum() == 1:
        return None
    table = np.repeat(less[:, None], problem.options[other].size, axis=1)
    return replace(problem, rules=(*problem.rules, PairRule(feature, other, table)))


def way_of(stated: Stated, fresh: Sample | None, judged: Judged) -> Way:
    """A plan as far as choosing among plans needs to know it."""
    choice = judged.solution.choice or ()
    return Way(_changed(choice), stated.problem.cost(choice), share_of(stated, fresh, judged), judged)


class _Finding:
    """One row's ways, round by round.

    A path holds the cheapest plan for every share, so the cheapest surer way is on it. Each round asks for a path of
    plans that do not change all that the first plan changes, nor all that some known ways change.
    """

    def __init__(
        self,
        fitted: Fitted,
        world: World,
        stated: Stated,
        fresh: Sample | None,
        first: Judged,
        count: int,
        level: float,
    ) -> None:
        self.fitted, self.world, self.stated, self.fresh, self.count = fitted, world, stated, fresh, count
        self.first = way_of(stated, fresh, first)
        self.pool: dict[Choice, Way] = {}
        self.least = min(level, self.first.share) - SLACK

    def run(self) -> Chosen:
        """Look until nothing better is to be expected, or for as long as can be afforded."""
        if self.first.share >= 1 - SLACK:  # nothing is surer, so the cheapest will do
            self._add(self.fitted.settings.solving.best(self._left(frozenset()), self.count))
        chosen, tried = self._chosen(), set[Sets]()
        while len(tried) < MOST_ROUNDS:
            without = next((sets for sets in self._rounds(chosen) if sets not in tried), None)
            if without is None:
                break
            tried.add(without)
            left = self._left(without)
            self._add([point.solution for point in self.fitted.settings.solving.path(left, left.required)])
            chosen = self._chosen()
        if chosen.good < self.count and self.first.share < 1 - SLACK:
            self._add_many()
            chosen = self._chosen()
        return chosen

    def _add_many(self) -> None:
        """Add the cheapest plans for a few demands: what one sample takes for the surest, another may not confirm."""
        left = self._left(frozenset())
        total = float(left.weights.sum())
        demands = {min(total, float(np.ceil(asked))) for asked in np.linspace(left.required, total, DEMANDS)}
        for asked in sorted(demands):
            for differ in ("sets", "cores"):
                self._add(self.fitted.settings.solving.best(left.demanding(asked), MANY, differ))

    def _chosen(self) -> Chosen:
        return choose_ways(self.first, list(self.pool.values()), self.count)

    def _rounds(self, chosen: Chosen) -> Iterator[Sets]:
        """What to leave out, so that something better than the ways that are chosen may be found."""
        sets = [way.features for way in chosen.ways]
        full = len(sets) == self.count
        if full and (chosen.good == self.count or self.first.share >= 1 - SLACK):
            return
        yield frozenset()
        if not full:
            yield frozenset(sets)
        for features, worse in zip(sets, chosen.worse, strict=True):
            if worse:  # what else could stand in its place
                yield frozenset(sets) - {features}
        for way in sorted(self.pool.values(), key=lambda way: way.cost):
            if any(way.features < features for features in sets):  # it hides what does not do the same and less
                yield frozenset({way.features})

    def _left(self, without: Sets) -> Problem:
        """The problem without plans that change all that the first one changes, or all that one of some ways does."""
        problem = self.stated.problem
        return replace(problem, forbidden_cores=problem.forbidden_cores | {self.first.features} | without)

    def _add(self, found: Sequence[Solution]) -> None:
        """Add plans to the pool if they are good enough."""
        problem = self.stated.problem
        new = [solution for solution in found if solution.choice not in self.pool]
        for judged in judge_choices(self.fitted, self.world, self.stated, new, self.fresh):
            way = way_of(self.stated, self.fresh, judged)
            weight = float(problem.weights[judged.accepted].sum())
            if judged.solution.choice is not None and problem.enough(weight) and way.share >= self.least:
                self.pool[judged.solution.choice] = way
