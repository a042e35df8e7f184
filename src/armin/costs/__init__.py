"""What a change costs. Each cost fills a table aligned with the options of a feature.

The cost of an action is the mean over the candidates of the sum over the features of their tables
(the largest instead of the sum for :class:`MaxPercentileShift`). Numbers, ordered and unordered
categories are on one scale, so that no kind of feature is cheap by accident.

>>> import pandas as pd
>>> from armin.schema import Schema
>>> frame = pd.DataFrame({"income": range(10, 110)})
>>> schema = Schema.infer(frame)
>>> cost = TotalLogPercentileShift().fit(schema.encode(frame), schema)
>>> table = cost.table(0, np.array([20.0]), np.array([[20.0, 40.0, 105.0]]))
>>> table.round(2).tolist()
[[0.0, 0.25, 2.94]]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self, runtime_checkable

import numpy as np
from sklearn.base import BaseEstimator

from armin.arrays import FloatArray
from armin.errors import NotFittedError, ParameterError
from armin.schema import Feature, Schema

__all__ = [
    "Cost",
    "CustomCost",
    "MaxPercentileShift",
    "NumberOfChanges",
    "TableCost",
    "TotalLogPercentileShift",
    "WeightedL1",
    "WeightedL2",
    "as_cost",
]

Aggregate = Literal["sum", "max"]


@runtime_checkable
class Cost(Protocol):
    """What an explainer asks of a cost."""

    aggregate: Aggregate

    def fit(self, X: FloatArray, schema: Schema) -> Self:
        """Learn what is needed from training data, as codes (n, D) with NaN for blanks."""
        ...

    def table(self, position: int, before: FloatArray, after: FloatArray) -> FloatArray:
        """The cost of moving feature ``position`` from ``before`` (N,) to ``after`` (N, J): (N, J)."""
        ...

    def finish(self, total: float) -> float:
        """The cost to report, from the aggregate of the tables; increasing."""
        ...


@dataclass(frozen=True, eq=False)
class Distribution:
    """The distribution of one feature's codes in the training data.

    For an ordered feature ``levels`` and ``ranks`` are the points of a distribution function that
    is piecewise linear through the mid-ranks; for a category ``shares`` are the frequencies.
    """

    feature: Feature
    n: int
    levels: FloatArray
    ranks: FloatArray
    shares: FloatArray
    spread: float

    @classmethod
    def of(cls, feature: Feature, column: FloatArray) -> Distribution:
        """Estimate from codes, NaN for blanks."""
        present = column[~np.isnan(column)]
        n = present.size
        if n == 0:
            present = np.array([feature.low_code, feature.high_code])
        levels, counts = np.unique(present, return_counts=True)
        ranks = (np.cumsum(counts) - 0.5 * counts) / present.size
        shares = np.zeros(0)
        if not feature.is_number:
            seen = np.bincount(present.astype(np.intp), minlength=len(feature.categories))
            shares = (seen + 0.5) / (seen.sum() + 0.5 * seen.size)
        return cls(feature, n, levels, ranks, shares, _spread(present, feature))

    def percentile(self, codes: FloatArray) -> FloatArray:
        """The distribution function Q, strictly increasing over the feature's bounds and inside (0, 1)."""
        low, high = self.feature.low_code, self.feature.high_code
        inside = np.interp(codes, self.levels, self.ranks, left=0.0, right=1.0)
        place = np.clip((codes - low) / (high - low), 0.0, 1.0) if high > low else np.full_like(codes, 0.5)
        # a uniform share of half an observation keeps Q increasing where there is no data
        return np.asarray((self.n * inside + 0.5 * place + 0.25) / (self.n + 1))


def _spread(present: FloatArray, feature: Feature) -> float:
    """Median absolute deviation, else standard deviation, else range; what is rounding dirt counts as zero."""
    width = feature.high_code - feature.low_code
    mad = float(np.median(np.abs(present - np.median(present))))
    if mad > 1e-9 * width:
        return mad
    deviation = float(present.std())
    if deviation > 1e-9 * width:
        return deviation
    return max(width, 1.0)


