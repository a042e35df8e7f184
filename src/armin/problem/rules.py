"""The rules between features, on one person's grid: options that fall away, and pairs that exclude each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from armin.actions import ActionGrid, Move
from armin.arrays import BoolArray, FloatArray
from armin.problem import PairRule
from armin.schema import Schema
from armin.schema.rules import AtLeast, AtMostOne, Condition, Forbid, IfThen, Rule, Together, pairwise

__all__ = ["apply_rules"]


def apply_rules(grid: ActionGrid, candidates: FloatArray) -> tuple[ActionGrid, tuple[PairRule, ...]]:
    """Drop the options that a rule on one movable feature forbids, and list the pairs that others forbid.

    Parameters
    ----------
    grid : what the person could do
    candidates : codes of the completions (N, D)
    """
    schema = grid.schema
    rules = [part for rule in schema.rules for part in pairwise(rule)]
    movable = {move.position for move in grid.moves}
    moves = []
    for move in grid.moves:
        keep = np.ones(move.size, dtype=bool)
        for rule in rules:
            positions = [schema.position(name) for name in rule.features]
            if move.position in positions and len(movable & set(positions)) == 1:
                still = next((p for p in positions if p != move.position), move.position)
                keep &= _table(rule, schema, move, _still(still, candidates), candidates)[:, 0]
        if keep.sum() > 1:
            moves.append(replace(move, values=move.values[:, keep], targets=move.targets[keep]))
    thinned = replace(grid, moves=tuple(moves))
    if len(moves) < len(grid.moves):
        # a feature that lost all its options now stands still, which may forbid options of others
        return apply_rules(thinned, candidates)
    place = {move.position: i for i, move in enumerate(moves)}
    pairs = []
    for rule in rules:
        where = [place.get(schema.position(name)) for name in rule.features]
        if len(where) == 2 and where[0] is not None and where[1] is not None:
            table = _table(rule, schema, moves[where[0]], moves[where[1]], candidates)
            if not table.all():
                pairs.append(PairRule(where[0], where[1], table, str(rule.message(schema))))
    return thinned, tuple(pairs)


def _still(position: int, candidates: FloatArray) -> Move:
    """A feature that cannot move, as a move with the one option "keep"."""
    return Move(position, "observed", candidates[:, position : position + 1], np.array([np.nan]))


def _table(rule: Rule, schema: Schema, first: Move, second: Move, candidates: FloatArray) -> BoolArray:
    """Which options of two features a rule allows together, (J_first, J_second)."""
    if isinstance(rule, Together | AtMostOne):
        moves, others = np.arange(first.size) > 0, np.arange(second.size) > 0
        if isinstance(rule, Together):
            return np.asarray(moves[:, None] == others[None, :])
        return ~(moves[:, None] & others[None, :])
    by_position = {first.position: 0, second.position: 1}
    if isinstance(rule, AtLeast):
        sides = [by_position[schema.position(name)] for name in rule.features]
        table = _at_least(*((first, second)[side] for side in sides))
        return table if sides == [0, 1] else table.T
    if isinstance(rule, Forbid):
        i = first.position
        allowed = [rule.allows(schema, candidates, _after(candidates, i, first, j)).all() for j in range(first.size)]
        return np.repeat(np.array(allowed)[:, None], second.size, axis=1)
    return _if_then(rule, schema, first, second, candidates)


def _at_least(larger: Move, smaller: Move) -> BoolArray:
    big, small = larger.values[:, :, None], smaller.values[:, None, :]
    fine_before = larger.values[:, :1, None] >= smaller.values[:, None, :1]
    return np.asarray(~((big < small) & fine_before).any(axis=0))


def _if_then(rule: IfThen, schema: Schema, first: Move, second: Move, candidates: FloatArray) -> BoolArray:
    when = _holds(rule.when, schema, first, second, candidates)
    then = _holds(rule.then, schema, first, second, candidates)
    broken = when & ~then
    return np.asarray(~(broken & ~broken[:, :1, :1]).any(axis=0))


def _holds(condition: Condition, schema: Schema, first: Move, second: Move, candidates: FloatArray) -> BoolArray:
    """Where a condition holds: (N, J_first, 1) or (N, 1, J_second)."""
    move = first if schema.position(condition.feature) == first.position else second
    columns = [
        condition.holds(schema, candidates, _after(candidates, move.position, move, j)) for j in range(move.size)
    ]
    found = np.stack(columns, axis=1)
    return found[:, :, None] if move is first else found[:, None, :]


def _after(candidates: FloatArray, position: int, move: Move, j: int) -> FloatArray:
    after = candidates.copy()
    after[:, position] = move.values[:, j]
    return after
