"""What the user's own estimator calls desired, and the cut on a raw score that says the same.

A library turns a raw score into a label through a link, a comparison and a rounding of its own.
Instead of repeating that, the readers ask the estimator itself: a :class:`Verdict` is its public
``predict`` (or ``predict_proba`` against the threshold), and :func:`decide_by_score` searches the
floating-point numbers for the one where the verdict flips.

>>> import numpy as np
>>> from scipy.special import expit
>>> round(lowest_accepted(lambda scores: expit(scores[:, 0]) >= 0.75), 12)  # log(3)
1.098612288668
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from armin.arrays import BoolArray, FloatArray
from armin.errors import ModelError, ParameterError, UnreadableError
from armin.models.kinds import Above, Among

__all__ = ["AmongLinked", "Around", "Given", "Target", "Verdict", "decide_by_score", "find_target", "lowest_accepted"]

Precision = Literal["float32", "float64"]
Judge = Callable[[NDArray[np.floating]], BoolArray]

_MOST = 1e30  # larger scores overflow in the maps around them, and do not occur
_POINTS = 64  # scores asked about at once while the flip is being located


class Given(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier of which ``asked``, whose inputs are raw scores, answers the methods it has.

    >>> from scipy.special import expit
    >>> class Scores:
    ...     def decision_function(self, scores): return scores[:, 0]
    >>> given = Given(Scores(), np.array([0, 1]))
    >>> given.decision_function(np.array([[2.0]])), hasattr(given, "predict_proba")
    (array([2.]), False)
    """

    def __init__(self, asked: Any, classes: NDArray[Any]) -> None:
        self.asked = asked
        self.classes = self.classes_ = classes

    def __getattr__(self, name: str) -> Any:
        if name in ("predict", "predict_proba", "decision_function") and "asked" in vars(self):
            return getattr(self.asked, name)
        raise AttributeError(name)

    def fit(self, X: Any, y: Any) -> Given:  # without it scikit-learn does not take this for an estimator
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class Around:
    """A classifier that decides by the score of another one.

    Attributes
    ----------
    put : gives the outer classifier with its inner one replaced
    column : the class whose probability the outer one looks at, where the inner one has no other score
    """

    put: Callable[[Any], Any]
    column: int


@dataclass(frozen=True, eq=False)
class Target:
    """What is asked of a classifier: one of some labels, or a probability of them.

    Attributes
    ----------
    classes : array of shape (C,), the labels in the estimator's order
    accepted : positions of the desired labels in ``classes``
    threshold : the least summed probability of the desired labels; None for what ``predict`` says
    around : the classifier that has the last word on the scores; None for the estimator itself

    >>> target = Target(np.array(["bad", "good"]), (1,))
    >>> target.binary, target.labels
    (True, ['good'])
    """

    classes: NDArray[Any]
    accepted: tuple[int, ...]
    threshold: float | None = None
    around: Around | None = None

    @property
    def binary(self) -> bool:
        return bool(self.classes.size == 2)

    @property
    def labels(self) -> list[Any]:
        """The desired labels."""
        return list(self.classes[list(self.accepted)].tolist())


@dataclass(frozen=True, eq=False)
class Verdict:
    """The estimator's own word: ``verdict(X)`` is True where its answer is the desired one.

    With a threshold, the columns of ``predict_proba`` that are desired are added and compared with
    it in the precision of ``predict_proba``, as ``proba[:, j] >= threshold`` does in NumPy.

    >>> from sklearn.dummy import DummyClassifier
    >>> dummy = DummyClassifier().fit([[0], [0], [0]], ["no", "no", "yes"])
    >>> Verdict(dummy, Target(dummy.classes_, (1,)))([[0], [0]]).tolist()
    [False, False]
    >>> Verdict(dummy, Target(dummy.classes_, (1,), threshold=0.3))([[0], [0]]).tolist()
    [True, True]
    """

    estimator: Any
    target: Target

    def __call__(self, inputs: Any) -> BoolArray:
        """Which rows get the desired answer."""
        chosen, estimator = list(self.target.accepted), self.estimator
        if self.target.around is not None:
            inputs = np.clip(inputs, -_MOST, _MOST)
            estimator = self.target.around.put(Given(estimator, self.target.classes))
        if self.target.threshold is None:
            answers = np.asarray(estimator.predict(inputs)).ravel()
            return np.isin(answers, self.target.classes[chosen])
        share = np.asarray(estimator.predict_proba(inputs))[:, chosen].sum(axis=1)
        return np.asarray(share >= self.target.threshold)


