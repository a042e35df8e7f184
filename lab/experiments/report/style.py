"""One look for all figures."""

from __future__ import annotations

import math
import re
import zlib
from pathlib import Path
from textwrap import wrap
from typing import Any

from armin.errors import MissingDependencyError
from armin.report.plot import INK
from lab.experiments.methods import label_of

__all__ = ["LOOK", "absent", "empty", "grid", "legend", "log_ticks", "look", "save", "spread"]

LOOK: dict[str, tuple[str, str]] = {
    "exact": (INK["main"], "o"),
    "exact-plain": ("#7fa8d6", "H"),
    "published": (INK["good"], "s"),
    "robust": (INK["bad"], "^"),
    "mean": ("#9aa1ab", "v"),
    "knn": (INK["grey"], "<"),
    "mice": ("#3d434c", ">"),
    "dice": ("#b07a1e", "X"),
    "dice-20": ("#d99a2b", "P"),
    "dice-genetic": ("#7b4fa3", "p"),
    "dice-kdtree": ("#0f8b8d", "d"),
    "dice-multiple": ("#c2577a", "8"),
    "native": (INK["bad"], "D"),
    "optimal": ("#111827", "*"),
}
NARROWEST = 4.6
_ALIKE = {
    "mean-published": "mean", "knn-published": "knn", "mice-published": "mice", "robust-published": "robust",
    "rung-published": "published", "rung-conditioned": "exact",
}  # fmt: skip
"""Methods that look like another, which no figure shows beside them."""
_COLOURS = ("#7b4fa3", "#0f8b8d", "#c2577a", "#5b6b1f", "#8c4a2f")
_MARKERS = ("P", "p", "h", "d", "8")


def look(method: str) -> tuple[str, str]:
    """Colour and marker of a method; methods of others get ones that do not change from run to run.

    >>> look("dice") == look("dice-20")
    False
    """
    method = _ALIKE.get(method, method)
    if method in LOOK:
        return LOOK[method]
    number = zlib.crc32(method.encode())
    return _COLOURS[number % len(_COLOURS)], _MARKERS[number // len(_COLOURS) % len(_MARKERS)]


def grid(rows: int, columns: int, *, width: float = 2.6, height: float = 2.3, **kwargs: Any) -> tuple[Any, Any]:
    """A figure of small panels."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError("Drawing needs matplotlib. Install it with: pip install 'armin[plot]'.") from None
    # a single column still has to hold the names of the axes and the legend
    figure = Figure(figsize=(max(NARROWEST, width * columns), height * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **kwargs)
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8)
        ax.grid(alpha=0.2)
        ax.locator_params(nbins=4)
    return figure, axes


def legend(figure: Any, methods: list[str], extra: list[tuple[Any, str]] | None = None) -> None:
    """One legend above all panels."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=look(m)[0], marker=look(m)[1], linestyle="", markersize=6, label=label_of(m))
        for m in methods
    ]
    handles += [handle for handle, _ in extra or []]
    labels = [label_of(m) for m in methods] + [text for _, text in extra or []]
    columns = max(1, min(4, int(figure.get_figwidth() / 2.2)))
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, frameon=False, fontsize=8)


def empty(ax: Any, text: str = "no rows") -> None:
    """A panel without anything to show."""
    ax.annotate(text, (0.5, 0.5), xycoords="axes fraction", ha="center", color=INK["grey"], fontsize=8)


def absent(ax: Any, methods: list[str]) -> None:
    """Say in a panel which methods have no plan for anybody there, and so no point."""
    if methods:
        text = "no plan: " + ", ".join(label_of(m) for m in methods)
        ax.annotate(
            "\n".join(wrap(text, 34)), (0.02, 0.98), xycoords="axes fraction", va="top", fontsize=6, color=INK["grey"]
        )


def log_ticks(axis: Any) -> None:
    """Ticks at 1, 2 and 5 of each decade, so that an axis that spans less than one has several."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def spread(low: float, high: float) -> tuple[float, float]:
    """Limits of a log axis around two positive numbers, wide enough for two of its ticks at least.

    >>> low, high = spread(1.9, 2.1)
    >>> round(high / low, 6)
    5.1
    """
    low, high = low / 1.25, high * 1.25
    wider = math.sqrt(max(1.0, 5.1 * low / high))  # between 2 and 10 there is one tick: 5
    return low / wider, high * wider


def save(figure: Any, folder: Path, name: str) -> str:
    """Write PNG and SVG; the picture as Markdown."""
    import matplotlib as mpl

    folder.mkdir(parents=True, exist_ok=True)
    # the same rows give the same bytes
    with mpl.rc_context({"svg.hashsalt": "armin", "svg.fonttype": "none", "path.simplify_threshold": 0.5}):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
        _shrink(folder / f"{name}.svg")
        figure.savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})
    return f"![{name.replace('-', ' ')}](img/paper/{name}.svg)"


def _shrink(path: Path) -> None:
    """Leave out comments and spaces that show nothing, and digits beyond a hundredth of a point."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"(\d+\.\d\d)\d+", r"\1", text)
    text = re.sub(r"\s*\n\s*", "\n", text)
    path.write_text(text, encoding="utf-8")
