"""The desk in plain data: the form for the page, and the schema of requests and answers for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armin.schema import Feature, Schema
from armin.schema.values import plain_number

__all__ = ["answer_schema", "feature_dict", "request_body", "responses"]

LEAST_CONFIDENCE = 1e-6
"""A share of plausible people below this is nobody."""

_MOVES = {
    "any": "The advice may change it.",
    "increase": "The advice may only raise it.",
    "decrease": "The advice may only lower it.",
    "fixed": "The advice never changes it.",
}


def feature_dict(feature: Feature) -> dict[str, Any]:
    """One field of the form.

    >>> feature_dict(Feature("age", "integer", lower=18, upper=90, direction="fixed", unit="years"))["help"]
    'A whole number from 18 to 90 years. The advice never changes it.'
    """
    listed = [{"value": value, "label": str(value)} for value in feature.categories]
    return {
        "name": feature.name,
        "label": feature.title,
        "kind": feature.kind,
        "unit": feature.unit,
        "lower": feature.lower,
        "upper": feature.upper,
        "step": feature.step,
        "categories": listed or None,
        "mutable": feature.actionable,
        "direction": feature.direction,
        "blank_mode": feature.blank_mode,
        "help": f"{_range(feature)} {_MOVES[feature.direction]}",
    }


def _range(feature: Feature) -> str:
    if not feature.is_number:
        return "One of the listed values."
    kind = "A whole number" if feature.kind == "integer" else "A number"
    unit = f" {feature.unit}" if feature.unit else ""
    return f"{kind} from {plain_number(feature.low_code)} to {plain_number(feature.high_code)}{unit}."


def request_body(
    schema: Schema, *, extra: Sequence[str] = (), most_plans: int = 5, languages: Sequence[str] = ("en",)
) -> dict[str, Any]:
    """The OpenAPI description of a request about one person.

    Parameters
    ----------
    schema : the columns
    extra : further parameters: "confidence", "count", "letter"
    most_plans : the most alternatives
    languages : the languages of letters

    Examples
    --------
    >>> schema = Schema((Feature("age", "integer", lower=18, upper=90),))
    >>> body = request_body(schema)["requestBody"]["content"]["application/json"]["schema"]
    >>> body["properties"]["row"]["properties"]["age"]["anyOf"][0]
    {'type': 'integer', 'minimum': 18, 'maximum': 90}
    """
    properties: dict[str, Any] = {
        "row": {
            "type": "object",
            "description": "One value per column. What is null, an empty text or left out is a blank: not given.",
            "properties": {f.name: _cell(f) for f in schema},
            "additionalProperties": False,
        },
        "locked": {
            "type": "array",
            "description": "Columns that this person cannot change.",
            "items": {"enum": schema.names},
            "maxItems": 1000,
        },
        "languages": {
            "type": "array",
            "description": "Languages in which the answer is also said, ready to be shown, under 'said'.",
            "items": {"enum": list(languages)},
            "maxItems": 20,
        },
    }
    known: dict[str, dict[str, Any]] = {
        "confidence": {
            "confidence": {
                "anyOf": [{"type": "number", "minimum": LEAST_CONFIDENCE, "maximum": 1}, {"type": "null"}],
                "description": "The share of plausible people that the plan must work for.",
            }
        },
        "count": {"count": {"type": "integer", "minimum": 1, "maximum": most_plans, "default": 3}},
        "letter": {
            "language": {"enum": list(languages) or ["en"], "default": "en"},
            "applicant": {"type": "string", "maxLength": 200, "pattern": "^[^\\x00-\\x1f\\x7f]*$"},
            "choice": {"type": "integer", "minimum": 0, "maximum": most_plans - 1, "default": 0},
            "reference": {"anyOf": [{"type": "string", "pattern": "^[A-Za-z0-9-]{1,40}$"}, {"type": "null"}]},
        },
    }
    for name in extra:
        properties |= known[name]
    body = {"type": "object", "properties": properties, "required": ["row"], "additionalProperties": False}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": body}}}}


def _cell(feature: Feature) -> dict[str, Any]:
    if feature.is_number:
        kind = "integer" if feature.kind == "integer" else "number"
        value: dict[str, Any] = {"type": kind, "minimum": _tidy(feature.low_code), "maximum": _tidy(feature.high_code)}
    else:
        value = {"enum": list(feature.categories)}
    blank = {"type": "string", "pattern": "^\\s*$", "maxLength": 1000}
    return {"anyOf": [value, {"type": "null"}, blank], "description": feature_dict(feature)["help"]}


def _tidy(number: float) -> int | float:
    return int(number) if number.is_integer() else number


_RECOURSE = {
    "type": "object",
    "required": ["format", "outcome", "status", "changes", "cost", "confidence", "blanks", "headline"],
    "properties": {
        "format": {"const": "armin.recourse/1"},
        "outcome": {"enum": ["plan", "best_so_far", "already_accepted", "no_recourse", "out_of_time"]},
        "changes": {
            "type": "array",
            "items": {"type": "object", "required": ["feature", "label", "mode", "sentence", "cost"]},
        },
        "headline": {"type": "string"},
        "reference": {"type": "string"},
    },
}
_ANSWERS: dict[str, dict[str, Any]] = {
    "recourse": _RECOURSE,
    "path": {
        "type": "object",
        "required": ["asked", "end", "points"],
        "properties": {
            "asked": {"type": "number"},
            "end": {"enum": ["optimal", "infeasible", "unknown"]},
            "points": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["confidence", "cost", "short", "recourse"],
                    "properties": {"recourse": _RECOURSE},
                },
            },
        },
    },
    "alternatives": {
        "type": "object",
        "required": ["plans"],
        "properties": {"plans": {"type": "array", "items": _RECOURSE}},
    },
    "ask": {
        "type": "object",
        "required": ["format", "questions", "sentence"],
        "properties": {"questions": {"type": "array", "items": {"type": "object"}}, "sentence": {"type": "string"}},
    },
    "schema": {
        "type": "object",
        "required": ["title", "desired", "confidence", "features", "people", "languages", "limits"],
    },
}


def answer_schema(name: str) -> dict[str, Any]:
    """The JSON schema of an answer: "recourse", "path", "alternatives", "ask" or "schema".

    >>> answer_schema("path")["required"]
    ['asked', 'end', 'points']
    """
    return _ANSWERS[name]


def responses(good: dict[str, Any], *refusals: int, media: str = "application/json") -> dict[int | str, dict[str, Any]]:
    """The OpenAPI description of an answer with the JSON schema ``good``, and of refusals.

    >>> list(responses({"type": "string"}, 422, 503))
    [200, 422, 503]
    """
    schema = {
        "type": "object",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "field": {"type": "string"},
            "errors": {"type": "array", "items": {"type": "object", "required": ["field", "pointer", "detail"]}},
        },
    }
    content = {"application/problem+json": {"schema": schema}}
    found: dict[int | str, dict[str, Any]] = {200: {"description": "The answer.", "content": {media: {"schema": good}}}}
    for status in refusals:
        found[status] = {"description": "A problem, in plain words.", "content": content}
    return found
