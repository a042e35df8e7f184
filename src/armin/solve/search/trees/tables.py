"""A tree ensemble over finite options, as bit masks: one bit per leaf.

For a set of options of one feature, the mask of a tree has the bits of the leaves that these
options still reach. Leaves are numbered by falling value, so the best reachable leaf of a tree is
the lowest bit of the AND of its features' masks. Values are whole numbers (fixed point), so sums
do not depend on their order; a tolerance covers the rounding of the library's own sum. Leaves
that cannot be reached within the budget and the number of changes get no bit at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.compiling import entry_bare
from armin.models.kinds import Above, TreeEnsemble
from armin.solve.search.trees.cells import Common
from armin.solve.search.trees.data import ALL, COST, COUNT, KEPT, MASK, Exact, Shape, Trees
from armin.solve.search.trees.leaves import Leaves, Reduced, Slots, assign_bits, find_leaves, make_slots
from armin.solve.search.ways import rows_of
from armin.solve.search.words import Bits, Ints, lowest_bit

__all__ = ["TreeSearch", "build_tables"]


@dataclass(frozen=True)
class TreeSearch:
    """Tables for the kernels, and what Python needs to read the answer."""

    tables: Trees
    exact: Exact
    common_feature: list[int]
    local_feature: list[int]
    option: IntArray  # option index of each entry of ``costs``
    local_option: list[IntArray]


def build_tables(reduced: Reduced, cap: float = np.inf) -> TreeSearch:
    """All tables for choices that cost less than ``cap``."""
    problem, model = reduced.problem, reduced.model
    slots = make_slots(reduced, cap)
    leaves = find_leaves(reduced, slots, cap)
    coefficients, cuts, way, _ = rows_of(model.decision)
    exact = np.ascontiguousarray(model.value.astype(model.precision), dtype=np.float64)
    base = model.base.astype(model.precision).astype(np.float64)
    n_rows, n_trees = cuts.size, model.n_trees
    own = _own(reduced, leaves)
    virtual, part = _layout(own, np.diff(leaves.tree), n_rows)
    start, slack, scale = _fixed_point(model, coefficients, cuts, exact, base, leaves)
    scores = np.ascontiguousarray(coefficients @ exact[leaves.node].T)
    values, leaf, cell_masks, valid, _ = assign_bits(scores, scale, leaves, virtual, part, slots.first)
    commons, order = _by_importance(reduced, slots, cell_masks, valid, part, values)
    sizes, options, costs, singles, keep = _sides(commons, order, slots, cell_masks, cap)
    levels = max(1, len(commons).bit_length())
    side_levels = np.array([[int(s).bit_length() for s in row] for row in sizes], dtype=np.int64).reshape(-1, 2)
    reach_at = KEPT + levels * len(commons)
    sides = np.stack([reach_at + _starts(sizes * side_levels), sizes, _starts(sizes)], axis=2)
    masks = np.zeros((reach_at + int((sizes * side_levels).sum()), valid.size), dtype=np.uint64)
    _fill_masks(valid, keep, singles, sides, masks)
    n_own = int(own.sum())
    own_word = int(part[n_rows * (n_trees - n_own)])
    shape = Shape(
        shared=n_trees - n_own,
        own=n_own,
        common=len(commons),
        local=len(reduced.locals_),
        limit=problem.limit,
        is_max=problem.aggregate == "max",
        own_word=own_word,
        total=float(problem.weights.sum()),
    )
    local_cell, local_part, local_cost, local_masks = _local_tables(reduced, slots, cell_masks, own_word)
    owes_at, owes, owes_cost = _owed(slots, leaves, order, leaf)
    tables = Trees(
        shape=shape,
        part=part,
        values=values,
        rows=np.stack([start, slack, way.astype(np.int64)]),
        masks=masks,
        sides=sides,
        costs=costs,
        local_cell=local_cell,
        local_part=local_part,
        local_cost=local_cost,
        cell_masks=local_masks,
        weight=reduced.weight,
        bit=np.array([*(f.feature for f in commons), *(f.feature for f in reduced.locals_)], dtype=np.int64),
        owes_at=owes_at,
        owes=owes,
        owes_cost=owes_cost,
    )
    return TreeSearch(
        tables,
        _exact_tables(model, leaf, exact, virtual[0].copy(), base),
        [f.feature for f in commons],
        [f.feature for f in reduced.locals_],
        options,
        [f.option for f in reduced.locals_],
    )


def _own(reduced: Reduced, leaves: Leaves) -> BoolArray:
    """Trees with a split on a column in which candidates differ."""
    local = (leaves.slot >= len(reduced.commons)) & (leaves.slot < len(reduced.commons) + len(reduced.locals_))
    leaf = np.searchsorted(leaves.start, np.flatnonzero(local), side="right") - 1
    own = np.zeros(reduced.model.n_trees, dtype=bool)
    own[np.searchsorted(leaves.tree, leaf, side="right") - 1] = True
    return own


def _layout(own: BoolArray, leaves: NDArray[np.int64], n_rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Virtual trees (rows, trees), shared ones first, and the first word of each."""
    n_own = int(own.sum())
    n_shared = own.size - n_own
    place = np.empty(own.size, dtype=np.int64)
    place[~own] = np.arange(n_shared)
    place[own] = n_rows * n_shared + np.arange(n_own)
    virtual = place[None, :] + np.arange(n_rows)[:, None] * np.where(own, n_own, n_shared)[None, :]
    words = np.zeros(virtual.size + 1, dtype=np.int64)
    words[virtual.ravel() + 1] = np.tile((leaves + 63) // 64, n_rows)
    return virtual, np.cumsum(words)


def _fixed_point(
    model: TreeEnsemble,
    coefficients: FloatArray,
    cuts: FloatArray,
    exact: FloatArray,
    base: FloatArray,
    leaves: Leaves,
) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
    """Base minus cut, and what rounding may hide, as whole numbers; the scale of each row."""
    largest = np.maximum.reduceat(np.abs(exact[leaves.node]), leaves.tree[:-1], axis=0).sum(axis=0) + np.abs(base)
    offset = coefficients @ base - cuts * model.divisor
    size = np.abs(coefficients) @ largest + np.abs(cuts * model.divisor)
    scale = 2.0**52 / np.maximum(size, 2.0**-900)
    start = np.rint(offset * scale).astype(np.int64)
    # a sum of T terms in this precision is off by at most about T * eps * (sum of sizes)
    error = 4 * (model.n_trees + 4) * float(np.finfo(model.precision).eps) * size
    # within the blur only the decision itself can tell
    error = error + np.minimum(model.decision.blur * model.divisor, 4.0 * size)
    slack = np.ceil(error * scale).astype(np.int64) + model.n_trees + 4
    return start, slack, scale


def _by_importance(
    reduced: Reduced, slots: Slots, masks: Bits, valid: Bits, part: NDArray[np.int64], values: NDArray[np.int64]
) -> tuple[list[Common], list[int]]:
    """Features whose change alone, or whose loss, moves the score most come first."""
    count = len(reduced.commons)
    free = np.array(
        [np.bitwise_or.reduce(masks[a:b], axis=0) for a, b in zip(slots.first, slots.first[1:], strict=False)]
    )
    base = valid & np.bitwise_and.reduce(free[count:], axis=0)
    gain = np.zeros(count)
    _importance(masks[slots.first[:count]], free[:count], base, part, values, gain)
    order = [int(i) for i in np.argsort(-gain, kind="stable")]
    return [reduced.commons[i] for i in order], order


def _sides(
    commons: list[Common], order: list[int], slots: Slots, masks: Bits, cap: float
) -> tuple[NDArray[np.int64], IntArray, FloatArray, Bits, Bits]:
    """For each side of each feature the options below the budget, their costs and masks; and the masks of keep."""
    sizes = np.zeros((len(commons), 2), dtype=np.int64)
    options, costs = [np.zeros(0, dtype=np.intp)], [np.zeros(0)]
    rows, keep = [np.zeros(0, dtype=np.int64)], np.zeros(len(commons), dtype=np.int64)
    for i, (feature, slot) in enumerate(zip(commons, order, strict=True)):
        row_of = np.zeros(feature.cells.goes.shape[0], dtype=np.int64)
        row_of[slots.order[slot]] = slots.first[slot] + np.arange(slots.order[slot].size)
        keep[i] = row_of[feature.cells.cell[0]]
        for j, side in enumerate(feature.sides):
            side = side[feature.costs[side] < cap]
            sizes[i, j] = side.size
            options.append(side)
            costs.append(feature.costs[side])
            rows.append(row_of[feature.cells.cell[side]])
    return sizes, np.concatenate(options), np.concatenate(costs), masks[np.concatenate(rows)], masks[keep]


def _starts(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    flat = sizes.ravel()
    return (np.cumsum(flat) - flat).reshape(sizes.shape)


def _local_tables(
    reduced: Reduced, slots: Slots, masks: Bits, own_word: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], FloatArray, Bits]:
    locals_ = reduced.locals_
    width = max([1, *(f.option.size for f in locals_)])
    cell = np.zeros((len(locals_), width, reduced.first.size), dtype=np.int32)
    cost = np.zeros((len(locals_), width))
    part = np.zeros((len(locals_), 3), dtype=np.int64)
    rows = [np.zeros(0, dtype=np.int64)]
    used = 0
    for i, local in enumerate(locals_):
        slot = len(reduced.commons) + i
        order = slots.order[slot]
        number = np.full(local.cells.goes.shape[0], -1, dtype=np.int64)
        number[order] = np.arange(order.size)
        cell[i, : local.option.size] = number[local.cell[:, local.sort[reduced.first]]]
        cost[i, : local.option.size] = local.cost
        part[i] = used, local.option.size, order.size
        rows.append(slots.first[slot] + np.arange(order.size))
        used += order.size
    return cell, part, cost, np.ascontiguousarray(masks[np.concatenate(rows), own_word:])


def _owed(
    slots: Slots, leaves: Leaves, order: list[int], leaf: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
    """For each leaf the common features that cannot be kept on the way there, and the least cost of each.

    Cells are by cost, that of "keep" first: a feature must change where the first bit of its entry is not set, and
    costs what its lowest bit costs. Each list begins with its length.
    """
    place = np.full(slots.first.size - 1, -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    must = np.flatnonzero((place[leaves.slot] >= 0) & ((leaves.bits[:, 0] & np.uint64(1)) == 0))
    bits, slot = leaves.bits[must], leaves.slot[must]
    word = np.argmax(bits != 0, axis=1)
    some = bits[np.arange(must.size), word]
    low = np.log2((some & (~some + np.uint64(1))).astype(np.float64)).astype(np.int64)  # powers of two: exact
    cost = slots.cost[slots.first[slot] + 64 * word + low]
    of = np.searchsorted(leaves.start, must, side="right") - 1
    count = np.bincount(of, minlength=leaves.node.size)
    first = np.cumsum(count + 1) - count - 1
    at = np.arange(must.size) + of + 1
    owes, prices = np.zeros(must.size + leaves.node.size, np.int64), np.zeros(must.size + leaves.node.size)
    owes[first], owes[at], prices[at] = count, place[slot], cost
    by_node = np.zeros(int(leaves.node.max(initial=0)) + 1, np.int64)
    by_node[leaves.node] = first
    return by_node[leaf], owes, prices


def _exact_tables(
    model: TreeEnsemble, leaf: NDArray[np.int64], exact: FloatArray, tree_at: NDArray[np.int64], base: FloatArray
) -> Exact:
    decision = model.decision
    accepted = np.zeros(0 if isinstance(decision, Above) else decision.n_outputs, dtype=bool)
    if not isinstance(decision, Above):
        accepted[list(decision.accepted)] = True
    cut = float(decision.cut) if isinstance(decision, Above) else 0.0
    single = model.precision == "float32"
    return Exact(
        leaf, exact, tree_at, base, accepted, cut, float(model.divisor), single, bool(model.base_last),
        np.zeros(base.size), np.zeros(base.size, dtype=np.float32),
    )  # fmt: skip


@entry_bare
def _fill_masks(valid: Bits, keep: Bits, singles: Bits, sides: Ints, out: Bits) -> None:  # pragma: no cover - compiled
    """Row 0: nothing. Row 1: all leaves. Then sparse tables: level k joins 2^k rows, so two rows join any range.

    Level k + 1 of kept features d is row[k, d] AND row[k, d + 2^k]; of the options of a side, the same with OR.
    """
    count, width = keep.shape
    for w in range(width):
        out[ALL, w] = valid[w]
        for i in range(count):
            out[KEPT + i, w] = keep[i, w]
    step, row = 1, KEPT
    while 2 * step <= count:
        for i in range(count - 2 * step + 1):
            for w in range(width):
                out[row + count + i, w] = out[row + i, w] & out[row + i + step, w]
        step *= 2
        row += count
    for d in range(count):
        for side in range(2):
            row, size, at = sides[d, side, MASK], sides[d, side, COUNT], sides[d, side, COST]
            for i in range(size):
                for w in range(width):
                    out[row + i, w] = singles[at + i, w]
            step = 1
            while 2 * step <= size:
                for i in range(size - 2 * step + 1):
                    for w in range(width):
                        out[row + size + i, w] = out[row + i, w] | out[row + i + step, w]
                step *= 2
                row += size


@entry_bare
def _importance(
    keep: Bits, free: Bits, base: Bits, part: Ints, values: Ints, gain: FloatArray
) -> None:  # pragma: no cover - compiled
    """How much feature d moves the bound: S(d free, others kept) - S(all kept) + S(all free) - S(d kept, others free).

    S is the sum over the trees of the best leaf that the masks leave. Only the order of the search depends on it.
    """
    count = keep.shape[0]
    for d in range(count):
        for v in range(part.size - 1):
            alone_done, without_done, every_done, none_done = False, False, False, False
            moved = 0
            for w in range(part[v], part[v + 1]):
                alone, without, every, none = base[w], base[w], base[w], base[w]
                for b in range(count):
                    alone &= free[b, w] if b == d else keep[b, w]
                    without &= keep[b, w] if b == d else free[b, w]
                    every &= free[b, w]
                    none &= keep[b, w]
                if alone != 0 and not alone_done:
                    moved, alone_done = moved + values[w, lowest_bit(alone)], True
                if without != 0 and not without_done:
                    moved, without_done = moved - values[w, lowest_bit(without)], True
                if every != 0 and not every_done:
                    moved, every_done = moved + values[w, lowest_bit(every)], True
                if none != 0 and not none_done:
                    moved, none_done = moved - values[w, lowest_bit(none)], True
            gain[d] += moved
