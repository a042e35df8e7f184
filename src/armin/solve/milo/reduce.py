"""Smaller problems with the same answer: duplicate candidates and indistinguishable options."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from armin.arrays import IntArray
from armin.models.kinds import TreeEnsemble
from armin.problem import Options, Problem

__all__ = ["merge_candidates", "merge_options", "reduced"]

AT_ONCE = 500_000
"""Splits evaluated between two looks at the clock."""


def reduced(problem: Problem, until: float = np.inf) -> tuple[Problem, tuple[IntArray, ...]]:
    """The smaller problem, and the options of each feature that were kept."""
    merged = merge_candidates(problem)
    if isinstance(merged.model, TreeEnsemble):
        return merge_options(merged, merged.model, until)
    return merged, tuple(np.arange(option.size) for option in merged.options)


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
    return replace(merged, weights=np.bincount(group, problem.weights).astype(np.float64), required=problem.required)


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
    """The cheapest option of each class that the splits can tell apart; "keep" wins its class."""
    label = np.zeros(option.size, dtype=np.intp)
    for place, column in enumerate(option.columns.tolist()):
        nodes = np.flatnonzero(model.feature == column)
        values = option.outcomes[None, :, :, place]
        for some in np.array_split(nodes, 1 + nodes.size * values.size // AT_ONCE):
            if time.perf_counter() > until:
                return np.arange(option.size)
            left = np.packbits(model.goes_left(some[:, None, None], values).reshape(-1, option.size), axis=0)
            label = np.unique(np.vstack([label, left]), axis=1, return_inverse=True)[1].reshape(-1)
    order = np.append(0, 1 + np.argsort(option.costs[1:], kind="stable"))
    return np.sort(order[np.unique(label[order], return_index=True)[1]])
