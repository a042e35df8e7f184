"""Scores and tests of draws against the truth: proper scores, ranks, coverage; formulas in docs/assess.md."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr
from scipy.stats import chi2

from armin.arrays import FloatArray
from armin.schema import Feature

__all__ = ["LEVELS", "coverage", "fair_energy", "histogram", "log_score", "pooled_p", "random_rank", "uniform_p"]

LEVELS = (0.5, 0.8, 0.9)


def fair_energy(to_truth: FloatArray, between: FloatArray, w: FloatArray) -> float:
    """E|X - y| - E|X - X'| / 2 without the bias of few draws: no draw is paired with itself."""
    pairs = max(1.0 - float(w @ w), 1e-12)
    return float(w @ to_truth - 0.5 * (w @ between @ w) / pairs)


def random_rank(x: FloatArray, y: float, w: FloatArray, tie: float, ordered: bool) -> float:
    """The place of the truth among the draws in (0, 1), ties broken by ``tie``; categories from frequent to rare.

    The truth counts as one more draw when categories are put in order, which keeps the place exactly uniform.
    """
    m = len(x)
    if not ordered:
        pooled = np.bincount(np.append(x, y).astype(np.intp), np.append(w * m, 1.0))
        place = np.empty(pooled.size)
        place[np.argsort(-pooled, kind="stable")] = np.arange(pooled.size)
        x, y = place[x.astype(np.intp)], float(place[int(y)])
    return float((m * w[x < y].sum() + tie * (1.0 + m * w[x == y].sum())) / (m + 1))


def log_score(feature: Feature, x: FloatArray, y: float, w: FloatArray, scale: float) -> float:
    """Minus the log of the chance of ``y``: draws smoothed by a kernel, and one more spread over the domain."""
    m, width = len(x), feature.high_code - feature.low_code
    if not feature.is_number:
        chance, even = float(w[x == y].sum()), 1.0 / max(len(feature.categories), 1)
    else:
        spread = float(np.sqrt(w @ (x - w @ x) ** 2))
        middle = float(np.subtract(*np.quantile(x, [0.75, 0.25]))) / 1.349
        band = 0.9 * (min(spread, middle) if middle > 0 else spread) * m**-0.2
        if feature.kind == "integer":
            band = max(band, 0.25)
            chance = float(w @ (ndtr((y + 0.5 - x) / band) - ndtr((y - 0.5 - x) / band)))
            even = 1.0 / (width + 1.0)
        else:
            band = max(band, 0.01 * scale)
            chance = float(w @ np.exp(-0.5 * ((y - x) / band) ** 2)) / (band * np.sqrt(2 * np.pi)) * scale
            even = scale / width if width > 0 else 1.0
    return float(-np.log((m * chance + even) / (m + 1)))


def coverage(depth: FloatArray) -> dict[str, float]:
    """Share of values inside each interval; the standard error is binomial, or larger if a row's values go together."""
    seen = ~np.isnan(depth)
    n = int(seen.sum())
    out = {}
    for level in LEVELS:
        inside = np.where(seen, (depth <= level) - level, 0.0)
        share = level + float(inside.sum()) / n
        by_row = float(np.sqrt(np.sum((inside.sum(axis=1) - seen.sum(axis=1) * (share - level)) ** 2))) / n
        out[f"cover_{_pc(level)}"] = share
        out[f"se_{_pc(level)}"] = max(by_row if depth.shape[1] > 1 else 0.0, float(np.sqrt(level * (1 - level) / n)))
    return out


def _bins(n: int) -> int:
    return int(np.clip(n // 5, 2, 10))


def histogram(ranks: FloatArray) -> FloatArray:
    """How many ranks fall into each of a few bins of equal width."""
    return np.histogram(ranks, bins=_bins(ranks.size), range=(0.0, 1.0))[0]


def uniform_p(ranks: FloatArray) -> float:
    """Chi-square test of uniform ranks; NaN below ten of them."""
    if ranks.size < 10:
        return np.nan
    counts = histogram(ranks)
    expected = ranks.size / counts.size
    return float(chi2.sf(np.sum((counts - expected) ** 2) / expected, counts.size - 1))


def pooled_p(ranks: FloatArray) -> float:
    """Chi-square test of uniform ranks over all features, corrected for values of one row that go together.

    The correction is that of Rao and Scott: the sum of squares is compared with a multiple of a chi-square variable
    that has its mean and variance.
    """
    seen = ~np.isnan(ranks)
    n, k = int(seen.sum()), _bins(len(ranks))
    if len(ranks) < 10:
        return np.nan
    bins = np.where(seen, np.minimum(np.nan_to_num(ranks) * k, k - 1).astype(np.intp), -1)
    excess = np.stack([(bins == b).sum(axis=1) - seen.sum(axis=1) / k for b in range(k)], axis=1) / np.sqrt(n / k)
    spread = excess.T @ excess
    mean, square = float(np.trace(spread)), float(np.sum(spread**2))
    return float(chi2.sf(np.sum(excess.sum(axis=0) ** 2) * mean / square, mean**2 / square))


def _pc(level: float) -> int:
    return round(level * 100)
