"""The arrays that the compiled search over linear models works on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from armin.arrays import BoolArray, FloatArray
from armin.solve.search.handed import space
from armin.solve.search.words import Bits, Ints

__all__ = ["Context", "Demand", "Written", "new_work"]

DEPTH, NODES, FOUND, FORCED, LIMIT, IS_MAX, PLAIN = range(7)
"""Entries of ``Written.counter``: depth of the search (-1: done), nodes, changes of the best choice (-1: none), forced
blocks, changes allowed, whether costs combine by max, whether choices that are surely accepted need no other check."""

CAP, LEAST, SURE, PRICE, BOUND, NEED = range(6)
"""Entries of ``Written.number``: budget, gain that may do, gain that surely does, price of gain, bound on the cost,
weight that must be accepted."""


class Context(NamedTuple):
    """One combination of patterns: options with gains, by feature and cost, and the scores that must be lifted.

    A *block* is a feature that can change here. Block b has the options ``start[b] .. start[b + 1] - 1``, by rising
    cost; option o adds ``gain[o, r]`` to row r of every candidate's ``score``, for ``cost[o]``.
    """

    features: Ints  # (blocks,)
    start: Ints  # (blocks + 1,) into the flat arrays
    option: Ints
    gain: FloatArray  # (options, rows)
    cost: FloatArray
    forced: BoolArray  # (blocks,) whether one of the options must be taken
    score: FloatArray  # (N, rows)
    doubt: float
    """What rounding may hide in a sum of scores and gains."""


class Demand(NamedTuple):
    """Who must be convinced, and how: all rows of some way must not be negative."""

    way: Ints  # (rows,) ascending
    weight: FloatArray  # (N,)
    total: float


class Written(NamedTuple):
    """What the search writes."""

    counter: Ints
    number: FloatArray
    rank: Ints  # (blocks,) blocks in the order of the search
    worth: FloatArray  # (blocks,) of the best option at the price
    reach: FloatArray  # (blocks,) gain of the best option at the price
    key: FloatArray  # (blocks,) to sort by
    size: Ints  # (blocks,) options below the budget, or corners of the hull
    sorted: Ints  # (options,) those options of each block, the best at the price first; or those corners
    value: FloatArray  # (options,) to sort by
    worths: FloatArray  # (blocks + 1, limit + 1) most worth from a block of the order on with so many changes left
    gains: FloatArray  # (blocks + 1, limit + 1, rows) most gain
    most: FloatArray  # (rows,) most gain of one block
    block: Ints  # (depth,) of the present node
    entry: Ints
    spent: FloatArray
    lifted: FloatArray  # (depth, rows)
    changed: Bits  # (depth, .) sets of features
    best: NDArray[np.int64]  # (depth,) options of the best choice


def new_work(context: Context, features: int, limit: int, is_max: bool) -> tuple[Written, Written]:
    """Working space for a context of a problem with so many features and changes: for Python, and compiled code."""
    blocks, options, n_rows = context.features.size, context.cost.size, context.gain.shape[1]
    depth, width = limit + 2, max(1, (features + 63) // 64)
    work, handed = space(
        Written,
        {
            "counter": (np.int64, (7,)),
            "number": (np.float64, (6,)),
            "rank": (np.int64, (blocks,)),
            "worth": (np.float64, (blocks,)),
            "reach": (np.float64, (blocks,)),
            "key": (np.float64, (blocks,)),
            "size": (np.int64, (blocks,)),
            "sorted": (np.int64, (options,)),
            "value": (np.float64, (options,)),
            "worths": (np.float64, (blocks + 1, limit + 1)),
            "gains": (np.float64, (blocks + 1, limit + 1, n_rows)),
            "most": (np.float64, (n_rows,)),
            "block": (np.int64, (depth,)),
            "entry": (np.int64, (depth,)),
            "spent": (np.float64, (depth,)),
            "lifted": (np.float64, (depth, n_rows)),
            "changed": (np.uint64, (depth, width)),
            "best": (np.int64, (depth,)),
        },
    )
    work.counter[DEPTH], work.counter[FOUND] = -1, -1
    work.counter[FORCED], work.counter[LIMIT], work.counter[IS_MAX] = int(context.forced.sum()), limit, is_max
    work.number[CAP] = np.inf
    return work, handed
