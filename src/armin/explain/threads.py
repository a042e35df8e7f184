"""One thread of linear algebra for one answer: its arrays are so small that threads would only wait for each other."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["in_one_thread", "one_thread"]

Asked = ParamSpec("Asked")
Found = TypeVar("Found")

_LATE = ("sklearn", "xgboost", "lightgbm", "catboost", "torch", "scipy.linalg")
"""What may bring a library of threads along after the first answer."""


class _Limit:
    """The limit on threads. BLAS has one for the process: the first who asks sets it, the last lifts it. OpenMP has one
    for each thread that calls it.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.own = _Own()
        self.under_way = 0
        self.seen: tuple[bool, ...] = ()
        self.blas: ThreadpoolController | None = None
        self.openmp: ThreadpoolController | None = None
        self.held: Any = None

    def enter(self) -> None:
        own = self.own
        own.depth += 1
        if own.depth > 1:
            return
        with self.lock:
            self.under_way += 1
            if self.under_way == 1:
                # looking for the libraries takes longer than most answers, so it is done once
                seen = tuple(name in sys.modules for name in _LATE)
                if self.blas is None or seen != self.seen:
                    every = ThreadpoolController()
                    self.blas, self.openmp, self.seen = (
                        every.select(user_api="blas"),
                        every.select(user_api="openmp"),
                        seen,
                    )
                _take_control(self.blas)
                self.held = self.blas.limit(limits=1)
            own.held = None if self.openmp is None else self.openmp.limit(limits=1)

    def leave(self) -> None:
        own = self.own
        own.depth -= 1
        if own.depth:
            return
        with self.lock:
            if own.held is not None:
                own.held.restore_original_limits()
                own.held = None
            self.under_way -= 1
            if self.under_way == 0 and self.blas is not None:
                _take_control(self.blas)
                self.held.restore_original_limits()
                _take_control(self.blas)  # and leave it to whoever comes next
                self.held = None


def _take_control(pools: ThreadpoolController) -> None:
    """Let this thread set the limit: newer releases of threadpoolctl obey the thread that was first, and no other.

    The first thread of a desk is the one that loads the bundle; without this no request would be limited.
    """
    for pool in pools.lib_controllers:
        let_go = getattr(pool, "clear_controlling_thread", None)
        if let_go is not None:
            let_go(force=True)


class _Own(threading.local):
    """What one thread holds."""

    depth: int = 0
    held: Any = None


_limit = _Limit()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS and OpenMP work in one thread while this lasts, in whatever threads answers are made.

    >>> with one_thread(), one_thread():
    ...     pass
    """
    _limit.enter()
    try:
        yield
    finally:
        _limit.leave()


def in_one_thread(work: Callable[Asked, Found]) -> Callable[Asked, Found]:
    """A function that works under :func:`one_thread`."""

    @wraps(work)
    def limited(*args: Asked.args, **named: Asked.kwargs) -> Found:
        with one_thread():
            return work(*args, **named)

    return limited
