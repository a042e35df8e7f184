"""The values of one feature as slices of a standard normal variable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from armin.arrays import FloatArray, IntArray

__all__ = ["Margin"]

_DENSITY = 1.0 / np.sqrt(2.0 * np.pi)


@dataclass(frozen=True, eq=False)
class Margin:
    """The distinct training values in order, and where each begins and ends on the normal scale.

    A value with share p owns a slice of probability p; what is tied shares its slice.

    Attributes
    ----------
    values : (m,), in the margin's order: increasing for numbers and ordinal features, any for categories
    edges : (m + 1,), from minus to plus infinity
    centres : (m,), the mean of a standard normal variable within each slice
    ranked, place : (m,), the values in increasing order, and where each stands in ``values``

    Examples
    --------
    >>> margin = Margin.of(np.array([5.0, 5.0, 7.0, 7.0]), np.array([5.0, 7.0]))
    >>> margin.edges
    array([-inf,   0.,  inf])
    >>> margin.centres.round(2)
    array([-0.8,  0.8])
    """

    values: FloatArray
    edges: FloatArray
    centres: FloatArray
    ranked: FloatArray
    place: IntArray

    @classmethod
    def of(cls, codes: FloatArray, order: FloatArray) -> Margin:
        """The margin of training codes (n,), whose distinct values stand in ``order``."""
        distinct, counts = np.unique(codes, return_counts=True)
        shares = counts[np.searchsorted(distinct, order)] / codes.size
        reached = np.append(0.0, np.cumsum(shares))
        edges = ndtri(reached / reached[-1])
        heights = _DENSITY * np.exp(-0.5 * edges**2)
        return cls(order, edges, (heights[:-1] - heights[1:]) / shares, distinct, np.argsort(order))

    def slices(self, codes: FloatArray) -> IntArray:
        """The position (n,) of each code in ``values``; the nearest where training did not show it."""
        last = self.ranked.size - 1
        above = np.minimum(np.searchsorted(self.ranked, codes), last)
        below = np.maximum(above - 1, 0)
        nearer = codes - self.ranked[below] <= self.ranked[above] - codes
        return np.asarray(self.place[np.where(nearer, below, above)])

    def value(self, latent: FloatArray) -> FloatArray:
        """The code (n,) whose slice holds each normal number."""
        return self.values[self.at(latent)]

    def at(self, latent: FloatArray) -> IntArray:
        """The slice (n,) that holds each normal number."""
        return np.asarray(np.searchsorted(self.edges[1:-1], latent, "right"))


def within(mean: FloatArray, spread: float, low: FloatArray, high: FloatArray, u: FloatArray) -> FloatArray:
    """Normal variables given that each lies in its own [low, high], from uniform ``u``.

    >>> within(np.zeros(2), 1.0, np.array([0.0, -1.0]), np.array([np.inf, 1.0]), np.array([0.5, 0.5])).round(3)
    array([0.674, 0.   ])
    """
    a, b = (low - mean) / spread, (high - mean) / spread
    # work in the lower tail, where the distribution function keeps its precision
    flip = a > 0
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    start = ndtr(a)
    z = ndtri(start + u * (ndtr(b) - start))
    z = np.clip(np.where(np.isfinite(z), z, b), a, b)
    return np.asarray(mean + spread * np.where(flip, -z, z))
