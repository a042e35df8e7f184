"""What a linear model makes of a problem's options: gains, patterns and contexts.

Options of a missing feature that move candidates differently (a category set to one value) are
sorted by *pattern*: all options of one pattern move the candidates by the pattern plus a constant.
Each combination of patterns is a *context*, searched on its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from armin.models.kinds import FloatArray, IntArray, LinearModel
from armin.problem import Problem
from armin.solve.search.linear_nodes import spread

__all__ = ["Context", "Pattern", "Rows", "accepting_rows", "contexts"]


@dataclass(frozen=True)
class Pattern:
    """Options of one feature that move the candidates alike."""

    moves: FloatArray | None  # (N, rows); None: not at all
    option: IntArray
    gain: FloatArray  # (options, rows)
    cost: FloatArray
    forced: bool  # whether one of the options must be taken ("keep" has another pattern)


@dataclass(frozen=True)
class Rows:
    """Every accepted way is a set of rows ``coefficients @ inputs + offset >= 0``."""

    coefficients: FloatArray  # (rows, P)
    offset: FloatArray
    way: IntArray
    doubt: float


def accepting_rows(problem: Problem, model: LinearModel) -> Rows:
    """The rows of a model's decision, and what rounding may hide in them."""
    coefficients, offset, way = [], [], []
    for w, margins in enumerate(model.decision.ways()):
        if margins.cuts.size == 0:
            margins_rows, margins_cuts = np.zeros((1, model.intercept.size)), np.array([-1.0])
        else:
            margins_rows, margins_cuts = margins.coefficients, margins.cuts
        coefficients.append(margins_rows @ model.weights)
        offset.append(margins_rows @ model.intercept - margins_cuts)
        way.append(np.full(margins_cuts.size, w, dtype=np.intp))
    if not coefficients:
        coefficients, offset, way = [np.zeros((1, model.n_inputs))], [-np.ones(1)], [np.zeros(1, dtype=np.intp)]
    largest = np.abs(problem.candidates).max(axis=0)
    for option in problem.options:
        top, bottom = option.outcomes.max(axis=(0, 1)), option.outcomes.min(axis=(0, 1))
        largest[option.columns] = np.maximum(np.abs(top), np.abs(bottom))
    size = float((np.abs(model.weights) @ largest + np.abs(model.intercept)).max())
    size += max(float(np.abs(o).max()) for o in offset)
    # a product of P terms, in any order, is off by at most about P * eps * (sum of sizes)
    doubt = 16 * (model.n_inputs + 4) * float(np.finfo(np.float64).eps) * size
    return Rows(np.concatenate(coefficients), np.concatenate(offset), np.concatenate(way), doubt)


def _patterns(problem: Problem, d: int, rows: Rows) -> list[Pattern]:
    """The options of a feature by the way they move the candidates; "keep" belongs to the first pattern."""
    option = problem.options[d]
    coefficients = np.ascontiguousarray(rows.coefficients[:, option.columns])
    outcomes = np.ascontiguousarray(option.outcomes, dtype=np.float64)
    low, high = spread(outcomes, coefficients)
    middle = (low + high) / 2
    even = np.flatnonzero((high - low).max(axis=1) <= rows.doubt)
    patterns = [_pattern(problem, d, None, even, middle[even], False)]
    if even.size < option.size:
        rest = np.setdiff1d(np.arange(option.size), even)
        moves = (outcomes[:, rest] - outcomes[:, :1]) @ coefficients.T  # (N, rest, rows)
        level = moves[0]
        shape = moves - level[None]
        open_ = list(range(rest.size))
        while open_:
            like = [i for i in open_ if float(np.abs(shape[:, i] - shape[:, open_[0]]).max()) <= rows.doubt]
            patterns.append(_pattern(problem, d, shape[:, open_[0]], rest[like], level[like], True))
            open_ = [i for i in open_ if i not in like]
    return patterns


def _pattern(
    problem: Problem, d: int, moves: FloatArray | None, option: IntArray, gain: FloatArray, forced: bool
) -> Pattern:
    """Drop options that another one beats; keep all that a rule or a forbidden choice may tell apart."""
    cost = problem.options[d].costs[option]
    use = option != 0
    option, gain, cost = option[use], gain[use], cost[use]
    special = bool(problem.forbidden) or any(d in (r.first, r.second) for r in problem.rules)
    if not special and gain.shape[1] == 1:
        rank = np.lexsort((-gain[:, 0], cost))
        best = np.maximum.accumulate(np.concatenate([[-np.inf if forced else 0.0], gain[rank, 0]]))
        rank = rank[gain[rank, 0] > best[:-1]]
        option, gain, cost = option[rank], gain[rank], cost[rank]
    return Pattern(moves, option, gain, cost, forced)


@dataclass
class Context:
    """One combination of patterns: options with gains, and the scores that must be lifted."""

    features: IntArray  # of each block
    start: IntArray  # (blocks + 1,) into the flat arrays
    option: IntArray
    gain: FloatArray  # (options, rows)
    cost: FloatArray
    forced: NDArray[np.bool_]  # (blocks,)
    score: FloatArray  # (N, rows)
    limit: int
    bound: float = 0.0


def contexts(problem: Problem, rows: Rows) -> Iterator[Context]:
    """Every combination of patterns that respects the number of changes."""
    patterns = [_patterns(problem, d, rows) for d in range(len(problem.options))]
    base = problem.candidates @ rows.coefficients.T + rows.offset
    for combination in product(*patterns):
        forced = sum(p.forced for p in combination)
        if forced > problem.limit:
            continue
        used = [(d, p) for d, p in enumerate(combination) if p.option.size]
        score = base
        for p in combination:
            if p.moves is not None:
                score = score + p.moves
        yield Context(
            features=np.array([d for d, _ in used], dtype=np.intp),
            start=np.cumsum([0, *(p.option.size for _, p in used)]),
            option=np.concatenate([np.zeros(0, np.intp), *(p.option for _, p in used)]),
            gain=np.concatenate([np.zeros((0, rows.offset.size)), *(p.gain for _, p in used)]),
            cost=np.concatenate([np.zeros(0), *(p.cost for _, p in used)]),
            forced=np.array([p.forced for _, p in used], dtype=bool),
            score=score,
            limit=problem.limit,
        )
