"""Other ways that are other ways: none contains another, and one that is dearer should be surer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from armin.recourse import Recourse
from armin.words import Message

__all__ = ["choose_others"]


def choose_others(first: Recourse, pool: Sequence[Recourse], count: int) -> tuple[Recourse, ...]:
    """The first plan and up to ``count - 1`` others from ``pool``, cheapest first.

    A plan that changes all that another one changes, and perhaps more, is not another way. Plans that are surer than
    every cheaper one come first; if there are too few, plans that are dearer and no surer fill up, and say so.
    """
    chosen = [first]
    for plan in sorted(pool, key=lambda plan: plan.cost or 0.0):
        if len(chosen) < count and _differs(plan, chosen) and not _dominated(plan, chosen):
            chosen.append(plan)
    for plan in sorted(pool, key=lambda plan: plan.cost or 0.0):
        if len(chosen) < count and _differs(plan, chosen):
            chosen.append(plan)
    chosen = [first, *sorted(chosen[1:], key=lambda plan: plan.cost or 0.0)]
    told = []
    for i, plan in enumerate(chosen):
        noted = plan
        if i and _dominated(plan, chosen[:i]):
            noted = replace(plan, notes=(*plan.notes, Message("others.no_surer")))
        told.append(noted.ranked(i + 1))
    return tuple(told)


def _features(plan: Recourse) -> frozenset[str]:
    return frozenset(change.feature.name for change in plan.changes)


def _differs(plan: Recourse, others: Sequence[Recourse]) -> bool:
    mine = _features(plan)
    return all(not mine <= _features(other) and not mine >= _features(other) for other in others)


def _dominated(plan: Recourse, others: Sequence[Recourse]) -> bool:
    """Whether another plan costs no more and is as sure."""
    share = plan.share or 0.0
    return any((other.cost or 0.0) <= (plan.cost or 0.0) and (other.share or 0.0) >= share for other in others)
