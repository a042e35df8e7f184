"""Does the stated confidence hold for real people? ``python -m lab.benchmarks.promise``

On the paper's data sets and models, rows that the model rejects get 1, 2 or 3 blanks. Each is advised by ARMIN with its
default settings at confidence 0.75, by ARMIN with promise=0.9, and by RobustAR; the real, complete person follows the
advice and the model decides. The promise for a person is calibrated on all the other rejected people of the cell
(leave one out), with blanks made in the same way, so that nobody is judged by a test that knew them.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from armin.baselines import RobustAR
from armin.errors import ArminError
from armin.promise import LEVELS, Trials, choose_level
from lab.benchmarks.cells import have_data, make_cell

PROMISE, CONFIDENCE = 0.9, 0.75


@dataclass(frozen=True)
class Person:
    """What happened to one person in one cell."""

    dataset: str
    model: str
    missing: int
    person: str
    valid: bool | None
    cost: float | None
    robust_valid: bool | None
    robust_cost: float | None
    promised_valid: bool | None
    promised_cost: float | None
    promised_level: float | None
    promise_kept: bool
    seconds: float


def _try_path(explainer: Any, row: pd.DataFrame, truth: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For every level: whether there is a plan, whether it works for the real person, and what it costs."""
    path = explainer.path(row)
    shares = np.array([point.validity.share for point in path])
    after = pd.concat([point.apply(truth) for point in path]) if len(path) else truth.iloc[:0]
    works = _accepted(explainer, after) if len(path) else np.zeros(0, bool)
    costs = np.array([point.cost for point in path])
    first = np.searchsorted(shares, LEVELS - 1e-9)
    planned = first < shares.size
    worked, cost = np.zeros(LEVELS.size, bool), np.full(LEVELS.size, np.nan)
    worked[planned], cost[planned] = works[first[planned]], costs[first[planned]]
    return planned, worked, cost


def _accepted(explainer: Any, frame: pd.DataFrame) -> np.ndarray:
    return np.isin(explainer.classifier.predict(frame), [explainer.desired])


def _robust(robust: RobustAR, row: pd.DataFrame, truth: pd.DataFrame) -> tuple[bool | None, float | None]:
    plan = robust.explain(row)
    if not plan.found:
        return None, None
    return bool(_accepted(robust, plan.apply(truth))[0]), plan.cost


def run_cell(dataset: str, model: str, missing: int, count: int, seconds: float) -> list[Person]:
    """One cell of the table."""
    cell = make_cell(dataset, model, count, n_missing=missing)
    explainer = cell.explainer.set_params(options__time_limit=seconds)
    own = {k: v for k, v in explainer.get_params(deep=False).items() if k in RobustAR._get_param_names()}
    robust = RobustAR.from_settings(**own).fit(cell.train)
    tried, kept = [], []
    for i in range(len(cell.masked)):
        row, truth = cell.masked.iloc[[i]], cell.complete.iloc[[i]]
        start = time.perf_counter()
        try:
            tried.append((*_try_path(explainer, row, truth), *_robust(robust, row, truth)))
        except ArminError as error:
            print(f"{dataset} {model} {missing} {row.index[0]}: {error}")
            continue
        kept.append((str(row.index[0]), time.perf_counter() - start))
    trials = Trials(LEVELS, np.array([t[0] for t in tried]), np.array([t[1] for t in tried]))
    at = int(np.searchsorted(LEVELS, CONFIDENCE - 1e-9))
    rows = []
    for i, ((planned, worked, cost, safe, price), (name, spent)) in enumerate(zip(tried, kept, strict=True)):
        found = choose_level(trials.without(i), PROMISE)
        j = int(np.searchsorted(LEVELS, found.used_level - 1e-9))
        rows.append(
            Person(
                dataset, model, missing, name,
                bool(worked[at]) if planned[at] else None, float(cost[at]) if planned[at] else None, safe, price,
                bool(worked[j]) if planned[j] else None, float(cost[j]) if planned[j] else None,
                found.level, found.kept, spent,
            )
        )  # fmt: skip
    return rows


def _ratio(values: pd.Series) -> tuple[float, float, int]:
    known = values.dropna().astype(float)
    n, share = len(known), float(known.mean()) if len(known) else float("nan")
    # the error under the claim, so that 100 % of few people has an error too
    return share, float(np.sqrt(max(share * (1 - share), 0.25 / max(n, 1)) / n)) if n else float("nan"), n