@dataclass(frozen=True)
class AmongLinked(Among):
    """The rule :class:`~armin.models.kinds.Among` where the library ranks rounded probabilities.

    A softmax can round two different outputs to one probability, and the first of them then wins.
    Rows whose two largest outputs are no further apart than ``near`` are left to ``verdict``.

    >>> rule = AmongLinked((1,), 2, verdict=lambda outputs: outputs[:, 0] < -1, near=1e-12)
    >>> rule.accepts(np.array([[0.0, 1.0], [0.0, 1e-17], [1.0, 0.0]]))
    array([ True, False, False])
    """

    verdict: Judge
    near: float

    @property
    def blur(self) -> float:
        """By how much an output may be behind another one and win all the same."""
        return self.near

    def accepts(self, outputs: FloatArray) -> BoolArray:
        """Which rows of ``outputs`` (n, n_outputs) are accepted."""
        accepted = Among.accepts(self, outputs)
        largest = np.partition(outputs, -2, axis=1)[:, -2:]
        close = largest[:, 1] - largest[:, 0] <= self.near
        if close.any():
            accepted[close] = self.verdict(outputs[close])
        return accepted

    def doubtful(self, outputs: FloatArray, doubt: float) -> BoolArray:
        """Which rows might be decided otherwise if outputs were off by ``doubt``."""
        largest = np.partition(outputs, -2, axis=1)[:, -2:]
        return np.asarray(~(largest[:, 1] - largest[:, 0] > self.near + 2.0 * doubt))


def find_target(estimator: Any, desired: Any, threshold: float | None = None) -> Target:
    """Match ``desired`` with the labels of a fitted classifier, and check the threshold.

    Parameters
    ----------
    estimator : a fitted classifier with ``classes_``
    desired : one label, or a list, tuple, set or array of labels
    threshold : a probability in (0, 1], or None

    >>> from sklearn.dummy import DummyClassifier
    >>> dummy = DummyClassifier().fit([[0], [0], [0]], ["low", "high", "none"])
    >>> find_target(dummy, {"low", "none"}).accepted
    (1, 2)
    """
    name = type(estimator).__name__
    classes = getattr(estimator, "classes_", None)
    if classes is None:  # a scorecard's labels are those of the classifier inside
        classes = getattr(getattr(estimator, "estimator_", None), "classes_", None)
    if classes is None and name == "Booster":
        raise ModelError(
            "ARMIN needs a classifier that knows its labels. Got a bare Booster. Fit the library's own classifier "
            "instead (XGBClassifier, LGBMClassifier), or load the model into one."
        )
    if classes is None and getattr(estimator, "refit", True) is False:
        raise ModelError(f"This {name} keeps no fitted classifier. Fit it with refit=True, or pass the classifier.")
    if classes is None:
        raise _without_classes(estimator, name)
    if isinstance(classes, list | tuple) and any(np.ndim(c) for c in classes):
        raise ModelError(
            f"ARMIN reads classifiers with one output. This {name} has {len(classes)}. Fit one classifier per output."
        )
    labels = np.asarray(classes)
    wanted = _as_labels(desired)
    known = labels.tolist()
    for label in wanted:
        if not any(_same(label, c) for c in known):
            raise ParameterError(f"The 'desired' parameter must be among the labels {known} of {name}. Got {label!r}.")
    accepted = tuple(i for i, c in enumerate(known) if any(_same(label, c) for label in wanted))
    if not 0 < len(accepted) < len(known):
        raise ParameterError(
            f"The 'desired' parameter must name some, and not all, of the labels {known} of {name}. Got {desired!r}."
        )
    if threshold is not None:
        threshold = _checked_threshold(estimator, threshold)
    return Target(labels.copy(), accepted, threshold)


def _without_classes(estimator: Any, name: str) -> ModelError:
    """What to do with something that does not say its labels."""
    if isinstance(estimator, type):
        of = estimator.__name__
        return ModelError(f"ARMIN needs a fitted classifier. Got the class {of}. Make and fit one: {of}().fit(X, y).")
    if not hasattr(estimator, "predict"):
        what = f"the function {estimator.__name__!r}" if hasattr(estimator, "__name__") else f"a {name}"
        return ModelError(
            f"ARMIN needs a classifier: an object with predict(rows), and 'classes_', the list of its labels. Got "
            f"{what}. Put a function into one: class Rule: classes_ = ['no', 'yes']; predict = staticmethod(function); "
            "then ARMIN(Rule(), schema, desired='yes', options=ExpertOptions(method='blackbox'))."
        )
    from sklearn.base import is_regressor

    try:
        regression = bool(is_regressor(estimator))
    except (AttributeError, TypeError):  # of no library that scikit-learn knows
        regression = False
    if regression:
        return ModelError(
            f"ARMIN needs a classifier, an estimator with 'classes_'. Got {name}, which predicts numbers. "
            "Turn a regression into a decision first, for example with a classifier on y >= target."
        )
    return ModelError(
        f"ARMIN needs to know the labels of a classifier. This {name} has predict, but no 'classes_'. Set it to the "
        "list of labels that predict gives: model.classes_ = ['no', 'yes'], for example."
    )


