"""Sections about single people: the example tables and Figure 1."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lab.experiments.methods import label_of
from lab.experiments.report import figures
from lab.experiments.report.published import EXAMPLES
from lab.experiments.report.stats import by
from lab.experiments.report.tables import (
    NONE,
    Rows,
    markdown,
)
from lab.experiments.store import Row

__all__ = ["examples", "figure_one"]


def examples(read: Rows, pictures: Path) -> list[str]:
    """(f)"""
    out = []
    for name, naive in (("example-credit", "mean"), ("example-fico", "native")):
        rows = read(name)
        if not rows:
            out.append(f"{name}: {NONE}")
            continue
        person, why = _chosen(by(rows, "instance"), naive)
        blank = next((r["blanks"][0] for r in person.values() if r["blanks"]), "?")
        out.append(
            f"**{rows[0]['dataset']}, {rows[0]['model']}**, {blank} is blank; person "
            f"{next(iter(person.values()))['instance']}, {why}."
        )
        body = []
        for method, row in person.items():
            action = (
                "; ".join(f"{n} {amount or '→ ' + after}" for n, _, after, amount in row["changes"]) or row["status"]
            )
            cost = "–" if row["cost"] is None else f"{row['cost']:.2f}"
            given = EXAMPLES[name].get(method)
            theirs = " · ".join(given) if given else "–"
            body.append([label_of(method), action, row["valid"], cost, theirs])
        out.append(markdown(["method", "action", "valid", "cost", "the paper's person: action · valid · cost"], body))
        out.append(read.source(name))
    out.append("The paper does not say which person its tables show, so ours is chosen by the rule that is stated.")
    return out


def _chosen(people: dict[int, list[Row]], naive: str) -> tuple[dict[str, Row], str]:
    """The first person for whom the naive action fails and ARMIN's is the optimum; else the first it fails for."""
    rules: tuple[tuple[str, Callable[[dict[str, Row]], bool]], ...] = (
        (f"the first for whom {label_of(naive)} fails and ARMIN, exact, gives the optimum",
         lambda p: not p[naive]["valid"] and p["exact"]["changes"] == p["optimal"]["changes"]),
        (f"the first for whom {label_of(naive)} fails and ARMIN, exact, is valid",
         lambda p: not p[naive]["valid"] and bool(p["exact"]["valid"])),
        (f"the first for whom {label_of(naive)} fails", lambda p: not p[naive]["valid"]),
        (f"the first ({label_of(naive)} fails for nobody here)", lambda p: True),
    )  # fmt: skip
    order = ("optimal", "mean", "native", "robust", "published", "exact")
    for why, rule in rules:
        for group in people.values():
            person = {r["method"]: r for r in group}
            if {"optimal", naive, "exact"} <= set(person) and rule(person):
                return {m: person[m] for m in order if m in person}, why
    return {r["method"]: r for r in next(iter(people.values()))}, "the first"


def figure_one(read: Rows, pictures: Path) -> list[str]:
    """(g)"""
    rows = read("figure1")
    if not rows:
        return [NONE]
    person = rows[0]["picture"]["row"]
    out = ["A made-up applicant does not tell the income: " + ", ".join(f"{k} {v}" for k, v in person.items()) + "."]
    out.append(figures.figure_one(rows, pictures, "figure-1"))
    for row in rows:
        action = "; ".join(f"{n} {before} → {after}" for n, before, after, _ in row["changes"]) or "nothing"
        if row["cost"] is None:
            out.append(f"- {label_of(row['method'])}: {row['status']}")
        else:
            does = "works" if row["valid"] else "does not work"
            out.append(
                f"- {label_of(row['method'])}: {action}; {does} for the person as they are; cost {row['cost']:.2f}"
            )
    return [out[0], out[1], "\n".join(out[2:]), read.source("figure1")]