def summary(people: pd.DataFrame) -> pd.DataFrame:
    """One line per cell."""
    rows = []
    for (dataset, model, missing), cell in people.groupby(["dataset", "model", "missing"], sort=False):
        share, error, n = _ratio(cell["valid"])
        both = cell.dropna(subset=["cost", "robust_cost"])
        promised, promised_error, promised_n = _ratio(cell["promised_valid"])
        pair = cell.dropna(subset=["promised_cost", "robust_cost"])
        rows.append(
            {
                "data": dataset, "model": model, "missing": missing, "people": len(cell), "plans": n,
                "valid": share, "s.e.": error, "cost": both["cost"].mean(), "robust cost": both["robust_cost"].mean(),
                "robust valid": _ratio(cell["robust_valid"])[0],
                "promise 0.9": promised, "its s.e.": promised_error, "its plans": promised_n,
                "its cost": pair["promised_cost"].mean(), "robust there": pair["robust_cost"].mean(),
                "level": cell["promised_level"].median(), "kept": cell["promise_kept"].mean(),
                "s per person": cell["seconds"].median(),
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def verdicts(people: pd.DataFrame) -> list[str]:
    """What must hold, and where it does not."""
    lines, table = [], summary(people)
    low = table[table["valid"] < CONFIDENCE - 2 * np.sqrt(CONFIDENCE * (1 - CONFIDENCE) / table["plans"])]
    lines.append(f"valid ratio below {CONFIDENCE} by more than 2 standard errors: {len(low)} of {len(table)} cells")
    lines += [f"  {r.data} {r.model} {r.missing}: {r.valid:.3f} of {r.plans}" for r in low.itertuples()]
    dear = table[~(table["cost"] < table["robust cost"])]
    lines.append(f"cost not below RobustAR's: {len(dear)} of {len(table)} cells")
    for _, row in dear.iterrows():
        name = f"{row['data']} {row['model']} {row['missing']}"
        lines.append(f"  {name}: {row['cost']:.4g} against {row['robust cost']:.4g}")
    pooled = people[people["promise_kept"].astype(bool)].groupby(["dataset", "model"], sort=False)["promised_valid"]
    missed = 0
    for (dataset, model), values in pooled:
        share, _, n = _ratio(values)
        miss = share < PROMISE - 2 * np.sqrt(PROMISE * (1 - PROMISE) / n)
        missed += miss
        lines.append(f"  promise {PROMISE}: {dataset} {model}: {share:.3f} of {n} plans{'  MISS' if miss else ''}")
    lines.append(f"promise {PROMISE} missed by more than 2 standard errors: {missed} of {len(pooled)} pools")
    broken = people[~people["promise_kept"].astype(bool)].groupby(["dataset", "model", "missing"], sort=False)
    lines += [f"  could not be promised: {' '.join(map(str, k))}, {len(v)} people" for k, v in broken]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", nargs="*", default=["FICO", "Attrition", "Student", "WineQuality"])
    parser.add_argument("--models", nargs="*", default=["LR", "RF", "MLP"])
    parser.add_argument("--missing", nargs="*", type=int, default=[1, 2, 3])
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=5.0, help="for one search")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("out/promise.jsonl"))
    args = parser.parse_args()
    if not have_data():
        raise SystemExit("The data sets are not here. Set ARMIN_DATA to their folder.")
    from joblib import Parallel, delayed

    os.environ.setdefault("OMP_NUM_THREADS", "1")
    cells = [(d, m, k) for m in args.models for d in args.datasets for k in args.missing]
    tasks = (delayed(run_cell)(d, m, k, args.people, args.seconds) for d, m, k in cells)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    with args.out.open("w", encoding="utf-8") as file:
        for people in Parallel(n_jobs=args.jobs, return_as="generator")(tasks):
            for person in people:
                rows.append(asdict(person))
                file.write(json.dumps(rows[-1]) + "\n")
            file.flush()
            print(summary(pd.DataFrame([asdict(p) for p in people])).round(3).to_string(header=False), flush=True)
    table = pd.DataFrame(rows)
    print(summary(table).round(3).to_string(index=False))
    print("\n".join(verdicts(table)))


if __name__ == "__main__":
    main()
