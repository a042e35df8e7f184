"""Markdown tables, and lists of the cells where something holds or does not."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Protocol

from lab.experiments.methods import label_of
from lab.experiments.report.published import published
from lab.experiments.report.stats import Mean, Share, Summary, by, paired, statuses, summarise
from lab.experiments.store import Row

__all__ = [
    "NONE",
    "Rows",
    "agreement_with_paper",
    "at_least_as_good",
    "blanks_in_words",
    "counts",
    "file_name",
    "listed",
    "markdown",
    "matrix",
    "not_solved",
    "order_breaks",
    "plural",
]

IMPUTATIONS = ("mean", "knn", "mice")


class Rows(Protocol):
    """The rows of an experiment by its name, and where they come from."""

    def __call__(self, name: str, /) -> list[Row]: ...

    def source(self, *names: str, **only: object) -> str: ...


NONE = "No rows are stored for this experiment."


def listed(items: list[str], none: str) -> str:
    """Items as a list, or a sentence if there are none.

    >>> listed([], "none")
    'none'
    """
    return "\n".join(f"- {item}" for item in items) if items else none


def file_name(variant: str) -> str:
    """A variant as part of a file's name.

    >>> file_name("blanks=mar:age:income")
    'blanks-mar-age-income'
    """
    return re.sub(r"[^\w.]+", "-", variant)


def plural(n: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> plural(1, "cell"), plural(3, "person", "people")
    ('1 cell', '3 people')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def markdown(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table.

    >>> print(markdown(["a", "b"], [[1, 2]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def matrix(
    rows: list[Row],
    methods: Sequence[str],
    show: Callable[[Summary], object],
    beside: Callable[[str, str, str], str | None] | None = None,
) -> str:
    """One line for each data set and model, one column for each method; ``beside`` adds the published number."""
    body = []
    for (dataset, model), group in by(rows, "dataset", "model").items():
        mine = by(group, "method")
        line: list[object] = [dataset, model]
        for method in methods:
            found = summarise(mine.get(method, []))
            text = str(show(found)) if found.n else "–"
            given = beside(dataset, model, method) if beside else None
            line.append(text + (f" · *{given}*" if given else ""))
        body.append(line)
    return markdown(["data set", "model", *(label_of(m) for m in methods)], body)


def blanks_in_words(missing: int) -> str:
    """How many values are blank.

    >>> blanks_in_words(0), blanks_in_words(2)
    ('nothing missing', '2 missing')
    """
    return {-1: "real blanks", 0: "nothing missing"}.get(missing, f"{missing} missing")


def cell_name(row: Row) -> str:
    """A cell in words."""
    blanks = blanks_in_words(row["missing"])
    return " · ".join(str(p) for p in (row["dataset"], row["model"], blanks, row["variant"]) if p)


def cells(rows: list[Row]) -> dict[str, list[Row]]:
    """Rows by the name of their cell."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(cell_name(row), []).append(row)
    return found


def counts(rows: list[Row]) -> list[list[object]]:
    """For each cell: rows, actions, proofs that there is none, none found, failed, skipped, beyond help, and who."""
    lines: list[list[object]] = []
    for name, group in cells(rows).items():
        found = statuses(group)
        solved = found.get("optimal", 0) + found.get("feasible", 0)
        rest = [
            f"{label_of(method)}: {', '.join(f'{n} {status}' for status, n in bad.items())}"
            for method, mine in by(group, "method").items()
            if (bad := {s: n for s, n in statuses(mine).items() if s not in ("optimal", "feasible")})
        ]
        lines.append([
            group[0]["experiment"], name, len(group), solved, found.get("infeasible", 0), found.get("unknown", 0),
            found.get("failed", 0), found.get("skipped", 0),
            len({r["instance"] for r in group if r.get("possible") is False}), "; ".join(rest),
        ])  # fmt: skip
    return lines


