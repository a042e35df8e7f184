"""Steps that mix columns linearly, multiplied into the first layer of a model."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from armin.arrays import FloatArray
from armin.models.inputs import dense
from armin.models.kinds import LinearModel, Model, ReluNetwork
from armin.models.tracing import UntraceableError

__all__ = ["affine", "fold"]


def fold(model: Model, steps: Collection[Any], why: UntraceableError) -> Model:
    """Fold steps that mix columns linearly into the first layer of a linear model or network."""
    maps = [affine(step) for step in steps]
    if any(found is None for found in maps):
        raise why
    if not isinstance(model, LinearModel | ReluNetwork):
        raise UntraceableError(
            f"The steps {', '.join(type(step).__name__ for step in steps)} mix columns, which can be followed exactly "
            f"for linear models and ReLU networks, not for a {type(model).__name__}. Use "
            "ExpertOptions(method='blackbox'), or train "
            "the model without them."
        )
    for found in reversed(maps):
        assert found is not None  # noqa: S101  checked above
        matrix, shift = found  # outputs = inputs @ matrix + shift
        if isinstance(model, LinearModel):
            model = replace(model, weights=model.weights @ matrix.T, intercept=model.intercept + model.weights @ shift)
        else:
            first = model.weights[0]
            model = replace(
                model,
                weights=(matrix @ first, *model.weights[1:]),
                biases=(model.biases[0] + shift @ first, *model.biases[1:]),
            )
    return model


_AFFINE = ("PCA", "IncrementalPCA", "TruncatedSVD", "StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")
_FAR = 2.0**40  # so far out that the shift does not blur the slope, and a power of two, so that nothing else does


def affine(step: Any) -> tuple[FloatArray, FloatArray] | None:
    """The matrix and shift of a step that is known to be affine, found by asking it for a basis."""
    if type(step).__name__ not in _AFFINE or type(step).__module__.split(".")[0] != "sklearn":
        return None
    if getattr(step, "clip", False):
        return None
    n = int(step.n_features_in_)
    basis: Any = np.vstack([np.zeros(n), np.eye(n) * _FAR])
    if hasattr(step, "feature_names_in_"):
        basis = pd.DataFrame(basis, columns=step.feature_names_in_)
    images = dense(step.transform(basis))
    return (images[1:] - images[0]) / _FAR, images[0]
