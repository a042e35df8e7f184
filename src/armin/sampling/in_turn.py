"""What samplers share that redraw each blank given all the rest, in turn."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Protocol, Self

import numpy as np

from armin.arrays import BoolArray, FloatArray
from armin.sampling.base import BaseSampler
from armin.sampling.donors import NearestDonors
from armin.sampling.simple import Marginal
from armin.schema import Schema

__all__ = ["InTurn"]

_START_ROWS = 2000


class _Conditional(Protocol):
    def draw(self, given: FloatArray, rng: np.random.Generator, /) -> FloatArray:
        """A code (n,) for each of the rows that are given."""


class InTurn(BaseSampler):
    """The first fill of the training rows, and where a row's own blanks start from.

    Attributes
    ----------
    marginal_ : draws the first fill, and columns of which nothing can be learnt
    start_ : draws the first values of a row's blanks
    """

    marginal_: Marginal
    start_: NearestDonors
    max_rows: int | None

    def _filled(self, X: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, BoolArray, list[int]]:
        """At most ``max_rows`` training rows with their blanks drawn, where these were, and the columns to redraw."""
        if self.max_rows is not None and X.shape[0] > self.max_rows:
            X = X[rng.choice(X.shape[0], self.max_rows, replace=False)]
        filled, blank = X.copy(), np.isnan(X)
        for d in range(X.shape[1]):
            filled[blank[:, d], d] = self.marginal_.column(d, int(blank[:, d].sum()), rng)
        # columns with few blanks first, as what is learnt of them soonest makes sense
        return filled, blank, [int(d) for d in np.argsort(blank.sum(axis=0), kind="stable") if blank[:, d].any()]

    def _start(self, filled: FloatArray, schema: Schema, rng: np.random.Generator) -> NearestDonors:
        some = rng.choice(filled.shape[0], min(_START_ROWS, filled.shape[0]), replace=False)
        return NearestDonors().fit(filled[some], schema)

    def conditional(
        self, model: _Conditional | None, d: int, given: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Column ``d`` given the rest, by its model, or from its own values where there is none."""
        return self.marginal_.column(d, given.shape[0], rng) if model is None else model.draw(given, rng)

    def _without_values(self, models: Sequence[object]) -> Self:
        """After ``fit`` the values of a column are only drawn from where it has no model."""
        thin = copy(self)
        thin.marginal_ = self.marginal_.without(models)
        return thin

    def _kept(self, per_column: str, models: Sequence[object]) -> list[str]:
        """What is kept per column, the rows to start from, and the columns that have no model."""
        start = "blanks filled by drawing, to start from where a person leaves more than one blank."
        said = [self._keeps(per_column), self._keeps(f"{self.start_.neighbours_.counted}, {start}")]
        alone = [f for f, model in zip(self.schema_, models, strict=True) if model is None]
        names = [f.name for f in alone if not f.is_carried]  # of what is carried along, no value is kept here
        return [*said, self._keeps(f"all training values of {', '.join(names)}.")] if names else said
