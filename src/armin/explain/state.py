"""Step two: what one person could do, and what is asked of it, as a problem."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from armin.actions import build_grid
from armin.arrays import FloatArray
from armin.explain.draw import Sample
from armin.explain.fitted import Fitted
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
    settings = fitted.settings
    grid = build_grid(
        fitted.schema, codes, sample.values,
        max_options=settings.options.max_options, grid=settings.options.grid, frozen=frozenset(frozen),
        made=fitted.remembered.moves(settings.options.max_options, settings.options.grid),
    )  # fmt: skip
    return state_problem(
        codes, sample.values, sample.weights, grid, fitted.read, fitted.cost,
        required_weight(level, float(sample.weights.sum())), settings.max_changes,
        asks_row=asks_row, asks_completions=world.reapply != "blank",
        remembered=fitted.remembered, seen=sample.inputs,
    )  # fmt: skip


def demand(stated: Stated, level: float) -> float:
    """The weight of the problem's candidates that a share of completions stands for."""
    return stated.base + required_weight(level, float(stated.weights.sum()))
