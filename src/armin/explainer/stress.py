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
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from armin.errors import ParameterError
from armin.explainer.base import Explainer
from armin.explainer.compare import after_plan
from armin.impute.legal import nearest_legal
from armin.recourse import Recourse
from armin.report.plot_stress import plot_stress
from armin.report.words import at_least, figure, percent
from armin.schema import Feature, Rows

__all__ = ["StressCurve", "StressPoint", "StressTest", "stress_test"]

FloatArray = NDArray[np.float64]
Kind = Literal["tilt", "shift"]
FORMAT = "armin.stress/1"

LEAST_SIZE = 30.0
"""A point that rests on fewer effective draws is not stated."""
WANTED_SIZE = 200.0
"""Draws are enlarged until every point rests on as many effective ones, or ``MOST_TIMES`` as many were drawn."""
MOST_TIMES = 10
MOST_TIMES_MOVED = 4
"""Moved values are judged anew for every shift, so they are dearer."""


@dataclass(frozen=True)
class StressPoint:
    """One tilt: its size, the share that the plan keeps, the effective number of draws, and the mean of the feature."""

    delta: float
    validity: float
    size: float
    mean: float

    @property
    def reliable(self) -> bool:
        """Whether enough draws are left to say anything."""
        return self.size >= LEAST_SIZE


@dataclass(frozen=True)
class StressCurve:
    """How validity changes with one tilt.

    Attributes
    ----------
    feature : the blank that is tilted; None if all are
    level : the category whose odds move; None for an ordered feature
    points : by increasing delta
    spread : the standard deviation among similar people; the unit of delta
    against : whether every blank goes the way that hurts the plan, rather than all up or all down
    """

    feature: Feature | None
    level: object | None
    points: tuple[StressPoint, ...]
    spread: float
    against: bool = False

    @property
    def label(self) -> str:
        """What is tilted, in words."""
        if self.feature is None:
            return "all blanks against the plan" if self.against else "all blanks in the same direction"
        return self.feature.title if self.level is None else f"{self.feature.title}: {self.level}"

    def keeps(self, share: float) -> tuple[float, float] | None:
        """The largest range of delta around 0 in which at least ``share`` is kept; None if not even at 0.

        Edges are interpolated. A point that rests on too few draws ends the range.
        """
        centre = next(i for i, p in enumerate(self.points) if p.delta == 0)
        if not self._holds(self.points[centre], share):
            return None
        return self._edge(centre, -1, share), self._edge(centre, 1, share)

    @staticmethod
    def _holds(point: StressPoint, share: float) -> bool:
        return point.reliable and point.validity >= share - 1e-9

    def _edge(self, at: int, step: int, share: float) -> float:
        while 0 <= at + step < len(self.points) and self._holds(self.points[at + step], share):
            at += step
        here = self.points[at]
        if not 0 <= at + step < len(self.points) or not self.points[at + step].reliable:
            return here.delta
        there = self.points[at + step]
        part = max(0.0, here.validity - share) / (here.validity - there.validity)
        return here.delta + (there.delta - here.delta) * part

    def mean_at(self, delta: float) -> float:
        """The mean of the feature (or the share of the level) at a tilt, interpolated."""
        return float(np.interp(delta, [p.delta for p in self.points], [p.mean for p in self.points]))

    def to_dict(self, asked: float) -> dict[str, Any]:
        """The curve as plain data."""
        keeps, half = self.keeps(asked), self.keeps(0.5)
        return {
            "feature": None if self.feature is None else self.feature.name, "label": self.label, "level": self.level,
            "spread": self.spread, "against": self.against,
            "keeps": None if keeps is None else list(keeps), "half": None if half is None else list(half),
            "points": [
                {"delta": p.delta, "validity": p.validity if p.reliable else None, "size": p.size,
                 "mean": p.mean if np.isfinite(p.mean) else None, "reliable": p.reliable}
                for p in self.points
            ],
        }  # fmt: skip


