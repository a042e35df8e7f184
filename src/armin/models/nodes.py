"""One tree at a time, as a library stores it, into the flat arrays of a TreeEnsemble."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.errors import ModelError, UnreadableError
from armin.models.kinds import Decision, TreeEnsemble

__all__ = ["OneTree", "join", "plant"]


@dataclass(frozen=True, eq=False)
class OneTree:
    """The nodes of one tree, node 0 the root, children numbered within the tree.

    Attributes
    ----------
    feature : int array of shape (nodes,), the model input that is split; ignored in a leaf
    threshold : float array of shape (nodes,)
    left, right : int arrays of shape (nodes,); a leaf has a negative ``left``
    nan_left : bool array of shape (nodes,)
    value : float array of shape (nodes, C)
    categories : for a node that splits categories, the codes that go left; all others go right
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    nan_left: BoolArray
    value: NDArray[np.floating]
    categories: Mapping[int, IntArray] = field(default_factory=dict)


def plant(
    trees: Sequence[OneTree],
    base: ArrayLike,
    decision: Decision,
    n_inputs: int,
    *,
    strict: bool = False,
    input_precision: Literal["float32", "float64"] = "float64",
    precision: Literal["float32", "float64"] = "float64",
    divisor: float = 1.0,
    base_last: bool = False,
) -> TreeEnsemble:
    """The sum of ``trees`` as one ensemble, in their order.

    >>> from armin.models.kinds import Above
    >>> def ints(*numbers): return np.array(numbers, dtype=np.intp)
    >>> stump = OneTree(ints(0, -1, -1), np.array([2.5, 0, 0]), ints(1, -1, -1), ints(2, -1, -1),
    ...                 np.zeros(3, dtype=bool), np.array([[0.0], [1.0], [5.0]]))
    >>> plant([stump, stump], [0.5], Above(1.0), n_inputs=1).outputs(np.array([[2.0], [3.0]])).ravel()
    array([ 2.5, 10.5])
    """
    for tree in trees:
        _check_inside(tree, n_inputs)
    sizes = np.array([tree.left.size for tree in trees], dtype=np.intp)
    roots = np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(sizes)[:-1]])
    leaf = np.concatenate([tree.left < 0 for tree in trees])
    shift = np.repeat(roots, sizes)
    category_set, category_left = _category_tables(trees, roots, int(sizes.sum()))

    def joined(parts: list[IntArray]) -> IntArray:
        return np.where(leaf, -1, np.concatenate(parts)).astype(np.intp)

    return TreeEnsemble(
        roots=roots.astype(np.intp),
        feature=joined([tree.feature for tree in trees]),
        threshold=np.where(leaf, 0.0, np.concatenate([tree.threshold for tree in trees])).astype(np.float64),
        left=np.where(leaf, -1, joined([tree.left for tree in trees]) + shift).astype(np.intp),
        right=np.where(leaf, -1, joined([tree.right for tree in trees]) + shift).astype(np.intp),
        nan_left=np.concatenate([tree.nan_left for tree in trees]).astype(bool) & ~leaf,
        value=np.where(leaf[:, None], np.concatenate([tree.value for tree in trees]), 0).astype(precision),
        base=np.array(base, dtype=precision, ndmin=1),
        decision=decision,
        strict=strict,
        input_precision=input_precision,
        precision=precision,
        divisor=divisor,
        category_set=category_set,
        category_left=category_left,
        base_last=base_last,
        n_inputs=n_inputs,
    )


def _check_inside(tree: OneTree, n_inputs: int) -> None:
    """Refuse a tree that leads out of itself: compiled code follows it without looking, and a file may be anybody's."""
    inner = tree.left >= 0
    for child in (tree.left[inner], tree.right[inner]):
        if child.size and not 0 <= child.min() <= child.max() < tree.left.size:
            raise ModelError("The model has a tree whose nodes lead to nodes that do not exist. It is damaged.")
    asked = tree.feature[inner]
    if asked.size and not 0 <= asked.min() <= asked.max() < n_inputs:
        raise ModelError(f"The model has a tree that asks about an input beyond its {n_inputs}. It is damaged.")


def join(models: Sequence[TreeEnsemble], decision: Decision) -> TreeEnsemble:
    """Several ensembles as one that gives the outputs of each, undivided, beside each other.

    >>> from armin.models.kinds import Above
    >>> def ints(*numbers): return np.array(numbers, dtype=np.intp)
    >>> stump = OneTree(ints(0, -1, -1), np.array([2.5, 0, 0]), ints(1, -1, -1), ints(2, -1, -1),
    ...                 np.zeros(3, dtype=bool), np.array([[0.0], [1.0], [5.0]]))
    >>> one, two = plant([stump], [0.5], Above(1.0), 1), plant([stump, stump], [0.0], Above(1.0), 1, divisor=2.0)
    >>> join([one, two], Above(1.0)).outputs(np.array([[2.0], [3.0]]))
    array([[ 1.5,  2. ],
           [ 5.5, 10. ]])
    """
    ways = {(m.strict, m.input_precision, m.precision, m.base_last) for m in models}
    if len(ways) > 1:
        raise UnreadableError(
            "Trees are read together when they compare and add up in the same way. Some of these do so in single "
            "precision and others in double precision, or differ in what happens at a threshold. Use "
            "ExpertOptions(method='blackbox')."
        )
    (strict, input_precision, precision, base_last), width = ways.pop(), sum(m.base.size for m in models)
    trees, base = list[OneTree](), list[float]()
    for model in models:
        own = slice(len(base), len(base) + model.base.size)
        base += model.base.tolist()
        ends = np.append(model.roots[1:], model.feature.size)
        for root, end in zip(model.roots.tolist(), ends.tolist(), strict=True):
            here = slice(root, end)
            value = np.zeros((end - root, width), dtype=model.value.dtype)
            value[:, own] = model.value[here]
            left, right = (np.where(side < 0, -1, side - root) for side in (model.left[here], model.right[here]))
            splits = model.feature[here], model.threshold[here]
            trees.append(OneTree(*splits, left, right, model.nan_left[here], value, _sets(model, root, end)))
    return plant(
        trees, base, decision, max(m.n_inputs for m in models), strict=strict, input_precision=input_precision,
        precision=precision, base_last=base_last,
    )  # fmt: skip


def _sets(model: TreeEnsemble, root: int, end: int) -> dict[int, IntArray]:
    """The codes that go left, for the nodes of one tree that split categories."""
    if model.category_set is None or model.category_left is None:
        return {}
    which = model.category_set[root:end]
    return {int(i): np.flatnonzero(model.category_left[which[i]]) for i in np.flatnonzero(which >= 0)}


def _category_tables(
    trees: Sequence[OneTree], roots: IntArray, n_nodes: int
) -> tuple[IntArray, BoolArray] | tuple[None, None]:
    sets = [
        (int(root) + node, codes)
        for tree, root in zip(trees, roots, strict=True)
        for node, codes in tree.categories.items()
    ]
    if not sets:
        return None, None
    category_set = np.full(n_nodes, -1, dtype=np.intp)
    category_left = np.zeros((len(sets), 1 + max(int(codes.max(initial=0)) for _, codes in sets)), dtype=bool)
    for row, (node, codes) in enumerate(sets):
        category_set[node] = row
        category_left[row, codes] = True
    return category_set, category_left
