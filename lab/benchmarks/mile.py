"""Where does the time of one answer go, from the row to the certificate? ``python -m lab.benchmarks.mile --help``.

For each model on one data set, for complete rows and for rows with blanks: the median CPU time of ``explain``, and of
each stage on its way, beside the floor under it: one ``predict`` of the user's own model over all that must be judged,
and one pass of the search. Rows are measured once each, after others have warmed up what can be. ``--json`` keeps the
numbers; ``--before`` prints those of another code beside them.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.base import clone

from armin import ARMIN
from armin.explain import answer, draw, estimator, fitted, judge, settings, state
from armin.models.oracle import Oracle
from armin.solve import solve
from lab.benchmarks.cells import Cell, have_data, make_cell
from lab.benchmarks.engine import machine

MODELS = ("LR", "RF", "XGBoost", "HistGB", "MLP")
REACHED = "2 blanks, brought to a value"
WARM = 20
"""Rows that are explained before any is measured, and not measured themselves."""

STAGES: dict[str, tuple[tuple[Any, str], ...]] = {
    "parameters": ((estimator.Explainer, "current"),),
    "row → codes": ((fitted, "read_row"),),
    "draws": ((draw, "candidates_of"), (draw, "fresh_of"), (draw, "draw")),
    "conditioning": ((draw, "contradicts"),),
    "options": ((state, "build_grid"),),
    "tables": ((state, "state_problem"),),
    "solve": ((settings, "solve"),),
    "judging": ((judge, "judge_choices"), (Oracle, "accepts")),
    "predict": (),
    "audit": ((answer, "check_action"),),
    "certificate": ((answer, "_certificate"),),
    "answer": ((answer, "make_recourse"),),
}
"""For each stage, the functions in which its time is spent; what they call of another stage counts there. The stage
"predict" is the user's own model."""


class Clock:
    """CPU time by stage, each moment counted once: for the innermost stage that is under way."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = defaultdict(float)
        self._under_way = ["rest"]
        self._since = time.process_time()

    def _turn(self) -> None:
        now = time.process_time()
        self.spent[self._under_way[-1]] += now - self._since
        self._since = now

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what happens inside for a stage."""
        self._turn()
        self._under_way.append(name)
        try:
            yield
        finally:
            self._turn()
            self._under_way.pop()

    def wrapped(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """A function whose time is counted for a stage."""

        def counted(*args: Any, **named: Any) -> Any:
            with self.stage(name):
                return work(*args, **named)

        return counted


def stages_of(explainer: ARMIN, row: pd.DataFrame) -> dict[str, float]:
    """CPU milliseconds of one answer by stage."""
    clock = Clock()
    with ExitStack() as stack:
        for name, places in STAGES.items():
            for owner, attribute in places:
                found = vars(owner).get(attribute)
                if found is None:
                    continue
                new = property(clock.wrapped(name, found.fget)) if isinstance(found, property) else None
                stack.enter_context(patch.object(owner, attribute, new or clock.wrapped(name, found)))
        model = explainer.classifier
        stack.enter_context(patch.object(model, "predict", clock.wrapped("predict", model.predict)))
        with clock.stage("rest"):
            explainer.explain(row)
    return {name: 1000 * clock.spent[name] for name in (*STAGES, "rest")}


def cpu(call: Callable[[], Any]) -> float:
    """CPU milliseconds of one call."""
    start = time.process_time()
    call()
    return 1000 * (time.process_time() - start)


def wall(call: Callable[[], Any]) -> float:
    """Milliseconds on the clock of one call."""
    start = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - start)


def floors(explainer: ARMIN, row: pd.DataFrame, train: pd.DataFrame) -> dict[str, float]:
    """CPU milliseconds of what no code around it can save: the model's own ``predict``, and one search."""
    blank = bool(row.isna().any(axis=None))
    n = 2 * explainer.options.n_samples + explainer.options.n_fresh if blank else 2
    asked = train.iloc[:n]
    problem = explainer.problem(row)
    return {
        "rows": float(n),
        "predict": float(np.median([cpu(lambda: explainer.classifier.predict(asked)) for _ in range(3)])),
        "solve": cpu(lambda: solve(problem, time_limit=60.0)),
    }


