"""Random tables, pipelines, models as installed, schemas and rows, asked and judged for as long as there is time.

``python -m lab.benchmarks.fuzz_e2e --seconds 3600 --jobs 1 --json out/fuzz-e2e.json``. A case comes from one whole
number, its seed (``tests/laws/end_to_end``), and ``--replay SEED`` runs it again. A fault never stops the run: a
process that dies or does not answer within ``--wall`` seconds is replaced, and its case is a fault. Ends with 1 if
there was any."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from laws.end_to_end.case import Case, Fault, run_case

EVERY = 60.0
"""Seconds between two lines of progress."""


def work(pipe: Connection, time_limit: float) -> None:
    """Answer seeds with cases."""
    while True:
        pipe.send(run_case(pipe.recv(), time_limit))


class Worker:
    """A process that runs one case at a time."""

    def __init__(self, time_limit: float) -> None:
        context = get_context("spawn")
        self.pipe, there = context.Pipe()
        self.process = context.Process(target=work, args=(there, time_limit), daemon=True)
        self.process.start()
        there.close()
        self.seed, self.since = 0, 0.0

    def start(self, seed: int) -> None:
        self.seed, self.since = seed, time.monotonic()
        self.pipe.send(seed)

    def stop(self) -> None:
        self.process.kill()
        self.process.join()


@dataclass
class Tally:
    """What came of some cases."""

    cases: int = 0
    unfit: Counter[str] = field(default_factory=Counter)
    combinations: dict[str, Counter[str]] = field(default_factory=dict)
    pairs: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    slowest: list[tuple[float, int]] = field(default_factory=list)

    def add(self, case: Case) -> None:
        self.cases += 1
        self.slowest = sorted([*self.slowest, (round(case.seconds, 1), case.seed)], reverse=True)[:10]
        self.faults += case.faults
        if case.unfit:
            self.unfit[case.unfit.split(":")[0]] += 1
            return
        self.calls += case.calls
        self.outcomes += case.outcomes
        self.refusals += case.refusals
        for what, values in case.tags.items():
            self.combinations.setdefault(what, Counter()).update(dict.fromkeys(values, 1))
        for model in case.tags.get("model", []):
            self.pairs.update(f"{step} × {model}" for step in case.tags.get("preprocessing", []))

    @property
    def table(self) -> str:
        """Which combinations there were, as a table."""
        rows = ["| of what | how many cases of each |", "|---|---|"]
        for what, counts in self.combinations.items():
            rows.append(f"| {what} | {', '.join(f'{name} {n:,}' for name, n in sorted(counts.items()))} |")
        rows.append(f"| preprocessing × model | {len(self.pairs):,} different pairs |")
        return "\n".join(rows)

    @property
    def causes(self) -> dict[str, list[Fault]]:
        """The faults by what they have in common, the most frequent first."""
        found: dict[str, list[Fault]] = {}
        for fault in self.faults:
            found.setdefault(fault.cause, []).append(fault)
        return dict(sorted(found.items(), key=lambda pair: -len(pair[1])))


def show(fault: Fault, time_limit: float) -> None:
    """A fault as it is found."""
    print(f"FAULT seed {fault.seed}: {fault.cause}")
    print("  " + fault.detail.strip().replace("\n", "\n  ")[-900:])
    print(f"  replay: python -m lab.benchmarks.fuzz_e2e --time-limit {time_limit:g} --replay {fault.seed}", flush=True)


def run(seconds: float, seed: int, jobs: int, wall: float, time_limit: float) -> Tally:
    """Cases from consecutive seeds until time is up."""
    tally, start, said = Tally(), time.monotonic(), time.monotonic()
    workers = [Worker(time_limit) for _ in range(jobs)]
    for worker in workers:
        worker.start(seed)
        seed += 1
    while workers:
        ready = wait([worker.pipe for worker in workers], timeout=1.0)
        for worker in list(workers):
            over = time.monotonic() - start > seconds
            if worker.pipe in ready:
                try:
                    case = worker.pipe.recv()
                except EOFError:
                    case = Case(worker.seed)
                    worker.process.join()
                    case.report("the process died", f"exit code {worker.process.exitcode}")
            elif time.monotonic() - worker.since > wall:
                case = Case(worker.seed, seconds=wall)
                case.report("too slow", f"no answer after {wall:g} s")
            else:
                continue
            for fault in case.faults:
                show(fault, time_limit)
            tally.add(case)
            if case.faults and case.faults[-1].law in ("the process died", "too slow"):
                worker.stop()
                place = workers.index(worker)
                worker = workers[place] = Worker(time_limit)
            if over:
                worker.stop()
                workers.remove(worker)
            else:
                worker.start(seed)
                seed += 1
        if time.monotonic() - said > EVERY:
            said = time.monotonic()
            print(
                f"{said - start:6.0f} s: {tally.cases:,} cases, {sum(tally.calls.values()):,} calls, "
                f"{len(tally.faults)} faults of {len(tally.causes)} kinds, next seed {seed}", flush=True,
            )  # fmt: skip
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description="Random people, pipelines and questions, judged from end to end.")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=int(time.time()) * 1000, help="the first; default: by the time")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--wall", type=float, default=600.0, help="seconds after which a case is given up")
    parser.add_argument("--time-limit", type=float, default=2.0, help="seconds that an explainer is given")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--replay", type=int, metavar="SEED")
    asked = parser.parse_args()
    if asked.replay is not None:
        case = run_case(asked.replay, asked.time_limit)
        for fault in case.faults:
            show(fault, asked.time_limit)
        print(case.unfit or f"{case.tags}\n{dict(case.calls)}\n{dict(case.refusals)}\n{len(case.faults)} faults")
        return int(bool(case.faults))
    print(f"from seed {asked.seed}, {asked.jobs} jobs, {asked.seconds:g} s", flush=True)
    tally = run(asked.seconds, asked.seed, asked.jobs, asked.wall, asked.time_limit)
    print(tally.table)
    print(f"outcomes: {dict(tally.outcomes.most_common())}")
    print(f"refusals: {sum(tally.refusals.values()):,}")
    for text, count in tally.refusals.most_common(40):
        print(f"  {count:6,}  {text}")
    fitted = tally.cases - sum(tally.unfit.values())
    print(
        f"{tally.cases:,} cases ({fitted:,} could be fitted), {sum(tally.calls.values()):,} calls, "
        f"{len(tally.faults)} faults of {len(tally.causes)} kinds"
    )
    for cause, faults in tally.causes.items():
        print(f"  {len(faults):4}  {cause}  seeds {[fault.seed for fault in faults[:5]]}")
    if asked.json:
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        head: dict[str, Any] = {"seed": asked.seed, "jobs": asked.jobs, "seconds": asked.seconds}
        found = head | vars(tally) | {"faults": [vars(fault) for fault in tally.faults]}
        asked.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return int(bool(tally.faults))


if __name__ == "__main__":
    sys.exit(main())
