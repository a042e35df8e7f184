"""One column of a person's row: what it holds, how it may move, how people say it."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from armin.errors import DataError, SchemaError

__all__ = ["Blank", "Direction", "Feature", "Kind", "Value", "is_blank"]

Kind = Literal["continuous", "integer", "binary", "categorical", "ordinal"]
Direction = Literal["any", "increase", "decrease", "fixed"]
Blank = Literal["shift", "reach", "freeze"]
Value = str | int | float | bool

KINDS: tuple[Kind, ...] = ("continuous", "integer", "binary", "categorical", "ordinal")
DIRECTIONS: tuple[Direction, ...] = ("any", "increase", "decrease", "fixed")
BLANKS: tuple[Blank, ...] = ("shift", "reach", "freeze")
_PREFIX_UNITS = ("$", "€", "£", "¥")


def is_blank(value: object) -> bool:
    """Whether a value is a blank: NaN, None, ``pd.NA``, ``NaT`` or an empty text.

    >>> [is_blank(v) for v in (None, float("nan"), pd.NA, "", "  ", 0, "no")]
    [True, True, True, True, True, False, False]
    """
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    if isinstance(value, str):
        return not value.strip()
    return isinstance(value, float | np.floating) and math.isnan(value)


@dataclass(frozen=True)
class Feature:
    """A raw column, as a person knows it.

    Inside the library every value is a number, its *code*: a number is its own code, a category
    is its position in ``categories``, and NaN is a blank.

    Attributes
    ----------
    name : the column's name
    kind : "continuous", "integer", "binary", "categorical" or "ordinal"
    lower, upper : bounds of a number
    categories : the values of a binary, categorical or ordinal feature; in order for an ordinal one
    direction : "any", "increase", "decrease" or "fixed"
    step : the grid on which a number moves; None lets ARMIN choose round numbers
    blank : how a blank may be acted on, see :attr:`blank_mode`
    label, unit, format : how people say it; ``format`` is a format string such as ``"{:,.0f} km"``
    difficulty : the cost of changing this feature is multiplied by this

    Examples
    --------
    >>> income = Feature("income", "integer", lower=0, upper=250_000, unit="$")
    >>> income.show(34500)
    '$34,500'
    >>> purpose = Feature("purpose", "categorical", categories=("car", "home"))
    >>> purpose.code("home"), purpose.value(0.0), purpose.blank_mode
    (1.0, 'car', 'reach')
    """

    name: str
    kind: Kind
    lower: float | None = None
    upper: float | None = None
    categories: tuple[Value, ...] = ()
    direction: Direction = "any"
    step: float | None = None
    blank: Blank | None = None
    label: str = ""
    unit: str = ""
    format: str = ""
    difficulty: float = 1.0
    _codes: dict[Hashable, int] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        _check(self)
        object.__setattr__(self, "_codes", {value: i for i, value in enumerate(self.categories)})

    @property
    def is_number(self) -> bool:
        """Whether the feature is a quantity rather than one of a list of values."""
        return self.kind in ("continuous", "integer")

    @property
    def is_ordered(self) -> bool:
        """Whether up and down mean something."""
        return self.kind != "categorical"

    @property
    def actionable(self) -> bool:
        """Whether the feature may be changed at all."""
        return self.direction != "fixed"

    @property
    def title(self) -> str:
        """The label, or the name if there is none."""
        return self.label or self.name

    @property
    def blank_mode(self) -> Blank:
        """How a blank is acted on: "shift" (by an amount), "reach" (a target) or "freeze"."""
        if not self.actionable:
            return "freeze"
        return self.blank or ("shift" if self.is_number else "reach")

    @property
    def low_code(self) -> float:
        """The smallest legal code."""
        return float(self.lower) if self.is_number and self.lower is not None else 0.0

    @property
    def high_code(self) -> float:
        """The largest legal code."""
        return float(self.upper) if self.is_number and self.upper is not None else float(len(self.categories) - 1)

    def code(self, value: object) -> float:
        """The code of one value; NaN for a blank.

        Raises
        ------
        DataError
            If the value is not legal; the message names the feature, the rule and the value.
        """
        if is_blank(value):
            return math.nan
        if self.is_number:
            return self._number(value)
        found = self._codes.get(value) if isinstance(value, Hashable) else None
        if found is None and isinstance(value, str):
            found = self._codes.get(_as_number(value))
        if found is None:
            raise DataError(
                f"Column {self.name!r} must be one of {_short(self.categories)}, or blank. Got {value!r} instead. "
                "Correct the value, or add the category to the schema."
            )
        return float(found)

    def _number(self, value: object) -> float:
        number = _as_number(value)
        if number is None:
            raise DataError(f"Column {self.name!r} must be a number, or blank. Got {value!r} instead.")
        if not math.isfinite(number):
            raise DataError(f"Column {self.name!r} must be finite, or blank. Got {value!r} instead.")
        if self.kind == "integer" and number != round(number):
            raise DataError(
                f"Column {self.name!r} must be a whole number, or blank. Got {value!r} instead. "
                "If fractions are meant, declare the column as 'continuous'."
            )
        slack = 1e-12 * max(1.0, abs(number))
        if not self.low_code - slack <= number <= self.high_code + slack:
            raise DataError(
                f"Column {self.name!r} must be in [{self.lower:g}, {self.upper:g}], or blank. Got {value!r} instead. "
                f"Correct the value, or widen the schema: schema.update(bounds={{{self.name!r}: (low, high)}})."
            )
        return number

    def value(self, code: float) -> Value | None:
        """The value behind a code; None for NaN."""
        if math.isnan(code):
            return None
        if self.kind == "integer":
            return round(code)
        return float(code) if self.is_number else self.categories[round(code)]

    def codes(self, column: pd.Series[object], *, clip: bool = False) -> NDArray[np.float64]:
        """The codes of a whole column, NaN for blanks; numbers out of bounds are refused, or clipped on request."""
        if clip and self.is_number:
            column = pd.to_numeric(column.where(~column.map(is_blank).astype(bool)))
            column = column.clip(self.lower, self.upper)
        if self.is_number and pd.api.types.is_numeric_dtype(column.dtype):
            numbers: NDArray[np.float64] = column.to_numpy(dtype=np.float64, na_value=np.nan)
            good = np.isnan(numbers)
            with np.errstate(invalid="ignore"):
                good |= (numbers >= self.low_code) & (numbers <= self.high_code)
                if self.kind == "integer":
                    good &= np.isnan(numbers) | (numbers == np.round(numbers))
            if good.all():
                return numbers
        seen: dict[object, float] = {}
        out = np.empty(len(column))
        for i, value in enumerate(column.tolist()):
            key = (type(value), value)
            known = seen.get(key) if isinstance(value, Hashable) else None
            if known is None:
                known = self.code(value)
                seen[key] = known
            out[i] = known
        return out

    def show(self, value: Value | None) -> str:
        """A value as people say it, with its unit."""
        if value is None:
            return "not given"
        if not self.is_number:
            return self.format.format(value) if self.format else str(value)
        if self.format:
            return self.format.format(value)
        return self._with_unit(_plain(float(value), self.step))

    def show_amount(self, amount: float) -> str:
        """An amount of change, without sign, as people say it."""
        if self.format:
            return self.format.format(abs(amount))
        return self._with_unit(_plain(abs(amount), self.step))

    def _with_unit(self, text: str) -> str:
        if not self.unit:
            return text
        if self.unit in _PREFIX_UNITS:
            return f"-{self.unit}{text[1:]}" if text.startswith("-") else f"{self.unit}{text}"
        return f"{text} {self.unit}"


def _as_number(value: object) -> float | None:
    if isinstance(value, bool | np.bool_):
        return float(value)
    if isinstance(value, str | int | float | np.integer | np.floating):
        try:
            return float(value)
        except ValueError:
            return None
    return None


def _plain(number: float, step: float | None) -> str:
    """Thousands separated, no more decimals than the number needs."""
    if step is not None and step > 0:
        decimals = max(0, -math.floor(math.log10(step) + 1e-9)) if step < 1 else 0
        if abs(number - round(number, decimals)) < 1e-9 * max(1.0, abs(number)):
            return f"{number:,.{decimals}f}"
    if number == round(number):
        return f"{number:,.0f}"
    digits = max(0, 6 - 1 - math.floor(math.log10(abs(number))))
    text = f"{number:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _short(values: tuple[Value, ...], most: int = 8) -> str:
    shown = ", ".join(repr(v) for v in values[:most])
    return shown if len(values) <= most else f"{shown}, ... ({len(values)} in all)"


def _check(feature: Feature) -> None:
    name = feature.name
    if feature.kind not in KINDS:
        raise SchemaError(f"The kind of {name!r} must be one of {', '.join(KINDS)}. Got {feature.kind!r} instead.")
    if feature.direction not in DIRECTIONS:
        raise SchemaError(
            f"The direction of {name!r} must be one of {', '.join(DIRECTIONS)}. Got {feature.direction!r} instead."
        )
    if feature.blank is not None and feature.blank not in BLANKS:
        raise SchemaError(f"The blank mode of {name!r} must be one of {', '.join(BLANKS)}. Got {feature.blank!r}.")
    if not (math.isfinite(feature.difficulty) and feature.difficulty >= 0):
        raise SchemaError(f"The difficulty of {name!r} must be a number of at least 0. Got {feature.difficulty!r}.")
    if feature.is_number:
        _check_number(feature)
    else:
        _check_categories(feature)


def _check_number(feature: Feature) -> None:
    name, low, high = feature.name, feature.lower, feature.upper
    if feature.categories:
        raise SchemaError(f"{name!r} is {feature.kind}, so it has bounds, not categories.")
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        raise SchemaError(f"{name!r} is {feature.kind} and needs finite bounds. Got ({low}, {high}).")
    if low > high or (low == high and feature.actionable):
        raise SchemaError(
            f"The bounds of {name!r} must satisfy lower < upper. Got ({low:g}, {high:g}). "
            "A column that is constant can only be listed as immutable."
        )
    if feature.step is not None and not (math.isfinite(feature.step) and feature.step > 0):
        raise SchemaError(f"The step of {name!r} must be positive. Got {feature.step!r}.")
    if feature.kind == "integer":
        for what, number in (("bounds", low), ("bounds", high), ("step", feature.step)):
            if number is not None and number != round(number):
                raise SchemaError(f"{name!r} is integer, so its {what} must be whole. Got {number:g}.")


def _check_categories(feature: Feature) -> None:
    name, n = feature.name, len(feature.categories)
    if feature.lower is not None or feature.upper is not None or feature.step is not None:
        raise SchemaError(f"{name!r} is {feature.kind}, so it has categories, not bounds or a step.")
    if len(set(feature.categories)) != n or any(is_blank(c) for c in feature.categories):
        raise SchemaError(f"The categories of {name!r} must be different and not blank. Got {feature.categories!r}.")
    if feature.kind == "binary" and n != 2:
        raise SchemaError(
            f"{name!r} is binary and needs exactly two categories. Got {n}: {_short(feature.categories)}."
        )
    if n == 0 or (n == 1 and feature.actionable):
        raise SchemaError(
            f"{name!r} needs at least two categories. Got {n}. A column that is constant can only be immutable."
        )
    if feature.kind == "categorical" and feature.direction in ("increase", "decrease"):
        raise SchemaError(
            f"{name!r} has no order, so it cannot be '{feature.direction}'. Declare it as ordinal, or leave it free."
        )
    if feature.kind == "categorical" and feature.blank == "shift":
        raise SchemaError(f"{name!r} has no order, so a blank cannot be shifted. Use 'reach' or 'freeze'.")
