"""Several samplers as one."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy, deepcopy

import numpy as np

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.errors import ParameterError
from armin.learned import kept, slim
from armin.sampling.base import BaseSampler, Sampler, check_count
from armin.sampling.chained import ChainedEquations
from armin.sampling.donors import NearestDonors
from armin.sampling.forest import ForestDonors
from armin.schema import Schema

__all__ = ["Mixture"]

_HELD_OUT = 0.25
_DRAWS = 40
_MOST_BLANKS = 3
_STEPS = 500


class Mixture(
    BaseSampler,
    alias="mixture",
    summary="chained, forest and donors, weighted by what held-out rows say",
):
    """Each completion is drawn by one of several samplers, picked by its weight.

    Without ``weights`` they are learnt: the members are fitted to three quarters of the rows; up to ``rows`` of the
    others lose one to three known values each, and the weights are those whose mixture has the least mean energy score
    on what was lost. That score is a convex function of the weights, so the answer is unique and needs no luck. Then
    the members are fitted to all rows. Members of weight 0 stay in ``members_`` and are never asked.

    Parameters
    ----------
    samplers : the members; they are copied, and the copies fitted
    weights : one number of at least 0 for each member, which need not add up to 1; None to learn them
    rows : how many held-out rows at most the weights are learnt from
    random_state : seed of the split and of what is hidden

    Attributes
    ----------
    members_ : the fitted members
    weights_ : (K,), which add up to 1

    Examples
    --------
    >>> from armin.sampling import Marginal, NearestDonors
    >>> from armin.schema import Feature, Schema
    >>> schema = Schema((Feature("a", "integer", lower=0, upper=9), Feature("b", "integer", lower=0, upper=90)))
    >>> X = np.array([[a, 10.0 * a] for a in range(10)] * 20)
    >>> Mixture((Marginal(), NearestDonors())).fit(X, schema).weights_.round(1)
    array([0., 1.])
    """

    members_: tuple[Sampler, ...]
    weights_: FloatArray

    def __init__(
        self,
        samplers: Sequence[Sampler],
        weights: Sequence[float] | None = None,
        *,
        rows: int = 150,
        random_state: int = 0,
    ) -> None:
        self.samplers = samplers
        self.weights = weights
        self.rows = rows
        self.random_state = random_state

    @classmethod
    def usual(cls) -> Mixture:
        """Chained equations, forests and donors, with learnt weights."""
        return cls((ChainedEquations(), ForestDonors(), NearestDonors()))

    def slim(self) -> Mixture:
        """With slim members."""
        thin = copy(self)
        thin.members_ = tuple(slim(member) for member in self.members_)
        return thin

    def kept(self) -> list[str]:
        """What its members keep."""
        return [sentence for member in self.members_ for sentence in kept(member, self.role)]

    def _fit(self, X: FloatArray, schema: Schema) -> None:
        self._check_parameters()
        if self.weights is not None:
            given = np.asarray(self.weights, dtype=np.float64)
            self.weights_ = given / given.sum()
        else:
            self.weights_ = self._learnt(X, schema)
        self.members_ = tuple(deepcopy(member).fit(X, schema) for member in self.samplers)

    def _check_parameters(self) -> None:
        check_count("rows", self.rows)
        members: object = self.samplers
        if isinstance(members, str) or not isinstance(members, Sequence) or not members:
            raise ParameterError(f"'samplers' must be a list of at least one sampler. Got {members!r} instead.")
        for member in members:
            if isinstance(member, type) or not isinstance(member, Sampler):
                raise ParameterError(
                    f"'samplers' must hold sampler objects with fit and sample. Got {member!r} instead; "
                    "for a name or a function write as_sampler(...)."
                )
        if self.weights is None:
            return
        given = np.asarray(self.weights, dtype=np.float64)
        if given.shape != (len(members),) or not np.isfinite(given).all() or (given < 0).any() or given.sum() <= 0:
            raise ParameterError(
                f"'weights' must be {len(members)} numbers of at least 0, not all 0. Got {self.weights!r} instead."
            )

    def _learnt(self, X: FloatArray, schema: Schema) -> FloatArray:
        equal = np.full(len(self.samplers), 1.0 / len(self.samplers))
        held = int(_HELD_OUT * X.shape[0])
        if held == 0 or len(self.samplers) == 1:
            return equal
        rng = np.random.default_rng(self.random_state)
        order = rng.permutation(X.shape[0])
        rest = X[order[held:]]
        members = [deepcopy(member).fit(rest, schema) for member in self.samplers]
        number = np.array([f.is_number or f.kind == "ordinal" for f in schema])
        error, apart, count = np.zeros(len(members)), np.zeros((len(members), len(members))), 0
        for truth in X[order[:held][: self.rows]]:
            hidden = _hidden(truth, 1 + count % _MOST_BLANKS, rng)
            if hidden.size == 0:
                continue
            row = truth.copy()
            row[hidden] = np.nan
            points = [
                _points(m.sample(row, _DRAWS, rng).values[:, hidden], rest[:, hidden], number[hidden]) for m in members
            ]
            true = _points(truth[None, hidden], rest[:, hidden], number[hidden])
            error += [_distances(p, true).mean() for p in points]
            apart += [[_distances(p, q).sum() / _pairs(p, q) for q in points] for p in points]
            count += 1
        return _least(error / count, apart / count) if count else equal

    def _draw(self, row: FloatArray, blanks: IntArray, n: int, rng: np.random.Generator) -> FloatArray:
        out, start = np.empty((n, blanks.size)), 0
        for member, share in zip(self.members_, rng.multinomial(n, self.weights_), strict=True):
            if share:
                out[start : start + share] = member.sample(row, int(share), rng).values[:, blanks]
                start += int(share)
        return rng.permutation(out, axis=0)  # so that the first few draws are a fair sample too


def _hidden(truth: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """Up to ``count`` known features of a row."""
    known = np.flatnonzero(~np.isnan(truth))
    return np.sort(rng.choice(known, min(count, known.size), replace=False))


def _points(codes: FloatArray, training: FloatArray, number: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Codes (n, B) as numbers in units of their spread, and as categories."""
    spread = np.nanstd(training[:, number], axis=0) if number.any() else np.ones(0)
    return codes[:, number] / np.where(spread > 0, spread, 1.0), codes[:, ~number]


