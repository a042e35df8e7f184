"""Look for ways beside the first plan: by whole paths, each without what is known, and only as many as are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from armin.arrays import BoolArray, FloatArray
from armin.explainer.draw import Sample
from armin.explainer.fitted import Fitted
from armin.explainer.judge import Judged, judge_choices
from armin.explainer.others import SLACK, Chosen, Way, choose_ways
from armin.models.encoding import ReadClassifier
from armin.problem import Choice, Problem, Solution
from armin.problem.stated import Stated
from armin.recourse.world import World

__all__ = ["find_ways", "share_of"]

MOST_ROUNDS = 8
"""How often other ways are looked for before those that are known are shown."""

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
    if fitted.reads:
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
        self.first = self._way(first)
        self.pool: dict[Choice, Way] = {}
        asked = level if stated.asks_completions else 0.0
        self.least = min(asked, self.first.share) - SLACK

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
        return chosen

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
            way = self._way(judged)
            weight = float(problem.weights[judged.accepted].sum())
            if judged.solution.choice is not None and problem.enough(weight) and way.share >= self.least:
                self.pool[judged.solution.choice] = way

    def _way(self, judged: Judged) -> Way:
        choice = judged.solution.choice or ()
        features = frozenset(d for d, j in enumerate(choice) if j)
        return Way(features, self.stated.problem.cost(choice), share_of(self.stated, self.fresh, judged), judged)
