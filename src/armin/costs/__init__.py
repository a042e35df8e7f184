"""What a change costs. Each cost fills a table aligned with the options of a feature.

The cost of an action is the mean over the candidates of the sum over the features of their tables
(the largest instead of the sum for :class:`MaxPercentileShift`). Numbers, ordered and unordered
categories are on one scale, so that no kind of feature is cheap by accident. A new cost is a subclass of
:class:`BaseCost` in a file of its own; :data:`COSTS` knows them all by name.

>>> import numpy as np
>>> import pandas as pd
>>> from armin.schema import Schema
>>> frame = pd.DataFrame({"income": range(10, 110)})
>>> schema = Schema.infer(frame)
>>> cost = TotalLogPercentileShift().fit(schema.encode(frame), schema)
>>> table = cost.table(0, np.array([20.0]), np.array([[20.0, 40.0, 105.0]]))
>>> table.round(2).tolist()
[[0.0, 0.25, 2.94]]
"""

from armin.costs.base import COSTS, BaseCost, Cost
from armin.costs.counts import NumberOfChanges
from armin.costs.distribution import Distribution
from armin.costs.own import CustomCost, TableCost, as_cost
from armin.costs.percentile import MaxPercentileShift, TotalLogPercentileShift
from armin.costs.personal import PersonalCost, personal
from armin.costs.published import PublishedL1, PublishedPercentileShift
from armin.costs.weighted import WeightedL1, WeightedL2

__all__ = [
    "COSTS",
    "BaseCost",
    "Cost",
    "CustomCost",
    "Distribution",
    "MaxPercentileShift",
    "NumberOfChanges",
    "PersonalCost",
    "PublishedL1",
    "PublishedPercentileShift",
    "TableCost",
    "TotalLogPercentileShift",
    "WeightedL1",
    "WeightedL2",
    "as_cost",
    "personal",
]
