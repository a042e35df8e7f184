"""Boosted trees and random forests of XGBoost, through the JSON that it writes itself."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray

from armin.errors import ModelError
from armin.models.decide import AmongLinked, Target, Verdict, decide_by_score, refuse_threshold
from armin.models.kinds import Decision, IntArray, TreeEnsemble
from armin.models.nodes import OneTree, plant

__all__ = ["read_xgboost"]

_OBJECTIVES = (
    "binary:logistic",
    "binary:logitraw",
    "binary:hinge",
    "reg:logistic",
    "multi:softprob",
    "multi:softmax",
)
_NEAR = 1e-5  # margins that differ by more than this have different float32 probabilities


def read_xgboost(estimator: Any, target: Target) -> TreeEnsemble:
    """Read an XGBClassifier or XGBRFClassifier with the tree booster.

    Where ``fit`` stopped early, the trees up to ``best_iteration`` count, as in ``predict``.

    >>> import numpy as np
    >>> from xgboost import XGBClassifier
    >>> X, y = np.arange(40.0)[:, None], np.arange(40) >= 15
    >>> boosted = XGBClassifier(n_estimators=5, n_jobs=1).fit(X, y)
    >>> model = read_xgboost(boosted, Target(boosted.classes_, (1,)))
    >>> bool(np.array_equal(model.outputs(X)[:, 0], boosted.predict(X, output_margin=True)))
    True
    """
    saved = json.loads(bytes(estimator.get_booster().save_raw("json")))
    learner = saved["learner"]
    _check(estimator, learner, target)
    n_inputs = int(learner["learner_model_param"]["num_feature"])
    probe = _Margins(_without_trees(estimator, saved), n_inputs)
    base = probe.base()
    sign, decision = _decide(probe, target, base.size, type(estimator).__name__)
    forest = learner["gradient_booster"]["model"]
    n_trees = _trees_in_use(estimator, forest)
    trees = [
        _one_tree(tree, int(k), base.size, np.float32(sign))
        for tree, k in zip(forest["trees"][:n_trees], forest["tree_info"][:n_trees], strict=True)
    ]
    return plant(
        trees, np.float32(sign) * base, decision, n_inputs, strict=True, input_precision="float32", precision="float32"
    )


@dataclass(frozen=True, eq=False)
class _Margins:
    """A classifier without trees, whose inputs are its own raw scores."""

    bare: Any
    n_inputs: int

    def base(self) -> NDArray[np.float32]:
        margin = self.bare.predict(np.zeros((1, self.n_inputs)), output_margin=True)
        return np.array(margin, dtype=np.float32).ravel()

    def predict(self, margins: NDArray[np.floating]) -> NDArray[Any]:
        return np.asarray(self.bare.predict(self._rows(margins), base_margin=self._as_base(margins)))

    def predict_proba(self, margins: NDArray[np.floating]) -> NDArray[Any]:
        return np.asarray(self.bare.predict_proba(self._rows(margins), base_margin=self._as_base(margins)))

    def _rows(self, margins: NDArray[np.floating]) -> NDArray[np.float64]:
        return np.zeros((margins.shape[0], self.n_inputs))

    @staticmethod
    def _as_base(margins: NDArray[np.floating]) -> NDArray[np.float32]:
        return np.ascontiguousarray(margins[:, 0] if margins.shape[1] == 1 else margins, dtype=np.float32)


def _check(estimator: Any, learner: dict[str, Any], target: Target) -> None:
    name = type(estimator).__name__
    booster, objective = learner["gradient_booster"]["name"], learner["objective"]["name"]
    if booster != "gbtree":
        raise ModelError(
            f"A {name} is read when its booster is 'gbtree'. This one has {booster!r}. Use method='blackbox'."
        )
    if objective not in _OBJECTIVES or callable(estimator.objective):
        raise ModelError(
            f"A {name} is read when its objective is one of {', '.join(_OBJECTIVES)}. "
            f"This one has {estimator.objective!r}. Use method='blackbox'."
        )
    if target.binary == objective.startswith("multi:"):
        raise ModelError(
            f"The objective {objective!r} does not fit the {target.classes.size} classes of this {name}. "
            "Use 'binary:logistic' for two classes and 'multi:softprob' for more."
        )
    if not learner["gradient_booster"]["model"]["trees"]:
        raise ModelError(f"This {name} has no trees. Fit it with n_estimators of at least 1.")
    missing = estimator.missing
    if missing is not None and not np.isnan(missing):
        raise ModelError(
            f"A {name} is read when its missing value is NaN. This one has missing={missing!r}. "
            "Replace that value by NaN in the data and fit again with missing=nan, or use method='blackbox'."
        )
    vectors = any(int(t["tree_param"]["size_leaf_vector"]) > 1 for t in learner["gradient_booster"]["model"]["trees"])
    if vectors or int(learner["learner_model_param"].get("num_target", 1)) > 1:
        raise ModelError(
            f"A {name} is read when it has one label and one output per tree. This one has several. "
            "Use multi_strategy='one_output_per_tree' and one model per label, or method='blackbox'."
        )


def _decide(probe: _Margins, target: Target, n_scores: int, name: str) -> tuple[float, Decision]:
    verdict = Verdict(probe, target)
    if n_scores == 1:
        return decide_by_score(verdict, name, "float32")
    refuse_threshold(target, name)
    return 1.0, AmongLinked(target.accepted, n_scores, verdict, _NEAR)


def _trees_in_use(estimator: Any, forest: dict[str, Any]) -> int:
    starts = forest["iteration_indptr"]
    try:
        last = int(estimator.best_iteration)
    except AttributeError:  # how XGBoost says that fit did not stop early
        return int(starts[-1])
    return int(starts[last + 1])


def _without_trees(estimator: Any, saved: dict[str, Any]) -> Any:
    """A copy of the classifier in which each tree of the first round is a single leaf of 0.

    With no tree at all XGBoost 3 forgets to transform the base score.
    """
    learner = {**saved["learner"], "attributes": {}}
    forest = learner["gradient_booster"]["model"]
    count = int(forest["iteration_indptr"][1])
    stump = {
        **forest["trees"][0],
        **{key: [0.0] for key in ("base_weights", "loss_changes", "split_conditions", "sum_hessian")},
        **{key: [0] for key in ("default_left", "split_indices", "split_type")},
        **{key: [] for key in ("categories", "categories_nodes", "categories_segments", "categories_sizes")},
        "left_children": [-1],
        "right_children": [-1],
        "parents": [2147483647],
    }
    stump["tree_param"] = {**stump["tree_param"], "num_nodes": "1", "num_deleted": "0"}
    bare = {
        **forest,
        "gbtree_model_param": {**forest["gbtree_model_param"], "num_trees": str(count)},
        "iteration_indptr": [0, count],
        "tree_info": forest["tree_info"][:count],
        "trees": [{**stump, "id": i} for i in range(count)],
    }
    learner["gradient_booster"] = {**learner["gradient_booster"], "model": bare}
    booster = xgboost.Booster()
    booster.load_model(bytearray(json.dumps({**saved, "learner": learner}).encode()))
    probe = copy.copy(estimator)
    probe._Booster = booster
    return probe


def _one_tree(tree: dict[str, Any], k: int, width: int, sign: np.float32) -> OneTree:
    left, right = np.array(tree["left_children"], dtype=np.intp), np.array(tree["right_children"], dtype=np.intp)
    nan_left = np.array(tree["default_left"], dtype=bool)
    number = np.array(tree["split_conditions"], dtype=np.float32)  # the value of a leaf, the threshold elsewhere
    sets = _category_sets(tree)
    for node in sets:
        # the listed categories go right and all others left; a OneTree has it the other way round
        left[node], right[node], nan_left[node] = right[node], left[node], not nan_left[node]
    value = np.zeros((left.size, width), dtype=np.float32)
    value[:, k] = sign * number
    return OneTree(
        feature=np.array(tree["split_indices"], dtype=np.intp),
        threshold=number.astype(np.float64),
        left=left,
        right=right,
        nan_left=nan_left,
        value=value,
        categories=sets,
    )


def _category_sets(tree: dict[str, Any]) -> dict[int, IntArray]:
    codes = np.array(tree["categories"], dtype=np.intp)
    parts = zip(tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True)
    return {int(node): codes[int(start) : int(start) + int(size)] for node, start, size in parts}
