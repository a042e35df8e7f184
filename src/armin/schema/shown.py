"""How a form shows a column: where it stands, what it is called there, and what helps to fill it in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from armin.errors import SchemaError
from armin.schema.values import Value

__all__ = ["Shown"]


@dataclass(frozen=True)
class Shown:
    """A column on a form; nothing here changes an answer.

    Attributes
    ----------
    group : the section of the form that it belongs to
    order : where it stands in its section; columns without one follow in the schema's order
    short : a short label, where there is little room
    help : a sentence that says what is asked for
    example : a value as people write it
    values : what categories are called, by category as a text
    weeks : how long a change usually takes

    Examples
    --------
    >>> shown = Shown(group="Money", help="What you earn in a year, before tax.", values={"0": "no", "1": "yes"})
    >>> shown.value(1), shown.value("other")
    ('yes', 'other')
    """

    group: str = ""
    order: float | None = None
    short: str = ""
    help: str = ""
    example: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    weeks: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", dict(self.values))

    def __hash__(self) -> int:
        texts = (self.group, self.short, self.help, self.example)
        return hash((*texts, self.order, self.weeks, tuple(self.values.items())))

    @classmethod
    def words(cls) -> tuple[str, ...]:
        """What can be said about a column on a form."""
        return tuple(one.name for one in fields(cls))

    def value(self, category: Value) -> str:
        """What a category is called."""
        return self.values.get(str(category), str(category))

    def to_dict(self) -> dict[str, Any]:
        """What is said, as plain data."""
        said = {name: getattr(self, name) for name in self.words()}
        for name in ("order", "weeks"):
            if said[name] is not None and float(said[name]).is_integer():
                said[name] = int(said[name])
        return {name: value for name, value in said.items() if value not in ("", None, {})}

    @classmethod
    def of(cls, name: str, said: Mapping[str, Any]) -> Shown:
        """What is said about the column ``name``, checked.

        Raises
        ------
        SchemaError
            If a key is not known, or a text, number or table is expected and something else given.
        """
        for key, value in said.items():
            if key not in cls.words():
                raise SchemaError(f"A form knows no {key!r} of {name!r}. Known: {', '.join(cls.words())}.")
            if key in ("order", "weeks"):
                right = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
                what = "a number" if key == "order" else "a number of at least 0"
                right = value is None or (right and (key == "order" or value >= 0))
            elif key == "values":
                right = isinstance(value, Mapping) and all(isinstance(text, str) and text for text in value.values())
                what = "a table of category to text"
            else:
                right, what = isinstance(value, str), "a text"
            if not right:
                raise SchemaError(f"The {key} of {name!r} on a form must be {what}. Got {value!r} instead.")
        given = dict(said)
        if "values" in given:
            given["values"] = {str(category): text for category, text in given["values"].items()}
        return cls(**given)
