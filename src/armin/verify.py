"""Check what an answer claims without the library that made it: ``python verify.py evidence.json [FINGERPRINT]``.

This file needs NumPy and nothing else, and shares no code with the search. From the evidence that
``explainer.evidence(row)`` writes, it works out anew: the fingerprint of the model, that the completions agree with the
row, that each change is one that the schema allows, what the plan costs, which completions the model accepts after it,
and that the claim fits the numbers. What it takes as given: the bound, whose proof is a search; how the completions
were drawn; and, where the model stands behind transformers, what they make of a value, but for its being the same
wherever the value is the same. Give it the fingerprint that the owner of the model has published: evidence that brings
a model of its own says nothing about theirs.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from typing import Any

import numpy as np

CLOSE = 1e-9


class ForgedError(ValueError):
    """The evidence does not hold."""


def verify(evidence: dict[str, Any], fingerprint: str | None = None) -> None:
    """Raise :class:`ForgedError` unless all that can be checked holds.

    Parameters
    ----------
    evidence : what ``explainer.evidence(row)`` returned, or the same from JSON
    fingerprint : of the model that it should be about; None to take the evidence's own word
    """
    try:
        _verify(evidence, fingerprint)
    except ForgedError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, ZeroDivisionError) as error:
        raise ForgedError(f"The evidence is damaged: {type(error).__name__}: {error}.") from error


def fingerprint_of(evidence: dict[str, Any]) -> str:
    """SHA-256 of all that is the same for everybody: the model, its columns, their prices and what may change."""
    shared = {name: evidence[name] for name in ("model", "features", "owners", "direct", "max_changes")}
    shared["cost"] = {name: evidence["cost"][name] for name in ("kind", "base")}
    text = json.dumps(shared, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _need(holds: Any, message: str) -> None:
    if not bool(holds):
        raise ForgedError(message)


def _near(one: float, other: float) -> bool:
    return math.isfinite(one) and abs(one - other) <= CLOSE * max(1.0, abs(one), abs(other))


def _verify(evidence: dict[str, Any], fingerprint: str | None) -> None:
    _need(evidence["format"] == "armin.evidence/1", "The format is not armin.evidence/1.")
    found = fingerprint_of(evidence)
    _need(evidence["fingerprint"] == found, "The model is not the one that the fingerprint names.")
    _need(fingerprint is None or fingerprint == found, "The model is not the one that was asked about.")
    features, row = evidence["features"], np.array(evidence["row"], dtype=np.float64)
    before = np.array(evidence["candidates"], dtype=np.float64)
    weights = np.array(evidence["weights"], dtype=np.float64)
    n, width = before.shape
    _need(row.shape == (len(features),) == (width,) and weights.shape == (n,), "The row and its completions differ.")
    _need(np.isfinite(before).all() and (weights > 0).all(), "A completion has no value or no weight.")
    known = ~np.isnan(row)
    _need((before[:, known] == row[known]).all(), "A completion contradicts the row.")
    _need(known.all() or n >= 1, "There is no completion.")
    for p in np.flatnonzero(~known):
        low, high = features[p]["limits"]
        _need(((before[:, p] >= low) & (before[:, p] <= high)).all(), "A completion is out of its limits.")
    after, moved = _after(evidence, features, row, before)
    _check_cost(evidence, features, before, moved, weights)
    _check_inputs(evidence, features, before, after)
    accepted = _accepts(evidence["model"], np.array(evidence["inputs_after"], dtype=np.float64))
    _check_claim(evidence, weights, accepted)


def _after(
    evidence: dict[str, Any], features: list[dict[str, Any]], row: np.ndarray, before: np.ndarray
) -> tuple[np.ndarray, list[tuple[int, np.ndarray]]]:
    """The completions after the plan, and for each change its feature and the new values."""
    after, moved = before.copy(), list[tuple[int, np.ndarray]]()
    names = [feature["name"] for feature in features]
    most = evidence["max_changes"]
    _need(most is None or len(evidence["changes"]) <= most, "The plan changes more than it may.")
    for change in evidence["changes"]:
        p = names.index(change["feature"])
        feature, old, target = features[p], before[:, p], float(change["target"])
        blank = math.isnan(row[p])
        _need(p not in [d for d, _ in moved], "A feature changes twice.")
        _need(feature["direction"] != "fixed" and feature["name"] not in evidence["locked"], "A fixed feature changes.")
        _need(math.isfinite(target), "A target is no number.")
        if change["mode"] == "shift":
            _need(blank, "A value that was given moves by an amount.")
            new = old + target
        elif change["mode"] == "reach":
            _need(blank, "A value that was given is taken for a blank.")
            sense = change["sense"]
            _need(sense in (-1, 0, 1), "A sense is not -1, 0 or 1.")
            new = np.maximum(old, target) if sense > 0 else np.minimum(old, target) if sense < 0 else 0 * old + target
        else:
            _need(change["mode"] == "observed" and not blank, "A blank is taken for a value that was given.")
            new = 0 * old + target
        _legal(feature, old, new)
        after[:, p] = new
        moved.append((p, new))
    return after, moved


def _legal(feature: dict[str, Any], old: np.ndarray, new: np.ndarray) -> None:
    """Each value that changes goes the allowed way, to a value that the schema has."""
    way = {"increase": 1.0, "decrease": -1.0}.get(feature["direction"], 0.0)
    _need((way * (new - old) >= 0).all(), f"{feature['name']!r} goes the wrong way.")
    changed = new[new != old]
    _need(changed.size, f"{feature['name']!r} does not change.")
    _need(((changed >= feature["low"]) & (changed <= feature["high"])).all(), f"{feature['name']!r} leaves its bounds.")
    if feature["kind"] != "continuous":
        _need((changed == np.round(changed)).all(), f"{feature['name']!r} is no whole number.")


def _check_cost(
    evidence: dict[str, Any], features: list[dict[str, Any]], before: np.ndarray, moved: list[Any], weights: np.ndarray
) -> None:
    """The mean over the completions of what each change costs, added up or the largest."""
    kind, parts = evidence["cost"]["kind"], []
    for p, new in moved:
        each = np.where(new == before[:, p], 0.0, _prices(evidence["cost"], features[p], before[:, p], new))
        parts.append(float(weights @ each / weights.sum()))
    total = (max(parts, default=0.0) if kind == "mps" else sum(parts)) if parts else 0.0
    total = math.sqrt(total) if kind == "l2" else total
    _need(_near(float(evidence["cost"]["value"]), total), "The plan costs something else.")


def _prices(cost: dict[str, Any], feature: dict[str, Any], old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """What a change costs each completion."""
    kind, known, factor = cost["kind"], feature["distribution"], float(feature["difficulty"])
    categories = feature["kind"] == "categorical"
    share = np.array(known["shares"])[new.astype(int)] if categories else np.zeros(0)
    if kind == "changes":
        found = np.ones(new.size)
    elif kind in ("l1", "l2"):
        found = 1 / np.sqrt(share * (1 - share)) if categories else np.abs(new - old) / known["spread"]
    elif categories:
        found = np.log((1 + share) / share) if kind == "tlps" else np.full(new.size, 0.5)
    else:
        start, end = (_percentile(known, feature, values) for values in (old, new))
        found = np.abs(np.log((1 - end) / (1 - start))) if kind == "tlps" else np.abs(end - start)
    if kind == "tlps" and cost["base"] is not None:
        found = found / math.log(cost["base"])
    return np.asarray((factor * found) ** 2 if kind == "l2" else factor * found)


def _percentile(known: dict[str, Any], feature: dict[str, Any], codes: np.ndarray) -> np.ndarray:
    inside = np.interp(codes, known["levels"], known["ranks"], left=0.0, right=1.0)
    low, high = feature["low"], feature["high"]
    place = np.clip((codes - low) / (high - low), 0, 1) if high > low else np.full(codes.shape, 0.5)
    return np.asarray((known["n"] * inside + 0.5 * place + 0.25) / (known["n"] + 1))


def _check_inputs(
    evidence: dict[str, Any], features: list[dict[str, Any]], before: np.ndarray, after: np.ndarray
) -> None:
    """One value of a feature is one set of model inputs, before the plan and after it."""
    codes = np.concatenate([before, after])
    inputs = np.concatenate([np.array(evidence["inputs_before"]), np.array(evidence["inputs_after"])]).astype(float)
    owners = evidence["owners"]
    _need(inputs.shape == (codes.shape[0], len(owners)) == (2 * len(before), evidence["model"]["n_inputs"]),
          "The inputs are not those of the model.")  # fmt: skip
    for column, owner in enumerate(owners):
        if owner < 0:
            _need((inputs[:, column] == inputs[0, column]).all(), "An input that nothing stands behind changes.")
            continue
        seen: dict[float, float] = {}
        for code, value in zip(codes[:, owner].tolist(), inputs[:, column].tolist(), strict=True):
            _need(seen.setdefault(code, value) == value, f"{features[owner]['name']!r} has two inputs for one value.")
        if evidence["direct"]:
            _need((inputs[:, column] == codes[:, owner]).all(), f"{features[owner]['name']!r} is not its own input.")


def _accepts(model: dict[str, Any], inputs: np.ndarray) -> np.ndarray:
    """Which rows the model accepts."""
    if model["kind"] == "linear":
        weights = np.array(model["weights"])
        outputs = inputs @ weights.T + np.array(model["intercept"])
        room = CLOSE * (np.abs(inputs) @ np.abs(weights).T + 1.0).max(axis=1)
    else:
        _need(model["kind"] == "trees", "The model is neither linear nor a tree ensemble.")
        outputs, room = _trees(model, inputs), np.zeros(len(inputs))
    if "cut" in model:
        return np.asarray(outputs[:, 0] >= model["cut"] - room)
    wanted = np.isin(np.arange(outputs.shape[1]), model["accepted"])
    if not room.any():
        return np.asarray(wanted[np.argmax(outputs, axis=1)])
    return np.asarray(outputs[:, wanted].max(axis=1) >= outputs[:, ~wanted].max(axis=1, initial=-np.inf) - room)


def _trees(model: dict[str, Any], inputs: np.ndarray) -> np.ndarray:
    """The sum of the leaves, in the order and precision of the trees."""
    with np.errstate(over="ignore"):
        seen = inputs.astype(model["input_precision"]).astype(np.float64)
    value = np.array(model["value"]).astype(model["precision"])
    base = np.array(model["base"]).astype(model["precision"])
    feature, threshold = np.array(model["feature"]), np.array(model["threshold"], dtype=np.float64)
    left, right, nan_left = (np.array(model[name]) for name in ("left", "right", "nan_left"))
    sets, codes = model["category_set"], model["category_left"]
    total = np.repeat((0 * base if model["base_last"] else base)[None, :], len(inputs), axis=0)
    rows = np.arange(len(inputs))
    for root in model["roots"]:
        node = np.full(len(inputs), root)
        for _ in range(len(feature)):
            if (feature[node] < 0).all():
                break
            x = seen[rows, np.maximum(feature[node], 0)]
            with np.errstate(invalid="ignore"):
                goes = x < threshold[node] if model["strict"] else x <= threshold[node]
            if sets is not None:
                table = np.array(codes)
                which = np.array(sets)[node]
                good = np.isfinite(x) & (x >= 0) & (x < table.shape[1]) & (np.floor(x) == x)
                inside = table[np.maximum(which, 0), np.where(good, x, 0).astype(int)] & good
                goes = np.where(which >= 0, inside, goes)
            goes = np.where(np.isnan(x), nan_left[node], goes)
            node = np.where(feature[node] < 0, node, np.where(goes, left[node], right[node]))
        total += value[node]
    total = total + base if model["base_last"] else total
    return np.asarray((total / np.dtype(model["precision"]).type(model["divisor"])).astype(np.float64))


def _check_claim(evidence: dict[str, Any], weights: np.ndarray, accepted: np.ndarray) -> None:
    """The share that is stated, and what is said of cheaper plans."""
    share, claim = evidence["share"], evidence["claim"]
    weight = float(weights[accepted].sum())
    _need(_near(float(share["accepted"]), weight), "The model accepts another share of the completions.")
    _need(_near(float(share["of"]), float(weights.sum())), "The weights add up to something else.")
    asked = share["asked"]
    _need(asked is None or weight >= asked * weights.sum() * (1 - CLOSE), "Fewer are accepted than was asked for.")
    cost, bound = float(evidence["cost"]["value"]), float(claim["bound"])
    _need(0 <= bound <= cost * (1 + CLOSE) + 1e-12, "The bound is above the cost of the plan.")
    within = claim["kind"] == "within" and cost <= bound * (1 + float(claim["tolerance"])) * (1 + CLOSE)
    exact = claim["kind"] == "cheapest" and cost <= bound * (1 + CLOSE) + 1e-12
    _need(within or exact or claim["kind"] in ("list", "none"), "The claim does not fit the bound.")


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        verify(json.load(file), sys.argv[2] if len(sys.argv) > 2 else None)
    print("The evidence holds.")  # noqa: T201
