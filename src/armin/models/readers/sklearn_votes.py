"""Votes and stacks of scikit-learn.

Shares of forests and scores of boosters are sums of trees, scores of linear classifiers are sums: a mean of them, or
a linear classifier on top of them, is a sum again. How it is rounded is asked of scikit-learn. A probability that is
the logistic of a sum is not a sum: with such members, or with members of both kinds, it is a mixture.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armin.arrays import FloatArray
from armin.errors import ArminError, UnreadableError
from armin.models.decide import Target, Verdict, decide_by_score
from armin.models.inputs import Prepare, dense
from armin.models.kinds import Above, Among, LinearModel, Margins, Model, ScoreMixture, Term, TreeEnsemble
from armin.models.library_decides import LibraryDecides
from armin.models.mixing import NEAR, decided, is_sklearn, nameless, score_of, set_apart, shares_of, vote_of
from armin.models.nodes import join, plant
from armin.models.read import read_inside, register_model, unwrap
from armin.models.readers.sklearn_meta import mean_of_shares, placed, single_trees
from armin.models.readers.sklearn_trees import as_tree

__all__ = ["read_stacking", "read_voting"]

_SHARES = (
    "DecisionTreeClassifier", "ExtraTreeClassifier", "RandomForestClassifier", "ExtraTreesClassifier",
    "BaggingClassifier",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Member:
    """A member as it was read, and where its outputs stand among those of all members.

    Attributes
    ----------
    model : the member
    place : the columns of its outputs
    method : what the outer classifier asks it for
    """

    model: TreeEnsemble | LinearModel
    place: slice
    method: str

    @property
    def divisor(self) -> float:
        return self.model.divisor if isinstance(self.model, TreeEnsemble) else 1.0


class _Answers:
    """A member whose answer stands in some columns of the rows, but for a division."""

    def __init__(self, member: _Member) -> None:
        self.place, self.divisor = member.place, member.divisor

    def predict_proba(self, outputs: NDArray[np.floating]) -> NDArray[np.floating]:
        sums = np.array(outputs[:, self.place], order="C")
        return sums if self.divisor == 1.0 else sums / self.divisor

    def decision_function(self, outputs: NDArray[np.floating]) -> NDArray[np.floating]:
        found = self.predict_proba(outputs)
        return found[:, 0] if found.shape[1] == 1 else found


def read_voting(estimator: Any, target: Target) -> Model:
    """Read a VotingClassifier: sums of trees as one sum, and any others of two classes as a mixture.

    >>> from sklearn.ensemble import RandomForestClassifier, VotingClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = np.arange(20.0)[:, None], np.arange(20) >= 8
    >>> vote = VotingClassifier([("a", DecisionTreeClassifier()), ("b", RandomForestClassifier(3))], voting="soft")
    >>> read_voting(vote.fit(X, y), Target(vote.classes_, (1,))).accepts(np.array([[3.0], [12.0]]))
    array([False,  True])
    """
    members, weights = list(estimator.estimators_), estimator._weights_not_none
    if single_trees(members):
        return _read_trees(estimator, members, weights, target)
    if estimator.voting == "soft" and all(is_sklearn(member, *_SHARES) for member in members):
        return _mean_of_trees(estimator, members, weights, target)
    _refuse_classes(estimator, target)
    _, behind = _split(estimator)
    if estimator.voting == "soft":
        return decided(behind, target, shares_of(behind))
    return _hard(behind, target)


def _mean_of_trees(estimator: Any, members: list[Any], weights: Any, target: Target) -> TreeEnsemble | LinearModel:
    """Soft votes whose shares are sums of trees."""
    read = _read_members(members, ["predict_proba"] * len(members), target)
    factors = np.ones(len(members)) if weights is None else np.asarray(weights, dtype=np.float64)
    mean = np.zeros((target.classes.size, read[-1].place.stop))  # shares of the classes = mean @ outputs
    for member, factor in zip(read, factors / factors.sum(), strict=True):
        mean[:, member.place] = np.eye(target.classes.size) * factor / member.divisor
    probe = _given(estimator, read)
    return _joined(read, _of_shares(probe, mean, target), Verdict(probe, target))


def _hard(estimator: Any, target: Target) -> ScoreMixture:
    """Votes of any members: what each says counts its weight."""
    if target.around is not None:
        raise UnreadableError("A classifier around hard votes cannot be read. Fit the votes with voting='soft'.")
    weights = estimator._weights_not_none
    factors = np.ones(len(estimator.estimators_)) if weights is None else np.asarray(weights, dtype=np.float64)
    sign = 1.0 if target.accepted == (1,) else -1.0
    terms = [vote_of(one).term(sign * f) for one, f in zip(estimator.estimators_, factors.tolist(), strict=True)]
    # the second class needs more than half; sums of whole numbers are exact, and a quarter is between any two
    half, whole = float(factors.sum()) / 2.0, bool((factors == np.rint(factors)).all())
    cut, near = (half + 0.25, 0.0) if whole else (half, NEAR * max(1.0, half))
    verdict = Verdict(nameless(estimator), target)
    return ScoreMixture(tuple(terms), sign * cut, near, verdict, int(estimator.n_features_in_))


def read_stacking(estimator: Any, target: Target) -> Model:
    """Read a StackingClassifier with a linear classifier on top.

    Shares of forests, or scores, make a sum; all else, of two classes, a mixture.

    >>> from sklearn.ensemble import RandomForestClassifier, StackingClassifier
    >>> X, y = np.arange(40.0)[:, None], np.arange(40) % 30 >= 8
    >>> stack = StackingClassifier([("a", RandomForestClassifier(3)), ("b", RandomForestClassifier(4))], cv=2)
    >>> model = read_stacking(stack.fit(X, y), Target(stack.classes_, (1,)))
    >>> bool((model.accepts(X) == stack.predict(X)).all())
    True
    """
    name = type(estimator).__name__
    if target.around is not None:
        raise UnreadableError(f"A {name} is read when nothing is around it. Use ExpertOptions(method='blackbox').")
    members = [member for member in estimator.estimators_ if not isinstance(member, str)]
    top, methods = estimator.final_estimator_, list(estimator.stack_method_)
    final = read_inside(top, Target(np.asarray(top.classes_), target.accepted, target.threshold))
    if not isinstance(final, LinearModel):
        raise UnreadableError(
            f"A {name} is read when its final_estimator is linear. This one is a {type(top).__name__}. "
            "Use ExpertOptions(method='blackbox')."
        )
    if estimator.passthrough or not _one_sum(members, methods):
        _refuse_classes(estimator, target)
        return _stacked(estimator, target, final, methods)
    read = _read_members(members, methods, target)
    blocks = []
    for member in read:
        block = np.zeros((member.place.stop - member.place.start, read[-1].place.stop))
        block[:, member.place] = np.eye(block.shape[0]) / member.divisor
        # of two probabilities scikit-learn keeps the second
        blocks.append(block[1:] if member.method == "predict_proba" and target.binary else block)
    matrix = np.concatenate(blocks)
    ways = tuple(
        Margins(way.coefficients @ final.weights @ matrix, way.cuts - way.coefficients @ final.intercept)
        for way in final.decision.ways()
    )
    return _joined(read, (ways, final.decision.blur), Verdict(_given(estimator, read), target))


def _one_sum(members: list[Any], methods: list[str]) -> bool:
    """Whether what the members say is one sum of trees that compare alike, or one of inputs."""
    said = zip(members, methods, strict=True)
    if not all(how == "decision_function" or (how == "predict_proba" and is_sklearn(m, *_SHARES)) for m, how in said):
        return False
    if any(unwrap(member)[0] for member in members):
        return False
    try:
        read = [read_inside(one, Target(np.asarray(one.classes_), (len(one.classes_) - 1,))) for one in members]
    except ArminError:
        return False
    alike = {
        (model.strict, model.input_precision, model.precision, model.base_last)
        if isinstance(model, TreeEnsemble)
        else type(model)
        for model in read
    }
    return len(alike) == 1 and isinstance(read[0], LinearModel | TreeEnsemble)


def _stacked(estimator: Any, target: Target, final: LinearModel, methods: list[str]) -> ScoreMixture:
    """A linear classifier on top of what members of any kind say, and perhaps of the inputs."""
    if not isinstance(final.decision, Above):
        raise UnreadableError("A stack of two classes is read when its final_estimator has one score.")
    steps, behind = _split(estimator)
    if steps and estimator.passthrough:
        raise UnreadableError(
            "A StackingClassifier with members that have steps of their own is read when it does not pass its inputs "
            "through. Use ExpertOptions(method='blackbox')."
        )
    members = [member for member in behind.estimators_ if not isinstance(member, str)]
    weights, terms = final.weights[0], list[Term]()
    for member, method, weight in zip(members, methods, weights.tolist(), strict=False):
        if method == "predict_proba":
            terms += [piece.term(weight * factor) for factor, piece in shares_of(member)]
        else:
            terms.append((score_of(member) if method == "decision_function" else vote_of(member)).term(weight))
    if estimator.passthrough:
        passed = LinearModel(weights[None, len(members) :], np.zeros(1), final.decision)
        terms.append(Term(passed, np.ones(1)))
    cut = final.decision.cut - float(final.intercept[0])
    near = NEAR * max(1.0, abs(cut), float(np.abs(weights).sum()))
    return ScoreMixture(tuple(terms), cut, near, Verdict(nameless(behind), target), int(behind.n_features_in_))


def _refuse_classes(estimator: Any, target: Target) -> None:
    if not target.binary:
        raise UnreadableError(
            f"A {type(estimator).__name__} of {target.classes.size} classes is read when all that its members say are "
            "sums of trees, or all are linear scores. Use ExpertOptions(method='blackbox')."
        )


def _split(estimator: Any) -> tuple[list[Any], Any]:
    """The steps of all members beside each other, and the members behind them."""
    kept = [member for member in estimator.estimators_ if not isinstance(member, str)]
    beside, behind = set_apart(kept)
    if beside is None:
        return [], estimator
    probe, found = copy.copy(estimator), iter(behind)
    probe.estimators_ = [one if isinstance(one, str) else next(found) for one in estimator.estimators_]
    for heavy in ("feature_names_in_", "named_estimators_"):
        vars(probe).pop(heavy, None)
    return [beside], probe


def _prepare(estimator: Any) -> Prepare:
    steps, _ = _split(estimator)
    return steps[0].transform if steps else dense


def _read_members(members: Sequence[Any], methods: Sequence[str], target: Target) -> list[_Member]:
    """The members as sums, their outputs beside each other."""
    read, start = list[_Member](), 0
    for member, method in zip(members, methods, strict=True):
        labels = np.asarray(member.classes_)
        if hasattr(member, "steps"):
            raise UnreadableError(
                "Classifiers are read together when all take the same inputs. This one has a Pipeline of its own among "
                "its members. Put the steps before the whole, or use ExpertOptions(method='blackbox')."
            )
        if labels.size != target.classes.size:
            raise UnreadableError(
                f"Classifiers are read together when each knows all classes. This {type(member).__name__} knows "
                f"{labels.size} of {target.classes.size}. Use ExpertOptions(method='blackbox')."
            )
        model = read_inside(member, Target(labels, (labels.size - 1,)))
        if not isinstance(model, TreeEnsemble | LinearModel):
            raise UnreadableError(
                f"Classifiers are read together when they are trees or linear. This one is a {type(member).__name__}. "
                "Use ExpertOptions(method='blackbox')."
            )
        width = model.base.size if isinstance(model, TreeEnsemble) else model.intercept.size
        read.append(_Member(model, slice(start, start + width), method))
        start += width
    return read


def _joined(
    read: list[_Member], ways: tuple[tuple[Margins, ...], float], verdict: Verdict
) -> TreeEnsemble | LinearModel:
    """All members as one model, with the rule of the outer classifier."""
    margins, blur = ways
    size = max(float(np.abs(way.cuts).max(initial=1.0)) for way in margins)
    decision = LibraryDecides((), read[-1].place.stop, margins, 2.0 * blur + NEAR * size, verdict)
    trees = [member.model for member in read if isinstance(member.model, TreeEnsemble)]
    linear = [member.model for member in read if isinstance(member.model, LinearModel)]
    if trees and linear:
        raise UnreadableError(
            "Classifiers are read together when all are trees or all are linear. Here are both. Use "
            "ExpertOptions(method='blackbox')."
        )
    if trees:
        return join(trees, decision)
    weights: FloatArray = np.concatenate([model.weights for model in linear])
    return LinearModel(weights, np.concatenate([model.intercept for model in linear]), decision)


def _of_shares(probe: Any, mean: FloatArray, target: Target) -> tuple[tuple[Margins, ...], float]:
    """The margins of a classifier that ranks or compares means of shares."""
    if target.threshold is None and target.around is None:
        plain = Among(target.accepted, int(target.classes.size))
        return tuple(Margins(way.coefficients @ mean, way.cuts) for way in plain.ways()), 0.0
    if target.around is None:
        return (Margins(mean[list(target.accepted)].sum(axis=0)[None, :], np.array([target.threshold])),), 0.0
    if not target.binary:
        raise UnreadableError(
            f"A classifier around a {type(probe).__name__} is read when it has two classes. This one has "
            f"{target.classes.size}. Use ExpertOptions(method='blackbox')."
        )
    column = target.around.column
    sign, rule = decide_by_score(Verdict(_OneShare(column), target), type(probe).__name__)
    return (Margins(sign * mean[column][None, :], np.array([rule.cut])),), 0.0


@dataclass(frozen=True)
class _OneShare:
    """A classifier of two classes whose input is the share of one of them."""

    column: int

    def predict_proba(self, scores: NDArray[np.floating]) -> NDArray[np.floating]:
        share = np.clip(scores, 0.0, 1.0)
        both = np.concatenate([1.0 - share, share], axis=1)
        return both if self.column == 1 else both[:, ::-1]


def _given(estimator: Any, read: list[_Member]) -> Any:
    """The outer classifier, whose inputs are what its members have added up."""
    probe = copy.copy(estimator)
    probe.estimators_ = [_Answers(member) for member in read]
    for heavy in ("feature_names_in_", "named_estimators_"):
        vars(probe).pop(heavy, None)
    return probe


def _read_trees(estimator: Any, members: list[Any], weights: Any, target: Target) -> TreeEnsemble:
    """Votes of single trees: each leaf has its shares, or with hard votes its class."""
    n_classes = int(target.classes.size)
    tables = [placed(member, n_classes) for member in members]
    hard = estimator.voting != "soft"
    if hard:
        tables = [np.eye(n_classes)[np.argmax(table, axis=1)] for table in tables]
    if weights is not None:
        tables = [table * w for table, w in zip(tables, weights, strict=True)]
    trees = [as_tree(member.tree_, table) for member, table in zip(members, tables, strict=True)]
    if not hard:
        total = float(len(members) if weights is None else np.asarray(weights, dtype=np.float64).sum())
        return mean_of_shares(trees, total, estimator, target)
    if target.around is not None:
        raise UnreadableError("A classifier around hard votes cannot be read. Fit the votes with voting='soft'.")
    return plant(
        trees, np.zeros(n_classes), Among(target.accepted, n_classes), int(estimator.n_features_in_),
        input_precision="float32",
    )  # fmt: skip


register_model("sklearn.VotingClassifier", read_voting, kind="together", prepare=_prepare, split=_split)
register_model("sklearn.StackingClassifier", read_stacking, kind="together", prepare=_prepare, split=_split)
