"""One feature given the others: fitted once, then drawn by matrix products alone."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import BayesianRidge, LogisticRegression

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.sampling.legal import nearest_legal
from armin.schema import Feature

__all__ = ["Categories", "Conditional", "Matching", "Normal", "fit_conditional", "truncated_normal"]

_CHUNK = 1000
_EVIDENCE = 4  # steps towards the penalty of greatest evidence
_MOST_WORK = 4e8  # beyond, rows are so many that coefficients are hardly in doubt, and their covariance takes seconds
_INTERCEPT_PENALTY = 1e-2


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

    def restricted(self, fixed: FloatArray, free: IntArray) -> Normal:
        """The same distribution where only the design columns ``free`` vary and the others stand at ``fixed`` (P,).

        ``fixed`` is 0 at the free columns. The new design holds these columns alone, so a draw costs their number.
        """
        reduced = _reduced(np.vstack([self.root[free], fixed @ self.root - self.shift]))
        return replace(
            self,
            intercept=self.intercept + float(fixed @ self.coefficients),
            coefficients=self.coefficients[free],
            root=reduced[:-1],
            shift=-reduced[-1],
        )

    def draw(self, design: FloatArray, rng: np.random.Generator) -> FloatArray:
        """A legal code (n,) for each row of ``design``."""
        spread = self.scale * np.sqrt(self.noise + self.doubt(design))
        half = 0.5 if self.feature.kind == "integer" else 0.0
        low, high = self.feature.low_code - half, self.feature.high_code + half
        return nearest_legal(self.feature, truncated_normal(self.mean(design), spread, low, high, rng))


@dataclass(frozen=True, eq=False)
class Matching:
    """A number: drawn from training rows whose predicted mean is near (predictive mean matching).

    A donor's mean is the one that a regression without this donor predicts, so that what separates donors from their
    means is what separates a new person from his: noise and the doubt about the coefficients. Where a row is more
    doubtful than donors are on average, its own mean is moved by a normal draw with the variance in excess. Of ``k``
    means, half of them below and half above, one is picked, and of all training rows that share this mean one value.

    Attributes
    ----------
    normal : the regression
    means : the training rows' predicted means, standardised and sorted
    values : their codes, in the same order
    first, size : for each, where the rows with the same mean begin and how many they are
    usual : the mean doubt of donors
    """

    normal: Normal
    means: FloatArray
    values: FloatArray
    first: IntArray
    size: IntArray
    usual: float
    k: int

    @classmethod
    def of(cls, normal: Normal, design: FloatArray, codes: FloatArray, k: int) -> Matching:
        """Donors from the training design (n, P) and codes (n,)."""
        fitted = normal.intercept + design @ normal.coefficients
        doubt = normal.doubt(design)
        leverage = np.minimum(doubt / normal.noise, 0.9)
        # leaving row i out of a ridge regression moves its residual e to e / (1 - leverage)
        residual = ((codes - normal.centre) / normal.scale - fitted) * (leverage / (1.0 - leverage))
        means = np.round(fitted - residual, 9)
        order = np.argsort(means, kind="stable")
        means = means[order]
        first = np.searchsorted(means, means, "left")
        size = np.searchsorted(means, means, "right") - first
        return cls(normal, means, codes[order], first, size, float(doubt.mean()), min(k, means.size))

    def mean(self, design: FloatArray) -> FloatArray:
        """The predictive mean (n,)."""
        return self.normal.mean(design)

    def restricted(self, fixed: FloatArray, free: IntArray) -> Matching:
        """See :meth:`Normal.restricted`."""
        return replace(self, normal=self.normal.restricted(fixed, free))

    def draw(self, design: FloatArray, rng: np.random.Generator) -> FloatArray:
        """A training code (n,) for each row of ``design``."""
        return np.asarray(self.values[self.near(*self.aim(design), np.arange(design.shape[0]), rng)])

    def aim(self, design: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean (n,) that donors should have, and the spread (n,) of the draw that moves it."""
        target = self.normal.intercept + design @ self.normal.coefficients
        return target, np.sqrt(np.maximum(self.normal.doubt(design) - self.usual, 0.0))

    def near(self, target: FloatArray, spread: FloatArray, which: IntArray, rng: np.random.Generator) -> IntArray:
        """For each of ``which`` (n,), a position in both, a training row near ``target``: its place in ``values``.

        The target is moved by a normal draw with this spread.
        """
        n = which.size
        aim = target[which] + spread[which] * rng.standard_normal(n)
        # as many donors below as above, counted from the middle of those that share the mean
        at = self.means.searchsorted(aim)
        shared = self.means.take(at, mode="clip") == aim
        low = 2 * at
        if shared.any():
            low += np.where(shared, self.size.take(at, mode="clip"), 0)
        low -= self.k - 1
        low >>= 1
        np.maximum(low, 0, out=low)
        np.minimum(low, self.means.size - self.k, out=low)
        u = rng.random((2, n))
        low += (u[0] * self.k).astype(np.intp)
        return np.asarray(self.first[low] + (u[1] * self.size[low]).astype(np.intp))


