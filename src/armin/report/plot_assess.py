"""The assessment of a sampler as text, HTML and a picture, from its plain dictionary."""

from __future__ import annotations

import math
from html import escape
from typing import Any

import numpy as np

from armin.report.plot import INK, _literal, _said, _wrapped, new_figure
from armin.words import Catalogue, Message, Quantity, catalogue

__all__ = ["assessment_html", "assessment_text", "assessment_verdict", "plot_assessment"]

_LEVELS = (50, 80, 90)
_SCORES = ("p_value", "crps", "brier", "energy", "log_score")
_SHOWN = 11
_COLUMNS = 4
_TITLE = 130
"""Letters on a line of the title."""


def assessment_verdict(features: list[dict[str, Any]], overall: dict[str, Any], false_alarm: float) -> Message:
    """One sentence for what the numbers say.

    >>> print(assessment_verdict([], {"hidden": 4, "calibrated": None}, 0.01))
    Too little to judge: 4 hidden values say nothing about calibration. Judge on more rows.
    """
    values = Message("assess.values", n=int(overall["hidden"]))
    if overall["calibrated"] is None:
        return Message("assess.little", values=values)
    if overall["calibrated"]:
        return Message("assess.calibrated", values=values, times=round(1 / false_alarm))
    tested = [f for f in features if not _absent(f["p_value"])]
    worst: Message | str = ""
    if tested:
        worst = Message("assess.worst", feature=str(min(tested, key=lambda f: f["p_value"])["feature"]))
    share, error = float(overall["cover_80"]), overall["se_80"]
    if abs(share - 0.8) > 2 * error:
        code = "assess.over" if share < 0.8 else "assess.cautious"
        return Message(code, level=0.8, share=share, values=values, worst=worst)
    return Message("assess.off", values=values, worst=worst)


