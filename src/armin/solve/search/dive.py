"""A good plan at once: greedy steps and exchanges, over the exact effect of every single change.

An engine that can tell what each single change does (:class:`Nearby`) gets a plan before it has proved anything. From
"keep", the changes that help most for their price are made until enough candidates are accepted: first among those that
do their share of what is lacking, so that the changes allowed suffice, then among all. Then changes are taken back, up
to three at a time, and replaced by others as long as that is cheaper: also by those that would do for the least if
their helps added up, where that is asked for. Changes that help only together are found in a table of pairs. No step is
random. A margin that is too small to be sure of its sign is asked of the problem itself before a choice is offered to
the goal, so a dive may be wrong about rounding on its way, but never about an answer.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from itertools import chain, combinations
from typing import Protocol

import numpy as np

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.problem.data import WEIGHT_TOLERANCE, Choice, Problem
from armin.solve.search.goals import Goal

__all__ = ["Nearby", "dive", "dive_together"]

POWERS = (1.0, 0.5, 0.0)
"""How much the price of a greedy step counts: by what its help is divided, as a power of the price."""

SHARED = (0.5, 1.0)
"""The same for steps that do their share of what is lacking."""

BRANCHES = 4
"""Replacements that are followed one step further when one alone is not enough."""

PARTS, PACKED = 32, 32
"""Of a knapsack of changes: the parts of what is lacking in which help is counted, and how many features go in."""

PAIRED, WIDTH, TOGETHER = 128, 10, 4
"""Of changes that are looked at together: how many are paired with all others; how many combinations of each size are
kept, for each of two powers of the price; and the size that they may grow to with greedy steps."""

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


def dive(problem: Problem, goal: Goal, nearby: Nearby, looks: int, packed: bool = False) -> Iterator[None]:
    """Offer good choices to a goal; yields after every look, of which there are at most ``looks``.

    Parameters
    ----------
    problem, goal : the problem and what is wanted
    nearby : what single changes do
    looks : looks around a point, at most
    packed : whether a knapsack says what replaces changes that are taken back, and all candidates have the last look:
        for models where a look is quick for many candidates, and the helps of changes add up more or less
    """
    total = float(problem.weights.sum())
    wanted = [level * total for level in LEVELS] if goal.kind == "path" else [goal.required]
    for required in wanted:
        if nearby.feature.size and required >= goal.required * (1.0 - WEIGHT_TOLERANCE):
            yield from _Dive(problem, goal, nearby, required, looks // len(wanted), packed).run()


def dive_together(problem: Problem, goal: Goal, nearby: Nearby, rough: Nearby, looks: int) -> Iterator[None]:
    """Offer choices that begin with changes which help together, whatever each of them does alone.

    Parameters
    ----------
    problem, goal, nearby, looks : as in :func:`dive`; ``looks`` are those of ``nearby``
    rough : the same as ``nearby`` for few moves
    """
    if rough.feature.size and problem.limit > 1:
        together = _Dive(problem, goal, rough, problem.required, 2 * PAIRED)
        yield from _Dive(problem, goal, nearby, problem.required, looks).run_together(together)


class _Dive:
    """One dive for one required weight."""

    def __init__(
        self, problem: Problem, goal: Goal, nearby: Nearby, required: float, looks: int, packed: bool = False
    ) -> None:
        self.problem, self.goal, self.nearby, self.looks, self.packed = problem, goal, nearby, looks, packed
        self.required = required - WEIGHT_TOLERANCE * float(problem.weights.sum())
        decision = getattr(problem.model, "decision", None)
        rounds = decision is not None and decision.blur > 0.0
        whole = bool(np.all(problem.weights == np.floor(problem.weights)))
        # whether margins rule out what the model need not be asked: quicker where many candidates were merged
        self.sure = whole and not rounds and 2 * nearby.weight.size <= problem.n_candidates
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
        self._take_over()
        for power in SHARED:
            yield from self._descend(keep, power, shared=True)
        for power in POWERS:
            yield from self._descend(keep, power)
        yield from self._improve()
        before = self.best
        for move in self._branches(keep):
            yield from self._descend(self._after(keep, move), 1.0)
        if self.best != before:
            yield from self._improve()
        if self.packed and self.who.size < self.all.size:  # those that were left out may be the easier ones
            self.who, self.weight, self.extra = self.all, self.nearby.weight, 0.0
            self.seen.clear()
            yield from self._improve()

    def run_together(self, rough: _Dive) -> Iterator[None]:
        """Greedy starts after the changes that are best together in a rough dive, the best improved by exchanges."""
        self._take_over()
        before = self.best
        for start in (yield from rough.together(self.bound)):
            self.extra = 0.0  # other candidates may be in the way there
            yield from self._descend(start, 0.5, shared=True)
        if self.best != before:
            yield from self._improve()

    def together(self, bound: float) -> Generator[None, None, list[Choice]]:
        """Combinations of changes that help most for their price, among those that cost less than ``bound``.

        All changes alone, whether they help or not; of all that can be added to them the best; and so on, up to one
        change less than are allowed.
        """
        self.bound, keep = bound, self.problem.keep
        start = self._look(keep)[1][np.flatnonzero(self.nearby.option == 0)[0]]
        alone = self._added(keep)[0]
        front = alone[:: 1 + len(alone) // PAIRED]
        for _ in range(min(self.problem.limit, TOGETHER) - 2):
            grown = list[tuple[float, float, Choice]]()
            for choice in front:
                choices, cost, lacking = self._added(choice)
                helps = np.flatnonzero(lacking < start).tolist()
                grown += [(float(start - lacking[i]), float(cost[i]), choices[i]) for i in helps]
                yield
            front = _best_of(grown)
        return front[: 2 * WIDTH]

    def _added(self, choice: Choice) -> tuple[list[Choice], FloatArray, FloatArray]:
        """The choices with one change more that cost less than the bound; their cost, and what they lack."""
        _, lacking = self._look(choice)
        cost, allowed = self._moves(choice)
        kept = np.array(choice, dtype=np.intp)[self.nearby.feature] == 0
        more = np.flatnonzero(allowed & (cost < self.bound) & kept & (self.nearby.option != 0))
        return [self._after(choice, int(i)) for i in more], cost[more], lacking[more]

    def _improve(self) -> Iterator[None]:
        """Exchanges, as long as they help."""
        self._take_over()
        start: Choice | None = None
        while self.best is not None and self.best != start and self.looks > 0:
            start = self.best
            for size in (1, 2, 3):
                yield from self._exchange(start, size)
                if self.best != start:
                    break

    def _take_over(self) -> None:
        """Go on from what the search found meanwhile, if that is cheaper."""
        if self.goal.kind != "cheapest" or not self.goal.known < self.bound:
            return
        self.bound, found = self.goal.known, self.goal.best
        if found is not None:
            known = set(zip(self.nearby.feature.tolist(), self.nearby.option.tolist(), strict=True))
            if all((d, j) in known for d, j in enumerate(found[1]) if j):
                self.bound, self.best = found

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
        weight = self.required
        if self.sure:
            margins = self.nearby.margins(choice, self.all)
            if np.abs(margins).min() > self.nearby.slack:
                weight = float(self.nearby.weight[margins >= 0.0].sum())
        if weight >= self.required:
            weight = problem.weight_accepted(choice)  # what is offered was evaluated by the model itself
        if weight < self.required:
            self.extra = max(self.extra, self.required - weight)
            self.refused.add(choice)
            return False
        self.goal.offer(choice, cost, weight)
        self.best, self.bound = choice, cost
        return True

    def _descend(self, choice: Choice, power: float | None, shared: bool = False) -> Iterator[None]:
        """Take the moves that help most for their price, until one of them makes the choice valid.

        Without a ``power``, those of a knapsack: see :meth:`_packed`.
        """
        for _ in range(2 * self.problem.limit + 2):
            if self.looks <= 0:
                return
            found = self._take(choice)
            yield
            if found is not None:
                return
            order = self._packed(choice) if power is None else self._ranked(choice, power, shared)
            if order.size == 0:
                return
            choice = self._after(choice, int(order[0]))

    def _packed(self, choice: Choice) -> IntArray:
        """The moves that would do together for the least if their helps added up, those that help most first.

        How changes stand in each other's way, or help each other, shows at the next look.
        """
        _, lacking = self._look(choice)
        cost, allowed = self._moves(choice)
        now, feature = np.array(choice, dtype=np.intp), self.nearby.feature
        start = float(lacking[np.flatnonzero(self.nearby.option == now[feature])[0]])
        left, spent = self.problem.limit - int(np.count_nonzero(now)), self.problem.cost(choice)
        useful = np.flatnonzero(allowed & (cost < self.bound) & (lacking < start) & (now[feature] == 0))
        if left < 1 or useful.size == 0:
            return useful[:0]
        parts = np.floor(PARTS * (1.0 - lacking[useful] / start)).astype(np.intp)
        packed = _knapsack(parts, cost[useful] - spent, feature[useful], left, self.bound - spent)
        return np.asarray(useful[packed])

    def _ranked(self, choice: Choice, power: float, shared: bool = False) -> IntArray:
        """Moves that help, those that help most for their price first.

        With ``shared``, those come first that leave no more to each of the changes still allowed than they did, and
        where there are none, those that help most, whatever their price.
        """
        _, lacking = self._look(choice)
        cost, allowed = self._moves(choice)
        now = np.array(choice, dtype=np.intp)
        same = np.flatnonzero(self.nearby.option == now[self.nearby.feature])
        help_ = lacking[same[0]] - lacking
        useful = np.flatnonzero(allowed & (cost < self.bound) & (help_ > 0.0))
        more = np.maximum(cost[useful] - self.problem.cost(choice), 1e-9)
        if shared:
            left = max(1, self.problem.limit - int(np.count_nonzero(now)))
            enough = help_[useful] * left >= lacking[same[0]]
            power = power if enough.any() else 0.0
            useful, more = (useful[enough], more[enough]) if enough.any() else (useful, more)
        order = np.argsort(-help_[useful] / more**power, kind="stable")
        return np.asarray(useful[order])

    def _exchange(self, start: Choice, size: int) -> Iterator[None]:
        """Take ``size`` changes back and put others in their place: one, or two; of three, as many as it takes."""
        changed = [d for d, j in enumerate(start) if j]
        for gone in combinations(changed, size):
            rest = tuple(0 if d in gone else j for d, j in enumerate(start))
            if self.packed or size == 3:
                yield from self._descend(rest, None if self.packed else 1.0)
            if self.looks <= 0 or self.best != start:
                return
            for choice in chain([rest], self._after_branches(rest)) if size < 3 else ():
                if self.looks <= 0:
                    return
                found = self._take(choice)
                yield
                if found is not None:
                    return
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


def _knapsack(parts: IntArray, cost: FloatArray, feature: IntArray, count: int, room: float) -> IntArray:
    """At most ``count`` moves of different features that make all parts for the least, those that make most first.

    Where none for less than ``room`` make all of them, those that make as many as can be.

    >>> parts, cost, feature = np.array([32, 16, 16, 8]), np.array([9.0, 2.0, 3.0, 1.0]), np.array([0, 0, 1, 2])
    >>> _knapsack(parts, cost, feature, 2, 8.0).tolist(), _knapsack(parts, cost, feature, 2, 4.0).tolist()
    ([1, 2], [1, 3])
    """
    order = np.argsort(-parts, kind="stable")
    _, at = np.unique(feature[order], return_index=True)
    features = feature[order][np.sort(at)[:PACKED]]  # those that can make most
    best = np.full((features.size, PARTS + 1), np.inf)  # the cheapest move that makes at least so many
    for f, mine in enumerate(features):
        own = feature == mine
        np.minimum.at(best[f], parts[own], cost[own])
    best = np.minimum.accumulate(best[:, ::-1], axis=1)[:, ::-1]
    need = np.arange(PARTS + 1)
    rest = np.maximum(need[:, None] - need[None, :], 0)
    least = np.full((features.size + 1, count + 1, PARTS + 1), np.inf)  # for so many parts, of the first features
    least[0, :, 0] = 0.0
    for f in range(features.size):
        least[f + 1] = least[f]
        np.minimum(least[f, 1:], (best[f] + least[f, :-1][:, rest]).min(axis=2), out=least[f + 1, 1:])
    left, k = int(np.flatnonzero(least[-1, count] < room).max(initial=0)), count
    chosen = list[int]()
    for f in range(features.size - 1, -1, -1):
        if least[f + 1, k, left] < least[f, k, left]:
            made = int(np.argmin(best[f] + least[f, k - 1][rest[left]]))
            own = np.flatnonzero((feature == features[f]) & (parts >= made))
            chosen.append(int(own[np.argmin(cost[own])]))
            left, k = int(rest[left, made]), k - 1
    return np.array(sorted(chosen, key=lambda move: (-parts[move], move)) or order[:1], dtype=np.intp)


def _best_of(grown: list[tuple[float, float, Choice]]) -> list[Choice]:
    """Of combinations with their help and cost, those that help most for their price, each for other features."""
    found = dict[Choice, None]()
    for power in (1.0, 0.5):
        met = set[frozenset[int]]()
        for _, _, choice in sorted(grown, key=lambda one: (-one[0] / max(one[1], 1e-9) ** power, one[2])):
            changed = frozenset(d for d, j in enumerate(choice) if j)
            if changed not in met:
                met.add(changed)
                found[choice] = None
            if len(met) >= WIDTH:
                break
    return list(found)


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
