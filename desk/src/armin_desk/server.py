"""One worker's server: it gives signs of life, and stops in such a way that nobody's answer is lost."""

from __future__ import annotations

import asyncio
import math
import select
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import uvicorn
from fastapi import FastAPI

from armin_desk.connections import WAITING, Listener, connection_type
from armin_desk.settings import DeskSettings

__all__ = ["Server"]

BEAT = 1.0
"""Seconds between signs of life."""
LINGER = 0.5
"""Seconds in which a connection may still bring a request that was sent before its peer could know of the end."""
STEPS = 6
"""Turns of the event loop in which asyncio makes a protocol of a connection, for which its server must be open."""


class Server(uvicorn.Server):  # type: ignore[misc]  # uvicorn may be absent where types are checked
    """Serves an application of :func:`armin_desk.app.create_app` within its limits, and stops in three steps.

    A signal to stop is first noticed by ``/readyz``, for ``notice`` seconds, and by whoever is answered: each answer is
    then the last one on its connection, and says so. Then no connection is accepted any more; those that are open may
    bring one more request within ``LINGER`` seconds, and requests under way have ``drain`` seconds. Then searches
    return their best so far, and whoever still waits for a turn is sent away with 503. A server that too many searches
    are stuck in stops by itself.

    Parameters
    ----------
    app : the application
    settings : the limits, those that it was made with
    beat : called each second from the event loop itself: where it hangs, nobody is answered
    """

    def __init__(self, app: FastAPI, settings: DeskSettings, beat: Callable[[], None] | None = None) -> None:
        config = uvicorn.Config(
            app, http=connection_type(settings, app.state.metrics), access_log=False, log_level="critical",
            ws="none", server_header=False, proxy_headers=bool(settings.proxies),
            forwarded_allow_ips=list(settings.proxies), backlog=1,
            timeout_graceful_shutdown=math.ceil(settings.drain + settings.grace), timeout_keep_alive=10,
        )  # fmt: skip
        super().__init__(config)
        self._searches = app.state.searches
        self._settings = settings
        self._beat = beat

    def serve_at(self, listener: socket.socket) -> None:
        """Serve until told to stop."""
        self.run(sockets=[Listener.of(listener, lambda: len(self.server_state.connections))])

    async def startup(self, sockets: Any = None) -> None:
        """Begin."""
        await super().startup(sockets=sockets)
        self._beating = asyncio.ensure_future(self._give_signs())

    async def on_tick(self, counter: int) -> bool:
        """Whether to stop."""
        return bool(await super().on_tick(counter) or self._searches.worn_out)

    async def main_loop(self) -> None:
        """Serve until told to stop."""
        await super().main_loop()
        self._searches.leave()
        end = time.monotonic() + self._settings.notice
        while time.monotonic() < end and not self.force_exit:  # a second Ctrl+C
            await asyncio.sleep(0.1)

    async def shutdown(self, sockets: Any = None) -> None:
        """Stop."""
        for listener in sockets or ():
            await _let_in(listener)
        for server in self.servers:
            server.close()
        self._searches.drain()
        end = time.monotonic() + LINGER
        while self.server_state.connections and time.monotonic() < end and not self.force_exit:
            await asyncio.sleep(0.02)
        await super().shutdown(sockets=sockets)

    async def _give_signs(self) -> None:
        with suppress(OSError):  # the supervisor has gone, which another thread notices
            while self._beat is not None:
                self._beat()
                await asyncio.sleep(BEAT)


async def _let_in(listener: Listener) -> None:
    """Take everybody who has called by now: closing a listener would turn away whoever waits at it."""
    listener.held = lambda: 0
    quiet = 0
    for _ in range(WAITING):
        quiet = 0 if select.select([listener], [], [], 0)[0] else quiet + 1
        if quiet == STEPS:
            break
        await asyncio.sleep(0)
