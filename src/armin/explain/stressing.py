"""Completions that are tilted or moved, and what a plan does for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from armin.arrays import BoolArray, FloatArray
from armin.explain.draw import contradicts, draw, row_stream
from armin.explain.fitted import Fitted
from armin.explain.world import find_world
from armin.recourse import Recourse
from armin.sampling.legal import nearest_legal
from armin.schema import Feature, Value
from armin.schema.columns import after_change
from armin.words import Message, Name, Printable, catalogue

__all__ = ["Lab", "StressCurve", "StressPoint"]


LEAST_SIZE = 30.0
"""A point that rests on fewer effective draws is not stated."""
WANTED_SIZE = 200.0
"""Draws are enlarged until every point rests on as many effective ones, or ``MOST_TIMES`` as many were drawn."""
MOST_TIMES = 10
MOST_TIMES_MOVED = 4
"""Moved values are judged anew for every shift, so they are more expensive."""


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


@dataclass(frozen=True, repr=False)
class StressCurve(Printable):
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
    level: Value | None
    points: tuple[StressPoint, ...]
    spread: float
    against: bool = False

    @property
    def message(self) -> Message | Name:
        """What is tilted, to be said in any language."""
        if self.feature is None:
            return Message("stress.against" if self.against else "stress.same_way")
        if self.level is None:
            return self.feature.named
        return Message("stress.level", label=self.feature.named, level=self.feature.said(self.level))

    @property
    def label(self) -> str:
        """What is tilted, in English."""
        return self.text()

    def text(self, language: str = "en") -> str:
        """What is tilted, in a language."""
        return self.message.said(catalogue(language)).replace("\u00a0", " ")

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


@dataclass(frozen=True, eq=False)
class _Direction:
    """One way to be other than similar people: the score of each draw, and what is averaged for people to see."""

    feature: Feature | None
    level: Value | None
    score: FloatArray
    seen: FloatArray
    spread: float = 1.0
    against: bool = False

    def curve(self, points: list[StressPoint]) -> StressCurve:
        return StressCurve(self.feature, self.level, tuple(points), self.spread, self.against)


class Lab:
    """Draws of one row, and what the plan does for each."""

    def __init__(self, fitted: Fitted, codes: FloatArray, plan: Recourse, positions: list[int]) -> None:
        self.fitted, self.codes, self.plan, self.positions = fitted, codes, plan, positions
        self.world = find_world(fitted, codes)
        self.count = max(fitted.settings.options.n_fresh, 1000)
        # the stream that fresh completions come from: without enlarging, these are the explainer's own
        self.rng = row_stream(fitted.settings.random_state, codes, "fresh")

    def works(self, values: FloatArray) -> BoolArray:
        """Where the plan leads to acceptance, by the user's own model."""
        return self.fitted.oracle.accepts(self.plan.apply_codes(self.fitted.schema, values))

    def _spreads(self, values: FloatArray, weights: FloatArray) -> dict[int, float]:
        share = weights / weights.sum()
        spread = np.sqrt(share @ (values - share @ values) ** 2)
        return {d: float(spread[d]) if spread[d] > 0 else 1.0 for d in self.positions}

    def _plain(self, n: int) -> tuple[FloatArray, FloatArray]:
        draws = self.fitted.ready.at(self.codes).sample(n, self.rng)
        return draws.values, draws.weights

    def tilted(self, grid: FloatArray) -> list[StressCurve]:
        """Curves by weighing one sample, enlarged where a tilt leaves too little of it."""
        sample = draw(self.fitted, self.world, self.codes, self.count, self.rng)
        values, weights = sample.values, sample.weights
        spreads = self._spreads(*self._plain(self.count))
        while True:
            ways = self._directions(values, spreads)
            least = min(_size(weights * _lift(delta * way.score)) for way in ways for delta in grid[[0, -1]])
            room = MOST_TIMES * self.count - round(float(weights.sum()))
            more = min(int(np.ceil(weights.sum() * (WANTED_SIZE / least - 1))), room)
            if more <= 0:
                break
            sample = draw(self.fitted, self.world, self.codes, more, self.rng)
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
            feature, column = self.fitted.schema[d], values[:, d]
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
        schema = self.fitted.schema
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
        schema, n = self.fitted.schema, len(weights)
        while True:
            moved = np.tile(values, (grid.size, 1))
            for d, step in steps.items():
                moved[:, d] = nearest_legal(schema[d], moved[:, d] + np.repeat(grid, n) * step)
            moved = after_change(schema, moved, steps)
            legal = schema.plausible(moved)
            kept = (legal & ~contradicts(self.fitted, self.world, moved)).reshape(grid.size, n)
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


def _weighed(way: _Direction, grid: FloatArray, weights: FloatArray, works: BoolArray) -> StressCurve:
    shown = way.feature is not None
    tilts = [(delta, weights * _lift(delta * way.score)) for delta in grid.tolist()]
    return way.curve([_point(delta, tilted, works, way.seen, shown=shown) for delta, tilted in tilts])


def _point(delta: float, weights: FloatArray, works: BoolArray, seen: FloatArray, *, shown: bool) -> StressPoint:
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
