"""A goal as a part of a problem sees it: choices in the part's own terms, and costs without what is already spent."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from armin.problem import Choice, Problem
from armin.solve.search.goals import Bans, Goal, Kind, Stairs, sets_as_words

__all__ = ["Seen", "View"]

ROUNDING = 1e-12
"""Costs of a part are added up in another order than those of the whole."""


class View(Protocol):
    """Some of a problem's choices, as a problem."""

    @property
    def of(self) -> Problem:
        """The whole problem."""

    @property
    def problem(self) -> Problem:
        """The part's own."""

    @property
    def cap(self) -> float:
        """Choices that cost this much, in all, are not looked for."""

    @property
    def spent(self) -> float:
        """What its choices cost beside what its own problem says."""

    def whole(self, choice: Choice) -> Choice:
        """A choice of the part as one of the whole problem."""

    def narrowed(self, choice: Choice) -> Choice | None:
        """A choice of the whole problem as one of the part; None if the part does not have it."""

    def features_of(self, features: frozenset[int], *, exactly: bool) -> frozenset[int] | None:
        """The part's features that change where ``features`` of the whole do; None if never."""


class Seen:
    """A goal as a part sees it: choices in the part's own terms, and nothing that costs more than its cap."""

    def __init__(self, goal: Goal, view: View) -> None:
        self.goal, self.view = goal, view
        self._from: tuple[Stairs, Bans] | None = None
        self._to: tuple[Stairs, Bans] | None = None
        self._most = np.inf

    @property
    def kind(self) -> Kind:
        return self.goal.kind

    @property
    def apart(self) -> bool:
        return self.goal.apart

    @property
    def required(self) -> float:
        return self.goal.required

    @property
    def worst(self) -> float:
        self._tables()
        return float(min(self._here(min(self.goal.worst, self.view.cap)), self._most))

    @property
    def one_by_one(self) -> bool:
        return self.goal.one_by_one

    @property
    def known(self) -> float:
        return self._here(self.goal.known)

    @property
    def best(self) -> tuple[float, Choice] | None:
        found, problem = self.goal.best, self.view.problem
        choice = None if found is None else self.view.narrowed(found[1])
        if choice is None or not problem.allows(choice):
            return None
        return problem.cost(choice), choice

    def stairs(self) -> Stairs:
        return self._tables()[0]

    def bans(self) -> Bans:
        return self._tables()[1]

    def offer(self, choice: Choice, cost: float, weight: float) -> bool:
        whole, problem = self.view.whole(choice), self.view.of
        return problem.allows(whole) and self.goal.offer(whole, problem.cost(whole), weight)

    def settle(self) -> bool:
        return False

    def _here(self, cost: float) -> float:
        """A cost of the whole in the part's own terms, and a little more where something is taken away."""
        if not self.view.spent or not np.isfinite(cost):
            return cost
        return cost - self.view.spent + ROUNDING * cost

    def _tables(self) -> tuple[Stairs, Bans]:
        """Stairs and bans in the part's terms, made anew when the goal's have changed."""
        now = (self.goal.stairs(), self.goal.bans())
        if self._to is None or self._from is None or any(a is not b for a, b in zip(now, self._from, strict=True)):
            stairs, (bans, self._most) = now[0], self._translated(now[1])
            most = min(self._here(self.view.cap), self._most)
            cost = np.array([min(self._here(float(one)), most) for one in stairs.cost])
            self._from, self._to = now, (stairs._replace(cost=cost), bans)
        return self._to

    def _translated(self, bans: Bans) -> tuple[Bans, float]:
        """Sets of features of the whole as sets of the part's features, and what every choice must cost less than.

        Sets that no choice of the part has are left out, and so is the empty one: it says something about all choices
        if it is a core, and else about the one that changes nothing, which is asked about apart.
        """
        sets, price, core, most = [], [], [], np.inf
        for words, cost, is_core in zip(bans.sets.tolist(), bans.price.tolist(), bans.core.tolist(), strict=True):
            bits = sum(word << (64 * w) for w, word in enumerate(words))
            features = frozenset(i for i in range(bits.bit_length()) if bits >> i & 1)
            found = self.view.features_of(features, exactly=not is_core)
            if found:
                sets.append(found)
                price.append(self._here(cost))
                core.append(is_core)
            elif found is not None and is_core:
                most = min(most, self._here(cost))
        width = len(self.view.problem.options)
        numbers = np.array(price, dtype=np.float64), np.array(core, dtype=np.bool_)
        return Bans(sets_as_words(sets, width), *numbers), most
