"""Counters for operators, in Prometheus' text format.

Written by hand: the format is a few lines, and the usual client keeps global state and needs a shared folder for
several workers. Here each worker counts for itself and says so by its process number.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Metrics", "resident_bytes"]

BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


@dataclass(eq=False)
class Metrics:
    """Requests by route and status, how long they took, and what is under way. Used by one event loop only.

    Attributes
    ----------
    running, waiting : searches at work, and requests that wait for their turn
    stopped : searches that were stopped because the caller went away

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.count("POST", "/api/v1/recourse", 200, 0.2)
    >>> 'status="200"} 1' in metrics.text()
    True
    """

    running: int = 0
    waiting: int = 0
    stopped: int = 0
    _requests: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    _buckets: dict[str, list[int]] = field(default_factory=dict)
    _seconds: dict[str, float] = field(default_factory=dict)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Note one answered request."""
        self._requests[method, route, status] += 1
        self._buckets.setdefault(route, [0] * (len(BUCKETS) + 1))[bisect_left(BUCKETS, seconds)] += 1
        self._seconds[route] = self._seconds.get(route, 0.0) + seconds

    def text(self) -> str:
        """All numbers, for a Prometheus server to collect."""
        pid = f'pid="{os.getpid()}"'
        lines = ["# HELP armin_requests_total Requests answered.", "# TYPE armin_requests_total counter"]
        for (method, route, status), number in sorted(self._requests.items()):
            lines.append(f'armin_requests_total{{{pid},method="{method}",route="{route}",status="{status}"}} {number}')
        lines += ["# HELP armin_request_seconds Time to answer.", "# TYPE armin_request_seconds histogram"]
        for route, counts in sorted(self._buckets.items()):
            label, total = f'{pid},route="{route}"', 0
            for edge, number in zip((*BUCKETS, "+Inf"), counts, strict=True):
                total += number
                lines.append(f'armin_request_seconds_bucket{{{label},le="{edge}"}} {total}')
            lines.append(f"armin_request_seconds_sum{{{label}}} {self._seconds[route]:.6f}")
            lines.append(f"armin_request_seconds_count{{{label}}} {total}")
        for name, kind, text, number in (
            ("armin_searches_running", "gauge", "Searches at work.", self.running),
            ("armin_searches_waiting", "gauge", "Requests that wait for their turn.", self.waiting),
            ("armin_searches_stopped_total", "counter", "Searches stopped since the caller left.", self.stopped),
            ("process_resident_memory_bytes", "gauge", "Memory of this worker.", resident_bytes()),
        ):
            lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}", f"{name}{{{pid}}} {number}"]
        return "\n".join(lines) + "\n"


def resident_bytes() -> int:
    """The memory of this process now; its peak where the system does not tell.

    >>> resident_bytes() > 1_000_000
    True
    """
    now = Path("/proc/self/statm")
    if now.is_file():
        return int(now.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
