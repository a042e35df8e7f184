"""What more than one solve costs, beside other code: ``python -m lab.benchmarks.scaling --before ../other``.

On rows of FICO with two blanks, in CPU milliseconds, the best of three: one solve, the whole path, five alternatives,
and one solve with ten thousand completions. With ``--before`` two processes, one for each source tree, answer in turn;
the ratios to one solve are each tree's own, so that a quicker single solve raises them. The costs must be the same.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

QUESTIONS = {
    "one solve": "single",
    "whole path": "path",
    "five alternatives": "best",
    "N = 10,000": "large",
}
TIMES = 3


def work(model: str, count: int) -> None:
    """Answer what is asked on standard input: a question and the number of a row."""
    from armin.solve import solve, solve_best, solve_path
    from lab.benchmarks.cells import make_cell

    warnings.filterwarnings("ignore")
    cell = make_cell("FICO", model, count)
    rows = [cell.masked.iloc[[i]] for i in range(count)]
    usual = [cell.explainer.problem(row) for row in rows]
    large = [cell.explainer.set_params(options__n_samples=10_000).problem(row) for row in rows]
    ways: dict[str, Callable[[int], float | None]] = {
        "single": lambda i: solve(usual[i], "search").cost,
        "path": lambda i: solve_path(usual[i], "search")[-1].solution.cost,
        "best": lambda i: sum(found.cost for found in solve_best(usual[i], 5) if found.cost is not None),
        "large": lambda i: solve(large[i], "search", time_limit=60.0).cost,
    }
    for line in sys.stdin:
        what, i = json.loads(line)
        seconds, cost = math.inf, None
        for _ in range(TIMES):
            start = time.process_time()
            cost = ways[what](i)
            seconds = min(seconds, time.process_time() - start)
        print(json.dumps([1000 * seconds, None if cost is None or not math.isfinite(cost) else cost]), flush=True)


def measure(model: str, trees: list[Path], rows: int) -> dict[str, list[list[float]]]:
    """For each question the milliseconds of each tree, row by row."""
    from lab.benchmarks.beside import Worker

    workers = [Worker(tree.resolve(), __file__, model, rows) for tree in trees]
    found: dict[str, list[list[float]]] = {}
    for name, what in QUESTIONS.items():
        for worker in workers:
            worker.ask(what, 0)  # compiles
        found[name] = [[] for _ in workers]
        for i in range(rows):
            answers = [worker.ask(what, i) for worker in (workers if i % 2 else workers[::-1])]
            answers = answers if i % 2 else answers[::-1]
            costs = [cost for _, cost in answers]
            if None in costs or not np.allclose(costs, costs[0], rtol=1e-9):
                print(f"{model}, {name}, row {i}: costs {costs}", flush=True)
            for own, (milliseconds, _) in zip(found[name], answers, strict=True):
                own.append(milliseconds)
    for worker in workers:
        worker.process.communicate()
    return found


def table(kept: dict[str, dict[str, list[list[float]]]]) -> str:
    """Medians, and the ratios to the median of one solve."""
    models = list(kept)
    lines = [f"| FICO, CPU ms | {' | '.join(models)} |", "|---" * (1 + len(models)) + "|"]
    for name in QUESTIONS:
        cells = []
        for model in models:
            middle = [float(np.median(own)) for own in kept[model][name]]
            base = [float(np.median(own)) for own in kept[model]["one solve"]]
            cells.append(" → ".join(f"{m:.1f}" for m in middle))
            if name != "one solve":
                ratios = (f"{m / b:.1f}" for m, b in zip(middle, base, strict=True))
                cells[-1] += f" ({' → '.join(ratios)} ×)"
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, keep."""
    # not above: a worker of other code has other benchmarks
    from lab.benchmarks.beside import HERE
    from lab.benchmarks.engine import machine
    from lab.benchmarks.mile import MODELS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="the folder of the other code")
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--json", type=Path, help="write all numbers here")
    args = parser.parse_args()
    trees = [HERE] if args.before is None else [args.before, HERE]
    kept: dict[str, Any] = {}
    for model in args.models:
        kept[model] = measure(model, trees, args.rows)
        print(table({model: kept[model]}), flush=True)
        if args.json:
            args.json.write_text(json.dumps({"machine": machine(), "rows": kept}, indent=1), encoding="utf-8")
    print(f"\n{machine()}\n\n{table(kept)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], int(sys.argv[3]))
    else:
        main()
