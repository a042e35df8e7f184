"""Naive Bayes of scikit-learn: one sum per class, of what each column says on its own.

Counts, bits and categories are linear or tables, and read bit for bit. The parabolas of a GaussianNB are run column by
column, and added by a linear model.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.extmath import safe_sparse_dot

from armin.arrays import FloatArray
from armin.models.decide import Target, Verdict, decide_by_score, refuse_threshold
from armin.models.inputs import Prepare, dense
from armin.models.kinds import Among, Decision, LinearModel, Margins, TreeEnsemble
from armin.models.library_decides import LibraryDecides
from armin.models.nodes import plant
from armin.models.parts import ColumnParts
from armin.models.read import register_model
from armin.models.steps import step_tree

__all__ = [
    "GaussianSums",
    "prepare_bernoulli",
    "prepare_gaussian",
    "read_bernoulli",
    "read_categorical",
    "read_gaussian",
    "read_gaussian_sums",
    "read_multinomial",
    "split_gaussian",
]

_NEAR = 1e-8  # log likelihoods that differ by more than this are told apart, however they were added up


def read_multinomial(estimator: Any, target: Target) -> LinearModel:
    """Read a MultinomialNB or ComplementNB, which are linear in the counts.

    >>> from sklearn.naive_bayes import MultinomialNB
    >>> X, y = np.array([[3, 0], [1, 2], [0, 4], [2, 1]]), [0, 1, 1, 0]
    >>> bayes = MultinomialNB().fit(X, y)
    >>> read_multinomial(bayes, Target(bayes.classes_, (1,))).accepts(X * 1.0)
    array([False,  True,  True, False])
    """
    weights = np.array(estimator.feature_log_prob_, dtype=np.float64, order="K")
    zero: FloatArray = np.zeros((1, weights.shape[1]))
    return LinearModel(weights, np.array(estimator._joint_log_likelihood(zero)[0]), _decide(estimator, target))


def read_bernoulli(estimator: Any, target: Target) -> LinearModel:
    """Read a BernoulliNB, which is linear in bits.

    >>> from sklearn.naive_bayes import BernoulliNB
    >>> X, y = np.array([[0.2, 0], [1, 0.9], [0, 1], [1, 0]]), [0, 1, 1, 0]
    >>> bayes = BernoulliNB(binarize=0.5).fit(X, y)
    >>> read_bernoulli(bayes, Target(bayes.classes_, (1,))).accepts(prepare_bernoulli(bayes)(X))
    array([False,  True,  True, False])
    """
    chances = np.asarray(estimator.feature_log_prob_, dtype=np.float64)
    weights = chances - np.log(1 - np.exp(chances))
    zero: FloatArray = np.zeros((1, weights.shape[1]))
    return LinearModel(weights, np.array(estimator._joint_log_likelihood(zero)[0]), _decide(estimator, target))


def prepare_bernoulli(estimator: Any) -> Prepare:
    """Bits, by the estimator's own threshold."""
    return partial(_bits, None if estimator.binarize is None else float(estimator.binarize))


def _bits(threshold: float | None, rows: Any) -> FloatArray:
    numbers = dense(rows)
    return numbers if threshold is None else np.where(numbers > threshold, 1.0, 0.0)


def read_categorical(estimator: Any, target: Target) -> TreeEnsemble:
    """Read a CategoricalNB: a table for each column, added in their order.

    >>> from sklearn.naive_bayes import CategoricalNB
    >>> X, y = np.array([[0, 2], [1, 1], [2, 0], [1, 2]]), [0, 1, 1, 0]
    >>> bayes = CategoricalNB().fit(X, y)
    >>> model = read_categorical(bayes, Target(bayes.classes_, (1,)))
    >>> bool(np.array_equal(model.outputs(X * 1.0), bayes.predict_joint_log_proba(X)))
    True
    """
    # a number is cut to a whole one: at least k is category k or a later one
    trees = [
        step_tree(i, np.nextafter(np.arange(1.0, table.shape[1]), 0.0), table.T)
        for i, table in enumerate(estimator.feature_log_prob_)
    ]
    return plant(
        trees, estimator.class_log_prior_, _decide(estimator, target), int(estimator.n_features_in_), base_last=True
    )


def _decide(estimator: Any, target: Target) -> Decision:
    """The rule on one log likelihood per class."""
    n_classes = int(target.classes.size)
    if target.threshold is None and target.around is None:
        return Among(target.accepted, n_classes)
    name = type(estimator).__name__
    if not target.binary:
        refuse_threshold(target, name)
    verdict = Verdict(_given_likelihoods(estimator, _as_given), target)
    sign, above = decide_by_score(Verdict(_given_likelihoods(estimator, _beside_zero), target), name)
    margin = Margins(np.array([[-sign, sign]]), np.array([above.cut]))
    return LibraryDecides((), 2, (margin,), _NEAR, verdict)


