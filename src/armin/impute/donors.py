"""Values from people like this one."""

from __future__ import annotations

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.impute.base import BaseSampler, check_count
from armin.impute.legal import uniform
from armin.impute.neighbours import Neighbours, nearest
from armin.schema import Schema

__all__ = ["NearestDonors"]


class NearestDonors(
    BaseSampler, alias="donors", summary="all blanks at once, copied from similar training rows", compared=True
):
    """All blanks of a row are copied together from one of the training rows that resemble it most (hot deck).

    Among the ``k`` nearest, a donor at squared distance s is drawn with probability proportional to
    ``exp(-s / (2 h))``, where h is the median of their squared distances. A donor must know all the blanks. Where
    that leaves fewer than ``k`` rows, and fewer than half of those that know the rarest blank, the blanks are drawn
    in blocks, each from its own donors; blocks are independent given the observed values. A feature that no training
    row knows is drawn uniformly.

    Parameters
    ----------
    k : how many donors

    Attributes
    ----------
    neighbours_ : the training rows

    Examples
    --------
    >>> from armin.schema import Feature, Schema
    >>> schema = Schema((Feature("a", "integer", lower=0, upper=9), Feature("b", "integer", lower=0, upper=90)))
    >>> X = np.array([[a, 10.0 * a] for a in range(10)])
    >>> sampler = NearestDonors(k=3).fit(X, schema)
    >>> np.unique(sampler.sample(np.array([4.0, np.nan]), 100, np.random.default_rng(0)).values[:, 1])
    array([30., 40., 50.])
    """

    neighbours_: Neighbours

    def __init__(self, k: int = 50) -> None:
        self.k = k

    def _fit(self, X: FloatArray, schema: Schema) -> None:
        check_count("k", self.k)
        self.neighbours_ = Neighbours.of(X, schema)

    def kept(self) -> list[str]:
        """All rows."""
        return [self._keeps(f"all {self.neighbours_.counted}, as they are.")]

    def _draw(self, row: FloatArray, blanks: IntArray, n: int, rng: np.random.Generator) -> FloatArray:
        return self.draw(row, blanks, n, rng)

    def draw(self, row: FloatArray, blanks: IntArray, n: int, rng: np.random.Generator) -> FloatArray:
        """Codes (n, len(blanks)) for the blanks of a row that is known to be legal."""
        out = np.empty((n, blanks.size))
        distances = self.neighbours_.squared_distances(row)
        for block in self._blocks(blanks):
            at = np.searchsorted(blanks, block)
            rows = self.neighbours_.knowing(block)
            if rows.size == 0:
                out[:, at] = uniform(self.schema_[int(block[0])], n, rng)[:, None]
                continue
            donors = nearest(distances, rows, self.k)
            out[:, at] = self.neighbours_.codes[np.ix_(_pick(distances[donors], donors, n, rng), block)]
        return out

    def _blocks(self, blanks: IntArray) -> list[IntArray]:
        """The blanks in blocks that are drawn together; each blank joins the first block that stays well known."""
        if self._enough(blanks):
            return [blanks]
        blocks: list[IntArray] = []
        for d in blanks:
            for i, block in enumerate(blocks):
                wider = np.append(block, d)
                if self._enough(wider):
                    blocks[i] = wider
                    break
            else:
                blocks.append(np.array([d], dtype=np.intp))
        return blocks

    def _enough(self, block: IntArray) -> bool:
        rarest = int(self.neighbours_.present[:, block].sum(axis=0).min())
        return rarest > 0 and self.neighbours_.knowing(block).size >= min(self.k, -(-rarest // 2))


def _pick(squared: FloatArray, donors: IntArray, n: int, rng: np.random.Generator) -> IntArray:
    """``n`` of ``donors``, drawn with replacement, the nearer the likelier."""
    width = max(float(np.median(squared)), 1e-12)
    chances = np.exp(-(squared - squared.min()) / (2.0 * width))
    return donors[rng.choice(donors.size, n, p=chances / chances.sum())]
