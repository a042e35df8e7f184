"""A trial: a bundle is loaded and asked in a process of its own, with little memory and time, before it is let in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from armin.errors import ArminError, DataError, ParameterError

__all__ = ["MEMORY", "SECONDS", "try_bundle"]

SECONDS = 60
"""Of computing that a trial may take; of waiting, four times as much."""

MEMORY = 4 * 2**30
"""Bytes of address space that a trial may take."""

_REFUSED, _PATIENCE = 3, 4
_CALM = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONDONTWRITEBYTECODE"), "1")


def try_bundle(path: str | Path, *, seconds: int = SECONDS, memory: int = MEMORY) -> None:
    """Load a bundle in another process and ask its model about some rows, to see that both end well.

    The process may compute for so many seconds, take so much memory and write no file, where the system has such limits
    (Linux and macOS); elsewhere it is only ended after four times as many seconds. A bundle that crashes Python does so
    there and not here. Bundles that need trust are refused, as their code could tell a trial from the real thing.

    Parameters
    ----------
    path : the file
    seconds : of computing
    memory : bytes of address space; Python and the libraries take about one gigabyte of it

    Raises
    ------
    DataError
        If the bundle does not survive, or is refused.

    Examples
    --------
    >>> try_bundle("no-such-file.armin", seconds=0)
    Traceback (most recent call last):
        ...
    armin.errors.ParameterError: A trial needs at least one second and 1 MB of memory. Got 0 and 4294967296 bytes.
    """
    if seconds < 1 or memory < 2**20:
        raise ParameterError(
            f"A trial needs at least one second and 1 MB of memory. Got {seconds!r} and {memory!r} bytes."
        )
    command = [sys.executable, "-m", "armin.bundle.trial", str(Path(path)), str(int(seconds)), str(int(memory))]
    try:
        done = subprocess.run(  # noqa: S603  our own module, and a file name that no shell sees
            command, capture_output=True, text=True, timeout=_PATIENCE * seconds, env=os.environ | _CALM, check=False
        )
    except subprocess.TimeoutExpired:
        raise DataError(
            f"{str(path)!r} did not survive its trial: it took more than {_PATIENCE * seconds} seconds. "
            "Get it again from its source."
        ) from None
    if done.returncode == _REFUSED:
        raise DataError(done.stderr.strip().splitlines()[-1])
    if done.returncode:
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"code {done.returncode}"
        raise DataError(
            f"{str(path)!r} did not survive its trial: the process that loaded it ended with {how}, within {seconds} "
            f"seconds and {memory / 2**30:.1f} GB. Get it again from its source, or allow it more."
        )


def _limit(seconds: int, memory: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    wanted = {"RLIMIT_CPU": seconds, "RLIMIT_AS": memory, "RLIMIT_FSIZE": 0, "RLIMIT_CORE": 0}
    for name, most in wanted.items():
        which = getattr(resource, name)
        hard = resource.getrlimit(which)[1]
        soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (soft, hard if sys.platform == "darwin" else soft))


def _run(path: str, seconds: str, memory: str) -> int:
    _limit(int(seconds), int(memory))
    from armin.bundle.probe import probe
    from armin.bundle.store import load_bundle

    try:
        loaded = load_bundle(path)
        probe(loaded.explainer, loaded.explainer.classifier)
    except ArminError as error:
        sys.stderr.write(f"{' '.join(str(error).split())}\n")
        return _REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(_run(*sys.argv[1:]))
