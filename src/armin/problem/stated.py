"""From one person's row to a :class:`~armin.problem.Problem`: grid, prices and model inputs in one place."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from armin.actions import ActionGrid, Move
from armin.arrays import BoolArray, FloatArray, IntArray
from armin.costs import Cost
from armin.models.encoding import ReadClassifier
from armin.problem.data import Choice, Problem
from armin.problem.joined import foresee, join
from armin.problem.remembered import Priced, Remembered, price
from armin.problem.rules import apply_rules, sum_rules

__all__ = ["Stated", "state_problem"]


@dataclass(frozen=True, eq=False)
class Stated:
    """Everything about one row that is not yet a solution.

    Attributes
    ----------
    row : codes (D,), NaN for blanks
    candidates : codes of the completions (N, D)
    weights : of the completions (N,)
    grid : what the person could do
    prices : for each move, the cost (1 or N, J) of each option for each completion
    problem : the same as plain data for the solvers. Its candidates are the completions, then the row with its blanks
        if ``asks_row``; or that row alone
    cost : how changes are priced
    asks_row : whether the row with its blanks must be accepted as well
    asks_completions : whether completions count
    """

    row: FloatArray
    candidates: FloatArray
    weights: FloatArray
    grid: ActionGrid
    prices: tuple[FloatArray, ...]
    problem: Problem
    cost: Cost
    asks_row: bool = False
    asks_completions: bool = True

    @property
    def base(self) -> float:
        """The weight that is due whatever the confidence: that of the row with its blanks beside completions."""
        return float(self.weights.sum()) if self.asks_row and self.asks_completions else 0.0

    def after(self, choice: Choice) -> FloatArray:
        """The codes of the problem's candidates after ``choice``: completions, the row with its blanks, or both."""
        parts = []
        if self.asks_completions:
            parts.append(self.grid.apply(choice, self.candidates))
        if self.asks_row:
            parts.append(self.row_after(choice))
        return np.concatenate(parts)

    def row_after(self, choice: Choice) -> FloatArray:
        """The row as it is submitted after ``choice`` (1, D): what the plan sets is told, other blanks stay."""
        return self.grid.apply_to_row(choice, self.row)

    def share(self, accepted: BoolArray) -> float:
        """The share of the completions among the accepted candidates; of the row itself where it stands alone."""
        if not self.asks_completions:
            return float(accepted.mean())
        return float(self.weights[accepted[: self.weights.size]].sum() / self.weights.sum())

    def cost_of(self, choice: Choice) -> float:
        """The cost to report."""
        return float(self.cost.finish(self.problem.cost(choice)))

    def cost_per_candidate(self, choice: Choice) -> FloatArray:
        """The reported cost for each completion (N,)."""
        n = self.candidates.shape[0]
        parts = [p[:, j] for p, j in zip(self.prices, choice, strict=True) if j]
        if not parts:
            return np.zeros(n)
        is_max = self.problem.aggregate == "max"
        if all(part.size == 1 for part in parts):  # nobody has a price of his own
            each = [float(part[0]) for part in parts]
            return np.full(n, self.cost.finish(max(each) if is_max else reduce(add, each)))
        stacked = np.stack([np.broadcast_to(part, (n,)) for part in parts])
        totals = stacked.max(axis=0) if is_max else stacked.sum(axis=0)
        different, which = np.unique(totals, return_inverse=True)
        return np.array([self.cost.finish(total) for total in different.tolist()])[which]


