"""The assessment of a sampler as text, HTML and a picture, from its plain dictionary."""

from __future__ import annotations

import math
from html import escape
from typing import Any

from armin.report.plot import INK, _axes, _literal
from armin.report.words import percent

__all__ = ["assessment_html", "assessment_text", "assessment_verdict", "plot_assessment"]

_LEVELS = (50, 80, 90)
_SHOWN = 11
_COLUMNS = 4


def assessment_verdict(features: list[dict[str, Any]], overall: dict[str, Any], false_alarm: float) -> str:
    """One sentence for what the numbers say.

    >>> assessment_verdict([], {"hidden": 4, "calibrated": None}, 0.01)
    'Too little to judge: 4 hidden values say nothing about calibration. Judge on more rows.'
    """
    n = f"{overall['hidden']:,} hidden values"
    if overall["calibrated"] is None:
        return f"Too little to judge: {n} say nothing about calibration. Judge on more rows."
    if overall["calibrated"]:
        return (
            f"Calibrated, as far as {n} can tell: its intervals hold the truth as often as they say. "
            f"(A perfect sampler fails this check about 1 time in {1 / false_alarm:.0f}, or less.)"
        )
    tested = [f for f in features if not _absent(f["p_value"])]
    worst = f" Look first at {min(tested, key=lambda f: f['p_value'])['feature']!r}." if tested else ""
    share, error = overall["cover_80"], overall["se_80"]
    if abs(share - 0.8) > 2 * error:
        word, held = ("Overconfident", "only ") if share < 0.8 else ("Too cautious", "")
        return f"{word}: its 80 % intervals hold {held}{percent(share)} of {n}.{worst}"
    return f"Not calibrated: draws are off centre or have the wrong shape, judged by {n}.{worst}"


def assessment_text(summary: dict[str, Any]) -> str:
    """The table, the verdict and the speed."""
    lines = _cells(summary)
    widths = [max(len(line[c]) for line in lines) for c in range(len(lines[0]))]
    text = []
    for line in lines:
        cells = [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        text.append("  ".join([line[0].ljust(widths[0]), *cells]).rstrip())
    title = f"How good is the sampler {summary['sampler']}?"
    return "\n".join([title, "", *text, "", summary["verdict"], _speed(summary)])


def assessment_html(summary: dict[str, Any]) -> str:
    """The table, the verdict and the speed, for a notebook."""
    rows = []
    for i, line in enumerate(_cells(summary)):
        tag = "td" if i else "th"
        cells = [
            f"<{tag} style='text-align:{'right' if c else 'left'}'>{escape(x)}</{tag}>" for c, x in enumerate(line)
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f"<table><thead>{rows[0]}</thead><tbody>{''.join(rows[1:])}</tbody></table>"
        f"<p><strong>{escape(summary['verdict'])}</strong> {escape(_speed(summary))}</p>"
    )


def _cells(summary: dict[str, Any]) -> list[tuple[str, ...]]:
    lines = [("feature", "hidden", *(f"in {q} %" for q in _LEVELS), "p", "CRPS", "Brier", "energy", "log score")]
    for row in [*summary["features"], {"feature": "all", **summary["overall"]}]:
        cover = [f"{row[f'cover_{q}'] * 100:.0f} ±{row[f'se_{q}'] * 100:.0f}" for q in _LEVELS]
        scores = [_short(row.get(name)) for name in ("p_value", "crps", "brier", "energy", "log_score")]
        lines.append((str(row["feature"]), str(row["hidden"]), *cover, *scores))
    return lines


def _speed(summary: dict[str, Any]) -> str:
    return f"100 draws for one row take {summary['overall']['ms_per_100']:.2g} ms."


def _absent(value: float | None) -> bool:
    return value is None or math.isnan(value)


def _short(value: float | None) -> str:
    if value is None or math.isnan(value):
        return ""
    return "<0.001" if 0 <= value < 0.001 else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def plot_assessment(summary: dict[str, Any], figure: Any = None) -> Any:
    """Draw coverage as dots and rank histograms as small panels; returns the matplotlib Figure.

    With more than eleven features, those with the smallest p-values are drawn.
    """
    ranked = sorted(summary["features"], key=lambda f: (f["p_value"] is None, f["p_value"] or 0.0))
    shown = {f["feature"] for f in ranked[:_SHOWN]}
    panels = [{"feature": "all", **summary["overall"]}, *(f for f in summary["features"] if f["feature"] in shown)]
    rows = -(-len(panels) // _COLUMNS)
    if figure is None:
        figure = _axes(None, (11.0, max(3.2, 1.0 + 1.5 * rows, 1.2 + 0.32 * len(panels)))).figure
        figure.clear()
    left, right = figure.subfigures(1, 2, width_ratios=[2, 3])
    _draw_coverage(left.subplots(), panels)
    grid = right.subplots(rows, _COLUMNS, squeeze=False, sharex=True)
    for ax, panel in zip(grid.flat, panels, strict=False):
        _draw_histogram(ax, panel)
    for ax in list(grid.flat)[len(panels) :]:
        ax.set_visible(False)
    right.supxlabel("place of the truth among the draws (flat is good)", fontsize=9)
    figure.suptitle(_literal(f"{summary['sampler']}. {summary['verdict']}"), x=0.01, ha="left", fontsize=10, wrap=True)
    return figure


def _draw_coverage(ax: Any, panels: list[dict[str, Any]]) -> None:
    places = list(range(len(panels)))[::-1]
    for level, colour in zip(_LEVELS, (INK["grey"], INK["main"], INK["good"]), strict=True):
        ax.axvline(level, color=colour, linewidth=1, linestyle=":")
        shares = [panel[f"cover_{level}"] * 100 for panel in panels]
        errors = [200 * panel[f"se_{level}"] for panel in panels]
        # the error belongs to the aim: a good sampler's dot is inside the line 19 times in 20
        ax.hlines(
            places, [max(0.0, level - e) for e in errors], [min(100.0, level + e) for e in errors], color=colour,
            linewidth=1, alpha=0.45,
        )  # fmt: skip
        ax.plot(shares, places, "o", color=colour, markersize=5, label=f"{level} %")
    ax.set_yticks(places, [_literal(str(panel["feature"])) for panel in panels], fontsize=8)
    ax.set_xlim(0, 103)
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0f} %")
    ax.set_xlabel("truths inside the interval (on the dotted line is good)", fontsize=9)
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
