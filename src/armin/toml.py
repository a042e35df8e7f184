"""TOML from strangers: read in time, or refused."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from armin.errors import SchemaError

__all__ = ["parse_toml"]

_MOST_PARTS = 50
_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?<![\w\\-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{_MOST_PARTS}}}")


def parse_toml(text: str) -> dict[str, Any]:
    r"""What TOML text says, if it is no more nested than a schema is: reading takes the square of a key's length.

    >>> parse_toml("a.b = 1\n")
    {'a': {'b': 1}}
    >>> parse_toml(".".join("a" * 99) + " = 1\n")
    Traceback (most recent call last):
        ...
    armin.errors.SchemaError: The schema is not valid TOML: a key with more than 50 parts. A schema needs five.
    """
    if _LONG_KEY.search(text):
        raise SchemaError(
            f"The schema is not valid TOML: a key with more than {_MOST_PARTS} parts. A schema needs five."
        )
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # too many digits, too deep; TOMLDecodeError is one of the first
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error).rstrip(".")
        raise SchemaError(f"The schema is not valid TOML: {reason}.") from None
