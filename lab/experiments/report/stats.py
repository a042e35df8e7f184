"""Numbers from rows: shares and means with 95 % intervals, paired comparisons, counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest, norm

from lab.experiments.store import Row

__all__ = [
    "Mean",
    "Paired",
    "Share",
    "Summary",
    "by",
    "counted",
    "mean",
    "paired",
    "share",
    "shown",
    "statuses",
    "summarise",
]

LEVEL = 0.95
Z = float(norm.ppf((1 + LEVEL) / 2))


@dataclass(frozen=True)
class Share:
    """k of n, with Wilson's interval.

    >>> Share(75, 100)
    75 % [66, 82]
    """

    k: int
    n: int

    @property
    def value(self) -> float:
        return self.k / self.n if self.n else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        if not self.n:
            return math.nan, math.nan
        found = binomtest(self.k, self.n).proportion_ci(LEVEL, method="wilson")
        return float(found.low), float(found.high)

    def __repr__(self) -> str:
        low, high = self.interval
        return "–" if not self.n else f"{100 * self.value:.0f} % [{100 * low:.0f}, {100 * high:.0f}]"


@dataclass(frozen=True)
class Mean:
    """The mean of n numbers, with a normal interval."""

    value: float
    half: float
    n: int
    deviation: float

    @property
    def interval(self) -> tuple[float, float]:
        return self.value - self.half, self.value + self.half

    def __repr__(self) -> str:
        return "–" if not self.n else f"{round(self.value, 2) + 0.0:.2f} ± {self.half:.2f}"


def shown(number: float, form: str, scale: float = 1.0) -> str:
    """A number in a format, or a dash if there is none.

    >>> shown(0.5, ".0f", 100), shown(math.nan, ".2f")
    ('50', '–')
    """
    return "–" if math.isnan(number) else f"{scale * number:{form}}"


def mean(values: Iterable[float | None]) -> Mean:
    """The mean of the numbers that are there.

    >>> mean([1.0, 3.0, None])
    2.00 ± 1.96
    """
    known = np.array([v for v in values if v is not None], dtype=float)
    if known.size == 0:
        return Mean(math.nan, math.nan, 0, math.nan)
    deviation = float(known.std(ddof=1)) if known.size > 1 else 0.0
    return Mean(float(known.mean()), Z * deviation / math.sqrt(known.size), int(known.size), deviation)


def share(values: Iterable[Any]) -> Share:
    """How many of the values are true."""
    known = [bool(v) for v in values]
    return Share(sum(known), len(known))


@dataclass(frozen=True)
class Summary:
    """What rows of one cell and method say together.

    ``valid`` counts everybody who can be helped: somebody without an action is not helped by the method. ``cost`` and
    ``sign`` speak about the actions there are.
    """

    n: int
    valid: Share
    cost: Mean
    own_cost: Mean
    sign: Mean
    seconds: Mean
    counts: dict[str, int]


def summarise(rows: list[Row]) -> Summary:
    """One summary of some rows; skipped ones, and people beyond help, are counted elsewhere."""
    asked = [r for r in rows if counted(r)]
    return Summary(
        len(asked),
        share(r.get("valid") for r in asked),
        mean(r.get("cost") for r in asked),
        mean(r.get("own_cost") for r in asked),
        mean(r.get("sign") for r in asked),
        mean(r.get("seconds") for r in asked),
        statuses(rows),
    )


def counted(row: Row) -> bool:
    """Whether a row counts in ratios and means: it was run, and an action exists if nothing is missing.

    >>> counted({"status": "optimal"}), counted({"status": "infeasible", "possible": False})
    (True, False)
    """
    return bool(row["status"] != "skipped" and row.get("possible", True))


def statuses(rows: list[Row]) -> dict[str, int]:
    """How the solves ended."""
    found: dict[str, int] = {}
    for row in rows:
        found[row["status"]] = found.get(row["status"], 0) + 1
    return dict(sorted(found.items()))


def by(rows: Iterable[Row], *names: str) -> dict[Any, list[Row]]:
    """Rows by the values of some columns, in the order in which they come."""
    key: Callable[[Row], Any] = (lambda r: r[names[0]]) if len(names) == 1 else (lambda r: tuple(r[n] for n in names))
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


@dataclass(frozen=True)
class Paired:
    """Two methods on the same people.

    Attributes
    ----------
    n : people that both were asked about
    better, worse : people for whom only the first, only the second, is valid
    p : of the exact sign test
    gain : the valid ratio of the first minus that of the second
    cost : first minus second, where both have an action
    cost_valid : the same, where both are valid
    """

    n: int
    better: int
    worse: int
    p: float
    gain: Mean
    cost: Mean
    cost_valid: Mean

    @property
    def less_valid(self) -> bool:
        """Whether the first is less valid, beyond error."""
        return self.worse > self.better and self.p < 0.05

    @property
    def dearer(self) -> bool:
        """Whether the first is dearer where both are valid, beyond error."""
        return self.cost_valid.n > 1 and self.cost_valid.interval[0] > 1e-9


def paired(first: list[Row], second: list[Row]) -> Paired:
    """Compare two methods person by person."""
    left = {r["instance"]: r for r in first if counted(r)}
    right = {r["instance"]: r for r in second if counted(r)}
    both = [(left[i], right[i]) for i in left if i in right]
    better = sum(bool(a["valid"]) and not b["valid"] for a, b in both)
    worse = sum(bool(b["valid"]) and not a["valid"] for a, b in both)
    p = float(binomtest(better, better + worse).pvalue) if better + worse else 1.0
    priced = [(a, b) for a, b in both if a.get("cost") is not None and b.get("cost") is not None]
    return Paired(
        len(both), better, worse, p, mean(float(bool(a["valid"])) - bool(b["valid"]) for a, b in both),
        mean(a["cost"] - b["cost"] for a, b in priced),
        mean(a["cost"] - b["cost"] for a, b in priced if a["valid"] and b["valid"]),
    )  # fmt: skip
