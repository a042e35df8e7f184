"""What one person could do: the options of each feature, option 0 being "keep"."""

from armin.actions.grid import (
    GRIDS,
    ActionGrid,
    Grid,
    Mode,
    Move,
    Turning,
    build_grid,
    human_step,
    make_move,
    next_values,
    outcome,
    snapped,
)  # fmt: skip

__all__ = [
    "GRIDS", "ActionGrid", "Grid", "Mode", "Move", "Turning", "build_grid", "human_step", "make_move", "next_values",
    "outcome", "snapped",
]  # fmt: skip
