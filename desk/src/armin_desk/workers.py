"""Worker processes: each gives signs of life, and one that ends or falls silent is replaced.

The supervisor loads nothing itself. A worker loads the bundle and then sends a sign of life each second from its event
loop, so that one which no longer answers anybody is found as well as one that was stopped.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from prometheus_client.multiprocess import mark_process_dead

from armin.errors import ArminError, BundleChangedError
from armin_desk.settings import DeskSettings

__all__ = ["Work", "end_with_parent", "reason_of", "supervise"]

Work = Callable[[socket.socket, Connection], None]
"""What a worker does, with the listener and a pipe: it sends None each second, or the error that keeps it from work."""

PROCESS_START = 60.0
"""Seconds that a process may take to begin, before it loads the bundle."""
LONGEST_PAUSE = 30.0
"""Seconds, at most, between attempts to start a worker that ends before it is ready."""
log = logging.getLogger("armin_desk")
_SPAWN = multiprocessing.get_context("spawn")  # a fork would inherit threads of libraries in whatever state they are


@dataclass(eq=False)
class _Worker:
    process: Any
    pipe: Connection
    heard: float = field(default_factory=time.monotonic)
    ready: bool = False


def supervise(
    work: Work,
    listener: socket.socket,
    count: int,
    settings: DeskSettings,
    folder: str,
    ready: Callable[[], None] | None = None,
) -> None:
    """Keep so many workers at work until SIGTERM or SIGINT.

    Parameters
    ----------
    work : must travel to a new process
    listener : the socket that they share
    count : how many
    settings : the limits
    folder : where their metrics are
    ready : called when the first worker is ready

    Raises
    ------
    ArminError
        What keeps a worker from work, if none has been ready yet; later it is logged, and the others go on.
    """
    workers: list[_Worker] = []
    stop = threading.Event()
    begun, failures, not_before = False, 0, 0.0

    def look(seconds: float) -> None:
        nonlocal begun, failures, not_before
        wait([worker.process.sentinel for worker in workers], seconds)
        now = time.monotonic()
        for worker in tuple(workers):
            for error in _heard(worker.pipe):
                if error is not None and not begun:
                    raise error
                if error is not None:
                    log.error("a new worker cannot begin: %s", reason_of(error))
                    continue
                if ready is not None and not begun:
                    ready()
                worker.heard, worker.ready, begun, failures = now, True, True, 0
            if worker.process.is_alive():
                if now - worker.heard > settings.silence + (0 if worker.ready else PROCESS_START + settings.starting):
                    log.error("worker %d gives no sign of life and is ended", worker.process.pid)
                    worker.process.kill()
                continue
            workers.remove(worker)
            worker.pipe.close()
            mark_process_dead(worker.process.pid, folder)  # type: ignore[no-untyped-call]
            if not stop.is_set():
                log.error("worker %d has ended (exit code %s)", worker.process.pid, worker.process.exitcode)
                failures += not worker.ready
                not_before = now + (0 if worker.ready else min(LONGEST_PAUSE, 0.5 * 2**failures))

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGBREAK") if hasattr(signal, name)]
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in numbers}
    try:
        while not stop.is_set():
            if time.monotonic() >= not_before:
                workers += [_start(work, listener) for _ in range(count - len(workers))]
            look(0.5)
        listener.close()
        for worker in workers:
            worker.process.terminate()
        end = time.monotonic() + settings.stopping + settings.silence
        while workers and time.monotonic() < end:
            look(0.1)
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.join()
            worker.pipe.close()
        for number, handler in before.items():
            signal.signal(number, handler)


def reason_of(error: ArminError) -> str:
    """What is logged of an error: its type, since its text may quote the bundle's people."""
    return str(error) if isinstance(error, BundleChangedError) else type(error).__name__


def _start(work: Work, listener: socket.socket) -> _Worker:
    ours, theirs = _SPAWN.Pipe()
    process = _SPAWN.Process(target=work, args=(listener, theirs))
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _heard(pipe: Connection) -> list[ArminError | None]:
    found = []
    try:
        while pipe.poll():
            found.append(pipe.recv())
    except (EOFError, OSError):  # it has ended
        pass
    return found


def end_with_parent(seconds: float) -> None:
    """In a worker, from its first moment on: stop when the supervisor is gone, by force after so many seconds."""

    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)  # ends a worker that still loads, and makes one that serves stop
            time.sleep(seconds)
            os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))

    threading.Thread(target=watch, daemon=True).start()
