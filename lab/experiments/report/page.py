"""The pages: every figure and table, from the stored rows and nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from armin.errors import DataError
from lab.experiments.config import EXPERIMENTS, TITLES
from lab.experiments.report.gaps import said_gaps
from lab.experiments.report.sections import SECTIONS, Reader, reader
from lab.experiments.report.stats import statuses
from lab.experiments.report.tables import counts, listed, markdown, not_solved, plural
from lab.experiments.store import read_head, read_times

__all__ = ["PAGES", "write_pages", "write_report", "write_section"]

PAGES = "lmpr"
"""Sections that are pages of their own; ``reproduction.md`` links to them."""


def write_pages(folder: Path, docs: Path, *, few: bool = False) -> list[Path]:
    """Write ``reproduction.md``, the pages of the sections that have their own, and all figures.

    A page without a single row is not written: one that is there stays as it is.

    Parameters
    ----------
    folder : where the rows are
    docs : where the pages and ``img/paper`` go
    few : whether they are the rows of a quick run
    """
    read = _some(folder, docs, few)
    pages = [_section(read, docs, letter) for letter in PAGES if any(map(read, _names(letter)))]
    if any(read(name) for name, experiment in EXPERIMENTS.items() if experiment.letter not in PAGES):
        pages.insert(0, _whole(read, docs))
    every = [page.read_text(encoding="utf-8") for page in docs.glob("*.md")]
    shown = {name for page in every for name in re.findall(r"img/paper/([^)]*)\.(?:svg|png)", page)}
    for picture in (docs / "img" / "paper").glob("*.*"):
        if picture.stem not in shown and picture.suffix in (".svg", ".png"):
            picture.unlink()  # of another run, which had rows that this one does not have
    return pages


def write_report(folder: Path, docs: Path, *, few: bool = False) -> Path:
    """Write ``reproduction.md`` and its figures; the parameters are those of :func:`write_pages`."""
    return _whole(_some(folder, docs, few), docs)


def write_section(folder: Path, docs: Path, letter: str, *, few: bool = False) -> Path:
    """Write one section as a page of its own, named after its letter."""
    read, names = reader(folder, docs, few=few), _names(letter)
    if not any(read(name) for name in names):
        raise DataError(
            f"There are no rows of {', '.join(names)} in {folder}. Run: python -m lab.experiments run {letter}."
        )
    return _section(read, docs, letter)


def _some(folder: Path, docs: Path, few: bool) -> Reader:
    read = reader(folder, docs, few=few)
    if not any(read(name) for name in EXPERIMENTS):
        raise DataError(f"There are no rows in {folder}. Make some with: python -m lab.experiments run all.")
    return read


def _names(letter: str) -> list[str]:
    return [name for name, e in EXPERIMENTS.items() if e.letter == letter]


def _whole(read: Reader, docs: Path) -> Path:
    pictures = docs / "img" / "paper"
    parts = [*_head(read)]
    for letter, section in SECTIONS.items():
        names = _names(letter)
        parts.append(f"## ({letter}) {TITLES[letter]}")
        gaps = read.gaps(names)
        if letter in PAGES:
            rows = sum(len(read(name)) for name in names)
            whole, cells = sum(g.whole for g in gaps), sum(len(g.cells) for g in gaps)
            parts.append(
                f"[A page of its own](section-{letter}.md), from {plural(rows, 'row')} of {', '.join(names)}; {whole} "
                "of "
                f"{plural(cells, 'cell')} are complete."
            )
            continue
        parts.append(said_gaps(gaps))
        parts += section(read, pictures)
        parts.append(_notes(letter))
    parts += _tail(read)
    return _write(docs / "reproduction.md", parts)


def _section(read: Reader, docs: Path, letter: str) -> Path:
    names = _names(letter)
    parts = [
        f"# {TITLES[letter]}",
        f"This page is written by `python -m lab.experiments run {letter}`, then `report --section {letter}`, from "
        "stored rows; no number in it is typed in, except the paper's own. Intervals are 95 %. `make paper-pages` "
        "writes it again from the rows that are kept, without running anything. "
        "[The other experiments](reproduction.md).",
        said_gaps(read.gaps(names)),
        *SECTIONS[letter](read, docs / "img" / "paper"),
        _notes(letter),
        "## Where the rows come from",
        *_origins(read, names),
    ]
    return _write(docs / f"section-{letter}.md", parts)


def _write(page: Path, parts: Sequence[str]) -> Path:
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n\n".join(part.strip() for part in parts if part.strip()) + "\n", encoding="utf-8")
    return page


def _notes(letter: str) -> str:
    return "\n".join(f"*{e.name}: {e.note}*  " for e in EXPERIMENTS.values() if e.letter == letter and e.note)


def _head(read: Reader) -> list[str]:
    every = {name: read(name) for name in EXPERIMENTS}
    rows = [row for group in every.values() for row in group]
    found = statuses(rows)
    solved = found.get("optimal", 0) + found.get("feasible", 0)
    gaps = read.gaps(EXPERIMENTS)
    whole, cells = sum(g.whole for g in gaps), sum(len(g.cells) for g in gaps)
    lines = [
        "# The paper, reproduced",
        "This page is written by `make paper` (`python -m lab.experiments run all`, then `report`) from stored rows; "
        "no number in it is typed in, except the paper's own. `make paper-pages` writes it again from the rows that "
        "are kept in `lab/experiments/rows`, without running anything; under each table stands where its rows are, and "
        "what "
        "shows and makes them. Settings: stratified 75/25 split, seed 0; the first "
        "rejected test rows; at most 100 options per feature and 4 changes; TLPS in base 2; N = 100 completions; "
        "ρ = 0.75. Intervals are 95 %: Wilson's for shares, normal for means.",
        f"{plural(len(rows), 'row')}: {solved:,} with an action, {found.get('infeasible', 0):,} proved to have "
        f"none, {found.get('unknown', 0):,} without an answer, {found.get('failed', 0):,} failed, "
        f"{found.get('skipped', 0):,} skipped. None is dropped; all are counted at the end. {whole} of "
        f"{plural(cells, 'cell')} are complete.",
    ]
    absent = [name for name, group in every.items() if not group]
    if absent:
        lines.append(f"**No rows are stored for: {', '.join(absent)}.**")
    elif whole < cells:
        lines.append("**Not everything has been run.** Each section begins with what it lacks.")
    return lines


def _origins(read: Reader, names: Sequence[str]) -> list[str]:
    """Where rows come from, what they were made with, and what their times were measured on."""
    machine = read_times(read.folder)
    versions = next((v for name in names if (v := read_head(read.folder, name).get("versions"))), {})
    parts = [read.origins(names)]
    if versions:
        parts.append("Libraries: " + ", ".join(f"{name} {v}" for name, v in versions.items() if name != "python") + ".")
    if machine:
        parts.append(
            f"Machine: {machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, "
            f"{plural(machine['jobs'], 'process', 'processes')}. Seconds depend on it and on what else it did, and are "
            "kept apart from the rows (`NAME.times.jsonl.gz`); everything else is the same on every machine."
        )
    return parts


def _tail(read: Reader) -> list[str]:
    every = {name: read(name) for name in EXPERIMENTS}
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
        "## Where the rows come from",
        *_origins(read, list(EXPERIMENTS)),
    ]
