"""A message: what is to be said, not yet how."""

from __future__ import annotations

import string
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["Message"]


class Message:
    """What is to be said: a code and its values. Equal messages say the same; ``str`` says it in English.

    Parameters
    ----------
    code : the entry of the catalogue, such as "draws.few"
    values : what the entry mentions; numbers stay numbers until they are written down
    """

    __slots__ = ("_values", "code")

    def __init__(self, code: str, /, **values: Any) -> None:
        self.code = code
        self._values = tuple(sorted(values.items()))

    @property
    def values(self) -> dict[str, Any]:
        """The values by name."""
        return dict(self._values)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def text(self, language: str = "en") -> str:
        """The message in a language."""
        table: Any = _catalogue(language)
        for part in self.code.split("."):
            table = table[part]
        return _Formatter().vformat(str(table), (), self.values)

    def to_dict(self) -> dict[str, Any]:
        """The message as plain data."""
        return {"code": self.code, "values": self.values}

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"Message({self.code!r}{''.join(f', {k}={v!r}' for k, v in self._values)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and (self.code, self._values) == (other.code, other._values)

    def __hash__(self) -> int:
        return hash((self.code, self._values))


class _Formatter(string.Formatter):
    def format_field(self, value: Any, spec: str) -> Any:
        from armin.report import words

        ways: dict[str, Any] = {
            "percent": words.percent,
            "at_least": words.at_least,
            "figure": words.figure,
            "number": lambda n: f"{n:,}",
            "start": lambda t: str(t)[0].upper() + str(t)[1:],
            "and": lambda items: ", ".join(map(str, items)),
            "or": lambda items: ", ".join(map(str, items)),
        }
        return ways[spec](value) if spec in ways else super().format_field(value, spec)


@cache
def _catalogue(language: str) -> dict[str, Any]:
    return tomllib.loads((files("armin.words") / f"{language}.toml").read_text(encoding="utf-8"))
