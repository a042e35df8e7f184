"""One worker's server: it gives signs of life, and stops in such a way that nobody's answer is lost."""

from __future__ import annotations

import asyncio
import math
import select
import socket
import time
from collections.abc import Callable
from typing import Any

import uvicorn
from fastapi import FastAPI

from armin.desk.connections import Door, protocol_of
from armin.desk.searches import Searches
from armin.desk.settings import DeskSettings
from armin.desk.turns import Taker

__all__ = ["Server", "make_server"]

BEAT = 1.0
"""Seconds between signs of life."""
WAITING = 2048
"""Connections that may wait until a worker takes them. A worker takes one at a time (uvicorn's ``backlog`` says both),
or the first to wake up would take all that wait."""
LINGER = 0.5
"""Seconds in which a connection may still bring a request that was sent before its peer could know of the end."""


class Server(uvicorn.Server):  # type: ignore[misc]  # uvicorn may be absent where types are checked
    """A server that tells its supervisor that it lives, and that stops in three steps.

    A signal to stop is first noticed by ``/readyz``, for ``notice`` seconds, and by whoever is answered: each answer is
    then the last one on its connection, and says so. Then no connection is accepted any more; those that are open may
    bring one more request within ``LINGER`` seconds, and requests under way have ``drain`` seconds. Then searches
    return their best so far, and whoever still waits for a turn is sent away with 503.

    Attributes
    ----------
    ready : called once when it answers
    beat : called each second with the number of requests answered; an OSError means that nobody listens any more
    """

    ready: Callable[[], None] | None = None
    beat: Callable[[int], None] | None = None

    def __init__(self, config: Any, searches: Searches, settings: DeskSettings) -> None:
        super().__init__(config)
        self._searches = searches
        self._settings = settings
        self._beating: asyncio.Future[None] | None = None

    async def startup(self, sockets: Any = None) -> None:
        """Begin."""
        await super().startup(sockets=sockets)
        for one in sockets or ():
            one.listen(WAITING)
        if self.started and self.ready is not None:
            self.ready()
        if self.started and self.beat is not None:
            self._beating = asyncio.ensure_future(self._beat(self.beat))

    async def main_loop(self) -> None:
        """Serve until told to stop."""
        await super().main_loop()
        self._searches.leave()
        end = time.monotonic() + self._settings.notice
        while time.monotonic() < end and not self.force_exit:  # a second Ctrl+C
            await asyncio.sleep(0.1)

    async def shutdown(self, sockets: Any = None) -> None:
        """Stop."""
        for one in sockets or ():
            await _let_in(one)
        for server in self.servers:
            server.close()
        for one in sockets or ():
            one.close()
        self._searches.drain()
        end = time.monotonic() + LINGER
        while self.server_state.connections and time.monotonic() < end and not self.force_exit:
            await asyncio.sleep(0.02)
        await super().shutdown(sockets=sockets)

    async def _beat(self, beat: Callable[[int], None]) -> None:
        """From the event loop itself: where it hangs, nobody is answered."""
        while True:
            try:
                beat(self.server_state.total_requests)
            except OSError:
                self.should_exit = True  # the supervisor is gone
                return
            await asyncio.sleep(BEAT)


async def _let_in(listener: socket.socket) -> None:
    """Take everybody who has called by now: closing a listener would turn away whoever waits at it."""
    if isinstance(listener, Taker):
        listener.alone = True
    for _ in range(WAITING):
        if not select.select([listener], [], [], 0)[0]:
            break
        await asyncio.sleep(0)
    for _ in range(5):  # asyncio takes some steps from a connection to a protocol, and needs its server for them
        await asyncio.sleep(0)


def make_server(app: FastAPI, settings: DeskSettings, held: Callable[[int], None] | None = None) -> Server:
    """Who serves an application of :func:`armin.desk.app.create_app`, within the limits.

    Parameters
    ----------
    app : the application
    settings : the limits, those that it was made with
    held : told how many connections there are, whenever that changes
    """
    config = uvicorn.Config(
        app, http=protocol_of(Door(settings, app.state.metrics, held)), access_log=False, log_level="critical",
        ws="none", server_header=False, proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=list(settings.proxies), backlog=1,
        timeout_graceful_shutdown=math.ceil(settings.drain + settings.grace), timeout_keep_alive=10,
    )  # fmt: skip
    return Server(config, app.state.searches, settings)
