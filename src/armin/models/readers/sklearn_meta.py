"""Classifiers of scikit-learn around other classifiers: thresholds, calibration, searches, bags and boosts of trees."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armin.errors import UnreadableError
from armin.models.decide import Around, Target, Verdict, decide_by_score, refuse_threshold
from armin.models.inputs import Prepare
from armin.models.kinds import Among, Decision, Model, TreeEnsemble
from armin.models.nodes import OneTree, plant
from armin.models.read import prepare_inputs, read_inside, register_model
from armin.models.readers.sklearn_trees import as_tree, decide_shares, shares

__all__ = [
    "check_members",
    "inner_of",
    "mean_of_shares",
    "placed",
    "prepare_inner",
    "read_adaboost",
    "read_bagging",
    "read_calibrated",
    "read_inner",
    "read_thresholded",
    "single_trees",
    "with_inner",
]

_TREES = ("DecisionTreeClassifier", "ExtraTreeClassifier")


def read_inner(estimator: Any, target: Target) -> Model:
    """Read the classifier that a search found best, or that was frozen.

    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = np.arange(20.0)[:, None], np.arange(20) >= 8
    >>> search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=2).fit(X, y)
    >>> read_inner(search, Target(search.classes_, (1,))).accepts(np.array([[3.0], [9.0]]))
    array([False,  True])
    """
    return read_inside(inner_of(estimator), target)


def read_thresholded(estimator: Any, target: Target) -> Model:
    """Read a FixedThresholdClassifier or TunedThresholdClassifierCV.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import FixedThresholdClassifier
    >>> X, y = np.arange(20.0)[:, None], np.arange(20) >= 8
    >>> strict = FixedThresholdClassifier(LogisticRegression(), threshold=0.9).fit(X, y)
    >>> model = read_thresholded(strict, Target(strict.classes_, (1,)))
    >>> bool((model.accepts(X) == strict.predict(X)).all())
    True
    """
    if target.threshold is not None:  # its probabilities are those of the classifier inside
        return read_inside(inner_of(estimator), target)
    scorer = getattr(estimator, "_curve_scorer", None)
    positive = estimator.pos_label if scorer is None else scorer._get_pos_label()
    column = 1 if positive is None else int(np.flatnonzero(target.classes == positive)[0])
    return _read_around(estimator, target, column, ("predict_proba", "decision_function"))


def read_calibrated(estimator: Any, target: Target) -> Model:
    """Read a CalibratedClassifierCV that is one map of the score of one classifier of two classes.

    >>> from sklearn.calibration import CalibratedClassifierCV
    >>> from sklearn.svm import LinearSVC
    >>> X, y = np.arange(40.0)[:, None], np.arange(40) >= 18
    >>> calibrated = CalibratedClassifierCV(LinearSVC(), ensemble=False).fit(X, y)
    >>> model = read_calibrated(calibrated, Target(calibrated.classes_, (1,), threshold=0.8))
    >>> bool((model.accepts(X) == (calibrated.predict_proba(X)[:, 1] >= 0.8)).all())
    True
    """
    n_maps = len(estimator.calibrated_classifiers_)
    if n_maps != 1 or not target.binary:
        raise UnreadableError(
            f"A CalibratedClassifierCV is read when it maps the score of one classifier of two classes. This one "
            f"averages {n_maps} classifiers of {target.classes.size} classes. Fit it with ensemble=False on two "
            "classes, or use ExpertOptions(method='blackbox')."
        )
    return _read_around(estimator, target, 1, ("decision_function",))


def _read_around(estimator: Any, target: Target, column: int, methods: tuple[str, ...]) -> Model:
    put = _Put(estimator, methods, target.around)
    return read_inside(inner_of(estimator), replace(target, around=Around(put, column)))


@dataclass(frozen=True, eq=False)
class _Put:
    """Gives a classifier, and what is around it, with the classifier inside replaced; a class, to be pickled."""

    estimator: Any
    methods: tuple[str, ...]
    outer: Around | None

    def __call__(self, inner: Any) -> Any:
        real = inner_of(self.estimator)
        lost = [name for name in self.methods if hasattr(real, name) and not hasattr(inner, name)]
        if lost:
            raise UnreadableError(
                f"A {type(self.estimator).__name__} is read when it looks at the score of the {type(real).__name__} "
                f"inside. This one may look at {lost[0]}(), which is something else. Use "
                "ExpertOptions(method='blackbox')."
            )
        filled = with_inner(copy.copy(self.estimator), inner)
        return filled if self.outer is None else self.outer.put(filled)


def prepare_inner(estimator: Any) -> Prepare:
    """The inputs of a classifier around another one are those of the other one."""
    return prepare_inputs(inner_of(estimator))


def inner_of(estimator: Any) -> Any:
    """The fitted classifier inside another one."""
    if "calibrated_classifiers_" in vars(estimator):
        return estimator.calibrated_classifiers_[0].estimator
    return getattr(estimator, _place_of_inner(estimator))


def with_inner(estimator: Any, inner: Any) -> Any:
    """``estimator``, a copy that may be changed, around another classifier."""
    vars(estimator).pop("feature_names_in_", None)
    if "calibrated_classifiers_" not in vars(estimator):
        setattr(estimator, _place_of_inner(estimator), inner)
        return estimator
    calibrated = [copy.copy(each) for each in estimator.calibrated_classifiers_]
    calibrated[0].estimator = inner
    estimator.calibrated_classifiers_ = calibrated
    return estimator


def _place_of_inner(estimator: Any) -> str:
    # not hasattr: a FrozenEstimator has all attributes of the classifier inside
    return next(name for name in ("best_estimator_", "estimator_", "estimator") if name in vars(estimator))


def read_bagging(estimator: Any, target: Target) -> TreeEnsemble:
    """Read a BaggingClassifier over decision trees, each with its own features.

    With ``n_jobs`` above 1 scikit-learn adds the trees in groups; exact ties can then fall differently.

    >>> from sklearn.ensemble import BaggingClassifier
    >>> X, y = np.arange(20.0)[:, None], np.arange(20) >= 8
    >>> bag = BaggingClassifier(n_estimators=3, random_state=0).fit(X, y)
    >>> model = read_bagging(bag, Target(bag.classes_, (1,)))
    >>> bool(np.array_equal(model.outputs(X), bag.predict_proba(X)))
    True
    """
    members, name = list(estimator.estimators_), type(estimator).__name__
    check_members(members, name)
    trees = []
    for member, features in zip(members, estimator.estimators_features_, strict=True):
        tree = as_tree(member.tree_, placed(member, target.classes.size))
        own = np.asarray(features, dtype=np.intp)
        trees.append(replace(tree, feature=np.where(tree.left < 0, -1, own[np.maximum(tree.feature, 0)])))
    return mean_of_shares(trees, float(len(trees)), estimator, target)


def read_adaboost(estimator: Any, target: Target) -> TreeEnsemble:
    """Read an AdaBoostClassifier over decision trees: each tree gives its weight to one class.

    >>> from sklearn.ensemble import AdaBoostClassifier
    >>> X, y = np.arange(20.0)[:, None], np.arange(20) % 7 >= 3
    >>> boosted = AdaBoostClassifier(n_estimators=5).fit(X, y)
    >>> model = read_adaboost(boosted, Target(boosted.classes_, (1,)))
    >>> bool(np.array_equal(model.outputs(X)[:, 0], boosted.decision_function(X)))
    True
    """
    members, name = list(estimator.estimators_), type(estimator).__name__
    check_members(members, name)
    if getattr(estimator, "algorithm", "SAMME") == "SAMME.R":
        raise UnreadableError(
            f"A {name} is read when its algorithm is 'SAMME'. This one has 'SAMME.R'. Fit it with 'SAMME'."
        )
    n_classes = int(target.classes.size)
    trees, sign = [], 1.0
    decision: Decision = Among(target.accepted, n_classes)
    if n_classes == 2:
        sign, decision = decide_by_score(Verdict(_given_decision(estimator), target), name)
    else:
        refuse_threshold(target, name)
    for member, weight in zip(members, estimator.estimator_weights_, strict=False):
        votes = np.flatnonzero(np.isin(target.classes, member.classes_))[np.argmax(shares(member.tree_.value), axis=1)]
        if n_classes == 2:
            # decision_function subtracts the first class's column, the exact negative of the second's
            table = sign * np.where(votes == 1, 2.0 * weight, -2.0 * weight)[:, None]
        else:
            table = np.where(votes[:, None] == np.arange(n_classes), weight, -1 / (n_classes - 1) * weight)
        trees.append(as_tree(member.tree_, table))
    return plant(
        trees,
        np.zeros(1 if n_classes == 2 else n_classes),
        decision,
        int(estimator.n_features_in_),
        input_precision="float32",
        divisor=float(estimator.estimator_weights_.sum()),
    )


def single_trees(members: list[Any]) -> bool:
    """Whether all members are single decision trees of scikit-learn."""
    return all(type(m).__name__ in _TREES and type(m).__module__.partition(".")[0] == "sklearn" for m in members)


def check_members(members: list[Any], name: str) -> None:
    """Refuse members that are not single decision trees."""
    for member in members:
        if not single_trees([member]):
            raise UnreadableError(
                f"A {name} is read when its members are single decision trees. This one has a "
                f"{type(member).__name__}. Use ExpertOptions(method='blackbox')."
            )


def placed(member: Any, n_classes: int) -> NDArray[np.float64]:
    """The class shares of a member that may not have seen every class; its labels are positions."""
    found = shares(member.tree_.value)
    if found.shape[1] == n_classes:
        return found
    table = np.zeros((found.shape[0], n_classes))
    table[:, np.asarray(member.classes_, dtype=np.intp)] = found
    return table


def mean_of_shares(trees: list[OneTree], total: float, estimator: Any, target: Target) -> TreeEnsemble:
    """The sum of trees, divided by ``total``, of which the largest share wins, or that of the target counts."""
    columns, sign, decision = decide_shares(target, type(estimator).__name__)
    kept = [replace(tree, value=sign * tree.value[:, columns]) for tree in trees]
    return plant(
        kept,
        np.zeros(len(columns)),
        decision,
        int(estimator.n_features_in_),
        input_precision="float32",
        divisor=total,
    )


def _given_decision(estimator: Any) -> Any:
    """A copy of the classifier whose input is its own decision function."""
    probe = copy.copy(estimator)
    probe.decision_function = _first_column
    return probe


def _first_column(scores: NDArray[np.floating]) -> NDArray[np.floating]:
    return scores[:, 0]


_SEARCHES = ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV")
_AROUND = {
    read_thresholded: ("FixedThresholdClassifier", "TunedThresholdClassifierCV"),
    read_inner: ("FrozenEstimator", *_SEARCHES),
}
register_model("sklearn.BaggingClassifier", read_bagging, kind="trees")
register_model("sklearn.AdaBoostClassifier", read_adaboost, kind="trees")
for _reader, _names in _AROUND.items():
    _classes = [f"sklearn.{name}" for name in _names]
    register_model(_classes, _reader, kind="as inside", prepare=prepare_inner, inner=(inner_of, with_inner))
