"""Who may hold a connection: a head that comes slowly is not waited for, and whoever waits for nothing makes room."""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from armin.desk.clients import network_of
from armin.desk.metrics import Metrics
from armin.desk.settings import DeskSettings

__all__ = ["Door", "protocol_of"]

FULL = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n"


class Door:
    """The connections of one worker, within their limits.

    A connection that is one too many takes the place of one without a request under way: of one that never sent a
    request before one that did, of one whose peer has more of them before others, of the oldest. If every connection
    is at work, the new one is refused.

    Parameters
    ----------
    settings : the limits
    metrics : where closed connections are counted
    held : told how many connections there are, whenever that changes
    """

    def __init__(self, settings: DeskSettings, metrics: Metrics, held: Callable[[int], None] | None = None) -> None:
        self.settings = settings
        self.held = held
        self.metrics = metrics
        self._inside: dict[Connection, str] = {}
        self._counts: dict[str, int] = {}
        self._proxies = [ipaddress.ip_network(proxy, strict=False) for proxy in settings.proxies]

    def enter(self, connection: Connection) -> bool:
        """Let a connection in, if need be in place of another; whether there was room."""
        address = "" if connection.client is None else connection.client[0]
        peer = network_of(address)
        limits = self.settings
        if self._counts.get(peer, 0) >= limits.peer_connections and not self._is_proxy(address):
            room = self._make_room(peer)
        else:
            room = len(self._inside) < limits.connections or self._make_room(None)
        if room:
            self._inside[connection] = peer
            self._counts[peer] = self._counts.get(peer, 0) + 1
            self._tell()
        else:
            self.metrics.closed.labels("refused").inc()
        return room

    def leave(self, connection: Connection) -> None:
        """A connection has ended."""
        peer = self._inside.pop(connection, None)
        if peer is not None:
            self._counts[peer] -= 1
            if not self._counts[peer]:
                del self._counts[peer]
            self._tell()

    def _tell(self) -> None:
        if self.held is not None:
            self.held(len(self._inside))

    def _make_room(self, peer: str | None) -> bool:
        """Close a connection that waits for nothing, of this peer or of any."""
        idle = [one for one, of in self._inside.items() if (peer is None or of == peer) and one.idle]
        if not idle:
            return False
        last = min(idle, key=lambda one: (one.used, -self._counts[self._inside[one]], one.since))
        self.leave(last)
        last.end("crowded")
        return True

    def _is_proxy(self, client: str) -> bool:
        if not self._proxies:
            return False
        try:
            address = ipaddress.ip_address(client)
        except ValueError:
            return False
        return any(address in network for network in self._proxies)


class Connection(H11Protocol):  # type: ignore[misc]  # uvicorn may be absent where types are checked
    """One connection, which knows whether a request is under way and how long the head of the next one may take.

    Whoever sends the next request before the answer to the last one gets no other: a hundred thousand requests fit into
    some connections, and keep a worker busy for minutes. Whoever does not take an answer is not waited for either.
    """

    door: Door
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
        if self.door.enter(self):
            self._wait_for_head()
        else:
            transport.write(FULL)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended, by whomever."""
        self._head_came()
        self._taken()
        self.door.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes have come: from the first one of a head on, the rest of it has so long."""
        if self.transport.is_closing():
            return
        if self.idle and self._late is None:
            self._wait_for_head()
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
        self._taken()
        self._unread = self.loop.call_later(self.door.settings.patience, self._give_up)

    def resume_writing(self) -> None:
        """The peer takes its answer."""
        super().resume_writing()
        self._taken()

    def end(self, why: str) -> None:
        """Close the connection."""
        self.door.metrics.closed.labels(why).inc()
        self._head_came()
        self.transport.close()
        # what was said last is still sent, to whoever takes it
        self.loop.call_later(self.door.settings.patience, self.transport.abort)

    def _give_up(self) -> None:
        self.door.metrics.closed.labels("unread").inc()
        self.transport.abort()

    def _taken(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _wait_for_head(self) -> None:
        self._late = self.loop.call_later(self.door.settings.header_time, self.end, "late")

    def _head_came(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


def protocol_of(door: Door) -> type[Connection]:
    """The kind of connection that goes through this door, for uvicorn."""

    class Guarded(Connection):
        pass

    Guarded.door = door
    return Guarded