def assessment_text(summary: dict[str, Any], verdict: str, language: str = "en") -> str:
    """The table, the verdict and the speed."""
    words = catalogue(language)
    lines = _cells(summary, words)
    widths = [max(len(line[c]) for line in lines) for c in range(len(lines[0]))]
    text = []
    for line in lines:
        cells = [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        text.append("  ".join([line[0].ljust(widths[0]), *cells]).rstrip())
    title = words.say("assess.title", sampler=summary["sampler"])
    return "\n".join([title, "", *text, "", verdict, _speed(summary, words)])


def assessment_html(summary: dict[str, Any], verdict: str, language: str = "en") -> str:
    """The table, the verdict and the speed, for a notebook."""
    words, rows = catalogue(language), []
    for i, line in enumerate(_cells(summary, words)):
        tag = "td" if i else "th"
        cells = [
            f"<{tag} style='text-align:{'right' if c else 'left'}'>{escape(x)}</{tag}>" for c, x in enumerate(line)
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f"<table><thead>{rows[0]}</thead><tbody>{''.join(rows[1:])}</tbody></table>"
        f"<p><strong>{escape(verdict)}</strong> {escape(_speed(summary, words))}</p>"
    )


def _cells(summary: dict[str, Any], words: Catalogue) -> list[tuple[str, ...]]:
    levels = [_plain(words.say("assess.within", level=q / 100)) for q in _LEVELS]
    first, last = (words.say(f"assess.{name}") for name in ("feature", "hidden")), words.say("assess.all")
    lines = [(*first, *levels, *(words.say(f"assess.{name}") for name in _SCORES))]
    for row in [*summary["features"], {"feature": last, **summary["overall"]}]:
        cover = [f"{row[f'cover_{q}'] * 100:.0f} ±{row[f'se_{q}'] * 100:.0f}" for q in _LEVELS]
        scores = [words.marked(_short(row.get(name))) for name in _SCORES]
        lines.append((str(row["feature"]), str(row["hidden"]), *cover, *scores))
    return lines


def _speed(summary: dict[str, Any], words: Catalogue) -> str:
    time = Quantity(float(f"{summary['overall']['ms_per_100']:.2g}"), "ms")
    return words.say("assess.speed", time=time)


def _plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def _absent(value: float | None) -> bool:
    return value is None or math.isnan(value)


def _short(value: float | None) -> str:
    if value is None or math.isnan(value):
        return ""
    return "<0.001" if 0 <= value < 0.001 else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def plot_assessment(summary: dict[str, Any], verdict: str, figure: Any = None, language: str = "en") -> Any:
    """Draw coverage as dots and rank histograms as small panels; returns the matplotlib Axes in an array.

    With more than eleven features, those with the smallest p-values are drawn.
    """
    words = catalogue(language)
    ranked = sorted(summary["features"], key=lambda f: (f["p_value"] is None, f["p_value"] or 0.0))
    shown = {f["feature"] for f in ranked[:_SHOWN]}
    panels = [
        {"feature": words.say("assess.all"), **summary["overall"]},
        *(f for f in summary["features"] if f["feature"] in shown),
    ]
    rows = -(-len(panels) // _COLUMNS)
    if figure is None:
        figure = new_figure((11.0, max(3.2, 1.0 + 1.5 * rows, 1.2 + 0.32 * len(panels))))
    left, right = figure.subfigures(1, 2, width_ratios=[2, 3])
    coverage = left.subplots()
    _draw_coverage(coverage, panels, words)
    grid = right.subplots(rows, _COLUMNS, squeeze=False, sharex=True)
    for ax, panel in zip(grid.flat, panels, strict=False):
        _draw_histogram(ax, panel)
    for ax in list(grid.flat)[len(panels) :]:
        ax.set_visible(False)
    right.supxlabel(_said(words, "plot.ranks"), fontsize=9)
    title = words.say("plot.assessed", sampler=summary["sampler"], verdict=verdict)
    figure.suptitle(_wrapped(title, _TITLE), x=0.01, ha="left", fontsize=10)
    return np.array([coverage, *grid.flat[: len(panels)]], dtype=object)


def _draw_coverage(ax: Any, panels: list[dict[str, Any]], words: Catalogue) -> None:
    places = list(range(len(panels)))[::-1]
    looks = zip(_LEVELS, (INK["grey"], INK["main"], INK["good"]), "osD", strict=True)
    for level, colour, marker in looks:
        ax.axvline(level, color=colour, linewidth=1, linestyle=":")
        shares = [panel[f"cover_{level}"] * 100 for panel in panels]
        errors = [200 * panel[f"se_{level}"] for panel in panels]
        # the error belongs to the aim: a good sampler's dot is inside the line 19 times in 20
        ax.hlines(
            places, [max(0.0, level - e) for e in errors], [min(100.0, level + e) for e in errors], color=colour,
            linewidth=1, alpha=0.45,
        )  # fmt: skip
        said = _plain(words.percent(level / 100))
        ax.plot(shares, places, marker, color=colour, markersize=5, label=said)
    ax.set_yticks(places, [_literal(str(panel["feature"])) for panel in panels], fontsize=8)
    ax.set_xlim(0, 103)
    ax.xaxis.set_major_formatter(lambda share, _: _plain(words.percent(round(share / 100, 6))))
    ax.set_xlabel(_said(words, "plot.inside"), fontsize=9)
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=3,
        fontsize=8,
        frameon=False,
        columnspacing=0.8,
        handletextpad=0.0,
    )
    ax.spines[["top", "right"]].set_visible(False)


def _draw_histogram(ax: Any, panel: dict[str, Any]) -> None:
    counts = panel["histogram"]
    total, k = sum(counts), len(counts)
    error = 2.576 * math.sqrt(total * (1 / k) * (1 - 1 / k))
    ax.axhspan(max(0.0, total / k - error), total / k + error, color=INK["grey"], alpha=0.18, linewidth=0)
    outside = [abs(count - total / k) > error for count in counts]
    colours = [INK["bad"] if out else INK["main"] for out in outside]
    ax.bar([(i + 0.5) / k for i in range(k)], counts, width=0.92 / k, color=colours)
    ax.set_title(_literal(str(panel["feature"])), fontsize=8, loc="left")
    ax.set_yticks([])
    ax.set_xticks([0, 0.5, 1], ["0", "½", "1"], fontsize=7)
    ax.spines[["top", "right", "left"]].set_visible(False)
