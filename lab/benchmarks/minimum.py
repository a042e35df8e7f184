"""How near plans come to the true minimum, and how quickly: ``python -m lab.benchmarks.minimum``, or ``--help``.

- **Logistic regression**, all values given, cost "l1", no limit on changes: the optimum is a fractional knapsack.
- **Trees** as installed, the same: beside treecf where that is installed (PyPI, exact, tree models only).
- **Speed**: the default mode with two blanks, on the exact grid and on the list of round numbers.

"round numbers" is what the list finds; a cost ratio of 1 is the optimum. CPU time, one thread, medians and 95th
percentiles over people.
"""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from armin import ARMIN, ExpertOptions, Schema
from armin.datasets import mcar
from lab.benchmarks.tables import markdown, options, require_data, write
from lab.experiments.data import load

GRIDS = ("exact", "human")
MOST_ROWS = 20_000
"""To train a forest as installed on, whose trees grow with them."""


def _boosters() -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {"RandomForest": lambda: RandomForestClassifier(random_state=0, n_jobs=1)}
    if importlib.util.find_spec("xgboost"):
        from xgboost import XGBClassifier

        found["XGBoost"] = lambda: XGBClassifier(n_jobs=1)
    if importlib.util.find_spec("lightgbm"):
        from lightgbm import LGBMClassifier

        found["LightGBM"] = lambda: LGBMClassifier(n_jobs=1, verbose=-1)
    return found


def numbers_of(name: str) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray, Schema, int]:
    """A data set's numbers, to train on and to advise, labels, schema, and the desired label."""
    data = load(name, "paper")
    X = data.X.select_dtypes("number").astype(float)
    train, test, y, _ = train_test_split(X, np.asarray(data.y), test_size=0.25, stratify=data.y, random_state=0)
    schema = Schema(tuple(data.schema[column] for column in X.columns)).widened(X)
    return train, test, y, schema, int(data.desired) if hasattr(data, "desired") else 0


