"""Counters for operators, in Prometheus' text format.

Workers share a folder, named by ``PROMETHEUS_MULTIPROC_DIR`` before they start, so that any of them answers for all:
counters as sums, searches and memory by the worker's process number. Without it, an application keeps them in memory.
"""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from armin_desk.settings import SHARED

__all__ = ["Metrics"]

BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Requests by route and status, how long they took, and what is under way.

    Attributes
    ----------
    running, waiting : searches at work, and requests that wait for their turn
    stuck : searches that were given up and have not ended
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
        self.stuck = _gauge("armin_searches_stuck", "Searches given up that have not ended.", own)
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
        except FileNotFoundError:  # a worker has just died, and its searches are forgotten
            return generate_latest(shared)

    def _note_memory(self) -> None:
        """The memory of this process, where the system tells."""
        for metric in self._process.collect():
            if metric.name == "process_resident_memory_bytes":
                self._memory.set(metric.samples[0].value)


def _gauge(name: str, text: str, registry: CollectorRegistry) -> Gauge:
    return Gauge(name, text, registry=registry, multiprocess_mode="liveall")
