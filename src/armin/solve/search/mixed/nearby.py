"""What every single change does to a mixture: its trees in one walk, its lines from a table.

It serves the first plan (:mod:`armin.solve.search.dive`), so sums may be rounded: what is found is asked of the model
itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.compiling import called, entry_bare
from armin.problem import Choice
from armin.solve.search.handed import hand
from armin.solve.search.mixed.bound import mapped
from armin.solve.search.mixed.data import adds_of, start_of
from armin.solve.search.mixed.joined import Joined, Maps
from armin.solve.search.trees.leaves import Reduced
from armin.solve.search.trees.nearby import Scores, Space, TreesNearby, Walk, walk_block, walk_shared
from armin.solve.search.words import Ints

__all__ = ["MixedNearby"]


_MAPS = 200_000
"""Scores that one look around a point may map, about."""


class _Lines(NamedTuple):
    """What cells add beside the trees, and the maps."""

    maps: Maps
    line: FloatArray  # (cells + slots, M) what each cell adds to each score
    slot: Ints  # (moves,) the slot of each move
    cut: float
    score: FloatArray  # (M,) working space


@called
def _ahead(lines: _Lines) -> float:  # pragma: no cover - compiled
    """How far the sum of the mapped scores is from the cut."""
    total = -lines.cut
    for m in range(lines.score.size):
        total += mapped(lines.maps, m, lines.score[m])
    return total


@entry_bare
def _look(
    walk: Walk,
    space: Space,
    lines: _Lines,
    common: Ints,
    local: Ints,
    who: Ints,
    weight: FloatArray,
    counts: BoolArray,
    all_: bool,
) -> None:  # pragma: no cover - compiled
    """Margins of the candidates ``who``; with ``all_``, for every move the accepted weight and what is lacking."""
    terms, size, line, now = walk.start.size, walk.cell.size, lines.line, space.now
    walk_shared(walk, space, common, all_)
    first = 0
    while first < who.size:
        count = walk_block(walk, space, local, who, first, all_)
        for i in range(count):
            n = who[first + i]
            for m in range(terms):
                for s in range(common.size + local.shape[0]):
                    space.score[i, m] += line[walk.first[s] + s + now[i, s], m]
                lines.score[m] = space.score[i, m]
            space.margin[first + i] = _ahead(lines)
            for o in range(space.accepted.size if all_ else 0):
                cell = walk.cell[o] if o < size else walk.local_cell[o - size, n]
                s = lines.slot[o]
                before = walk.first[s] + s + now[i, s]
                for m in range(terms):
                    lines.score[m] = space.score[i, m] + space.gain[m, cell, i] + line[cell, m] - line[before, m]
                x = _ahead(lines)
                if x >= 0.0:
                    space.accepted[o] += weight[first + i]
                elif counts[first + i]:
                    space.lacking[o] -= weight[first + i] * x
        first += count


class MixedNearby(TreesNearby):
    """The sums around a point; see :class:`armin.solve.search.dive.Nearby`."""

    def __init__(self, reduced: Reduced, joined: Joined, cut: float, near: float) -> None:
        count, trees = joined.start.size, joined.trees
        value = np.zeros((trees.feature.size, count))
        ends = np.append(trees.roots[1:], trees.feature.size)
        for t, (a, b) in enumerate(zip(trees.roots.tolist(), ends.tolist(), strict=True)):
            value[a:b, joined.of_tree[t]] = trees.value[a:b, 0]
        slack = near + 1e-9 * max(1.0, abs(cut))  # what is nearer to the cut is asked of the model
        super().__init__(reduced, Scores(value, start_of(reduced, joined)[0], np.zeros(count, np.int64), slack))
        self.most = min(self.most, max(12, _MAPS // max(1, count * self.feature.size)))
        features = [*(f.feature for f in reduced.commons), *(f.feature for f in reduced.locals_)]
        slot_of = {feature: s for s, feature in enumerate(features)}
        slot = np.array([slot_of[int(d)] for d in self.feature], dtype=np.int64)
        self._lines = hand(_Lines(joined.maps, self._line(reduced, joined), slot, float(cut), np.zeros(count)))

    def _line(self, reduced: Reduced, joined: Joined) -> FloatArray:
        """What each cell adds to each score; for a feature that does the same to all, beyond "keep"."""
        problem, weights = reduced.problem, joined.weights
        line: FloatArray = np.zeros((int(self.first[-1]) + self.first.size - 1, weights.shape[0]))
        nobody = np.zeros(1, np.intp)
        for s, feature in enumerate(reduced.commons):
            keep = adds_of(problem, feature.feature, 0, nobody, weights)
            for j in np.concatenate([[0], *feature.sides]).tolist():
                at = int(self.first[s]) + s + int(feature.cells.cell[j])
                line[at] = (adds_of(problem, feature.feature, j, nobody, weights) - keep)[0]
        for f, local in enumerate(reduced.locals_):
            s = len(reduced.commons) + f
            for i, j in enumerate(local.option.tolist()):
                cell = local.cell[i, local.sort[reduced.first]]
                line[self.first[s] + s + cell] = adds_of(problem, local.feature, j, reduced.first, weights)
        return line

    def margins(self, choice: Choice, who: IntArray) -> FloatArray:
        """How far each of the candidates ``who`` is from being accepted; not negative where it is."""
        nobody = np.zeros(who.size, dtype=bool)
        _look(self.walk, self.written, self._lines, *self.point(choice), who, self.weight, nobody, False)
        return self.space.margin[: who.size].copy()

    def look(
        self, choice: Choice, who: IntArray, weight: FloatArray, counts: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        """For every move the weight accepted among ``who``, and what those that count lack."""
        _look(self.walk, self.written, self._lines, *self.point(choice), who, weight, counts, True)
        return self.space.accepted.copy(), self.space.lacking.copy()
