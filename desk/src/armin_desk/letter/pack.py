"""Packs: what the letters of one jurisdiction and trade must say, as data; their texts are in the catalogue."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from armin.errors import ParameterError

__all__ = ["OWN", "Field", "Kind", "Line", "Pack", "Part", "known_fields", "packs", "read_pack"]

Kind = Literal["rejected", "accepted", "incomplete"]
OWN = ("decision", "reasons", "plan", "alternatives", "blanks", "sure", "promise", "needed")
"""Sections whose sentences the letter makes itself; a pack only says where they stand and whether they are required."""
KINDS = ("text", "lines", "date", "deadline", "choice")
LETTERS = ("rejected", "accepted", "incomplete")
_FOLDER = files("armin_desk.letter") / "packs"  # not by its own name: a folder that is imported hides the function


@dataclass(frozen=True)
class Field:
    """Something that a company must tell.

    Attributes
    ----------
    name : what it is called
    kind : "text", "lines", "date", "deadline" (a date, or days after the letter's date) or "choice"
    asks : what is asked for
    example : how it may look
    choices : what may be chosen
    none : whether "none" may be said
    person : whether it differs from person to person
    least, most : how many lines
    """

    name: str
    kind: str
    asks: str
    example: Any = ""
    choices: tuple[str, ...] = ()
    none: bool = False
    person: bool = False
    least: int = 1
    most: int = 1


@dataclass(frozen=True)
class Line:
    """One text of a section: its code, and the field that must be told for it, or be said to be "none"."""

    code: str
    with_: str = ""
    without: str = ""


@dataclass(frozen=True)
class Part:
    """One section of a pack's letters.

    Attributes
    ----------
    name : what it is called
    letters : the kinds of letters that have it
    required : whether a letter without it is refused
    when : a field; the section is left out where that is "none", or, if it is not required, not told
    title, texts, items, after : codes of its words; empty for the sections that the letter writes itself
    listed : a field whose lines are the section's items
    needs : the fields without which it cannot be written
    reasons : for the section of reasons: "some" must be stated, or such as "weighed"; "" for any
    source : who asks for it
    """

    name: str
    letters: tuple[Kind, ...] = ("rejected",)
    required: bool = False
    when: str = ""
    title: str = ""
    texts: tuple[Line, ...] = ()
    items: tuple[Line, ...] = ()
    after: tuple[Line, ...] = ()
    listed: str = ""
    needs: tuple[str, ...] = ()
    reasons: str = ""
    source: str = ""


@dataclass(frozen=True)
class Pack:
    """What the letters of one jurisdiction and trade must say.

    Attributes
    ----------
    name : what it is called
    summary : what it is for
    action : which sentence states the action taken
    sections : in the order of the letter
    sender : who asks for the sender's name and address; "" if a letter without them is a draft
    known : the fields that it may be told

    Examples
    --------
    >>> pack = read_pack("us-credit")
    >>> [part.name for part in pack.sections if part.required][:4]
    ['needed', 'respond', 'decision', 'reasons']
    >>> pack["ecoa"].source
    '12 CFR 1002.9(a)(2) and (b)(1); 15 U.S.C. 1691(a)'
    """

    name: str
    summary: str
    action: str
    sections: tuple[Part, ...]
    sender: str = ""
    known: Mapping[str, Field] = field(default_factory=dict, repr=False)

    def __getitem__(self, name: str) -> Part:
        return next(part for part in self.sections if part.name == name)

    def of(self, kind: Kind) -> tuple[Part, ...]:
        """The sections of one kind of letter."""
        return tuple(part for part in self.sections if kind in part.letters)


def packs() -> tuple[str, ...]:
    """The packs that come with the package.

    >>> packs()
    ('education', 'eu-credit', 'eu-employment', 'plain', 'us-credit')
    """
    found = (entry.name for entry in _FOLDER.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml")))


@cache
def known_fields() -> dict[str, Field]:
    """The fields that packs ask for, by name.

    >>> known_fields()["decided"].choices
    ('automated', 'assisted')
    """
    return _fields(
        tomllib.loads((files("armin_desk.letter") / "fields.toml").read_text(encoding="utf-8")), "fields.toml"
    )


def read_pack(name: str | Path) -> Pack:
    """A pack by its name, or from a TOML file of your own.

    Parameters
    ----------
    name : one of :func:`packs`, or a path that ends in ``.toml``; such a file may define fields of its own, as tables
        ``[fields.NAME]``

    Examples
    --------
    >>> read_pack("plain").sender
    ''
    """
    if str(name).endswith(".toml"):
        path = Path(name)
        try:
            return _pack(path.stem, tomllib.loads(path.read_text(encoding="utf-8")))
        except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
            raise ParameterError(f"The pack {str(name)!r} cannot be read: {error}. Correct the file.") from None
    return _packaged(str(name))


@cache
def _packaged(name: str) -> Pack:
    if name not in packs():
        raise ParameterError(
            f"The 'pack' of a letter must be one of: {', '.join(packs())}; or a TOML file of your own. "
            f"Got {name!r} instead."
        )
    return _pack(name, tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8")))


def _pack(name: str, table: Mapping[str, Any]) -> Pack:
    for key in ("summary", "action"):
        if not isinstance(table.get(key), str):
            raise ParameterError(f"The pack {name!r} must have a text {key!r}. Got {table.get(key)!r} instead.")
    known = {**known_fields(), **_fields(table.get("fields", {}), name)}
    parts = tuple(_part(name, one, known) for one in table.get("section", ()))
    names = [part.name for part in parts]
    if "decision" not in names or len(set(names)) < len(names):
        raise ParameterError(
            f"The pack {name!r} must have each section once, and 'decision' among them. Got {names!r} instead."
        )
    return Pack(name, table["summary"], table["action"], parts, str(table.get("sender", "")), known)


def _part(pack: str, table: Mapping[str, Any], known: Mapping[str, Field]) -> Part:
    name = table.get("name")
    if not isinstance(name, str) or set(table) - {one.name for one in fields(Part)}:
        raise _wrong(pack, name, "must have a 'name', and nothing that is not known", sorted(table))
    said: Any = {k: tuple(_line(pack, name, one) for one in table.get(k, ())) for k in ("texts", "items", "after")}
    rest: Any = {
        key: tuple(value) if isinstance(value, list) else value for key, value in table.items() if key not in said
    }
    part = Part(**rest, **said)
    every = (*part.texts, *part.items, *part.after)
    asked = {*part.needs, part.when, part.listed, *(one.with_ for one in every), *(one.without for one in every)} - {""}
    if unknown := sorted(asked - known.keys()):
        raise _wrong(pack, name, "must need known fields, or those that the pack defines as [fields.NAME]", unknown[0])
    if part.required and not part.source:
        raise _wrong(pack, name, "is required, so it must say by its 'source' who asks for it", part.source)
    if (name in OWN) == bool(part.texts and part.title):
        raise _wrong(pack, name, f"must have 'title' and 'texts', except {', '.join(OWN)}", sorted(table))
    if not set(part.letters) <= set(LETTERS):
        raise _wrong(pack, name, f"must have 'letters' from {', '.join(LETTERS)}", list(part.letters))
    if part.reasons not in ("", "some", "weighed"):
        raise _wrong(pack, name, "must have 'reasons' from some, weighed", part.reasons)
    return part


def _line(pack: str, name: str, one: Any) -> Line:
    if isinstance(one, str):
        return Line(one)
    if isinstance(one, Mapping) and isinstance(one.get("code"), str) and set(one) <= {"code", "with", "without"}:
        return Line(one["code"], str(one.get("with", "")), str(one.get("without", "")))
    raise _wrong(pack, name, "must name texts by their code, or as {code, with, without}", one)


def _wrong(pack: str, name: object, rule: str, got: object) -> ParameterError:
    return ParameterError(f"The section {name!r} of the pack {pack!r} {rule}. Got {got!r} instead.")


def _fields(table: Any, pack: str) -> dict[str, Field]:
    found = {}
    for name, one in table.items() if isinstance(table, Mapping) else ():
        try:
            said: Any = {key: tuple(value) if isinstance(value, list) else value for key, value in one.items()}
            made = Field(name=name, **said)
        except (TypeError, AttributeError):
            raise ParameterError(
                f"The field {name!r} of the pack {pack!r} must have 'kind' and 'asks'. Got {one!r} instead."
            ) from None
        if made.kind not in KINDS:
            raise ParameterError(
                f"The kind of the field {name!r} of the pack {pack!r} must be one of {', '.join(KINDS)}. "
                f"Got {made.kind!r} instead."
            )
        found[name] = made
    return found
