"""Whether the tree at hand is as quick as a reference: ``python -m lab.law [COMMIT]``, HEAD~1 by default.

Two processes, one for each tree, do the same work in turn, so that what else the machine does hits both alike. Seconds
are CPU time; reading models and making options are no part of the cliffs. The law:

- a cell of the paper takes at most 1.15 times the CPU time (median over rows of now ÷ before);
- the cliffs take at most 2 times at the 95th percentile over their rows;
- no fewer answers are proved, cell by cell and cliff by cliff, within the limit;
- a first plan is there within 0.2 s wherever the reference had it by then.

A cell or cliff that breaks it is measured once more with the turns changed, and counts if it breaks it twice.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lab.trees import HERE, OUT, commit_of, environment, worktree

CELL, TAIL, FIRST = 1.15, 2.0, 0.2
"""How much slower a cell may be, how much slower the cliffs' 95th percentile, and seconds until a first plan."""

CELLS = (
    *(("FICO", model) for model in ("LR", "RF", "XGBoost", "HistGB", "MLP")),
    ("Attrition", "LR"), ("WineQuality", "RF"), ("Student", "MLP"),
)  # fmt: skip
ABSENT = (("Synthetic", "LR"), ("Synthetic", "RF"), ("Synthetic", "HistGB"), ("Synthetic", "MLP"))
"""The cells where the real data are absent."""
KINDS = ("complete", "amount", "value")
CLIFFS = (
    "forest, D = 100", "boosted, D = 200", "1,000 trees of depth 6", "boosted, 1,000 options", "forest, K = 8",
    "MLP 30, no limit on changes", "MLP 3 × 64", "FICO, MLP 3 × 64", "linear, D = 100, N = 1,000",
)  # fmt: skip
WARM, ROWS, CLIFF_ROWS, LIMIT = 5, 24, 3, 3.0
"""Rows that warm up, rows of a cell, rows of a cliff, and seconds for one row of a cliff."""


# --- in each tree -----------------------------------------------------------------------------------------


def work() -> None:
    """Answer requests on standard input, one a line, on standard output."""
    from lab.benchmarks.cells import have_data

    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    now: dict[str, Any] = {}
    ways: dict[str, Callable[..., Any]] = {
        "data": have_data,
        "cell": lambda *what: _cell(now, *what),
        "explain": lambda kind, i: _explain(now, kind, i),
        "cliff": lambda *what: _cliff(now, *what),
        "follow": lambda i, limit: _follow(now, i, limit),
    }
    for line in sys.stdin:
        what, *more = json.loads(line)
        print(json.dumps(ways[what](*more)), flush=True)


def _cell(now: dict[str, Any], dataset: str, model: str, rows: int) -> int:
    from lab.benchmarks.cells import make_cell
    from lab.benchmarks.mile import reaching

    cell = make_cell(dataset, model, rows)
    cell.explainer.set_params(options__n_fresh=1000)
    now["cell"] = {
        "complete": (cell.explainer, cell.complete),
        "amount": (cell.explainer, cell.masked),
        "value": (reaching(cell).explainer, cell.masked),
    }
    return len(cell.masked)


def _explain(now: dict[str, Any], kind: str, i: int) -> dict[str, Any]:
    explainer, frame = now["cell"][kind]
    row = frame.iloc[[i]]
    gc.collect()
    start = time.process_time()
    found = explainer.explain(row)
    return {"seconds": time.process_time() - start, "proved": found.status.value in ("optimal", "infeasible")}


def _cliff(now: dict[str, Any], name: str, rows: int) -> int:
    from armin.solve import solve
    from lab.benchmarks.cliffs import CLIFFS, problems_of

    now["problems"] = problems_of(next(cliff for cliff in CLIFFS if cliff.name == name), rows)
    solve(now["problems"][0], "search", time_limit=1.0)  # compiles
    return len(now["problems"])


def _follow(now: dict[str, Any], i: int, limit: float) -> dict[str, Any]:
    from lab.benchmarks.cliffs import follow

    gc.collect()
    curve = follow("", i, now["problems"][i], limit)
    proved = curve.status in ("optimal", "infeasible")
    return {"seconds": curve.seconds, "proved": proved, "first": curve.first, "cost": curve.cost}


# --- both trees -------------------------------------------------------------------------------------------


