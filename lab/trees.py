"""Source trees of this repository: the one at hand, and worktrees of other commits under ``out/trees``."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
OUT = HERE / "out"
SAFE = {"PYTHONSAFEPATH": "1"}


def commit_of(reference: str) -> str:
    """The full name of a commit."""
    return _git("rev-parse", "--verify", f"{reference}^{{commit}}")


def worktree(reference: str) -> Path:
    """A folder with the files of a commit; made once and kept."""
    commit = commit_of(reference)
    folder = OUT / "trees" / commit[:12]
    if not (folder / "pyproject.toml").exists():
        _git("worktree", "prune")
        _git("worktree", "add", "--force", "--detach", str(folder), commit)
    return folder


def environment(tree: Path) -> dict[str, str]:
    """Environment variables for a process that runs the code of ``tree`` on one thread.

    The tools are those of the tree if it has a ``lab`` of its own, else those of this one.
    """
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return os.environ | threads | {"PYTHONPATH": os.pathsep.join(map(str, [*sources(tree), tree, HERE]))} | SAFE


def sources(tree: Path) -> list[Path]:
    """The folders that hold the packages of a tree."""
    return [folder for folder in (tree / "src", tree / "desk/src") if folder.is_dir()]


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(HERE), *arguments], capture_output=True, text=True)  # noqa: S603, S607
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()
