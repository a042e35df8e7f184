"""An answer with all that :mod:`armin.verify` needs to check it without this library."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from armin.arrays import FloatArray
from armin.costs import BaseCost, Cost, MaxPercentileShift, NumberOfChanges, TotalLogPercentileShift, WeightedL1
from armin.costs.weighted import WeightedL2
from armin.errors import ModelError, ParameterError
from armin.explain.draw import candidates_of
from armin.explain.fitted import Fitted
from armin.explain.world import find_world
from armin.models.encoder import Encoder
from armin.models.kinds import Above, Among, LinearModel, TreeEnsemble
from armin.recourse import Recourse
from armin.schema import Schema
from armin.verify import fingerprint_of

__all__ = ["evidence_of"]

KINDS: dict[type, str] = {
    TotalLogPercentileShift: "tlps", MaxPercentileShift: "mps", WeightedL1: "l1", WeightedL2: "l2",
    NumberOfChanges: "changes",
}  # fmt: skip


def evidence_of(fitted: Fitted, plan: Recourse, codes: FloatArray, locked: Collection[str]) -> dict[str, Any]:
    """The evidence for a plan of one row, as plain data; ``docs/actions.md`` says what it holds."""
    cost = _cost(fitted.cost)
    encoder = fitted.read.encode
    if not isinstance(encoder, Encoder) or fitted.native:
        raise ModelError("Evidence can be written for linear models and trees whose inputs have one column each.")
    if not plan.changes or plan.world.reapply != "disclosed":
        raise ParameterError("Evidence is of a plan, judged once all values are known. This answer has none.")
    schema, model = fitted.schema, _model(fitted)
    sample = candidates_of(fitted, find_world(fitted, codes), codes)
    after = plan.apply_codes(schema, sample.values)
    both = encoder(np.concatenate([sample.values, after]))
    owners = fitted.read.owners.tolist()
    direct = all(owner >= 0 for owner in owners) and bool(
        np.array_equal(both, np.concatenate([sample.values, after])[:, owners], equal_nan=True)
    )
    assert plan.validity is not None  # noqa: S101  there is a plan
    evidence = {
        "format": "armin.evidence/1",
        "model": model,
        "features": [_feature(schema, fitted.cost, p) for p in range(len(schema))],
        "row": [None if math.isnan(code) else code for code in codes.tolist()],
        "candidates": sample.values.tolist(),
        "weights": sample.weights.tolist(),
        "owners": owners,
        "direct": direct,
        "inputs_before": both[: len(after)].tolist(),
        "inputs_after": both[len(after) :].tolist(),
        "max_changes": fitted.settings.max_changes,
        "locked": sorted(locked),
        "changes": [
            {
                "feature": change.feature.name,
                "mode": change.mode,
                "target": change.amount if change.mode == "shift" else change.feature.code(change.after),
                "sense": change.sense,
                "sentence": str(change),
            }
            for change in plan.changes
        ],
        "cost": cost | {"value": plan.cost},
        "share": {
            "accepted": plan.validity.accepted, "of": plan.validity.of,
            "asked": plan.confidence if plan.status.value == "optimal" and not plan.falls_short else None,
        },
        "claim": {
            "kind": plan.claim if plan.outcome == "plan" else "none", "bound": plan.bound, "tolerance": plan.tolerance,
        },
        "certificate": None if plan.certificate is None else plan.certificate.to_dict(),
    }  # fmt: skip
    return evidence | {"fingerprint": fingerprint_of(evidence)}


def _cost(cost: Cost) -> dict[str, Any]:
    kind = KINDS.get(type(cost))
    if kind is None:
        names = ", ".join(KINDS.values())
        raise ParameterError(f"Evidence can be written for the costs {names}. Got {type(cost).__name__}.")
    return {"kind": kind, "base": getattr(cost, "base", None)}


def _feature(schema: Schema, cost: Cost, p: int) -> dict[str, Any]:
    """What a feature may be, and how its values are spread where that is priced."""
    feature = schema.features[p]
    known: dict[str, Any] = {}
    if feature.actionable and isinstance(cost, BaseCost):
        one = cost.distributions_[p]
        known = {
            "levels": one.levels.tolist(), "ranks": one.ranks.tolist(), "n": one.n, "shares": one.shares.tolist(),
            "spread": one.spread,
        }  # fmt: skip
    return {
        "name": feature.name, "kind": feature.kind, "low": feature.low_code, "high": feature.high_code,
        "limits": [feature.least_code, feature.most_code], "direction": feature.direction,
        "difficulty": feature.difficulty, "distribution": known,
    }  # fmt: skip


def _model(fitted: Fitted) -> dict[str, Any]:
    """The model as plain data."""
    model = fitted.read.model
    if not isinstance(model, LinearModel | TreeEnsemble) or type(model.decision) not in (Above, Among):
        raise ModelError(f"Evidence can be written for linear models and trees. Got a {type(model).__name__}.")
    decision: dict[str, Any] = {"n_inputs": model.n_inputs}
    if isinstance(model.decision, Above):
        decision["cut"] = float(model.decision.cut)
    else:
        decision["accepted"] = [int(c) for c in model.decision.accepted]
    if isinstance(model, LinearModel):
        return {"kind": "linear", "weights": model.weights.tolist(), "intercept": model.intercept.tolist()} | decision
    arrays = ("roots", "feature", "threshold", "left", "right", "nan_left", "value", "base")
    tables = ("category_set", "category_left")
    plain = ("strict", "input_precision", "precision", "divisor", "base_last")
    return (
        {"kind": "trees"}
        | {name: np.asarray(getattr(model, name)).tolist() for name in arrays}
        | {name: None if getattr(model, name) is None else np.asarray(getattr(model, name)).tolist() for name in tables}
        | {name: getattr(model, name) for name in plain}
        | decision
    )
