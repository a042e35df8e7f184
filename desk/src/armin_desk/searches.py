"""Searches on threads: so many at once, so many waiting, each with a deadline, each stopped when its caller leaves.

Threads, not processes: the compiled search runs without the interpreter's lock, so the server stays awake, and a flag
stops it at once. More throughput comes from more workers. A thread cannot be ended from outside: one that heeds neither
flag nor time is left behind, its turn goes to whoever is next, and a worker with too many of them must be replaced.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any, TypeVar

from armin.explain.threads import one_thread
from armin.solve import stop_when
from armin_desk.metrics import Metrics
from armin_desk.problems import ProblemError
from armin_desk.settings import DeskSettings

__all__ = ["Searches"]

Q = TypeVar("Q")
T = TypeVar("T")
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
RETRY = {"Retry-After": "5"}
log = logging.getLogger("armin_desk")


class Searches:
    """The desk's workforce. All bookkeeping happens in the event loop; only the work itself runs on threads.

    Parameters
    ----------
    settings : the limits
    metrics : where to note what is under way

    Examples
    --------
    >>> async def quiet():
    ...     await asyncio.sleep(60)
    >>> asyncio.run(Searches(DeskSettings(), Metrics()).run(abs, -42, quiet))
    42
    """

    def __init__(self, settings: DeskSettings, metrics: Metrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._turns = asyncio.Semaphore(settings.concurrency)
        self._under_way = 0  # at work or waiting
        self._stuck = 0
        self.open()

    def open(self) -> None:
        """Begin, or begin again after :meth:`close`."""
        self._closing = threading.Event()
        self._over = asyncio.Event()
        self._leaving = False

    @property
    def ready(self) -> bool:
        """Whether a further request would be taken."""
        room = self._under_way < self._settings.concurrency + self._settings.queue
        return room and not self._leaving and not self.worn_out

    @property
    def worn_out(self) -> bool:
        """Whether as many searches are stuck as may be at work: this worker should stop, and another one begin."""
        return self._stuck >= self._settings.concurrency

    @property
    def leaving(self) -> bool:
        """Whether the desk is about to stop."""
        return self._leaving

    def leave(self) -> None:
        """From now on :attr:`ready` says no, and each answer ends its connection; requests are still taken."""
        self._leaving = True

    def drain(self) -> None:
        """Requests under way have their time; then searches return their best so far, and nobody waits any longer."""
        self.leave()
        asyncio.get_running_loop().call_later(self._settings.drain, self._end)

    def close(self) -> None:
        """Stop every search that is under way."""
        self._end()

    def _end(self) -> None:
        self._closing.set()
        self._over.set()

    async def run(self, work: Callable[[Q], T], question: Q, receive: Receive) -> T:
        """Do ``work`` on a thread when it is its turn.

        Parameters
        ----------
        work : what to do; searches in it see a flag that stops them
        question : what ``work`` is called with
        receive : the request's channel, whose body has been read: all that can still come is the end

        Raises
        ------
        ProblemError
            503 if the queue is full or does not move, 504 if the work does not end, 499 if the caller left.
        """
        if self._under_way >= self._settings.concurrency + self._settings.queue:
            raise ProblemError(503, "Too many people are asking at once. Try again in a few seconds.", headers=RETRY)
        gone = asyncio.ensure_future(_until_gone(receive))
        try:
            await self._wait_for_turn(gone)
            return await self._do(work, question, gone)
        finally:
            gone.cancel()

    async def _wait_for_turn(self, gone: asyncio.Future[None]) -> None:
        turn, over = asyncio.ensure_future(self._turns.acquire()), asyncio.ensure_future(self._over.wait())
        self._under_way += 1
        self._metrics.waiting.inc()
        mine = False
        try:
            any_of: set[asyncio.Future[Any]] = {turn, gone, over}
            await asyncio.wait(any_of, timeout=self._settings.patience, return_when=asyncio.FIRST_COMPLETED)
            mine = turn.done() and not gone.done()
        finally:
            over.cancel()
            self._under_way -= 1
            self._metrics.waiting.dec()
            if not mine and not turn.cancel():  # it came, but nobody is there to take it
                self._turns.release()
        if gone.done():
            raise _left()
        if not mine and self._over.is_set():
            raise _closing()
        if not mine:
            raise _busy()

    async def _do(self, work: Callable[[Q], T], question: Q, gone: asyncio.Future[None]) -> T:
        loop, flag, closing = asyncio.get_running_loop(), threading.Event(), self._closing
        end = time.monotonic() + self._settings.time_limit
        answer: asyncio.Future[T] = loop.create_future()

        def stop() -> bool:
            return flag.is_set() or closing.is_set() or time.monotonic() > end

        def search() -> None:
            found, failed = None, None
            try:
                with one_thread(), stop_when(stop):
                    found = work(question)
            except BaseException as error:
                failed = error
            with suppress(RuntimeError):  # the desk has closed meanwhile
                loop.call_soon_threadsafe(self._ended, answer, found, failed)

        self._under_way += 1
        self._metrics.running.inc()
        late = loop.call_later(self._settings.time_limit + self._settings.grace, self._give_up, answer)
        answer.add_done_callback(lambda _: late.cancel())
        answer.add_done_callback(self._leave)
        # a daemon, since nobody can wait at the end for a thread that is stuck
        try:
            threading.Thread(target=search, name="armin-search", daemon=True).start()
        except RuntimeError:  # the system has no thread left
            answer.set_exception(_busy())
        try:
            both: set[asyncio.Future[Any]] = {answer, gone}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            flag.set()
        if answer.done():
            return answer.result()
        self._metrics.stopped.inc()
        raise _left()

    def _ended(self, answer: asyncio.Future[T], found: Any, error: BaseException | None) -> None:
        """A thread is free again."""
        if answer.done():  # it was given up
            self._stuck -= 1
            self._metrics.stuck.dec()
        elif error is None:
            answer.set_result(found)
        else:
            answer.set_exception(error)

    def _give_up(self, answer: asyncio.Future[Any]) -> None:
        """A thread does not end, although its time is over and it was told to stop."""
        self._stuck += 1
        self._metrics.stuck.inc()
        end = ", and this worker is replaced" if self.worn_out else ""
        log.error("a search does not end and is left behind (%d of %d)%s", self._stuck, self._settings.concurrency, end)
        text = "The answer took too long and was given up. Give more values, or try again later."
        answer.set_exception(ProblemError(504, text))

    def _leave(self, answer: asyncio.Future[Any]) -> None:
        """A turn is over; an error that nobody waits for is looked at, so that nobody prints it."""
        self._under_way -= 1
        self._metrics.running.dec()
        self._turns.release()
        if not answer.cancelled():
            answer.exception()


def _busy() -> ProblemError:
    return ProblemError(503, "The desk is busy and your turn did not come. Try again later.", headers=RETRY)


def _closing() -> ProblemError:
    return ProblemError(503, "The desk is closing. Try again in a moment.", headers=RETRY)


def _left() -> ProblemError:
    return ProblemError(499, "The caller went away, so the search was stopped.")


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
