"""Tables of a tree ensemble in which no tree asks about more than two features.

Such a model (an explainable boosting machine, stumps) is a sum of tables over the cells of one feature or
of two. Trees over the same features are added up, in fixed point, so that their order does not matter; the values of
each tree stay beside them, for the model's own sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from armin.arrays import FloatArray, IntArray
from armin.compiling import called, entry_bare
from armin.models.kinds import Above, TreeEnsemble
from armin.solve.search.trees.cells import Common, Local, Splits
from armin.solve.search.trees.leaves import Reduced
from armin.solve.search.trees.nearby import shape_of
from armin.solve.search.ways import rows_of
from armin.solve.search.words import Bits, Ints, lowest_bit

__all__ = ["Additive", "Sums", "Tabulated", "add_up"]

_MOST_ENTRIES = 1_000_000  # of all tables together
_MOST_CHANGES = 64  # sums of gains must fit into 64 bits
_MOST_STEPS = 3000  # features times changes


class Sums(NamedTuple):
    """The model's own sum: for each tree its table over the cells of its slots (features, those in common first)."""

    at: Ints  # (trees, 5): first entry, first slot, second slot (-1: none), their steps in the table
    value: FloatArray
    base: float
    cut: float
    divisor: float
    single: bool  # float32 sums
    base_last: bool


class Additive(NamedTuple):
    """What the search reads. S slots: C common features, then F local ones."""

    common: int
    local: int
    limit: int
    total: float  # weight of all candidates
    start: int  # what no slot decides, less the cut, and what rounding may hide
    keep: Ints  # (C,) the cell of "keep"
    option_at: Ints  # (C + 1,) into the options
    option_cell: Ints
    option_cost: FloatArray  # rising for each feature
    cells: Ints  # (S,) how many
    single_at: Ints  # (S,) into ``score``
    near_at: Ints  # (C + 1,) into ``near``
    near: Ints  # (., 4): another common feature, first entry in ``score``, steps of this and of the other
    own_at: Ints  # (C + 1,) into ``own``
    own: Ints  # (., 4): the same with a local feature
    inside: Ints  # (., 5): two local features, first entry, steps
    score: Ints  # all tables, fixed point
    local_cell: NDArray[np.int32]  # (F, J, N') cell of each candidate after each option
    local_part: Ints  # (F, 3): nothing, number of options, number of cells
    local_cost: FloatArray  # (F, J)
    weight: FloatArray  # (N',)
    bit: Ints  # (C + F,) position in the problem; -1: none


@dataclass(frozen=True)
class Tabulated:
    """Tables for the kernels, and what Python needs to read the answer."""

    tables: Additive
    sums: Sums
    option: IntArray  # option index of each common option


@dataclass(frozen=True)
class _Known:
    """What depends on the model alone, whatever its trees ask about."""

    tree: IntArray  # pairs of a tree and a column that it asks about
    column: IntArray
    depth: int
    size: float  # the largest sum


@dataclass(frozen=True)
class _Planted:
    """The nodes of a model that is a sum of tables."""

    value: FloatArray  # (nodes,)
    node: NDArray[np.int32]  # (nodes, 3): left and right child, test (-1 in a leaf): side by side in memory


_known: WeakKeyDictionary[TreeEnsemble, _Known] = WeakKeyDictionary()
_planted: WeakKeyDictionary[TreeEnsemble, _Planted] = WeakKeyDictionary()


