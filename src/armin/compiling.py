"""How loops are compiled: once on a machine, kept on disk, and run without the interpreter's lock.

What is kept is a convenience. If it cannot be read, or cannot be written, the code is compiled as if it were not there.
"""

from __future__ import annotations

import gc
import hashlib
import logging
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast
from uuid import uuid4

from numba import __version__ as numba_version
from numba import njit
from numba.core import config
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from armin.clock import uncounted

__all__ = ["called", "called_fast", "entry", "entry_bare", "folders", "inlined", "inner"]

F = TypeVar("F", bound=Callable[..., object])
MOST_FILES = 16
"""Files that a folder keeps of one function, one for each combination of types, sources, processor and release."""
_DEPTH = 2  # compiled functions call each other within a folder such as solve/search or impute, and below it
_said: set[str] = set()


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


def _part(function: F, **options: object) -> F:
    options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(F, njit(error_model="numpy", **options)(function))


def _cached(function: F, **options: object) -> F:
    compiled: Any = njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)
    compiled._cache = _KeptCode(function)  # what njit(cache=True) does, with a cache that reads what it cannot write
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


def folders() -> list[Path]:
    """Where compiled code is looked for, in this order; it is kept in the first of them that can be written to.

    That is the folder ``NUMBA_CACHE_DIR`` if it is set, the package itself, and the user's folder for caches.
    """
    chosen = [Path(config.CACHE_DIR) / "armin"] if config.CACHE_DIR else []
    user = Path(AppDirs("armin", appauthor=False).user_cache_dir)
    own = [user] if user.is_absolute() else []  # a user without a home has none
    return [*chosen, Path(__file__).parent / "__pycache__", *own]


class _KeptCode(_Cache):  # type: ignore[misc]  # Numba has no types
    """The compiled code of one function on disk, in a file for each combination of types.

    The name of a file says for what types, sources, processor and release it is. A file begins with a checksum of its
    name and content: one that is damaged, or stands where another should be, is not run.
    """

    def __init__(self, function: Any) -> None:
        self._function = f"{function.__module__}.{function.__qualname__}".replace("<", "").replace(">", "")
        self._sources = _digest(function)

    @property
    def cache_path(self) -> str:
        return str(folders()[0])

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        name = self._name(sig, target_context.codegen())
        for folder in folders():
            try:
                content = (folder / name).read_bytes()
            except OSError:
                continue
            try:
                if content[:32] != _checksum(name, content[32:]):
                    raise ValueError("the checksum is wrong")
                return CompileResult._rebuild(target_context, *pickle.loads(content[32:]))  # noqa: S301  as Numba does
            except Exception as error:  # whatever unpickling or linking raises
                _say_once("load", "Compiled code in %s cannot be used and is made anew (%s: %s).",
                          folder, type(error).__name__, error)  # fmt: skip
                with suppress(OSError):
                    (folder / name).unlink()
        _announce()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if data.library.has_dynamic_globals:
            return  # addresses of this process
        name, code = self._name(sig, data.codegen), dumps(data._reduce())
        for folder in folders():
            try:
                _write(folder / name, _checksum(name, code) + code)
            except OSError:
                continue
            self._remove_oldest(folder)
            return
        _say_nowhere()

    def _name(self, sig: Any, codegen: Any) -> str:
        types = ", ".join(map(str, getattr(sig, "args", sig)))
        python = sys.implementation.cache_tag
        made_for = "\n".join([types, self._sources, str(codegen.magic_tuple()), numba_version, python])
        return f"{self._function}-{hashlib.sha256(made_for.encode()).hexdigest()[:24]}.nbc"

    def _remove_oldest(self, folder: Path) -> None:
        with suppress(OSError):
            kept = sorted(folder.glob(f"{self._function}-*.nbc"), key=lambda path: path.stat().st_mtime)
            for path in kept[:-MOST_FILES]:
                path.unlink()

    def enable(self) -> None:
        """It always is."""

    def disable(self) -> None:
        """It never is."""

    def flush(self) -> None:
        """Files of other sources are not read, so nothing needs to be removed."""


def _checksum(name: str, code: bytes) -> bytes:
    return hashlib.sha256(name.encode() + code).digest()


def _write(path: Path, content: bytes) -> None:
    """Write a file as a whole or not at all; others may read it while, and write the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{uuid4().hex}.tmp")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def _announce() -> None:
    """Say once in a process that it waits for the compiler, and whether the next one will too."""
    if "compile" in _said:
        return
    for folder in folders():
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            _say_once("compile", "ARMIN compiles its search now, once on this machine: this takes up to a minute. "
                      "The code is kept in %s.", folder)  # fmt: skip
            return
    _said.add("compile")
    _say_nowhere()


def _say_nowhere() -> None:
    _say_once("keep", "ARMIN compiles its search now, and so will every process, because the code cannot be kept in "
              "%s. Set NUMBA_CACHE_DIR to a folder that can be written to, or run 'armin warm-up' as a user who can "
              "write to one of these.", " or ".join(map(str, folders())))  # fmt: skip


def _say_once(what: str, sentence: str, *values: object) -> None:
    if what not in _said:
        _said.add(what)
        logging.getLogger("armin").warning(sentence, *values)


def _digest(function: Any) -> str:
    """What a function is made of: the sources of all modules that it may call, and of this one."""
    package, *parts = function.__module__.split(".")
    if package != __name__.partition(".")[0]:
        return _digest_of(Path(function.__code__.co_filename))  # a function of somebody else calls none of ours
    place = Path(__file__).parent.joinpath(*parts[:_DEPTH])
    return _digest_of(place if place.is_dir() else place.parent)


@cache
def _digest_of(place: Path) -> str:
    digest = hashlib.sha256()
    for source in [Path(__file__), *(sorted(place.rglob("*.py")) if place.is_dir() else [place])]:
        digest.update(source.read_bytes())
    return digest.hexdigest()
