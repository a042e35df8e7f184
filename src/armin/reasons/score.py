"""The number that a model compares with its cut, in units that people know.

A classifier that was read adds up to one number, if it has two sides. Whether that number is a probability or log odds
is not taken for granted: it is compared with what the classifier itself calls the probability.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from scipy.special import expit, logit

from armin.arrays import FloatArray
from armin.errors import ModelError, ParameterError
from armin.models.encoding import ReadClassifier
from armin.models.kinds import BlackBox, Model, ScoreMixture
from armin.models.oracle import Oracle

__all__ = ["UNITS", "Margin", "Score", "Unit", "read_score"]

Unit = Literal["log-odds", "probability", "points", "decision"]
"""What a score is: "points" is a number of the model's own, "decision" is 1 for yes and 0 for no."""
UNITS = get_args(Unit)

_SAME = 1e-5  # a probability that was made in single precision, as log odds
_LOGIT_EDGE = 1e-4  # beyond it, rounding hides whether the log odds are the same
_SURE = 1e-12  # log odds of certainty are not a number


@dataclass(frozen=True, eq=False)
class Margin:
    """One sum of a model's outputs, ``scale * (outputs @ coefficients) + shift``.

    Attributes
    ----------
    coefficients : (C,), with the scale
    shift : what is added
    """

    coefficients: FloatArray
    shift: float = 0.0


@dataclass(frozen=True, eq=False)
class Score:
    """A score of rows of codes; higher is nearer to the desired decision.

    Attributes
    ----------
    read : the model
    unit : what the score is
    threshold : from where on the decision is the desired one; None where no one number says so
    margin : the sum that the score is; None where the score is a function of it, or the model is asked
    ask : scores (n,) of codes (n, D)
    blanks : the same for rows with blanks; None where the model's own number for these is not known

    Examples
    --------
    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> oracle = Oracle(loans.classifier, loans.schema, loans.X.iloc[:0], "approved")
    >>> from armin.models.encoding import read_classifier
    >>> read_score(read_classifier(oracle), oracle, loans.schema.encode(loans.X[:50])).unit
    'log-odds'
    """

    read: ReadClassifier
    unit: Unit
    threshold: float | None
    margin: Margin | None
    ask: Callable[[FloatArray], FloatArray]
    blanks: Callable[[FloatArray], FloatArray] | None

    def __call__(self, codes: FloatArray) -> FloatArray:
        """Scores (n,) of complete rows (n, D)."""
        return self.ask(codes)


def read_score(read: ReadClassifier, oracle: Oracle, rows: FloatArray, unit: Unit | None = None) -> Score:
    """The score of a classifier.

    Parameters
    ----------
    read : the classifier as it was read
    oracle : the same, to be asked
    rows : complete rows as codes (n, D), on which the score is compared with the probability
    unit : "probability" or "log-odds" for a score in these units; None for the model's own
    """
    if unit is not None and unit not in ("probability", "log-odds"):
        raise ParameterError(f"'unit' must be None, 'probability' or 'log-odds'. Got {unit!r} instead.")
    own = _own(read, oracle, rows)
    if unit is None or own.unit == unit:
        return own
    return _in_unit(own, unit, oracle, rows)


def _own(read: ReadClassifier, oracle: Oracle, rows: FloatArray) -> Score:
    """The score in the model's own units: the sum that decides, or what the classifier calls the probability."""
    model = read.model
    ways = () if isinstance(model, BlackBox | ScoreMixture) else model.decision.ways()
    if isinstance(model, BlackBox | ScoreMixture) or len(ways) != 1 or ways[0].coefficients.shape[0] != 1:
        return _asked(read, oracle, rows)
    coefficients, cut = ways[0].coefficients[0], float(ways[0].cuts[0])
    plain = Margin(coefficients)
    share = _shares(oracle, rows)
    unit, margin = _known_unit(_summed(read, model, plain)(rows), share, plain)
    if abs(cut) < np.finfo(np.float64).tiny:
        cut = 0.0  # a strict rule
    # margins are scaled by a half only where the score is one probability less the other
    scale = margin.coefficients @ coefficients / (coefficients @ coefficients)
    ask = _summed(read, model, margin)
    blanks = _blanks_asked(oracle, unit) if read.complete_only else ask
    return Score(read, unit, scale * cut + margin.shift, margin, ask, blanks)


def _known_unit(scores: FloatArray, share: FloatArray | None, plain: Margin) -> tuple[Unit, Margin]:
    """What a sum is, by what the classifier calls the probability (n,), and the sum in these units."""
    if share is None:
        return "points", plain
    half = Margin(plain.coefficients / 2.0, 0.5)
    if np.allclose(scores, share, rtol=0.0, atol=_SAME):
        return "probability", plain
    if np.allclose(scores / 2.0 + 0.5, share, rtol=0.0, atol=_SAME):
        return "probability", half
    inner = (share > _LOGIT_EDGE) & (share < 1.0 - _LOGIT_EDGE)
    if inner.any() and np.allclose(expit(scores), share, rtol=0.0, atol=_SAME):
        return "log-odds", plain
    return "points", plain


