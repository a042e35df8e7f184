"""How does the desk hold up? ``python -m lab.benchmarks.load``: many people at once, errors and seconds.

For a logistic regression and a forest of 100 trees: the demo's bundle is served by its own processes, and a number of
users ask one thing after the other, as the page does, each as another person. ``--mode`` is one of

- ``users``: requests per second, waiting times, memory and CPU seconds; and how long a health check takes on a
  connection that stays open, before the users come;
- ``idle``: the same beside ``--idle`` connections that say nothing, from another address, without a key;
- ``kill``, ``stop``, ``term``: after a third of the time a worker gets SIGKILL or SIGSTOP, or the desk SIGTERM: how
  many requests were lost, and how long until the worker was replaced, or the desk had ended;
- ``soak``: as ``users``, with memory every 30 seconds.

``--against TREE`` does the same with another version, in turn. Batches: ``python -m lab.benchmarks.batches``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from armin.datasets.loans import EDUCATION, PURPOSE
from lab.benchmarks.desks import Desk, running
from lab.benchmarks.engine import machine
from lab.trees import HERE, sources

MIX = {"recourse": 8, "alternatives": 3, "path": 3, "letter": 1, "ask": 1}
"""How often each question is asked, relative to the others."""
ELSEWHERE = "127.0.0.9"
"""The address of those who say nothing."""


@dataclass
class Seen:
    """What the users saw; ``lost`` are requests that were sent and got no answer."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    statuses: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    mixed_up: int = 0
    worst_gap: float = 0.0


@dataclass
class Report:
    """One line of the table; the keys of the JSON."""

    mode: str
    version: str
    model: str
    users: int
    workers: int
    seconds: float
    requests: int
    per_second: float
    per_cpu_second: float
    statuses: dict[str, int]
    lost: dict[str, int]
    mixed_up: int
    p50: float
    p95: float
    p99: float
    worst: float
    memory_start: float
    memory_end: float
    health_ms: float
    by_route: dict[str, tuple[int, float, float]]
    told: str = ""


def person(rng: random.Random) -> dict[str, Any]:
    base: dict[str, Any] = {
        "Age": rng.randint(20, 70),
        "Income": rng.randrange(8000, 60_000, 100),
        "Purpose": rng.choice(PURPOSE),
        "Education": rng.choice(EDUCATION),
        "ExistingLoans": rng.randint(0, 4),
    }
    for name in rng.sample(("Income", "Education"), rng.randint(0, 2)):
        base[name] = None
    return base


async def user(number: int, address: str, routes: dict[str, int], end: float, seen: Seen, think: float = 0.0) -> None:
    """One person after the other, until time is up; what an answer says about blanks must be what was asked."""
    rng = random.Random(number)  # noqa: S311  not a secret
    async with httpx.AsyncClient(base_url=address, timeout=180, trust_env=False) as client:
        while time.monotonic() < end:
            if think:
                await asyncio.sleep(rng.expovariate(1 / think))
            row, route = person(rng), rng.choices(list(routes), list(routes.values()))[0]
            start = time.perf_counter()
            try:
                answer = await client.post(f"/api/v1/{route}", json={"row": row})
            except (httpx.ConnectError, httpx.ConnectTimeout):
                seen.refused += 1  # nobody had taken it
                await asyncio.sleep(0.5)
                continue
            except httpx.HTTPError as error:
                seen.lost[type(error).__name__] += 1
                continue
            seen.seconds.setdefault(route, []).append(time.perf_counter() - start)
            seen.statuses[str(answer.status_code)] += 1
            if answer.status_code == 200 and route == "recourse":
                blanks = {blank["feature"] for blank in answer.json()["blanks"]}
                seen.mixed_up += blanks != {name for name, value in row.items() if value is None}


def health(desk: Desk, count: int = 40) -> float:
    """Milliseconds of a health check on a connection that stays open, the median."""
    with httpx.Client(base_url=desk.address, timeout=30, trust_env=False) as client:
        times = []
        for _ in range(count):
            start = time.perf_counter()
            client.get("/healthz")
            times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times[1:])


async def disturb(desk: Desk, mode: str, after: float) -> str:
    """Do what the mode says to the desk, and tell what came of it."""
    await asyncio.sleep(after)
    start = time.monotonic()
    if mode == "term":
        desk.process.send_signal(signal.SIGTERM)
        while desk.process.poll() is None:
            await asyncio.sleep(0.05)
        return f"ended after {time.monotonic() - start:.1f} s"
    before = desk.pids()
    os.kill(before[0], signal.SIGKILL if mode == "kill" else signal.SIGSTOP)
    gone = None
    while time.monotonic() - start < 3 * after:
        now = desk.pids()
        if gone is None and before[0] not in now:
            gone = time.monotonic() - start
        ready = await asyncio.to_thread(desk.ready) if gone is not None else set()
        if gone is not None and len(ready) == desk.workers and str(before[0]) not in ready:
            return f"ended after {gone:.1f} s, its successor answers after {time.monotonic() - start:.1f} s"
        await asyncio.sleep(0.2)
    waited = f"{time.monotonic() - start:.0f} s"
    if gone is None:
        return f"not ended within {waited}"
    return f"ended after {gone:.1f} s, its successor does not answer within {waited}"


async def watch(desk: Desk, found: list[tuple[float, float]]) -> None:
    start = time.monotonic()
    while True:
        found.append((time.monotonic() - start, desk.memory()))
        await asyncio.sleep(30)


