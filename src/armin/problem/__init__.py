"""The contract between those who state a problem and those who solve it: plain data."""

from armin.problem.blocks import Block, JointTable
from armin.problem.data import (
    Choice,
    Options,
    PairRule,
    PathPoint,
    Problem,
    Solution,
    Status,
    required_weight,
)
from armin.problem.sums import SumRule

__all__ = [
    "Block", "Choice", "JointTable", "Options", "PairRule", "PathPoint", "Problem", "Solution", "Status", "SumRule",
    "required_weight",
]  # fmt: skip
