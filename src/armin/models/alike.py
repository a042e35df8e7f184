"""Whether an estimator takes a number alike in whatever type it comes: 3 as 3.0.

A column of whole numbers turns into floats where one of them is blank. Steps that only calculate with numbers do not
notice; one that turns them into text would.

>>> import numpy as np
>>> from sklearn.preprocessing import FunctionTransformer, StandardScaler
>>> takes_alike(StandardScaler()), takes_alike(FunctionTransformer(np.array_str))
(True, False)
"""

from __future__ import annotations

from typing import Any

__all__ = ["takes_alike"]

_LIBRARIES = ("sklearn", "imblearn", "xgboost", "lightgbm")
_HOLDERS = {"Pipeline": "steps", "ColumnTransformer": "transformers_", "FeatureUnion": "transformer_list"}
_STEPS = (
    "StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "PowerTransformer", "QuantileTransformer",
    "SimpleImputer",
)  # fmt: skip


def takes_alike(estimator: Any) -> bool:
    """Whether a fitted classifier, step or pipeline is known to calculate with numbers alone.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> takes_alike(make_pipeline("passthrough", LogisticRegression()))
    True
    """
    if estimator is None or isinstance(estimator, str):  # "passthrough", "drop"
        return True
    kind = type(estimator)
    if kind.__module__.split(".")[0] not in _LIBRARIES:
        return False
    if kind.__name__ in _HOLDERS:
        return all(takes_alike(part[1]) for part in getattr(estimator, _HOLDERS[kind.__name__]))
    if kind.__name__ in _STEPS or (kind.__name__ == "FunctionTransformer" and estimator.func is None):
        return True
    if hasattr(estimator, "transform") or not hasattr(estimator, "predict"):
        return False
    # a classifier of theirs, unless it holds others, which may be anything
    return not any(hasattr(value, "fit") or isinstance(value, list) for value in estimator.get_params(False).values())
