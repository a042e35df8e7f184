"""A stored model compared with the one at hand on random rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from armin.errors import ModelError
from armin.explain.estimator import Explainer
from armin.models.oracle import Oracle
from armin.sampling.legal import uniform

__all__ = ["check_same"]

PROBES = 64


def check_same(explainer: Explainer, model: Any) -> None:
    """Refuse a stored model that decides other than the one at hand on random rows of a fitted explainer's schema."""
    rng = np.random.default_rng(0)
    codes = np.column_stack([uniform(feature, PROBES, rng) for feature in explainer.schema])
    oracle = explainer.fitted_.decision
    assert isinstance(oracle, Oracle)  # noqa: S101  before any guess
    along = getattr(explainer, "along_", None)
    if along is not None:  # what training rows carried along, as a model need not take a blank there
        oracle = oracle.carrying(along)
        places = [explainer.schema.position(name) for name in explainer.schema.carried]
        codes[:, places] = (np.arange(PROBES) % len(along))[:, None]
    table = oracle.table(codes)
    name = "predict_proba" if hasattr(explainer.classifier, "predict_proba") else "predict"
    try:
        now, then = (np.asarray(getattr(one, name)(table)) for one in (explainer.classifier, model))
    except Exception:  # a model that came from a bundle, and takes no blank in what is carried along
        if along is None and explainer.schema.carried:
            return
        raise
    if not np.array_equal(now, then):
        raise ModelError(
            f"{type(explainer.classifier).__name__} decides differently after it is stored with skops. "
            "Store it as a pickle with trust=True; the bundle then loads with trust=True only."
        )
