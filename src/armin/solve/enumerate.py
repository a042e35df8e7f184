"""Brute force: every allowed choice in order of cost. The reference that all else is tested against."""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from armin.errors import SolverError
from armin.problem import Choice, Problem, Solution, Status

__all__ = ["MOST_CHOICES", "enumerate_choices", "solve_by_enumeration"]

MOST_CHOICES = 5_000_000
"""Refuse to list more choices than this."""

_ROWS_AT_ONCE = 200_000


def count_choices(problem: Problem) -> int:
    """The number of choices with at most ``max_changes`` changes, before rules."""
    # elementary symmetric sums of (J_d - 1), built one feature at a time
    sums = [1] + [0] * problem.limit
    for option in problem.options:
        for k in range(problem.limit, 0, -1):
            sums[k] += sums[k - 1] * (option.size - 1)
    return sum(sums)


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
    total = count_choices(problem)
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
    for features in problem.forbidden_sets:
        wanted = np.isin(np.arange(d), list(features))
        choices = choices[((choices > 0) != wanted).any(axis=1)]
    for core in problem.forbidden_cores:
        choices = choices[(choices[:, sorted(core)] == 0).any(axis=1)]
    parts = np.zeros(choices.shape)
    for i, option in enumerate(problem.options):
        parts[:, i] = option.costs[choices[:, i]]
    costs = parts.max(axis=1, initial=0.0) if problem.aggregate == "max" else parts.sum(axis=1)
    order = np.lexsort((np.count_nonzero(choices, axis=1), costs))
    return choices[order], costs[order]


def solve_by_enumeration(problem: Problem, time_limit: float | None = None) -> Solution:
    """Solve by asking the model about every choice in order of cost."""
    start = time.perf_counter()
    choices, costs = enumerate_choices(problem)
    at_once = max(1, _ROWS_AT_ONCE // problem.n_candidates)
    asked = 0
    for low in range(0, choices.shape[0], at_once):
        if time_limit is not None and low and time.perf_counter() - start > time_limit:
            seconds = time.perf_counter() - start
            return Solution(Status.UNKNOWN, None, None, float(costs[low]), seconds, "enumerate", asked)
        batch = choices[low : low + at_once]
        asked += batch.shape[0]
        weight = _weights_accepted(problem, batch)
        for row in np.flatnonzero(weight >= problem.required - 1e-6 * problem.weights.sum()):
            choice: Choice = tuple(int(j) for j in batch[row])
            # asked again by itself: a large matrix product may round a tie the other way
            if problem.is_solved_by(choice):
                cost = problem.cost(choice)
                seconds = time.perf_counter() - start
                return Solution(Status.OPTIMAL, choice, cost, cost, seconds, "enumerate", asked)
    seconds = time.perf_counter() - start
    return Solution(Status.INFEASIBLE, None, None, float("inf"), seconds, "enumerate", asked)


def _weights_accepted(problem: Problem, batch: NDArray[np.intp]) -> NDArray[np.float64]:
    """The accepted weight after each choice of ``batch`` (M, D)."""
    m, n = batch.shape[0], problem.n_candidates
    inputs = np.repeat(problem.candidates[None, :, :], m, axis=0)
    for i, option in enumerate(problem.options):
        picked = np.swapaxes(option.outcomes[:, batch[:, i], :], 0, 1)  # (M, 1 or N, E)
        inputs[:, :, option.columns] = picked
    accepted = problem.model.accepts(inputs.reshape(m * n, -1)).reshape(m, n)
    return np.asarray(accepted @ problem.weights)
