"""Trees from a file, checked before they are asked: scikit-learn follows their indexes without looking."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from armin.errors import DataError

__all__ = ["check_trees", "parts_of"]


def check_trees(model: Any) -> None:
    """Refuse a model with a tree whose indexes lead out of it, or round in circles.

    Parameters
    ----------
    model : an estimator that was read from a file and has not been used yet

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> check_trees(DecisionTreeClassifier().fit([[0], [1]], [0, 1]))
    """
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
    from sklearn.tree import BaseDecisionTree
    from sklearn.tree._tree import Tree

    for part in parts_of(model):
        if isinstance(part, Tree):
            _check_tree(part, int(part.n_features))
        elif isinstance(part, BaseDecisionTree) and isinstance(vars(part).get("tree_"), Tree):
            _check_tree(part.tree_, _width(part))
        elif isinstance(part, GradientBoostingClassifier) and "estimators_" in vars(part):
            _check_boosting(part)
        elif isinstance(part, BaseHistGradientBoosting) and "_predictors" in vars(part):
            for predictor in parts_of(part._predictors):
                if hasattr(predictor, "nodes"):
                    _check_predictor(predictor, _width(part))


def parts_of(root: Any) -> Iterator[Any]:
    """All objects inside an object, and itself.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> [type(part).__name__ for part in parts_of(make_pipeline(StandardScaler()))]
    ['Pipeline', 'list', 'tuple', 'StandardScaler']
    """
    seen: set[int] = set()
    stack = [root]
    while stack:
        thing = stack.pop()
        if id(thing) in seen or thing is None or isinstance(thing, str | bytes | int | float | type):
            continue
        seen.add(id(thing))
        if isinstance(thing, np.ndarray):
            if thing.dtype == object:
                stack.extend(thing.ravel().tolist())
            continue
        yield thing
        if isinstance(thing, dict):
            stack.extend(thing.values())
        elif isinstance(thing, list | tuple | set):
            stack.extend(thing)
        stack.extend(getattr(thing, "__dict__", {}).values())


def _width(estimator: Any) -> int:
    width = vars(estimator).get("n_features_in_", vars(estimator).get("_n_features"))
    if not isinstance(width, int | np.integer):
        raise _bad()
    return int(width)


def _check_tree(tree: Any, width: int) -> None:
    # node_count first: the arrays are views of so many nodes
    if not 0 < tree.node_count <= tree.capacity:
        raise _bad()
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    _check_nodes(left, right, feature, left == -1, tree.node_count, width)
    if not np.array_equal(left == -1, right == -1):
        raise _bad()


def _check_boosting(model: Any) -> None:
    trees = model.estimators_
    if not isinstance(trees, np.ndarray) or trees.ndim != 2 or trees.shape[1] != model.n_trees_per_iteration_:
        raise _bad()
    for one in trees.ravel():
        _check_tree(one.tree_, _width(model))
        if one.tree_.value.shape[1:] != (1, 1):
            raise _bad()


def _check_predictor(predictor: Any, width: int) -> None:
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    nodes, bits = predictor.nodes, predictor.raw_left_cat_bitsets
    if nodes.dtype != PREDICTOR_RECORD_DTYPE or nodes.ndim != 1 or nodes.size == 0:
        raise _bad()
    leaf = nodes["is_leaf"].astype(bool)
    _check_nodes(nodes["left"], nodes["right"], nodes["feature_idx"], leaf, nodes.size, width)
    picks = nodes["bitset_idx"][~leaf & nodes["is_categorical"].astype(bool)]
    if picks.size and (bits.ndim != 2 or bits.shape[1] != 8 or bits.dtype != np.uint32 or picks.max() >= bits.shape[0]):
        raise _bad()


def _check_nodes(left: Any, right: Any, feature: Any, leaf: Any, count: int, width: int) -> None:
    """Inner nodes lead to later nodes, and ask about features that exist."""
    at = np.flatnonzero(~leaf)
    for child in (left[at].astype(np.int64), right[at].astype(np.int64)):
        if np.any(child <= at) or np.any(child >= count):
            raise _bad()
    asked = feature[at].astype(np.int64)
    if np.any(asked < 0) or np.any(asked >= width):
        raise _bad()


def _bad() -> DataError:
    return DataError("The bundle's model holds a broken tree, which could crash Python. Get it again from its source.")
