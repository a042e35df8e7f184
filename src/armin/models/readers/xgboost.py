"""Boosted trees and random forests of XGBoost, through the JSON that it writes itself."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from armin.arrays import FloatArray, IntArray
from armin.errors import ModelError, UnreadableError
from armin.models.decide import AmongLinked, Target, Verdict, decide_by_score, refuse_threshold
from armin.models.inputs import Prepare, category_codes, dense, dense_but
from armin.models.kinds import Decision, TreeEnsemble
from armin.models.nodes import OneTree, plant
from armin.models.read import register_model

__all__ = ["prepare_xgboost", "read_xgboost"]

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


def prepare_xgboost(estimator: Any) -> Prepare:
    """How XGBoost itself turns rows into numbers.

    Since 3.1 XGBoost remembers the categories of a frame and finds those of a new frame among them, by a way
    of its own; it is asked, through trees that have a leaf for each category. A category that it does not
    know has the code -1, which is in no set. Before 3.1, the codes are those of the frame at hand.

    >>> from xgboost import XGBClassifier
    >>> X = pd.DataFrame({"city": pd.Categorical(["Rome", "Oslo", "Lima"] * 9)})
    >>> boosted = XGBClassifier(n_estimators=1, enable_categorical=True, n_jobs=1).fit(X, [0, 1, 1] * 9)
    >>> prepare_xgboost(boosted)(X.head(3)).ravel()
    array([2., 1., 0.])
    """
    booster = estimator.get_booster()
    saved = json.loads(bytes(booster.save_raw("json")))
    kinds = booster.feature_types or []
    coded = [i for i, kind in enumerate(kinds) if kind == "c"]
    sizes = np.diff(saved["learner"]["gradient_booster"]["model"].get("cats", {}).get("feature_segments", []))
    remembered = [i for i in coded if i < sizes.size and sizes[i] > 0]
    finder = _one_leaf_per_code(estimator, saved, [(i, int(sizes[i])) for i in remembered]) if remembered else None

    return partial(_prepare, finder, remembered, coded)


def _prepare(finder: Any, remembered: list[int], coded: list[int], rows: Any) -> FloatArray:
    """What XGBoost makes of rows."""
    if isinstance(rows, pd.DataFrame):
        own = {
            i: category_codes(rows.iloc[:, i])
            for i, kind in enumerate(rows.dtypes)
            if isinstance(kind, pd.CategoricalDtype)
        }
        if finder is not None and own:
            # leaf 2j + 2 belongs to code j, and the last one to all others
            leaf = np.asarray(finder.apply(rows), dtype=np.intp).reshape(len(rows), len(remembered))
            for column, i in enumerate(remembered):
                code = np.where(leaf[:, column] % 2 == 0, leaf[:, column] // 2 - 1.0, -1.0)
                own[i] = np.where(np.isnan(own[i]), np.nan, code)
        matrix = dense_but(rows, own)
    else:
        matrix = dense(rows).copy()
    codes = matrix[:, coded].astype(np.float32)
    matrix[:, coded] = np.where(codes < 0, -1.0, np.trunc(codes))
    return matrix


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
        raise UnreadableError(
            f"A {name} is read when its booster is 'gbtree'. This one has {booster!r}. Use "
            "ExpertOptions(method='blackbox')."
        )
    if objective not in _OBJECTIVES or callable(estimator.objective):
        raise UnreadableError(
            f"A {name} is read when its objective is one of {', '.join(_OBJECTIVES)}. "
            f"This one has {estimator.objective!r}. Use ExpertOptions(method='blackbox')."
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
        raise UnreadableError(
            f"A {name} is read when its missing value is NaN. This one has missing={missing!r}. "
            "Replace that value by NaN in the data and fit again with missing=nan, or use "
            "ExpertOptions(method='blackbox')."
        )
    vectors = any(int(t["tree_param"]["size_leaf_vector"]) > 1 for t in learner["gradient_booster"]["model"]["trees"])
    if vectors or int(learner["learner_model_param"].get("num_target", 1)) > 1:
        raise UnreadableError(
            f"A {name} is read when it has one label and one output per tree. This one has several. "
            "Use multi_strategy='one_output_per_tree' and one model per label, or ExpertOptions(method='blackbox')."
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
    forest = saved["learner"]["gradient_booster"]["model"]
    count = int(forest["iteration_indptr"][1])
    return _with_trees(estimator, saved, [_chain(forest["trees"][0], 0, 0)] * count, forest["tree_info"][:count])


def _one_leaf_per_code(estimator: Any, saved: dict[str, Any], inputs: list[tuple[int, int]]) -> Any:
    """A copy of the classifier with a tree for each input with categories, which splits them off one by one."""
    like = saved["learner"]["gradient_booster"]["model"]["trees"][0]
    return _with_trees(estimator, saved, [_chain(like, feature, n) for feature, n in inputs], [0] * len(inputs))


def _chain(like: dict[str, Any], feature: int, n_codes: int) -> dict[str, Any]:
    """A tree in which code j of a feature goes to the leaf 2j + 2 and all others to the leaf 2 n_codes - 1, or 0.

    Its inner nodes are 0, 1, 3, 5, ...; the children of the j-th are 2j + 1 and 2j + 2.
    """
    inner = [max(0, 2 * j - 1) for j in range(n_codes)]
    n_nodes = 2 * n_codes + 1
    left, right, parents = [-1] * n_nodes, [-1] * n_nodes, [2147483647] * n_nodes
    for j, node in enumerate(inner):
        left[node], right[node] = 2 * j + 1, 2 * j + 2
        parents[2 * j + 1] = parents[2 * j + 2] = node
    return {
        **like,
        **{key: [0.0] * n_nodes for key in ("base_weights", "loss_changes", "split_conditions", "sum_hessian")},
        "default_left": [1] * n_nodes if n_codes else [0],
        "split_indices": [feature if node in inner else 0 for node in range(n_nodes)],
        "split_type": [int(node in inner) for node in range(n_nodes)],
        "categories": list(range(n_codes)),
        "categories_nodes": inner,
        "categories_segments": list(range(n_codes)),
        "categories_sizes": [1] * n_codes,
        "left_children": left,
        "right_children": right,
        "parents": parents,
        "tree_param": {**like["tree_param"], "num_nodes": str(n_nodes), "num_deleted": "0"},
    }


def _with_trees(estimator: Any, saved: dict[str, Any], trees: list[dict[str, Any]], groups: list[int]) -> Any:
    """A copy of the classifier with one round of other trees."""
    import xgboost

    learner = {**saved["learner"], "attributes": {}}
    forest = learner["gradient_booster"]["model"]
    bare = {
        **forest,
        "gbtree_model_param": {**forest["gbtree_model_param"], "num_trees": str(len(trees))},
        "iteration_indptr": [0, len(trees)],
        "tree_info": groups,
        "trees": [{**tree, "id": i} for i, tree in enumerate(trees)],
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


register_model(
    ["xgboost.XGBClassifier", "xgboost.XGBRFClassifier"], read_xgboost, kind="trees", prepare=prepare_xgboost
)
