"""The paper's propositions as functions: how many samples, how far the estimate may be off, what imputation costs.

Symbols are the paper's: N completions, D* missing features, a linear classifier f(x) = β'x that accepts f(x) >= 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from armin.arrays import FloatArray
from armin.errors import ParameterError

__all__ = [
    "ImputationGap",
    "closed_form_action",
    "estimation_error",
    "imputation_gap",
    "imputation_gap_bound",
    "log_growth",
    "sample_size",
    "sample_size_anywhere",
]


def sample_size(n_missing: int, *, width: float, distance: float, failure: float) -> int:
    """Proposition 2 as published: how many uniform completions until one is near the truth, away from the borders.

    ``N >= log(1/δ) (w / 2ε)^D*`` completions, drawn uniformly from boxes of width w, hold one within ε of the true
    row in every missing feature, with probability at least 1 - δ, if the truth is at least ε away from every border.
    The paper states it for every truth, for which it takes more: :func:`sample_size_anywhere`.

    Parameters
    ----------
    n_missing : D*, the number of missing features
    width : w, the width of each feature's domain
    distance : ε
    failure : δ

    Examples
    --------
    >>> sample_size(2, width=1.0, distance=0.1, failure=0.05)
    75
    """
    return _enough(n_missing, width, 2 * distance, failure)


def sample_size_anywhere(n_missing: int, *, width: float, distance: float, failure: float) -> int:
    """Proposition 2, corrected: how many uniform completions until one is near the truth, wherever that is.

    ``N >= log(1/δ) (w / ε)^D*``. Proof: of the interval of length 2ε around the truth, at least min(ε, w) lies inside
    the feature's domain, since one side of it does. So a completion is near in all D* features with probability at
    least q = min(1, ε/w)^D*, and none of N independent ones is with probability at most (1 - q)^N <= exp(-q N) <= δ.
    A truth in a corner of the box has probability q exactly, so that no smaller power of w/ε will do.

    Parameters
    ----------
    n_missing, width, distance, failure : as in :func:`sample_size`

    Examples
    --------
    >>> sample_size_anywhere(2, width=1.0, distance=0.1, failure=0.05)
    300
    """
    return _enough(n_missing, width, distance, failure)


def _enough(n_missing: int, width: float, reach: float, failure: float) -> int:
    """How many draws until one falls into a box of width ``reach`` in each of ``n_missing`` features."""
    if n_missing < 0:
        raise ParameterError(f"'n_missing' must be at least 0. Got {n_missing!r} instead.")
    if not (width > 0 and reach > 0):
        raise ParameterError(f"'width' and 'distance' must be positive. Got {width!r} and {reach!r} instead.")
    _check_failure(failure)
    odds = max(1.0, width / reach)  # a box wider than the domain covers all of it
    return math.ceil(math.log(1 / failure) * odds**n_missing)


def log_growth(n: int, *, n_actions: int | None = None, linear: bool = False) -> float:
    """The logarithm ln Π(N) of the growth function of {h(. + a) : a in A}, or a bound of it.

    Always at most ``N ln 2`` and, for a finite action set, ``ln |A|``. For a linear classifier, on which all
    completions move by the same amount, ``ln (N + 1)``.

    >>> round(log_growth(100, linear=True), 3), round(log_growth(100, n_actions=10), 3)
    (4.615, 2.303)
    """
    bounds = [n * math.log(2)]
    if n_actions is not None:
        bounds.append(math.log(max(1, n_actions)))
    if linear:
        bounds.append(math.log(n + 1))
    return min(bounds)


def estimation_error(n: int, *, failure: float, log_growth: float) -> float:
    """Proposition 3: how far the share of valid completions may exceed the true probability.

    With probability at least 1 - δ, for every action at once,
    ``V̂(a) - V(a) <= sqrt(2 ln Π(N) / N) + sqrt(ln(1/δ) / 2N)``.

    Parameters
    ----------
    n : N, the number of independent completions
    failure : δ
    log_growth : ln Π(N), see :func:`log_growth`

    Examples
    --------
    >>> round(estimation_error(1000, failure=0.05, log_growth=log_growth(1000, linear=True)), 3)
    0.156
    """
    if n < 1:
        raise ParameterError(f"'n' must be at least 1. Got {n!r} instead.")
    if log_growth < 0:
        raise ParameterError(f"'log_growth' must be at least 0. Got {log_growth!r} instead.")
    _check_failure(failure)
    return math.sqrt(2 * log_growth / n) + math.sqrt(math.log(1 / failure) / (2 * n))


def closed_form_action(weights: ArrayLike, x: ArrayLike) -> FloatArray:
    """Lemma: the shortest action for a linear classifier, ``a* = -f(x) β / |β|²`` where f(x) < 0, else 0.

    Parameters
    ----------
    weights : β (D,)
    x : one row (D,) or many (n, D)

    Examples
    --------
    >>> closed_form_action([3.0, 4.0], [0.0, -1.0])
    array([0.48, 0.64])
    """
    beta = np.asarray(weights, dtype=np.float64)
    rows = np.asarray(x, dtype=np.float64)
    square = float(beta @ beta)
    if square == 0:
        raise ParameterError("'weights' must not be all zero: such a classifier cannot be moved.")
    score = np.minimum(rows @ beta, 0.0)
    return np.asarray(-score[..., None] * beta / square)


@dataclass(frozen=True)
class ImputationGap:
    """Proposition 1 on a sample: the mean squared distance between two actions, and its bound.

    Attributes
    ----------
    gap : mean of |â - a*|²
    bound : (β_d² γ_loss + γ p_conf) / |β|²
    loss : γ_loss, the mean squared error of the imputation
    covariance : γ_cov = σ_imp² - 2 Cov(x_d, imputed), for which σ² + γ_cov = γ_loss if the imputation is unbiased
    disputed : p_conf, the share of rows whose decision the imputation changes
    score : γ, the mean of f(x)² over those rows
    """

    gap: float
    bound: float
    loss: float
    covariance: float
    disputed: float
    score: float


def imputation_gap_bound(weights: ArrayLike, feature: int, *, loss: float, score: float, disputed: float) -> float:
    """Proposition 1: ``E |â - a*|² <= (β_d² γ_loss + γ p_conf) / |β|²``.

    Under mean imputation γ_loss is the variance σ² of the missing feature. In general it is its expected
    squared error, and equals ``σ² + γ_cov``, where ``γ_cov = σ_imp² - 2 Cov(x_d, imputed)`` if it is unbiased.

    Parameters
    ----------
    weights : β (D,)
    feature : d, the missing feature
    loss : γ_loss
    score : γ = E[f(x)² | the imputation changes the decision]
    disputed : p_conf, the probability of that

    Examples
    --------
    >>> imputation_gap_bound([1.0, 2.0], 1, loss=0.5, score=0.2, disputed=0.1)
    0.404
    """
    beta = np.asarray(weights, dtype=np.float64)
    return float((beta[feature] ** 2 * loss + score * disputed) / (beta @ beta))


def imputation_gap(weights: ArrayLike, feature: int, x: ArrayLike, imputed: ArrayLike) -> ImputationGap:
    """Measure how far recourse moves when one feature is imputed, beside the bound of Proposition 1.

    Parameters
    ----------
    weights : β (D,) of a linear classifier that accepts β'x >= 0
    feature : d, the missing feature
    x : complete rows (n, D)
    imputed : what stands in for feature d in each row (n,)

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(1000, 2))
    >>> found = imputation_gap([1.0, 1.0], 0, x, np.zeros(1000))
    >>> found.gap <= found.bound
    True
    """
    beta, rows = np.asarray(weights, dtype=np.float64), np.asarray(x, dtype=np.float64)
    guess = np.asarray(imputed, dtype=np.float64)
    filled = rows.copy()
    filled[:, feature] = guess
    gap = ((closed_form_action(beta, filled) - closed_form_action(beta, rows)) ** 2).sum(axis=1).mean()
    conflict = (rows @ beta >= 0) != (filled @ beta >= 0)
    score = float(((rows @ beta) ** 2)[conflict].mean()) if conflict.any() else 0.0
    truth = rows[:, feature]
    loss = float(((truth - guess) ** 2).mean())
    centre = truth.mean()
    covariance = float(((guess - centre) ** 2).mean() - 2 * ((truth - centre) * (guess - centre)).mean())
    disputed = float(conflict.mean())
    bound = imputation_gap_bound(beta, feature, loss=loss, score=score, disputed=disputed)
    return ImputationGap(float(gap), bound, loss, covariance, disputed, score)


def _check_failure(failure: float) -> None:
    if not 0 < failure < 1:
        raise ParameterError(f"'failure' must be in (0, 1). Got {failure!r} instead.")
