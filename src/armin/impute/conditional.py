"""One feature given the others: fitted once, then drawn by matrix products alone."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import BayesianRidge, LogisticRegression

from armin.impute.base import BoolArray, FloatArray, IntArray
from armin.impute.legal import nearest_legal
from armin.schema import Feature

__all__ = ["Categories", "Conditional", "Matching", "Normal", "fit_conditional", "truncated_normal"]


@dataclass(frozen=True, eq=False)
class Normal:
    """A number: linear in the design, with normal noise and normal coefficients.

    Given a design row x, the posterior predictive has mean ``intercept + x b`` and variance
    ``noise + |x root - shift|²``, where ``root root'`` is the posterior covariance of b and ``shift`` is the training
    mean of ``x root``. The draw is from this distribution truncated to the bounds, which is what redrawing until it
    fits would give; where the bounds are so far off that no draw would ever fit, it is the nearer bound. Integers are
    truncated to half a unit outside their bounds and then rounded, so that each has the probability of the unit
    interval around it.
    """

    feature: Feature
    centre: float
    scale: float
    intercept: float
    coefficients: FloatArray
    root: FloatArray
    shift: FloatArray
    noise: float

    def mean(self, design: FloatArray) -> FloatArray:
        """The predictive mean (n,), in the feature's own unit, before bounds and rounding."""
        return np.asarray(self.centre + self.scale * (self.intercept + design @ self.coefficients))

    def doubt(self, design: FloatArray) -> FloatArray:
        """The variance (n,) of the standardised mean, from not knowing the coefficients."""
        wobble = design @ self.root - self.shift
        return np.asarray(np.einsum("ij,ij->i", wobble, wobble))

    def draw(self, design: FloatArray, rng: np.random.Generator) -> FloatArray:
        """A legal code (n,) for each row of ``design``."""
        spread = self.scale * np.sqrt(self.noise + self.doubt(design))
        half = 0.5 if self.feature.kind == "integer" else 0.0
        low, high = self.feature.low_code - half, self.feature.high_code + half
        return nearest_legal(self.feature, truncated_normal(self.mean(design), spread, low, high, rng))


@dataclass(frozen=True, eq=False)
class Matching:
    """A number: drawn from training rows whose predicted mean is near (predictive mean matching).

    The coefficients are drawn as in :class:`Normal`; the donors' means use the posterior mean. Of the
    ``k`` nearest means one is picked, and of all training rows that share this mean one value.

    Attributes
    ----------
    normal : the regression
    means : the training rows' predicted means, sorted
    values : their codes, in the same order
    first, last : for each, the range of rows with the same mean
    """

    normal: Normal
    means: FloatArray
    values: FloatArray
    first: IntArray
    last: IntArray
    k: int

    @classmethod
    def of(cls, normal: Normal, design: FloatArray, codes: FloatArray, k: int) -> Matching:
        """Donors from the training design (n, P) and codes (n,)."""
        means = np.round((normal.mean(design) - normal.centre) / normal.scale, 9)
        order = np.argsort(means, kind="stable")
        means = means[order]
        first, last = np.searchsorted(means, means, "left"), np.searchsorted(means, means, "right")
        return cls(normal, means, codes[order], first, last, min(k, means.size))

    def mean(self, design: FloatArray) -> FloatArray:
        """The predictive mean (n,)."""
        return self.normal.mean(design)

    def draw(self, design: FloatArray, rng: np.random.Generator) -> FloatArray:
        """A training code (n,) for each row of ``design``."""
        n = design.shape[0]
        wobble = np.sqrt(self.normal.doubt(design)) * rng.standard_normal(n)
        target = self.normal.intercept + design @ self.normal.coefficients + wobble
        at = np.searchsorted(self.means, target)
        # a window of 2k around the place of the target holds its k nearest
        window = np.clip(at[:, None] + np.arange(-self.k, self.k), -1, self.means.size)
        inside = (window >= 0) & (window < self.means.size)
        window = np.clip(window, 0, self.means.size - 1)
        gaps = np.where(inside, np.abs(self.means[window] - target[:, None]), np.inf)
        near = np.argpartition(gaps, self.k - 1, axis=1)[np.arange(n), rng.integers(0, self.k, n)]
        donor = window[np.arange(n), near]
        size = self.last[donor] - self.first[donor]
        return np.asarray(self.values[self.first[donor] + np.floor(rng.random(n) * size).astype(np.intp)])


