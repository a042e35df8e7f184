"""The sections of the page, by the letter of their experiments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from experiments.report.beyond import blanks, clock, complete
from experiments.report.compare import mar_mnar, mcar
from experiments.report.ladder import ladder
from experiments.report.parameters import paths, sensitivity, xgboost
from experiments.report.people import examples, figure_one
from experiments.report.tables import Rows
from experiments.store import Row, read_rows

__all__ = ["SECTIONS", "reader"]

Section = Callable[[Rows, Path], list[str]]

SECTIONS: dict[str, Section] = {
    "a": mcar, "l": ladder, "b": mar_mnar, "c": sensitivity, "d": paths, "e": xgboost, "f": examples, "g": figure_one,
    "h": blanks, "i": complete, "t": clock,
}  # fmt: skip


def reader(folder: Path) -> Rows:
    """Read each experiment's rows once."""
    known: dict[str, list[Row]] = {}

    def read(name: str) -> list[Row]:
        if name not in known:
            known[name] = sorted(read_rows(folder, name), key=_place)
        return known[name]

    return read


ORDER = (
    "optimal", "mean", "knn", "mice", "robust", "native", "published-milo", "published", "exact-plain", "exact", "milo",
    "brute", "dice",
)  # fmt: skip
DATA = ("FICO", "Attrition", "WineQuality", "Student", "GiveMeCredit", "FICO-raw", "GiveMeCredit-raw", "Adult")
MODELS = ("LR-published", "LR", "MLP", "RF", "XGBoost")


def _place(row: Row) -> tuple[object, ...]:
    """The paper's order; what it does not know comes last, by name."""
    return (
        *_first(DATA, row["dataset"]), *_first(MODELS, row["model"]), row["missing"], row["variant"],
        *_first(ORDER, row["method"]), row["instance"],
    )  # fmt: skip


def _first(known: tuple[str, ...], name: str) -> tuple[int, str]:
    return (known.index(name) if name in known else len(known)), name
