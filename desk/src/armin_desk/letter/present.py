"""What can be read in a finished letter, so that a template cannot lose what a pack requires."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser

from armin.errors import ParameterError
from armin_desk.letter.arrange import Section

__all__ = ["check_present", "visible"]

_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)
_UNSEEN = frozenset(["head", "style", "script", "template", "noscript", "title"])
_HIDES = re.compile(r"(display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")


class _Reader(HTMLParser):
    """The text of a page that people see: without comments, scripts, and what is marked as hidden."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.styles: list[str] = []
        self._open: list[tuple[str, bool]] = []

    @property
    def _hidden(self) -> bool:
        return any(hidden for _, hidden in self._open)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(" ")
        if tag in _VOID:
            return
        said = dict(attrs)
        hidden = tag in _UNSEEN or "hidden" in said or bool(_HIDES.search(said.get("style") or ""))
        self._open.append((tag, hidden))

    def handle_endtag(self, tag: str) -> None:
        self.seen.append(" ")
        for i in range(len(self._open) - 1, -1, -1):
            if self._open[i][0] == tag:
                del self._open[i:]
                break

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] == "style":
            self.styles.append(data)
        if not self._hidden:
            self.seen.append(data)


def visible(html: str) -> str:
    """The text of a page as people read it.

    >>> visible("<p>Dear <b>Ada</b>,</p><!-- <p>secret</p> --><p hidden>not here</p>")
    'Dear Ada ,'
    """
    return " ".join("".join(_read(html).seen).split())


def check_present(html: str, text: str, sections: Sequence[Section], sender: Sequence[str], pack: str) -> None:
    """Refuse a letter from which a template has dropped what the pack requires.

    Parameters
    ----------
    html, text : the letter
    sections : what it should hold; those that are not required are not looked for
    sender : lines that must be there too
    pack : the pack's name
    """
    page = _read(html)
    found = {"letter.html.j2": _flat("".join(page.seen)), "letter.txt.j2": _flat(text)}
    for file, seen in found.items():
        for section in sections:
            if section.required and not all(_flat(line) in seen for line in section.lines):
                raise _lost(pack, file, f"section {section.name!r}", section.source)
        if not all(_flat(line) in seen for line in sender):
            raise _lost(pack, file, "sender's name and address", "the sender must be known")
    for style in page.styles:
        for selector, rules in _RULE.findall(re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)):
            for section in sections:
                if section.required and _HIDES.search(rules) and re.search(rf"\.{section.name}(?![\w-])", selector):
                    raise _lost(pack, "letter.css", f"section {section.name!r}", section.source)


def _lost(pack: str, file: str, what: str, source: str) -> ParameterError:
    return ParameterError(
        f"The letter's {file} leaves out the {what}, which the pack {pack!r} requires ({source}). "
        "Put it back: print every one of 'sections' with its before, items and after, and 'organisation' and 'contact'."
    )


def _read(html: str) -> _Reader:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold()
