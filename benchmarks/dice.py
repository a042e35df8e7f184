"""DiCE on the complete row: what people use today. It never sees a blank, and it proves nothing."""

from __future__ import annotations

import os
import time
import warnings

import numpy as np
import pandas as pd

from benchmarks.cells import Cell


def dice_costs(cell: Cell, count: int) -> tuple[list[float], list[float]] | None:
    """Seconds and costs (ours) of DiCE's answers for the first rows, or None if DiCE is not installed."""
    os.environ["TQDM_DISABLE"] = "1"
    try:
        import dice_ml
    except ImportError:
        return None
    explainer, schema = cell.explainer, cell.explainer.schema
    train = cell.train.assign(label=cell.labels)
    numbers = [f.name for f in schema if f.is_number]
    vary = [f.name for f in schema if f.actionable]
    seconds, costs = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = dice_ml.Data(dataframe=train, continuous_features=numbers, outcome_name="label")
        dice = dice_ml.Dice(data, dice_ml.Model(model=explainer.classifier, backend="sklearn"), method="random")
        for i in range(min(count, len(cell.complete))):
            row = cell.complete.iloc[[i]]
            start = time.perf_counter()
            try:
                found = dice.generate_counterfactuals(
                    row, total_CFs=1, desired_class=0, features_to_vary=vary, random_seed=0, verbose=False
                )
                after = found.cf_examples_list[0].final_cfs_df
            except Exception:
                after = None
            seconds.append(time.perf_counter() - start)
            costs.append(np.inf if after is None or after.empty else _cost(cell, row, after.iloc[[0]]))
    return seconds, costs


def _cost(cell: Cell, row: pd.DataFrame, after: pd.DataFrame) -> float:
    explainer, schema = cell.explainer, cell.explainer.schema
    target = after[schema.names].astype(row[schema.names].dtypes.to_dict(), errors="ignore")
    try:
        before, new = schema.encode(row)[0], schema.encode(target, clip=True)[0]
    except ValueError:
        return np.inf
    tables = [explainer.fitted_.cost.table(i, before[i : i + 1], new[i : i + 1, None]) for i in range(len(schema))]
    return float(sum(t[0, 0] for t in tables))
