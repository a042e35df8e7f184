"""A good plan at once: greedy steps and exchanges, over the exact effect of every single change.

An engine that can tell what each single change does (:class:`Nearby`) gets a plan before it has proved anything. From
"keep", the changes that help most for their price are made until enough candidates are accepted; then changes are taken
back, up to three at a time, and replaced by others as long as that is cheaper. No step is random. A margin that is too
small to be sure of its sign is asked of the problem itself before a choice is offered to the goal, so a dive may be
wrong about rounding on its way, but never about an answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from typing import Protocol

import numpy as np

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.problem.data import WEIGHT_TOLERANCE, Choice, Problem
from armin.solve.search.goals import Frontier, Goal

__all__ = ["Nearby", "dive"]

POWERS = (1.0, 0.5, 0.0)
"""How much the price of a greedy step counts: by what its help is divided, as a power of the price."""

BRANCHES = 4
"""Replacements that are followed one step further when one alone is not enough."""

LEVELS = (1.0, 0.75, 0.5)
"""Shares of the weight at which points of a path are looked for."""


class Nearby(Protocol):
    """What every single change ("move") does at a point.

    Attributes
    ----------
    feature, option, cost : int, int and float arrays of shape (moves,); each feature's "keep" is among its moves
    weight : array of shape (N,), the weights of the candidates
    most : how many candidates one look should take in
    slack : a margin that is larger than this in size has the right sign
    """

    feature: IntArray
    option: IntArray
    cost: FloatArray
    weight: FloatArray
    most: int
    slack: float

    def margins(self, choice: Choice, who: IntArray) -> FloatArray:
        """How far each of the candidates ``who`` is from being accepted after ``choice``; not negative where it is."""

    def look(
        self, choice: Choice, who: IntArray, weight: FloatArray, counts: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        """For every move (moves,) the weight accepted of the candidates ``who``, and what those that count lack."""


def dive(problem: Problem, goal: Goal, nearby: Nearby, looks: int) -> Iterator[None]:
    """Offer good choices to a goal; yields after every look, of which there are at most ``looks``.

    Parameters
    ----------
    problem, goal : the problem and what is wanted
    nearby : what single changes do
    looks : looks around a point, at most
    """
    total = float(problem.weights.sum())
    wanted = [level * total for level in LEVELS] if isinstance(goal, Frontier) else [goal.required]
    for required in wanted:
        if nearby.feature.size and required >= goal.required * (1.0 - WEIGHT_TOLERANCE):
            yield from _Dive(problem, goal, nearby, required, looks // len(wanted)).run()


class _Dive:
    """One dive for one required weight."""

    def __init__(self, problem: Problem, goal: Goal, nearby: Nearby, required: float, looks: int) -> None:
        self.problem, self.goal, self.nearby, self.looks = problem, goal, nearby, looks
        self.required = required - WEIGHT_TOLERANCE * float(problem.weights.sum())
        self.whole = bool(np.all(problem.weights == np.floor(problem.weights)))
        decision = getattr(problem.model, "decision", None)
        self.rounds = decision is not None and decision.blur > 0.0  # then margins do not decide
        self.best: Choice | None = None
        self.bound = float("inf")
        self.extra = 0.0  # by how much the thinned candidates are too easy
        self.refused: set[Choice] = set()
        self.seen: dict[Choice, tuple[FloatArray, FloatArray]] = {}
        self.all = np.arange(nearby.weight.size)
        self.who, self.weight = _thinned(nearby.margins(problem.keep, self.all), nearby.weight, nearby.most)

    def run(self) -> Iterator[None]:
        """Greedy starts, the best improved by exchanges; then other starts, and exchanges again."""
        keep = self.problem.keep
        for power in POWERS:
            yield from self._descend(keep, power)
        yield from self._improve()
        before = self.best
        for move in self._branches(keep):
            yield from self._descend(self._after(keep, move), 1.0)
        if self.best != before:
            yield from self._improve()

    def _improve(self) -> Iterator[None]:
        """Exchanges, as long as they help."""
        start: Choice | None = None
        while self.best is not None and self.best != start and self.looks > 0:
            start = self.best
            for size in (1, 2, 3):
                yield from self._exchange(start, size)
                if self.best != start:
                    break

    def _look(self, choice: Choice) -> tuple[FloatArray, FloatArray]:
        """Accepted weight after every move, and what those that are to be accepted lack: the easiest that suffice."""
        if choice not in self.seen:
            self.looks -= 1
            margins = self.nearby.margins(choice, self.who)
            order = np.argsort(-margins, kind="stable")
            before = np.cumsum(self.weight[order]) - self.weight[order]
            counts = np.zeros(order.size, dtype=bool)
            counts[order[before < self.required + self.extra]] = True
            self.seen[choice] = self.nearby.look(choice, self.who, self.weight, counts)
        return self.seen[choice]

    def _moves(self, choice: Choice) -> tuple[FloatArray, BoolArray]:
        """What every move would cost in all, and whether the count and the rules allow it."""
        nearby, problem = self.nearby, self.problem
        now = np.array(choice, dtype=np.intp)
        parts = np.array([float(o.costs[j]) for o, j in zip(problem.options, choice, strict=True)])
        if problem.aggregate == "max":
            others = np.array([np.delete(parts, d).max(initial=0.0) for d in range(parts.size)])
            cost = np.maximum(others[nearby.feature], nearby.cost)
        else:
            cost = parts.sum() - parts[nearby.feature] + nearby.cost
        changes = int(np.count_nonzero(now)) - (now[nearby.feature] != 0) + (nearby.option != 0)
        allowed = changes <= problem.limit
        for rule in problem.rules:
            for d, other, table in (
                (rule.first, rule.second, rule.allowed),
                (rule.second, rule.first, rule.allowed.T),
            ):
                mine = nearby.feature == d
                allowed[mine] &= table[nearby.option[mine], choice[other]]
        return cost, allowed

    def _after(self, choice: Choice, move: int) -> Choice:
        d = int(self.nearby.feature[move])
        return (*choice[:d], int(self.nearby.option[move]), *choice[d + 1 :])

    def _take(self, choice: Choice) -> Choice | None:
        """The cheapest single move that makes a choice valid and cheaper than the best, if any."""
        accepted, _ = self._look(choice)
        cost, allowed = self._moves(choice)
        fits = np.flatnonzero(allowed & (cost < self.bound) & (accepted >= self.required + self.extra))
        for move in fits[np.argsort(cost[fits], kind="stable")][:BRANCHES]:
            found = self._after(choice, int(move))
            if self._valid(found):
                return found
        return None

    def _valid(self, choice: Choice) -> bool:
        """Whether the problem accepts a choice that is cheaper than the best; offers it."""
        problem, cost = self.problem, self.problem.cost(choice)
        if choice in self.refused or cost >= self.bound or not problem.allows(choice):
            return False
        margins = self.nearby.margins(choice, self.all)
        weight = float(self.nearby.weight[margins >= 0.0].sum())
        if self.rounds or not self.whole or weight >= self.required or np.abs(margins).min() <= self.nearby.slack:
            weight = problem.weight_accepted(choice)  # what is offered was evaluated by the model itself
        if weight < self.required:
            self.extra = max(self.extra, self.required - weight)
            self.refused.add(choice)
            return False
        self.goal.offer(choice, cost, weight)
        self.best, self.bound = choice, cost
        return True

    def _descend(self, choice: Choice, power: float) -> Iterator[None]:
        """Take the moves that help most for their price, until one of them makes the choice valid."""
        for _ in range(2 * self.problem.limit + 2):
            if self.looks <= 0 or self._take(choice) is not None:
                return
            yield
            order = self._ranked(choice, power)
            if order.size == 0:
                return
            choice = self._after(choice, int(order[0]))

    def _ranked(self, choice: Choice, power: float) -> IntArray:
        """Moves that help, those that help most for their price first."""
        _, lacking = self._look(choice)
        cost, allowed = self._moves(choice)
        now = np.array(choice, dtype=np.intp)
        same = np.flatnonzero(self.nearby.option == now[self.nearby.feature])
        help_ = lacking[same[0]] - lacking
        useful = np.flatnonzero(allowed & (cost < self.bound) & (help_ > 0.0))
        more = np.maximum(cost[useful] - self.problem.cost(choice), 1e-9)
        order = np.argsort(-help_[useful] / more**power, kind="stable")
        return np.asarray(useful[order])

    def _exchange(self, start: Choice, size: int) -> Iterator[None]:
        """Take ``size`` changes back and put others in their place: one, or two; of three, as many as it takes."""
        changed = [d for d, j in enumerate(start) if j]
        for gone in combinations(changed, size):
            rest = tuple(0 if d in gone else j for d, j in enumerate(start))
            if size == 3:
                yield from self._descend(rest, 1.0)
            for choice in chain([rest], self._after_branches(rest)) if size < 3 else ():
                if self.looks <= 0 or self._take(choice) is not None:
                    return
                yield
            if self.looks <= 0 or self.best != start:
                return

    def _after_branches(self, choice: Choice) -> Iterator[Choice]:
        """The choices that :meth:`_branches` lead to, worked out when they are asked for."""
        for move in self._branches(choice):
            yield self._after(choice, move)

    def _branches(self, choice: Choice) -> Sequence[int]:
        """The moves that help most for their price, of different features."""
        chosen: list[int] = []
        for power in (1.0, 0.0):
            order, features, before = self._ranked(choice, power), set[int](), len(chosen)
            for move in order.tolist():
                feature = int(self.nearby.feature[move])
                if feature not in features and move not in chosen:
                    features.add(feature)
                    chosen.append(move)
                if len(chosen) >= before + BRANCHES // 2:
                    break
        return chosen


def _thinned(margins: FloatArray, weight: FloatArray, most: int) -> tuple[IntArray, FloatArray]:
    """At most ``most`` candidates that stand for all: of equal shares of the weight by margin, the middle one each."""
    n = weight.size
    if n <= most:
        return np.arange(n), weight
    order = np.argsort(margins, kind="stable")
    reached = np.cumsum(weight[order])
    share = reached[-1] / most
    middle = np.searchsorted(reached, share * (np.arange(most) + 0.5))
    return order[np.minimum(middle, n - 1)], np.full(most, share)
