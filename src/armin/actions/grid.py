"""What one person could do: the options of each feature, option 0 being "keep".

Three cases, settled by the row:

* **observed**: options are target values ("to 34,500").
* **blank, shift**: options are amounts ("raise by 5,000"), legal only if every candidate stays in bounds.
* **blank, reach**: options are targets for a value that is not known: "to at least 40,000", "to at most 2"; for
  values without an order "to car".

On the *exact* grid a number has as options the nearest legal value beyond each of the model's turns, where these are
known, and all categories; then no cheaper value exists outside the list, if the cost never falls with the distance.
Where turns are not known, numbers move on the *human grid*, multiples of 1, 2 or 5 times a power of ten, anchored at
zero; the exact grid adds both ends of the range, and what it is given beside. For the experiments there are the paper's
grid, equal steps of a 99th of the range from the person's own value, and the one of the published experiments: it
begins at the lower bound (at the person's value where that may only grow), and steps of whole numbers are rounded down.

>>> from armin.schema import Feature, Schema
>>> schema = Schema((Feature("income", "integer", lower=10_000, upper=90_000),))
>>> grid = build_grid(schema, np.array([34_371.0]), np.array([[34_371.0]]), max_options=10)
>>> grid.moves[0].values[0].tolist()
[34371.0, 10000.0, 20000.0, 40000.0, 50000.0, 60000.0, 70000.0, 80000.0, 90000.0]
"""

from __future__ import annotations

import math
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from armin.arrays import BoolArray, FloatArray
from armin.errors import ParameterError
from armin.schema import Feature, Schema
from armin.schema.columns import after_change

__all__ = [
    "GRIDS", "ActionGrid", "Grid", "Mode", "Move", "Turning", "build_grid", "human_step", "make_move", "next_values",
    "outcome", "snapped",
]  # fmt: skip

Mode = Literal["observed", "shift", "reach"]
Grid = Literal["exact", "human", "paper", "published"]
GRIDS = get_args(Grid)
Turning = Mapping[int, tuple[FloatArray, FloatArray]]
"""By position of a number: the last value before each turn of the model, and the first one after it."""


@dataclass(frozen=True, eq=False)
class Move:
    """The options of one feature for one person.

    Attributes
    ----------
    position : the feature's place in the schema
    mode : "observed", "shift" or "reach"
    values : array of shape (1 or N, J) of codes; column 0 keeps the candidate
    targets : array of shape (J,): the target code, or for "shift" the amount added; NaN for "keep"
    senses : array of shape (J,), for "reach": 1 where the target means "at least", -1 "at most", 0 "exactly"
    complete : whether, for a cost that never falls with the distance, no value outside the list is cheaper for the same
        answer of the model
    """

    position: int
    mode: Mode
    values: FloatArray
    targets: FloatArray
    senses: FloatArray
    complete: bool = False

    @property
    def size(self) -> int:
        """Number of options, with "keep"."""
        return int(self.values.shape[1])


@dataclass(frozen=True, eq=False)
class ActionGrid:
    """All options of one person; features that cannot move are left out."""

    moves: tuple[Move, ...]
    schema: Schema

    def apply(self, choice: tuple[int, ...], candidates: FloatArray) -> FloatArray:
        """The candidates (N, D), as codes, after ``choice``."""
        after = candidates.copy()
        for move, j in zip(self.moves, choice, strict=True):
            if j:
                after[:, move.position] = move.values[:, j]
        return self._followed(choice, after)

    def _followed(self, choice: tuple[int, ...], after: FloatArray) -> FloatArray:
        """The codes with what follows from the features that ``choice`` changes."""
        return after_change(self.schema, after, [m.position for m, j in zip(self.moves, choice, strict=True) if j])

    def apply_to_others(self, choice: tuple[int, ...], rows: FloatArray) -> FloatArray:
        """Other completions of the same person after ``choice``.

        A shift that would leave the bounds stops at the bound, as it would in life.
        """
        after = rows.copy()
        for move, j in zip(self.moves, choice, strict=True):
            if j:
                feature = self.schema.features[move.position]
                before = rows[:, move.position]
                after[:, move.position] = outcome(
                    feature, move.mode, before, float(move.targets[j]), float(move.senses[j])
                )
        return self._followed(choice, after)

    def submitted(self, choice: tuple[int, ...], row: FloatArray, completions: FloatArray) -> FloatArray:
        """The row (D,) as each of some completions (n, D) of this person submits it after ``choice``.

        Who is told to reach a value gives it, or the own one where that is beyond it. Other blanks stay blank; so does
        one that is moved by an amount, since the plan does not say where it ends.
        """
        after = np.repeat(row[None, :], completions.shape[0], axis=0)
        for move, j in zip(self.moves, choice, strict=True):
            if j and move.mode == "observed":
                after[:, move.position] = move.values[0, j]
            elif j and move.mode == "reach":
                after[:, move.position] = outcome(
                    self.schema.features[move.position], move.mode, completions[:, move.position],
                    float(move.targets[j]), float(move.senses[j]),
                )  # fmt: skip
        return self._followed(choice, after)

    def reaches(self, choice: tuple[int, ...]) -> bool:
        """Whether a blank is to reach a value, so that what is submitted afterwards depends on what it hides."""
        return any(j and move.mode == "reach" for move, j in zip(self.moves, choice, strict=True))


