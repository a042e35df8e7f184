"""What a row holds and what may change: :class:`Schema`, :class:`Feature` and the rules between features."""

from armin.schema.carried import Carried
from armin.schema.columns import Derived, OneOf
from armin.schema.feature import Blank, Direction, Feature, Kind
from armin.schema.frames import is_foreign
from armin.schema.question import Question, Review, SchemaNote
from armin.schema.rules import RULES, AtMostOne, Condition, Forbid, Implies, Linear, Order, Rule, Together
from armin.schema.shown import Shown
from armin.schema.table import Rows, Schema
from armin.schema.values import Value, is_blank

__all__ = [
    "RULES",
    "AtMostOne",
    "Blank",
    "Carried",
    "Condition",
    "Derived",
    "Direction",
    "Feature",
    "Forbid",
    "Implies",
    "Kind",
    "Linear",
    "OneOf",
    "Order",
    "Question",
    "Review",
    "Rows",
    "Rule",
    "Schema",
    "SchemaNote",
    "Shown",
    "Together",
    "Value",
    "is_blank",
    "is_foreign",
]
