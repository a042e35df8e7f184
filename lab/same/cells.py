"""Answers end to end: 528 of people of the paper's data sets, or some of the built-in loans where those are absent.

Eleven cells of data set and model, 16 rejected rows each: complete, with two blanks that may move by an amount, and
with the same blanks brought to a value, which is the default.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from armin import ARMIN, ExpertOptions
from armin.datasets import make_loans
from lab.benchmarks.cells import MODELS, have_data, make_cell
from lab.benchmarks.mile import reaching
from lab.same.timeless import timeless

CELLS = (
    *(("FICO", model) for model in ("LR", "RF", "XGBoost", "HistGB", "MLP")),
    ("Attrition", "LR"), ("Attrition", "XGBoost"), ("WineQuality", "LR"), ("WineQuality", "RF"), ("Student", "LR"),
    ("Student", "MLP"),
)  # fmt: skip
ROWS = 16
FRESH = 1000


def answers(progress: Callable[[str], None] = lambda _: None) -> Iterator[tuple[str, Any]]:
    """The answers by name."""
    warnings.simplefilter("ignore")
    for name, explainer, frame in _paper() if have_data() else _loans():
        progress(name)
        for i in range(len(frame)):
            yield f"{name} {i}", _answer(explainer, frame.iloc[[i]])


def _answer(explainer: ARMIN, row: pd.DataFrame) -> Any:
    try:
        return timeless(explainer.explain(row).to_dict())
    except Exception as error:  # an error is an answer too
        return {"error": f"{type(error).__name__}: {error}"}


def _paper() -> Iterator[tuple[str, ARMIN, pd.DataFrame]]:
    for dataset, model in CELLS:
        cell = make_cell(dataset, model, ROWS)
        cell.explainer.set_params(options__n_fresh=FRESH)
        yield f"{dataset} {model} complete", cell.explainer, cell.complete
        yield f"{dataset} {model} amount", cell.explainer, cell.masked
        yield f"{dataset} {model} value", reaching(cell).explainer, cell.masked


def _loans() -> Iterator[tuple[str, ARMIN, pd.DataFrame]]:
    loans = make_loans()
    for model in ("LR", "RF", "HistGB", "MLP"):
        classifier = make_pipeline(clone(loans.classifier[0]), MODELS[model]()).fit(loans.X, loans.y)
        complete = loans.X[classifier.predict(loans.X) == "rejected"].head(ROWS)
        blank = complete.astype({"Income": float}).assign(Income=float("nan"))
        listed = ExpertOptions(grid="human")
        explainer = ARMIN(classifier, loans.schema, desired="approved", options=listed).fit(loans.X)
        yield f"loans {model} complete", explainer, complete
        yield f"loans {model} blank", explainer, blank