def outcome(
    feature: Feature, mode: Mode, before: FloatArray, target: float | FloatArray, sense: float | FloatArray = 0.0
) -> FloatArray:
    """What codes ``before`` become; arrays broadcast.

    Parameters
    ----------
    feature : what is moved
    mode : how
    before : codes
    target : the target, or for "shift" the amount
    sense : for "reach": 1 if the target means "at least", -1 if it means "at most", 0 if exactly
    """
    if mode == "shift":
        return np.asarray(np.clip(before + target, feature.low_code, feature.high_code))
    if mode != "reach":
        return np.zeros_like(before) + target
    exact = np.asarray(target) + 0.0  # no negative zero
    # who is there already stays
    return np.where(np.asarray(sense) * (before - exact) > 0, before, exact)


def human_step(width: float, most: int) -> float:
    """The smallest of 1, 2, 5 times a power of ten that cuts ``width`` into fewer than ``most`` steps.

    >>> human_step(80_000, 99), human_step(1.0, 99), human_step(7, 99)
    (1000.0, 0.02, 0.1)
    """
    if width <= 0:
        return 1.0
    raw = width / max(1, most - 1)
    power = math.floor(math.log10(raw) + 1e-12)
    for mantissa in (1, 2, 5, 10):
        step = mantissa * 10.0**power if power >= 0 else mantissa / 10.0**-power
        if step >= raw * (1 - 1e-9):
            return step
    raise AssertionError("unreachable")  # pragma: no cover


def build_grid(
    schema: Schema,
    row: FloatArray,
    candidates: FloatArray,
    *,
    max_options: int = 100,
    grid: Grid = "human",
    frozen: frozenset[str] = frozenset(),
    made: MutableMapping[tuple[int, float], Move | None] | None = None,
    turns: Turning | None = None,
    more: Mapping[int, FloatArray] | None = None,
) -> ActionGrid:
    """The options of one person.

    Parameters
    ----------
    schema : what may change
    row : codes of the row (D,), NaN for blanks
    candidates : codes of its completions (N, D)
    max_options : at most this many options per feature, with "keep"
    grid : "exact" for the values at the model's turns, "human" for round numbers, "paper" for equal steps from the
        person's value, "published" for equal steps from the lower bound
    frozen : names of features this person cannot change, on top of the schema's rules
    turns : where the model turns, for the exact grid
    more : by position, other targets (or amounts) for the exact grid
    made : moves by position and code that were made before with the same schema, options and grid, None where there
        is no option; those of this person's observed features are taken from there, or put there
    """
    if max_options < 2:
        raise ParameterError(f"The 'max_options' parameter must be at least 2. Got {max_options} instead.")
    if grid not in GRIDS:
        names = ", ".join(map(repr, GRIDS))
        raise ParameterError(f"The 'grid' parameter must be one of {names}. Got {grid!r} instead.")
    moves = []
    turns, more = turns or {}, more or {}
    for position, feature in enumerate(schema.features):
        if not feature.actionable or feature.name in frozen:
            continue
        code = float(row[position])
        if math.isnan(code):
            if feature.blank_mode == "freeze":
                continue
            mode: Mode = "shift" if feature.blank_mode == "shift" else "reach"
            before = candidates[:, position]
        elif made is not None and (position, code) in made and position not in more:
            move = made[position, code]
            if move is not None:
                moves.append(move)
            continue
        else:
            mode, before = "observed", row[position : position + 1].copy()
        if grid == "exact":
            move = _exact_move(
                feature, position, mode, before, max_options, turns.get(position), more.get(position, np.zeros(0))
            )
        else:
            move = make_move(feature, position, mode, before, *_targets(feature, mode, before, max_options, grid))
        if made is not None and mode == "observed" and position not in more:
            made[position, code] = move
        if move is not None:
            moves.append(move)
    return ActionGrid(tuple(moves), schema)


def make_move(
    feature: Feature,
    position: int,
    mode: Mode,
    before: FloatArray,
    targets: FloatArray,
    senses: FloatArray,
    complete: bool = False,
) -> Move | None:
    """The options of one feature behind "keep", from targets and their senses; None if there are none."""
    if not targets.size:
        return None
    values = np.empty((before.size, 1 + targets.size))
    values[:, 0] = before
    values[:, 1:] = outcome(feature, mode, before[:, None], targets[None, :], senses[None, :])
    return Move(position, mode, values, _after(math.nan, targets), _after(0.0, senses), complete)


