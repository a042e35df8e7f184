"""The sections of the page, by the letter of their experiments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from experiments.report.beyond import blanks, clock, complete
from experiments.report.compare import mar_mnar, mcar
from experiments.report.ladder import ladder
from experiments.report.parameters import paths, sensitivity, xgboost
from experiments.report.people import examples, figure_one
from experiments.report.promised import promised
from experiments.report.rivals import rivals
from experiments.report.splits import splits
from experiments.report.tables import Rows
from experiments.store import Row, read_head, read_rows

__all__ = ["SECTIONS", "Reader", "reader"]

Section = Callable[[Rows, Path], list[str]]

SECTIONS: dict[str, Section] = {
    "a": mcar, "l": ladder, "m": splits, "b": mar_mnar, "c": sensitivity, "d": paths, "e": xgboost, "f": examples,
    "g": figure_one,
    "h": blanks, "i": complete, "p": promised, "r": rivals, "t": clock,
}  # fmt: skip


class Reader:
    """Reads each experiment's rows once, and says where they come from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.known: dict[str, list[Row]] = {}

    def __call__(self, name: str) -> list[Row]:
        if name not in self.known:
            self.known[name] = sorted(read_rows(self.folder, name), key=_place)
        return self.known[name]

    def source(self, *names: str) -> str:
        """A line that leads from a table to its rows and the command that makes them."""
        parts = []
        for name in names:
            rows, head = self(name), read_head(self.folder, name)
            if not rows:
                continue
            code, commit = (", ".join(v) if isinstance(v := head.get(k, ""), list) else v for k in ("code", "commit"))
            made = f", code {code}" + (f", commit {commit}" if commit else "") if code else ""
            parts.append(
                f"`{_shown(head.get('file', ''))}` ({len(rows):,} rows{made}): `python -m experiments run {name}`"
            )
        return f"*Rows: {'; '.join(parts)}.*" if parts else ""


def _shown(file: str) -> str:
    """A path from the repository's folder on, so that a page is the same wherever it is written."""
    here = Path(__file__).parents[2]
    path = Path(file).resolve()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else Path(file).name


def reader(folder: Path) -> Reader:
    """Read each experiment's rows once."""
    return Reader(folder)


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
