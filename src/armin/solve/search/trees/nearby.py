"""What every single change does to a tree ensemble's scores: all of them in one walk through the trees.

From a point, a change of one feature moves a tree only to leaves whose path leaves the point's own path at splits on
that feature. So a walk that follows the point, and turns off once for each split on its way, meets every such leaf, and
notes its gain for the cells of the feature that lead there. It serves the first plan (:mod:`armin.solve.search.dive`),
so sums may be rounded: what is found is asked of the model itself.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.compiling import called, entry_bare
from armin.models.kinds import TreeEnsemble
from armin.problem import Choice
from armin.solve.search.handed import hand
from armin.solve.search.trees.cells import Common, Local
from armin.solve.search.trees.leaves import Reduced
from armin.solve.search.ways import rows_of
from armin.solve.search.words import Bits, Ints, any_number, lowest_bit

__all__ = ["Scores", "Space", "TreesNearby", "Walk", "shape_of", "walk_trees"]

_STEPS = 100_000
"""Splits that one look around a point may pass, about; more candidates than that allows are thinned out."""

BLOCK = 16
"""Candidates that go through a tree one after the other, while it is at hand: a large forest is larger than caches."""

LEFT, RIGHT, TEST, SLOT = range(4)
"""Columns of ``Walk.node``."""


class Walk(NamedTuple):
    """The trees as splits on cells. S features ("slots"), R rows of the decision."""

    roots: IntArray
    node: NDArray[np.int32]  # (nodes, 4): left and right child, test (-1 in a leaf), its slot: side by side in memory
    bits: Bits  # (tests, W) cells that go left
    first: Ints  # (S + 1,) the first cell of each slot
    value: FloatArray  # (nodes, R)
    start: FloatArray  # (R,) base minus cut
    way: Ints  # (R,)
    own: BoolArray  # (trees,) whether candidates differ in it
    local: int  # the first slot in which candidates differ
    cell: Ints  # (moves,) cell of a move of a common feature
    local_cell: NDArray[np.int64]  # (moves of local features, N') cell of each candidate


class Space(NamedTuple):
    """What a look around a point writes."""

    room: Bits  # (S + 1 + depth, W) cells that pass the splits so far; those of a walk that turned off
    stack: Ints
    shared: FloatArray  # (R, cells + S) gains in the trees in which candidates do not differ
    gain: FloatArray  # (BLOCK, R, cells + S)
    nothing: FloatArray  # (R, 1)
    score: FloatArray  # (1 + BLOCK, R)
    now: Ints  # (S,) the point
    margin: FloatArray  # (N',)
    accepted: FloatArray  # (moves,)
    lacking: FloatArray  # (moves,)


@called
def _side(walk: Walk, node: int, now: Ints) -> int:  # pragma: no cover - compiled
    """Which child the point goes to."""
    cell = now[walk.node[node, SLOT]]
    word = walk.bits[walk.node[node, TEST], cell // 64] >> np.uint64(cell % 64)
    return LEFT if word & np.uint64(1) else RIGHT


@called
def _margin(walk: Walk, score: FloatArray, gain: FloatArray, cell: int) -> float:  # pragma: no cover - compiled
    """The least row of the best way, after the gain of a cell."""
    best, way, least = -np.inf, -1, -np.inf
    for r in range(score.size):
        x = score[r] + gain[r, cell]
        if walk.way[r] != way:
            best, way, least = max(best, least), walk.way[r], x
        else:
            least = min(least, x)
    return max(best, least)


@called
def _note(walk: Walk, bits: Bits, s: int, leaf: int, home: int, gain: FloatArray) -> None:  # pragma: no cover
    """Add what a leaf gains to the cells in ``bits``: at the first cell of a run, and less it after the last."""
    for w in range(bits.size):
        word, at = bits[w], walk.first[s] + s + 64 * w
        while word != 0:
            low = lowest_bit(word)
            rest = ~(word >> np.uint64(low))
            size = lowest_bit(rest) if rest != 0 else 64
            for r in range(gain.shape[0]):
                x = walk.value[leaf, r] - walk.value[home, r]
                gain[r, at + low] += x
                gain[r, at + low + size] -= x
            if low + size >= 64:
                break
            word &= ~np.uint64(0) << np.uint64(low + size)


@called
def walk_trees(
    walk: Walk, own: bool, now: Ints, score: FloatArray, gain: FloatArray, room: Bits, stack: Ints, all_: bool
) -> None:  # pragma: no cover - compiled
    """Add the scores at the point ``now`` of the trees that are ``own`` or not, and what each cell would gain.

    ``gain`` has one entry more than cells for each slot, and holds differences: see ``_note``. Without ``all_``, only
    the scores are wanted.
    """
    for t in range(walk.roots.size):
        if walk.own[t] == own:
            _walk_tree(walk, t, now, score, gain, room, stack, all_)


@called
def _walk_tree(
    walk: Walk, t: int, now: Ints, score: FloatArray, gain: FloatArray, room: Bits, stack: Ints, all_: bool
) -> None:  # pragma: no cover - compiled
    """As :func:`walk_trees`, for one tree."""
    slots, width = walk.first.size - 1, walk.bits.shape[1]
    home = walk.roots[t]
    while walk.node[home, TEST] >= 0:
        home = walk.node[home, _side(walk, home, now)]
    for r in range(score.size):
        score[r] += walk.value[home, r]
    node, size = walk.roots[t], 0
    while all_ and node != home:
        s, side, test = walk.node[node, SLOT], _side(walk, node, now), walk.node[node, TEST]
        if s < slots - 1:
            # cells that pass all splits on the slot so far and turn off here
            some = False
            for w in range(width):
                turn = ~walk.bits[test, w] if side == LEFT else walk.bits[test, w]
                room[slots, w] = room[s, w] & turn
                room[s, w] &= ~turn
                some |= room[slots, w] != 0
            if some:
                _turn_off(walk, walk.node[node, LEFT + RIGHT - side], s, home, now, gain, room, stack)
            stack[stack.size - 1 - size] = s
            size += 1
        node = walk.node[node, side]
    for k in range(size):
        _all_cells(walk, stack[stack.size - 1 - k], room[stack[stack.size - 1 - k]])


@called
def _all_cells(walk: Walk, s: int, bits: Bits) -> None:  # pragma: no cover - compiled
    size = walk.first[s + 1] - walk.first[s]
    for w in range(bits.size):
        left = size - 64 * w
        bits[w] = np.uint64(0)
        if left >= 64:
            bits[w] = ~np.uint64(0)
        elif left > 0:
            bits[w] = (np.uint64(1) << np.uint64(left)) - np.uint64(1)


@called
def _turn_off(
    walk: Walk, node: int, s: int, home: int, now: Ints, gain: FloatArray, room: Bits, stack: Ints
) -> None:  # pragma: no cover - compiled
    """All leaves below ``node`` that the point reaches with some cell of slot s, one after the other."""
    base, width = walk.first.size - 1, walk.bits.shape[1]
    top = 1
    stack[0] = node
    while top > 0:
        top -= 1
        node = stack[top]
        while walk.node[node, TEST] >= 0:
            test = walk.node[node, TEST]
            if walk.node[node, SLOT] != s:
                node = walk.node[node, _side(walk, node, now)]
                continue
            goes, stays = False, False
            for w in range(width):
                word = room[base + top, w]
                goes |= word & walk.bits[test, w] != 0
                stays |= word & ~walk.bits[test, w] != 0
            if goes and stays:
                for w in range(width):
                    word = room[base + top, w]
                    room[base + top, w] = word & ~walk.bits[test, w]
                    room[base + top + 1, w] = word & walk.bits[test, w]
                stack[top] = walk.node[node, RIGHT]
                top += 1
                node = walk.node[node, LEFT]
            else:
                node = walk.node[node, LEFT if goes else RIGHT]
        _note(walk, room[base + top], s, node, home, gain)


@entry_bare
def _look(
    walk: Walk, space: Space, common: Ints, local: Ints, who: Ints, weight: FloatArray, counts: BoolArray, all_: bool
) -> None:  # pragma: no cover - compiled
    """Margins of the candidates ``who``; with ``all_``, for every move the accepted weight and what is lacking."""
    rows, shared, now = walk.start.size, space.shared, space.now
    wide = shared.shape[1] if all_ else 0
    for r in range(rows):
        space.score[0, r] = walk.start[r]
        for c in range(wide):
            shared[r, c] = 0.0
    for o in range(space.accepted.size):
        space.accepted[o], space.lacking[o] = 0.0, 0.0
    for s in range(common.size):
        now[s] = common[s]
    for f in range(local.shape[0]):
        now[walk.local + f] = local[f, who[0]]
    walk_trees(walk, False, now, space.score[0], shared, space.room, space.stack, all_)
    for first in range(0, who.size, BLOCK):
        count = min(BLOCK, who.size - first)
        for i in range(count):
            for r in range(rows):
                space.score[1 + i, r] = space.score[0, r]
                for c in range(wide):
                    space.gain[i, r, c] = shared[r, c]
        for t in range(walk.roots.size):
            for i in range(count if walk.own[t] else 0):
                for f in range(local.shape[0]):
                    now[walk.local + f] = local[f, who[first + i]]
                _walk_tree(walk, t, now, space.score[1 + i], space.gain[i], space.room, space.stack, all_)
        for i in range(count):
            space.margin[first + i] = _margin(walk, space.score[1 + i], space.nothing, any_number(0))
            if all_:
                n = who[first + i]
                _add_up(walk, space, space.score[1 + i], space.gain[i], n, weight[first + i], counts[first + i])


@called
def _add_up(
    walk: Walk, space: Space, score: FloatArray, gain: FloatArray, n: int, weight: float, counts: bool | np.bool_
) -> None:  # pragma: no cover - compiled
    """Make the gains of candidate ``n`` out of their differences, and add what it gets after every move."""
    slots, size = walk.first.size - 1, walk.cell.size
    for r in range(score.size):
        for s in range(slots):
            total = 0.0
            for c in range(walk.first[s] + s, walk.first[s + 1] + s + 1):
                total += gain[r, c]
                gain[r, c] = total
    for o in range(space.accepted.size):
        cell = walk.cell[o] if o < size else walk.local_cell[o - size, n]
        x = _margin(walk, score, gain, cell)
        if x >= 0.0:
            space.accepted[o] += weight
        elif counts:
            space.lacking[o] -= weight * x


class Scores(NamedTuple):
    """The rows of scores that trees add up to, and what they are compared with."""

    value: FloatArray  # (nodes, R)
    start: FloatArray  # (R,) base minus cut
    way: Ints  # (R,) which way of being accepted they belong to
    slack: float  # what rounding may hide


def _scores(model: TreeEnsemble) -> Scores:
    """The scores that a model's decision compares."""
    coefficients, cuts, way, _ = rows_of(model.decision)
    size = np.abs(coefficients) @ (shape_of(model)[2] + np.abs(model.base)) + np.abs(cuts * model.divisor)
    return Scores(
        np.ascontiguousarray(model.value.astype(np.float64) @ coefficients.T),
        coefficients @ model.base.astype(np.float64) - cuts * model.divisor,
        way.astype(np.int64),
        float((8 * (model.n_trees + 4) * np.finfo(model.precision).eps * size).max()),
    )


