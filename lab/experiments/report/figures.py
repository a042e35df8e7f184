"""The figures, each from rows to a saved picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from armin.report.plot import INK
from lab.experiments.methods import label_of
from lab.experiments.report.published import published
from lab.experiments.report.stats import Mean, Share, Summary, by, mean, summarise
from lab.experiments.report.style import absent, empty, grid, legend, log_ticks, look, save, spread
from lab.experiments.store import Row

__all__ = [
    "bars", "figure_one", "ladder", "lines", "path_average", "path_examples", "plausibility", "rungs", "trade_off",
]  # fmt: skip


def _order(rows: list[Row]) -> list[str]:
    known = ["exact", "exact-plain", "published", "robust", "mean", "knn", "mice", "dice", "native", "optimal"]
    present = {r["method"] for r in rows if r["status"] != "skipped"}
    return [m for m in known if m in present] + sorted(present - set(known))


def _panels(rows: list[Row], across: str, down: str) -> tuple[list[Any], list[Any]]:
    return list(by(rows, across)), list(by(rows, down))


def fresh_share(rows: list[Row], judge: str) -> Mean:
    """The mean share of a judge's fresh completions; a person without an action counts as 0."""
    asked = [r for r in rows if r["status"] != "skipped"]
    return mean((r.get("fresh") or {}).get(judge) or 0.0 for r in asked)


def trade_off(
    rows: list[Row], folder: Path, name: str, *, across: str = "dataset", down: str = "model",
    with_published: bool = False, judge: str | None = None,
) -> str:  # fmt: skip
    """Valid ratio against cost, a panel for each data set and model: the paper's main figure."""
    columns, lines_ = _panels(rows, across, down)
    figure, axes = grid(len(lines_), len(columns))
    for i, d in enumerate(lines_):
        for j, a in enumerate(columns):
            ax = axes[i, j]
            mine = [r for r in rows if r[down] == d and r[across] == a]
            costs, nobody = [], []
            for method, group in by(mine, "method").items():
                found = _dot(ax, method, group, judge)
                costs += found
                nobody += [] if found or all(r["status"] == "skipped" for r in group) else [method]
            if with_published:
                costs += _published_dots(ax, str(a), str(d))
            if not mine:
                empty(ax)
            ax.set_xlim(-0.03, 1.05)
            positive = [cost for cost in costs if cost > 0]
            if positive:
                ax.set_yscale("log", nonpositive="clip")  # DiCE costs ten times as much as the others
                ax.set_ylim(*spread(min(positive), max(positive)))
                log_ticks(ax.yaxis)
            absent(ax, nobody)
            ax.set_title(f"{a} · {d}", fontsize=9, loc="left")
    what = "valid ratio" if judge is None else f"share of fresh completions ({judge})"
    figure.supxlabel(what, fontsize=9)
    figure.supylabel("average cost, log scale", fontsize=9)
    extra = [(_hollow(), "the same method in the paper")] if with_published else []
    legend(figure, _order(rows), extra)
    return save(figure, folder, name)


def ladder(rows: list[Row], order: list[str], folder: Path, name: str) -> str:
    """Valid ratio and cost from rung to rung, a panel for each data set and model."""
    columns, lines_ = _panels(rows, "dataset", "model")
    figure, axes = grid(len(lines_), len(columns), width=2.9)
    for i, d in enumerate(lines_):
        for j, a in enumerate(columns):
            mine = [r for r in rows if r["model"] == d and r["dataset"] == a]
            costs = axes[i, j].twinx()
            _climb(axes[i, j], costs, mine, order)
            axes[i, j].set_title(f"{a} · {d}", fontsize=9, loc="left")
            _rung_names(axes[i, j], order if i == len(lines_) - 1 else [], len(order))
    figure.supylabel("valid ratio (dots, left); average cost as published (squares, right)", fontsize=9)
    return save(figure, folder, name)


def rungs(rows: list[Row], order: list[str], folder: Path, name: str) -> str:
    """One data set and model from rung to rung: valid ratio above, cost below, a column for each number of blanks."""
    columns = sorted(by(rows, "missing"))
    figure, axes = grid(2, len(columns), width=3.2, height=1.7)
    for j, missing in enumerate(columns):
        mine = [r for r in rows if r["missing"] == missing]
        _climb(axes[0, j], axes[1, j], mine, order)
        theirs = published(rows[0]["dataset"], rows[0]["model"], "published") if missing == 2 else None
        if theirs is not None:
            for ax, what in ((axes[0, j], "valid_ratio"), (axes[1, j], "average_cost")):
                ax.axhline(theirs[what], color=INK["grey"], linewidth=1, linestyle=":")
            axes[1, j].set_ylim(top=max(axes[1, j].get_ylim()[1], 1.15 * theirs["average_cost"]))
        dotted = "" if theirs is None else " (dotted: the paper's ARMIN)"
        axes[0, j].set_title(f"{missing} missing{dotted}", fontsize=9, loc="left")
        _rung_names(axes[0, j], [], len(order))
        _rung_names(axes[1, j], order, len(order))
    axes[0, 0].set_ylabel("valid ratio", fontsize=8)
    axes[1, 0].set_ylabel("average cost", fontsize=8)
    return save(figure, folder, name)