def _distances(p: tuple[FloatArray, FloatArray], q: tuple[FloatArray, FloatArray]) -> FloatArray:
    """The distance (n, m) of each point from each; two different categories are 1 apart."""
    numbers = ((p[0][:, None] - q[0][None]) ** 2).sum(axis=2)
    return np.asarray(np.sqrt(numbers + (p[1][:, None] != q[1][None]).sum(axis=2)))


def _pairs(p: tuple[FloatArray, FloatArray], q: tuple[FloatArray, FloatArray]) -> int:
    """How many pairs of independent draws there are: a draw is no partner of itself."""
    n, m = int(p[0].shape[0]), int(q[0].shape[0])
    return n * (n - 1) if p is q else n * m


def _least(error: FloatArray, apart: FloatArray) -> FloatArray:
    """The weights w that minimise ``w error - w apart w / 2`` (exponentiated gradient, then tiny weights are dropped).

    >>> _least(np.array([1.0, 2.0]), np.array([[1.0, 1.5], [1.5, 1.0]])).round(3)
    array([1., 0.])
    """
    w = np.full(error.size, 1.0 / error.size)
    for _ in range(_STEPS):
        slope = error - apart @ w
        w = w * np.exp(-2.0 * (slope - slope.min()) / max(float(np.abs(error).max()), 1e-12))
        w /= w.sum()
    w = np.where(w < 1e-3, 0.0, w)
    return np.asarray(w / w.sum())
