"""Linear classifiers of scikit-learn: a score, or one score per class."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armin.arrays import FloatArray
from armin.errors import ModelError, UnreadableError
from armin.models.decide import Target, Verdict, decide_by_score, refuse_threshold
from armin.models.kinds import Above, Among, LinearModel
from armin.models.read import register_model

__all__ = ["read_linear", "read_svc"]


def read_linear(estimator: Any, target: Target) -> LinearModel:
    """Read a classifier whose ``predict`` ranks ``X @ coef_.T + intercept_``.

    >>> import numpy as np
    >>> from sklearn.svm import LinearSVC
    >>> svc = LinearSVC().fit([[0.0], [1.0]], [0, 1])
    >>> read_linear(svc, Target(svc.classes_, (1,))).decision == Above.strictly(0.0)
    True
    """
    name = type(estimator).__name__
    if getattr(getattr(estimator, "_label_binarizer", None), "y_type_", "").startswith("multilabel"):
        raise ModelError(f"ARMIN reads classifiers with one output. This {name} has several. Fit one for each.")
    if not isinstance(estimator.coef_, np.ndarray):
        raise UnreadableError(f"The coefficients of this {name} are sparse. Call its densify() first.")
    weights, intercept = _coefficients(estimator)
    if weights.shape[0] > 1:
        refuse_threshold(target, name)
        return LinearModel(weights, intercept, Among(target.accepted, weights.shape[0]))
    sign, decision = decide_by_score(Verdict(_with_identity(estimator), target), name)
    return LinearModel(sign * weights, sign * intercept, decision)


def read_svc(estimator: Any, target: Target) -> LinearModel:
    """Read a support vector classifier of two classes with a linear kernel.

    ``predict`` adds up the support vectors one by one; the weights here are their sum, so that
    rows within rounding (about 1e-15 of the score's terms) of the boundary may differ.

    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> svc = SVC(kernel="linear").fit([[0.0], [1.0]], [0, 1])
    >>> read_svc(svc, Target(svc.classes_, (1,))).accepts(np.array([[0.4], [0.6]]))
    array([False,  True])
    """
    if estimator.kernel != "linear" or not target.binary:
        raise UnreadableError(
            f"An SVC is read when it has a linear kernel and two classes. This one has kernel="
            f"{estimator.kernel!r} and {target.classes.size} classes. Use LinearSVC, or "
            "ExpertOptions(method='blackbox')."
        )
    if target.around is None:
        refuse_threshold(target, "SVC")  # its probabilities come from a second model, fitted by cross-validation
    if not isinstance(estimator.coef_, np.ndarray):
        raise UnreadableError("The coefficients of this SVC are sparse. Fit it on a dense matrix.")
    weights, intercept = _coefficients(estimator)
    if target.around is not None:
        sign, decision = decide_by_score(Verdict(_Scores(), target), "SVC")
        return LinearModel(sign * weights, sign * intercept, decision)
    # libsvm calls for classes_[0] when its own score, the negative of this one, is > 0
    if target.accepted == (1,):
        return LinearModel(weights, intercept, Above(0.0))
    return LinearModel(-weights, -intercept, Above.strictly(0.0))


class _Scores:
    """A classifier whose input is its own decision function."""

    def decision_function(self, scores: NDArray[np.floating]) -> NDArray[np.floating]:
        return scores[:, 0]


def _coefficients(estimator: Any) -> tuple[FloatArray, FloatArray]:
    # the memory order is kept: BLAS adds up in another order for another layout
    weights: FloatArray = np.array(estimator.coef_, dtype=np.float64, order="K", ndmin=2)
    intercept: NDArray[np.float64] = np.array(estimator.intercept_, dtype=np.float64, ndmin=1)
    return weights, np.broadcast_to(intercept, (weights.shape[0],)).copy()


def _with_identity(estimator: Any) -> Any:
    """A copy of a binary classifier whose only input is its own score."""
    probe = copy.copy(estimator)
    probe.coef_, probe.intercept_, probe.n_features_in_ = np.ones((1, 1)), np.zeros(1), 1
    vars(probe).pop("feature_names_in_", None)
    return probe


_NAMES = (
    "LogisticRegression", "LogisticRegressionCV", "LinearSVC", "SGDClassifier", "RidgeClassifier", "RidgeClassifierCV",
    "Perceptron", "PassiveAggressiveClassifier", "LinearDiscriminantAnalysis",
)  # fmt: skip
register_model([f"sklearn.{name}" for name in _NAMES], read_linear, kind="linear")
register_model("sklearn.SVC", read_svc, kind="linear")
