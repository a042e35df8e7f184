"""End to end with other code beside this one, row by row in turn: ``python -m lab.benchmarks.beside ../other --help``.

Two processes, one for each source tree, explain the same rows in turn, so that what else the machine does hits both
alike. Prints medians, means and 95th percentiles of CPU milliseconds, before → after; ``--json`` keeps the stages too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from lab.benchmarks.mile import MODELS, WARM, floors, reaching, stages_of

KINDS = ("complete", "2 blanks", "reached")
HERE = Path(__file__).parents[2]


def work(model: str, count: int) -> None:
    """Answer what is asked on standard input: a kind, the number of a row, and what to measure."""
    from lab.benchmarks.cells import make_cell

    warnings.filterwarnings("ignore")
    cell = make_cell("FICO", model, count)
    cell.explainer.set_params(options__n_fresh=1000)
    explainers = {"complete": cell.explainer, "2 blanks": cell.explainer, "reached": reaching(cell).explainer}
    for line in sys.stdin:
        kind, i, what = json.loads(line)
        explainer, frame = explainers[kind], cell.complete if kind == "complete" else cell.masked
        row, start = frame.iloc[[i]], time.process_time()
        if what == "stages":
            found: Any = stages_of(explainer, row)
        elif what == "floors":
            found = floors(explainer, row, cell.train)
        elif what == "many":
            explainer.explain_many(frame.iloc[i:])
            found = 1000 * (time.process_time() - start) / (len(frame) - i)
        else:
            explainer.explain(row)
            found = 1000 * (time.process_time() - start)
        print(json.dumps(found), flush=True)


class Worker:
    """One source tree at work on what a script here asks of it."""

    def __init__(self, tree: Path, script: str, model: str, count: int) -> None:
        paths = os.pathsep.join(str(path) for path in (tree / "src", tree, HERE))
        one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        self.process = subprocess.Popen(  # noqa: S603  files of ours, by this very interpreter
            [sys.executable, script, "--work", model, str(count)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | one | {"PYTHONPATH": paths},
        )  # fmt: skip

    def ask(self, *question: Any) -> Any:
        """What the tree takes, such as for one row of a kind."""
        print(json.dumps(question), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline()) if self.process.stdout else None


def measure(pair: list[Worker], kind: str, rows: int) -> list[dict[str, Any]]:
    """For each of the two, CPU times of answers, stages of others, floors, and the mean in blocks."""
    found: list[dict[str, Any]] = [{"cpu": [], "stages": [], "floors": []} for _ in pair]
    plan = [(i, "cpu") for i in range(WARM + rows)] + [(i, "stages") for i in range(WARM + rows, WARM + 2 * rows)]
    plan += [(i, "floors") for i in range(WARM, WARM + rows // 2)]
    for i, what in plan:
        for k in (0, 1) if i % 2 else (1, 0):
            answer = pair[k].ask(kind, i, what)
            if i >= WARM:
                found[k][what].append(answer)
    for k in (0, 1):
        found[k]["many"] = pair[k].ask(kind, WARM + 2 * rows, "many")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, help="the folder of the other code")
    parser.add_argument("--rows", type=int, default=48, help="rows to measure, and as many others stage by stage")
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--json", type=Path, help="write all numbers here")
    args = parser.parse_args()
    kept: dict[str, Any] = {}
    for model in args.models:
        pair = [Worker(tree.resolve(), __file__, model, WARM + 2 * args.rows + 32) for tree in (args.other, HERE)]
        for kind in args.kinds:
            kept[f"{model}, {kind}"] = found = measure(pair, kind, args.rows)
            ways = (("median", np.median), ("mean", np.mean), ("95th percentile", lambda x: np.percentile(x, 95)))
            said = ", ".join(f"{name} {way(found[0]['cpu']):.1f} → {way(found[1]['cpu']):.1f}" for name, way in ways)
            print(f"{model}, {kind}: {said}, in blocks {found[0]['many']:.1f} → {found[1]['many']:.1f}", flush=True)
        for worker in pair:
            worker.process.communicate()
    if args.json:
        args.json.write_text(json.dumps(kept, indent=1), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], int(sys.argv[3]))
    else:
        main()
