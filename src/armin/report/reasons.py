"""Reasons as lines of text, and as a small card."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from armin.words import Message

__all__ = ["reasons_html", "reasons_text", "stand_svg"]

Said = Sequence[tuple[Sequence[Message], Message]]
"""Reasons: what is said, and what it weighs."""


def reasons_text(
    headline: Message, stand: Sequence[Message], reasons: Said, below: Sequence[Message], picture: str, language: str
) -> str:
    """Reasons as lines of text."""
    lines = [" ".join(message.text(language) for message in stand), *([f"  {picture}"] if picture else [])]
    lines += ["", headline.text(language)]
    for i, (messages, weight) in enumerate(reasons, start=1):
        lines.append(f"  {i}. {' '.join(m.text(language) for m in messages)} ({weight.text(language)})")
    return "\n".join([*lines, *(message.text(language) for message in below)])


def reasons_html(
    headline: Message,
    stand: Sequence[Message],
    reasons: Said,
    below: Sequence[Message],
    where: dict[str, Any],
    language: str,
) -> str:
    """Reasons as a small card."""

    def said(messages: Sequence[Message]) -> str:
        return escape(" ".join(message.text(language) for message in messages))

    items = "".join(
        f"<li>{said(messages)} <span style='color:#6b7280'>({said([weight])})</span></li>"
        for messages, weight in reasons
    )
    style = "font-family:system-ui,sans-serif;max-width:44rem;border:1px solid #8884;border-left:4px solid #1f5fa8;"
    parts = [
        f'<div style="{style}border-radius:6px;padding:.7rem 1rem;line-height:1.45">',
        f"<div>{said(stand)}</div>",
        "" if where["unit"] == "decision" else stand_svg(where, " ".join(message.text(language) for message in stand)),
        f"<strong>{said([headline])}</strong>",
    ]
    if items:
        parts.append(f'<ol style="margin:.5rem 0">{items}</ol>')
    return "".join([*parts, *(f"<div>{said([message])}</div>" for message in below), "</div>"])


def stand_svg(where: dict[str, Any], label: str) -> str:
    """Where somebody stands as a small picture: the range, the score as a dot, the threshold as a line."""
    score = where["score"] if where["submitted"] is None else where["submitted"]
    points = [where["low"], where["high"], score, where["reference"]]
    points += [] if where["threshold"] is None else [where["threshold"]]
    least, most = min(points), max(points)
    wide = (most - least) or 1.0

    def x(number: float) -> float:
        return float(round(12 + 376 * (number - least) / wide, 1))

    cut = where["threshold"]
    line = (
        "" if cut is None else f'<line x1="{x(cut)}" x2="{x(cut)}" y1="4" y2="32" stroke="#2a7d4f" stroke-width="3"/>'
    )
    return (
        f'<svg role="img" aria-label="{escape(label, quote=True)}" viewBox="0 0 400 36" width="400" height="36">'
        '<line x1="12" x2="388" y1="18" y2="18" stroke="#8888" stroke-width="2"/>'
        f'<line x1="{x(where["low"])}" x2="{x(where["high"])}" y1="18" y2="18" stroke="#1f5fa8" stroke-width="8"/>'
        f'{line}<circle cx="{x(score)}" cy="18" r="7" fill="#1f5fa8" stroke="#fff"/></svg>'
    )
