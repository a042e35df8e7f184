"""What a cost is, and what those share that look at the training data."""

from __future__ import annotations

from typing import ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np

from armin.arrays import FloatArray
from armin.costs.distribution import Distribution
from armin.errors import NotFittedError
from armin.learned import Learned
from armin.registry import Registry
from armin.schema import Schema

__all__ = ["COSTS", "Aggregate", "BaseCost", "Cost"]

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


COSTS: Registry[BaseCost] = Registry("cost", "armin.costs")
"""The costs that have a name."""


class BaseCost(Learned):
    """A cost, but for ``_move``; see CONTRIBUTING.md for one in full.

    Parameters of a class definition
    --------------------------------
    alias : the name by which users ask for it
    summary : what it adds up, in one line

    Attributes
    ----------
    monotone : whether a number that goes further the same way never costs less. Say so of a cost of your own if it is
        true: else "no cheaper way" is proved over a list of values only

    Examples
    --------
    >>> class Flat(BaseCost, alias="flat", summary="ten for a change of category, else one"):
    ...     def _move(self, known, before, after):
    ...         return np.full(after.shape, 1.0 if known.feature.is_number else 10.0)
    >>> from armin.costs import as_cost
    >>> as_cost("flat")
    Flat()
    >>> del COSTS.known["flat"]
    """

    role: ClassVar[str] = "cost"
    monotone: ClassVar[bool] = False
    aggregate: Aggregate = "sum"

    def __init_subclass__(cls, *, alias: str = "", summary: str = "") -> None:
        super().__init_subclass__(alias=alias, summary=summary)
        COSTS.add(alias, cls)
        # what holds of one way to price a move says nothing of another
        if "monotone" not in vars(cls) and {"_move", "table", "entry"} & set(vars(cls)):
            cls.monotone = False
        # who learns something else than the distributions has to say anew what is kept
        if "fit" in vars(cls) and "kept" not in vars(cls):
            cls.kept = Learned.kept  # type: ignore[method-assign]

    def fit(self, X: FloatArray, schema: Schema) -> Self:
        """Learn each feature's distribution from codes (n, D), NaN for blanks."""
        self.distributions_ = [Distribution.of(f, X[:, i]) for i, f in enumerate(schema.features)]
        return self

    def kept(self) -> list[str]:
        """The distribution of each column."""
        return [
            self._keeps(
                "for each column the values that occurred, sorted, and how usual they are. "
                "Values of one person are not linked across columns."
            )
        ]

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
        """The cost of moving a feature from ``before`` (N, 1) to ``after`` (N, J), without its difficulty."""
        raise NotImplementedError

    def finish(self, total: float) -> float:
        """The reported cost."""
        return total
