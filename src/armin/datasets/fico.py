"""FICO HELOC: which home equity lines of credit will be repaid."""

from __future__ import annotations

import numpy as np
import pandas as pd

from armin.datasets.dataset import Dataset, Form, check_form
from armin.datasets.fetch import Source, load_table
from armin.schema import Kind, Schema

__all__ = ["load_fico"]

LABELS = {
    "ExternalRiskEstimate": "the external risk estimate",
    "MSinceOldestTradeOpen": "months since the oldest trade was opened",
    "MSinceMostRecentTradeOpen": "months since the latest trade was opened",
    "AverageMInFile": "the average months in file",
    "NumSatisfactoryTrades": "the number of satisfactory trades",
    "NumTrades60Ever2DerogPubRec": "the number of trades ever 60 or more days late",
    "NumTrades90Ever2DerogPubRec": "the number of trades ever 90 or more days late",
    "PercentTradesNeverDelq": "the percentage of trades never late",
    "MSinceMostRecentDelq": "months since the latest delinquency",
    "MaxDelq2PublicRecLast12M": "the worst delinquency of the last 12 months (low is worse)",
    "MaxDelqEver": "the worst delinquency ever (low is worse)",
    "NumTotalTrades": "the number of trades",
    "NumTradesOpeninLast12M": "the number of trades opened in the last 12 months",
    "PercentInstallTrades": "the percentage of instalment trades",
    "MSinceMostRecentInqexcl7days": "months since the latest inquiry, the last 7 days left out",
    "NumInqLast6M": "the number of inquiries in the last 6 months",
    "NumInqLast6Mexcl7days": "the number of inquiries in the last 6 months, the last 7 days left out",
    "NetFractionRevolvingBurden": "the revolving balance as a percentage of the limit",
    "NetFractionInstallBurden": "the instalment balance as a percentage of the loan",
    "NumRevolvingTradesWBalance": "the number of revolving trades with a balance",
    "NumInstallTradesWBalance": "the number of instalment trades with a balance",
    "NumBank2NatlTradesWHighUtilization": "the number of bank trades with high utilisation",
    "PercentTradesWBalance": "the percentage of trades with a balance",
}
SOURCE = Source(
    name="FICO",
    files=("fico/heloc_raw.csv",),
    read=lambda paths: pd.read_csv(paths[0]),
    numbers=tuple(LABELS),
    texts=("RiskPerformance",),
    n_rows=10459,
    mark="71fd4b2c62a8048b",
    origin="FICO (the Explainable Machine Learning Challenge; HELOC, with a column RiskPerformance and 23 features)",
    openml={"data_id": 46932},
)
KINDS: dict[str, Kind] = dict.fromkeys(LABELS, "integer")
DESCRIPTION = (
    "FICO HELOC, the Explainable Machine Learning Challenge of 2018: credit reports of people who asked for a home "
    "equity line of credit. Undesired: RiskPerformance 'Bad', not paid as negotiated. "
    "Native: the codes -7 (condition not met), -8 (no usable record) and -9 (no record) are blanks. "
    "Paper: the 9,871 rows with any record, every code replaced by 0. Everything may change, as in the paper. "
    "Terms not stated; not cleared for redistribution."
)


def load_fico(
    *, form: Form = "native", encoded: bool = False, drop_empty: bool = True, download: bool = True
) -> Dataset:
    """FICO HELOC: 23 whole numbers from a credit report, ten of them with real blanks.

    Parameters
    ----------
    form : "native", where codes are blanks, or "paper", where they are 0
    encoded : whether to give the paper's matrix; the form is then of no account
    drop_empty : for the native form, whether to leave out the 588 rows without any value
    download : whether to ask OpenML if the file is not on this machine

    Returns
    -------
    Dataset

    Examples
    --------
    >>> load_fico()  # doctest: +SKIP
    Dataset('FICO', form='native', 9,871 rows × 23 columns, desired='Good')
    """
    check_form(form)
    table, where = load_table(SOURCE, download=download)
    X = table[list(SOURCE.numbers)]
    label = table["RiskPerformance"]
    empty = (X == -9).all(axis=1)
    if encoded or form == "paper":
        X = X[~empty].clip(lower=0).reset_index(drop=True)
        y = (label[~empty] == "Bad").astype(np.int64).reset_index(drop=True)
        paper = Dataset.paper("FICO", X, y, Schema.infer(X, kinds=KINDS, labels=LABELS), DESCRIPTION, where)
        return paper.encoded() if encoded else paper
    if drop_empty:
        X, label = X[~empty].reset_index(drop=True), label[~empty].reset_index(drop=True)
    X = X.where(X >= 0)
    schema = Schema.infer(X, kinds=KINDS, labels=LABELS)
    return Dataset("FICO", "native", X, label, "Good", schema, DESCRIPTION, where)
