"""Feed-forward networks of PyTorch, in a wrapper that makes a classifier of them.

PyTorch is imported only when a network is asked or read.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from armin.arrays import FloatArray
from armin.errors import ModelError, ParameterError, UnreadableError
from armin.models.decide import AmongLinked, Target, Verdict, decide_by_score, refuse_threshold
from armin.models.inputs import Prepare, dense
from armin.models.kinds import Decision, LinearModel, ReluNetwork
from armin.models.read import register_model

__all__ = ["TorchClassifier", "prepare_torch", "read_torch"]

_NEAR = 1e-4  # outputs that differ by more than this have different single-precision probabilities
_SKIPPED = ("Dropout", "AlphaDropout", "Identity", "Flatten")
_LINKS = ("Sigmoid", "Softmax")


class TorchClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A trained PyTorch module as a classifier.

    With one output, its logistic is the probability of the second class; with one output per class, their
    softmax. A module that ends in ``Sigmoid`` or ``Softmax`` is taken at its word. It runs in eval mode.

    Parameters
    ----------
    module : ``torch.nn.Sequential`` of Linear, ReLU, BatchNorm1d, Dropout, Flatten and Identity, to be read
        exactly; any module, to be used as a black box
    classes : the labels, in the order of the outputs
    threshold : the least probability of the second of two classes for ``predict`` to return it

    Examples
    --------
    >>> import pytest
    >>> torch = pytest.importorskip("torch")
    >>> layer = torch.nn.Linear(2, 1)
    >>> _ = layer.weight.data.copy_(torch.tensor([[1.0, -1.0]])), layer.bias.data.zero_()
    >>> network = TorchClassifier(torch.nn.Sequential(layer), classes=["no", "yes"])
    >>> network.predict([[2.0, 1.0], [1.0, 2.0]])
    array(['yes', 'no'], dtype='<U3')
    """

    def __init__(self, module: Any, classes: Sequence[Any], threshold: float = 0.5) -> None:
        self.module = module
        self.classes = classes
        self.threshold = threshold

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        return np.asarray(self.classes)

    @property
    def n_features_in_(self) -> int:
        """The number of inputs, from the first layer that has one."""
        for layer in self.module.modules():
            for name in ("in_features", "num_features"):
                if hasattr(layer, name):
                    return int(getattr(layer, name))
        raise AttributeError("n_features_in_")

    def fit(self, X: Any, y: Any) -> TorchClassifier:
        """Nothing: the module is trained already."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, X: Any) -> NDArray[np.floating]:
        """The probability of each class, in the module's own precision."""
        import torch

        with _in_eval_mode(self.module), torch.no_grad():
            outputs = self.module(torch.as_tensor(dense(X)).to(getattr(self, "_precision", _precision(self.module))))
            outputs = outputs.reshape(outputs.shape[0], -1)
            if outputs.shape[1] not in (1, len(self.classes)):
                raise ParameterError(
                    f"The module of a TorchClassifier must have one output, or one per class ({len(self.classes)}). "
                    f"Got {outputs.shape[1]}."
                )
            linked = type(_layers(self.module)[-1]).__name__ in _LINKS
            if outputs.shape[1] == 1:
                yes = outputs if linked else torch.sigmoid(outputs)
                outputs = torch.cat([1 - yes, yes], dim=1)
            elif not linked:
                outputs = torch.softmax(outputs, dim=1)
        return np.asarray(outputs.cpu().numpy())

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row."""
        chances = self.predict_proba(X)
        if len(self.classes) == 2:
            return np.asarray(self.classes_[(chances[:, 1] >= self.threshold).astype(np.intp)])
        return np.asarray(self.classes_[np.argmax(chances, axis=1)])


def read_torch(estimator: Any, target: Target) -> ReluNetwork | LinearModel:
    """Read a TorchClassifier around a Sequential of linear layers and ReLU.

    The weights are read as they are and multiplied in double precision. PyTorch multiplies in single
    precision, so that rows within its rounding of the boundary may differ; ``predict`` has the last word.

    >>> import pytest
    >>> torch = pytest.importorskip("torch")
    >>> _ = torch.manual_seed(0)
    >>> layers = torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Linear(4, 1)
    >>> network = TorchClassifier(torch.nn.Sequential(*layers), classes=[0, 1])
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> bool((read_torch(network, Target(network.classes_, (1,))).accepts(X) == network.predict(X)).all())
    True
    """
    weights, biases = _affine_layers(estimator.module)
    if weights[-1].shape[1] == 2 and target.binary:
        # softmax(a, b) is the logistic of b - a
        weights[-1], biases[-1] = weights[-1][:, 1:] - weights[-1][:, :1], biases[-1][1:] - biases[-1][:1]
    sign, decision = _decide(estimator, target, weights[-1].shape[1])
    weights[-1], biases[-1] = sign * weights[-1], sign * biases[-1]
    if len(weights) == 1:
        return LinearModel(np.ascontiguousarray(weights[0].T), biases[0], decision)
    return ReluNetwork(tuple(weights), tuple(biases), decision)


def prepare_torch(estimator: Any) -> Prepare:
    """Numbers, rounded to the precision of the module's weights."""
    precision = str(_precision(estimator.module)).rpartition(".")[2]
    return partial(_rounded, precision)


