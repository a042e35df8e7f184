"""The rules between features, on one person's grid: options that fall away, and pairs that exclude each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from armin.actions import ActionGrid, Move
from armin.arrays import FloatArray
from armin.problem import PairRule

__all__ = ["apply_rules"]


def apply_rules(grid: ActionGrid, candidates: FloatArray) -> tuple[ActionGrid, tuple[PairRule, ...]]:
    """Drop the options that a rule on one movable feature forbids, and list the pairs that others forbid.

    Parameters
    ----------
    grid : what the person could do
    candidates : codes of the completions (N, D)
    """
    schema = grid.schema
    rules = [part for rule in schema.rules for part in rule.pairs()]
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
        where = [place.get(schema.position(name)) for name in rule.features]
        if len(where) == 2 and where[0] is not None and where[1] is not None:
            table = rule.table(schema, moves[where[0]], moves[where[1]], candidates)
            if not table.all():
                pairs.append(PairRule(where[0], where[1], table, str(rule.message(schema))))
    return thinned, tuple(pairs)


def _still(position: int, candidates: FloatArray) -> Move:
    """A feature that cannot move, as a move with the one option "keep"."""
    return Move(position, "observed", candidates[:, position : position + 1], np.array([np.nan]), np.zeros(1))
