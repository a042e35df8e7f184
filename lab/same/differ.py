"""What differs between two sets of answers, field by field."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import zip_longest
from math import isclose
from pathlib import Path
from typing import Any, Literal

MISSING = "(nothing)"
SHOWN = 70
ROUNDING = 1e-12
"""Plans whose costs differ by no more than this share cost the same."""

Kind = Literal["differs", "tie", "accepted"]


@dataclass(frozen=True)
class Difference:
    """One field of one answer.

    Attributes
    ----------
    part, name, field : where
    before, after : the two values
    kind : "tie" if another plan of the same cost was found, "accepted" if ``reasons.toml`` says why, else "differs"
    reason : why it is accepted
    """

    part: str
    name: str
    field: str
    before: Any
    after: Any
    kind: Kind = "differs"
    reason: str = ""

    def __str__(self) -> str:
        before, after = _around(self.before, self.after)
        why = f" ({self.reason})" if self.reason else ""
        return f"{self.kind:8}  {self.part}  {self.name}  {self.field or 'all'}: {before} → {after}{why}"


@dataclass(frozen=True)
class Reason:
    """Why differences in some fields of some answers are wanted; names are patterns such as ``*-tiny-*``."""

    name: str
    reason: str
    field: str = "*"

    def covers(self, difference: Difference) -> bool:
        """Whether this is the reason for a difference."""
        return fnmatchcase(f"{difference.part} {difference.name}", self.name) and fnmatchcase(
            difference.field, self.field
        )


def read_reasons(path: Path) -> list[Reason]:
    """The reasons of a file; none if it is absent."""
    if not path.exists():
        return []
    return [Reason(**each) for each in tomllib.loads(path.read_text(encoding="utf-8")).get("accepted", [])]


def compare(
    part: str, before: Mapping[str, Any], after: Mapping[str, Any], reasons: Iterable[Reason] = ()
) -> Iterator[Difference]:
    """Every field that differs."""
    known = list(reasons)
    for name in {**before, **after}:
        one, other = before.get(name, MISSING), after.get(name, MISSING)
        kind: Kind = "tie" if tied(one, other) else "differs"
        for field, old, new in fields(one, other):
            found = Difference(part, name, field, old, new, kind)
            why = next((each.reason for each in known if each.covers(found)), None)
            yield found if why is None else Difference(part, name, field, old, new, "accepted", why)


def fields(before: Any, after: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The innermost fields in which two pieces of plain data differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in {**before, **after}:
            yield from fields(before.get(name, MISSING), after.get(name, MISSING), f"{path}.{name}" if path else name)
    elif isinstance(before, list) and isinstance(after, list):
        for i, (one, other) in enumerate(zip_longest(before, after, fillvalue=MISSING)):
            yield from fields(one, other, f"{path}[{i}]")
    elif _text(before) != _text(after):
        yield path, before, after


def tied(before: Any, after: Any) -> bool:
    """Whether two answers differ, but only because another plan of the same cost was taken.

    Of several plans, those before the first difference are the same, and that one costs the same: which plans come
    after may depend on it.
    """
    if isinstance(before, list) and isinstance(after, list):
        pairs = ((one, other) for one, other in zip(before, after, strict=False) if _text(one) != _text(other))
        return any(tied(one, other) for one, other in list(pairs)[:1])
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return False
    if isinstance(before.get("body"), dict):
        return before["status"] == after["status"] and tied(before["body"], after.get("body"))
    if isinstance(before.get("plans"), list):
        return tied(before["plans"], after.get("plans"))
    plans = [_plan(before), _plan(after)]
    costs = [_cost(before), _cost(after)]
    if before.get("status") != after.get("status") or None in costs or None in plans or plans[0] == plans[1]:
        return False
    return isclose(costs[0], costs[1], rel_tol=ROUNDING)


def _cost(answer: dict[str, Any]) -> Any:
    cost = answer.get("cost")
    return cost.get("value") if isinstance(cost, dict) else cost


def _plan(answer: dict[str, Any]) -> str | None:
    """What an answer changes: options of a problem, or features with their values."""
    if "choice" in answer:
        return _text(answer["choice"])
    if "changes" in answer:
        return _text([[each.get(key) for key in ("feature", "mode", "after", "amount")] for each in answer["changes"]])
    return None


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _around(before: Any, after: Any) -> tuple[str, str]:
    """Two values as short texts; of long ones what is around the first difference."""
    one, other = (value if isinstance(value, str) else _text(value) for value in (before, after))
    same = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    start = max(0, same - SHOWN // 3) if max(len(one), len(other)) > SHOWN else 0
    short = []
    for text in (one, other):
        cut = text[start : start + SHOWN].replace("\n", "⏎")
        short.append(f"{'…' if start else ''}{cut}{'…' if start + SHOWN < len(text) else ''}")
    return short[0], short[1]