@dataclass(frozen=True)
class StressTest:
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
    def sentence(self) -> str:
        """The verdict, in one sentence, about the blank to which the plan is most sensitive."""
        if not self.plan.found:
            return "There is no plan to test."
        if not self.curves:
            return "Nothing is blank, so nothing can be other than it seems."
        single = [c for c in self.curves if c.feature is not None] or list(self.curves)
        share, start = self.asked, ""
        if any(c.keeps(share) is None for c in single):
            now = next(p for p in single[0].points if p.delta == 0)
            if not now.reliable:
                return "Too few plausible completions agree with what is known to say anything."
            start = (
                f"The plan works for {percent(now.validity)} of fresh completions, not the {at_least(share)} asked for"
            )
            if any(c.keeps(0.5) is None for c in single):
                return f"{start}, even if those who leave blanks are like similar people."
            share, start = 0.5, f"{start}. "
        limits = [(abs(edge), c, edge) for c in single for edge in self._limits(c, share)]
        if not limits:
            ranges = [c.keeps(share) or (0.0, 0.0) for c in single]
            low, high = max(r[0] for r in ranges), min(r[1] for r in ranges)
            tested = f"over the whole range tested ({low:g} to {high:g})"
            return f"{start}The plan keeps {at_least(share)} whichever blank is other than it seems, {tested}."
        _, curve, edge = min(limits, key=lambda limit: limit[0])
        return f"{start}The plan keeps {at_least(share)} as long as {self._limit(curve, edge)}."

    @staticmethod
    def _limits(curve: StressCurve, share: float) -> list[float]:
        """The ends of the range beyond which the plan is known to do worse."""
        known = [p.delta for p in curve.points if p.reliable]
        kept = curve.keeps(share)
        if kept is None:
            return []
        return [edge for edge, beyond in zip(kept, (min(known), max(known)), strict=True) if edge != beyond]

    def _limit(self, curve: StressCurve, edge: float) -> str:
        if curve.feature is None:
            way = "against the plan" if curve.against else "lower" if edge < 0 else "higher"
            return f"all blanks together are at most {abs(edge):.2g} tilts {way}"
        mean = curve.mean_at(edge)
        if curve.level is not None:
            side = "at most" if edge > 0 else "at least"
            return f"the real share of {curve.label} is {side} about {percent(min(1.0, max(0.0, mean)))}"
        moved = abs(mean - curve.mean_at(0.0)) / curve.spread
        way, to = ("higher", "up") if edge > 0 else ("lower", "down")
        feature = curve.feature
        about = nearest_legal(feature, np.array([_rounded(mean, curve.spread) if feature.is_number else mean]))
        shown = feature.show(feature.value(float(about[0])))
        return (
            f"the real values of {feature.title} are at most {figure(round(moved, 2))} spreads {way} than similar "
            f"people's: {to} to about {shown} on average"
        )

    def to_dict(self) -> dict[str, Any]:
        """The test as plain data; ``docs/stress.md`` describes the keys."""
        return {
            "format": FORMAT, "kind": self.kind, "asked": self.asked,
            "curves": [curve.to_dict(self.asked) for curve in self.curves], "sentence": self.sentence,
        }  # fmt: skip

    def to_json(self, indent: int | None = 2) -> str:
        """The test as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, default=str)

    def to_frame(self) -> pd.DataFrame:
        """One line per curve and tilt."""
        rows = [(c.label, p.delta, p.validity, p.size, p.mean, p.reliable) for c in self.curves for p in c.points]
        return pd.DataFrame(rows, columns=["blank", "delta", "validity", "size", "mean", "reliable"])

    def __str__(self) -> str:
        lines = [self.sentence]
        for curve in self.curves:
            keeps, half = curve.keeps(self.asked), curve.keeps(0.5)
            lines.append(f"  {curve.label}: keeps {at_least(self.asked)} {_range(keeps)}; one half {_range(half)}")
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """Draw validity against the tilt; returns the matplotlib Axes."""
        return plot_stress(self.to_dict(), ax)


def stress_test(
    explainer: Explainer,
    row: Rows | pd.Series[Any],
    *,
    features: Sequence[str] | None = None,
    tilts: ArrayLike | None = None,
    locked: Collection[str] = (),
    plan: Recourse | None = None,
    kind: Kind = "tilt",
) -> StressTest:
    """Over which range of informative missingness a plan keeps its validity.

    Parameters
    ----------
    explainer : a fitted explainer
    row, locked : as in :meth:`armin.ARMIN.explain`
    features : the blanks to test; None for all
    tilts : increasing numbers with 0 among them; 17 from -2 to 2 if None
    plan : the plan to test; the explainer's own if None
    kind : "tilt" weighs the draws, "shift" moves ordered values by spreads and leaves categories alone

    Returns
    -------
    StressTest

    Examples
    --------
    >>> from armin import ARMIN
    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    >>> test = stress_test(explainer, loans.applicant)
    >>> test.curves[0].label, len(test.curves[0].points)
    ('Income', 17)
    """
    codes = explainer._one_row(row, locked)
    grid = _grid(tilts)
    if kind not in ("tilt", "shift"):
        raise ParameterError(f"'kind' must be 'tilt' or 'shift'. Got {kind!r} instead.")
    positions = _positions(explainer, codes, features)
    plan = explainer.explain(row, locked=locked) if plan is None else plan
    asked = 0.5 if plan.confidence is None else plan.confidence
    if not plan.found or not positions:
        return StressTest(plan, asked, kind, ())
    lab = _Lab(explainer, codes, plan, positions)
    curves = lab.tilted(grid) if kind == "tilt" else lab.shifted(grid)
    return StressTest(plan, asked, kind, tuple(curves))


def _grid(tilts: ArrayLike | None) -> FloatArray:
    grid = np.linspace(-2, 2, 17) if tilts is None else np.asarray(tilts, dtype=np.float64).ravel()
    if not (grid.size and np.isfinite(grid).all() and (np.diff(grid) > 0).all() and (grid == 0).any()):
        raise ParameterError(f"'tilts' must be increasing finite numbers with 0 among them. Got {tilts!r} instead.")
    return grid


def _positions(explainer: Explainer, codes: FloatArray, features: Sequence[str] | None) -> list[int]:
    schema = explainer.schema
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


@dataclass(frozen=True, eq=False)
class _Direction:
    """One way to be other than similar people: the score of each draw, and what is averaged for people to see."""

    feature: Feature | None
    level: object | None
    score: FloatArray
    seen: FloatArray
    spread: float = 1.0
    against: bool = False

    def curve(self, points: list[StressPoint]) -> StressCurve:
        return StressCurve(self.feature, self.level, tuple(points), self.spread, self.against)


class _Lab:
    """Draws of one row, and what the plan does for each."""

    def __init__(self, explainer: Explainer, codes: FloatArray, plan: Recourse, positions: list[int]) -> None:
        self.explainer, self.codes, self.plan, self.positions = explainer, codes, plan, positions
        self.count = max(explainer.n_fresh, 1000)
        # the stream that fresh completions come from: without enlarging, these are the explainer's own
        self.rng = explainer._streams(codes)[1]

    def works(self, values: FloatArray) -> NDArray[np.bool_]:
        """Where the plan leads to acceptance, by the user's own model."""
        return self.explainer.oracle_.accepts(after_plan(self.plan, self.explainer.schema, values))

    def _spreads(self, values: FloatArray, weights: FloatArray) -> dict[int, float]:
        share = weights / weights.sum()
        spread = np.sqrt(share @ (values - share @ values) ** 2)
        return {d: float(spread[d]) if spread[d] > 0 else 1.0 for d in self.positions}

    def _plain(self, n: int) -> tuple[FloatArray, FloatArray]:
        draws = self.explainer.sampler_.sample(self.codes, n, self.rng)
        return draws.values, draws.weights

    def tilted(self, grid: FloatArray) -> list[StressCurve]:
        """Curves by weighing one sample, enlarged where a tilt leaves too little of it."""
        sample = self.explainer._draw(self.codes, self.count, self.rng)
        values, weights = sample.values, sample.weights
        spreads = self._spreads(*self._plain(self.count))
        while True:
            ways = self._directions(values, spreads)
            least = min(_size(weights * _lift(delta * way.score)) for way in ways for delta in grid[[0, -1]])
            room = MOST_TIMES * self.count - round(float(weights.sum()))
            more = min(int(np.ceil(weights.sum() * (WANTED_SIZE / least - 1))), room)
            if more <= 0:
                break
            sample = self.explainer._draw(self.codes, more, self.rng)
            values, weights = np.concatenate([values, sample.values]), np.concatenate([weights, sample.weights])
        works = self.works(values)
        curves = [_weighed(way, grid, weights, works) for way in ways]
        ordered = [(way, _harm(curve)) for way, curve in zip(ways, curves, strict=True) if way.level is None]
        if len(ordered) > 1:
            nothing = np.full(len(weights), np.nan)
            for against in _joint([sign for _, sign in ordered]):
                score = np.sum([way.score * (sign if against else 1.0) for way, sign in ordered], axis=0)
                curves.append(_weighed(_Direction(None, None, score, nothing, 1.0, against), grid, weights, works))
        return curves

    def _directions(self, values: FloatArray, spreads: dict[int, float]) -> list[_Direction]:
        ways = []
        for d in self.positions:
            feature, column = self.explainer.schema[d], values[:, d]
            if feature.is_number or feature.kind == "ordinal":
                ways.append(_Direction(feature, None, column / spreads[d], column, spreads[d]))
                continue
            levels = [1] if feature.kind == "binary" else np.unique(column).astype(int).tolist()
            for level in levels:
                chosen = (column == level).astype(np.float64)
                ways.append(_Direction(feature, feature.value(float(level)), chosen, chosen))
        return ways

    def shifted(self, grid: FloatArray) -> list[StressCurve]:
        """Curves by moving the values, and then leaving out what contradicts the rejection."""
        values, weights = self._plain(self.count)
        schema = self.explainer.schema
        ordered = [d for d in self.positions if schema[d].is_number or schema[d].kind == "ordinal"]
        spreads = self._spreads(values, weights)
        curves = [self._moved({d: spreads[d]}, grid, values, weights) for d in ordered]
        if len(ordered) > 1:
            hurt = {d: _harm(curve) for d, curve in zip(ordered, curves, strict=True)}
            for against in _joint(list(hurt.values())):
                steps = {d: spreads[d] * (hurt[d] if against else 1.0) for d in ordered}
                curves.append(self._moved(steps, grid, values, weights, against=against))
        return curves

    def _moved(
        self,
        steps: dict[int, float],
        grid: FloatArray,
        values: FloatArray,
        weights: FloatArray,
        *,
        against: bool = False,
    ) -> StressCurve:
        schema, n = self.explainer.schema, len(weights)
        while True:
            moved = np.tile(values, (grid.size, 1))
            for d, step in steps.items():
                moved[:, d] = nearest_legal(schema[d], moved[:, d] + np.repeat(grid, n) * step)
            kept = (~self.explainer._contradicts(moved)).reshape(grid.size, n)
            least = min(_size(weights[row]) for row in kept)
            if least >= WANTED_SIZE or n > self.count:
                break
            more = min(MOST_TIMES_MOVED, int(np.ceil(WANTED_SIZE / max(least, 1.0)))) * self.count - n
            if more <= 0:
                break
            extra, extra_weights = self._plain(more)
            values, weights = np.concatenate([values, extra]), np.concatenate([weights, extra_weights])
            n = len(weights)
        works = self.works(moved).reshape(grid.size, n)
        one = next(iter(steps)) if len(steps) == 1 else None
        seen = moved[:, 0 if one is None else one].reshape(grid.size, n)
        points = [
            _point(delta, weights[kept[i]], works[i][kept[i]], seen[i][kept[i]], shown=one is not None)
            for i, delta in enumerate(grid.tolist())
        ]
        feature, spread = (None, 1.0) if one is None else (schema[one], steps[one])
        return StressCurve(feature, None, tuple(points), spread, against)


