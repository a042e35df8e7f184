"""Values from people like this one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.sampling.anonymous import grouped
from armin.sampling.base import BaseSampler, Drawing, check_count
from armin.sampling.legal import uniform
from armin.sampling.neighbours import Neighbours, nearest
from armin.schema import Schema

__all__ = ["NearestDonors", "Picked"]


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
    anonymous : None keeps the training rows as they are; a number makes groups of at least so many similar people, and
        keeps the middle of each group, once for each of them

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
    anonymous: int | None = None

    def __init__(self, k: int = 50, *, anonymous: int | None = None) -> None:
        self.k = k
        self.anonymous = anonymous

    def _fit(self, X: FloatArray, schema: Schema) -> None:
        check_count("k", self.k)
        if self.anonymous is not None:
            X = grouped(X, schema, check_count("anonymous", self.anonymous, least=2))
        self.neighbours_ = Neighbours.of(X, schema)

    def kept(self) -> list[str]:
        """All rows, or the middles of groups."""
        if self.anonymous is not None:
            return [
                self._keeps(
                    f"{self.neighbours_.counted}, each the middle of a group of at least {self.anonymous} people."
                )
            ]
        return [self._keeps(f"all {self.neighbours_.counted}, as they are.")]

    def _ready(self, row: FloatArray, blanks: IntArray) -> Drawing:
        return self.ready(row, blanks)

    def ready(self, row: FloatArray, blanks: IntArray) -> Drawing:
        """Draws codes (n, len(blanks)) for the blanks of a row that is known to be legal."""
        distances, parts = self.neighbours_.squared_distances(row), []
        for block in self._blocks(blanks):
            at, rows = np.searchsorted(blanks, block), self.neighbours_.knowing(block)
            if rows.size == 0:
                parts.append(_Part(at, partial(uniform, self.schema_[int(block[0])])))
                continue
            donors = nearest(distances, rows, self.k)
            codes = self.neighbours_.codes[np.ix_(donors, block)]
            picked = Picked(codes, _reached(distances[donors]))
            if block.size == blanks.size:
                return picked
            parts.append(_Part(at, picked))
        return _InParts(blanks.size, tuple(parts))

    def _blocks(self, blanks: IntArray) -> list[IntArray]:
        """The blanks in blocks that are drawn together; each blank joins the first block that stays well known."""
        if self.neighbours_.complete or self._enough(blanks):
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


@dataclass(frozen=True, eq=False)
class Picked:
    """Rows of ``codes`` (donors, blanks), drawn with replacement; ``reached`` adds up their chances."""

    codes: FloatArray
    reached: FloatArray

    def __call__(self, n: int, rng: np.random.Generator) -> FloatArray:
        return self.codes[self.places(n, rng)]

    def places(self, n: int, rng: np.random.Generator) -> IntArray:
        """Which donors (n,) are drawn."""
        return self.reached.searchsorted(rng.random(n), side="right")


@dataclass(frozen=True, eq=False)
class _Part:
    """Where some of the blanks stand, and what draws them."""

    at: IntArray
    drawing: Drawing


@dataclass(frozen=True, eq=False)
class _InParts:
    """Blanks in blocks, one after the other."""

    width: int
    parts: tuple[_Part, ...]

    def __call__(self, n: int, rng: np.random.Generator) -> FloatArray:
        out = np.empty((n, self.width))
        for part in self.parts:
            drawn = part.drawing(n, rng)
            out[:, part.at] = drawn if drawn.ndim == 2 else drawn[:, None]
        return out


def _reached(squared: FloatArray) -> FloatArray:
    """The chances of donors at these squared distances, the nearer the likelier, added up."""
    ordered, half = np.sort(squared), squared.size // 2  # the median, without the care that np.median takes
    width = max(float(ordered[half] if squared.size % 2 else (ordered[half - 1] + ordered[half]) / 2), 1e-12)
    chances = np.exp(-(squared - ordered[0]) / (2.0 * width))
    reached = np.cumsum(chances / chances.sum())
    return np.asarray(reached / reached[-1])
