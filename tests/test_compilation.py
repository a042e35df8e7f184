"""Compiled code: cached once, shared by processes, and not needed to have a place to be kept in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import numpy as np
from armin import Problem
from armin.solve import solve
from armin.models.kinds import Above, LinearModel

model = LinearModel(np.array([[1.0, 2.0]]), np.array([-6.0]), Above(0.0))
problem = Problem.from_tables([[1, 0], [3, 0]], {0: [0, 2, 4], 1: [0, 1, 2]}, {0: [0, 1, 2], 1: [0, 1, 2]}, model, 2)
print(solve(problem, "search").cost)
"""
NO_PLACE = "import numba.core.caching as c; c.CacheImpl._locator_classes = []\n"


def start(code: str, folder: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out.strip(), err


def test_two_processes_compile_at_once_and_a_third_finds_the_code(tmp_path):
    first, second = start(SCRIPT, tmp_path), start(SCRIPT, tmp_path)
    answers = [finish(first), finish(second)]
    assert [out for out, _ in answers] == ["3.0", "3.0"]
    assert any("compiles its search for linear models" in err for _, err in answers)
    out, err = finish(start(SCRIPT, tmp_path))
    assert (out, err) == ("3.0", "")


def test_it_works_where_nothing_can_be_kept(tmp_path):
    out, _ = finish(start(NO_PLACE + SCRIPT, tmp_path / "nowhere"))
    assert out == "3.0"
    assert not (tmp_path / "nowhere").exists()
