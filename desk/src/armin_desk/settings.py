"""What a desk may spend and who may ask it."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from armin.errors import ParameterError

__all__ = ["SHARED", "DeskSettings", "is_loopback"]

SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable that names the folder in which several workers count together."""
LEAST = {
    "concurrency": 1, "queue": 0, "max_bytes": 256, "most_plans": 1, "connections": 2,
    "per_minute": 0, "per_day": 0, "grace": 0, "notice": 0, "drain": 0, "silence": 1,
}  # fmt: skip
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class DeskSettings:
    """The limits of a desk.

    Attributes
    ----------
    api_key : what callers must send as ``X-API-Key``; empty for no key, which only fits a desk on this machine
    hosts : names by which the desk may be called (the Host header, without the port); ("*",) for any
    max_bytes : the largest request body
    time_limit : seconds of search for one request
    grace : seconds beyond ``time_limit`` for what cannot be stopped half-way, before the request is given up
    patience : seconds that a request waits for its turn, that a body may take to arrive, and an answer to be taken
    concurrency : requests that are worked on at once, in each worker; one with so many that do not end is replaced
    queue : further requests that may wait, in each worker
    most_plans : the most alternatives that one request may ask for
    header_time : seconds that the head of a request may take to arrive; then its connection is closed
    connections : open connections in each worker; one more takes the place of one that waits for nothing
    proxies : addresses of proxies that are believed when they say (``X-Forwarded-For``) who asks
    per_minute, per_day : questions of one client, all workers together; 0 for no limit
    notice : seconds between a signal to stop and the end of new connections, in which ``/readyz`` says no
    drain : seconds after that for requests under way; then searches return their best so far
    starting : seconds in which a worker must have loaded the bundle and answered one question with it
    silence : seconds without a sign of life after which a worker is replaced
    organisation : who writes the letters; without it they are drafts
    pack : what the letters must say; see :func:`armin_desk.letter.packs`
    fields : what the pack needs to be told by the company
    templates : a folder with the company's own texts and letter templates, which run as code of whoever starts the
        desk; None for the packaged ones

    Examples
    --------
    >>> DeskSettings(time_limit=5.0).hosts
    ('localhost', '127.0.0.1', '[::1]')
    >>> DeskSettings(concurrency=0)
    Traceback (most recent call last):
        ...
    armin.errors.ParameterError: The 'concurrency' setting of the desk must be at least 1. Got 0 instead.
    """

    api_key: str = ""
    hosts: tuple[str, ...] = LOCAL_NAMES
    max_bytes: int = 64 * 1024
    time_limit: float = 10.0
    grace: float = 20.0
    patience: float = 20.0
    concurrency: int = 2
    queue: int = 64
    most_plans: int = 5
    header_time: float = 10.0
    connections: int = 1000
    proxies: tuple[str, ...] = ()
    per_minute: int = 0
    per_day: int = 0
    notice: float = 0.0
    drain: float = 10.0
    starting: float = 120.0
    silence: float = 10.0
    organisation: str = ""
    pack: str = "plain"
    fields: Mapping[str, Any] = field(default_factory=dict)
    templates: Path | None = None

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            if not getattr(self, name) >= least:
                raise ParameterError(
                    f"The '{name}' setting of the desk must be at least {least}. Got {getattr(self, name)!r} instead."
                )
        for name in ("time_limit", "patience", "header_time", "starting"):
            if not getattr(self, name) > 0:
                raise ParameterError(
                    f"The '{name}' setting of the desk must be a positive number of seconds. "
                    f"Got {getattr(self, name)!r} instead."
                )
        if not self.api_key.isascii() or self.api_key != self.api_key.strip():
            raise ParameterError(
                "The 'api_key' setting of the desk must be plain ASCII text without spaces around it, "
                "since it travels in a header. Choose another key."
            )
        for proxy in self.proxies:
            _check_proxy(proxy)

    @property
    def stopping(self) -> float:
        """Seconds that a worker may take to stop."""
        return self.notice + self.drain + self.grace


def _check_proxy(proxy: str) -> None:
    try:
        ipaddress.ip_network(proxy, strict=False)
    except ValueError:
        raise ParameterError(
            f"The 'proxies' setting of the desk must be addresses or networks, such as 10.0.0.0/8. Got {proxy!r}."
        ) from None


def is_loopback(host: str) -> bool:
    """Whether a server that binds to ``host`` can be reached from this machine only.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
