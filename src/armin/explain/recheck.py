"""A plan that was made by another model, or under another schema, judged by this one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from armin.arrays import FloatArray
from armin.errors import AuditError, DataError, SchemaError
from armin.explain.answer import fresh_validity
from armin.explain.draw import Sample, candidates_of, fresh_of
from armin.explain.fitted import Fitted
from armin.explain.world import World, find_world
from armin.recourse import Recourse, Validity
from armin.recourse.audit import check_action
from armin.recourse.origin import Origin
from armin.recourse.recheck import Recheck, Verdict

__all__ = ["recheck"]


def recheck(fitted: Fitted, plan: Recourse, codes: FloatArray, locked: Collection[str] = ()) -> Recheck:
    """Judge a plan by fresh completions of the row, as an answer of this explainer would be.

    Parameters
    ----------
    fitted : who judges
    plan : the plan
    codes : the row (D,) as it was submitted
    locked : features that this person cannot change
    """
    known = plan.certificate.origin if plan.certificate is not None else None
    asked = plan.confidence if plan.confidence is not None else plan.share
    result = Recheck(
        "no_plan", asked, plan.share,
        same_model=_same(known, fitted.origin, "model"), same_schema=_same(known, fitted.origin, "schema"),
    )  # fmt: skip
    if not plan.found or asked is None:
        return result
    schema, world = fitted.schema, find_world(fitted, codes)
    try:
        here = plan.under(schema)
    except (DataError, SchemaError) as error:
        return replace(result, verdict="does_not_fit", why=str(error))
    sample = fresh_of(fitted, world, codes) or candidates_of(fitted, world, codes)
    after = here.apply_codes(schema, sample.values)
    try:
        check_action(schema, codes, sample.values, after, max_changes=None, locked=locked)
    except AuditError as error:
        return replace(result, verdict="not_allowed", why=str(error))
    as_is, now = _as_is(fitted, world, codes), _now(fitted, world, here, codes, sample, after)
    enough = asked - 1e-9  # shares are sums of weights
    verdict: Verdict = "holds" if now.share >= enough else "falls_short"
    return replace(result, verdict="accepted" if as_is.share >= enough else verdict, now=now, as_is=as_is)


def _now(
    fitted: Fitted, world: World, plan: Recourse, codes: FloatArray, sample: Sample, after: FloatArray
) -> Validity:
    """For how much the plan works: by the completions, by the rows that they submit where those are judged, or both."""
    works = np.ones(sample.weights.size, dtype=bool)
    if world.blanks and world.reapply != "disclosed":
        works &= fitted.decision.accepts(plan.submitted(fitted.schema, codes, sample.values))
        if world.reapply == "blank" and all(change.mode != "reach" for change in plan.changes):
            return Validity(float(works.all()), 1.0)
    if world.reapply != "blank":
        works &= fitted.decision.accepts(after)
    return fresh_validity(sample, works)


def _as_is(fitted: Fitted, world: World, codes: FloatArray) -> Validity:
    """How much is accepted if nothing changes: of all completions, as nothing says that this model rejected anybody."""
    if not world.blanks or world.accepted:
        accepted = world.accepted or bool(fitted.decision.accepts(codes[None, :])[0])
        return Validity(float(accepted), 1.0)
    if world.reapply == "blank":
        return Validity(float(bool(world.submitted)), 1.0)
    open_ = replace(world, decision=None)
    found = fresh_of(fitted, open_, codes) or candidates_of(fitted, open_, codes)
    return fresh_validity(found, fitted.decision.accepts(found.values))


def _same(one: Origin | None, other: Origin | None, what: str) -> bool | None:
    first, second = (None if origin is None else getattr(origin, what) for origin in (one, other))
    return None if first is None or second is None else bool(first == second)
