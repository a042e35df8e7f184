"""Random schemas, explainers and rows: what somebody could ask about a classifier."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from armin import ARMIN, Schema
from armin.errors import ArminError
from armin.schema import AtMostOne, Condition, Feature, Forbid, Implies, Linear, Order, Rule, Together

from laws.end_to_end.classifiers import User
from laws.end_to_end.tables import Table

__all__ = ["Question", "accepting", "random_parameters", "random_row", "random_schema"]

METHODS = ("explain", "path", "alternatives", "ask", "what_if", "reasons", "explain_many", "stress", "recheck")
METHOD_WEIGHTS = (3, 3, 3, 1.5, 1.5, 1.5, 1, 0.3, 0.7)
SAMPLERS = {"chained": 5, "donors": 5, "marginal": 3, "copula": 2, "uniform": 2, "forest": 0.7}
COSTS = {"tlps": 6, "mps": 1, "l1": 1, "l2": 1, "changes": 1}


@dataclass
class Question:
    """A row as it is submitted, which of it is locked, and which methods are called."""

    row: Any
    values: dict[str, Any]
    blanks: int
    locked: tuple[str, ...]
    calls: tuple[str, ...]


def accepting(table: Table, user: User, parameters: dict[str, Any]) -> Callable[[Any], np.ndarray]:
    """Which rows, in the container of the training data, the user's own classifier accepts."""
    desired, threshold = parameters["desired"], parameters["threshold"]
    labels = desired if isinstance(desired, list) else [desired]

    def accepts(rows: Any) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if threshold is None:
                return np.isin(np.asarray(user.classifier.predict(rows)).ravel(), labels)
            classes = np.asarray(user.classifier.classes_)
            share = np.asarray(user.classifier.predict_proba(rows))[:, np.flatnonzero(np.isin(classes, labels))]
            return share.sum(axis=1) >= threshold

    return accepts


def takes_blanks(table: Table, user: User) -> bool:
    """Whether the user's model decides about a row in which every number is blank."""
    frame = table.frame.iloc[:2].copy()
    for name in table.named("number"):
        frame[name] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            user.classifier.predict(table.like(frame))
        except Exception:  # whatever it raises
            return False
    return True


def _some(rng: np.random.Generator, names: list[str], share: float) -> list[str]:
    return [name for name in names if rng.random() < share]


