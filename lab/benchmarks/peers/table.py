"""The peers' plans as lines of a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lab.benchmarks.peers.base import Found
from lab.benchmarks.peers.judged import Verdict


@dataclass(frozen=True)
class Line:
    """One peer in one cell; the keys of the JSON. ``reason`` says why there are no numbers.

    Attributes
    ----------
    people, plans : how many were asked about, how many got a plan
    valid : plans that the user's model accepts
    broken : plans that break a constraint of the schema, and ``broken_by`` by which
    kept : plans that are accepted and break none
    cpu_ms, wall_ms, cpu_p95_ms : per person
    cpu_ratio : median CPU over ours, on the same people
    cost_valid, cost_kept : median cost over the optimum, of accepted plans and of those that also break nothing
    cheaper : kept plans that cost less than ours
    changes : median number of features that change
    """

    dataset: str
    model: str
    peer: str
    people: int = 0
    plans: int = 0
    valid: int = 0
    broken: int = 0
    broken_by: tuple[str, ...] = ()
    kept: int = 0
    cpu_ms: float = math.nan
    cpu_p95_ms: float = math.nan
    wall_ms: float = math.nan
    cpu_ratio: float = math.nan
    cost_valid: float = math.nan
    cost_kept: float = math.nan
    cheaper: int = 0
    changes: float = math.nan
    reason: str = ""


def line(
    dataset: str,
    model: str,
    peer: str,
    found: Sequence[Found],
    verdicts: Sequence[Verdict | None],
    base: Sequence[Found],
    optima: Sequence[float | None],
) -> Line:
    """Sum up one peer.

    Parameters
    ----------
    dataset, model, peer : which
    found, verdicts : of this peer; None where there is no plan
    base, optima : ours for the same people, perhaps for more: how long it took, and the cost (None without a plan)
    """
    plans = [(v, best) for v, best in zip(verdicts, optima, strict=False) if v is not None]
    kept = [(v, best) for v, best in plans if v.valid and not v.broken]
    valid = [(v, best) for v, best in plans if v.valid]
    cpu = [one.cpu for one in found]
    notes = sorted({one.note.split(":")[0] for one in found if one.note})
    return Line(
        dataset, model, peer, len(found), len(plans), len(valid), sum(bool(v.broken) for v, _ in plans),
        tuple(sorted({word for v, _ in plans for word in v.broken})), len(kept),
        1000 * float(np.median(cpu)), 1000 * float(np.percentile(cpu, 95)),
        1000 * float(np.median([one.wall for one in found])),
        float(np.median(cpu) / np.median([one.cpu for one in base[: len(found)]])),
        _ratio(valid), _ratio(kept),
        sum(best is not None and v.cost < best * (1 - 1e-9) - 1e-12 for v, best in kept),
        float(np.median([v.changes for v, _ in plans])) if plans else math.nan,
        f"raised {', '.join(notes)}" if notes else "",
    )  # fmt: skip


def _ratio(pairs: Sequence[tuple[Verdict, float | None]]) -> float:
    ratios = [v.cost / best for v, best in pairs if best]
    return float(np.median(ratios)) if ratios else math.nan


def table(lines: Sequence[Line]) -> str:
    """The lines as a Markdown table."""
    head = (
        "| data set | model | peer | people | plans | accepted | break a constraint | CPU, median | p95 | wall, median "
        "| CPU × ours | cost × optimum: accepted | and within constraints | cheaper | changes | |"
    )
    return "\n".join([head, "|" + "---|" * (head.count("|") - 1), *map(_text, lines)])


def _text(of: Line) -> str:
    if of.people == 0:
        return f"| {of.dataset} | {of.model} | {of.peer} |" + " |" * 12 + f" {of.reason} |"
    broken = f"{of.broken}" + (f" ({', '.join(of.broken_by)})" if of.broken_by else "")
    cells = [
        of.dataset, of.model, of.peer, of.people, of.plans, of.valid, broken, _ms(of.cpu_ms), _ms(of.cpu_p95_ms),
        _ms(of.wall_ms), _number(of.cpu_ratio, 1), _number(of.cost_valid, 2), _number(of.cost_kept, 2), of.cheaper,
        _number(of.changes, 0), of.reason,
    ]  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |"


def _ms(value: float) -> str:
    return f"{value / 1000:.1f} s" if value >= 1000 else f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def _number(value: float, digits: int) -> str:
    return "" if math.isnan(value) else f"{value:,.{digits}f}"
