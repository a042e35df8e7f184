"""Exact search for any classifier: choices in order of cost, asked in large batches.

The first choice that satisfies the problem is the cheapest one, whatever the model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import islice

import numpy as np

from armin.models.kinds import FloatArray, IntArray
from armin.problem import WEIGHT_TOLERANCE, Choice, Problem, Solution, Status

__all__ = ["choices_by_cost", "search_black_box"]

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
    start = time.perf_counter()
    asked, bound, size = 0, 0.0, 1
    most = max(1, ROWS_AT_ONCE // problem.n_candidates)
    choices = choices_by_cost(problem)

    def ended(status: Status, choice: Choice | None, bound: float) -> Solution:
        cost = None if choice is None else problem.cost(choice)
        return Solution(status, choice, cost, bound, time.perf_counter() - start, "search", asked)

    try:
        while True:
            batch = list(islice(choices, size))
            if not batch:
                return ended(Status.INFEASIBLE, None, float("inf"))
            bound = batch[0][0]
            weights = _weights_accepted(problem, np.array([choice for _, choice in batch], dtype=np.intp))
            asked += len(batch)
            slack = 2.0 * WEIGHT_TOLERANCE * float(problem.weights.sum())
            for row in np.flatnonzero(weights >= problem.required - slack):
                choice = batch[int(row)][1]
                if problem.is_solved_by(choice):
                    return ended(Status.OPTIMAL, choice, problem.cost(choice))
            bound = batch[-1][0]
            size = min(2 * size, most)
            late = time_limit is not None and time.perf_counter() - start > time_limit
            if late or (callback is not None and callback(ended(Status.UNKNOWN, None, bound)) is False):
                break
    except KeyboardInterrupt:
        pass
    return ended(Status.UNKNOWN, None, bound)


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
