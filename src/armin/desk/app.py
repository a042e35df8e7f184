"""The HTTP application: routes in, plain data out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from armin.desk.asking import AlternativesAsked, Asked, LetterAsked, RecourseAsked, read_asked
from armin.desk.describe import answer_schema, request_body, responses
from armin.desk.guard import Guard
from armin.desk.metrics import Metrics
from armin.desk.problems import JSONAnswer, ProblemError, problem_response
from armin.desk.searches import Searches
from armin.desk.service import BundleLike, Desk, LetterPage, Person
from armin.desk.settings import DeskSettings
from armin.errors import DataError, MissingDependencyError, ParameterError, SchemaError

__all__ = ["create_app"]

STATIC = Path(__file__).parent / "static"
KINDS = {
    ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".png": "image/png",
    ".ico": "image/x-icon", ".woff2": "font/woff2", ".txt": "text/plain", ".json": "application/json",
}  # fmt: skip
API = "/api/v1"
REFUSALS = (400, 401, 408, 413, 415, 422, 500, 503, 504)
T = TypeVar("T")
A = TypeVar("A", bound=Asked)


def create_app(bundle: BundleLike, settings: DeskSettings | None = None) -> FastAPI:
    """The desk as an ASGI application.

    Parameters
    ----------
    bundle : the packed explainer, from :func:`armin.bundle.load_bundle`; it is only read
    settings : the limits; a desk for this machine if left out

    Returns
    -------
    FastAPI

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
    desk, metrics = Desk(bundle, settings), Metrics()
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
    _add_answers(app, desk, searches)
    _add_views(app, desk, metrics)
    page = _add_page(app, desk)
    routes = {route.path for route in app.routes if hasattr(route, "path")}
    app.add_middleware(Guard, settings=settings, metrics=metrics, routes=routes, open_routes={"/healthz", *page})
    return app


def _add_answers(app: FastAPI, desk: Desk, searches: Searches) -> None:
    """The routes that search."""
    schema, settings = desk.schema, desk.settings

    async def answer(request: Request, model: type[A], work: Callable[[A, Person], T]) -> T:
        asked = await read_asked(request, model, schema, settings)
        unknown = [code for code in asked.languages if code not in desk.languages]
        if unknown:
            text = f"'languages' must be some of {', '.join(desk.languages)}. Got {unknown[0][:20]!r} instead."
            raise ProblemError.of_fields([("languages", "#/languages", text)])
        person = Person(
            asked.row, asked.locked, getattr(asked, "confidence", None), tuple(dict.fromkeys(asked.languages))
        )
        try:
            return await searches.run(lambda: work(asked, person), request.receive)
        except (DataError, ParameterError, SchemaError) as error:
            raise ProblemError(422, str(error)) from None
        except MissingDependencyError as error:
            raise ProblemError(501, str(error)) from None

    def post(name: str, *extra: str, media: str = "application/json") -> Callable[[Any], Any]:
        good = {"type": "string"} if media == "text/html" else answer_schema(name)
        more = (501,) if name == "letter" else ()
        return app.post(
            f"{API}/{name}",
            openapi_extra=request_body(schema, extra=extra, most_plans=settings.most_plans, languages=desk.languages),
            responses=responses(good, *REFUSALS, *more, media=media),
            response_class=Response,
        )

    @post("recourse", "confidence")
    async def recourse(request: Request) -> Response:
        """The cheapest plan that works for enough plausible people."""
        found = await answer(request, RecourseAsked, lambda _, person: desk.recourse(person))
        return JSONAnswer(found | {"reference": _reference()})

    @post("path")
    async def path(request: Request) -> Response:
        """The cheapest plan for every confidence."""
        return JSONAnswer(await answer(request, Asked, lambda _, person: desk.path(person)))

    @post("alternatives", "confidence", "count")
    async def alternatives(request: Request) -> Response:
        """Several plans to choose from, cheapest first."""
        found = await answer(request, AlternativesAsked, lambda asked, person: desk.alternatives(person, asked.count))
        return JSONAnswer(found)

    @post("ask")
    async def ask(request: Request) -> Response:
        """For each blank, whether telling it would help."""
        return JSONAnswer(await answer(request, Asked, lambda _, person: desk.ask(person)))

    @post("letter", "confidence", "letter", media="text/html")
    async def letter(request: Request) -> Response:
        """A letter to print, with the chosen plan."""

        def write(asked: LetterAsked, person: Person) -> LetterPage:
            return desk.letter(
                person, language=asked.language, applicant=asked.applicant, choice=asked.choice,
                reference=asked.reference,
            )  # fmt: skip

        page = await answer(request, LetterAsked, write)
        return Response(page.html, media_type="text/html", headers={"Content-Security-Policy": page.policy})


def _add_views(app: FastAPI, desk: Desk, metrics: Metrics) -> None:
    """The routes that only look."""
    forms = {code: desk.describe(code) for code in (None, *desk.languages)}
    known = list(desk.languages)
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

    @app.get("/healthz", responses=responses({"type": "object"}, 400), response_class=Response)
    async def health() -> Response:
        """Whether the desk is up."""
        return JSONAnswer({"status": "ok"})

    text = responses({"type": "string"}, 400, 401, media="text/plain")

    @app.get("/metrics", responses=text, response_class=Response)
    async def counters() -> Response:
        """Counters for operators, in Prometheus' text format."""
        return Response(metrics.text(), media_type="text/plain; version=0.0.4")


def _add_page(app: FastAPI, desk: Desk) -> list[str]:
    """The page, its words and its files, by name: what is not in the folder at the start is never served."""
    files = [file for file in sorted(STATIC.glob("*")) if file.suffix in KINDS] if STATIC.is_dir() else []
    paths = []
    for file in files:
        path = "/" if file.name == "index.html" else f"/{file.name}"
        app.get(path, include_in_schema=False)(_sender(file))
        paths.append(path)

    @app.get("/words.json", include_in_schema=False)
    async def words(request: Request) -> Response:
        """The page's own words, in the first of the wanted languages that the desk has."""
        wanted = request.query_params.get("languages", "")[:200].split(",")
        return JSONAnswer(desk.page_words(wanted))

    return [*paths, "/words.json"]


def _sender(file: Path) -> Callable[[], Any]:
    body = file.read_bytes()

    async def send() -> Response:
        return Response(body, media_type=KINDS[file.suffix])

    return send


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


def _reference() -> str:
    """A number to quote: random, so that it says nothing about the person."""
    from armin.letter import new_reference

    return new_reference()
