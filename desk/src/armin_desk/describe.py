"""The desk in plain data: the form for the page, and the schema of answers for programs."""

from __future__ import annotations

from typing import Any, get_args

from armin.recourse.answers import Outcome
from armin.schema import Feature
from armin.schema.values import plain_number
from armin_desk.problems import Problem, inline_schema

__all__ = ["answer_schema", "feature_dict", "responses"]

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
        "lower": feature.least_code if feature.is_number else None,
        "upper": feature.most_code if feature.is_number else None,
        "seen": [feature.low_code, feature.high_code] if feature.is_number else None,
        "step": feature.step,
        "categories": listed or None,
        "mutable": feature.actionable,
        "direction": feature.direction,
        "blank_mode": feature.blank_mode,
        "group": feature.shown.group,
        "order": feature.shown.order,
        "example": feature.shown.example,
        "help": f"{_range(feature)} {_MOVES[feature.direction]}",
    }


def _range(feature: Feature) -> str:
    if feature.is_carried:
        return "May be left out; the model sees it as it is."
    if not feature.is_number:
        return "One of the listed values."
    kind = "A whole number" if feature.kind == "integer" else "A number"
    unit = f" {feature.unit}" if feature.unit else ""
    low, high = (plain_number(code) for code in (feature.low_code, feature.high_code))
    seen = "" if feature.limits is None else f" The model knows {low} to {high}."
    return f"{kind} from {plain_number(feature.least_code)} to {plain_number(feature.most_code)}{unit}.{seen}"


_RECOURSE = {
    "type": "object",
    "required": ["format", "outcome", "status", "changes", "cost", "confidence", "blanks", "headline"],
    "properties": {
        "format": {"const": "armin.recourse/1"},
        "outcome": {"enum": list(get_args(Outcome))},
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
                    "required": ["share", "cost", "short", "recourse"],
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
    content = {"application/problem+json": {"schema": inline_schema(Problem)}}
    found: dict[int | str, dict[str, Any]] = {200: {"description": "The answer.", "content": {media: {"schema": good}}}}
    for status in refusals:
        found[status] = {"description": "A problem, in plain words.", "content": content}
    return found
