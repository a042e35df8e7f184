"""The least a person must change to be accepted by a model, even when some of their values are missing."""

from armin.actions import ActionGrid
from armin.costs import (
    CustomCost,
    MaxPercentileShift,
    NumberOfChanges,
    TableCost,
    TotalLogPercentileShift,
    WeightedL1,
    WeightedL2,
)
from armin.errors import ArminError
from armin.explainer import ARMIN, ImputationAR, RobustAR
from armin.problem import Options, PairRule, Problem, Solution, Status
from armin.recourse import Change, Recourse, RecoursePath, Recourses
from armin.schema import Feature, Schema
from armin.solve import solve

__version__ = "0.1.0"

__all__ = [
    "ARMIN",
    "ActionGrid",
    "ArminError",
    "Change",
    "CustomCost",
    "Feature",
    "ImputationAR",
    "MaxPercentileShift",
    "NumberOfChanges",
    "Options",
    "PairRule",
    "Problem",
    "Recourse",
    "RecoursePath",
    "Recourses",
    "RobustAR",
    "Schema",
    "Solution",
    "Status",
    "TableCost",
    "TotalLogPercentileShift",
    "WeightedL1",
    "WeightedL2",
    "__version__",
    "solve",
]