class Worker:
    """The process of one tree."""

    def __init__(self, tree: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lab.law", "--work"], cwd=tree, env=environment(tree), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def ask(self, *request: Any) -> Any:
        """Its answer to one request."""
        print(json.dumps(request), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline() if self.process.stdout else ""
        if not line:
            raise SystemExit(f"A worker ended at {request}.")
        return json.loads(line)


@dataclass
class Row:
    """One line of the table: what was measured before and now, row by row."""

    name: str
    before: list[dict[str, Any]] = field(default_factory=list)
    now: list[dict[str, Any]] = field(default_factory=list)

    def seconds(self, which: str) -> list[float]:
        """CPU seconds of each row."""
        return [each["seconds"] for each in getattr(self, which)]

    @property
    def ratio(self) -> float:
        """The median over rows of now ÷ before."""
        return float(np.median(np.array(self.seconds("now")) / np.array(self.seconds("before"))))

    def proved(self, which: str) -> int:
        """How many answers were proved."""
        return sum(each["proved"] for each in getattr(self, which))

    def first(self, which: str) -> float | None:
        """When the last of the rows had its first plan; None if nobody looked, or one never had any."""
        known = [each.get("first") for each in getattr(self, which)]
        return max(known) if known and None not in known else None

    def breaches(self) -> list[str]:
        """What breaks the law, but for percentiles, which are of all cliffs together."""
        found = []
        cliff = any("first" in each for each in self.before)
        if not cliff and self.ratio > CELL:
            found.append(f"{self.ratio:.2f} times the CPU time")
        if self.proved("now") < self.proved("before"):
            found.append(f"{self.proved('now')} proved instead of {self.proved('before')}")
        pairs = [(b.get("first"), n.get("first")) for b, n in zip(self.before, self.now, strict=True)]
        late = [n for b, n in pairs if b is not None and b <= FIRST and (n is None or n > FIRST)]
        if late:
            found.append("first plan after " + ", ".join("never" if x is None else f"{x:.2f} s" for x in late))
        return found


def in_turn(pair: list[Worker], name: str, requests: list[tuple[Any, ...]], warm: int, odd: int = 0) -> Row:
    """Both trees' answers to the same requests, each going first every other time."""
    row = Row(name)
    for i, request in enumerate(requests):
        for k in (0, 1) if (i + odd) % 2 else (1, 0):
            found = pair[k].ask(*request)
            if i >= warm:
                (row.before, row.now)[k].append(found)
    return row


def measured(pair: list[Worker], name: str, requests: list[tuple[Any, ...]], warm: int) -> Row:
    """The same, once more if it breaks the law."""
    row = in_turn(pair, name, requests, warm)
    return in_turn(pair, name, requests, warm, odd=1) if row.breaches() else row


def cells(pair: list[Worker], quick: bool) -> list[Row]:
    """The paper's cells."""
    rows = []
    known = CELLS if pair[0].ask("data") else ABSENT
    for dataset, model in known[::3] if quick else known:
        count = min(worker.ask("cell", dataset, model, WARM + ROWS) for worker in pair)
        for kind in KINDS:
            asked = [("explain", kind, i) for i in range(count)]
            rows.append(measured(pair, f"{dataset} {model}, {kind}", asked, WARM))
            print(line(rows[-1]), flush=True)
    return rows


def cliffs(pair: list[Worker], quick: bool) -> list[Row]:
    """The cliffs."""
    rows, data = [], pair[0].ask("data")
    known = [name for name in CLIFFS if data or not name.startswith("FICO")]
    for name in known[::3] if quick else known:
        count = min(worker.ask("cliff", name, CLIFF_ROWS) for worker in pair)
        rows.append(measured(pair, name, [("follow", i, LIMIT) for i in range(count)], 0))
        print(line(rows[-1]), flush=True)
    return rows


HEAD = (
    "| | CPU ms before | now | now ÷ before | proved before | now | first plan ms before | now | |\n" + "|---" * 9 + "|"
)


def line(row: Row) -> str:
    """A line of the table."""
    medians = [f"{1000 * np.median(row.seconds(which)):.1f}" for which in ("before", "now")]
    proved = [f"{row.proved(which)} of {len(row.now)}" for which in ("before", "now")]
    first = ["–" if x is None else f"{1000 * x:.0f}" for x in (row.first("before"), row.first("now"))]
    return f"| {' | '.join([row.name, *medians, f'{row.ratio:.2f}', *proved, *first, '; '.join(row.breaches())])} |"


def tail(rows: list[Row]) -> tuple[str, float]:
    """The 95th percentile of the cliffs over all their rows, as a line and as now ÷ before."""
    ends = [np.percentile(np.concatenate([row.seconds(which) for row in rows]), 95) for which in ("before", "now")]
    ratio = float(ends[1] / ends[0])
    cells = ["cliffs, 95th percentile", *(f"{1000 * end:.1f}" for end in ends), f"{ratio:.2f}", "", "", "", ""]
    cells.append(f"{ratio:.2f} times the CPU time" if ratio > TAIL else "")
    return f"| {' | '.join(cells)} |", ratio


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", nargs="?", default="HEAD~1", help="the commit to compare with")
    parser.add_argument("--only", choices=["cells", "cliffs"])
    parser.add_argument("--quick", action="store_true", help="every third cell and cliff")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        work()
        return 0
    pair = [Worker(worktree(asked.reference)), Worker(HERE)]
    print(f"{commit_of(asked.reference)[:7]} → this tree\n\n{HEAD}", flush=True)
    try:
        paper = cells(pair, asked.quick) if asked.only != "cliffs" else []
        steep = cliffs(pair, asked.quick) if asked.only != "cells" else []
    finally:
        for worker in pair:
            worker.process.kill()
    broken = any(row.breaches() for row in paper + steep)
    if steep:
        text, ratio = tail(steep)
        broken |= ratio > TAIL
        print(text)
    OUT.mkdir(exist_ok=True)
    kept = {row.name: {"before": row.before, "now": row.now} for row in paper + steep}
    (OUT / "law.json").write_text(json.dumps(kept, indent=1), encoding="utf-8")
    print(f"\n{'The law is broken.' if broken else 'The law holds.'}")
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
