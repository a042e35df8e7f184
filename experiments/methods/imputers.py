"""The published imputers: scikit-learn's, with their defaults, on the matrix with one column for each category.

Whole numbers and columns with two values are rounded, a category is the column with the largest value. The published
code leaves real numbers where the imputer puts them; here they are pulled back into the bounds of the schema.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from armin import Schema
from armin.impute.base import BaseImputer, BaseSampler

__all__ = ["PosteriorDraws", "ScikitImputer"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


class Matrix:
    """Codes as the matrix, and back."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.widths = [len(f.categories) if f.kind == "categorical" else 1 for f in schema]
        self.starts = np.concatenate([[0], np.cumsum(self.widths)])

    def of(self, codes: FloatArray) -> FloatArray:
        """The matrix of codes (n, D); a blank category is blank in all of its columns."""
        parts = []
        for i, width in enumerate(self.widths):
            column = codes[:, i : i + 1]
            if width == 1:
                parts.append(column)
            else:
                held = (column == np.arange(width)).astype(np.float64)
                parts.append(np.where(np.isnan(column), np.nan, held))
        return np.concatenate(parts, axis=1)

    def back(self, matrix: FloatArray, blanks: IntArray) -> FloatArray:
        """The codes (n, B) of the blanks."""
        out = np.empty((matrix.shape[0], blanks.size))
        for k, i in enumerate(blanks):
            feature, start = self.schema.features[i], self.starts[i]
            if feature.kind == "categorical":
                out[:, k] = matrix[:, start : start + self.widths[i]].argmax(axis=1)
                continue
            values = matrix[:, start]
            if feature.kind != "continuous":
                values = values.round()
            out[:, k] = np.clip(values, feature.low_code, feature.high_code)
        return out


def _iterative(*, posterior: bool) -> Any:
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    return IterativeImputer(max_iter=10, sample_posterior=posterior, random_state=0)


class PosteriorDraws(BaseSampler):
    """``IterativeImputer(sample_posterior=True)`` on as many copies of the row as completions are wanted."""

    def _fit(self, X: FloatArray, schema: Schema) -> None:
        self.matrix_ = Matrix(schema)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.imputer_ = _iterative(posterior=True).fit(self.matrix_.of(X))

    def _draw(self, row: FloatArray, blanks: IntArray, n: int, rng: np.random.Generator) -> FloatArray:
        self.imputer_.random_state_ = np.random.RandomState(int(rng.integers(2**31)))
        copies = np.repeat(self.matrix_.of(row[None, :]), n, axis=0)
        return self.matrix_.back(self.imputer_.transform(copies), blanks)


class ScikitImputer(BaseImputer):
    """``SimpleImputer``, ``KNNImputer`` or ``IterativeImputer``, each with its defaults.

    Parameters
    ----------
    which : "mean", "knn" or "mice"
    """

    def __init__(self, which: str = "mean") -> None:
        self.which = which

    def _fit(self, X: FloatArray, schema: Schema) -> None:
        from sklearn.impute import KNNImputer, SimpleImputer

        self.matrix_ = Matrix(schema)
        made = {"mean": SimpleImputer, "knn": KNNImputer, "mice": lambda: _iterative(posterior=False)}[self.which]()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.imputer_ = made.fit(self.matrix_.of(X))

    def _fill(self, row: FloatArray, blanks: IntArray) -> FloatArray:
        return self.matrix_.back(self.imputer_.transform(self.matrix_.of(row[None, :])), blanks)[0]
