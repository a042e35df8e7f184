"""Regressions of statsmodels with two outcomes, in a wrapper that makes a classifier of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from armin.arrays import FloatArray
from armin.errors import ModelError, ParameterError
from armin.models.decide import Target, Verdict, decide_by_score
from armin.models.inputs import dense
from armin.models.kinds import LinearModel
from armin.models.read import register_model

__all__ = ["StatsmodelsClassifier", "read_statsmodels"]

_CONSTANTS = ("const", "Intercept")


class StatsmodelsClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The results of a statsmodels Logit, Probit or binomial GLM as a classifier.

    Parameters
    ----------
    results : what ``Logit(y, X).fit()`` or ``GLM(y, X, family=Binomial()).fit()`` gives, on numbers; a column named
        "const" (``add_constant``) or "Intercept" is put in by itself
    classes : the labels of the outcomes 0 and 1
    threshold : the least probability of outcome 1 for ``predict`` to return its label

    Examples
    --------
    >>> import pytest
    >>> sm = pytest.importorskip("statsmodels.api")
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"income": rng.normal(size=200), "debt": rng.normal(size=200)})
    >>> y = X["income"] - X["debt"] + rng.normal(size=200) > 0
    >>> results = sm.Logit(y.astype(float), sm.add_constant(X)).fit(disp=0)
    >>> approves = StatsmodelsClassifier(results, classes=["no", "yes"])
    >>> approves.predict(pd.DataFrame({"income": [2.0, 0.0], "debt": [0.0, 2.0]}))
    array(['yes', 'no'], dtype='<U3')
    """

    def __init__(self, results: Any, classes: Sequence[Any] = (0, 1), threshold: float = 0.5) -> None:
        self.results = results
        self.classes = classes
        self.threshold = threshold

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        if len(self.classes) != 2:
            raise ParameterError(
                f"The 'classes' parameter of StatsmodelsClassifier must be two labels. Got {self.classes!r}."
            )
        return np.asarray(self.classes)

    @property
    def _columns(self) -> list[str]:
        """The names of the columns of the design."""
        names = [str(name) for name in self.results.model.exog_names]
        made = hasattr(self.results.model, "formula") and not set(names) - set(_CONSTANTS) <= _variables(self.results)
        if made:
            raise ModelError(
                "A StatsmodelsClassifier takes a design of plain columns. This formula makes columns of its own, "
                f"{', '.join(names)}. Make them in a Pipeline before Logit or GLM, and fit on the result."
            )
        return names

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the columns, without that of the constant."""
        names = [name for name in self._columns if name not in _CONSTANTS]
        if names == [f"x{i}" for i in range(1, len(names) + 1)]:
            raise AttributeError("feature_names_in_")  # fitted on an array
        return np.array(names, dtype=object)

    @property
    def n_features_in_(self) -> int:
        """The number of columns, without the constant."""
        return sum(name not in _CONSTANTS for name in self._columns)

    def fit(self, X: Any, y: Any) -> StatsmodelsClassifier:
        """Nothing: the results are there already."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class."""
        names = [name for name in self._columns if name not in _CONSTANTS]
        rows = dense(X[names]) if isinstance(X, pd.DataFrame) and set(names) <= set(X.columns) else dense(X)
        design = np.ones((rows.shape[0], len(self._columns)))
        design[:, [name not in _CONSTANTS for name in self._columns]] = rows
        return _both(self.results.model.predict(np.asarray(self.results.params), design))

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row."""
        return np.asarray(self.classes_[(self.predict_proba(X)[:, 1] >= self.threshold).astype(np.intp)])


def read_statsmodels(estimator: Any, target: Target) -> LinearModel:
    """Read a StatsmodelsClassifier; its sums can differ from these in the last bits.

    >>> import pytest
    >>> sm = pytest.importorskip("statsmodels.api")
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> binomial = sm.GLM(X.sum(axis=1) > np.sin(9 * X[:, 0]), sm.add_constant(X), family=sm.families.Binomial())
    >>> approves = StatsmodelsClassifier(binomial.fit())
    >>> model = read_statsmodels(approves, Target(approves.classes_, (1,)))
    >>> bool((model.accepts(X) == approves.predict(X)).all())
    True
    """
    parameters = np.asarray(estimator.results.params, dtype=np.float64)
    if parameters.ndim != 1 or parameters.size != len(estimator._columns):
        raise ModelError(
            f"A StatsmodelsClassifier is read when its model has one parameter for each column. This "
            f"{type(estimator.results.model).__name__} has parameters of shape {parameters.shape} for "
            f"{len(estimator._columns)} columns. Use Logit, Probit or GLM with family Binomial."
        )
    constant = np.array([name in _CONSTANTS for name in estimator._columns], dtype=bool)
    sign, decision = decide_by_score(Verdict(_Given(estimator), target), type(estimator).__name__)
    intercept = parameters[constant].sum(keepdims=True)
    return LinearModel(sign * parameters[~constant][None, :], sign * intercept, decision)


@dataclass(frozen=True, eq=False)
class _Given:
    """The classifier, given its linear score."""

    outer: StatsmodelsClassifier

    def predict_proba(self, scores: FloatArray) -> NDArray[np.float64]:
        return _both(self.outer.results.model.predict(np.ones(1), np.asarray(scores, dtype=np.float64)))

    def predict(self, scores: FloatArray) -> NDArray[Any]:
        return np.asarray(self.outer.classes_[(self.predict_proba(scores)[:, 1] >= self.outer.threshold).astype(int)])


def _both(share: Any) -> NDArray[np.float64]:
    second = np.asarray(share, dtype=np.float64).ravel()
    return np.column_stack([1.0 - second, second])


def _variables(results: Any) -> set[str]:
    """The names of the columns that a formula was given."""
    frame = getattr(results.model.data, "frame", None)
    return set() if frame is None else {str(name) for name in frame.columns}


register_model(StatsmodelsClassifier, read_statsmodels, kind="linear")