def random_schema(rng: np.random.Generator, table: Table) -> Schema:
    """A schema that is inferred, then told more."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SchemaNote says what was guessed
        schema = Schema.infer(table.X, protected=[] if rng.random() < 0.5 else None)
    more: dict[str, Any] = {}
    free = [f.name for f in schema if f.actionable]
    for name in free:
        feature = schema[name]
        if len(free) > 1 and rng.random() < 0.12:
            more.setdefault("immutable", []).append(name)
        elif feature.is_ordered and rng.random() < 0.15:
            more.setdefault(str(rng.choice(["increase_only", "decrease_only"])), []).append(name)
        if feature.is_number and rng.random() < 0.15:
            more.setdefault("step", {})[name] = _step(rng, feature)
        if feature.is_number and rng.random() < 0.1:
            more.setdefault("bounds", {})[name] = _wider(rng, feature)
        if rng.random() < 0.3:
            modes = ["shift", "reach", "freeze"] if feature.is_ordered else ["reach", "freeze"]
            more.setdefault("blanks", {})[name] = str(rng.choice(modes))
        if rng.random() < 0.15:
            more.setdefault("difficulty", {})[name] = float(rng.choice([0.2, 0.5, 2.0, 5.0]))
    if free and len(more.get("immutable", ())) == len(free):
        more["immutable"] = more["immutable"][1:]
    schema = schema.update(**more)
    for _ in range(int(rng.integers(1, 4)) if rng.random() < 0.3 else 0):
        rule = _random_rule(rng, schema)
        try:
            schema = schema if rule is None else schema.with_rules(rule)
        except ArminError:
            continue  # the rule does not fit the columns
    return schema


def _step(rng: np.random.Generator, feature: Feature) -> float:
    width = feature.high_code - feature.low_code
    if feature.kind == "integer":
        return float(max(1, round(width / rng.integers(2, 30))))
    return float(width / rng.integers(2, 30))


def _wider(rng: np.random.Generator, feature: Feature) -> tuple[float, float]:
    width = feature.high_code - feature.low_code
    low, high = feature.low_code - width * rng.uniform(0, 0.3), feature.high_code + width * rng.uniform(0, 0.3)
    return (float(np.floor(low)), float(np.ceil(high))) if feature.kind == "integer" else (float(low), float(high))


def _random_rule(rng: np.random.Generator, schema: Schema) -> Rule | None:
    names = [f.name for f in schema if not f.is_carried]
    numbers = [f.name for f in schema if f.is_number]
    kind = int(rng.integers(6))
    if kind in (0, 1):
        if len(numbers) < 2:
            return None
        some = [numbers[i] for i in rng.choice(len(numbers), min(len(numbers), 2 + kind), replace=False)]
        if kind == 0:
            return Order((some[1], some[0]))
        most = sum(schema[n].high_code for n in some[:-1]) * 0.7
        quoted = [f"`{n}`" for n in some]
        return Linear(
            f"{' + '.join(quoted[:-1])} <= {rng.uniform(0.3, 2):.2f} * {quoted[-1]} + {most:.6f}".replace("+ -", "- ")
        )
    if kind == 2:
        words = [f for f in schema if f.kind in ("categorical", "binary", "ordinal") and len(f.categories) > 1]
        if not words:
            return None
        feature = words[rng.integers(len(words))]
        one, other = (feature.categories[i] for i in rng.choice(len(feature.categories), 2, replace=False))
        return Forbid(feature.name, None if rng.random() < 0.3 else one, other)
    if len(names) < 2:
        return None
    count = min(len(names), int(rng.integers(2, 4)))
    some = [names[i] for i in rng.choice(len(names), count, replace=False)]
    if kind == 3:
        return Together(tuple(some))
    if kind == 4:
        return AtMostOne(tuple(some))
    return Implies(_condition(rng, schema[some[0]]), _condition(rng, schema[some[1]]))


def _condition(rng: np.random.Generator, feature: Feature) -> Condition:
    if feature.is_ordered:
        relation = str(
            rng.choice(["is at least", "is at most", "changes", "does not change", "increases", "decreases"])
        )
    else:
        relation = str(rng.choice(["is", "is not", "changes", "does not change"]))
    if relation in ("changes", "does not change", "increases", "decreases"):
        return Condition(feature.name, relation)  # type: ignore[arg-type]
    code = rng.uniform(feature.low_code, feature.high_code)
    if feature.kind != "continuous":
        code = float(np.rint(code))
    return Condition(feature.name, relation, feature.value(code))  # type: ignore[arg-type]


def _pick(rng: np.random.Generator, weights: dict[str, float]) -> str:
    shares = np.array(list(weights.values()))
    return list(weights)[rng.choice(len(shares), p=shares / shares.sum())]


def random_parameters(rng: np.random.Generator, table: Table, user: User) -> dict[str, Any]:
    """The parameters of an explainer."""
    classes = np.unique(table.y).tolist()
    desired: Any = classes[rng.integers(len(classes))]
    if len(classes) == 3 and rng.random() < 0.4:
        desired = [classes[i] for i in sorted(rng.choice(3, 2, replace=False).tolist())]
    has_proba = hasattr(user.classifier, "predict_proba")
    takes = (
        takes_blanks(table, user) or rng.random() < 0.1
    )  # else the questions about the row with its blanks are refused
    return {
        "desired": desired,
        "threshold": round(float(rng.uniform(0.3, 0.8)), 2) if has_proba and rng.random() < 0.15 else None,
        "cost": _pick(rng, COSTS),
        "sampler": _pick(rng, SAMPLERS),
        "confidence": float(rng.choice([0.5, 0.6, 0.75, 0.75, 0.9, 1.0])),
        "decision": [None, "complete", "auto", "auto", "auto", "blank"][rng.integers(6 if takes else 5)],
        "reapply": ["disclosed", "disclosed", "disclosed", "blank", "either"][rng.integers(5 if takes else 3)],
        "checks": bool(rng.random() < 0.5),
        "n_samples": int(rng.integers(50, 201)) if rng.random() < 0.9 else int(rng.integers(1, 8)),
        "n_fresh": int(rng.choice([0, 100, 300])),
        "max_changes": [None, 1, 2, 3, 4][rng.integers(5)],
        "max_options": int(rng.choice([2, 6, 15, 40, 100, 100])),
        "grid": str(rng.choice(["human", "human", "human", "paper", "published"])),
        "random_state": int(rng.integers(1000)),
    }


def explainer_of(user: User, schema: Schema, parameters: dict[str, Any], time_limit: float) -> ARMIN:
    """The explainer, not fitted yet."""
    return ARMIN.from_settings(user.classifier, schema, time_limit=time_limit, **parameters)


def random_row(rng: np.random.Generator, table: Table, schema: Schema, accepted: np.ndarray) -> Question:
    """Somebody of the table, more often one who is rejected, who leaves some blanks."""
    rejected = np.flatnonzero(~accepted)
    pool = rejected if rejected.size and rng.random() < 0.9 else np.arange(len(table.y))
    person = int(pool[rng.integers(pool.size)])
    values = {str(n): _plain(column.values.iloc[person]) for n, column in table.columns.items()}
    tellable = [feature.name for feature in schema if not feature.is_carried]
    given = [name for name in tellable if values[name] is not None]
    count = min(int(rng.choice([0, 0, 1, 1, 2, 2, 3, 4, 5])), max(0, len(given) - 1))
    for i in rng.choice(len(given), count, replace=False):
        values[given[i]] = None
    names = [feature.name for feature in schema if feature.actionable]
    locked = tuple(_some(rng, names, 0.3)[: max(0, len(names) - 1)]) if rng.random() < 0.25 else ()
    picked = rng.choice(len(METHODS), 3, replace=False, p=np.array(METHOD_WEIGHTS) / sum(METHOD_WEIGHTS))
    blanks = sum(values[name] is None for name in tellable)
    return Question(_submitted(rng, table, values), values, blanks, locked, tuple(METHODS[i] for i in sorted(picked)))


def _plain(value: Any) -> Any:
    if pd.isna(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def _submitted(rng: np.random.Generator, table: Table, values: dict[str, Any]) -> Any:
    """The row in one of the forms that people pass, with one of the blanks that they write."""
    blank = [None, float("nan"), pd.NA, ""][rng.integers(4)]
    row = {name: blank if value is None else value for name, value in values.items()}
    form = str(rng.choice(["dict", "series", "frame", "list"]))
    if form == "series":
        return pd.Series(row, dtype=object)
    if form == "frame":
        if not isinstance(blank, str):
            typed = {n: pd.Series([values[str(n)]], dtype=object) for n in table.columns}
            frame = pd.DataFrame(typed)
            for n, column in table.columns.items():
                if values[str(n)] is None and column.values.dtype == bool:
                    continue  # pandas would turn the blank into False
                try:
                    frame[n] = frame[n].astype(column.values.dtype)
                except (TypeError, ValueError):
                    continue  # a blank in a type that holds none
            return frame
        return pd.DataFrame({name: pd.Series([value], dtype=object) for name, value in row.items()})
    return list(row.values()) if form == "list" else row
