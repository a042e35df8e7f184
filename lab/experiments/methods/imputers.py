"""The published imputers: scikit-learn's, with their defaults, on the matrix with one column for each category.

Whole numbers and columns with two values are rounded, a category is the column with the largest value. The published
code leaves numbers where the imputer puts them, also beyond the bounds of the schema: ``clipped=False``.

Older releases of scikit-learn, such as 1.2.2, take the deviation of a Bayesian ridge at the columns as they are
instead of the columns minus their means (its issue 33757, mended by 33918). Where a column's mean is large beside its
spread, such as the density of a wine, draws scatter too much by that. The paper's completions were drawn so:
``centred=False``.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import BayesianRidge

from armin import Schema
from armin.sampling.base import BaseImputer, BaseSampler

__all__ = ["PosteriorDraws", "ScikitImputer", "UncentredRidge"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


class UncentredRidge(BayesianRidge):
    """The Bayesian ridge whose deviations are those of scikit-learn 1.2.2."""

    def predict(self, X: FloatArray, return_std: bool = False) -> Any:
        """The mean and, if asked for, the deviation at the columns as they are."""
        mean = super().predict(X)
        if not return_std:
            return mean
        return mean, np.sqrt((X @ self.sigma_ * X).sum(axis=1) + 1.0 / self.alpha_)


class Matrix:
    """Codes as the matrix, and back; ``clipped`` pulls numbers into the bounds of the schema."""

    def __init__(self, schema: Schema, *, clipped: bool = True) -> None:
        self.schema, self.clipped = schema, clipped
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
            if self.clipped or not feature.is_number:
                values = np.clip(values, feature.low_code, feature.high_code)
            out[:, k] = values
        return out


def _iterative(*, posterior: bool, centred: bool = True) -> Any:
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    ridge = BayesianRidge() if centred else UncentredRidge()
    return IterativeImputer(ridge, max_iter=10, sample_posterior=posterior, random_state=0)


class PosteriorDraws(BaseSampler):
    """``IterativeImputer(sample_posterior=True)`` on as many copies of the row as completions are wanted.

    Parameters
    ----------
    centred : whether deviations are today's; False for those of the library that the paper used
    clipped : whether numbers are pulled into the bounds of the schema
    """

    def __init__(self, centred: bool = True, clipped: bool = True) -> None:
        self.centred = centred
        self.clipped = clipped

    def _fit(self, X: FloatArray, schema: Schema) -> None:
        self.matrix_ = Matrix(schema, clipped=self.clipped)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.imputer_ = _iterative(posterior=True, centred=self.centred).fit(self.matrix_.of(X))

    def _draw(self, row: FloatArray, blanks: IntArray, n: int, rng: np.random.Generator) -> FloatArray:
        self.imputer_.random_state_ = np.random.RandomState(int(rng.integers(2**31)))
        copies = np.repeat(self.matrix_.of(row[None, :]), n, axis=0)
        return self.matrix_.back(self.imputer_.transform(copies), blanks)


class ScikitImputer(BaseImputer):
    """``SimpleImputer``, ``KNNImputer`` or ``IterativeImputer``, each with its defaults.

    Parameters
    ----------
    which : "mean", "knn" or "mice"
    clipped : whether numbers are pulled into the bounds of the schema
    """

    def __init__(self, which: str = "mean", clipped: bool = True) -> None:
        self.which = which
        self.clipped = clipped

    def _fit(self, X: FloatArray, schema: Schema) -> None:
        from sklearn.impute import KNNImputer, SimpleImputer

        self.matrix_ = Matrix(schema, clipped=self.clipped)
        made = {"mean": SimpleImputer, "knn": KNNImputer, "mice": lambda: _iterative(posterior=False)}[self.which]()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.imputer_ = made.fit(self.matrix_.of(X))

    def _fill(self, row: FloatArray, blanks: IntArray) -> FloatArray:
        return self.matrix_.back(self.imputer_.transform(self.matrix_.of(row[None, :])), blanks)[0]
