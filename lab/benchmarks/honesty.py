"""Is a stated share a true share? ``python -m lab.benchmarks.honesty``, or with ``--help``.

Complete people whom the model rejects hide two values and are advised at confidence 0.75, with ``decision="complete"``.
Each plan is then judged by 1,000 completions that nobody has seen, drawn with a seed of their own. A statement is
counted as too high if it lies above the exact 95 % interval of that sample:

- "at least 75 %", the confidence that the headline claims. Where the true share is 0.75, this happens to 2.5 % of
  plans by chance, and to fewer where it is larger.
- ``Recourse.share``, which is itself measured on 1,000 fresh completions. Two such measurements of one share differ so
  much in 8.3 % of plans, P(Z > 1.96 / sqrt(2)).

"chance allows" is the 95 % quantile of the binomial distribution with that rate. Three ways are compared: the
completions that choose the plan are the only ones asked (``checks=False``); the demand on them is raised until fresh
ones agree (``checks=True``, the default); and ten times as many completions instead (``n_samples=1000,
checks=False``), for the first ``--wide`` people. Costs are compared over people to whom both ways give a plan; times
are seconds of computing, the ways taking turns person by person, after one answer that is not counted.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import binom, norm

from armin import ARMIN
from armin.datasets import mcar
from armin.explain.answer import fresh_validity
from armin.explain.draw import draw
from armin.explain.world import find_world
from lab.benchmarks.tables import accepted, clocked, load, markdown, options, require_data, train, write

DATASETS = ("FICO", "Attrition", "Student", "WineQuality", "GiveMeCredit", "Adult")
LEVEL, FRESH, OTHER_SEED = 0.75, 1000, 20_261_116
RATES = {"claim": 0.025, "share": float(norm.sf(norm.ppf(0.975) / np.sqrt(2)))}
WAYS: dict[str, dict[str, Any]] = {
    "before": {"options__checks": False, "options__n_samples": 100},
    "checks": {"options__checks": True, "options__n_samples": 100},
    "wide": {"options__checks": False, "options__n_samples": 1000},
}


@dataclass(frozen=True)
class Plan:
    """One person, advised in one way."""

    data: str
    model: str
    way: str
    person: int
    outcome: str
    cost: float | None
    stated: float | None
    validity: float | None
    true: float | None
    low: float | None
    high: float | None
    works: bool | None
    cpu: float


def advised(explainer: ARMIN, row: Any, truth: Any, way: str, names: tuple[str, str], person: int) -> Plan:
    """One plan, judged by completions that nobody has seen."""
    spent: list[float] = []
    with clocked(spent):
        plan = explainer.explain(row)
    judged = works = None
    if plan.found and plan.changes:
        fitted, codes = explainer.current, explainer.schema.encode(row)[0]
        rng = np.random.default_rng([OTHER_SEED, person])
        fresh = draw(fitted, find_world(fitted, codes), codes, FRESH, rng)
        after = plan.apply_codes(explainer.schema, fresh.values)
        judged = fresh_validity(fresh, fitted.decision.accepts(after))
        works = bool(accepted(explainer.classifier, plan.apply(truth))[0])
    low, high = (None, None) if judged is None else judged.interval()
    return Plan(
        *names, way, person, plan.outcome, plan.cost, plan.share, plan.validity and plan.validity.share,
        judged and judged.share, low, high, works, spent[0],
    )  # fmt: skip


def run_cell(dataset: str, model: str, rows: int, wide: int) -> list[Plan]:
    """All ways for the first people of one data set whom one model rejects."""
    data = load(dataset)
    X, others, y = data.split()
    classifier = train(model, X, y, data.desired)
    explainer = ARMIN.from_settings(
        classifier, data.schema.widened(data.X), desired=1, decision="complete", confidence=LEVEL, n_fresh=FRESH
    ).fit(X)
    people = others[~accepted(classifier, others)].head(rows)
    masked, _ = mcar(people, 2, random_state=0)
    found = []
    for i in range(len(people)):
        ways = [way for way in WAYS if way != "wide" or i < wide]
        explainer.set_params(**WAYS["before"]).explain(masked.iloc[[i]])  # what is remembered serves all ways alike
        for way in np.roll(ways, i).tolist():
            explainer.set_params(**WAYS[way])
            found.append(advised(explainer, masked.iloc[[i]], people.iloc[[i]], way, (dataset, model), i))
    return found


def line(plans: list[Plan], way: str, names: dict[str, str]) -> dict[str, Any]:
    """What one way is worth, in one line."""
    mine = [p for p in plans if p.way == way and p.true is not None]
    first = {(p.data, p.model, p.person): p for p in plans if p.way == "before"}
    pairs = [(p, first[p.data, p.model, p.person]) for p in plans if p.way == way]
    both = [(p, q) for p, q in pairs if p.true is not None and q.true is not None]
    n = len(mine)
    claim = sum((p.high or 0) < LEVEL for p in mine)
    stated = sum((p.stated or 0) > (p.high or 0) for p in mine)
    bias = [(p.stated or 0) - (p.true or 0) for p in mine]
    row: dict[str, Any] = {
        **names, "way": way, "people": len(pairs), "plans": n,
        "0.75 too high": claim, "chance allows": int(binom.ppf(0.95, n, RATES["claim"])) if n else 0,
        "share too high": stated, "chance allows ": int(binom.ppf(0.95, n, RATES["share"])) if n else 0,
        "bias of share": float(np.mean(bias)) if n else None,
        "own share below 0.75": sum((p.stated or 0) < LEVEL - 1e-9 for p in mine),
        "true share": float(np.mean([p.true for p in mine])) if n else None,
        "works for the real person": f"{np.mean([bool(p.works) for p in mine]):.2f}" if n else None,
    }  # fmt: skip
    if way != "before" and both:
        row["cost ×"] = float(sum(p.cost or 0 for p, _ in both) / sum(q.cost or 0 for _, q in both))
        row["time ×"] = float(sum(p.cpu for p, _ in pairs) / sum(q.cpu for _, q in pairs))
    row["CPU s"] = float(np.mean([p.cpu for p, _ in pairs])) if pairs else None
    return row


def main() -> None:
    parser = options(__doc__, rows=100)
    parser.add_argument("--datasets", nargs="*", default=list(DATASETS))
    parser.add_argument("--models", nargs="*", default=["LR", "RF"])
    parser.add_argument("--wide", type=int, default=100, help="people for the way with 1,000 completions")
    args = parser.parse_args()
    require_data()
    start = time.perf_counter()
    rows, wide = (4, 1) if args.quick else (args.rows, args.wide)
    plans: list[Plan] = []
    lines: list[dict[str, Any]] = []
    for dataset in args.datasets:
        for model in args.models:
            cell = run_cell(dataset, model, rows, wide)
            plans += cell
            lines += [line(cell, way, {"data": dataset, "model": model}) for way in WAYS]
            print(f"{dataset} {model}: {time.perf_counter() - start:.0f} s", flush=True)
    for way in WAYS:
        lines.append(line(plans, way, {"data": "all", "model": ""}))
    print(markdown(lines))
    write(args.json, {"table": lines, "plans": [asdict(p) for p in plans]}, start)


if __name__ == "__main__":
    main()
