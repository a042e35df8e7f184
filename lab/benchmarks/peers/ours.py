"""ARMIN as a user waits for it: ``explain``, from the row to the checked answer."""

from __future__ import annotations

import pandas as pd

from lab.benchmarks.cells import Cell
from lab.benchmarks.peers.base import Found, ask_each


def ours(cell: Cell, rows: pd.DataFrame) -> list[Found]:
    def ask(row: pd.DataFrame) -> pd.DataFrame | None:
        answer = cell.explainer.explain(row)
        return answer.apply(row) if answer.found else None

    return ask_each(rows, ask)
