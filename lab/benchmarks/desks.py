"""A desk in a process tree of its own, of this version or of another one, and what the system knows about it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

SCRIPT = """
from armin_desk.serve import serve
from armin_desk.settings import DeskSettings

if __name__ == "__main__":
    serve({bundle!r}, port={port}, workers={workers}, settings=DeskSettings({limits}))
"""
TICK = os.sysconf("SC_CLK_TCK")


def children(pid: int) -> list[int]:
    """The processes that a process has started, and theirs."""
    found: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            own = [int(child) for child in file.read_text().split()]
        except OSError:
            continue
        found += own + [one for child in own for one in children(child)]
    return found


@dataclass
class Desk:
    """A desk that runs."""

    process: subprocess.Popen[bytes]
    port: int
    workers: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def pids(self) -> list[int]:
        """The workers: what the desk has started, but for Python's own watcher of resources."""
        found = []
        for pid in children(self.process.pid):
            try:
                line = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if b"resource_tracker" not in line:
                found.append(pid)
        return found

    def memory(self) -> float:
        """MB of the whole tree; pages that several of its processes share count once."""
        total = 0
        for pid in (self.process.pid, *children(self.process.pid)):
            try:
                text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            except OSError:
                continue
            total += next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
        return total / 1000

    def cpu(self) -> float:
        """CPU seconds of the processes that are there now."""
        total = 0.0
        for pid in (self.process.pid, *children(self.process.pid)):
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            total += (int(fields[11]) + int(fields[12])) / TICK
        return total

    def up(self) -> bool:
        try:
            return httpx.get(f"{self.address}/healthz", timeout=5, trust_env=False).status_code == 200
        except httpx.HTTPError:
            return False

    def ready(self) -> set[str]:
        """The workers that count, by the desk's own metrics."""
        import re

        try:
            text = httpx.get(f"{self.address}/metrics", timeout=20, trust_env=False).text
        except httpx.HTTPError:
            return set()
        return set(re.findall(r'process_resident_memory_bytes\{pid="(\d+)"\}', text))


@contextmanager
def running(bundle: Path, source: str, workers: int, limits: str) -> Iterator[Desk]:
    """Serve a bundle with the code in ``source``; it stops at the end."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        script = Path(folder) / "desk.py"
        script.write_text(SCRIPT.format(bundle=str(bundle), port=port, workers=workers, limits=limits))
        env = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
        process = subprocess.Popen(  # noqa: S603  our own script
            [sys.executable, str(script)], env=env | {"PYTHONPATH": source}, stderr=subprocess.DEVNULL
        )
        desk = Desk(process, port, workers)
        try:
            end = time.monotonic() + 180
            while not desk.up() or (workers > 1 and len(desk.ready()) < workers):
                if time.monotonic() > end or process.poll() is not None:
                    raise SystemExit("The desk did not start.")
                time.sleep(0.2)
            yield desk
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(40)
                except subprocess.TimeoutExpired:
                    for pid in (*children(process.pid), process.pid):
                        os.kill(pid, signal.SIGKILL)
                    process.wait()
