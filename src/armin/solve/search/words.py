"""What the compiled engines share: bits, sorting, and the price of a set of features."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped, unused-ignore]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from armin.arrays import FloatArray
from armin.compiling import called, inner
from armin.solve.search.goals import Bans

__all__ = ["Bits", "Ints", "add_bit", "any_number", "copy_into", "lowest_bit", "price_of", "sort_by"]

Bits = NDArray[np.uint64]
"""Bits, 64 in a word."""

Ints = NDArray[np.int64]


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def lowest_bit(typingctx: Any, word: Any) -> Any:  # pragma: no cover - compiled
    """Position of the lowest set bit of a 64-bit word."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), code


@inner
def sort_by(items: Ints, key: FloatArray) -> None:  # pragma: no cover - compiled
    """Sort ``items`` by ``key[item]``, then by item, in place (Shell's method: small code, quick to compile)."""
    gap = items.size // 2
    while gap > 0:
        for i in range(gap, items.size):
            item = items[i]
            j = i
            while j >= gap and (
                key[items[j - gap]] > key[item] or (key[items[j - gap]] == key[item] and items[j - gap] > item)
            ):
                items[j] = items[j - gap]
                j -= gap
            items[j] = item
        gap //= 2


@called
def copy_into(source: NDArray[Any], target: NDArray[Any]) -> None:  # pragma: no cover - compiled
    """``target[:] = source``; a plain loop compiles many times faster."""
    for i in range(source.size):
        target[i] = source[i]


@called
def any_number(value: int) -> int:  # pragma: no cover - compiled
    """The same number, not as a constant: for each constant a function is compiled once more."""
    return value


@called
def add_bit(words: Bits, at: int) -> None:  # pragma: no cover - compiled
    """Set the bit ``at``."""
    words[at // 64] |= np.uint64(1) << np.uint64(at % 64)


@called
def price_of(bans: Bans, changed: Bits, settled: bool | np.bool_) -> float:  # pragma: no cover - compiled
    """What a choice must cost less than because of the features that it changes.

    If they are ``settled``: min of price_s over the sets s that equal ``changed``, and the cores s inside it. If more
    may follow: over the cores inside it, which every larger set contains too.
    """
    price = np.inf
    for s in range(bans.price.size):
        hit = settled or bans.core[s]
        for w in range(changed.size):
            inside = changed[w] & bans.sets[s, w] if bans.core[s] else changed[w]
            hit = hit and inside == bans.sets[s, w]
        if hit:
            price = min(price, bans.price[s])
    return price