def _weighed(way: _Direction, grid: FloatArray, weights: FloatArray, works: NDArray[np.bool_]) -> StressCurve:
    shown = way.feature is not None
    tilts = [(delta, weights * _lift(delta * way.score)) for delta in grid.tolist()]
    return way.curve([_point(delta, tilted, works, way.seen, shown=shown) for delta, tilted in tilts])


def _point(
    delta: float, weights: FloatArray, works: NDArray[np.bool_], seen: FloatArray, *, shown: bool
) -> StressPoint:
    if not weights.size:
        return StressPoint(delta, float("nan"), 0.0, float("nan"))
    total = weights.sum()
    mean = float(weights @ seen / total) if shown else float("nan")
    return StressPoint(delta, min(1.0, float(weights[works].sum() / total)), _size(weights), mean)


def _lift(score: FloatArray) -> FloatArray:
    """exp(score), scaled so that it does not overflow."""
    return np.asarray(np.exp(score - score.max()))


def _size(weights: FloatArray) -> float:
    """The effective number of draws behind weights (Kish)."""
    return float(weights.sum() ** 2 / (weights**2).sum()) if weights.size else 0.0


def _harm(curve: StressCurve) -> float:
    """Which way hurts the plan: 1.0 up, -1.0 down."""
    known = [p.validity for p in curve.points if p.reliable]
    return -1.0 if known and known[0] < known[-1] else 1.0


def _joint(signs: list[float]) -> tuple[bool, ...]:
    """Which joint curves to draw: all in one direction, and against the plan where that is another one."""
    return (False, True) if len(set(signs)) > 1 else (False,)


def _rounded(mean: float, spread: float) -> float:
    """A mean without digits that nobody can mean."""
    return round(mean, 1 - math.floor(math.log10(spread)))


def _range(kept: tuple[float, float] | None) -> str:
    return "not even as it is" if kept is None else f"from {kept[0]:.2f} to {kept[1]:.2f}"
