"""The words of a letter, by language: packaged ones, and a company's own before them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from armin.errors import ParameterError
from armin.letter.own import Templates, check_own, parse_toml

__all__ = ["Texts", "check_texts", "languages", "load_texts"]

BASE = "en"
_HOLE = re.compile(r"\{(\w+)\}")


def languages(templates: Templates | None = None) -> tuple[str, ...]:
    """The languages that a letter can be written in.

    Parameters
    ----------
    templates : a company's folder, or its files by name; there may be further languages

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> languages()
    ('de', 'en')
    """
    found = {entry.name for entry in resources.files("armin.letter").joinpath("texts").iterdir()}
    if templates is not None:
        names = templates if isinstance(templates, Mapping) else (path.name for path in _folder(templates).iterdir())
        found |= set(names)
    return tuple(sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml")))


@dataclass(frozen=True)
class Texts:
    """The words of one language.

    Attributes
    ----------
    language : its code, such as "de"
    table : the words, as in the TOML file, with what the file leaves out filled in

    Examples
    --------
    >>> load_texts("en").say("change.raise_by", {"label": "Income", "amount": "$5,000"})
    'Raise Income by $5,000, whatever it is now.'
    """

    language: str
    table: Mapping[str, Any]

    def say(self, key: str, values: Mapping[str, str] | None = None) -> str:
        """The text behind ``"table.key"``, with ``{holes}`` filled."""
        pattern = self._find(key)
        if not isinstance(pattern, str):
            raise ParameterError(
                f"The text {key!r} of language {self.language!r} must be a text. Got {pattern!r} instead."
            )
        given = values or {}

        def fill(hole: re.Match[str]) -> str:
            if hole[1] not in given:
                known = ", ".join(f"{{{name}}}" for name in given) or "nothing"
                raise ParameterError(
                    f"The text {key!r} of language {self.language!r} asks for {{{hole[1]}}}, which it is not given. "
                    f"It may use: {known}."
                )
            return given[hole[1]]

        return _HOLE.sub(fill, pattern)

    def many(self, key: str) -> tuple[str, ...]:
        """The list of texts behind ``"table.key"``."""
        found = self._find(key)
        if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
            raise ParameterError(
                f"The text {key!r} of language {self.language!r} must be a list of texts. Got {found!r} instead."
            )
        return tuple(found)

    def name_of(self, table: str, name: str, otherwise: str) -> str:
        """A translated name from the tables that a company fills, or what it is called anyway."""
        said = self.table[table].get(name)
        return said if isinstance(said, str) else otherwise

    def _find(self, key: str) -> Any:
        table, name = key.split(".")
        return self.table.get(table, {}).get(name)


def load_texts(language: str, templates: Templates | None = None) -> Texts:
    """The words of a language.

    A key that a company's file leaves out is taken from the packaged file of that language, or from the English one.

    Parameters
    ----------
    language : one of :func:`languages`
    templates : a company's folder with files such as ``en.toml``, or its files by name

    Returns
    -------
    Texts

    Examples
    --------
    >>> load_texts("de").say("letter.reference")
    'Aktenzeichen'
    """
    known = languages(templates)
    if language not in known:
        raise ParameterError(
            f"The 'language' of a letter must be one of: {', '.join(known)}. Got {language!r} instead. "
            "For another language, put a file such as fr.toml into your templates folder."
        )
    table: dict[str, Any] = {}
    packaged = resources.files("armin.letter").joinpath("texts")
    for code in (BASE, language):
        entry = packaged.joinpath(f"{code}.toml")
        if entry.is_file():
            table = _merged(table, parse_toml(entry.read_text(encoding="utf-8"), entry.name))
    if templates is not None:
        table = _merged(table, _read(templates, f"{language}.toml"))
    return Texts(language, table)


def check_texts(texts: Texts) -> None:
    r"""Refuse words that a letter would stumble over: of another type than the English ones, or with other holes.

    Parameters
    ----------
    texts : the words of one language

    Examples
    --------
    >>> check_texts(load_texts("en", {"en.toml": '[plan]\ntitle = "For {whom}"'}))
    Traceback (most recent call last):
        ...
    armin.errors.ParameterError: The text 'plan.title' of language 'en' asks for {whom}, which it is not given. ...
    """
    for name, table in load_texts(BASE).table.items():
        for key, usual in table.items():
            if isinstance(usual, list):
                found = texts.many(f"{name}.{key}")
                if key == "months" and len(found) != len(usual):
                    raise ParameterError(
                        f"'{name}.{key}' of language {texts.language!r} needs {len(usual)} names. Got {len(found)}."
                    )
            elif isinstance(usual, str):
                texts.say(f"{name}.{key}", dict.fromkeys(_HOLE.findall(usual), ""))


def _folder(templates: str | Path) -> Path:
    folder = Path(templates)
    if not folder.is_dir():
        raise ParameterError(f"The 'templates' of a letter must be a folder. Got {str(templates)!r} instead.")
    return folder


def _read(templates: Templates, name: str) -> dict[str, Any]:
    if isinstance(templates, Mapping):
        return parse_toml(check_own(templates).get(name, ""), name)
    path = _folder(templates) / name
    if not path.is_file():
        return {}
    try:
        return parse_toml(path.read_text(encoding="utf-8"), name)
    except UnicodeDecodeError as error:
        raise ParameterError(f"The texts in {name} are not valid TOML: {error}. Correct the file.") from None


def _merged(under: dict[str, Any], over: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """The tables of ``under`` with those of ``over`` on top."""
    result = dict(under)
    for key, value in over.items():
        if isinstance(result.get(key), dict):
            if not isinstance(value, Mapping):
                raise ParameterError(
                    f"{path}{key} must be a table, [{path}{key}], in the texts. Got {value!r} instead."
                )
            result[key] = _merged(result[key], value, f"{path}{key}.")
        else:
            result[key] = value
    return result
