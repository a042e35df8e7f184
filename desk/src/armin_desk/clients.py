"""Clients: a name for the log that is no address, and how many questions each of them has left."""

from __future__ import annotations

import hmac
import ipaddress
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from armin_desk.settings import SHARED, DeskSettings

__all__ = ["Clients", "network_of"]

DAY = 86_400.0
TABLE = """
CREATE TABLE IF NOT EXISTS clients (who BLOB PRIMARY KEY, remaining REAL, seen REAL, day REAL, today INTEGER);
CREATE INDEX IF NOT EXISTS by_time ON clients (seen);
"""


class Clients:
    """The book of clients, which workers keep together in the folder that they count in.

    A client is an address, or a network of 64 bits in IPv6; one that has asked nothing for a day is forgotten.

    Parameters
    ----------
    settings : the limits
    secret : makes a client's name out of the address; without it nobody can go back
    clock : seconds from some moment on, the same in all workers

    Examples
    --------
    >>> clients = Clients(DeskSettings(per_minute=2), b"a secret", clock=lambda: 100.0)
    >>> [clients.wait("192.0.2.7") for _ in range(3)]
    [0.0, 0.0, 30.0]
    >>> clients.wait("192.0.2.8"), len(clients.name("192.0.2.7"))
    (0.0, 8)
    """

    def __init__(self, settings: DeskSettings, secret: bytes, clock: Callable[[], float] = time.monotonic) -> None:
        self._minute, self._day = settings.per_minute, settings.per_day
        self._secret, self._clock = secret, clock
        self._book: sqlite3.Connection | None = None
        if self._minute or self._day:
            file = Path(os.environ[SHARED]) / "clients" if SHARED in os.environ else ":memory:"
            self._book = sqlite3.connect(file, timeout=10.0, isolation_level=None, check_same_thread=False)
            # the book ends with the desk: it has to outlive a killed worker, not a loss of power
            self._book.execute("PRAGMA journal_mode = WAL")
            self._book.execute("PRAGMA synchronous = OFF")
            self._book.executescript(TABLE)
            self._book.execute("PRAGMA busy_timeout = 5")  # milliseconds: whoever was stopped with the lock keeps it

    def name(self, address: str) -> str:
        """A client for the log: the same as long as the desk runs, and no way back to the address."""
        return self._mark(address).hex()[:8]

    def wait(self, address: str) -> float:
        """Count a question; 0 if it may be asked, else the seconds until the next one may be, and it is not counted."""
        if self._book is None:
            return 0.0
        try:
            self._book.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return 0.0
        try:
            return self._count(self._book, self._mark(address))
        finally:
            self._book.execute("COMMIT")

    def _count(self, book: sqlite3.Connection, who: bytes) -> float:
        now, most = self._clock(), float(self._minute)
        found = book.execute("SELECT remaining, seen, day, today FROM clients WHERE who = ?", (who,)).fetchone()
        remaining, seen, day, today = found or (most, now, now, 0)
        remaining = min(most, remaining + (now - seen) * most / 60)
        if now - day >= DAY:
            day, today = now, 0
        wait = 0.0
        if self._minute and remaining < 1:
            wait = (1 - remaining) * 60 / most
        if self._day and today >= self._day:
            wait = max(wait, day + DAY - now)
        if not wait:
            remaining, today = remaining - 1, today + 1
        book.execute("INSERT OR REPLACE INTO clients VALUES (?, ?, ?, ?, ?)", (who, remaining, now, day, today))
        book.execute("DELETE FROM clients WHERE seen <= ?", (now - DAY,))
        return wait

    def _mark(self, address: str) -> bytes:
        return hmac.digest(self._secret, network_of(address).encode("utf-8", "surrogateescape"), "sha256")


def network_of(address: str) -> str:
    """What counts as one client: an IPv6 customer has a whole network.

    >>> network_of("192.0.2.7"), network_of("2001:db8::7"), network_of("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7')
    """
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(known, ipaddress.IPv6Address):
        if known.ipv4_mapped is not None:
            return str(known.ipv4_mapped)
        return str(ipaddress.ip_network((known, 64), strict=False))
    return str(known)
