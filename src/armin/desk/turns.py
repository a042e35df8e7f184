"""Whose turn it is to take a connection: workers share one listener, and whoever is awake would take all that wait."""

from __future__ import annotations

import socket
import time
from collections.abc import MutableSequence
from dataclasses import dataclass
from typing import Any

__all__ = ["NOBODY", "Taker", "Turns"]

NOBODY = -1
"""The count of a place without a worker, or with one that does not take connections yet."""
COURTESY = 0.005
"""Seconds for which a connection is left to others that hold fewer; one of them may have been stopped."""
NAP = 0.0002


@dataclass
class Turns:
    """The connections that each worker holds, which all of them see.

    Attributes
    ----------
    counts : for each place, how many; shared between processes
    place : the place of this worker
    over : whether this worker takes no more

    Examples
    --------
    >>> counts = [3, 2, NOBODY]
    >>> Turns(counts, 0).mine, Turns(counts, 1).mine
    (False, True)
    """

    counts: MutableSequence[int]
    place: int
    over: bool = False

    @property
    def mine(self) -> bool:
        """Whether nobody holds fewer."""
        own = self.counts[self.place]
        return all(other == NOBODY or other >= own for other in self.counts)

    def hold(self, connections: int) -> None:
        """Say how many this worker holds."""
        self.counts[self.place] = NOBODY if self.over else connections

    def leave(self) -> None:
        """Take no more: whatever this worker holds, others need not wait for it."""
        self.over = True
        self.hold(0)


class Taker(socket.socket):
    """A listener that takes a connection when it is its worker's turn, or when nobody else has taken it for a while.

    Attributes
    ----------
    turns : whose turn it is
    alone : whether it takes every connection, as a worker does that is about to stop
    """

    turns: Turns
    alone = False
    _left_since: float | None = None

    @classmethod
    def of(cls, listener: socket.socket, turns: Turns) -> Taker:
        """The same listener; the one given is closed without closing it."""
        taker = cls(listener.family, listener.type, listener.proto, fileno=listener.detach())
        taker.turns = turns
        return taker

    def accept(self) -> tuple[socket.socket, Any]:
        """As of any listener that does not wait: BlockingIOError where nobody waits, or another's turn has come."""
        now = time.monotonic()
        if not self.alone and not self.turns.mine:
            if self._left_since is None:
                self._left_since = now
            if now - self._left_since < COURTESY:
                time.sleep(NAP)
                raise BlockingIOError
        self._left_since = None
        return super().accept()

    def close(self) -> None:
        """Take no more connections."""
        self.turns.leave()
        super().close()
