"""How inner loops are compiled: entries are cached on disk and run without the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

__all__ = ["entry", "inner", "inner_fast"]

F = TypeVar("F", bound=Callable[..., object])


def entry(function: F) -> F:
    """Compile a function that Python calls; all it calls is stored with it."""
    return cast(F, njit(cache=True, nogil=True, error_model="numpy")(function))


def inner(function: F) -> F:
    """Compile a function that only compiled ones call."""
    return cast(F, njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(function))


def inner_fast(function: F) -> F:
    """As :func:`inner`, with sums that may be reordered; for finite numbers only."""
    fast = {"reassoc", "contract", "nsz", "nnan"}
    return cast(F, njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, fastmath=fast)(function))
