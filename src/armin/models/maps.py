"""Maps from a score to a number, one after the other, as plain numbers that compiled code can read.

A calibrated classifier maps a score by a logistic or by a table, a vote asks on which side of a cut it is. Each of
these never turns back, so what bounds a score bounds what becomes of it.

>>> import numpy as np
>>> low, high = through((Map.logistic(2.0, -1.0), Map.line(0.5)), np.array([0.5, 100.0]))
>>> low.round(6).tolist(), bool((low < high).all())
([0.25, 0.5], True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy.special import expit

from armin.arrays import FloatArray

__all__ = ["Map", "rises", "through"]

MapKind = Literal["line", "logistic", "table", "step"]
_ROUNDED = 1e-15  # two ways to work out a logistic, or a point of a line between 0 and 1, differ by less
_SINGLE = 1e-6  # the same in single precision


@dataclass(frozen=True, eq=False)
class Map:
    """One map of a score.

    Attributes
    ----------
    kind : "line" (slope * s + shift), "logistic" (of such a line), "table" (straight between the points, constant
        beyond them), "step" (1 from ``shift`` on, 0 below)
    slope, shift : of the line, or where the step is
    xs, ys : the points of a table, both rising
    blur : what the library's rounding can make of it, at most

    >>> Map.step(2.0)(np.array([1.9, 2.0])).tolist(), Map.table([0, 1], [3, 4])(np.array([-1.0, 0.5])).tolist()
    ([0.0, 1.0], [3.0, 3.5])
    """

    kind: MapKind
    slope: float = 1.0
    shift: float = 0.0
    xs: FloatArray = field(default_factory=lambda: np.zeros(0))
    ys: FloatArray = field(default_factory=lambda: np.zeros(0))
    blur: float = 0.0

    @classmethod
    def line(cls, slope: float, shift: float = 0.0) -> Map:
        return cls("line", float(slope), float(shift))

    @classmethod
    def logistic(cls, slope: float = 1.0, shift: float = 0.0, single: bool = False) -> Map:
        return cls("logistic", float(slope), float(shift), blur=_SINGLE if single else _ROUNDED)

    @classmethod
    def step(cls, cut: float) -> Map:
        return cls("step", 1.0, float(cut))

    @classmethod
    def table(cls, xs: Sequence[float] | FloatArray, ys: Sequence[float] | FloatArray, single: bool = False) -> Map:
        values = np.array(ys, dtype=np.float64)
        blur = (_SINGLE if single else _ROUNDED) * max(1.0, float(np.abs(values).max(initial=0.0)))
        return cls("table", 1.0, 0.0, np.array(xs, dtype=np.float64), values, blur)

    def __call__(self, scores: FloatArray) -> FloatArray:
        """What scores (n,) become."""
        if self.kind == "step":
            return np.where(scores >= self.shift, 1.0, 0.0)
        if self.kind == "table":
            return np.asarray(np.interp(scores, self.xs, self.ys))
        line = self.slope * scores + self.shift
        return np.asarray(expit(line)) if self.kind == "logistic" else line

    @property
    def falls(self) -> bool:
        """Whether more becomes less."""
        return self.slope < 0.0


def through(maps: Sequence[Map], scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Between what scores (n,) become after all ``maps``, the first one first, however they are rounded."""
    low, high = scores, scores
    for each in maps:
        same = low is high
        low, high = (high, low) if each.falls else (low, high)
        low = each(low)
        high = low if same else each(high)
        if each.blur:
            low, high = low - each.blur, high + each.blur
    return low, high


def rises(maps: Sequence[Map]) -> bool:
    """Whether more never becomes less after all ``maps``.

    >>> rises((Map.line(-1.0), Map.logistic(-2.0))), rises((Map.line(-1.0), Map.step(0.0)))
    (True, False)
    """
    return sum(each.falls for each in maps) % 2 == 0
