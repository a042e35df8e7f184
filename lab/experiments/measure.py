"""What an action is worth for the person as they really are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor

from armin import Schema
from armin.sampling import MeanImputer, sample_conditioned
from lab.experiments.methods import Context, Outcome

__all__ = ["Judge", "Moves", "Plausibility", "agreement", "moves", "on_completions", "on_person", "tidy", "total_cost"]

FloatArray = NDArray[np.float64]
Moves = dict[str, float]
FRESH = 200
"""Fresh completions of each judge."""
SHOWN = 20
"""Completions whose outcome is scored for plausibility."""
PLAUSIBLE_ROWS = 4000


def tidy(value: float | None) -> float | None:
    """A number without floating-point dirt in its last digits.

    >>> tidy(0.1 + 0.2)
    0.3
    """
    return None if value is None else float(f"{float(value):.10g}")


def moves(schema: Schema, before: FloatArray, after: FloatArray) -> Moves:
    """Which way each feature goes: its sign, or for a category the value it goes to."""
    changed = {}
    for feature, a, b in zip(schema, before, after, strict=True):
        if a != b:
            changed[feature.name] = float(b) if feature.kind == "categorical" else float(np.sign(b - a))
    return changed


def agreement(first: Moves, second: Moves) -> float:
    """The sign agreement score of two actions.

    >>> agreement({"a": 1.0, "b": -1.0}, {"a": 1.0})
    0.5
    >>> agreement({}, {})
    1.0
    """
    if not first and not second:
        return 1.0
    same = sum(second.get(name) == way for name, way in first.items())
    return same / max(len(first), len(second))


def total_cost(context: Context, before: FloatArray, after: FloatArray) -> float:
    """What it costs to go from one row of codes to another."""
    cost = context.cost
    parts = [float(cost.table(i, before[i : i + 1], after[i : i + 1, None])[0, 0]) for i in range(before.size)]
    return cost.finish(max(parts) if cost.aggregate == "max" else sum(parts))


def on_person(context: Context, person: pd.DataFrame, outcome: Outcome, optimum: Moves | None) -> dict[str, Any]:
    """The measures of an action on the true, complete row."""
    nothing: dict[str, Any] = {"valid": False, "cost": None, "sign": None, "n_changes": None, "changes": []}
    if outcome.apply is None:
        return nothing
    schema = context.schema
    after = outcome.apply(person)
    old, new = schema.encode(person, clip=True)[0], schema.encode(after, clip=True)[0]
    made = moves(schema, old, new)
    return {
        "valid": bool(context.classifier.predict(after)[0] == context.desired),
        "cost": tidy(total_cost(context, old, new)),
        "sign": None if optimum is None else tidy(agreement(made, optimum)),
        "n_changes": len(made),
        "changes": [[name, *_shown(schema, name, old, new)] for name in made],
        **({} if outcome.legal is None else {"legal": bool(outcome.legal(old))}),
    }


def _shown(schema: Schema, name: str, old: FloatArray, new: FloatArray) -> tuple[str, str, str]:
    """Before, after, and the amount of a number's change, as texts."""
    feature, i = schema[name], schema.position(name)
    amount = f"{new[i] - old[i]:+.4g}" if feature.is_number else ""
    return feature.show(feature.value(float(old[i]))), feature.show(feature.value(float(new[i]))), amount


@dataclass(frozen=True, eq=False)
class Judge:
    """Fresh completions of one person, drawn by samplers, given the rejection."""

    by_sampler: dict[str, tuple[FloatArray, FloatArray]]

    @classmethod
    def of(cls, context: Context, row: pd.DataFrame, seed: int) -> Judge:
        schema = context.schema
        codes = schema.encode(row)[0]

        def accepts(values: FloatArray) -> NDArray[np.bool_]:
            frame = schema.decode(values, like=context.train)
            return np.asarray(context.classifier.predict(frame) == context.desired)

        found = {}
        for name in ("chained", "donors"):
            rng = np.random.default_rng([seed, len(name)])
            draws = sample_conditioned(context.sampler(name), codes, FRESH, rng, accepts).draws
            found[name] = (draws.values, draws.weights / draws.weights.sum())
        return cls(found)


def on_completions(context: Context, judge: Judge, outcome: Outcome) -> dict[str, Any]:
    """The measures of an action on fresh completions, where the true row is not known."""
    row: dict[str, Any] = {"valid": None, "cost": None, "sign": None, "n_changes": None, "changes": []}
    if outcome.apply is None:
        return {**row, "fresh": dict.fromkeys(judge.by_sampler)}
    schema, fresh, costs = context.schema, {}, []
    for name, (values, weights) in judge.by_sampler.items():
        after = outcome.apply(schema.decode(values, like=context.train))
        accepted = np.asarray(context.classifier.predict(after) == context.desired)
        fresh[name] = tidy(float(weights[accepted].sum()))
        new = schema.encode(after, clip=True)
        costs.append(np.mean([total_cost(context, a, b) for a, b in zip(values[:SHOWN], new[:SHOWN], strict=True)]))
    made = moves(schema, values[0], new[0])
    changes = [[n, *_shown(schema, n, values[0], new[0])] for n in made]
    return {**row, "fresh": fresh, "cost": tidy(float(np.mean(costs))), "n_changes": len(made), "changes": changes}


class Plausibility:
    """Isolation forest and local outlier factor of rows, learned from training rows; higher is more plausible."""

    def __init__(self, context: Context) -> None:
        self.schema = context.schema
        codes = context.codes[:PLAUSIBLE_ROWS]
        imputer = MeanImputer().fit(context.codes, context.schema)
        filled = np.array([imputer.impute(row) if np.isnan(row).any() else row for row in codes])
        self.scale = np.where(filled.std(axis=0) > 0, filled.std(axis=0), 1.0)
        design = self._design(filled)
        self.forest = IsolationForest(n_estimators=100, random_state=0).fit(design)
        self.factor = LocalOutlierFactor(n_neighbors=20, novelty=True).fit(design)

    def _design(self, codes: FloatArray) -> FloatArray:
        columns = []
        for i, feature in enumerate(self.schema):
            if feature.kind == "categorical":
                columns.append(np.eye(len(feature.categories))[codes[:, i].astype(int)])
            else:
                columns.append((codes[:, i] / self.scale[i])[:, None])
        return np.concatenate(columns, axis=1)

    def scores(self, codes: FloatArray) -> tuple[float, float]:
        """The mean scores of rows of codes."""
        design = self._design(codes)
        return float(self.forest.score_samples(design).mean()), float(self.factor.score_samples(design).mean())
