"""What a peer is: it is given a trained model, the training rows and people, and returns a plan for each, timed."""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import pandas as pd

from lab.benchmarks.cells import Cell


class AbsentError(Exception):
    """A peer cannot take part; the message says why."""


@dataclass(frozen=True, eq=False)
class Found:
    """What one person was told to become (one row, as the peer gives it), or why there is nothing."""

    plan: pd.DataFrame | None
    wall: float
    cpu: float
    note: str = ""


@dataclass(frozen=True)
class Peer:
    """A peer by its name; ``most`` is how many people it can be asked about in reasonable time."""

    name: str
    ask: Callable[[Cell, pd.DataFrame], list[Found]]
    most: int = 1000


def require(package: str, how: str) -> None:
    """Stop here if a package cannot be imported."""
    if find_spec(package) is None:
        raise AbsentError(f"not installed: {how}")


def ask_each(rows: pd.DataFrame, ask: Callable[[pd.DataFrame], pd.DataFrame | None]) -> list[Found]:
    """Ask about one row at a time; an exception is an answer that was not found."""
    found = []
    for i in range(len(rows)):
        row = rows.iloc[[i]]
        note, plan = "", None
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            wall, cpu = time.perf_counter(), time.process_time()
            try:
                plan = ask(row)
            except Exception as error:  # whatever a peer raises
                note = f"{type(error).__name__}: {error}"
            found.append(Found(plan, time.perf_counter() - wall, time.process_time() - cpu, note))
    return found
