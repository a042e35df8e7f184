"""Student performance: which pupils finish mathematics with more than 10 of 20 points."""

from __future__ import annotations

import numpy as np
import pandas as pd

from armin.datasets.dataset import Dataset, Form, categorical, check_form
from armin.datasets.fetch import Source, load_table
from armin.schema import Schema

__all__ = ["load_student"]

NUMBERS = {
    "age": "age",
    "Medu": "mother_education",
    "Fedu": "father_education",
    "traveltime": "traveltime",
    "studytime": "studytime",
    "failures": "failures",
    "famrel": "family_relationship_quality",
    "freetime": "freetime",
    "goout": "go_out_with_friends",
    "Dalc": "workday_alcohol_consumption",
    "Walc": "weekend_alcohol_consumption",
    "health": "health_status",
    "absences": "absences",
}
YES_NO = {
    "schoolsup": "extra_educational_support",
    "famsup": "family_educational_support",
    "paid": "extra_paid_classes",
    "activities": "extra_curricular_activities",
    "nursery": "attended_nursery_school",
    "higher": "wants_to_take_higher_education",
    "internet": "internet_access_at_home",
    "romantic": "romantic_relationship",
}
CATEGORIES = {
    "school": "school",
    "sex": "sex",
    "address": "address",
    "famsize": "family_size",
    "Pstatus": "parent_cohabitation_status",
    "Mjob": "mother_job",
    "Fjob": "father_job",
    "reason": "reason",
    "guardian": "guardian",
}
"""Published names and the paper's, for numbers, yes or no, and the other categories."""

_JOBS = {level: level for level in ("at_home", "health", "other", "services", "teacher")}
LEVELS = {
    "school": {"GP": "GP", "MS": "MS"},
    "sex": {"F": "Female", "M": "Male"},
    "address": {"R": "Rural", "U": "Urban"},
    "famsize": {"GT3": ">3", "LE3": "<=3"},
    "Pstatus": {"A": "Apart", "T": "Together"},
    "Mjob": _JOBS,
    "Fjob": _JOBS,
    "reason": {level: level for level in ("course", "home", "other", "reputation")},
    "guardian": {level: level for level in ("father", "mother", "other")},
}
"""Published categories and the paper's spelling."""

LABELS = {
    "Medu": "the mother's education (0 to 4)",
    "Fedu": "the father's education (0 to 4)",
    "traveltime": "the time to school (1 to 4)",
    "studytime": "the weekly study time (1 to 4)",
    "failures": "the number of past failures",
    "schoolsup": "extra educational support",
    "famsup": "educational support by the family",
    "paid": "extra paid classes",
    "activities": "extra-curricular activities",
    "nursery": "attended nursery school",
    "higher": "wants higher education",
    "internet": "internet at home",
    "romantic": "a romantic relationship",
    "famrel": "the quality of family relationships (1 to 5)",
    "freetime": "free time after school (1 to 5)",
    "goout": "going out with friends (1 to 5)",
    "Dalc": "alcohol on workdays (1 to 5)",
    "Walc": "alcohol at weekends (1 to 5)",
    "health": "health (1 to 5)",
    "absences": "the number of absences",
}
FIXED_NUMBERS = ("age", "Medu", "Fedu", "traveltime", "failures", "absences")
IMMUTABLE = (*FIXED_NUMBERS, *CATEGORIES)
SOURCE = Source(
    name="Student",
    files=("student/student-mat.csv",),
    read=lambda paths: pd.read_csv(paths[0], sep=";"),
    numbers=(*NUMBERS, "G3"),
    texts=(*YES_NO, *CATEGORIES),
    n_rows=395,
    mark="f11dcd2f3c1fd55f",
    origin="the UCI repository (data set 320, student-mat.csv)",
)
DESCRIPTION = (
    "Student Performance (Cortez and Silva, 2008), the mathematics course at two Portuguese schools. Undesired: a "
    "final grade G3 of 10 or less; the grades G1 and G2 are not used. May change: study time, support and classes, "
    "activities, nursery, higher education, internet, romantic relationship, family relationships, free time, going "
    "out, alcohol, health, as in the paper. CC BY 4.0."
)


def load_student(*, form: Form = "native", encoded: bool = False, download: bool = True) -> Dataset:
    """Student performance in mathematics: 13 numbers and 17 categories, no blanks.

    Parameters
    ----------
    form : "native", or "paper", with the paper's names and with 0 and 1 for no and yes
    encoded : whether to give the paper's matrix; the form is then of no account
    download : has no effect, since OpenML has no copy of the mathematics course that is known to be right

    Returns
    -------
    Dataset

    Examples
    --------
    >>> load_student()  # doctest: +SKIP
    Dataset('Student', form='native', 395 rows × 30 columns, desired='>10')
    >>> load_student(encoded=True)  # doctest: +SKIP
    Dataset('Student', form='encoded', 395 rows × 48 columns, desired=0)
    """
    check_form(form)
    table, where = load_table(SOURCE, download=download)
    poor = table["G3"] <= 10
    if not (encoded or form == "paper"):
        X = _native(table)
        y = pd.Series(np.where(poor, "<=10", ">10"), name="Grade", dtype=object)
        schema = Schema.infer(X, kinds=dict.fromkeys(NUMBERS, "integer"), immutable=IMMUTABLE, labels=LABELS)
        return Dataset("Student", "native", X, y, ">10", schema, DESCRIPTION, where)
    X = _paper(table)
    names = {**NUMBERS, **YES_NO, **CATEGORIES}
    schema = Schema.infer(
        X,
        kinds={NUMBERS[name]: "integer" for name in NUMBERS},
        immutable=[names[name] for name in IMMUTABLE],
        labels={names[name]: label for name, label in LABELS.items()},
    )
    paper = Dataset.paper("Student", X, poor.astype(np.int64).rename("Grade"), schema, DESCRIPTION, where)
    return paper.encoded() if encoded else paper


def _native(table: pd.DataFrame) -> pd.DataFrame:
    numbers = table[list(NUMBERS)]
    answers = {name: categorical(table[name], ["no", "yes"]) for name in YES_NO}
    texts = {name: categorical(table[name], list(LEVELS[name])) for name in CATEGORIES}
    order = [*CATEGORIES, *NUMBERS, *YES_NO]
    return numbers.assign(**answers, **texts)[order]


def _paper(table: pd.DataFrame) -> pd.DataFrame:
    """In the paper's order: what a pupil is, then yes or no, then habits, then categories."""
    columns = {paper: table[name] for name, paper in NUMBERS.items()}
    columns |= {paper: (table[name] == "yes").astype(np.int64) for name, paper in YES_NO.items()}
    numbers = list(NUMBERS.values())
    order = [*numbers[:6], *YES_NO.values(), *numbers[6:], *CATEGORIES.values()]
    for name, paper in CATEGORIES.items():
        columns[paper] = categorical(table[name].map(LEVELS[name]), list(LEVELS[name].values()))
    return pd.DataFrame(columns)[order]
