"""The published numbers, as far as they are public."""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path

__all__ = ["EXAMPLES", "published", "published_seconds"]

_HERE = Path(__file__).parents[1] / "published"
_NAMES = {
    "mean": "ImputationAR (mean)",
    "knn": "ImputationAR (k-NN)",
    "mice": "ImputationAR (MICE)",
    "robust": "RobustAR",
    "published": "ARMIN",
    "optimal": "Optimal (nothing missing)",
}
EXAMPLES = {
    "example-credit": {
        "optimal": ("NumberOfTimes90DaysLate −3", "True", "3.00"),
        "mean": ("RevolvingUtilizationOfUnsecuredLines −0.49", "False", "2.75"),
        "robust": ("RevolvingUtilizationOfUnsecuredLines −0.36; NumberOfTimes90DaysLate −3", "True", "5.42"),
        "published": ("NumberOfTimes90DaysLate −3", "True", "3.00"),
    },
    "example-fico": {
        "optimal": ("ExternalRiskEstimate +20", "True", "1.35"),
        "native": (
            "ExternalRiskEstimate −6; MaxDelq2PublicRecLast12M −2; NetFractionRevolvingBurden −19; "
            "PercentTradesWBalance −7",
            "False",
            "1.14",
        ),
    },
}
"""The paper's two example tables: the action, whether it is valid, its cost."""


@lru_cache(maxsize=1)
def _averages() -> dict[tuple[str, str, str], dict[str, str]]:
    with (_HERE / "averages.csv").open(encoding="utf-8") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {(r["data"], r["model"], r["method"]): r for r in rows}


@lru_cache(maxsize=1)
def _times() -> dict[tuple[str, str, str], tuple[float, float]]:
    with (_HERE / "times.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {(r["dataset"], r["model"], r["method"]): (float(r["seconds"]), float(r["deviation"])) for r in rows}


def published(dataset: str, model: str, method: str) -> dict[str, float] | None:
    """The authors' averages with two blanks (none for the optimum), or None if there are none; also for their models.

    >>> published("FICO", "LR", "published")["valid_ratio"]
    0.85
    >>> published("FICO", "LR-published", "published")["valid_ratio"]
    0.85
    """
    row = _averages().get((dataset, model.removesuffix("-published"), method))
    columns = {
        "instances": "people", "valid_ratio": "valid", "average_cost": "cost", "sign_agreement": "agreement",
        "seconds": "seconds",
    }  # fmt: skip
    return None if row is None else {name: float(row[column]) for name, column in columns.items()}


def published_seconds(dataset: str, model: str, method: str) -> tuple[float, float] | None:
    """Mean and standard deviation of the paper's time table.

    >>> published_seconds("FICO", "RF", "published")
    (230.14, 196.0)
    """
    return _times().get((dataset, model, _NAMES.get(method, "")))
