"""Histogram gradient boosting of scikit-learn."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armin.arrays import FloatArray, IntArray
from armin.models.decide import AmongLinked, Target, Verdict, decide_by_score, refuse_threshold
from armin.models.inputs import Prepare, dense
from armin.models.kinds import Decision, TreeEnsemble
from armin.models.nodes import OneTree, plant
from armin.models.read import register_model

__all__ = ["prepare_hist_boosting", "read_hist_boosting"]

_NEAR = 1e-12  # scores that differ by more than this have different softmax probabilities


def read_hist_boosting(estimator: Any, target: Target) -> TreeEnsemble:
    """Read a HistGradientBoostingClassifier, with its missing values and native categories.

    >>> import numpy as np
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> X, y = np.arange(40.0)[:, None], np.arange(40) >= 15
    >>> boosted = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=1).fit(X, y)
    >>> model = read_hist_boosting(boosted, Target(boosted.classes_, (1,)))
    >>> bool(np.array_equal(model.outputs(X)[:, 0], boosted.decision_function(X)))
    True
    """
    base = np.asarray(estimator._baseline_prediction, dtype=np.float64).ravel()
    sign, decision = _decide(estimator, target, base.size)
    columns = _columns(estimator)
    trees = [
        _one_tree(predictor, k, base.size, sign, columns)
        for stage in estimator._predictors
        for k, predictor in enumerate(stage)
    ]
    return plant(trees, sign * base, decision, int(estimator.n_features_in_))


def _decide(estimator: Any, target: Target, n_scores: int) -> tuple[float, Decision]:
    name = type(estimator).__name__
    probe = copy.copy(estimator)
    probe._raw_predict = _as_given
    probe._predictors, probe._bin_mapper = [[]], None
    if n_scores == 1:
        return decide_by_score(Verdict(probe, target), name)
    refuse_threshold(target, name)
    # before scikit-learn 1.5 predict ranks rounded probabilities, later the scores themselves
    return 1.0, AmongLinked(target.accepted, n_scores, Verdict(probe, target), _NEAR)


def _as_given(scores: NDArray[np.floating], n_threads: int | None = None) -> NDArray[np.floating]:
    return scores


def prepare_hist_boosting(estimator: Any) -> Prepare:
    """The estimator's own encoder, with its columns put back in the order of the rows.

    A category becomes its position among those seen in training; an unknown one is NaN, as for the estimator.

    >>> import pandas as pd
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> X = pd.DataFrame({"size": range(40), "city": ["Rome", "Oslo"] * 20})
    >>> booster = HistGradientBoostingClassifier(max_iter=1, categorical_features=["city"]).fit(X, [0, 1] * 20)
    >>> prepare_hist_boosting(booster)(pd.DataFrame({"size": [7], "city": ["Bonn"]}))
    array([[ 7., nan]])
    """
    columns = _columns(estimator)
    if getattr(estimator, "is_categorical_", None) is None:
        return dense

    return partial(_prepare, estimator, columns)


def _prepare(estimator: Any, columns: Any, rows: Any) -> FloatArray:
    """What the estimator makes of rows."""
    encoded = dense(estimator._preprocessor.transform(rows))
    inputs = np.empty_like(encoded)
    inputs[:, columns] = encoded
    return inputs


def _columns(estimator: Any) -> IntArray:
    """The column of the rows behind each column that the trees see: those with categories come first."""
    categorical = getattr(estimator, "is_categorical_", None)
    if categorical is None:
        return np.arange(int(estimator.n_features_in_))
    return np.concatenate([np.flatnonzero(categorical), np.flatnonzero(~categorical)])


def _one_tree(predictor: Any, k: int, width: int, sign: float, columns: IntArray) -> OneTree:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    left, right = nodes["left"].astype(np.intp), nodes["right"].astype(np.intp)
    nan_left = nodes["missing_go_to_left"].astype(bool)
    sets: dict[int, IntArray] = {}
    for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf):
        words = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]]
        sets[int(node)] = np.flatnonzero(_in_bitset(words, 32 * words.size))
    value = np.zeros((leaf.size, width))
    value[:, k] = sign * nodes["value"]
    return OneTree(
        feature=np.where(leaf, -1, columns[np.where(leaf, 0, nodes["feature_idx"])]).astype(np.intp),
        threshold=np.array(nodes["num_threshold"], dtype=np.float64),
        left=np.where(leaf, -1, left).astype(np.intp),
        right=np.where(leaf, -1, right).astype(np.intp),
        nan_left=nan_left,
        value=value,
        categories=sets,
    )


def _in_bitset(words: NDArray[np.uint32], size: int) -> NDArray[np.bool_]:
    codes = np.arange(size)
    return np.asarray((words[codes // 32] >> (codes % 32).astype(np.uint32)) & 1, dtype=bool)


register_model(
    "sklearn.HistGradientBoostingClassifier", read_hist_boosting, kind="trees", prepare=prepare_hist_boosting
)
