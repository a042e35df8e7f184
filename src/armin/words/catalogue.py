"""The words of one language: texts by code, with holes that are filled in as the language says it.

An entry is a text with ``{holes}``, or a table of plural forms chosen by the hole ``n``. A hole may name how its value
is written: see ``FORMATS``. What a language leaves out is English.
"""

from __future__ import annotations

import datetime
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from string import Formatter
from typing import Any, Literal

from babel import Locale, UnknownLocaleError
from babel.dates import format_date
from babel.lists import format_list

from armin.errors import ParameterError
from armin.words import numbers

__all__ = ["FORMATS", "Catalogue", "clean"]

_JOINERS = "\u200c\u200d"  # invisible, but part of how Persian, Hindi and other words are spelt
Parts = tuple[tuple[str, str | None, str], ...]


class Catalogue:
    """How one language says things.

    Parameters
    ----------
    language : its code, such as "de"
    table : the texts, with what the language leaves out filled in

    Examples
    --------
    >>> from armin.words.files import catalogue
    >>> catalogue("de").say("letter.reference")
    'Aktenzeichen'
    >>> catalogue("en").say("value.levels", n=2)
    '2 levels'
    """

    def __init__(self, language: str, table: Mapping[str, Any]) -> None:
        self.language = language
        self.table = table
        self._parts: dict[str, Parts] = {}

    @cached_property
    def locale(self) -> Locale:
        """Whose numbers, dates, lists and plural forms are used."""
        said = self.table["language"].get("locale")
        try:
            return Locale.parse(str(said).replace("-", "_"))
        except (ValueError, UnknownLocaleError):
            raise ParameterError(
                f"'language.locale' of language {self.language!r} must be a locale such as 'de' or 'en_GB'. "
                f"Got {said!r} instead."
            ) from None

    def say(self, code: str, /, **values: Any) -> str:
        """The text behind a code, with its holes filled."""
        return "".join(
            literal if name is None else literal + self._fill(code, name, how, values)
            for literal, name, how in self._compiled(code, values.get("n"))
        )

    def _fill(self, code: str, name: str, how: str, values: Mapping[str, Any]) -> str:
        if name not in values:
            known = ", ".join(f"{{{name}}}" for name in values) or "nothing"
            raise ParameterError(
                f"The text {code!r} of language {self.language!r} asks for {{{name}}}, which it is not given. "
                f"It may use: {known}."
            )
        write = FORMATS.get(how)
        if write is None:
            raise ParameterError(
                f"The text {code!r} of language {self.language!r} writes {{{name}}} as {how!r}, which is not known. "
                f"It may be: {', '.join(filter(None, FORMATS))}."
            )
        return write(self, values[name])

    def _compiled(self, code: str, n: Any) -> Parts:
        found = self.entry(code)
        if isinstance(found, Mapping):
            form = self.locale.plural_form(n if isinstance(n, int) else float(n or 0))
            form = form if form in found else "other"
            code, found = f"{code}.{form}", found.get(form)
        if code not in self._parts:
            if not isinstance(found, str):
                raise ParameterError(
                    f"The text {code!r} of language {self.language!r} must be a text. Got {found!r} instead."
                )
            self._parts[code] = tuple(_parse(code, self.language, found))
        return self._parts[code]

    def entry(self, code: str) -> Any:
        """What the table holds behind a code; None if nothing."""
        found: Any = self.table
        for part in code.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return found

    def written(self, value: Any) -> str:
        """A value that an entry does not say how to write."""
        if isinstance(value, str):
            return value
        if hasattr(value, "said"):
            return str(value.said(self))
        if isinstance(value, tuple | list):
            return ", ".join(self.written(one) for one in value)
        if isinstance(value, datetime.date):
            return self.date(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self.number(value)
        return "" if value is None else str(value)

    def number(self, number: float, step: float | None = None) -> str:
        """A number, unaltered."""
        return numbers.written(numbers.number_digits(float(number), step), self.locale)

    def count(self, number: float) -> str:
        """A number of things, whole if it is; a weight that is not whole keeps one decimal."""
        return self.marked(f"{number:,.0f}" if float(number).is_integer() else f"{number:,.1f}")

    def figure(self, number: float) -> str:
        """A cost: three digits or more, never in powers of ten."""
        return numbers.written(numbers.figure_digits(float(number)), self.locale)

    def percent(self, share: float) -> str:
        """A share as people say it, never rounded to certainty."""
        rounded, side = numbers.round_percent(share)
        said = self._percent(numbers.written(rounded, self.locale))
        return self.say(f"language.{side}", percent=said) if side else said

    def hundred(self, share: float) -> str:
        """A share as so many of a hundred: the same number as in percent."""
        rounded, side = numbers.round_percent(share)
        said = numbers.written(rounded, self.locale)
        return self.say(f"language.{side}", percent=said) if side else said

    def at_least(self, share: float) -> str:
        """A share that is promised: rounded down, to a tenth of a percent."""
        return self._percent(numbers.written(numbers.floor_percent(share), self.locale))

    def _percent(self, number: str) -> str:
        return self.say("language.percent", number=number)

    def marked(self, text: str) -> str:
        """A number that Python wrote, with this language's marks."""
        symbols = self.locale.number_symbols
        symbols = symbols.get("latn", symbols)
        marks = {",": symbols["group"], ".": symbols["decimal"]}
        return "".join(marks.get(character, character) for character in text)

    def quantity(self, number: float, unit: str = "", step: float | None = None) -> str:
        """A number with its unit, in the form for one or for many."""
        text = self.number(number, step)
        if not unit:
            return text
        form = self.locale.plural_form(abs(number))
        said = self.table["units"].get(unit)
        if isinstance(said, Mapping):
            said = said.get(form, said.get("other"))
        if not isinstance(said, str):
            one, _, many = unit.partition("|")
            said = one if form == "one" or not many else many
        said = clean(said)
        if said in self.table["language"].get("prefix_units", ()):
            return f"-{said}{text[1:]}" if text.startswith("-") else f"{said}{text}"
        return f"{text} {said}"

    def unit(self, unit: str) -> str:
        """A unit beside an empty field: its form for many."""
        said = self.table["units"].get(unit)
        said = said.get("other") if isinstance(said, Mapping) else said
        return clean(said if isinstance(said, str) else unit.rpartition("|")[2])

    def date(self, day: datetime.date) -> str:
        """A date with the month's name."""
        return format_date(day, "long", locale=self.locale).replace(" ", "\u00a0")

    def name(self, table: str, key: str, text: str, feature: str = "") -> str:
        """What a feature, a category or a decision is called."""
        names = self.table[table].get(feature) if feature else self.table[table]
        said = names.get(key) if isinstance(names, Mapping) else None
        return clean(said if isinstance(said, str) else text)

    def listed(self, items: Any, style: Literal["standard", "or"] = "standard") -> str:
        """Several things in a sentence: "a, b and c"."""
        several = items if isinstance(items, Sequence) and not isinstance(items, str) else [items]
        return format_list([self.written(item) for item in several], style=style, locale=self.locale)

    def quoted(self, value: Any) -> str:
        """A value in quotes; of several, one of them."""
        if isinstance(value, tuple | list):
            return self.listed([self.quoted(one) for one in value], "or")
        return self.say("language.quote", text=self.written(value))

    def start(self, value: Any) -> str:
        """A value that begins a sentence."""
        text = self.written(value)
        return text[:1].upper() + text[1:]

    def word(self, n: int) -> str:
        """A small number as a word."""
        words = self.table["language"].get("numbers", ())
        return str(words[n]) if 0 <= n < len(words) else self.number(n)


FORMATS: dict[str, Callable[[Catalogue, Any], str]] = {
    "": Catalogue.written,
    "number": Catalogue.number,
    "count": Catalogue.count,
    "figure": Catalogue.figure,
    "percent": Catalogue.percent,
    "hundred": Catalogue.hundred,
    "at_least": Catalogue.at_least,
    "date": Catalogue.date,
    "value": Catalogue.written,
    "quoted": Catalogue.quoted,
    "and": Catalogue.listed,
    "or": lambda words, items: words.listed(items, "or"),
    "start": Catalogue.start,
    "word": Catalogue.word,
    "Word": lambda words, n: words.start(words.word(n)),
}
"""How a hole may be written, as in ``{share:percent}``."""


def _parse(code: str, language: str, text: str) -> Iterator[tuple[str, str | None, str]]:
    try:
        for literal, name, how, _ in Formatter().parse(text):
            yield literal, name, how or ""
    except ValueError as error:
        raise ParameterError(f"The text {code!r} of language {language!r} cannot be read: {error}.") from None


def clean(text: str) -> str:
    r"""One line of visible text: no line breaks, control characters or marks that turn the direction of writing.

    >>> clean("Ada\n\u202e  Lovelace\x00")
    'Ada Lovelace'
    """
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip()
    kept = []
    for character in text:
        category = unicodedata.category(character)
        if category in ("Cc", "Zl", "Zp"):
            kept.append(" ")
        elif category not in ("Cf", "Cs") or character in _JOINERS:
            kept.append(character)
    return " ".join("".join(kept).split())