def state_problem(
    row: FloatArray,
    candidates: FloatArray,
    weights: FloatArray,
    grid: ActionGrid,
    read: ReadClassifier,
    cost: Cost,
    required: float,
    max_changes: int | None,
    *,
    asks_row: bool = False,
    asks_completions: bool = True,
    remembered: Remembered | None = None,
    seen: FloatArray | None = None,
) -> Stated:
    """State the problem of one row.

    Parameters
    ----------
    row : codes (D,), NaN for blanks
    candidates, weights : its completions
    grid : what the person could do
    read : the model
    cost : the prices, averaged over the completions
    required : the weight of completions that must be accepted
    max_changes : how many features may change
    asks_row : whether the row with its blanks must be accepted: it is one candidate more, as heavy as all completions
        together, and its weight is added to what is required, so that nothing suffices without it
    asks_completions : whether completions count; if not, the row with its blanks is the only candidate
    remembered : what was worked out before for the same schema, model and cost
    seen : the model inputs (N, P) of the completions, if they are known
    """
    grid, rules = apply_rules(grid, candidates)
    judged = np.concatenate([candidates, row[None, :]]) if asks_row else candidates
    if not asks_completions:
        judged = row[None, :].copy()
    known = remembered if remembered is not None else Remembered(grid.schema, read, cost)
    # inputs of several columns are asked about for whole people
    values = {
        move.position: _of_each(grid, i, judged.shape[0], asks_row, asks_completions)
        for i, move in enumerate(grid.moves)
        if read.joint
    }
    asked = foresee(read, judged, values)
    inputs, parts = _priced(
        judged, weights, grid, read, cost, known, asks_row, asks_completions, seen if judged is candidates else None
    )
    options, blocks = join(asked, inputs, list(values), tuple(part.options for part in parts))
    if asks_row:
        total = float(weights.sum())
        weights_all = np.append(weights, total) if asks_completions else np.ones(1)
        required = required + total if asks_completions else 1.0
    else:
        weights_all = weights
    problem = Problem(
        candidates=inputs,
        options=options,
        model=read.model,
        required=required,
        weights=weights_all,
        max_changes=max_changes,
        aggregate=cost.aggregate,
        rules=rules,
        sums=sum_rules(grid, candidates),
        blocks=blocks,
        checks=False,
    )
    prices = tuple(part.prices for part in parts)
    return Stated(row, candidates, weights, grid, prices, problem, cost, asks_row, asks_completions)


def _priced(
    judged: FloatArray,
    weights: FloatArray,
    grid: ActionGrid,
    read: ReadClassifier,
    cost: Cost,
    known: Remembered,
    asks_row: bool,
    asks_completions: bool,
    seen: FloatArray | None = None,
) -> tuple[FloatArray, list[Priced]]:
    """The model inputs of those who are ``judged``, and for each move its options; what is known is not worked out."""
    priced = known.found(grid.moves)
    new = {move.position: _Distinct.of(move) for move in grid.moves if move.position not in priced}
    values = {
        move.position: _judged(grid, i, new[move.position], asks_row, asks_completions)
        for i, move in enumerate(grid.moves)
        if move.position in new
    }
    # where the inputs are known, one person keeps the values company
    inputs, outcomes = read.encode.together(judged if seen is None else judged[:1], values)
    inputs = inputs if seen is None else seen
    share = weights / weights.sum()
    for move in grid.moves:
        if move.position in new:
            distinct, table = new[move.position], outcomes[move.position]
            if asks_completions:
                table = distinct.spread(table)
            each = np.asarray(cost.table(move.position, distinct.rows[:, 0], distinct.rows), dtype=np.float64)
            one = price(grid.schema, read, move, distinct.spread(each), table, share)
            # option 0 is what the candidates are, to the last bit
            own = inputs[:, one.options.columns]
            table[:, 0, :] = own if table.shape[0] > 1 else own[:1]
            priced[move.position] = one
            if move.mode == "observed":
                known.keep(one)
    return inputs, [priced[move.position] for move in grid.moves]


@dataclass(frozen=True, eq=False)
class _Distinct:
    """The different rows among the values of a move: people with the same value have the same options.

    Attributes
    ----------
    rows : the different ones
    which : for each person the row; None where there is one for all
    """

    rows: FloatArray
    which: IntArray | None

    @classmethod
    def of(cls, move: Move) -> _Distinct:
        if move.values.shape[0] == 1:
            return cls(move.values, None)
        _, first, which = np.unique(move.values[:, 0], return_index=True, return_inverse=True)
        return cls(move.values[first], which)

    def spread(self, found: FloatArray) -> FloatArray:
        """For each person what was found for the row; what was found beyond these rows comes last."""
        if self.which is None:
            return found
        many: FloatArray = found[self.which]
        return many if found.shape[0] == self.rows.shape[0] else np.concatenate([many, found[self.rows.shape[0] :]])


def _judged(grid: ActionGrid, i: int, distinct: _Distinct, asks_row: bool, asks_completions: bool) -> FloatArray:
    """The codes that the options of move ``i`` give to the problem's candidates, equal ones once."""
    move = grid.moves[i]
    if not asks_row or move.mode == "observed":
        return distinct.rows
    submitted = grid.submitted(i)[None, :]
    if not asks_completions:
        return submitted
    return np.concatenate([distinct.rows, submitted])


def _of_each(grid: ActionGrid, i: int, n: int, asks_row: bool, asks_completions: bool) -> FloatArray:
    """The codes (1 or n, J) that the options of move ``i`` give to each of the problem's candidates."""
    move = grid.moves[i]
    if not asks_row or move.mode == "observed":
        return move.values
    submitted = grid.submitted(i)[None, :]
    if not asks_completions:
        return submitted
    return np.concatenate([np.broadcast_to(move.values, (n - 1, move.size)), submitted])
