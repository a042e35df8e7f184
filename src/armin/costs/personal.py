"""A cost as one person feels it: what is hard for them costs more."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from armin.arrays import FloatArray
from armin.costs.base import Aggregate, BaseCost, Cost
from armin.errors import ParameterError
from armin.schema import Schema

__all__ = ["HOW_HARD", "PersonalCost", "cost_name", "personal"]

HOW_HARD = {"easy": 0.5, "usual": 1.0, "hard": 3.0, "very hard": 10.0}
"""What people say, as a factor on the cost."""


@dataclass
class PersonalCost:
    """Another cost, with a factor on some of the features; see :func:`personal`.

    Attributes
    ----------
    cost : fitted
    factors : by position of the feature
    aggregate : as the other cost adds up
    """

    cost: Cost
    factors: Mapping[int, float]
    aggregate: Aggregate = "sum"

    def __post_init__(self) -> None:
        self.aggregate = self.cost.aggregate

    @property
    def monotone(self) -> bool:
        """As of the other cost."""
        return bool(getattr(self.cost, "monotone", False))

    def fit(self, X: FloatArray, schema: Schema) -> Self:
        """Nothing is learned: the other cost is fitted."""
        return self

    def table(self, position: int, before: FloatArray, after: FloatArray) -> FloatArray:
        """What the other cost says, times the factor."""
        costs = np.asarray(self.cost.table(position, before, after))
        factor = self.factors.get(position, 1.0)
        if factor == 1.0:
            return costs
        if isinstance(self.cost, BaseCost) and type(self.cost).finish is not BaseCost.finish:
            # entries are not on the scale on which a cost is reported
            reported = np.vectorize(self.cost.finish, otypes=[np.float64])(costs)
            return np.where(costs == 0, 0.0, self.cost.entry(factor * reported))
        return np.asarray(factor * costs)

    def finish(self, total: float) -> float:
        """As the other cost reports it."""
        return self.cost.finish(total)


def personal(cost: Cost, difficulty: Mapping[str, float | str], schema: Schema) -> Cost:
    """The cost for somebody who finds some changes harder, or easier, than usual.

    Parameters
    ----------
    cost : fitted
    difficulty : by feature a positive factor, or "easy" (0.5), "usual", "hard" (3) or "very hard" (10)
    schema : the columns

    Returns
    -------
    Cost

    Examples
    --------
    >>> import pandas as pd
    >>> from armin.costs import NumberOfChanges
    >>> frame = pd.DataFrame({"income": range(10, 110)})
    >>> schema = Schema.infer(frame)
    >>> cost = NumberOfChanges().fit(schema.encode(frame), schema)
    >>> personal(cost, {"income": "hard"}, schema).table(0, np.array([20.0]), np.array([[20.0, 40.0]])).tolist()
    [[0.0, 3.0]]
    """
    factors = {}
    for name, said in difficulty.items():
        if name not in schema.names:
            raise ParameterError(
                f"'difficulty' names {name!r}, which is not a column. The columns are: {', '.join(schema.names)}."
            )
        factor = HOW_HARD.get(said) if isinstance(said, str) else said
        good = isinstance(factor, int | float) and not isinstance(factor, bool) and math.isfinite(factor) and factor > 0
        if factor is None or not good:
            words = ", ".join(HOW_HARD)
            raise ParameterError(
                f"The difficulty of {name!r} must be a positive number or one of {words}. Got {said!r} instead."
            )
        factors[schema.position(name)] = float(factor)
    return PersonalCost(cost, factors) if factors else cost


def cost_name(cost: Cost) -> str:
    """What a cost is called; one person's is called as the usual one.

    >>> from armin.costs import NumberOfChanges
    >>> cost_name(PersonalCost(NumberOfChanges(), {}))
    'NumberOfChanges'
    """
    return type(cost.cost if isinstance(cost, PersonalCost) else cost).__name__
