"""Questions that a schema raises, by the names of its columns and by what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from armin.errors import DataError
from armin.schema.feature import Feature
from armin.schema.guess import is_answer, is_code, is_history, is_identifier, is_protected, one_way
from armin.schema.question import About, Question, Review
from armin.schema.values import as_number, is_blank
from armin.words import Message

if TYPE_CHECKING:
    from armin.schema.table import Schema

__all__ = ["review"]

FEW_VALUES = 10
"""A whole number with at most so many values may be a code."""
NEAR_PERFECT = 0.995
"""How well a single column may tell the label before it is suspected to hold it."""
ENOUGH_ROWS = 30
"""With fewer rows nothing is said about what a column holds."""


def review(schema: Schema, frame: pd.DataFrame | None = None, y: Any = None) -> Review:
    """All questions; see :meth:`armin.schema.Schema.review`."""
    labels = None if y is None else np.asarray(y).ravel()
    if labels is not None and frame is None:
        raise DataError("A review with labels needs the rows that they belong to. Say review(frame, y).")
    if labels is not None and frame is not None and len(labels) != len(frame):
        raise DataError(f"A review needs one label per row. Got {len(labels)} labels for {len(frame)} rows.")
    found: list[Question] = []
    for feature in schema:
        column = None if frame is None or len(frame) < ENOUGH_ROWS else frame[feature.name]
        asked = [*_by_name(feature, schema.features), *_by_content(feature, column, labels)]
        known: set[About] = set()
        for question in asked:
            if question.about not in known:
                found.append(question)
            known.add(question.about)
    return Review(tuple(found))


FREE = 'direction = "any"'
FIXED = 'direction = "fixed"'
CARRIED = 'kind = "carried"'


def _question(feature: Feature, about: About, code: str, say: str = "", toml: str = "", **values: Any) -> Question:
    name = repr(feature.name)
    given = values | ({"code": say.replace("{name}", name)} if say else {})
    return Question(feature.name, about, Message(f"review.{code}", name=name, **given), toml)


def _by_name(feature: Feature, features: Sequence[Feature]) -> list[Question]:
    """What the name alone suggests."""
    name, names = feature.name, [one.name for one in features]
    if feature.protected:
        others = [one.name for one in features if one.protected and one is not feature]
        toml = f"protected = false, {FREE}"
        return [_question(feature, "protected", "protected", f"protected={others}", toml)]
    if feature.is_carried:
        return [_question(feature, "carried", "carried", n=1)]
    if not feature.actionable:
        same = feature.low_code == feature.high_code
        return [_question(feature, "constant", "constant", "immutable=[{name}]", FIXED, n=1)] if same else []
    found = []
    if is_identifier(name) and (feature.is_number or len(feature.categories) > FEW_VALUES):
        found.append(_question(feature, "identifier", "identifier", "carried=[{name}]", CARRIED, n=1))
    if is_protected(name, feature.categories):
        found.append(_question(feature, "protected", "protected_free", "protected=[{name}]", "protected = true"))
    elif is_history(name, names):
        found.append(_question(feature, "history", "history", "immutable=[{name}]", FIXED, n=1))
    if one_way(name) and feature.is_ordered and feature.kind != "binary" and feature.direction in ("any", "decrease"):
        found.append(_question(feature, "direction", "one_way", "increase_only=[{name}]", 'direction = "increase"'))
    if is_answer(name):
        found.append(_question(feature, "leak", "answer"))
    n = int(feature.high_code - feature.low_code) + 1
    if feature.kind == "integer" and n <= FEW_VALUES and is_code(name):
        toml = 'kind = "categorical", categories = [...]'
        found.append(_question(feature, "codes", "codes", "kinds={{name}: 'categorical'}", toml, n=n))
    return found


def _by_content(feature: Feature, column: pd.Series[Any] | None, labels: Any) -> list[Question]:
    """What the values suggest."""
    if column is None:
        return []
    found = []
    values = column.tolist()
    present = np.array([not is_blank(value) for value in values], dtype=bool)
    known = labels is not None and present.sum() >= ENOUGH_ROWS
    if known and _tells(feature, column[present], labels[present]) >= NEAR_PERFECT:
        found.append(_question(feature, "leak", "leak"))
    texts = [value for value in values if isinstance(value, str) and not is_blank(value)]
    if texts and feature.is_carried | (feature.kind == "categorical") and all(_number_like(text) for text in texts):
        found.append(_question(feature, "numbers as text", "text_numbers", value=repr(texts[0])))
    distinct = len({value for value, there in zip(values, present, strict=True) if there})
    free = feature.kind == "integer" and feature.actionable
    running = feature.high_code - feature.low_code < 2 * distinct  # a running number, not a wage
    if free and running and distinct == present.sum() >= 2 * ENOUGH_ROWS:
        found.append(_question(feature, "identifier", "identifier", "carried=[{name}]", CARRIED, n=1))
    return found


def _number_like(text: str) -> bool:
    """Whether a text is a number, also as people write it; a zip code with a leading zero is none.

    >>> [_number_like(text) for text in ("12", "1.234,50", "12 %", "A12", "01067")]
    [True, True, True, False, False]
    """
    plain = text.strip().strip("€$£% ").replace("\u00a0", "").replace(" ", "")
    if plain[:1] == "0" and plain[1:2].isdigit():
        return False
    ways = (plain, plain.replace(",", ""), plain.replace(".", "").replace(",", "."))
    return any(as_number(one) is not None for one in ways)


def _tells(feature: Feature, column: pd.Series[Any], labels: Any) -> float:
    """How well the best guess from this column alone tells the label, beyond the usual one: 1 is always."""
    classes, where = np.unique(labels.astype(str), return_inverse=True)
    if classes.size < 2:
        return 0.0
    usual = np.bincount(where).max() / where.size
    numbers = feature.codes(column, clip=True) if feature.is_number else None
    if numbers is not None and classes.size == 2:
        right = _best_cut(numbers, where)
    else:
        codes, values = pd.factorize(column.astype(str))
        if len(values) > max(FEW_VALUES, 2 * classes.size):
            return 0.0
        table = np.zeros((len(values), classes.size))
        np.add.at(table, (codes, where), 1)
        right = table.max(axis=1).sum() / where.size
    return float((right - usual) / (1.0 - usual))


def _best_cut(numbers: Any, where: Any) -> float:
    """The share of rows that the best single threshold puts on their side."""
    order = np.argsort(numbers, kind="stable")
    x, ones = numbers[order], where[order]
    below = np.concatenate([[0], np.cumsum(ones)])
    right = below + (len(ones) - np.arange(len(ones) + 1)) - (below[-1] - below)  # ones below the cut, zeros above
    legal = np.concatenate([[True], x[1:] > x[:-1], [True]])
    return float(np.maximum(right, len(ones) - right)[legal].max() / len(ones))
