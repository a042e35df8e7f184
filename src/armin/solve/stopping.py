"""When to stop: the clock that time limits go by, and a stop from outside (a closed connection, a button).

>>> with stop_when(lambda: True):
...     stopped()
True
>>> stopped()
False
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from armin.problem import PathPoint, Solution

__all__ = ["Callback", "Until", "clock", "stop_when", "stopped", "uncounted", "watched"]

Callback = Callable[[Solution], bool | None]
"""Called now and then with the best so far; returning False stops the search."""

Until = Callable[[list[PathPoint]], bool]
"""Called with the beginning of a path whenever more of it is proved; returning True ends the path there."""

_flag: ContextVar[Callable[[], bool] | None] = ContextVar("armin_stop", default=None)


@contextmanager
def stop_when(flag: Callable[[], bool]) -> Iterator[None]:
    """Within this context, every search ends soon after ``flag()`` is true, with the best so far and a true bound.

    The flag belongs to the context: other threads and tasks are not affected. Brute force on tiny problems and
    MILO solvers do not look at it.

    Parameters
    ----------
    flag : asked now and then; true means stop

    Examples
    --------
    >>> from armin import ARMIN
    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved", method="search").fit(loans.X)
    >>> with stop_when(lambda: False):
    ...     explainer.explain(loans.applicant).outcome
    'plan'
    """
    token = _flag.set(flag)
    try:
        yield
    finally:
        _flag.reset(token)


def stopped() -> bool:
    """Whether the current context asks to stop."""
    flag = _flag.get()
    return flag is not None and flag()


def watched(callback: Callback | None) -> Callback | None:
    """``callback``, which also looks at the current context's flag."""
    flag = _flag.get()
    if flag is None:
        return callback

    def both(solution: Solution) -> bool:
        return not flag() and (callback is None or callback(solution) is not False)

    return both


class _Uncounted(threading.local):
    """What one thread has spent without its being counted."""

    seconds: float = 0.0
    depth: int = 0


_uncounted = _Uncounted()


def clock() -> float:
    """Seconds that count against a time limit, from some moment on."""
    return time.perf_counter() - _uncounted.seconds


@contextmanager
def uncounted() -> Iterator[None]:
    """Within this context, time does not count: the search is made ready, once on a machine or in a process.

    Only this thread's clock stands still.
    """
    start = time.perf_counter()
    _uncounted.depth += 1
    try:
        yield
    finally:
        _uncounted.depth -= 1
        if not _uncounted.depth:
            _uncounted.seconds += time.perf_counter() - start
