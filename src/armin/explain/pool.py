"""Many rows over processes of which any may die: what a dead one held is tried again, and nothing else is lost."""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from itertools import islice
from typing import Any, TypeVar

from armin.errors import ParameterError, RowError, SolverError

__all__ = ["share_out", "wants_processes"]

Item = TypeVar("Item")
Result = TypeVar("Result")
Work = Callable[[Sequence[Item]], Sequence[Result]]
Block = Sequence[tuple[int, Any]]

TRIES = 3
"""How often a row may lose its process while nothing else runs, before it is given up."""
STARTS = 10
"""How often in a row processes may die without an answer to any row."""
IDLE = 60
"""Seconds after which processes that have nothing to do end."""
LOOK, WATCH = 1.0, "armin-parent"
"""Seconds between looks at whether the parent lives, and the thread that looks."""
QUIET = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Processes share the cores, so each computes in one thread."""


def wants_processes(n_jobs: int | None) -> bool:
    """Whether joblib would share work out over processes of this machine, as it does unless another backend is set."""
    from joblib import effective_n_jobs
    from joblib.parallel import get_active_backend

    backend = get_active_backend()[0]
    return type(backend).__name__ == "LokyBackend" and bool(effective_n_jobs(n_jobs) > 1)


def share_out(work: Work[Item, Result], blocks: Iterable[Block], jobs: int) -> Iterator[tuple[int, Result | RowError]]:
    """Do the work on every item, in processes; yields the number and the result of each, as they come.

    Parameters
    ----------
    work : from some items to as many results; sent to each process once
    blocks : the items with their numbers, in portions
    jobs : how many processes

    Yields
    ------
    tuple
        The number of an item, and its result; an error if it lost its process again and again.
    """
    pool, suspects, deaths = _Pool(work, jobs), deque[Block](), Counter[int]()
    remaining, again, tried = iter(blocks), deque[Block](), set[int]()

    def unsent() -> Iterator[Block]:
        while again:
            yield again.popleft()
        yield from remaining

    try:
        while True:
            suspect = suspects.popleft() if suspects else None
            held = yield from pool.run(unsent() if suspect is None else [suspect])
            if suspect is None and not held:
                return
            for block in held:
                # any of those at work may have been to blame: once more with others, then one row at a time
                if suspect is None and block[0][0] not in tried:
                    tried.add(block[0][0])
                    again.append(block)
                    continue
                for number, item in block:
                    deaths[number] += suspect is not None
                    if deaths[number] < TRIES:
                        suspects.append([(number, item)])
                    else:
                        yield number, _lost()
    finally:
        pool.close()


class _Pool:
    """Processes of joblib's kind, but not those that joblib itself reuses; new ones replace them when one has died."""

    def __init__(self, work: Work[Any, Any], jobs: int) -> None:
        from joblib.externals.loky.backend.reduction import dumps

        self.jobs = jobs
        self.failures = 0
        self.executor: Any = None
        try:
            self.pickled = bytes(dumps(work))
        except Exception as error:  # whatever a user's object does
            raise _cannot_travel(error) from None

    def run(self, blocks: Iterable[Block]) -> Generator[tuple[int, Any], None, list[Block]]:
        """Yield results; return the blocks that were at work when a process died."""
        from concurrent.futures.process import BrokenProcessPool

        from joblib.externals.loky import ProcessPoolExecutor

        if self.executor is None:
            self.executor = ProcessPoolExecutor(
                self.jobs, timeout=IDLE, env=QUIET, initializer=_hold, initargs=(self.pickled, os.getpid())
            )
        waiting = iter(blocks)
        running: dict[Any, Block] = {}
        try:
            while True:
                for block in islice(waiting, 2 * self.jobs - len(running)):
                    running[self.executor.submit(_do, [item for _, item in block])] = block
                if not running:
                    return []
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    results = _result(future, len(running[future]))
                    block = running.pop(future)
                    self.failures = 0
                    yield from zip((number for number, _ in block), results, strict=True)
        except BrokenProcessPool:
            self.close()
            self.failures += 1
            if self.failures >= STARTS:
                raise SolverError(
                    f"Processes that explain rows died {STARTS} times in a row without an answer, as when memory runs "
                    "out. Use fewer at once (n_jobs, --jobs)."
                ) from None
            return list(running.values())

    def close(self) -> None:
        """End the processes, whatever they are at."""
        if self.executor is not None:
            self.executor.shutdown(wait=True, kill_workers=True)
        self.executor = None


def _result(future: Any, count: int) -> Sequence[Any]:
    from concurrent.futures.process import BrokenProcessPool

    try:
        found: Sequence[Any] = future.result()
    except BrokenProcessPool:
        raise
    except _NoWorkError as error:
        raise _cannot_travel(error) from None
    except Exception as error:  # such as an answer that cannot travel back
        return [RowError(f"{type(error).__name__} while this row was explained in another process: {error}.")] * count
    return found


class _NoWorkError(Exception):
    """A process could not open what it was sent."""


_held: list[Any] = []


def _hold(pickled: bytes, parent: int) -> None:
    """In a process: keep what it will work with, as long as there is somebody to work for."""
    if os.name == "posix" and not any(thread.name == WATCH for thread in threading.enumerate()):
        threading.Thread(target=_end_with, args=(parent,), name=WATCH, daemon=True).start()
    try:
        _held[:] = [pickle.loads(pickled)]  # noqa: S301  from our own parent
    except Exception as error:
        _held[:] = [_NoWorkError(f"{type(error).__name__}: {error}")]


def _end_with(parent: int) -> None:
    """In a process: end when the parent has; one that was killed notifies nobody."""
    while os.getppid() == parent:
        time.sleep(LOOK)
    os._exit(1)


def _do(items: list[Any]) -> list[Any]:
    """In a process: the work on some items."""
    (work,) = _held
    if isinstance(work, _NoWorkError):
        raise work
    return list(work(items))


def _cannot_travel(error: Exception) -> ParameterError:
    return ParameterError(
        f"The explainer cannot be sent to other processes ({error}). Use n_jobs=1, or a model that can be pickled."
    )


def _lost() -> RowError:
    return RowError(
        f"The process that explained this row died {TRIES} times, alone with it: it was killed, as the system "
        "does when memory runs out, or a library crashed. Explain this row alone to see which; the others are not lost."
    )
