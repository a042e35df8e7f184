"""What holds for everybody with the same value of a feature: its options, their prices and their model inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from armin.actions import Grid, Move
from armin.arrays import FloatArray, IntArray
from armin.costs import Cost
from armin.models.encoding import ReadClassifier
from armin.models.turns import Turns, find_turns, helpful, leaves_of
from armin.problem.data import Options, check_prices
from armin.schema import Schema

__all__ = ["Priced", "Remembered"]

MOST_BITS = 2_000_000_000
"""Leaves times options between turns, at most; where a forest has more, numbers are listed."""

MOST = 4096
"""Moves to remember; with a hundred options each takes about five kilobytes."""


@dataclass(frozen=True, eq=False)
class Priced:
    """One feature's options as a problem has them.

    Attributes
    ----------
    move : the options in the person's terms
    prices : the cost (1 or N, J) of each option for each completion
    options : the same for the solvers
    """

    move: Move
    prices: FloatArray
    options: Options


class Remembered:
    """Options of observed features by the feature's place and value, for one schema, model and cost.

    Nothing in it is ever changed, so that threads may share it; it is not kept where an explainer is stored or copied.
    """

    def __init__(self, schema: Schema, read: ReadClassifier, cost: Cost) -> None:
        self.schema, self.read, self.cost = schema, read, cost
        self._moves: dict[tuple[int, Grid], dict[tuple[int, float], Move | None]] = {}
        self._priced: dict[int, Priced] = {}
        self._turns: dict[int, Turns] | None = None
        self._helpful: dict[int, int] | None = None

    def turns(self, read: ReadClassifier, row: FloatArray) -> Mapping[int, Turns]:
        """Where the model turns, see :func:`armin.models.turns.find_turns`; none where the cost may fall again."""
        if self._turns is None:
            monotone = bool(getattr(self.cost, "monotone", False))
            found = find_turns(read, self.schema, row) if monotone else {}
            # an engine keeps a bit for each leaf and option
            options = 2 * sum(turns.above.size for turns in found.values())
            self._turns = found if options * leaves_of(read.model) <= MOST_BITS else {}
        return self._turns

    def helpful(self, read: ReadClassifier, row: FloatArray) -> Mapping[int, int]:
        """Which way each number helps a linear score, see :func:`armin.models.turns.helpful`."""
        if self._helpful is None:
            self._helpful = helpful(read, self.schema, row)
        return self._helpful

    def about(self, schema: Schema, read: ReadClassifier, cost: Cost) -> bool:
        """Whether this is about the same schema, model and cost."""
        # one reading has one array of owners, whatever columns it carries along
        return self.schema is schema and self.read.owners is read.owners and self.cost is cost

    def moves(self, max_options: int, grid: Grid) -> MutableMapping[tuple[int, float], Move | None]:
        """The moves that were made with these settings, for :func:`armin.actions.build_grid`."""
        made = self._moves.setdefault((max_options, grid), {})
        if len(made) > MOST:
            made = self._moves[max_options, grid] = {}
        return made

    def found(self, moves: Iterable[Move]) -> dict[int, Priced]:
        """What is known of moves, by their positions."""
        known = {move.position: self._priced.get(id(move)) for move in moves}
        return {position: priced for position, priced in known.items() if priced is not None}

    def keep(self, priced: Priced) -> None:
        """Remember the options of a move that is itself remembered; one that rules have thinned is not."""
        move = priced.move
        key = (move.position, float(move.values[0, 0]))
        if any(made.get(key) is move for made in self._moves.values()):
            if len(self._priced) > MOST:
                self._priced = {}
            self._priced[id(move)] = priced

    def __reduce__(self) -> tuple[Any, ...]:
        return Remembered, (self.schema, self.read, self.cost)


def price(
    schema: Schema, read: ReadClassifier, move: Move, prices: FloatArray, inputs: FloatArray, share: FloatArray
) -> Priced:
    """One feature's options with their mean costs.

    ``prices`` (1 or N, J), ``inputs`` (1 or N, J, E), ``share`` the weights of completions.
    """
    mean: FloatArray = prices[0].copy() if prices.shape[0] == 1 else share @ prices
    mean[0] = 0.0
    options = Options(schema.features[move.position].name, columns_of(read, move.position), inputs, mean)
    check_prices(options)
    return Priced(move, prices, options)


def columns_of(read: ReadClassifier, position: int) -> IntArray:
    """The model inputs that a feature determines."""
    return np.flatnonzero(read.owners == position)
