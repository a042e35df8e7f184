"""Numbers, values, changes and dates as a language says them."""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from armin.letter.texts import Texts
from armin.report import words
from armin.schema import Feature, Schema, Value
from armin.schema.values import plain_number

__all__ = ["Wording", "clean"]

_JOINERS = "\u200c\u200d"  # invisible, but part of how Persian, Hindi and other words are spelt
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def clean(text: str) -> str:
    r"""One line of visible text: no line breaks, control characters or marks that turn the direction of writing.

    >>> clean("Ada\n\u202e  Lovelace\x00")
    'Ada Lovelace'
    """
    kept = []
    for character in text:
        category = unicodedata.category(character)
        if category in ("Cc", "Zl", "Zp"):
            kept.append(" ")
        elif category not in ("Cf", "Cs") or character in _JOINERS:
            kept.append(character)
    return " ".join("".join(kept).split())


@dataclass(frozen=True)
class Wording:
    r"""How one language says the things of one schema.

    Attributes
    ----------
    texts : the words
    schema : the features that are spoken of

    Examples
    --------
    >>> from armin.letter.texts import load_texts
    >>> schema = Schema((Feature("income", "integer", lower=0, upper=90_000, unit="€", label="Einkommen"),))
    >>> german = Wording(load_texts("de"), schema)
    >>> german.value(schema["income"], 34500), german.percent(0.785)
    ('34.500 €', '78\xa0%')
    """

    texts: Texts
    schema: Schema

    def say(self, key: str, values: Mapping[str, str] | None = None) -> str:
        """A text with its holes filled."""
        return self.texts.say(key, values)

    def digits(self, text: str) -> str:
        """Numbers inside an English text with this language's marks."""
        thousands, decimal = self.say("language.thousands"), self.say("language.decimal")
        marks = {",": thousands, ".": decimal}
        return _NUMBER.sub(lambda number: "".join(marks.get(c, c) for c in number[0]), text)

    def count(self, number: float) -> str:
        """A number of things, whole if it is.

        A weight that is not whole keeps one decimal.
        """
        return self.digits(f"{number:,.0f}" if float(number).is_integer() else f"{number:,.1f}")

    def percent(self, share: float, *, down: bool = False) -> str:
        """A share; rounded down if it is one that is promised."""
        text = words.at_least(share) if down else words.percent(share)
        *side, number, _ = text.split(" ")
        said = self.say("language.percent", {"number": self.digits(number)})
        return self.say(f"language.{side[0]}", {"percent": said}) if side else said

    def date(self, day: datetime.date) -> str:
        """A date with the month's name."""
        months = self.texts.many("language.months")
        values = {"day": str(day.day), "month": months[day.month - 1], "year": str(day.year)}
        return self.say("language.date", values)

    def label(self, name: str) -> str:
        """What a feature is called."""
        return clean(self.texts.name_of("labels", name, self.schema[name].title))

    def value(self, feature: Feature, value: Value | None) -> str:
        """A value with its unit."""
        if value is None:
            return self.say("language.not_given")
        if feature.format:
            return clean(self.digits(feature.show(value)))
        if not feature.is_number:
            table = self.texts.table["values"].get(feature.name)
            said = table.get(str(value)) if isinstance(table, Mapping) else None
            return clean(said if isinstance(said, str) else str(value))
        text = self.digits(plain_number(float(value), feature.step))
        if not feature.unit:
            return text
        unit = clean(self.texts.name_of("units", feature.unit, feature.unit))
        if unit in self.texts.many("language.prefix_units"):
            return f"-{unit}{text[1:]}" if text.startswith("-") else f"{unit}{text}"
        return f"{text} {unit}"

    def amount(self, feature: Feature, amount: float) -> str:
        """An amount of change, without sign."""
        if feature.is_number:
            return self.value(feature, abs(amount))
        key = "language.level" if abs(amount) == 1 else "language.levels"
        return self.say(key, {"number": self.digits(f"{abs(amount):.0f}")})

    def change(self, change: Mapping[str, Any]) -> str:
        """One change of :meth:`Recourse.to_dict` as a sentence."""
        feature, direction = self.schema[change["feature"]], change["direction"]
        values = {"label": self.label(feature.name)}
        if change["mode"] == "shift":
            values["amount"] = self.amount(feature, change["amount"])
            return self.say("change.raise_by" if direction == "up" else "change.lower_by", values)
        values["after"] = self.value(feature, change["after"])
        if change["mode"] == "reach":
            return self.say(
                {"up": "change.at_least", "down": "change.at_most"}.get(direction, "change.make_sure"), values
            )
        values["before"] = self.value(feature, change["before"])
        return self.say({"up": "change.raise", "down": "change.lower"}.get(direction, "change.change"), values)

    def listed(self, items: Sequence[str], word: str = "and") -> str:
        """Several things in a sentence: "a, b and c"."""
        if len(items) < 2:
            return "".join(items)
        return f"{', '.join(items[:-1])} {self.say(f'language.{word}')} {items[-1]}"

    def desired(self, labels: Sequence[Any]) -> str:
        """The decision that the person wants."""
        names = [clean(self.texts.name_of("decisions", str(label), str(label))) for label in labels]
        return self.listed([self.say("language.quote", {"text": name}) for name in names], "or")
