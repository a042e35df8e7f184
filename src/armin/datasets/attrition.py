"""IBM employee attrition: who leaves the company."""

from __future__ import annotations

import numpy as np
import pandas as pd

from armin.datasets.dataset import Dataset, Form, categorical, check_form
from armin.datasets.fetch import Source, load_table
from armin.schema import Schema

__all__ = ["load_attrition"]

NUMBERS = (
    "Age", "DistanceFromHome", "Education", "EnvironmentSatisfaction", "JobInvolvement", "JobLevel", "JobSatisfaction",
    "MonthlyIncome", "NumCompaniesWorked", "PercentSalaryHike", "PerformanceRating", "RelationshipSatisfaction",
    "StockOptionLevel", "TotalWorkingYears", "TrainingTimesLastYear", "WorkLifeBalance", "YearsAtCompany",
    "YearsInCurrentRole", "YearsSinceLastPromotion", "YearsWithCurrManager",
)  # fmt: skip
LEVELS = {
    "BusinessTravel": ("Non-Travel", "Travel_Rarely", "Travel_Frequently"),
    "Gender": ("Male", "Female"),
    "OverTime": ("No", "Yes"),
    "Department": ("Human Resources", "Research & Development", "Sales"),
    "EducationField": ("Human Resources", "Life Sciences", "Marketing", "Medical", "Other", "Technical Degree"),
    "JobRole": (
        "Healthcare Representative", "Human Resources", "Laboratory Technician", "Manager", "Manufacturing Director",
        "Research Director", "Research Scientist", "Sales Executive", "Sales Representative",
    ),
    "MaritalStatus": ("Divorced", "Married", "Single"),
}  # fmt: skip
CODED = ("BusinessTravel", "Gender", "OverTime")
"""Texts that the paper's matrix holds as 0, 1, 2 in the order of their levels."""

IMMUTABLE = ("Age", "DistanceFromHome", "Education", "Gender", "NumCompaniesWorked", "EducationField", "MaritalStatus")
INCREASE = ("YearsAtCompany", "YearsInCurrentRole", "YearsSinceLastPromotion", "YearsWithCurrManager")
LABELS = {
    "BusinessTravel": "business travel",
    "DistanceFromHome": "the distance from home",
    "EnvironmentSatisfaction": "satisfaction with the environment (1 to 4)",
    "JobInvolvement": "involvement in the job (1 to 4)",
    "JobLevel": "the job level",
    "JobSatisfaction": "satisfaction with the job (1 to 4)",
    "MonthlyIncome": "the monthly income",
    "NumCompaniesWorked": "the number of earlier employers",
    "OverTime": "overtime",
    "PercentSalaryHike": "the last pay rise in percent",
    "RelationshipSatisfaction": "satisfaction with relationships at work (1 to 4)",
    "StockOptionLevel": "the stock option level",
    "TotalWorkingYears": "the years of work",
    "TrainingTimesLastYear": "the number of trainings last year",
    "WorkLifeBalance": "the balance of work and life (1 to 4)",
    "YearsAtCompany": "the years at the company",
    "YearsInCurrentRole": "the years in the present role",
    "YearsSinceLastPromotion": "the years since the last promotion",
    "YearsWithCurrManager": "the years with the present manager",
    "JobRole": "the job role",
}
PAPER_ORDER = (
    "Age", "BusinessTravel", "DistanceFromHome", "Education", "EnvironmentSatisfaction", "Gender", "JobInvolvement",
    "JobLevel", "JobSatisfaction", "MonthlyIncome", "NumCompaniesWorked", "OverTime", "PercentSalaryHike",
    "OutstandingPerformanceRating", "RelationshipSatisfaction", "StockOptionLevel", "TotalWorkingYears",
    "TrainingTimesLastYear", "WorkLifeBalance", "YearsAtCompany", "YearsInCurrentRole", "YearsSinceLastPromotion",
    "YearsWithCurrManager", "Department", "EducationField", "JobRole", "MaritalStatus",
)  # fmt: skip
SOURCE = Source(
    name="Attrition",
    files=("attrition/attrition_raw.csv",),
    read=lambda paths: pd.read_csv(paths[0], encoding="utf-8-sig"),
    numbers=NUMBERS,
    texts=(*LEVELS, "Attrition"),
    n_rows=1470,
    mark="441f174d0eaa2eb7",
    origin="Kaggle (pavansubhasht/ibm-hr-analytics-attrition-dataset)",
    openml={"data_id": 43893},
)
DESCRIPTION = (
    "IBM HR Analytics Employee Attrition, made up by IBM's data scientists. Undesired: Attrition 'Yes', the person "
    "leaves. Left out, as in the paper: an identifier, three constants, and the daily, hourly and monthly rates. "
    "Fixed: age, distance from home, education and its field, gender, earlier employers, marital status; the four "
    "Years... columns may only grow. Database ODbL 1.0, contents DbCL 1.0."
)


