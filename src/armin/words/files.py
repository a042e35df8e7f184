"""One file of texts per language: read, and laid over the English one."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from armin.errors import ParameterError
from armin.words.catalogue import Catalogue

__all__ = ["BASE", "NAMES", "catalogue", "entries", "languages", "parse_texts"]

BASE = "en"
NAMES = (
    "labels", "values", "units", "decisions", "short_labels", "groups", "helps", "examples", "fields", "titles",
    "stories",
)  # fmt: skip
"""Tables for what comes from the schema, the model and the company; a language need not have any entry there."""
PLURALS = frozenset(["zero", "one", "two", "few", "many", "other"])


def languages(own: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """The languages that there are words for, with those that a company adds.

    >>> languages(), languages({"fr": {}})
    (('de', 'en'), ('de', 'en', 'fr'))
    """
    found = {
        entry.name.removesuffix(".toml") for entry in files("armin.words").iterdir() if entry.name.endswith("toml")
    }
    return tuple(sorted(found | set(own or ())))


def catalogue(language: str = BASE, own: Mapping[str, Any] | None = None) -> Catalogue:
    """The words of a language: English, the packaged file of the language, and a company's own on top.

    Parameters
    ----------
    language : one of :func:`languages`
    own : a company's texts by language, each a table as in the TOML file

    Examples
    --------
    >>> catalogue("fr", {"fr": {"plan": {"title": "Votre plan"}}}).say("plan.title")
    'Votre plan'
    """
    if not own or language not in own:
        return _packaged(language)
    base = _table(language) if language in languages() else {"language": {"locale": language}}
    return Catalogue(language, _merged(_merged(_table(BASE), base), own[language]))


@cache
def _packaged(language: str) -> Catalogue:
    if language not in languages():
        raise ParameterError(
            f"The 'language' must be one of: {', '.join(languages())}. Got {language!r} instead. "
            "For another language, bring a file such as fr.toml."
        )
    return Catalogue(language, _merged(_table(BASE), _table(language)))


@cache
def _table(language: str) -> dict[str, Any]:
    name = f"{language}.toml"
    return parse_texts((files("armin.words") / name).read_text(encoding="utf-8"), name)


def parse_texts(text: str, name: str) -> dict[str, Any]:
    """The tables of a file with texts."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        said = str(error) if isinstance(error, tomllib.TOMLDecodeError) else type(error).__name__
        raise ParameterError(f"The texts in {name} are not valid TOML: {said}. Correct the file.") from None


def entries(table: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every entry of a table with its code, names apart; plural forms belong to one entry.

    >>> dict(entries({"plan": {"title": "Your plan"}, "labels": {"Age": "age"}}))
    {'plan.title': 'Your plan'}
    """
    for key, value in table.items():
        if not path and key in NAMES:
            continue
        if isinstance(value, Mapping) and not (value and PLURALS.issuperset(value)):
            yield from entries(value, (*path, key))
        else:
            yield ".".join((*path, key)), value


def _merged(under: Mapping[str, Any], over: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """The tables of ``under`` with those of ``over`` on top."""
    result = dict(under)
    for key, value in over.items():
        known = result.get(key)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            result[key] = _merged(known, value, f"{path}{key}.")
        elif isinstance(known, Mapping) and not (known and PLURALS.issuperset(known)):
            raise ParameterError(f"{path}{key} must be a table, [{path}{key}], in the texts. Got {value!r} instead.")
        else:
            result[key] = value
    return result
