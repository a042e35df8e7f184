"""Which columns of a wide table say most about each, and what all the others say together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from armin.arrays import FloatArray, IntArray
from armin.sampling.design import Design

__all__ = ["Together", "associations", "strongest"]

_FOLDS = 4
_PENALTIES = (0.003, 0.03, 0.3)  # of the mean square of a standardised column
_ROUNDING = 1e-8


def associations(design: Design, encoded: FloatArray) -> FloatArray:
    """How much of each feature each other one explains alone: adjusted shares of variance (D, D), 0 on the diagonal.

    Row d says it of feature d as what is explained. A number explains by its value and its bends together, a category
    by its indicators; a category is explained on average over its indicators.

    Parameters
    ----------
    design : the columns
    encoded : (n, P), rows of them
    """
    n, count = encoded.shape[0], len(design.columns)
    bases = [_orthonormal(encoded[:, at]) for at in design.columns]
    ranks = np.array([base.shape[1] for base in bases])
    starts = np.cumsum(ranks) - ranks
    every = np.hstack(bases)
    out = np.zeros((count, count))
    for d, at in enumerate(design.columns):
        target = bases[d] if design.indicators[d] else _orthonormal(encoded[:, [at.start]])
        if target.shape[1] == 0:
            continue
        shares = ((target.T @ every) ** 2).mean(axis=0)
        explained = np.add.reduceat(np.append(shares, 0.0), starts) * (ranks > 0)
        out[d] = 1.0 - (1.0 - np.minimum(explained, 1.0)) * (n - 1) / np.maximum(n - 1 - ranks, 1)
        out[d, d] = 0.0
    return np.maximum(out, 0.0)


def _orthonormal(columns: FloatArray) -> FloatArray:
    """Orthonormal columns that span the same, about their means."""
    centred = columns - columns.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    return np.asarray(u[:, s > _ROUNDING * max(float(s[0]), 1.0)])


def strongest(shares: FloatArray, most: int) -> tuple[IntArray, ...]:
    """For each row of ``shares`` (D, D) the ``most`` others with the largest share, in the order of the columns.

    >>> strongest(np.array([[0.0, 0.1, 0.3], [0.2, 0.0, 0.1], [0.5, 0.6, 0.0]]), 1)
    (array([2]), array([0]), array([1]))
    """
    ranked = shares.copy()
    np.fill_diagonal(ranked, -1.0)
    order = np.argsort(-ranked, axis=1, kind="stable")[:, : min(most, shares.shape[0] - 1)]
    return tuple(np.sort(row) for row in order)


@dataclass(frozen=True, eq=False)
class Together:
    """Each feature by a ridge regression on all the others; one matrix is inverted for all of them.

    Attributes
    ----------
    weights : (M, M), what each column is predicted by; 0 where both belong to the same feature
    seen : (n, M), predictions of the training rows, each by the weights of the other folds

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(400, 2))
    >>> rows = np.column_stack([rows, rows.sum(axis=1)])
    >>> Together.of(rows, (slice(0, 1), slice(1, 2), slice(2, 3))).weights[:, 2].round(1)
    array([1., 1., 0.])
    """

    weights: FloatArray
    seen: FloatArray

    @classmethod
    def of(cls, rows: FloatArray, own: tuple[slice, ...]) -> Together:
        """From rows (n, M) about their means.

        Parameters
        ----------
        rows : the columns
        own : for each feature, where its columns stand
        """
        fold = np.arange(rows.shape[0]) % _FOLDS
        grams = [rows[fold == f].T @ rows[fold == f] for f in range(_FOLDS)]
        total = np.sum(grams, axis=0)
        weights, seen = np.zeros(total.shape), np.zeros(rows.shape)
        least = np.full(len(own), np.inf)
        for penalty in _PENALTIES:
            ahead = np.empty(rows.shape)
            for f, gram in enumerate(grams):
                inside = fold == f
                ahead[inside] = rows[inside] @ _weights(total - gram, int((~inside).sum()), penalty, own)
            error = np.array([((rows[:, at] - ahead[:, at]) ** 2).mean() for at in own])
            found = _weights(total, rows.shape[0], penalty, own)
            for d in np.flatnonzero(error < least):
                weights[:, own[d]], seen[:, own[d]] = found[:, own[d]], ahead[:, own[d]]
            least = np.minimum(least, error)
        return cls(weights, seen)


def _weights(gram: FloatArray, n: int, penalty: float, own: tuple[slice, ...]) -> FloatArray:
    """What predicts each column (M, M): by the inverse, all features at once."""
    ridge = gram + penalty * max(n, 1) * np.eye(gram.shape[0])
    inverse: FloatArray = cho_solve(cho_factor(ridge), np.eye(gram.shape[0]))
    out = np.empty_like(inverse)
    for at in own:
        out[:, at] = -inverse[:, at] @ np.linalg.inv(inverse[at, at])
        out[at, at] = 0.0
    return out
