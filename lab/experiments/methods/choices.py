"""What a person could do, as in the published code: its options, and what they do to a row.

An option is an amount. It is offered if every completion that is looked at stays within the least and the largest
training value; a category that is blank can be left only if all of them agree about it. Forests move to the thresholds
of their splits, other models along a grid that may pass a bound by less than a step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from armin import Feature, Schema
from armin.actions import ActionGrid, Move
from armin.arrays import FloatArray
from armin.costs.published import published_step
from armin.problem import Choice
from lab.experiments.methods import Context

__all__ = ["Action", "PublishedOptions"]

TINY = 1e-6
"""The published tolerance: how far beyond a threshold a real number goes, and what is no amount at all."""


@dataclass(frozen=True, eq=False)
class Action:
    """Amounts and targets, which nobody has fitted into bounds.

    Attributes
    ----------
    steps : (position, whether it is an amount, the amount or the target code)
    low, high : bounds (D,)
    schema : the columns
    cost : what the solver said
    """

    steps: tuple[tuple[int, bool, float], ...]
    low: FloatArray
    high: FloatArray
    schema: Schema
    cost: float = 0.0

    def on(self, codes: FloatArray) -> FloatArray:
        """What codes (n, D) become, beyond the bounds or not."""
        after = codes.copy()
        for position, is_amount, value in self.steps:
            after[:, position] = after[:, position] + value if is_amount else value
        return after

    def legal(self, codes: FloatArray) -> bool:
        """Whether a row of codes (D,) can do it: numbers stay within bounds, and a category is really left."""
        after = self.on(codes[None, :])[0]
        for position, _, _ in self.steps:
            if not self.schema.features[position].is_number:
                if after[position] == codes[position]:
                    return False
                continue
            slack = 1e-9 * max(1.0, abs(after[position]))  # an amount may miss the bound that it was made from
            if not self.low[position] - slack <= after[position] <= self.high[position] + slack:
                return False
        return True


class PublishedOptions:
    """The options of the published code for one model and its training rows."""

    def __init__(self, context: Context) -> None:
        self.schema = context.schema
        self.most = context.settings.max_options - 1
        self.low, self.high = np.nanmin(context.codes, axis=0), np.nanmax(context.codes, axis=0)
        if context.trimmed is not None:
            self.low, self.high = np.array([(f.low_code, f.high_code) for f in context.trimmed]).T
        self.thresholds = _thresholds(context)

    def grid(self, codes: FloatArray, people: FloatArray) -> ActionGrid:
        """The options of a row (D,) with these completions (N, D)."""
        moves = []
        for position, feature in enumerate(self.schema.features):
            blank = math.isnan(codes[position])
            held = people[:, position] if blank else codes[position : position + 1]
            if not feature.actionable:
                continue
            if feature.is_number:
                amounts = self._amounts(feature, position, held)
                shifted = held[:, None] + amounts[None, :]
                targets = amounts if blank else shifted[0]
            elif (held == held[0]).all():
                targets = _others(feature, float(held[0]))
                shifted = np.broadcast_to(targets, (held.size, targets.size))
            else:
                continue
            if targets.size:
                values = np.concatenate([held[:, None], shifted], axis=1)
                mode = "observed" if not blank else "shift" if feature.is_number else "reach"
                moves.append(Move(position, mode, values, np.append(math.nan, targets), np.zeros(targets.size + 1)))
        return ActionGrid(tuple(moves), self.schema)

    def action(self, grid: ActionGrid, choice: Choice, cost: float) -> Action:
        """A choice as what it does to any row."""
        steps = tuple(
            (move.position, move.mode == "shift", float(move.targets[j]))
            for move, j in zip(grid.moves, choice, strict=True)
            if j
        )
        return Action(steps, self.low, self.high, self.schema, cost)

    def _amounts(self, feature: Feature, position: int, held: FloatArray) -> FloatArray:
        low, high = float(self.low[position]), float(self.high[position])
        least, most = float(held.min()), float(held.max())
        step = published_step(feature, low, high)
        if step < TINY:
            return np.empty(0)
        if position in self.thresholds:
            amounts = _to_thresholds(feature, self.thresholds[position], held)
            amounts = amounts[(least + amounts >= low) & (most + amounts <= high)]
            kept = np.linspace(0, amounts.size, self.most, endpoint=False, dtype=np.intp)
        else:
            start = step if feature.direction == "increase" else low - least
            stop = 0.0 if feature.direction == "decrease" else high + step - most
            amounts = np.arange(start, stop, step)
            amounts = amounts[np.abs(amounts) > TINY]
            kept = np.linspace(0, amounts.size - 1, self.most, dtype=np.intp)
        if feature.direction in ("increase", "decrease"):
            amounts = amounts[amounts > 0] if feature.direction == "increase" else amounts[amounts < 0]
        return amounts if amounts.size <= self.most else amounts[np.minimum(kept, amounts.size - 1)]


def _to_thresholds(feature: Feature, thresholds: FloatArray, held: FloatArray) -> FloatArray:
    """The amounts that take somebody just beyond a threshold, up or down."""
    whole = feature.kind != "continuous"
    places = np.trunc(thresholds) if whole else thresholds
    amounts = (places[None, :] - held[:, None]).ravel()
    amounts[amounts > 0] += 1.0 if whole else TINY
    if not whole:
        amounts[amounts < 0] -= TINY
    found = np.unique(amounts)
    return found[found != 0.0]


def _others(feature: Feature, held: float) -> FloatArray:
    targets = np.arange(len(feature.categories), dtype=np.float64)
    targets = targets[targets != held]
    if feature.direction == "increase":
        return targets[targets > held]
    return targets[targets < held] if feature.direction == "decrease" else targets


def _thresholds(context: Context) -> dict[int, FloatArray]:
    """By the position of a number, the thresholds of a forest that is fitted on the columns as they are; else none."""
    forest, encoder = context.classifier[-1], context.classifier[0]
    if not isinstance(forest, RandomForestClassifier) or not hasattr(encoder, "get_feature_names_out"):
        return {}
    columns = {name: i for i, name in enumerate(encoder.get_feature_names_out())}
    found: dict[int, list[FloatArray]] = {}
    for position, feature in enumerate(context.schema.features):
        if feature.is_number and feature.name in columns:
            column = columns[feature.name]
            found[position] = [t.tree_.threshold[t.tree_.feature == column] for t in forest.estimators_]
    return {position: np.unique(np.concatenate(parts)) for position, parts in found.items()}
