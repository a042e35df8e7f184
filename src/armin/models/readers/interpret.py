"""Glass boxes of interpret: explainable boosting machines, and scikit-learn's classifiers in interpret's clothes.

The former are tables over the bins of one or two columns, added in their order.
Which bin a value falls into is asked of the library itself where it is a category; numbers are compared with its cuts.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from armin.arrays import FloatArray
from armin.errors import UnreadableError
from armin.models.decide import Target, Verdict, decide_by_score, refuse_threshold
from armin.models.inputs import Prepare, dense, dense_but
from armin.models.kinds import Among, Decision, Model, TreeEnsemble
from armin.models.nodes import OneTree, plant
from armin.models.read import read_inside, register_model
from armin.models.steps import Axis, table_tree

__all__ = ["prepare_ebm", "read_ebm", "read_glassbox"]


def read_ebm(estimator: Any, target: Target) -> TreeEnsemble:
    """Read an ExplainableBoostingClassifier: each of its terms is a tree over one or two columns.

    >>> import pytest
    >>> interpret = pytest.importorskip("interpret.glassbox")
    >>> X, y = pd.DataFrame({"age": np.arange(60.0), "debt": np.arange(60) % 7}), np.arange(60) % 7 > 3
    >>> ebm = interpret.ExplainableBoostingClassifier(outer_bags=1, max_rounds=9, n_jobs=1).fit(X, y)
    >>> model = read_ebm(ebm, Target(ebm.classes_, (1,)))
    >>> bool(np.array_equal(model.outputs(prepare_ebm(ebm)(X))[:, 0], ebm.decision_function(X)))
    True
    """
    if not estimator.term_features_:
        raise UnreadableError("An ExplainableBoostingClassifier is read when it has terms. This one has none.")
    base = np.atleast_1d(np.asarray(estimator.intercept_, dtype=np.float64))
    sign, decision = _decide(estimator, target, base.size)
    trees = [
        _term(estimator, features, sign * np.asarray(scores, dtype=np.float64).reshape(*_shape(scores, base.size)))
        for features, scores in zip(estimator.term_features_, estimator.term_scores_, strict=True)
    ]
    return plant(trees, sign * base, decision, len(estimator.feature_names_in_))


def prepare_ebm(estimator: Any) -> Prepare:
    """Numbers as they are; for a category, the bins that it falls into, as one number."""
    words = [i for i, kind in enumerate(estimator.feature_types_in_) if kind != "continuous"]
    if not words:
        return dense
    return partial(_prepare, estimator, tuple(words))


def _prepare(estimator: Any, words: tuple[int, ...], rows: Any) -> FloatArray:
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows)
    frame = frame.infer_objects()
    coded: dict[int, FloatArray] = dict.fromkeys(words, np.zeros(len(frame)))
    for level in (1, 2):
        own = tuple(i for i in words if len(estimator.bins_[i]) >= level)
        found = _Binned(estimator, own, level).bins(rows) if own else {}
        for i in own:
            coded[i] = coded[i] * _n_bins(estimator, i, level) + found[i]
    return dense_but(frame, coded)


def _levels(estimator: Any, feature: int, level: int) -> Any:
    """The cuts or categories of a feature in terms of so many columns."""
    levels = estimator.bins_[feature]
    return levels[min(len(levels), level) - 1]


def _n_bins(estimator: Any, feature: int, level: int) -> int:
    """The bins of a feature: that of a blank, those of its values, and that of what is not known."""
    bins = _levels(estimator, feature, level)
    if isinstance(bins, dict):
        return 2 + max(bins.values(), default=0)
    return len(bins) + 3


@dataclass(frozen=True, eq=False)
class _Binned:
    """A machine that says which bins some of its columns fall into, in terms of so many columns."""

    estimator: Any
    features: tuple[int, ...]
    level: int

    def bins(self, rows: Any) -> dict[int, FloatArray]:
        """The bin of each row, for each of the columns."""
        probe = copy.copy(self.estimator)
        probe.bins_ = [[_levels(self.estimator, i, self.level)] for i in range(len(self.estimator.bins_))]
        probe.term_features_ = [(i,) for i in self.features]
        probe.term_scores_ = [np.arange(float(_n_bins(self.estimator, i, self.level))) for i in self.features]
        probe.intercept_ = np.zeros(1)
        return dict(zip(self.features, np.asarray(probe.eval_terms(rows)).T, strict=True))


def _shape(scores: NDArray[np.float64], n_scores: int) -> tuple[int, ...]:
    shape = np.asarray(scores).shape
    return shape if n_scores > 1 else (*shape, 1)


def _term(estimator: Any, features: tuple[int, ...], scores: NDArray[np.float64]) -> OneTree:
    """One term, a table over the bins of its columns."""
    level, axes = len(features), []
    if level > 2:
        raise UnreadableError(
            f"An ExplainableBoostingClassifier is read when its terms look at one or two columns. This one has a term "
            f"of {level}. Use ExpertOptions(method='blackbox')."
        )
    for a, feature in enumerate(features):
        bins = _levels(estimator, feature, level)
        if isinstance(bins, dict):
            # a category comes as its bin in terms of one column; where terms of two have bins of their own, times the
            # number of those, plus its bin there
            pairs = _n_bins(estimator, feature, 2) if len(estimator.bins_[feature]) > 1 else 1
            codes = np.arange(_n_bins(estimator, feature, 1) * pairs)
            scores = scores.take(codes % pairs if level == 2 and pairs > 1 else codes // pairs, axis=a)
            axes.append(Axis(feature, codes[:-1].astype(np.float64) + 0.5))
        else:
            # bin 0 is that of a blank, the last one that of what is no number; a value at a cut is above it
            order = np.append(np.arange(1, len(bins) + 2), 0)
            scores = scores.take(order, axis=a)
            below = np.nextafter(np.asarray(bins, dtype=np.float64), -np.inf)
            axes.append(Axis(feature, below.astype(np.float64), blank=True))
    return table_tree(axes, scores)


def _decide(estimator: Any, target: Target, n_scores: int) -> tuple[float, Decision]:
    name = type(estimator).__name__
    if n_scores == 1:
        return decide_by_score(Verdict(_given_scores(estimator), target), name)
    refuse_threshold(target, name)
    return 1.0, Among(target.accepted, n_scores)


@dataclass(frozen=True, eq=False)
class _Given:
    """A machine without terms, whose inputs are its scores."""

    probe: Any
    width: int

    def _rows(self, scores: NDArray[np.floating]) -> FloatArray:
        return np.zeros((scores.shape[0], self.width))

    def predict(self, scores: NDArray[np.floating]) -> NDArray[Any]:
        return np.asarray(self.probe.predict(self._rows(scores), init_score=scores[:, 0]))

    def predict_proba(self, scores: NDArray[np.floating]) -> NDArray[np.floating]:
        return np.asarray(self.probe.predict_proba(self._rows(scores), init_score=scores[:, 0]))


def _given_scores(estimator: Any) -> _Given:
    probe = copy.copy(estimator)
    probe.term_features_, probe.term_scores_, probe.intercept_ = [], [], np.zeros(1)
    return _Given(probe, len(estimator.feature_names_in_))


def read_glassbox(estimator: Any, target: Target) -> Model:
    """Read interpret's LogisticRegression or ClassificationTree: the scikit-learn classifier inside, on numbers.

    >>> import pytest
    >>> interpret = pytest.importorskip("interpret.glassbox")
    >>> X, y = np.arange(40.0)[:, None], np.arange(40) >= 15
    >>> tree = interpret.ClassificationTree().fit(X, y)
    >>> read_glassbox(tree, Target(tree.classes_, (1,))).accepts(np.array([[3.0], [20.0]]))
    array([False,  True])
    """
    odd = [str(kind) for kind in estimator.feature_types_in_ if kind != "continuous"]
    if odd:
        raise UnreadableError(
            f"A {type(estimator).__name__} of interpret is read when all its columns are continuous. This one has one "
            f"that is {odd[0]}. Encode it in a Pipeline before, or use ExpertOptions(method='blackbox')."
        )
    return read_inside(estimator.sk_model_, target)


register_model(["interpret.LogisticRegression", "interpret.ClassificationTree"], read_glassbox, kind="as inside")
register_model("interpret.ExplainableBoostingClassifier", read_ebm, kind="trees", prepare=prepare_ebm)
