"""ONNX files of trees, linear classifiers and ReLU networks, as skl2onnx writes them, run by onnxruntime.

The steps before the classifier are run by onnxruntime itself, column by column. How scores become a label and
probabilities is asked of onnxruntime too, of the same file with scores in the place of the classifier's inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from armin.arrays import FloatArray
from armin.errors import ModelError, UnreadableError
from armin.models.decide import AmongLinked, Target, Verdict, decide_by_score, refuse_threshold
from armin.models.inputs import Prepare, dense
from armin.models.kinds import Among, Decision, LinearModel, ReluNetwork, TreeEnsemble
from armin.models.nodes import plant
from armin.models.parts import ColumnParts
from armin.models.read import register_model
from armin.models.readers.onnx_cores import LinearCore, NetworkCore, TreesCore, find_core
from armin.models.readers.onnx_graph import Graph, attributes, changed, column_traces, tensors

__all__ = ["OnnxClassifier", "prepare_onnx", "read_onnx", "split_onnx"]

_AnyCore = TreesCore | LinearCore | NetworkCore
_NEAR = 1e-4  # scores that differ by more than this have different single-precision probabilities


class OnnxClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier from an ONNX file, run by onnxruntime in one thread.

    The file has one input of numbers, or one input for each column, and gives a label and then probabilities, as
    skl2onnx and onnxmltools write it.

    Parameters
    ----------
    model : the path of the file, its bytes, or an ``onnx.ModelProto``
    classes : the labels in their order, if the file does not name them

    Examples
    --------
    >>> import pytest
    >>> skl2onnx, _ = pytest.importorskip("skl2onnx"), pytest.importorskip("onnxruntime")
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 2.0]], dtype=np.float32), ["no", "no", "yes", "yes"]
    >>> file = skl2onnx.to_onnx(LogisticRegression().fit(X, y), X[:1])
    >>> OnnxClassifier(file).predict(X)
    array(['no', 'no', 'yes', 'yes'], dtype=object)
    """

    def __init__(self, model: Any, classes: Sequence[Any] | None = None) -> None:
        self.model = model
        self.classes = classes

    def __getstate__(self) -> dict[str, Any]:
        # a session cannot be pickled, and a path may not be there later
        return {"model": self.content, "classes": self.classes}

    @cached_property
    def content(self) -> bytes:
        """The file, and in it the weights that it may keep in files beside it."""
        if isinstance(self.model, str | Path):
            return _whole(Path(self.model).read_bytes(), Path(self.model).parent)
        return _whole(self.model if isinstance(self.model, bytes) else bytes(self.model.SerializeToString()), None)

    @cached_property
    def graph(self) -> Graph:
        """The nodes of the file."""
        import onnx

        return Graph(onnx.load_model_from_string(self.content))

    @cached_property
    def session(self) -> Any:
        """What runs the file."""
        return _session(self.content)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        if self.classes is not None:
            return np.asarray(self.classes)
        for node in self.graph.nodes:
            found = attributes(node)
            for name in ("classlabels_strings", "classlabels_int64s", "classlabels_ints"):
                if found.get(name):
                    return np.asarray(found[name], dtype=object if name == "classlabels_strings" else np.int64)
        for name in ("classes", "label_classes"):  # where skl2onnx keeps the labels of a network
            if name in self.graph.constants:
                known = self.graph.constants[name].ravel().tolist()
                return np.array([k.decode() if isinstance(k, bytes) else k for k in known])
        raise AttributeError("classes_")

    @property
    def n_features_in_(self) -> int:
        """The number of columns."""
        return sum(len(held) for held in self.graph.columns.values())

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the columns, where each is an input of its own."""
        if len(self.graph.inputs) == 1:
            raise AttributeError("feature_names_in_")
        return np.array([value.name for value in self.graph.inputs], dtype=object)

    def fit(self, X: Any, y: Any) -> OnnxClassifier:
        """Nothing: the classifier is trained already."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row."""
        return np.asarray(self.session.run([self.session.get_outputs()[0].name], self.feed(X))[0]).ravel()

    def predict_proba(self, X: Any) -> NDArray[np.floating]:
        """The probability of each class, in single precision."""
        found = self.session.run([self.session.get_outputs()[1].name], self.feed(X))[0]
        if isinstance(found, list):  # of one dictionary for each row
            return np.array([[row[label] for label in self.classes_.tolist()] for row in found], dtype=np.float32)
        if np.shape(found) != (np.shape(found)[0], self.classes_.size):
            raise ModelError(
                f"The second output of this ONNX model has shape {np.shape(found)} for {self.classes_.size} labels: it "
                "holds no probabilities. Leave out threshold, or calibrate the model before it is written."
            )
        return np.asarray(found)

    def feed(self, X: Any) -> dict[str, NDArray[Any]]:
        """Rows as the inputs of the file."""
        if len(self.graph.inputs) == 1:
            return {self.graph.inputs[0].name: _as_input(self.graph.inputs[0], dense(X))}
        rows = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X, columns=self.feature_names_in_)
        return {v.name: _as_input(v, rows[[v.name]].to_numpy()) for v in self.graph.inputs}


