"""Numbers as a language writes them: one rule of rounding for all of them, the marks from Babel.

A share is rounded half to even on the number as it is written (0.925 is 92 %), a promised one is rounded down.
"""

from __future__ import annotations

import math
import struct
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from functools import cache

from babel import Locale
from babel.numbers import NumberPattern, parse_pattern

__all__ = ["figure_digits", "floor_percent", "number_digits", "of_hundred", "round_percent", "written"]

MOST_DIGITS = 6
"""A share that is nearer to 0 or 1 than this many decimals of a percent can tell is "under" or "over"."""


def written(number: Decimal, locale: Locale) -> str:
    """A number with the marks of a language; all its decimals are kept.

    >>> written(Decimal("1234.50"), Locale("de"))
    '1.234,50'
    """
    exponent = number.as_tuple().exponent
    said: str = _pattern(-exponent if isinstance(exponent, int) else 0).apply(number, locale)
    return said


@cache
def _pattern(decimals: int) -> NumberPattern:
    return parse_pattern("#,##0" + ("." + "0" * decimals if decimals > 0 else ""))


def round_percent(share: float) -> tuple[Decimal, str]:
    """A share in percent as people say it, never rounded to certainty; and "under", "over" or "".

    >>> [str(round_percent(share)[0]) for share in (0.7849, 0.925, 0.999, 1.0, 0.0004)]
    ['78', '92', '99.9', '100', '0.04']
    >>> round_percent(1e-12)
    (Decimal('0.000001'), 'under')
    """
    exact = _hundredfold(share)
    for digits in range(MOST_DIGITS + 1):
        rounded = exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN)
        if rounded not in (0, 100) or rounded == exact:
            return rounded, ""
    least = Decimal(1).scaleb(-MOST_DIGITS)
    return (least, "under") if exact < 50 else (100 - least, "over")


def of_hundred(share: float) -> int:
    """The same rounding as a whole number of a hundred; 0 and 100 mean none and all.

    >>> [of_hundred(share) for share in (0.7849, 0.925, 0.999, 1.0, 0.0004)]
    [78, 92, 99, 100, 1]
    """
    rounded, _ = round_percent(share)
    return int(rounded) if rounded in (0, 100) else min(99, max(1, int(rounded.to_integral_value(ROUND_HALF_EVEN))))


def floor_percent(share: float) -> Decimal:
    """A share that is promised, in percent: rounded down to a tenth.

    >>> [str(floor_percent(share)) for share in (0.75, 0.975, 0.79999)]
    ['75', '97.5', '79.9']
    """
    # what is a billionth short of a tenth is one
    tenths = (_hundredfold(share) + Decimal("1e-7")).quantize(Decimal("0.1"), ROUND_FLOOR)
    return tenths.quantize(Decimal(1)) if tenths == tenths.to_integral_value() else tenths


def _hundredfold(share: float) -> Decimal:
    return Decimal(repr(float(share))) * 100


def figure_digits(number: float) -> Decimal:
    """A cost with three digits or more, never in powers of ten.

    >>> [str(figure_digits(x)) for x in (0.123456, 12500.0, 3)]
    ['0.123', '12500', '3']
    """
    text = f"{number:.0f}" if abs(number) >= 1000 else format(Decimal(f"{number:.3g}"), "f")
    return Decimal(text) + 0


def number_digits(number: float, step: float | None = None) -> Decimal:
    """A number as people write it: unaltered unless its digits are rounding dirt.

    >>> [str(number_digits(x)) for x in (34371.23, 0.1 + 0.2, 1e6)], str(number_digits(2.0, step=0.5))
    (['34371.23', '0.3', '1000000'], '2.0')
    """
    number = number + 0.0  # no negative zero
    if step is not None and 0 < step < 1:
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        if abs(number - round(number, decimals)) < 1e-9 * max(1.0, abs(number)):
            return Decimal(f"{round(number, decimals) + 0.0:.{decimals}f}")
    if number == round(number):
        return Decimal(f"{number:.0f}")
    decimals = max(0, _digits(number) - 1 - math.floor(math.log10(abs(number))))
    text = f"{number:.{decimals}f}"
    return Decimal(text.rstrip("0").rstrip(".") if "." in text else text) + 0


def _digits(number: float) -> int:
    """How many significant digits a number has; six where there is no end to them."""
    for digits in range(1, 11):
        if abs(float(f"{number:.{digits}g}") - number) <= 1e-12 * abs(number):
            return digits
    for digits in range(1, 9):  # a number that was stored in single precision
        if struct.unpack("f", struct.pack("f", float(f"{number:.{digits}g}")))[0] == number:
            return digits
    return 6
