"""Model inputs that several features determine together: a ratio, a difference, a product.

>>> import numpy as np
>>> from armin.models.kinds import Above, LinearModel
>>> from armin.problem import Options, Problem
>>> def one(name, values, costs):  # a feature that the model sees through the ratio only
...     return Options(name, np.zeros(0, dtype=np.intp), np.zeros((1, len(values), 0)), np.array(costs, dtype=float))
>>> debt, income = [30.0, 20.0, 10.0], [10.0, 20.0]
>>> ratio = np.divide.outer(debt, income)[None, :, :, None]
>>> problem = Problem(
...     candidates=np.array([[3.0]]),
...     options=(one("debt", debt, [0, 1, 3]), one("income", income, [0, 1.5])),
...     model=LinearModel(np.array([[-1.0]]), np.array([1.0]), Above(0.0)),  # debt / income at most 1
...     required=1,
...     blocks=(Block((0, 1), np.array([0]), JointTable(ratio)),),
... )
>>> problem.inputs((1, 1)).tolist(), problem.is_solved_by((1, 1)), problem.is_solved_by((1, 0))
([[1.0]], True, False)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from armin.arrays import FloatArray, IntArray

__all__ = ["Block", "Choice", "Joint", "JointTable"]

Choice = tuple[int, ...]
"""One option index for each of the problem's features, 0 = keep."""


class Joint(Protocol):
    """What combinations of options become."""

    @property
    def same_for_all(self) -> bool:
        """Whether one row of outcomes holds for all candidates."""

    def __call__(self, picks: IntArray) -> FloatArray:
        """The model inputs (1 or N, M, E) after each of M combinations (M, members)."""

    def ahead(self, picks: IntArray) -> None:
        """Take note that these combinations will be asked for, so that all can be worked out in one go."""

    def among(self, rows: IntArray) -> Joint:
        """The same for some of the candidates."""


@dataclass(frozen=True, eq=False)
class JointTable:
    """What combinations of options become, written down.

    Attributes
    ----------
    outcomes : array of shape (1 or N, J of the first member, J of the second, ..., E)

    Examples
    --------
    >>> table = JointTable(np.arange(6.0).reshape(1, 2, 3, 1))
    >>> table(np.array([[1, 2], [0, 1]])).tolist()
    [[[5.0], [1.0]]]
    """

    outcomes: FloatArray

    @property
    def same_for_all(self) -> bool:
        return bool(self.outcomes.shape[0] == 1)

    def __call__(self, picks: IntArray) -> FloatArray:
        """The model inputs (1 or N, M, E) after each of M combinations (M, members)."""
        found: FloatArray = self.outcomes[(slice(None), *picks.T)]
        return found

    def ahead(self, picks: IntArray) -> None:
        """Nothing needs to be worked out."""

    def among(self, rows: IntArray) -> JointTable:
        """The same for some of the candidates."""
        return self if self.same_for_all else JointTable(self.outcomes[rows])


@dataclass(frozen=True, eq=False)
class Block:
    """Model inputs that two or more features determine together.

    Attributes
    ----------
    members : positions in ``Problem.options``, ascending
    columns : int array of shape (E,), the model inputs; no feature has them among its own
    outcomes : what they are after each combination of the members' options; worked out when it is asked for
    """

    members: tuple[int, ...]
    columns: IntArray
    outcomes: Joint

    def after(self, batch: Sequence[Sequence[int]] | IntArray) -> FloatArray:
        """The inputs (1 or N, M, E) after each of M choices of the whole problem."""
        return self.outcomes(np.asarray(batch, dtype=np.intp)[:, self.members])

    def among(self, rows: IntArray) -> Block:
        """The same for some of the candidates."""
        return self if self.outcomes.same_for_all else replace(self, outcomes=self.outcomes.among(rows))