def _rounded(precision: str, rows: Any) -> FloatArray:
    return dense(rows).astype(precision).astype(np.float64)


class _in_eval_mode:  # noqa: N801  reads as a statement
    """Run a module in eval mode, and leave each of its parts in the mode it was in."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.before = [(part, part.training) for part in module.modules()]

    def __enter__(self) -> None:
        self.module.eval()

    def __exit__(self, *error: object) -> None:
        for part, training in self.before:
            part.training = training


def _precision(module: Any) -> Any:
    import torch

    return next((p.dtype for p in module.parameters()), torch.float32)


def _layers(module: Any) -> list[Any]:
    """The layers of nested Sequentials, one after the other."""
    if type(module).__name__ != "Sequential":
        return [module]
    return [layer for part in module for layer in _layers(part)]


def _decide(estimator: Any, target: Target, width: int) -> tuple[float, Decision]:
    if width != 1 and (width != target.classes.size or target.binary):
        raise ModelError(
            f"A TorchClassifier is read when its module has one output, or one per class. This one has {width} "
            f"for {target.classes.size} classes."
        )
    verdict = Verdict(_with_identity(estimator), target)
    if width == 1:
        return decide_by_score(verdict, "TorchClassifier")
    refuse_threshold(target, "TorchClassifier")
    return 1.0, AmongLinked(target.accepted, width, verdict, _NEAR)


def _with_identity(estimator: Any) -> TorchClassifier:
    """The same classifier, fed with its own outputs before the link; with their difference where there are two."""
    from torch import nn

    layers = _layers(estimator.module)
    tail = layers[-1:] if type(layers[-1]).__name__ in _LINKS else [nn.Identity()]
    if _n_outputs(layers) == 2 and len(estimator.classes) == 2:
        tail = [nn.Hardtanh(-1e30, 1e30), nn.ZeroPad1d((1, 0)), *tail]  # an infinite output has no softmax
    probe = TorchClassifier(nn.Sequential(*tail), estimator.classes, estimator.threshold)
    probe._precision = _precision(estimator.module)
    return probe


def _n_outputs(layers: list[Any]) -> int:
    widths = [int(layer.out_features) for layer in layers if hasattr(layer, "out_features")]
    return widths[-1] if widths else 0


def _affine_layers(module: Any) -> tuple[list[FloatArray], list[FloatArray]]:
    """The affine maps between ReLUs, neighbours multiplied out."""
    layers = _layers(module)
    if type(layers[-1]).__name__ in _LINKS:
        layers = layers[:-1]
    weights: list[FloatArray] = []
    biases: list[FloatArray] = []
    cut = True  # whether the next affine layer starts a new map
    for layer in layers:
        name = type(layer).__name__
        if name in _SKIPPED:
            continue
        if name == "ReLU":
            if not weights:
                raise UnreadableError(
                    "A TorchClassifier is read when its first layer is Linear or BatchNorm1d. Got ReLU."
                )
            cut = True
            continue
        matrix, shift = _affine(layer, name)
        if cut:
            weights.append(matrix)
            biases.append(shift)
        else:
            weights[-1], biases[-1] = weights[-1] @ matrix, biases[-1] @ matrix + shift
        cut = False
    if not weights:
        raise UnreadableError("A TorchClassifier is read when its module has a Linear layer. This one has none.")
    if cut:  # a ReLU at the end
        width = weights[-1].shape[1]
        weights.append(np.eye(width))
        biases.append(np.zeros(width))
    return weights, biases


def _affine(layer: Any, name: str) -> tuple[FloatArray, FloatArray]:
    """A layer as ``inputs @ matrix + shift``."""
    if name == "Linear":
        matrix = _numbers(layer.weight).T
        return matrix, np.zeros(matrix.shape[1]) if layer.bias is None else _numbers(layer.bias)
    if name == "BatchNorm1d" and layer.running_mean is not None:
        scale = 1.0 / np.sqrt(_numbers(layer.running_var) + layer.eps)
        shift = -_numbers(layer.running_mean) * scale
        if layer.affine:
            scale, shift = scale * _numbers(layer.weight), shift * _numbers(layer.weight) + _numbers(layer.bias)
        return np.diag(scale), shift
    raise UnreadableError(
        f"A TorchClassifier is read when its module is a Sequential of Linear, ReLU, BatchNorm1d, Dropout, Flatten and "
        f"Identity. This one has {layer!r}. Use ExpertOptions(method='blackbox')."
    )


def _numbers(tensor: Any) -> FloatArray:
    return np.array(tensor.detach().cpu().numpy(), dtype=np.float64)


register_model(TorchClassifier, read_torch, kind="network", prepare=prepare_torch)
