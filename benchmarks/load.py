"""How does the desk hold up? ``python -m benchmarks.load``: many people at once on this machine, errors and seconds.

For a logistic regression and a forest of 100 trees: the demo's bundle is served by its own process, and a number of
users ask one thing after the other, as the page does, each as another person. Memory is the workers' resident memory.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import random
import re
import socket
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from armin.datasets.loans import EDUCATION, PURPOSE
from armin.desk.demo import save_demo_bundle
from armin.desk.serve import serve
from armin.desk.settings import DeskSettings
from benchmarks.engine import machine

MIX = {"recourse": 8, "alternatives": 3, "path": 3, "letter": 1, "ask": 1}
"""How often each question is asked, relative to the others."""


@dataclass
class Seen:
    """What the users saw."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    mixed_up: int = 0


@dataclass(frozen=True)
class Report:
    """One line of the table; the keys of the JSON."""

    model: str
    users: int
    workers: int
    seconds: float
    requests: int
    per_second: float
    errors: int
    mixed_up: int
    p50: float
    p95: float
    p99: float
    worst: float
    memory_start: float
    memory_end: float
    by_route: dict[str, tuple[int, float, float]]


def run_server(path: str, port: int, workers: int, queue: int) -> None:
    import logging

    logging.getLogger("armin.desk").addHandler(logging.NullHandler())  # no line for each request
    serve(path, port=port, workers=workers, settings=DeskSettings(queue=queue, patience=120.0, time_limit=30.0))


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


async def user(
    number: int, client: httpx.AsyncClient, routes: dict[str, int], end: float, seen: Seen, think: float = 0.0
) -> None:
    """One person after the other, until time is up; what an answer says about blanks must be what was asked."""
    rng = random.Random(number)  # noqa: S311  not a secret
    while time.monotonic() < end:
        if think:
            await asyncio.sleep(rng.expovariate(1 / think))
        row, route = person(rng), rng.choices(list(routes), list(routes.values()))[0]
        start = time.perf_counter()
        try:
            answer = await client.post(f"/api/v1/{route}", json={"row": row})
        except httpx.HTTPError as error:
            seen.errors[type(error).__name__] += 1
            continue
        seen.seconds.setdefault(route, []).append(time.perf_counter() - start)
        if answer.status_code != 200:
            seen.errors[str(answer.status_code)] += 1
        elif route == "recourse":
            blanks = {blank["feature"] for blank in answer.json()["blanks"]}
            seen.mixed_up += blanks != {name for name, value in row.items() if value is None}


async def memory(address: str, workers: int) -> float:
    """MB of all workers; each answers for itself, on a connection of its own."""

    async def numbers() -> str:
        async with httpx.AsyncClient(base_url=address, timeout=60, trust_env=False) as client:
            return (await client.get("/metrics")).text

    found: dict[str, float] = {}
    for _ in range(50):
        for text in await asyncio.gather(*(numbers() for _ in range(8))):  # at once, so that no worker takes them all
            for pid, size in re.findall(r'process_resident_memory_bytes\{pid="(\d+)"\} (\S+)', text):
                found[pid] = float(size) / 1e6
        if len(found) >= workers:
            return sum(found.values())
    raise SystemExit(f"Only {len(found)} of {workers} workers answered, so their memory is not known.")


async def until_up(address: str) -> None:
    async with httpx.AsyncClient(base_url=address, timeout=5, trust_env=False) as client:
        for _ in range(600):
            try:
                if (await client.get("/healthz")).status_code == 200:
                    return
            except httpx.HTTPError:
                await asyncio.sleep(0.2)
    raise SystemExit("The desk did not start.")


async def put_under_load(address: str, args: argparse.Namespace) -> tuple[Seen, float, float, float]:
    await until_up(address)
    routes = {name: MIX[name] for name in args.routes}
    seen = Seen()
    limits = httpx.Limits(max_connections=args.users, max_keepalive_connections=args.users)
    async with httpx.AsyncClient(base_url=address, timeout=180, limits=limits, trust_env=False) as client:
        warm = Seen()
        first = time.monotonic() + min(5.0, args.seconds / 4)
        await asyncio.gather(*(user(-1 - i, client, routes, first, warm) for i in range(min(4, args.users))))
        before, start = await memory(address, args.workers), time.monotonic()
        await asyncio.gather(
            *(user(i, client, routes, start + args.seconds, seen, args.think) for i in range(args.users))
        )
        took = time.monotonic() - start
    return seen, took, before, await memory(address, args.workers)


def measure(model: str, args: argparse.Namespace) -> Report:
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        path = save_demo_bundle(folder, forest=model == "RF")
        spawn = multiprocessing.get_context("spawn")
        server = spawn.Process(target=run_server, args=(str(path), port, args.workers, 2 * args.users))
        server.start()
        try:
            seen, took, before, after = asyncio.run(put_under_load(f"http://127.0.0.1:{port}", args))
        finally:
            server.terminate()
            server.join()
    every = np.array([s for times in seen.seconds.values() for s in times])
    p50, p95, p99 = (float(p) for p in np.percentile(every, [50, 95, 99]))
    by_route = {
        name: (len(times), float(np.median(times)), float(np.percentile(times, 99)))
        for name, times in sorted(seen.seconds.items())
    }
    if seen.errors:
        print(f"{model}: errors {dict(seen.errors)}")
    return Report(
        model, args.users, args.workers, took, every.size, every.size / took, seen.errors.total(), seen.mixed_up,
        p50, p95, p99, float(every.max()), before, after, by_route,
    )  # fmt: skip


def table(reports: list[Report]) -> str:
    """The reports as Markdown tables."""
    lines = [
        "| model | users | workers | seconds | requests | per second | errors | p50 | p95 | p99 | worst | memory, MB |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.model} | {r.users} | {r.workers} | {r.seconds:.0f} | {r.requests} | {r.per_second:.1f} | {r.errors} | "
        f"{r.p50:.2f} s | {r.p95:.2f} s | {r.p99:.2f} s | {r.worst:.2f} s | {r.memory_start:.0f} → {r.memory_end:.0f} |"
        for r in reports
    ]
    lines += ["", "| model | question | requests | median | p99 |", "|---|---|---|---|---|"]
    for r in reports:
        for name, (count, middle, high) in r.by_route.items():
            lines.append(f"| {r.model} | {name} | {count} | {middle:.2f} s | {high:.2f} s |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="for each model")
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--think", type=float, default=0.0, help="mean seconds between an answer and the next question")
    parser.add_argument("--models", nargs="*", default=["LR", "RF"], choices=["LR", "RF"])
    parser.add_argument("--routes", nargs="*", default=list(MIX), choices=list(MIX))
    parser.add_argument("--json", type=Path, help="write the numbers here")
    args = parser.parse_args()
    reports = [measure(model, args) for model in args.models]
    print(f"Machine: {machine()}\n\n{table(reports)}")
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps([asdict(r) for r in reports], indent=1), encoding="utf-8")
    if any(r.errors or r.mixed_up for r in reports):
        raise SystemExit("There were errors.")


if __name__ == "__main__":
    main()
