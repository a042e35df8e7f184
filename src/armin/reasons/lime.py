"""LIME for one row: a small linear model of the score around it, with the error of its coefficients.

Each perturbed row keeps some of the person's values and takes the others from one of the people with whom the person
is compared. Rows that keep more count more. The coefficient of "keeps the value" is what the value weighs there.
"""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import Ridge

from armin.arrays import FloatArray
from armin.reasons.attribute import Attribution
from armin.reasons.score import Score

__all__ = ["attribute_lime"]

ROWS = 500
"""Perturbed rows for each person."""
WIDTH = 0.75
"""The width of the kernel, in units of the square root of the number of features, as LIME has it for tables."""
RIDGE = 1e-3
"""The penalty, for each perturbed row."""


def attribute_lime(score: Score, people: FloatArray, others: FloatArray, rng: np.random.Generator) -> Attribution:
    """What each feature weighs near each person (n, D), by a weighted ridge regression of the score.

    The weights of one person do not add up to anything; what the line misses is in the error.
    """
    n, players = people.shape
    rows = np.concatenate([people, others])
    plays = np.flatnonzero([(rows[:, p] != rows[0, p]).any() for p in range(players)])
    weights, variance = np.zeros(people.shape), np.zeros(people.shape)
    kept = rng.random((ROWS, plays.size)) < 0.5
    kept[0] = True
    met = others[rng.integers(0, others.shape[0], ROWS)]
    # the distance of LIME: between a row of ones and what is kept
    distance = np.sqrt((~kept).sum(axis=1))
    near = np.sqrt(np.exp(-((distance / (WIDTH * np.sqrt(max(1, plays.size)))) ** 2)))
    design = kept.astype(np.float64)
    for i in range(n):
        near_rows = met.copy()
        near_rows[:, plays] = np.where(kept, people[i, plays], met[:, plays])
        scores = score(near_rows)
        line = Ridge(alpha=RIDGE * ROWS).fit(design, scores, sample_weight=near)
        weights[i, plays] = line.coef_
        variance[i, plays] = _errors(design, near, scores - line.predict(design))
    return Attribution(weights, variance, score(people), float(score(others).mean()), "lime")


def _errors(design: FloatArray, near: FloatArray, misses: FloatArray) -> FloatArray:
    """Squared standard errors of the coefficients, whatever the variance of each row (a sandwich)."""
    centred = design - near @ design / near.sum()
    inner = centred * near[:, None]
    bread = np.linalg.pinv(inner.T @ centred + RIDGE * ROWS * np.eye(design.shape[1]))
    meat = (inner * misses[:, None]).T @ (inner * misses[:, None])
    return np.asarray(np.diag(bread @ meat @ bread))
