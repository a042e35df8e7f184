"""What a search over ReLU networks looks for: the cheapest choice, the best with different features, the whole path."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from armin.problem.data import WEIGHT_TOLERANCE, Choice, Problem
from armin.solve.search.relu.data import Bools, Floats, Stairs

__all__ = ["BestGoal", "Goal", "OneGoal", "PathGoal", "Point"]

BETTER = 1e-12
"""A choice is better only if it is cheaper by more than this share: below it, sums differ by their order alone."""


class Goal(Protocol):
    """What is found so far, and what would be better."""

    @property
    def required(self) -> float:
        """The least weight that may count."""

    @property
    def worst(self) -> float:
        """No choice that costs this much is better."""

    @property
    def best(self) -> tuple[float, Choice] | None:
        """Cost and choice to report."""

    def stairs(self) -> Stairs:
        """What is wanted."""

    def sets(self) -> tuple[Bools, Floats]:
        """Sets of features (., features of the problem), and what choices that change exactly these must undercut."""

    def offer(self, choice: Choice, cost: float, weight: float) -> bool:
        """Take note of an allowed choice; whether it is better."""


def _banned(problem: Problem) -> Bools:
    sets = np.zeros((len(problem.forbidden_sets), len(problem.options)), bool)
    for row, features in zip(sets, sorted(sorted(s) for s in problem.forbidden_sets), strict=True):
        row[features] = True
    return sets


def _one_step(problem: Problem, cost: float) -> Stairs:
    require = np.array([problem.required - 2.0 * WEIGHT_TOLERANCE * float(problem.weights.sum())])
    return Stairs(require, np.array([cost * (1.0 - BETTER)]), require.copy())


@dataclass(eq=False)
class OneGoal:
    """The cheapest choice."""

    problem: Problem
    best: tuple[float, Choice] | None = None

    @property
    def required(self) -> float:
        return self.problem.required

    @property
    def worst(self) -> float:
        return float("inf") if self.best is None else self.best[0]

    def stairs(self) -> Stairs:
        return _one_step(self.problem, self.worst)

    def sets(self) -> tuple[Bools, Floats]:
        banned = _banned(self.problem)
        return banned, np.full(banned.shape[0], -np.inf)

    def offer(self, choice: Choice, cost: float, weight: float) -> bool:
        better = cost < self.worst and self.problem.enough(weight)
        if better:
            self.best = (cost, choice)
        return better


@dataclass(eq=False)
class BestGoal:
    """The ``count`` cheapest choices that change different sets of features."""

    problem: Problem
    count: int
    found: dict[frozenset[int], tuple[float, Choice]] = field(default_factory=dict)

    @property
    def required(self) -> float:
        return self.problem.required

    def ranked(self) -> list[tuple[float, Choice]]:
        """What is found, the cheapest first."""
        return sorted(self.found.values())[: self.count]

    @property
    def worst(self) -> float:
        ranked = self.ranked()
        return ranked[-1][0] if len(ranked) == self.count else float("inf")

    @property
    def best(self) -> tuple[float, Choice] | None:
        return min(self.found.values(), default=None)

    def stairs(self) -> Stairs:
        return _one_step(self.problem, self.worst)

    def sets(self) -> tuple[Bools, Floats]:
        banned = _banned(self.problem)
        found = np.zeros((len(self.found), len(self.problem.options)), bool)
        for row, features in zip(found, self.found, strict=True):
            row[list(features)] = True
        prices = np.array([cost * (1.0 - BETTER) for cost, _ in self.found.values()])
        return np.concatenate([banned, found]), np.concatenate([np.full(banned.shape[0], -np.inf), prices])

    def offer(self, choice: Choice, cost: float, weight: float) -> bool:
        features = frozenset(d for d, j in enumerate(choice) if j)
        known = self.found[features][0] if features in self.found else self.worst
        better = cost < known and self.problem.enough(weight)
        if better:
            self.found[features] = (cost, choice)
            if len(self.found) > self.count:
                self.found = dict(sorted(self.found.items(), key=lambda item: item[1])[: self.count])
        return better


@dataclass(frozen=True)
class Point:
    """A choice that no known choice beats in both weight and cost."""

    weight: float
    cost: float
    choice: Choice


@dataclass(eq=False)
class PathGoal:
    """The cheapest choice for every weight. ``step`` is what must be added to a weight to ask for more."""

    problem: Problem
    step: float
    points: list[Point] = field(default_factory=list)

    @cached_property
    def required(self) -> float:
        return float(self.problem.weights.min())

    @cached_property
    def total(self) -> float:
        return float(self.problem.weights.sum())

    @property
    def next(self) -> float | None:
        """The requirement that no point answers; None if they answer all."""
        if not self.points:
            return self.required
        weight = self.points[-1].weight
        return None if weight + self.step > self.total * (1 + WEIGHT_TOLERANCE) else min(weight + self.step, self.total)

    @property
    def worst(self) -> float:
        return float("inf") if self.next is not None else self.points[-1].cost

    @property
    def best(self) -> tuple[float, Choice] | None:
        return (self.points[-1].cost, self.points[-1].choice) if self.points else None

    def stairs(self) -> Stairs:
        slack = WEIGHT_TOLERANCE * self.total
        weights, costs = [p.weight for p in self.points], [p.cost * (1.0 - BETTER) for p in self.points]
        require = [self.required, *(min(w + self.step, self.total) for w in weights)]
        if self.next is None:
            require.pop()
        else:
            weights, costs = [*weights, self.total], [*costs, float("inf")]
        return Stairs(np.array(require) - 2.0 * slack, np.array(costs), np.array(weights) - 0.5 * slack)

    def sets(self) -> tuple[Bools, Floats]:
        banned = _banned(self.problem)
        return banned, np.full(banned.shape[0], -np.inf)

    def offer(self, choice: Choice, cost: float, weight: float) -> bool:
        slack = 1.5 * WEIGHT_TOLERANCE * self.total
        if weight < self.required - slack:
            return False
        if any(p.weight >= weight - slack and p.cost <= cost for p in self.points):
            return False
        kept = [p for p in self.points if p.weight > weight + slack or p.cost < cost]
        self.points = sorted([*kept, Point(weight, cost, choice)], key=lambda p: p.weight)
        return True
