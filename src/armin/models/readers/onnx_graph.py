"""What is needed of an ONNX graph: which columns stand behind a tensor, and the graph from or up to some tensor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armin.errors import ModelError, UnreadableError

__all__ = ["Graph", "attributes", "changed", "column_traces", "tensors"]

_ALIKE = (
    "Cast", "Identity", "Scaler", "Imputer", "Binarizer", "LabelEncoder", "Relu", "Clip", "Log", "Exp", "Sqrt", "Abs",
    "Neg", "Floor", "Ceil", "Sign", "Dropout",
)  # fmt: skip
_WITH_CONSTANTS = ("Add", "Sub", "Mul", "Div", "Pow", "Min", "Max")


class Graph:
    """A model's nodes and constants.

    Parameters
    ----------
    proto : an ``onnx.ModelProto``
    """

    def __init__(self, proto: Any) -> None:
        from onnx import numpy_helper

        self.proto = proto
        self.nodes = list(proto.graph.node)
        self.constants: dict[str, NDArray[Any]] = {
            tensor.name: numpy_helper.to_array(tensor) for tensor in proto.graph.initializer
        }
        for node in self.nodes:
            if node.op_type == "Constant":
                self.constants[node.output[0]] = np.asarray(next(iter(attributes(node).values())))
        self.inputs = [value for value in proto.graph.input if value.name not in self.constants]
        self.maker = {name: node for node in self.nodes for name in node.output}

    @property
    def columns(self) -> dict[str, list[int]]:
        """The columns of the rows that each input holds."""
        held, start = dict[str, list[int]](), 0
        for value in self.inputs:
            shape = value.type.tensor_type.shape.dim
            if len(shape) != 2 or shape[1].dim_value < 1:
                raise ModelError(
                    f"An ONNX model is read when its inputs are tables of known width. The input {value.name!r} is "
                    "not. Write it with initial types that have the number of columns."
                )
            held[value.name] = list(range(start, start + int(shape[1].dim_value)))
            start += int(shape[1].dim_value)
        return held

    def before(self, names: Sequence[str], stop: Sequence[str] = ()) -> list[Any]:
        """The nodes that tensors are made by, those of ``stop`` taken as given, in the order of the graph."""
        wanted, open_ = set[int](), [name for name in names if name not in stop]
        while open_:
            node = self.maker.get(open_.pop())
            if node is not None and id(node) not in wanted:
                wanted.add(id(node))
                open_ += [name for name in node.input if name not in stop]
        return [node for node in self.nodes if id(node) in wanted]


def tensors(graph: Any) -> Iterator[Any]:
    """All constants of a ``onnx.GraphProto``, those of graphs within it too."""
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    for node in graph.node:
        for attribute in node.attribute:
            yield from (attribute.t, *attribute.tensors)
            for inner in (attribute.g, *attribute.graphs):
                yield from tensors(inner)


def attributes(node: Any) -> dict[str, Any]:
    """The attributes of a node by their names; texts and tensors as Python and NumPy have them."""
    from onnx import TensorProto, helper, numpy_helper

    found = {}
    for attribute in node.attribute:
        value = helper.get_attribute_value(attribute)
        if isinstance(value, bytes):
            value = value.decode()
        elif isinstance(value, TensorProto):
            value = numpy_helper.to_array(value)
        elif isinstance(value, list) and value and isinstance(value[0], bytes):
            value = [text.decode() for text in value]
        found[attribute.name] = value
    return found


def changed(
    proto: Any,
    *,
    nodes: Sequence[Any],
    outputs: Sequence[str] | None = None,
    inputs: Mapping[str, int] | None = None,
) -> bytes:
    """A model with other nodes; with other outputs, or other inputs, given as float tensors of so many columns."""
    import onnx
    from onnx import helper

    twin = onnx.ModelProto()
    twin.CopyFrom(proto)
    del twin.graph.node[:]
    twin.graph.node.extend(nodes)
    del twin.graph.value_info[:]
    if outputs is not None:
        del twin.graph.output[:]
        twin.graph.output.extend([onnx.ValueInfoProto(name=name) for name in outputs])
    if inputs is not None:
        del twin.graph.input[:]
        twin.graph.input.extend(
            [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [None, width]) for n, width in inputs.items()]
        )
    return bytes(twin.SerializeToString())


def column_traces(graph: Graph, name: str, widths: Mapping[str, list[int]]) -> list[int]:
    """The column behind each column of a tensor.

    Parameters
    ----------
    graph : the model
    name : the tensor
    widths : for each input of the model, the columns of the rows that it holds
    """
    if name in widths:
        return widths[name]
    node = graph.maker.get(name)
    if node is None:
        raise ModelError(f"An ONNX model is read when its tensors come from its inputs. {name!r} does not.")
    kind, given = node.op_type, [i for i in node.input if i not in graph.constants]
    if kind in ("Concat", "FeatureVectorizer"):
        return [column for part in node.input for column in column_traces(graph, part, widths)]
    if len(given) == 1:
        behind, found = column_traces(graph, given[0], widths), attributes(node)
        if kind in _ALIKE:
            return behind
        if kind in _WITH_CONSTANTS:  # one column and a row of constants make several columns
            wide = max([1, *(c.shape[-1] for n in node.input if (c := graph.constants.get(n)) is not None and c.ndim)])
            return behind * wide if len(behind) == 1 else behind
        if kind == "ArrayFeatureExtractor" or (kind == "Gather" and found.get("axis") == 1):
            return [behind[int(i)] for i in np.ravel(graph.constants[node.input[1]])]
        if kind == "Reshape" and int(np.ravel(graph.constants[node.input[1]])[-1]) == len(behind):
            return behind
        if kind == "OneHotEncoder" and len(behind) == 1:
            return behind * len(found.get("cats_strings") or found.get("cats_int64s") or [])
    raise UnreadableError(
        f"An ONNX model is read when the steps before its classifier work column by column. {kind} is not known to do "
        "so. Use ExpertOptions(method='blackbox')."
    )
