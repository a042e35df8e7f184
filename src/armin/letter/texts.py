"""The words of a letter, by language: packaged ones, and a company's own before them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from armin.errors import ParameterError

__all__ = ["Texts", "languages", "load_texts"]

BASE = "en"
_HOLE = re.compile(r"\{(\w+)\}")


def languages(templates: str | Path | None = None) -> tuple[str, ...]:
    """The languages that a letter can be written in.

    Parameters
    ----------
    templates : a company's folder, which may hold further languages

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
        found |= {path.name for path in _folder(templates).iterdir()}
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


def load_texts(language: str, templates: str | Path | None = None) -> Texts:
    """The words of a language.

    A key that a company's file leaves out is taken from the packaged file of that language, or from the English one.

    Parameters
    ----------
    language : one of :func:`languages`
    templates : a company's folder with files such as ``en.toml``

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
            table = _merged(table, tomllib.loads(entry.read_text(encoding="utf-8")))
    if templates is not None:
        table = _merged(table, _read(_folder(templates) / f"{language}.toml"))
    return Texts(language, table)


def _folder(templates: str | Path) -> Path:
    folder = Path(templates)
    if not folder.is_dir():
        raise ParameterError(f"The 'templates' of a letter must be a folder. Got {str(templates)!r} instead.")
    return folder


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"The texts in {path.name} are not valid TOML: {error}. Correct the file.") from None


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
