"""Batches of people with blanks, and all that an answer holds but how long it took."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd

from armin.recourse import Failure, Recourse

from worlds import make_world

TIMES = {"seconds", "seconds_by_step", "certificate"}


def said(answer: Recourse | Failure) -> dict[str, Any]:
    """All of an answer but how long it took."""
    if isinstance(answer, Failure):
        return {"error": str(answer.error)}
    found = {field.name: getattr(answer, field.name) for field in fields(answer) if field.name not in TIMES}
    return found | {"certified": None if answer.certificate is None else answer.certificate.to_dict()}


def crowd(kind: str, seed: int, n: int = 9) -> tuple[Any, pd.DataFrame]:
    world = make_world(seed, kind, blanks=2)
    frame = world.X.head(n).astype(object)
    rng = np.random.default_rng(seed)
    for i in range(n):
        for name in rng.choice(frame.columns, i % 3, replace=False):
            frame.loc[frame.index[i], name] = None
    return world, frame


class Stricter:
    """A model that refuses some of what its reading accepts."""

    def __init__(self, judge: Any, column: int, least: float) -> None:
        self.judge, self.column, self.least = judge, column, least

    def accepts(self, codes: Any) -> Any:
        return self.judge.accepts(codes) & ~(codes[:, self.column] < self.least)