def lowest_accepted(verdict: Judge, precision: Precision = "float64") -> float:
    """The smallest finite number that ``verdict`` accepts, for a verdict that never turns back.

    Parameters
    ----------
    verdict : maps scores (n, 1) to accepted or not (n,); False at the least number, True at the greatest
    precision : the type of the scores

    >>> lowest_accepted(lambda s: s[:, 0] > 0)
    5e-324
    """
    # float k of the finite ones in increasing order is sign(k) * (the float with bits |k|)
    bits = np.dtype("int32" if precision == "float32" else "int64")
    high = int(np.array(np.finfo(precision).max, dtype=precision).view(bits))
    low = -high
    while high - low > 1:
        span = high - low
        keys = sorted({low + span * i // (_POINTS + 1) for i in range(1, _POINTS + 1)} - {low})
        accepted = verdict(_floats(keys, precision, bits)[:, None])
        first = int(np.argmax(accepted)) if accepted.any() else len(keys)
        high = keys[first] if first < len(keys) else high
        low = keys[first - 1] if first else low
    return float(_floats([high], precision, bits)[0])


def decide_by_score(verdict: Judge, name: str, precision: Precision = "float64") -> tuple[float, Above]:
    """The sign and the rule under which ``sign * score`` is accepted exactly when ``verdict`` says so.

    >>> decide_by_score(lambda s: s[:, 0] <= 0, "a model")
    (-1.0, Above(cut=0.0))
    """
    top = np.array([[np.finfo(precision).max]], dtype=precision)
    with np.errstate(all="ignore"):
        rises, falls = bool(verdict(top)[0]), bool(verdict(-top)[0])
        if rises == falls:
            raise ParameterError(
                f"A threshold must separate the scores of {name}: it accepts "
                f"{'every' if rises else 'no'} score. Choose another probability in (0, 1]."
            )
        if rises:
            return 1.0, Above(lowest_accepted(verdict, precision))
        return -1.0, Above(lowest_accepted(lambda scores: verdict(-scores), precision))


def refuse_threshold(target: Target, name: str) -> None:
    """Refuse a probability threshold where it is no cut on a sum of outputs."""
    if target.around is not None:
        raise UnreadableError(
            f"A classifier around {name} is read when it looks at one score of two classes. This one has "
            f"{target.classes.size} classes. Use ExpertOptions(method='blackbox')."
        )
    if target.threshold is not None:
        raise UnreadableError(
            f"A 'threshold' on {name} with {target.classes.size} classes cannot be read exactly "
            f"for the labels {target.labels}. Leave out threshold, or use ExpertOptions(method='blackbox')."
        )


def _floats(keys: list[int], precision: Precision, bits: np.dtype[Any]) -> NDArray[np.floating]:
    magnitude = np.array([abs(k) for k in keys], dtype=bits).view(precision)
    return np.where(np.array(keys) < 0, -magnitude, magnitude).astype(precision)


def _as_labels(desired: Any) -> list[Any]:
    if isinstance(desired, str | bytes):
        return [desired]
    if hasattr(desired, "tolist"):
        desired = desired.tolist()  # NumPy and pandas: plain Python labels, of a scalar too
    if isinstance(desired, Collection) and not isinstance(desired, str | bytes):
        return list(desired)
    return [desired]


def _same(a: Any, b: Any) -> bool:
    return isinstance(a, str) == isinstance(b, str) and bool(a == b)


def _checked_threshold(estimator: Any, threshold: Any) -> float:
    if isinstance(threshold, bool) or not isinstance(threshold, Real) or not 0 < float(threshold) <= 1:
        raise ParameterError(f"The 'threshold' parameter must be a probability in (0, 1]. Got {threshold!r}.")
    if not hasattr(estimator, "predict_proba"):
        raise ParameterError(
            f"The 'threshold' parameter needs an estimator with predict_proba, which this "
            f"{type(estimator).__name__} has not. Leave it out, or calibrate the model and use "
            "ExpertOptions(method='blackbox')."
        )
    return float(threshold)
