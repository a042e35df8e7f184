"""Clients: a name for the log that is no address, and how many questions each of them has left."""

from __future__ import annotations

import hmac
import ipaddress
import mmap
import os
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from armin.desk.settings import SHARED, DeskSettings

__all__ = ["Clients", "network_of"]

LINE = struct.Struct("<QdddI")
"""Who, questions left, when that was counted, when the day began, questions of that day."""
TOGETHER = 8
SHELVES = 1024
DAY = 86_400.0
TRIES = 5


class Clients:
    """The book of clients, which several workers keep together in a file of the folder that they count in.

    A client is an address, or a network of 64 bits in IPv6. The book has room for 8,192 of them; a new one takes the
    line of whoever has not been heard of for longest among eight.

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
        self._minute = settings.per_minute
        self._day = settings.per_day
        self._secret = secret
        self._clock = clock
        self._file: int | None = None
        size = LINE.size * TOGETHER * SHELVES
        if SHARED in os.environ and os.name == "posix":
            self._file = os.open(Path(os.environ[SHARED]) / "clients", os.O_RDWR | os.O_CREAT, 0o600)
            os.ftruncate(self._file, size)
            self._book = mmap.mmap(self._file, size)
        else:
            self._book = mmap.mmap(-1, size)

    def name(self, address: str) -> str:
        """A client for the log: the same as long as the desk runs, and no way back to the address."""
        return self._mark(address).hex()[:8]

    def wait(self, address: str) -> float:
        """Count a question; 0 if it may be asked, else the seconds until the next one may be, and it is not counted."""
        if not self._minute and not self._day:
            return 0.0
        who = int.from_bytes(self._mark(address)[:8], "little") or 1
        with self._locked():
            return self._count(who)

    def _count(self, who: int) -> float:
        now = self._clock()
        at = LINE.size * TOGETHER * (who % SHELVES)
        places = range(at, at + LINE.size * TOGETHER, LINE.size)
        lines = {place: LINE.unpack_from(self._book, place) for place in places}
        mine = [place for place, line in lines.items() if line[0] == who]
        if mine:
            place = mine[0]
            _, left, then, day, today = lines[place]
        else:  # an empty line was never heard of
            place = min(lines, key=lambda one: (lines[one][0] != 0, lines[one][2]))
            left, then, day, today = float(self._minute), now, now, 0
        left = min(float(self._minute), left + (now - then) * self._minute / 60)
        if now - day >= DAY:
            day, today = now, 0
        wait = 0.0
        if self._minute and left < 1:
            wait = (1 - left) * 60 / self._minute
        if self._day and today >= self._day:
            wait = max(wait, day + DAY - now)
        if not wait:
            left, today = left - 1, today + 1
        LINE.pack_into(self._book, place, who, left, now, day, today)
        return wait

    def _mark(self, address: str) -> bytes:
        return hmac.digest(self._secret, network_of(address).encode("utf-8", "surrogateescape"), "sha256")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Alone with the book; a worker that was stopped while it held the lock is not waited for."""
        if self._file is None:
            yield
            return
        import fcntl

        held = False
        for i in range(TRIES):
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                held = True
                break
            except OSError:
                if i < TRIES - 1:
                    time.sleep(0.001)
        try:
            yield
        finally:
            if held:
                fcntl.flock(self._file, fcntl.LOCK_UN)


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
