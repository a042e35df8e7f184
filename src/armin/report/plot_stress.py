"""A picture of a stress test: how sure a plan stays when the blanks are not like other people's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armin.report.plot import INK, _percent, _said, _wrapped, axes_or_new
from armin.words import Message, Name, catalogue

__all__ = ["plot_stress"]

_STYLES = ("-", "--", "-.", ":")
_MARKERS = "osD^vPX*"
_NAME = 60
"""Letters on a line of the legend."""


def plot_stress(summary: dict[str, Any], names: Sequence[Message | Name], ax: Any = None, language: str = "en") -> Any:
    """Draw validity against the tilt, one line per curve; returns the matplotlib Axes.

    Each curve has a colour and a marker of its own, so that it is known in black and white.
    """
    words = catalogue(language)
    ax = axes_or_new(ax, (7.0, 3.8))
    colours = [INK["main"], INK["good"], INK["bad"], INK["grey"]]
    for i, (curve, name) in enumerate(zip(summary["curves"], names, strict=True)):
        points = [p for p in curve["points"] if p["reliable"]]
        style = _STYLES[(i // len(colours)) % len(_STYLES)]
        ax.plot([p["delta"] for p in points], [p["validity"] for p in points], style, color=colours[i % len(colours)],
                marker=_MARKERS[i % len(_MARKERS)], markersize=4, linewidth=2,
                label=_wrapped(name.said(words), _NAME))  # fmt: skip
    asked = summary["asked"]
    ax.axhline(asked, color=INK["grey"], linestyle=":", linewidth=1.5)
    ax.annotate(_said(words, "plot.asked", share=asked), (0.0, asked), xycoords=("axes fraction", "data"),
                xytext=(4, -12 if asked > 0.9 else 4), textcoords="offset points", color=INK["grey"])  # fmt: skip
    ax.axvline(0, color=INK["grey"], linewidth=0.8)
    ax.set_ylim(0, 1.02)
    ax.yaxis.set_major_formatter(_percent(words))
    ax.xaxis.set_major_formatter(lambda delta, _: words.number(round(delta, 6)))
    ax.set_xlabel(_said(words, "plot.shift" if summary["kind"] == "shift" else "plot.tilt"))
    ax.set_ylabel(_said(words, "plot.stress_share"))
    if summary["curves"]:
        ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
