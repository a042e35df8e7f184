"""Which raw columns stand behind an output of steps that say nothing about it, found by asking them.

Rows are drawn from the schema's own ranges. One column after the other is changed in each of them, to a value of
another row; an output that changes anywhere depends on that column. Then, on other rows, everything else is changed at
once: an output that still changes depends on more than was found, and the steps are asked again with more rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from armin.arrays import BoolArray, FloatArray
from armin.errors import ModelError, RefusedError
from armin.models.tracing import Trace, UntraceableError
from armin.schema import Feature, Schema

__all__ = ["comparable", "draw_codes", "probe_dependencies"]

ROWS = 96
"""Rows in each of which every column is changed."""

HELD_OUT = 512
"""Rows by which what was found is verified."""

ROUNDS = 3
"""How often more rows are asked about."""


def comparable(rows: Any) -> FloatArray:
    """Whatever a step returns as numbers that are equal where its entries are; texts are numbered as they come.

    >>> comparable(pd.DataFrame({"a": [2, 1], "b": ["x", None]}))
    array([[ 2.,  0.],
           [ 1., nan]])
    """
    if hasattr(rows, "toarray"):
        rows = rows.toarray()
    frame = pd.DataFrame(rows)
    columns = []
    for i in range(frame.shape[1]):
        column = frame.iloc[:, i]
        if pd.api.types.is_numeric_dtype(column.dtype):
            columns.append(column.to_numpy(dtype=np.float64, na_value=np.nan))
        else:
            codes = pd.factorize(column)[0].astype(np.float64)
            columns.append(np.where(codes < 0, np.nan, codes))
    return np.column_stack([np.zeros((frame.shape[0], 0)), *columns])


def draw_codes(schema: Schema, n: int, rng: np.random.Generator, blanks: float = 0.0) -> FloatArray:
    """Random codes (n, D) over the whole range of every feature: its ends, and small values as often as large ones.

    >>> from armin.schema import Feature
    >>> draw_codes(Schema((Feature("a", "binary", categories=(False, True)),)), 4, np.random.default_rng(0)).shape
    (4, 1)
    """
    codes = np.column_stack([_draw(feature, n, rng) for feature in schema])
    codes[rng.random(codes.shape) < blanks] = np.nan
    return codes


def _draw(feature: Feature, n: int, rng: np.random.Generator) -> FloatArray:
    low, high = feature.low_code, feature.high_code
    if not feature.is_number:
        return rng.integers(int(low), int(high) + 1, n).astype(np.float64)
    share = rng.random(n)
    small = rng.random(n) < 0.5
    share[small] = share[small] ** 4
    share[rng.random(n) < 0.05] = 0.0
    share[rng.random(n) < 0.05] = 1.0
    values = low + share * (high - low)
    return np.clip(np.rint(values), low, high) if feature.kind == "integer" else values


def probe_dependencies(schema: Schema, steps: Callable[[FloatArray], FloatArray], name: str, seed: int = 0) -> Trace:
    """The schema positions behind each output (n, P) of ``steps`` on codes (n, D).

    Raises
    ------
    ModelError
        If the steps do not take rows from the schema's ranges, or the answers do not agree with each other.

    Examples
    --------
    >>> from armin.schema import Feature
    >>> schema = Schema(tuple(Feature(name, "continuous", lower=1, upper=9) for name in "abc"))
    >>> probe_dependencies(schema, lambda x: np.column_stack([x[:, 0] / x[:, 2], x[:, 1], np.ones(len(x))]), "a step")
    [frozenset({0, 2}), 1, None]
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # a ratio may be asked about 0 / 0
        return _asked(schema, steps, name, np.random.default_rng(seed))


def _asked(schema: Schema, steps: Callable[[FloatArray], FloatArray], name: str, rng: np.random.Generator) -> Trace:
    blanks = 0.1 if _takes(schema, steps, rng) else 0.0
    depends: BoolArray | None = None
    for attempt in range(ROUNDS):
        more = _changed_by_one(schema, steps, rng, ROWS * 4**attempt, blanks)
        depends = more if depends is None else depends | more
        if _determined(schema, steps, rng, depends, blanks):
            return [frozenset(np.flatnonzero(row).tolist()) if row.sum() > 1 else _only(row) for row in depends]
    raise UntraceableError(
        f"Which columns stand behind the outputs of {name} could not be found by asking it: the answers contradict "
        "each other. Say so with armin.models.register_transformer(cls, tracer), or use "
        "ExpertOptions(method='blackbox')."
    )


def _only(row: BoolArray) -> int | None:
    return int(np.flatnonzero(row)[0]) if row.any() else None


def _takes(schema: Schema, steps: Callable[[FloatArray], FloatArray], rng: np.random.Generator) -> bool:
    """Whether the steps take blanks; raises if they do not even take rows without."""
    rows = draw_codes(schema, 8, rng)
    try:
        steps(rows)
    except ModelError:
        raise
    except Exception as error:  # whatever a user's step raises
        raise UntraceableError(
            f"A step refused rows from the schema's ranges ({RefusedError.of(error).short[:-1]}), so "
            "that it cannot be asked what its outputs depend on. Narrow the schema's bounds, or use "
            "ExpertOptions(method='blackbox')."
        ) from error
    try:
        steps(draw_codes(schema, 64, rng, blanks=0.1))
    except Exception:  # whatever a user's step raises where it meets a blank
        return False
    return True


def _differs(one: FloatArray, other: FloatArray) -> BoolArray:
    return np.asarray((one != other) & ~(np.isnan(one) & np.isnan(other)))


def _changed_by_one(
    schema: Schema, steps: Callable[[FloatArray], FloatArray], rng: np.random.Generator, n: int, blanks: float
) -> BoolArray:
    """Whether each output (P, D) changed in some row when one column did."""
    rows, others = (draw_codes(schema, n, rng, blanks) for _ in range(2))
    width = len(schema)
    asked = np.repeat(rows[None], width + 1, axis=0)
    for d in range(width):
        asked[d + 1, :, d] = others[:, d]
    outputs = steps(asked.reshape(-1, width)).reshape(width + 1, n, -1)
    return np.asarray(_differs(outputs[1:], outputs[:1]).any(axis=1).T)


def _determined(
    schema: Schema,
    steps: Callable[[FloatArray], FloatArray],
    rng: np.random.Generator,
    depends: BoolArray,
    blanks: float,
) -> bool:
    """Whether outputs stay as they are when all columns change but those that they are said to depend on."""
    sets, which = np.unique(depends, axis=0, return_inverse=True)
    rows, others = (draw_codes(schema, HELD_OUT, rng, blanks) for _ in range(2))
    asked = np.concatenate([rows, *(np.where(keep, rows, others) for keep in sets)])
    outputs = steps(asked).reshape(1 + sets.shape[0], HELD_OUT, -1)
    for s in range(sets.shape[0]):
        mine = which.ravel() == s
        if _differs(outputs[s + 1][:, mine], outputs[0][:, mine]).any():
            return False
    return True
