"""Stress test: whether a plan still works if people who leave a blank are not like those who fill it in.

Completions are drawn as if a blank said nothing about its value. Where it does (people with low incomes are less
likely to tell them), the truth is a *tilted* version of these draws. ``kind="tilt"`` weighs the draws by
exp(delta * z), where z is the value in spreads; for a category the log odds of a level move by delta.
``kind="shift"`` moves the values themselves by delta spreads. A spread is the standard deviation of the draws, before
conditioning on the rejection: how much similar people differ.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from armin.arrays import FloatArray
from armin.errors import ParameterError
from armin.explain.fitted import Fitted
from armin.explain.stressing import Lab, StressCurve, StressPoint
from armin.recourse import Recourse
from armin.report.html import curves_html
from armin.report.plot_stress import plot_stress
from armin.sampling.legal import nearest_legal
from armin.schema import Schema
from armin.words import Message, Name, Printable, Quantity

__all__ = ["StressCurve", "StressPoint", "StressTest", "stress_test"]

Kind = Literal["tilt", "shift"]
FORMAT = "armin.stress/1"


@dataclass(frozen=True, repr=False)
class StressTest(Printable):
    """How far the blanks may be from similar people's before the plan stops working.

    Attributes
    ----------
    plan : the plan under test
    asked : the share that it should keep: the plan's confidence, or one half if it states none
    kind : "tilt" or "shift"
    curves : one for each ordered blank, each level of a category, and all blanks together
    """

    plan: Recourse
    asked: float
    kind: Kind
    curves: tuple[StressCurve, ...]

    @property
    def messages(self) -> tuple[Message, ...]:
        """The verdict about the blank to which the plan is most sensitive, to be said in any language."""
        if not self.plan.found:
            return (Message("stress.no_plan"),)
        if not self.curves:
            return (Message("stress.nothing"),)
        single = [c for c in self.curves if c.feature is not None] or list(self.curves)
        share = self.asked
        start: tuple[Message, ...] = ()
        if any(c.keeps(share) is None for c in single):
            now = next(p for p in single[0].points if p.delta == 0)
            if not now.reliable:
                return (Message("stress.few"),)
            if any(c.keeps(0.5) is None for c in single):
                return (Message("stress.short_now", share=now.validity, asked=share),)
            share, start = 0.5, (Message("stress.short", share=now.validity, asked=share),)
        limits = [(abs(edge), c, edge) for c in single for edge in self._limits(c, share)]
        if not limits:
            ranges = [c.keeps(share) or (0.0, 0.0) for c in single]
            low, high = max(r[0] for r in ranges), min(r[1] for r in ranges)
            return (*start, Message("stress.whole", share=share, low=low, high=high))
        _, curve, edge = min(limits, key=lambda limit: limit[0])
        return (*start, Message("stress.keeps", share=share, limit=self._limit(curve, edge)))

    @property
    def sentence(self) -> str:
        """The verdict in English."""
        return " ".join(str(message) for message in self.messages)

    @staticmethod
    def _limits(curve: StressCurve, share: float) -> list[float]:
        """The ends of the range beyond which the plan is known to do worse."""
        known = [p.delta for p in curve.points if p.reliable]
        kept = curve.keeps(share)
        if kept is None:
            return []
        return [edge for edge, beyond in zip(kept, (min(known), max(known)), strict=True) if edge != beyond]

    @staticmethod
    def _limit(curve: StressCurve, edge: float) -> Message:
        """How far things may go, as the end of a sentence."""
        if curve.feature is None:
            way = "against" if curve.against else "lower" if edge < 0 else "higher"
            return Message(f"stress.all_{way}", tilts=float(f"{abs(edge):.2g}"))
        mean = curve.mean_at(edge)
        if curve.level is not None:
            code = "stress.level_most" if edge > 0 else "stress.level_least"
            return Message(code, what=curve.message, share=min(1.0, max(0.0, mean)))
        moved = abs(mean - curve.mean_at(0.0)) / curve.spread
        feature = curve.feature
        about = nearest_legal(feature, np.array([_rounded(mean, curve.spread) if feature.is_number else mean]))
        return Message(
            "stress.higher" if edge > 0 else "stress.lower", label=feature.named, spreads=round(moved, 2),
            value=feature.quoted(feature.value(float(about[0]))),
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The test as plain data; ``docs/stress.md`` describes the keys."""
        return {
            "format": FORMAT, "kind": self.kind, "asked": self.asked,
            "curves": [curve.to_dict(self.asked) for curve in self.curves], "sentence": self.sentence,
            "messages": [message.to_dict() for message in self.messages],
        }  # fmt: skip

    def to_json(self, indent: int | None = 2) -> str:
        """The test as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, default=str)

    def to_frame(self) -> pd.DataFrame:
        """One line per curve and tilt."""
        rows = [(c.label, p.delta, p.validity, p.size, p.mean, p.reliable) for c in self.curves for p in c.points]
        return pd.DataFrame(rows, columns=["blank", "delta", "validity", "size", "mean", "reliable"])

    def text(self, language: str = "en") -> str:
        """The test as text in a language, such as "de"; ``print`` shows it in English."""
        lines = [" ".join(message.text(language) for message in self.messages)]
        for curve in self.curves:
            kept, half = _range(curve.keeps(self.asked)), _range(curve.keeps(0.5))
            line = Message("stress.line", what=curve.message, share=self.asked, kept=kept, half=half)
            lines.append(f"  {line.text(language)}")
        return "\n".join(lines)

    def html(self, language: str = "en") -> str:
        """The test as a table in HTML; notebooks show it in English."""
        heads = [Message("stress.what"), Message("stress.head", share=self.asked), Message("stress.head", share=0.5)]
        rows: list[list[Message | Name]] = [
            [curve.message, _range(curve.keeps(self.asked)), _range(curve.keeps(0.5))] for curve in self.curves
        ]
        return curves_html(self.messages, heads, rows, language)

    def plot(self, ax: Any = None, language: str = "en") -> Any:
        """Draw validity against the tilt, in a language; returns the matplotlib Axes."""
        return plot_stress(self.to_dict(), [curve.message for curve in self.curves], ax, language)


def stress_test(
    fitted: Fitted,
    codes: FloatArray,
    explain: Callable[[], Recourse],
    features: Sequence[str] | None = None,
    tilts: ArrayLike | None = None,
    kind: Kind = "tilt",
) -> StressTest:
    """What :meth:`armin.ARMIN.stress` answers; ``explain`` gives the plan to test."""
    grid = _grid(tilts)
    if kind not in ("tilt", "shift"):
        raise ParameterError(f"'kind' must be 'tilt' or 'shift'. Got {kind!r} instead.")
    positions = _positions(fitted.schema, codes, features)
    plan = explain()
    asked = 0.5 if plan.confidence is None else plan.confidence
    if not plan.found or not positions:
        return StressTest(plan, asked, kind, ())
    lab = Lab(fitted, codes, plan, positions)
    curves = lab.tilted(grid) if kind == "tilt" else lab.shifted(grid)
    return StressTest(plan, asked, kind, tuple(curves))


def _grid(tilts: ArrayLike | None) -> FloatArray:
    grid = np.linspace(-2, 2, 17) if tilts is None else np.asarray(tilts, dtype=np.float64).ravel()
    if not (grid.size and np.isfinite(grid).all() and (np.diff(grid) > 0).all() and (grid == 0).any()):
        raise ParameterError(f"'tilts' must be increasing finite numbers with 0 among them. Got {tilts!r} instead.")
    return grid


def _positions(schema: Schema, codes: FloatArray, features: Sequence[str] | None) -> list[int]:
    if features is None:
        return [int(d) for d in np.flatnonzero(np.isnan(codes))]
    if isinstance(features, str):
        raise ParameterError(f"'features' must be a list of column names. Got the text {features!r} instead.")
    positions = [schema.position(name) for name in features]
    for d in positions:
        if not np.isnan(codes[d]):
            raise ParameterError(
                f"'features' must be blank in the row. {schema[d].name!r} is given; leave it out, or make it blank."
            )
    return positions


def _rounded(mean: float, spread: float) -> float:
    """A mean without digits that nobody can mean."""
    return round(mean, 1 - math.floor(math.log10(spread)))


def _range(kept: tuple[float, float] | None) -> Message:
    if kept is None:
        return Message("stress.not_even")
    low, high = (Quantity(round(edge, 2), step=0.01) for edge in kept)
    return Message("stress.range", low=low, high=high)
