"""How inner loops are compiled: entries are cached on disk and run without the interpreter's lock."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CellType, FunctionType
from typing import Any, TypeVar, cast

from numba import njit

__all__ = ["called", "entry", "entry_bare", "inlined", "inner", "inner_fast"]

F = TypeVar("F", bound=Callable[..., object])


def entry(function: F) -> F:
    """Compile a function that Python calls; all it calls is stored with it, until a module of the search changes."""
    return _cached(function)


def entry_bare(function: F) -> F:
    """As :func:`entry`, for a function that makes no arrays, nor does any that it calls.

    Its arrays all belong to the caller, so they need not be counted: in a loop over a bundle of arrays, counting would
    take longer than the work.
    """
    return _cached(function, _nrt=False)


def inner(function: F) -> F:
    """Compile a function that only compiled ones call."""
    return cast(F, njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(function))


def inlined(function: F) -> F:
    """As :func:`entry_bare`, but only compiled functions call it, and it is put into their code.

    A bundle of many arrays takes longer to hand over than most of these functions take to run.
    """
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": True, "_nrt": False}
    return cast(F, njit(error_model="numpy", **options)(function))


def called(function: F) -> F:
    """As :func:`inlined`, for a function that takes long enough to be handed a bundle: its code is there only once."""
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
    return cast(F, njit(error_model="numpy", **options)(function))


def inner_fast(function: F) -> F:
    """As :func:`inner`, with sums that may be reordered; for finite numbers only."""
    fast = {"reassoc", "contract", "nsz", "nnan"}
    return cast(F, njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, fastmath=fast)(function))


def _cached(function: F, **options: bool) -> F:
    stamped = _stamped(function)
    try:
        return cast(F, njit(cache=True, nogil=True, error_model="numpy", **options)(stamped))
    except RuntimeError:
        # no folder to keep compiled code in: compile anew in every process
        return cast(F, njit(nogil=True, error_model="numpy", **options)(stamped))


def _stamped(function: F) -> F:
    """The same function with a digest of the search's sources in its closure.

    The store knows a function by its own file and its closure only. Without the stamp, a change in another module that
    it calls would go unnoticed, and the old code would run on.
    """
    plain: Any = function
    code = plain.__code__.replace(co_freevars=("stamp",))
    stamped = FunctionType(code, plain.__globals__, plain.__name__, plain.__defaults__, (CellType(_digest()),))
    stamped.__module__, stamped.__qualname__, stamped.__doc__ = plain.__module__, plain.__qualname__, plain.__doc__
    return cast(F, stamped)


@cache
def _digest() -> str:
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()
