"""DiCE: random changes until the model accepts, or a genetic search.

It is told which features may change and, for numbers, the range that bounds and directions leave to this person. Of
several counterfactuals the best by our measure is taken: accepted, then within the constraints, then the cheapest.
"""

from __future__ import annotations

import os
import warnings
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from lab.benchmarks.cells import Cell
from lab.benchmarks.peers.base import Found, ask_each, require
from lab.benchmarks.peers.judged import judge


def dice(cell: Cell, rows: pd.DataFrame, method: str, count: int) -> list[Found]:
    """The best of ``count`` counterfactuals of one of DiCE's methods, for each row."""
    os.environ["TQDM_DISABLE"] = "1"
    require("dice_ml", "pip install --group bench, then --no-deps --group peers")
    import dice_ml

    schema = cell.explainer.schema
    vary = [feature.name for feature in schema if feature.actionable]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = dice_ml.Data(
            dataframe=cell.train.assign(_label=cell.labels), outcome_name="_label",
            continuous_features=[feature.name for feature in schema if feature.is_number],
        )  # fmt: skip
        model = dice_ml.Model(model=cell.explainer.classifier, backend="sklearn")
        engine = dice_ml.Dice(data, model, method=method)

    def ask(row: pd.DataFrame) -> pd.DataFrame | None:
        seeded: dict[str, Any] = {"random_seed": 0} if method == "random" else {}
        np.random.seed(0)  # noqa: NPY002  the genetic search has no other seed
        found = engine.generate_counterfactuals(
            row, total_CFs=count, desired_class=cell.desired, features_to_vary=vary,
            permitted_range=_ranges(cell, row), verbose=False, **seeded,
        )  # fmt: skip
        plans = found.cf_examples_list[0].final_cfs_df
        if plans is None or plans.empty:
            return None
        return min((plans.iloc[[i]] for i in range(len(plans))), key=partial(_rank, cell, row))

    return ask_each(rows, ask)


def _ranges(cell: Cell, row: pd.DataFrame) -> dict[str, list[float]]:
    """Where a number may go. DiCE refuses what lies outside of the training rows."""
    ranges = {}
    for feature in cell.explainer.schema:
        if feature.actionable and feature.is_number:
            column, now = cell.train[feature.name], row[feature.name].iloc[0]
            low, high = column.min(), column.max()
            low = max(low, min(now, high)) if feature.direction == "increase" else low
            high = min(high, max(now, low)) if feature.direction == "decrease" else high
            ranges[feature.name] = [low, high]
    return ranges


def _rank(cell: Cell, row: pd.DataFrame, plan: pd.DataFrame) -> tuple[bool, int, float]:
    verdict = judge(cell, row, plan)
    return not verdict.valid, len(verdict.broken), verdict.cost


def dice_one(cell: Cell, rows: pd.DataFrame) -> list[Found]:
    return dice(cell, rows, "random", 1)


def dice_random(cell: Cell, rows: pd.DataFrame) -> list[Found]:
    return dice(cell, rows, "random", 10)


def dice_genetic(cell: Cell, rows: pd.DataFrame) -> list[Found]:
    return dice(cell, rows, "genetic", 1)
