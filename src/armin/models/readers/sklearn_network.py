"""Multi-layer perceptrons of scikit-learn."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armin.arrays import FloatArray
from armin.errors import ModelError, UnreadableError
from armin.models.decide import AmongLinked, Target, Verdict, decide_by_score, refuse_threshold
from armin.models.kinds import Decision, LinearModel, ReluNetwork
from armin.models.read import register_model

__all__ = ["read_network"]

_NEAR = 1e-12  # outputs that differ by more than this have different softmax probabilities


def read_network(estimator: Any, target: Target) -> ReluNetwork | LinearModel:
    """Read an MLPClassifier with ReLU or identity activation.

    Identity layers are multiplied out into a linear model, in extended precision; its scores can
    differ from the layered ones in the last bits.

    >>> import numpy as np
    >>> from sklearn.neural_network import MLPClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 1, 1, 0]
    >>> mlp = MLPClassifier((4,), solver="lbfgs", random_state=0).fit(X, y)
    >>> model = read_network(mlp, Target(mlp.classes_, (1,)))
    >>> bool((model.accepts(X) == (mlp.predict(X) == 1)).all())
    True
    """
    if estimator.activation not in ("relu", "identity"):
        raise UnreadableError(
            f"An MLPClassifier is read when its activation is 'relu' or 'identity'. "
            f"This one has {estimator.activation!r}. Use ExpertOptions(method='blackbox')."
        )
    if estimator.n_outputs_ > 1 and estimator.out_activation_ != "softmax":
        raise ModelError("ARMIN reads classifiers with one output. This MLPClassifier has several. Fit one for each.")
    weights = [np.array(w, dtype=np.float64, order="K") for w in estimator.coefs_]
    biases = [np.array(b, dtype=np.float64) for b in estimator.intercepts_]
    sign, decision = _decide(estimator, target)
    weights[-1], biases[-1] = sign * weights[-1], sign * biases[-1]
    if estimator.activation == "identity":
        matrix, bias = _multiplied_out(weights, biases)
        return LinearModel(matrix, bias, decision)
    return ReluNetwork(tuple(weights), tuple(biases), decision)


def _decide(estimator: Any, target: Target) -> tuple[float, Decision]:
    verdict = Verdict(_with_identity(estimator), target)
    if estimator.n_outputs_ == 1:
        return decide_by_score(verdict, "MLPClassifier")
    refuse_threshold(target, "MLPClassifier")
    return 1.0, AmongLinked(target.accepted, estimator.n_outputs_, verdict, _NEAR)


def _multiplied_out(weights: list[FloatArray], biases: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    matrix: NDArray[np.longdouble] = weights[0].astype(np.longdouble)
    bias: NDArray[np.longdouble] = biases[0].astype(np.longdouble)
    for w, b in zip(weights[1:], biases[1:], strict=True):
        matrix, bias = matrix @ w.astype(np.longdouble), bias @ w.astype(np.longdouble) + b
    return np.ascontiguousarray(matrix.T, dtype=np.float64), bias.astype(np.float64)


def _with_identity(estimator: Any) -> Any:
    """A copy of the classifier whose inputs are its own outputs before the last activation."""
    probe = copy.copy(estimator)
    width = int(estimator.n_outputs_)
    probe.coefs_, probe.intercepts_ = [np.eye(width)], [np.zeros(width)]
    probe.n_layers_, probe.n_features_in_ = 2, width
    # what a copy may carry, and prediction does not need
    for heavy in ("feature_names_in_", "_optimizer", "_random_state", "loss_curve_", "validation_scores_"):
        vars(probe).pop(heavy, None)
    return probe


register_model("sklearn.MLPClassifier", read_network, kind="network")
