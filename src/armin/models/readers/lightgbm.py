"""Boosted trees and random forests of LightGBM, through the text that it writes itself."""

from __future__ import annotations

import copy
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

__all__ = ["prepare_lightgbm", "read_lightgbm"]

_NEAR = 1e-12  # scores that differ by more than this have different softmax probabilities
_MOST_SCORE = 25.0  # beyond it, one-against-all probabilities round to 1 and tie
_ZERO = float(np.float32(1e-35))  # LightGBM takes anything closer to zero for zero
_CATEGORICAL, _DEFAULT_LEFT = 1, 2  # bits of decision_type; the two above them are the kind of missing value
_MISSING_NONE, _MISSING_ZERO, _MISSING_NAN = 0, 1, 2


def read_lightgbm(estimator: Any, target: Target) -> TreeEnsemble:
    """Read an LGBMClassifier, with its missing values and native categories.

    Where ``fit`` stopped early, the trees up to ``best_iteration_`` count, as in ``predict``.

    >>> import numpy as np
    >>> from lightgbm import LGBMClassifier
    >>> X, y = np.arange(90.0)[:, None], np.arange(90) >= 35
    >>> boosted = LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1).fit(X, y)
    >>> model = read_lightgbm(boosted, Target(boosted.classes_, (1,)))
    >>> bool(np.array_equal(model.outputs(X)[:, 0], boosted.predict(X, raw_score=True)))
    True
    """
    text = _Text.of(estimator)
    _check(estimator, text, target)
    width = int(text.header["num_tree_per_iteration"])
    averaged = "average_output" in text.header
    trees = [_one_tree(tree, i % width, width) for i, tree in enumerate(text.trees)]
    sign, decision = _decide(estimator, text, target, trees, width)
    if sign < 0:
        trees = [_one_tree(tree, i % width, width, sign) for i, tree in enumerate(text.trees)]
    divisor = float(len(trees) // width) if averaged else 1.0
    return plant(trees, np.zeros(width), decision, int(text.header["max_feature_idx"]) + 1, divisor=divisor)


def prepare_lightgbm(estimator: Any) -> Prepare:
    """How LightGBM itself turns rows into numbers.

    Pandas categories become their positions among the ones seen in training, unknown ones NaN; other
    categories are cut off to whole numbers; what is closer to zero than 1e-35 is zero, or NaN where
    the model was fitted with ``zero_as_missing``.

    >>> from lightgbm import LGBMClassifier
    >>> X = pd.DataFrame({"city": pd.Categorical(["Rome", "Oslo", "Lima"] * 30)})
    >>> boosted = LGBMClassifier(n_estimators=1, verbose=-1).fit(X, [0, 1, 1] * 30)
    >>> prepare_lightgbm(boosted)(pd.DataFrame({"city": pd.Categorical(["Oslo", "Bonn"])})).ravel()
    array([ 1., nan])
    """
    text = _Text.of(estimator)
    known = getattr(estimator.booster_, "pandas_categorical", None) or []
    codes, zero_is_missing = _kinds_of_inputs(text)

    return partial(_prepare, known, codes, zero_is_missing)


def _prepare(known: list[Any], codes: Any, zero_is_missing: Any, rows: Any) -> FloatArray:
    """What LightGBM makes of rows."""
    if isinstance(rows, pd.DataFrame):
        with_categories = [i for i, kind in enumerate(rows.dtypes) if isinstance(kind, pd.CategoricalDtype)]
        given = {i: category_codes(rows.iloc[:, i], k) for i, k in zip(with_categories, known, strict=True)}
        matrix = dense_but(rows, given)
    else:
        matrix = dense(rows).copy()
        if getattr(rows, "dtype", None) is not None and rows.dtype.kind in "iu":
            matrix = matrix.astype(np.float32).astype(np.float64)
    matrix[:, codes] = np.trunc(matrix[:, codes])
    small = np.abs(matrix) <= _ZERO
    matrix[small] = 0.0
    matrix[small & zero_is_missing] = np.nan
    return matrix


@dataclass(frozen=True, eq=False)
class _Text:
    """A model as LightGBM writes it: the lines before the trees, and each tree."""

    header: dict[str, str]
    trees: list[dict[str, str]]

    @classmethod
    def of(cls, estimator: Any) -> _Text:
        booster = estimator.booster_
        last = booster.best_iteration if booster.best_iteration > 0 else -1
        body = booster.model_to_string(num_iteration=last).partition("end of trees")[0]
        head, *trees = body.split("\nTree=")
        return cls(_pairs(head), [_pairs(tree) for tree in trees])


def _pairs(lines: str) -> dict[str, str]:
    return {key: value for key, _, value in (line.partition("=") for line in lines.splitlines())}


def _check(estimator: Any, text: _Text, target: Target) -> None:
    if callable(getattr(estimator, "_objective", None)) or "objective" not in text.header:
        raise UnreadableError(
            "An LGBMClassifier is read when its objective is one of LightGBM's own. This one has a function. "
            "Use ExpertOptions(method='blackbox')."
        )
    if any(tree.get("is_linear", "0") != "0" for tree in text.trees):
        raise UnreadableError("An LGBMClassifier is read when its leaves are constants. Fit it with linear_tree=False.")
    for name, value in estimator.get_params().items():
        if name in ("pred_early_stop", "num_iteration_predict", "start_iteration_predict") and value:
            raise UnreadableError(
                f"An LGBMClassifier is read when predict adds up all its trees. This one has {name}={value!r}. "
                "Leave it out."
            )
    width = int(text.header["num_tree_per_iteration"])
    if width != (1 if target.binary else target.classes.size) or not text.trees:
        raise ModelError(
            f"An LGBMClassifier is read when it has one tree per class and round, one for two classes. "
            f"This one has {len(text.trees)} trees, {width} per round, for {target.classes.size} classes. "
            "Use the objective 'binary' for two classes and 'multiclass' for more."
        )


def _decide(estimator: Any, text: _Text, target: Target, trees: list[OneTree], width: int) -> tuple[float, Decision]:
    name = type(estimator).__name__
    verdict = Verdict(_Scores(estimator, text.header), target)
    if width == 1:
        return decide_by_score(verdict, name)
    refuse_threshold(target, name)
    near = _NEAR
    if not text.header["objective"].startswith("multiclass "):
        rate = next((float(w.partition(":")[2]) for w in text.header["objective"].split() if "sigmoid:" in w), 1.0)
        most = rate * max(sum(float(np.abs(t.value[:, k]).max()) for t in trees) for k in range(width))
        if most > _MOST_SCORE:
            raise UnreadableError(
                f"The one-against-all scores of this {name} reach {most:.0f}, where its probabilities round to 1 and "
                "tie. Use the objective 'multiclass', or ExpertOptions(method='blackbox')."
            )
        near = 4 * float(np.finfo(np.float64).eps) * float(np.exp(most)) / rate
    return 1.0, AmongLinked(target.accepted, width, verdict, near)


@dataclass(frozen=True, eq=False)
class _Scores:
    """A classifier whose inputs are its own raw scores: trees with one leaf for each score asked about."""

    estimator: Any
    header: dict[str, str]

    def predict(self, scores: NDArray[np.floating]) -> NDArray[Any]:
        return np.asarray(self._holding(scores).predict(self._rows(scores)))

    def predict_proba(self, scores: NDArray[np.floating]) -> NDArray[Any]:
        return np.asarray(self._holding(scores).predict_proba(self._rows(scores)))

    def __getattr__(self, name: str) -> Any:
        if name != "decision_function" or not hasattr(self.estimator, name):  # since LightGBM 4.7
            raise AttributeError(name)
        return lambda scores: self._holding(scores).decision_function(self._rows(scores))

    def _rows(self, scores: NDArray[np.floating]) -> Any:
        rows = np.zeros((scores.shape[0], int(self.header["max_feature_idx"]) + 1))
        rows[:, 0] = np.arange(scores.shape[0])
        # what was fitted on a frame warns of rows without names
        names = getattr(self.estimator, "feature_names_in_", None)
        return rows if names is None else pd.DataFrame(rows, columns=names)

    def _holding(self, scores: NDArray[np.floating]) -> Any:
        import lightgbm

        trees = [_chain(k, scores[:, k]) for k in range(scores.shape[1])]
        kept = {key: value for key, value in self.header.items() if key not in ("tree_sizes", "feature_infos")}
        head = "\n".join(f"{key}={value}" if value or key != "average_output" else key for key, value in kept.items())
        infos = " ".join(["[0:1e300]"] * (int(self.header["max_feature_idx"]) + 1))
        sizes = " ".join(str(len(tree)) for tree in trees)
        text = f"{head.strip()}\nfeature_infos={infos}\ntree_sizes={sizes}\n\n{''.join(trees)}end of trees\n"
        probe = copy.copy(self.estimator)
        probe._Booster = lightgbm.Booster(model_str=text)
        probe._best_iteration = 0
        return probe


def _chain(number: int, values: NDArray[np.floating]) -> str:
    """A tree in LightGBM's text form that gives row i, which holds i in its first column, the value i."""
    leaves = [repr(float(v)) for v in values]
    n = len(leaves)
    if n == 1:
        return f"Tree={number}\nnum_leaves=1\nnum_cat=0\nleaf_value={leaves[0]}\nis_linear=0\nshrinkage=1\n\n\n"
    inner = range(n - 1)
    lines: dict[str, list[Any]] = {
        "num_leaves": [n],
        "num_cat": [0],
        "split_feature": [0] * (n - 1),
        "split_gain": [1] * (n - 1),
        "threshold": [i + 0.5 for i in inner],
        "decision_type": [_DEFAULT_LEFT] * (n - 1),
        "left_child": [~i for i in inner],
        "right_child": [*range(1, n - 1), ~(n - 1)],
        "leaf_value": leaves,
        "leaf_weight": [1] * n,
        "leaf_count": [1] * n,
        "internal_value": [0] * (n - 1),
        "internal_weight": [0] * (n - 1),
        "internal_count": [1] * (n - 1),
        "is_linear": [0],
        "shrinkage": [1],
    }
    body = "\n".join(f"{key}={' '.join(str(v) for v in row)}" for key, row in lines.items())
    return f"Tree={number}\n{body}\n\n\n"


def _numbers(tree: dict[str, str], key: str, kind: type = np.float64) -> NDArray[Any]:
    return np.array(tree.get(key, "").split(), dtype=kind)


def _kinds_of_inputs(text: _Text) -> tuple[IntArray, NDArray[np.bool_]]:
    """The inputs that hold category codes, and which of all take zero for missing."""
    n_inputs = int(text.header["max_feature_idx"]) + 1
    codes: set[int] = set()
    missing: dict[int, set[int]] = {}
    for tree in text.trees:
        kinds = _numbers(tree, "decision_type", np.int64)
        for feature, kind in zip(_numbers(tree, "split_feature", np.intp).tolist(), kinds.tolist(), strict=True):
            if kind & _CATEGORICAL:
                codes.add(feature)
            else:
                missing.setdefault(feature, set()).add((kind >> 2) & 3)
    for feature, found in missing.items():
        if feature in codes or (_MISSING_ZERO in found and len(found) > 1):
            raise UnreadableError(
                f"The trees of this LGBMClassifier do not agree on what model input {feature} is, a category, or "
                "whether zero is missing. Fit it in one go, without init_model, or use "
                "ExpertOptions(method='blackbox')."
            )
    zero = np.array([_MISSING_ZERO in missing.get(i, ()) for i in range(n_inputs)])
    return np.array(sorted(codes), dtype=np.intp), zero


def _one_tree(tree: dict[str, str], k: int, width: int, sign: float = 1.0) -> OneTree:
    """Inner nodes first, then the leaves; LightGBM writes leaf i as the child ~i."""
    leaf_value = _numbers(tree, "leaf_value")
    n_inner = leaf_value.size - 1
    nothing = np.full(leaf_value.size, -1, dtype=np.intp)

    def children(key: str) -> IntArray:
        child = _numbers(tree, key, np.intp)[:n_inner]
        return np.concatenate([np.where(child < 0, n_inner + ~child, child), nothing])

    kind = _numbers(tree, "decision_type", np.int64)[:n_inner]
    threshold = _numbers(tree, "threshold")[:n_inner]
    missing = (kind >> 2) & 3
    # a NaN in an input that had none in training counts as zero
    nan_left = np.where(missing == _MISSING_NONE, threshold >= 0, (kind & _DEFAULT_LEFT) > 0)
    sets = _category_sets(tree, kind, threshold)
    nan_left[list(sets)] = False
    value = np.zeros((n_inner + leaf_value.size, width))
    value[n_inner:, k] = sign * leaf_value
    return OneTree(
        feature=np.concatenate([_numbers(tree, "split_feature", np.intp)[:n_inner], nothing]),
        threshold=np.concatenate([threshold, np.zeros(leaf_value.size)]),
        left=children("left_child"),
        right=children("right_child"),
        nan_left=np.concatenate([nan_left, np.zeros(leaf_value.size, dtype=bool)]),
        value=value,
        categories=sets,
    )


def _category_sets(tree: dict[str, str], kind: NDArray[np.int64], threshold: FloatArray) -> dict[int, IntArray]:
    starts, words = _numbers(tree, "cat_boundaries", np.intp), _numbers(tree, "cat_threshold", np.uint64)
    sets = {}
    for node in np.flatnonzero(kind & _CATEGORICAL).tolist():
        which = int(threshold[node])
        mine = words[starts[which] : starts[which + 1]]
        codes = np.arange(32 * mine.size)
        chosen = (mine[codes // 32] >> (codes % 32).astype(np.uint64)) & np.uint64(1)
        sets[node] = codes[chosen == 1].astype(np.intp)
    return sets


register_model("lightgbm.LGBMClassifier", read_lightgbm, kind="trees", prepare=prepare_lightgbm)
