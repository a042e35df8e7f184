"""What a sentence speaks of: names that a company may translate, and quantities with their units."""

from __future__ import annotations

from dataclasses import dataclass
from string import Formatter
from typing import Any, Literal

from armin.words.catalogue import Catalogue, clean
from armin.words.files import catalogue

__all__ = ["Name", "Quantity"]


@dataclass(frozen=True)
class Name:
    """What something of the schema or the model is called.

    Attributes
    ----------
    table : where a language file may say it otherwise: "labels", "values", "decisions", ...
    key : the feature, the category or the decision
    text : what it is called where no language file says it
    feature : the feature of a category

    Examples
    --------
    >>> from armin.words import catalogue
    >>> Name("labels", "income", "your income").said(catalogue("de"))
    'your income'
    >>> print(Name("labels", "income", "your income"))
    your income
    """

    table: Literal["labels", "values", "decisions", "short_labels", "groups", "helps", "examples", "titles", "stories"]
    key: str
    text: str
    feature: str = ""

    def said(self, words: Catalogue) -> str:
        """The name in a language."""
        return words.name(self.table, self.key, self.text, self.feature)

    def __str__(self) -> str:
        return self.said(catalogue()).replace("\u00a0", " ")

    def to_plain(self) -> Any:
        """The name as plain data, as one line of visible text."""
        return clean(self.text)


@dataclass(frozen=True)
class Quantity:
    r"""A number with its unit.

    Attributes
    ----------
    number : the number
    unit : its unit; "month|months" names one and many
    step : the grid on which the number moves, which says how many decimals are shown
    pattern : a format string such as ``"{:,.0f} km"`` that goes before unit and step

    Examples
    --------
    >>> from armin.words import catalogue
    >>> Quantity(34500, "€").said(catalogue("de")), Quantity(1, "month|months").said(catalogue("en"))
    ('34.500 €', '1 month')
    """

    number: float
    unit: str = ""
    step: float | None = None
    pattern: str = ""

    def said(self, words: Catalogue) -> str:
        """The quantity in a language."""
        if not self.pattern:
            return words.quantity(self.number, self.unit, self.step)
        parts = []
        for literal, name, spec, _ in Formatter().parse(self.pattern):
            parts.append(literal)
            if name is not None:
                parts.append(words.marked(format(self.number, spec or "")))
        return "".join(parts)

    def __str__(self) -> str:
        return self.said(catalogue()).replace("\u00a0", " ")

    def to_plain(self) -> Any:
        """The quantity as plain data."""
        return {"number": self.number, "unit": self.unit} if self.unit else self.number
