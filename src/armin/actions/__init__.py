"""What one person could do: the options of each feature, option 0 being "keep"."""

from armin.actions.grid import ActionGrid, Grid, Mode, Move, build_grid, human_step, outcome

__all__ = ["ActionGrid", "Grid", "Mode", "Move", "build_grid", "human_step", "outcome"]
