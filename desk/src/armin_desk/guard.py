"""The desk's door: who may come in, what is written down (nothing personal), and what every answer carries."""

from __future__ import annotations

import hashlib
import hmac
import logging
import math
import secrets
import time
import traceback
from collections.abc import Callable, Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from armin_desk.clients import Clients
from armin_desk.metrics import Metrics
from armin_desk.parse_request import too_large
from armin_desk.problems import ProblemError, problem_response
from armin_desk.settings import DeskSettings

__all__ = ["PAGE_POLICY", "Guard"]

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": PAGE_POLICY,
}
METHODS = frozenset(("GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"))
log = logging.getLogger("armin_desk")


class Guard:
    """Wraps the application: checks before it, headers and counting after it, and no stack trace to anybody.

    Parameters
    ----------
    app : the application inside
    settings : key, hosts and size limit
    metrics : where requests are counted
    clients : their names for the log, and their limits
    routes : the paths that are known; any other path is counted and logged as "other", since it could hold anything
    open_routes : paths that need no key: health, and the page, which holds no data
    questions : paths that are counted against a client's limits
    last_words : whether an answer is the last one on its connection, so that nobody sends another request into the void

    Examples
    --------
    >>> async def app(scope, receive, send):
    ...     raise ValueError("a secret")
    >>> from starlette.testclient import TestClient
    >>> guard = Guard(app, DeskSettings(), Metrics(), Clients(DeskSettings(), b"another secret"))
    >>> answer = TestClient(guard, base_url="http://localhost").get("/")
    >>> answer.status_code, "secret" in answer.text
    (500, False)
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: DeskSettings,
        metrics: Metrics,
        clients: Clients,
        *,
        routes: Collection[str] = (),
        open_routes: Collection[str] = (),
        questions: Collection[str] = (),
        last_words: Callable[[], bool] = lambda: False,
    ) -> None:
        self.app, self.settings, self.metrics, self.clients = app, settings, metrics, clients
        self.routes, self.open_routes, self.questions = frozenset(routes), frozenset(open_routes), frozenset(questions)
        self.last_words = last_words

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        start = time.perf_counter()
        status = 0

        async def guarded_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if self.last_words():
                    headers["Connection"] = "close"
            await send(message)

        try:
            self._check(scope)
            await self.app(scope, receive, guarded_send)
        except ProblemError as problem:
            await problem_response(problem)(scope, receive, guarded_send)
        except Exception as error:
            number = secrets.token_hex(4)
            log.error("error %s: %s", number, _where(error))
            if not status:
                text = (
                    f"An error that we did not foresee. Nothing was stored. Its number is {number}; please report it."
                )
                await problem_response(ProblemError(500, text))(scope, receive, guarded_send)
        finally:
            seconds = time.perf_counter() - start
            method = scope["method"] if scope["method"] in METHODS else "OTHER"
            route = scope["path"] if scope["path"] in self.routes else "other"
            self.metrics.count(method, route, status, seconds)
            log.info("%s %s %d %.0f ms %s", method, route, status, 1000 * seconds, self.clients.name(_address(scope)))

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        hosts = self.settings.hosts
        if "*" not in hosts and _name(headers.get("host", "")) not in hosts:
            # a page of somebody else's, under a name that points to this machine
            raise ProblemError(
                400, "This desk is not known by that host name. Use the address that it was started with."
            )
        if self.settings.api_key and scope["path"] not in self.open_routes:
            given = headers.get("x-api-key", "")
            if not hmac.compare_digest(_digest(given), _digest(self.settings.api_key)):
                raise ProblemError(
                    401, "Send the desk's key in the header X-API-Key.", headers={"WWW-Authenticate": "X-API-Key"}
                )
        if not scope["path"].isprintable():
            # a router's pattern ends before a line break, and the path would be one that nothing here knows
            raise ProblemError(404, "There is no such page.")
        if "transfer-encoding" in headers and "content-length" in headers:
            # whoever stands between might believe the other one, and take the rest of the body for a request
            text = "A body has a length, or comes in pieces. Send one of Content-Length and Transfer-Encoding."
            raise ProblemError(400, text, headers={"Connection": "close"})
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            raise ProblemError(400, "The header Content-Length must be a whole number.")
        if len(length) > 18 or int(length) > self.settings.max_bytes:
            raise too_large(self.settings.max_bytes)
        if scope["path"] in self.questions:
            self._check_limits(_address(scope))

    def _check_limits(self, address: str) -> None:
        wait = self.clients.wait(address)
        if wait:
            self.metrics.limited.inc()
            limits = self.settings
            each = ((limits.per_minute, "minute"), (limits.per_day, "day"))
            rule = " and ".join(f"{most:,} a {time}" for most, time in each if most)
            raise ProblemError(
                429, f"A client may ask {rule}, and you have asked more. Try again later; Retry-After says when.",
                headers={"Retry-After": str(math.ceil(wait))},
            )  # fmt: skip


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else ""


def _name(host: str) -> str:
    """The host without its port."""
    name = host.lower()
    if name.startswith("["):
        address, _, port = name.partition("]")
        return f"{address}]" if not port or port.startswith(":") else name
    return name.partition(":")[0]


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def _where(error: Exception) -> str:
    """The kind and the place of an error; its text may hold what the person typed, and is left out."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].name}, line {frames[-1].lineno}" if frames else "unknown place"
    file = frames[-1].filename.replace("\\", "/").rsplit("/", 1)[-1] if frames else ""
    return f"{type(error).__name__} in {file}, {place}"
