"""Values from people who answer a forest's questions alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.sampling.base import check_count
from armin.sampling.design import Design
from armin.sampling.in_turn import InTurn
from armin.sampling.progress import followed
from armin.sampling.simple import Marginal
from armin.sampling.trees import LeafDonors, grow
from armin.sampling.wide import WIDE, predictors
from armin.schema import Schema

__all__ = ["ForestDonors"]


class ForestDonors(
    InTurn,
    alias="forest",
    summary="each blank given the rest, by random trees",
    compared=True,
):
    """Each blank is copied from a training row that shares its leaf in a random tree.

    ``fit`` grows a small forest per feature on all the others; blanks of the training data are filled by draws and
    redrawn in rounds. A draw picks a tree and then a training row of the leaf, so the chance of a row is its weight in
    a quantile regression forest. Several blanks are redrawn in turn, ``sweeps`` times, from a start among near donors.
    Values come from training rows, so they are legal by construction. Made for relations that are not linear.

    Parameters
    ----------
    trees : trees per feature
    leaf : the fewest training rows of a leaf
    sweeps : Gibbs sweeps over the row's blanks
    rounds : rounds over the blanks of the training data
    max_rows : forests use at most so many training rows, picked at random; None for all
    random_state : seed of what ``fit`` draws
    predictors : in a table of more than 40 columns, trees ask about so many others, those that explain most of the
        feature alone; None to ask about each of the others

    Attributes
    ----------
    forests_ : for each feature its trees, or None where there is nothing to learn and its column is drawn from
    marginal_, start_ : the samplers behind the first fill

    Examples
    --------
    >>> from armin.schema import Feature, Schema
    >>> schema = Schema((Feature("a", "integer", lower=0, upper=9), Feature("b", "integer", lower=0, upper=1)))
    >>> X = np.array([[a, float(3 <= a <= 6)] for a in range(10)] * 20, dtype=float)
    >>> sampler = ForestDonors().fit(X, schema)
    >>> sampler.sample(np.array([5.0, np.nan]), 4, np.random.default_rng(0)).values[:, 1]
    array([1., 1., 1., 1.])
    """

    forests_: tuple[LeafDonors | None, ...]
    predictors: int | None = 20

    def __init__(
        self,
        trees: int = 20,
        *,
        leaf: int = 3,
        sweeps: int = 5,
        rounds: int = 2,
        max_rows: int | None = 5000,
        random_state: int = 0,
        predictors: int | None = 20,
    ) -> None:
        self.trees = trees
        self.leaf = leaf
        self.sweeps = sweeps
        self.rounds = rounds
        self.max_rows = max_rows
        self.random_state = random_state
        self.predictors = predictors

    def _fit(self, X: FloatArray, schema: Schema) -> None:
        for name in ("trees", "leaf", "sweeps"):
            check_count(name, getattr(self, name))
        check_count("rounds", self.rounds, least=0)
        for name in ("max_rows", "predictors"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        rng = np.random.default_rng(self.random_state)
        self.marginal_ = Marginal().fit(X, schema)
        filled, blank, order = self._filled(X, rng)
        asked = self._asked(X, filled, schema)
        for turn in range(self.rounds if order else 0):
            for d in followed(order, "progress.fill", turn=turn + 1, turns=self.rounds):
                forest = self._grown(schema, d, asked[d], filled, ~blank[:, d], rng)
                filled[blank[:, d], d] = self.conditional(forest, d, filled[blank[:, d]], rng)
        every = followed(range(len(schema)), "progress.fit")
        self.forests_ = tuple(self._grown(schema, d, asked[d], filled, ~blank[:, d], rng) for d in every)
        self.start_ = self._start(filled, schema, rng)

    def slim(self) -> ForestDonors:
        """Without the values of columns that have a forest."""
        return self._without_values(self.forests_)

    def kept(self) -> list[str]:
        """Forests, rows to start from, and the values of columns that have no forest."""
        return self._kept("for each column a forest whose leaves hold that column's training values.", self.forests_)

    def _asked(self, X: FloatArray, filled: FloatArray, schema: Schema) -> tuple[IntArray | None, ...]:
        """For each feature the columns that its trees ask about; None for all."""
        if self.predictors is None or len(schema) <= WIDE:
            return (None,) * len(schema)
        return predictors(Design.of(X, schema), filled, self.predictors)

    def _grown(
        self, schema: Schema, d: int, asked: IntArray | None, filled: FloatArray, known: BoolArray,
        rng: np.random.Generator,
    ) -> LeafDonors | None:  # fmt: skip
        rows = filled[known] if asked is None else filled[np.ix_(known, np.append(asked, d))]
        own = d if asked is None else asked.size
        forest = grow(schema[d], own, rows, rows[:, own], trees=self.trees, leaf=self.leaf, rng=rng)
        if asked is None or forest is None:
            return forest
        return replace(forest, column=np.append(asked, d)[forest.column])

    def _draw(self, row: FloatArray, blanks: IntArray, n: int, rng: np.random.Generator) -> FloatArray:
        values = np.repeat(row[None, :], n, axis=0)
        values[:, blanks] = 0.0 if blanks.size == 1 else self.start_.ready(row, blanks)(n, rng)
        for _ in range(self.sweeps if blanks.size > 1 else 1):
            for d in blanks:
                values[:, d] = self.conditional(self.forests_[d], int(d), values, rng)
        return values[:, blanks]
