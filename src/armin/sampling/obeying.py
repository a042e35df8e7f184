"""Completions that obey the rules between columns, whoever draws them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armin.arrays import BoolArray, FloatArray
from armin.errors import DataError
from armin.sampling.base import Draws, RowSampler
from armin.schema import Rule, Schema
from armin.schema.columns import completed, fits

__all__ = ["obeying"]

DRAWS_PER_WANTED = 50


def obeying(sampler: RowSampler, schema: Schema) -> RowSampler:
    """The same sampler without the completions that break a rule, and with derived columns as they follow.

    >>> from armin.sampling import Uniform
    >>> from armin.sampling.base import row_sampler
    >>> from armin.schema import Derived, Feature, Order
    >>> names = ("part", "total", "share")
    >>> schema = Schema(tuple(Feature(name, "continuous", lower=1, upper=9) for name in names))
    >>> schema = schema.with_rules(Order(("part", "total")), Derived("share", "part / total"))
    >>> row = np.array([4.0, np.nan, np.nan])
    >>> plain = row_sampler(Uniform().fit(np.array([[1.0, 2.0, 0.5]]), schema), row)
    >>> drawn = obeying(plain, schema).sample(100, np.random.default_rng(0)).values
    >>> bool((drawn[:, 1] >= 4).all()), bool((drawn[:, 2] == 4 / drawn[:, 1]).all())
    (True, True)
    """
    if not (schema.rules or schema.derived) or not np.isnan(sampler.row).any():
        return sampler
    return _Obeying(sampler, schema)


@dataclass(frozen=True, eq=False)
class _Obeying:
    sampler: RowSampler
    schema: Schema

    @property
    def row(self) -> FloatArray:
        return self.sampler.row

    ways = 0  # what is drawn last decides with the others whether a rule is kept

    def branched(self, n: int, endings: int, last: int, rng: np.random.Generator) -> FloatArray:
        raise NotImplementedError

    def sample(self, n: int, rng: np.random.Generator) -> Draws:
        values, weights, drawn = [], [], 0
        count, wanted = 0, n
        while count < n and drawn < DRAWS_PER_WANTED * n:
            batch = self.sampler.sample(wanted, rng)
            completions = completed(self.schema, batch.values, np.isnan(self.row))
            fine = self._obey(completions)
            values.append(completions[fine])
            weights.append(batch.weights[fine])
            drawn, count = drawn + len(batch), count + int(fine.sum())
            rate = max(count, 1) / drawn
            wanted = int(np.clip(np.ceil(1.2 * (n - count) / rate), n, 10 * n))
        if not count:
            raise DataError(
                f"No completion of this row obeys the rules: none of {drawn} that were drawn. {self._broken()}",
                "Correct the values of the row, or the rule.",
            )
        kept, shares = np.concatenate(values)[:n], np.concatenate(weights)[:n]
        return Draws(kept, shares * (n / shares.sum()))

    def _obey(self, completions: FloatArray) -> BoolArray:
        """Which completions keep what the values that are there do not break already."""
        fine = fits(self.schema, completions)
        for rule in self._open:
            fine &= rule.fits(self.schema, completions)
        return fine

    @property
    def _open(self) -> list[Rule]:
        """The rules on which blanks have a say."""
        blank = np.isnan(self.row)
        return [r for r in self.schema.rules if any(blank[self.schema.position(name)] for name in r.features)]

    def _broken(self) -> str:
        rng = np.random.default_rng(0)
        completions = completed(self.schema, self.sampler.sample(DRAWS_PER_WANTED, rng).values, np.isnan(self.row))
        said = [str(r.message(self.schema)) for r in self._open if not r.fits(self.schema, completions).any()]
        made = [f"{f.name} = {f.formula}." for f in self.schema if f.formula]
        return (said or made or ["They contradict each other."])[0]
