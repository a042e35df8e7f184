"""Which code made a row: a fingerprint of what rows depend on, the libraries, the commit; and one run at a time."""

from __future__ import annotations

import ast
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import armin
from armin.errors import DataError
from lab.experiments.config import Cell

__all__ = ["Origin", "cell_mark", "code_mark", "locked", "origin"]

Origin = dict[str, Any]
SILENT = ("bundle", "cli", "desk", "letter", "report", "words")
"""Rooms of the package that no row depends on."""
OURS = ("kept.py", "measure.py", "run.py", "worlds.py", "data", "methods", "published")
LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas", "xgboost-cpu", "xgboost", "dice-ml")


def _bare(source: str) -> str:
    """Code without comments, docstrings and layout.

    >>> _bare("def f():\\n    'says'\\n    return 1  # one") == _bare("def f(): return 1")
    True
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                body[0] = ast.Pass()
                if len(body) > 1:
                    del body[0]
    return ast.dump(tree)


def _files() -> list[Path]:
    here, package = Path(__file__).parent, Path(armin.__file__).parent
    ours = [path for name in OURS for path in ([here / name] if name.endswith(".py") else (here / name).rglob("*"))]
    theirs = [path for path in package.rglob("*.py") if path.relative_to(package).parts[0] not in SILENT]
    return sorted(path for path in ours + theirs if path.is_file() and path.suffix != ".pyc")


@lru_cache(maxsize=1)
def _sources() -> str:
    found = hashlib.sha256()
    for path in _files():
        content = path.read_bytes()
        found.update(path.name.encode())
        found.update(_bare(content.decode("utf-8")).encode() if path.suffix == ".py" else content)
    return found.hexdigest()


def code_mark(plugins: Sequence[str] = ()) -> str:
    """The fingerprint of the code that makes rows: experiments, engine, plug-ins; comments do not count."""
    found = hashlib.sha256(_sources().encode())
    for name in plugins:
        path = getattr(sys.modules.get(name), "__file__", None)
        found.update(_bare(Path(path).read_text(encoding="utf-8")).encode() if path else name.encode())
    return found.hexdigest()[:12]


def cell_mark(cell: Cell) -> str:
    """The fingerprint of what a cell asks for, whatever the number of people and methods."""
    e, v = cell.experiment, cell.variant
    asked = (e.kind, e.blanks, e.plausibility, cell.dataset, cell.model, cell.missing, v.settings, v.split, v.mask)
    return hashlib.sha256(repr(asked).encode()).hexdigest()[:12]


def _versions() -> dict[str, str]:
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _commit() -> str:
    """The commit of the working tree, with a plus if something in it is not committed; nothing outside a repository."""
    here = Path(__file__).parent
    try:
        head, dirty = (
            subprocess.run(["git", *command], cwd=here, capture_output=True, text=True, timeout=20, check=True).stdout  # noqa: S603, S607  fixed words
            for command in (("rev-parse", "--short=12", "HEAD"), ("status", "--porcelain", "--", ".", "../src"))
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return head.strip() + ("+" if dirty.strip() else "")


def origin(plugins: Sequence[str] = ()) -> Origin:
    """Where rows that are made now come from."""
    return {"code": code_mark(plugins), "versions": _versions(), "commit": _commit()}


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other runs out of a folder; a run that is killed leaves no lock behind."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a+", encoding="utf-8") as file:
        if not _try_lock(file.fileno()):
            file.seek(0)
            raise DataError(
                f"Another run is writing to {folder} (process {file.read().strip() or 'unknown'}). Two runs would "
                "store rows twice. Wait for it, or write elsewhere with --out."
            )
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        yield


def _try_lock(number: int) -> bool:
    try:
        import fcntl
    except ImportError:  # pragma: no cover  Windows
        import msvcrt

        try:
            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
