"""Calibrated classifiers that average several ones, as scikit-learn's CalibratedClassifierCV does by default.

Each fold maps the score of its own classifier by a logistic or by a table. The mean of such maps is a mixture.
"""

from __future__ import annotations

import copy
from typing import Any

from armin.models.decide import Target
from armin.models.inputs import Prepare, dense
from armin.models.kinds import Model
from armin.models.mixing import decided, set_apart, shares_of
from armin.models.read import register_model
from armin.models.readers.sklearn_meta import inner_of, prepare_inner, read_calibrated, with_inner

__all__ = ["read_any_calibrated"]


def read_any_calibrated(estimator: Any, target: Target) -> Model:
    """Read a CalibratedClassifierCV: one map of one score, or the mean of maps of several scores.

    >>> import numpy as np
    >>> from sklearn.calibration import CalibratedClassifierCV
    >>> from sklearn.svm import LinearSVC
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> calibrated = CalibratedClassifierCV(LinearSVC(), cv=3).fit(X, X[:, 0] > X[:, 1] ** 2)
    >>> model = read_any_calibrated(calibrated, Target(calibrated.classes_, (1,), threshold=0.6))
    >>> bool((model.accepts(X) == (calibrated.predict_proba(X)[:, 1] >= 0.6)).all())
    True
    """
    if _one(estimator) or not target.binary:
        return read_calibrated(estimator, target)
    _, behind = _split(estimator)
    return decided(behind, target, shares_of(behind))


def _one(estimator: Any) -> bool:
    return len(estimator.calibrated_classifiers_) == 1


def _inner(estimator: Any) -> Any:
    """The classifier inside; None where there are several."""
    return inner_of(estimator) if _one(estimator) else None


def _split(estimator: Any) -> tuple[list[Any], Any]:
    """The steps of all folds beside each other, and the folds behind them."""
    folds = estimator.calibrated_classifiers_
    if len(folds) == 1:
        return [], estimator
    beside, behind = set_apart([fold.estimator for fold in folds])
    if beside is None:
        return [], estimator
    probe = copy.copy(estimator)
    vars(probe).pop("feature_names_in_", None)
    probe.calibrated_classifiers_ = [copy.copy(fold) for fold in folds]
    for fold, member in zip(probe.calibrated_classifiers_, behind, strict=True):
        fold.estimator = member
    probe.n_features_in_ = int(behind[0].width)
    return [beside], probe


def _prepare(estimator: Any) -> Prepare:
    if _one(estimator):
        return prepare_inner(estimator)
    steps, _ = _split(estimator)
    return steps[0].transform if steps else dense


register_model(
    "sklearn.CalibratedClassifierCV", read_any_calibrated, kind="as inside", prepare=_prepare,
    inner=(_inner, with_inner), split=_split,
)  # fmt: skip
