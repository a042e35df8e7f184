"""From one person's row to a :class:`~armin.problem.Problem`: grid, prices and model inputs in one place."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import reduce
from operator import add

import numpy as np

from armin.actions import ActionGrid, Move
from armin.arrays import BoolArray, FloatArray, IntArray
from armin.costs import Cost
from armin.models.encoding import ReadClassifier
from armin.models.joint import distinct_rows
from armin.problem.data import Choice, Problem, Solution
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
    problem : the same as plain data for the solvers. Its candidates are the completions if ``asks_completions``, then
        the rows that may be submitted if ``asks_row``
    cost : how changes are priced
    asks_row : whether the row must be accepted as it is submitted, with the blanks that are left
    asks_completions : whether completions count
    forms : codes (M, D), who submits the rows that the problem judges: completions that differ in a blank that the plan
        may set; beside completions the row itself, which stands for somebody who is not there yet
    outer : a problem whose optimum is no more than what any plan costs, whatever values it takes; ``problem`` itself
        if its options hold a cheapest value of each kind; None if only the listed values are known
    outer_bound : a weight that is required, and what no plan for it costs less than, if that is known
    solved : the optimum of ``problem``, if it is known
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
    forms: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    outer: Problem | None = None
    outer_bound: tuple[float, float] | None = None
    solved: Solution | None = None

    @property
    def base(self) -> float:
        """The weight that is due whatever the confidence: that of the submitted rows beside completions."""
        return float(self.weights.sum()) if self.asks_row and self.asks_completions else 0.0

    def after(self, choice: Choice) -> FloatArray:
        """The codes of the problem's candidates after ``choice``: completions, submitted rows, or both."""
        parts = []
        if self.asks_completions:
            parts.append(self.grid.apply(choice, self.candidates))
        if self.asks_row:
            parts.append(self.grid.submitted(choice, self.row, self.forms))
        return np.concatenate(parts)

    def submitted(self, choice: Choice, completions: FloatArray) -> FloatArray:
        """The rows that completions (n, D) submit after ``choice``; one (1, D) where everybody submits the same."""
        who = completions if self.grid.reaches(choice) else completions[:1]
        return self.grid.submitted(choice, self.row, who)

    def share(self, accepted: BoolArray) -> float:
        """The share of the completions among the accepted candidates, or of those who submit an accepted row."""
        weights = self.weights if self.asks_completions else self.problem.weights
        return float(weights[accepted[: weights.size]].sum() / weights.sum())

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
    asks_row : whether the row must be accepted as it is submitted, with the blanks that are left. Beside completions it
        is one candidate more, at the values that are to be reached: as heavy as all of them together, and its weight is
        added to what is required, so that nothing suffices without it. Where it alone is judged, each row that some
        completions submit is a candidate, as heavy as these: who is beyond a value that is to be reached gives the own
    asks_completions : whether completions count; if not, the submitted rows are the only candidates
    remembered : what was worked out before for the same schema, model and cost
    seen : the model inputs (N, P) of the completions, if they are known
    """
    grid, rules = apply_rules(grid, candidates)
    reached = [move.position for move in grid.moves if move.mode == "reach"]
    first, form = distinct_rows(candidates[:, reached])
    forms = row[None, :] if asks_completions else candidates[first]
    judged = candidates if asks_completions else candidates[:0]
    if asks_row:
        judged = np.concatenate([judged, np.repeat(row[None, :], len(forms), axis=0)])
    known = remembered if remembered is not None else Remembered(grid.schema, read, cost)
    kinds = tuple(_Kinds.of(move, first, asks_row, asks_completions) for move in grid.moves)
    # inputs of several columns are asked about for whole people
    values = {
        move.position: kind.spread(kind.judged) for move, kind in zip(grid.moves, kinds, strict=True) if read.joint
    }
    asked = foresee(read, judged, values)
    inputs, parts = _priced(judged, weights, grid, read, cost, known, kinds, None if asks_row else seen)
    options, blocks = join(asked, inputs, list(values), tuple(part.options for part in parts))
    total = float(weights.sum())
    if asks_row and asks_completions:
        required, counted = required + total, np.append(weights, total)
    else:
        counted = np.bincount(form, weights=weights) if asks_row else weights
    problem = Problem(
        candidates=inputs,
        options=options,
        model=read.model,
        required=required,
        weights=counted,
        max_changes=max_changes,
        aggregate=cost.aggregate,
        rules=rules,
        sums=sum_rules(grid, candidates),
        blocks=blocks,
        checks=False,
    )
    prices = tuple(part.prices for part in parts)
    return Stated(row, candidates, weights, grid, prices, problem, cost, asks_row, asks_completions, forms)


def _priced(
    judged: FloatArray,
    weights: FloatArray,
    grid: ActionGrid,
    read: ReadClassifier,
    cost: Cost,
    known: Remembered,
    kinds: tuple[_Kinds, ...],
    seen: FloatArray | None = None,
) -> tuple[FloatArray, list[Priced]]:
    """The model inputs of those who are ``judged``, and for each move its options; what is known is not worked out."""
    priced = known.found(grid.moves)
    new = {move.position: kind for move, kind in zip(grid.moves, kinds, strict=True) if move.position not in priced}
    # where the inputs are known, one person keeps the values company
    inputs, outcomes = read.encode.together(
        judged if seen is None else judged[:1], {position: kind.judged for position, kind in new.items()}
    )
    inputs = inputs if seen is None else seen
    share = weights / weights.sum()
    for move in grid.moves:
        if move.position in new:
            kind = new[move.position]
            table = kind.spread(outcomes[move.position])
            each = np.asarray(cost.table(move.position, kind.own[:, 0], kind.own), dtype=np.float64)
            one = price(
                grid.schema, read, move, each if kind.which is None else each[kind.which], table, share
            )  # fmt: skip
            # option 0 is what the candidates are, to the last bit
            own = inputs[:, one.options.columns]
            table[:, 0, :] = own if table.shape[0] > 1 else own[:1]
            priced[move.position] = one
            if move.mode == "observed":
                known.keep(one)
    return inputs, [priced[move.position] for move in grid.moves]


@dataclass(frozen=True, eq=False)
class _Kinds:
    """What the options of a move make of people: those with the same value have the same options.

    Attributes
    ----------
    own : the different rows of the move's values (K, J)
    which : for each completion its row; None where there is one for all
    judged : the rows (L, J) that the problem's candidates have
    place : for each candidate its row of these; None where there is one for all
    """

    own: FloatArray
    which: IntArray | None
    judged: FloatArray
    place: IntArray | None

    @classmethod
    def of(cls, move: Move, forms: IntArray, asks_row: bool, asks_completions: bool) -> _Kinds:
        """The kinds of a move: for completions, for the rows that some (``forms``) submit, or for those and one row."""
        if move.mode == "observed":
            return cls(move.values, None, move.values, None)
        _, first, which = np.unique(move.values[:, 0], return_index=True, return_inverse=True)
        own = move.values[first]
        if not asks_row:
            return cls(own, which, own, which)
        submitted = move.targets[None, :] if asks_completions else own.copy()
        if move.mode == "shift":
            submitted = np.full_like(submitted, math.nan)
        elif not asks_completions:
            submitted[:, 0] = math.nan  # what is not set stays blank
        if not asks_completions:
            return cls(own, which, submitted, which[forms])
        return cls(own, which, np.concatenate([own, submitted]), np.append(which, own.shape[0]))

    def spread(self, found: FloatArray) -> FloatArray:
        """For each candidate what was found for its row."""
        return found if self.place is None else np.asarray(found[self.place])
