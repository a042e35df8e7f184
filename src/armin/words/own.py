"""A company's own words and layout: texts by language, and a folder of templates, which is code of the company."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from armin.errors import DataError, ParameterError
from armin.words.check import faults
from armin.words.files import parse_texts

__all__ = ["OwnWords", "check_words", "read_words"]

OwnWords = Mapping[str, Mapping[str, Any]]
"""Texts by language, each a table as in the TOML file."""


def read_words(folder: str | Path) -> dict[str, dict[str, Any]]:
    r"""The texts in a folder: one TOML file per language.

    Parameters
    ----------
    folder : the folder, with files such as ``de.toml``; what else is in it is left alone

    Returns
    -------
    dict
        Language to its texts.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "de.toml").write_text('[labels]\nIncome = "Einkommen"', encoding="utf-8")
    ...     read_words(folder)
    {'de': {'labels': {'Income': 'Einkommen'}}}
    """
    where = Path(folder)
    if not where.is_dir():
        raise ParameterError(f"The 'templates' of a letter must be a folder. Got {str(folder)!r} instead.")
    found = {}
    for path in sorted(where.glob("*.toml")):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ParameterError(f"The texts in {path.name} are not valid TOML: {error}. Correct the file.") from None
        found[path.stem] = parse_texts(text, path.name)
    return found


def check_words(words: object) -> dict[str, dict[str, Any]]:
    """Texts that a letter and a page can be written with: of the same kind and with the same holes as the English ones.

    Parameters
    ----------
    words : language to its texts

    Returns
    -------
    dict
        The same.

    Examples
    --------
    >>> check_words({"en": {"plan": {"title": "For {whom}"}}})
    Traceback (most recent call last):
        ...
    armin.errors.ParameterError: The text 'plan.title' of language 'en' asks for {whom}, which it is not given. ...
    """
    if not isinstance(words, Mapping) or not all(isinstance(table, Mapping) for table in words.values()):
        raise DataError("Letter texts must be given as a mapping of language to tables.")
    for language in words:
        for fault in faults(str(language), words[language]):
            raise ParameterError(fault)
    return {str(language): dict(table) for language, table in words.items()}
