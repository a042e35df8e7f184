"""A message: what is to be said, not yet how."""

from __future__ import annotations

from typing import Any

from armin.words.catalogue import Catalogue
from armin.words.files import catalogue

__all__ = ["Message"]


class Message:
    """What is to be said: a code and its values. Equal messages say the same; ``str`` says it in English.

    Parameters
    ----------
    code : the entry of the catalogue, such as "draws.few"
    values : what the entry mentions; numbers stay numbers until they are written down, and a value may itself be a
        message, a :class:`armin.words.Name` or a :class:`armin.words.Quantity`

    Examples
    --------
    >>> Message("draws.few", kept=1200, drawn=5000).text("de")
    'Nur 1.200 von 5.000 plausiblen Möglichkeiten passen zu dem, was bekannt ist (die Ablehnung): Darauf beruht die Antwort.'
    """  # noqa: E501

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

    def said(self, words: Catalogue) -> str:
        """The message in a language, with the spaces that keep a number and its sign on one line."""
        return words.say(self.code, **self.values)

    def text(self, language: str = "en") -> str:
        """The message in a language, with plain spaces."""
        return self.said(catalogue(language)).replace("\u00a0", " ")

    def to_dict(self) -> dict[str, Any]:
        """The message as plain data."""
        return {"code": self.code, "values": {name: _plain(value) for name, value in self._values}}

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"Message({self.code!r}{''.join(f', {k}={v!r}' for k, v in self._values)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and (self.code, self._values) == (other.code, other._values)

    def __hash__(self) -> int:
        return hash((self.code, self._values))


def _plain(value: Any) -> Any:
    if isinstance(value, Message):
        return value.to_dict()
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if hasattr(value, "to_plain"):
        return value.to_plain()
    return value.item() if hasattr(value, "item") else value
