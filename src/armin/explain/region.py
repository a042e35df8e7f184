"""What a plan leaves open: for each change the values that do as well, one at a time and all together.

From the plan, the box of target values is widened feature by feature, first the way that asks for more, then the other,
as far as a bound on the accepted weight over the whole box stays where it was asked to be. For a linear score the worst
corner of the box says it; for trees, the smallest leaf that each tree can reach in the box. So every point of the box
is accepted, but the box need not be the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from armin.actions import outcome, snapped
from armin.arrays import BoolArray, FloatArray
from armin.errors import ModelError, ParameterError
from armin.explain.draw import candidates_of
from armin.explain.fitted import Fitted
from armin.explain.world import find_world
from armin.models.kinds import Above, Among, LinearModel, TreeEnsemble
from armin.problem.data import WEIGHT_TOLERANCE, required_weight
from armin.recourse import Change, Recourse
from armin.words import Message, Printable

__all__ = ["Region", "Span", "region_of"]

KEPT = 0.9
"""Of a span's width, what rounding its ends may leave."""

Box = dict[int, tuple[float, float]]
"""For each position that changes, the least and the largest target."""


@dataclass(frozen=True, repr=False)
class Span(Printable):
    """The values of one change that do as well as the planned one.

    Attributes
    ----------
    change : the planned change
    low, high : with the other changes anywhere in their own spans
    alone : the same with the other changes as planned
    """

    change: Change
    low: float
    high: float
    alone: tuple[float, float]

    @property
    def message(self) -> Message:
        """The span, to be said in any language."""
        return _said(self.change, self.low, self.high)

    def text(self, language: str = "en") -> str:
        """The span in a language."""
        return self.message.text(language)


@dataclass(frozen=True, repr=False)
class Region(Printable):
    """A plan, and what it leaves open: every point of the box of spans is accepted as the plan is.

    Attributes
    ----------
    plan : the plan
    spans : one for each change
    """

    plan: Recourse
    spans: tuple[Span, ...]

    def text(self, language: str = "en") -> str:
        """The region in a language, a line for each change."""
        head = "region.head_blanks" if self.plan.blanks else "region.head"
        return "\n".join([Message(head).text(language), *(f"  {span.text(language)}" for span in self.spans)])

    def to_dict(self) -> dict[str, Any]:
        """The region as plain data."""
        return {
            span.change.feature.name: {"low": span.low, "high": span.high, "alone": list(span.alone), "text": str(span)}
            for span in self.spans
        }


def _said(change: Change, low: float, high: float) -> Message:
    feature = change.feature
    values: dict[str, Any] = {"label": feature.named, "low": feature.said(feature.value(low))}
    values["high"] = feature.said(feature.value(high))
    if low == high or not feature.is_number:
        return Message("region.exactly", **values)
    if low <= feature.low_code:
        return Message("region.at_most", **values)
    return Message("region.at_least" if high >= feature.high_code else "region.between", **values)


def region_of(fitted: Fitted, plan: Recourse, codes: FloatArray, locked: Collection[str]) -> Region:
    """The region around a plan of one row."""
    if not plan.changes or plan.validity is None or (plan.blanks and plan.world.reapply != "disclosed"):
        raise ParameterError(
            "A region is of a plan that changes something, judged once all values are known. This answer has none."
        )
    sample = candidates_of(fitted, find_world(fitted, codes), codes)
    weights, schema = sample.weights, fitted.schema
    asked = weights.sum() if plan.confidence is None else required_weight(plan.confidence, float(weights.sum()))
    demand = min(float(asked), plan.validity.accepted) - WEIGHT_TOLERANCE * float(weights.sum())
    sure = _judge(fitted)

    def after(targets: dict[int, float]) -> FloatArray:
        rows = sample.values.copy()
        for change in plan.changes:
            p = schema.position(change.feature.name)
            rows[:, p] = outcome(change.feature, change.mode, rows[:, p], targets[p], change.sense)
        return rows

    def holds(box: Box) -> bool:
        low, high = (after({p: ends[side] for p, ends in box.items()}) for side in (0, 1))
        return bool(weights[sure(low, high)].sum() >= demand)

    planned: Box = {}
    for change in plan.changes:
        target = change.amount if change.mode == "shift" else change.feature.code(change.after)
        planned[schema.position(change.feature.name)] = (float(target or 0.0), float(target or 0.0))
    free = [change for change in plan.changes if _may_widen(fitted, change)]
    if not holds(planned):
        free = []
    joint = dict(planned)
    for side in (0, 1):  # more of the same first, then less
        for change in free:
            joint = _widened(fitted, change, joint, holds, codes, side)
    alone = dict(planned)
    for change in free:
        p, box = schema.position(change.feature.name), dict(planned)
        for side in (0, 1):
            box = _widened(fitted, change, box, holds, codes, side)
        alone[p] = box[p]
    places = [schema.position(change.feature.name) for change in plan.changes]
    spans = [Span(change, *joint[p], alone[p]) for change, p in zip(plan.changes, places, strict=True)]
    return Region(plan, tuple(spans))


def _may_widen(fitted: Fitted, change: Change) -> bool:
    """Whether the values beside a target are known to do no worse in a way that can be bounded."""
    feature, p = change.feature, fitted.schema.position(change.feature.name)
    tied = fitted.schema.derived or any(feature.name in rule.features for rule in fitted.schema.constraints)
    return feature.is_number and change.mode != "shift" and not tied and p in _known(fitted)


