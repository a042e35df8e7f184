"""What a run has not done: cells that are not there, and cells that have fewer people than they should."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lab.experiments.config import EXPERIMENTS, Cell, Experiment, cells_of, quick
from lab.experiments.report.stats import by
from lab.experiments.report.tables import blanks_in_words, plural
from lab.experiments.store import Row

__all__ = ["Gaps", "gaps_of", "said_gaps"]

SHOWN = 4
"""Cells of one data set and model that are named one by one; of more, the number is said."""


@dataclass(frozen=True)
class Gaps:
    """How far the cells of one experiment are.

    Attributes
    ----------
    experiment : its name
    cells : those it should have
    absent : those without any row though somebody is rejected
    nobody : those in which the model rejects nobody, so that there is nothing to run
    begun : those with rows of some of their people, with how many of how many
    others : data sets and models that have rows and are not declared, such as those of a plug-in
    """

    experiment: str
    cells: tuple[Cell, ...]
    absent: tuple[Cell, ...]
    begun: tuple[tuple[Cell, int, int], ...]
    nobody: tuple[Cell, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def whole(self) -> int:
        """Cells that have all of their rows, which may be none."""
        return len(self.cells) - len(self.absent) - len(self.begun)


def gaps_of(read: Callable[[str], list[Row]], names: Iterable[str], *, few: bool = False) -> list[Gaps]:
    """For each experiment, what its rows lack; ``few`` asks for the cells of a quick run."""
    models = read("models") + read("split-models")
    rejected = {(r["dataset"], r["model"], int(r.get("split", 0))): int(r["rejected"]) for r in models}
    found = []
    for name in names:
        experiment = quick(EXPERIMENTS[name]) if few else EXPERIMENTS[name]
        found.append(_gaps(experiment, read(name), rejected))
    return found


def _gaps(experiment: Experiment, rows: list[Row], rejected: dict[tuple[str, str, int], int]) -> Gaps:
    stored = by(rows, "dataset", "model", "missing", "variant")
    cells = cells_of(experiment)
    people = {cell: _people(stored.get(_key(cell), [])) for cell in cells}
    # nobody stored how many there are: the model's own row says it, or else the fullest cell of the same split
    most: dict[tuple[str, str, int], int] = {}
    for cell, mine in people.items():
        world = (cell.dataset, cell.model, cell.variant.split)
        most[world] = max([most.get(world, 0), *mine.values()])
    absent, nobody, begun = [], [], []
    for cell, mine in people.items():
        world = (cell.dataset, cell.model, cell.variant.split)
        if not mine:
            empty = experiment.kind != "model" and experiment.blanks == "mcar" and rejected.get(world) == 0
            (nobody if empty else absent).append(cell)
            continue
        if experiment.kind == "model":
            continue
        there = rejected.get(world, most[world]) if experiment.blanks == "mcar" else most[world]
        wanted = {method: min(cell.people(method), there) for method in experiment.methods}
        if any(mine.get(method, 0) < count for method, count in wanted.items()):
            most_people = max(wanted.values())
            finished = min(mine.get(method, 0) for method, count in wanted.items() if count == most_people)
            begun.append((cell, finished, most_people))
    declared = set(map(_key, cells))
    others = dict.fromkeys(f"{key[0]} {key[1]}" for key in stored if key not in declared)
    return Gaps(experiment.name, tuple(cells), tuple(absent), tuple(begun), tuple(nobody), tuple(others))


def _key(cell: Cell) -> tuple[str, str, int, str]:
    return cell.dataset, cell.model, cell.missing, cell.variant.name


def _people(rows: list[Row]) -> dict[str, int]:
    return {method: len({r["instance"] for r in group}) for method, group in by(rows, "method").items()}


def said_gaps(found: Iterable[Gaps]) -> str:
    """What is not there, in words; nothing if all is there."""
    lines = []
    for gaps in found:
        if gaps.whole == len(gaps.cells):
            continue
        parts = []
        if len(gaps.absent) == len(gaps.cells):
            parts.append("no rows at all" if not gaps.others else f"only others: {', '.join(gaps.others)}")
        elif gaps.absent:
            parts.append(f"not there: {_listed(gaps)}")
        parts += [
            f"begun: {cell.dataset} {cell.model}{_inner(cell)}, {done} of {plural(wanted, 'person', 'people')} by all "
            "methods"
            for cell, done, wanted in gaps.begun
        ]
        lines.append(
            f"- {gaps.experiment}, {gaps.whole} of {plural(len(gaps.cells), 'cell')} complete: {'; '.join(parts)}."
        )
    if not lines:
        return ""
    return "**Not everything has been run.** What is missing counts nowhere below:\n\n" + "\n".join(lines)


def _listed(gaps: Gaps) -> str:
    declared: dict[tuple[str, str], int] = {}
    for cell in gaps.cells:
        declared[cell.dataset, cell.model] = declared.get((cell.dataset, cell.model), 0) + 1
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in gaps.absent:
        groups.setdefault((cell.dataset, cell.model), []).append(cell)
    parts = []
    for pair, cells in groups.items():
        name = " ".join(pair)
        if len(cells) >= declared.get(pair, 0):
            parts.append(name)
        elif len(cells) > SHOWN:
            parts.append(f"{name} ({len(cells)} of {declared[pair]} cells)")
        else:
            parts.append(f"{name} ({', '.join(_inner(cell).strip() for cell in cells)})")
    return ", ".join(parts)


def _inner(cell: Cell) -> str:
    parts = [blanks_in_words(cell.missing), cell.variant.name]
    return " " + " ".join(part for part in parts if part)
