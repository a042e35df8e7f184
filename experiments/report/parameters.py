"""Sections that vary something: confidence, completions, blanks."""

from __future__ import annotations

from pathlib import Path

from experiments.methods import label_of
from experiments.report import figures
from experiments.report.stats import by, mean, summarise
from experiments.report.tables import (
    NONE,
    Rows,
    markdown,
    plural,
)
from experiments.store import Row

__all__ = ["paths", "sensitivity", "xgboost"]


def _number(row: Row) -> float:
    return float(row["variant"].split("=")[1])


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
        out.append(figures.lines(rows, pictures, name, along=_number, label=label, measures=measures, across=across))
        places = sorted({_number(r) for r in rows})
        for title, show in (
            ("valid ratio", lambda s: f"{100 * s.valid.value:.0f} %" if s.valid.n else "–"),
            ("average cost", lambda s: f"{s.cost.value:.2f}" if s.cost.n else "–"),
        ):  # fmt: skip
            body = []
            for (where, method), group in by(rows, across, "method").items():
                found = [summarise([r for r in group if _number(r) == x]) for x in places]
                body.append([where, label_of(method), found[0].n, *map(show, found)])
            out.append(markdown([title, "method", "people", *(f"{x:g}" for x in places)], body))
        names = sorted({r["experiment"] for r in rows})
        out += [*(_bends(rows, across) if label.startswith("confidence") else []), read.source(*names)]
    out.append("The paper shows these as pictures only, so there are no published numbers to put beside them.")
    return out


def _bends(rows: list[Row], across: str) -> list[str]:
    """The paper says that validity saturates and cost is steep near 1: what the last steps do, beside the others."""
    places = sorted({_number(r) for r in rows})
    if len(places) < 4:
        return []
    body = []
    for (where, method), group in by(rows, across, "method").items():
        found = [summarise([r for r in group if _number(r) == x]) for x in places]
        half = len(places) // 2
        parts = []
        for first, last in ((0, half), (half, len(places) - 1)):
            width = places[last] - places[first]
            gain = (found[last].valid.value - found[first].valid.value) / width / 10
            price = (found[last].cost.value - found[first].cost.value) / width / 10
            parts += [f"{100 * gain:+.1f}", f"{price:+.3f}"]
        body.append([where, label_of(method), *parts])
    low, middle, high = places[0], places[len(places) // 2], places[-1]
    head = [
        "", "method", f"points per 0.1, {low:g}–{middle:g}", f"cost per 0.1, {low:g}–{middle:g}",
        f"points per 0.1, {middle:g}–{high:g}", f"cost per 0.1, {middle:g}–{high:g}",
    ]  # fmt: skip
    return [
        "The paper reads its curves as a valid ratio that saturates and a cost that is steep near 1. If so, the second "
        "half of the range brings fewer points and costs more than the first:",
        markdown(head, body),
    ]


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
    body = []
    for (dataset, method), group in by(both, "dataset", "method").items():
        at = [
            mean(figures.cost_at(r, c) for r in group if figures.cost_at(r, 1.0) is not None)
            for c in (0.5, 0.75, 0.9, 1.0)
        ]
        reached = sum(figures.cost_at(r, 1.0) is not None for r in group)
        body.append([dataset, label_of(method), f"{reached} of {len(group)}", *at])
    head = ["data set", "method", "reach certainty", "cost at 50 %", "at 75 %", "at 90 %", "at 100 %"]
    out.append(markdown(head, body))
    out.append(
        "Averages are over the people whose path reaches certainty, so that every confidence speaks of the same people."
    )
    return out


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
            body.append([dataset, label_of(method), *(f"{s.valid} · {s.cost} · {s.sign}" for s in found.values())])
        heads = [plural(m, "missing", "missing") for m in sorted(by(mine, "missing"))]
        out.append(
            markdown(["data set", "method", *heads], body) + "\n\nIn each field: valid ratio · cost · sign agreement."
        )
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
