"""Means over splits and masks, with intervals that count splits: people and masks of one split share its model."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import t as student

from lab.experiments.report.stats import LEVEL, Share, by, counted
from lab.experiments.store import Row

__all__ = ["Clustered", "clustered", "cost_of", "difference", "valid_of", "valid_share"]

ALONE = " †"
"""Marks a mean over one split only."""
Value = Callable[[Row], float | None]


@dataclass(frozen=True)
class Clustered:
    """A mean over the rows of several splits.

    Attributes
    ----------
    value : the mean over all rows
    half : half the 95 % interval: Student's t, one degree of freedom less than there are clusters; NaN for one
    n, splits : rows and splits
    between : the standard deviation of the splits' means
    within : that of the masks' means, within a split
    """

    value: float
    half: float
    n: int
    splits: int
    between: float
    within: float
    all_alike: bool = False
    """Whether it is a share of 0 or 1, which lies at one end of its interval."""

    def text(self, scale: float = 1.0, digits: int = 2, unit: str = "") -> str:
        """The mean with its interval.

        >>> Clustered(0.5, 0.1, 20, 5, 0.1, 0.1).text(100, 0, " %")
        '50 ± 10 %'
        """
        if not self.n:
            return "–"
        value, alone = f"{scale * self.value:.{digits}f}", ALONE if self.splits == 1 else ""
        if math.isnan(self.half):
            return f"{value}{unit}{alone}"
        if self.all_alike:
            far = f"{scale * abs(self.value - self.half):.{digits}f}"
            end = f"at least {far}" if self.value else f"at most {far}"
            return f"{value}{unit}, {end}{unit}{alone}"
        return f"{value} ± {scale * self.half:.{digits}f}{unit}{alone}"

    def holds(self, other: float) -> bool:
        """Whether a number lies in the interval; where there is none, nothing speaks against it."""
        return math.isnan(self.half) or abs(other - self.value) <= self.half


def valid_of(row: Row) -> float:
    """Whether an action is valid as the authors count: it works, and stays within the bounds without being stopped."""
    return float(bool(row.get("valid")) and row.get("legal") is not False)


def cost_of(row: Row) -> float | None:
    """The cost on the true row."""
    found: float | None = row.get("cost")
    return found


def clustered(rows: list[Row], value: Value) -> Clustered:
    """The mean of a value over rows, with splits as clusters (a ratio estimator, linearised).

    Where all rows are of one split, its people are the clusters: the interval then covers people and masks only.

    >>> person = {"instance": 0, "status": "optimal"}
    >>> rows = [{**person, "split": s, "mask": m, "x": s + m / 10} for s in range(3) for m in range(2)]
    >>> found = clustered(rows, lambda r: r["x"])
    >>> round(found.value, 2), round(found.half, 2), found.splits
    (1.05, 2.48, 3)
    """
    known = [(row, v) for row in rows if counted(row) and (v := value(row)) is not None]
    if not known:
        return Clustered(math.nan, math.nan, 0, 0, math.nan, math.nan)
    groups: dict[int, dict[int, list[float]]] = {}
    people: dict[int, list[float]] = {}
    for row, v in known:
        groups.setdefault(row["split"], {}).setdefault(row["mask"], []).append(v)
        people.setdefault(row["instance"], []).append(v)
    splits = len(groups)
    clusters = [[v for values in masks.values() for v in values] for masks in groups.values()]
    centre, half = _ratio(clusters if splits > 1 else list(people.values()))
    inner = [np.var([np.mean(v) for v in masks.values()], ddof=1) for masks in groups.values() if len(masks) > 1]
    between = float(np.std([np.mean(c) for c in clusters], ddof=1)) if splits > 1 else math.nan
    return Clustered(
        centre, half, len(known), splits, between,
        math.sqrt(float(np.mean(inner))) if inner else math.nan,
    )  # fmt: skip


def valid_share(rows: list[Row]) -> Clustered:
    """The valid ratio; where all rows agree, they do not say how rare the others are, and Wilson's interval does.

    That of the people, each counted once, whatever the number of their masks.

    >>> known = {"split": 0, "status": "optimal", "valid": True}
    >>> rows = [{**known, "instance": i, "mask": m} for i in range(15) for m in (0, 1)]
    >>> valid_share(rows).text(100, 0, " %")
    '100 %, at least 80 % †'
    """
    found = clustered(rows, valid_of)
    if not found.n or found.value not in (0.0, 1.0):
        return found
    people = len({(r["split"], r["instance"]) for r in rows if counted(r)})
    low, high = Share(int(found.value * people), people).interval
    return replace(found, half=1 - low if found.value else high, all_alike=True)


def _ratio(clusters: list[list[float]]) -> tuple[float, float]:
    """The mean over all values, and half its interval; NaN for a single cluster."""
    sums, counts = np.array([sum(c) for c in clusters]), np.array([float(len(c)) for c in clusters])
    centre, n = float(sums.sum() / counts.sum()), len(clusters)
    if n == 1:
        return centre, math.nan
    error = math.sqrt(n / (n - 1) * float(((sums - centre * counts) ** 2).sum())) / float(counts.sum())
    return centre, float(student.ppf((1 + LEVEL) / 2, n - 1)) * error


def difference(first: list[Row], second: list[Row], value: Value) -> Clustered:
    """First minus second, person by person and mask by mask, where both have the value."""
    right = {(r["split"], r["mask"], r["instance"]): value(r) for r in second if counted(r)}
    paired = []
    for row in first:
        key = (row["split"], row["mask"], row["instance"])
        mine, other = value(row), right.get(key)
        if mine is not None and other is not None:
            paired.append({**row, "difference": mine - other})
    return clustered(paired, lambda r: float(r["difference"]))


def by_cell(rows: list[Row]) -> dict[tuple[str, str], dict[str, list[Row]]]:
    """Rows by data set and model, then by method."""
    return {cell: by(group, "method") for cell, group in by(rows, "dataset", "model").items()}
