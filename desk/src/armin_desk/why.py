"""Why, and what if, at the desk: what may be asked, and what a page says about the answer."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from armin.explain.what_if import WhatIf
from armin.reasons import Reasons
from armin.reasons.stand import said_weight
from armin.schema import Value
from armin.words import Catalogue, Message
from armin_desk.contract import Asked, PlanAsked

__all__ = ["ANSWERS", "IdeaAsked", "ReasonsAsked", "said_idea", "said_reasons"]

ANSWERS: dict[str, dict[str, Any]] = {
    "reasons": {
        "type": "object",
        "required": ["format", "accepted", "standing", "weights", "statements", "headline"],
        "properties": {
            "format": {"const": "armin.reasons/1"},
            "accepted": {"type": "boolean"},
            "weights": {"type": "array", "items": {"type": "object", "required": ["feature", "weight", "low", "high"]}},
            "statements": {"type": "array", "maxItems": 4, "items": {"type": "object", "required": ["sentence"]}},
        },
    },
    "what_if": {
        "type": "object",
        "required": ["format", "ideas", "share", "enough", "cost", "plan", "headline"],
        "properties": {"format": {"const": "armin.what-if/1"}, "share": {"type": "number"}},
    },
}
"""The JSON schemas of the answers."""


class ReasonsAsked(Asked):
    """One person's form, and with whom they are compared.

    >>> ReasonsAsked(row={}).reference
    'accepted'
    """

    reference: Literal["average", "accepted", "nearest", "threshold"] = Field(
        "accepted",
        title="one of average, accepted, nearest, threshold",
        description="With whom the person is compared.",
    )


class IdeaAsked(PlanAsked):
    """One person's form, and their own idea.

    >>> IdeaAsked(row={}, changes={"Loans": 1}).changes
    {'Loans': 1}
    """

    changes: dict[str, Value | None]


def said_reasons(why: Reasons, words: Catalogue, decided: bool = True) -> dict[str, Any]:
    """All that the page says about why; what is open is not taken for refused where nothing was ``decided``."""
    unit, where = why.standing.unit, why.chance
    chance = Message("stand.chance", share=where.share, desired=why.wanted)
    stand = [*([] if decided or not where.open else [chance]), *where.messages]
    return {
        "headline": why.headline.said(words),
        "stand": [message.said(words) for message in stand],
        "place": where.to_dict(),
        "reasons": [
            {"sentence": _together(one.messages, words), "weight": said_weight(one.weight, unit).said(words)}
            for one in why.statements()
        ],
        "notes": [message.said(words) for message in why.messages],
    }


def said_idea(found: WhatIf, words: Catalogue) -> dict[str, Any]:
    """All that the page says about an idea."""
    return {
        "headline": found.headline.said(words),
        "lines": [message.said(words) for message in found.messages],
        "then": words.say("what_if.then") if found.steps else None,
        "steps": [step.said(words) for step in found.steps],
    }


def _together(messages: tuple[Message, ...], words: Catalogue) -> str:
    return " ".join(message.said(words) for message in messages)
