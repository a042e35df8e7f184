"""Answers from their dictionaries: what was kept of them, made into objects again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from armin.errors import ArminError, DataError
from armin.problem import Status
from armin.recourse.certificate import Certificate, Validity
from armin.recourse.origin import Origin
from armin.recourse.world import World
from armin.words import Message, Quantity

__all__ = ["certificate_from", "checked", "message_from", "parsed", "validity_from", "world_from"]

Made = TypeVar("Made")


def parsed(text: str, known: str) -> dict[str, Any]:
    """The dictionary in a JSON text."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError, TypeError) as error:
        raise DataError(f"A kept answer must be JSON with the format {known!r}. Got no JSON ({error}).") from None
    if not isinstance(data, dict):
        raise DataError(f"A kept answer must be a JSON object with the format {known!r}. Got {type(data).__name__}.")
    return data


def checked(data: Mapping[str, Any], known: str, make: Callable[[], Made]) -> Made:
    """What ``make`` makes of an answer's dictionary, or one plain error if it is none."""
    found = data.get("format") if isinstance(data, Mapping) else None
    if found != known:
        raise DataError(
            f"A kept answer must be what to_dict or --json wrote, with the format {known!r}. Got {found!r} instead."
        )
    try:
        return make()
    except ArminError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise DataError(
            f"The kept answer is damaged ({type(error).__name__}: {error}). Write it again with to_dict or --json."
        ) from None


def validity_from(data: Any) -> Validity | None:
    """The share behind its dictionary."""
    return None if data is None else Validity(float(data["accepted"]), float(data["of"]))


def world_from(data: Mapping[str, Any], blanks: bool) -> World:
    """The question behind its dictionary."""
    return World(data["decision"], data["reapply"], blanks, data["submitted"])


def certificate_from(data: Any, world: World) -> Certificate | None:
    """The certificate behind its dictionary, but for a promise: the test on real people is not kept in it."""
    if data is None:
        return None
    origin = data.get("fingerprint")
    return Certificate(
        status=Status(data["status"]),
        bound=float("inf") if data["bound"] is None else float(data["bound"]),
        gap=data["gap"],
        scope=data.get("scope", "list"),
        tolerance=float(data.get("tolerance", 0.0)),
        confidence=data["confidence"],
        validity=validity_from(data["validity"]),
        fresh=validity_from(data["fresh"]),
        error=data["estimation_error"],
        calibration=None,
        conditioned=data["conditioned"],
        blanks=int(data["blanks"]),
        sampler=data["sampler"],
        samples=int(data["samples"]),
        seed=data["seed"],
        versions=dict(data["versions"]),
        rank=int(data["rank"]),
        world=world,
        origin=None if origin is None else Origin(origin["schema"], origin["model"], origin["bundle"]),
    )


def message_from(data: Any) -> Any:
    """A message behind its dictionary, and what it mentions; names are texts now."""
    if isinstance(data, list):
        return tuple(message_from(one) for one in data)
    if isinstance(data, dict) and set(data) == {"code", "values"}:
        return Message(data["code"], **{name: message_from(value) for name, value in data["values"].items()})
    if isinstance(data, dict) and set(data) == {"number", "unit"}:
        return Quantity(data["number"], data["unit"])
    return data
