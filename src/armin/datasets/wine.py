"""Wine quality: which bottles of vinho verde score above 5."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from armin.datasets.dataset import Dataset, Form, categorical, check_form
from armin.datasets.fetch import Source, load_table
from armin.schema import Schema

__all__ = ["load_wine_quality"]

NUMBERS = (
    "fixed_acidity", "volatile_acidity", "citric_acid", "residual_sugar", "chlorides", "free_sulfur_dioxide",
    "total_sulfur_dioxide", "density", "pH", "sulphates", "alcohol",
)  # fmt: skip
UNITS = {
    "fixed_acidity": "g/l", "volatile_acidity": "g/l", "citric_acid": "g/l", "residual_sugar": "g/l",
    "chlorides": "g/l", "free_sulfur_dioxide": "mg/l", "total_sulfur_dioxide": "mg/l", "density": "g/ml",
    "sulphates": "g/l", "alcohol": "% vol",
}  # fmt: skip
LABELS = {name: name.replace("_", " ") for name in NUMBERS if "_" in name}
WHOLE_STEPS = {"free_sulfur_dioxide": 1.0, "total_sulfur_dioxide": 1.0}
"""Integers in the paper. 58 and 29 published values end in a half, so they are continuous here and move by wholes."""


def _read(paths: list[Path]) -> pd.DataFrame:
    white, red = (pd.read_csv(path, sep=";") for path in paths)
    both = pd.concat([white.assign(color="white"), red.assign(color="red")], ignore_index=True)
    return both.rename(columns=lambda name: name.replace(" ", "_"))


SOURCE = Source(
    name="WineQuality",
    files=("winequality/winequality-white.csv", "winequality/winequality-red.csv"),
    read=_read,
    numbers=(*NUMBERS, "quality"),
    texts=("color",),
    n_rows=6497,
    mark="d8268c19dec11d58",
    origin="the UCI repository (data set 186)",
    openml={"data_id": 46964},
    rename={"median_wine_quality": "quality", "wine_color": "color"},
)
DESCRIPTION = (
    "Wine Quality (Cortez and others, 2009): laboratory values of white and red vinho verde, and the median score of "
    "tasters. Undesired: a score of 5 or less. Everything but the colour may change. Duplicates are kept, as in the "
    "paper. CC BY 4.0."
)


def load_wine_quality(*, form: Form = "native", encoded: bool = False, download: bool = True) -> Dataset:
    """Wine quality: 11 numbers and the colour, no blanks.

    Parameters
    ----------
    form : "native", or "paper", where the colour is the number ``white`` and alcohol has ten digits
    encoded : whether to give the paper's matrix; the form is then of no account
    download : whether to ask OpenML if the files are not on this machine

    Returns
    -------
    Dataset

    Examples
    --------
    >>> load_wine_quality()  # doctest: +SKIP
    Dataset('WineQuality', form='native', 6,497 rows × 12 columns, desired='>5')
    """
    check_form(form)
    table, where = load_table(SOURCE, download=download)
    X = table[list(NUMBERS)].astype(np.float64)
    poor = table["quality"] <= 5
    if not (encoded or form == "paper"):
        X["color"] = categorical(table["color"], ["red", "white"])
        y = pd.Series(np.where(poor, "<=5", ">5"), name="Quality", dtype=object)
        schema = Schema.infer(X, immutable=["color"], step=WHOLE_STEPS, labels=LABELS, units=UNITS)
        return Dataset("WineQuality", "native", X, y, ">5", schema, DESCRIPTION, where)
    X["alcohol"] = [float(f"{value:.10g}") for value in X["alcohol"]]
    X["white"] = (table["color"] == "white").astype(np.int64)
    schema = Schema.infer(X, immutable=["white"], step=WHOLE_STEPS, labels=LABELS, units=UNITS)
    paper = Dataset.paper("WineQuality", X, poor.astype(np.int64).rename("Quality"), schema, DESCRIPTION, where)
    return paper.encoded() if encoded else paper
