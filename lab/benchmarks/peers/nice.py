"""NICE: the nearest training row that the model accepts, taken over feature by feature until the model accepts.

It cannot be told what may not change.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from lab.benchmarks.cells import Cell
from lab.benchmarks.peers.base import Found, ask_each, require


def nice(cell: Cell, rows: pd.DataFrame) -> list[Found]:
    require("nice", "pip install --no-deps NICEx (it asks for pandas < 2, and runs with newer ones)")
    from nice import NICE

    schema, classifier = cell.explainer.schema, cell.explainer.classifier
    kinds = cell.train.dtypes.to_dict()
    numbers = all(pd.api.types.is_numeric_dtype(kind) for kind in kinds.values())

    def frame(values: np.ndarray) -> pd.DataFrame:
        made = pd.DataFrame(values, columns=list(kinds))
        return made if numbers else made.astype(kinds)  # numbers are as good as floats, and it takes milliseconds

    def scores(values: np.ndarray) -> np.ndarray:
        return np.asarray(classifier.predict_proba(frame(values)))

    def array(part: pd.DataFrame) -> np.ndarray:  # it writes into what it is given
        return part.to_numpy(dtype=np.float64 if numbers else object, copy=True)

    method = NICE(
        predict_fn=scores, X_train=array(cell.train), y_train=np.asarray(cell.labels),
        cat_feat=[i for i, feature in enumerate(schema) if not feature.is_number],
        optimization="sparsity", justified_cf=True,
    )  # fmt: skip
    desired = [list(classifier.classes_).index(cell.desired)]
    return ask_each(rows, lambda row: frame(method.explain(array(row), target_class=desired)))
