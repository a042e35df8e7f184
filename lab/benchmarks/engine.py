"""How fast is the exact search, and is anybody cheaper? ``make bench``, or ``python -m lab.benchmarks.engine --help``.

For each data set and model: the whole ``solve`` over N = 100 completions of rows with two blanks, beside the paper's
heuristic and the full MILO on HiGHS (time-limited, on a few of the same rows, so that their ratios are lower bounds),
brute force where that is possible, and DiCE on the complete row. Ratios are within one run.

``--end-to-end``: ``explain`` beside NICE, DiCE and OCEAN on complete rows (see :mod:`lab.benchmarks.peers.run`).
``--anytime``: how good the best plan is after how long (see :mod:`lab.benchmarks.cliffs`).
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import math
import os
import platform
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from armin.errors import SolverError
from armin.problem import Problem, Solution
from armin.solve import solve, solve_best, solve_path
from armin.solve.subsample import solve_by_subsampling
from lab.benchmarks.cells import Cell, have_data, make_cell
from lab.benchmarks.peers.base import AbsentError
from lab.benchmarks.peers.dice import dice_one
from lab.benchmarks.peers.judged import judge
from lab.benchmarks.peers.run import end_to_end

DATASETS = ("FICO", "Attrition", "Student", "WineQuality")
MODELS = ("LR", "RF", "XGBoost", "MLP")


@dataclass
class Run:
    """One solver on the rows of one cell."""

    seconds: list[float] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    proven: list[bool] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)

    def add(self, seconds: float, solution: Solution) -> None:
        self.seconds.append(seconds)
        self.costs.append(math.inf if solution.cost is None else solution.cost)
        self.proven.append(solution.status.value in ("optimal", "infeasible"))
        self.nodes.append(solution.nodes)


@dataclass(frozen=True)
class Record:
    """One line of the table; the keys of the JSON."""

    dataset: str
    model: str
    solver: str
    instances: int
    median_s: float
    p95_s: float
    proven: float
    dearer: int
    ratio: float
    nodes: float
    max_s: float
    note: str = ""


def timed(run: Run, call: Callable[[], Solution]) -> None:
    start = time.perf_counter()
    solution = call()
    run.add(time.perf_counter() - start, solution)


def run_cell(cell: Cell, args: argparse.Namespace) -> list[Record]:
    rows = [cell.masked.iloc[[i]] for i in range(len(cell.masked))]
    steps = [cell.explainer.explain(row).seconds_by_step for row in rows[:5]]
    problems = [cell.explainer.problem(row) for row in rows]
    solve(problems[0])  # compile
    runs: dict[str, Run] = {"search": Run()}
    for problem in problems:
        timed(runs["search"], lambda p=problem: solve(p, "search", time_limit=60.0))
    few = problems[: args.few]
    runs["paper's heuristic"], runs["full MILO"], runs["brute force"] = Run(), Run(), Run()
    limit = args.limit / 10
    for problem in few:
        timed(runs["paper's heuristic"], lambda p=problem: solve_by_subsampling(p, time_limit=limit))
        timed(runs["full MILO"], lambda p=problem: solve(p, "milo", time_limit=args.limit))
    for problem in few:
        try:
            timed(runs["brute force"], lambda p=problem: solve(p, "enumerate", time_limit=args.limit))
        except SolverError:
            break  # too many choices to list
    with contextlib.suppress(AbsentError):
        runs["DiCE, complete row"] = _dice(cell, args.few)
    how = " ".join(f"{k} {1000 * np.median([s[k] for s in steps]):.1f} ms" for k in steps[0])
    return list(_records(cell, runs, how))


def _dice(cell: Cell, count: int) -> Run:
    """DiCE on complete rows: it never sees a blank, and it proves nothing."""
    rows, run = cell.complete.head(count), Run()
    for i, found in enumerate(dice_one(cell, rows)):
        run.seconds.append(found.wall)
        run.costs.append(math.inf if found.plan is None else judge(cell, rows.iloc[[i]], found.plan).cost)
        run.proven.append(False)
        run.nodes.append(0)
    return run


def _records(cell: Cell, runs: dict[str, Run], how: str) -> Iterable[Record]:
    base = runs["search"]
    for name, run in runs.items():
        n = len(run.seconds)
        if n == 0:
            continue
        rivals = [r for other, r in runs.items() if other != name and not other.startswith("DiCE")]
        dearer = sum(
            any(i < len(r.costs) and r.costs[i] < run.costs[i] * (1 - 1e-9) - 1e-12 for r in rivals) for i in range(n)
        )
        ratio = float(np.median(run.seconds) / np.median(base.seconds[:n]))
        yield Record(
            cell.dataset, cell.model, name, n, float(np.median(run.seconds)), float(np.percentile(run.seconds, 95)),
            float(np.mean(run.proven)), dearer, 1.0 if name == "search" else ratio, float(np.median(run.nodes)),
            max(run.seconds), how if name == "search" else _extra(name, run, base),
        )  # fmt: skip


def _extra(name: str, run: Run, base: Run) -> str:
    pairs = [(a, b) for a, b in zip(run.costs, base.costs, strict=False) if math.isfinite(a) and b > 0]
    if not pairs:
        return "no answer"
    return f"cost {np.median([a / b for a, b in pairs]):.2f} times the optimum"


def run_scaling(cell: Cell, count: int) -> dict[str, float]:
    """Whole path and five alternatives over a single solve; ten thousand completions over a hundred."""
    rows = [cell.masked.iloc[[i]] for i in range(min(count, len(cell.masked)))]
    problems = [cell.explainer.problem(row) for row in rows]
    many = cell.explainer.set_params(options__n_samples=10_000)
    large = [many.problem(row) for row in rows]
    cell.explainer.set_params(options__n_samples=100)
    single = [_seconds(lambda p=p: solve(p, "search")) for p in problems]
    path = [_seconds(lambda p=p: solve_path(p, "search")) for p in problems]
    best = [_seconds(lambda p=p: solve_best(p, 5)) for p in problems]
    wide = [_seconds(lambda p=p: solve(p, "search", time_limit=60.0)) for p in large]
    middle = float(np.median(single))
    return {
        "path": float(np.median(path)) / middle,
        "best5": float(np.median(best)) / middle,
        "n10000": float(np.median(wide)) / middle,
    }


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def machine() -> str:
    """What this was measured on."""
    name = platform.processor() or platform.machine()
    cpu = Path("/proc/cpuinfo")
    if cpu.is_file():
        lines = [line for line in cpu.read_text().splitlines() if line.startswith("model name")]
        name = lines[0].split(":", 1)[1].strip() if lines else name
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"


def table(records: list[Record]) -> str:
    """The records as a Markdown table."""
    lines = [
        "| data set | model | solver | rows | median | p95 | worst | proven | dearer | × search | |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.dataset} | {r.model} | {r.solver} | {r.instances} | {_time(r.median_s)} | {_time(r.p95_s)} | "
        f"{_time(r.max_s)} | {r.proven:.0%} | {r.dearer} | {r.ratio:,.1f} | {r.note} |"
        for r in records
    ]
    return "\n".join(lines)


def _time(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1000:.0f} ms" if seconds >= 0.01 else f"{seconds * 1000:.1f} ms"


MARKERS = "osD^vPX*"


def draw(records: list[Record], path: Path) -> Any:
    """Seconds of each solver, by data set and model; returns the matplotlib Axes."""
    from matplotlib.figure import Figure

    cells = list(dict.fromkeys((r.dataset, r.model) for r in records))
    solvers = list(dict.fromkeys(r.solver for r in records))
    ax = Figure(figsize=(10, 0.32 * len(cells) + 1.6), layout="constrained").subplots()
    for i, solver in enumerate(solvers):
        mine = [r for r in records if r.solver == solver]
        y = [cells.index((r.dataset, r.model)) for r in mine]
        marker = MARKERS[i % len(MARKERS)]  # known without colours
        ax.scatter([r.median_s for r in mine], y, s=60, label=solver, color=f"C{i}", marker=marker, zorder=3)
        ax.hlines(y, [r.median_s for r in mine], [r.p95_s for r in mine], color=f"C{i}", alpha=0.5)
    ax.set_xscale("log")
    ax.set_yticks(range(len(cells)), [f"{d} · {m}" for d, m in cells])
    ax.invert_yaxis()
    ax.set_xlabel("seconds per row: median, line to the 95th percentile (limited solvers are cut off at their limit)")
    ax.grid(axis="x", alpha=0.3)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 1.12), ncols=len(solvers), frameon=False)
    ax.figure.savefig(path, dpi=130)
    return ax


def run_large(limit: float) -> list[str]:
    """A large forest and a deep network: proven within the limit, or an honest gap."""
    lines = []
    for model in ("RF500", "MLP3x64"):
        cell = make_cell("FICO", model, 3)
        for i in range(len(cell.masked)):
            problem: Problem = cell.explainer.problem(cell.masked.iloc[[i]])
            start = time.perf_counter()
            found = solve(problem, "search", time_limit=limit)
            seconds = time.perf_counter() - start
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            gap = "none" if found.gap is None else f"{found.gap:.0%}"
            lines.append(f"| FICO | {model} | {found.status.value} | {_time(seconds)} | {gap} | {memory:.1f} GB |")
    head = "| data set | model | status | time | gap | memory of the process so far |"
    return [head, "|---|---|---|---|---|---|", *lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few rows per cell")
    parser.add_argument("--json", type=Path, help="write the records here")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the table and the picture")
    parser.add_argument("--datasets", nargs="*", default=list(DATASETS) if have_data() else ["Synthetic"])
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--limit", type=float, default=None, help="seconds for a heuristic or MILO solve of one row")
    parser.add_argument("--end-to-end", action="store_true", help="explain and its peers on complete rows instead")
    parser.add_argument("--as-published", action="store_true", help="with --end-to-end: FICO without constraints")
    parser.add_argument("--anytime", action="store_true", help="hard problems over time instead; --anytime --help")
    if "--anytime" in sys.argv[1:]:
        _anytime([given for given in sys.argv[1:] if given != "--anytime"])
        return
    args = parser.parse_args()
    if args.end_to_end:
        end_to_end(
            args.datasets, args.models, args.out, about=machine(), quick=args.quick, path=args.json,
            published=args.as_published,
        )  # fmt: skip
        return
    args.few = 1 if args.quick else 2
    args.limit = args.limit or (5.0 if args.quick else 12.0)
    warnings.filterwarnings("ignore", category=UserWarning)
    args.out.mkdir(exist_ok=True, parents=True)
    records: list[Record] = []
    scaling: dict[str, dict[str, float]] = {}
    for dataset in args.datasets:
        for model in args.models:
            count = 6 if args.quick else 50 if dataset in ("FICO", "Synthetic") else 20
            cell = make_cell(dataset, model, count)
            records += run_cell(cell, args)
            print(_line(records, dataset, model), flush=True)
            if dataset == args.datasets[0]:
                scaling[model] = run_scaling(cell, 3 if args.quick else 10)
    text = [f"# Engine benchmark\n\nMachine: {machine()}\n", table(records), "\n## Scaling on the first data set\n"]
    text += ["| model | whole path / single | five alternatives / single | N = 10,000 / N = 100 |", "|---|---|---|---|"]
    text += [f"| {m} | {s['path']:.1f} | {s['best5']:.1f} | {s['n10000']:.1f} |" for m, s in scaling.items()]
    if not args.quick and "FICO" in args.datasets:
        text += ["\n## Large models, 60 s limit\n", *run_large(60.0)]
    page = "\n".join(text) + "\n"
    (args.out / "engine.md").write_text(page, encoding="utf-8")
    draw(records, args.out / "engine.png")
    if args.json:
        args.json.write_text(json.dumps([asdict(r) for r in records], indent=1), encoding="utf-8")
    print(page)


def _anytime(arguments: list[str]) -> None:
    """Hand over to the measurement of hard problems."""
    if find_spec("lab.benchmarks.cliffs") is None:
        raise SystemExit("lab.benchmarks.cliffs is not here.")
    sys.argv = ["lab.benchmarks.cliffs", *arguments]
    importlib.import_module("lab.benchmarks.cliffs").main()


def _line(records: list[Record], dataset: str, model: str) -> str:
    mine = [r for r in records if (r.dataset, r.model) == (dataset, model)]
    return " · ".join([f"{dataset} {model}", *(f"{r.solver} {_time(r.median_s)}" for r in mine)])


if __name__ == "__main__":
    main()
