"""Many rows over processes of which any may die: what a dead one held is tried again, and nothing else is lost.

Each process gets what it works with once, not with every row, and is kept for the next call.
"""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any, TypeVar

from armin.errors import ParameterError, RowError, SolverError

__all__ = ["share_out", "wants_processes"]

Item = TypeVar("Item")
Result = TypeVar("Result")
Work = Callable[[Sequence[Item]], Sequence[Result]]

TRIES = 3
"""How often a row may lose its process, the last times alone, before it is given up."""
STARTS = 10
"""How often in a row a process may die while it is started; that is nobody's fault among the rows."""
IDLE = 300.0
"""Seconds after which a process that has nothing to do ends."""
LOOK, WATCH = 1.0, "armin-parent"
"""Seconds between looks at whether the parent lives, and the thread that looks."""
QUIET = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Processes share the cores, so each computes in one thread."""


def wants_processes(n_jobs: int | None) -> bool:
    """Whether joblib would share work out over processes of this machine, as it does unless told otherwise."""
    from joblib import effective_n_jobs
    from joblib.parallel import get_active_backend

    backend = get_active_backend()[0]
    return type(backend).__name__ == "LokyBackend" and bool(effective_n_jobs(n_jobs) > 1)


def share_out(
    work: Work[Item, Result], blocks: Sequence[Sequence[tuple[int, Item]]], jobs: int
) -> Iterator[tuple[int, Result | RowError]]:
    """Do the work on every item, in processes; yields the number and the result of each, as they come.

    Parameters
    ----------
    work : from some items to as many results; travels to each process once
    blocks : the items with their numbers, in portions
    jobs : how many processes

    Yields
    ------
    tuple
        The number of an item, and its result; an error if it lost its process again and again.
    """
    load = _Load.of(work)
    waiting: deque[_Task] = deque(_Task(block) for block in blocks)
    processes = _hired(max(1, min(jobs, len(blocks))))
    free = list(processes)
    busy: dict[Future[Any], tuple[_Process, _Task | None]] = {}
    try:
        while waiting or any(task is not None for _, task in busy.values()):
            while free and waiting:
                process = free.pop()
                task = waiting.popleft() if process.has(load) else None  # it gets the load first, and alone
                busy[process.submit(load, None if task is None else task.items)] = (process, task)
            for future in wait(busy, return_when=FIRST_COMPLETED).done:
                process, task = busy.pop(future)
                free.append(process)
                results, error = process.result(future)
                if task is None:
                    continue
                if error is None:
                    yield from zip(task.numbers, results, strict=True)
                elif task.last:
                    yield task.numbers[0], error
                else:
                    waiting.extendleft(reversed(task.apart()))
    finally:
        _let_go(processes, [process for process, _ in busy.values()])


@dataclass(frozen=True)
class _Task:
    """Some items with their numbers, and how often they have lost their process."""

    block: Sequence[tuple[int, Any]]
    deaths: int = 0

    @property
    def numbers(self) -> list[int]:
        return [number for number, _ in self.block]

    @property
    def items(self) -> list[Any]:
        return [item for _, item in self.block]

    @property
    def last(self) -> bool:
        return len(self.block) == 1 and self.deaths + 1 >= TRIES

    def apart(self) -> list[_Task]:
        """One by one: the next death says whose fault it is."""
        return [_Task([one], self.deaths + 1) for one in self.block]


@dataclass(frozen=True)
class _Load:
    """What a process works with, under a name by which it is known there."""

    name: bytes
    pickled: bytes

    @classmethod
    def of(cls, work: Any) -> _Load:
        from joblib.externals.loky.backend.reduction import dumps

        try:
            return cls(os.urandom(8), bytes(dumps(work)))
        except Exception as error:  # whatever a user's object does
            raise _cannot_travel(error) from None


class _NotThereError(Exception):
    """A process is a new one and has not been given the load."""


class _NoLoadError(Exception):
    """A process cannot open the load."""


class _Process:
    """One process of its own, which is started anew when it has died."""

    def __init__(self) -> None:
        self._executor: Any = None
        self._given: bytes | None = None
        self._failures = 0  # in a row, while it was given the load

    def has(self, load: _Load) -> bool:
        return self._given == load.name

    def submit(self, load: _Load, items: list[Any] | None) -> Future[Any]:
        """Give it the load, if there are no items, or let it work on them."""
        if self._executor is None:
            # joblib's own: its processes need no main module, and functions of a notebook travel
            from joblib.externals.loky import ProcessPoolExecutor

            self._executor = ProcessPoolExecutor(1, timeout=IDLE, env=QUIET)
        future: Future[Any]
        if items is None:
            self._given = load.name
            self._failures += 1
            future = self._executor.submit(_hold, load.name, load.pickled, os.getpid())
        else:
            self._failures = 0
            future = self._executor.submit(_do, load.name, items)
        return future

    def result(self, future: Future[Any]) -> tuple[list[Any], RowError | None]:
        """What came of it, or why nothing did."""
        from concurrent.futures.process import BrokenProcessPool

        try:
            return future.result(), None
        except _NotThereError:  # it had ended in between, without a fault of the row's
            self._given = None
            return [], _lost()
        except BrokenProcessPool:
            self.end()
            if self._failures >= STARTS:
                raise SolverError(
                    f"A process that explains rows died {STARTS} times in a row while it was started, as when memory "
                    "runs out. Use fewer at once (n_jobs, --jobs)."
                ) from None
            return [], _lost()
        except _NoLoadError as error:
            raise _cannot_travel(error) from None
        except Exception as error:  # such as an answer that cannot travel back
            return [], RowError(f"{type(error).__name__} while this row was explained in another process: {error}.")

    def end(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False, kill_workers=True)
        self._executor = self._given = None


_held: dict[bytes, Any] = {}
_idle: list[_Process] = []
_lock = threading.Lock()


def _hold(name: bytes, pickled: bytes, parent: int) -> list[Any]:
    """In a process: keep what it will work with, as long as there is somebody to work for."""
    if os.name == "posix" and not any(thread.name == WATCH for thread in threading.enumerate()):
        threading.Thread(target=_end_with, args=(parent,), name=WATCH, daemon=True).start()
    _held.clear()
    try:
        _held[name] = pickle.loads(pickled)  # noqa: S301  from our own parent
    except Exception as error:
        raise _NoLoadError(f"{type(error).__name__}: {error}") from None
    return []


def _end_with(parent: int) -> None:
    """In a process: end when the parent has; one that was killed tells nobody."""
    while os.getppid() == parent:
        time.sleep(LOOK)
    os._exit(1)


def _do(name: bytes, items: list[Any]) -> list[Any]:
    """In a process: the work on some items."""
    if name not in _held:
        raise _NotThereError
    return list(_held[name](items))


def _hired(count: int) -> list[_Process]:
    with _lock:
        found = [_idle.pop() for _ in range(min(count, len(_idle)))]
    return found + [_Process() for _ in range(count - len(found))]


def _let_go(processes: list[_Process], busy: list[_Process]) -> None:
    """Keep the processes for the next call; those that are still at work are ended."""
    for process in busy:
        process.end()
    with _lock:
        room = max(0, (os.cpu_count() or 1) - len(_idle))
        _idle.extend(processes[:room])
    for process in processes[room:]:
        process.end()


def _cannot_travel(error: Exception) -> ParameterError:
    return ParameterError(
        f"The explainer cannot be sent to other processes ({error}). Use n_jobs=1, or a model that can be pickled."
    )


def _lost() -> RowError:
    return RowError(
        f"The process that explained this row died {TRIES} times, at last alone with it: it was killed, as the system "
        "does when memory runs out, or a library crashed. Explain this row alone to see which; the others are not lost."
    )
