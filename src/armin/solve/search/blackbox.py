"""Exact search for any classifier: choices in order of cost, asked in large batches.

The first choice that satisfies the problem is the cheapest one, whatever the model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import islice

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.problem.data import WEIGHT_TOLERANCE, Choice, PathPoint, Problem, Solution, Status

__all__ = ["choices_by_cost", "search_black_box", "search_black_box_best", "search_black_box_path"]

ROWS_AT_ONCE = 200_000
"""Model inputs that are asked about in one call, at most."""

Callback = Callable[[Solution], bool | None]


def choices_by_cost(problem: Problem) -> Iterator[tuple[float, Choice]]:
    """All allowed choices, the cheapest first, made as they are asked for.

    A choice is a row of changes, its features in ascending order of their cheapest change. From each choice come
    others that cost at least as much: the last change becomes the feature's next dearer option; a last change that
    is its feature's cheapest moves on to the next feature; the next feature changes too. Every choice comes exactly
    once. Sums that differ by rounding alone may come in either order.

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
        cost, _, picks = heappop(queue)
        choice = [0] * len(problem.options)
        for i, k in picks:
            choice[features[i]] = int(steps[features[i]][k])
        found = tuple(choice)
        if problem.allows(found):
            yield cost, found
        *others, (i, k) = picks
        if k + 1 < steps[features[i]].size:
            add((*others, (i, k + 1)))
        if i + 1 < len(features):
            if k == 0:
                add((*others, (i + 1, 0)))
            if len(picks) < problem.limit:
                add((*picks, (i + 1, 0)))


def search_black_box(problem: Problem, time_limit: float | None = None, callback: Callback | None = None) -> Solution:
    """Ask the model about choices in order of cost until one satisfies the problem.

    Parameters
    ----------
    problem : the problem; any model
    time_limit : seconds after which the search gives up, with the cost up to which there is no choice
    callback : called after each batch; returning False ends the search

    Examples
    --------
    >>> from armin.models.kinds import BlackBox
    >>> model = BlackBox(lambda x: x.sum(axis=1) >= 3, n_inputs=2)
    >>> problem = Problem.from_tables(
    ...     [[0, 0], [1, 0]], {0: [0, 1, 2], 1: [0, 2]}, {0: [0, 1, 4], 1: [0, 2]}, model, required=1
    ... )
    >>> solution = search_black_box(problem)
    >>> solution.status.value, solution.choice, solution.cost
    ('optimal', (0, 1), 2.0)
    """

    def taken(choice: Choice, weight: float) -> bool:
        return problem.is_solved_by(choice)

    asking = _Asking(problem, time_limit, callback)
    found = asking.until(taken, 1)
    return asking.solution(*found[0]) if found else asking.end()


def search_black_box_best(
    problem: Problem, count: int, time_limit: float | None = None, callback: Callback | None = None
) -> list[Solution]:
    """Ask the model about choices in order of cost until ``count`` that change different features satisfy the problem.

    Parameters
    ----------
    problem, time_limit, callback : as in :func:`search_black_box`
    count : how many

    Returns
    -------
    list of Solution
        Fewer than ``count`` if there are no more, or if time ran out.

    Examples
    --------
    >>> from armin.models.kinds import BlackBox
    >>> model = BlackBox(lambda x: x.sum(axis=1) >= 2, n_inputs=2)
    >>> problem = Problem.from_tables([[0, 0]], {0: [0, 1, 2], 1: [0, 2]}, {0: [0, 1, 4], 1: [0, 2]}, model, required=1)
    >>> [(solution.choice, solution.cost) for solution in search_black_box_best(problem, 2)]
    [((0, 1), 2.0), ((1, 1), 3.0)]
    """
    seen: set[frozenset[int]] = set()

    def taken(choice: Choice, weight: float) -> bool:
        features = frozenset(d for d, j in enumerate(choice) if j)
        new = features not in seen and problem.is_solved_by(choice)
        if new:
            seen.add(features)
        return new

    asking = _Asking(problem, time_limit, callback)
    found = asking.until(taken, count)
    return [asking.solution(*each) for each in found]


