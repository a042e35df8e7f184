"""The classifier in an ONNX graph: trees, a linear classifier, or layers with ReLU between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from armin.arrays import FloatArray, IntArray
from armin.errors import UnreadableError
from armin.models.nodes import OneTree
from armin.models.readers.onnx_graph import Graph, attributes, changed, column_traces

__all__ = ["LinearCore", "NetworkCore", "TreesCore", "find_core"]

_SCORES = "armin_scores"
_LINKS = (
    "Sigmoid", "Softmax", "Normalizer", "Sub", "Concat", "ArgMax", "ArrayFeatureExtractor", "LabelEncoder", "Reshape",
    "Squeeze", "Unsqueeze", "Flatten", "Cast", "Identity", "ZipMap", "Constant",
)  # fmt: skip
AnyCore = TypeVar("AnyCore", bound="TreesCore | LinearCore | NetworkCore")


def find_core(graph: Graph) -> TreesCore | LinearCore | NetworkCore:
    """The classifier of a graph."""
    for node in graph.nodes:
        if node.op_type == "TreeEnsembleClassifier":
            return _alone(TreesCore.of(graph, node), [node])
        if node.op_type == "LinearClassifier":
            return _alone(LinearCore.of(graph, node), [node])
    if any(node.op_type in ("MatMul", "Gemm") for node in graph.nodes):
        network = NetworkCore.of(graph)
        return _alone(network, graph.before([network.last], [network.input]))
    kinds = ", ".join(dict.fromkeys(node.op_type for node in graph.nodes))
    raise UnreadableError(
        "An ONNX model is read when it holds a TreeEnsembleClassifier, a LinearClassifier, or MatMul, Gemm, Add and "
        f"Relu. This one is made of {kinds}. Use ExpertOptions(method='blackbox')."
    )


def _alone(core: AnyCore, own: list[Any]) -> AnyCore:
    """A classifier that is followed by nothing but what makes labels and probabilities of its scores."""
    known = {id(node) for node in [*own, *core.graph.before([core.input])]}
    names = [value.name for value in core.graph.proto.graph.output]
    odd = [n.op_type for n in core.graph.before(names) if id(n) not in known and n.op_type not in _LINKS]
    if odd:
        raise UnreadableError(
            "An ONNX model is read when its scores are followed by labels and probabilities only. This one goes on "
            f"with {odd[0]}. Use ExpertOptions(method='blackbox')."
        )
    return core


@dataclass(frozen=True, eq=False)
class TreesCore:
    """A TreeEnsembleClassifier.

    Attributes
    ----------
    graph, node : the model, and its classifier
    found : the node's attributes
    columns : the class behind each score; one where the file gives the scores of one class only
    """

    graph: Graph
    node: Any
    found: dict[str, Any]
    columns: list[int]

    @classmethod
    def of(cls, graph: Graph, node: Any) -> TreesCore:
        """The trees of a node; refused where they are not compared with ``<=`` or ``<`` throughout."""
        found = attributes(node)
        _check_lists(found, "nodes_values", "class_weights", "class_ids")
        modes = {str(mode) for mode in found["nodes_modes"]} - {"LEAF"}
        odd = modes - {"BRANCH_LEQ", "BRANCH_LT"}
        if odd or len(modes) > 1:
            raise UnreadableError(
                "ONNX trees are read when all their nodes are BRANCH_LEQ, or all BRANCH_LT. These have "
                f"{', '.join(sorted(modes))}. Use ExpertOptions(method='blackbox')."
            )
        named = found.get("classlabels_strings") or found.get("classlabels_int64s") or []
        used = sorted(set(found["class_ids"]))
        if len(found.get("base_values") or [0.0]) not in (1, len(named)) or "base_values_as_tensor" in found:
            raise UnreadableError(
                "ONNX trees are read when they start from one number for each class. Use "
                "ExpertOptions(method='blackbox')."
            )
        return cls(graph, node, found, used if len(used) == 1 and len(named) == 2 else list(range(len(named))))

    @property
    def input(self) -> str:
        return str(self.node.input[0])

    @property
    def n_scores(self) -> int:
        return len(self.columns)

    @property
    def n_inputs(self) -> int:
        return len(column_traces(self.graph, self.input, self.graph.columns))

    @property
    def strict(self) -> bool:
        return "BRANCH_LT" in self.found["nodes_modes"]

    @property
    def base(self) -> NDArray[np.float32]:
        """What is added to each score after the trees."""
        values = np.asarray(self.found.get("base_values", []), dtype=np.float32)
        return values[-self.n_scores :] if values.size else np.zeros(self.n_scores, dtype=np.float32)

    def trees(self, sign: float) -> list[OneTree]:
        """The trees, with their scores times ``sign``."""
        found = self.found
        tree = np.asarray(found["nodes_treeids"])
        number = np.asarray(found["nodes_nodeids"])
        tracks = np.asarray(found.get("nodes_missing_value_tracks_true") or np.zeros(tree.size), dtype=bool)
        owners = np.asarray(found["class_treeids"])
        grown = []
        for t in dict.fromkeys(tree.tolist()):
            here = np.flatnonzero(tree == t)
            order = here[np.argsort(number[here] != number[here[0]], kind="stable")]  # the root is the first
            place = {int(n): i for i, n in enumerate(number[order])}
            leaf = np.array([found["nodes_modes"][i] == "LEAF" for i in order])
            value = np.zeros((order.size, self.n_scores), dtype=np.float32)
            for i in np.flatnonzero(owners == t).tolist():
                column = self.columns.index(found["class_ids"][i])
                value[place[found["class_nodeids"][i]], column] += np.float32(found["class_weights"][i])

            def child(name: str, order: IntArray = order, place: dict[int, int] = place, leaf: Any = leaf) -> IntArray:
                children = np.asarray(found[name])[order]
                return np.array([-1 if e else place[int(c)] for c, e in zip(children, leaf, strict=True)], np.intp)

            grown.append(
                OneTree(
                    feature=np.asarray(found["nodes_featureids"], dtype=np.intp)[order],
                    threshold=np.asarray(found["nodes_values"], dtype=np.float32)[order].astype(np.float64),
                    left=child("nodes_truenodeids"),
                    right=child("nodes_falsenodeids"),
                    nan_left=tracks[order],
                    value=np.float32(sign) * value,
                )
            )
        return grown

    def given(self, scores: NDArray[np.float32]) -> bytes:
        """The file with one tree that has a leaf for each row of scores, to which nothing is added."""
        from onnx import helper

        weights: NDArray[np.float32] = np.asarray(scores, dtype=np.float32)
        if self.n_scores == 1:
            # onnxruntime decides in another way where no leaf of the file is negative
            low = -np.ones((1, 1), dtype=np.float32)
            weights = np.maximum(weights, 0.0) if self._all_positive else np.concatenate([weights, low])
        count = len(weights)
        inner, leaves = np.arange(count - 1), np.arange(count - 1, 2 * count - 1)
        # node i sends row i to its leaf and the others on; the last leaf takes the last row
        onward, zero = np.append(inner[1:], leaves[-1:]), [0] * (2 * count - 1)
        kept = {k: v for k, v in self.found.items() if k.startswith(("classlabels", "post"))}
        node = helper.make_node(
            "TreeEnsembleClassifier", [_SCORES], list(self.node.output), domain=self.node.domain, **kept,
            nodes_treeids=zero, nodes_nodeids=list(range(2 * count - 1)), nodes_featureids=zero,
            nodes_values=[*(inner + 0.5).tolist(), *[0.0] * count],
            nodes_modes=["BRANCH_LEQ"] * (count - 1) + ["LEAF"] * count,
            nodes_truenodeids=[*leaves[:-1].tolist(), *[0] * count],
            nodes_falsenodeids=[*onward.tolist()[: count - 1], *[0] * count],
            class_treeids=[0] * weights.size, class_nodeids=np.repeat(leaves, self.n_scores).tolist(),
            class_ids=self.columns * count, class_weights=weights.ravel().tolist(),
        )  # fmt: skip
        return _behind(self.graph, self.node, node, 1)

    @property
    def _all_positive(self) -> bool:
        return min(self.found["class_weights"], default=0.0) >= 0

    def rows(self, scores: NDArray[np.floating]) -> NDArray[np.floating]:
        """The numbers of the rows."""
        return np.arange(float(len(scores)))[:, None]


@dataclass(frozen=True, eq=False)
class LinearCore:
    """A LinearClassifier.

    Attributes
    ----------
    graph, node : the model, and its classifier
    weights, intercept : of the scores that count: of two that are each other's negative, the second
    mirrored : whether there are two of which one is the other's negative
    """

    graph: Graph
    node: Any
    weights: FloatArray
    intercept: FloatArray
    mirrored: bool

    @classmethod
    def of(cls, graph: Graph, node: Any) -> LinearCore:
        """The scores of a node."""
        found = attributes(node)
        _check_lists(found, "coefficients", "intercepts")
        intercept = np.asarray(found["intercepts"], dtype=np.float64)
        weights = np.asarray(found["coefficients"], dtype=np.float64).reshape(intercept.size, -1)
        mirrored = intercept.size == 2 and bool((weights[0] == -weights[1]).all() and intercept[0] == -intercept[1])
        if mirrored:
            weights, intercept = weights[1:], intercept[1:]
        return cls(graph, node, weights, intercept, mirrored)

    @property
    def input(self) -> str:
        return str(self.node.input[0])

    @property
    def n_scores(self) -> int:
        return int(self.intercept.size)

    def given(self, scores: NDArray[np.float32]) -> bytes:
        """The file with coefficients of one, or of one and its negative."""
        from onnx import helper

        matrix = np.array([[-1.0], [1.0]]) if self.mirrored else np.eye(self.n_scores)
        kept = {k: v for k, v in attributes(self.node).items() if k not in ("coefficients", "intercepts")}
        node = helper.make_node(
            "LinearClassifier", [_SCORES], list(self.node.output), domain=self.node.domain,
            coefficients=matrix.ravel().tolist(), intercepts=[0.0] * len(matrix), **kept,
        )  # fmt: skip
        return _behind(self.graph, self.node, node, self.n_scores)

    def rows(self, scores: NDArray[np.floating]) -> NDArray[np.floating]:
        """The scores."""
        return scores


@dataclass(frozen=True, eq=False)
class NetworkCore:
    """Layers of MatMul and Add, or Gemm, with Relu between them.

    Attributes
    ----------
    graph : the model
    input, last : the tensor that the first layer takes, and that the last one makes
    weights, biases : of the layers, in double precision
    """

    graph: Graph
    input: str
    last: str
    weights: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]

    @classmethod
    def of(cls, graph: Graph) -> NetworkCore:
        """The layers of a graph, from its first product on."""
        first = next(node for node in graph.nodes if node.op_type in ("MatMul", "Gemm"))
        tensor, weights, biases, fresh = str(first.input[0]), list[FloatArray](), list[FloatArray](), True
        start = tensor
        while True:
            users = [node for node in graph.nodes if tensor in node.input]
            found = None if len(users) != 1 else _affine(graph, users[0], tensor)
            if found is None and (len(users) != 1 or users[0].op_type != "Relu"):
                break
            if found is None:
                fresh = True
            elif fresh:
                weights.append(found[0])
                biases.append(found[1])
                fresh = False
            else:
                weights[-1], biases[-1] = weights[-1] @ found[0], biases[-1] @ found[0] + found[1]
            tensor = str(users[0].output[0])
        if fresh:
            raise UnreadableError(
                "ONNX layers are read when the last one is no Relu. Use ExpertOptions(method='blackbox')."
            )
        return cls(graph, start, tensor, tuple(weights), tuple(biases))

    @property
    def n_scores(self) -> int:
        return int(self.biases[-1].size)

    def given(self, scores: NDArray[np.float32]) -> bytes:
        """The file from its last layer on."""
        names = [value.name for value in self.graph.proto.graph.output]
        nodes = self.graph.before(names, [self.last])
        rest = {name for node in nodes for name in node.input} & {value.name for value in self.graph.inputs}
        if rest:
            raise UnreadableError(
                f"ONNX layers are read when nothing passes them by. Here {', '.join(sorted(rest))} does. "
                "Use ExpertOptions(method='blackbox')."
            )
        return changed(self.graph.proto, nodes=nodes, inputs={self.last: self.n_scores})

    def rows(self, scores: NDArray[np.floating]) -> NDArray[np.floating]:
        """The scores."""
        return scores


def _check_lists(found: dict[str, Any], *names: str) -> None:
    """Refuse a node that has its numbers in another form, such as tensors in double precision."""
    for name in names:
        if not found.get(name):
            raise UnreadableError(
                f"ONNX classifiers are read when they have {name} as a list of numbers. This one has none. "
                "Use ExpertOptions(method='blackbox')."
            )


def _affine(graph: Graph, node: Any, tensor: str) -> tuple[FloatArray, FloatArray] | None:
    """A node as ``inputs @ matrix + shift``; None where it is none."""
    constants = [graph.constants[name].astype(np.float64) for name in node.input if name in graph.constants]
    if node.op_type == "MatMul" and node.input[0] == tensor and len(constants) == 1:
        return constants[0], np.zeros(constants[0].shape[1])
    if node.op_type == "Gemm" and node.input[0] == tensor and len(constants) >= 1:
        found = attributes(node)
        matrix = constants[0].T if found.get("transB") else constants[0]
        shift = constants[1].ravel() if len(constants) > 1 else np.zeros(matrix.shape[1])
        return matrix * float(found.get("alpha", 1.0)), np.broadcast_to(
            shift * float(found.get("beta", 1.0)), matrix.shape[1:]
        ).copy()
    if node.op_type == "Add" and len(constants) == 1:
        width = constants[0].size
        return np.eye(width), constants[0].ravel()
    return None


def _behind(graph: Graph, old: Any, new: Any, width: int) -> bytes:
    """The file with another node in the place of its classifier, which takes scores."""
    names = [value.name for value in graph.proto.graph.output]
    nodes = [new if node is old else node for node in graph.before(names) if node is old or _after(graph, old, node)]
    return changed(graph.proto, nodes=nodes, inputs={_SCORES: width})


def _after(graph: Graph, old: Any, node: Any) -> bool:
    """Whether a node needs what another one makes."""
    made = set(old.output)
    return any(made & set(step.input) for step in [node, *graph.before(list(node.input))])
