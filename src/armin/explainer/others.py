"""Other ways that are other ways: none contains another, and one that is dearer should be surer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from armin.recourse import Recourse
from armin.words import Message

__all__ = ["choose_others", "contains"]


def choose_others(first: Recourse, pool: Sequence[Recourse], count: int) -> tuple[Recourse, ...]:
    """The first plan and up to ``count - 1`` others from ``pool``, cheapest first.

    A plan that changes all that another one changes, and perhaps more, is not another way. Plans that are surer than
    every cheaper one come first; if there are too few, plans that are dearer and no surer fill up, and say so.
    """
    chosen = [first]
    ordered = sorted(pool, key=lambda plan: plan.cost or 0.0)
    for strict in (True, False):
        for plan in ordered:
            if len(chosen) == count or _short(plan) or not _differs(plan, chosen):
                continue
            if not (strict and _dominated(plan, chosen)):
                chosen.append(plan)
    chosen = [first, *sorted(chosen[1:], key=lambda plan: plan.cost or 0.0)]
    told = []
    for i, plan in enumerate(chosen):
        noted = plan
        if i and _dominated(plan, chosen[:i]):
            noted = replace(plan, notes=(*plan.notes, Message("others.no_surer")))
        told.append(noted.ranked(i + 1))
    return tuple(told)


def _differs(plan: Recourse, others: Sequence[Recourse]) -> bool:
    """Whether a plan changes another set of features than each other one, and none of the two does all that the other
    does.
    """
    mine = _features(plan)
    return all(mine != _features(o) and not contains(plan, o) and not contains(o, plan) for o in others)


def _features(plan: Recourse) -> frozenset[str]:
    return frozenset(change.feature.name for change in plan.changes)


def contains(plan: Recourse, other: Recourse) -> bool:
    """Whether ``plan`` does all that ``other`` does: each of its changes, at least as far."""
    mine = {change.feature.name: change for change in plan.changes}
    return all(
        change.feature.name in mine and mine[change.feature.name].cost >= change.cost * (1 - 1e-9)
        for change in other.changes
    )


def _short(plan: Recourse) -> bool:
    """Whether fresh completions say that a plan does not reach what was asked for."""
    return plan.confidence is not None and plan.share is not None and plan.share < plan.confidence - 1e-9


def _dominated(plan: Recourse, others: Sequence[Recourse]) -> bool:
    """Whether another plan costs no more and is as sure."""
    share = plan.share or 0.0
    return any((other.cost or 0.0) <= (plan.cost or 0.0) and (other.share or 0.0) >= share for other in others)