@dataclass(frozen=True, eq=False)
class Categories:
    """A binary, ordinal or categorical feature: softmax of scores that are linear in the design.

    A draw first draws the coefficients, from the normal approximation to their posterior, then the category.

    Attributes
    ----------
    weights : (P, K)
    intercept : (K,), minus infinity for a category that training did not show
    drawn : the categories whose coefficients are doubtful, S of them
    root : ((P + 1) S, R), where ``root root'`` is the covariance of their weights and intercepts; None for no doubt
    """

    weights: FloatArray
    intercept: FloatArray
    drawn: IntArray
    root: FloatArray | None

    def chances(self, design: FloatArray) -> FloatArray:
        """The probability (n, K) of each category, at the most plausible coefficients."""
        return np.asarray(softmax(design @ self.weights + self.intercept, axis=1))

    def restricted(self, fixed: FloatArray, free: IntArray) -> Categories:
        """See :meth:`Normal.restricted`."""
        root = self.root
        if root is not None:
            cube = root.reshape(fixed.size + 1, -1)
            still = np.append(fixed, 1.0) @ cube
            rows = np.vstack([cube[free], still]).reshape(-1, root.shape[1])
            root = _reduced(rows)
        return replace(self, weights=self.weights[free], intercept=self.intercept + fixed @ self.weights, root=root)

    def draw(self, design: FloatArray, rng: np.random.Generator) -> FloatArray:
        """A category code (n,) for each row of ``design``."""
        scores = design @ self.weights + self.intercept
        if self.root is not None:
            for start in range(0, design.shape[0], _CHUNK):
                part = slice(start, start + _CHUNK)
                scores[part, self.drawn] += self._wobble(self.root, design[part], rng)
        scores -= scores.max(axis=1, keepdims=True)
        reached = np.cumsum(np.exp(scores), axis=1)
        u = np.minimum(rng.random(design.shape[0]), 1.0 - 1e-12) * reached[:, -1]
        return np.asarray((reached <= u[:, None]).sum(axis=1), dtype=np.float64)

    def _wobble(self, root: FloatArray, design: FloatArray, rng: np.random.Generator) -> FloatArray:
        """What drawn coefficients (n, S) add to the scores."""
        n = design.shape[0]
        moved = (rng.standard_normal((n, root.shape[1])) @ root.T).reshape(n, -1, self.drawn.size)
        return np.asarray(np.einsum("nq,nqs->ns", design, moved[:, :-1]) + moved[:, -1])


Conditional = Normal | Matching | Categories


def fit_conditional(
    feature: Feature,
    design: FloatArray,
    own: slice,
    codes: FloatArray,
    *,
    numbers: Literal["normal", "matching"],
    donors: int,
    penalty: float | None,
) -> Conditional | None:
    """The distribution of ``feature`` given the other columns of ``design``.

    Parameters
    ----------
    feature : what is predicted
    design : (n, P), training rows in which the feature is known
    own : the columns of ``design`` that belong to the feature itself; they get no weight
    codes : (n,), the feature in these rows
    numbers, donors, penalty : see :class:`armin.sampling.ChainedEquations`

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
    feature: Feature, design: FloatArray, others: BoolArray, codes: FloatArray, penalty: float | None
) -> Categories:
    X, labels = design[:, others], codes.astype(np.intp)
    shown = np.unique(labels)
    drawn = shown[1:] if shown.size == 2 else shown
    costly = codes.size * (drawn.size * (X.shape[1] + 1)) ** 2 > _MOST_WORK
    strength, covariance = 1.0 if penalty is None else penalty, None
    model = LogisticRegression(C=1.0 / strength, max_iter=200, warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a fit that is not quite there is still a distribution
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)  # they are categories
        for _ in range(_EVIDENCE if penalty is None and not costly else 1):
            model.set_params(C=1.0 / strength).fit(X, labels)
            if not costly:
                covariance = _laplace(X, model.predict_proba(X)[:, -drawn.size :], strength)
                if penalty is None:
                    strength = _evidence(model.coef_, covariance, strength)
    root: FloatArray | None = None
    if covariance is not None:
        values, vectors = np.linalg.eigh(covariance)
        keep = np.append(others, True)
        cube = np.zeros((keep.size, drawn.size, values.size))
        cube[keep] = (vectors * np.sqrt(np.maximum(values, 0.0))).reshape(-1, drawn.size, values.size)
        root = cube.reshape(-1, values.size)
    weights = np.zeros((design.shape[1], len(feature.categories)))
    intercept = np.full(len(feature.categories), -np.inf)
    weights[np.ix_(others, drawn)] = model.coef_.T
    intercept[shown] = 0.0
    intercept[drawn] = model.intercept_
    return Categories(weights, intercept, drawn, root)


def _laplace(X: FloatArray, chances: FloatArray, penalty: float) -> FloatArray:
    """The covariance ((P + 1) S)² of coefficients and intercepts: the inverse curvature of the log posterior."""
    n, s = chances.shape
    wide = np.column_stack([X, np.ones(n)])
    width = wide.shape[1]
    curvature = np.zeros((width, s, width, s))
    for k in range(s):
        for j in range(k + 1):
            weight = chances[:, k] * ((1.0 if j == k else 0.0) - chances[:, j])
            block = (wide * weight[:, None]).T @ wide
            curvature[:, k, :, j] = block
            curvature[:, j, :, k] = block
    flat = curvature.reshape(width * s, width * s)
    prior = np.full((width, s), penalty)
    prior[-1] = _INTERCEPT_PENALTY
    return np.asarray(np.linalg.inv(flat + np.diag(prior.ravel())))


def _evidence(coefficients: FloatArray, covariance: FloatArray, penalty: float) -> float:
    """The penalty that makes the data likelier: number of determined coefficients over their squared size."""
    s = coefficients.shape[0]
    determined = coefficients.size - penalty * float(np.trace(covariance[:-s, :-s]))
    return float(np.clip(max(determined, 1e-3) / max(float(np.sum(coefficients**2)), 1e-9), 1e-2, 1e4))


def _reduced(rows: FloatArray) -> FloatArray:
    """A square matrix with the same products of rows, hence the same normal distribution, as ``rows``."""
    values, vectors = np.linalg.eigh(rows @ rows.T)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


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
