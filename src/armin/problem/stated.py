"""From one person's row to a :class:`~armin.problem.Problem`: grid, prices and model inputs in one place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from armin.actions import ActionGrid
from armin.arrays import FloatArray
from armin.costs import Cost
from armin.models.encoding import ReadClassifier
from armin.problem import Choice, Options, Problem
from armin.problem.rules import apply_rules

__all__ = ["Case", "build_case"]


@dataclass(frozen=True, eq=False)
class Case:
    """Everything about one row that is not yet a solution.

    Attributes
    ----------
    row : codes (D,), NaN for blanks
    candidates : codes of the completions (N, D)
    grid : what the person could do
    prices : for each move, the cost (1 or N, J) of each option for each candidate
    problem : the same as plain data for the solvers
    cost : how changes are priced
    conditioned : whether completions that contradict what is known were left out
    """

    row: FloatArray
    candidates: FloatArray
    grid: ActionGrid
    prices: tuple[FloatArray, ...]
    problem: Problem
    cost: Cost
    conditioned: bool = False

    def cost_of(self, choice: Choice) -> float:
        """The cost to report."""
        return float(self.cost.finish(self.problem.cost(choice)))

    def cost_per_candidate(self, choice: Choice) -> FloatArray:
        """The reported cost for each candidate (N,)."""
        n = self.candidates.shape[0]
        parts = [np.broadcast_to(p[:, j], (n,)) for p, j in zip(self.prices, choice, strict=True) if j]
        if not parts:
            return np.zeros(n)
        stacked = np.stack(parts)
        totals = stacked.max(axis=0) if self.problem.aggregate == "max" else stacked.sum(axis=0)
        return np.array([self.cost.finish(float(t)) for t in totals])


def build_case(
    row: FloatArray,
    candidates: FloatArray,
    weights: FloatArray,
    grid: ActionGrid,
    read: ReadClassifier,
    cost: Cost,
    required: float,
    max_changes: int | None,
) -> Case:
    """State the problem of one row."""
    grid, rules = apply_rules(grid, candidates)
    inputs, tables = _encode(grid, candidates, read)
    share = weights / weights.sum()
    options, prices = [], []
    for move, (columns, outcomes) in zip(grid.moves, tables, strict=True):
        before = move.values[:, 0]
        price = np.asarray(cost.table(move.position, before, move.values), dtype=np.float64)
        prices.append(price)
        mean = price[0] if price.shape[0] == 1 else share @ price
        mean[0] = 0.0
        # option 0 is what the candidates are, to the last bit
        outcomes[:, 0, :] = inputs[:, columns] if outcomes.shape[0] > 1 else inputs[:1, columns]
        options.append(Options(grid.schema.features[move.position].name, columns, outcomes, mean))
    problem = Problem(
        candidates=inputs,
        options=tuple(options),
        model=read.model,
        required=required,
        weights=weights,
        max_changes=max_changes,
        aggregate=cost.aggregate,
        rules=rules,
    )
    return Case(row, candidates, grid, tuple(prices), problem, cost)


def _encode(
    grid: ActionGrid, candidates: FloatArray, read: ReadClassifier
) -> tuple[FloatArray, list[tuple[NDArray[np.intp], FloatArray]]]:
    """The model inputs of the candidates and of every option, from one call to the user's transformers.

    The transformers work column by column, so the inputs that a feature determines depend on its own value
    only: it is enough to encode each distinct value once, in the company of any candidate.
    """
    rows, places = [candidates], []
    for move in grid.moves:
        values, where = np.unique(move.values, return_inverse=True)
        block = np.repeat(candidates[:1], values.size, axis=0)
        block[:, move.position] = values
        rows.append(block)
        places.append((move, where.reshape(move.values.shape)))
    encoded = read.encode(np.concatenate(rows))
    tables = []
    start = candidates.shape[0]
    for block, (move, where) in zip(rows[1:], places, strict=True):
        columns = np.flatnonzero(read.owners == move.position)
        inputs = encoded[start : start + block.shape[0]][:, columns]
        start += block.shape[0]
        tables.append((columns, inputs[where]))
    return encoded[: candidates.shape[0]], tables
