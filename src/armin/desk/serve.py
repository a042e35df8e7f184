"""Run the desk. It answers this machine only, unless it is told another host and given a key."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from armin.desk.settings import SHARED, DeskSettings, is_loopback
from armin.desk.turns import Taker, Turns
from armin.errors import ArminError, MissingDependencyError, ParameterError

__all__ = ["check_host", "serve"]


@dataclass(frozen=True)
class _Factory:
    """Makes the application in the process that serves it; small, since it travels there."""

    path: str
    settings: DeskSettings
    trust: bool
    trusted_keys: tuple[Path, ...] = ()
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    def __call__(self) -> Any:
        from armin.bundle import load_bundle
        from armin.desk.app import create_app
        from armin.desk.service import Service, warm_up

        bundle = load_bundle(self.path, trust=self.trust, trusted_keys=self.trusted_keys)
        _log_to_stderr()
        warnings.simplefilter("ignore")  # a library's warning may quote what a person typed
        warm_up(Service(bundle, self.settings))
        return create_app(bundle, self.settings, self.secret)

    def server(self, held: Callable[[int], None] | None = None) -> Any:
        """Who serves it; ``held`` is told how many connections there are."""
        from armin.desk.server import make_server

        return make_server(self(), self.settings, held)


@dataclass(frozen=True)
class _Work:
    """What a worker does in its own process."""

    factory: _Factory

    def __call__(self, listener: socket.socket, pipe: Connection, turns: Turns) -> None:
        from armin.desk.workers import Beat

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to everybody; the supervisor decides
        try:
            server = self.factory.server(turns.hold)
        except ArminError as error:
            pipe.send(Beat(refused=error))
            return
        server.beat = lambda requests: pipe.send(Beat(requests))
        turns.hold(0)
        with suppress(KeyboardInterrupt):
            server.run(sockets=[Taker.of(listener, turns)])


def serve(
    bundle_path: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    api_key: str = "",
    trust: bool = False,
    settings: DeskSettings | None = None,
    ready: Callable[[], None] | None = None,
    trusted_keys: tuple[Path, ...] = (),
    trial: bool = False,
) -> None:
    """Serve a bundle until interrupted.

    Parameters
    ----------
    bundle_path : the file
    host : where to listen; any other host than this machine needs a key
    port : where to listen
    workers : processes; a worker that dies or falls silent is replaced, and only the requests that it held are lost
    api_key : what callers must send as ``X-API-Key``
    trust : load a bundle that holds pickles or unknown types; see :func:`armin.bundle.load_bundle`
    settings : further limits; ``api_key`` here wins over theirs
    ready : called once when the desk answers; with several workers, when the first of them does
    trusted_keys : PEM files with public keys; if there are any, the bundle must be signed with one of them
    trial : load the bundle in a process of its own first; see :func:`armin.bundle.try_bundle`

    Examples
    --------
    >>> serve("loans.armin", host="0.0.0.0")
    Traceback (most recent call last):
        ...
    armin.errors.ParameterError: A desk on '0.0.0.0' can be reached by others, so it needs a key. ...
    """
    limits = settings or DeskSettings()
    limits = replace(limits, api_key=api_key or limits.api_key)
    check_host(host, limits.api_key)
    if workers < 1:
        raise ParameterError(f"The number of workers must be at least 1. Got {workers!r} instead.")
    if not Path(bundle_path).is_file():
        raise ParameterError(f"There is no bundle at {str(bundle_path)!r}. Make one with armin pack.")
    if limits.hosts == DeskSettings().hosts:
        # beyond this machine the key guards it, and nobody here knows its public name
        limits = replace(limits, hosts=(*limits.hosts, host) if is_loopback(host) else ("*",))
    try:
        import uvicorn  # noqa: F401  only asked whether it is there
    except ImportError:
        raise MissingDependencyError(
            "The desk needs uvicorn, which is not installed. Install it with: pip install 'armin[web]'."
        ) from None
    if trial:
        from armin.bundle import try_bundle

        try_bundle(bundle_path)
    factory = _Factory(str(bundle_path), limits, trust, trusted_keys)
    with _bound(host, port) as listener:
        _allow_files(limits.connections)
        if workers == 1:
            server = factory.server()
            server.ready = ready
            with suppress(KeyboardInterrupt):  # the usual way to stop it
                server.run(sockets=[listener])
            return
        _log_to_stderr()
        _run_many(_Work(factory), listener, workers, limits, ready)


def _run_many(
    work: _Work, listener: socket.socket, workers: int, limits: DeskSettings, ready: Callable[[], None] | None
) -> None:
    """Workers that are replaced when they die, and that count in a folder which their environment names."""
    from armin.desk.workers import Supervisor

    with tempfile.TemporaryDirectory(prefix="armin-metrics-") as folder:
        os.environ[SHARED] = folder
        try:
            Supervisor(work, listener, workers, limits, folder, ready).run()
        finally:
            del os.environ[SHARED]


def _allow_files(connections: int) -> None:
    """Each connection is an open file, and many systems allow a thousand unless they are asked."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = connections + 512
        if soft != resource.RLIM_INFINITY and soft < wanted:
            most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _bound(host: str, port: int) -> socket.socket:
    """A socket that does not listen yet: an address that cannot be had is refused before anything is loaded."""
    bare = host.strip("[]")
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    # the protocol is named, as asyncio sends small answers at once (TCP_NODELAY) only where it sees that it is TCP
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":  # there it means something else
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((bare, port))
    except (OSError, OverflowError) as error:
        bound.close()
        reason = getattr(error, "strerror", None) or "a port is a number from 0 to 65535"
        raise ParameterError(
            f"The desk cannot listen on {host}, port {port}: {reason}. Choose another port or host."
        ) from None
    return bound


def check_host(host: str, api_key: str) -> None:
    """Refuse to open a desk to others without a key.

    Examples
    --------
    >>> check_host("127.0.0.1", "")
    >>> check_host("192.0.2.7", "a key that nobody guesses")
    >>> check_host("192.0.2.7", "short")
    Traceback (most recent call last):
        ...
    armin.errors.ParameterError: The key of a desk that others can reach must have at least 16 characters. Got 5. ...
    """
    if is_loopback(host):
        return
    if not api_key:
        raise ParameterError(
            f"A desk on {host!r} can be reached by others, so it needs a key. Give one with api_key=... (on the "
            "command line: --api-key-file FILE), or listen on 127.0.0.1."
        )
    if len(api_key) < 16:
        raise ParameterError(
            f"The key of a desk that others can reach must have at least 16 characters. Got {len(api_key)}. "
            "Make one with: python -c 'import secrets; print(secrets.token_urlsafe())'."
        )


def _log_to_stderr() -> None:
    log = logging.getLogger("armin.desk")
    if not log.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)
        log.propagate = False
