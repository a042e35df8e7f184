"""Run the desk. It answers this machine only, unless it is told another host and given a key."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from armin.errors import ArminError, ModelError, ParameterError
from armin_desk.settings import SHARED, DeskSettings, is_loopback
from armin_desk.workers import end_with_parent, supervise

if TYPE_CHECKING:
    from armin.bundle import Bundle

__all__ = ["check_host", "serve"]


@dataclass(frozen=True)
class _Work:
    """What a worker does in its own process; small, since it travels there."""

    path: str
    digest: str
    settings: DeskSettings
    trust: bool
    trusted_keys: tuple[Path, ...]
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    def __call__(self, listener: socket.socket, pipe: Connection) -> None:
        end_with_parent(self.settings.stopping)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to everybody; the supervisor decides
        try:
            self._serve(listener, pipe)
        except ArminError as error:
            pipe.send(error)
            return
        signal.raise_signal(signal.SIGTERM)  # a stuck search may be in code that does not let the interpreter end

    def _serve(self, listener: socket.socket, pipe: Connection) -> None:
        from armin_desk.app import create_app
        from armin_desk.server import Server

        _log_to_stderr()
        warnings.simplefilter("ignore")  # a library's warning may quote what a person typed
        bundle = _within(self.settings.starting, self._load, self.path)
        if bundle.caution:
            logging.getLogger("armin_desk").warning("%s", bundle.caution)
        app = create_app(bundle, self.settings, self.secret)
        Server(app, self.settings, lambda: pipe.send(None)).serve_at(listener)

    def _load(self) -> Bundle:
        """The bundle that the desk began with, once it has answered a question: all workers answer by one bundle."""
        from armin.bundle import load_bundle
        from armin_desk.service import Service, warm_up

        bundle = load_bundle(self.path, trust=self.trust, trusted_keys=self.trusted_keys, digest=self.digest)
        warm_up(Service(bundle, self.settings))
        return bundle


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
) -> None:
    """Serve a bundle until interrupted. All workers serve the file that is there at the start.

    Parameters
    ----------
    bundle_path : the file
    host : where to listen; any other host than this machine needs a key
    port : where to listen
    workers : processes; one that dies or falls silent is replaced, and only the requests that it held are lost. They
        are started anew from your program: call ``serve`` under ``if __name__ == "__main__"``
    api_key : what callers must send as ``X-API-Key``
    trust : load a bundle that is not signed or holds unknown types; see :func:`armin.bundle.load_bundle`
    settings : further limits; ``api_key`` here wins over theirs
    ready : called once, when the first worker answers
    trusted_keys : PEM files with the public keys of others whose bundles are served

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
    from armin.bundle.archive import file_digest

    digest = file_digest(bundle_path)
    with _bound(host, port) as listener, tempfile.TemporaryDirectory(prefix="armin-metrics-") as folder:
        _log_to_stderr()
        _allow_files(limits.connections)
        os.environ[SHARED] = folder
        try:
            work = _Work(str(bundle_path), digest, limits, trust, trusted_keys)
            supervise(work, listener, workers, limits, folder, ready)
        finally:
            del os.environ[SHARED]


def _within(seconds: float, load: Callable[[], Bundle], path: str) -> Bundle:
    """What ``load`` returns, on a thread that is left behind if it takes longer: nothing stops a sampler half-way."""
    found: list[Bundle] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            found.append(load())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work, daemon=True, name="armin-start")
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not found:
        raise ModelError(
            f"{path!r} was not loaded and had not answered one question after {seconds:g} seconds: it is not served. "
            "Pack it with a quicker sampler or model, or give it more time: starting=... (--starting SECONDS)."
        )
    return found[0]


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
    """An address that cannot be had is refused before anything is loaded; whoever comes before that waits."""
    if not 0 <= port <= 65535:  # of these Python leaves a socket behind
        raise ParameterError(f"The port of the desk must be a number from 0 to 65535. Got {port!r} instead.")
    bare = host.strip("[]")
    try:
        return socket.create_server((bare, port), family=socket.AF_INET6 if ":" in bare else socket.AF_INET)
    except OSError as error:
        raise ParameterError(
            f"The desk cannot listen on {host}, port {port}: {error.strerror}. Choose another port or host."
        ) from None


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
    log = logging.getLogger("armin_desk")
    if not log.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)
        log.propagate = False
