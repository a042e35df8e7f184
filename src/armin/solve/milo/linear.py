"""Candidates of a linear model whose scores differ by constants share rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from armin.arrays import FloatArray
from armin.problem import Problem
from armin.solve.milo.program import Draft
from armin.solve.milo.shared import Margin, enough_weight
from armin.solve.milo.tables import SAME, Tables

__all__ = ["add_ladders"]


def add_ladders(draft: Draft, problem: Problem, tables: Tables, margins: Sequence[Margin]) -> list[int]:
    """The votes of all candidates, grouped by what they gain from the options."""
    group = _groups(tables)
    hopeless = np.array([margin.high < margin.cut for margin in margins])
    within_reach = float(problem.weights[~hopeless].sum())
    required = enough_weight(problem)
    votes = np.zeros(problem.n_candidates, dtype=np.intp)
    for g in range(int(group.max()) + 1):
        members = np.flatnonzero(group == g)
        # best first: whoever is accepted, those before them are accepted too
        members = members[np.argsort(-tables.base[members, 0], kind="stable")]
        able = members[~hopeless[members]]
        votes[members[hopeless[members]]] = draft.add_variables(members.size - able.size, 0, 0, integer=True)
        # without candidate i and those behind it the weight does not suffice: nu_i = 1
        behind = np.cumsum(problem.weights[able][::-1])[::-1]
        needed = within_reach - behind < required - 1e-9 * abs(required)
        votes[able] = draft.add_variables(able.size, needed.astype(float), 1, integer=True)
        _add_ladder(draft, [margins[n] for n in able], votes[able])
    return [int(vote) for vote in votes]


def _groups(tables: Tables) -> NDArray[np.intp]:
    """Candidates with the same gains from every option, up to rounding, get the same number."""
    own = [gain[:, :, 0] for gain in tables.gains if gain.shape[0] > 1]
    if not own:
        return np.zeros(tables.base.shape[0], dtype=np.intp)
    gains = np.concatenate(own, axis=1)
    step = SAME * max(float(np.abs(gains).max()), float(np.abs(tables.base).max()), np.finfo(float).tiny)
    labels = np.unique(np.round(gains / step), axis=0, return_inverse=True)[1]
    return np.asarray(labels.reshape(-1), dtype=np.intp)


def _add_ladder(draft: Draft, margins: Sequence[Margin], votes: NDArray[np.intp]) -> None:
    """One row for candidates that differ only in their base score, and nu_1 >= nu_2 >= ..."""
    for left, right in pairwise(votes):
        draft.add_row(np.array([left, right]), [1.0, -1.0], lower=0)
    if not margins:
        return
    # g(pi) >= L + sum_i (r_i - r_{i-1}) nu_i, with r_i = cut - base_i what candidate i needs, r_0 = L = min g
    first = margins[0]
    least = first.low - first.constant
    needs: FloatArray = np.array([margin.cut - margin.constant for margin in margins])
    needs = np.minimum.accumulate(needs[::-1])[::-1]  # ascending but for rounding
    steps = np.diff(np.maximum(needs, least), prepend=least)
    if steps.any():
        draft.add_row(np.append(first.index, votes), np.append(first.value, -steps), lower=least)
