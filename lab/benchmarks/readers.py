"""Models of other libraries, end to end: ``python -m lab.benchmarks.readers``, or with ``--help``.

FICO as in the paper: people whom the model rejects hide two values, and ask for the cheapest plan of up to four changes
that works for three quarters of 100 completions. Counted are the answers that are proven; times are milliseconds of
computing for one person, each being explained once before, uncounted, so that code is compiled and values are known.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from lab.benchmarks.cells import have_data, make_cell

Fit = Callable[[pd.DataFrame, np.ndarray], Any]
PDO = {"pdo": 20, "odds": 50, "scorecard_points": 600}


def _ebm(**params: Any) -> Fit:
    def fit(X: pd.DataFrame, y: np.ndarray) -> Any:
        from interpret.glassbox import ExplainableBoostingClassifier

        return ExplainableBoostingClassifier(n_jobs=1, random_state=0, **params).fit(X, y)

    return fit


def _scorecard(X: pd.DataFrame, y: np.ndarray) -> Any:
    from optbinning import BinningProcess, Scorecard

    card = Scorecard(
        BinningProcess(list(X.columns)), LogisticRegression(max_iter=1000), scaling_method="pdo_odds",
        scaling_method_params=PDO, rounding=True,
    )  # fmt: skip
    return card.fit(X, y)


def _points(X: pd.DataFrame, y: np.ndarray) -> Any:
    from armin.models import ScorecardCut

    card = _scorecard(X, y)
    # fewer points for a higher risk: the cut that approves as many as have paid back
    cut = float(np.quantile(card.score(X), float(np.mean(y))))
    return ScorecardCut(card, round(cut), classes=[1, 0])


def _binned(X: pd.DataFrame, y: np.ndarray) -> Any:
    from optbinning import BinningProcess

    return make_pipeline(BinningProcess(list(X.columns)), LogisticRegression(max_iter=1000)).fit(X, y)


def _statsmodels(X: pd.DataFrame, y: np.ndarray) -> Any:
    import statsmodels.api as sm

    from armin.models import StatsmodelsClassifier

    return StatsmodelsClassifier(sm.Logit(np.asarray(y, dtype=float), sm.add_constant(X.astype(float))).fit(disp=0))


def _votes() -> VotingClassifier:
    small = {"n_estimators": 25, "max_leaf_nodes": 8, "random_state": 0}
    return VotingClassifier(
        [("rf", RandomForestClassifier(**small)), ("et", ExtraTreesClassifier(**small))], voting="soft"
    )


def _small(trees: int) -> RandomForestClassifier:
    return RandomForestClassifier(trees, max_leaf_nodes=8, random_state=0)


def _mixed(voting: str) -> VotingClassifier:
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    return VotingClassifier([("lr", scaled), ("rf", _small(50)), ("nb", GaussianNB())], voting=voting)


def _stack() -> StackingClassifier:
    return StackingClassifier([("rf", _small(50)), ("svc", make_pipeline(StandardScaler(), LinearSVC()))])


def _hist() -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(max_iter=50, max_leaf_nodes=8, random_state=0)


MODELS: dict[str, Fit] = {
    "interpret: EBM": _ebm(),
    "interpret: EBM, 10 pairs": _ebm(interactions=10),
    "interpret: EBM without pairs": _ebm(interactions=0),
    "optbinning: Scorecard": _scorecard,
    "optbinning: cut on the points of a Scorecard": _points,
    "optbinning: BinningProcess + LogisticRegression": _binned,
    "statsmodels: Logit": _statsmodels,
    "scikit-learn: GaussianNB": lambda X, y: GaussianNB().fit(X, y),
    "scikit-learn: CalibratedClassifierCV of LinearSVC (5 folds)": lambda X, y: make_pipeline(
        StandardScaler(), CalibratedClassifierCV(LinearSVC())
    ).fit(X, y),
    "scikit-learn: CalibratedClassifierCV of LinearSVC, isotonic (5 folds)": lambda X, y: make_pipeline(
        StandardScaler(), CalibratedClassifierCV(LinearSVC(), method="isotonic")
    ).fit(X, y),
    "scikit-learn: CalibratedClassifierCV of RandomForest (5 folds)": lambda X, y: CalibratedClassifierCV(
        _small(50)
    ).fit(X, y),
    "scikit-learn: CalibratedClassifierCV of RandomForest, isotonic (5 folds)": lambda X, y: CalibratedClassifierCV(
        _small(50), method="isotonic"
    ).fit(X, y),
    "scikit-learn: CalibratedClassifierCV of HistGradientBoosting (5 folds)": lambda X, y: CalibratedClassifierCV(
        _hist()
    ).fit(X, y),
    "scikit-learn: CalibratedClassifierCV of GaussianNB, isotonic (5 folds)": lambda X, y: CalibratedClassifierCV(
        GaussianNB(), method="isotonic"
    ).fit(X, y),
    "scikit-learn: soft votes of LogisticRegression, RandomForest, GaussianNB": lambda X, y: _mixed("soft").fit(X, y),
    "scikit-learn: hard votes of the same": lambda X, y: _mixed("hard").fit(X, y),
    "scikit-learn: stack of RandomForest and LinearSVC": lambda X, y: _stack().fit(X, y),
    "scikit-learn: soft votes of a RandomForest and ExtraTrees": lambda X, y: _votes().fit(X, y),
    "scikit-learn: LogisticRegression, for comparison": lambda X, y: make_pipeline(
        StandardScaler(), LogisticRegression()
    ).fit(X, y),
}


def measure(name: str, count: int) -> str:
    """One row of the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries, in training
        cell = make_cell("FICO", name, count, made=MODELS[name])
        times, proven, found, first = [], 0, 0, []
        for _, row in cell.masked.iterrows():
            start = time.process_time()
            cell.explainer.explain(row)
            first.append(time.process_time() - start)
            start = time.process_time()
            answer = cell.explainer.explain(row)
            times.append(time.process_time() - start)
            proven += answer.status.value in ("optimal", "infeasible")
            found += answer.cost is not None
    ms, ms_first = 1000 * np.array(times), 1000 * np.array(first)
    return (
        f"| {name} | {len(times)} | {found} | {proven} | {np.median(ms):.1f} | {np.quantile(ms, 0.9):.1f} | "
        f"{ms.max():.0f} | {np.median(ms_first):.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=50)
    parser.add_argument("--only", default="", help="models whose names contain this")
    given = parser.parse_args()
    if not have_data():
        raise SystemExit("Set ARMIN_DATA to the folder with the data sets.")
    print("| model | people | plans | proven | median ms | 90% ms | longest ms | median ms the first time |")
    print("|---|---|---|---|---|---|---|---|")
    for name in MODELS:
        if given.only in name:
            print(measure(name, given.rows), flush=True)


if __name__ == "__main__":
    main()
