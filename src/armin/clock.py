"""The clock that time limits go by: it stands still while code is made ready."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["clock", "uncounted"]


class _Uncounted(threading.local):
    """What one thread has spent without its being counted."""

    seconds: float = 0.0
    depth: int = 0


_uncounted = _Uncounted()


def clock() -> float:
    """Seconds that count against a time limit, from some moment on.

    >>> before = clock()
    >>> clock() >= before
    True
    """
    return time.perf_counter() - _uncounted.seconds


@contextmanager
def uncounted() -> Iterator[None]:
    """Within this context, time does not count: something is made ready, once on a machine or in a process.

    Only this thread's clock stands still.

    >>> with uncounted():
    ...     import sqlite3
    """
    start = time.perf_counter()
    _uncounted.depth += 1
    try:
        yield
    finally:
        _uncounted.depth -= 1
        if not _uncounted.depth:
            _uncounted.seconds += time.perf_counter() - start
