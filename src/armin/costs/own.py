"""The user's own prices, and from what a user says to a cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from armin.arrays import FloatArray
from armin.costs.base import COSTS, Aggregate, BaseCost, Cost
from armin.costs.distribution import Distribution
from armin.errors import ParameterError
from armin.learned import kept
from armin.schema import Feature, Schema

__all__ = ["CustomCost", "TableCost", "as_cost"]


class CustomCost(BaseCost):
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


class TableCost(BaseCost):
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

    def kept(self) -> list[str]:
        """The prices, and what the other cost keeps."""
        return [self._keeps("the prices."), *kept(self.otherwise_, self.role)]

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


def as_cost(cost: str | Cost | Callable[[Feature, Any, Any], float]) -> Cost:
    """The cost that a user means.

    Parameters
    ----------
    cost : a cost (returned as it is, not copied), a function for :class:`CustomCost`, or the alias of a class: "tlps",
        "mps", "l1", "l2", "changes", or of any other subclass of :class:`BaseCost` that has one

    Examples
    --------
    >>> as_cost("mps")
    MaxPercentileShift()
    """
    named = COSTS.find(cost)
    if named is not None:
        return named.usual()
    if isinstance(cost, Cost) and not isinstance(cost, type):
        return cost
    if callable(cost) and not isinstance(cost, type):
        return CustomCost(cost)
    raise ParameterError(
        f"The 'cost' parameter must be one of {COSTS.listed()}, a function or a cost object. Got {cost!r} instead."
    )
