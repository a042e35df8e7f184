"""A disturbed batch: ``python -m lab.benchmarks.batches``. Is every row answered once, as if nothing had happened?

``armin explain`` explains rows of the built-in loan book in two processes, and writes to a file. One of the processes
is killed every ``--kill-every`` seconds, and the command itself is killed ``--kill-parent`` times and started again
with ``--resume``. The file must be the same, but for seconds, as that of a run which nobody disturbed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

from armin_desk.demo import save_demo_bundle
from lab.benchmarks.desks import children
from lab.benchmarks.engine import machine
from lab.benchmarks.load import person

COMMAND = "import sys; from armin.cli import main; sys.argv[0] = 'armin'; main()"


def command(folder: Path, output: str, *more: str) -> subprocess.Popen[bytes]:
    words = ["explain", str(folder / "people.csv"), "--bundle", str(folder / "loans.armin"), "--json", "--jobs", "2"]
    words += ["--output", str(folder / output), *more]
    return subprocess.Popen([sys.executable, "-c", COMMAND, *words], stderr=subprocess.DEVNULL)  # noqa: S603  our own


def at_work(pid: int) -> list[int]:
    """The processes that explain rows."""
    found = []
    for child in children(pid):
        try:
            line = Path(f"/proc/{child}/cmdline").read_bytes()
        except OSError:
            continue
        if b"popen_loky" in line:
            found.append(child)
    return found


def answered(parts: Path) -> int:
    """How many rows are in the part files of a run that goes on; the last part may have fewer than the others."""
    manifest = parts / "manifest.json"
    if not manifest.exists():
        return 0
    size: int = json.loads(manifest.read_bytes())["rows_per_part"]
    return size * len(list(parts.glob("part-*.json")))


def disturbed(folder: Path, rows: int, every: float, parents: int) -> tuple[int, int, float]:
    """Killed processes, killed commands, and seconds."""
    rng, start = random.Random(0), time.monotonic()  # noqa: S311  not a secret
    marks = [rows * (i + 1) // (parents + 1) for i in range(parents)]
    parts = folder / "disturbed.jsonl.parts"
    killed = 0
    process, last = command(folder, "disturbed.jsonl"), time.monotonic()
    while process.poll() is None:
        time.sleep(0.1)
        if marks and answered(parts) >= marks[0]:
            marks.pop(0)
            process.kill()
            process.wait()
            process, last = command(folder, "disturbed.jsonl", "--resume"), time.monotonic()
        elif time.monotonic() - last >= every and (workers := at_work(process.pid)):
            os.kill(rng.choice(workers), signal.SIGKILL)
            killed, last = killed + 1, time.monotonic()
    return killed, parents - len(marks), time.monotonic() - start


def read(path: Path) -> list[dict[str, object]]:
    """The answers without what differs from run to run."""

    def timeless(node: object) -> object:
        if isinstance(node, dict):
            times = ("seconds", "sampling", "building", "solving")
            return {key: timeless(value) for key, value in node.items() if key not in times}
        return [timeless(one) for one in node] if isinstance(node, list) else node

    return [timeless(json.loads(line)) for line in path.read_text("utf-8").splitlines()]  # type: ignore[misc]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--kill-every", type=float, default=30.0, help="seconds")
    parser.add_argument("--kill-parent", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_demo_bundle(folder)
        rng = random.Random(1)  # noqa: S311  not a secret
        pd.DataFrame([person(rng) for _ in range(args.rows)]).to_csv(folder / "people.csv", index=False)
        start = time.monotonic()
        command(folder, "calm.jsonl").wait()
        calm = time.monotonic() - start
        killed, parents, seconds = disturbed(folder, args.rows, args.kill_every, args.kill_parent)
        one, other = read(folder / "calm.jsonl"), read(folder / "disturbed.jsonl")
    numbers = [line["row"] for line in other]
    once = numbers == list(range(1, args.rows + 1))
    print(f"Machine: {machine()}\n")
    print("| rows | calm, s | disturbed, s | processes killed | command killed | every row once | the same answers |")
    print("|---|---|---|---|---|---|---|")
    print(f"| {args.rows:,} | {calm:.0f} | {seconds:.0f} | {killed} | {parents} | {once} | {one == other} |")
    for line, wanted in zip(other, one, strict=False):
        if line != wanted:
            differ = [key for key in {*line, *wanted} if line.get(key) != wanted.get(key)]
            print(f"Row {line['row']} differs in {differ}: {line.get('error', '')}")
    if not once or one != other:
        raise SystemExit("Something was lost, or is not the same.")


if __name__ == "__main__":
    main()
