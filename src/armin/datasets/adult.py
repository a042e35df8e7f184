"""Adult (census income): who earns more than 50,000 dollars a year."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from armin.datasets.dataset import Dataset, categorical
from armin.datasets.fetch import Source, load_table
from armin.schema import Schema

__all__ = ["load_adult"]

COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "class",
)  # fmt: skip
NUMBERS = ("age", "capital-gain", "capital-loss", "hours-per-week")
TEXTS = ("workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country")
EDUCATION = (
    "Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad", "Some-college",
    "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate",
)  # fmt: skip
IMMUTABLE = ("marital-status", "relationship", "race", "sex", "native-country")
LABELS = {
    "workclass": "the class of worker",
    "marital-status": "marital status",
    "capital-gain": "the capital gain",
    "capital-loss": "the capital loss",
    "hours-per-week": "the hours of work per week",
    "native-country": "the country of birth",
}


def _read(paths: list[Path]) -> pd.DataFrame:
    parts = [pd.read_csv(p, header=None, names=list(COLUMNS), comment="|", skipinitialspace=True) for p in paths]
    both = pd.concat(parts, ignore_index=True)
    return both.assign(**{"class": both["class"].str.rstrip(".")})  # the test file ends its labels in a full stop


SOURCE = Source(
    name="Adult",
    files=("adult/adult.data.gz", "adult/adult.test.gz"),
    read=_read,
    numbers=NUMBERS,
    texts=(*TEXTS, "class"),
    n_rows=48842,
    mark="f6c28ab0663e5e9f",
    origin="the UCI repository (data set 2, adult.data and adult.test)",
    openml={"name": "adult", "version": 2},
)
DESCRIPTION = (
    "Adult (Kohavi, 1996), from the United States census of 1994: the published training rows, then the test rows. "
    "Undesired: '<=50K'. Real blanks ('?') in workclass, occupation and native-country. Left out: fnlwgt, a weight of "
    "the census and no property of a person, and education-num, which repeats education. Fixed: marital status, "
    "relationship, race, sex, country of birth; age and education may only grow. CC BY 4.0."
)


def load_adult(*, download: bool = True) -> Dataset:
    """Adult: four numbers and eight categories, real blanks in three of them. The paper does not use it.

    Parameters
    ----------
    download : whether to ask OpenML if the files are not on this machine

    Returns
    -------
    Dataset

    Examples
    --------
    >>> adult = load_adult()  # doctest: +SKIP
    >>> adult  # doctest: +SKIP
    Dataset('Adult', form='native', 48,842 rows × 12 columns, desired='>50K')
    >>> int(adult.X["occupation"].isna().sum())  # doctest: +SKIP
    2809
    """
    table, where = load_table(SOURCE, download=download)
    columns = {}
    for name in COLUMNS:
        if name in NUMBERS:
            columns[name] = table[name]
        elif name == "education":
            columns[name] = categorical(table[name], EDUCATION, ordered=True)
        elif name in TEXTS:
            columns[name] = categorical(table[name], sorted(table[name].dropna().unique()))
    X = pd.DataFrame(columns)
    schema = Schema.infer(
        X,
        immutable=IMMUTABLE,
        increase_only=["age", "education"],
        labels=LABELS,
        units={"capital-gain": "$", "capital-loss": "$"},
    )
    return Dataset("Adult", "native", X, table["class"], ">50K", schema, DESCRIPTION, where)
