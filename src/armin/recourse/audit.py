"""The last check: an action against its schema, in the user's own units, by code that shares nothing with the grid."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from armin.errors import AuditError, DataError
from armin.schema import Feature, Schema
from armin.schema.values import interval

__all__ = ["check_action"]


def check_action(
    schema: Schema,
    row: NDArray[np.float64],
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    *,
    max_changes: int | None,
    locked: Collection[str] = (),
) -> None:
    """Refuse an action that breaks a rule for any candidate.

    Parameters
    ----------
    schema : the rules
    row : codes of the row (D,), NaN for blanks
    before, after : codes of the candidates (N, D) before and after the action
    max_changes : how many features may change
    locked : features that may not change, on top of the schema

    Raises
    ------
    AuditError
        With the feature, the rule and the values.
    """
    # a blank that stays blank is no change
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    made = {one.position for one in schema.derived}
    changed = [i for i in np.flatnonzero(~same.all(axis=0)).tolist() if i not in made]
    for one in schema.derived:
        follows = one.of(after)
        moved = not set(changed).isdisjoint(one.parts.values()) or not same[:, one.position].all()
        if moved and not np.array_equal(after[:, one.position], follows, equal_nan=True):
            name = schema.names[one.position]
            raise AuditError(f"{name!r} must be {one.formula.text} after the action, and is not.")
    if max_changes is not None and len(changed) > max_changes:
        names = ", ".join(schema.names[i] for i in changed)
        raise AuditError(f"At most {max_changes} features may change; the action changes {names}.")
    for i in changed:
        feature = schema.features[i]
        if feature.name in locked:
            raise AuditError(f"{feature.name!r} is locked, but the action changes it.")
        _check_feature(feature, before[:, i], after[:, i])
        if math.isnan(row[i]) and feature.blank_mode == "freeze":
            raise AuditError(f"The blank {feature.name!r} is frozen, but the action changes it.")

    for rule in schema.constraints:
        if not rule.allows(schema, before, after).all():
            raise AuditError(f"The action breaks a rule: {rule.message(schema)}")


def _check_feature(feature: Feature, before: NDArray[np.float64], after: NDArray[np.float64]) -> None:
    if feature.direction == "fixed":
        raise AuditError(f"{feature.name!r} is immutable, but the action changes it.")
    moved = after - before
    if feature.direction == "increase" and np.any(moved < 0):
        raise AuditError(f"{feature.name!r} may only increase, but the action lowers it by {-moved.min():g}.")
    if feature.direction == "decrease" and np.any(moved > 0):
        raise AuditError(f"{feature.name!r} may only decrease, but the action raises it by {moved.max():g}.")
    for code in sorted(set(after[moved != 0].tolist())):
        if feature.is_beyond(code):
            span = interval(feature.low_code, feature.high_code)
            raise AuditError(f"{feature.name!r} was only seen in {span}, but the action moves it to {code:g}.")
    for code in sorted(set(after.tolist())):
        # a round trip through the user's value: legal kind, bounds, category
        try:
            back = feature.code(feature.value(code))
        except (DataError, LookupError, OverflowError) as error:
            raise AuditError(f"{feature.name!r} cannot hold {code:g}: {error}") from None
        if back != code:
            raise AuditError(f"{feature.name!r} cannot hold {code:g} exactly.")
