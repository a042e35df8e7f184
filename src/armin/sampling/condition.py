"""Draws that agree with the known decision: p(missing | observed, h(x) = undesired)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from armin.arrays import BoolArray, FloatArray
from armin.errors import ParameterError
from armin.sampling.base import Draws, RowSampler, Sampler, check_count, row_sampler

__all__ = ["Conditioned", "condition", "sample_conditioned"]

_DRAWS_PER_WANTED = 50
_RARE = 0.05
"""Below this share of agreeing draws, the last draw is repeated rather than all of them."""
_TELLS = 50  # fewer draws do not tell what is rare
_ENDINGS = 50
_BRANCHES_PER_WANTED = 4
_MOST_WAYS = 8


@dataclass(frozen=True, eq=False)
class Conditioned:
    """Completions of one row, given that the model rejects the person.

    Attributes
    ----------
    draws : the completions; their weights add up to the number that was asked for
    n_drawn : how many completions were drawn
    n_kept : how many of these the model rejects
    conditioned : whether ``draws`` are all rejected; if not, no draw was, and they are plain draws
    enough : whether as many rejected ones were found as were asked for
    weighed : whether ``draws`` have different weights because their last draw was repeated

    Examples
    --------
    >>> plain = Draws.equal(np.array([[1.0], [2.0]]))
    >>> Conditioned(plain, n_drawn=8, n_kept=2, conditioned=True, enough=True).rate
    0.25
    """

    draws: Draws
    n_drawn: int
    n_kept: int
    conditioned: bool
    enough: bool
    weighed: bool = False

    @property
    def size(self) -> float:
        """The effective sample size: how many draws of equal weight say as much."""
        return _effective(self.draws.weights)

    @property
    def rate(self) -> float:
        """The share of draws that the model rejects, an estimate of P(h(x) = undesired | observed)."""
        return self.n_kept / self.n_drawn


def sample_conditioned(
    sampler: Sampler,
    row: FloatArray,
    n: int,
    rng: np.random.Generator,
    accepts: Callable[[FloatArray], ArrayLike],
    max_draws: int | None = None,
) -> Conditioned:
    """Draw until ``n`` completions are found that the model rejects, or ``max_draws`` are spent.

    Rejected draws are independent draws from p(missing | observed, h = undesired), however few they are. So where
    0 < m < n were found, these m are returned with weights that add up to ``n``: the estimate that n draws would
    refine, at its true sample size. (Resampling them to n would add noise and hide that they are few.) Where none was
    found, the decision contradicts the sampler or the model; the first ``n`` plain draws are returned and
    ``conditioned`` is False.

    Parameters
    ----------
    sampler : a fitted sampler
    row : codes (D,), NaN for blanks
    n : how many completions
    rng : the source of randomness
    accepts : the user's model, codes (m, D) to bool (m,): True where the decision is the desired one
    max_draws : the most to draw; 50 n if None, and never fewer than n

    Returns
    -------
    Conditioned

    Examples
    --------
    >>> from armin.sampling import Uniform
    >>> from armin.schema import Feature, Schema
    >>> schema = Schema((Feature("a", "integer", lower=0, upper=9),))
    >>> sampler = Uniform().fit(np.array([[1.0]]), schema)
    >>> found = sample_conditioned(sampler, np.array([np.nan]), 5, np.random.default_rng(0), lambda x: x[:, 0] >= 2)
    >>> np.unique(found.draws.values), found.conditioned
    (array([0., 1.]), True)
    """
    return condition(row_sampler(sampler, row), n, rng, accepts, max_draws)


def condition(
    sampler: RowSampler,
    n: int,
    rng: np.random.Generator,
    accepts: Callable[[FloatArray], ArrayLike],
    max_draws: int | None = None,
    *,
    repeats: bool = False,
) -> Conditioned:
    """As :func:`sample_conditioned`, for a sampler that knows its row.

    Parameters
    ----------
    sampler, n, rng, accepts, max_draws : as there
    repeats : whether the sampler's last draw may be repeated, and its draws weighed, where few are rejected;
        ``accepts`` is then asked about some 200 n completions, and should be quick
    """
    check_count("n", n)
    limit = _DRAWS_PER_WANTED * n if max_draws is None else max(n, check_count("max_draws", max_draws))
    if not np.isnan(sampler.row).any():
        limit = n  # copies of one row: all or none
    first = sampler.sample(n, rng)
    batch, kept_values, kept_weights = first, [], []
    drawn = kept = 0
    while True:
        rejected = ~_asked(accepts, batch.values)
        every = bool(rejected.all())  # as is usual: then nothing is copied
        kept_values.append(batch.values if every else batch.values[rejected])
        kept_weights.append(batch.weights if every else batch.weights[rejected])
        drawn, kept = drawn + len(batch), kept + int(rejected.sum())
        if kept >= n or drawn >= limit:
            break
        if repeats and drawn == n >= _TELLS and kept < _RARE * n:
            found = _branched(sampler, n, rng, accepts)
            if found is not None:
                return found
        # as many as the rate so far calls for, a fifth more, and at most ten times n at once
        wanted = 1.2 * (n - kept) * drawn / max(kept, 1)
        batch = sampler.sample(min(int(np.clip(np.ceil(wanted), n, 10 * n)), limit - drawn), rng)
    if kept == 0:
        return Conditioned(_weighing(first.values, first.weights, n), drawn, 0, conditioned=False, enough=False)
    if kept == drawn == n == first.weights.sum():  # the first draws, all of them, as they are
        return Conditioned(first, drawn, kept, conditioned=True, enough=True)
    values, weights = _joined(kept_values)[:n], _joined(kept_weights)[:n]
    return Conditioned(_weighing(values, weights, n), drawn, kept, conditioned=True, enough=kept >= n)


def _joined(parts: list[FloatArray]) -> FloatArray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _branched(
    sampler: RowSampler, n: int, rng: np.random.Generator, accepts: Callable[[FloatArray], ArrayLike]
) -> Conditioned | None:
    """Rejected draws where these are rare; None where rejection alone gives as many, or none is rejected.

    A sampler that draws one blank after the other spends its time on all but the last. So the last draw is repeated,
    and of the endings of each draw that are rejected, one is kept, with a weight proportional to their number. Averages
    with these weights are what rejection alone would give: each ending is a draw from the sampler, and a kept one
    stands for all rejected ones beside it. Draws that share nothing are independent, so that the effective size of the
    weighted sample is a true one. Which blank is best drawn last, a few draws of each tell beforehand.
    """
    few = max(_TELLS, n // 10)
    tried = [_endings(sampler, few, last, rng, accepts)[1] for last in range(min(sampler.ways, _MOST_WAYS))]
    if not tried:
        return None
    sizes = [_effective(counts) for counts in tried]
    rate = float(np.mean([counts.mean() for counts in tried])) / _ENDINGS
    last = int(np.argmax(sizes))
    if sizes[last] / few * _BRANCHES_PER_WANTED <= rate * _DRAWS_PER_WANTED:
        return None
    values, counts = _endings(sampler, n, last, rng, accepts)
    for _ in range(_BRANCHES_PER_WANTED - 1):
        if _effective(counts) >= n / 2:
            break
        more = _endings(sampler, n, last, rng, accepts)
        values, counts = np.concatenate([values, more[0]]), np.append(counts, more[1])
    some = counts > 0
    if not some.any():
        return None
    drawn, kept = counts.size * _ENDINGS, int(counts.sum())
    found = _weighing(values[some], counts[some], n)
    return Conditioned(found, drawn, kept, conditioned=True, enough=kept >= n, weighed=True)


def _endings(
    sampler: RowSampler, n: int, last: int, rng: np.random.Generator, accepts: Callable[[FloatArray], ArrayLike]
) -> tuple[FloatArray, FloatArray]:
    """For each of ``n`` draws one of its endings that are rejected, (n, D), and how many are, (n,)."""
    branches = sampler.branched(n, _ENDINGS, last, rng)
    rejected = ~_asked(accepts, branches.reshape(n * _ENDINGS, -1)).reshape(n, _ENDINGS)
    counts = rejected.sum(axis=1)
    pick = (np.cumsum(rejected, axis=1) > np.floor(rng.random(n) * counts)[:, None]).argmax(axis=1)
    return branches[np.arange(n), pick], counts.astype(np.float64)


def _effective(weights: FloatArray) -> float:
    """How many draws of equal weight say as much as these."""
    total = float((weights**2).sum())
    return float(weights.sum()) ** 2 / total if total else 0.0


def _asked(accepts: Callable[[FloatArray], ArrayLike], values: FloatArray) -> BoolArray:
    answer = np.asarray(accepts(values))
    if answer.dtype != np.bool_ or answer.shape != values.shape[:1]:
        raise ParameterError(
            f"'accepts' must return {values.shape[0]} booleans, one for each completion. "
            f"Got {answer.dtype} of shape {answer.shape} instead."
        )
    return answer


def _weighing(values: FloatArray, weights: FloatArray, n: int) -> Draws:
    """Draws whose weights add up to ``n``."""
    return Draws(values, weights * (n / weights.sum()))
