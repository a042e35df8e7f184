"""Pictures with matplotlib, which is imported only when one is drawn."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from armin.errors import MissingDependencyError
from armin.words import Catalogue, Message, catalogue

__all__ = ["INK", "axes_or_new", "new_figure", "plot_path", "plot_recourse"]

INK = {"main": "#1f5fa8", "bad": "#b23b3b", "good": "#2a7d4f", "grey": "#6b7280"}
LABEL, TITLE = 34, 52
"""Letters on a line of a label beside the picture, and of a title above it: as many as there is room for."""


def new_figure(size: tuple[float, float], *, to_file: bool = False) -> Any:
    """A figure of pyplot, as notebooks and ``plt.show()`` know it; or one that is only written to a file."""
    try:
        library = import_module("matplotlib.figure" if to_file else "matplotlib.pyplot")
    except ImportError:
        raise MissingDependencyError("Drawing needs matplotlib. Install it with: pip install 'armin[plot]'.") from None
    make = library.Figure if to_file else library.figure
    return make(figsize=size, layout="constrained")


def axes_or_new(ax: Any, size: tuple[float, float]) -> Any:
    """The axes that were passed, or those of a new figure."""
    return new_figure(size).subplots() if ax is None else ax


def plot_path(points: list[dict[str, Any]], marked: float | None = None, ax: Any = None, language: str = "en") -> Any:
    """Draw cost against the share for which a plan works, as steps; returns the matplotlib Axes."""
    words, ax = catalogue(language), axes_or_new(ax, (7.0, 3.6))
    if points:
        edges = [0.0, *(p["share"] for p in points)]
        ax.stairs([p["cost"] for p in points], edges, baseline=None, color=INK["main"], linewidth=2)
        ax.plot([p["share"] for p in points], [p["cost"] for p in points], "o", color=INK["main"], markersize=5)
    if marked is not None:
        reached = [p["cost"] for p in points if p["share"] >= marked - 1e-9]
        if reached:
            ax.vlines(marked, 0, reached[0], color=INK["grey"], linestyle=":", linewidth=1.5)
        else:
            ax.axvline(marked, color=INK["grey"], linestyle=":", linewidth=1.5)
        # the curve rises, so the room below it on the right is free
        right = marked > 0.8
        ax.annotate(_said(words, "plot.asked", share=marked), (marked, 0.0), xycoords=("data", "axes fraction"),
                    xytext=(-4 if right else 4, 5), textcoords="offset points", ha="right" if right else "left",
                    color=INK["grey"])  # fmt: skip
    ax.set_xlim(0, 1.02)
    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_formatter(_percent(words))
    ax.yaxis.set_major_formatter(_figure(words))
    ax.set_xlabel(_said(words, "plot.share"))
    ax.set_ylabel(_said(words, "plot.path_cost"))
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plot_recourse(
    headline: Message, changes: Sequence[Message], costs: Sequence[float], ax: Any = None, language: str = "en"
) -> Any:
    """Draw what each change costs; returns the matplotlib Axes."""
    words = catalogue(language)
    labels = [_wrapped(change.said(words).rstrip("."), LABEL) for change in changes]
    title = _wrapped(headline.said(words), TITLE)
    lines = sum(max(2, label.count("\n") + 1) for label in labels) + title.count("\n")
    ax = axes_or_new(ax, (7.0, 1.4 + 0.22 * max(2, lines)))
    places = range(len(changes))
    bars = ax.barh(places, list(costs)[::-1], color=INK["main"], height=0.6)
    ax.set_yticks(places, labels[::-1])
    ax.bar_label(bars, labels=[words.figure(cost) for cost in list(costs)[::-1]], padding=4)
    ax.set_title(title, loc="left", fontsize=10)
    ax.xaxis.set_major_formatter(_figure(words))
    ax.set_xlabel(_said(words, "plot.change_cost"))
    ax.margins(x=0.12)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _said(words: Catalogue, code: str, /, **values: Any) -> str:
    return _literal(words.say(code, **values).replace("\u00a0", " "))


def _percent(words: Catalogue) -> Callable[[float, Any], str]:
    """The marks of an axis of shares."""
    return lambda share, _: words.percent(round(share, 6)).replace("\u00a0", " ")


def _figure(words: Catalogue) -> Callable[[float, Any], str]:
    """The marks of an axis of costs."""
    return lambda cost, _: words.figure(cost)


def _wrapped(text: str, width: int) -> str:
    """A text in lines of a width; a word that is longer than a line is broken, so that nothing is cut off."""
    return _literal("\n".join(textwrap.wrap(text, width)).replace("\u00a0", " "))


def _literal(text: str) -> str:
    """A text in which "$" is a dollar, not the start of a formula."""
    return text.replace("$", r"\$")
