"""A picture of a stress test: how sure a plan stays when the blanks are not like other people's."""

from __future__ import annotations

from typing import Any

from armin.report.plot import INK, _axes, _literal
from armin.report.words import at_least

__all__ = ["plot_stress"]

_STYLES = ("-", "--", "-.", ":")


def plot_stress(summary: dict[str, Any], ax: Any = None) -> Any:
    """Draw validity against the tilt, one line per curve; returns the matplotlib Axes."""
    ax = _axes(ax, (7.0, 3.8))
    colours = [INK["main"], INK["good"], INK["bad"], INK["grey"]]
    for i, curve in enumerate(summary["curves"]):
        points = [p for p in curve["points"] if p["reliable"]]
        style = _STYLES[(i // len(colours)) % len(_STYLES)]
        ax.plot([p["delta"] for p in points], [p["validity"] for p in points], style, color=colours[i % len(colours)],
                marker="o", markersize=3, linewidth=2, label=_literal(curve["label"]))  # fmt: skip
    asked = summary["asked"]
    ax.axhline(asked, color=INK["grey"], linestyle=":", linewidth=1.5)
    ax.annotate(f"asked for {at_least(asked)}", (0.0, asked), xycoords=("axes fraction", "data"), xytext=(4, 4),
                textcoords="offset points", color=INK["grey"])  # fmt: skip
    ax.axvline(0, color=INK["grey"], linewidth=0.8)
    ax.set_ylim(0, 1.02)
    ax.yaxis.set_major_formatter(lambda share, _: f"{share * 100:.0f} %")
    what = "moved by this many spreads" if summary["kind"] == "shift" else "tilted by this much"
    ax.set_xlabel(f"the blanks, {what}: lower on the left, higher on the right")
    ax.set_ylabel("share for which the plan works")
    if summary["curves"]:
        ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