def cpu(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and its CPU milliseconds."""
    start = time.process_time()
    found = call()
    return found, 1000 * (time.process_time() - start)


def beside_knapsack(name: str, count: int) -> list[dict[str, Any]]:
    """Logistic regression beside the optimum, on columns that may take any number."""
    train, test, y, _, desired = numbers_of(name)
    free = Schema.infer(train, kinds=dict.fromkeys(train.columns, "continuous"), protected=[])
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(train, y)
    people, lines = test[model.predict(test) != desired].head(count), []
    low, high = train.min().to_numpy(), train.max().to_numpy()
    people = people[((people >= low) & (people <= high)).all(axis=1)]
    sign = 1.0 if model.classes_[1] == desired else -1.0
    slope = sign * model[-1].coef_[0] / model[0].scale_
    for grid in GRIDS:
        explainer = ARMIN(model, free, desired=desired, cost="l1", max_changes=None, options=ExpertOptions(grid=grid))
        explainer.fit(train)
        price = np.array(
            [float(explainer.fitted_.cost.table(p, np.zeros(1), np.ones((1, 1)))[0, 0]) for p in range(len(free))]
        )
        ratios, spent, claims = [], [], []
        for _, row in people.iterrows():
            best = _knapsack(-sign * float(model.decision_function(row.to_frame().T)[0]), row, slope, price, low, high)
            plan, took = cpu(lambda row=row, explainer=explainer: explainer.explain(row.to_dict()))
            ratios.append((plan.cost or np.inf) / best)
            spent.append(took)
            claims.append(plan.claim)
        lines.append({"data": name, "model": "LR", "grid": grid} | _line(ratios, spent, claims))
    return lines


def _knapsack(
    need: float, row: pd.Series[Any], slope: np.ndarray, price: np.ndarray, low: np.ndarray, high: np.ndarray
) -> float:
    """The least cost that raises the score by ``need``: the most gain for the least cost first."""
    total, room = 0.0, np.where(slope > 0, high - row, row - low) * np.abs(slope)
    for d in np.argsort(price / np.maximum(np.abs(slope), 1e-300)):
        taken = min(need, room[d])
        need, total = need - taken, total + (taken / abs(slope[d]) * price[d] if taken else 0.0)
    return total if need <= 1e-9 else np.inf


def beside_treecf(name: str, count: int, limit: float) -> list[dict[str, Any]]:
    """Tree models as installed, cost "l1", no limit on changes: the exact optimum of treecf where that can be had."""
    train, test, y, schema, desired = numbers_of(name)
    lines = []
    for label, make in _boosters().items():
        if label == "RandomForest" and len(train) > MOST_ROWS:
            continue  # millions of leaves
        model = make().fit(train, y)
        people = test[model.predict(test) != desired].head(count)
        found: dict[str, list[tuple[float, float, str]]] = {grid: [] for grid in GRIDS}
        explainer = ARMIN(model, schema, desired=desired, cost="l1", max_changes=None).fit(train)
        for grid in GRIDS:
            explainer.set_params(options=ExpertOptions(grid=grid, time_limit=limit))
            for i in range(len(people)):
                plan, took = cpu(lambda i=i: explainer.explain(people.iloc[[i]]))  # noqa: B023
                kind = plan.claim if plan.outcome == "plan" else plan.outcome
                found[grid].append((np.inf if plan.cost is None else plan.cost, took, kind))
        explainer.set_params(options=ExpertOptions(tolerance=0.0, time_limit=limit))
        least = [explainer.explain(people.iloc[[i]]) for i in range(len(people))]
        costs = [np.inf if plan.cost is None else plan.cost for plan in least]
        found["exact, tolerance 0"] = [(c, 0.0, p.claim) for c, p in zip(costs, least, strict=True)]
        if importlib.util.find_spec("treecf"):
            found["treecf"] = _treecf(explainer, model, people, desired, limit)
        for grid, answers in found.items():
            cost, took, claims = (list(column) for column in zip(*answers, strict=True))
            best = [min(answers[i][0] for answers in found.values()) for i in range(len(people))]
            ratios = [c / b for c, b in zip(cost, best, strict=True) if b > 0]
            lines.append({"data": name, "model": label, "way": grid} | _line(ratios, took, claims))
            print(lines[-1], flush=True)
    return lines


def _treecf(
    explainer: ARMIN, model: Any, people: pd.DataFrame, desired: int, limit: float
) -> list[tuple[float, float, str]]:
    """What treecf proves under the same cost, bounds, whole numbers and fixed columns."""
    import treecf

    schema, cost = explainer.schema, explainer.fitted_.cost
    spread = {f.name: cost.distributions_[p].spread / f.difficulty for p, f in enumerate(schema)}
    limits: list[Any] = [treecf.Range(f.name, f.low_code, f.high_code) for f in schema]
    limits += [treecf.Freeze(f.name) for f in schema if not f.actionable]
    limits += [treecf.Monotone(f.name, f.direction) for f in schema if f.direction in ("increase", "decrease")]
    whole = {f.name: "integer" for f in schema if f.kind == "integer"}
    other = treecf.Explainer(model, constraints=limits, normalizers=spread, value_policy=whole)
    target = treecf.Target.probability(range=(0.5, 1.0) if model.classes_[1] == desired else (0.0, 0.5))
    found = []
    for i in range(len(people)):
        row = people.iloc[i].to_numpy(dtype=np.float64)
        plan, took = cpu(
            lambda row=row: other.explain(row, target=target, backend="exact", time_budget_s=limit, seed=0)
        )
        works = (
            hasattr(plan, "distance") and model.predict(pd.DataFrame([plan.x_cf], columns=people.columns))[0] == desired
        )
        found.append((float(plan.distance) if works else np.inf, took, str(plan.proof)))
    return found


def _line(ratios: list[float], spent: list[float], claims: list[str]) -> dict[str, Any]:
    kept = [ratio for ratio in ratios if np.isfinite(ratio)]
    return {
        "people": len(ratios), "cost ÷ optimum, mean": float(np.mean(kept)) if kept else None,
        "largest": max(kept, default=None), "median ms": float(np.median(spent)),
        "p95 ms": float(np.percentile(spent, 95)),
        "proved over all values": sum(claim in ("cheapest", "within", "optimal") for claim in claims),
    }  # fmt: skip


def speed(name: str, count: int, limit: float) -> list[dict[str, Any]]:
    """The default mode with two blanks, models as installed."""
    data = load(name, "paper")
    train, test, y, _ = train_test_split(data.X, np.asarray(data.y), test_size=0.25, stratify=data.y, random_state=0)
    lines, made = [], _boosters() | {"LR": lambda: make_pipeline(StandardScaler(), LogisticRegression())}
    for label, make in made.items():
        model = make().fit(train, y)
        people = test[model.predict(test) == 1].head(count)
        masked, _ = mcar(people, 2, random_state=0)
        # the paper moves a blank by an amount; the default brings it to a value
        schema = data.schema.update(blanks={f.name: "reach" for f in data.schema if f.actionable}).widened(data.X)
        explainer = ARMIN(model, schema, desired=0, decision="complete", options=ExpertOptions(time_limit=limit))
        explainer.fit(train)
        for grid in GRIDS:
            explainer.set_params(options__grid=grid)
            explainer.explain(masked.iloc[[0]])
            found = [cpu(lambda i=i: explainer.explain(masked.iloc[[i]])) for i in range(1, len(masked))]  # noqa: B023
            spent = [took for _, took in found]
            lines.append({
                "data": name, "model": label, "grid": grid, "people": len(found), "median ms": float(np.median(spent)),
                "p95 ms": float(np.percentile(spent, 95)), "worst ms": max(spent),
                "mean cost": float(np.mean([plan.cost for plan, _ in found if plan.cost is not None])),
                "proved": sum(plan.status.value == "optimal" for plan, _ in found),
                "proved over all values": sum(plan.outcome == "plan" and plan.claim != "list" for plan, _ in found),
            })  # fmt: skip
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = options(__doc__, rows=20)
    parser.add_argument("--datasets", nargs="*", default=["FICO", "GiveMeCredit"])
    parser.add_argument("--parts", nargs="*", default=["knapsack", "trees", "speed"])
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for one answer")
    args = parser.parse_args()
    require_data()
    warnings.filterwarnings("ignore", category=UserWarning)
    start, found, count = time.perf_counter(), dict[str, Any](), 5 if args.quick else args.rows
    ways = {
        "knapsack": lambda name: beside_knapsack(name, count),
        "trees": lambda name: beside_treecf(name, count, args.limit),
        "speed": lambda name: speed(name, count + 1, args.limit),
    }
    for part in args.parts:
        found[part] = [line for name in args.datasets for line in ways[part](name)]
        print(f"\n### {part}\n\n" + markdown(found[part]), flush=True)
    write(args.json, found, start)


if __name__ == "__main__":
    main()
