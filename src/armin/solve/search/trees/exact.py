"""A tree ensemble's own answer for a single choice, compiled: its order of summation, its precision.

Bounds are in fixed point with a slack for rounding, so they let too much pass at a tie. Here the sum is made as the
library makes it: leaf values in tree order, in 32 or 64 bits, the base first or last, then the divisor.
"""

from __future__ import annotations

import numpy as np

from armin.compiling import called, entry_bare
from armin.solve.search.trees.data import GROUPS, UNIONS, Exact, State, Trees
from armin.solve.search.words import lowest_bit

__all__ = ["weigh"]


@entry_bare
def weigh(exact: Exact, tables: Trees, state: State) -> float:  # pragma: no cover - compiled
    """The weight that accepts the single choice in ``state.work``."""
    total = 0.0
    for g in range(state.counter[GROUPS]):
        if _accepted(exact, tables, state, UNIONS + g):
            total += state.weight[g]
    return total


@called
def _accepted(exact: Exact, tables: Trees, state: State, g: int) -> bool:  # pragma: no cover - compiled
    """The model's own answer for group g."""
    out, single = exact.out, exact.single_out
    for c in range(out.size):
        out[c], single[c] = 0.0, np.float32(0.0)
        if not exact.base_last:
            out[c], single[c] = exact.base[c], np.float32(exact.base[c])
    for t in range(exact.tree_at.size):
        node = _leaf(exact, tables, state, g, t)
        for c in range(out.size):
            out[c] += exact.value[node, c]
            single[c] += np.float32(exact.value[node, c])
    for c in range(out.size):
        if exact.base_last:
            out[c] += exact.base[c]
            single[c] += np.float32(exact.base[c])
        if exact.divisor != 1.0:
            out[c] /= exact.divisor
            single[c] /= np.float32(exact.divisor)
        if exact.single:
            out[c] = single[c]
    if exact.accepted.size == 0:
        return bool(out[0] >= exact.cut)
    largest = 0
    for c in range(1, out.size):
        if out[c] > out[largest]:
            largest = c
    return bool(exact.accepted[largest])


@called
def _leaf(exact: Exact, tables: Trees, state: State, g: int, t: int) -> int:  # pragma: no cover - compiled
    """The leaf that tree t reaches under the single choice in ``state.work``: the only bit that is left of it."""
    w, own_word = tables.part[exact.tree_at[t]], tables.shape.own_word
    while True:
        word = state.work[w] & state.mask[g, w - own_word] if w >= own_word else state.work[w]
        if word != 0:
            return int(exact.leaf[w, lowest_bit(word)])
        w += 1