class TreesNearby:
    """The scores around a point; see :class:`armin.solve.search.dive.Nearby`."""

    def __init__(self, reduced: Reduced, scores: Scores | None = None) -> None:
        model = reduced.model
        scores = _scores(model) if scores is None else scores
        features: list[Common | Local] = [*reduced.commons, *reduced.locals_]
        slots = [*(f.cells for f in features), reduced.constant]
        first = np.cumsum([0, *(c.goes.shape[0] for c in slots)]).astype(np.int64)
        width = (int(np.diff(first).max()) + 63) // 64
        n_tests = reduced.tests.node.size
        slot, bits = np.zeros(n_tests, np.int64), np.zeros((n_tests, width), np.uint64)
        for s, cells in enumerate(slots):
            slot[cells.tests] = s
            packed = np.packbits(cells.goes.T, axis=1, bitorder="little")
            padded = np.zeros((cells.tests.size, 8 * width), np.uint8)
            padded[:, : packed.shape[1]] = packed
            bits[cells.tests] = padded.view(np.uint64)
        places, cell, local_cell = list[tuple[int, int, float]](), list[IntArray](), list[IntArray]()
        for s, f in enumerate(reduced.commons):
            options = np.concatenate([[0], *f.sides])
            places += [(f.feature, int(j), float(f.costs[j])) for j in options]
            cell.append(first[s] + s + f.cells.cell[options])
        for k, loc in enumerate(reduced.locals_):
            s = len(reduced.commons) + k
            where = loc.cell[:, loc.sort[reduced.first]]
            if loc.feature >= 0:
                places += [(loc.feature, int(j), float(c)) for j, c in zip(loc.option, loc.cost, strict=True)]
                local_cell.append(first[s] + s + where)
        n = reduced.first.size
        tree, depth, _ = shape_of(model)
        inside = np.flatnonzero(reduced.tests.of_node >= 0)
        asked = slot[reduced.tests.of_node[inside]]
        own = np.zeros(model.n_trees, dtype=bool)
        own[tree[inside[(asked >= len(reduced.commons)) & (asked < len(features))]]] = True
        self.feature = np.array([p[0] for p in places], dtype=np.intp)
        self.option = np.array([p[1] for p in places], dtype=np.intp)
        self.cost = np.array([p[2] for p in places])
        self.weight = reduced.weight
        self.most = max(12, _STEPS // max(1, 4 * depth * int(own.sum())))
        self._reduced = reduced
        test = reduced.tests.of_node
        walk = Walk(
            np.ascontiguousarray(model.roots, dtype=np.int64),
            np.stack([model.left, model.right, test, np.append(slot, -1)[test]], axis=1).astype(np.int32),
            bits,
            first,
            scores.value,
            scores.start,
            scores.way,
            own,
            len(reduced.commons),
            np.concatenate([np.zeros(0, np.int64), *cell]),
            np.concatenate([np.zeros((0, n), np.int64), *local_cell]),
        )
        rows, wide = scores.start.size, int(first[-1]) + len(slots)
        room = np.zeros((len(slots) + 2 + depth, width), np.uint64)
        for s, cells in enumerate(slots):
            full = np.zeros(8 * width, np.uint8)
            packed = np.packbits(np.ones(cells.goes.shape[0], bool), bitorder="little")
            full[: packed.size] = packed
            room[s] = full.view(np.uint64)
        self.space = space = Space(
            room,
            np.zeros(2 * depth + 4, np.int64),
            np.zeros((rows, wide)),
            np.zeros((min(BLOCK, n), rows, wide)),
            np.zeros((rows, 1)),
            np.zeros((1 + BLOCK, rows)),
            np.zeros(len(slots), np.int64),
            np.zeros(n),
            np.zeros(len(places)),
            np.zeros(len(places)),
        )
        self.walk, self.written = hand(walk), hand(space)
        self.first, self.slack = first, scores.slack

    def point(self, choice: Choice) -> tuple[Ints, Ints]:
        reduced = self._reduced
        common = np.array([f.cells.cell[choice[f.feature]] for f in reduced.commons], dtype=np.int64)
        rows = [np.zeros((0, reduced.first.size), np.int64)]
        for f in reduced.locals_:
            at = int(np.flatnonzero(f.option == choice[f.feature])[0]) if f.feature >= 0 else 0
            rows.append(f.cell[at : at + 1, f.sort[reduced.first]])
        return common, np.concatenate(rows)

    def margins(self, choice: Choice, who: IntArray) -> FloatArray:
        """How far each of the candidates ``who`` is from being accepted; not negative where it is."""
        nobody = np.zeros(who.size, dtype=bool)
        _look(self.walk, self.written, *self.point(choice), who, self.weight, nobody, False)
        return self.space.margin[: who.size].copy()

    def look(
        self, choice: Choice, who: IntArray, weight: FloatArray, counts: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        """For every move the weight accepted among ``who``, and what those that count lack."""
        _look(self.walk, self.written, *self.point(choice), who, weight, counts, True)
        return self.space.accepted.copy(), self.space.lacking.copy()


_shapes: WeakKeyDictionary[TreeEnsemble, tuple[IntArray, int, FloatArray]] = WeakKeyDictionary()


def shape_of(model: TreeEnsemble) -> tuple[IntArray, int, FloatArray]:
    """The tree of every node, how deep the trees are, and the largest sum of leaves in size; once for a model."""
    if model not in _shapes:
        tree, depth = np.zeros(model.feature.size, np.intp), 0
        node, of = model.roots, np.arange(model.n_trees)
        while node.size:
            tree[node] = of
            inside = model.feature[node] >= 0
            node, of = node[inside], of[inside]
            node, of = np.concatenate([model.left[node], model.right[node]]), np.concatenate([of, of])
            depth += 1
        largest = np.zeros((model.n_trees, model.base.size))
        np.maximum.at(largest, tree, np.abs(model.value.astype(np.float64)))
        _shapes[model] = tree, depth, largest.sum(axis=0)
    return _shapes[model]