def _climb(ax: Any, costs: Any, rows: list[Row], order: list[str]) -> None:
    """The valid ratio from rung to rung on one axis, the cost on another; a rung without rows has no point."""
    mine = by(rows, "method")
    found = [(k, s) for k, method in enumerate(order) if (s := summarise(mine.get(method, []))).n]
    if not found:
        empty(ax)
    places, valid = [k for k, _ in found], np.array([s.valid.value for _, s in found])
    reach = np.abs(np.array([s.valid.interval for _, s in found]).reshape(-1, 2).T - valid)
    ax.errorbar(places, valid, yerr=reach, color="#1f2937", marker="o", markersize=4, linewidth=1)
    ax.set_ylim(0, 1.05)
    priced = [(k, s.cost) for k, s in found if s.cost.n]
    costs.errorbar(
        [k for k, _ in priced], [c.value for _, c in priced], yerr=[c.half for _, c in priced], color="#b45309",
        marker="s", markersize=4, linewidth=1, linestyle="--",
    )  # fmt: skip
    costs.set_ylim(bottom=0)
    costs.tick_params(axis="y", labelsize=7, colors="#b45309")


def _rung_names(ax: Any, order: list[str], count: int) -> None:
    ax.set_xticks(np.arange(count), [label_of(method) for method in order] if order else [""] * count)
    ax.set_xlim(-0.4, count - 0.6)
    ax.tick_params(axis="x", labelrotation=60, labelsize=7)
    for label in ax.get_xticklabels():
        label.set_ha("right")
        label.set_rotation_mode("anchor")


def _dot(ax: Any, method: str, rows: list[Row], judge: str | None) -> list[float]:
    """Draw the point of a method; the costs that the panel must hold, none without a point."""
    found = summarise(rows)
    x: Share | Mean = found.valid if judge is None else fresh_share(rows, judge)
    if not found.cost.n:
        return []
    colour, marker = look(method)
    low, high = x.interval
    ax.errorbar(
        [x.value], [found.cost.value], xerr=[[max(0, x.value - low)], [max(0, high - x.value)]], yerr=[found.cost.half],
        color=colour, marker=marker, markersize=6, linewidth=0.8, zorder=3,
    )  # fmt: skip
    return [found.cost.value, max(found.cost.interval[0], found.cost.value / 3), found.cost.interval[1]]


def _published_dots(ax: Any, dataset: str, model: str) -> list[float]:
    """Draw the paper's points; their costs."""
    costs = []
    for method in ("mean", "knn", "mice", "robust", "published"):
        given = published(dataset, model, method)
        if given is not None:
            colour, marker = look(method)
            ax.plot(given["valid_ratio"], given["average_cost"], marker, markersize=6, markerfacecolor="none",
                    markeredgecolor=colour, zorder=2)  # fmt: skip
            costs.append(given["average_cost"])
    return costs


def _hollow() -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=INK["grey"], marker="o", linestyle="", markersize=6, markerfacecolor="none")


def bars(rows: list[Row], folder: Path, name: str, *, measure: str = "sign", with_published: bool = False) -> str:
    """One measure of every method, a panel for each data set and model."""
    columns, lines_ = _panels(rows, "dataset", "model")
    methods = _order(rows)
    figure, axes = grid(len(lines_), len(columns), width=2.9)
    for i, model in enumerate(lines_):
        for j, dataset in enumerate(columns):
            ax = axes[i, j]
            groups = by([r for r in rows if r["model"] == model and r["dataset"] == dataset], "method")
            for y, method in enumerate(methods):
                found: Mean = getattr(summarise(groups.get(method, [])), measure)
                if found.n:
                    ax.barh(y, found.value, xerr=found.half, color=look(method)[0], height=0.65, error_kw={"lw": 0.8})
                elif method in groups:
                    ax.annotate("no plan", (0.01, y), va="center", fontsize=6, color=INK["grey"])
                given = published(dataset, model, method) if with_published else None
                if given is not None:
                    ax.plot(given["sign_agreement"], y, "o", markersize=5, markerfacecolor="white",
                            markeredgecolor="black", zorder=4)  # fmt: skip
            ax.set_yticks(range(len(methods)), [label_of(m) for m in methods] if j == 0 else [""] * len(methods))
            ax.invert_yaxis()
            ax.set_xlim(0, 1.05)
            ax.set_title(f"{dataset} · {model}", fontsize=9, loc="left")
    text = "average sign agreement with the optimum" + ("; circles: the paper" if with_published else "")
    figure.supxlabel(text, fontsize=9)
    return save(figure, folder, name)