def search_black_box_path(
    problem: Problem, time_limit: float | None = None, callback: Callback | None = None
) -> list[PathPoint]:
    """Ask the model about choices in order of cost; each that reaches more weight than all before is a point.

    Parameters
    ----------
    problem, time_limit, callback : as in :func:`search_black_box`

    Returns
    -------
    list of PathPoint
        As :func:`armin.solve.path.solve_path`.

    Examples
    --------
    >>> from armin.models.kinds import BlackBox
    >>> model = BlackBox(lambda x: x[:, 0] >= 4, n_inputs=1)
    >>> problem = Problem.from_tables([[1.0], [2.0], [2.0]], {0: [0, 1, 2, 3]}, {0: [0, 1, 2, 3]}, model, required=1)
    >>> [(point.solution.cost, point.weight) for point in search_black_box_path(problem)]
    [(2.0, 2.0), (3.0, 3.0)]
    """
    total, step = float(problem.weights.sum()), problem.smallest_step
    slack = WEIGHT_TOLERANCE * total
    required = float(problem.weights.min())
    weights: list[float] = []

    def taken(choice: Choice, weight: float) -> bool:
        nonlocal required
        if weight < required - 2.0 * slack:
            return False
        weight = problem.weight_accepted(choice)
        if weight < required - slack:
            return False
        weights.append(weight)
        required = weight + step
        return True

    asking = _Asking(problem.demanding(required), time_limit, callback)
    found = asking.until(taken, lambda: required > total + slack)
    points: list[PathPoint] = []
    for (cost, choice), weight in zip(found, weights, strict=True):
        if points and cost <= (points[-1].solution.cost or 0.0) * (1.0 + 1e-12):
            points.pop()  # more weight for the same cost but for rounding
        points.append(PathPoint(asking.solution(cost, choice), weight, weight / total))
    if required <= total + slack:
        required = min(required, total)
        points.append(PathPoint(asking.end(), required, required / total))
    return points


class _Asking:
    """Choices in order of cost, asked in batches that grow."""

    def __init__(self, problem: Problem, time_limit: float | None, callback: Callback | None) -> None:
        self.problem, self.callback, self.start = problem, callback, time.perf_counter()
        self.deadline = float("inf") if time_limit is None else self.start + time_limit
        self.asked, self.bound, self.all = 0, 0.0, False

    def solution(self, cost: float, choice: Choice) -> Solution:
        seconds = time.perf_counter() - self.start
        return Solution(Status.OPTIMAL, choice, cost, cost, seconds, "search", self.asked)

    def end(self) -> Solution:
        """Without a choice: none is left, or time ran out."""
        status, bound = (Status.INFEASIBLE, float("inf")) if self.all else (Status.UNKNOWN, self.bound)
        return Solution(status, None, None, bound, time.perf_counter() - self.start, "search", self.asked)

    def until(
        self, taken: Callable[[Choice, float], bool], enough: int | Callable[[], bool]
    ) -> list[tuple[float, Choice]]:
        """The choices that are ``taken``, given each choice and its weight, until there are ``enough``."""
        found: list[tuple[float, Choice]] = []
        choices, size = choices_by_cost(self.problem), 1
        most = max(1, ROWS_AT_ONCE // self.problem.n_candidates)

        def done() -> bool:
            return enough() if callable(enough) else len(found) >= enough

        try:
            while not done():
                batch = list(islice(choices, size))
                if not batch:
                    self.all = True
                    break
                self.bound = batch[0][0]
                weights = _weights_accepted(self.problem, np.array([choice for _, choice in batch], dtype=np.intp))
                self.asked += len(batch)
                slack = 2.0 * WEIGHT_TOLERANCE * float(self.problem.weights.sum())
                for row in np.flatnonzero(weights >= self.problem.required - slack):
                    choice = batch[int(row)][1]
                    if not done() and taken(choice, float(weights[row])):
                        found.append((self.problem.cost(choice), choice))
                self.bound = batch[-1][0]
                size = min(2 * size, most)
                if done() or time.perf_counter() > self.deadline:
                    break
                if self.callback is not None and self.callback(self._now(found)) is False:
                    break
        except KeyboardInterrupt:
            pass
        return found

    def _now(self, found: list[tuple[float, Choice]]) -> Solution:
        return self.solution(*found[-1]) if found else self.end()


def _weights_accepted(problem: Problem, batch: IntArray) -> FloatArray:
    """The accepted weight after each choice of ``batch`` (M, features)."""
    m, n = batch.shape[0], problem.n_candidates
    inputs = np.repeat(problem.candidates[None, :, :], m, axis=0)
    for f, option in enumerate(problem.options):
        changed = np.flatnonzero(batch[:, f])
        if changed.size:
            moved = np.swapaxes(option.outcomes[:, batch[changed, f], :], 0, 1)  # (changed, 1 or N, E)
            inputs[changed[:, None, None], np.arange(n)[None, :, None], option.columns] = moved
    accepted = problem.model.accepts(inputs.reshape(m * n, -1)).reshape(m, n)
    return np.asarray(accepted @ problem.weights, dtype=np.float64)
