"""What may be done about a blank: by an amount, or to a value? ``python -m lab.benchmarks.blanks``, or with ``--help``.

Models trained on the raw tables with their real blanks reject complete people, who then hide one or two of the numbers
that they could change. They are advised with ``decision="complete"`` and every such number set to "shift" (change it
by so much, whatever it is; the paper's form), to "reach" (bring it to so much), and as the library does by itself; and,
to compare, with nothing hidden. Then the real person follows the plan, and the model decides. Costs are compared over
people who get a plan both ways, and are sums over these people.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from armin import ARMIN, Schema
from armin.datasets import mcar
from armin.recourse import Recourse
from lab.benchmarks.tables import Data, accepted, load, markdown, options, require_data, share, train, write

DATASETS = ("GiveMeCredit", "Adult")
MODELS = ("HistGradientBoosting", "LR, imputer")
MODES = ("shift", "reach", "default")


def with_blanks(schema: Schema, mode: str) -> Schema:
    """The schema with one way to act on every blank that has an order."""
    if mode == "default":
        return schema
    acted = {f.name for f in schema if f.actionable and f.is_ordered and f.kind != "binary"}
    return Schema(tuple(replace(f, blank=mode) if f.name in acted else f for f in schema), schema.rules)


def run_cell(data: Data, model: str, missing: int, rows: int, changes: int) -> list[dict[str, Any]]:
    """One data set, one model, so many blanks."""
    X, others, y = data.split()
    classifier = train(model, X, y, data.desired)
    complete = others.dropna()
    people = complete[~accepted(classifier, complete)].head(rows)
    acted = [f.name for f in data.schema if f.actionable and f.is_ordered and f.kind != "binary"]
    masked = mcar(people, missing, random_state=0, columns=acted).X
    known = ARMIN(classifier, data.schema, desired=1).fit(X).fitted_
    told = _explainer(classifier, data.schema, known, X, changes)
    full = [told.explain(people.iloc[[i]]) for i in range(len(people))]
    lines = []
    for mode in MODES:
        explainer = _explainer(classifier, with_blanks(data.schema, mode), known, X, changes)
        plans = [explainer.explain(masked.iloc[[i]]) for i in range(len(people))]
        names = {"data": data.name, "model": model, "changes": changes, "hidden": missing, "blank mode": mode}
        lines.append(names | _line(explainer, plans, full, people))
    return lines


def _explainer(classifier: Any, schema: Schema, known: Any, X: pd.DataFrame, changes: int) -> ARMIN:
    """Costs and completions do not depend on the mode: they are learned once."""
    explainer = ARMIN.from_settings(
        classifier, schema, desired=1, decision="complete", n_fresh=300, max_changes=changes
    )
    return explainer.bind(X.iloc[:0], cost=known.cost, sampler=known.sampler)


def _line(explainer: ARMIN, plans: list[Recourse], full: list[Recourse], people: pd.DataFrame) -> dict[str, Any]:
    found = [i for i, plan in enumerate(plans) if plan.found]
    both = [i for i in found if full[i].found]
    works = [bool(accepted(explainer.classifier, plans[i].apply(people.iloc[[i]]))[0]) for i in found]
    price = sum(full[i].cost or 0 for i in both)
    return {
        "people": len(people), "plans with nothing hidden": sum(plan.found for plan in full),
        "plans": share(len(found), len(people)),
        "cost × full information": sum(plans[i].cost or 0 for i in both) / price if price else None,
        "median cost": float(np.median([plans[i].cost or 0 for i in found])) if found else None,
        "works for the real person": share(sum(works), len(found)),
        "stated share": float(np.mean([plans[i].share or 0 for i in found])) if found else None,
    }  # fmt: skip


def main() -> None:
    parser = options(__doc__, rows=50)
    parser.add_argument("--datasets", nargs="*", default=list(DATASETS))
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--changes", type=int, default=4, help="how many features may change")
    args = parser.parse_args()
    require_data()
    start = time.perf_counter()
    lines = []
    for dataset in args.datasets:
        data = load(dataset, blanks=True)
        for model in args.models:
            for missing in (1,) if args.quick else (1, 2):
                lines += run_cell(data, model, missing, 5 if args.quick else args.rows, args.changes)
                print(f"{dataset} {model} {missing}: {time.perf_counter() - start:.0f} s", flush=True)
    print(markdown(lines))
    write(args.json, {"table": lines}, start)


if __name__ == "__main__":
    main()
