"""Draws that agree with the known decision: p(missing | observed, h(x) = undesired)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from armin.arrays import BoolArray, FloatArray
from armin.errors import ParameterError
from armin.impute.base import Draws, RowSampler, Sampler, check_count, row_sampler

__all__ = ["Conditioned", "condition", "sample_conditioned"]

_DRAWS_PER_WANTED = 50


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
    >>> from armin.impute import Uniform
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
) -> Conditioned:
    """As :func:`sample_conditioned`, for a sampler that knows its row."""
    check_count("n", n)
    limit = _DRAWS_PER_WANTED * n if max_draws is None else max(n, check_count("max_draws", max_draws))
    if not np.isnan(sampler.row).any():
        limit = n  # copies of one row: all or none
    first = sampler.sample(n, rng)
    batch, kept_values, kept_weights = first, [], []
    drawn = kept = 0
    while True:
        rejected = ~_asked(accepts, batch.values)
        kept_values.append(batch.values[rejected])
        kept_weights.append(batch.weights[rejected])
        drawn, kept = drawn + len(batch), kept + int(rejected.sum())
        if kept >= n or drawn >= limit:
            break
        # as many as the rate so far calls for, a fifth more, and at most ten times n at once
        wanted = 1.2 * (n - kept) * drawn / max(kept, 1)
        batch = sampler.sample(min(int(np.clip(np.ceil(wanted), n, 10 * n)), limit - drawn), rng)
    if kept == 0:
        return Conditioned(_weighing(first.values, first.weights, n), drawn, 0, conditioned=False, enough=False)
    values, weights = np.concatenate(kept_values)[:n], np.concatenate(kept_weights)[:n]
    return Conditioned(_weighing(values, weights, n), drawn, kept, conditioned=True, enough=kept >= n)


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
