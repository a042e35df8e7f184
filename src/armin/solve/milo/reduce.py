"""Smaller problems with the same answer: duplicate candidates and indistinguishable options."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from armin.arrays import BoolArray, IntArray
from armin.models.kinds import TreeEnsemble
from armin.problem import Options, Problem

__all__ = ["merge_candidates", "merge_options"]

_ENTRIES_AT_ONCE = 500_000
"""Answers of splits between two looks at the clock."""


def merge_candidates(problem: Problem) -> Problem:
    """Candidates that are equal before and after every option become one, with the sum of their weights.

    >>> from armin.models.kinds import Above, LinearModel
    >>> model = LinearModel(np.ones((1, 1)), np.zeros(1), Above(0.0))
    >>> p = Problem.from_tables([[1], [2], [1]], {0: [0, 1]}, {0: [0, 1]}, model, 2)
    >>> merge_candidates(p).weights.tolist()
    [2.0, 1.0]
    """
    n = problem.n_candidates
    own = [o for o in problem.options if not o.same_for_all]
    parts = [problem.candidates] + [o.outcomes.reshape(n, o.size * o.columns.size) for o in own]
    table = np.ascontiguousarray(np.concatenate(parts, axis=1) + 0.0)  # + 0.0: -0.0 and 0.0 are one value
    rows: dict[bytes, int] = {}
    group = np.array([rows.setdefault(row.tobytes(), len(rows)) for row in table])
    if len(rows) == n:
        return problem
    first = np.unique(group, return_index=True)[1]
    merged = problem.among(first, required=min(problem.required, float(problem.weights[first].sum())))
    weights = np.zeros(len(rows))
    np.add.at(weights, group, problem.weights)
    return replace(merged, weights=weights, required=problem.required)


def merge_options(problem: Problem, model: TreeEnsemble, until: float = np.inf) -> tuple[Problem, tuple[IntArray, ...]]:
    """Drop every option that no split of ``model`` can tell from a cheaper one.

    Returns the smaller problem and, for each feature, the options that were kept. Features in rules
    keep all their options, and so do all features when choices or sets of features are forbidden. Once the clock
    passes ``until``, the rest stay as they are.
    """
    ruled = {d for rule in problem.rules for d in (rule.first, rule.second)}
    ruled |= {d for each in problem.sums for d in each.features}
    all_stay = bool(problem.forbidden or problem.forbidden_sets)
    kept = tuple(
        np.arange(option.size) if all_stay or d in ruled else _cheapest(option, model, until)
        for d, option in enumerate(problem.options)
    )
    options = tuple(
        replace(option, outcomes=option.outcomes[:, keep], costs=option.costs[keep])
        for option, keep in zip(problem.options, kept, strict=True)
    )
    return replace(problem, options=options), kept


def _cheapest(option: Options, model: TreeEnsemble, until: float) -> IntArray:
    """The cheapest option of each class that the splits can tell apart; "keep" wins its class.

    All options if the clock passes ``until`` before all splits were asked.
    """
    label: NDArray[np.intp] = np.zeros(option.size, dtype=np.intp)
    at_once = max(1, _ENTRIES_AT_ONCE // (option.outcomes.shape[0] * option.size))
    for place, column in enumerate(option.columns.tolist()):
        nodes = np.flatnonzero(model.feature == column)
        for low in range(0, nodes.size, at_once):
            if time.perf_counter() > until:
                return np.arange(option.size)
            some = nodes[low : low + at_once]
            left = model.goes_left(some[:, None, None], option.outcomes[None, :, :, place])
            label = _told_apart(label, left.reshape(-1, option.size))
    order = np.lexsort((np.arange(option.size), option.costs))
    order = np.concatenate([[0], order[order != 0]])
    first = np.unique(label[order], return_index=True)[1]
    return np.sort(order[first])


def _told_apart(label: NDArray[np.intp], answers: BoolArray) -> NDArray[np.intp]:
    """New labels (J,): the same only for options of the same label and the same answers (., J)."""
    bits = np.packbits(answers, axis=0).T
    rows = np.ascontiguousarray(np.concatenate([label[:, None].view(np.uint8), bits], axis=1))
    whole = rows.view(np.dtype((np.void, rows.shape[1]))).ravel()
    return np.asarray(np.unique(whole, return_inverse=True)[1].reshape(-1), dtype=np.intp)