def load_attrition(*, form: Form = "native", encoded: bool = False, download: bool = True) -> Dataset:
    """IBM employee attrition: 20 numbers and 7 categories, no blanks.

    Parameters
    ----------
    form : "native", with the published texts, or "paper", where travel, gender and overtime are numbers
    encoded : whether to give the paper's matrix; the form is then of no account
    download : whether to ask OpenML if the file is not on this machine

    Returns
    -------
    Dataset

    Examples
    --------
    >>> load_attrition()  # doctest: +SKIP
    Dataset('Attrition', form='native', 1,470 rows × 27 columns, desired='No')
    >>> load_attrition(encoded=True)  # doctest: +SKIP
    Dataset('Attrition', form='encoded', 1,470 rows × 44 columns, desired=0)
    """
    check_form(form)
    table, where = load_table(SOURCE, download=download)
    if not (encoded or form == "paper"):
        X = _native(table)
        schema = Schema.infer(
            X,
            kinds={"PerformanceRating": "binary"},
            immutable=IMMUTABLE,
            increase_only=INCREASE,
            labels={**LABELS, "PerformanceRating": "the performance rating"},
            units={"MonthlyIncome": "$"},
        )
        return Dataset("Attrition", "native", X, table["Attrition"], "No", schema, DESCRIPTION, where)
    X = _paper(table)
    y = (table["Attrition"] == "Yes").astype(np.int64)
    schema = Schema.infer(
        X,
        immutable=IMMUTABLE,
        increase_only=INCREASE,
        labels={**LABELS, "OutstandingPerformanceRating": "an outstanding performance rating"},
        units={"MonthlyIncome": "$"},
    )
    paper = Dataset.paper("Attrition", X, y, schema, DESCRIPTION, where)
    return paper.encoded() if encoded else paper


def _native(table: pd.DataFrame) -> pd.DataFrame:
    order = [name if name != "OutstandingPerformanceRating" else "PerformanceRating" for name in PAPER_ORDER]
    columns = {
        name: categorical(table[name], LEVELS[name], ordered=name == "BusinessTravel")
        if name in LEVELS
        else table[name]
        for name in order
    }
    return pd.DataFrame(columns)


def _paper(table: pd.DataFrame) -> pd.DataFrame:
    columns = {}
    for name in PAPER_ORDER:
        if name == "OutstandingPerformanceRating":
            columns[name] = (table["PerformanceRating"] == 4).astype(np.int64)
        elif name in CODED:
            columns[name] = table[name].map({level: i for i, level in enumerate(LEVELS[name])}).astype(np.int64)
        elif name in LEVELS:
            spelling = {level: level.replace(" & ", "And").replace(" ", "") for level in LEVELS[name]}
            columns[name] = categorical(table[name].map(spelling), list(spelling.values()))
        else:
            columns[name] = table[name]
    return pd.DataFrame(columns)