def read_onnx(estimator: Any, target: Target) -> LinearModel | ReluNetwork | TreeEnsemble:
    """Read an OnnxClassifier behind the steps of its file.

    Trees are compared and added in single precision, as onnxruntime does in one thread, to the last bit. Linear
    classifiers and networks are multiplied in double precision, and onnxruntime multiplies in single precision: rows
    within its rounding of the boundary may differ, and ``predict`` has the last word.

    >>> import pytest
    >>> skl2onnx, _ = pytest.importorskip("skl2onnx"), pytest.importorskip("onnxruntime")
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X = np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32)
    >>> forest = OnnxClassifier(skl2onnx.to_onnx(RandomForestClassifier(5).fit(X, X[:, 0] > X[:, 1]), X[:1]))
    >>> model = read_onnx(forest, Target(forest.classes_, (1,)))
    >>> bool((model.accepts(X) == (forest.predict(X) == forest.classes_[1])).all())
    True
    """
    core = find_core(estimator.graph)
    verdict = partial(_verdict, core, estimator.classes_, target)
    sign, decision = _decide(core, verdict, target)
    if isinstance(core, TreesCore):
        trees = core.trees(sign)
        return plant(
            trees, sign * core.base, decision, core.n_inputs, strict=core.strict, input_precision="float32",
            precision="float32", base_last=True,
        )  # fmt: skip
    if isinstance(core, LinearCore):
        return LinearModel(sign * core.weights, sign * core.intercept, decision)
    weights, biases = list(core.weights), list(core.biases)
    weights[-1], biases[-1] = sign * weights[-1], sign * biases[-1]
    if len(weights) == 1:
        return LinearModel(np.ascontiguousarray(weights[0].T), biases[0], decision)
    return ReluNetwork(tuple(weights), tuple(biases), decision)


def _decide(core: _AnyCore, verdict: Any, target: Target) -> tuple[float, Decision]:
    name = "OnnxClassifier"
    if core.n_scores != (1 if target.binary else target.classes.size):
        raise UnreadableError(
            f"An {name} is read when it has one score for two classes, or one for each of more. This one has "
            f"{core.n_scores} for {target.classes.size} classes. Use ExpertOptions(method='blackbox')."
        )
    if core.n_scores == 1:
        return decide_by_score(verdict, name, "float32")
    refuse_threshold(target, name)
    if isinstance(core, NetworkCore):  # it ranks rounded probabilities
        return 1.0, AmongLinked(target.accepted, core.n_scores, verdict, _NEAR)
    return 1.0, Among(target.accepted, core.n_scores)


def _verdict(core: _AnyCore, classes: NDArray[Any], target: Target, scores: NDArray[np.floating]) -> NDArray[np.bool_]:
    """What onnxruntime says about scores (n, n_scores)."""
    probe = OnnxClassifier(core.given(np.asarray(scores, dtype=np.float32)), classes=classes.tolist())
    return Verdict(_Scored(probe, core), target)(scores)