def _exact_move(
    feature: Feature,
    position: int,
    mode: Mode,
    before: FloatArray,
    max_options: int,
    turns: tuple[FloatArray, FloatArray] | None,
    more: FloatArray,
) -> Move | None:
    """The options of one feature on the exact grid."""
    if not feature.is_number:
        found = _targets(feature, mode, before, len(feature.categories) * 2 + 2, "human")
        return make_move(feature, position, mode, before, *found, complete=True)
    low, high = feature.low_code, feature.high_code
    least, most = float(before.min()), float(before.max())
    if mode == "shift" or turns is None:
        if mode == "shift":
            low, high = low - least, high - most
            start = 0.0
        else:
            start = least if mode == "observed" else math.nan
        human = _number_targets(feature, low, high, start, max_options, "human", relative=mode == "shift")
        ends = np.array([low, high]) if low < high else np.zeros(0)
        listed = snapped(feature, np.concatenate([human, ends, more[(more >= low) & (more <= high)]]), low, high)
        whole = feature.step or (1.0 if feature.kind == "integer" else 0.0)
        complete = whole > 0 and human.size >= (high - low) / whole - 1e-9
        ups, downs = listed, listed
    else:
        below, above = turns
        start, complete = (least if mode == "observed" else math.nan), True
        # whoever is outside of the range comes back to its end
        ups = snapped(feature, np.concatenate([[low], above] if least < low else [above]), low, high, 1)
        downs = snapped(feature, np.concatenate([below, [high]] if most > high else [below]), low, high, -1)
    if mode == "reach":
        ups, downs = ups[_moves_some(least, most, ups, 1.0)], downs[_moves_some(least, most, downs, -1.0)]
    else:
        ups, downs = ups[ups > start], downs[downs < start]
    ups = ups[:0] if feature.direction == "decrease" else ups
    downs = downs[:0] if feature.direction == "increase" else downs
    senses = np.zeros(ups.size + downs.size)
    if mode == "reach":
        senses = np.concatenate([np.ones(ups.size), -np.ones(downs.size)])
    return make_move(feature, position, mode, before, np.concatenate([ups, downs]), senses, complete)


def snapped(feature: Feature, values: FloatArray, low: float, high: float, way: int = 0) -> FloatArray:
    """The legal values in ``low`` to ``high`` that are nearest to some values, at least them (1), at most (-1), or any.

    >>> snapped(Feature("rooms", "integer", lower=0, upper=9), np.array([2.5, 3.5, 9.5]), 0, 9, 1).tolist()
    [3.0, 4.0]
    """
    step = feature.step or (1.0 if feature.kind == "integer" else 0.0)
    if step:
        count = {0: np.rint, 1: np.ceil, -1: np.floor}[way](values / step)
        found = _multiples(count, step)
        if way:
            # a quotient may be rounded to the wrong side
            short, far = (way * (found - values) < 0), way * (_multiples(count - way, step) - values) >= 0
            found = _multiples(count + way * short - way * far, step)
        values = np.rint(found) if feature.kind == "integer" else found
    values = values[(values >= low) & (values <= high)] + 0.0  # no negative zero
    return np.unique(values)


def next_values(feature: Feature, values: FloatArray, way: int) -> FloatArray:
    """The next legal value above (1) or below (-1) each value (n,).

    >>> next_values(Feature("rooms", "integer", lower=0, upper=9), np.array([2.0, 2.5]), 1).tolist()
    [3.0, 3.0]
    """
    beyond = np.nextafter(values, way * np.inf)
    step = feature.step or (1.0 if feature.kind == "integer" else 0.0)
    if not step:
        return beyond
    found = _multiples((np.ceil if way > 0 else np.floor)(beyond / step), step)
    return np.where(way * (found - values) > 0, found, found + way * step)


def _after(keep: float, others: FloatArray) -> FloatArray:
    """What holds for "keep", then what holds for the other options."""
    every = np.empty(1 + others.size)
    every[0], every[1:] = keep, others
    return every