Getter = Callable[[Summary], Mean | Share]
MEASURES: dict[str, Getter] = {
    "valid ratio": lambda s: s.valid,
    "average cost": lambda s: s.cost,
    "sign agreement": lambda s: s.sign,
    "seconds": lambda s: s.seconds,
}


def lines(
    rows: list[Row], folder: Path, name: str, *, along: Callable[[Row], float], label: str,
    measures: tuple[str, ...], across: str = "dataset",
) -> str:  # fmt: skip
    """Measures along a parameter, a column of panels for each data set."""
    columns = list(by(rows, across))
    figure, axes = grid(len(measures), len(columns), sharex=True)
    for j, a in enumerate(columns):
        mine = [r for r in rows if r[across] == a]
        axes[0, j].set_title(str(a), fontsize=9, loc="left")
        for k, (method, group) in enumerate(by(mine, "method").items()):
            places = sorted({along(r) for r in group})
            found = [summarise([r for r in group if along(r) == x]) for x in places]
            for i, what in enumerate(measures):
                _band(axes[i, j], places, [MEASURES[what](s) for s in found], look(method), under=k == 0)
    for i, what in enumerate(measures):
        axes[i, 0].set_ylabel(what, fontsize=8)
        for ax in axes[i]:
            ax.set_ylim(bottom=0)
            if what in ("valid ratio", "sign agreement"):
                ax.set_ylim(0, 1.05)
    figure.supxlabel(label, fontsize=9)
    legend(figure, _order(rows))
    return save(figure, folder, name)


def _band(
    ax: Any, places: list[float], found: list[Mean | Share], style: tuple[str, str], *, under: bool = False
) -> None:
    """A line with its interval; one that lies under others has larger marks, and is seen where they agree."""
    known = [(x, f) for x, f in zip(places, found, strict=True) if f.n]
    if known:
        xs = [x for x, _ in known]
        ax.plot(xs, [f.value for _, f in known], color=style[0], marker=style[1],
                markersize=7 if under else 4, linewidth=1.3)  # fmt: skip
        low, high = zip(*(f.interval for _, f in known), strict=True)
        ax.fill_between(xs, low, high, color=style[0], alpha=0.15, linewidth=0)


CONFIDENCES = np.round(np.arange(0.05, 1.001, 0.05), 2)


def cost_at(row: Row, confidence: float) -> float | None:
    """The cheapest cost on a stored path for a confidence, or None if the path does not reach it."""
    return next((p[1] for p in row["points"] if p[0] >= confidence - 1e-9), None)


def path_average(rows: list[Row], folder: Path, name: str, *, across: str = "dataset") -> str:
    """Average cost against confidence, over the people whose path reaches certainty."""
    columns = list(by(rows, across))
    figure, axes = grid(1, len(columns))
    for j, a in enumerate(columns):
        ax = axes[0, j]
        for k, (method, group) in enumerate(by([r for r in rows if r[across] == a], "method").items()):
            whole = [r for r in group if cost_at(r, 1.0) is not None]
            found: list[Mean | Share] = [mean(cost_at(r, float(c)) for r in whole) for c in CONFIDENCES]
            _band(ax, CONFIDENCES.tolist(), found, look(method), under=k == 0)
            ax.annotate(
                f"{label_of(method)}: {len(whole)} of {len(group)} people",
                (0.03, 0.95 - 0.09 * (method != "exact")),
                xycoords="axes fraction", fontsize=6, va="top", color=look(method)[0],
            )  # fmt: skip
        ax.set_title(str(a), fontsize=9, loc="left")
        ax.set_ylim(bottom=0)
    figure.supxlabel("confidence", fontsize=9)
    figure.supylabel("average cost", fontsize=9)
    legend(figure, _order(rows))
    return save(figure, folder, name)


