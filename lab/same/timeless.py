"""Answers without what differs from run to run: how long they took, and random numbers to quote."""

from __future__ import annotations

from typing import Any

MEASURED = frozenset(("seconds", "sampling", "building", "solving", "steps", "nodes", "reference"))
"""Times, nodes of a search (its own business), and references."""


def timeless(value: Any) -> Any:
    """Plain data without what is measured."""
    if isinstance(value, dict):
        return {name: timeless(part) for name, part in value.items() if name not in MEASURED}
    if isinstance(value, list | tuple):
        return [timeless(part) for part in value]
    return value.item() if hasattr(value, "item") else value