def _know(model: TreeEnsemble) -> _Known:
    known = _known.get(model)
    if known is None:
        tree, depth, largest = shape_of(model)
        inner = np.flatnonzero(model.feature >= 0)
        both = np.unique(tree[inner] * model.n_inputs + model.feature[inner])
        size = float(largest[0]) + abs(float(model.base[0]))
        _known[model] = known = _Known(both // model.n_inputs, both % model.n_inputs, depth, size)
    return known


def _plant(model: TreeEnsemble, tests: Splits) -> _Planted:
    planted = _planted.get(model)
    if planted is None:
        value = np.ascontiguousarray(model.value.astype(model.precision).astype(np.float64)[:, 0])
        node = np.stack([model.left, model.right, tests.of_node], axis=1).astype(np.int32)
        _planted[model] = planted = _Planted(value, node)
    return planted


def add_up(reduced: Reduced) -> Tabulated | None:
    """The tables of a problem; None where the model is no sum of small tables, or another search is needed."""
    problem, model, commons = reduced.problem, reduced.model, reduced.commons
    features: list[Common | Local] = [*commons, *reduced.locals_]
    if not isinstance(model.decision, Above) or problem.aggregate == "max" or model.base.size != 1 or not commons:
        return None
    limit = min(problem.limit, len(problem.options))
    if limit > _MOST_CHANGES or limit * len(commons) > _MOST_STEPS:
        return None
    known = _know(model)
    if not np.isfinite(known.size):
        return None
    slot_of = np.full(model.n_inputs, len(features))
    column_of = model.feature[reduced.tests.node]
    for s, feature in enumerate(features):
        slot_of[column_of[feature.cells.tests]] = s
    count = len(features)
    asked = np.unique(known.tree * (count + 1) + slot_of[known.column])
    asked = asked[asked % (count + 1) < count]
    tree, slot = asked // (count + 1), asked % (count + 1)
    many = np.bincount(tree, minlength=model.n_trees)
    if many.max(initial=0) > 2:
        return None
    cells = np.array([f.cells.goes.shape[0] for f in features], dtype=np.int64)
    at = np.zeros((model.n_trees, 5), dtype=np.int64)
    at[:, 1:3] = -1
    begin = np.cumsum(many) - many
    some, two = many > 0, many > 1
    at[some, 1] = slot[begin[some]]
    at[two, 2] = slot[begin[two] + 1]
    at[some, 3] = at[some, 4] = 1
    at[two, 3] = cells[at[two, 2]]
    wide = np.append(cells, 1)
    sizes = wide[at[:, 1]] * wide[at[:, 2]]
    if int(sizes.sum()) > _MOST_ENTRIES:
        return None
    at[:, 0] = np.cumsum(sizes) - sizes
    return _tabulate(reduced, known, limit, cells, at, sizes)


def _tabulate(reduced: Reduced, known: _Known, limit: int, cells: Ints, at: Ints, sizes: Ints) -> Tabulated:
    problem, model, commons, locals_ = reduced.problem, reduced.model, reduced.commons, reduced.locals_
    n_common, count = len(commons), cells.size
    coefficients, cuts, _, _ = rows_of(model.decision)
    base = float(model.base.astype(model.precision)[0])
    size = max(abs(float(coefficients[0, 0])) * known.size + abs(float(cuts[0]) * model.divisor), 2.0**-900)
    scale = 2.0**52 / size
    # as in ``tables``: a sum of T terms is off by at most about T * eps * (sum of sizes), and within the blur only the
    # decision itself can tell
    error = 4 * (model.n_trees + 4) * float(np.finfo(model.precision).eps) * size
    error += min(model.decision.blur * model.divisor, 4.0 * size)
    start = round((float(coefficients[0, 0]) * base - float(cuts[0]) * model.divisor) * scale)
    start += int(np.ceil(error * scale)) + model.n_trees + 4
    # one table for all trees over the same slots: entry 0 for those over none, then those of single slots
    single_at = 1 + np.cumsum(cells) - cells
    pairs, of = np.unique(at[:, 1] * (count + 1) + at[:, 2], return_inverse=True)
    first, second = pairs // (count + 1), pairs % (count + 1)
    lonely = at[:, 2] < 0
    joint = np.unique(of[~lonely])
    areas = cells[first[joint]] * cells[second[joint]]
    joint_at = np.zeros(pairs.size, dtype=np.int64)
    joint_at[joint] = 1 + int(cells.sum()) + np.cumsum(areas) - areas
    place = np.where(lonely, np.append(single_at, 0)[at[:, 1]], joint_at[of])
    score = np.zeros(1 + int(cells.sum()) + int(areas.sum()), dtype=np.int64)
    value = np.zeros(int(sizes.sum()))
    slot, bits = _bits(reduced)
    planted = _plant(model, reduced.tests)
    depth, width = known.depth + 2, bits.shape[1]
    _fill(
        np.ascontiguousarray(model.roots, dtype=np.int64), planted.node, slot, bits, np.append(cells, 1), at,
        place.astype(np.int64), planted.value, float(coefficients[0, 0]) * scale, np.zeros(depth, np.int64),
        np.zeros((depth, width), np.uint64), np.zeros((depth, width), np.uint64), value, score,
    )  # fmt: skip
    near, own, inside = list[list[int]](), list[list[int]](), list[list[int]]()
    for m in joint.tolist():
        a, b, where = int(first[m]), int(second[m]), int(joint_at[m])
        step = int(cells[b])
        if b < n_common:
            near += [[a, b, where, step, 1], [b, a, where, 1, step]]
        elif a < n_common:
            own.append([a, b - n_common, where, step, 1])
        else:
            inside.append([a - n_common, b - n_common, where, step, 1])
    near_at, near_rows = _by_first(near, n_common)
    own_at, own_rows = _by_first(own, n_common)
    options = [np.concatenate(f.sides) for f in commons]
    options = [o[np.argsort(f.costs[o], kind="stable")] for o, f in zip(options, commons, strict=True)]
    cell, part, cost = _locals(reduced)
    tables = Additive(
        common=n_common,
        local=len(locals_),
        limit=limit,
        total=float(problem.weights.sum()),
        start=start + int(score[0]),
        keep=np.array([f.cells.cell[0] for f in commons], dtype=np.int64),
        option_at=np.cumsum([0, *(o.size for o in options)]).astype(np.int64),
        option_cell=np.concatenate([f.cells.cell[o] for o, f in zip(options, commons, strict=True)]).astype(np.int64),
        option_cost=np.concatenate([f.costs[o] for o, f in zip(options, commons, strict=True)]).astype(np.float64),
        cells=cells,
        single_at=single_at.astype(np.int64),
        near_at=near_at,
        near=near_rows,
        own_at=own_at,
        own=own_rows,
        inside=np.array(inside, dtype=np.int64).reshape(-1, 5),
        score=score,
        local_cell=cell,
        local_part=part,
        local_cost=cost,
        weight=reduced.weight,
        bit=np.array([*(f.feature for f in commons), *(f.feature for f in locals_)], dtype=np.int64),
    )
    decision = model.decision
    cut = float(decision.cut) if isinstance(decision, Above) else 0.0
    single = model.precision == "float32"
    sums = Sums(at, value, base, cut, float(model.divisor), single, bool(model.base_last))
    return Tabulated(tables, sums, np.concatenate(options))


def _by_first(rows: list[list[int]], count: int) -> tuple[Ints, Ints]:
    """Rows by their first entry, which is left out: where those of each begin, and the rows."""
    table = np.array(sorted(rows), dtype=np.int64).reshape(-1, 5)
    return np.searchsorted(table[:, 0], np.arange(count + 1)).astype(np.int64), np.ascontiguousarray(table[:, 1:])


def _bits(reduced: Reduced) -> tuple[Ints, Bits]:
    """For each test its slot, and the cells that go left there, as bits."""
    slots = [*(f.cells for f in reduced.commons), *(f.cells for f in reduced.locals_), reduced.constant]
    width = (max(c.goes.shape[0] for c in slots) + 63) // 64
    n_tests = reduced.tests.node.size
    slot, bits = np.zeros(n_tests, np.int64), np.zeros((n_tests, width), np.uint64)
    for s, cells in enumerate(slots):
        slot[cells.tests] = s
        packed = np.packbits(cells.goes.T, axis=1, bitorder="little")
        padded = np.zeros((cells.tests.size, 8 * width), np.uint8)
        padded[:, : packed.shape[1]] = packed
        bits[cells.tests] = padded.view(np.uint64)
    return slot, bits


def _locals(reduced: Reduced) -> tuple[NDArray[np.int32], Ints, FloatArray]:
    """Cells, sizes and costs of the local features."""
    locals_ = reduced.locals_
    width = max([1, *(f.option.size for f in locals_)])
    cell = np.zeros((len(locals_), width, reduced.first.size), dtype=np.int32)
    part, cost = np.zeros((len(locals_), 3), dtype=np.int64), np.zeros((len(locals_), width))
    for i, local in enumerate(locals_):
        cell[i, : local.option.size] = local.cell[:, local.sort[reduced.first]]
        cost[i, : local.option.size] = local.cost
        part[i] = 0, local.option.size, local.cells.goes.shape[0]
    return cell, part, cost


@called
def _halve(bits: Bits, left: Bits, depth: int) -> int:  # pragma: no cover - compiled
    """Split the cells at a level: those that go right stay there, those that go left come on top.

    Returns 0 if all go right, 1 if all go left, 2 if some do.
    """
    some, others = False, False
    for w in range(left.size):
        some |= bits[depth, w] & left[w] != 0
        others |= bits[depth, w] & ~left[w] != 0
    if not (some and others):
        return 1 if some else 0
    for w in range(left.size):
        bits[depth + 1, w] = bits[depth, w] & left[w]
        bits[depth, w] &= ~left[w]
    return 2


@called
def _copy_up(bits: Bits, depth: int) -> None:  # pragma: no cover - compiled
    for w in range(bits.shape[1]):
        bits[depth + 1, w] = bits[depth, w]


@entry_bare
def _fill(
    roots: Ints, tree: NDArray[np.int32], slot_of: Ints, bits: Bits, cells: Ints, at: Ints, place: Ints,
    leaf: FloatArray, scale: float, node: Ints, one: Bits, two: Bits, value: FloatArray, score: Ints,
) -> None:  # pragma: no cover - compiled  # fmt: skip
    """Walk each tree with the cells of its slots; note the value of each pair of cells, and add it up over trees."""
    width, constant = bits.shape[1], cells.size - 1
    for t in range(roots.size):
        a, b = at[t, 1], at[t, 2]
        for w in range(width):
            one[0, w], two[0, w] = np.uint64(0), np.uint64(0)
        for c in range(cells[a]):
            one[0, c // 64] |= np.uint64(1) << np.uint64(c % 64)
        for c in range(cells[b]):
            two[0, c // 64] |= np.uint64(1) << np.uint64(c % 64)
        depth = 0
        node[0] = roots[t]
        while depth >= 0:
            n = node[depth]
            test = tree[n, 2]
            if test < 0:
                fixed = np.int64(np.rint(leaf[n] * scale))
                for v in range(width):
                    first = one[depth, v]
                    while first != 0:
                        i = (64 * v + lowest_bit(first)) * at[t, 3]
                        first &= first - np.uint64(1)
                        for w in range(width):
                            second = two[depth, w]
                            while second != 0:
                                k = i + (64 * w + lowest_bit(second)) * at[t, 4] if b >= 0 else i
                                second &= second - np.uint64(1)
                                value[at[t, 0] + k] = leaf[n]
                                score[place[t] + k] += fixed
                depth -= 1
                continue
            s = slot_of[test]
            if s == constant:
                goes = 1 if bits[test, 0] & np.uint64(1) else 0
            elif s == a:
                goes = _halve(one, bits[test], depth)
                if goes == 2:
                    _copy_up(two, depth)
            else:
                goes = _halve(two, bits[test], depth)
                if goes == 2:
                    _copy_up(one, depth)
            if goes == 2:
                node[depth] = tree[n, 1]
                depth += 1
                node[depth] = tree[n, 0]
            else:
                node[depth] = tree[n, 0] if goes == 1 else tree[n, 1]
