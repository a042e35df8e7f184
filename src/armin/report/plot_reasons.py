"""A picture of reasons: what each feature weighs, and what the blanks leave open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armin.report.plot import INK, LABEL, TITLE, _said, _wrapped, axes_or_new
from armin.words import Message, Name, catalogue

__all__ = ["plot_reasons"]


def plot_reasons(
    headline: Message,
    rows: Sequence[tuple[Name, float, float, float]],
    unit: str,
    ax: Any = None,
    language: str = "en",
) -> Any:
    """Draw the weight of each feature with its interval, the weightiest on top; returns the matplotlib Axes."""
    words = catalogue(language)
    ax = axes_or_new(ax, (7.0, 1.6 + 0.34 * max(2, len(rows))))
    places = range(len(rows))
    shown = list(rows)[::-1]
    colours = [INK["good"] if weight > 0 else INK["bad"] for _, weight, _, _ in shown]
    ax.barh(places, [weight for _, weight, _, _ in shown], color=colours, height=0.6)
    wide = [(i, low, high) for i, (_, _, low, high) in enumerate(shown) if high > low]
    for k, (i, low, high) in enumerate(wide):
        named = {"label": _said(words, "plot.left_open")} if k == 0 else {}
        ax.plot([low, high], [i, i], color=INK["grey"], linewidth=2, solid_capstyle="butt", **named)
    if wide:
        ax.legend(loc="best", frameon=False, fontsize=9)
    ax.set_yticks(places, [_wrapped(name.said(words), LABEL) for name, *_ in shown])
    ax.axvline(0, color=INK["grey"], linewidth=0.8)
    ax.set_title(_wrapped(headline.said(words).rstrip(":"), TITLE), loc="left", fontsize=10)
    ax.xaxis.set_major_formatter(lambda number, _: words.number(round(number, 6)))
    ax.set_xlabel(_said(words, f"plot.weight_{unit.replace('-', '_')}"))
    ax.spines[["top", "right"]].set_visible(False)
    return ax
