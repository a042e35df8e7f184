"""Are other ways other ways? ``python -m benchmarks.alternatives``, or with ``--help``.

Complete people whom the model rejects hide two values, and are offered three plans to choose from. Counted over the
second and third: those that change all that another plan of the same person changes, and perhaps more (supersets);
those that are dearer than another and no surer (dominated), with and without the note that says so. A dominated plan
is avoidable if, when ten plans are asked for instead, one is among them that is not dominated and contains none of the
others that were chosen. Times are seconds
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
    avoidable = 0
    for i in range(len(people)):
        row = people.iloc[[i]]
        explainer.explain(row)
        with clocked(once):
            explainer.explain(row)
        with clocked(thrice):
            found.append(explainer.alternatives(row, 3))
        if any(says(plan) for plan in found[-1]):
            avoidable += _avoidable(found[-1], explainer.alternatives(row, 10))
    counts = _counts(found) | {"avoidable": avoidable}
    return {"data": dataset, "model": model, "people": len(people), **counts, **_times(once, thrice)}


def says(plan: Recourse) -> bool:
    """Whether a plan says that it is dearer than another and no surer."""
    return "others.no_surer" in {note.code for note in plan.notes}


def _avoidable(three: Sequence[Recourse], ten: Sequence[Recourse]) -> int:
    """How many dominated plans of three could have been others."""
    good = [plan for plan in three if not says(plan)]
    better = 0
    for plan in ten:
        apart = all(not features(plan) <= features(other) and not features(plan) >= features(other) for other in good)
        if apart and not dominated(plan, good):
            good.append(plan)
            better += 1
    return min(better, sum(says(plan) for plan in three))


def _counts(found: list[tuple[Recourse, ...]]) -> dict[str, Any]:
    supersets = silent = noted = needless = unsure = total = certain = 0
    for plans in found:
        for i, plan in enumerate(plans[1:], start=1):
            rest = [*plans[:i], *plans[i + 1 :]]
            total += 1
            supersets += contains(plan, rest)
            worse = dominated(plan, rest)
            certain += worse and (plans[0].share or 0) >= 1
            noted += worse and says(plan)
            silent += worse and not says(plan)
            needless += says(plan) and not worse
            unsure += (plan.share or 0) < 0.75 - 1e-9
    return {
        "people with a plan": sum(bool(plans) for plans in found),
        "with three": sum(len(plans) == 3 for plans in found), "alternatives": total, "supersets": supersets,
        "dominated, not said": silent, "dominated, and said": share(noted, total),
        "of these the first is 100 % sure": certain, "said, not dominated": needless,
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