@dataclass(frozen=True, eq=False)
class Categories:
    """A binary, ordinal or categorical feature: softmax of scores that are linear in the design.

    Attributes
    ----------
    weights : (P, K)
    intercept : (K,), minus infinity for a category that training did not show
    """

    weights: FloatArray
    intercept: FloatArray

    def chances(self, design: FloatArray) -> FloatArray:
        """The probability (n, K) of each category."""
        return np.asarray(softmax(design @ self.weights + self.intercept, axis=1))

    def draw(self, design: FloatArray, rng: np.random.Generator) -> FloatArray:
        """A category code (n,) for each row of ``design``."""
        reached = np.cumsum(self.chances(design), axis=1)
        u = np.minimum(rng.random(design.shape[0]), 1.0 - 1e-12) * reached[:, -1]
        return np.asarray((reached <= u[:, None]).sum(axis=1), dtype=np.float64)


Conditional = Normal | Matching | Categories


def fit_conditional(
    feature: Feature,
    design: FloatArray,
    own: slice,
    codes: FloatArray,
    *,
    numbers: Literal["normal", "matching"],
    donors: int,
    penalty: float,
) -> Conditional | None:
    """The distribution of ``feature`` given the other columns of ``design``.

    Parameters
    ----------
    feature : what is predicted
    design : (n, P), training rows in which the feature is known
    own : the columns of ``design`` that belong to the feature itself; they get no weight
    codes : (n,), the feature in these rows
    numbers, donors, penalty : see :class:`armin.impute.ChainedEquations`

    Returns
    -------
    Conditional or None
        None where there is nothing to learn: fewer than three rows, no variation, no other column.
    """
    others = np.ones(design.shape[1], dtype=bool)
    others[own] = False
    if codes.size < 3 or codes.std() == 0 or not others.any():
        return None
    if not feature.is_number:
        return _categories(feature, design, others, codes, penalty)
    normal = _normal(feature, design, others, codes)
    return Matching.of(normal, design, codes, donors) if numbers == "matching" else normal


def _normal(feature: Feature, design: FloatArray, others: BoolArray, codes: FloatArray) -> Normal:
    centre, scale = float(codes.mean()), float(codes.std())
    model = BayesianRidge().fit(design[:, others], (codes - centre) / scale)
    noise = 1.0 / float(model.alpha_)
    values, vectors = np.linalg.eigh(model.sigma_)
    width = design.shape[1]
    coefficients, root = np.zeros(width), np.zeros((width, values.size))
    coefficients[others] = model.coef_
    root[others] = vectors * np.sqrt(np.maximum(values, 0.0))
    shift = design.mean(axis=0) @ root
    # about the training mean the intercept is independent of b, with variance noise / n
    noise *= 1.0 + 1.0 / codes.size
    return Normal(feature, centre, scale, float(model.intercept_), coefficients, root, shift, noise)


def _categories(
    feature: Feature, design: FloatArray, others: BoolArray, codes: FloatArray, penalty: float
) -> Categories:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a fit that is not quite there is still a distribution
        model = LogisticRegression(C=1.0 / penalty, max_iter=200).fit(design[:, others], codes.astype(np.intp))
    two = model.coef_.shape[0] == 1
    weights = np.zeros((design.shape[1], len(feature.categories)))
    intercept = np.full(len(feature.categories), -np.inf)
    shown = model.classes_[1:] if two else model.classes_
    weights[np.ix_(others, shown)] = model.coef_.T
    intercept[model.classes_] = 0.0
    intercept[shown] = model.intercept_
    return Categories(weights, intercept)


def truncated_normal(
    mean: FloatArray, spread: FloatArray, low: float, high: float, rng: np.random.Generator
) -> FloatArray:
    """Draws (n,) of normal variables given that they lie in [low, high]; the nearer bound where that is hopeless.

    >>> truncated_normal(np.array([0.0, 900.0]), np.ones(2), 1.0, 2.0, np.random.default_rng(0)).round(2)
    array([1.23, 2.  ])
    """
    spread = np.maximum(spread, 1e-300)
    below, above = (low - mean) / spread, (high - mean) / spread
    # work in the lower tail, where the distribution function keeps its precision
    flip = below > 0
    a, b = np.where(flip, -above, below), np.where(flip, -below, above)
    start = ndtr(a)
    u = start + rng.random(mean.size) * (ndtr(b) - start)
    z = np.where(u > 0, np.minimum(ndtri(u), b), b)
    return np.clip(mean + spread * np.where(flip, -z, z), low, high)