def _known(fitted: Fitted) -> Collection[int]:
    """The numbers whose model inputs never turn back."""
    row = np.array([feature.low_code for feature in fitted.schema])
    if isinstance(fitted.read.model, LinearModel):
        return fitted.remembered.helpful(fitted.read, row)
    return fitted.remembered.turns(fitted.read, row)


def _widened(
    fitted: Fitted, change: Change, box: Box, holds: Callable[[Box], bool], codes: FloatArray, side: int
) -> Box:
    """The box with one feature moved out as far as it holds; ``side`` 0 the way the change goes, 1 the other way."""
    feature, p = change.feature, fitted.schema.position(change.feature.name)
    up = (change.direction != "down") == (side == 0)
    low, high = box[p]
    start = high if up else low
    end = feature.high_code if up else feature.low_code
    if side == 1 and change.mode == "observed":  # not back to where the person is
        now = codes[p]
        end = min(end, now) if up else max(end, now)
    ends = _ends(fitted, change, start, end, up)
    if change.mode == "observed":
        ends = ends[ends != codes[p]]

    def at(k: int) -> Box:
        return box | {p: (low, float(ends[k])) if up else (float(ends[k]), high)}

    found, first, last = -1, 0, ends.size - 1
    while first <= last:  # what holds for a box holds for those within it
        middle = (first + last) // 2
        if holds(at(middle)):
            found, first = middle, middle + 1
        else:
            last = middle - 1
    return box if found < 0 else at(found)


def _ends(fitted: Fitted, change: Change, start: float, end: float, up: bool) -> FloatArray:
    """Where a span may end, from the start outwards: round numbers, and the last values before the model turns."""
    feature, p = change.feature, fitted.schema.position(change.feature.name)
    low, high = min(start, end), max(start, end)
    width = feature.high_code - feature.low_code
    round_ones = [np.array([end])]
    for step in (width / 10, width / 100, width / 1000):
        unit = 10.0 ** np.floor(np.log10(step)) if step > 0 else 1.0
        round_ones.append(np.arange(np.ceil(low / unit), np.floor(high / unit) + 1)[:20_000] * unit)
    turns = None if isinstance(fitted.read.model, LinearModel) else fitted.remembered.turns(fitted.read, np.zeros(0))[p]
    if turns is not None:
        round_ones.append(turns[0] if up else turns[1])
    ends = snapped(feature, np.round(np.concatenate(round_ones[:-1]), 12), low, high)
    ends = np.union1d(ends, snapped(feature, round_ones[-1], low, high))
    ends = ends[(ends > start) if up else (ends < start)]
    return ends if up else ends[::-1]


def _judge(fitted: Fitted) -> Callable[[FloatArray, FloatArray], BoolArray]:
    """For codes (N, D) at both ends of a box, who is accepted wherever in it."""
    model, encode = fitted.read.model, fitted.read.encode
    if not isinstance(model, LinearModel | TreeEnsemble) or type(model.decision) not in (Above, Among):
        raise ModelError(f"A region can be bounded for linear scores and trees. Got a {type(model).__name__}.")
    least = _least_linear if isinstance(model, LinearModel) else _least_trees

    def sure(low: FloatArray, high: FloatArray) -> BoolArray:
        one, other = encode(low), encode(high)
        low, high = np.minimum(one, other), np.maximum(one, other)
        found: BoolArray = np.zeros(low.shape[0], dtype=bool)
        for way in model.decision.ways():
            margins = zip(way.coefficients, way.cuts.tolist(), strict=True)
            found |= np.all([least(model, row, low, high) >= cut for row, cut in margins], axis=0)
        return found

    return sure


def _least_linear(model: Any, margin: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """No more than a sum of outputs (N,) for any inputs between ``low`` and ``high`` (N, P)."""
    weights, start = margin @ model.weights, float(margin @ model.intercept)
    ends = np.where(weights >= 0, low, high)
    size = np.abs(ends) @ np.abs(weights) + abs(start)
    return np.asarray(ends @ weights + start - (model.n_inputs + 4) * np.finfo(np.float64).eps * size)


def _least_trees(model: Any, margin: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """The same for trees: each takes the smallest leaf that it can reach."""
    value = model.value.astype(np.float64) @ margin
    start = float(model.base.astype(np.float64) @ margin)
    least, largest = np.zeros((low.shape[0], value.size)), np.zeros(value.size)
    levels, level = [], model.roots
    while level.size:
        levels.append(level)
        inner = level[model.feature[level] >= 0]
        level = np.concatenate([model.left[inner], model.right[inner]])
    for level in reversed(levels):  # children first
        leaf, inner = level[model.feature[level] < 0], level[model.feature[level] >= 0]
        least[:, leaf], largest[leaf] = value[leaf], (np.abs(model.value) @ np.abs(margin))[leaf]
        columns, left, right = model.feature[inner], model.left[inner], model.right[inner]
        first, last = model.goes_left(inner, low[:, columns]), model.goes_left(inner, high[:, columns])
        either = np.minimum(least[:, left], least[:, right])
        least[:, inner] = np.where(first & last, least[:, left], np.where(first | last, either, least[:, right]))
        largest[inner] = np.maximum(largest[left], largest[right])
    total, size = least[:, model.roots].sum(axis=1) + start, largest[model.roots].sum() + abs(start)
    room = (model.n_trees + 4) * float(np.finfo(model.precision).eps) * float(size)
    return np.asarray((total - room) / model.divisor)
