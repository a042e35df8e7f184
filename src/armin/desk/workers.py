"""Several workers: each gives signs of life, and one that dies, falls silent or has worked long enough is replaced.

The supervisor loads nothing itself. A worker loads the bundle, says that it is ready, and then beats once a second from
its event loop, so that one which no longer answers anybody is found as well as one that was stopped.
"""

from __future__ import annotations

import logging
import multiprocessing
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from armin.desk.metrics import settle
from armin.desk.settings import DeskSettings
from armin.desk.turns import NOBODY, Turns
from armin.errors import ArminError

__all__ = ["Beat", "Supervisor"]

SLOW_START = 120.0
"""Seconds in which a worker must have loaded."""
LONGEST_PAUSE = 30.0
"""Seconds, at most, between attempts to start a worker that dies before it is ready."""
log = logging.getLogger("armin.desk")
_SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Beat:
    """A worker's sign of life: ready, and how many requests it has answered; or why it could not begin."""

    requests: int = 0
    refused: ArminError | None = None


@dataclass(eq=False)
class _Worker:
    """A worker as its supervisor sees it."""

    process: Any
    pipe: Connection
    began: float
    place: int
    follows: _Worker | None = None  # whom it replaces once it is ready
    heard: float | None = None  # None until it is ready
    requests: int = 0
    stopping: float | None = None  # since when
    closed: bool = False  # the pipe
    old: bool = False

    def stop(self) -> None:
        if self.stopping is None:
            self.stopping = time.monotonic()
            self.process.terminate()


class Supervisor:
    """Keeps so many workers at work until it is told to stop.

    Parameters
    ----------
    work : what a worker does, with the socket, its end of a pipe and its turns; must travel to a new process
    listener : the socket that they share
    count : how many
    settings : the limits
    folder : where they count together
    ready : called when the first worker is ready
    """

    def __init__(
        self,
        work: Callable[[socket.socket, Connection, Turns], None],
        listener: socket.socket,
        count: int,
        settings: DeskSettings,
        folder: str,
        ready: Callable[[], None] | None = None,
    ) -> None:
        self._work = work
        self._listener = listener
        self._count = count
        self._settings = settings
        self._folder = folder
        self._ready = ready
        self._workers: list[_Worker] = []
        # when workers are replaced, there are more than so many for a while
        self._held = _SPAWN.RawArray("i", [NOBODY] * (2 * count + 2))
        self._begun = False
        self._stop = False
        self._renew = False
        self._failures = 0
        self._not_before = 0.0

    def run(self) -> None:
        """Work until SIGTERM or SIGINT; SIGHUP replaces every worker, one after the other, by one that loads anew."""
        names = [name for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK") if hasattr(signal, name)]
        before = {number: signal.signal(number, self._signalled) for number in (getattr(signal, n) for n in names)}
        try:
            while not self._stop:
                self._fill()
                self._look(0.5)
                self._replace_the_old()
            self._listener.close()
            for worker in self._workers:
                worker.stop()
            while self._workers:
                self._look(0.1)
        finally:
            for worker in self._workers:
                worker.process.kill()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _signalled(self, number: int, _: object) -> None:
        if number == getattr(signal, "SIGHUP", None):
            self._renew = True
        else:
            self._stop = True

    def _fill(self) -> None:
        """Start what is missing; one that dies again and again before it is ready is given time."""
        at_work = [worker for worker in self._workers if worker.stopping is None and worker.follows is None]
        if time.monotonic() >= self._not_before:
            for _ in range(self._count - len(at_work)):
                self._start(None)

    def _start(self, follows: _Worker | None) -> None:
        ours, theirs = _SPAWN.Pipe()
        taken = {worker.place for worker in self._workers}
        place = next(i for i in range(len(self._held)) if i not in taken)
        process = _SPAWN.Process(target=self._work, args=(self._listener, theirs, Turns(self._held, place)))
        process.start()
        theirs.close()
        self._workers.append(_Worker(process, ours, time.monotonic(), place, follows))

    def _look(self, seconds: float) -> None:
        """Hear who beats, end who is silent, and take note of who has died."""
        pipes = {worker.pipe: worker for worker in self._workers if not worker.closed}
        ends = [worker.process.sentinel for worker in self._workers]
        for pipe in wait([*pipes, *ends], seconds):
            if isinstance(pipe, Connection):
                self._hear(pipes[pipe])
        for worker in tuple(self._workers):
            if not worker.process.is_alive():
                self._bury(worker)
            elif self._is_silent(worker):
                log.error("worker %d gives no sign of life and is replaced", worker.process.pid)
                worker.process.kill()

    def _hear(self, worker: _Worker) -> None:
        try:
            while worker.pipe.poll():
                beat = worker.pipe.recv()
                if beat.refused is not None:
                    self._refused(worker, beat.refused)
                    return
                if worker.heard is None:
                    self._is_ready(worker)
                worker.heard, worker.requests = time.monotonic(), beat.requests
        except (EOFError, OSError):
            worker.closed = True

    def _refused(self, worker: _Worker, error: ArminError) -> None:
        """What cannot be loaded at the start ends the desk; later, the workers that have it go on."""
        if not self._begun:
            raise error
        log.error("a new worker cannot begin: %s", type(error).__name__)
        worker.closed = True

    def _is_ready(self, worker: _Worker) -> None:
        self._failures = 0
        if self._ready is not None and not self._begun:
            self._ready()
        self._begun = True
        if worker.follows is not None:
            worker.follows.stop()
            worker.follows = None

    def _is_silent(self, worker: _Worker) -> bool:
        now, limits = time.monotonic(), self._settings
        if worker.stopping is not None and now - worker.stopping > limits.stopping + limits.silence:
            return True
        if worker.heard is None:
            return now - worker.began > SLOW_START
        return now - worker.heard > limits.silence

    def _bury(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        self._held[worker.place] = NOBODY
        for other in self._workers:
            if other.follows is worker:
                other.follows = None  # it takes the place at once
        worker.pipe.close()
        worker.process.join()
        settle(worker.process.pid, self._folder)
        if worker.stopping is None:
            log.error("worker %d died (exit code %s)", worker.process.pid, worker.process.exitcode)
        if worker.heard is None and worker.stopping is None:
            self._failures += 1
            self._not_before = time.monotonic() + min(LONGEST_PAUSE, 0.5 * 2**self._failures)

    def _replace_the_old(self) -> None:
        """One at a time: a fresh one is ready before the old one stops taking requests."""
        settled = [w for w in self._workers if w.stopping is None and w.follows is None and w.heard is not None]
        if len(settled) < self._count or len(self._workers) > self._count or time.monotonic() < self._not_before:
            return
        if self._renew:
            self._renew = False
            for worker in settled:
                worker.old = True
        most = self._settings.recycle
        old = [worker for worker in settled if worker.old or (most and worker.requests >= most)]
        if old:
            self._start(max(old, key=lambda worker: worker.requests))
