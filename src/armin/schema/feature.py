"""One column of a person's row: what it holds, how it may move, how people say it."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from armin.errors import DataError
from armin.schema.checks import check_feature, short_list
from armin.schema.shown import Shown
from armin.schema.values import PartlyBlank, Value, as_number, interval, is_blank, scalar
from armin.words import Message, Name, Quantity, catalogue

__all__ = ["Blank", "Direction", "Feature", "Kind"]

Kind = Literal["continuous", "integer", "binary", "categorical", "ordinal", "carried"]
Direction = Literal["any", "increase", "decrease", "fixed"]
Blank = Literal["shift", "reach", "freeze"]


@dataclass(frozen=True)
class Feature:
    """A raw column, as a person knows it.

    Inside the library every value is a number, its *code*: a number is its own code, a category
    is its position in ``categories``, and NaN is a blank.

    Attributes
    ----------
    name : the column's name
    kind : "continuous", "integer", "binary", "categorical" or "ordinal"; or "carried" for a column that is passed to
        the model as the row has it, is never advised on, and may be left out of a row
    lower, upper : bounds of a number: what data has shown, and between which advice stays
    categories : the values of a binary, categorical or ordinal feature; in order for an ordinal one
    direction : "any", "increase", "decrease" or "fixed"
    step : the grid on which a number moves; None lets ARMIN choose round numbers
    blank : how a blank may be acted on, see :attr:`blank_mode`
    label, unit, format : how people say it; a unit may name one and many (``"month|months"``), ``format`` is a format
        string such as ``"{:,.0f} km"``
    difficulty : the cost of changing this feature is multiplied by this
    protected : whether it is a trait that advice must not touch, such as sex or age; it is then fixed
    reason : the company's own code for this feature as a reason, such as "R07"
    shown : how a form shows it, see :class:`Shown`
    columns : for a one-hot group, the columns of 0 and 1 that stand for its categories; the last category may have
        none, which is then meant where all are 0
    sentinels : values that stand for a blank, such as -9 or "?"; a blank is the first of them to the model
    formula : for a derived column, what it is made of; it is then fixed, and worked out whenever its parts are known
    limits : what a number can be at all, at least as wide as the bounds, which it is if left out; a value beyond the
        bounds is taken as it is, and the answer says that the model has seen nobody like that

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
    protected: bool = False
    reason: str = ""
    shown: Shown = field(default_factory=Shown)
    limits: tuple[float, float] | None = None
    columns: tuple[str, ...] = ()
    formula: str = ""
    sentinels: tuple[Value, ...] = ()
    _codes: dict[Hashable, int] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", tuple(scalar(value) for value in self.categories))
        limits = None if self.limits is None else tuple(self.limits)
        object.__setattr__(self, "limits", None if limits == (self.lower, self.upper) else limits)  # one way to say it
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "sentinels", tuple(scalar(value) for value in self.sentinels))
        if self.direction == "any" and (self.kind == "carried" or self.protected or self.formula):
            object.__setattr__(self, "direction", "fixed")
        check_feature(self)
        known: dict[Hashable, int] = {v.strip(): i for i, v in enumerate(self.categories) if isinstance(v, str)}
        # a space at the end of a category is no other category, unless both are there
        object.__setattr__(self, "_codes", known | {value: i for i, value in enumerate(self.categories)})

    @property
    def is_number(self) -> bool:
        """Whether the feature is a quantity rather than one of a list of values."""
        return self.kind in ("continuous", "integer")

    @property
    def is_carried(self) -> bool:
        """Whether the column is only passed on: its one code stands for whatever the row holds."""
        return self.kind == "carried"

    @property
    def is_ordered(self) -> bool:
        """Whether up and down mean something."""
        return self.kind not in ("categorical", "carried")

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
        """How a blank is acted on: "reach" (a target, unless another is chosen), "shift" (by an amount) or "freeze"."""
        return (self.blank or "reach") if self.actionable else "freeze"

    @property
    def low_code(self) -> float:
        """The smallest code that advice may lead to."""
        return float(self.lower) if self.is_number and self.lower is not None else 0.0

    @property
    def high_code(self) -> float:
        """The largest code that advice may lead to."""
        if self.is_carried:
            return 0.0
        return float(self.upper) if self.is_number and self.upper is not None else float(len(self.categories) - 1)

    @property
    def least_code(self) -> float:
        """The smallest legal code."""
        if self.formula and self.is_number:
            return -math.inf  # it is what follows, whatever has been seen
        return self.low_code if self.limits is None else float(self.limits[0])

    @property
    def most_code(self) -> float:
        """The largest legal code."""
        if self.formula and self.is_number:
            return math.inf
        return self.high_code if self.limits is None else float(self.limits[1])

    def is_beyond(self, code: float) -> bool:
        """Whether a code lies beyond what data has shown.

        >>> age = Feature("age", "integer", lower=20, upper=70, limits=(0, 120))
        >>> age.is_beyond(age.code(80)), age.is_beyond(70), age.is_beyond(math.nan)
        (True, False, False)
        """
        return code < self.low_code or code > self.high_code

    def code(self, value: object) -> float:
        """The code of one value; NaN for a blank.

        Raises
        ------
        DataError
            If the value is not legal; the message names the feature, the rule and the value.
        """
        if self.is_carried:
            return 0.0  # the row's own value, which stands beside the codes: see armin.schema.carried
        if self._is_sentinel(value):
            return math.nan
        if (type(value) is int or type(value) is float) and self.is_number and self.low_code <= value <= self.high_code:
            number = float(value)  # as is usual; anything else is looked at more closely
            if self.kind != "integer" or number.is_integer():
                return number
        if is_blank(value):
            return math.nan
        if self.is_number:
            return self._number(value)
        found = self._find(value)
        if found is None and isinstance(value, str):
            found = self._find(value.strip())
        if found is None and isinstance(value, str):
            found = self._find(as_number(value))
        if found is None and self.columns and isinstance(value, str):
            raise DataError(
                f"Exactly one of {', '.join(map(repr, self.columns))} must be 1, or all of them blank"
                f"{'' if len(self.columns) == len(self.categories) else ' or 0'}. Got {value} instead."
            )
        if found is None:
            raise DataError(
                f"Column {self.name!r} must be one of {short_list(self.categories)}, or blank. Got {value!r} instead.",
                "Correct the value, or add the category to the schema.",
            )
        return float(found)

    def _is_sentinel(self, value: object) -> bool:
        """Whether a value stands for a blank."""
        if not self.sentinels:
            return False
        plain = as_number(value) if self.is_number else value.strip() if isinstance(value, str) else value
        return plain in self.sentinels

    def _find(self, value: object) -> int | None:
        try:
            return self._codes.get(value) if isinstance(value, Hashable) else None
        except TypeError:  # a tuple that holds a list calls itself hashable
            return None

    def _number(self, value: object) -> float:
        number = as_number(value)
        if number is None:
            raise DataError(f"Column {self.name!r} must be a number, or blank. Got {value!r} instead.")
        if not math.isfinite(number):
            raise DataError(f"Column {self.name!r} must be finite, or blank. Got {value!r} instead.")
        if self.kind == "integer" and number != round(number):
            raise DataError(
                f"Column {self.name!r} must be a whole number, or blank. Got {value!r} instead.",
                "If fractions are meant, declare the column as 'continuous'.",
            )
        slack = 1e-12 * max(1.0, abs(number))
        low, high = self.least_code, self.most_code
        if not low - slack <= number <= high + slack:
            what = "bounds" if self.limits is None else "limits"
            raise DataError(
                f"Column {self.name!r} must be in {interval(low, high)}, or blank. Got {value!r} instead.",
                f"Correct the value, or widen the schema: schema.update({what}={{{self.name!r}: (low, high)}}).",
            )
        return min(max(number, low), high)

    def value(self, code: float) -> Value | None:
        """The value behind a code; None for NaN."""
        if math.isnan(code):
            return None
        if self.is_carried:
            return ""
        if self.kind == "integer":
            return round(code)
        return float(code) if self.is_number else self.categories[round(code)]

    def codes(self, column: pd.Series[object], *, clip: bool = False) -> NDArray[np.float64]:
        """The codes of a whole column, NaN for blanks; numbers out of bounds are refused, or clipped on request."""
        if self.is_carried:
            return np.zeros(len(column))
        if self.is_number and pd.api.types.is_numeric_dtype(column.dtype):
            numbers: NDArray[np.float64] = column.to_numpy(dtype=np.float64, na_value=np.nan)
            if self.sentinels:
                numbers = np.where(np.isin(numbers, self.sentinels), np.nan, numbers)
            if clip:
                # what is infinite stays, to be refused
                numbers = np.where(np.isinf(numbers), numbers, np.clip(numbers, self.low_code, self.high_code))
            good = np.isnan(numbers)
            with np.errstate(invalid="ignore"):
                good |= (numbers >= self.least_code) & (numbers <= self.most_code)
                if self.kind == "integer":
                    good &= np.isnan(numbers) | (numbers == np.round(numbers))
            if good.all():
                return numbers
        seen: dict[object, float] = {}
        out = np.empty(len(column))
        for i, value in enumerate(column.tolist()):
            if self._is_sentinel(value) or (clip and isinstance(value, PartlyBlank)):
                value = None
            if clip and self.is_number and not is_blank(value):
                number = as_number(value)
                if number is not None and math.isfinite(number):
                    value = min(max(number, self.low_code), self.high_code)
            key = (type(value), value)
            known = seen.get(key) if isinstance(value, str | int | float) else None
            if known is None:
                known = self.code(value)
                if isinstance(value, str | int | float):
                    seen[key] = known
            out[i] = known
        return out

    @property
    def named(self) -> Name:
        """The title, for a message; a language file may say it otherwise."""
        return Name("labels", self.name, self.title)

    def said(self, value: Value | None) -> Name | Quantity | Message:
        """A value, for a message."""
        if value is None:
            return Message("value.none")
        if isinstance(value, float) and self.kind == "integer":
            value = int(value) if value.is_integer() else value
        if not self.is_number:
            text = self.format.format(value) if self.format else self.shown.value(value)
            return Name("values", str(value), text, self.name)
        return Quantity(value, self.unit, self.step, self.format)  # type: ignore[arg-type]

    def quoted(self, value: Value | None) -> Name | Quantity | Message:
        """A value inside a sentence, for a message: a category stands in quotes."""
        said = self.said(value)
        return Message("value.category", text=said) if isinstance(said, Name) else said

    def said_amount(self, amount: float) -> Name | Quantity | Message:
        """An amount of change without sign, for a message."""
        return self.said(abs(amount)) if self.is_number else Message("value.levels", n=round(abs(amount)))

    def show(self, value: Value | None) -> str:
        """A value as people say it, with its unit."""
        return self.said(value).said(catalogue())

    def show_amount(self, amount: float) -> str:
        """An amount of change, without sign, as people say it.

        >>> Feature("education", "ordinal", categories=("school", "college", "degree")).show_amount(-2)
        '2 levels'
        """
        return self.said_amount(amount).said(catalogue())
