"""The sections of the page, by the letter of their experiments."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from lab.experiments.report.beyond import blanks, clock, complete
from lab.experiments.report.compare import mar_mnar, mcar
from lab.experiments.report.gaps import Gaps, gaps_of
from lab.experiments.report.ladder import ladder
from lab.experiments.report.parameters import paths, sensitivity, xgboost
from lab.experiments.report.people import examples, figure_one
from lab.experiments.report.promised import promised
from lab.experiments.report.rivals import rivals
from lab.experiments.report.splits import splits
from lab.experiments.report.tables import Rows, markdown, plural
from lab.experiments.store import Row, read_head, read_rows

__all__ = ["SECTIONS", "Reader", "reader"]

Section = Callable[[Rows, Path], list[str]]

SECTIONS: dict[str, Section] = {
    "a": mcar, "l": ladder, "m": splits, "b": mar_mnar, "c": sensitivity, "d": paths, "e": xgboost, "f": examples,
    "g": figure_one,
    "h": blanks, "i": complete, "p": promised, "r": rivals, "t": clock,
}  # fmt: skip


class Reader:
    """Reads each experiment's rows once, and says where they come from.

    Parameters
    ----------
    folder : where the rows are
    docs : the folder of the page, from which links lead to the rows
    few : whether they are those of a quick run
    """

    def __init__(self, folder: Path, docs: Path | None = None, *, few: bool = False) -> None:
        self.folder, self.docs, self.few = folder, docs, few
        self.known: dict[str, list[Row]] = {}

    def __call__(self, name: str) -> list[Row]:
        if name not in self.known:
            self.known[name] = sorted(read_rows(self.folder, name), key=_place)
        return self.known[name]

    def source(self, *names: str, **only: object) -> str:
        """A line that leads from a table to its rows, and to the commands that show and make them.

        Parameters
        ----------
        *names : experiments
        **only : which of their rows: ``dataset``, ``model``, ``missing`` or ``method``
        """
        parts = []
        for name in names:
            rows = [r for r in self(name) if all(r[column] == value for column, value in only.items())]
            if not rows:
                continue
            asked = "".join(f" --{FLAGS[column]} {value}" for column, value in only.items())
            parts.append(
                f"{self._link(name)}, {plural(len(rows), 'row')}: `python -m lab.experiments rows {name}{asked}` shows "
                "them, "
                f"`python -m lab.experiments run {name}{asked}` makes them"
            )
        return f"*Rows: {'; '.join(parts)}.*" if parts else ""

    def origins(self, names: Iterable[str]) -> str:
        """A table of where the rows of experiments come from."""
        body = []
        for name in names:
            if not self(name):
                continue
            head = read_head(self.folder, name)
            code, commit = (", ".join(v) if isinstance(v := head.get(k, ""), list) else v for k in ("code", "commit"))
            seconds = sum(row.get("seconds") or 0.0 for row in self(name))
            body.append([name, self._link(name), f"{len(self(name)):,}", f"{seconds:,.0f}", commit or "–", code or "–"])
        head = ["experiment", "rows", "how many", "seconds of the methods", "commit", "fingerprint of the code"]
        return markdown(head, body)

    def gaps(self, names: Iterable[str]) -> list[Gaps]:
        """What the rows of experiments lack."""
        return gaps_of(self, names, few=self.few)

    def _link(self, name: str) -> str:
        """The file of an experiment's rows, as a link where the page can reach it."""
        file, here = Path(read_head(self.folder, name).get("file", "")).resolve(), Path(__file__).resolve().parents[3]
        if not file.is_relative_to(here):
            return f"`{file.name}`"
        shown = file.relative_to(here).as_posix()
        if self.docs is None or not self.docs.resolve().is_relative_to(here):
            return f"`{shown}`"
        return f"[{shown}]({Path(os.path.relpath(file, self.docs.resolve())).as_posix()})"


FLAGS = {"dataset": "datasets", "model": "models", "missing": "missing", "method": "methods"}
"""By the column of a row, the option of the command line that chooses by it."""


def reader(folder: Path, docs: Path | None = None, *, few: bool = False) -> Reader:
    """Read each experiment's rows once."""
    return Reader(folder, docs, few=few)


ORDER = (
    "optimal", "optimal-published", "mean", "mean-published", "knn", "knn-published", "mice", "mice-published",
    "robust", "robust-published", "native", "published-milo", "published", "exact-plain", "exact", "milo", "brute",
    "dice",
)  # fmt: skip
DATA = ("FICO", "Attrition", "WineQuality", "Student", "GiveMeCredit", "FICO-raw", "GiveMeCredit-raw", "Adult")
MODELS = ("LR-published", "LR", "MLP-published", "MLP", "MLP-scaled", "RF-published", "RF", "XGBoost")


def _place(row: Row) -> tuple[object, ...]:
    """The paper's order; what it does not know comes last, by name."""
    return (
        *_first(DATA, row["dataset"]), *_first(MODELS, row["model"]), row["missing"], row["variant"],
        *_first(ORDER, row["method"]), row["instance"],
    )  # fmt: skip


def _first(known: tuple[str, ...], name: str) -> tuple[int, str]:
    return (known.index(name) if name in known else len(known)), name
