"""Samplers that ignore the observed values: the yardsticks."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.sampling.base import BaseSampler
from armin.sampling.legal import uniform
from armin.schema import Schema

__all__ = ["Marginal", "Uniform"]


class Uniform(BaseSampler, alias="uniform", summary="each blank uniformly over its domain"):
    """Every legal value is equally likely.

    Examples
    --------
    >>> from armin.schema import Feature, Schema
    >>> schema = Schema((Feature("age", "integer", lower=18, upper=20),))
    >>> sampler = Uniform().fit(np.array([[18.0]]), schema)
    >>> np.unique(sampler.sample(np.array([np.nan]), 100, np.random.default_rng(0)).values)
    array([18., 19., 20.])
    """

    def kept(self) -> list[str]:
        """Nothing."""
        return [self._keeps("nothing.")]

    def _draw(self, row: FloatArray, blanks: IntArray, n: int, rng: np.random.Generator) -> FloatArray:
        return np.stack([uniform(self.schema_[int(d)], n, rng) for d in blanks], axis=1)


class Marginal(BaseSampler, alias="marginal", summary="each blank from its own column, independently", compared=True):
    """Each blank is drawn from the values that its own column held in training, whatever the rest of the row says.

    A column that held none is drawn uniformly over its domain.

    Attributes
    ----------
    observed_ : for each column, its training codes in order

    Examples
    --------
    >>> from armin.schema import Feature, Schema
    >>> schema = Schema((Feature("age", "integer", lower=18, upper=20),))
    >>> sampler = Marginal().fit(np.array([[18.0], [20.0], [np.nan]]), schema)
    >>> np.unique(sampler.sample(np.array([np.nan]), 100, np.random.default_rng(0)).values)
    array([18., 20.])
    """

    observed_: tuple[FloatArray, ...]

    def _fit(self, X: FloatArray, schema: Schema) -> None:
        # sorted, so that what is kept does not tell which values belonged to one person
        self.observed_ = tuple(np.sort(column[~np.isnan(column)]) for column in X.T)

    def _draw(self, row: FloatArray, blanks: IntArray, n: int, rng: np.random.Generator) -> FloatArray:
        return np.stack([self.column(int(d), n, rng) for d in blanks], axis=1)

    def kept(self) -> list[str]:
        """All values of each column."""
        if all(np.all(values[1:] >= values[:-1]) for values in self.observed_):
            return [self._keeps("all training values of each column, sorted, not linked across columns.")]
        return [
            self._keeps(
                "all training values of each column in the order of the rows, "
                "so that whole rows can be put together again."
            )
        ]

    def without(self, drawn: Sequence[object]) -> Marginal:
        """The same without the values of columns that others draw; only their number is left.

        Parameters
        ----------
        drawn : for each column what it is drawn from, or None where it is drawn from here
        """
        thin = copy(self)
        thin.observed_ = tuple(
            values if model is None else np.full(values.size, feature.low_code)
            for values, model, feature in zip(self.observed_, drawn, self.schema_, strict=True)
        )
        return thin

    def column(self, d: int, n: int, rng: np.random.Generator) -> FloatArray:
        """``n`` draws of column ``d``."""
        values = self.observed_[d]
        if values.size == 0:
            return uniform(self.schema_[d], n, rng)
        return values[rng.integers(0, values.size, n)]
