"""Calibrated classifiers that average several linear ones, as scikit-learn's CalibratedClassifierCV does by default.

A mean of logistics of linear scores is no sum of one kind. But the logistic is nearly a broken line, with an error that
is known: a ReLU network with a unit for each knot of each line bounds the mean from both sides, and beside it gives the
scores as they are. Where the bounds do not settle it, scikit-learn is asked about those scores. So the search is exact.
"""

from __future__ import annotations

import copy
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit

from armin.arrays import FloatArray
from armin.errors import UnreadableError
from armin.models.asked import Asked
from armin.models.decide import Given, Target, Verdict, decide_by_score
from armin.models.from_sklearn_meta import inner_of, prepare_inner, read_calibrated, with_inner
from armin.models.inputs import Prepare, dense
from armin.models.kinds import LinearModel, Margins, Model, ReluNetwork
from armin.models.read import read_inside, register_reader, unwrap

__all__ = ["broken_logistic", "read_any_calibrated"]

_AFFINE = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "PCA", "TruncatedSVD")
_FAR = 2.0**40  # so far out that the shift does not blur the slope, and a power of two, so that nothing else does
_ERROR = 0.01  # of the broken line; less takes more units, more leaves more to ask


def read_any_calibrated(estimator: Any, target: Target) -> Model:
    """Read a CalibratedClassifierCV: one map of one score, or the mean of logistics of several linear scores.

    >>> from sklearn.calibration import CalibratedClassifierCV
    >>> from sklearn.svm import LinearSVC
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> calibrated = CalibratedClassifierCV(LinearSVC(), cv=3).fit(X, X[:, 0] > X[:, 1] ** 2)
    >>> model = read_any_calibrated(calibrated, Target(calibrated.classes_, (1,), threshold=0.6))
    >>> bool((model.accepts(X) == (calibrated.predict_proba(X)[:, 1] >= 0.6)).all())
    True
    """
    members = estimator.calibrated_classifiers_
    if len(members) == 1 or not target.binary:
        return read_calibrated(estimator, target)
    maps = [(one.estimator, calibrator) for one in members for calibrator in one.calibrators]
    weights, intercepts = list[FloatArray](), list[float]()
    for member, calibrator in maps:
        if type(calibrator).__name__ != "_SigmoidCalibration" or not hasattr(member, "decision_function"):
            raise _refused(len(members), f"{type(calibrator).__name__} of {type(member).__name__}")
        found = _linear(member)
        if found is None:
            raise _refused(len(members), f"a sigmoid of {type(member).__name__}, which is not linear,")
        weights.append(found[0])
        intercepts.append(found[1])
    probe = _given(estimator)
    sign, rule = decide_by_score(Verdict(_OneShare(target.classes), target), type(estimator).__name__)
    slopes = np.array([[-calibrator.a_, -calibrator.b_] for _, calibrator in maps])
    network = _network(np.array(weights), np.array(intercepts), slopes)
    margin = np.zeros((1, len(maps) + 1))
    margin[0, 0] = sign
    error = broken_logistic()[2]
    decision = Asked((), len(maps) + 1, (Margins(margin, np.array([rule.cut])),), error, Verdict(probe, target))
    return ReluNetwork(*network, decision)


def _linear(member: Any) -> tuple[FloatArray, float] | None:
    """The weights and the intercept of a score, of which scalers may be a part; None where it is not linear."""
    steps, final = unwrap(member)
    model = read_inside(final, Target(np.asarray(final.classes_), (1,)))
    if not isinstance(model, LinearModel):
        return None
    if not steps:
        return model.weights[0], float(model.intercept[0])
    if any(type(step).__name__ not in _AFFINE or getattr(step, "clip", False) for step in steps):
        return None
    count = int(member.n_features_in_)
    basis: Any = np.vstack([np.zeros(count), np.eye(count) * _FAR])
    if hasattr(member, "feature_names_in_"):
        basis = pd.DataFrame(basis, columns=member.feature_names_in_)
    scores = np.asarray(member.decision_function(basis), dtype=np.float64)
    return (scores[1:] - scores[0]) / _FAR, float(scores[0])


def _inner(estimator: Any) -> Any:
    """The classifier inside; None where there are several."""
    return inner_of(estimator) if len(estimator.calibrated_classifiers_) == 1 else None


def _prepare(estimator: Any) -> Prepare:
    return prepare_inner(estimator) if _inner(estimator) is not None else dense