class _Scored:
    """The file, given scores."""

    def __init__(self, probe: OnnxClassifier, core: _AnyCore) -> None:
        self.probe, self.core = probe, core

    def predict(self, scores: Any) -> NDArray[Any]:
        return self.probe.predict(self.core.rows(scores))

    def predict_proba(self, scores: Any) -> NDArray[np.floating]:
        return self.probe.predict_proba(self.core.rows(scores))


def prepare_onnx(estimator: Any) -> Prepare:
    """What reaches the classifier of the file, as onnxruntime makes it."""
    (parts,), _ = split_onnx(estimator)
    return partial(ColumnParts.transform, parts)


def split_onnx(estimator: OnnxClassifier) -> tuple[list[Any], _Core]:
    """An OnnxClassifier as the steps of its file, column by column, and the classifier behind them."""
    graph, core = estimator.graph, find_core(estimator.graph)
    behind = column_traces(graph, core.input, graph.columns)
    names = None if len(graph.inputs) == 1 else [value.name for value in graph.inputs]
    return [ColumnParts(_Before(estimator, core.input), behind, names)], _Core(estimator)


class _Before:
    """The steps of a file up to a tensor."""

    def __init__(self, outer: OnnxClassifier, tensor: str) -> None:
        self.outer, self.tensor = outer, tensor

    def __getstate__(self) -> dict[str, Any]:
        return {"outer": self.outer, "tensor": self.tensor}

    @cached_property
    def session(self) -> Any:
        graph = self.outer.graph
        return _session(changed(graph.proto, nodes=graph.before([self.tensor]), outputs=[self.tensor]))

    def __call__(self, rows: Any) -> FloatArray:
        fed = self.outer.feed(rows)
        if self.tensor in fed:
            return np.asarray(fed[self.tensor], dtype=np.float64)
        return np.asarray(self.session.run([self.tensor], fed)[0], dtype=np.float64)


class _Core:
    """The classifier of a file behind its steps."""

    def __init__(self, outer: OnnxClassifier) -> None:
        self.outer = outer

    @property
    def classes_(self) -> NDArray[Any]:
        return self.outer.classes_

    def predict_proba(self, X: Any) -> NDArray[np.floating]:
        """Not asked: it says that there are probabilities."""
        raise ModelError("The classifier inside an OnnxClassifier is read, not asked.")


def _read_core(core: _Core, target: Target) -> LinearModel | ReluNetwork | TreeEnsemble:
    return read_onnx(core.outer, target)


def _whole(content: bytes, folder: Path | None) -> bytes:
    """A file with all its weights in it; those that are outside are looked for in a folder and nowhere else."""
    import onnx
    from onnx.external_data_helper import uses_external_data

    proto = onnx.load_model_from_string(content)
    outside = [tensor for tensor in tensors(proto.graph) if uses_external_data(tensor)]
    if not outside:
        return content
    named = next((entry.value for entry in outside[0].external_data if entry.key == "location"), "")
    if folder is None:
        raise ModelError(
            f"This ONNX model keeps its weights in another file, {named!r}. Pass the path of the model, so that the "
            "file is found beside it; or load it with onnx.load(path)."
        )
    try:
        onnx.load_external_data_for_model(proto, str(folder))
    except (OSError, ValueError, RuntimeError, onnx.checker.ValidationError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ModelError(
            f"The weights of this ONNX model must be in the file {named!r} in {str(folder)!r}, beside the model, and "
            f"cannot be read from there ({reason})."
        ) from None
    return bytes(proto.SerializeToString())


def _session(content: bytes) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # sums in one order
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def _as_input(value: Any, rows: NDArray[Any]) -> NDArray[Any]:
    """Rows in the type of an input."""
    from onnx import TensorProto, helper

    kind = value.type.tensor_type.elem_type
    if kind == TensorProto.STRING:
        return rows.astype(str).astype(object)
    return rows.astype(helper.tensor_dtype_to_np_dtype(kind))


register_model(OnnxClassifier, read_onnx, kind="as the file", prepare=prepare_onnx, split=split_onnx)
register_model(_Core, _read_core, kind="part")