def not_solved(rows: list[Row]) -> list[str]:
    """Why rows failed or were skipped, with how often."""
    reasons: dict[str, int] = {}
    for row in rows:
        if row["status"] in ("failed", "skipped"):
            text = f"{label_of(row['method'])}, {row['status']}: {row.get('note') or 'no reason given'}"
            reasons[text] = reasons.get(text, 0) + 1
    return [f"{plural(n, 'row')}: {text}" for text, n in sorted(reasons.items(), key=lambda item: -item[1])]


def agreement_with_paper(rows: list[Row], measure: str) -> tuple[int, int, list[str]]:
    """In how many cells our number and the paper's agree within error, of how many, and which do not.

    For a mean the paper gives no deviation; ours stands in for it.
    """
    agree, total, others = 0, 0, []
    for (dataset, model, method), group in by(rows, "dataset", "model", "method").items():
        given, found = published(dataset, model, method), summarise(group)
        ours: Share | Mean = found.valid if measure == "valid_ratio" else found.cost
        if measure == "sign_agreement":
            ours = found.sign
        if given is None or not ours.n:
            continue
        n, theirs = given["instances"], given[measure]
        if isinstance(ours, Share):
            p = (ours.k + theirs * n + 1) / (ours.n + n + 2)
            error = math.sqrt(p * (1 - p) * (1 / ours.n + 1 / n))
        else:
            error = ours.deviation * math.sqrt(1 / ours.n + 1 / n)
        total += 1
        if abs(ours.value - theirs) <= 1.96 * error + 0.005:
            agree += 1
        else:
            others.append(f"{dataset} {model} {label_of(method)}: {ours.value:.2f}, paper {theirs:.2f}")
    return agree, total, others


def at_least_as_good(rows: list[Row], first: str, second: str) -> tuple[int, list[str], list[str], str]:
    """Cells in all; those where ``first`` is less valid, and where it is dearer, beyond error; and the whole table."""
    less, dearer, body = [], [], []
    for name, group in cells(rows).items():
        mine = by(group, "method")
        if first not in mine or second not in mine:
            continue
        found = paired(mine[first], mine[second])
        if found.less_valid:
            less.append(f"{name} ({found.better} better, {found.worse} worse)")
        if found.dearer:
            dearer.append(f"{name} ({found.cost_valid.value:+.2f})")
        gain = (found.better - found.worse) / found.n if found.n else math.nan
        body.append([
            name, found.n, f"{100 * gain:+.0f} points", f"{found.better} / {found.worse}", found.cost, found.cost_valid,
        ])  # fmt: skip
    head = ["cell", "people", "valid ratio", "only it / only the other valid", "cost, all", "cost, both valid"]
    return len(body), less, dearer, markdown(head, body)


def order_breaks(rows: list[Row], middle: str) -> tuple[int, dict[str, list[str]]]:
    """Cells in all, and by the averages the cells that break the order ImputationAR < ``middle`` < RobustAR."""
    breaks: dict[str, list[str]] = {
        "An ImputationAR is more valid": [], "An ImputationAR is dearer": [],
        "RobustAR is less valid": [], "RobustAR is cheaper": [],
    }  # fmt: skip
    total = 0
    for name, group in cells(rows).items():
        found = {m: summarise(g) for m, g in by(group, "method").items()}
        if middle not in found or not found[middle].n:
            continue
        total += 1
        ours = found[middle]
        for m in (*IMPUTATIONS, "robust"):
            if m not in found:
                continue
            sign, texts = (-1, list(breaks)[2:]) if m == "robust" else (1, list(breaks)[:2])
            for text, theirs, mine in zip(
                texts, (found[m].valid.value, found[m].cost.value), (ours.valid.value, ours.cost.value), strict=True
            ):
                if sign * (theirs - mine) > 1e-9:
                    breaks[text].append(f"{name}: {label_of(m)} {theirs:.2f} against {mine:.2f}")
    return total, breaks
