"""A rule that only the library itself can tell to the last bit.

A probability that is made of several outputs (a mean of votes, a sum over labels, a softmax of two) is a margin in real
arithmetic; the library rounds on the way. Where that could matter, and only there, it is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from armin.arrays import BoolArray, FloatArray
from armin.models.kinds import Among, Margins

__all__ = ["LibraryDecides"]

_UNITS = 256 * float(np.finfo(np.float64).eps)  # what two ways to add up a few outputs can differ by


@dataclass(frozen=True, eq=False)
class LibraryDecides(Among):
    """Accepted where all margins of some way hold; within ``near`` of a cut, where ``verdict`` says so.

    Attributes
    ----------
    accepted : not used; the margins say what is accepted
    n_outputs : how many outputs there are
    margins : the ways to be accepted, in real arithmetic
    near : what the rounding of a margin can hide, at most
    verdict : maps outputs (n, n_outputs) to accepted or not, as the library does

    >>> sure = Margins(np.array([[1.0, 1.0]]), np.array([1.0]))
    >>> rule = LibraryDecides((), 2, (sure,), near=1e-9, verdict=lambda outputs: outputs[:, 0] > 0.5)
    >>> rule.accepts(np.array([[0.2, 0.9], [0.2, 0.8], [0.6, 0.4], [0.3, 0.3]]))
    array([ True, False,  True, False])
    """

    margins: tuple[Margins, ...]
    near: float
    verdict: Callable[[FloatArray], BoolArray]

    @property
    def blur(self) -> float:
        """By how much a margin may be missed and the row be accepted all the same."""
        return self.near

    def ways(self) -> tuple[Margins, ...]:
        """The alternatives, any of which suffices, in real arithmetic."""
        return self.margins

    def accepts(self, outputs: FloatArray) -> BoolArray:
        """Which rows of ``outputs`` (n, n_outputs) are accepted."""
        ahead = self._ahead(outputs)
        accepted: BoolArray = np.asarray(ahead > 0.0)
        rows = np.concatenate([way.coefficients for way in self.margins])
        rounding = _UNITS * (np.abs(outputs) @ np.abs(rows).T).max(axis=1)
        close = ~(np.abs(ahead) > self.near + rounding)  # what is not a number is asked about
        if close.any():
            accepted[close] = self.verdict(outputs[close])
        return accepted

    def doubtful(self, outputs: FloatArray, doubt: float) -> BoolArray:
        """Which rows might be decided otherwise if outputs were off by ``doubt``."""
        terms = max(float(np.abs(way.coefficients).sum(axis=1).max(initial=0.0)) for way in self.margins)
        return np.asarray(~(np.abs(self._ahead(outputs)) > self.near + terms * doubt))

    def _ahead(self, outputs: FloatArray) -> FloatArray:
        """By how much the best way holds (n,)."""
        ways = [(outputs @ way.coefficients.T - way.cuts).min(axis=1) for way in self.margins]
        return np.asarray(np.max(ways, axis=0))
