"""What a language file lacks, has too much, or has wrong, judged by the English one."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from string import Formatter
from typing import Any

from armin.words.catalogue import FORMATS, Catalogue
from armin.words.files import BASE, catalogue, entries

__all__ = ["faults", "holes", "lacking", "surplus"]


def lacking(table: Mapping[str, Any]) -> list[str]:
    """The codes that English has and a language does not: what it says there is English.

    >>> "plan.title" in lacking({}), "plan.title" in lacking({"plan": {"title": "Votre plan"}})
    (True, False)
    """
    own = dict(entries(table))
    return [code for code, _ in entries(catalogue(BASE).table) if code not in own]


def surplus(table: Mapping[str, Any]) -> list[str]:
    """The codes that a language has and English does not: nobody says them, except a template of your own.

    >>> surplus({"own": {"motto": "Fair and square"}})
    ['own.motto']
    """
    base = dict(entries(catalogue(BASE).table))
    return [code for code, _ in entries(table) if code not in base]


def faults(language: str, table: Mapping[str, Any], *, same_holes: bool = False) -> Iterator[str]:
    """What cannot be said as it stands: entries of another kind than in English, unknown holes and formats.

    Parameters
    ----------
    language : the code of the language
    table : its texts
    same_holes : whether every hole must be used

    Examples
    --------
    >>> list(faults("fr", {"plan": {"title": "Pour {whom}"}}))
    ["The text 'plan.title' of language 'fr' asks for {whom}, which it is not given. It may use: nothing."]
    """
    # merging refuses what must be a table, and the locale is read
    words: Catalogue = catalogue(language, {language: table})
    _ = words.locale
    base = dict(entries(catalogue(BASE).table))
    for code, text in entries(table):
        usual = base.get(code)
        if usual is None:
            continue
        where = f"The text {code!r} of language {language!r}"
        if isinstance(usual, list):
            if not isinstance(text, list) or not all(isinstance(one, str) for one in text):
                yield f"{where} must be a list of texts. Got {text!r} instead."
            continue
        forms = list(text.values()) if isinstance(text, Mapping) else [text]
        if not all(isinstance(form, str) for form in forms):
            yield f"{where} must be a text. Got {text!r} instead."
            continue
        if any(unicodedata.category(character) in ("Cc", "Cs") for form in forms for character in form):
            yield f"{where} holds a control character. Take it out."
        if isinstance(text, Mapping) and "other" not in text:
            yield f"{where} needs the form 'other'."
        try:
            found, known = holes(text), holes(usual)
        except ValueError as error:
            yield f"{where} cannot be read: {error}."
            continue
        for name in sorted(found.keys() - known.keys()):
            may = ", ".join(f"{{{one}}}" for one in sorted(known)) or "nothing"
            yield f"{where} asks for {{{name}}}, which it is not given. It may use: {may}."
        if same_holes and known.keys() - found.keys():
            yield f"{where} leaves out {', '.join(sorted(known.keys() - found.keys()))}."
        for name, how in found.items():
            if how - FORMATS.keys():
                yield f"{where} writes {{{name}}} as {', '.join(how - FORMATS.keys())}, which is not known."


def holes(text: Any) -> dict[str, set[str]]:
    """The holes of an entry, over all its plural forms, and how each is written.

    >>> holes({"one": "One way", "other": "{n:word} ways for {share:percent}"})
    {'n': {'word'}, 'share': {'percent'}}
    """
    found: dict[str, set[str]] = {}
    for form in text.values() if isinstance(text, Mapping) else [text]:
        for _, name, how, _ in Formatter().parse(form):
            if name is not None:
                found.setdefault(name, set()).add(how or "")
    return found
