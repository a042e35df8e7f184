"""Scorecards of optbinning: each column becomes the weight of evidence, or the points, of its bin.

A BinningProcess is followed as any step that works column by column. Which bin a value falls into is left to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from armin.arrays import FloatArray
from armin.errors import ParameterError
from armin.models.decide import Target
from armin.models.inputs import Prepare, dense
from armin.models.kinds import Above, LinearModel, Model
from armin.models.parts import ColumnParts
from armin.models.read import prepare_inputs, read_inside, register_model, unwrap

__all__ = ["ScorecardCut", "prepare_scorecard", "read_points", "read_scorecard", "split_cut", "split_scorecard"]


class ScorecardCut(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A scorecard with a cut on its points.

    Parameters
    ----------
    scorecard : a fitted ``optbinning.Scorecard``
    cut : the least points for the second of the classes
    classes : the two labels: for fewer points, and for at least as many as the cut

    Examples
    --------
    >>> import pytest
    >>> optbinning = pytest.importorskip("optbinning")
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"age": rng.integers(18, 80, 300), "debt": rng.normal(size=300)})
    >>> bins = optbinning.BinningProcess(["age", "debt"])
    >>> card = optbinning.Scorecard(bins, LogisticRegression(), scaling_method="pdo_odds",
    ...     scaling_method_params={"pdo": 20, "odds": 50, "scorecard_points": 600}, rounding=True)
    >>> _ = card.fit(X, X["age"] + 10 * X["debt"] > 50)
    >>> approves = ScorecardCut(card, cut=550, classes=["no", "yes"])
    >>> bool(((card.score(X) >= 550) == (approves.predict(X) == "yes")).all())
    True
    """

    def __init__(self, scorecard: Any, cut: float, classes: Sequence[Any] = (0, 1)) -> None:
        self.scorecard = scorecard
        self.cut = cut
        self.classes = classes

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        if len(self.classes) != 2:
            raise ParameterError(
                "The 'classes' parameter of ScorecardCut must be two labels, below the cut and from it on. "
                f"Got {self.classes!r}."
            )
        return np.asarray(self.classes)

    def fit(self, X: Any, y: Any) -> ScorecardCut:
        """Nothing: the scorecard is fitted already."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return bool(getattr(self.scorecard, "_is_fitted", False))

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row."""
        return np.asarray(self.classes_[(np.asarray(self.scorecard.score(X)) >= self.cut).astype(np.intp)])


def read_scorecard(scorecard: Any, target: Target) -> Model:
    """Read a Scorecard behind its bins: the classifier inside."""
    return read_inside(unwrap(scorecard.estimator_)[1], target)


def prepare_scorecard(scorecard: Any) -> Prepare:
    """What each column says: the weight of evidence of its bin, as the scorecard's classifier gets it."""
    steps, final = unwrap(scorecard)
    return partial(_through, tuple(steps), prepare_inputs(final))


def _through(steps: tuple[Any, ...], prepare: Prepare, rows: Any) -> FloatArray:
    for step in steps:
        rows = step.transform(rows)
    return prepare(rows)


def split_scorecard(scorecard: Any) -> tuple[list[Any], Any]:
    """A Scorecard as its bins and the classifier behind them."""
    return [_by_columns(scorecard, _Evidence(scorecard))], scorecard.estimator_


def _by_columns(scorecard: Any, function: Any) -> ColumnParts:
    bins = scorecard.binning_process_
    return ColumnParts(
        function, [int(i) for i in bins.get_support(indices=True)], [str(n) for n in bins.variable_names]
    )


@dataclass(frozen=True, eq=False)
class _Evidence:
    """What a scorecard gives its classifier."""

    scorecard: Any

    def __call__(self, rows: Any) -> Any:
        card = self.scorecard
        return card._transform(
            X=rows, metric=None, metric_special=card._metric_special, metric_missing=card._metric_missing
        )


@dataclass(frozen=True, eq=False)
class _Points:
    """The points of each column."""

    scorecard: Any

    def __call__(self, rows: pd.DataFrame) -> FloatArray:
        return dense(self.scorecard.transform(rows))


@dataclass(frozen=True, eq=False)
class _Sum:
    """A cut on a sum of points."""

    outer: ScorecardCut

    @property
    def classes_(self) -> NDArray[Any]:
        return self.outer.classes_


def split_cut(outer: ScorecardCut) -> tuple[list[Any], _Sum]:
    """A ScorecardCut as its points, column by column, and the cut on their sum."""
    return [_by_columns(outer.scorecard, _Points(outer.scorecard))], _Sum(outer)


def read_points(estimator: Any, target: Target) -> LinearModel:
    """Read a ScorecardCut behind its points; without rounding, its sums can differ from these in the last bits."""
    outer = estimator if isinstance(estimator, ScorecardCut) else estimator.outer
    n, start = len(split_cut(outer)[0][0].behind), np.zeros(1) + outer.scorecard.intercept_
    if target.accepted == (1,):
        return LinearModel(np.ones((1, n)), start, Above(float(outer.cut)))
    return LinearModel(-np.ones((1, n)), -start, Above.strictly(-float(outer.cut)))


register_model(
    "optbinning.Scorecard", read_scorecard, kind="as inside", prepare=prepare_scorecard, split=split_scorecard
)
register_model(ScorecardCut, read_points, kind="linear", prepare=prepare_scorecard, split=split_cut)
register_model(_Sum, read_points, kind="part")
