"""Trees from a file, checked before they are asked: scikit-learn follows their indexes without looking."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from armin.errors import DataError

__all__ = ["bad_model", "check_trees", "parts_of", "width_of"]

_BITS = 256
"""How many categories a bit set of scikit-learn's boosting of histograms holds."""


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
    from sklearn.ensemble._forest import BaseForest
    from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
    from sklearn.tree import BaseDecisionTree
    from sklearn.tree._tree import Tree

    for part in parts_of(model):
        try:
            if isinstance(part, Tree):
                _check_tree(part, int(part.n_features))
            elif isinstance(part, BaseDecisionTree) and "tree_" in vars(part):
                if not isinstance(part.tree_, Tree):
                    raise _bad()
                _check_tree(part.tree_, width_of(part))
            elif isinstance(part, BaseForest) and "estimators_" in vars(part):
                _check_forest(part)
            elif isinstance(part, GradientBoostingClassifier) and "estimators_" in vars(part):
                _check_boosting(part)
            elif isinstance(part, BaseHistGradientBoosting) and "_predictors" in vars(part):
                _check_histograms(part)
        except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:  # an attribute of a strange type
            raise error if isinstance(error, DataError) else _bad() from None


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


def width_of(estimator: Any) -> int:
    """How many columns a fitted estimator takes; scikit-learn compares what comes with this, if it is there.

    >>> from sklearn.preprocessing import StandardScaler
    >>> width_of(StandardScaler().fit([[0.0, 1.0]]))
    2
    """
    width = vars(estimator).get("n_features_in_")
    if isinstance(width, bool) or not isinstance(width, int | np.integer) or width < 1:
        raise bad_model(type(estimator).__name__, "n_features_in_")
    return int(width)


def _check_tree(tree: Any, width: int) -> None:
    # node_count first: the arrays are views of so many nodes
    if not 0 < tree.node_count <= tree.capacity:
        raise _bad()
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    _check_nodes(left, right, feature, left == -1, tree.node_count, width)
    if not np.array_equal(left == -1, right == -1):
        raise _bad()
    if np.isnan(tree.threshold[left != -1]).any() or not np.isfinite(tree.value).all():
        raise _bad()


def _check_forest(model: Any) -> None:
    """A forest looks at a row once, for all its trees."""
    from sklearn.tree import BaseDecisionTree

    for one in model.estimators_:
        if not isinstance(one, BaseDecisionTree) or width_of(one) != width_of(model):
            raise _bad()


def _check_boosting(model: Any) -> None:
    """Compiled code adds the trees of each row to as many numbers as there are trees in one step."""
    trees = model.estimators_
    if not isinstance(trees, np.ndarray) or trees.ndim != 2 or trees.shape[1] != model.n_trees_per_iteration_:
        raise _bad()
    for one in trees.ravel():
        if width_of(one) != width_of(model):
            raise _bad()
        _check_tree(one.tree_, width_of(model))
        if one.tree_.value.shape[1:] != (1, 1):
            raise _bad()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows without names
        begin = model._raw_predict_init(np.zeros((2, width_of(model)), dtype=np.float32))
    if begin.shape != (2, trees.shape[1]):
        raise _bad()


def _check_histograms(model: Any) -> None:
    """Predictors look at rows after categories were put in front, and ask bit sets about these."""
    own, width = vars(model), width_of(model)
    bins, before = own["_bin_mapper"], own.get("_preprocessor")
    categorical = np.asarray(bins.is_categorical_).astype(bool)
    if categorical.shape != (width,) or len(bins.bin_thresholds_) != width or own.get("_in_fit"):
        raise _bad()
    for codes in (bins.bin_thresholds_[i] for i in np.flatnonzero(categorical)):
        whole = np.asarray(codes, dtype=np.float64)
        if not ((whole >= 0) & (whole < _BITS) & (whole == np.floor(whole))).all():
            raise _bad()
    if before is not None:
        _check_remapping(before, width)
    for predictor in parts_of(own["_predictors"]):
        if hasattr(predictor, "nodes"):
            _check_predictor(predictor, categorical)
        elif not isinstance(predictor, list):
            raise _bad()


def _check_remapping(columns: Any, width: int) -> None:
    """What puts categories in front of a booster must hand on as many columns as it gets."""
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder

    kinds, taken = (OrdinalEncoder, FunctionTransformer), list[int]()
    if not isinstance(columns, ColumnTransformer) or width_of(columns) != width:
        raise _bad()
    for name, step, which in columns.transformers_:
        if isinstance(step, str) and step == "drop" and not np.any(which):
            continue
        if not isinstance(step, kinds) or np.asarray(which).shape != (width,) or np.asarray(which).dtype != bool:
            raise _bad()
        places = vars(columns)["_transformer_to_input_indices"][name]
        if list(places) != np.flatnonzero(which).tolist():
            raise _bad()
        taken += places
    if sorted(taken) != list(range(width)):
        raise _bad()


def _check_predictor(predictor: Any, categorical: Any) -> None:
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    nodes, bits = predictor.nodes, predictor.raw_left_cat_bitsets
    if nodes.dtype != PREDICTOR_RECORD_DTYPE or nodes.ndim != 1 or nodes.size == 0:
        raise _bad()
    leaf = nodes["is_leaf"].astype(bool)
    _check_nodes(nodes["left"], nodes["right"], nodes["feature_idx"], leaf, nodes.size, categorical.size)
    if not np.isfinite(nodes["value"][leaf]).all():
        raise _bad()
    sets = ~leaf & nodes["is_categorical"].astype(bool)
    if not categorical[nodes["feature_idx"][sets].astype(np.int64)].all():
        raise _bad()
    picks = nodes["bitset_idx"][sets]
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


def bad_model(name: str, what: str) -> DataError:
    """The refusal of a model that contradicts itself.

    >>> print(bad_model("OneHotEncoder", "categories_"))
    The bundle's OneHotEncoder is broken: 'categories_' does not fit the rest of it, or does more than decide. Using it
    could crash Python or open files. Get the bundle again from its source, or load it with trust=True (--trust).
    """
    return DataError(
        f"The bundle's {name} is broken: {what!r} does not fit the rest of it, or does more than decide. Using it "
        "could crash Python or open files. Get the bundle again from its source, or load it with trust=True (--trust)."
    )


def _bad() -> DataError:
    return DataError(
        "The bundle's model holds a broken tree, which could crash Python or decide by what is no number. Get it again "
        "from its source."
    )
