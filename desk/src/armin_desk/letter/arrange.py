"""The sections of a letter, put together as its pack says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from armin.errors import ParameterError
from armin.words import Catalogue, Name
from armin_desk.letter.given import Told, is_due, values_in, written
from armin_desk.letter.pack import OWN, Kind, Line, Pack, Part

__all__ = ["Section", "arrange"]

Say = Callable[..., str]
Own = Callable[[Part], "Section | None"]


@dataclass(frozen=True)
class Section:
    """One part of a letter.

    Attributes
    ----------
    name : such as "decision", "reasons", "plan"; a pack has further ones
    title : the heading
    before : paragraphs
    items : a list behind them
    numbered : whether the list is numbered
    after : paragraphs behind the list
    required : whether a letter without it is refused
    source : who asks for it
    shows : what must be read in it

    Examples
    --------
    >>> Section("plan", "Your plan", items=("Pay back one loan.",)).items
    ('Pay back one loan.',)
    """

    name: str
    title: str
    before: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    numbered: bool = False
    after: tuple[str, ...] = ()
    required: bool = False
    source: str = ""
    shows: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """All that it says below its heading."""
        return (*self.before, *self.items, *self.after)


def arrange(
    pack: Pack, kind: Kind, told: Told, words: Catalogue, say: Say, own: Own, columns: tuple[Name, ...]
) -> tuple[Section, ...]:
    """The sections of a letter, in the order of its pack.

    Parameters
    ----------
    pack : what the letter must say
    kind : which letter
    told : what the company tells
    words : how the language says things
    say : the same, with what the letter knows filled in
    own : writes the sections that are the letter's own; None for one that there is nothing to say in
    columns : what the model takes into account
    """
    values = {**written(told), "columns": columns}
    found = []
    for part in pack.of(kind):
        if not is_due(part, told):
            continue
        made = own(part) if part.name in OWN else _said(part, told, partial(say, **values))
        if made is None and not part.required:
            continue
        shows = tuple(words.written(value) for value in values_in(part, pack, told))
        found.append(replace(made or Section(part.name, ""), required=part.required, source=part.source, shows=shows))
        _check(pack, found[-1])
    return tuple(found)


def _said(part: Part, told: Told, say: Say) -> Section:
    """A section in the words that the pack names."""
    chosen = {name: value for name, value in told.items() if isinstance(value, str)}

    def spoken(lines: tuple[Line, ...]) -> tuple[str, ...]:
        return tuple(say(line.code.format_map(chosen)) for line in lines if _holds(line, told))

    listed: Any = told.get(part.listed) or ()
    return Section(
        part.name, say(part.title), (" ".join(spoken(part.texts)),), (*spoken(part.items), *listed),
        after=(" ".join(spoken(part.after)),) if part.after else (),
    )  # fmt: skip


def _holds(line: Line, told: Told) -> bool:
    given = told.get(line.with_) is not None if line.with_ else True
    return given and (told.get(line.without) is None if line.without else True)


def _check(pack: Pack, section: Section) -> None:
    """Refuse a required section that a company's own texts have emptied."""
    if not section.required:
        return
    text = " ".join(" ".join(section.lines).split())
    lost = next((shown for shown in section.shows if " ".join(shown.split()) not in text), None)
    if not text or lost is not None:
        raise ParameterError(
            f"The section {section.name!r} of the letter, which the pack {pack.name!r} requires ({section.source}), "
            f"{f'does not say {lost!r}' if text else 'has no text'}. Correct your own texts for it, or leave "
            "them out."
        )
