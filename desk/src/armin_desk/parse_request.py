"""How a request is read: within its limits, as JSON by the letter, and checked against the contract."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, NoReturn, TypeVar

from pydantic import ValidationError
from starlette.requests import ClientDisconnect, Request

from armin_desk.contract import Asked, refusal
from armin_desk.problems import ProblemError
from armin_desk.settings import DeskSettings

__all__ = ["parse_json", "parse_request", "too_large"]

A = TypeVar("A", bound=Asked)


async def parse_request(request: Request, model: type[A], columns: Sequence[str], settings: DeskSettings) -> A:
    """The checked body of a request.

    Raises
    ------
    ProblemError
        415, 413, 408, 400 or 422, with the field where there is one.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise ProblemError(415, "The body must be JSON. Send it with the header Content-Type: application/json.")
    data = parse_json(await _read_body(request, settings))
    if not isinstance(data, dict):
        raise ProblemError(422, 'The body must be a JSON object, such as {"row": {...}}.')
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise refusal(error, model, columns) from None


async def _read_body(request: Request, settings: DeskSettings) -> bytes:
    async def read() -> bytes:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > settings.max_bytes:
                raise too_large(settings.max_bytes)
        return bytes(body)

    try:
        return await asyncio.wait_for(read(), settings.patience)
    except ClientDisconnect:
        raise ProblemError(499, "The caller went away before the body had arrived.") from None
    except TimeoutError:
        raise ProblemError(
            408, "The body did not arrive in time. Try again.", headers={"Connection": "close"}
        ) from None


def too_large(most: int) -> ProblemError:
    """The refusal of a body that is too large."""
    text = f"The body may have at most {most:,} bytes. Send one person's form at a time."
    return ProblemError(413, text, headers={"Connection": "close"})


def parse_json(body: bytes) -> Any:
    """JSON by the letter: UTF-8, no NaN or infinity, no name twice, not nested without end.

    >>> parse_json(b'{"row": {"Age": 32}}')
    {'row': {'Age': 32}}
    >>> parse_json(b'{"row": {"Age": NaN}}')
    Traceback (most recent call last):
        ...
    armin_desk.problems.ProblemError: NaN is not JSON. Leave a value that is not known out, or send null.
    """
    try:
        data = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_no_twins)
        json.dumps(data, ensure_ascii=False).encode("utf-8")  # half a character, as "\\ud800", cannot be written
    except RecursionError:
        raise ProblemError(400, "The JSON is nested too deeply. A form has one level.") from None
    except UnicodeError:
        raise ProblemError(400, "The body must be UTF-8 text of whole characters.") from None
    except json.JSONDecodeError as error:
        raise ProblemError(
            400, f"The body is not JSON: {error.msg} (line {error.lineno}, column {error.colno})."
        ) from None
    except ValueError:
        raise ProblemError(400, "The body holds a number with too many digits.") from None
    return data


def _refuse_constant(name: str) -> NoReturn:
    raise ProblemError(400, f"{name} is not JSON. Leave a value that is not known out, or send null.")


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ProblemError(400, "A name occurs twice in one JSON object. Send each field once.")
    return data
