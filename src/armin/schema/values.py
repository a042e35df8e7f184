"""Single values as they come from tables and forms: blanks, numbers, and how people write a number."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, cast

import numpy as np
import pandas as pd

from armin.words.numbers import number_digits

__all__ = ["PartlyBlank", "Value", "as_number", "interval", "is_blank", "plain_number", "scalar"]

Value = str | int | float | bool


class PartlyBlank(str):
    """What a one-hot group says where none of its columns is 1 and some are blank: less than a value, and no blank."""


def is_blank(value: object) -> bool:
    """Whether a value is a blank: NaN, None, ``pd.NA``, ``NaT`` or an empty text.

    >>> [is_blank(v) for v in (None, float("nan"), pd.NA, "", "  ", 0, "no")]
    [True, True, True, True, True, False, False]
    """
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    if isinstance(value, str):
        return not value.strip()
    return isinstance(value, float | np.floating | Decimal) and math.isnan(value)


def as_number(value: object) -> float | None:
    """A number, or a text that is one, as a float; None for anything else.

    >>> as_number("3.5"), as_number(True), as_number("many"), as_number([1])
    (3.5, 1.0, None, None)
    """
    if isinstance(value, str | bool | int | float | np.bool_ | np.integer | np.floating | Decimal):
        try:
            return float(value)
        except (ValueError, OverflowError):
            return None
    return None


def scalar(value: Any) -> Value:
    """A NumPy scalar as the plain value, anything else as it is."""
    return cast("Value", value.item() if isinstance(value, np.generic) else value)


def plain_number(number: float, step: float | None = None) -> str:
    """A number as people write it: thousands separated, unaltered unless its digits are rounding dirt.

    >>> plain_number(34371.23), plain_number(0.1 + 0.2), plain_number(1e6), plain_number(2.0, step=0.5)
    ('34,371.23', '0.3', '1,000,000', '2.0')
    """
    return f"{number_digits(number, step):,f}"


def interval(low: float, high: float) -> str:
    """Two numbers in brackets, without thousands separators, which would read as further numbers.

    >>> interval(0, 1234567.5)
    '[0, 1234567.5]'
    """
    return f"[{plain_number(low).replace(',', '')}, {plain_number(high).replace(',', '')}]"
