"""How far a run is, and what it runs on."""

from __future__ import annotations

import os
import platform
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from lab.experiments.config import Cell
from lab.experiments.store import Row

__all__ = ["Progress", "machine"]


def machine() -> Row:
    """What this is measured on."""
    name = platform.processor() or platform.machine()
    cpu = Path("/proc/cpuinfo")
    if cpu.is_file():
        lines = [line for line in cpu.read_text(encoding="utf-8").splitlines() if line.startswith("model name")]
        name = lines[0].split(":", 1)[1].strip() if lines else name
    return {"cpu": name, "cores": os.cpu_count(), "python": platform.python_version()}


class Progress:
    """A bar on a terminal, and nothing elsewhere."""

    def __init__(self, cells: Sequence[Cell], folder: Path) -> None:
        self.paths = [folder / "results" / c.experiment.name / f"{c.name}.jsonl" for c in cells]
        self.total = sum(c.people(m) for c in cells for m in c.experiment.methods)
        self.over = threading.Event()
        self.thread: threading.Thread | None = None

    def __enter__(self) -> None:
        if sys.stderr.isatty():
            self.thread = threading.Thread(target=self._watch, daemon=True)
            self.thread.start()

    def _watch(self) -> None:
        from rich.console import Console
        from rich.progress import Progress as Bar

        with Bar(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("Rows (at most)", total=self.total)
            while not self.over.wait(1.0):
                done = sum(p.read_bytes().count(b"\n") for p in self.paths if p.is_file())
                bar.update(task, completed=done)

    def __exit__(self, *_: object) -> None:
        self.over.set()
        if self.thread is not None:
            self.thread.join()
