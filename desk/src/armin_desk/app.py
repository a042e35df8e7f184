"""The HTTP application: routes in, plain data out."""

from __future__ import annotations

import gzip
import hashlib
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException

from armin.errors import DataError, MissingDependencyError, ParameterError, SchemaError
from armin_desk.clients import Clients
from armin_desk.contract import request_body
from armin_desk.describe import answer_schema, responses
from armin_desk.guard import Guard
from armin_desk.metrics import Metrics
from armin_desk.parse_request import parse_request
from armin_desk.problems import JSONAnswer, ProblemError, problem_response
from armin_desk.searches import Searches
from armin_desk.service import BundleLike, LetterPage, Service
from armin_desk.settings import DeskSettings
from armin_desk.why import ANSWERS

__all__ = ["create_app"]

STATIC = Path(__file__).parent / "static"
KINDS = {
    ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".png": "image/png",
    ".ico": "image/x-icon", ".woff2": "font/woff2", ".txt": "text/plain", ".json": "application/json",
}  # fmt: skip
API = "/api/v1"
REFUSALS = (400, 401, 408, 413, 415, 422, 429, 500, 503, 504)
PROBES = ("/healthz", "/livez", "/readyz")


def create_app(bundle: BundleLike, settings: DeskSettings | None = None, secret: bytes = b"") -> FastAPI:
    """The desk as an ASGI application.

    Parameters
    ----------
    bundle : the packed explainer, from :func:`armin.bundle.load_bundle`; it is only read
    settings : the limits; a desk for this machine if left out
    secret : makes the names of clients in the log; the same in all workers of a desk, random if left out

    Returns
    -------
    FastAPI
        Its ``state`` holds ``metrics`` and ``searches``, for whoever runs it.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from fastapi.testclient import TestClient
    >>> from armin import ARMIN
    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    >>> app = create_app(SimpleNamespace(explainer=explainer, title="Loans", people=(), manifest={}))
    >>> with TestClient(app, base_url="http://localhost") as client:
    ...     client.post("/api/v1/recourse", json={"row": loans.applicant}).json()["outcome"]
    'plan'
    """
    settings = settings or DeskSettings()
    service, metrics = Service(bundle, settings), Metrics()
    service.check_letters()
    searches = Searches(settings, metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        searches.open()
        yield
        searches.close()

    app = FastAPI(
        title=bundle.title or "ARMIN",
        version="1",
        description="What is the least a person must change to be accepted, even if they do not tell everything?",
        openapi_url=f"{API}/openapi.json",
        docs_url=None,  # their scripts come from another host
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        exception_handlers={HTTPException: _of_http, ProblemError: _of_problem},
    )
    for name in service.contract:
        _add_answer(app, service, searches, name)
    app.state.metrics, app.state.searches = metrics, searches
    _add_views(app, service, metrics)
    _add_probes(app, searches)
    page = _add_page(app, service)
    routes = {route.path for route in app.routes if hasattr(route, "path")}
    app.add_middleware(
        Guard, settings=settings, metrics=metrics, clients=Clients(settings, secret or secrets.token_bytes(32)),
        routes=routes, open_routes={*PROBES, *page}, questions={f"{API}/{name}" for name in service.contract},
        last_words=lambda: searches.leaving,
    )  # fmt: skip
    return app


def _add_answer(app: FastAPI, service: Service, searches: Searches, name: str) -> None:
    """The route that searches for one kind of answer: the method of the service with that name."""
    model, work = service.contract[name], getattr(service, name)
    letter = name == "letter"

    async def answer(request: Request) -> Response:
        asked = await parse_request(request, model, service.schema.names, service.settings)
        try:
            return _sent(await searches.run(work, asked, request.receive))
        except (DataError, ParameterError, SchemaError) as error:
            raise ProblemError(422, str(error)) from None
        except MissingDependencyError as error:
            raise ProblemError(501, str(error)) from None

    good = {"type": "string"} if letter else ANSWERS.get(name) or answer_schema(name)
    refusals = (*REFUSALS, 501) if letter else REFUSALS
    described = responses(good, *refusals, media="text/html" if letter else "application/json")
    if letter:
        described[200]["content"]["application/pdf"] = {"schema": {"type": "string", "format": "binary"}}
    app.post(
        f"{API}/{name}",
        name=name,
        description=work.__doc__,
        openapi_extra=request_body(model),
        responses=described,
        response_class=Response,
    )(answer)


def _sent(found: dict[str, Any] | LetterPage | bytes) -> Response:
    if isinstance(found, bytes):
        return Response(found, media_type="application/pdf")
    if isinstance(found, LetterPage):
        return Response(found.html, media_type="text/html", headers={"Content-Security-Policy": found.policy})
    return JSONAnswer(found)


def _add_views(app: FastAPI, service: Service, metrics: Metrics) -> None:
    """The routes that only look."""
    forms = {code: service.describe(code) for code in (None, *service.languages)}
    known = list(service.languages)
    named = {
        "name": "language", "in": "query", "required": False, "schema": {"type": "string", "enum": known},
        "description": "Names of columns, values and decisions in this language, where the bundle has them.",
    }  # fmt: skip

    @app.get(
        f"{API}/schema",
        openapi_extra={"parameters": [named]} if known else None,
        responses=responses(answer_schema("schema"), 400, 401, 422),
        response_class=Response,
    )
    async def schema(request: Request) -> Response:
        """The form: its fields, their limits, and prepared applicants."""
        language = request.query_params.get("language")
        if language not in forms:
            text = f"'language' must be one of {', '.join(known)}. Got {str(language)[:20]!r} instead."
            raise ProblemError.of_fields([("language", "#/language", text)])
        return JSONAnswer(forms[language])

    text = responses({"type": "string"}, 400, 401, media="text/plain")

    @app.get("/metrics", responses=text, response_class=Response)
    async def counters() -> Response:
        """Counters for operators, in Prometheus' text format."""
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)