def _targets(
    feature: Feature, mode: Mode, before: FloatArray, max_options: int, grid: Grid
) -> tuple[FloatArray, FloatArray]:
    """The targets of one feature, and what each means for a blank."""
    low, high = feature.low_code, feature.high_code
    if mode == "shift":
        # legal only if every candidate stays inside its bounds
        low, high = low - float(before.min()), high - float(before.max())
        current = 0.0
    else:
        current = float(before[0]) if mode == "observed" else math.nan
    if feature.is_number:
        targets = _number_targets(feature, low, high, current, max_options, grid, relative=mode == "shift")
    else:
        targets = np.arange(math.ceil(low), math.floor(high) + 1, dtype=np.float64)
        targets = targets[targets != current]
    if mode == "reach":
        return _reached(feature, before, targets, max_options)
    if feature.direction == "increase":
        targets = targets[targets > current]
    elif feature.direction == "decrease":
        targets = targets[targets < current]
    targets = _thin(targets, max_options - 1, down=grid == "published")
    return targets, np.zeros(targets.size)


def _reached(
    feature: Feature, before: FloatArray, targets: FloatArray, max_options: int
) -> tuple[FloatArray, FloatArray]:
    """Targets for a blank: "at least" where it may grow, "at most" where it may fall, both where it may do either."""
    if feature.kind in ("binary", "categorical"):
        ways = {"increase": [1.0], "decrease": [-1.0]}.get(feature.direction, [0.0])
    else:
        ways = {"increase": [1.0], "decrease": [-1.0]}.get(feature.direction, [1.0, -1.0])
    found, senses = [], []
    for way in ways:
        # a target that moves no candidate is not an option
        moves = _moves_some(float(before.min()), float(before.max()), targets, way)
        found.append(targets[moves])
        senses.append(np.full(int(moves.sum()), way))
    if sum(kept.size for kept in found) >= max_options:
        most = max(1, (max_options - 1) // len(ways))
        found = [_thin(kept, most) for kept in found]
        senses = [np.full(kept.size, way) for kept, way in zip(found, ways, strict=True)]
    return np.concatenate(found)[: max_options - 1], np.concatenate(senses)[: max_options - 1]


def _moves_some(least: float, most: float, targets: FloatArray, way: float) -> BoolArray:
    """For which targets somebody is not there already; ``least`` and ``most`` are what people have."""
    if way:
        return np.asarray(~(targets <= least) if way > 0 else ~(targets >= most))
    return np.asarray((targets != least) | (targets != most))


def _number_targets(
    feature: Feature, low: float, high: float, current: float, max_options: int, grid: Grid, *, relative: bool
) -> FloatArray:
    width = feature.high_code - feature.low_code
    whole = feature.kind == "integer"
    if grid == "paper":
        step = feature.step or (max(1.0, math.ceil(width / 99)) if whole else width / 99)
        origin = feature.low_code if math.isnan(current) else current
    elif grid == "published":
        step = feature.step or (max(1.0, math.floor(width / 99)) if whole else width / 99)
        # amounts begin where the least candidate is at the bound
        origin = current if feature.direction == "increase" and not math.isnan(current) else low
    else:
        step, origin = _human(feature, width, max_options), 0.0
    first, last = math.ceil((low - origin) / step - 1e-9), math.floor((high - origin) / step + 1e-9)
    count = np.arange(first, last + 1, dtype=np.float64)
    targets = _multiples(count, step) + origin
    if not relative:
        # amounts stay round: it is their outcome that is clipped
        targets = np.minimum(np.maximum(targets, low), high)
    if whole:
        targets = np.rint(targets) + 0.0  # no negative zero
    if math.isnan(current):
        return targets
    # nobody would call less than half a step a change
    smallest = 0.5 * step if grid == "human" and not relative else 1e-9 * step
    return targets[np.abs(targets - current) >= smallest]


def _human(feature: Feature, width: float, max_options: int) -> float:
    most = max_options - 1
    if feature.step is None:
        step = human_step(width, most)
        return max(1.0, step) if feature.kind == "integer" else step
    factor = 1.0
    while width / (feature.step * factor) > max(1, most - 1) * (1 + 1e-9):
        factor = human_step(factor * 1.5, 2)
    return float(_multiples(np.array([factor]), feature.step)[0])


def _multiples(count: FloatArray, step: float) -> FloatArray:
    """``count * step`` without the rounding dirt: 3 * 0.3 is 0.9."""
    places = _decimals(float(step))
    return count * step if places is None else np.asarray(np.round(count * step, places))


@lru_cache(maxsize=4096)
def _decimals(step: float) -> int | None:
    """The decimal places of a step; None where it is a whole number, or has too many to be a round one."""
    _, digits, exponent = Decimal(repr(step)).as_tuple()
    return -exponent if len(digits) <= 12 and isinstance(exponent, int) and -22 <= exponent < 0 else None


def _thin(targets: FloatArray, most: int, *, down: bool = False) -> FloatArray:
    """At most ``most`` targets, evenly over the range, both ends kept; places rounded, or rounded ``down``."""
    if targets.size <= most:
        return targets
    places = np.linspace(0, targets.size - 1, most)
    return targets[np.unique((places if down else places.round()).astype(np.intp))]
