"""Step two: what one person could do, and what is asked of it, as a problem."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from armin.actions import ActionGrid, build_grid
from armin.arrays import FloatArray
from armin.explain.draw import Sample
from armin.explain.fitted import Fitted
from armin.explain.minimum import refined
from armin.explain.world import World
from armin.problem.data import required_weight
from armin.problem.stated import Stated, state_problem

__all__ = ["demand", "state"]


def state(
    fitted: Fitted, world: World, codes: FloatArray, sample: Sample, locked: Collection[str], level: float
) -> Stated:
    """The problem of one row: completions of the share ``level`` must be accepted, the row with its blanks, or both."""
    frozen = set(locked)
    for i in np.flatnonzero(np.isnan(codes)).tolist():
        feature = fitted.schema.features[i]
        # a blank that moves by an amount stays blank, so it cannot help where the row with its blanks is judged
        if fitted.native or (world.reapply == "blank" and feature.blank_mode == "shift"):
            frozen.add(feature.name)
    asks_row = world.blanks and world.reapply != "disclosed"
    for made in fitted.schema.derived:
        # with one part moved and another blank, the row that is submitted could not say what follows
        parts = list(made.parts.values())
        if asks_row and not np.isnan(codes[made.position]) and np.isnan(codes[parts]).sum() > 1:
            frozen |= {fitted.schema.names[p] for p in parts}
    settings, options, remembered = fitted.settings, fitted.settings.options, fitted.remembered
    exact = options.grid == "exact"
    turns = remembered.turns(fitted.read, sample.values[0]) if exact else None
    known = remembered.moves(options.max_options, options.grid)

    def stated(more: Mapping[int, FloatArray]) -> tuple[Stated, ActionGrid]:
        grid = build_grid(
            fitted.schema, codes, sample.values, max_options=options.max_options, grid=options.grid,
            frozen=frozenset(frozen), made=known, turns=turns, more=more,
        )  # fmt: skip
        one = state_problem(
            codes, sample.values, sample.weights, grid, fitted.read, fitted.cost,
            required_weight(level, float(sample.weights.sum())), settings.max_changes, asks_row=asks_row,
            asks_completions=world.reapply != "blank", remembered=remembered, seen=sample.inputs,
        )  # fmt: skip
        return one, grid

    found, grid = stated({})
    return refined(fitted, found, grid, stated) if exact else found


def demand(stated: Stated, level: float) -> float:
    """The weight of the problem's candidates that a share of completions stands for."""
    return stated.base + required_weight(level, float(stated.weights.sum()))
