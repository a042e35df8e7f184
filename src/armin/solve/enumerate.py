"""Brute force: every allowed choice in order of cost, and the model is asked about each.

One list answers every question: the cheapest choice, the whole path, several that differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from armin.arrays import FloatArray
from armin.errors import SolverError
from armin.problem import PathPoint, Problem, Solution
from armin.solve.repeat import Differ, repeat
from armin.solve.search.drive import drive
from armin.solve.search.goals import Cheapest, Frontier, Goal, Several, consider, wanted
from armin.solve.stopping import Callback

__all__ = ["MOST_CHOICES", "best_by_enumeration", "enumerate_choices", "path_by_enumeration", "solve_by_enumeration"]

MOST_CHOICES = 5_000_000
"""Refuse to list more choices than this."""

_FIRST_ROWS, _MOST_ROWS = 4_000, 200_000
"""Model inputs that are asked about in the first call, and in one call at most."""


def enumerate_choices(problem: Problem) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """All allowed choices (M, D) and their costs (M,), cheapest first, fewest changes first among equals.

    >>> import numpy as np
    >>> from armin.models.kinds import Above, LinearModel
    >>> model = LinearModel(np.ones((1, 2)), np.zeros(1), Above(0.0))
    >>> p = Problem.from_tables([[0, 0]], {0: [0, 1], 1: [0, 1]}, {0: [0, 2], 1: [0, 1]}, model, 1)
    >>> choices, costs = enumerate_choices(p)
    >>> choices.tolist(), costs.tolist()
    ([[0, 0], [0, 1], [1, 0], [1, 1]], [0.0, 1.0, 2.0, 3.0])
    """
    total = problem.n_choices
    if total > MOST_CHOICES:
        raise SolverError(
            f"Enumeration lists at most {MOST_CHOICES:,} choices; this problem has {total:,}. "
            "Use method='auto', or fewer options, features or changes."
        )
    d = len(problem.options)
    blocks = [np.zeros((1, d), dtype=np.intp)]
    for k in range(1, problem.limit + 1):
        for subset in combinations(range(d), k):
            sizes = [problem.options[i].size - 1 for i in subset]
            if min(sizes) < 1:
                continue
            picks = np.indices(sizes).reshape(k, -1).T + 1
            block = np.zeros((picks.shape[0], d), dtype=np.intp)
            block[:, subset] = picks
            blocks.append(block)
    choices = np.concatenate(blocks)
    for rule in problem.rules:
        choices = choices[rule.allowed[choices[:, rule.first], choices[:, rule.second]]]
    for each in problem.sums:
        choices = choices[each.allows_each(choices)]
    for features in problem.forbidden_sets:
        wanted = np.isin(np.arange(d), list(features))
        choices = choices[((choices > 0) != wanted).any(axis=1)]
    for core in problem.forbidden_cores:
        choices = choices[(choices[:, sorted(core)] == 0).any(axis=1)]
    costs = np.zeros(choices.shape[0])
    for i, option in enumerate(problem.options):  # added up as the problem does
        part = option.costs[choices[:, i]]
        costs = np.maximum(costs, part) if problem.aggregate == "max" else costs + part
    order = np.lexsort((np.count_nonzero(choices, axis=1), costs))
    return choices[order], costs[order]


class ListEngine:
    """The engine of brute force: a list of all choices in order of cost, asked about in batches that grow.

    Attributes
    ----------
    bound : every choice that costs less was asked about
    nodes : how many choices were asked about
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, self.bound, self.nodes = problem, 0.0, 0
        self._choices, self._costs = enumerate_choices(problem)
        self._weights: FloatArray = np.zeros(0)
        self._next = 0  # the first choice that no goal has heard of
        self._rows = _FIRST_ROWS

    def search(self, goal: Goal) -> Iterator[None]:
        """Offer what the model accepts, the cheapest first, until the rest is too expensive."""
        while self._next < self._costs.size:
            if self._next == self._weights.size:
                self._ask()
            stairs = goal.stairs()
            for place in range(self._next, self._weights.size):
                cost = float(self._costs[place])
                if cost >= goal.worst:
                    self._next, self.bound = place, goal.worst
                    return
                self.bound = cost
                if wanted(stairs, cost, float(self._weights[place])):
                    choice = tuple(self._choices[place].tolist())
                    if consider(self.problem, goal, choice):
                        stairs = goal.stairs()
            self._next = self._weights.size
            if self._next < self._costs.size:
                yield
        self.bound = float("inf")

    def _ask(self) -> None:
        """Ask about the next choices."""
        low = self._weights.size
        batch = self._choices[low : low + max(1, self._rows // self.problem.n_candidates)]
        self._rows = min(2 * self._rows, _MOST_ROWS)
        self.nodes += batch.shape[0]
        self._weights = np.append(self._weights, _weights_accepted(self.problem, batch))


def _listed(problem: Problem, apart: bool) -> ListEngine:
    return ListEngine(problem)


def solve_by_enumeration(
    problem: Problem, time_limit: float | None = None, callback: Callback | None = None
) -> Solution:
    """Solve by asking the model about every choice in order of cost."""
    return drive(problem, Cheapest(problem), _listed, time_limit, callback, "enumerate").solution()


def path_by_enumeration(
    problem: Problem, time_limit: float | None = None, callback: Callback | None = None, least: float | None = None
) -> list[PathPoint]:
    """Every breakpoint of the cost-confidence curve, from one list of all choices."""
    goal = Frontier(problem, least)
    return drive(problem, goal, _listed, time_limit, callback, "enumerate").points(goal)


def best_by_enumeration(
    problem: Problem,
    count: int,
    time_limit: float | None = None,
    callback: Callback | None = None,
    differ: Differ = "sets",
) -> list[Solution]:
    """The cheapest choices that differ, from one list of all choices."""
    if differ == "choices":
        return repeat(problem, count, differ, lambda p, left: solve_by_enumeration(p, left, callback), time_limit)
    goal = Several(problem, count, differ == "cores", one_by_one=differ == "cores")
    return drive(problem, goal, _listed, time_limit, callback, "enumerate").plans(goal)


def _weights_accepted(problem: Problem, batch: NDArray[np.intp]) -> NDArray[np.float64]:
    """The accepted weight after each choice of ``batch`` (M, D)."""
    m, n = batch.shape[0], problem.n_candidates
    inputs = problem.inputs_after(batch)
    accepted = problem.model.settles(inputs.reshape(m * n, problem.candidates.shape[1])).reshape(m, n)
    return np.asarray(accepted @ problem.weights)
