"""What a plan is worth: the user's own ``predict``, the schema, and our cost; one judge for all peers and for us."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from armin import Feature
from lab.benchmarks.cells import Cell


@dataclass(frozen=True)
class Verdict:
    """One plan: accepted or not, which constraints it breaks, what it costs, and how many features it changes."""

    valid: bool
    broken: tuple[str, ...]
    cost: float
    changes: int


def judge(cell: Cell, row: pd.DataFrame, plan: pd.DataFrame) -> Verdict:
    """Judge one plan for one complete row."""
    schema = cell.explainer.schema
    before = schema.encode(row)[0]
    values = [plan[feature.name].iloc[0] for feature in schema]
    after = np.array([code_of(feature, value) for feature, value in zip(schema, values, strict=True)])
    broken = {
        word for i, feature in enumerate(schema) for word in broken_by(feature, values[i], before[i], after[i])
    } | {"rule" for rule in schema.rules if not rule.allows(schema, before[None], after[None]).all()}
    changes = int(np.sum(before != after))
    if np.isnan(after).any():  # no such value: nothing to show to the model, and no price
        return Verdict(False, tuple(sorted(broken)), math.inf, changes)
    known = cell.explainer.fitted_.cost
    cost = float(sum(known.table(i, before[i : i + 1], after[i : i + 1, None])[0, 0] for i in range(len(schema))))
    return Verdict(accepted(cell, row, plan), tuple(sorted(broken)), cost, changes)


def code_of(feature: Feature, value: object) -> float:
    """The code of a value, pulled into the bounds; NaN if there is none."""
    try:
        if feature.is_number:
            return float(np.clip(float(value), feature.low_code, feature.high_code))  # type: ignore[arg-type]
        return feature.code(value)
    except (TypeError, ValueError):
        return math.nan


def broken_by(feature: Feature, value: object, before: float, after: float) -> set[str]:
    """The constraints of one feature that a new value breaks: kind, category, bounds, immutable, direction."""
    if math.isnan(after):
        return {"kind" if feature.is_number else "category"}
    broken = set()
    if feature.is_number:
        number = float(value)  # type: ignore[arg-type]
        slack = 1e-9 * max(1.0, abs(number))
        if abs(number - after) > slack:
            broken.add("bounds")
        if feature.kind == "integer" and number != round(number):
            broken.add("kind")
    if after != before:
        if not feature.actionable:
            broken.add("immutable")
        elif (after - before) * {"increase": 1, "decrease": -1}.get(feature.direction, 0) < 0:
            broken.add("direction")
    return broken


def accepted(cell: Cell, row: pd.DataFrame, plan: pd.DataFrame) -> bool:
    """Whether the user's model accepts a plan as it stands; its columns get the types of the row if they hold them."""
    typed = plan[list(row.columns)].reset_index(drop=True)
    for name, kind in row.dtypes.items():
        column = typed[name]
        if pd.api.types.is_integer_dtype(kind):
            column = pd.to_numeric(column)
            if (column != column.round()).any():
                continue
        typed[name] = column.astype(kind)
    return bool(np.asarray(cell.explainer.classifier.predict(typed))[0] == cell.desired)
