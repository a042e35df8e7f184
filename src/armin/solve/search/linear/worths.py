"""What changes are worth at each of a list of prices of gain: the bounds of a tree of contexts are made of this."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.compiling import entry_bare
from armin.solve.search.linear.contexts import Contexts
from armin.solve.search.linear.data import Demand

__all__ = ["SHY", "Worths"]

SHY = 1.0 - 1e-9  # sums in another order may differ in the last digits
N_PRICES = 32


class Worths:
    """What changes are worth, for every candidate and row; the tree decides ``features`` one after the other.

    Attributes
    ----------
    price : for each row, the prices
    """

    def __init__(self, contexts: Contexts, crowd: Demand, features: list[int]) -> None:
        self.contexts, self.crowd, self.features = contexts, crowd, features
        self.limit, self.rows = contexts.problem.limit, contexts.score.shape[1]
        self.cost = contexts.moves.cost
        self.price = [self._list(row) for row in range(self.rows)]
        self._left: dict[tuple[int, int, int], FloatArray] = {}
        self._open: dict[tuple[int, int], FloatArray] = {}
        self._decided: dict[tuple[int, int], FloatArray] = {}

    def _list(self, row: int) -> FloatArray:
        """Prices at which options of different value for money become worth it; 0 and a very high one beside them."""
        found, others = self.contexts, [p for each in self.contexts.others.values() for p in each]
        moved = [p.gain[:, row] if p.moves is None else p.moves[:, row].max() + p.gain[:, row] for p in others]
        gain = np.concatenate([found.moves.gain[found.kept, row], *moved])
        cost = self.cost[np.concatenate([found.kept, *(p.option for p in others)])]
        use = (gain > found.doubt) & (cost > 0)
        if not use.any():
            return np.zeros(1)
        ratio = cost[use] / gain[use]
        low, high = float(ratio.min()), _most_of(ratio)
        dear = 1e3 * float(ratio.max())
        return np.concatenate([[0.0], np.geomspace(low, max(high, 8 * low), N_PRICES - 2), [dear]])

    @cached_property
    def plain(self) -> list[FloatArray]:
        """For each row: what changes that move all candidates alike are worth, the most first, (features, prices)."""
        found, some = [], np.flatnonzero(self.contexts.size)
        kept, start = self.contexts.kept, np.cumsum(self.contexts.size)[some] - self.contexts.size[some]
        for row in range(self.rows):
            worth = np.zeros((self.contexts.size.size, self.price[row].size))
            if some.size:
                each = self.contexts.moves.gain[kept, row][:, None] * self.price[row] - self.cost[kept][:, None]
                worth[some] = np.maximum(np.maximum.reduceat(each, start, axis=0), 0.0)
            found.append(np.sort(worth, axis=0)[::-1][: max(self.limit, 1)])
        return found

    def _undecided(self, feature: int, row: int) -> FloatArray:
        """What the other patterns of a feature of the tree are worth while it is not decided, (N, prices)."""
        if (feature, row) not in self._open:
            price, some = self.price[row], self.contexts.others[feature]
            worth = np.full((self.contexts.score.shape[0], price.size), -np.inf)
            none = np.zeros(worth.shape[0])
            moves = np.stack([none if pattern.moves is None else pattern.moves[:, row] for pattern in some])
            option, gain = self._joined(feature, row)
            which = np.repeat(np.arange(len(some)), [pattern.option.size for pattern in some])
            most_worth(moves, which, gain, self.cost[option], price, worth)
            self._open[feature, row] = worth
        return self._open[feature, row]

    def _most(self, row: int, level: int, changes: int) -> FloatArray:
        """What so many changes can be worth at most when the first ``level`` features are decided, (N, prices).

        A feature that was decided to change may count again for what else it could do: that only weakens the bound.
        """
        key = (row, level, changes)
        if key not in self._left:
            plain, shape = self.plain[row], (self.contexts.score.shape[0], self.price[row].size)
            open_ = [self._undecided(d, row) for d in self.features[level:]]
            if changes <= 0:
                self._left[key] = np.zeros(shape)
            elif len(open_) == 1:  # it takes the place of the least of the others, or none
                least = plain[changes - 1] if changes <= len(plain) else 0.0
                self._left[key] = plain[: changes - 1].sum(axis=0) + np.maximum(open_[0], least)
            else:
                self._left[key] = _top(plain, open_, changes, shape)
        return self._left[key]

    def decided(self, feature: int, row: int) -> FloatArray:
        """What each pattern of a feature is worth beyond its moves, once it is decided on, (patterns, prices).

        The first one, which leaves open whether the feature changes, has no worth of its own.
        """
        if (feature, row) not in self._decided:
            some = self.contexts.others[feature]
            option, gain = self._joined(feature, row)
            each = gain[:, None] * self.price[row] - self.cost[option][:, None]
            start = np.cumsum([0, *(p.option.size for p in some[:-1])])
            none = np.zeros((1, self.price[row].size))
            self._decided[feature, row] = np.concatenate([none, np.maximum.reduceat(each, start, axis=0)])
        return self._decided[feature, row]

    def _joined(self, feature: int, row: int) -> tuple[IntArray, FloatArray]:
        """The options of all patterns of a feature but the first, and their gains."""
        some = self.contexts.others[feature]
        return np.concatenate([p.option for p in some]), np.concatenate([p.gain[:, row] for p in some])

    def bounds(self, picks: tuple[int, ...], scores: FloatArray) -> FloatArray:
        """The bounds (patterns, N) for each pattern of the next feature, after which candidates have these scores."""
        way = self.crowd.way
        each = [self._row_bounds(picks, scores[:, :, row], row) for row in range(self.rows)]
        best = np.full(scores.shape[:2], np.inf)
        for w in np.unique(way):
            rows = [each[r] for r in np.flatnonzero(way == w)]
            np.minimum(best, np.maximum.reduce(rows), out=best)
        return best

    def _row_bounds(self, picks: tuple[int, ...], scores: FloatArray, row: int) -> FloatArray:
        price, level = self.price[row], len(picks) + 1
        changes = self.limit - sum(1 for pick in picks if pick)
        decided = sum((self.decided(d, row)[p] for d, p in zip(self.features, picks, strict=False)), 0.0 * price)
        stay, move = self._most(row, level, changes), self._most(row, level, changes - 1)
        constant = self.decided(self.features[len(picks)], row)[: len(scores)]
        short = -scores - self.contexts.doubt  # the gain that is lacking
        found = np.empty(scores.shape)
        bound_each(short, price, decided, constant, stay, move, found)
        return np.where(found > 0, SHY * found, 0.0)


@entry_bare
def most_worth(
    moves: FloatArray, which: IntArray, gain: FloatArray, cost: FloatArray, price: FloatArray, worth: FloatArray
) -> None:  # pragma: no cover - compiled
    """The most that one of some options is worth, (N, prices): from what is in ``worth`` on.

    Option o gains ``moves[which[o], n] + gain[o]`` for candidate n.
    """
    for o in range(gain.size):
        for n in range(worth.shape[0]):
            lifted = moves[which[o], n] + gain[o]
            for i in range(price.size):
                worth[n, i] = max(worth[n, i], lifted * price[i] - cost[o])


@entry_bare
def bound_each(
    short: FloatArray,
    price: FloatArray,
    decided: FloatArray,
    constant: FloatArray,
    stay: FloatArray,
    move: FloatArray,
    found: FloatArray,
) -> None:  # pragma: no cover - compiled
    """The largest bound over all prices, for each pattern and candidate; the first pattern leaves a change more."""
    for k in range(short.shape[0]):
        left = stay if k == 0 else move
        for n in range(short.shape[1]):
            most = -np.inf
            for i in range(price.size):
                lacking = price[i] * short[k, n] - decided[i] - constant[k, i] - left[n, i]
                most = max(most, lacking)
            found[k, n] = most


def _most_of(ratio: FloatArray) -> float:
    """``np.quantile(ratio, 0.9)``, to the last bit and without the care that it takes.

    >>> _most_of(np.arange(11.0))
    9.0
    """
    at = (ratio.size - 1) * 0.9
    place, share = int(at), at - int(at)
    ends = np.partition(ratio, [place, min(place + 1, ratio.size - 1)])
    low, high = float(ends[place]), float(ends[min(place + 1, ratio.size - 1)])
    return low + (high - low) * share if share < 0.5 else high - (high - low) * (1.0 - share)


def _top(plain: FloatArray, own: list[FloatArray], changes: int, shape: tuple[int, int]) -> FloatArray:
    """The sum of the ``changes`` largest of what all candidates share (falling) and what each has of its own.

    The largest sum of the first i of the one and the first ``changes - i`` of the other.
    """
    shared = np.concatenate([np.zeros((1, shape[1])), np.cumsum(plain, axis=0)])
    best = np.broadcast_to(shared[min(changes, len(plain))], shape).copy()
    rising = np.sort(np.maximum(np.stack(own), 0.0), axis=0) if own else np.zeros((0, *shape))
    sums = np.cumsum(rising[::-1], axis=0)
    for i in range(1, min(len(own), changes) + 1):
        np.maximum(best, sums[i - 1] + shared[min(changes - i, len(plain))], out=best)
    return best
