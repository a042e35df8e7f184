"""A result as HTML for a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from armin.report.words import path_end
from armin.words import Message, Name, catalogue

__all__ = ["curves_html", "many_html", "path_html", "recourse_html"]

_BOX = (
    "font-family:system-ui,sans-serif;max-width:44rem;border:1px solid #8884;border-left:4px solid {colour};"
    "border-radius:6px;padding:.7rem 1rem;line-height:1.45"
)
_GOOD, _CARE = "#2a7d4f", "#b7791f"
_COLOURS = {"plan": _GOOD, "already_accepted": _GOOD, "best_so_far": _CARE, "falls_short": _CARE, "tell": _CARE}


def recourse_html(
    outcome: str, headline: Message, changes: Sequence[Message], details: Sequence[Message], language: str = "en"
) -> str:
    """A recourse as a small card."""
    colour = _COLOURS.get(outcome, "#b23b3b")
    parts = [f'<div style="{_BOX.format(colour=colour)}">', f"<strong>{escape(headline.text(language))}</strong>"]
    if changes:
        items = "".join(f"<li>{escape(change.text(language))}</li>" for change in changes)
        parts.append(f'<ol style="margin:.5rem 0">{items}</ol>')
    return "".join([*parts, *(f"<div>{escape(line.text(language))}</div>" for line in details), "</div>"])


def many_html(rows: Sequence[tuple[str, float | None, float | None, str]], language: str = "en") -> str:
    """Answers for many people as a table: name, cost, share and advice of each."""
    words = catalogue(language)
    heads = [words.say(f"path.{name}") for name in ("row", "cost", "works_for", "what_to_do")]
    right, left = "text-align:right", "text-align:left"
    head = "".join(f"<th style='{left}'>{escape(text)}</th>" for text in heads)
    body = ""
    for name, cost, share, advice in rows:
        figures = ["" if cost is None else words.figure(cost), "" if share is None else words.percent(share)]
        cells = "".join(f"<td style='{right}'>{escape(figure)}</td>" for figure in figures)
        body += f"<tr><th style='{left}'>{escape(name)}</th>{cells}<td style='{left}'>{escape(advice)}</td></tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def curves_html(
    messages: Sequence[Message],
    heads: Sequence[Message],
    rows: Sequence[Sequence[Message | Name]],
    language: str = "en",
) -> str:
    """A stress test: what it comes to, and how far each curve keeps."""
    words = catalogue(language)
    head = "".join(f"<th style='text-align:left'>{escape(text.text(language))}</th>" for text in heads)
    written = [[cell.said(words).replace("\u00a0", " ") for cell in row] for row in rows]
    cells = [[f"<td style='text-align:left'>{escape(cell)}</td>" for cell in row] for row in written]
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if rows else ""
    return f"<p>{escape(' '.join(message.text(language) for message in messages))}</p>{table}"


def path_html(
    points: list[dict[str, Any]],
    shorts: Sequence[Sequence[Message]],
    end: str,
    language: str = "en",
    scope: str = "domain",
) -> str:
    """A cost-confidence path as a table; ``end`` is the status that ended it, ``scope`` what that is about."""
    words = catalogue(language)
    changes = ["; ".join(message.text(language) for message in short) or words.say("short.nothing") for short in shorts]
    rows = "".join(
        f"<tr><td style='text-align:right'>{words.percent(p['share'])}</td>"
        f"<td style='text-align:right'>{words.figure(p['cost'])}</td>"
        f"<td style='text-align:left'>{escape(change)}</td></tr>"
        for p, change in zip(points, changes, strict=True)
    )
    works, cost, what = (words.say(f"path.{name}") for name in ("works_for", "cost", "what_to_do"))
    head = f"<tr><th>{works}</th><th>{cost}</th><th style='text-align:left'>{what}</th></tr>"
    last = path_end(points, end, scope)
    table = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>" if points else ""
    return table + (f"<p>{escape(last.text(language))}</p>" if last else "")
