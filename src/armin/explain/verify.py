"""The surrogate answers first, and the user's model has the last word.

The surrogate is the model as arrays. It stands in for the model while rows are worked on, and keeps what it was asked;
then the model is asked about all of it in as few calls as can be. Where it disagrees, the work is done again by the
model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

from armin.explain.fitted import Fitted
from armin.explain.memory import SurrogateJudge, mismatched

__all__ = ["SurrogateMismatch", "solve_all_then_verify", "solve_then_verify"]

Found = TypeVar("Found")
Task = tuple[Fitted, Callable[[Fitted], Found]]


class SurrogateMismatch(Exception):  # noqa: N818  no error: the work is done again
    """The model disagrees with its surrogate about a completion or a row as it stands."""


def solve_then_verify(fitted: Fitted, work: Callable[[Fitted], Found]) -> Found:
    """Do the work with the surrogate; where the model disagrees, again with the model.

    Each time, all solves of the work share one time limit.
    """

    def timed(one: Fitted) -> Found:
        return work(one.varied(solving=one.settings.solving.metered()))

    if fitted.surrogate is not None:
        return timed(fitted)  # whoever put it there asks the model
    (found,), judges = _by_surrogate([(fitted, timed)])
    if found is not None and not mismatched(judges)[0]:
        return found
    try:
        return timed(fitted)
    except SurrogateMismatch:
        return timed(fitted.varied(trusts=False))


def solve_all_then_verify(tasks: Iterable[Task[Found]]) -> list[Found]:
    """Several pieces of work, each of which verifies by itself too; the model is asked about all of them at once."""
    tasks = list(tasks)
    found, judges = _by_surrogate(tasks)
    try:
        wrong = mismatched(judges)
    except Exception:  # about which of them, the model does not say
        wrong = np.ones(len(tasks), dtype=bool)
    return [
        work(fitted) if one is None or bad else one
        for one, bad, (fitted, work) in zip(found, wrong, tasks, strict=True)
    ]


def _by_surrogate(tasks: list[Task[Found]]) -> tuple[list[Found | None], list[SurrogateJudge | None]]:
    """What is found with the surrogate, None where there is none or it errs; and the surrogates, to be verified."""
    found: list[Found | None] = []
    judges: list[SurrogateJudge | None] = []
    for fitted, work in tasks:
        one = fitted.by_surrogate() if fitted.uses_surrogate else None
        try:
            found.append(None if one is None else work(one))
        except SurrogateMismatch:  # what it says about one row may depend on those beside it, by a rounding
            found.append(None)
        judges.append(None if one is None else one.surrogate)
    return found, judges
