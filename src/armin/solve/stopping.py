"""When to stop: the clock of time limits, and a stop from outside (a closed connection, a button).

>>> with stop_when(lambda: True):
...     stopped()
True
>>> stopped()
False
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from armin.clock import clock, uncounted
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
    >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
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
