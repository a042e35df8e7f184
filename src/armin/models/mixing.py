"""Members of a vote, a stack or a calibration, each as maps of its score.

What a member says is read as it would be alone: a sum of trees, or of inputs. What becomes of that sum (its logistic,
a calibration by a logistic or by a table, a vote) is a map that never turns back. That the maps are the right ones is
not taken for granted: the member is asked about some rows. Members with steps of their own get columns of their own.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from armin.arrays import FloatArray, IntArray
from armin.errors import ArminError, UnreadableError
from armin.models.decide import Target, Verdict, decide_by_score
from armin.models.inputs import dense
from armin.models.kinds import Above, Among, LinearModel, ScoreMixture, Term, TreeEnsemble
from armin.models.maps import Map, through
from armin.models.parts import Beside, ColumnParts
from armin.models.read import prepare_inputs, read_inside, unwrap

__all__ = ["Piece", "Slice", "decided", "is_sklearn", "nameless", "score_of", "set_apart", "shares_of", "vote_of"]

NEAR = 1e-9
"""Means of shares that differ by more are told apart, however they were rounded."""

_SAME = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-5}  # the same number, worked out in two ways
_MEMBERS = ("VotingClassifier", "StackingClassifier")


class Slice(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier whose inputs are some columns of the rows.

    Parameters
    ----------
    final : the fitted classifier
    columns : int array, its columns
    width : how many columns the rows have

    >>> from sklearn.linear_model import LogisticRegression
    >>> final = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> part = Slice(final, np.array([1]), 2)
    >>> part.predict(np.array([[9.0, 0.0], [9.0, 1.0]])), hasattr(part, "transform")
    (array([0, 1]), False)
    """

    def __init__(self, final: Any, columns: IntArray, width: int) -> None:
        self.final, self.columns, self.width = final, columns, width
        self.classes_, self.n_features_in_ = final.classes_, width

    def __getattr__(self, name: str) -> Any:
        if name in ("predict", "predict_proba", "decision_function") and "final" in vars(self):
            method = getattr(self.final, name)

            def asked(rows: Any) -> Any:
                return method(np.ascontiguousarray(np.asarray(rows)[:, self.columns]))

            asked.__name__ = name  # by which scikit-learn knows what comes back
            return asked
        raise AttributeError(name)

    def __sklearn_is_fitted__(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class Piece:
    """One score of a member, and what becomes of it.

    Attributes
    ----------
    model, coefficients, maps, columns : as in :class:`~armin.models.kinds.Term`, but maps may fall
    """

    model: LinearModel | TreeEnsemble
    coefficients: FloatArray
    maps: tuple[Map, ...] = ()
    columns: IntArray | None = None

    def then(self, *maps: Map) -> Piece:
        """The same, mapped further."""
        return replace(self, maps=(*self.maps, *maps))

    def term(self, factor: float) -> Term:
        """What it adds to a sum, times a factor."""
        return Term(self.model, self.coefficients, (*self.maps, Map.line(factor)), self.columns)


def set_apart(members: Sequence[Any]) -> tuple[Beside | None, list[Any]]:
    """The steps of all members beside each other, and the members behind them; None where none has any.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = np.arange(8.0).reshape(4, 2), [0, 1, 0, 1]
    >>> members = [LogisticRegression().fit(X, y), make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)]
    >>> beside, behind = set_apart(members)
    >>> beside.transform(X).shape, behind[1].columns.tolist()
    ((4, 4), [2, 3])
    """
    found = [unwrap(member) for member in members]
    found = [(steps + _prepared(final), final) for steps, final in found]
    if not any(steps for steps, _ in found):
        return None, list(members)
    parts: list[tuple[str, list[Any]]] = []
    at, width = list[int](), 0
    raw = next((i for i, (steps, _) in enumerate(found) if not steps), None)
    for i in ([] if raw is None else [raw]) + [i for i, (steps, _) in enumerate(found) if steps]:
        parts.append((f"{i}", found[i][0]))
        at.append(width)
        width += int(found[i][1].n_features_in_)
    starts = dict(zip([int(name) for name, _ in parts], at, strict=True))
    behind = []
    for i, (steps, final) in enumerate(found):
        first = starts[i] if steps or raw is None else starts[raw]
        behind.append(Slice(nameless(final), first + np.arange(int(final.n_features_in_)), width))
    return Beside(parts), behind


def _prepared(final: Any) -> list[Any]:
    """What a classifier itself does to its columns, one by one, as a step."""
    try:
        prepare = prepare_inputs(final)
    except ArminError:
        return []  # it cannot be read, as will be said
    return [] if prepare is dense else [ColumnParts(prepare, list(range(int(final.n_features_in_))))]


def nameless(estimator: Any) -> Any:
    """A copy of a classifier, and of those inside it, that takes plain arrays without a warning."""
    twin = copy.copy(estimator)
    vars(twin).pop("feature_names_in_", None)
    if "calibrated_classifiers_" in vars(twin):
        twin.calibrated_classifiers_ = [copy.copy(one) for one in twin.calibrated_classifiers_]
        for one in twin.calibrated_classifiers_:
            one.estimator = nameless(one.estimator)
    elif is_sklearn(twin, *_MEMBERS):
        twin.estimators_ = [one if isinstance(one, str) else nameless(one) for one in twin.estimators_]
    for place in ("best_estimator_", "estimator_"):
        if hasattr(vars(twin).get(place), "classes_"):
            setattr(twin, place, nameless(vars(twin)[place]))
    return twin


def shares_of(member: Any, columns: IntArray | None = None) -> list[tuple[float, Piece]]:
    """The probability of the second of two classes as a sum: factors, and what they multiply."""
    if isinstance(member, Slice):
        return shares_of(member.final, _within(columns, member.columns))
    if is_sklearn(member, "VotingClassifier") and member.voting == "soft":
        found = []
        for one, factor in zip(member.estimators_, _factors(member), strict=True):
            found += [(factor * own, piece) for own, piece in shares_of(one, columns)]
        return found
    if is_sklearn(member, "CalibratedClassifierCV"):
        folds = member.calibrated_classifiers_
        return [(1.0 / len(folds), _calibrated(fold, columns)) for fold in folds]
    return [(1.0, _base(member, "predict_proba", columns))]


def score_of(member: Any, columns: IntArray | None = None) -> Piece:
    """What a calibration looks at: the score, or else the probability of the second of two classes."""
    if isinstance(member, Slice):
        return score_of(member.final, _within(columns, member.columns))
    if hasattr(member, "decision_function"):
        return _base(member, "decision_function", columns)
    found = shares_of(member, columns)
    if len(found) > 1:
        raise UnreadableError(
            f"A map of the mean of {len(found)} maps, as of this {type(member).__name__}, is not read. "
            "Use ExpertOptions(method='blackbox')."
        )
    return found[0][1].then(Map.line(found[0][0]))


def vote_of(member: Any, columns: IntArray | None = None) -> Piece:
    """1 where a member says the second of two classes, and else 0."""
    if isinstance(member, Slice):
        return vote_of(member.final, _within(columns, member.columns))
    model = _read(member)
    if isinstance(model.decision, Above):
        return Piece(model, np.ones(1), (Map.step(model.decision.cut),), columns)
    if type(model.decision) is Among and model.decision.n_outputs == 2:  # the first of equals wins
        return Piece(model, np.array([-1.0, 1.0]), (Map.step(float(np.nextafter(0.0, 1.0))),), columns)
    raise UnreadableError(
        f"What a {type(member).__name__} says is not read as a vote beside others. Use "
        "ExpertOptions(method='blackbox')."
    )


def decided(estimator: Any, target: Target, found: Sequence[tuple[float, Piece]], shift: float = 0.0) -> ScoreMixture:
    """The mixture of a classifier that compares a mean of shares."""
    sign, rule = decide_by_score(Verdict(_OneShare(target.classes), target), type(estimator).__name__)
    terms = tuple(piece.term(sign * factor) for factor, piece in found)
    verdict = Verdict(nameless(estimator), target)
    return ScoreMixture(terms, rule.cut - sign * shift, NEAR, verdict, int(estimator.n_features_in_))


class _OneShare:
    """A classifier of two classes whose input is the probability of the second."""

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes_ = classes

    def predict_proba(self, scores: NDArray[np.floating]) -> NDArray[np.floating]:
        share = np.clip(scores, 0.0, 1.0)
        return np.concatenate([1.0 - share, share], axis=1)

    def predict(self, scores: NDArray[np.floating]) -> NDArray[Any]:
        return np.asarray(self.classes_[np.argmax(self.predict_proba(scores), axis=1)])


def is_sklearn(member: Any, *names: str) -> bool:
    """Whether a classifier is just this one of scikit-learn, and none that decides in its own way."""
    return type(member).__name__ in names and type(member).__module__.partition(".")[0] == "sklearn"


def _within(outer: IntArray | None, columns: IntArray) -> IntArray:
    return columns if outer is None else outer[columns]


def _factors(votes: Any) -> list[float]:
    weights = votes._weights_not_none
    factors = np.ones(len(votes.estimators_)) if weights is None else np.asarray(weights, dtype=np.float64)
    return list((factors / factors.sum()).tolist())


def _calibrated(fold: Any, columns: IntArray | None) -> Piece:
    """What one fold of a calibration makes of its classifier's score."""
    (calibrator,), name = fold.calibrators, type(fold.calibrators[0]).__name__
    if name == "_SigmoidCalibration":
        return score_of(fold.estimator, columns).then(Map.logistic(-calibrator.a_, -calibrator.b_))
    if name == "IsotonicRegression" and calibrator.increasing_ and calibrator.out_of_bounds == "clip":
        xs, ys = calibrator.X_thresholds_, calibrator.y_thresholds_
        return score_of(fold.estimator, columns).then(Map.table(xs, ys, single=xs.dtype == np.float32))
    raise UnreadableError(
        "A CalibratedClassifierCV is read when it maps scores by a sigmoid or an isotonic table. This one has a "
        f"{name}. Use ExpertOptions(method='blackbox')."
    )


def _read(member: Any) -> LinearModel | TreeEnsemble:
    """A member as it would be read alone, for the second of two classes."""
    labels, name = np.asarray(member.classes_), type(member).__name__
    if labels.size != 2:
        raise UnreadableError(
            f"Classifiers are read together when each knows two classes. This {name} knows {labels.size}. "
            "Use ExpertOptions(method='blackbox')."
        )
    model = read_inside(member, Target(labels, (1,)))
    if not isinstance(model, LinearModel | TreeEnsemble):
        raise UnreadableError(
            f"Classifiers are read together when they are sums of trees or of inputs. This {name} is neither. "
            "Use ExpertOptions(method='blackbox')."
        )
    return model


def _base(member: Any, method: str, columns: IntArray | None) -> Piece:
    """What a single classifier says: its sum, or the logistic of it, whichever agrees with itself."""
    model, width = _read(member), int(member.n_features_in_)
    rng = np.random.default_rng(0)
    rows = np.abs(rng.normal(size=(24, width))) * np.repeat([0.3, 3.0, 30.0], 8)[:, None]
    rows, said = _said(member, method, rows)
    single = said.dtype == np.float32
    outputs = model.outputs(rows)
    alone, ahead = np.eye(outputs.shape[1])[-1], np.array([-1.0, 1.0])[-outputs.shape[1] :]
    tries: list[tuple[FloatArray, tuple[Map, ...]]] = [(alone, ())]
    if method == "predict_proba":
        tries.append((ahead, (Map.logistic(single=single),)))
    for coefficients, maps in tries if outputs.shape[1] <= 2 else ():
        low, high = through(maps, outputs @ coefficients)
        if np.allclose((low + high) / 2.0, said, rtol=_SAME[said.dtype], atol=_SAME[said.dtype]):
            return Piece(model, coefficients, maps, columns)
    raise UnreadableError(
        f"The {method}() of a {type(member).__name__} is read beside others when it is the sum that decides, or the "
        "logistic of it. This one is something else. Use ExpertOptions(method='blackbox')."
    )


def _said(member: Any, method: str, rows: FloatArray) -> tuple[FloatArray, NDArray[np.floating]]:
    """Rows as the member's model takes them, and what the member itself says about these (n,)."""
    ask: Callable[[Any], Any] = getattr(nameless(member), method)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of columns without the names of the training frame
            rows = prepare_inputs(member)(rows)
            said = np.asarray(ask(rows))
    except Exception as error:
        raise UnreadableError(
            f"A {type(member).__name__} is read beside others when it takes plain numbers. This one does not "
            f"({type(error).__name__}). Use ExpertOptions(method='blackbox')."
        ) from error
    said = said[:, 1] if method == "predict_proba" else said.ravel()
    return rows, said if said.dtype in _SAME else said.astype(np.float64)
