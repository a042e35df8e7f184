"""Random trees as plain arrays, whose leaves hold training values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.schema import Feature

__all__ = ["LeafDonors", "grow"]


@dataclass(frozen=True, eq=False)
class LeafDonors:
    """The trees of one feature, one after the other in flat arrays.

    Attributes
    ----------
    roots : (T,), the root of each tree
    column, threshold : for each node, what it asks: is the value in ``column`` at most ``threshold``?
    below : (nodes, 2), where a no and a yes lead; a leaf leads to itself
    depth : the longest way from a root to a leaf
    start, size : for each leaf, where its values stand in ``values``
    values : training codes of the feature, leaf by leaf
    """

    roots: IntArray
    column: IntArray
    threshold: FloatArray
    below: IntArray
    depth: int
    start: IntArray
    size: IntArray
    values: FloatArray

    def leaves(self, rows: FloatArray, trees: IntArray) -> IntArray:
        """The leaf (n,) that each row of codes (n, D) reaches in the tree named for it."""
        at, each = self.roots[trees], np.arange(rows.shape[0])
        for _ in range(self.depth):
            at = self.below[at, (rows[each, self.column[at]] <= self.threshold[at]).astype(np.intp)]
        return at

    def draw(self, rows: FloatArray, rng: np.random.Generator) -> FloatArray:
        """For each row of codes (n, D) a value from its leaf in a tree picked at random."""
        u = rng.random((2, rows.shape[0]))
        leaf = self.leaves(rows, (u[0] * self.roots.size).astype(np.intp))
        return np.asarray(self.values[self.start[leaf] + (u[1] * self.size[leaf]).astype(np.intp)])


def grow(
    feature: Feature, d: int, rows: FloatArray, codes: FloatArray, *, trees: int, leaf: int, rng: np.random.Generator
) -> LeafDonors | None:
    """Trees for feature ``d`` from the codes ``rows`` (n, D) of the others; None where there is nothing to learn.

    Each tree splits one random half of the rows, and its leaves take their values from the other half: a leaf of the
    half that chose the splits would look less spread than people are. A leaf that the other half does not reach keeps
    its own. Numbers are split by their ranks, so that a long tail does not take all splits.
    """
    n = codes.size
    if n < 4 or codes.std() == 0 or rows.shape[1] < 2:
        return None
    inputs = rows.copy()
    inputs[:, d] = 0.0
    category = feature.kind == "categorical"
    target = codes.astype(np.intp) if category else rankdata(codes)
    kind = ExtraTreeClassifier if category else ExtraTreeRegressor
    grown = []
    for _ in range(trees):
        half = rng.permutation(n)[: (n + 1) // 2]
        tree = kind(min_samples_leaf=min(leaf, half.size), max_features=None, random_state=int(rng.integers(2**31)))
        outside = np.ones(n, dtype=bool)
        outside[half] = False
        grown.append(_filled(tree.fit(inputs[half], target[half]).tree_, inputs, codes, outside))
    return _joined(grown)


def _filled(nodes: Any, inputs: FloatArray, codes: FloatArray, outside: BoolArray) -> LeafDonors:
    """One fitted tree, with the values of the rows ``outside`` in its leaves."""
    count, each = int(nodes.node_count), np.arange(nodes.node_count)
    inner = nodes.children_left >= 0
    below = np.column_stack([np.where(inner, nodes.children_right, each), np.where(inner, nodes.children_left, each)])
    none = np.zeros(count, dtype=np.intp)
    column, threshold = np.where(inner, nodes.feature, 0), np.where(inner, nodes.threshold, 0.0)
    empty = LeafDonors(none[:1], column, threshold, below, int(nodes.max_depth), none, none, np.empty(0))
    reached = empty.leaves(inputs, np.zeros(codes.size, dtype=np.intp))
    visited = np.bincount(reached[outside], minlength=count) > 0
    donors = np.flatnonzero(outside | ~visited[reached])
    donors = donors[np.argsort(reached[donors], kind="stable")]
    size = np.bincount(reached[donors], minlength=count)
    return replace(empty, start=np.cumsum(size) - size, size=size, values=codes[donors])


def _joined(trees: list[LeafDonors]) -> LeafDonors:
    """The trees in one set of arrays."""
    nodes = np.cumsum([0, *(tree.column.size for tree in trees)])
    values = np.cumsum([0, *(tree.values.size for tree in trees)])
    return LeafDonors(
        nodes[:-1],
        np.concatenate([tree.column for tree in trees]),
        np.concatenate([tree.threshold for tree in trees]),
        np.concatenate([tree.below + first for tree, first in zip(trees, nodes, strict=False)]),
        max(tree.depth for tree in trees),
        np.concatenate([tree.start + first for tree, first in zip(trees, values, strict=False)]),
        np.concatenate([tree.size for tree in trees]),
        np.concatenate([tree.values for tree in trees]),
    )
