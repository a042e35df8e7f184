"""What the compiled searches share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped, unused-ignore]
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

__all__ = ["Words", "copy_into", "kernel", "lowest_bit", "sort_by"]

Words = NDArray[np.uint64]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def kernel(function: _Function) -> _Function:
    """Compile a function at its first call, keep the code on disk, and let other threads run meanwhile."""
    return cast(_Function, njit(cache=True, nogil=True)(function))


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def lowest_bit(typingctx: Any, word: Any) -> Any:  # pragma: no cover - compiled
    """Position of the lowest set bit of a 64-bit word."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), code


@kernel
def sort_by(items: Any, key: Any) -> None:  # pragma: no cover - compiled
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


@kernel
def copy_into(source: Any, target: Any) -> None:  # pragma: no cover - compiled
    """``target[:] = source``; a plain loop compiles many times faster."""
    for i in range(source.size):
        target[i] = source[i]
