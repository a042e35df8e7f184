"""Where a model's answer can turn as one number changes: between these places a tree ensemble tells no value apart.

Thresholds are pushed back through the user's own transformers to the numbers that people give, one column at a time:
by bisection over the numbers themselves, so that the two values of a turn are neighbours and rounding in the
transformers, or comparison in single precision, is part of what is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.models.encoder import Encoder, Steps
from armin.models.encoding import ReadClassifier
from armin.models.joint import JointEncoder
from armin.models.kinds import Above, LinearModel, Model, ScoreMixture, TreeEnsemble
from armin.schema import Feature, Schema

__all__ = ["Turns", "find_turns", "helpful", "leaves_of"]

POINTS = 129
"""Values of a column at which a transformer is asked whether it rises or falls."""

RISING = {
    "StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "PowerTransformer", "QuantileTransformer",
    "SimpleImputer", "KNNImputer", "IterativeImputer", "Binarizer", "OrdinalEncoder", "OneHotEncoder",
    "BlankOneHotEncoder", "MissingIndicator", "TargetEncoder", "SquashingScaler",
}  # fmt: skip
"""Transformers that never turn back, or look at categories, which is asked about value by value."""

FUNCTIONS = {"log", "log1p", "log2", "log10", "sqrt", "cbrt", "exp", "expm1"}
"""Functions of NumPy that never turn back."""

Level = Callable[[FloatArray], IntArray]
"""How many thresholds an input (n,) has passed."""


class Turns(NamedTuple):
    """Neighbouring values of one number that the model may tell apart.

    Attributes
    ----------
    below, above : arrays of shape (B,), rising: the last value before each turn, and the first one after it
    """

    below: FloatArray
    above: FloatArray


def find_turns(read: ReadClassifier, schema: Schema, row: FloatArray) -> dict[int, Turns]:
    """The turns of each number that may change, by position; a number is left out if they cannot be known.

    Parameters
    ----------
    read : the model
    schema : the columns
    row : codes (D,) of any complete row
    """
    steps = _steps(read)
    if steps is None or not isinstance(read.model, TreeEnsemble | ScoreMixture):
        return {}
    wanted: dict[int, list[tuple[int, Level]]] = {}
    for p in _numbers(read, schema):
        levels = [(int(column), _level(read, int(column))) for column in np.flatnonzero(read.owners == p)]
        if all(level is not None for _, level in levels):
            wanted[p] = [(column, level) for column, level in levels if level is not None]
    sense = _senses(steps, schema, row, {p: [column for column, _ in levels] for p, levels in wanted.items()})
    wanted = {p: levels for p, levels in wanted.items() if p in sense}
    found = _bisected(schema, row, steps, wanted, sense)
    return {p: found.get(p, Turns(np.zeros(0), np.zeros(0))) for p in wanted}


def helpful(read: ReadClassifier, schema: Schema, row: FloatArray) -> dict[int, int]:
    """For a linear score, whether each number helps where it rises (1), falls (-1) or never (0); unknown ones left out.

    Parameters
    ----------
    read, schema, row : as in :func:`find_turns`
    """
    steps, model = _steps(read), read.model
    if steps is None or not isinstance(model, LinearModel) or not isinstance(model.decision, Above):
        return {}
    columns = {p: np.flatnonzero(read.owners == p).tolist() for p in _numbers(read, schema)}
    found = {}
    for p, senses in _senses(steps, schema, row, columns).items():
        signs = {int(np.sign(model.weights[0, c])) * sense for c, sense in senses.items()} - {0}
        if len(signs) < 2:
            found[p] = next(iter(signs), 0)
    return found


def leaves_of(model: Model) -> int:
    """How many leaves the trees of a model have."""
    if isinstance(model, TreeEnsemble):
        return int(np.count_nonzero(model.feature < 0))
    return sum(leaves_of(term.model) for term in model.terms) if isinstance(model, ScoreMixture) else 0


def _steps(read: ReadClassifier) -> Steps | None:
    """The user's own transformers, if none of them turns back."""
    encoder = read.encode.alone if isinstance(read.encode, JointEncoder) else read.encode
    if not isinstance(encoder, Encoder) or not all(map(_never_turns, _leaves(encoder.encode.steps))):
        return None
    return encoder.encode


def _leaves(steps: Any) -> Iterator[Any]:
    for step in steps:
        for name in ("steps", "transformers_", "transformer_list"):
            parts = getattr(step, name, None)
            if parts is not None:
                yield from _leaves([part[1] for part in parts])
                break
        else:
            if step is not None and not isinstance(step, str):
                yield step


def _never_turns(step: Any) -> bool:
    name = type(step).__name__
    if name == "FunctionTransformer":
        return step.func is None or (isinstance(step.func, np.ufunc) and step.func.__name__ in FUNCTIONS)
    return name in RISING or (name == "KBinsDiscretizer" and step.encode == "ordinal")


def _numbers(read: ReadClassifier, schema: Schema) -> list[int]:
    """Numbers that may change and share no input with another column."""
    shared = {p for one in read.joint for p in one.positions}
    return [p for p, f in enumerate(schema.features) if f.is_number and f.actionable and p not in shared]


