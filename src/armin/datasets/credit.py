"""Give Me Some Credit: which borrowers will be 90 days late within two years."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from armin.datasets.dataset import Dataset, Form, check_form
from armin.datasets.fetch import Source, load_table
from armin.errors import ParameterError
from armin.schema import Schema

__all__ = ["load_give_me_credit"]

LATE = (
    "NumberOfTime30-59DaysPastDueNotWorse", "NumberOfTimes90DaysLate", "NumberOfTime60-89DaysPastDueNotWorse",
)  # fmt: skip
LABELS = {
    "RevolvingUtilizationOfUnsecuredLines": "the balance on cards and credit lines as a share of their limits",
    "age": "age",
    "NumberOfTime30-59DaysPastDueNotWorse": "the times 30 to 59 days late in two years",
    "DebtRatio": "monthly payments as a share of income",
    "MonthlyIncome": "the monthly income",
    "NumberOfOpenCreditLinesAndLoans": "the number of open credit lines and loans",
    "NumberOfTimes90DaysLate": "the times 90 days late or more",
    "NumberRealEstateLoansOrLines": "the number of mortgages and real estate loans",
    "NumberOfTime60-89DaysPastDueNotWorse": "the times 60 to 89 days late in two years",
    "NumberOfDependents": "the number of dependents",
}
RATIOS = ("RevolvingUtilizationOfUnsecuredLines", "DebtRatio")
IMMUTABLE = ("age", "NumberOfDependents")
TARGET = "SeriousDlqin2yrs"
LARGEST_UTILISATION = 13.0
FIRST_CODE = 90
"""A count from here on is a code (96 or 98), not a count."""

LARGEST_DEBT_QUANTILE = 0.975


SOURCE = Source(
    name="GiveMeCredit",
    files=("givemecredit/cs-training.csv.gz",),
    read=lambda paths: _read(pd.read_csv(paths[0], index_col=0)),
    numbers=tuple(LABELS),
    texts=(TARGET,),
    n_rows=150_000,
    mark="d3fec191ad08ca51",
    origin="Kaggle (the competition GiveMeSomeCredit, cs-training.csv)",
    openml={"data_id": 46929},
    rename={"FinancialDistressNextTwoYears": TARGET},
)
DESCRIPTION = (
    "Give Me Some Credit, a Kaggle competition of 2011. Undesired: SeriousDlqin2yrs 'Yes', 90 days late within two "
    "years. Native: all 150,000 rows. MonthlyIncome (29,731) and NumberOfDependents (3,924) have real blanks; where "
    "the income is blank DebtRatio is an amount instead of a ratio, so it is blank too; the codes 96 and 98 in the "
    "three counts of late payments (269 rows) are blank. Paper: the 119,766 complete rows with a utilisation of at "
    "most 13, no such code, and a DebtRatio up to its 97.5 % quantile. Age and dependents are fixed. No terms are "
    "stated for the data; not cleared for redistribution."
)


def load_give_me_credit(
    *, form: Form = "native", encoded: bool = False, trim: float | None = None, download: bool = True
) -> Dataset:
    """Give Me Some Credit: ten numbers, real blanks in a fifth of the rows.

    Parameters
    ----------
    form : "native" with all rows and real blanks, or "paper" with the complete rows that pass the paper's filters
    encoded : whether to give the paper's matrix, which is the paper form as floats
    trim : bounds of what may change are the quantiles ``trim`` and ``1 - trim`` of the rows, 0 for their whole range;
        None for 0 in the native form and 0.01, as in the paper, otherwise. Rows beyond trimmed bounds do not fit the
        schema
    download : whether to ask OpenML if the file is not on this machine

    Returns
    -------
    Dataset

    Examples
    --------
    >>> credit = load_give_me_credit()  # doctest: +SKIP
    >>> credit  # doctest: +SKIP
    Dataset('GiveMeCredit', form='native', 150,000 rows × 10 columns, desired='No')
    >>> int(credit.X["MonthlyIncome"].isna().sum())  # doctest: +SKIP
    29731
    """
    check_form(form)
    native = form == "native" and not encoded
    trim = trim if trim is not None else 0.0 if native else 0.01
    if not 0 <= trim < 0.5:
        raise ParameterError(f"The 'trim' parameter must be in [0, 0.5). Got {trim!r} instead.")
    table, where = load_table(SOURCE, download=download)
    table = _blanked(table) if native else _filtered(table)
    X = table[list(LABELS)]
    schema = Schema.infer(
        X,
        kinds={name: "continuous" if name in RATIOS else "integer" for name in LABELS},
        immutable=IMMUTABLE,
        bounds=_trimmed(X, trim) if trim else {},
        labels=LABELS,
        units={"MonthlyIncome": "$"},
    )
    if native:
        return Dataset("GiveMeCredit", "native", X, table[TARGET], "No", schema, DESCRIPTION, where)
    y = (table[TARGET] == "Yes").astype(np.int64)
    paper = Dataset.paper("GiveMeCredit", X, y, schema, DESCRIPTION, where)
    return paper.encoded() if encoded else paper


def _read(raw: pd.DataFrame) -> pd.DataFrame:
    """The published file with the label as a text."""
    return raw.assign(**{TARGET: raw[TARGET].map({0: "No", 1: "Yes"})}) if TARGET in raw else raw


def _blanked(table: pd.DataFrame) -> pd.DataFrame:
    """Every value that is not what its column says becomes a blank."""
    ratio = table["DebtRatio"].where(table["MonthlyIncome"].notna())
    counts = {name: table[name].where(table[name] < FIRST_CODE) for name in LATE}
    return table.assign(DebtRatio=ratio, **counts)


def _filtered(table: pd.DataFrame) -> pd.DataFrame:
    """The paper's rows."""
    kept = (
        (table["RevolvingUtilizationOfUnsecuredLines"] <= LARGEST_UTILISATION)
        & (table[list(LATE)] < FIRST_CODE).all(axis=1)
        & (table["DebtRatio"] <= table["DebtRatio"].quantile(LARGEST_DEBT_QUANTILE))
    )
    complete = table[kept].dropna().reset_index(drop=True)
    return complete.astype({"MonthlyIncome": np.int64, "NumberOfDependents": np.int64})


def _trimmed(X: pd.DataFrame, trim: float) -> dict[str, tuple[float, float]]:
    bounds = {}
    for name in X.columns.difference(IMMUTABLE):
        low, high = (float(q) for q in X[name].quantile([trim, 1 - trim]))
        bounds[name] = (low, high) if name in RATIOS else (float(math.floor(low)), float(math.ceil(high)))
    return bounds
