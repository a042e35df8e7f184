"""Tables over bins of one or two columns, as trees.

An additive model (a naive Bayes over categories, an explainable boosting machine) looks values up in tables. A table
over the bins of one column is a tree with a leaf for each run of bins that say the same; a table over the bins of two
columns is a tree with a leaf for each rectangle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from armin.arrays import FloatArray, IntArray
from armin.models.nodes import OneTree

__all__ = ["Axis", "step_tree", "table_tree"]


@dataclass(frozen=True, eq=False)
class Axis:
    """How one column is cut into bins.

    Attributes
    ----------
    feature : the model input
    cuts : array of shape (B - 1,), ascending: bin b holds what is at most ``cuts[b]``, and more than the cut before
    blank : whether a blank has a bin of its own, after those that the cuts make

    >>> Axis(0, np.array([1.0, 5.0])).n_bins, Axis(0, np.array([1.0, 5.0]), blank=True).n_bins
    (3, 4)
    """

    feature: int
    cuts: FloatArray
    blank: bool = False

    @property
    def n_bins(self) -> int:
        return int(self.cuts.size) + 1 + self.blank


def step_tree(feature: int, cuts: FloatArray, values: NDArray[np.float64]) -> OneTree:
    """A table over the bins of one column as a tree; a blank goes to the last bin.

    Parameters
    ----------
    feature : the model input
    cuts : as in :class:`Axis`
    values : array of shape (B, C), what each bin says

    >>> tree = step_tree(0, np.array([1.0, 5.0]), np.array([[2.0], [2.0], [7.0]]))
    >>> tree.left.tolist(), tree.threshold[0].item(), tree.value.ravel().tolist()  # two bins say the same
    ([1, -1, -1], 5.0, [0.0, 2.0, 7.0])
    """
    return table_tree([Axis(feature, cuts)], values)


def table_tree(axes: Sequence[Axis], values: NDArray[np.float64]) -> OneTree:
    """A table over the bins of some columns as a tree.

    Parameters
    ----------
    axes : how each column is cut
    values : array of shape (B, ..., C), what each combination of bins says; the bin of a blank comes last

    >>> table = np.array([[[1.0], [2.0]], [[3.0], [3.0]]])
    >>> tree = table_tree([Axis(4, np.array([0.5])), Axis(7, np.array([2.0]))], table)
    >>> tree.feature.tolist(), tree.value[:, 0].tolist()
    ([4, 7, -1, -1, -1], [0.0, 0.0, 1.0, 2.0, 3.0])
    """
    grown = _Grown(axes, values)
    grown.grow([(0, axis.n_bins) for axis in axes])
    return grown.tree()


@dataclass
class _Grown:
    """A tree that is being grown, its nodes from the root on."""

    axes: Sequence[Axis]
    values: NDArray[np.float64]
    feature: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    value: list[NDArray[np.float64]] = field(default_factory=list)

    def grow(self, box: list[tuple[int, int]]) -> int:
        """The number of the node for a box of bins."""
        node = len(self.feature)
        part = self.values[tuple(slice(*side) for side in box)]
        first = part.reshape(-1, part.shape[-1])[0]
        split = None if (part == first).all() else self._split(box, part)
        self.feature.append(-1 if split is None else self.axes[split[0]].feature)
        self.threshold.append(0.0 if split is None else self._cut(*split))
        self.left.append(-1)
        self.right.append(-1)
        self.value.append(first if split is None else np.zeros_like(first))
        if split is not None:
            a, at = split
            self.left[node] = self.grow([(low, at) if i == a else (low, high) for i, (low, high) in enumerate(box)])
            self.right[node] = self.grow([(at, high) if i == a else (low, high) for i, (low, high) in enumerate(box)])
        return node

    def _cut(self, axis: int, at: int) -> float:
        """The threshold before bin ``at``: infinite before that of a blank."""
        cuts = self.axes[axis].cuts
        return float(cuts[at - 1]) if at <= cuts.size else float("inf")

    def _split(self, box: list[tuple[int, int]], part: NDArray[np.float64]) -> tuple[int, int]:
        """Where to cut a box: before the blank, or in the middle of where the longest axis changes."""
        changes: list[IntArray] = []
        for a, (low, high) in enumerate(box):
            bins = np.moveaxis(part, a, 0).reshape(high - low, -1)
            changes.append(low + 1 + np.flatnonzero((bins[1:] != bins[:-1]).any(axis=1)))
            last = self.axes[a].n_bins - 1
            if self.axes[a].blank and changes[a].size and changes[a][-1] == last:
                return a, last  # nothing but the infinite cut tells a blank from numbers
        longest = int(np.argmax([found.size for found in changes]))
        return longest, int(changes[longest][changes[longest].size // 2])

    def tree(self) -> OneTree:
        """What was grown."""
        n = len(self.feature)
        return OneTree(
            feature=np.array(self.feature, dtype=np.intp),
            threshold=np.array(self.threshold),
            left=np.array(self.left, dtype=np.intp),
            right=np.array(self.right, dtype=np.intp),
            nan_left=np.zeros(n, dtype=bool),
            value=np.array(self.value),
        )
