"""A tree ensemble's own answer for a single choice, compiled: its order of summation, its precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from armin.solve.search.trees.bound import UNIONS
from armin.solve.search.words import kernel, lowest_bit

__all__ = ["weigh"]


@kernel
def weigh(
    exact: Any, part: Any, weight: Any, mask: Any, work: Any, groups: int, own_word: int
) -> float:  # pragma: no cover - compiled
    """The weight that accepts the single choice in ``work``."""
    total = 0.0
    for g in range(groups):
        if _accepted(exact, part, mask[UNIONS + g], work, own_word):
            total += weight[g]
    return total


@kernel
def _accepted(exact: Any, part: Any, mask: Any, work: Any, own_word: int) -> Any:  # pragma: no cover - compiled
    """The model's own answer for the single choice in ``work``, added in its order and precision."""
    out = np.zeros(exact.base.size)
    single = np.zeros(exact.base.size, np.float32)
    for c in range(out.size):
        if not exact.base_last:
            out[c], single[c] = exact.base[c], np.float32(exact.base[c])
    for t in range(exact.tree_at.size):
        node = _leaf(exact, part, mask, work, own_word, t)
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
        return out[0] >= exact.cut
    largest = 0
    for c in range(1, out.size):
        if out[c] > out[largest]:
            largest = c
    return exact.accepted[largest]


@kernel
def _leaf(exact: Any, part: Any, mask: Any, work: Any, own_word: int, t: int) -> Any:  # pragma: no cover - compiled
    """The leaf that tree t reaches under the single choice in ``work``."""
    w = part[exact.tree_at[t]]
    while True:
        word = work[w] & mask[w - own_word] if w >= own_word else work[w]
        if word != 0:
            return exact.leaf[w, lowest_bit(word)]
        w += 1
