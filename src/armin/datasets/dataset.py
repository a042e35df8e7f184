"""What every loader returns: rows, labels, what may change, and how to get the paper's matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from armin.datasets.encoder import one_hot_names, paper_encoder
from armin.errors import ParameterError
from armin.schema import Feature, Schema

__all__ = ["Dataset", "Form"]

Form = Literal["native", "paper"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set, ready for a classifier and for recourse.

    Attributes
    ----------
    name : its name in the paper
    form : "native" (columns and blanks as published), "paper" (the raw columns behind the paper's matrix) or
        "encoded" (that matrix)
    X : the rows; blanks are NaN
    y : the labels: texts in the native form; otherwise 0 and 1, where 1 is undesired as in the paper
    desired : the label that people want
    schema : what the columns of X hold and what may change; every row of X fits it unless ``trim`` was asked for
    description : what it is about, who publishes it, what was done to it
    source : where these rows were read
    groups : for each category, the columns of the matrix that stand for it

    Examples
    --------
    >>> X = pd.DataFrame({"age": [30, 40], "job": pd.Categorical(["a", "b"])})
    >>> schema = Schema.infer(X, immutable=["age"])
    >>> toy = Dataset.paper("Toy", X, pd.Series([0, 1]), schema)
    >>> toy
    Dataset('Toy', form='paper', 2 rows × 2 columns, desired=0)
    >>> toy.matrix()
        age  job:a  job:b
    0  30.0    1.0    0.0
    1  40.0    0.0    1.0
    """

    name: str
    form: Literal["native", "paper", "encoded"]
    X: pd.DataFrame
    y: pd.Series[Any]
    desired: str | int
    schema: Schema
    description: str = ""
    source: str = ""
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def paper(
        cls, name: str, X: pd.DataFrame, y: pd.Series[Any], schema: Schema, description: str = "", source: str = ""
    ) -> Dataset:
        """The paper form: columns of category type become one column for each category, at the end."""
        categories = _levels(X)
        numbers = [str(c) for c in X if c not in categories]
        if [*numbers, *categories] != list(X.columns):
            raise ParameterError("In the paper form numbers come before categories, as they do in the matrix.")
        groups = {c: tuple(one_hot_names(c, levels)) for c, levels in categories.items()}
        return cls(name, "paper", X, y, 0, schema, description, source, groups)

    @property
    def encoder(self) -> Any:
        """For the paper form, a new and unfitted transformer from X to the paper's matrix; None otherwise."""
        if self.form != "paper":
            return None
        return paper_encoder([str(c) for c in self.X if c not in self.groups], _levels(self.X))

    def matrix(self, rows: pd.DataFrame | None = None) -> pd.DataFrame:
        """Rows as the paper's matrix.

        Parameters
        ----------
        rows : rows with the columns of X; X itself if left out. A blank is NaN in every column that stands for it.

        Returns
        -------
        DataFrame of floats
        """
        rows = self.X if rows is None else rows
        if self.form == "encoded":
            return rows[list(self.X.columns)].astype(np.float64)
        encoder = self.encoder
        if encoder is None:
            raise ParameterError(
                f"{self.name} in its native form has no matrix: the paper's holds other values. "
                "Load it with form='paper' or encoded=True."
            )
        fitted = encoder.fit(self.X)
        values = np.asarray(fitted.transform(rows[list(self.X.columns)]), dtype=np.float64)
        return pd.DataFrame(values, columns=fitted.get_feature_names_out(), index=rows.index)

    def encoded(self) -> Dataset:
        """The encoded form of a paper form.

        An indicator of a category cannot move by itself, so all of them are fixed in its schema: to let a category
        change, use the paper form with its ``encoder`` in a pipeline.
        """
        X = self.matrix()
        features = [f for f in self.schema if f.name not in self.groups]
        indicators = [name for names in self.groups.values() for name in names]
        features += [Feature(name, "binary", categories=(0, 1), direction="fixed") for name in indicators]
        return Dataset(
            self.name, "encoded", X, self.y, self.desired, Schema(tuple(features)), self.description, self.source,
            self.groups,
        )  # fmt: skip

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"Dataset({self.name!r}, form={self.form!r}, {n:,} rows × {d} columns, desired={self.desired!r})"


def _levels(X: pd.DataFrame) -> dict[str, list[str]]:
    return {str(c): X[c].cat.categories.tolist() for c in X if isinstance(X[c].dtype, pd.CategoricalDtype)}


def check_form(form: object) -> None:
    """Refuse a form that does not exist."""
    if form not in get_args(Form):
        raise ParameterError(
            f"The 'form' parameter must be 'native' or 'paper'. Got {form!r} instead. For the matrix, say encoded=True."
        )


def categorical(column: pd.Series[Any], levels: Sequence[str], *, ordered: bool = False) -> pd.Series[Any]:
    """A column of texts as one of category type; what is not a level must be blank.

    >>> categorical(pd.Series(["b", None, "a"]), ["a", "b"]).tolist()
    ['b', nan, 'a']
    """
    return pd.Series(pd.Categorical(column, categories=list(levels), ordered=ordered), index=column.index)
