"""Weighted sums of numbers: what is borrowed and what it is for, what is owed each month and what comes in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from armin.arrays import BoolArray, FloatArray
from armin.errors import SchemaError
from armin.schema.rules.base import OptionsOf, Rule
from armin.words import Message

if TYPE_CHECKING:
    from armin.schema.table import Schema

__all__ = ["Linear"]

ROUNDING = 1e-9
"""Share of each part that is taken for rounding: 0.1 * 3 is not more than 0.3."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d][\w.]*|`[^`]+`)|(?P<sign>[-+*/]))"
)
_SIGNS = ("+", "-", "*", "/")
_FORM = (
    "It must compare sums of numbers and columns by <= or >=, such as 'Rent + Loan <= 0.4 * Income'; "
    "a name with spaces stands in `backticks`."
)

Side = tuple[tuple[float, str], ...]
"""A sum: factors and the columns they belong to; a plain number belongs to the column ''."""


@dataclass(frozen=True)
class Linear(Rule, alias="linear"):
    """A sum of columns must be at most, or at least, another one.

    Parameters
    ----------
    text : the rule, such as ``"Rent + Loan <= 0.4 * Income"``

    Examples
    --------
    >>> Linear("Amount <= 0.8 * Price").features
    ('Amount', 'Price')
    """

    text: str

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(self.factors)

    @property
    def factors(self) -> dict[str, float]:
        """The factor of each column, once all columns stand on the left of "at most"."""
        return _parse(self.text)[2]

    @property
    def most(self) -> float:
        """What the sum on the left may be at most."""
        return _parse(self.text)[3]

    def check(self, schema: Schema) -> None:
        """Refuse what is not a comparison of the schema's numbers."""
        if not self.features:
            raise SchemaError(f"The linear rule {self.text!r} says nothing about any column. {_FORM}")
        for name in self.features:
            if not schema[name].is_number:
                raise SchemaError(f"The linear rule {self.text!r} adds up numbers. {name!r} is {schema[name].kind}.")

    def message(self, schema: Schema) -> Message:
        """The rule, to be said."""
        left, relation, *_ = _parse(self.text)
        first, second = left
        return Message(f"rules.sum_{relation}", left=_said(first, schema), right=_said(second, schema))

    def allows(self, schema: Schema, before: FloatArray, after: FloatArray) -> BoolArray:
        """Which candidates are not led into breaking the rule."""
        return self.fits(schema, after) | ~self.fits(schema, before)

    def fits(self, schema: Schema, codes: FloatArray) -> BoolArray:
        """Which rows, as they stand, do not contradict the rule."""
        parts = [self.part(name, codes[:, schema.position(name)]) for name in self.features]
        return np.asarray(np.sum(parts, axis=0) <= self.limit)

    @property
    def limit(self) -> float:
        """What the parts may add up to, rounding included."""
        return self.most + ROUNDING * abs(self.most)

    def part(self, name: str, codes: FloatArray) -> FloatArray:
        """What values of a column add to the sum, less what may be rounding."""
        part = self.factors[name] * codes
        return np.asarray(part - ROUNDING * np.abs(part))

    def pairs(self) -> list[Linear]:
        """Itself: where more than two of its features can move, a problem holds it as a sum."""
        return [self]

    def table(self, schema: Schema, first: OptionsOf, second: OptionsOf, candidates: FloatArray) -> BoolArray:
        """Which options it allows together, if its other features stay as they are."""
        total: FloatArray = np.zeros((1, 1, 1))
        for name in self.features:
            position = schema.position(name)
            if position == first.position:
                total = total + self.part(name, first.values)[:, :, None]
            elif position == second.position:
                total = total + self.part(name, second.values)[:, None, :]
            else:
                total = total + self.part(name, candidates[:, position])[:, None, None]
        shape = (total.shape[0], first.values.shape[1], second.values.shape[1])
        fine = np.broadcast_to(total <= self.limit, shape)
        return np.asarray((fine | ~fine[:, :1, :1]).all(axis=0))


@lru_cache(maxsize=256)
def _parse(text: str) -> tuple[tuple[Side, Side], str, dict[str, float], float]:
    """Both sides as written, "at_most" or "at_least", and the factors and the limit of "factors <= limit"."""
    sides = re.split(r"<=|>=|≤|≥", text) if isinstance(text, str) else []
    if len(sides) != 2:
        raise SchemaError(f"The linear rule {text!r} cannot be read. {_FORM}")
    left, right = (_side(side, text) for side in sides)
    relation = "at_most" if re.search("<=|≤", text) else "at_least"
    sign = 1.0 if relation == "at_most" else -1.0
    factors: dict[str, float] = {}
    most = 0.0
    for side, way in ((left, sign), (right, -sign)):
        for factor, name in side:
            if name:
                factors[name] = factors.get(name, 0.0) + way * factor
            else:
                most -= way * factor
    return (left, right), relation, {name: factor for name, factor in factors.items() if factor != 0.0}, most


def _side(side: str, text: str) -> Side:
    """The parts of a sum: numbers and columns between signs."""
    tokens = _tokens(side, text)
    parts: list[tuple[float, str]] = []
    at = 0
    while at < len(tokens):
        sign = 1.0
        while at < len(tokens) and tokens[at] in ("+", "-"):
            sign = -sign if tokens[at] == "-" else sign
            at += 1
        factor, name, at = _product(tokens, at, text)
        parts.append((sign * factor, name))
        if at < len(tokens) and tokens[at] not in ("+", "-"):
            raise SchemaError(f"The linear rule {text!r} lacks a sign before {tokens[at]!r}. {_FORM}")
    if not parts:
        raise SchemaError(f"The linear rule {text!r} lacks a side. {_FORM}")
    return tuple(parts)


def _product(tokens: list[str | float], at: int, text: str) -> tuple[float, str, int]:
    """A number, a column, or the product of both; and the place behind it."""
    factor, name, operator = 1.0, "", "*"
    while True:
        token = tokens[at] if at < len(tokens) else None
        if isinstance(token, float) and (operator == "*" or token != 0.0):
            factor = factor * token if operator == "*" else factor / token
        elif isinstance(token, str) and token not in _SIGNS and operator == "*" and not name:
            name = token.strip("`")
        else:
            raise SchemaError(f"The linear rule {text!r} cannot be read at {token or 'its end'!r}. {_FORM}")
        at += 1
        if at >= len(tokens) or tokens[at] not in ("*", "/"):
            return factor, name, at
        operator = str(tokens[at])
        at += 1


def _tokens(side: str, text: str) -> list[str | float]:
    tokens: list[str | float] = []
    at, side = 0, side.rstrip()
    while at < len(side):
        found = _TOKEN.match(side, at)
        if found is None:
            raise SchemaError(f"The linear rule {text!r} cannot be read at {side[at:].strip()!r}. {_FORM}")
        number = found["number"]
        tokens.append(float(number.replace("_", "")) if number else found["name"] or found["sign"])
        at = found.end()
    return tokens


def _said(side: Side, schema: Schema) -> Message | float:
    """A sum, to be said."""
    whole: Message | float | None = None
    for factor, name in side:
        size = abs(factor) if whole is not None else factor
        part: Message | float = size
        if name:
            label = schema[name].named
            part = (
                Message("rules.column", label=label)
                if size == 1.0
                else Message("rules.times", factor=size, label=label)
            )
        code = "rules.plus" if factor >= 0 else "rules.minus"
        whole = part if whole is None else Message(code, left=whole, right=part)
    assert whole is not None  # noqa: S101  a side has a part
    return whole