def _summed(read: ReadClassifier, model: Model, margin: Margin) -> Callable[[FloatArray], FloatArray]:
    assert not isinstance(model, BlackBox | ScoreMixture)  # noqa: S101  which has no outputs

    def scores(codes: FloatArray) -> FloatArray:
        found: FloatArray = model.outputs(read.encode(codes)) @ margin.coefficients + margin.shift
        return found

    return scores


def _shares(oracle: Oracle, rows: FloatArray) -> FloatArray | None:
    """The probability (n,) of the desired labels; None if the classifier states none."""
    if not hasattr(oracle.estimator, "predict_proba"):
        return None
    found = np.asarray(oracle.asked("predict_proba", rows), dtype=np.float64)
    return np.asarray(found[:, list(oracle.target.accepted)].sum(axis=1))


def _asked(read: ReadClassifier, oracle: Oracle, rows: FloatArray) -> Score:
    """The score of a model that must be asked: a probability, points of its own, or its decision."""
    stated, points = _stated(read, oracle, rows), _points(oracle, rows)
    if stated is not None and (stated.threshold is not None or points is None):
        return stated
    if points is not None:
        return Score(read, "points", 0.0, None, points, points)

    def decision(codes: FloatArray) -> FloatArray:
        return oracle.accepts(codes).astype(np.float64)

    return Score(read, "decision", 0.5, None, decision, decision)


def _stated(read: ReadClassifier, oracle: Oracle, rows: FloatArray) -> Score | None:
    """What the classifier calls the probability; without a threshold if one half is not where it decides."""
    found = _shares(oracle, rows)
    if found is None:
        return None
    threshold = oracle.threshold
    if threshold is None and oracle.target.classes.size == 2:
        clear = found != 0.5
        threshold = 0.5 if np.array_equal(found[clear] > 0.5, oracle.accepts(rows)[clear]) else None

    def share(codes: FloatArray) -> FloatArray:
        shares = _shares(oracle, codes)
        assert shares is not None  # noqa: S101  the classifier has just stated some
        return shares

    return Score(read, "probability", threshold, None, share, share)


def _points(oracle: Oracle, rows: FloatArray) -> Callable[[FloatArray], FloatArray] | None:
    """The classifier's own ``decision_function``, if its sign is the decision; None if there is no such number."""
    if not hasattr(oracle.estimator, "decision_function") or oracle.target.classes.size != 2:
        return None
    sign = 1.0 if oracle.target.accepted == (1,) else -1.0

    def points(codes: FloatArray) -> FloatArray:
        found: FloatArray = sign * np.asarray(oracle.asked("decision_function", codes), dtype=np.float64)
        return found

    found = points(rows)
    same = found.shape == rows.shape[:1] and np.array_equal(found > 0.0, oracle.accepts(rows))
    return points if same else None


def _blanks_asked(oracle: Oracle, unit: Unit) -> Callable[[FloatArray], FloatArray] | None:
    """Scores of rows with blanks that the model fills from other columns: only the classifier itself knows them."""
    if unit not in ("probability", "log-odds"):
        return None

    def scores(codes: FloatArray) -> FloatArray:
        found = _shares(oracle, codes)
        assert found is not None  # noqa: S101  by which the unit was found
        return found if unit == "probability" else logit(np.clip(found, _SURE, 1.0 - _SURE))

    return scores


def _in_unit(own: Score, unit: Unit, oracle: Oracle, rows: FloatArray) -> Score:
    """A score in other units than the model's own."""
    if own.unit in ("decision", "points"):
        stated = _stated(own.read, oracle, rows)
        if stated is None:
            raise ModelError(
                f"{type(oracle.estimator).__name__} states no probability, so reasons in the unit {unit!r} are not "
                "there. Leave 'unit' out, or use a classifier with predict_proba."
            )
        own = stated
        if unit == "probability":
            return own
    change: Callable[[FloatArray], FloatArray] = (
        expit if unit == "probability" else lambda share: logit(np.clip(share, _SURE, 1.0 - _SURE))
    )
    ask, blanks = own.ask, own.blanks
    threshold = None if own.threshold is None else float(change(np.array([own.threshold]))[0])
    return replace(
        own, unit=unit, threshold=threshold, margin=None, ask=lambda codes: change(ask(codes)),
        blanks=None if blanks is None else lambda codes: change(blanks(codes)),
    )  # fmt: skip
