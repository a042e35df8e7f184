"""How loops are compiled, all of them: entries are kept on disk and run without the interpreter's lock.

What is kept is a convenience. If it cannot be read, or cannot be written, the code is compiled as if it were not there.
"""

from __future__ import annotations

import gc
import hashlib
import logging
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CellType, FunctionType
from typing import Any, TypeVar, cast

from numba import __version__ as numba_version
from numba import njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.serialize import dumps

from armin.clock import uncounted

__all__ = ["called", "called_fast", "entry", "entry_bare", "inlined", "inner"]

F = TypeVar("F", bound=Callable[..., object])
_said: set[str] = set()
OLDEST, NEWEST = (0, 60), (0, 68)
"""The releases of Numba whose way of compiling is known; with others each part is compiled on its own."""
_DEPTH = 2  # compiled functions call each other within a folder such as solve/search or impute, and below it


def entry(function: F) -> F:
    """Compile a function that Python calls; all it calls is stored with it, until a module beside it changes."""
    return _cached(function)


def entry_bare(function: F) -> F:
    """As :func:`entry`, for a function that makes no arrays, nor does any that it calls.

    Its arrays all belong to the caller, so they need not be counted. Counting would take longer than the work, and the
    code that counts longer to compile.
    """
    return _cached(function, _nrt=False)


def inner(function: F) -> F:
    """Compile a function that only compiled ones call."""
    return _part(function)


def called(function: F) -> F:
    """As :func:`inner`, for a function that makes no arrays, nor does any that it calls."""
    return _part(function, _nrt=False)


def inlined(function: F) -> F:
    """As :func:`called`, but put into the code of every function that calls it: for what is done at every node."""
    return _part(function, _nrt=False, forceinline=True)


def called_fast(function: F) -> F:
    """As :func:`called`, with sums that may be reordered; for finite numbers only."""
    return _part(function, _nrt=False, fastmath={"reassoc", "contract", "nsz", "nnan"})


def _release(text: str) -> tuple[int, int]:
    """The first two numbers of a version.

    >>> _release("0.68.1")
    (0, 68)
    """
    first, second = text.split(".")[:2]
    return int(first), int(second)


def _compiler(*, part: bool) -> dict[str, Any]:
    """The option that names the compiler, if it is not Numba's own."""
    if not OLDEST <= _release(numba_version) <= NEWEST:
        return {}
    from armin.compiler import PartCompiler, QuickCompiler

    return {"pipeline_class": PartCompiler if part else QuickCompiler}


def _part(function: F, **options: object) -> F:
    options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(F, njit(error_model="numpy", **_compiler(part=True), **options)(function))


def _cached(function: F, **options: object) -> F:
    stamped = _stamped(function)
    compiled: Any = njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **_compiler(part=False), **options)(
        stamped
    )
    try:
        compiled._cache = _KeptCode(stamped)  # what njit(cache=True) does, with a cache that never raises
    except RuntimeError:
        _say_once("nowhere", "There is no folder to keep compiled code in, so every process compiles its own. Set "
                  "NUMBA_CACHE_DIR to a folder that can be written to.")  # fmt: skip
    return cast(F, _made_ready_uncounted(compiled))


def _made_ready_uncounted(compiled: Any) -> Any:
    """The same function, whose compiling or loading, or waiting for another thread to do so, no time limit counts."""
    make_ready = compiled._compile_for_args  # called once for each new combination of types

    def uncounting(*args: Any, **named: Any) -> Any:
        with uncounted(), _uncollected():
            return make_ready(*args, **named)

    compiled._compile_for_args = uncounting
    return compiled


@contextmanager
def _uncollected() -> Iterator[None]:
    """Within this context, no garbage is looked for: a compiler makes many objects and throws few of them away."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _say_once(what: str, sentence: str, *values: object) -> None:
    if what not in _said:
        _said.add(what)
        logging.getLogger("armin").warning(sentence, *values)


class _CheckedCode(CompileResultCacheImpl):  # type: ignore[misc]  # Numba has no types
    """Compiled code with a checksum of itself and of the sources.

    A damaged file must not be run. Nor must an old one: the index is written before the code, so if the disk is full in
    between, the index of the new sources points to the code of the old ones.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._module = function.__module__

    def reduce(self, compiled: Any) -> tuple[str, bytes]:
        code = dumps(super().reduce(compiled))
        return self._checksum(code), code

    def rebuild(self, target_context: Any, payload: tuple[str, bytes]) -> Any:
        checksum, code = payload
        if checksum != self._checksum(code):
            raise ValueError("the checksum is wrong")
        return super().rebuild(target_context, pickle.loads(code))  # noqa: S301  as Numba does

    def _checksum(self, code: bytes) -> str:
        return hashlib.sha256(_digest(self._module).encode() + code).hexdigest()


class _KeptCode(FunctionCache):  # type: ignore[misc]
    """The compiled code of one function on disk: what cannot be used is removed, and what cannot be kept is not."""

    _impl_class = _CheckedCode

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(sig, target_context)
            if found is not None and tuple(found.signature.args) != tuple(getattr(sig, "args", sig)):
                raise ValueError("it is for other types")  # two processes wrote at once
        except Exception as error:  # whatever unpickling or linking raises
            self._drop()
            _say_once("load", "Compiled code in %s cannot be used and is made anew (%s: %s).",
                      self.cache_path, type(error).__name__, error)  # fmt: skip
            return None
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:  # a full disk, a folder that is gone, an index that cannot be read
            self._drop()
            _say_once("save", "Compiled code cannot be kept in %s (%s: %s), so the next process compiles it again.",
                      self.cache_path, type(error).__name__, error)  # fmt: skip

    def _drop(self) -> None:
        """Remove all that is kept of this function; if that fails, look at it no more."""
        base, folder = self._impl.filename_base, Path(self.cache_path)
        try:
            for kept in [*folder.glob(f"{base}.nbi"), *folder.glob(f"{base}.*.nbc")]:
                kept.unlink(missing_ok=True)
        except OSError:
            self.disable()


def _stamped(function: F) -> F:
    """The same function with a digest of the sources beside it in its closure.

    The store knows a function by its own file and its closure only. Without the stamp, a change in another module that
    it calls would go unnoticed, and the old code would run on.
    """
    plain: Any = function
    cell = CellType(_digest(plain.__module__))
    code = plain.__code__.replace(co_freevars=("stamp",))
    stamped = FunctionType(code, plain.__globals__, plain.__name__, plain.__defaults__, (cell,))
    stamped.__module__, stamped.__qualname__, stamped.__doc__ = plain.__module__, plain.__qualname__, plain.__doc__
    return cast(F, stamped)


def _digest(module: str) -> str:
    """What a function of ``module`` is made of: the sources of all modules that it may call, and of this one."""
    package, *parts = module.split(".")
    if package != __name__.partition(".")[0]:
        return _digest_of(None)  # a function of somebody else calls none of ours
    place = Path(__file__).parent.joinpath(*parts[:_DEPTH])
    return _digest_of(place if place.is_dir() else place.parent)


@cache
def _digest_of(folder: Path | None) -> str:
    digest = hashlib.sha256()
    own = [Path(__file__).with_name(name) for name in ("compiler.py", "compiling.py", "lowering.py")]
    for source in [*own, *(sorted(folder.rglob("*.py")) if folder else ())]:
        digest.update(source.read_bytes())
    return digest.hexdigest()
