"""Regressions for tables so wide that each on all the others would take hours.

Each feature gets a few predictors of its own, with bends, and one more: what a ridge regression on all the others says,
for which one matrix is inverted for all features together. Training rows see the prediction that rows of other folds
make of them, so that it looks no better than it is.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import numpy as np
from scipy.linalg import block_diag

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.sampling.among import Among
from armin.sampling.conditional import fit_conditional
from armin.sampling.design import Design
from armin.sampling.together import Together, associations, strongest
from armin.schema import Schema

__all__ = ["WIDE", "Regressions", "chooses", "predictors"]

WIDE = 40
"""Tables with more columns than this have predictors chosen for each column; long tables sooner."""

_NARROW = 20  # up to so many, looking at all of them takes a few seconds at most
_WORK = 5e6  # rows times the square of the columns, beyond which it takes longer than that
_CHOOSING_ROWS = 2000
_ROUND_ROWS = 2000  # the rounds only fill blanks of training rows, for which so many rows are enough
_CATEGORY_ROWS = 5000  # logistic regressions take longest, and their scores hardly change beyond
_FLAT = 1e-6  # of the largest variance of a block, below which a direction is rounding


def chooses(rows: int, columns: int) -> bool:
    """Whether each column of such a table gets predictors of its own, rather than all the others.

    >>> chooses(500, 33), chooses(10_000, 33), chooses(10_000, 13), chooses(500, 41)
    (False, True, False, True)
    """
    return columns > WIDE or (columns > _NARROW and rows * columns**2 > _WORK)


def predictors(design: Design, codes: FloatArray, most: int) -> tuple[IntArray, ...]:
    """For each feature the ``most`` others that explain most of it alone, found on some of the rows (n, D)."""
    step = max(1, codes.shape[0] // _CHOOSING_ROWS)
    return strongest(associations(design, design.encode(codes[::step][:_CHOOSING_ROWS])), most)


class Regressions:
    """Regressions of each feature on a few others and on all of them together, while they are fitted.

    Parameters
    ----------
    schema : the features
    design : the columns of the regressions
    filled : (n, D), training codes with their blanks drawn; redrawn in place
    most : how many predictors a feature gets
    """

    def __init__(self, schema: Schema, design: Design, filled: FloatArray, most: int) -> None:
        self.schema = schema
        self.design = design
        self.filled = filled
        self.chosen = predictors(design, filled, most)
        self.columns = design.main()
        own = np.searchsorted(design.source[self.columns], np.arange(len(schema) + 1))
        self.own = tuple(slice(a, b) for a, b in pairwise(own.tolist()))
        self.main = np.empty((filled.shape[0], self.columns.size))
        every = np.ones(filled.shape[0], dtype=bool)
        for d in range(len(schema)):
            self._enter(d, every)
        self.together = Together.of(self.main, self.own)

    def refresh(self) -> None:
        """Learn anew what all say together, after blanks were redrawn."""
        self.together = Together.of(self.main, self.own)

    def regress(
        self,
        d: int,
        known: BoolArray,
        *,
        numbers: Literal["normal", "matching"],
        donors: int,
        penalty: float | None,
        rough: bool = False,
    ) -> Among | None:
        """The regression of feature ``d`` on the rows where it is known; on few of them if ``rough``."""
        rows = np.flatnonzero(known)
        if rough or not self.schema[d].is_number:
            rows = _some(rows, self.filled[rows, d], _ROUND_ROWS if rough else _CATEGORY_ROWS)
        at = np.flatnonzero(np.isin(self.design.source, self.chosen[d]))
        blocks = [self.design.feature(int(j), self.filled[rows, j]) for j in self.chosen[d]]
        flags = (self.design.indicators[j] for j in self.chosen[d])
        turn = block_diag(*(np.eye(b.shape[1]) if flag else _apart(b) for flag, b in zip(flags, blocks, strict=True)))
        inputs = np.hstack([np.hstack(blocks) @ turn, self.together.seen[rows, self.own[d]]])
        nothing = slice(inputs.shape[1], inputs.shape[1])
        model = fit_conditional(
            self.schema[d], inputs, nothing, self.filled[rows, d], numbers=numbers, donors=donors, penalty=penalty
        )
        if model is None:
            return None
        return Among(model, at, turn, self.columns, np.ascontiguousarray(self.together.weights[:, self.own[d]]))

    def redraw(self, d: int, model: Among, holes: BoolArray, rng: np.random.Generator) -> None:
        """Draw the blanks of feature ``d`` anew."""
        blocks = np.hstack([self.design.feature(int(j), self.filled[holes, j]) for j in self.chosen[d]])
        inputs = np.hstack([blocks @ model.turn, self.main[holes] @ model.weights])
        self.filled[holes, d] = model.model.draw(inputs, rng)
        self._enter(d, holes)

    def _enter(self, d: int, rows: BoolArray) -> None:
        block = self.design.feature(d, self.filled[rows, d])
        self.main[rows, self.own[d]] = block if self.design.indicators[d] else block[:, :1]


def _some(rows: IntArray, codes: FloatArray, most: int) -> IntArray:
    """At most about ``most`` rows, evenly by their codes, and one of each code."""
    if rows.size <= most:
        return rows
    order = np.argsort(codes, kind="stable")
    firsts = np.unique(codes, return_index=True)[1]
    few = firsts if firsts.size <= most else firsts[:0]
    return np.sort(rows[np.union1d(order[:: -(-rows.size // most)], few)])


def _apart(block: FloatArray) -> FloatArray:
    """What turns the columns of a block (n, E) into columns of variance 1 that do not go together."""
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(block, rowvar=False)))
    keep = values > _FLAT * max(float(values[-1]), 1e-300)
    return np.asarray(vectors[:, keep] / np.sqrt(values[keep]))
