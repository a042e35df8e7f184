"""A result as HTML for a notebook, from its summary dictionary."""

from __future__ import annotations

from html import escape
from typing import Any

from armin.report.words import figure, path_end, percent, proof_sentence, validity_sentence

__all__ = ["path_html", "recourse_html"]

_BOX = (
    "font-family:system-ui,sans-serif;max-width:44rem;border:1px solid #8884;border-left:4px solid {colour};"
    "border-radius:6px;padding:.7rem 1rem;line-height:1.45"
)
_COLOURS = {"plan": "#2a7d4f", "already_accepted": "#2a7d4f", "best_so_far": "#b7791f"}


def recourse_html(summary: dict[str, Any]) -> str:
    """A recourse as a small card."""
    colour = _COLOURS.get(summary["outcome"], "#b23b3b")
    parts = [f'<div style="{_BOX.format(colour=colour)}">', f"<strong>{escape(summary['headline'])}</strong>"]
    if summary["changes"]:
        items = "".join(f"<li>{escape(change['sentence'])}</li>" for change in summary["changes"])
        parts.append(f'<ol style="margin:.5rem 0">{items}</ol>')
        parts.append(f"<div>Cost {figure(summary['cost']['value'])} ({escape(summary['cost']['name'])})</div>")
    sure = validity_sentence(summary)
    if sure:
        parts.append(f"<div>{escape(sure)}</div>")
    if summary["blanks"]:
        names = ", ".join(escape(blank["label"]) for blank in summary["blanks"])
        parts.append(f"<div>Not given: {names}</div>")
    parts.append(f"<div>Proof: {escape(proof_sentence(summary))}</div>")
    parts += [f"<div><em>{escape(note)}</em></div>" for note in summary["notes"]]
    parts.append("</div>")
    return "".join(parts)


def path_html(points: list[dict[str, Any]], end: str) -> str:
    """A cost-confidence path as a table; ``end`` is the status that ended it."""
    rows = "".join(
        f"<tr><td style='text-align:right'>{percent(p['confidence'])}</td>"
        f"<td style='text-align:right'>{figure(p['cost'])}</td>"
        f"<td style='text-align:left'>{escape('; '.join(p['short']) or 'nothing to change')}</td></tr>"
        for p in points
    )
    head = "<tr><th>works for</th><th>cost</th><th style='text-align:left'>what to do</th></tr>"
    last = path_end(points, end)
    table = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>" if points else ""
    return table + (f"<p>{escape(last)}</p>" if last else "")
