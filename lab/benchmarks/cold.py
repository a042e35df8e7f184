"""The first solve on a machine: ``python -m lab.benchmarks.cold [--before ../other]``.

CPU seconds of one ``solve`` of each kind of model in a new process with an empty cache of compiled code, FICO with two
blanks (made-up data where that is not at hand). With ``--before``, another source tree does the same, in turn.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from lab.benchmarks.cells import have_data, make_cell

MODELS = {"linear models": "LR", "trees": "RF", "networks with one hidden layer": "MLP", "deeper networks": "MLP3x64"}
HERE = Path(__file__).parents[2]


def work(model: str) -> None:
    """Print the CPU seconds of the first solve in this process."""
    from armin.solve import solve

    warnings.filterwarnings("ignore")
    cell = make_cell("FICO" if have_data() else "Synthetic", model, 1)
    problem = cell.explainer.problem(cell.masked)
    start = time.process_time()
    solve(problem, "search", time_limit=5.0)
    print(time.process_time() - start)


def first(tree: Path, model: str) -> float:
    """The same in a new process, with the code of a source tree."""
    with tempfile.TemporaryDirectory() as empty:
        source = shutil.copytree(tree / "src", Path(empty) / "src", ignore=shutil.ignore_patterns("__pycache__"))
        paths = os.pathsep.join(str(path) for path in (source, tree, HERE))
        env = os.environ | {"PYTHONPATH": paths, "NUMBA_CACHE_DIR": empty, "XDG_CACHE_HOME": empty}
        env["OMP_NUM_THREADS"] = "1"
        command = [sys.executable, __file__, "--work", model]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)  # noqa: S603  files of ours
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="the folder of other code")
    parser.add_argument("--times", type=int, default=3, help="processes for each model and tree")
    args = parser.parse_args()
    trees = [HERE] if args.before is None else [args.before.resolve(), HERE]
    print(
        "| first solve, CPU s | "
        + " | ".join(["before", "now"][-len(trees) :])
        + " |\n"
        + "|---" * (len(trees) + 1)
        + "|"
    )
    for name, model in MODELS.items():
        found = [[first(tree, model) for tree in trees] for _ in range(args.times)]
        print(f"| {name} | " + " | ".join(f"{statistics.median(one):.1f}" for one in zip(*found, strict=True)) + " |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2])
    else:
        main()
