"""Step one: the completions of a row, as far as they agree with what is known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from armin.arrays import BoolArray, FloatArray
from armin.errors import ModelError
from armin.explain.fitted import Fitted
from armin.explain.memory import Apart, different
from armin.explain.world import World
from armin.sampling.condition import condition
from armin.schema.columns import completed
from armin.words import Message

__all__ = ["Sample", "candidates_of", "contradicts", "draw", "fresh_of", "row_stream"]


@dataclass(frozen=True, eq=False)
class Sample:
    """The completions of one row, and how they came about.

    Attributes
    ----------
    values : codes (N, D)
    weights : positive numbers (N,)
    kept : the share of all draws that agree with what is known; None if nothing was asked of them
    notes : what a careful reader should know
    looked : what the surrogate made of ``values``, if it was asked about them and no others
    """

    values: FloatArray
    weights: FloatArray
    kept: float | None = None
    notes: tuple[Message, ...] = ()
    looked: Looked | None = None

    @cached_property
    def apart(self) -> Apart | None:
        """Where each different completion stands first, and which of these each one is; None if most differ."""
        return different(self.values) if self.looked is None else self.looked.apart

    @property
    def inputs(self) -> FloatArray | None:
        """The model inputs (N, P) of ``values``, if they are known."""
        if self.looked is None or self.looked.apart is None:
            return None if self.looked is None else self.looked.inputs
        return np.asarray(self.looked.inputs[self.looked.apart[1]])


class Looked(NamedTuple):
    """Completions as the surrogate sees them, equal ones once."""

    inputs: FloatArray
    apart: Apart | None


def row_stream(seed: int | None, codes: FloatArray, which: Literal["candidates", "fresh"]) -> np.random.Generator:
    """A generator that depends on the seed and the row only: for what is optimised over, or for fresh draws."""
    child = (0 if which == "candidates" else 1,)
    if seed is None:
        return np.random.default_rng(np.random.SeedSequence(spawn_key=child))
    clean = np.where(np.isnan(codes), np.nan, codes + 0.0)
    words = np.append(np.uint32(int(seed) % 2**32), np.frombuffer(clean.tobytes(), dtype=np.uint32))
    return np.random.default_rng(np.random.SeedSequence(words, spawn_key=child))


def candidates_of(fitted: Fitted, world: World, codes: FloatArray) -> Sample:
    """The completions to optimise over; the row itself where nothing is blank."""
    if not world.blanks:
        return Sample(codes[None, :].copy(), np.ones(1))
    if fitted.imputer is not None:
        filled = completed(fitted.schema, fitted.imputer.impute(codes)[None, :], np.isnan(codes))
        return Sample(filled, np.ones(1), notes=(Message("draws.once"),))
    if fitted.native:
        refusal = fitted.refusal(codes)
        if refusal is not None:
            raise ModelError(
                f"NativeMissing needs a classifier that accepts blanks; this one does not: {refusal} "
                "Use a sampler instead, such as sampler='chained'."
            )
        return Sample(codes[None, :].copy(), np.ones(1), notes=(Message("draws.native"),))
    stream = row_stream(fitted.settings.random_state, codes, "candidates")
    return draw(fitted, world, codes, fitted.settings.options.n_samples, stream)


def fresh_of(fitted: Fitted, world: World, codes: FloatArray) -> Sample | None:
    """Fresh completions to judge an answer by; None where nothing is blank or none are wanted."""
    if not world.blanks or not fitted.settings.options.n_fresh:
        return None
    return draw(
        fitted, world, codes, fitted.settings.options.n_fresh, row_stream(fitted.settings.random_state, codes, "fresh")
    )


def draw(fitted: Fitted, world: World, codes: FloatArray, n: int, rng: np.random.Generator) -> Sample:
    """``n`` completions that obey the rules and agree, where it is known, with the rejection."""
    if not world.conditioned:
        draws = fitted.ready.at(codes).sample(n, rng)
        return Sample(draws.values, draws.weights)
    seen: list[Looked] = []
    found = condition(
        fitted.ready.at(codes),
        n,
        rng,
        lambda rows: contradicts(fitted, world, rows, seen),
        repeats=fitted.uses_surrogate,
    )
    notes: tuple[Message, ...] = ()
    if not found.conditioned:
        notes = (Message("draws.none", drawn=found.n_drawn),)
    elif found.weighed:
        said = Message("draws.weighed", kept=found.n_kept, drawn=found.n_drawn, size=round(found.size))
        notes = (said,)
    elif not found.enough:
        notes = (Message("draws.few", kept=found.n_kept, drawn=found.n_drawn),)
    looked = seen[0] if seen and found.n_drawn == found.n_kept == n else None
    return Sample(found.draws.values, found.draws.weights, found.rate, notes, looked)


def contradicts(fitted: Fitted, world: World, completions: FloatArray, seen: list[Looked] | None = None) -> BoolArray:
    """Which completions (n, D) cannot be: the model accepts who is known to be rejected.

    Those that are equal are looked at once. What the model was told on the way is added to what was ``seen``.
    """
    if not world.conditioned:
        return np.zeros(completions.shape[0], dtype=bool)
    if fitted.uses_surrogate:
        apart = different(completions)
        inputs = fitted.read.encode(completions if apart is None else completions[apart[0]])
        if seen is not None:
            seen.append(Looked(inputs, apart))
        accepted = fitted.read.model.accepts(inputs)
        return accepted if apart is None else np.asarray(accepted[apart[1]])
    return fitted.decision.accepts(completions)