def path_examples(rows: list[Row], folder: Path, name: str, count: int = 8) -> str:
    """The staircases of some people; filled where the action is valid for the person as they are."""
    chosen = sorted((r for r in rows if len(r["points"]) > 1), key=lambda r: (-len(r["points"]), r["instance"]))[:count]
    figure, axes = grid(max(1, -(-len(chosen) // 4)), 4, height=1.9)
    for ax in list(axes.flat)[len(chosen) :]:
        ax.set_axis_off()
    for ax, row in zip(axes.flat, chosen, strict=False):
        shares, costs = [p[0] for p in row["points"]], [p[1] for p in row["points"]]
        ax.stairs(costs, [0.0, *shares], baseline=None, color=INK["main"], linewidth=1.5)
        for p in row["points"]:
            ax.plot(p[0], p[1], "o", markersize=4, color=INK["main"], markerfacecolor=INK["main"] if p[2] else "white")
        ax.set_title(f"{row['dataset']}, person {row['instance']}", fontsize=8, loc="left")
        ax.set_xlim(0, 1.03)
        ax.set_ylim(bottom=0)
    figure.supxlabel("confidence (filled: valid for the person as they are)", fontsize=9)
    figure.supylabel("cost", fontsize=9)
    return save(figure, folder, name)


def figure_one(rows: list[Row], folder: Path, name: str) -> str:
    """Where a guessed person and the real one stand, and where the advice takes them."""
    from matplotlib.lines import Line2D

    figure, axes = grid(1, 1, width=6.4, height=3.8)
    ax, first = axes[0, 0], rows[0]["picture"]
    steps = [(loans, income) for loans, income in first["border"] if income is not None]
    for loans, income in steps:
        ax.hlines(loans, income / 1000, 120, color=INK["good"], linewidth=5, alpha=0.25)
    ax.plot([i / 1000 for _, i in steps], [n for n, _ in steps], "|", color=INK["good"], markersize=14)
    x, y = first["person"][0] / 1000, first["person"][1]
    guess = first["guess"] / 1000
    ax.plot(x, y, "o", color="black", markersize=8)
    ax.plot(guess, y, "o", color="black", markersize=8, markerfacecolor="white")
    told = [r for r in rows if r["method"] != "optimal"]
    for shift, row in zip((-0.12, 0.0, 0.12, 0.24), [r for r in told if r["cost"] is not None], strict=False):
        colour, end = look(row["method"])[0], row["picture"]["after"][1]
        ax.annotate(
            "", (x + 18 * shift, end), (x + 18 * shift, y), arrowprops={"arrowstyle": "->", "color": colour, "lw": 2}
        )
        if row["method"] == "mean":
            arrow = {"arrowstyle": "->", "color": colour, "lw": 2, "linestyle": "--"}
            ax.annotate("", (guess, end), (guess, y), arrowprops=arrow)
    ax.annotate("as they are", (x, y), xytext=(-6, 8), textcoords="offset points", ha="right", fontsize=9)
    ax.annotate("as imputed", (guess, y), xytext=(6, 8), textcoords="offset points", fontsize=9)
    ax.set_xlabel("income, thousands of dollars (not told)", fontsize=9)
    ax.set_ylabel("existing loans", fontsize=9)
    ax.set_xlim(0, 120)
    ax.set_title("green: approved", fontsize=9, loc="left", color=INK["good"])
    handles = [Line2D([], [], color=look(r["method"])[0], linewidth=2) for r in told]
    names = [label_of(r["method"]) + (": no plan" if r["cost"] is None else "") for r in told]
    figure.legend(handles, names, loc="outside upper center", ncols=len(told), frameon=False, fontsize=8)
    return save(figure, folder, name)


def plausibility(rows: list[Row], folder: Path, name: str) -> str:
    """How much less usual a person looks after the action: isolation forest and LOF, after minus before."""
    scored = [r for r in rows if r.get("isolation") is not None]
    datasets, methods = list(by(scored, "dataset")), _order(scored)
    figure, axes = grid(2, max(1, len(datasets)), width=2.9)
    for j, dataset in enumerate(datasets):
        groups = by([r for r in scored if r["dataset"] == dataset], "method")
        for i, what in enumerate(("isolation", "lof")):
            ax = axes[i, j]
            for y, method in enumerate(methods):
                found = mean(r[what] - r[f"{what}_before"] for r in groups.get(method, []))
                if found.n:
                    ax.errorbar(
                        found.value, y, xerr=found.half, color=look(method)[0], marker=look(method)[1], markersize=5
                    )
            ax.axvline(0, color=INK["grey"], linewidth=0.8)
            ax.set_yticks(range(len(methods)), [label_of(m) for m in methods] if j == 0 else [""] * len(methods))
            ax.invert_yaxis()
            ax.set_title(f"{dataset} · {'isolation forest' if i == 0 else 'LOF'}", fontsize=9, loc="left")
    figure.supxlabel("score after the action minus before (left: less usual)", fontsize=9)
    return save(figure, folder, name)
