"""``docs/reproduction.md``: every figure and table, from the stored rows and nothing else."""

from __future__ import annotations

from pathlib import Path

from armin.errors import DataError
from experiments.config import EXPERIMENTS, TITLES
from experiments.report.sections import SECTIONS, reader
from experiments.report.stats import statuses
from experiments.report.tables import counts, listed, markdown, not_solved, plural
from experiments.store import Row, read_head, read_times

__all__ = ["write_report", "write_section"]

SOURCED = "clmpr"
"""Sections that name the rows under each table themselves."""


def write_report(folder: Path, docs: Path) -> Path:
    """Write the page and its figures.

    Parameters
    ----------
    folder : where the rows are
    docs : where ``reproduction.md`` and ``img/paper`` go

    Returns
    -------
    Path
        The page.
    """
    read = reader(folder)
    every = {name: read(name) for name in EXPERIMENTS}
    if not any(every.values()):
        raise DataError(f"There are no rows in {folder}. Make some with: python -m experiments run all.")
    pictures = docs / "img" / "paper"
    parts = [*_head(every, read_times(folder))]
    for letter, section in SECTIONS.items():
        parts.append(f"## ({letter}) {TITLES[letter]}")
        notes = [f"{e.name}: {e.note}" for e in EXPERIMENTS.values() if e.letter == letter and e.note]
        parts += section(read, pictures)
        if letter not in SOURCED:
            parts.append(read.source(*(name for name, e in EXPERIMENTS.items() if e.letter == letter)))
        parts += ["\n".join(f"*{note}*  " for note in notes)] if notes else []
    parts += _tail(every)
    page = docs / "reproduction.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n\n".join(part.strip() for part in parts if part.strip()) + "\n", encoding="utf-8")
    return page


def write_section(folder: Path, docs: Path, letter: str) -> Path:
    """Write one section as a page of its own, named after its letter's title."""
    names = [name for name, e in EXPERIMENTS.items() if e.letter == letter]
    read = reader(folder)
    if not any(read(name) for name in names):
        raise DataError(
            f"There are no rows of {', '.join(names)} in {folder}. Run: python -m experiments run {letter}."
        )
    machine = read_times(folder)
    parts = [
        f"# {TITLES[letter]}",
        f"This page is written by `python -m experiments run {letter}`, then `report --section {letter}`, from stored "
        "rows; no number in it is typed in, except the paper's own. Intervals are 95 %. `python -m experiments report "
        f"--section {letter} --out experiments/rows` writes it again from the rows that are kept.",
        *SECTIONS[letter](read, docs / "img" / "paper"),
    ]
    versions = next((v for name in names if (v := read_head(folder, name).get("versions"))), {})
    if machine:
        parts.append(f"Machine: {machine['cpu']}, {machine['cores']} cores, Python {machine['python']}.")
    if versions:
        parts.append("Libraries: " + ", ".join(f"{name} {v}" for name, v in versions.items() if name != "python") + ".")
    page = docs / f"section-{letter}.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n\n".join(part.strip() for part in parts if part.strip()) + "\n", encoding="utf-8")
    return page


def _head(every: dict[str, list[Row]], machine: Row) -> list[str]:
    rows = [row for group in every.values() for row in group]
    found = statuses(rows)
    absent = [name for name, group in every.items() if not group]
    solved = found.get("optimal", 0) + found.get("feasible", 0)
    lines = [
        "# The paper, reproduced",
        "This page is written by `make paper` (`python -m experiments run all`, then `report`) from stored rows; "
        "no number in it is typed in, except the paper's own. Settings: stratified 75/25 split, seed 0; the first "
        "rejected test rows; at most 100 options per feature and 4 changes; TLPS in base 2; N = 100 completions; "
        "ρ = 0.75. Intervals are 95 %: Wilson's for shares, normal for means.",
        f"{plural(len(rows), 'row')}: {solved:,} with an action, {found.get('infeasible', 0):,} proved to have "
        f"none, {found.get('unknown', 0):,} without an answer, {found.get('failed', 0):,} failed, "
        f"{found.get('skipped', 0):,} skipped. None is dropped; all are counted at the end.",
    ]
    if machine:
        jobs = plural(machine["jobs"], "process", "processes")
        lines.append(f"Machine: {machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, {jobs}.")
    if absent:
        lines.append(f"**No rows are stored for: {', '.join(absent)}.**")
    return lines


def _tail(every: dict[str, list[Row]]) -> list[str]:
    rows = [row for group in every.values() for row in group]
    body = [line for group in every.values() for line in counts([r for r in group if r["experiment"] in EXPERIMENTS])]
    head = [
        "experiment",
        "cell",
        "rows",
        "action",
        "proved: none",
        "none found",
        "failed",
        "skipped",
        "people beyond help",
        "who",
    ]
    return [
        "## Every cell, counted",
        "*Action*: found, proved optimal or not. *Proved: none*: no allowed action works for enough completions. "
        "*None found*: the heuristic has none, or time ran out.",
        "Failed and skipped:\n\n" + listed(not_solved(rows), "- none"),
        f"<details><summary>{plural(len(body), 'cell')}</summary>\n\n{markdown(head, body)}\n\n</details>",
    ]
