"""One order of summation, so that a row gets the same answer alone and in any company.

A matrix product adds up in an order that depends on how many rows it is given, on the processor and on the library
behind it. Where a score is at the cut but for rounding, the same row may then be accepted in one call and refused in
the next. So quick products are believed only where they are further from the cut than any order of summation could
take them; the few rows that are nearer are added up one product after another, by :func:`affine`.
"""

from __future__ import annotations

import numpy as np

from armin.arrays import FloatArray

__all__ = ["affine", "doubt_of", "largest_inputs"]

_TINY = float(np.finfo(np.float64).tiny)
_MANY, _SIDE = 512, 32


def affine(inputs: FloatArray, weights: FloatArray, intercept: FloatArray) -> FloatArray:
    """``inputs @ weights + intercept``: products in the order of the inputs, the intercept last, nothing fused.

    Parameters
    ----------
    inputs : array of shape (n, P)
    weights : array of shape (P, C)
    intercept : array of shape (C,)

    Examples
    --------
    >>> affine(np.array([[0.1, 0.2, 0.3]]), np.ones((3, 1)), np.array([-0.6])).item() == 0.1 + 0.2 + 0.3 - 0.6
    True
    """
    total: FloatArray = np.zeros((inputs.shape[0], weights.shape[1]))
    with np.errstate(all="ignore"):
        for column, row in zip(inputs.T, weights, strict=True):
            total += column[:, None] * row
        total += intercept
    return total


def largest_inputs(inputs: FloatArray) -> FloatArray:
    """The largest magnitude in each column (P,); 0 without rows, NaN where something is not a number.

    >>> largest_inputs(np.array([[1.0, -3.0], [-2.0, 0.5]])).tolist()
    [2.0, 3.0]
    """
    rows, columns = inputs.shape
    if rows >= _MANY and columns:  # side by side, since NumPy takes long for many short rows
        side = np.ascontiguousarray(inputs[: rows - rows % _SIDE]).reshape(-1, _SIDE * columns)
        sides = np.maximum(side.max(axis=0), -side.min(axis=0)).reshape(_SIDE, columns)
        inputs = np.concatenate([sides, inputs[rows - rows % _SIDE :]])
    return np.asarray(np.maximum(inputs.max(axis=0, initial=0.0), -inputs.min(axis=0, initial=0.0)))


def doubt_of(largest: FloatArray, layers: tuple[tuple[FloatArray, FloatArray], ...]) -> float:
    """How far two ways to add up ``inputs @ weights + intercept``, layer after layer, can be apart in any output.

    A sum of P products and an intercept is off by at most (P + 1) units of rounding of the sum of the magnitudes, in
    whatever order it is made, fused or not, and by a few of the smallest numbers where products underflow. The error
    of one layer goes through the next one with the magnitudes of its weights; ``max(0, .)`` between them adds none.

    Parameters
    ----------
    largest : array of shape (P,), the largest magnitudes of the inputs
    layers : magnitudes of the weights (inputs, outputs) and intercepts of each layer
    """
    size, error = largest, np.zeros(largest.size)
    with np.errstate(all="ignore"):
        for weights, intercept in layers:
            terms = weights.shape[0] + 4
            # twice, for the two ways; and twice again, for the rounding of these very lines
            error = error @ weights
            size = size @ weights + intercept
            error = error + 4.0 * terms * (float(np.finfo(np.float64).eps) * size + _TINY)
            size = size + error
        return float(error.max(initial=0.0))
