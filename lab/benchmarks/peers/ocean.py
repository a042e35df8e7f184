"""OCEAN's constraint programme: the nearest accepted point of a forest or of boosted trees, proved by CP-SAT.

Nearest in the ℓ1 distance of the columns that the model was trained on; it cannot be told what may not change.
"""

from __future__ import annotations

import copy
import sys
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from lab.benchmarks.cells import Cell
from lab.benchmarks.peers.base import AbsentError, Found, ask_each, require

LIMIT = 60  # seconds


def ocean(cell: Cell, rows: pd.DataFrame) -> list[Found]:
    encoder, model = cell.explainer.classifier
    if not (isinstance(model, RandomForestClassifier) or type(model).__name__ == "XGBClassifier"):
        raise AbsentError("for trees only")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    older = f", which needs Python 3.12 (this is {version})" if sys.version_info < (3, 12) else ""
    require("ocean", f"pip install oceanpy{older}")
    from ocean import ConstraintProgrammingExplainer
    from ocean.feature import parse_features

    schema = cell.explainer.schema
    categories = tuple(f.name for f in schema if not pd.api.types.is_numeric_dtype(cell.train[f.name].dtype))
    whole = tuple(f.name for f in schema if f.kind == "integer")
    processed, mapper = parse_features(
        cell.train, discretes=whole, encoded=categories, drop_na=False, drop_constant=False, scale=False
    )
    if not np.array_equal(processed.to_numpy(dtype=float), np.asarray(encoder.transform(cell.train), dtype=float)):
        raise AbsentError("it would encode these columns in another way than the model")
    method = ConstraintProgrammingExplainer(_named(model, processed.columns), mapper=mapper)
    desired = list(model.classes_).index(cell.desired)

    def ask(row: pd.DataFrame) -> pd.DataFrame | None:
        point = np.asarray(encoder.transform(row), dtype=float)[0]
        found = method.explain(point, y=desired, norm=1, max_time=LIMIT, num_workers=2, random_seed=0)
        return None if found is None else _decoded(found.x, processed.columns, row)

    return ask_each(rows, ask)


def _named(model: Any, columns: pd.Index) -> Any:
    """The model with the names of its columns, which OCEAN looks for in boosted trees."""
    if isinstance(model, RandomForestClassifier):
        return model
    named = copy.deepcopy(model)
    named.get_booster().feature_names = [
        " ".join(part for part in column if part) if isinstance(column, tuple) else column for column in columns
    ]
    return named


def _decoded(point: np.ndarray, columns: Any, row: pd.DataFrame) -> pd.DataFrame:
    """A point of OCEAN's coordinates as a row."""
    plan = row.copy()
    for name in row.columns:
        at = [i for i, column in enumerate(columns) if (column[0] if isinstance(column, tuple) else column) == name]
        value = point[at[0]] if len(at) == 1 else columns[at[int(np.argmax(point[at]))]][1]
        kind = row[name].dtype
        if pd.api.types.is_integer_dtype(kind) and float(value) != round(float(value)):
            kind = np.dtype(float)  # judged as it is
        plan[name] = pd.Series([value], index=row.index).astype(kind)
    return plan
