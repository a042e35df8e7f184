"""A schema as a table for the eye."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armin.schema.feature import Feature
from armin.schema.values import plain_number
from armin.words import Message

if TYPE_CHECKING:
    from armin.schema.table import Schema

__all__ = ["schema_text"]

_MOVES = {"any": "any", "fixed": "no", "increase": "up only", "decrease": "down only"}


def schema_text(schema: Schema) -> str:
    """One line per feature, then the rules.

    >>> from armin.schema import Schema
    >>> sex = Feature("sex", "binary", categories=("m", "f"), protected=True)
    >>> print(schema_text(Schema((Feature("id", "carried"), sex))))
    feature  kind     values  may change     step  if blank
    id       carried  as is   no             -     keep
    sex      binary   m, f    no, protected  -     freeze
    """
    rows = [("feature", "kind", "values", "may change", "step", "if blank"), *(_line(f) for f in schema)]
    rows = [tuple(" ".join(cell.splitlines()) for cell in row) for row in rows]  # type: ignore[misc]
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    groups = [
        Message("rules.one_of" if len(f.categories) == len(f.columns) else "rules.one_of_rest", labels=f.columns)
        for f in schema
        if f.columns
    ]
    derived = [Message("rules.derived", label=f.named, formula=f.formula) for f in schema if f.formula]
    said = [*groups, *derived, *(rule.message(schema) for rule in schema.rules)]
    return "\n".join([*lines, *(f"Rule: {one}" for one in said)])


def _line(f: Feature) -> tuple[str, str, str, str, str, str]:
    if f.is_carried:
        return f.name, f.kind, "as is", "no, protected" if f.protected else "no", "-", "keep"
    if f.is_number:
        values = f"{plain_number(f.low_code)} … {plain_number(f.high_code)}" + (f" {f.unit}" if f.unit else "")
    else:
        values = ", ".join(str(c) for c in f.categories)
        values = values if len(values) <= 40 else values[:39] + "…"
    moves = "derived" if f.formula else _MOVES[f.direction] + (", protected" if f.protected else "")
    step = "-" if not (f.is_number and f.actionable) else plain_number(f.step) if f.step else "auto"
    return f.name, f.kind, values, moves, step, f.blank_mode
