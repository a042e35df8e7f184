"""Small loops outside the search, compiled; kept on disk where there is a place to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

__all__ = ["compiled"]

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """The function in machine code, at its first call; it runs without the interpreter's lock.

    >>> compiled(lambda x: x + 1)(2)
    3
    """
    try:
        return cast(F, njit(cache=True, nogil=True, error_model="numpy")(function))
    except RuntimeError:
        # no folder to keep compiled code in: compile anew in every process
        return cast(F, njit(nogil=True, error_model="numpy")(function))
