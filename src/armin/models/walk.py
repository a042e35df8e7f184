"""Rows down the trees of an ensemble, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.compiling import entry

__all__ = ["walk"]


@entry
def walk(
    inputs: FloatArray,
    roots: IntArray,
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    nan_left: BoolArray,
    category_set: IntArray,
    category_left: BoolArray,
    strict: bool,
    single: bool,
    value: NDArray[np.floating],
    total: NDArray[np.floating],
) -> None:
    """Add to ``total`` (n, C) the leaf values of each row of ``inputs`` (n, P), tree by tree, in the type of both.

    ``single`` rounds inputs to single precision first; ``category_set`` is empty where no node splits categories.
    """
    n, width = inputs.shape
    # completions of one person share most values: as far as these decide, all rows go down a tree together
    varies = np.zeros(width, dtype=np.bool_)
    for i in range(1, n):
        for p in range(width):
            if inputs[i, p] != inputs[0, p]:  # what is not a number counts as varying
                varies[p] = True
    starts = roots.copy()
    for i in range(-1 if n > 1 else 0, n):
        for t in range(roots.size):
            node = starts[t]
            while feature[node] >= 0:
                if i < 0 and varies[feature[node]]:
                    break
                x = inputs[max(i, 0), feature[node]]
                if single:
                    x = np.float64(np.float32(x))
                if np.isnan(x):
                    goes = nan_left[node]
                elif category_set.size > 0 and category_set[node] >= 0:
                    goes = False
                    if 0.0 <= x < category_left.shape[1] and np.floor(x) == x:
                        goes = category_left[category_set[node], int(x)]
                elif strict:
                    goes = x < threshold[node]
                else:
                    goes = x <= threshold[node]
                node = left[node] if goes else right[node]
            if i < 0:
                starts[t] = node
            else:
                for c in range(total.shape[1]):
                    total[i, c] += value[node, c]
