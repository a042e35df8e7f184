"""The clock that time limits go by: it stands still while code is made ready."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["clock", "uncounted"]


class _Uncounted(threading.local):
    """What one thread has spent without its being counted."""

    nanoseconds: int = 0  # whole numbers: what is added and taken away again leaves nothing behind
    depth: int = 0


_uncounted = _Uncounted()


def clock() -> float:
    """Seconds that count against a time limit, from some moment on.

    >>> before = clock()
    >>> clock() >= before
    True
    """
    return (time.perf_counter_ns() - _uncounted.nanoseconds) / 1e9


@contextmanager
def uncounted() -> Iterator[None]:
    """Within this context, time does not count: something is made ready, once on a machine or in a process.

    Only this thread's clock stands still.

    >>> with uncounted():
    ...     import sqlite3
    """
    start = time.perf_counter_ns()
    _uncounted.depth += 1
    try:
        yield
    finally:
        _uncounted.depth -= 1
        if not _uncounted.depth:
            _uncounted.nanoseconds += time.perf_counter_ns() - start
