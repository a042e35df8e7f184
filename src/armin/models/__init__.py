"""Classifiers as plain arrays: the kinds, and the readers that turn fitted estimators into them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armin.models.decide import Target
    from armin.models.kinds import (
        Above,
        Among,
        BlackBox,
        Decision,
        LinearModel,
        Model,
        ReluNetwork,
        ScoreMixture,
        TreeEnsemble,
    )
    from armin.models.read import Reader, prepare_inputs, read_black_box, read_model, register_model, supported_models
    from armin.models.readers.onnx import OnnxClassifier
    from armin.models.readers.optbinning import ScorecardCut
    from armin.models.readers.statsmodels import StatsmodelsClassifier
    from armin.models.readers.torch import TorchClassifier
    from armin.models.tracing import register_transformer, traceable_transformers

__all__ = [
    "Above",
    "Among",
    "BlackBox",
    "Decision",
    "LinearModel",
    "Model",
    "OnnxClassifier",
    "Reader",
    "ReluNetwork",
    "ScoreMixture",
    "ScorecardCut",
    "StatsmodelsClassifier",
    "Target",
    "TorchClassifier",
    "TreeEnsemble",
    "prepare_inputs",
    "read_black_box",
    "read_model",
    "register_model",
    "register_transformer",
    "supported_models",
    "traceable_transformers",
]

_HOMES = (
    "kinds",
    "read",
    "decide",
    "tracing",
    "readers.torch",
    "readers.onnx",
    "readers.optbinning",
    "readers.statsmodels",
)


def __getattr__(name: str) -> Any:
    # the kinds need numpy only; the readers, which need pandas and scikit-learn, are loaded when they are asked for
    if name in __all__:
        for home in _HOMES:
            module = import_module(f"armin.models.{home}")
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module 'armin.models' has no attribute {name!r}")
