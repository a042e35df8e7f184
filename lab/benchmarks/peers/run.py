"""Every peer on the same people in the same run: ``python -m lab.benchmarks.engine --end-to-end``.

Complete rows that the model rejects. A plan is judged by the user's own ``predict``, by the schema and by our cost
(total log percentile shift); the optimum is the least cost over the paper's grid with at most four changes, which a
peer may leave. Each is asked about one more person first, uncounted. CPU is that of the process with all its threads.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from lab.benchmarks.cells import Cell, make_cell
from lab.benchmarks.peers.base import AbsentError, Peer
from lab.benchmarks.peers.dice import dice_genetic, dice_random
from lab.benchmarks.peers.judged import Verdict, judge
from lab.benchmarks.peers.nice import nice
from lab.benchmarks.peers.ocean import ocean
from lab.benchmarks.peers.ours import ours
from lab.benchmarks.peers.table import Line, line, table

PEERS = (
    Peer("ARMIN", ours),
    Peer("NICE", nice),
    Peer("DiCE, random, best of 10", dice_random, most=20),
    Peer("DiCE, genetic", dice_genetic, most=5),
    Peer("OCEAN, CP", ocean, most=10),
)


def run_cell(cell: Cell, peers: Sequence[Peer] = PEERS) -> list[Line]:
    """All peers in one cell; the first is what the others are compared with."""
    lines: list[Line] = []
    base, optima = None, None
    for peer in peers:
        rows = cell.complete.head(peer.most + 1)
        try:
            found = peer.ask(cell, rows)[1:]
        except AbsentError as error:
            lines.append(Line(cell.dataset, cell.model, peer.name, reason=str(error)))
            continue
        except Exception as error:  # one peer that fails must not end the others
            lines.append(Line(cell.dataset, cell.model, peer.name, reason=f"failed: {type(error).__name__}"))
            continue
        verdicts = [_judged(cell, rows, i + 1, one.plan) for i, one in enumerate(found)]
        if base is None or optima is None:
            base, optima = found, [None if v is None else v.cost for v in verdicts]
        lines.append(line(cell.dataset, cell.model, peer.name, found, verdicts, base, optima))
    return lines


def plain(one: Line) -> dict[str, Any]:
    """A line for JSON, which has no NaN."""
    return {name: None if isinstance(v, float) and math.isnan(v) else v for name, v in asdict(one).items()}


def _judged(cell: Cell, rows: pd.DataFrame, i: int, plan: pd.DataFrame | None) -> Verdict | None:
    return None if plan is None else judge(cell, rows.iloc[[i]], plan)


def end_to_end(
    datasets: Sequence[str], models: Sequence[str], out: Path, *, about: str, quick: bool, path: Path | None,
    published: bool = False,
) -> None:  # fmt: skip
    """Measure, print, and write the table and the JSON."""
    start = time.perf_counter()
    lines: list[Line] = []
    for dataset in datasets:
        for model in models:
            count = 3 if quick else 50 if dataset in ("FICO", "Synthetic") else 20
            lines += run_cell(make_cell(dataset, model, count + 1, stated=not published))
            print(f"{dataset} {model}: {time.perf_counter() - start:.0f} s", flush=True)
    threads = os.environ.get("OMP_NUM_THREADS", "as installed")
    page = f"# End to end, complete rows\n\nMachine: {about}. OMP_NUM_THREADS: {threads}.\n\n{table(lines)}\n"
    out.mkdir(exist_ok=True, parents=True)
    (out / "peers.md").write_text(page, encoding="utf-8")
    if path is not None:
        path.parent.mkdir(exist_ok=True, parents=True)
        results: dict[str, Any] = {"about": about, "threads": threads, "lines": [plain(one) for one in lines]}
        path.write_text(json.dumps(results, indent=1), encoding="utf-8")
    print(page)
