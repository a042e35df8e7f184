"""Are other ways other ways? ``python -m benchmarks.alternatives``, or with ``--help``.

Complete people whom the model rejects hide two values, and are offered three plans to choose from. Counted over the
second and third: those that change all that another plan of the same person changes, and perhaps more (supersets);
those that are dearer than another and no surer (dominated), with and without the note that says so. Times are seconds
of computing, each person being explained once before, uncounted, so that what is remembered serves both alike.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from armin import ARMIN
from armin.datasets import mcar
from armin.recourse import Recourse
from benchmarks.tables import accepted, clocked, load, markdown, options, require_data, share, train, write

DATASETS = ("FICO", "Student", "GiveMeCredit")
MODELS = ("LR", "RF")


def features(plan: Recourse) -> frozenset[str]:
    return frozenset(change.feature.name for change in plan.changes)


def contains(plan: Recourse, others: Sequence[Recourse]) -> bool:
    return any(features(plan) >= features(other) for other in others)


def dominated(plan: Recourse, others: Sequence[Recourse]) -> bool:
    return any((other.cost or 0) <= (plan.cost or 0) and (other.share or 0) >= (plan.share or 0) for other in others)


def run_cell(dataset: str, model: str, rows: int) -> dict[str, Any]:
    """All people of one cell."""
    data = load(dataset)
    X, others, y = data.split()
    classifier = train(model, X, y, data.desired)
    explainer = ARMIN(classifier, data.schema.widened(data.X), desired=1, decision="complete").fit(X)
    people = mcar(others[~accepted(classifier, others)].head(rows), 2, random_state=0).X
    once: list[float] = []
    thrice: list[float] = []
    found: list[tuple[Recourse, ...]] = []
    for i in range(len(people)):
        row = people.iloc[[i]]
        explainer.explain(row)
        with clocked(once):
            explainer.explain(row)
        with clocked(thrice):
            found.append(explainer.alternatives(row, 3))
    return {"data": dataset, "model": model, "people": len(people), **_counts(found), **_times(once, thrice)}


def _counts(found: list[tuple[Recourse, ...]]) -> dict[str, Any]:
    supersets = silent = noted = needless = unsure = total = 0
    for plans in found:
        for i, plan in enumerate(plans[1:], start=1):
            rest = [*plans[:i], *plans[i + 1 :]]
            says = "others.no_surer" in {note.code for note in plan.notes}
            total += 1
            supersets += contains(plan, rest)
            worse = dominated(plan, rest)
            noted += worse and says
            silent += worse and not says
            needless += says and not worse
            unsure += (plan.share or 0) < 0.75 - 1e-9
    return {
        "people with a plan": sum(bool(plans) for plans in found),
        "with three": sum(len(plans) == 3 for plans in found), "alternatives": total, "supersets": supersets,
        "dominated, not said": silent, "dominated, and said": share(noted, total), "said, not dominated": needless,
        "fresh share below 0.75": unsure,
    }  # fmt: skip


def _times(once: list[float], thrice: list[float]) -> dict[str, float]:
    return {
        "explain, s": float(np.mean(once)), "alternatives, s": float(np.mean(thrice)),
        "ratio": float(np.sum(thrice) / np.sum(once)),
        "median ratio": float(pd.Series(thrice).div(pd.Series(once)).median()),
    }  # fmt: skip


def main() -> None:
    parser = options(__doc__, rows=40)
    parser.add_argument("--datasets", nargs="*", default=list(DATASETS))
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    args = parser.parse_args()
    require_data()
    start = time.perf_counter()
    lines = []
    for dataset in args.datasets:
        for model in args.models:
            lines.append(run_cell(dataset, model, 5 if args.quick else args.rows))
            print(f"{dataset} {model}: {time.perf_counter() - start:.0f} s", flush=True)
    print(markdown(lines))
    write(args.json, {"table": lines}, start)


if __name__ == "__main__":
    main()
