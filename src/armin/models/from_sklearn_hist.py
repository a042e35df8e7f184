"""Histogram gradient boosting of scikit-learn."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armin.errors import ModelError
from armin.models.decide import AmongLinked, Target, Verdict, decide_by_score, refuse_threshold
from armin.models.kinds import Decision, IntArray, TreeEnsemble
from armin.models.nodes import OneTree, plant

__all__ = ["read_hist_boosting"]

_NEAR = 1e-12  # scores that differ by more than this have different softmax probabilities
_MOST_CODES = 1 << 16  # the largest category code for which a table is kept


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
    columns, categories = _inputs(estimator)
    trees = [
        _one_tree(predictor, k, base.size, sign, columns, categories)
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


def _inputs(estimator: Any) -> tuple[IntArray, dict[int, IntArray]]:
    """The model input behind each column that the trees see, and the raw codes of those with categories."""
    n_inputs = int(estimator.n_features_in_)
    categorical = getattr(estimator, "is_categorical_", None)
    if categorical is None:
        return np.arange(n_inputs), {}
    # the estimator's own preprocessor puts the columns with categories first
    columns = np.concatenate([np.flatnonzero(categorical), np.flatnonzero(~categorical)])
    known = estimator._preprocessor.named_transformers_["encoder"].categories_
    return columns, {i: _codes(values, int(columns[i])) for i, values in enumerate(known)}


def _codes(values: NDArray[Any], column: int) -> IntArray:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array([-1.0])
    numbers = numbers[~np.isnan(numbers)]
    if np.any((numbers < 0) | (numbers > _MOST_CODES) | (numbers != np.floor(numbers))):
        raise ModelError(
            f"The categories of model input {column} must be whole numbers from 0 to {_MOST_CODES}. "
            f"Got {list(values[:5])}. Encode them with an OrdinalEncoder before the model, or use method='blackbox'."
        )
    return numbers.astype(np.intp)


def _one_tree(
    predictor: Any, k: int, width: int, sign: float, columns: IntArray, categories: dict[int, IntArray]
) -> OneTree:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    left, right = nodes["left"].astype(np.intp), nodes["right"].astype(np.intp)
    nan_left = nodes["missing_go_to_left"].astype(bool)
    sets: dict[int, IntArray] = {}
    for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf):
        codes = categories[int(nodes["feature_idx"][node])]
        chosen = _in_bitset(predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]], codes.size)
        if nan_left[node]:
            # unknown categories follow the missing ones, and all that is not listed goes right: swap the children
            left[node], right[node], nan_left[node] = right[node], left[node], False
            chosen = ~chosen
        sets[int(node)] = codes[chosen]
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