def _level(read: ReadClassifier, column: int) -> Level | None:
    """How many thresholds an input has passed; None where the model does not compare it with thresholds only."""
    parts: list[tuple[TreeEnsemble, FloatArray]] = []
    if isinstance(read.model, TreeEnsemble):
        members: list[tuple[Any, int]] = [(read.model, column)]
    else:
        assert isinstance(read.model, ScoreMixture)  # noqa: S101  nobody else asks
        members = []
        for term in read.model.terms:
            place = [column] if term.columns is None else np.flatnonzero(term.columns == column).tolist()
            members += [(term.model, int(i)) for i in place]
    for model, i in members:
        if isinstance(model, LinearModel):
            if model.weights[:, i].any():
                return None
            continue
        nodes = np.flatnonzero(model.feature == i)
        if model.category_set is not None and bool(np.any(model.category_set[nodes] >= 0)):
            return None
        parts.append((model, np.unique(model.threshold[nodes])))

    def level(values: FloatArray) -> IntArray:
        total: IntArray = np.zeros(values.shape, dtype=np.intp)
        for model, cuts in parts:
            total = total + np.searchsorted(cuts, model.seen(values), side="right" if model.strict else "left")
        return total

    return level


def _senses(
    steps: Steps, schema: Schema, row: FloatArray, columns: Mapping[int, list[int]]
) -> dict[int, dict[int, int]]:
    """For each number, whether its inputs rise (1), fall (-1) or stay (0) with it; left out where one turns back."""
    known = [c for step in _leaves(steps.steps) for c in getattr(step, "categories_", [])]
    special = np.concatenate([np.zeros(0), *(np.asarray(c, dtype=np.float64) for c in known if c.dtype.kind in "iuf")])
    special = special[np.isfinite(special)]
    points = {}
    for p in columns:
        feature = schema.features[p]
        low, high = feature.low_code, feature.high_code
        values = np.concatenate([np.linspace(low, high, POINTS), special[(special > low) & (special < high)]])
        points[p] = np.unique(np.rint(values) + 0.0 if feature.kind == "integer" else values)
    if not points:
        return {}
    rows = np.repeat(row[None, :], max(values.size for values in points.values()), axis=0)
    for p, values in points.items():
        rows[:, p] = values[-1]
        rows[: values.size, p] = values
    inputs, found = steps(rows), {}
    for p, values in points.items():
        change = np.diff(inputs[: values.size][:, columns[p]], axis=0)
        if np.isfinite(inputs[: values.size][:, columns[p]]).all() and (
            ((change >= 0).all(axis=0) | (change <= 0).all(axis=0)).all()
        ):
            found[p] = {c: int(np.sign(change[:, i].sum())) for i, c in enumerate(columns[p])}
    return found


def _bisected(
    schema: Schema,
    row: FloatArray,
    steps: Steps,
    wanted: Mapping[int, list[tuple[int, Level]]],
    senses: Mapping[int, Mapping[int, int]],
) -> dict[int, Turns]:
    """All turns at once: each row holds one trial value of every number."""
    ends = np.repeat(row[None, :], 2, axis=0)
    for p in wanted:
        ends[:, p] = schema.features[p].low_code, schema.features[p].high_code
    inputs = steps(ends) if wanted else ends
    parts = []  # of each input: position, column, level, sense, the levels to be reached
    for p, levels in wanted.items():
        for column, level in levels:
            first, last = level(inputs[:, column]).tolist()
            if first != last:
                parts.append(
                    (p, column, level, senses[p][column] > 0, np.arange(min(first, last), max(first, last)) + 1)
                )
    place, size = [], dict.fromkeys(wanted, 0)
    for p, *_, aims in parts:
        place.append(slice(size[p], size[p] + aims.size))
        size[p] += aims.size
    if not parts:
        return {}
    low = {p: _keys(schema.features[p], np.full(n, schema.features[p].low_code)) for p, n in size.items()}
    high = {p: _keys(schema.features[p], np.full(n, schema.features[p].high_code)) for p, n in size.items()}
    rows = np.repeat(row[None, :], max(size.values()), axis=0)
    while any((high[p] - 1 > low[p]).any() for p in size):
        middle = {p: (low[p] >> 1) + (high[p] >> 1) + (low[p] & high[p] & 1) for p in size}
        for p, keys in middle.items():
            rows[: keys.size, p] = _values(schema.features[p], keys)
        inputs = steps(rows)
        for (p, column, level, rises, aims), where in zip(parts, place, strict=True):
            passed: BoolArray = (level(inputs[where, column]) >= aims) == rises
            keys, stays = middle[p][where], ~passed
            high[p][where] = np.where(passed, keys, high[p][where])
            low[p][where] = np.where(stays, keys, low[p][where])
    found = {}
    for p in size:
        above, first = np.unique(_values(schema.features[p], high[p]), return_index=True)
        found[p] = Turns(_values(schema.features[p], low[p])[first], above)
    return found


def _keys(feature: Feature, values: FloatArray) -> NDArray[np.int64]:
    """Whole numbers in the order of the values, neighbours for neighbours."""
    if feature.kind == "integer":
        return np.asarray(values, dtype=np.int64)
    bits = np.ascontiguousarray(values + 0.0).view(np.int64)
    return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)


def _values(feature: Feature, keys: NDArray[np.int64]) -> FloatArray:
    """The values behind :func:`_keys`."""
    if feature.kind == "integer":
        return keys.astype(np.float64)
    return np.where(keys < 0, np.iinfo(np.int64).min - keys, keys).view(np.float64) + 0.0
