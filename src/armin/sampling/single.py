"""One value per blank: what the baselines do."""

from __future__ import annotations

from copy import copy

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.sampling.base import BaseImputer, check_count
from armin.sampling.chained import ChainedEquations
from armin.sampling.conditional import Categories, Conditional
from armin.sampling.legal import middle, nearest_legal
from armin.sampling.neighbours import Neighbours, nearest
from armin.schema import Schema

__all__ = ["KNearestImputer", "MICEImputer", "MeanImputer"]


class MeanImputer(BaseImputer, alias="mean", summary="the column's mean, median or most frequent category"):
    """The column's mean for numbers, median for ordinal features, mode for categories; always a legal value.

    Attributes
    ----------
    middle_ : the codes that are filled in

    Examples
    --------
    >>> from armin.schema import Feature, Schema
    >>> schema = Schema((Feature("a", "integer", lower=0, upper=9), Feature("b", "integer", lower=0, upper=9)))
    >>> MeanImputer().fit(np.array([[1.0, 5], [2.0, 7], [8.0, 7]]), schema).impute(np.array([np.nan, 3]))
    array([4., 3.])
    """

    middle_: FloatArray

    def _fit(self, X: FloatArray, schema: Schema) -> None:
        self.middle_ = np.array([middle(f, x[~np.isnan(x)]) for f, x in zip(schema, X.T, strict=True)])

    def _fill(self, row: FloatArray, blanks: IntArray) -> FloatArray:
        return self.middle_[blanks]

    def kept(self) -> list[str]:
        """One value per column."""
        return [self._keeps("one typical value per column.")]


class KNearestImputer(BaseImputer, alias="knn", summary="the middle of the nearest training rows"):
    """The middle (see :class:`MeanImputer`) of the nearest training rows that know the blank.

    Training rows that tie with the last of the ``k`` nearest count too.

    Parameters
    ----------
    k : how many rows

    Attributes
    ----------
    neighbours_ : the training rows

    Examples
    --------
    >>> from armin.schema import Feature, Schema
    >>> schema = Schema((Feature("a", "integer", lower=0, upper=9), Feature("b", "integer", lower=0, upper=9)))
    >>> X = np.array([[1.0, 5], [2.0, 7], [8.0, 0]])
    >>> KNearestImputer(k=2).fit(X, schema).impute(np.array([0.0, np.nan]))
    array([0., 6.])
    """

    neighbours_: Neighbours

    def __init__(self, k: int = 5) -> None:
        self.k = k

    def _fit(self, X: FloatArray, schema: Schema) -> None:
        check_count("k", self.k)
        self.neighbours_ = Neighbours.of(X, schema)

    def kept(self) -> list[str]:
        """All rows."""
        return [self._keeps(f"all {self.neighbours_.counted}, as they are.")]

    def _fill(self, row: FloatArray, blanks: IntArray) -> FloatArray:
        distances = self.neighbours_.squared_distances(row)
        out = np.empty(blanks.size)
        for i, d in enumerate(blanks):
            near = nearest(distances, self.neighbours_.knowing(blanks[i : i + 1]), self.k)
            out[i] = middle(self.schema_[int(d)], self.neighbours_.codes[near, d])
        return out


class MICEImputer(BaseImputer, alias="mice", summary="conditional means, in turn, until the blanks agree"):
    """The conditional means of :class:`ChainedEquations`, iterated until the blanks agree.

    Between sweeps a number stands at its mean and a category at its probabilities. At the end a number moves to the
    nearest legal value, an ordinal feature to its median, and a category to its likeliest value: the single imputation
    of the paper's baseline.

    Parameters
    ----------
    sweeps : sweeps over the row's blanks
    rounds, max_rows, random_state : as in :class:`ChainedEquations`

    Attributes
    ----------
    chain_ : the fitted chained equations

    Examples
    --------
    >>> from armin.schema import Feature, Schema
    >>> schema = Schema((Feature("a", "continuous", lower=0, upper=9), Feature("b", "continuous", lower=0, upper=90)))
    >>> X = np.array([[a, 10.0 * a] for a in range(10)])
    >>> MICEImputer().fit(X, schema).impute(np.array([2.5, np.nan])).round(3)
    array([ 2.5, 25. ])
    """

    chain_: ChainedEquations
    mean_: MeanImputer

    def __init__(
        self, sweeps: int = 10, *, rounds: int = 3, max_rows: int | None = 10_000, random_state: int = 0
    ) -> None:
        self.sweeps = sweeps
        self.rounds = rounds
        self.max_rows = max_rows
        self.random_state = random_state

    def _fit(self, X: FloatArray, schema: Schema) -> None:
        check_count("sweeps", self.sweeps)
        self.mean_ = MeanImputer().fit(X, schema)
        self.chain_ = ChainedEquations(
            rounds=self.rounds, numbers="normal", max_rows=self.max_rows, random_state=self.random_state
        ).fit(X, schema)

    def slim(self) -> MICEImputer:
        """Without what is only needed to draw."""
        thin = copy(self)
        thin.chain_ = self.chain_.slim()
        del thin.chain_.start_
        return thin

    def kept(self) -> list[str]:
        """One value and one regression per column."""
        return [self._keeps("one typical value and one regression per column.")]

    def _fill(self, row: FloatArray, blanks: IntArray) -> FloatArray:
        design = self.chain_.design_
        start = self.mean_.impute(row)
        x = design.encode(start[None, :])
        for d in blanks:
            x[:, design.columns[d]] = 0.0  # the centre: the column's mean, or the shares of the categories
        models = [(int(d), model) for d in blanks if (model := self.chain_.models_[d]) is not None]
        for _ in range(self.sweeps if len(models) > 1 else 1):
            for d, model in models:
                x[:, design.columns[d]] = self._expected(d, model, x)
        for d, model in models:
            start[d] = self._value(d, model, x)
        return start[blanks]

    def _expected(self, d: int, model: Conditional, x: FloatArray) -> FloatArray:
        """The design columns (1, E) of feature ``d``: of the mean of a number, of the shares of categories."""
        feature, design = self.schema_[d], self.chain_.design_
        if not isinstance(model, Categories):
            return design.feature(d, np.clip(model.mean(x), feature.low_code, feature.high_code))
        chances = model.chances(x)
        if design.indicators[d]:
            return design.standardise(d, chances)
        return design.standardise(d, np.asarray(chances @ np.arange(chances.shape[1]))[:, None])

    def _value(self, d: int, model: Conditional, x: FloatArray) -> float:
        feature = self.schema_[d]
        if not isinstance(model, Categories):
            return float(nearest_legal(feature, model.mean(x))[0])
        chances = model.chances(x)[0]
        if feature.kind == "ordinal":
            return float(np.argmax(np.cumsum(chances) >= 0.5 - 1e-12))
        return float(np.argmax(chances))
