"""What goes wrong, said in one form: ``application/problem+json``, with the field where there is one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from starlette.responses import Response

__all__ = ["JSONAnswer", "Problem", "ProblemError", "inline_schema", "problem_response"]

TITLES = {
    400: "The request cannot be read",
    401: "A key is needed",
    403: "Not allowed",
    404: "There is nothing here",
    405: "This cannot be done here",
    408: "The request took too long to arrive",
    413: "The request is too large",
    415: "The request must be JSON",
    422: "A value does not fit",
    429: "Too many questions",
    499: "The caller went away",
    500: "Something went wrong on our side",
    501: "Not available at this desk",
    503: "The desk is busy",
    504: "The answer took too long",
}
MOST_ERRORS = 20
"""A form has a few fields; more errors than this help nobody."""


class FieldProblem(BaseModel):
    """One wrong field of a request, and where it stands in the body."""

    field: str
    pointer: str
    detail: str


class Problem(BaseModel):
    """A refusal, as it is sent."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    field: str | None = None
    errors: list[FieldProblem] | None = None


class ProblemError(Exception):
    """A request that is refused, and why.

    Parameters
    ----------
    status : the HTTP status
    detail : what is wrong, the rule, and what to do
    field : the field of the form, or the name of the parameter, that is wrong
    errors : all that is wrong, as (field, pointer, detail); the first one is the main one
    headers : further headers of the answer

    Examples
    --------
    >>> ProblemError(422, "Column 'Age' must be a number, or blank.", field="Age").to_dict()["title"]
    'A value does not fit'
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        field: str | None = None,
        errors: Sequence[tuple[str, str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.field = field
        self.errors = tuple(errors)
        self.headers = dict(headers or {})

    @classmethod
    def of_fields(cls, errors: Sequence[tuple[str, str, str]]) -> ProblemError:
        """A 422 for one or several fields, given as (field, pointer, detail)."""
        field, _, detail = errors[0]
        return cls(422, detail, field=field, errors=errors[:MOST_ERRORS])

    def to_dict(self) -> dict[str, Any]:
        """The problem as plain data."""
        errors = [FieldProblem(field=f, pointer=p, detail=d) for f, p, d in self.errors]
        title = TITLES.get(self.status, "The request was refused")
        sent = Problem(title=title, status=self.status, detail=self.detail, field=self.field, errors=errors or None)
        return sent.model_dump(exclude_none=True)


def inline_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a model, with what it refers to written in place.

    >>> inline_schema(Problem)["properties"]["errors"]["anyOf"][0]["items"]["required"]
    ['field', 'pointer', 'detail']
    """
    whole = model.model_json_schema()
    parts = whole.pop("$defs", {})

    def inlined(node: Any) -> Any:
        if isinstance(node, list):
            return [inlined(one) for one in node]
        if not isinstance(node, dict):
            return node
        named = parts[node["$ref"].rpartition("/")[2]] if "$ref" in node else {}
        return {key: inlined(value) for key, value in {**named, **node}.items() if key != "$ref"}

    found: dict[str, Any] = inlined(whole)
    return found


class JSONAnswer(Response):
    """A JSON response that refuses to send what is not JSON (NaN, infinity).

    >>> JSONAnswer({"cost": 1.5}).body
    b'{"cost": 1.5}'
    """

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The content as UTF-8 JSON."""
        return json.dumps(content, ensure_ascii=False, allow_nan=False, default=_plain).encode()


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def problem_response(problem: ProblemError) -> Response:
    """The HTTP response for a problem.

    >>> problem_response(ProblemError(404, "No such page.")).headers["content-type"]
    'application/problem+json'
    """
    return JSONAnswer(problem.to_dict(), problem.status, headers=problem.headers, media_type="application/problem+json")
