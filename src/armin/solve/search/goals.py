"""What a search looks for: the cheapest choice, the whole path, several that differ.

A goal knows what was found, and tells the engines what would be better, in two tables that compiled code can read:
:class:`Stairs` (what a choice of some weight must cost less than) and :class:`Bans` (what a choice that changes some
features must cost less than). An engine offers every choice that it finds; the goal takes those that are better.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from armin.arrays import BoolArray, FloatArray
from armin.problem.data import WEIGHT_TOLERANCE, Choice, Problem
from armin.solve.repeat import without_idle_changes

__all__ = [
    "BETTER",
    "FEW_CHOICES",
    "Bans",
    "Cheapest",
    "Frontier",
    "Goal",
    "Kind",
    "Point",
    "Several",
    "Stairs",
    "consider",
    "wanted",
]

FEW_CHOICES = 1000
"""Up to this many choices, engines that can look at each of them once rather than ask one question after another."""

BETTER = 1e-12
"""A choice is better only if it is cheaper by more than this share: below it, sums differ by their order alone."""


class Stairs(NamedTuple):
    """What is wanted: S steps of rising weight and cost. A choice is better if it improves one of them."""

    require: FloatArray  # (S,) the weight that a choice needs to count for a step
    cost: FloatArray  # (S,) what it must cost less than
    top: FloatArray  # (S,) the weight up to which the step goes


class Bans(NamedTuple):
    """Sets of features, as bits: a choice that changes one of them must cost less than its price."""

    sets: NDArray[np.uint64]  # (sets, words)
    price: FloatArray  # (sets,) minus infinity: it is ruled out at any cost
    core: BoolArray  # (sets,) whether the price also holds for choices that change still more features


Kind = Literal["cheapest", "several", "path"]
"""What a search looks for: one choice, several that differ, or one for each weight."""


class Goal(Protocol):
    """What is found so far, and what would be better. Choices are those of the problem that is searched."""

    @property
    def kind(self) -> Kind:
        """What is looked for."""

    @property
    def apart(self) -> bool:
        """Whether a change without effect makes another choice."""

    @property
    def required(self) -> float:
        """The least weight that may count."""

    @property
    def worst(self) -> float:
        """No choice that costs this much is better."""

    @property
    def one_by_one(self) -> bool:
        """Whether the cheapest choice is all that should be found before :meth:`settle`."""

    @property
    def known(self) -> float:
        """What a choice must cost less than to be reported instead; infinite if nothing is known."""

    @property
    def best(self) -> tuple[float, Choice] | None:
        """Cost and choice to report, if the problem that is searched has the choice."""

    def stairs(self) -> Stairs:
        """What is wanted, by weight."""

    def bans(self) -> Bans:
        """What is wanted, by the features that change."""

    def offer(self, choice: Choice, cost: float, weight: float) -> bool:
        """Take note of an allowed choice; whether it is better."""

    def settle(self) -> bool:
        """Take note that nothing better is left; whether more is wanted now."""


def consider(problem: Problem, goal: Goal, choice: Choice) -> bool:
    """Offer a choice to a goal if the problem allows it, with the weight that the model itself accepts."""
    cost = problem.cost(choice)
    if cost >= goal.worst or not problem.allows(choice):
        return False
    return goal.offer(choice, cost, problem.weight_accepted(choice))


def wanted(stairs: Stairs, cost: float, weight: float) -> bool:
    """Whether a choice of this cost and weight improves some step.

    >>> stairs = Stairs(np.array([1.0, 3.0]), np.array([2.0, np.inf]), np.array([2.0, 9.0]))
    >>> wanted(stairs, 1.5, 1.0), wanted(stairs, 2.5, 1.0), wanted(stairs, 2.5, 3.0)
    (True, False, True)
    """
    i = int(np.searchsorted(stairs.cost, cost, side="right"))
    return i < stairs.cost.size and weight >= float(stairs.require[i])


def sets_as_words(sets: Iterable[Iterable[int]], size: int) -> NDArray[np.uint64]:
    """Sets of numbers below ``size`` as bits, one row each.

    >>> sets_as_words([{0, 2}, {65}], 70).tolist()
    [[5, 0], [0, 2]]
    """
    rows = [sum(1 << i for i in numbers) for numbers in sets]
    width = (size + 63) // 64 if size else 1
    words = [[(row >> (64 * w)) & (2**64 - 1) for w in range(width)] for row in rows]
    return np.array(words, dtype=np.uint64).reshape(len(rows), width)


def _bans_of(problem: Problem, prices: dict[frozenset[int], float] | None = None, core: bool = False) -> Bans:
    """What the problem rules out, and the ``prices`` of what was found."""
    rows = [(sorted(s), -np.inf, False) for s in problem.forbidden_sets]
    rows += [(sorted(s), -np.inf, True) for s in problem.forbidden_cores]
    rows += [(sorted(s), price, core) for s, price in (prices or {}).items()]
    rows.sort()
    return Bans(
        sets_as_words([s for s, _, _ in rows], len(problem.options)),
        np.array([price for _, price, _ in rows], dtype=np.float64),
        np.array([c for _, _, c in rows], dtype=np.bool_),
    )


def _one_step(problem: Problem, cost: float) -> Stairs:
    require = np.array([problem.required - 2.0 * WEIGHT_TOLERANCE * float(problem.weights.sum())])
    return Stairs(require, np.array([cost * (1.0 - BETTER)]), require.copy())


@dataclass(eq=False)
class Cheapest:
    """The cheapest choice that costs less than ``worst``."""

    problem: Problem
    worst: float = float("inf")
    apart: bool = False
    best: tuple[float, Choice] | None = field(default=None, init=False)
    kind: ClassVar[Kind] = "cheapest"
    one_by_one: ClassVar[bool] = True
    _bans: Bans = field(init=False)
    _stairs: Stairs = field(init=False)

    def __post_init__(self) -> None:
        self._bans, self._stairs = _bans_of(self.problem), _one_step(self.problem, self.worst)

    @property
    def required(self) -> float:
        return self.problem.required

    @property
    def known(self) -> float:
        return self.worst

    def stairs(self) -> Stairs:
        return self._stairs

    def bans(self) -> Bans:
        return self._bans

    def offer(self, choice: Choice, cost: float, weight: float) -> bool:
        better = cost < self.worst and self.problem.enough(weight)
        if better:
            self.best, self.worst = (cost, choice), cost
            self._stairs = _one_step(self.problem, cost)
        return better

    def settle(self) -> bool:
        return False


@dataclass(eq=False)
class Several:
    """The ``count`` cheapest choices that change different sets of features.

    All can be looked for at once: a set is known by the cheapest choice that changes it, and the ``count``-th cheapest
    set only gets cheaper. Or ``one_by_one``, the cheapest first; what else was found is a start for the next one. That
    is the only way with ``cores``, where no set contains that of a cheaper choice: a new set can rule out several known
    ones. What is proved stays, also if something of the same cost would rule it out: what a choice must cost less than
    never rises while an engine looks for it, or what was passed over before would be lost.
    """

    problem: Problem
    count: int
    cores: bool = False
    one_by_one: bool = False
    found: dict[frozenset[int], tuple[float, Choice]] = field(default_factory=dict)
    proved: list[frozenset[int]] = field(default_factory=list)
    worst: float = float("inf")
    kind: ClassVar[Kind] = "several"
    _bans: Bans = field(init=False)
    _stairs: Stairs = field(init=False)

    def __post_init__(self) -> None:
        self._renew()

    def _renew(self) -> None:
        """Forget what is beaten, and say anew what would be better."""
        ranked, last = self.ranked(), len(self.proved) if self.one_by_one else self.count - 1
        kept = {choice for _, choice in ranked}
        self.found = {s: plan for s, plan in self.found.items() if plan[1] in kept}
        self.worst = ranked[last][0] if last < len(ranked) else float("inf")
        prices = {features: cost * (1.0 - BETTER) for features, (cost, _) in self.found.items()}
        self._bans, self._stairs = _bans_of(self.problem, prices, self.cores), _one_step(self.problem, self.worst)

    @property
    def apart(self) -> bool:
        return not self.cores  # a change without effect makes another set, but only a larger one

    @property
    def required(self) -> float:
        return self.problem.required

    def ranked(self) -> list[tuple[float, Choice]]:
        """What is found, the cheapest first."""
        taken = {features: self.found[features] for features in self.proved}
        for features, plan in sorted(self.found.items(), key=lambda item: (item[1][0], len(item[0]), item[1][1])):
            ruled_out = features in taken or (self.cores and any(core <= features for core in taken))
            if len(taken) < self.count and not ruled_out:
                taken[features] = plan
        return list(taken.values())

    @property
    def best(self) -> tuple[float, Choice] | None:
        return min(self.found.values(), default=None)

    @property
    def known(self) -> float:
        return min((cost for cost, _ in self.found.values()), default=float("inf"))

    def stairs(self) -> Stairs:
        return self._stairs

    def bans(self) -> Bans:
        return self._bans

    def offer(self, choice: Choice, cost: float, weight: float) -> bool:
        if not cost < self.worst or not self.problem.enough(weight):
            return False
        if self.cores:
            choice = without_idle_changes(self.problem, choice)
            cost = self.problem.cost(choice)
        features = _changed(choice)
        rivals = [s for s in self.found if (s <= features if self.cores else s == features)]
        if any(self.found[s][0] <= cost for s in rivals):
            return False
        self.found[features] = (cost, choice)
        self._renew()
        return True

    def settle(self) -> bool:
        if not self.one_by_one or self.worst == float("inf"):
            return False
        self.proved = [_changed(choice) for _, choice in self.ranked()[: len(self.proved) + 1]]
        self._renew()
        return len(self.proved) < self.count


def _changed(choice: Choice) -> frozenset[int]:
    return frozenset(d for d, j in enumerate(choice) if j)


@dataclass(frozen=True)
class Point:
    """A choice that no known choice beats in both weight and cost."""

    weight: float
    cost: float
    choice: Choice


@dataclass(eq=False)
class Frontier:
    """The cheapest choice for every weight from ``least`` on (the smallest one if None)."""

    problem: Problem
    least: float | None = None
    points: list[Point] = field(default_factory=list)
    apart: bool = False
    kind: ClassVar[Kind] = "path"
    one_by_one: ClassVar[bool] = False
    _bans: Bans = field(init=False)
    _stairs: Stairs = field(init=False)

    def __post_init__(self) -> None:
        self._bans, self._stairs = _bans_of(self.problem), self._steps()

    @cached_property
    def required(self) -> float:
        return float(self.problem.weights.min()) if self.least is None else self.least

    @cached_property
    def total(self) -> float:
        return float(self.problem.weights.sum())

    @cached_property
    def step(self) -> float:
        """What must be added to a weight to ask for more."""
        return self.problem.smallest_step

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

    @property
    def known(self) -> float:
        return self.points[-1].cost if self.points else float("inf")

    def stairs(self) -> Stairs:
        return self._stairs

    def _steps(self) -> Stairs:
        total, slack = self.total, WEIGHT_TOLERANCE * self.total
        steps = [(p.weight, p.cost) for p in self.points]
        if self.next is not None:
            steps.append((total, float("inf")))
        weights, costs = np.array(steps).T
        require = np.empty_like(weights)
        require[0] = self.required
        np.minimum(weights[:-1] + self.step, total, out=require[1:])
        return Stairs(require - 2.0 * slack, costs * (1.0 - BETTER), weights - 0.5 * slack)

    def _one_more(self, weight: float, cost: float) -> Stairs:
        """The stairs when the last step, which nothing had answered, has this answer up to this weight."""
        before, slack = self._stairs, WEIGHT_TOLERANCE * self.total
        n = before.cost.size
        require, costs, top = np.empty((3, n + 1))
        require[:n], costs[: n - 1], top[: n - 1] = before.require, before.cost[:-1], before.top[:-1]
        require[n] = min(weight + self.step, self.total) - 2.0 * slack
        costs[n - 1], costs[n] = cost * (1.0 - BETTER), float("inf")
        top[n - 1], top[n] = weight - 0.5 * slack, self.total - 0.5 * slack
        return Stairs(require, costs, top)

    def bans(self) -> Bans:
        return self._bans

    def offer(self, choice: Choice, cost: float, weight: float) -> bool:
        slack = 1.5 * WEIGHT_TOLERANCE * self.total
        if weight < self.required - slack:
            return False
        points = self.points  # weight and cost both rise, so the first of enough weight is the cheapest of them
        at = bisect_left(points, weight - slack, key=lambda p: p.weight)
        if at < len(points) and points[at].cost <= cost:
            return False
        if at == len(points) and (not points or points[-1].cost < cost):  # the surest and dearest, as a rule
            open_ = self.next is not None
            self.points = [*points, Point(weight, cost, choice)]
            if open_ and self.next is not None:
                self._stairs = self._one_more(weight, cost)
                return True
        else:
            kept = [p for p in points if p.weight > weight + slack or p.cost < cost]
            insort(kept, Point(weight, cost, choice), key=lambda p: p.weight)
            self.points = kept
        self._stairs = self._steps()
        return True

    def settle(self) -> bool:
        return False
