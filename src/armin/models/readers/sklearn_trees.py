"""Trees, forests and gradient boosting of scikit-learn."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armin.arrays import FloatArray
from armin.errors import UnreadableError
from armin.models.decide import Target, Verdict, decide_by_score, refuse_threshold
from armin.models.kinds import Above, Among, Decision, Margins, TreeEnsemble
from armin.models.library_decides import LibraryDecides
from armin.models.nodes import OneTree, plant
from armin.models.read import register_model

__all__ = ["as_tree", "decide_raw", "decide_shares", "read_boosting", "read_forest", "shares"]

_NEAR = 1e-12  # sums of shares that differ by more are told apart, in whatever order they were added
_CONSTANT = ("prior", "most_frequent", "constant", "uniform")


def read_forest(estimator: Any, target: Target) -> TreeEnsemble:
    """Read a decision tree, or a forest that averages the class shares of its trees.

    With ``n_jobs`` above 1 scikit-learn adds the trees in whatever order they finish; the order
    here is that of ``estimators_``, and exact ties can then fall differently.

    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> forest = RandomForestClassifier(4, random_state=0).fit(X, y)
    >>> model = read_forest(forest, Target(forest.classes_, (1,)))
    >>> bool(np.array_equal(model.outputs(X), forest.predict_proba(X)))
    True
    """
    trees = list(getattr(estimator, "estimators_", [estimator]))
    columns, sign, decision = decide_shares(target, type(estimator).__name__)
    return plant(
        [as_tree(tree.tree_, sign * shares(tree.tree_.value)[:, columns]) for tree in trees],
        np.zeros(len(columns)),
        decision,
        int(estimator.n_features_in_),
        input_precision="float32",
        divisor=float(len(trees)),
    )


def read_boosting(estimator: Any, target: Target) -> TreeEnsemble:
    """Read a GradientBoostingClassifier that starts from a constant.

    >>> import numpy as np
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> boosted = GradientBoostingClassifier(n_estimators=5).fit(X, y)
    >>> model = read_boosting(boosted, Target(boosted.classes_, (1,)))
    >>> bool(np.array_equal(model.outputs(X)[:, 0], boosted.decision_function(X)))
    True
    """
    start, name = estimator.init_, type(estimator).__name__
    constant = isinstance(start, str) or (
        type(start).__name__ == "DummyClassifier" and getattr(start, "strategy", None) in _CONSTANT
    )
    if not constant:
        raise UnreadableError(
            f"A {name} is read when it starts from a constant (init=None or 'zero'). "
            f"This one starts from {type(start).__name__}. Use ExpertOptions(method='blackbox')."
        )
    n_inputs = int(estimator.n_features_in_)
    base = np.asarray(estimator._raw_predict_init(np.zeros((1, n_inputs))))[0]
    sign, decision = decide_raw(_given_raw_scores(estimator), target, base.size)
    trees = [
        as_tree(tree.tree_, _in_column(sign * (estimator.learning_rate * tree.tree_.value[:, 0, 0]), k, base.size))
        for stage in estimator.estimators_
        for k, tree in enumerate(stage)
    ]
    return plant(trees, sign * base, decision, n_inputs, input_precision="float32")


def decide_shares(target: Target, name: str) -> tuple[list[int], float, Decision]:
    """The columns of the class shares that decide, the sign to give them, and the rule."""
    if target.around is not None and target.binary:
        column = target.around.column
        sign, rule = decide_by_score(Verdict(_OneShare(column), target), name)
        return [column], sign, rule
    n_classes = int(target.classes.size)
    if target.threshold is not None and target.around is None and len(target.accepted) > 1:
        wanted: FloatArray = np.isin(np.arange(n_classes), target.accepted)[None, :].astype(np.float64)
        margin = Margins(wanted, np.array([target.threshold]))
        return list(range(n_classes)), 1.0, LibraryDecides((), n_classes, (margin,), _NEAR, Verdict(_Shares(), target))
    if target.threshold is not None or target.around is not None:
        if target.around is not None:
            refuse_threshold(target, name)
        return list(target.accepted), 1.0, Above(float(target.threshold or 0.0))
    return list(range(n_classes)), 1.0, Among(target.accepted, n_classes)


class _Shares:
    """A classifier whose inputs are its class shares."""

    def predict_proba(self, shares: NDArray[np.floating]) -> NDArray[np.floating]:
        return shares


@dataclass(frozen=True)
class _OneShare:
    """A classifier of two classes whose input is the share of one of them."""

    column: int

    def predict_proba(self, scores: NDArray[np.floating]) -> NDArray[np.floating]:
        shares = np.clip(scores, 0.0, 1.0)
        both = np.concatenate([1.0 - shares, shares], axis=1)
        return both if self.column == 1 else both[:, ::-1]


def decide_raw(probe: Any, target: Target, n_scores: int) -> tuple[float, Decision]:
    """The rule of a booster with one score, or with one per class of which the largest wins."""
    name = type(probe).__name__
    if n_scores == 1:
        return decide_by_score(Verdict(probe, target), name)
    refuse_threshold(target, name)
    return 1.0, Among(target.accepted, n_scores)


def _in_column(values: NDArray[np.floating], column: int, width: int) -> NDArray[np.floating]:
    table = np.zeros((values.size, width), dtype=values.dtype)
    table[:, column] = values
    return table


def as_tree(tree: Any, value: NDArray[np.floating]) -> OneTree:
    """The nodes of a fitted ``tree_`` with the values (nodes, C) that count."""
    nan_left = getattr(tree, "missing_go_to_left", None)  # scikit-learn keeps it with the nodes
    if nan_left is None:
        state = tree.__getstate__()["nodes"]
        nan_left = state["missing_go_to_left"] if "missing_go_to_left" in state.dtype.names else np.zeros(len(state))
    return OneTree(
        feature=np.array(tree.feature, dtype=np.intp),
        threshold=np.array(tree.threshold, dtype=np.float64),
        left=np.array(tree.children_left, dtype=np.intp),
        right=np.array(tree.children_right, dtype=np.intp),
        nan_left=np.array(nan_left, dtype=bool),
        value=value,
    )


def shares(value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Class shares (nodes, C) of each node; models saved by old versions hold counts instead."""
    shares = value[:, 0, :].copy()
    total = shares.sum(axis=1, keepdims=True)
    counts = ~np.isclose(total, 1.0) & (total != 0)
    return np.where(counts, shares / np.where(counts, total, 1.0), shares)


def _given_raw_scores(estimator: Any) -> Any:
    """A copy of the classifier whose inputs are its own raw scores."""
    probe = copy.copy(estimator)
    probe.decision_function = _squeezed
    return probe


def _squeezed(scores: NDArray[np.floating]) -> NDArray[np.floating]:
    return scores.ravel() if scores.shape[1] == 1 else scores


_FORESTS = ("DecisionTreeClassifier", "ExtraTreeClassifier", "RandomForestClassifier", "ExtraTreesClassifier")
register_model([f"sklearn.{name}" for name in _FORESTS], read_forest, kind="trees")
register_model("sklearn.GradientBoostingClassifier", read_boosting, kind="trees")
