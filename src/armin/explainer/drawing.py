"""Draw the completions of one row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from armin.arrays import FloatArray
from armin.explainer.answer import Sample
from armin.impute import Sampler
from armin.impute.condition import sample_conditioned
from armin.words import Message

__all__ = ["draw_sample", "row_streams"]


def row_streams(seed: int | None, codes: FloatArray) -> tuple[np.random.Generator, np.random.Generator]:
    """Two generators that depend on the seed and the row only: for what is optimised over, and for fresh draws."""
    if seed is None:
        first, second = np.random.SeedSequence().spawn(2)
    else:
        clean = np.where(np.isnan(codes), np.nan, codes + 0.0)
        words = np.frombuffer(clean.tobytes(), dtype=np.uint32).tolist()
        first, second = np.random.SeedSequence([int(seed) % 2**32, *words]).spawn(2)
    return np.random.default_rng(first), np.random.default_rng(second)


def draw_sample(
    sampler: Sampler,
    codes: FloatArray,
    n: int,
    rng: np.random.Generator,
    contradicts: Callable[[FloatArray], NDArray[np.bool_]] | None,
) -> Sample:
    """``n`` completions, without those that contradict what is known, and with a note where that leaves few."""
    if contradicts is None:
        draws = sampler.sample(codes, n, rng)
        return Sample(draws.values, draws.weights)
    found = sample_conditioned(sampler, codes, n, rng, contradicts)
    notes: tuple[Message, ...] = ()
    if not found.conditioned:
        notes = (Message("draws.none", drawn=found.n_drawn),)
    elif not found.enough:
        notes = (Message("draws.few", kept=found.n_kept, drawn=found.n_drawn),)
    return Sample(found.draws.values, found.draws.weights, found.rate, notes)
