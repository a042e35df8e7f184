"""Rows down the trees of an ensemble, compiled; kept on disk where there is a place to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

from armin.arrays import BoolArray, FloatArray, IntArray

__all__ = ["walk"]

F = TypeVar("F", bound=Callable[..., object])


def _compiled(function: F) -> F:
    try:
        return cast(F, njit(cache=True, nogil=True, error_model="numpy")(function))
    except RuntimeError:
        # no folder to keep compiled code in: compile anew in every process
        return cast(F, njit(nogil=True, error_model="numpy")(function))


@_compiled
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
    for i in range(inputs.shape[0]):
        for root in roots:
            node = root
            while feature[node] >= 0:
                x = inputs[i, feature[node]]
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
            for c in range(total.shape[1]):
                total[i, c] += value[node, c]
