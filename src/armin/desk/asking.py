"""What a caller may ask: the body is read within its limit, parsed strictly, and checked against the schema."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError
from starlette.requests import ClientDisconnect, Request

from armin.desk.describe import LEAST_CONFIDENCE
from armin.desk.problems import MOST_ERRORS, ProblemError
from armin.desk.settings import DeskSettings
from armin.errors import DataError
from armin.schema import Feature, Schema, Value
from armin.schema.values import is_blank

__all__ = ["AlternativesAsked", "Asked", "LetterAsked", "RecourseAsked", "check_row", "parse_json", "read_asked"]

Short = Annotated[str, StringConstraints(max_length=1000)]
Cell = Short | bool | int | float | None
LONGEST_NAME = 60
RULES = {
    "row": 'an object with one value per column, such as {"Age": 40}',
    "locked": "a list of at most 1,000 column names",
    "languages": "a list of at most 20 codes of languages, such as en or de",
    "confidence": f"a number from {LEAST_CONFIDENCE:f} to 1, or null",
    "count": "a whole number of at least 1",
    "language": "the code of a language, such as en or de",
    "applicant": "one line of at most 200 characters",
    "choice": "a whole number of at least 0",
    "reference": "at most 40 letters, digits and hyphens, or null",
}
"""What each parameter of a request must be."""


def _whole(value: object) -> object:
    """JSON knows one kind of number: 3.0 is as whole as 3."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(_whole)]


class Asked(BaseModel):
    """One person's form.

    >>> Asked.model_validate({"row": {"Age": 32, "Income": None}}).locked
    ()
    """

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True)

    row: Annotated[dict[str, Cell], Field(max_length=10_000)]
    locked: Annotated[tuple[Short, ...], Field(max_length=1000, strict=False)] = ()
    languages: Annotated[tuple[Short, ...], Field(max_length=20, strict=False)] = ()


class RecourseAsked(Asked):
    """One person's form, and how sure they want to be.

    >>> RecourseAsked.model_validate({"row": {}, "confidence": 1}).confidence
    1.0
    """

    confidence: Annotated[float, Field(ge=LEAST_CONFIDENCE, le=1)] | None = None


class AlternativesAsked(RecourseAsked):
    """One person's form, and how many plans to choose from.

    >>> AlternativesAsked.model_validate({"row": {}}).count
    3
    """

    count: Annotated[Whole, Field(ge=1)] = 3


class LetterAsked(RecourseAsked):
    """One person's form, and how the letter should look.

    >>> LetterAsked.model_validate({"row": {}}).language
    'en'
    """

    language: Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(-[A-Za-z]{2,8})?$")] = "en"
    applicant: Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""
    choice: Annotated[Whole, Field(ge=0)] = 0
    reference: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]{1,40}$")] | None = None


A = TypeVar("A", bound=Asked)


async def read_asked(request: Request, model: type[A], schema: Schema, settings: DeskSettings) -> A:
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
        asked = model.model_validate(data)
    except ValidationError as error:
        raise _of_pydantic(error) from None
    once = tuple(dict.fromkeys(asked.locked))
    asked = asked.model_copy(update={"row": check_row(schema, asked.row), "locked": once})
    unknown = [name for name in asked.locked if name not in schema.names]
    if unknown:
        text = f"{_clip(unknown[0])!r} is not a column. The columns are: {', '.join(schema.names)}."
        raise ProblemError.of_fields([("locked", "#/locked", text)])
    return asked


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
    armin.desk.problems.ProblemError: NaN is not JSON. Leave a value that is not known out, or send null.
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


def check_row(schema: Schema, row: Mapping[str, Value | None]) -> dict[str, Value | None]:
    """A whole row in the schema's order, blanks as None; what was left out is a blank.

    Raises
    ------
    ProblemError
        422, with every field that does not fit.

    Examples
    --------
    >>> schema = Schema((Feature("age", "integer", lower=18, upper=90), Feature("car", "binary", categories=(0, 1))))
    >>> check_row(schema, {"age": 40})
    {'age': 40, 'car': None}
    >>> check_row(schema, {"age": 140})
    Traceback (most recent call last):
        ...
    armin.desk.problems.ProblemError: Column 'age' must be in [18, 90], or blank. Got 140 instead.
    """
    errors: list[tuple[str, str, str]] = []
    known = set(schema.names)
    for name in row:
        if name not in known and len(errors) < MOST_ERRORS:
            text = f"Unknown column {_clip(name)!r}. The columns are: {', '.join(schema.names)}."
            errors.append((_clip(name), _pointer("row", _clip(name)), text))
    checked: dict[str, Value | None] = {}
    for feature in schema:
        value = row.get(feature.name)
        checked[feature.name] = None if is_blank(value) else value
        try:
            _check_value(feature, checked[feature.name])
        except DataError as error:
            # the next step is for whoever made the schema, not for whoever fills in the form
            errors.append((feature.name, _pointer("row", feature.name), error.fact or str(error)))
    if errors:
        raise ProblemError.of_fields(errors)
    return checked


def _check_value(feature: Feature, value: Value | None) -> None:
    if feature.is_number and isinstance(value, str | bool):  # JSON has numbers, so a text is a mistake
        raise DataError.of_value(f"Column {feature.name!r} must be a number, or blank.", value)
    feature.code(value)


def _of_pydantic(error: ValidationError) -> ProblemError:
    found: dict[str, tuple[str, str, str]] = {}
    for item in error.errors(include_url=False, include_context=False, include_input=False):
        place = [_clip(str(part)) for part in item["loc"]]
        field = place[1] if place[0] == "row" and len(place) > 1 else place[0]
        # a union reports each of its members; people need one sentence
        depth = 2 if place[0] == "row" else 1
        text = _sentence(field, item["type"], in_row=len(place) > 1 and place[0] == "row")
        found.setdefault("/".join(place[:depth]), (field, _pointer(*place[:depth]), text))
    return ProblemError.of_fields(list(found.values()))


def _sentence(field: str, kind: str, *, in_row: bool) -> str:
    if in_row and kind == "string_too_long":
        return f"Column {field!r} must be a text of at most 1000 characters."
    if in_row:
        return f"Column {field!r} must be one number, text, true, false or null."
    if kind == "missing":
        return f"{field!r} is missing. Send the form as {field!r}."
    if kind == "extra_forbidden":
        return f"{field!r} is not known here. Leave it out."
    return f"{field!r} must be {RULES[field]}."


def _clip(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _pointer(*parts: str) -> str:
    return "#/" + "/".join(part.replace("~", "~0").replace("/", "~1") for part in parts)
