"""Who may hold a connection: a head that comes slowly is not waited for, and whoever waits for nothing makes room."""

from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from armin_desk.clients import network_of
from armin_desk.metrics import Metrics
from armin_desk.settings import DeskSettings

__all__ = ["Listener", "connection_type"]

WAITING = 2048
"""Connections that may wait until a worker takes them."""
COURTESY = 0.0002, 0.005
"""Seconds for which a worker leaves a new connection to others: for each that it holds, and at most."""
FULL = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n"


class Listener(socket.socket):
    """A listener that workers share: whoever holds fewer connections takes the next one sooner.

    Without that, whoever is awake takes all that wait.

    Attributes
    ----------
    held : how many connections its worker holds
    """

    held: Callable[[], int]

    @classmethod
    def of(cls, listener: socket.socket, held: Callable[[], int]) -> Listener:
        """The same listener; the one given is detached."""
        # asyncio sends small answers at once (TCP_NODELAY) only where it sees that the protocol is TCP
        made = cls(listener.family, listener.type, socket.IPPROTO_TCP, fileno=listener.detach())
        made.held = held
        return made

    def listen(self, backlog: int = WAITING) -> None:
        """Asyncio means two things by one number: how many may wait, and how many are taken without a pause."""
        super().listen(WAITING)

    def accept(self) -> tuple[socket.socket, Any]:
        """As of any listener; BlockingIOError where another worker was sooner."""
        each, most = COURTESY
        time.sleep(min(each * self.held(), most))
        return super().accept()


class Connection(H11Protocol):  # type: ignore[misc]  # uvicorn may be absent where types are checked
    """One connection, which knows whether a request is under way and how long the head of the next one may take.

    One that is one too many takes the place of one without a request under way: of one that never sent a request before
    one that did, of one whose peer has more of them before others, of the oldest. If all are at work, it is refused.

    Whoever sends the next request before the answer to the last one gets no other: a hundred thousand requests fit into
    some connections, and keep a worker busy for minutes. Whoever does not take an answer is not waited for either.
    """

    settings: DeskSettings
    metrics: Metrics
    since: float = 0.0
    used = False
    _late: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    @property
    def idle(self) -> bool:
        """Whether no request is under way."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: Any) -> None:
        """Somebody calls."""
        super().connection_made(transport)
        self.since = time.monotonic()
        self.peer = network_of(self.client[0] if self.client else "")
        self._late = self.loop.call_later(self.settings.header_time, self.end, "late")
        if len(self.connections) > self.settings.connections:
            self._make_room()

    def _make_room(self) -> None:
        there = [one for one in self.connections if not one.transport.is_closing()]
        idle = [one for one in there if one.idle and one is not self]
        if len(there) <= self.settings.connections:
            return
        if idle:
            peers = Counter(one.peer for one in there)
            min(idle, key=lambda one: (one.used, -peers[one.peer], one.since)).end("crowded")
        else:
            self.transport.write(FULL)
            self.end("refused")

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended, by whomever."""
        self._head_came()
        self._taken()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes have come: from the first one of a head on, the rest of it has so long."""
        if self.transport.is_closing():
            return
        if self.idle and self._late is None:
            self._late = self.loop.call_later(self.settings.header_time, self.end, "late")
        super().data_received(data)
        if not self.idle:
            self._head_came()

    def on_response_complete(self) -> None:
        """A request is done; the connection may be used again."""
        self.used, self.since = True, time.monotonic()
        if self.conn.their_state is h11.DONE and self.conn.trailing_data[0]:
            self.end("ahead")
        super().on_response_complete()

    def pause_writing(self) -> None:
        """More of an answer waits here than a peer should leave."""
        super().pause_writing()
        self._unread = self.loop.call_later(self.settings.patience, self._give_up)

    def resume_writing(self) -> None:
        """The peer takes its answer."""
        super().resume_writing()
        self._taken()

    def end(self, why: str) -> None:
        """Close the connection."""
        self.metrics.closed.labels(why).inc()
        self._head_came()
        self.transport.close()
        # what was said last is still sent, to whoever takes it
        self.loop.call_later(self.settings.patience, self.transport.abort)

    def _give_up(self) -> None:
        self.metrics.closed.labels("unread").inc()
        self.transport.abort()

    def _head_came(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _taken(self) -> None:
        if self._unread is not None:
            self._unread.cancel()


def connection_type(settings: DeskSettings, metrics: Metrics) -> type[Connection]:
    """The kind of connection within these limits, for uvicorn."""
    return type("DeskConnection", (Connection,), {"settings": settings, "metrics": metrics})
