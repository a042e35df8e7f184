"""What features made from several columns cost: ``python -m lab.benchmarks.blocks --help``.

The same rows are explained by two classifiers of one kind, in turn: one behind a pipeline with two ratios and a product
of two columns each, one on the raw columns. Every pair of columns has up to a hundred options each. The table gives the
median CPU time of ``explain``, how many answers are proved, and in how many small cases (12 options, two changes) brute
force over the same problem found the same cost. With ``--shared``, ratios and product have one column in common.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler

from armin import ARMIN
from armin.costs import TotalLogPercentileShift
from armin.datasets.amputate import mcar
from armin.problem import Status
from lab.benchmarks.cells import MODELS, have_data
from lab.benchmarks.engine import machine
from lab.experiments.data import load

SHOWN = ("LR", "RF", "HistGB", "XGBoost", "MLP")
WARM = 3
"""Rows that are explained before any is measured."""


@dataclass(frozen=True)
class Made:
    """Columns that are made from two others each: quotients of the first by one more than the second, and a product."""

    quotients: tuple[tuple[str, str], ...]
    product: tuple[str, str]


DATA = {
    "GiveMeCredit": Made(
        (("DebtRatio", "MonthlyIncome"), ("NumberOfTimes90DaysLate", "NumberOfTime30-59DaysPastDueNotWorse")),
        ("RevolvingUtilizationOfUnsecuredLines", "NumberOfOpenCreditLinesAndLoans"),
    ),
    "FICO": Made(
        (("NumSatisfactoryTrades", "NumTotalTrades"), ("NetFractionInstallBurden", "PercentInstallTrades")),
        ("ExternalRiskEstimate", "NetFractionRevolvingBurden"),
    ),
}

SHARED = {
    "GiveMeCredit": Made(
        (("DebtRatio", "MonthlyIncome"), ("RevolvingUtilizationOfUnsecuredLines", "MonthlyIncome")),
        ("NumberOfOpenCreditLinesAndLoans", "MonthlyIncome"),
    ),
    "FICO": Made(
        (("NumSatisfactoryTrades", "NumTotalTrades"), ("NetFractionInstallBurden", "NumTotalTrades")),
        ("ExternalRiskEstimate", "NumTotalTrades"),
    ),
}


def add_quotients(frame: pd.DataFrame, pairs: tuple[tuple[str, str], ...]) -> pd.DataFrame:
    """The frame with one column more for each pair."""
    return frame.assign(**{f"{a} / {b}": frame[a] / (1.0 + frame[b]) for a, b in pairs})


def engineered(made: Made) -> Any:
    """The steps that make the columns."""
    product = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    return make_pipeline(
        FunctionTransformer(add_quotients, kw_args={"pairs": made.quotients}),
        make_column_transformer((product, list(made.product)), remainder="passthrough"),
    )


def explain_both(dataset: str, made: Made, model: str, rows: int, blanks: int) -> dict[str, Any]:
    """One line of the table."""
    data = load(dataset, "paper")
    train, test, y, _ = train_test_split(data.X, np.asarray(data.y), test_size=0.25, stratify=data.y, random_state=0)
    explainers = {}
    for name, steps in (("blocks", engineered(made)), ("plain", "passthrough")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the paper's number of iterations, reached or not
            classifier = make_pipeline(steps, StandardScaler(), clone(MODELS[model]())).fit(train, y)
        explainers[name] = ARMIN.from_settings(
            classifier, data.schema.widened(data.X), desired=0,
            cost=TotalLogPercentileShift(base=2, estimate="kde"), confidence=0.75, n_samples=100, max_changes=4,
            max_options=100, grid="paper", n_fresh=0, time_limit=60.0, decision="complete", method="search",
        ).fit(train)  # fmt: skip
    bad = np.all([explainer.classifier.predict(test) == 1 for explainer in explainers.values()], axis=0)
    asked = test[bad].head(rows + WARM)
    if blanks:
        asked, _ = mcar(asked, blanks, random_state=0)
    spent: dict[str, list[float]] = {name: [] for name in explainers}
    proved = dict.fromkeys(explainers, 0)
    for i in range(len(asked)):
        for name, explainer in explainers.items():
            start = time.process_time()
            found = explainer.explain(asked.iloc[i : i + 1])
            if i >= WARM:
                spent[name].append(1000 * (time.process_time() - start))
                proved[name] += found.status in (Status.OPTIMAL, Status.INFEASIBLE)
    same, checked = compared(explainers["blocks"], asked.iloc[WARM : WARM + 3])
    return {
        "dataset": dataset, "model": model, "blanks": blanks, "rows": len(asked) - WARM,
        **{f"{name} ms": float(np.median(times)) for name, times in spent.items()},
        **{f"{name} slowest ms": float(np.max(times)) for name, times in spent.items()},
        **{f"{name} proved": count for name, count in proved.items()},
        "equal to brute force": same, "compared": checked,
    }  # fmt: skip


def compared(explainer: ARMIN, rows: pd.DataFrame) -> tuple[int, int]:
    """In how many cases that brute force can finish it finds the same cost."""
    same = 0
    small = explainer.set_params(options__max_options=12, max_changes=2)
    for i in range(len(rows)):
        costs = [
            small.set_params(options__method=m).explain(rows.iloc[i : i + 1]).cost for m in ("search", "enumerate")
        ]
        same += costs[0] == costs[1] or bool(np.isclose(costs[0] or 0.0, costs[1] or 0.0, rtol=1e-9))
    explainer.set_params(options__max_options=100, max_changes=4, options__method="search")
    return same, len(rows)


def table(lines: list[dict[str, Any]]) -> str:
    """The lines as Markdown."""
    out = [
        "| data | model | blanks | without, ms | with blocks, ms | times | slowest | proved | equal to brute force |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    out += [
        f"| {one['dataset']} | {one['model']} | {one['blanks']} | {one['plain ms']:.0f} | {one['blocks ms']:.0f} "
        f"| {one['blocks ms'] / one['plain ms']:.1f} | {one['blocks slowest ms']:.0f} ms "
        f"| {one['blocks proved']} of {one['rows']} | {one['equal to brute force']} of {one['compared']} |"
        for one in lines
    ]
    return "\n".join(out)


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--data", nargs="*", default=list(DATA))
    parser.add_argument("--models", nargs="*", default=list(SHOWN))
    parser.add_argument("--blanks", nargs="*", type=int, default=[0, 2])
    parser.add_argument("--shared", action="store_true", help="columns that have one in common")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if not have_data():
        raise SystemExit("Set ARMIN_DATA to the folder with the data sets.")
    lines = []
    for dataset in given.data:
        made = (SHARED if given.shared else DATA)[dataset]
        for model in given.models:
            for blanks in given.blanks:
                lines.append(explain_both(dataset, made, model, given.rows, blanks))
                print(table(lines[-1:]).splitlines()[-1], flush=True)
                if given.json:
                    given.json.write_text(json.dumps({"machine": machine(), "lines": lines}, indent=1))
    print(table(lines))


if __name__ == "__main__":
    main()
