"""A model's decision as rows of numbers that must not be negative."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.models.kinds import Decision

__all__ = ["Rows", "rows_of"]


class Rows(NamedTuple):
    """A candidate is accepted if all rows ``coefficients @ outputs - cut >= 0`` of some way hold.

    Within ``blur`` of 0, a row may hold or not: only the decision itself can tell.
    """

    coefficients: FloatArray  # (rows, outputs)
    cut: FloatArray  # (rows,)
    way: IntArray  # (rows,) ascending
    blur: float


def rows_of(decision: Decision) -> Rows:
    """The rows of a decision; at least one, which always holds where there is nothing to beat, and never where no
    output is accepted.

    >>> from armin.models.kinds import Among
    >>> rows_of(Among((0,), 2)).coefficients.tolist(), rows_of(Among((0, 1), 2)).cut.tolist()
    ([[1.0, -1.0]], [-1.0, -1.0])
    """
    none = np.zeros((1, decision.n_outputs))
    coefficients, cuts, ways = list[FloatArray](), list[FloatArray](), list[IntArray]()
    for w, margins in enumerate(decision.ways()):
        empty = margins.cuts.size == 0
        coefficients.append(none if empty else margins.coefficients)
        cuts.append(np.array([-1.0]) if empty else margins.cuts)
        ways.append(np.full(cuts[-1].size, w, dtype=np.intp))
    if not cuts:
        return Rows(none, np.ones(1), np.zeros(1, dtype=np.intp), 0.0)
    return Rows(np.concatenate(coefficients), np.concatenate(cuts), np.concatenate(ways), decision.blur)
