"""The paper's data sets, described in the TOML files of this folder, and the paper's matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer

from armin import Feature, Schema
from armin.datasets import BlankOneHotEncoder, Dataset, load_dataset
from armin.errors import ParameterError

__all__ = ["FILES", "encoded", "encoder", "groups", "load", "matrix", "published"]

FILES = {
    name: Path(__file__).parent / f"{name.lower()}.toml"
    for name in ("FICO", "Attrition", "Student", "WineQuality", "GiveMeCredit", "Adult")
}


def load(name: str, form: str = "native", *, download: bool = True) -> Dataset:
    """One of the paper's data sets, or Adult.

    Parameters
    ----------
    name : one of ``FILES``
    form : "native" (columns and blanks as published) or "paper" (the raw columns behind the paper's matrix)
    download : whether to ask OpenML if the files are not on this machine
    """
    data = load_dataset(FILES[name], form=form, download=download)
    return replace(data, schema=published(data.schema)) if form == "paper" else data


def published(schema: Schema) -> Schema:
    """The schema with blanks acted on as in the paper: numbers by an amount that is legal for every completion."""
    numbers = [feature for feature in schema if feature.is_number and feature.actionable and feature.blank is None]
    return schema.update(blanks={feature.name: "shift" for feature in numbers})


def groups(data: Dataset) -> dict[str, tuple[str, ...]]:
    """For each category of the paper form, the columns of the matrix that stand for it."""
    return {name: tuple(_named(name, level) for level in levels) for name, levels in _levels(data.X).items()}


def encoder(data: Dataset) -> ColumnTransformer:
    """A new and unfitted transformer from the paper form to the paper's matrix.

    Numbers stay as they are; then comes one column for each category.
    """
    if data.form != "paper":
        raise ParameterError(f"{data.name} in its {data.form} form has no matrix. Load it with form='paper'.")
    categories = _levels(data.X)
    numbers = [name for name in data.X if name not in categories]
    if [*numbers, *categories] != list(data.X):
        raise ParameterError("In the paper form numbers come before categories, as they do in the matrix.")
    steps: list[Any] = [("numbers", "passthrough", numbers)]
    if categories:
        one_hot = BlankOneHotEncoder(
            categories=list(categories.values()), sparse_output=False, feature_name_combiner=_named
        )
        steps.append(("categories", one_hot, list(categories)))
    return ColumnTransformer(steps, verbose_feature_names_out=False)


def matrix(data: Dataset, rows: pd.DataFrame | None = None) -> pd.DataFrame:
    """Rows of the paper form as the paper's matrix; a blank is NaN in every column that stands for it."""
    fitted = encoder(data).fit(data.X)
    rows = data.X if rows is None else rows[list(data.X)]
    values = np.asarray(fitted.transform(rows), dtype=np.float64)
    return pd.DataFrame(values, columns=fitted.get_feature_names_out(), index=rows.index)


def encoded(data: Dataset) -> Dataset:
    """The paper form as its matrix.

    An indicator of a category cannot move by itself, so all of them are fixed: to let a category change, use the paper
    form with its :func:`encoder` in a pipeline.
    """
    indicators = [name for names in groups(data).values() for name in names]
    features = [feature for feature in data.schema if feature.name not in groups(data)]
    features += [Feature(name, "binary", categories=(0, 1), direction="fixed") for name in indicators]
    return replace(data, form="encoded", X=matrix(data), schema=Schema(tuple(features)))


def _levels(X: pd.DataFrame) -> dict[str, Sequence[str]]:
    return {str(c): X[c].cat.categories.tolist() for c in X if isinstance(X[c].dtype, pd.CategoricalDtype)}


def _named(feature: str, level: object) -> str:
    """A column of the matrix, as the paper's files name it."""
    return f"{feature}:{level}"
