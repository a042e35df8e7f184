"""The rules between features, on one person's grid: options that fall away, pairs that exclude each other, and sums."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from armin.actions import ActionGrid, Move
from armin.arrays import FloatArray
from armin.problem import PairRule, SumRule
from armin.schema import Linear

__all__ = ["apply_rules", "sum_rules"]


def apply_rules(grid: ActionGrid, candidates: FloatArray) -> tuple[ActionGrid, tuple[PairRule, ...]]:
    """Drop the options that a rule on one movable feature forbids, and list the pairs that others forbid.

    Parameters
    ----------
    grid : what the person could do
    candidates : codes of the completions (N, D)
    """
    schema = grid.schema
    rules = [part for rule in schema.constraints for part in rule.pairs()]
    if not rules:
        return grid, ()
    movable = {move.position for move in grid.moves}
    moves = []
    for move in grid.moves:
        keep = np.ones(move.size, dtype=bool)
        for rule in rules:
            positions = [schema.position(name) for name in rule.features]
            if move.position in positions and len(movable & set(positions)) == 1:
                still = next((p for p in positions if p != move.position), move.position)
                keep &= rule.table(schema, move, _still(still, candidates), candidates)[:, 0]
        if keep.sum() > 1:
            moves.append(
                replace(move, values=move.values[:, keep], targets=move.targets[keep], senses=move.senses[keep])
            )
    thinned = replace(grid, moves=tuple(moves))
    if len(moves) < len(grid.moves):
        # a feature that lost all its options now stands still, which may forbid options of others
        return apply_rules(thinned, candidates)
    place = {move.position: i for i, move in enumerate(moves)}
    pairs = []
    for rule in rules:
        where = [place[position] for name in rule.features if (position := schema.position(name)) in place]
        if len(where) == 2:
            table = rule.table(schema, moves[where[0]], moves[where[1]], candidates)
            if not table.all():
                pairs.append(PairRule(where[0], where[1], table, str(rule.message(schema))))
    return thinned, tuple(pairs)


def sum_rules(grid: ActionGrid, candidates: FloatArray) -> tuple[SumRule, ...]:
    """The linear rules of which three features or more can move; the others are in the pairs of :func:`apply_rules`.

    Parameters
    ----------
    grid : what the person could do
    candidates : codes of the completions (N, D)
    """
    schema, n = grid.schema, candidates.shape[0]
    place = {move.position: i for i, move in enumerate(grid.moves)}
    found = []
    for rule in schema.rules:
        if not isinstance(rule, Linear):
            continue
        where = {name: place[position] for name in rule.features if (position := schema.position(name)) in place}
        if len(where) < 3:
            continue
        most = np.full(n, rule.limit)
        for name in rule.features:
            if name not in where:
                most -= rule.part(name, candidates[:, schema.position(name)])
        moving = [rule.part(name, grid.moves[i].values) for name, i in where.items()]
        parts = [np.broadcast_to(part, (n, part.shape[1])) for part in moving]
        # who breaks the rule as things stand is not bound by it, and equal completions need one row
        bound = rule.fits(schema, candidates)
        rows = np.unique(np.column_stack([*parts, most])[bound], axis=0)
        if np.any(sum(_largest(rows, parts)) > rows[:, -1]):
            split = np.split(rows[:, :-1], np.cumsum([part.shape[1] for part in parts])[:-1], axis=1)
            found.append(SumRule(tuple(where.values()), tuple(split), rows[:, -1], str(rule.message(schema))))
    return tuple(found)


def _largest(rows: FloatArray, parts: list[FloatArray]) -> list[FloatArray]:
    """The most that each feature can add, in each row."""
    ends = np.cumsum([0, *(part.shape[1] for part in parts)])
    return [rows[:, low:high].max(axis=1, initial=-np.inf) for low, high in pairwise(ends)]


def _still(position: int, candidates: FloatArray) -> Move:
    """A feature that cannot move, as a move with the one option "keep"."""
    return Move(position, "observed", candidates[:, position : position + 1], np.array([np.nan]), np.zeros(1))
