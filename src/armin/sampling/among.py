"""One feature of a wide table: given the few others that say most about it, and what all of them say together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.sampling.conditional import Categories, Conditional, Matching, Normal

__all__ = ["Among", "plain"]


@dataclass(frozen=True, eq=False)
class Among:
    """A distribution that looks at few columns of a design, and at one sum of many.

    Attributes
    ----------
    model : the distribution, given inputs (n, E): first ``design[at] @ turn``, then ``design[main] @ weights``
    at : the design columns of the predictors that were chosen
    turn : (Q, E'), turns a number's value and bends, which go together, into columns that do not
    main : the design columns of all features, without bends
    weights : (M, S), what they say together; 0 for the feature's own

    Examples
    --------
    >>> inner = Categories(np.array([[1.0, 0.0], [0.0, 1.0]]), np.zeros(2), np.array([1]), None)
    >>> model = Among(inner, np.array([0]), np.eye(1), np.array([0, 1, 2]), np.array([[0.5], [0.0], [0.5]]))
    >>> model.restricted(np.array([1.0, 0.0, 0.0]), np.array([2])).weights
    array([[0. , 0.5]])
    """

    model: Conditional
    at: IntArray
    turn: FloatArray
    main: IntArray
    weights: FloatArray

    def restricted(self, fixed: FloatArray, free: IntArray) -> Conditional:
        """The distribution itself, where only the design columns ``free`` vary; see :meth:`Normal.restricted`."""
        still = np.concatenate([fixed[self.at] @ self.turn, fixed[self.main] @ self.weights])
        moving = np.hstack([_rows(self.at, self.turn, free), _rows(self.main, self.weights, free)])
        return _through(self.model, moving, still)


def plain(model: Conditional | Among | None) -> Conditional | None:
    """The distribution, without where its inputs come from.

    >>> plain(None) is None
    True
    """
    return model.model if isinstance(model, Among) else model


def _rows(at: IntArray, matrix: FloatArray, wanted: IntArray) -> FloatArray:
    """For each wanted column its row of ``matrix``, 0 where it has none; ``at`` is in order."""
    out = np.zeros((wanted.size, matrix.shape[1]))
    if at.size:
        place = np.minimum(np.searchsorted(at, wanted), at.size - 1)
        has = at[place] == wanted
        out[has] = matrix[place[has]]
    return out


def _through(model: Conditional, moving: FloatArray, still: FloatArray) -> Conditional:
    """A distribution of inputs (n, E) as one of columns x (n, F), where inputs are ``x @ moving + still``."""
    if isinstance(model, Matching):
        return replace(model, normal=_normal_through(model.normal, moving, still))
    if isinstance(model, Normal):
        return _normal_through(model, moving, still)
    return _categories_through(model, moving, still)


def _normal_through(model: Normal, moving: FloatArray, still: FloatArray) -> Normal:
    rows = _lean(np.vstack([moving @ model.root, still @ model.root - model.shift]))
    intercept = model.intercept + float(still @ model.coefficients)
    coefficients = moving @ model.coefficients
    return replace(model, intercept=intercept, coefficients=coefficients, root=rows[:-1], shift=-rows[-1])


def _categories_through(model: Categories, moving: FloatArray, still: FloatArray) -> Categories:
    root = model.root
    if root is not None:
        cube = root.reshape(still.size + 1, -1)
        rows = np.vstack([moving @ cube[:-1], still @ cube[:-1] + cube[-1]])
        root = _lean(rows.reshape(-1, root.shape[1]))
    return replace(model, weights=moving @ model.weights, intercept=model.intercept + still @ model.weights, root=root)


def _lean(rows: FloatArray) -> FloatArray:
    """Rows with the same products, hence the same normal distribution, and no more columns than rows."""
    if rows.shape[0] >= rows.shape[1]:
        return rows
    upper: FloatArray = np.asarray(np.linalg.qr(rows.T, mode="r"))
    return upper.T
