"""People whose debts, incomes, balances and limits matter by their ratios."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

NUMBERS = ["debt", "income", "balance", "limit"]


def make_people(n: int = 240, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "debt": np.exp(rng.normal(2, 0.8, n)).round(1),
            "income": np.exp(rng.normal(2, 0.5, n)).round(1) + 1,
            "balance": rng.integers(0, 50, n).astype(float),
            "limit": rng.integers(20, 90, n).astype(float),
            "home": rng.choice(["rent", "own"], n),
        }
    )
    score = -X.debt / X.income - X.balance / X.limit + 0.5 * (X.home == "own") + rng.normal(0, 0.3, n)
    return X, np.where(score > score.median(), "yes", "no")


PEOPLE, ANSWERS = make_people()


PEOPLE, ANSWERS = make_people()


def fit(steps: Any, final: Any, X: Any = PEOPLE, y: Any = ANSWERS) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_pipeline(steps, clone(final)).fit(X, y)
