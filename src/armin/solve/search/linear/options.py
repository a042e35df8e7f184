"""Moves and gains of a linear model's options, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armin.arrays import BoolArray, FloatArray
from armin.compiling import entry_bare
from armin.solve.search.words import Ints, sort_by

__all__ = ["Gains", "efficient", "spread"]


class Gains(NamedTuple):
    """By how much each option of each feature moves the scores."""

    start: Ints  # (D + 1,)
    gain: FloatArray  # (options, rows) between the least and the greatest move
    even: BoolArray  # (options,) whether all candidates move alike
    cost: FloatArray
    doubt: float


@entry_bare
def spread(
    outcomes: FloatArray, coefficients: FloatArray, low: FloatArray, high: FloatArray
) -> None:  # pragma: no cover - compiled
    """The least and the greatest move over the candidates, for each row and option; from infinity on.

    The move of candidate c by option j in row r is coefficients[r] @ (outcomes[c, j] - outcomes[c, 0]).
    """
    n, size, width = outcomes.shape
    for c in range(n):
        for r in range(coefficients.shape[0]):
            least, most, start = low[r], high[r], 0.0
            for e in range(width):
                start += outcomes[c, 0, e] * coefficients[r, e]
            if width == 1:  # a loop without another one inside runs on several options at once
                weight = coefficients[r, 0]
                for j in range(size):
                    move = outcomes[c, j, 0] * weight - start
                    least[j] = move if move < least[j] else least[j]
                    most[j] = move if move > most[j] else most[j]
                continue
            for j in range(size):
                move = -start
                for e in range(width):
                    move += outcomes[c, j, e] * coefficients[r, e]
                least[j] = min(least[j], move)
                most[j] = max(most[j], move)


@entry_bare
def efficient(
    moves: Gains, special: BoolArray, apart: bool, doubt: FloatArray, kept: Ints, size: Ints, items: Ints
) -> int:  # pragma: no cover - compiled
    """The options of each feature, by rising cost, that no other one beats; all of them where ``special``.

    Option o is beaten by one that costs no more and gains more: in any choice, that one can take its place. Gains that
    differ by less than the feature's ``doubt`` are not compared, as the model's own sum may tell them apart. Without
    ``apart``, "keep" (no gain, no cost) beats too. Those that stay go to ``kept``, how many of each feature to ``size``
    (from 0 on), and how many in all is returned; ``items`` is working space.
    """
    start, gain, cost = moves.start, moves.gain, moves.cost
    n = 0
    for d in range(start.size - 1):
        low, high = start[d] + 1, start[d + 1]
        if low >= high:
            continue
        down = cost[low] > cost[high - 1]
        m = 0
        for k in range(high - low):
            o = high - 1 - k if down else low + k
            if moves.even[o] and (special[d] or apart or gain[o, 0] > -doubt[d]):
                items[m] = o
                m += 1
        sort_by(items[:m], cost)
        best = -np.inf if apart else 0.0
        for k in range(m):
            o = items[k]
            if special[d] or gain[o, 0] > best - doubt[d]:
                last = kept[n - 1]
                if not special[d] and size[d] > 0 and cost[last] == cost[o] and gain[last, 0] <= gain[o, 0] - doubt[d]:
                    n -= 1
                    size[d] -= 1
                kept[n] = o
                n += 1
                size[d] += 1
                best = max(best, gain[o, 0])
    return n
