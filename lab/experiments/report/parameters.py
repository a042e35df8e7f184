"""Sections that vary something: confidence, completions, blanks."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from lab.experiments.methods import label_of
from lab.experiments.report import figures
from lab.experiments.report.stats import by, mean, summarise
from lab.experiments.report.tables import (
    NONE,
    Rows,
    markdown,
    plural,
)
from lab.experiments.store import Row

__all__ = ["paths", "sensitivity", "xgboost"]


Curve = dict[float, tuple[float, float]]
"""By the confidence: the valid ratio, and the average cost."""


def _number(row: Row) -> float:
    """The value of what the variant varies.

    >>> _number({"variant": "rho=0.75"}), _number({"variant": "N=200,blanks=mar:a:b"})
    (0.75, 200.0)
    """
    return float(row["variant"].split(",")[0].split("=")[1])


def sensitivity(read: Rows, pictures: Path) -> list[str]:
    """(c)"""
    out: list[str] = []
    credit = read("rho-mar") + read("rho-mnar")
    for rows, name, label, across, measures in (
        (credit, "rho-credit", "confidence ρ", "experiment", ("valid ratio", "average cost")),
        (read("rho"), "rho", "confidence ρ (MCAR, two missing, LR)", "dataset", ("valid ratio", "average cost")),
        (read("size"), "size", "number of completions N (MCAR, two missing, LR)", "dataset",
         ("valid ratio", "average cost", "sign agreement", "seconds")),
    ):  # fmt: skip
        if not rows:
            out.append(f"{label}: {NONE}")
            continue
        names = sorted({r["experiment"] for r in rows})
        out.append(figures.lines(rows, pictures, name, along=_number, label=label, measures=measures, across=across))
        places = sorted({_number(r) for r in rows})
        for title, show in (
            ("valid ratio", lambda s: f"{100 * s.valid.value:.0f} %" if s.valid.n else "–"),
            ("average cost", lambda s: f"{s.cost.value:.2f}" if s.cost.n else "–"),
            ("sign agreement", lambda s: f"{s.sign.value:.2f}" if s.sign.n else "–"),
        ):  # fmt: skip
            body = []
            for (where, method), group in by(rows, across, "method").items():
                found = [summarise([r for r in group if _number(r) == x]) for x in places]
                body.append([where, label_of(method), max(f.n for f in found), *map(show, found)])
            out.append(markdown([title, "method", "people", *(f"{x:g}" for x in places)], body))
            out.append(read.source(*names))
        if label.startswith("confidence"):
            out += _bends(_curves(rows, across), read.source(*names))
    out.append(
        "Seconds along N were measured one N after the other, and say as much about what else the machine did as about "
        "N."
    )
    out.append("The paper shows these as pictures only, so there are no published numbers to put beside them.")
    return out


def _curves(rows: list[Row], across: str) -> dict[tuple[str, str], Curve]:
    found: dict[tuple[str, str], Curve] = {}
    for (where, method), group in by(rows, across, "method").items():
        sums = {x: summarise([r for r in group if _number(r) == x]) for x in sorted({_number(r) for r in group})}
        found[where, label_of(method)] = {x: (s.valid.value, s.cost.value) for x, s in sums.items() if s.cost.n}
    return found


CUTS = (0.5, 0.6, 0.9, 1.0)
"""Where the paper sees bends: it calls the valid ratio nearly saturated from 0.6 on, and the cost steep from 0.9 on."""


def _bends(curves: dict[tuple[str, str], Curve], source: str) -> list[str]:
    """What each stretch of the confidence brings and costs, beside what the paper says about it."""
    out, body, ends = [], [], set()
    flat, steep = [0, 0], [0, 0]
    for (where, method), curve in curves.items():
        cuts = [cut for cut in CUTS if cut in curve]
        if cuts[:3] != list(CUTS[:3]):
            continue
        ends.add(cuts[-1])
        rates = [_rates(curve, low, high) for low, high in pairwise(cuts)]
        flat[0] += rates[1][0] < rates[0][0]
        flat[1] += 1
        if len(rates) > 2:
            steep[0] += rates[2][1] > rates[1][1]
            steep[1] += 1
        body.append([where, method, *(f"{gain:+.1f}" for gain, _ in rates), *(f"{price:+.3f}" for _, price in rates)])
    if not body:
        return out
    spans = [f"{low:g}–{high:g}" for low, high in pairwise(cut for cut in CUTS if cut <= max(ends))]
    out.append(
        "The paper, of GiveMeCredit: the valid ratio is “almost saturated when ρ ≥ 0.6”. For each tenth of confidence, "
        f"0.6–0.9 brings fewer points of the valid ratio than 0.5–0.6 on {flat[0]} of {plural(flat[1], 'line')}."
    )
    if steep[1]:
        out.append(
            "And: the costs increase “sharply when the confidences exceed 0.9”. The last tenth costs more than a tenth "
            f"between 0.6 and 0.9 on {steep[0]} of {plural(steep[1], 'line')}."
        )
    head = ["per tenth", "method", *(f"points, {span}" for span in spans), *(f"cost, {span}" for span in spans)]
    return [*out, markdown(head, body), source]


def _rates(curve: Curve, low: float, high: float) -> tuple[float, float]:
    """Points of the valid ratio and cost for each tenth of confidence."""
    tenths = 10 * (high - low)
    return 100 * (curve[high][0] - curve[low][0]) / tenths, (curve[high][1] - curve[low][1]) / tenths


def _path_curves(rows: list[Row]) -> dict[tuple[str, str], Curve]:
    """Valid ratio and cost of the people whose path reaches certainty, so that all points speak of the same ones."""
    found: dict[tuple[str, str], Curve] = {}
    for (where, method), group in by(rows, "dataset", "method").items():
        whole = [r["points"] for r in group if figures.cost_at(r, 1.0) is not None]
        if not whole:
            continue
        curve: Curve = {}
        for confidence in ALONG:
            at = [next(p for p in points if p[0] >= confidence - 1e-9) for points in whole]
            curve[confidence] = mean(float(p[2]) for p in at).value, mean(p[1] for p in at).value
        found[where, label_of(method)] = curve
    return found


ALONG = tuple(round(0.5 + 0.05 * i, 2) for i in range(11))


def paths(read: Rows, pictures: Path) -> list[str]:
    """(d)"""
    credit, rows = read("path-mar") + read("path-mnar"), read("path")
    if not rows and not credit:
        return [NONE]
    out = []
    both = [dict(r, dataset=f"{r['dataset']} {r['experiment'][5:].upper()}".strip()) for r in rows + credit]
    out.append(figures.path_average(both, pictures, "path-average"))
    for name in ("path-mar", "path-mnar"):
        mine = [r for r in credit if r["experiment"] == name and r["method"] == "exact"]
        if mine:
            out.append(figures.path_examples(mine, pictures, name))
    if rows:
        out.append(figures.path_examples([r for r in rows if r["method"] == "exact"], pictures, "path-mcar"))
    source, curves = read.source("path", "path-mar", "path-mnar"), _path_curves(both)
    reached = {
        (where, label_of(method)): f"{sum(figures.cost_at(r, 1.0) is not None for r in group)} of {len(group)}"
        for (where, method), group in by(both, "dataset", "method").items()
    }
    for title, show in (("valid ratio", lambda p: f"{100 * p[0]:.0f} %"), ("average cost", lambda p: f"{p[1]:.2f}")):
        body = [
            [*name, people, *(show(curves[name][x]) if name in curves else "–" for x in ALONG)]
            for name, people in reached.items()
        ]
        out.append(markdown([title, "method", "reach certainty", *(f"{x:g}" for x in ALONG)], body))
        out.append(source)
    out.append(
        "Averages are over the people whose path reaches certainty, so that every confidence speaks of the same people."
    )
    return [*out, *_bends(curves, source)]


def xgboost(read: Rows, pictures: Path) -> list[str]:
    """(e)"""
    rows = read("xgboost")
    if not rows:
        return [NONE]
    out = [
        "XGBoost takes a branch of its own at a blank. The optimum for the row *with its blanks* is compared with "
        "ARMIN, which completes the row. Validity is that of the complete row."
    ]
    for variant, mine in by(rows, "variant").items():
        name = variant.split("=")[1]
        out.append(f"### Cost: {'TLPS' if name == 'tlps' else 'l1, weighted by 1/MAD'}")
        out.append(figures.lines(
            mine, pictures, f"xgboost-{name}", along=lambda r: float(r["missing"]), label="missing values",
            measures=("valid ratio", "average cost", "sign agreement"),
        ))  # fmt: skip
        body = []
        for (dataset, method), group in by(mine, "dataset", "method").items():
            found = {m: summarise(g) for m, g in sorted(by(group, "missing").items())}
            fields = [
                f"{s.valid} · {s.cost} · {s.sign}" if (s := found.get(m)) else "–" for m in sorted(by(mine, "missing"))
            ]
            body.append([dataset, label_of(method), *fields])
        heads = [plural(m, "missing", "missing") for m in sorted(by(mine, "missing"))]
        out.append(
            markdown(["data set", "method", *heads], body) + "\n\nIn each field: valid ratio · cost · sign agreement."
        )
        out.append(read.source("xgboost"))
        falling = _falls(mine)
        out.append(
            "The valid ratio of the model's own branch falls from none missing to the most missing in: "
            + (", ".join(falling) if falling else "no data set") + "."
        )  # fmt: skip
    return out


def _falls(rows: list[Row]) -> list[str]:
    names = []
    for dataset, group in by([r for r in rows if r["method"] == "native"], "dataset").items():
        found = {m: summarise(g).valid for m, g in by(group, "missing").items()}
        first, last = found[min(found)], found[max(found)]
        if last.value < first.value:
            names.append(f"{dataset} ({100 * first.value:.0f} % → {100 * last.value:.0f} %)")
    return names
