"""What leaves the command line: nothing in it steers a terminal, and no cell is a formula to a spreadsheet."""

from __future__ import annotations

import re
from typing import Any

import typer

__all__ = ["cell", "escaped", "tell", "visible"]

_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")
_TURNS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_STEERS = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff{_TURNS}]")
_STEERS_RAW = re.compile(f"[\x7f-\x9f\ud800-\udfff{_TURNS}]")


def visible(text: str) -> str:
    r"""A text without what steers a terminal or turns the direction of writing; line breaks and tabs stay.

    >>> visible("Ada\x1b[2J\u202e\n")
    'Ada[2J\n'
    """
    return _STEERS.sub("", text)


def escaped(text: str) -> str:
    r"""JSON or TOML in which such characters are written as escapes: the same data, and nothing to steer with.

    >>> escaped('"\x9b2J"')
    '"\\u009b2J"'
    """
    return _STEERS_RAW.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def cell(value: Any) -> Any:
    r"""A cell of a CSV file: a text that a spreadsheet would take as a formula gets an apostrophe; numbers stay.

    >>> [cell(value) for value in ("=1+1", "@SUM(A1)", "-12.5", -12.5, "Ada", "- none", "a\x1b[2Jb")]
    ["'=1+1", "'@SUM(A1)", '-12.5', -12.5, 'Ada', "'- none", 'a[2Jb']
    """
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def tell(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print a text for people."""
    typer.echo(visible(text), err=err, nl=nl)
