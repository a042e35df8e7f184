"""What every single change does to a tree ensemble's scores: all of them in one walk through the trees.

From a point, a change of one feature moves a tree only to leaves whose path leaves the point's own path at splits on
that feature. So a walk that follows the point, and turns off once for each split on its way, meets every such leaf, and
notes its gain for the cells of the feature that lead there. Candidates that end in the same leaf turn off at the same
splits: they are walked together, as bits of a word, and part where they must. It serves the first plan
(:mod:`armin.solve.search.dive`), so sums may be rounded: what is found is asked of the model itself.
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

__all__ = ["Scores", "Space", "TreesNearby", "Walk", "shape_of", "walk_block", "walk_shared"]

_STEPS = 100_000
"""Splits that one look around a point may pass, about; more candidates than that allows are thinned out."""

_LEAST = 24
"""Candidates that every look takes in: with fewer, plans are missed that only those left out would accept."""

BLOCK = 32
"""Candidates that go through a tree together, as bits of a word; what they do apart is walked apart."""

LEFT, RIGHT, TEST = range(3)
"""Columns of ``Walk.node``."""


class Walk(NamedTuple):
    """The trees as splits on cells. S features ("slots"), R rows of the decision."""

    roots: IntArray
    node: NDArray[np.int32]  # (nodes, 3): left and right child, test (-1 in a leaf): side by side in memory
    slot: Ints  # (tests,) what a test asks about
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
    """What a look around a point writes. A block has up to B candidates."""

    room: Bits  # (S + 1 + depth, W) cells that pass the splits so far; those of a walk that turned off
    stack: Ints
    crowd: Bits  # (depth,) who takes each of the ways on the stack
    goes: Bits  # (tests,) who of the block goes left
    shared: FloatArray  # (R, cells + S, 1) gains in the trees in which candidates do not differ
    gain: FloatArray  # (R, cells + S, B) and in all
    base: FloatArray  # (1, R) scores in the trees in which candidates do not differ
    score: FloatArray  # (B, R) and in all
    now: Ints  # (B, S) the point of each
    margin: FloatArray  # (N',)
    accepted: FloatArray  # (moves,)
    lacking: FloatArray  # (moves,)


@called
def _margin(walk: Walk, space: Space, i: int, cell: int) -> float:  # pragma: no cover - compiled
    """The least row of the best way of a member of the block, after the gain of a cell; -1: as it stands."""
    best, way, least = -np.inf, -1, -np.inf
    for r in range(walk.way.size):
        x = space.score[i, r]
        if cell >= 0:
            x += space.gain[r, cell, i]
        if walk.way[r] != way:
            best, way, least = max(best, least), walk.way[r], x
        else:
            least = min(least, x)
    return max(best, least)


@called
def _note(
    walk: Walk, bits: Bits, s: int, leaf: int, home: int, who: np.uint64, gain: FloatArray
) -> None:  # pragma: no cover - compiled
    """Add what a leaf gains to the cells in ``bits``: at the first cell of a run, and less it after the last."""
    for w in range(bits.size):
        word, at = bits[w], walk.first[s] + s + 64 * w
        while word != 0:
            low = lowest_bit(word)
            rest = ~(word >> np.uint64(low))
            size = lowest_bit(rest) if rest != 0 else 64
            for r in range(gain.shape[0]):
                x = walk.value[leaf, r] - walk.value[home, r]
                each = who
                while each != 0:
                    i = lowest_bit(each)
                    gain[r, at + low, i] += x
                    gain[r, at + low + size, i] -= x
                    each &= each - np.uint64(1)
            if low + size >= 64:
                break
            word &= ~np.uint64(0) << np.uint64(low + size)


@called
def _sides(walk: Walk, space: Space, count: int) -> None:  # pragma: no cover - compiled
    """For each test, who of the block goes left."""
    now, end = space.now, walk.first.size - 2
    for k in range(walk.slot.size):
        s = walk.slot[k]
        goes = np.uint64(0)
        for i in range(count if walk.local <= s < end else 1):
            cell = now[i, s]
            goes |= ((walk.bits[k, cell // 64] >> np.uint64(cell % 64)) & np.uint64(1)) << np.uint64(i)
        space.goes[k] = goes if walk.local <= s < end else np.uint64(0) - goes


@called
def _walk_tree(
    walk: Walk, space: Space, t: int, who: np.uint64, score: FloatArray, gain: FloatArray, all_: bool
) -> None:  # pragma: no cover - compiled
    """Add to the scores of ``who`` those of one tree; with ``all_``, also what each cell would gain.

    ``gain`` has one entry more than cells for each slot, and holds differences: see ``_note``. Those who end in the
    same leaf turn off at the same splits, and are followed together.
    """
    while who != 0:
        home, same = walk.roots[t], who
        while walk.node[home, TEST] >= 0:
            goes = space.goes[walk.node[home, TEST]]
            left = (goes >> np.uint64(lowest_bit(same))) & np.uint64(1) != 0
            same &= goes if left else ~goes
            home = walk.node[home, LEFT if left else RIGHT]
        who &= ~same
        each = same
        while each != 0:
            i = lowest_bit(each)
            for r in range(walk.start.size):
                score[i, r] += walk.value[home, r]
            each &= each - np.uint64(1)
        if all_:
            _leave(walk, space, walk.roots[t], home, same, gain)


@called
def _leave(
    walk: Walk, space: Space, node: int, home: int, who: np.uint64, gain: FloatArray
) -> None:  # pragma: no cover - compiled
    """Turn off once at each split on the way from a root to the leaf ``home``, where ``who`` end."""
    room, stack, slots, width = space.room, space.stack, walk.first.size - 1, walk.bits.shape[1]
    size = 0
    while node != home:
        test = walk.node[node, TEST]
        s = walk.slot[test]
        side = LEFT if space.goes[test] & who != 0 else RIGHT
        if s < slots - 1:
            # cells that pass all splits on the slot so far and turn off here
            some = False
            for w in range(width):
                turn = ~walk.bits[test, w] if side == LEFT else walk.bits[test, w]
                room[slots, w] = room[s, w] & turn
                room[s, w] &= ~turn
                some |= room[slots, w] != 0
            if some:
                _turn_off(walk, space, walk.node[node, LEFT + RIGHT - side], s, home, who, gain)
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
    walk: Walk, space: Space, node: int, s: int, home: int, who: np.uint64, gain: FloatArray
) -> None:  # pragma: no cover - compiled
    """All leaves below ``node`` that ``who`` reach with some cell of slot s, one after the other."""
    room, stack, crowd, base, width = space.room, space.stack, space.crowd, walk.first.size - 1, walk.bits.shape[1]
    top = 1
    stack[0], crowd[0] = node, who
    while top > 0:
        top -= 1
        node, who = stack[top], crowd[top]
        while walk.node[node, TEST] >= 0:
            test = walk.node[node, TEST]
            goes, stays = False, False
            if walk.slot[test] != s:
                left = who & space.goes[test]
                goes, stays = left != 0, left != who
                if goes and stays:  # each with all of the cells
                    for w in range(width):
                        room[base + top + 1, w] = room[base + top, w]
                    crowd[top], who = who & ~left, left
            else:
                for w in range(width):
                    word = room[base + top, w]
                    goes |= word & walk.bits[test, w] != 0
                    stays |= word & ~walk.bits[test, w] != 0
                if goes and stays:  # each cell with all of them
                    for w in range(width):
                        word = room[base + top, w]
                        room[base + top, w] = word & ~walk.bits[test, w]
                        room[base + top + 1, w] = word & walk.bits[test, w]
                    crowd[top] = who
            if goes and stays:
                stack[top] = walk.node[node, RIGHT]
                top += 1
            node = walk.node[node, LEFT if goes else RIGHT]
        _note(walk, room[base + top], s, node, home, who, gain)


@called
def walk_shared(walk: Walk, space: Space, common: Ints, all_: bool) -> None:  # pragma: no cover - compiled
    """Begin a look around a point: the trees in which candidates do not differ."""
    for r in range(walk.start.size):
        space.base[0, r] = walk.start[r]
        for c in range(space.shared.shape[1] if all_ else 0):
            space.shared[r, c, 0] = 0.0
    for o in range(space.accepted.size):
        space.accepted[o], space.lacking[o] = 0.0, 0.0
    for i in range(space.now.shape[0]):
        for s in range(common.size):
            space.now[i, s] = common[s]
    _sides(walk, space, any_number(1))
    for t in range(walk.roots.size):
        if not walk.own[t]:
            _walk_tree(walk, space, t, np.uint64(1), space.base, space.shared, all_)


@called
def walk_block(
    walk: Walk, space: Space, local: Ints, who: Ints, first: int, all_: bool
) -> int:  # pragma: no cover - compiled
    """Scores of the candidates from ``who[first]`` on, as many as fit in; with ``all_``, what each cell would gain."""
    gain, shared = space.gain, space.shared
    count = min(gain.shape[2], who.size - first)
    for i in range(count):
        for r in range(walk.start.size):
            space.score[i, r] = space.base[0, r]
        for f in range(local.shape[0]):
            space.now[i, walk.local + f] = local[f, who[first + i]]
    _sides(walk, space, count)
    for r in range(walk.start.size if all_ else 0):
        for c in range(shared.shape[1]):
            for i in range(count):
                gain[r, c, i] = shared[r, c, 0]
    everybody = (np.uint64(1) << np.uint64(count)) - np.uint64(1)
    for t in range(walk.roots.size):
        if walk.own[t]:
            _walk_tree(walk, space, t, everybody, space.score, gain, all_)
    for r in range(walk.start.size if all_ else 0):
        for s in range(walk.first.size - 1):
            for c in range(walk.first[s] + s + 1, walk.first[s + 1] + s + 1):
                for i in range(count):
                    gain[r, c, i] += gain[r, c - 1, i]
    return int(count)


@entry_bare
def _look(
    walk: Walk, space: Space, common: Ints, local: Ints, who: Ints, weight: FloatArray, counts: BoolArray, all_: bool
) -> None:  # pragma: no cover - compiled
    """Margins of the candidates ``who``; with ``all_``, for every move the accepted weight and what is lacking."""
    size = walk.cell.size
    walk_shared(walk, space, common, all_)
    first = 0
    while first < who.size:
        count = walk_block(walk, space, local, who, first, all_)
        for i in range(count):
            space.margin[first + i] = _margin(walk, space, i, any_number(-1))
        for o in range(space.accepted.size if all_ else 0):
            for i in range(count):
                cell = walk.cell[o] if o < size else walk.local_cell[o - size, who[first + i]]
                x = _margin(walk, space, i, cell)
                if x >= 0.0:
                    space.accepted[o] += weight[first + i]
                elif counts[first + i]:
                    space.lacking[o] -= weight[first + i] * x
        first += count


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
        self.most = max(_LEAST, _STEPS // max(1, 4 * depth * int(own.sum())))
        self._reduced = reduced
        test = reduced.tests.of_node
        walk = Walk(
            np.ascontiguousarray(model.roots, dtype=np.int64),
            np.stack([model.left, model.right, test], axis=1).astype(np.int32),
            slot,
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
        rows, wide, block = scores.start.size, int(first[-1]) + len(slots), min(BLOCK, n)
        room = np.zeros((len(slots) + 2 + depth, width), np.uint64)
        for s, cells in enumerate(slots):
            full = np.zeros(8 * width, np.uint8)
            packed = np.packbits(np.ones(cells.goes.shape[0], bool), bitorder="little")
            full[: packed.size] = packed
            room[s] = full.view(np.uint64)
        self.space = space = Space(
            room,
            np.zeros(2 * depth + 4, np.int64),
            np.zeros(depth + 2, np.uint64),
            np.zeros(n_tests, np.uint64),
            np.zeros((rows, wide, 1)),
            np.zeros((rows, wide, block)),
            np.zeros((1, rows)),
            np.zeros((block, rows)),
            np.zeros((block, len(slots)), np.int64),
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