def _add_probes(app: FastAPI, searches: Searches) -> None:
    """The routes by which whoever runs the desk learns whether to restart it, and whether to send people to it."""

    @app.get("/healthz", responses=responses({"type": "object"}, 400), response_class=Response)
    async def health() -> Response:
        """Whether the desk is up."""
        return JSONAnswer({"status": "ok"})

    @app.get("/livez", responses=responses({"type": "object"}, 400), response_class=Response)
    async def live() -> Response:
        """Whether this worker is awake; if not, it must be replaced."""
        return JSONAnswer({"status": "ok"})

    @app.get("/readyz", responses=responses({"type": "object"}, 400, 503), response_class=Response)
    async def ready() -> Response:
        """Whether this worker would take a question: its queue has room, and it is not about to stop."""
        if not searches.ready:
            raise ProblemError(
                503, "This worker takes no questions now. Ask another one.", headers={"Retry-After": "5"}
            )
        return JSONAnswer({"status": "ready"})


def _add_page(app: FastAPI, service: Service) -> list[str]:
    """The page, its words and its files, by name: what is not in the folder at the start is never served."""
    files = [file for file in sorted(STATIC.glob("*")) if file.suffix in KINDS] if STATIC.is_dir() else []
    paths = []
    for file in files:
        path = "/" if file.name == "index.html" else f"/{file.name}"
        app.api_route(path, methods=["GET", "HEAD"], include_in_schema=False)(_sender(file))
        paths.append(path)

    @app.api_route("/words.json", methods=["GET", "HEAD"], include_in_schema=False)
    async def words(request: Request) -> Response:
        """The page's own words, in the first of the wanted languages that the desk has."""
        wanted = request.query_params.get("languages", "")[:200].split(",")
        return _file(request, *_kept(bytes(JSONAnswer(service.page_words(wanted)).body)), "application/json")

    return [*paths, "/words.json"]


def _sender(file: Path) -> Callable[[Request], Any]:
    body, packed, tag = _kept(file.read_bytes())

    async def send(request: Request) -> Response:
        return _file(request, body, packed, tag, KINDS[file.suffix])

    return send


def _kept(body: bytes) -> tuple[bytes, bytes, str]:
    """A file of the page, compressed, and with a tag by which a browser knows it again."""
    return body, gzip.compress(body, mtime=0), f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def _file(request: Request, body: bytes, packed: bytes, tag: str, kind: str) -> Response:
    """A file of the page, which says nothing about anybody: a browser keeps it, and asks whether it has changed."""
    headers = {"Cache-Control": "no-cache", "ETag": tag, "Vary": "Accept-Encoding"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        body, headers = packed, headers | {"Content-Encoding": "gzip"}
    return Response(body, media_type=kind, headers=headers)


async def _of_http(_: Request, error: Exception) -> Response:
    """What the router refuses: unknown paths and methods."""
    status = getattr(error, "status_code", 400)
    texts = {404: "There is no such page.", 405: "This address does not take that method."}
    headers = getattr(error, "headers", None)
    return problem_response(ProblemError(status, texts.get(status, "The request was refused."), headers=headers))


async def _of_problem(_: Request, error: Exception) -> Response:
    if not isinstance(error, ProblemError):
        raise error
    return problem_response(error)
