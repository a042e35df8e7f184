"""Counters for operators, in Prometheus' text format.

One worker keeps them in memory. Several share a folder, named by ``PROMETHEUS_MULTIPROC_DIR`` before they start: then
any of them answers for all, counters as sums, searches and memory by the worker's process number.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from armin.desk.settings import SHARED

__all__ = ["Metrics", "settle"]

BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Requests by route and status, how long they took, and what is under way.

    Attributes
    ----------
    running, waiting : searches at work, and requests that wait for their turn
    stopped : searches that were stopped because the caller went away
    closed : connections that the desk closed, by the reason: "late", "crowded", "refused", "ahead", "unread"
    limited : questions that were refused since the client had asked too many

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.count("POST", "/api/v1/recourse", 200, 0.2)
    >>> b'status="200"} 1' in metrics.text()
    True
    """

    def __init__(self) -> None:
        own = self._registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self._requests = Counter("armin_requests", "Requests answered.", labels, registry=own)
        self._seconds = Histogram("armin_request_seconds", "Time to answer.", ("route",), buckets=BUCKETS, registry=own)
        self.running = _gauge("armin_searches_running", "Searches at work.", own)
        self.waiting = _gauge("armin_searches_waiting", "Requests that wait for their turn.", own)
        self.stopped = Counter("armin_searches_stopped", "Searches stopped since the caller left.", registry=own)
        self.closed = Counter("armin_connections_closed", "Connections that the desk closed.", ("why",), registry=own)
        self.limited = Counter("armin_questions_limited", "Questions beyond a client's limit.", registry=own)
        self._memory = _gauge("process_resident_memory_bytes", "Memory of this worker.", own)
        self._process = ProcessCollector(registry=None)
        self._note_memory()

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Note one answered request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)
        self._note_memory()

    def text(self) -> bytes:
        """All numbers, for a Prometheus server to collect."""
        self._note_memory()
        if SHARED not in os.environ:
            return generate_latest(self._registry)
        shared = CollectorRegistry()
        MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
        try:
            return generate_latest(shared)
        except FileNotFoundError:  # a worker's file was settled just now
            return generate_latest(shared)

    def _note_memory(self) -> None:
        """The memory of this process, where the system tells."""
        for metric in self._process.collect():
            if metric.name == "process_resident_memory_bytes":
                self._memory.set(metric.samples[0].value)


def _gauge(name: str, text: str, registry: CollectorRegistry) -> Gauge:
    return Gauge(name, text, registry=registry, multiprocess_mode="liveall")


def settle(pid: int, folder: str) -> None:
    """Add what a dead worker has counted to what the dead before it had, so that there is one file of all of them."""
    mark_process_dead(pid, folder)  # type: ignore[no-untyped-call]
    for kind in ("counter", "histogram"):
        own, dead, fresh = (Path(folder) / f"{kind}_{name}" for name in (f"{pid}.db", "0.db", "0.new"))
        if not own.exists():
            continue
        found: dict[str, tuple[float, float]] = {}
        for file in (dead, own):
            if file.exists():
                for key, value, stamp, _ in _values(file):
                    found[key] = (found.get(key, (0.0, 0.0))[0] + value, stamp)
        fresh.unlink(missing_ok=True)
        together: Any = MmapedDict(str(fresh))  # type: ignore[no-untyped-call]
        for key, (value, stamp) in found.items():
            together.write_value(key, value, stamp)
        together.close()
        own.unlink()
        fresh.replace(dead)


def _values(file: Path) -> Iterable[tuple[str, float, float, int]]:
    read: Any = MmapedDict.read_all_values_from_file
    found: Iterable[tuple[str, float, float, int]] = read(str(file))
    return found
