"""What a :class:`~armin.schema.Feature` must satisfy; every refusal names the column, the rule and the value."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from armin.errors import SchemaError
from armin.schema.values import Value, interval, is_blank, plain_number

if TYPE_CHECKING:
    from armin.schema.feature import Feature

__all__ = ["check_feature", "short_list"]

KINDS = ("continuous", "integer", "binary", "categorical", "ordinal", "carried")
DIRECTIONS = ("any", "increase", "decrease", "fixed")
BLANKS = ("shift", "reach", "freeze")
LONGEST_FORMAT = 200
_TEXT = r"(?:[^{}]|\{\{|\}\})*"
PLAIN_FORMAT = re.compile(rf"{_TEXT}\{{(?::[-+ ]?0?\d{{0,2}}[,_]?(?:\.\d{{1,2}})?[deEfFgGn%s]?)?\}}{_TEXT}")
"""A schema may come from a stranger, and a format string can ask for any attribute, or for a billion spaces."""


def short_list(values: tuple[Value, ...], most: int = 8) -> str:
    """Values for a message, the first few of many.

    >>> short_list(("a", "b", "c"), most=2)
    "'a', 'b', ... (3 in all)"
    """
    shown = ", ".join(repr(v) for v in values[:most])
    return shown if len(values) <= most else f"{shown}, ... ({len(values)} in all)"


def check_feature(feature: Feature) -> None:
    """Refuse a feature that contradicts itself."""
    name = feature.name
    if not isinstance(name, str):
        raise SchemaError(f"The name of a column must be a text. Got {name!r} instead.")
    if feature.kind not in KINDS:
        raise SchemaError(f"The kind of {name!r} must be one of {', '.join(KINDS)}. Got {feature.kind!r} instead.")
    if feature.direction not in DIRECTIONS:
        raise SchemaError(
            f"The direction of {name!r} must be one of {', '.join(DIRECTIONS)}. Got {feature.direction!r} instead."
        )
    if feature.blank is not None and feature.blank not in BLANKS:
        raise SchemaError(f"The blank mode of {name!r} must be one of {', '.join(BLANKS)}. Got {feature.blank!r}.")
    for what in ("label", "unit", "format", "reason"):
        if not isinstance(getattr(feature, what), str):
            raise SchemaError(f"The {what} of {name!r} must be a text. Got {getattr(feature, what)!r} instead.")
    if not _finite(feature.difficulty) or feature.difficulty < 0:
        raise SchemaError(f"The difficulty of {name!r} must be a number of at least 0. Got {feature.difficulty!r}.")
    if not isinstance(feature.protected, bool):
        raise SchemaError(f"'protected' of {name!r} must be true or false. Got {feature.protected!r} instead.")
    if feature.protected and feature.actionable:
        raise SchemaError(
            f"{name!r} is protected, so advice never changes it, and its direction can only be 'fixed'. "
            f"Got {feature.direction!r}. If advice may change it, set protected to false."
        )
    for category in feature.shown.values:
        if category not in map(str, feature.categories):
            raise SchemaError(
                f"The form names a value {category!r} of {name!r}, which is not one of its categories: "
                f"{short_list(feature.categories)}."
            )
    for value in feature.sentinels:
        if feature.is_carried or value in feature.categories or (feature.is_number and not _finite(value)):
            raise SchemaError(
                f"{name!r} is {feature.kind}, so {value!r} cannot stand for a blank in it: that must be a finite "
                "number in a column of numbers, and no category in another."
            )
    if feature.columns and (
        feature.kind != "categorical"
        or len(set(feature.columns)) != len(feature.columns)
        or len(feature.categories) - len(feature.columns) not in (0, 1)
    ):
        raise SchemaError(
            f"The columns of {name!r} must be different, one for each of its categories or all but the last, and its "
            f"kind 'categorical'. Got {feature.columns!r} for {short_list(feature.categories)}."
        )
    if feature.formula and (feature.actionable or feature.kind not in ("continuous", "integer", "binary")):
        raise SchemaError(
            f"{name!r} follows from {feature.formula}, so it must be a number or have two values, and its direction "
            f"can only be 'fixed'. Got {feature.kind}, {feature.direction!r}. Free the columns in the formula instead."
        )
    if feature.is_carried:
        _check_carried(feature)
    elif feature.is_number:
        _check_number(feature)
    else:
        _check_categories(feature)
    _check_format(feature)


def _check_carried(feature: Feature) -> None:
    name = feature.name
    if feature.actionable:
        raise SchemaError(
            f"{name!r} is carried along as it is, so its direction can only be 'fixed'. Got {feature.direction!r}. "
            f"If advice may change it, say what it holds: kinds={{{name!r}: 'categorical'}}, for example."
        )
    numbers = (feature.lower, feature.upper, feature.step, feature.limits)
    if any(number is not None for number in numbers) or feature.categories:
        raise SchemaError(f"{name!r} is carried along as it is, so it has no bounds, limits, step or categories.")


def _finite(number: object) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)


def _check_number(feature: Feature) -> None:
    name, low, high = feature.name, feature.lower, feature.upper
    if feature.categories:
        raise SchemaError(f"{name!r} is {feature.kind}, so it has bounds, not categories.")
    if low is None or high is None or not (_finite(low) and _finite(high)):
        raise SchemaError(f"{name!r} is {feature.kind} and needs finite bounds. Got ({low}, {high}).")
    if low > high or (low == high and feature.actionable):
        raise SchemaError(
            f"The bounds of {name!r} must satisfy lower < upper. Got {interval(low, high)}. "
            "A column that is constant can only be listed as immutable."
        )
    if feature.limits is not None:
        ends: tuple[float, ...] = feature.limits
        if len(ends) != 2 or not all(map(_finite, ends)) or ends[0] > low or ends[1] < high:
            raise SchemaError(
                f"The limits of {name!r} must be two finite numbers around its bounds {interval(low, high)}. "
                f"Got {ends}."
            )
    if feature.step is not None and not (_finite(feature.step) and feature.step > 0):
        raise SchemaError(f"The step of {name!r} must be a positive number. Got {feature.step!r}.")
    if feature.step is not None and feature.actionable and feature.step > high - low:
        raise SchemaError(
            f"The step of {name!r} must fit between its bounds {interval(low, high)}. Got {plain_number(feature.step)}."
        )
    if feature.kind == "integer":
        limits = (("limits", number) for number in feature.limits or ())
        for what, number in (("bounds", low), ("bounds", high), ("step", feature.step), *limits):
            if number is not None and number != round(number):
                raise SchemaError(f"{name!r} is integer, so its {what} must be whole. Got {plain_number(number)}.")


def _check_categories(feature: Feature) -> None:
    name, n = feature.name, len(feature.categories)
    if any(number is not None for number in (feature.lower, feature.upper, feature.step, feature.limits)):
        raise SchemaError(f"{name!r} is {feature.kind}, so it has categories, not bounds, limits or a step.")
    for value in feature.categories:
        if is_blank(value) or not (isinstance(value, str | bool) or _finite(value)):
            raise SchemaError(
                f"The categories of {name!r} must be texts, finite numbers or booleans, and not blank. Got {value!r}."
            )
    if len(set(feature.categories)) != n:
        raise SchemaError(f"The categories of {name!r} must be different. Got {short_list(feature.categories)}.")
    if feature.kind == "binary" and n != 2:
        raise SchemaError(
            f"{name!r} is binary and needs exactly two categories. Got {n}: {short_list(feature.categories)}."
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


def _check_format(feature: Feature) -> None:
    if feature.format and (len(feature.format) > LONGEST_FORMAT or not PLAIN_FORMAT.fullmatch(feature.format)):
        raise SchemaError(
            f"The format of {feature.name!r} must be a text of at most {LONGEST_FORMAT} characters with one plain "
            f"number format in it, such as '{{:,.0f}} km': no more than two digits of width and decimals. "
            f"Got {feature.format[:80]!r} instead."
        )
    samples: tuple[Value | None, ...] = feature.categories or ("",)
    if feature.is_number:
        samples = (feature.value(feature.low_code),)
    for sample in samples:
        try:
            feature.show(sample)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise SchemaError(
                f"The format of {feature.name!r} must be a format string for its values, such as '{{:,.0f}} km'. "
                f"Got {feature.format!r}, which fails on {sample!r}: {error}."
            ) from None
