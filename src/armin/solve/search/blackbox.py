"""Exact search for any classifier: choices in order of cost, asked in large batches.

The first choice that satisfies the problem is the cheapest one, whatever the model.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import islice

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.problem import Choice, Problem
from armin.solve.search.goals import Goal, consider, wanted

__all__ = ["BlackBoxEngine", "choices_by_cost"]

ROWS_AT_ONCE = 200_000
"""Model inputs that are asked about in one call, at most."""

SOON = 0.05
"""Seconds after which the search should look up again."""

ROUNDING = 1e-12
"""Share by which sums of the same costs in another order may differ, at most."""


def choices_by_cost(problem: Problem) -> Iterator[tuple[float, Choice]]:
    """All allowed choices, the cheapest first, made as they are asked for.

    A choice is a row of changes, its features in ascending order of their cheapest change. From each choice come
    others that cost at least as much: the last change becomes the feature's next dearer option; a last change that
    is its feature's cheapest moves on to the next feature; the next feature changes too. Every choice comes exactly
    once, with the cost that the problem gives it. Sums that differ by rounding alone may come in either order.

    Examples
    --------
    >>> from armin.models.kinds import Above, LinearModel
    >>> model = LinearModel(np.ones((1, 2)), np.zeros(1), Above(0.0))
    >>> problem = Problem.from_tables([[0, 0]], {0: [0, 1], 1: [0, 1]}, {0: [0, 2], 1: [0, 1]}, model, 1)
    >>> list(choices_by_cost(problem))
    [(0.0, (0, 0)), (1.0, (0, 1)), (2.0, (1, 0)), (3.0, (1, 1))]
    """
    if problem.allows(problem.keep):
        yield 0.0, problem.keep
    steps = [np.argsort(option.costs[1:], kind="stable") + 1 for option in problem.options]
    # features by their cheapest change, so that moving on to the next feature never gets cheaper
    features = [f for f, order in enumerate(steps) if order.size]
    features.sort(key=lambda f: (float(problem.options[f].costs[steps[f][0]]), f))
    largest = problem.aggregate == "max"

    def price(picks: tuple[tuple[int, int], ...]) -> float:
        costs = [float(problem.options[features[i]].costs[steps[features[i]][k]]) for i, k in picks]
        return max(costs) if largest else sum(costs)

    # a pick (i, k): feature number i takes its k-th cheapest option
    queue: list[tuple[float, int, tuple[tuple[int, int], ...]]] = []

    def add(picks: tuple[tuple[int, int], ...]) -> None:
        heappush(queue, (price(picks), len(picks), picks))

    if features and problem.limit:
        add(((0, 0),))
    while queue:
        _, _, picks = heappop(queue)
        choice = [0] * len(problem.options)
        for i, k in picks:
            choice[features[i]] = int(steps[features[i]][k])
        found = tuple(choice)
        if problem.allows(found):
            yield problem.cost(found), found
        *others, (i, k) = picks
        if k + 1 < steps[features[i]].size:
            add((*others, (i, k + 1)))
        if i + 1 < len(features):
            if k == 0:
                add((*others, (i + 1, 0)))
            if len(picks) < problem.limit:
                add((*picks, (i + 1, 0)))


class BlackBoxEngine:
    """The engine for any model: choices in order of cost, asked in batches that grow.

    Attributes
    ----------
    bound : every choice that costs less was asked about
    nodes : how many choices were looked at; how many more were asked about beside them depends on the clock
    name : what the solutions say about who found them
    """

    name = "blackbox"

    def __init__(self, problem: Problem) -> None:
        self.problem, self.bound, self.nodes = problem, 0.0, 0
        self._choices, self._size = choices_by_cost(problem), 1
        self._batch: list[tuple[float, Choice, float]] = []  # cost, choice and weight of what was asked about
        self._before = 0  # how many choices came before these

    def search(self, goal: Goal) -> Iterator[None]:
        """Offer what the model accepts, the cheapest first, until the rest is too dear."""
        stairs = goal.stairs()
        while True:
            for place, (cost, choice, weight) in enumerate(self._batch, start=self._before + 1):
                self.nodes = max(self.nodes, place)
                if cost >= goal.worst * (1.0 + ROUNDING):
                    break
                self.bound = max(self.bound, cost * (1.0 - ROUNDING))
                if wanted(stairs, cost, weight) and consider(self.problem, goal, choice):
                    stairs = goal.stairs()
            else:
                new = self._ask()
                # those that cost as much as the last one but for rounding may still be wanted later
                last = self.bound * (1.0 - ROUNDING)
                kept = [asked for asked in self._batch if asked[0] >= last]
                self._before += len(self._batch) - len(kept)
                self._batch = [*kept, *new]
                if not new:
                    self.bound = float("inf")
                    return
                yield
                continue
            self.bound = max(self.bound, goal.worst * (1.0 - ROUNDING))
            return

    def _ask(self) -> list[tuple[float, Choice, float]]:
        """Ask about the next choices: twice as many as before, as long as the model answers soon."""
        start = time.perf_counter()
        batch = list(islice(self._choices, self._size))
        if not batch:
            return []
        weights = _weights_accepted(self.problem, np.array([choice for _, choice in batch], dtype=np.intp))
        seconds, most = time.perf_counter() - start, max(1, ROWS_AT_ONCE // self.problem.n_candidates)
        if seconds < SOON:
            self._size = min(2 * self._size, most)
        elif seconds > 2 * SOON:
            self._size = max(1, self._size // 2)
        return [(cost, choice, weight) for (cost, choice), weight in zip(batch, weights.tolist(), strict=True)]


def _weights_accepted(problem: Problem, batch: IntArray) -> FloatArray:
    """The accepted weight after each choice of ``batch`` (M, features)."""
    m, n = batch.shape[0], problem.n_candidates
    inputs = problem.inputs_after(batch)
    accepted = problem.model.settles(inputs.reshape(m * n, inputs.shape[2])).reshape(m, n)
    return np.asarray(accepted @ problem.weights, dtype=np.float64)
