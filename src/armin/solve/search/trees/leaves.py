"""The leaves of a tree ensemble that a problem's options can reach, each with one bit.

A leaf is the AND of one set of cells for each feature on its path. Leaves that no choice within the
budget and the number of changes reaches are left out: in a large forest that is most of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.compiling import called, entry_bare
from armin.models.kinds import TreeEnsemble
from armin.problem import Problem
from armin.solve.search.trees.cells import (
    Cells,
    Common,
    Local,
    Ranked,
    Splits,
    merge_rows,
    number_tests,
    split_features,
)
from armin.solve.search.words import Bits, Ints, lowest_bit, sort_by

__all__ = ["Leaves", "Reduced", "Slots", "assign_bits", "find_leaves", "make_slots", "reduce_problem"]


@dataclass(frozen=True)
class Reduced:
    """A problem with its options merged into cells: what does not depend on the budget."""

    problem: Problem
    model: TreeEnsemble
    tests: Splits
    commons: list[Common]
    locals_: list[Local]
    first: IntArray  # (N',) a candidate of each group of equal ones
    weight: FloatArray  # (N',)
    constant: Cells  # the tests on columns that neither change nor differ


@dataclass(frozen=True)
class Slots:
    """Features as the trees see them: cells by cost, those of "keep" first; only cells below the budget."""

    order: list[IntArray]  # cells of each slot, in the order of their bits
    first: NDArray[np.int64]  # (slots + 1,) into the flat arrays of cells
    cost: FloatArray  # (cells,)
    kept: BoolArray  # (cells,)
    test_slot: NDArray[np.int64]  # (tests,)
    test_bits: Bits  # (tests, 2, W) cells that go left, and right


class Leaves(NamedTuple):
    """The leaves within a budget, tree by tree, and for each the cells that lead there."""

    node: NDArray[np.int64]  # (leaves,)
    start: NDArray[np.int64]  # (leaves + 1,) into the entries
    slot: NDArray[np.int64]  # (entries,)
    bits: Bits  # (entries, W)
    tree: NDArray[np.int64]  # (trees + 1,) into the leaves


class _Path(NamedTuple):
    """Where a walk through the trees is, and how it came there."""

    bits: Bits  # (slots, W) cells that pass all splits so far
    saved: Bits  # (depth, W)
    node: Ints  # (depth,)
    phase: Ints  # (depth,)
    lowest: Ints  # (slots,)
    touched: Ints  # (slots,)


class _Walk(NamedTuple):
    """The trees as splits on cells, and what a choice may cost and change."""

    roots: IntArray
    left: IntArray
    right: IntArray
    test_of: Ints  # (nodes,) -1 in a leaf
    slot_of: Ints  # (tests,)
    test_bits: Bits  # (tests, 2, W)
    first: Ints  # (slots + 1,)
    cost: FloatArray  # (cells,)
    kept: BoolArray  # (cells,)
    cap: float
    limit: int
    is_max: bool


def reduce_problem(problem: Problem, model: TreeEnsemble, apart: bool = False, tests: Splits | None = None) -> Reduced:
    """Merge options into cells, and candidates that no option tells apart.

    With ``apart``, changes without effect stay, as they do where sets of features are ruled out. ``tests`` are those
    of the model, if left out.
    """
    tests = number_tests(model) if tests is None else tests
    commons, locals_ = split_features(problem, model, tests, apart or bool(problem.forbidden_sets))
    sorts = [np.zeros(problem.n_candidates, np.int64), *(f.sort for f in locals_)]
    first, group = merge_rows(np.stack(sorts, axis=1).astype(np.int64))
    done = np.zeros(tests.node.size, dtype=bool)
    for cells in [*(f.cells for f in commons), *(f.cells for f in locals_)]:
        done[cells.tests] = True
    rest = np.flatnonzero(~done)
    nodes = tests.node[rest]
    goes = model.goes_left(nodes, problem.candidates[0, model.feature[nodes]])
    constant = Cells(rest, goes[None, :], np.zeros(1, np.intp))
    weight = np.bincount(group, weights=problem.weights).astype(np.float64)
    return Reduced(problem, model, tests, commons, locals_, first, weight, constant)


def make_slots(reduced: Reduced, cap: float) -> Slots:
    """The slots of a problem for choices that cost less than ``cap``; the last one holds what never changes."""
    features: list[Common | Local] = [*reduced.commons, *reduced.locals_]
    ranked, still = [feature.ranked.below(cap) for feature in features], reduced.constant
    ranked.append(Ranked(np.zeros(1, np.intp), still.goes, np.zeros(1), np.ones(1, dtype=bool)))
    width = (max(one.order.size for one in ranked) + 63) // 64
    n_tests = reduced.tests.node.size
    test_slot = np.zeros(n_tests, dtype=np.int64)
    test_bits = np.zeros((n_tests, 2, width), dtype=np.uint64)
    every = [*(feature.cells for feature in features), still]
    for slot, (one, cells) in enumerate(zip(ranked, every, strict=True)):
        test_slot[cells.tests] = slot
        _pack(one.goes, cells.tests, test_bits)
    first = np.cumsum([0, *(one.order.size for one in ranked)])
    cost, kept = np.concatenate([one.cost for one in ranked]), np.concatenate([one.kept for one in ranked])
    return Slots([one.order for one in ranked], first, cost, kept, test_slot, test_bits)


@entry_bare
def _pack(goes: BoolArray, tests: IntArray, bits: Bits) -> None:  # pragma: no cover - compiled
    """Bit c of ``bits[test, 0]`` where cell c goes left, else of ``bits[test, 1]``."""
    for c in range(goes.shape[0]):
        bit = np.uint64(1) << np.uint64(c % 64)
        for k in range(tests.size):
            bits[tests[k], 0 if goes[c, k] else 1, c // 64] |= bit


def find_leaves(reduced: Reduced, slots: Slots, cap: float) -> Leaves:
    """Walk every tree to the leaves that a choice below ``cap`` can reach: once to count them, once to note them."""
    model, problem = reduced.model, reduced.problem
    walk = _Walk(
        np.ascontiguousarray(model.roots, dtype=np.int64),
        np.ascontiguousarray(model.left, dtype=np.int64),
        np.ascontiguousarray(model.right, dtype=np.int64),
        reduced.tests.of_node,
        slots.test_slot,
        slots.test_bits,
        slots.first,
        slots.cost,
        slots.kept,
        cap,
        problem.limit,
        problem.aggregate == "max",
    )
    depth, width, size = model.feature.size + 1, slots.test_bits.shape[2], slots.first.size - 1
    path = _Path(
        bits=np.zeros((size, width), dtype=np.uint64),
        saved=np.zeros((depth, width), dtype=np.uint64),
        node=np.zeros(depth, dtype=np.int64),
        phase=np.zeros(depth, dtype=np.int64),
        lowest=np.zeros(size, dtype=np.int64),
        touched=np.zeros(size, dtype=np.int64),
    )
    leaves, entries = _reach(walk, path, _new_leaves(walk, 0, 0), False)
    out = _new_leaves(walk, leaves, entries)
    _reach(walk, path, out, True)
    return out


def _new_leaves(walk: _Walk, leaves: int, entries: int) -> Leaves:
    return Leaves(
        node=np.zeros(leaves, dtype=np.int64),
        start=np.zeros(leaves + 1, dtype=np.int64),
        slot=np.zeros(entries, dtype=np.int64),
        bits=np.zeros((entries, walk.test_bits.shape[2]), dtype=np.uint64),
        tree=np.zeros(walk.roots.size + 1, dtype=np.int64),
    )


@entry_bare
def _reach(walk: _Walk, path: _Path, out: Leaves, fill: bool) -> tuple[int, int]:  # pragma: no cover - compiled
    """Walk every tree to the leaves within the budget; note for each which cells of which slots lead there.

    On the way down, ``bits[s]`` holds the cells of slot s that pass all splits so far. Cells are by cost, those of
    "keep" first, so the lowest bit is the cheapest way through; a branch is left where the cheapest ways of all slots
    together change too much or cost too much. Returns the number of leaves, and of their (leaf, slot) entries.
    """
    first, test_bits = walk.first, walk.test_bits
    slots, width = first.size - 1, test_bits.shape[2]
    bits, saved, node_at, phase_at = path.bits, path.saved, path.node, path.phase
    lowest, touched = path.lowest, path.touched
    for s in range(slots):
        touched[s] = 0
        for c in range(first[s + 1] - first[s]):
            bits[s, c // 64] |= np.uint64(1) << np.uint64(c % 64)
    leaves, entries = 0, 0
    for t in range(walk.roots.size):
        out.tree[t] = leaves
        level = 0
        node_at[0], phase_at[0] = walk.roots[t], 0
        while level >= 0:
            node, phase = node_at[level], phase_at[level]
            test = walk.test_of[node]
            if test < 0:
                if fill:
                    out.node[leaves] = node
                    out.start[leaves] = entries
                for s in range(slots):
                    if touched[s] > 0:
                        if fill:
                            out.slot[entries] = s
                            for w in range(width):
                                out.bits[entries, w] = bits[s, w]
                        entries += 1
                leaves += 1
                level -= 1
                continue
            s = walk.slot_of[test]
            if phase == 0:
                touched[s] += 1
                for w in range(width):
                    saved[level, w] = bits[s, w]
            else:
                for w in range(width):
                    bits[s, w] = saved[level, w]
                lowest[s] = _first_bit(bits[s])
            if phase == 2:
                touched[s] -= 1
                level -= 1
                continue
            phase_at[level] = phase + 1
            for w in range(width):
                bits[s, w] &= test_bits[test, phase, w]
            lowest[s] = _first_bit(bits[s])
            if lowest[s] >= 0 and _affordable(walk, lowest, touched):
                level += 1
                node_at[level] = walk.left[node] if phase == 0 else walk.right[node]
                phase_at[level] = 0
    out.tree[walk.roots.size] = leaves
    if fill:
        out.start[leaves] = entries
    return leaves, entries


@called
def _first_bit(bits: Bits) -> int:  # pragma: no cover - compiled
    """The lowest bit of several words; -1 if none."""
    for w in range(bits.size):
        if bits[w] != 0:
            return 64 * w + int(lowest_bit(bits[w]))
    return -1


@called
def _affordable(walk: _Walk, lowest: Ints, touched: Ints) -> bool:  # pragma: no cover - compiled
    """Whether the cheapest cells left of the slots on the path respect the budget and the number of changes.

    Each slot pays for its own cheapest cell, so no choice that comes here changes or costs less.
    """
    changes, total = 0, 0.0
    for s in range(touched.size):
        at = walk.first[s] + lowest[s]
        if touched[s] > 0 and not walk.kept[at]:
            changes += 1
            total += walk.cost[at]
    return changes <= walk.limit and (walk.is_max or total * (1 - 1e-12) < walk.cap)


class Assigned(NamedTuple):
    """The leaves by their bits."""

    values: Ints  # (words, 64) round(score * scale)
    leaf: Ints  # (words, 64)
    masks: Bits  # (cells, words)
    valid: Bits  # (words,) the bits of all leaves
    rank: Ints  # (leaves,) working space


def assign_bits(
    scores: FloatArray, scale: FloatArray, leaves: Leaves, virtual: Ints, part: Ints, first: Ints
) -> Assigned:
    """Give each leaf a bit, by falling value, and clear it in the masks of cells that do not lead there."""
    words = int(part[-1])
    out = Assigned(
        values=np.zeros((words, 64), dtype=np.int64),
        leaf=np.zeros((words, 64), dtype=np.int64),
        masks=np.full((int(first[-1]), words), ~np.uint64(0)),
        valid=np.zeros(words, dtype=np.uint64),
        rank=np.zeros(leaves.node.size, dtype=np.int64),
    )
    _assign(scores, scale, leaves, virtual, part, first, out)
    return out


@entry_bare
def _assign(
    scores: FloatArray, scale: FloatArray, leaves: Leaves, virtual: Ints, part: Ints, first: Ints, out: Assigned
) -> None:  # pragma: no cover - compiled
    """Fill ``out``."""
    n_rows, n_trees = virtual.shape
    values, leaf, masks, valid, rank = out.values, out.leaf, out.masks, out.valid, out.rank
    for r in range(n_rows):
        for t in range(n_trees):
            low, high = leaves.tree[t], leaves.tree[t + 1]
            for k in range(low, high):
                rank[k] = k
            sort_by(rank[low:high], scores[r])
            for k in range(high - low):
                item = rank[high - 1 - k]
                w = part[virtual[r, t]] + k // 64
                bit = np.uint64(1) << np.uint64(k % 64)
                valid[w] |= bit
                values[w, k % 64] = np.int64(np.rint(scores[r, item] * scale[r]))
                leaf[w, k % 64] = leaves.node[item]
                for e in range(leaves.start[item], leaves.start[item + 1]):
                    at = first[leaves.slot[e]]
                    for c in range(first[leaves.slot[e] + 1] - at):
                        if not (leaves.bits[e, c // 64] >> np.uint64(c % 64)) & np.uint64(1):
                            masks[at + c, w] &= ~bit
