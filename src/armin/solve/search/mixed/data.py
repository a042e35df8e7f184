"""The arrays that the compiled search over mixtures works on, beside those of the search over trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from armin.arrays import FloatArray
from armin.problem import Problem
from armin.solve.search.handed import hand, space
from armin.solve.search.mixed.joined import Joined, Maps
from armin.solve.search.trees.data import COST, COUNT, LEVELS, MASK, UNIONS, Trees
from armin.solve.search.trees.leaves import Reduced
from armin.solve.search.trees.tables import TreeSearch
from armin.solve.search.words import Ints

__all__ = ["Mix", "MixState", "Mixed", "adds_of", "build_mix", "start_of"]


class Mix(NamedTuple):
    """What the search reads. M terms; those with weights are the lines."""

    maps: Maps
    term: Ints  # (V,) the term of each tree
    value: FloatArray  # (words, 64) leaf values, falling within a tree
    start: FloatArray  # (M,) the score where nothing is added, and what rounding may hide
    lines: Ints  # (L,) the terms with weights
    gain: FloatArray  # (levels, options, L): the most that 2^k options of a side, from one on, add when they change
    local: FloatArray  # (cells, M) what the cells of local features add
    least: float  # the least sum that may be accepted


class MixState(NamedTuple):
    """What the search writes."""

    score: FloatArray  # (M,) bounds of the scores, but for what candidates differ in
    line: FloatArray  # (M,) what the options of the node at hand add to them at most
    base: FloatArray  # (UNIONS + groups, M) what each group adds
    bases: FloatArray  # (N', M)
    own: FloatArray  # (M,) the scores of one group
    top: FloatArray  # (LEVELS, D + 1, K + 1, L) what k of the features from d on can add within a room
    best: FloatArray  # (LEVELS,)


@dataclass(frozen=True, eq=False)
class Mixed:
    """The tables of a mixture for a budget, for Python and for compiled code."""

    mix: Mix
    state: MixState
    handed: Mix
    written: MixState


def build_mix(reduced: Reduced, joined: Joined, search: TreeSearch, cut: float, near: float) -> Mixed:
    """The tables of a mixture, beside those of its trees."""
    tables, count = search.tables, joined.start.size
    lines = np.flatnonzero((joined.weights != 0.0).any(axis=1)).astype(np.int64)
    term = np.zeros(tables.part.size - 1, dtype=np.int64)
    term[search.exact.tree_at] = joined.of_tree
    leaf_value = joined.trees.value[:, 0].astype(np.float64)
    mix = Mix(
        maps=joined.maps,
        term=term,
        value=np.ascontiguousarray(leaf_value[search.exact.leaf]),
        start=np.sum(start_of(reduced, joined), axis=0),
        lines=lines,
        gain=_gains(reduced, joined.weights[lines], search),
        local=_local(reduced, joined.weights, tables),
        least=float(cut - near - joined.blur),
    )
    n, shape = tables.weight.size, tables.shape
    state, written = space(
        MixState,
        {
            "score": (np.float64, (count,)),
            "line": (np.float64, (count,)),
            "base": (np.float64, (UNIONS + n, count)),
            "bases": (np.float64, (n, count)),
            "own": (np.float64, (count,)),
            "top": (np.float64, (LEVELS, shape.common + 1, shape.limit + 1, lines.size)),
            "best": (np.float64, (LEVELS,)),
        },
    )
    return Mixed(mix, state, hand(mix), written)


def _own_columns(reduced: Reduced) -> list[int]:
    """The inputs in which candidates differ, now or after an option."""
    problem = reduced.problem
    owned = {int(p) for option in problem.options for p in option.columns}
    found: list[int] = []
    for local in reduced.locals_:
        if local.feature >= 0:
            found += problem.options[local.feature].columns.tolist()
        else:
            rest = [p for p in range(problem.candidates.shape[1]) if p not in owned]
            found += [p for p in rest if not _constant(problem.candidates[:, p])]
    return found


def _constant(column: FloatArray) -> bool:
    return bool(np.all(column == column[0]) or np.all(np.isnan(column)))


def start_of(reduced: Reduced, joined: Joined) -> tuple[FloatArray, FloatArray]:
    """What every candidate has (M,), and what rounding may hide (M,)."""
    problem = reduced.problem
    keep, largest = problem.candidates[0].copy(), np.abs(problem.candidates).max(axis=0)
    for option in problem.options:
        largest[option.columns] = np.maximum(largest[option.columns], option.largest)
    keep[_own_columns(reduced)] = 0.0
    used = joined.weights != 0.0
    size = np.abs(joined.weights) @ np.where(used.any(axis=0), largest, 0.0) + np.abs(joined.start)
    # sums of P products in two orders, and differences of them
    error = 16.0 * (keep.size + 8) * float(np.finfo(np.float64).eps) * size
    return joined.start + joined.weights @ np.where(used.any(axis=0), keep, 0.0), error + joined.error


def _gains(reduced: Reduced, weights: FloatArray, search: TreeSearch) -> FloatArray:
    """What options add when they change, and the most of 2^k of them."""
    tables, problem = search.tables, reduced.problem
    size = tables.costs.size
    gain: FloatArray = np.zeros((size, weights.shape[0]))
    for d, feature in enumerate(search.common_feature):
        option = problem.options[feature]
        for side in range(2):
            at, count = int(tables.sides[d, side, COST]), int(tables.sides[d, side, COUNT])
            moved = option.outcomes[0, search.option[at : at + count]] - option.outcomes[0, 0]
            part = weights[:, option.columns]
            gain[at : at + count] = np.where(part != 0.0, moved[:, None, :] * part, 0.0).sum(axis=2)
    levels = [gain]
    most = int(tables.sides[:, :, COUNT].max(initial=1))
    while 2 << (len(levels) - 1) <= most:
        last, step = levels[-1], 1 << (len(levels) - 1)
        more = last.copy()
        more[:-step] = np.maximum(last[:-step], last[step:])
        levels.append(more)
    return np.stack(levels)


def _local(reduced: Reduced, weights: FloatArray, tables: Trees) -> FloatArray:
    """What the cells of local features add to each term."""
    problem = reduced.problem
    found: FloatArray = np.zeros((tables.cell_masks.shape[0], weights.shape[0]))
    for f, local in enumerate(reduced.locals_):
        first = int(tables.local_part[f, MASK])
        for i, j in enumerate(local.option.tolist()):
            cell = tables.local_cell[f, i]
            known = np.flatnonzero(cell >= 0)
            found[first + cell[known]] = adds_of(problem, local.feature, j, reduced.first[known], weights)
    return found


def adds_of(problem: Problem, feature: int, option: int, who: Ints, weights: FloatArray) -> FloatArray:
    """What an option of a local feature adds to each term (n, M), for some candidates."""
    if feature >= 0:
        columns, outcomes = problem.options[feature].columns, problem.options[feature].outcomes
        rows = outcomes[who if outcomes.shape[0] > 1 else np.zeros_like(who), option]
    else:
        owned = {int(p) for each in problem.options for p in each.columns}
        columns = np.array([p for p in range(weights.shape[1]) if p not in owned], dtype=np.intp)
        columns = columns[[not _constant(problem.candidates[:, p]) for p in columns]]
        rows = problem.candidates[np.ix_(who, columns)]
    part = weights[:, columns]
    return np.asarray(np.where((part != 0.0)[None], rows[:, None, :] * part[None], 0.0).sum(axis=2))
