"""DiCE with a fair chance, beside ARMIN."""

from __future__ import annotations

from pathlib import Path

from lab.experiments.config import RIVALS
from lab.experiments.methods import label_of
from lab.experiments.report.stats import by, mean, summarise
from lab.experiments.report.tables import NONE, Rows, markdown
from lab.experiments.store import Row

__all__ = ["rivals"]


def rivals(read: Rows, pictures: Path) -> list[str]:
    """(r)"""
    rows = read("rivals")
    if not rows:
        return [NONE]
    body = []
    for (dataset, model), group in by(rows, "dataset", "model").items():
        mine = by(group, "method")
        ours = {r["instance"]: r for r in mine.get("exact", [])}
        for method in ("exact", *RIVALS):
            if method not in mine:
                continue
            found = summarise(mine[method])
            body.append([
                dataset, model, label_of(method), found.n, found.valid, found.cost, _times(mine[method], ours),
                f"{found.seconds.value:.2f} s" if found.seconds.n else "–",
            ])  # fmt: skip
    head = ["data set", "model", "method", "people", "valid ratio", "cost", "times ARMIN's cost, both valid", "seconds"]
    return [
        "Two values are blank. “Best of 20”: the blanks are filled with the mean, DiCE is asked for twenty "
        "counterfactuals, and the cheapest that the model accepts is taken. “Multiple imputation + DiCE + majority”: "
        "the same for each of five completions, and of all hundred the cheapest action that works for 75 % of another "
        "hundred completions, which is what one would build from DiCE for rows with blanks. Ratios are of the mean "
        "costs over people for whom both actions are valid. Seconds are end to end, on a machine that had other work. "
        "Peers that need no completions, such as NICE, are "
        "compared on complete rows by `make bench` ([engine](engine.md)).",
        markdown(head, body),
        read.source("rivals"),
    ]


def _times(theirs: list[Row], ours: dict[int, Row]) -> str:
    both = [(r, ours[r["instance"]]) for r in theirs if r.get("valid") and ours.get(r["instance"], {}).get("valid")]
    if not both:
        return "–"
    return f"{mean(a['cost'] for a, _ in both).value / mean(b['cost'] for _, b in both).value:.1f} (n = {len(both)})"