async def put_under_load(desk: Desk, args: argparse.Namespace, seen: Seen) -> tuple[float, str]:
    routes = {name: MIX[name] for name in args.routes}
    first = time.monotonic() + min(5.0, args.seconds / 4)
    await asyncio.gather(*(user(-1 - i, desk.address, routes, first, Seen()) for i in range(min(4, args.users))))
    with ExitStack() as open_:
        if args.mode == "idle":
            for _ in range(args.idle):
                open_.enter_context(
                    socket.create_connection(("127.0.0.1", desk.port), timeout=10, source_address=(ELSEWHERE, 0))
                )
        start = time.monotonic()
        asking = [user(i, desk.address, routes, start + args.seconds, seen, args.think) for i in range(args.users)]
        told = ""
        if args.mode in ("kill", "stop", "term"):
            told = (await asyncio.gather(disturb(desk, args.mode, args.seconds / 3), *asking))[0]
        elif args.mode == "soak":
            found: list[tuple[float, float]] = []
            watching = asyncio.ensure_future(watch(desk, found))
            await asyncio.gather(*asking)
            watching.cancel()
            told = "MB: " + ", ".join(f"{size:.0f} at {at:.0f} s" for at, size in found)
        else:
            await asyncio.gather(*asking)
        return time.monotonic() - start, told


def packed(folder: str, source: str, model: str) -> Path:
    """The demo's bundle as the version in ``source`` packs it: an older one does not load what a newer one keeps."""
    code = f"from armin_desk.demo import save_demo_bundle; print(save_demo_bundle({folder!r}, forest={model == 'RF'}))"
    done = subprocess.run(  # noqa: S603  our own code
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(done.stdout.strip().splitlines()[-1])


def measure(model: str, version: str, source: str, args: argparse.Namespace) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        path = packed(folder, source, model)
        limits = f"queue={2 * args.users}, patience=120.0, time_limit=10.0"
        with running(path, source, args.workers, limits) as desk:
            seen, check = Seen(), health(desk)
            before, cpu = desk.memory(), desk.cpu()
            took, told = asyncio.run(put_under_load(desk, args, seen))
            after, cpu = desk.memory(), desk.cpu() - cpu
    every = np.array([s for times in seen.seconds.values() for s in times] or [np.nan])
    p50, p95, p99 = (float(p) for p in np.percentile(every, [50, 95, 99]))
    by_route = {
        name: (len(times), float(np.median(times)), float(np.percentile(times, 99)))
        for name, times in sorted(seen.seconds.items())
    }
    if seen.refused:
        told += f"; {seen.refused} refused at the door"
    return Report(
        args.mode, version, model, args.users, args.workers, took, every.size, every.size / took,
        every.size / cpu if cpu > 0 else float("nan"), dict(seen.statuses), dict(seen.lost), seen.mixed_up,
        p50, p95, p99, float(every.max()), before, after, check, by_route, told,
    )  # fmt: skip


def table(reports: list[Report]) -> str:
    """The reports as Markdown."""
    lines = [
        "| mode | version | model | users | workers | seconds | answers | per second | per CPU second | status "
        "| lost | p50 | p95 | p99 | worst | memory, MB | health check, ms | |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.mode} | {r.version} | {r.model} | {r.users} | {r.workers} | {r.seconds:.0f} | {r.requests} | "
        f"{r.per_second:.1f} | {r.per_cpu_second:.1f} | {_counts(r.statuses)} | {_counts(r.lost)} | {r.p50:.2f} s | "
        f"{r.p95:.2f} s | {r.p99:.2f} s | {r.worst:.2f} s | {r.memory_start:.0f} → {r.memory_end:.0f} | "
        f"{r.health_ms:.1f} | {r.told} |"
        for r in reports
    ]
    return "\n".join(lines)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} × {name}" for name, number in sorted(counts.items())) or "0"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", default="users", choices=["users", "idle", "kill", "stop", "term", "soak"])
    parser.add_argument("--seconds", type=float, default=60.0, help="for each model and version")
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--idle", type=int, default=1000, help="connections that say nothing")
    parser.add_argument("--think", type=float, default=0.0, help="mean seconds between an answer and the next question")
    parser.add_argument("--models", nargs="*", default=["LR", "RF"], choices=["LR", "RF"])
    parser.add_argument("--routes", nargs="*", default=list(MIX), choices=list(MIX))
    parser.add_argument("--against", metavar="TREE", type=Path, help="the tree of another version, measured in turn")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the numbers here")
    args = parser.parse_args()
    trees = {"before": args.against.resolve(), "now": HERE} if args.against else {"now": HERE}
    versions = [(name, os.pathsep.join(map(str, sources(tree)))) for name, tree in trees.items()]
    reports = []
    for _ in range(args.rounds):
        for model in args.models:
            for version, source in versions:
                reports.append(measure(model, version, source, args))
                print(table(reports[-1:]).splitlines()[-1], flush=True)
    print(f"\nMachine: {machine()}\n\n{table(reports)}")
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps([asdict(r) for r in reports], indent=1), encoding="utf-8")
    calm = args.mode in ("users", "soak")
    if any(r.mixed_up or (calm and (r.lost or set(r.statuses) - {"200"})) for r in reports if r.version == "now"):
        raise SystemExit("There were errors.")


if __name__ == "__main__":
    main()