def _refused(count: int, what: str) -> UnreadableError:
    return UnreadableError(
        "A CalibratedClassifierCV is read when it maps the score of one classifier of two classes, or averages "
        f"sigmoids of linear scores. This one averages {count} classifiers, {what} among them. Fit it with "
        "ensemble=False, or use method='blackbox'."
    )


@cache
def broken_logistic(error: float = _ERROR) -> tuple[FloatArray, FloatArray, float]:
    """A broken line near the logistic: its knots, its values there, and how far the logistic is from it at most.

    Beyond its ends it is constant. One knot is at 0, so that the logistic is bent one way between any two, and is
    furthest from a piece where it has its slope.

    >>> knots, values, error = broken_logistic()
    >>> x = np.linspace(-20, 20, 10001)
    >>> bool(np.abs(np.interp(x, knots, values) - expit(x)).max() <= error < 0.0101)
    True
    """
    half = [0.0]
    while expit(-half[-1]) > error:
        low, high = half[-1], half[-1] + 10.0
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if _gap(half[-1], middle) <= error else (low, middle)
        half.append(low)
    knots: FloatArray = np.array([-x for x in half[:0:-1]] + half)
    gaps = [_gap(abs(u), abs(v)) for u, v in pairwise(knots.tolist())]
    return knots, np.asarray(expit(knots)), max([float(expit(knots[0])), *gaps]) + 1e-9


def _gap(u: float, v: float) -> float:
    """How far the logistic is from the line between two of its points on one side of 0."""
    u, v = min(u, v), max(u, v)
    if u == v:
        return 0.0
    slope = float(expit(v) - expit(u)) / (v - u)
    furthest = (1.0 + np.sqrt(max(0.0, 1.0 - 4.0 * slope))) / 2.0  # where the logistic has this slope
    return float(abs(furthest - (expit(u) + slope * (logit(furthest) - u))))


def _network(
    weights: FloatArray, intercepts: FloatArray, slopes: FloatArray
) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
    """Two layers that give the mean of broken lines of linear maps of scores, and then the scores."""
    knots, values, _ = broken_logistic()
    rises = np.diff(values) / np.diff(knots)
    bends = np.diff(np.concatenate([[0.0], rises, [0.0]]))
    count, units = len(weights), knots.size + 2
    first: FloatArray = np.zeros((weights.shape[1], count * units))
    shift: FloatArray = np.zeros(count * units)
    last: FloatArray = np.zeros((count * units, count + 1))
    for k in range(count):
        line, plus, minus = slice(k * units, (k + 1) * units - 2), (k + 1) * units - 2, (k + 1) * units - 1
        slope, start = slopes[k]
        first[:, line] = (slope * weights[k])[:, None]
        shift[line] = slope * intercepts[k] + start - knots
        last[line, 0] = bends / count
        first[:, plus], shift[plus] = weights[k], intercepts[k]
        first[:, minus], shift[minus] = -weights[k], -intercepts[k]
        last[plus, k + 1], last[minus, k + 1] = 1.0, -1.0  # the score is its positive part less its negative one
    bias: FloatArray = np.zeros(count + 1)
    bias[0] = values[0]
    return (first, last), (shift, bias)


class _OneShare:
    """A classifier of two classes whose input is the probability of the second."""

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes_ = classes

    def predict_proba(self, scores: NDArray[np.floating]) -> NDArray[np.floating]:
        share = np.clip(scores, 0.0, 1.0)
        return np.concatenate([1.0 - share, share], axis=1)

    def predict(self, scores: NDArray[np.floating]) -> NDArray[Any]:
        return np.asarray(self.classes_[np.argmax(self.predict_proba(scores), axis=1)])


class _Column:
    """A linear classifier whose score stands in a column of the rows."""

    def __init__(self, column: int) -> None:
        self.column = column

    def decision_function(self, rows: NDArray[np.floating]) -> NDArray[np.floating]:
        return np.ascontiguousarray(rows[:, self.column])


def _given(estimator: Any) -> Any:
    """A copy of the classifier whose inputs are those of the network: the mean, and then the scores of its members."""
    probe = copy.copy(estimator)
    vars(probe).pop("feature_names_in_", None)
    probe.calibrated_classifiers_ = [copy.copy(one) for one in estimator.calibrated_classifiers_]
    for k, one in enumerate(probe.calibrated_classifiers_):
        one.estimator = Given(_Column(k + 1), one.estimator.classes_)
    return probe


register_reader(
    "sklearn.CalibratedClassifierCV", read_any_calibrated, kind="as inside", prepare=_prepare,
    inner=(_inner, with_inner),
)  # fmt: skip