class _FittedCost(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Shared by the costs that look at the training data."""

    aggregate: Aggregate = "sum"

    def fit(self, X: FloatArray, schema: Schema) -> Self:
        """Learn each feature's distribution from codes (n, D), NaN for blanks."""
        self.distributions_ = [Distribution.of(f, X[:, i]) for i, f in enumerate(schema.features)]
        return self

    def _distribution(self, position: int) -> Distribution:
        if not hasattr(self, "distributions_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted. Call fit(X, schema) first.")
        found: Distribution = self.distributions_[position]
        return found

    def table(self, position: int, before: FloatArray, after: FloatArray) -> FloatArray:
        """The cost of moving feature ``position`` from ``before`` (N,) to ``after`` (N, J)."""
        known = self._distribution(position)
        costs = self.entry(known.feature.difficulty * self._move(known, before[:, None], after))
        return np.where(after == before[:, None], 0.0, costs)

    def entry(self, costs: FloatArray) -> FloatArray:
        """The table entries of single changes that are to be reported as ``costs``: the inverse of ``finish``."""
        return costs

    def _move(self, known: Distribution, before: FloatArray, after: FloatArray) -> FloatArray:
        raise NotImplementedError

    def finish(self, total: float) -> float:
        """The reported cost."""
        return total


class TotalLogPercentileShift(_FittedCost):
    """TLPS: the sum of ``|log((1 - Q(x + a)) / (1 - Q(x)))|``.

    Q is the feature's distribution function. Switching to category b costs ``log((1 + p) / p)`` with p its
    share: what the formula gives for an indicator that goes from 0 to 1.

    Parameters
    ----------
    base : the logarithm's base; None for the natural one, 2 for the paper's published figures
    estimate : "ranks", or "kde" for a Gaussian kernel density on 100 points, as published

    >>> TotalLogPercentileShift(base=2)
    TotalLogPercentileShift(base=2)
    """

    def __init__(self, base: float | None = None, estimate: Literal["ranks", "kde"] = "ranks") -> None:
        self.base = base
        self.estimate = estimate

    def fit(self, X: FloatArray, schema: Schema) -> Self:
        """Learn each feature's distribution from codes (n, D), NaN for blanks."""
        if self.base is not None and not self.base > 1:
            raise ParameterError(f"The 'base' of TotalLogPercentileShift must be above 1. Got {self.base!r} instead.")
        if self.estimate not in ("ranks", "kde"):
            raise ParameterError(
                f"The 'estimate' of TotalLogPercentileShift must be 'ranks' or 'kde'. Got {self.estimate!r} instead."
            )
        super().fit(X, schema)
        if self.estimate == "kde":
            self.distributions_ = [_kernel(d, X[:, i]) for i, d in enumerate(self.distributions_)]
        return self

    def _move(self, known: Distribution, before: FloatArray, after: FloatArray) -> FloatArray:
        if known.feature.kind == "categorical":
            share = known.shares[after.astype(np.intp)]
            natural = np.log((1 + share) / share)
        else:
            natural = np.abs(np.log((1 - known.percentile(after)) / (1 - known.percentile(before))))
        return natural if self.base is None else natural / math.log(self.base)


class MaxPercentileShift(_FittedCost):
    """MPS: the largest ``|Q(x + a) - Q(x)|`` of all changes. A change of category is a shift of one half.

    With blanks, each feature's shift is its mean over the candidates, and the largest of these counts.
    """

    aggregate: Aggregate = "max"

    def _move(self, known: Distribution, before: FloatArray, after: FloatArray) -> FloatArray:
        if known.feature.kind == "categorical":
            return np.full(after.shape, 0.5)
        return np.abs(known.percentile(after) - known.percentile(before))


class WeightedL1(_FittedCost):
    """The sum of ``|a| / MAD``; a zero MAD falls back to the standard deviation, for every kind of feature."""

    def _move(self, known: Distribution, before: FloatArray, after: FloatArray) -> FloatArray:
        if known.feature.kind == "categorical":
            share = known.shares[after.astype(np.intp)]
            return np.asarray(1 / np.sqrt(share * (1 - share)))
        return np.abs(after - before) / known.spread


class WeightedL2(WeightedL1):
    """The square root of the sum of ``(a / MAD)**2``, with the weights of :class:`WeightedL1`."""

    def entry(self, costs: FloatArray) -> FloatArray:
        """The squares, which are what is added up."""
        return np.asarray(costs**2)

    def finish(self, total: float) -> float:
        """The square root of the sum of squares."""
        return math.sqrt(total)


class NumberOfChanges(_FittedCost):
    """How many features change (times their difficulty)."""

    def _move(self, known: Distribution, before: FloatArray, after: FloatArray) -> FloatArray:
        return np.ones(after.shape)


class CustomCost(_FittedCost):
    """The user's own function.

    Parameters
    ----------
    function : called as ``function(feature, before, after)`` with the :class:`~armin.Feature` and the
        two raw values; returns the cost, a number of at least 0
    aggregate : "sum" or "max" over the features

    >>> CustomCost(lambda feature, before, after: abs(after - before) / 1000).aggregate
    'sum'
    """

    def __init__(self, function: Callable[[Feature, Any, Any], float], aggregate: Aggregate = "sum") -> None:
        self.function = function
        self.aggregate = aggregate

    def _move(self, known: Distribution, before: FloatArray, after: FloatArray) -> FloatArray:
        feature = known.feature
        pairs, where = np.unique(
            np.stack([np.broadcast_to(before, after.shape).ravel(), after.ravel()], axis=1), axis=0, return_inverse=True
        )
        values = [(feature.value(b), feature.value(a)) for b, a in pairs.tolist()]
        costs = np.array([0.0 if b == a else _price(feature.name, self.function(feature, b, a)) for b, a in values])
        return np.asarray(costs[where.ravel()].reshape(after.shape))


class TableCost(_FittedCost):
    """Prices by target value, with another cost for what the table does not list.

    Parameters
    ----------
    prices : for a feature's name, a mapping from target value to cost
    otherwise : the cost of features and values that are not listed; an alias or a cost

    >>> TableCost({"purpose": {"home": 2.0, "car": 0.5}}).otherwise
    'tlps'
    """

    def __init__(self, prices: Mapping[str, Mapping[Any, float]], otherwise: str | Cost = "tlps") -> None:
        self.prices = prices
        self.otherwise = otherwise

    def fit(self, X: FloatArray, schema: Schema) -> Self:
        """Check the table against the schema and fit the other cost."""
        super().fit(X, schema)
        self.otherwise_ = as_cost(self.otherwise).fit(X, schema)
        self.aggregate = self.otherwise_.aggregate
        self.codes_ = {
            schema.position(name): {schema[name].code(value): _price(name, price) for value, price in row.items()}
            for name, row in self.prices.items()
        }
        return self

    def table(self, position: int, before: FloatArray, after: FloatArray) -> FloatArray:
        """The listed price, else what the other cost says."""
        known = self._distribution(position)
        costs = np.asarray(self.otherwise_.table(position, before, after))
        entry = getattr(self.otherwise_, "entry", np.asarray)
        for code, price in self.codes_.get(position, {}).items():
            costs = np.where(after == code, entry(np.array(price * known.feature.difficulty)), costs)
        return np.where(after == before[:, None], 0.0, costs)

    def finish(self, total: float) -> float:
        """As the other cost reports it."""
        return float(self.otherwise_.finish(total))


def _price(name: str, price: object) -> float:
    number = float(price) if isinstance(price, int | float | np.integer | np.floating) else math.nan
    if not (math.isfinite(number) and number >= 0):
        raise ParameterError(f"A cost must be a finite number of at least 0. Got {price!r} for {name!r}.")
    return number


_ALIASES: dict[str, Callable[[], Cost]] = {
    "tlps": TotalLogPercentileShift,
    "mps": MaxPercentileShift,
    "l1": WeightedL1,
    "l2": WeightedL2,
    "changes": NumberOfChanges,
}


def as_cost(cost: str | Cost | Callable[[Feature, Any, Any], float]) -> Cost:
    """A cost from an alias ("tlps", "mps", "l1", "l2", "changes"), a function, or a cost.

    >>> as_cost("mps")
    MaxPercentileShift()
    """
    if isinstance(cost, str) and cost in _ALIASES:
        return _ALIASES[cost]()
    if isinstance(cost, Cost) and not isinstance(cost, type):
        return cost
    if callable(cost) and not isinstance(cost, type):
        return CustomCost(cost)
    raise ParameterError(
        f"The 'cost' parameter must be one of {', '.join(map(repr, _ALIASES))}, a function or a cost object. "
        f"Got {cost!r} instead."
    )


def _kernel(known: Distribution, column: FloatArray) -> Distribution:
    """The same distribution with Q from a Gaussian kernel density on 100 points of the range."""
    from scipy.stats import gaussian_kde

    present = column[~np.isnan(column)]
    low, high = known.feature.low_code, known.feature.high_code
    if known.feature.kind == "categorical" or present.size < 2 or present.std() <= 1e-9 * (high - low):
        return known
    points = np.linspace(low, high, 100)
    mass = np.cumsum(gaussian_kde(present)(points))
    if not mass[-1] > 0:  # all data between two of the points
        return known
    return Distribution(known.feature, known.n, points, mass / mass[-1] * (1 - 1e-9), known.shares, known.spread)
