"""What a letter says that asks for missing information, before it is laid out."""

from __future__ import annotations

from armin.schema import Schema
from armin.words import Catalogue, Name
from armin_desk.letter.arrange import Section, arrange
from armin_desk.letter.given import Told
from armin_desk.letter.pack import Pack

__all__ = ["requested"]


def requested(
    needed: tuple[Name, ...], schema: Schema, pack: Pack, told: Told, words: Catalogue
) -> tuple[Section, ...]:
    """The parts of a notice of incompleteness, in the order of its pack."""
    items = tuple(words.say("pack.needed.item", label=name) for name in needed)
    asked = Section("needed", words.say("pack.needed.title"), (words.say("pack.needed.intro"),), items)
    columns = tuple(feature.named for feature in schema)
    return arrange(pack, "incomplete", told, words, words.say, lambda _: asked, columns)
