"""Every engine on every goal against plain brute force, for as long as there is time.

``python -m lab.benchmarks.fuzz --seconds 3600 --json out/fuzz.json``. Problems come from the generator of hard cases
that the tests use (``hard.py`` in ``tests/support``), questions and their checks from ``differ.py`` beside it. A trial
is one question to one engine. Each problem has an address, ``kind:seed:job:number``; ``--replay ADDRESS`` asks all
questions about it again and shows what differs. Ends with 1 if anything did.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

from differ import small_steps, trials
from hard import HARD_KINDS, hard_problem
from plain import Truth

MILO = 0.03
"""Share of the problems that MILO solves too; it takes ten times as long as all others together."""

MOST_SHOWN = 1000


@dataclass
class Tally:
    """What came of some trials."""

    problems: Counter[str] = field(default_factory=Counter)
    trials: Counter[str] = field(default_factory=Counter)
    differ: list[dict[str, str]] = field(default_factory=list)
    slowest: dict[str, dict[str, object]] = field(default_factory=dict)

    def join(self, other: Tally) -> None:
        self.problems += other.problems
        self.trials += other.trials
        self.differ += other.differ
        for kind, slow in other.slowest.items():
            self.note(kind, slow)

    def note(self, kind: str, slow: dict[str, object]) -> None:
        if kind not in self.slowest or slow["cpu_seconds"] > self.slowest[kind]["cpu_seconds"]:  # type: ignore[operator]
            self.slowest[kind] = slow


def try_one(tally: Tally, address: str, milo: float = MILO) -> None:
    """All questions about one problem."""
    kind, *numbers = address.split(":")
    which = HARD_KINDS.index(kind)  # type: ignore[arg-type]
    rng = np.random.default_rng([*map(int, numbers), which])
    problem = hard_problem(rng, HARD_KINDS[which], composed=int(numbers[-1]) % 2 == 1)
    truth, small = Truth(problem), bool(rng.random() < 0.5)
    tally.problems[kind] += 1
    for name, ask in trials(problem, truth, rng, bool(rng.random() < milo)):
        tally.trials[f"{kind} {name.split()[0]}"] += 1
        start = time.thread_time()
        try:
            with small_steps(small):
                ask()
        except Exception as error:  # whatever it is, it is no answer
            tally.differ.append({"address": address, "trial": name, "says": f"{type(error).__name__}: {error}"[:300]})
        seconds = round(time.thread_time() - start, 4)
        tally.note(kind, {"cpu_seconds": seconds, "trial": name, "address": address, "choices": problem.n_choices})


def run(seconds: float, seed: int, job: int, kinds: tuple[str, ...], milo: float) -> Tally:
    """Problems of all kinds in turn until time is up."""
    warm, tally = Tally(), Tally()
    for kind in kinds:  # compiles the engines; what is slow here says nothing
        for number in range(10):
            try_one(warm, f"{kind}:0:0:{number}", milo)
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        for kind in kinds:
            try_one(tally, f"{kind}:{seed}:{job}:{number}", milo)
        number += 1
    tally.differ += warm.differ
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description="Every engine on every goal against plain brute force.")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="default: the time")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", choices=HARD_KINDS, default=HARD_KINDS)
    parser.add_argument("--milo", type=float, default=MILO, help="share of the problems that MILO solves too")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--replay", metavar="ADDRESS")
    asked = parser.parse_args()
    tally, start = Tally(), time.monotonic()
    if asked.replay:
        try_one(tally, asked.replay, 1.0)
    else:
        print(f"seed {asked.seed}, {asked.jobs} jobs, {asked.seconds:g} s", flush=True)
        with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool:
            kinds = tuple(asked.kinds)
            parts = [pool.submit(run, asked.seconds, asked.seed, j, kinds, asked.milo) for j in range(asked.jobs)]
            for part in parts:
                tally.join(part.result())
    print(
        f"{sum(tally.problems.values()):,} problems, {sum(tally.trials.values()):,} trials, {len(tally.differ)} differ"
    )
    for row in tally.differ[:MOST_SHOWN]:
        print(f"  {row['address']}  {row['trial']}: {row['says']}")
    for kind, slow in tally.slowest.items():
        print(f"  slowest of {kind}: {slow['cpu_seconds']} s, {slow['trial']}, {slow['address']}")
    if asked.json:
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        head = {"seed": asked.seed, "jobs": asked.jobs, "seconds": round(time.monotonic() - start, 1)}
        asked.json.write_text(json.dumps(head | vars(tally), indent=1) + "\n", encoding="utf-8")
    return int(bool(tally.differ))


if __name__ == "__main__":
    sys.exit(main())
