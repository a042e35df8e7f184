"""A company's own letter files as plain texts, as a bundle carries them: few names, small, and checked."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from armin.errors import DataError, ParameterError

__all__ = ["Templates", "check_own", "parse_toml", "read_own"]

Templates = str | Path | Mapping[str, str]
"""A folder, or what its files hold, by name."""

LAYOUTS = ("letter.html.j2", "letter.txt.j2", "letter.css")
MOST_FILES = 24
LONGEST_FILE = 2**16
LONGEST_TEXT = 4000
LONGEST_LIST = 200
DEEPEST = 6
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z]{2,4})?\.toml")


def read_own(folder: str | Path) -> dict[str, str]:
    r"""The letter files in a folder, to be put into a bundle.

    Parameters
    ----------
    folder : the folder; a file in it that is no letter file is refused, unless it is hidden

    Returns
    -------
    dict
        Name to text.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "de.toml").write_text('[labels]\nIncome = "Einkommen"', encoding="utf-8")
    ...     list(read_own(folder))
    ['de.toml']
    """
    where = Path(folder)
    if not where.is_dir():
        raise ParameterError(f"The letter files must be in a folder. {str(folder)!r} is none.")
    files = {}
    for path in sorted(where.iterdir()):
        if path.name.startswith("."):
            continue
        if not _known(path.name) or not path.is_file():
            raise ParameterError(f"{path.name!r} is no letter file. {_RULE} Take it out of the folder.")
        try:
            if path.stat().st_size > 4 * LONGEST_FILE:
                raise ParameterError(f"{path.name} is too long: at most {LONGEST_FILE:,} characters. Shorten it.")
            files[path.name] = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ParameterError(
                f"{path.name} cannot be read as a text in UTF-8 ({type(error).__name__}). Store it anew."
            ) from None
    return check_own(files)


_RULE = f"There may be {', '.join(LAYOUTS)} and one file per language, such as de.toml."


def check_own(files: object) -> dict[str, str]:
    """Letter files that may be used: known names, texts of a reasonable size, TOML that can be read.

    Parameters
    ----------
    files : name to text

    Returns
    -------
    dict
        The same.

    Examples
    --------
    >>> check_own({"../de.toml": ""})
    Traceback (most recent call last):
        ...
    armin.errors.DataError: '../de.toml' is no letter file. ...
    """
    if not isinstance(files, Mapping) or not all(isinstance(x, str) for pair in files.items() for x in pair):
        raise DataError("Letter files must be given as a mapping of file name to text.")
    if len(files) > MOST_FILES:
        raise DataError(f"There may be at most {MOST_FILES} letter files. Got {len(files)} instead.")
    for name, text in files.items():
        if not _known(name):
            raise DataError(f"{name[:80]!r} is no letter file. {_RULE}")
        if len(text) > LONGEST_FILE:
            raise DataError(f"{name} must have at most {LONGEST_FILE:,} characters. Got {len(text):,} instead.")
        if name.endswith(".toml"):
            for key, value in _leaves(parse_toml(text, name), name, ()):
                _check_leaf(name, key, value)
    return dict(files)


def parse_toml(text: str, name: str) -> dict[str, Any]:
    """The tables of a file with texts."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        said = str(error) if isinstance(error, tomllib.TOMLDecodeError) else type(error).__name__
        raise ParameterError(f"The texts in {name} are not valid TOML: {said}. Correct the file.") from None


def _known(name: str) -> bool:
    return name in LAYOUTS or _LANGUAGE.fullmatch(name) is not None


def _leaves(table: Mapping[str, Any], name: str, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    if len(path) > DEEPEST:
        raise DataError(f"The tables in {name} must be nested at most {DEEPEST} deep.")
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, name, (*path, key))
        else:
            yield ".".join((*path, key)), value


def _check_leaf(name: str, key: str, value: object) -> None:
    if isinstance(value, list) and len(value) > LONGEST_LIST:
        raise DataError(f"{key} in {name} must have at most {LONGEST_LIST} entries. Got {len(value)} instead.")
    for text in value if isinstance(value, list) else [value]:
        if not isinstance(text, str) or len(text) > LONGEST_TEXT:
            raise DataError(
                f"{key} in {name} must be a text, or a list of texts, of at most {LONGEST_TEXT:,} characters each."
            )
