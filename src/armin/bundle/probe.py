"""A stored model asked about random rows: whether it decides as before, and whether it decides at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from armin.errors import ModelError
from armin.explainer.estimator import Explainer
from armin.impute.legal import uniform
from armin.models.oracle import Oracle

__all__ = ["check_same", "probe"]

PROBES = 64


def probe(explainer: Explainer, *models: Any) -> list[np.ndarray[Any, Any]]:
    """What each model says about the same random rows of a fitted explainer's schema."""
    rng = np.random.default_rng(0)
    codes = np.column_stack([uniform(feature, PROBES, rng) for feature in explainer.schema])
    oracle = Oracle(explainer.classifier, explainer.schema, explainer.fitted_.like, explainer.desired)
    along = getattr(explainer, "along_", None)
    if along is not None:  # what training rows carried along, as a model need not take a blank there
        oracle = oracle.carrying(along)
        places = [explainer.schema.position(name) for name in explainer.schema.carried]
        codes[:, places] = (np.arange(PROBES) % len(along))[:, None]
    table = oracle.table(codes)
    name = "predict_proba" if hasattr(explainer.classifier, "predict_proba") else "predict"
    try:
        return [np.asarray(getattr(one, name)(table)) for one in models]
    except Exception:  # a model that came from a bundle, and takes no blank in what is carried along
        if along is None and explainer.schema.carried:
            return []
        raise


def check_same(explainer: Explainer, model: Any) -> None:
    """Refuse a stored model that decides other than the one at hand."""
    answers = probe(explainer, explainer.classifier, model)
    if answers and not np.array_equal(answers[0], answers[1]):
        raise ModelError(
            f"{type(explainer.classifier).__name__} decides differently after it is stored with skops. "
            "Store it as a pickle with trust=True; the bundle then loads with trust=True only."
        )
