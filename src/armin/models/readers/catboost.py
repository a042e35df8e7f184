"""Boosted trees of CatBoost, through the JSON that it writes itself."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from armin.arrays import FloatArray
from armin.errors import UnreadableError
from armin.models.decide import AmongLinked, Target, Verdict, decide_by_score, refuse_threshold
from armin.models.inputs import Prepare, dense, dense_but
from armin.models.kinds import Decision, TreeEnsemble
from armin.models.nodes import OneTree, plant
from armin.models.read import register_model

__all__ = ["prepare_catboost", "read_catboost"]

_NEAR = 1e-12  # scores that differ by more than this have different softmax probabilities
_DEPTH = 6  # of the tree that holds the scores asked about
_OBJECTIVES = ("Logloss", "CrossEntropy", "MultiClass")
_HIDDEN = ("text_features", "embedding_features")


def read_catboost(estimator: Any, target: Target) -> TreeEnsemble:
    """Read a CatBoostClassifier over numbers and one-hot encoded categories.

    >>> import numpy as np
    >>> from catboost import CatBoostClassifier
    >>> X, y = np.arange(40.0)[:, None], np.arange(40) >= 15
    >>> boosted = CatBoostClassifier(iterations=5, verbose=0, allow_writing_files=False).fit(X, y)
    >>> model = read_catboost(boosted, Target(boosted.classes_, (1,)))
    >>> bool(np.array_equal(model.outputs(X)[:, 0], boosted.predict(X, prediction_type="RawFormulaVal")))
    True
    """
    saved = _saved(estimator)
    scale, bias = saved["scale_and_bias"]
    _check(estimator, saved, float(scale), len(bias), target)
    verdict = Verdict(_Scores(saved["model_info"], len(bias)), target)
    sign, decision = _decide(verdict, target, len(bias))
    inputs = _Inputs.of(saved)
    trees = [inputs.oblivious(tree, len(bias)) for tree in saved.get("oblivious_trees", [])]
    trees += [inputs.pointed(tree, len(bias)) for tree in saved.get("trees", [])]
    for tree in trees:
        tree.value[:] *= sign
    return plant(
        trees,
        sign * np.array(bias, dtype=np.float64),
        decision,
        len(estimator.feature_names_),  # n_features_in_ is 0 once it was pickled
        input_precision="float32",
        base_last=True,
    )


def prepare_catboost(estimator: Any) -> Prepare:
    """How CatBoost itself turns rows into numbers.

    A category becomes the position of its hash among those that some tree singles out, or the number of them;
    CatBoost is asked, through trees of one split.

    >>> from catboost import CatBoostClassifier
    >>> X = pd.DataFrame({"city": ["Rome", "Oslo"] * 20, "size": range(40)})
    >>> boosted = CatBoostClassifier(iterations=3, cat_features=["city"], verbose=0, allow_writing_files=False)
    >>> prepare_catboost(boosted.fit(X, [0, 1] * 20))(X.head(3))[:, 0].tolist() in ([0, 1, 0], [1, 0, 1])
    True
    """
    saved = _saved(estimator)
    categorical = saved["features_info"].get("categorical_features", [])
    if not categorical:
        return dense
    splits = [split for split in _splits(saved) if split["split_type"] == "OneHotFeature"]
    found = {(int(s["cat_feature_index"]), s["value"]): s for s in splits}
    trees = [{"leaf_values": [0.0, 1.0], "leaf_weights": [1, 1], "splits": [split]} for split in found.values()]
    plain = {key: value for key, value in saved.items() if key not in ("ctr_data", "trees")}
    finder = _load({**plain, "oblivious_trees": trees, "scale_and_bias": [1, [0]]}) if trees else None
    inputs = _Inputs.of(saved).categories

    def prepare(rows: Any) -> FloatArray:
        frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(np.asarray(rows))
        codes = {where: np.full(len(frame), float(len(values))) for where, values in inputs.values()}
        hits = np.zeros((len(frame), 0)) if finder is None else np.asarray(finder.calc_leaf_indexes(rows))
        for (feature, value), hit in zip(found, hits.T, strict=True):
            where, values = inputs[feature]
            codes[where][hit == 1] = values.index(value)
        return dense_but(frame, codes)

    return prepare


def _splits(saved: dict[str, Any]) -> list[dict[str, Any]]:
    """All splits of a saved model, as they are written."""
    found = [split for tree in saved.get("oblivious_trees", []) for split in tree.get("splits", [])]
    parts = list(saved.get("trees", []))
    while parts:
        part = parts.pop()
        if "split" in part:
            found.append(part["split"])
            parts += [part["left"], part["right"]]
    return found


def _saved(estimator: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        estimator.save_model(str(path), format="json")
        saved: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return saved


def _load(saved: dict[str, Any]) -> Any:
    from catboost import CatBoostClassifier

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_text(json.dumps(saved), encoding="utf-8")
        return CatBoostClassifier().load_model(str(path), format="json")


def _check(estimator: Any, saved: dict[str, Any], scale: float, width: int, target: Target) -> None:
    loss = str(estimator.get_all_params().get("loss_function", ""))
    if loss not in _OBJECTIVES:
        raise UnreadableError(
            f"A CatBoostClassifier is read when its loss is one of {', '.join(_OBJECTIVES)}. This one has {loss!r}. "
            "Use ExpertOptions(method='blackbox')."
        )
    if width != (1 if target.binary and loss != "MultiClass" else target.classes.size) or scale != 1.0:
        raise UnreadableError(
            f"A CatBoostClassifier is read when it has one score per class, one for two classes, and scale 1. "
            f"This one has {width} for {target.classes.size} classes and scale {scale:g}. Use "
            "ExpertOptions(method='blackbox')."
        )
    features = saved["features_info"]
    counted = any(split["split_type"] == "OnlineCtr" for split in _splits(saved))
    if counted or any(features.get(key) for key in _HIDDEN):
        what = "statistics of its categories (CTR)" if counted else "texts or embeddings"
        raise UnreadableError(
            f"A CatBoostClassifier is read when it splits numbers and single categories. This one splits {what}. "
            "Fit it with one_hot_max_size of at least the number of categories, or use "
            "ExpertOptions(method='blackbox')."
        )


def _decide(verdict: Verdict, target: Target, width: int) -> tuple[float, Decision]:
    if width == 1:
        return decide_by_score(verdict, "CatBoostClassifier")
    refuse_threshold(target, "CatBoostClassifier")
    return 1.0, AmongLinked(target.accepted, width, verdict, _NEAR)


@dataclass(frozen=True, eq=False)
class _Scores:
    """A classifier whose inputs are its own raw scores: one tree with a leaf for each score asked about."""

    info: dict[str, Any]
    width: int

    def predict(self, scores: NDArray[np.floating]) -> NDArray[Any]:
        return self._ask(scores, "predict").ravel()

    def predict_proba(self, scores: NDArray[np.floating]) -> NDArray[Any]:
        return self._ask(scores, "predict_proba")

    def _ask(self, scores: NDArray[np.floating], method: str) -> NDArray[Any]:
        size = 1 << _DEPTH
        answers = []
        bits = (np.arange(size)[:, None] >> np.arange(_DEPTH)) & 1
        for start in range(0, scores.shape[0], size):
            part = np.zeros((size, self.width))
            some = scores[start : start + size]
            part[: some.shape[0]] = some
            answers.append(np.asarray(getattr(self._holding(part), method)(bits.astype(np.float64)))[: some.shape[0]])
        return np.concatenate(answers)

    def _holding(self, scores: FloatArray) -> Any:
        features = [
            {"borders": [0.5], "feature_id": "", "feature_index": i, "flat_feature_index": i, "has_nans": False,
             "nan_value_treatment": "AsIs"}
            for i in range(_DEPTH)
        ]  # fmt: skip
        splits = [
            {"border": 0.5, "float_feature_index": i, "split_index": i, "split_type": "FloatFeature"}
            for i in range(_DEPTH)
        ]
        tree = {"leaf_values": scores.ravel().tolist(), "leaf_weights": [1] * scores.shape[0], "splits": splits}
        return _load(
            {
                "features_info": {"float_features": features},
                "model_info": self.info,
                "oblivious_trees": [tree],
                "scale_and_bias": [1, [0.0] * self.width],
            }
        )


@dataclass
class _Growing:
    """The nodes of one tree, in the order in which they are found."""

    feature: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    nan_left: list[bool] = field(default_factory=list)
    value: list[list[float]] = field(default_factory=list)
    categories: dict[int, NDArray[np.intp]] = field(default_factory=dict)

    def add(self, value: list[float]) -> int:
        """A new leaf, which may become an inner node."""
        self.feature.append(-1)
        self.threshold.append(0.0)
        self.left.append(-1)
        self.right.append(-1)
        self.nan_left.append(False)
        self.value.append(value)
        return len(self.left) - 1

    def tree(self) -> OneTree:
        return OneTree(
            feature=np.array(self.feature, dtype=np.intp),
            threshold=np.array(self.threshold, dtype=np.float64),
            left=np.array(self.left, dtype=np.intp),
            right=np.array(self.right, dtype=np.intp),
            nan_left=np.array(self.nan_left, dtype=bool),
            value=np.array(self.value, dtype=np.float64),
            categories=self.categories,
        )


@dataclass(frozen=True, eq=False)
class _Inputs:
    """What the splits of a saved model refer to.

    Attributes
    ----------
    floats : for each number, its position among all inputs and whether NaN passes a border
    categories : for each category, its position among all inputs and the hashes that are singled out
    """

    floats: dict[int, tuple[int, bool]]
    categories: dict[int, tuple[int, list[int]]]

    @classmethod
    def of(cls, saved: dict[str, Any]) -> _Inputs:
        info = saved["features_info"]
        floats = {
            int(f["feature_index"]): (int(f["flat_feature_index"]), f.get("nan_value_treatment") == "AsTrue")
            for f in info.get("float_features", [])
        }
        categories = {
            int(f["feature_index"]): (int(f["flat_feature_index"]), list(f.get("values", [])))
            for f in info.get("categorical_features", [])
        }
        return cls(floats, categories)

    def oblivious(self, tree: dict[str, Any], width: int) -> OneTree:
        """A tree that asks the same at every node of a level; bit i of a leaf's number answers split i."""
        growing = _Growing()
        values = np.array(tree["leaf_values"], dtype=np.float64).reshape(-1, width).tolist()
        splits = tree.get("splits", [])
        zero = [0.0] * width

        def grow(level: int, number: int, known: dict[Any, Any]) -> int:
            if level < 0:
                return growing.add(values[number])
            split = splits[level]
            answer = _implied(split, known)
            if answer is not None:
                return grow(level - 1, number | (int(answer) << level), known)
            node = growing.add(zero)
            no = grow(level - 1, number, _learned(split, known, False))
            yes = grow(level - 1, number | (1 << level), _learned(split, known, True))
            self._fill(growing, node, split, no, yes)
            return node

        grow(len(splits) - 1, 0, {})
        return growing.tree()

    def pointed(self, tree: dict[str, Any], width: int) -> OneTree:
        """A tree whose nodes hold their children."""
        growing = _Growing()

        def grow(part: dict[str, Any]) -> int:
            if "split" not in part:
                return growing.add(np.atleast_1d(np.array(part["value"], dtype=np.float64)).tolist())
            node = growing.add([0.0] * width)
            self._fill(growing, node, part["split"], grow(part["left"]), grow(part["right"]))
            return node

        grow(tree)
        return growing.tree()

    def _fill(self, growing: _Growing, node: int, split: dict[str, Any], no: int, yes: int) -> None:
        if split["split_type"] == "FloatFeature":  # yes: x > border
            where, nan_passes = self.floats[int(split["float_feature_index"])]
            growing.feature[node], growing.threshold[node] = where, float(np.float32(split["border"]))
            growing.left[node], growing.right[node], growing.nan_left[node] = no, yes, not nan_passes
            return
        where, values = self.categories[int(split["cat_feature_index"])]  # yes: x == value
        growing.feature[node], growing.left[node], growing.right[node] = where, yes, no
        growing.categories[node] = np.array([values.index(split["value"])], dtype=np.intp)


def _key(split: dict[str, Any]) -> tuple[str, int]:
    return split["split_type"], int(split.get("float_feature_index", split.get("cat_feature_index", -1)))


def _implied(split: dict[str, Any], known: dict[Any, Any]) -> bool | None:
    """The answer to a split that earlier answers leave no choice about."""
    key = _key(split)
    if key[0] == "FloatFeature":
        low, high = known.get(key, (-np.inf, np.inf))
        return True if split["border"] <= low else False if split["border"] >= high else None
    is_value, excluded = known.get(key, (None, frozenset()))
    if is_value is not None:
        return bool(is_value == split["value"])
    return False if split["value"] in excluded else None


def _learned(split: dict[str, Any], known: dict[Any, Any], answer: bool) -> dict[Any, Any]:
    key = _key(split)
    if key[0] == "FloatFeature":
        low, high = known.get(key, (-np.inf, np.inf))
        return {**known, key: (split["border"], high) if answer else (low, split["border"])}
    _, excluded = known.get(key, (None, frozenset()))
    return {**known, key: (split["value"], excluded) if answer else (None, excluded | {split["value"]})}


register_model("catboost.CatBoostClassifier", read_catboost, kind="trees", prepare=prepare_catboost)