def measure(cell: Cell, frame: pd.DataFrame) -> dict[str, Any]:
    """The medians over the rows of one cell."""
    explainer = cell.explainer
    rows = [frame.iloc[[i]] for i in range(len(frame))]
    for row in rows[:WARM]:
        explainer.explain(row)
    rows = rows[WARM:]
    half = len(rows) // 2
    whole = [(cpu(lambda r=row: explainer.explain(r))) for row in rows[:half]]
    parts = [stages_of(explainer, row) for row in rows[half:]]
    floor = [floors(explainer, row, cell.train) for row in rows[:half]]
    clock = [wall(lambda r=row: explainer.explain(r)) for row in rows[half:]]
    return {
        "total": float(np.median(whole)),
        "p95": float(np.percentile(whole, 95)),
        "worst": max(whole),
        "wall": float(np.median(clock)),
        "stages": {name: float(np.median([part[name] for part in parts])) for name in parts[0]},
        "floor": {name: float(np.median([one[name] for one in floor])) for name in floor[0]},
    }


def reaching(cell: Cell) -> Cell:
    """The same people with the library's own default: a blank is brought to a value, not moved by an amount."""
    old = cell.explainer
    numbers = {feature.name: "reach" for feature in old.schema if feature.actionable and feature.is_number}
    explainer = clone(old).set_params(schema=old.schema.update(blanks=numbers)).fit(cell.train)
    return replace(cell, explainer=explainer)


def rate(explainer: ARMIN, frame: pd.DataFrame, n_jobs: int) -> dict[str, float]:
    """Rows per second of ``explain_many``, by the clock, and CPU milliseconds per row of this process."""
    explainer.explain_many(frame.iloc[:WARM], n_jobs=n_jobs)
    start, spent = time.perf_counter(), time.process_time()
    explainer.explain_many(frame.iloc[WARM:], n_jobs=n_jobs)
    n = len(frame) - WARM
    return {"rows/s": n / (time.perf_counter() - start), "cpu": 1000 * (time.process_time() - spent) / n}


def page(found: dict[str, Any], before: dict[str, Any]) -> str:
    """The numbers as Markdown, those of other code in front of them."""
    lines = [f"Machine: {found['machine']}\n"]
    for kind in ("complete", "2 blanks", REACHED):
        models = [name for name in found["models"] if kind in found["models"][name]]
        lines += [f"\n### {kind}\n", "| | " + " | ".join(models) + " |", "|---" * (len(models) + 1) + "|"]

        def line(title: str, read: Callable[[dict[str, Any]], float], models: list[str] = models) -> str:
            cells = []
            for model in models:
                now, old = read(found["models"][model][kind]), before.get("models", {}).get(model, {}).get(kind)  # noqa: B023
                cells.append(f"{now:.1f}" if old is None else f"{read(old):.1f} → {now:.1f}")
            return f"| {title} | " + " | ".join(cells) + " |"

        lines += [line(name, lambda m, n=name: m["stages"].get(n, 0.0)) for name in (*STAGES, "rest")]
        lines += [
            line("**end to end**", lambda m: m["total"]),
            line("95th percentile", lambda m: m["p95"]),
            line("floor: one `predict`", lambda m: m["floor"]["predict"]),
            line("floor: one search", lambda m: m["floor"]["solve"]),
        ]
        if all("many" in found["models"][model][kind] for model in models):
            lines.append(line("`explain_many`, rows/s", lambda m: m["many"]["rows/s"] if "many" in m else 0.0))
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=60, help="rows to measure, half of them stage by stage")
    parser.add_argument("--dataset", default="FICO" if have_data() else "Synthetic")
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--many", type=int, default=0, help="also explain_many, in so many processes")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    parser.add_argument("--before", type=Path, help="numbers of other code, as --json wrote them")
    args = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    found: dict[str, Any] = {"machine": machine(), "rows": args.rows, "dataset": args.dataset, "models": {}}
    for model in args.models:
        cell = make_cell(args.dataset, model, args.rows + WARM)
        cell.explainer.set_params(options__n_fresh=1000)
        cases = {"complete": cell.complete, "2 blanks": cell.masked}
        found["models"][model] = {kind: measure(cell, frame) for kind, frame in cases.items()}
        found["models"][model][REACHED] = measure(reaching(cell), cell.masked)
        if args.many:
            for kind, frame in cases.items():
                found["models"][model][kind]["many"] = rate(cell.explainer, frame, args.many)
        print(model, {k: round(v["total"], 1) for k, v in found["models"][model].items()}, flush=True)
    if args.json:
        args.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    before = json.loads(args.before.read_text(encoding="utf-8")) if args.before else {}
    print(page(found, before))


if __name__ == "__main__":
    main()
