"""What a solver found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from armin.problem.blocks import Choice

__all__ = ["PathPoint", "Solution", "Status"]


class Status(Enum):
    """How a solve ended."""

    OPTIMAL = "optimal"
    """The choice is proved to be the cheapest."""
    FEASIBLE = "feasible"
    """Time ran out; the choice is valid, the bound says how much cheaper another could be."""
    INFEASIBLE = "infeasible"
    """It is proved that no choice satisfies the problem."""
    UNKNOWN = "unknown"
    """Nothing valid was found and nothing proved: time ran out, or a MILO solver gave up."""

    @property
    def has_choice(self) -> bool:
        return self in (Status.OPTIMAL, Status.FEASIBLE)


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found.

    Attributes
    ----------
    status : how the solve ended
    choice : the options taken, or None
    cost : its cost, or None
    bound : no valid choice costs less than this; infinity if infeasible
    seconds : wall-clock time, without what it takes to compile the search
    solver : which solver answered
    nodes : search nodes, or 0 where that has no meaning
    reason : why nothing is proved, where that was not the time limit
    """

    status: Status
    choice: Choice | None
    cost: float | None
    bound: float
    seconds: float
    solver: str
    nodes: int = 0
    reason: str = ""

    @property
    def gap(self) -> float | None:
        """``(cost - bound) / cost``, 0 if proved, None without a choice."""
        if self.cost is None:
            return None
        if self.status is Status.OPTIMAL or self.cost <= 0:
            return 0.0
        return max(0.0, (self.cost - self.bound) / self.cost)


@dataclass(frozen=True, eq=False)
class PathPoint:
    """A step of the path from cheap and doubtful to expensive and certain.

    Attributes
    ----------
    solution : what the solver found
    weight : the accepted weight. The solution answers every requirement above the weight of the point
        before it, up to this one. Where the solution has no choice: the requirement that ended the path.
    confidence : ``weight`` divided by the total weight
    """

    solution: Solution
    weight: float
    confidence: float