def read_gaussian(estimator: Any, target: Target) -> LinearModel:
    """Read a GaussianNB behind its parabolas; its sums can differ from these in the last bits.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = np.array([[0.0, 1.0], [0.5, 3.0], [4.0, 1.5], [5.0, 2.0]]), [0, 0, 1, 1]
    >>> bayes = GaussianNB().fit(X, y)
    >>> read_gaussian(bayes, Target(bayes.classes_, (1,))).accepts(prepare_gaussian(bayes)(X))
    array([False, False,  True,  True])
    """
    return read_gaussian_sums(split_gaussian(estimator)[1], target)


def prepare_gaussian(estimator: Any) -> Prepare:
    """What each column says about each class, or about the second of two against the first."""
    (parts,), _ = split_gaussian(estimator)
    return partial(ColumnParts.transform, parts)


def split_gaussian(estimator: Any) -> tuple[list[Any], GaussianSums]:
    """A GaussianNB as its parabolas, column by column, and the classifier that adds them up."""
    n, width = int(estimator.n_features_in_), _width(estimator)
    return [ColumnParts(_Parabolas(estimator), [i for i in range(n) for _ in range(width)])], GaussianSums(estimator)


def _width(estimator: Any) -> int:
    """Numbers for each column: with two classes, their difference is enough."""
    n_classes = len(estimator.classes_)
    return 1 if n_classes == 2 else n_classes


@dataclass(frozen=True, eq=False)
class _Parabolas:
    """What each value says about each class, as log likelihoods (n, D * width)."""

    estimator: Any

    def __call__(self, rows: Any) -> FloatArray:
        numbers = dense(rows)
        with np.errstate(over="ignore"):
            shaped = ((numbers[:, :, None] - self.estimator.theta_.T) ** 2) / self.estimator.var_.T
        shaped = -0.5 * shaped
        if _width(self.estimator) == 1:
            shaped = shaped[:, :, 1:] - shaped[:, :, :1]
        return np.ascontiguousarray(shaped.reshape(numbers.shape[0], -1))


class GaussianSums(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The part of a GaussianNB that adds up what its columns say.

    Parameters
    ----------
    bayes : a fitted GaussianNB
    """

    def __init__(self, bayes: Any) -> None:
        self.bayes = bayes
        self.classes_ = bayes.classes_
        self.n_features_in_ = int(bayes.n_features_in_) * _width(bayes)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def weights(self) -> FloatArray:
        """Which inputs each class adds up."""
        width = _width(self.bayes)
        return np.tile(np.eye(width), int(self.bayes.n_features_in_))

    @property
    def intercept(self) -> FloatArray:
        """What holds for each class whatever the row."""
        constant = np.log(self.bayes.class_prior_) - 0.5 * np.log(2.0 * np.pi * self.bayes.var_).sum(axis=1)
        return constant[1:] - constant[:1] if _width(self.bayes) == 1 else np.asarray(constant)

    @property
    def probe(self) -> Any:
        """The GaussianNB, given these sums."""
        return _given_likelihoods(self.bayes, _beside_zero if _width(self.bayes) == 1 else _as_given)

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of what the columns say."""
        return np.asarray(self.probe.predict(safe_sparse_dot(X, self.weights.T) + self.intercept))

    def predict_proba(self, X: Any) -> NDArray[np.floating]:
        """The probability of each class."""
        return np.asarray(self.probe.predict_proba(safe_sparse_dot(X, self.weights.T) + self.intercept))


def read_gaussian_sums(sums: GaussianSums, target: Target) -> LinearModel:
    """Read the part of a GaussianNB that adds up."""
    weights, intercept, name = sums.weights, sums.intercept, "GaussianNB"
    if weights.shape[0] > 1:
        refuse_threshold(target, name)
        return LinearModel(weights, intercept, Among(target.accepted, weights.shape[0]))
    sign, decision = decide_by_score(Verdict(sums.probe, target), name)
    return LinearModel(sign * weights, sign * intercept, decision)


def _given_likelihoods(estimator: Any, likelihoods: Any) -> Any:
    """A copy of the classifier whose inputs are its own log likelihoods."""
    probe = copy.copy(estimator)
    probe._check_X, probe._joint_log_likelihood = _as_given, likelihoods
    return probe


def _as_given(scores: NDArray[np.floating]) -> NDArray[np.floating]:
    return scores


def _beside_zero(scores: NDArray[np.floating]) -> NDArray[np.floating]:
    return np.concatenate([np.zeros_like(scores), scores], axis=1)


register_model(["sklearn.MultinomialNB", "sklearn.ComplementNB"], read_multinomial, kind="linear")
register_model("sklearn.BernoulliNB", read_bernoulli, kind="linear", prepare=prepare_bernoulli)
register_model("sklearn.CategoricalNB", read_categorical, kind="trees")
register_model("sklearn.GaussianNB", read_gaussian, kind="linear", prepare=prepare_gaussian, split=split_gaussian)
register_model(GaussianSums, read_gaussian_sums, kind="part")
