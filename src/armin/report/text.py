"""A result as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armin.report.words import path_end
from armin.words import Message, catalogue

__all__ = ["many_text", "path_text", "recourse_text"]


def recourse_text(
    headline: Message, changes: Sequence[Message], details: Sequence[Message], language: str = "en"
) -> str:
    """A recourse as lines of text."""
    lines = [headline.text(language)]
    if changes:
        lines += ["", *(f"  {i}. {change.text(language)}" for i, change in enumerate(changes, start=1)), ""]
    return "\n".join([*lines, *(line.text(language) for line in details)])


def many_text(rows: Sequence[tuple[str, float | None, float | None, str]], language: str = "en") -> str:
    """Answers for many people as a table: name, cost, share and advice of each.

    >>> print(many_text([("Ada", 1.5, 0.9, "Lower debt from 2 to 0.")]))
    row  cost  works for  what to do
    Ada  1.5        90 %  Lower debt from 2 to 0.
    """
    words = catalogue(language)
    lines = [tuple(words.say(f"path.{name}") for name in ("row", "cost", "works_for", "what_to_do"))]
    for name, cost, share, advice in rows:
        figures = ("" if cost is None else words.figure(cost), "" if share is None else words.percent(share))
        lines.append((name, *figures, advice))
    wide = [max(len(line[i]) for line in lines) for i in range(3)]
    table = [f"{a:<{wide[0]}}  {b:<{wide[1]}}  {c:>{wide[2]}}  {d}".rstrip() for a, b, c, d in lines]
    return "\n".join(table).replace("\u00a0", " ")


def path_text(
    points: list[dict[str, Any]],
    shorts: Sequence[Sequence[Message]],
    end: str,
    language: str = "en",
    width: int = 40,
    scope: str = "domain",
) -> str:
    """A cost-confidence path as a bar chart in text; ``end`` says why it ends, ``scope`` what that is about."""
    words = catalogue(language)
    head = words.say("path.works_for")
    lines = [f"{head}  {words.say('path.cost')}"] if points else []
    most = max((point["cost"] for point in points), default=0.0) or 1.0
    for point, short in zip(points, shorts, strict=True):
        bar = "█" * max(1, round(width * point["cost"] / most)) if point["cost"] > 0 else "·"
        what = "; ".join(change.said(words) for change in short) or words.say("short.nothing")
        lines.append(f"{words.percent(point['share']):>{len(head)}}  {words.figure(point['cost']):<7} {bar} {what}")
    last = path_end(points, end, scope)
    return "\n".join([*lines, last.said(words)] if last else lines).replace("\u00a0", " ")
