"""A synthetic loan book, made up to tell the story of the paper's introduction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from armin.schema import Schema

__all__ = ["Loans", "make_loans"]

EDUCATION = ("HighSchool", "Bachelor", "Masters", "Doctorate")
PURPOSE = ("NewCar", "UsedCar", "Furniture", "Business", "Repairs")


@dataclass(frozen=True, eq=False)
class Loans:
    """The loan book, a model trained on it, and a person to advise.

    Attributes
    ----------
    X, y : the applications, and "approved" or "rejected"
    schema : what may change
    classifier : a logistic regression behind one-hot and ordinal encoders, trained on X and y
    person : a complete application that the classifier rejects
    applicant : the same person, who does not tell the income
    """

    X: pd.DataFrame
    y: pd.Series[Any]
    schema: Schema
    classifier: Any
    person: dict[str, Any]
    applicant: dict[str, Any]


def make_loans(n: int = 3000, random_state: int = 0) -> Loans:
    """Make the loan book.

    Parameters
    ----------
    n : number of applications
    random_state : the seed

    Examples
    --------
    >>> loans = make_loans()
    >>> list(loans.X.columns)
    ['Age', 'Income', 'Purpose', 'Education', 'ExistingLoans']
    >>> loans.classifier.predict(pd.DataFrame([loans.person]))[0]
    'rejected'
    """
    rng = np.random.default_rng(random_state)
    age = rng.integers(20, 71, n)
    level = rng.choice(4, n, p=[0.4, 0.35, 0.2, 0.05])
    log_income = np.log(33.0) + 0.02 * (age - 25) + 0.13 * level + rng.normal(0, 0.45, n)
    income = (np.exp(log_income) * 1000).round(-2).clip(8_000, 250_000).astype(int)
    loans = rng.poisson(0.8 + 0.9 * (age < 45), n).clip(0, 6)
    purpose = rng.choice(5, n, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    burden = np.array([0.35, 0.1, 0.05, 0.3, -0.35])[purpose]
    score = 0.035 * (income / 1000 - 35) - 0.95 * loans - burden + 0.4 * level + rng.logistic(0, 0.3, n)
    X = pd.DataFrame(
        {
            "Age": age,
            "Income": income,
            "Purpose": np.array(PURPOSE, dtype=object)[purpose],
            "Education": np.array(EDUCATION, dtype=object)[level],
            "ExistingLoans": loans,
        }
    )
    y = pd.Series(np.where(score > 0, "approved", "rejected"), name="decision")
    schema = Schema.infer(
        X,
        kinds={"Education": "ordinal"},
        categories={"Education": EDUCATION, "Purpose": PURPOSE},
        immutable=["Age", "Income"],
        increase_only=["Education"],
        decrease_only=["ExistingLoans"],
        bounds={"Income": (0, 250_000)},
        units={"Income": "$"},
        labels={"ExistingLoans": "the number of existing loans", "Purpose": "the purpose"},
    )
    classifier = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(), ["Purpose"]),
            (OrdinalEncoder(categories=[list(EDUCATION)]), ["Education"]),
            (StandardScaler(), ["Age", "Income", "ExistingLoans"]),
        ),
        LogisticRegression(),
    ).fit(X, y)
    person = {"Age": 32, "Income": 30_000, "Purpose": "NewCar", "Education": "Masters", "ExistingLoans": 2}
    return Loans(X, y, schema, classifier, person, {**person, "Income": None})
