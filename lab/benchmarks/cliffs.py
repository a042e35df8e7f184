"""Where the exact search gets slow: ``python -m lab.benchmarks.cliffs --help``.

Each cliff stretches one size (columns, trees, options, changes, candidates, layers) on a made-up table or on FICO. For
a few rows of each: when the first plan came, what the best plan cost after 0.1, 0.2, 1, 10 and 60 seconds, and what was
proved in the end. Seconds are the process's CPU time, so that other jobs on the machine do not count; reading the model
and making the options are not part of them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pickle
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from armin import ARMIN, Schema
from armin.costs import TotalLogPercentileShift
from armin.datasets.amputate import mcar
from armin.problem import Problem, Solution
from armin.solve import solve
from lab.benchmarks.cells import have_data, make_cell
from lab.benchmarks.engine import machine
from lab.benchmarks.overrun import Overrun, logistic, names, overruns
from lab.benchmarks.overrun import table as overrun_table

TIMES = (0.1, 0.2, 1.0, 10.0, 60.0)
"""Seconds after which the best plan so far is noted."""


@dataclass(frozen=True)
class Cliff:
    """One size that is stretched."""

    name: str
    model: Callable[[], Any]
    columns: int = 20
    options: int = 100
    changes: int | None = 4
    samples: int = 100
    fico: str = ""  # a model of lab.benchmarks.cells, on FICO


def _forest(trees: int, depth: int) -> Callable[[], Any]:
    return lambda: RandomForestClassifier(trees, max_depth=depth, random_state=0)


def _boosted(trees: int, depth: int) -> Callable[[], Any]:
    def make() -> Any:
        from xgboost import XGBClassifier

        return XGBClassifier(n_estimators=trees, max_depth=depth, tree_method="hist", n_jobs=1)

    return make


def _network(*layers: int) -> Callable[[], Any]:
    return lambda: MLPClassifier(layers, max_iter=200, random_state=0)


CLIFFS = (
    Cliff("forest, D = 100", _forest(100, 6), columns=100),
    Cliff("forest, D = 200", _forest(100, 6), columns=200),
    Cliff("boosted, D = 200", _boosted(100, 4), columns=200),
    Cliff("1,000 trees of depth 6", _forest(1000, 6)),
    Cliff("1,000 trees of depth 8", _forest(1000, 8)),
    Cliff("boosted, 1,000 options", _boosted(100, 4), options=1000),
    Cliff("forest, K = 8", _forest(100, 6), changes=8),
    Cliff("forest, N = 1,000", _forest(100, 6), samples=1000),
    Cliff("MLP 30, no limit on changes", _network(30), changes=None),
    Cliff("MLP 3 × 64", _network(64, 64, 64)),
    Cliff("MLP 3 × 128, N = 1,000", _network(128, 128, 128), samples=1000),
    Cliff("FICO, 500 trees of depth 12", _forest(500, 12), fico="RF500"),
    Cliff("FICO, MLP 3 × 64", _network(64, 64, 64), fico="MLP3x64"),
    Cliff("linear, D = 100, N = 1,000", logistic, columns=100, changes=None, samples=1000),
)


@dataclass
class Curve:
    """One row: the best plan and the bound over time."""

    cliff: str
    row: int
    first: float | None = None
    points: list[tuple[float, float]] = field(default_factory=list)
    seconds: float = 0.0
    cost: float | None = None
    bound: float = 0.0
    status: str = ""
    nodes: int = 0

    def at(self, seconds: float) -> float | None:
        """What the best plan cost after so many seconds."""
        return min((cost for time_, cost in self.points if time_ <= seconds), default=None)

    def note(self, seconds: float, found: Solution) -> None:
        """Take note of the best plan so far."""
        if found.cost is not None and (not self.points or found.cost < self.points[-1][1]):
            self.first = seconds if self.first is None else self.first
            self.points.append((seconds, found.cost))


def problems_of(cliff: Cliff, rows: int) -> list[Problem]:
    """The problems of the first rows that the model rejects, with two blanks each."""
    if cliff.fico:
        cell = make_cell("FICO", cliff.fico, rows)
        return [cell.explainer.problem(cell.masked.iloc[[i]]) for i in range(len(cell.masked))]
    informative = max(5, cliff.columns // 5)
    X, y = make_classification(
        4000, cliff.columns, n_informative=informative, n_redundant=informative, class_sep=0.7, random_state=0
    )
    frame = pd.DataFrame(X, columns=[f"x{i:03d}" for i in range(cliff.columns)]).round(3)
    model = make_pipeline(StandardScaler(), cliff.model())
    train, test = frame[:3000], frame[3000:]
    model.fit(train, y[:3000])
    explainer = ARMIN.from_settings(
        model,
        Schema.infer(frame),
        desired=0,
        cost=TotalLogPercentileShift(base=2, estimate="kde"),
        confidence=0.75,
        n_samples=cliff.samples,
        max_changes=cliff.changes,
        max_options=cliff.options,
        n_fresh=0,
        decision="complete",
        sampler="chained" if cliff.columns < 100 else "copula",  # the time to fit is no part of this
    ).fit(train)
    rejected = test[model.predict(test) == 1].head(rows)
    masked, _ = mcar(rejected, 2, random_state=0)
    return [explainer.problem(masked.iloc[[i]]) for i in range(len(masked))]


def stored(cliff: Cliff, rows: int, folder: Path | None) -> list[Problem]:
    """The problems, made once and kept in ``folder``, so that old and new code search the same ones."""
    if folder is None:
        return problems_of(cliff, rows)
    key = hashlib.sha256(f"{cliff.name} {rows}".encode()).hexdigest()[:12]
    path = folder / f"{key}.pickle"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(problems_of(cliff, rows)))
    found: list[Problem] = pickle.loads(path.read_bytes())  # noqa: S301 - written by this program
    return found


def follow(cliff: str, row: int, problem: Problem, limit: float) -> Curve:
    """Search one problem, and note what is known when."""
    curve, start = Curve(cliff, row), time.process_time()

    def look(found: Solution) -> bool:
        seconds = time.process_time() - start
        curve.note(seconds, found)
        return seconds < limit

    found = solve(problem, "search", callback=look)
    curve.seconds = time.process_time() - start
    curve.note(curve.seconds, found)
    curve.cost, curve.bound, curve.status, curve.nodes = found.cost, found.bound, found.status.value, found.nodes
    return curve


def table(curves: list[Curve]) -> str:
    """The curves as a Markdown table; costs as multiples of the cost at the end."""
    head = [f"{t:g} s" for t in TIMES]
    lines = ["| cliff | row | first plan | " + " | ".join(head) + " | end | gap |", "|" + "---|" * (len(head) + 5)]
    for c in curves:
        known = [c.at(t) for t in TIMES]
        parts = ["–" if x is None or not c.cost else f"{x / c.cost:.3f}" for x in known]
        gap = "no plan" if c.cost is None else "–" if c.cost <= 0 else f"{max(0.0, 1 - c.bound / c.cost):.0%}"
        end = f"proved, {c.seconds:.2f} s" if c.status in ("optimal", "infeasible") else f"{c.seconds:.0f} s"
        first = "–" if c.first is None else f"{1000 * c.first:.0f} ms"
        lines.append(f"| {c.cliff} | {c.row} | {first} | {' | '.join(parts)} | {end} | {gap} |")
    return "\n".join(lines)


def summary(curves: list[Curve]) -> str:
    """A line for each cliff: when its rows had a first plan, how many a good one, and what was proved."""
    head = ["cliff", "rows", "first plan, median", "latest", "within 1 % after 0.2 s", "after 1 s"]
    head += ["proved", "end, median", "latest"]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for name in dict.fromkeys(c.cliff for c in curves):
        here = [c for c in curves if c.cliff == name]
        first = [1000 * c.first for c in here if c.first is not None] or [float("nan")]
        proved = sum(c.status in ("optimal", "infeasible") for c in here)
        good = [sum((c.at(t) or float("inf")) <= 1.01 * (c.cost or 0.0) for c in here) for t in (0.2, 1.0)]
        end = [c.seconds for c in here]
        cells = [name, str(len(here)), f"{np.median(first):.0f} ms", f"{max(first):.0f} ms", *map(str, good)]
        cells += [str(proved), f"{np.median(end):.2f} s", f"{max(end):.2f} s"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def compare(old: list[Curve], new: list[Curve]) -> str:
    """Two runs beside each other; the cost of the first over that of the second where neither is proved."""
    lines = [
        "| cliff | row | first plan before | now | 0.2 s over end before | now | end before | now |",
        "|" + "---|" * 8,
    ]
    former = {(c.cliff, c.row): c for c in old}
    for c in new:
        b = former.get((c.cliff, c.row))
        if b is None:
            continue
        best = min((x.cost for x in (b, c) if x.cost is not None), default=None)
        cells = [_first(b), _first(c), _early(b, best), _early(c, best), _end(b, best), _end(c, best)]
        lines.append(f"| {c.cliff} | {c.row} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _first(c: Curve) -> str:
    return "–" if c.first is None else f"{c.first * 1000:.0f} ms"


def _early(c: Curve, best: float | None) -> str:
    cost = c.at(0.2)
    return "no plan" if cost is None or not best else f"{cost / best:.3f}"


def _end(c: Curve, best: float | None) -> str:
    if c.status in ("optimal", "infeasible"):
        return f"proved, {c.seconds:.2f} s"
    if c.cost is None:
        return f"no plan, {c.seconds:.0f} s"
    over = f" at {c.cost / best:.2f} × the cost" if best and c.cost > best * (1 + 1e-6) else ""
    return f"gap {max(0.0, 1 - c.bound / c.cost):.0%}{over}, {c.seconds:.0f} s"


def read(path: Path) -> list[Curve]:
    """Curves that were kept."""
    return [Curve(**record) for record in json.loads(path.read_text(encoding="utf-8"))]


def _asked(parts: list[str]) -> list[Cliff]:
    """The cliffs whose name contains one of these, all if there are none."""
    named = [c for c in CLIFFS if not parts or any(part in c.name for part in parts)]
    return [c for c in named if have_data() or not c.fico]


def _overruns(parts: list[str], rows: int, folder: Path | None) -> None:
    """Print the table of overruns."""
    found: list[Overrun] = []
    for cliff in _asked(parts):
        for row in overruns(cliff.name, stored(cliff, rows, folder)):
            found.append(row)
            print(overrun_table([row]).splitlines()[-1], flush=True)
    print(f"\nMachine: {machine()}\n\n{overrun_table(found)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one row")
    parser.add_argument("--rows", type=int, default=3, help="rows for each cliff")
    parser.add_argument("--skip", type=int, default=0, help="how many of these rows to leave out, the first ones")
    parser.add_argument("--only", nargs="*", default=[], help="cliffs whose name contains one of these")
    parser.add_argument("--json", type=Path, help="write the curves here")
    parser.add_argument("--before", type=Path, help="curves of another run, to be put beside these")
    parser.add_argument("--store", type=Path, help="folder to keep the problems in")
    parser.add_argument("--overrun", action="store_true", help="by how much time limits are overrun, instead of curves")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    if args.overrun:
        _overruns(names(args.only), args.rows, args.store)
        return
    curves: list[Curve] = []
    for cliff in _asked(args.only):
        problems = stored(cliff, args.rows, args.store)
        solve(problems[0], "search", time_limit=5.0)  # compile
        for row, problem in list(enumerate(problems))[args.skip :]:
            curves.append(follow(cliff.name, row, problem, args.limit))
            print(table(curves[-1:]).splitlines()[-1], flush=True)
            if args.json:
                args.json.write_text(json.dumps([asdict(c) for c in curves], indent=1), encoding="utf-8")
    print(f"\nMachine: {machine()}\n\n{table(curves)}\n\n{summary(curves)}")
    if args.before:
        print(f"\n{compare(read(args.before), curves)}")


if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
