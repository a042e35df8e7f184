"""One look for all figures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from armin.errors import MissingDependencyError
from armin.report.plot import INK
from experiments.methods import label_of

__all__ = ["LOOK", "empty", "grid", "legend", "look", "save"]

LOOK: dict[str, tuple[str, str]] = {
    "exact": (INK["main"], "o"),
    "exact-plain": ("#7fa8d6", "o"),
    "published": (INK["good"], "s"),
    "robust": (INK["bad"], "^"),
    "mean": ("#9aa1ab", "v"),
    "knn": (INK["grey"], "<"),
    "mice": ("#3d434c", ">"),
    "dice": ("#b07a1e", "X"),
    "native": (INK["bad"], "D"),
    "optimal": ("#111827", "*"),
}
_OTHERS = ("#7b4fa3", "#0f8b8d", "#c2577a")


def look(method: str) -> tuple[str, str]:
    """Colour and marker of a method; methods of others get one that does not change from run to run."""
    if method in LOOK:
        return LOOK[method]
    return _OTHERS[sum(method.encode()) % len(_OTHERS)], "P"


def grid(rows: int, columns: int, *, width: float = 2.6, height: float = 2.3, **kwargs: Any) -> tuple[Any, Any]:
    """A figure of small panels."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError("Drawing needs matplotlib. Install it with: pip install 'armin[plot]'.") from None
    figure = Figure(figsize=(width * columns, height * rows + 0.5), layout="constrained")
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


def empty(ax: Any) -> None:
    """A panel without rows."""
    ax.annotate("no rows", (0.5, 0.5), xycoords="axes fraction", ha="center", color=INK["grey"])


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
