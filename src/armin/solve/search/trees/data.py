"""The arrays that the compiled search over tree ensembles works on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from armin.arrays import BoolArray, FloatArray
from armin.solve.search.words import Bits, Ints

__all__ = ["Exact", "Node", "Shape", "State", "Trees"]

Node = NDArray[np.int64]
"""Kind, next feature, number of features that change; the option of each local feature; then for each common feature
that changes: which one, its side, first and last option of a range."""

KIND, NEXT, CHANGED, HEAD = range(4)
"""Entries of a node; local options begin at ``HEAD``."""

FEATURE, SIDE, LOW, HIGH, ENTRY = range(5)
"""Entries of a common feature in a node, and their number."""

BOTH = 2
"""As a side: neither has been chosen yet."""

MASK, COUNT, COST = range(3)
"""Entries of ``Trees.sides`` and ``Trees.local_part``: first row of masks, number of options, first cost (for a local
feature: number of cells)."""

START, SLACK, WAY = range(3)
"""Rows of ``Trees.rows``."""

NONE, ALL, KEPT = range(3)
"""Rows of ``Trees.masks``: nothing, all leaves, and where the masks of kept features begin."""

TOP, NODES, GROUPS, CHANGES, TOUCHED, PLAIN, TRIED, CUT, ENTERED = range(9)
"""Entries of ``State.counter``: open nodes, nodes visited, groups of the present context, how many features it changes,
how many entries of ``State.touched`` count, up to how many nodes the plain bound has to do, how often the other one
was tried on a box of late, and cut it off; and the groups of all contexts so far."""

CAP, PROVED, STAGE, CONTEXT = range(4)
"""Entries of ``State.number``: budget, cost below which all is known, budget at the start of the stage, cost of the
present context."""

UNIONS = 3
"""Masks of several groups together, which come first in ``State.mask``."""

OPEN = -1.0
"""As a cost in ``State.reference``: the feature is kept, or changes."""

PURSE = 8
"""Levels of what is spent beyond a reference."""

LEVELS = 16
"""Levels of what may still be spent."""


class Shape(NamedTuple):
    """Sizes and switches."""

    shared: int  # trees without a split on a column in which candidates differ
    own: int  # trees with one
    common: int  # features that do the same to all candidates
    local: int  # features that do not
    limit: int  # changes allowed
    is_max: bool  # whether costs combine by max
    own_word: int  # first word of the own trees
    total: float  # weight of all candidates


class Trees(NamedTuple):
    """What the search reads. V = rows * trees "virtual" trees; trees that all candidates share come first."""

    shape: Shape
    part: Ints  # (V + 1,) first word of each virtual tree
    values: Ints  # (words, 64) leaf values, fixed point, falling within a tree
    rows: Ints  # (3, rows): base minus cut, what rounding may hide, which way of being accepted
    masks: Bits  # (., words): none; all; AND of 2^k kept features; OR of 2^k options of each side
    sides: Ints  # (D, 2, 3): first row in ``masks``, number of options, first entry in ``costs``
    costs: FloatArray  # of the options of each side, rising
    local_cell: NDArray[np.int32]  # (F, J, N') cell of each candidate after each option
    local_part: Ints  # (F, 3): first row in ``cell_masks``, number of options, number of cells
    local_cost: FloatArray  # (F, J)
    cell_masks: Bits  # (cells, words of own trees)
    weight: FloatArray  # (N',) of merged candidates
    bit: Ints  # (D + F,) position of common and local features in the problem; -1: none
    owes_at: Ints  # (words, 64) where the list of a leaf begins in ``owes``
    owes: Ints  # for each leaf, how many common features must change for it, and which
    owes_cost: FloatArray  # what each of them costs at least


class Exact(NamedTuple):
    """What the model's own sum needs, in its order and precision."""

    leaf: Ints  # (words, 64) node of each bit
    value: FloatArray  # (nodes, C)
    tree_at: Ints  # (trees,) virtual tree of row 0
    base: FloatArray  # (C,)
    accepted: BoolArray  # (C,) accepted outputs of Among; empty for Above
    cut: float
    divisor: float
    single: bool  # float32 sums
    base_last: bool
    out: FloatArray  # (C,) working space
    single_out: NDArray[np.float32]


class State(NamedTuple):
    """What the search writes: a stack of open nodes and the present context."""

    stack: Ints  # (depth, entries of a node)
    counter: Ints
    number: FloatArray
    weight: FloatArray  # of the groups of this context
    mask: Bits  # (UNIONS + groups, words of own trees)
    work: Bits  # (words,) leaves that the node at hand can reach
    sums: Ints  # (rows,)
    slot: NDArray[np.int32]  # a hash table
    rest: Bits  # (LEVELS, D + 1, words) see ``free_rest``
    reference: FloatArray  # (D,) what the cheapest choice of a node pays, see ``shares``; OPEN: kept, or not
    listed: Ints  # (leaves of a tree,) those that ask for something
    worth: FloatArray  # (2, leaves of a tree) their value, and how much they ask for
    touched: Ints  # (D,) features that a tree asks for
    share: FloatArray  # (D, PURSE + 1) their best shares by spending; whether they are touched
    gain: FloatArray  # (2, rows, D, PURSE) the sums of shares over shared trees, and over all for one union
    base: FloatArray  # (2, rows) the sums of the leaves that ask for nothing, likewise
    purse: FloatArray  # (rows, K + 1, PURSE) a knapsack
    hope: BoolArray  # (D,) whether a set may take the feature in
    changed: Bits  # a set of features
    key: Ints  # (N',) the cells of a candidate as one number
    first: Ints  # (N',) a candidate of each group
    rank: Ints  # (N',) groups by score
    total: FloatArray  # (N',) weight of each group
    score: FloatArray  # (N',) of each group
    masks: Bits  # (N', words of own trees) of each group
