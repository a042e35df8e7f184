"""Pictures with matplotlib, which is imported only when one is drawn."""

from __future__ import annotations

from typing import Any

from armin.errors import MissingDependencyError
from armin.report.words import at_least

__all__ = ["INK", "plot_path", "plot_recourse"]

INK = {"main": "#1f5fa8", "bad": "#b23b3b", "good": "#2a7d4f", "grey": "#6b7280"}


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError("Drawing needs matplotlib. Install it with: pip install 'armin[plot]'.") from None
    return Figure(figsize=size, layout="constrained").subplots()


def plot_path(points: list[dict[str, Any]], marked: float | None = None, ax: Any = None) -> Any:
    """Draw cost against confidence as steps; returns the matplotlib Axes."""
    ax = _axes(ax, (7.0, 3.6))
    if points:
        edges = [0.0, *(p["confidence"] for p in points)]
        ax.stairs([p["cost"] for p in points], edges, baseline=None, color=INK["main"], linewidth=2)
        ax.plot([p["confidence"] for p in points], [p["cost"] for p in points], "o", color=INK["main"], markersize=5)
    if marked is not None:
        reached = [p["cost"] for p in points if p["confidence"] >= marked - 1e-9]
        if reached:
            ax.vlines(marked, 0, reached[0], color=INK["grey"], linestyle=":", linewidth=1.5)
        else:
            ax.axvline(marked, color=INK["grey"], linestyle=":", linewidth=1.5)
        # the curve rises, so the room below it on the right is free
        ax.annotate(f"asked for {at_least(marked)}", (marked, 0.0), xycoords=("data", "axes fraction"), xytext=(4, 5),
                    textcoords="offset points", color=INK["grey"])  # fmt: skip
    ax.set_xlim(0, 1.02)
    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_formatter(lambda share, _: f"{share * 100:.0f} %")
    ax.set_xlabel("confidence: share of plausible completions that are accepted")
    ax.set_ylabel("cost of the cheapest action")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plot_recourse(summary: dict[str, Any], ax: Any = None) -> Any:
    """Draw what each change costs; returns the matplotlib Axes."""
    changes = summary["changes"]
    ax = _axes(ax, (7.0, 1.2 + 0.5 * max(1, len(changes))))
    places = range(len(changes))
    bars = ax.barh(places, [change["cost"] for change in changes][::-1], color=INK["main"], height=0.6)
    ax.set_yticks(places, [_literal(change["sentence"].rstrip(".")) for change in changes][::-1])
    ax.bar_label(bars, fmt="%.2g", padding=4)
    ax.set_title(_literal(summary["headline"]), loc="left", fontsize=10, wrap=True)
    ax.set_xlabel("cost of the change")
    ax.margins(x=0.12)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _literal(text: str) -> str:
    """A text in which "$" is a dollar, not the start of a formula."""
    return text.replace("$", r"\$")
