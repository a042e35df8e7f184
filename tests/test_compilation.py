"""Compiled code: kept once, shared by processes, and never missed where it cannot be read or kept."""

from __future__ import annotations

import errno
import importlib.util
import os
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numba.core import caching

from armin import ARMIN, compiling
from armin.compiling import entry_bare
from armin.solve import search, solve_best, solve_path
from armin.solve.search import warm
from armin.solve.search.handed import hand, space

from problems import random_problem
from worlds import make_world

SCRIPT = """
import numpy as np
from armin.problem import Problem
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
    out, err = finish(start(NO_PLACE + SCRIPT, tmp_path / "nowhere"))
    assert out == "3.0"
    assert err.count("every process compiles its own") == 1  # though there are several kernels
    assert not (tmp_path / "nowhere").exists()


KERNEL = """
from typing import NamedTuple

from armin.compiling import entry

class Pair(NamedTuple):
    left: float
    right: float

@entry
def total(pair, times):
    return (pair.left + pair.right) * times
"""


class Kernel:
    """A small kernel in a file of its own; each loading is as good as a new process."""

    def __init__(self, home: Path, patch: pytest.MonkeyPatch) -> None:
        self.source, self.kept, self.patch = home / "small_kernel.py", home / "kept", patch
        self.source.write_text(KERNEL)
        patch.setattr(numba.core.config, "CACHE_DIR", str(self.kept))
        patch.setattr(compiling, "_said", set())

    def load(self) -> Callable[..., Any]:
        spec = importlib.util.spec_from_file_location("small_kernel", self.source)
        module = importlib.util.module_from_spec(spec)
        self.patch.setitem(sys.modules, "small_kernel", module)
        spec.loader.exec_module(module)
        return lambda times: module.total(module.Pair(1.0, 2.0), times)

    def compiled_anew(self, times: float = 2) -> bool:
        """Whether the code was not found, in a new process, and the answer is right in any case."""
        call = self.load()
        assert call(times) == 3.0 * times
        return not sum(sys.modules["small_kernel"].total.stats.cache_hits.values())

    def files(self, ending: str) -> list[Path]:
        return sorted(self.kept.rglob(f"*.{ending}"))


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    return Kernel(tmp_path, monkeypatch)


def test_code_is_kept_and_found_without_a_word(kernel, caplog):
    assert kernel.compiled_anew()
    assert not kernel.compiled_anew()
    assert len(kernel.files("nbi")) == len(kernel.files("nbc")) == 1
    assert not caplog.records


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["nbi", "nbc"]), st.floats(0, 1, exclude_max=True), st.sampled_from(["cut", "turn"]))
def test_a_damaged_file_is_no_worse_than_none(kernel, ending, where, how):
    kernel.compiled_anew()
    (path,) = kernel.files(ending)
    content = bytearray(path.read_bytes())
    at = int(where * len(content))
    if how == "cut":
        content = content[:at]
    else:
        content[at] ^= 0xFF
    path.write_bytes(content)
    kernel.compiled_anew()
    assert not kernel.compiled_anew()  # and is whole again


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_a_damaged_file_is_spoken_of_once(kernel, caplog, ending):
    for times in (2, 2.5):  # two types, so two files of code
        kernel.compiled_anew(times)
    for path in kernel.files(ending):
        path.write_bytes(path.read_bytes()[:-20])
    for times in (2, 2.5):
        assert kernel.compiled_anew(times)
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "cannot be used and is made anew" in record.getMessage()
    assert str(kernel.kept) in record.getMessage()
    assert not kernel.compiled_anew()


def test_an_index_that_names_a_class_that_is_gone(kernel, caplog):
    kernel.compiled_anew()
    kernel.source.write_text(KERNEL.replace("Pair", "Both"))
    kernel.load()
    module = sys.modules["small_kernel"]
    assert module.total(module.Both(1.0, 2.0), 2) == 6.0
    assert "no attribute 'Pair'" in caplog.text or "Can't get attribute 'Pair'" in caplog.text
    caplog.clear()
    kernel.load()
    module = sys.modules["small_kernel"]
    assert module.total(module.Both(1.0, 2.0), 2) == 6.0
    assert module.total.stats.cache_hits
    assert not caplog.records


def test_code_for_other_types_is_not_run(kernel, caplog):
    for times in (2, 2.5):
        kernel.compiled_anew(times)
    one, two = kernel.files("nbc")
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    assert kernel.compiled_anew(2)
    assert "other types" in caplog.text


def test_code_of_other_sources_is_not_run(kernel, caplog, monkeypatch):
    """As if the disk had been full between the index and the code."""
    with monkeypatch.context() as older:
        older.setattr(compiling, "_digest", lambda module: "older")
        kernel.compiled_anew()
        (code,) = kernel.files("nbc")
        old = code.read_bytes()
    kernel.compiled_anew()
    code = kernel.files("nbc")[-1]
    assert code.read_bytes() != old
    code.write_bytes(old)
    assert kernel.compiled_anew()
    assert "checksum" in caplog.text


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_a_full_disk(kernel, caplog, monkeypatch, ending):
    real = open

    def full(path: str, mode: str = "r") -> Any:
        if "w" in mode and f".{ending}" in path:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        return real(path, mode)

    with monkeypatch.context() as filled:
        filled.setattr(caching, "open", full, raising=False)
        for times in (2, 2.5):
            assert kernel.compiled_anew(times)
        (record,) = caplog.records
        assert "cannot be kept" in record.getMessage()
        assert os.strerror(errno.ENOSPC) in record.getMessage()
        assert not kernel.files("nbi")  # no index without its code
    assert kernel.compiled_anew()
    assert not kernel.compiled_anew()  # there is room again


def test_a_folder_that_cannot_be_written_to(kernel, caplog):
    call = kernel.load()
    for folder in kernel.kept.iterdir():
        folder.rmdir()
        folder.write_text("a file where the folder was")
    assert call(2) == 6.0
    assert call(2.5) == 7.5
    assert [("cannot be used" in said, "cannot be kept" in said) for said in caplog.messages] == [
        (True, False),
        (False, True),
    ]


def test_an_index_that_can_neither_be_read_nor_removed(kernel, caplog):
    kernel.compiled_anew()
    (index,) = kernel.files("nbi")
    index.unlink()
    index.mkdir()
    assert kernel.compiled_anew()
    assert "cannot be used" in caplog.text
    assert len(caplog.records) == 1  # nothing is tried with it again


def kernels() -> dict[str, Any]:
    """The compiled functions that Python calls, whatever was loaded before."""
    for part in pkgutil.walk_packages(search.__path__, f"{search.__name__}."):
        importlib.import_module(part.name)
    return {
        f"{name}.{label}": thing
        for name, module in sorted(sys.modules.items())
        if name.startswith("armin.")
        for label, thing in vars(module).items()
        if hasattr(thing, "signatures")
        and thing.__module__ == name
        and not thing.targetoptions.get("no_cpython_wrapper")
    }


def test_the_warm_up_leaves_nothing_to_compile_and_there_is_one_version_of_each_kernel():
    for exercise in warm.ENGINES.values():
        exercise()
    before = {name: list(kernel.signatures) for name, kernel in kernels().items()}
    assert len(before) >= 25
    assert {name: len(known) for name, known in before.items() if len(known) != 1} == {
        "armin.models.walk.walk": 2,  # leaves in single and in double precision
        "armin.solve.search.relu.loop.run": 2,  # one hidden layer, and more
    }
    for seed in range(6):
        for kind in ("linear", "trees", "mixture", "relu", "deep"):
            options = {"weighted": seed % 2 == 1, "n_rules": seed % 3, "mode": "reach" if seed > 2 else "shift"}
            problem = random_problem(
                np.random.default_rng(seed), kind, aggregate="max" if seed == 4 else "sum", **options
            )
            solve_path(problem, "search")
            solve_best(problem, 2, "search", differ="cores" if seed == 5 else "sets")
    for kind in ("linear", "forest"):
        world = make_world(2, kind, blanks=2)
        explainer = ARMIN(world.classifier, world.schema, desired="yes", n_samples=30, n_fresh=40).fit(world.X)
        row = world.X.iloc[0].to_dict() | {f.name: None for f in [f for f in world.schema if f.is_number][:2]}
        explainer.explain(row)
    assert {name: list(kernel.signatures) for name, kernel in kernels().items()} == before


def test_the_command_says_what_it_compiled(monkeypatch):
    from typer.testing import CliRunner

    from armin.cli import app

    monkeypatch.setattr(warm, "ENGINES", {"linear models": warm.ENGINES["linear models"]})
    result = CliRunner().invoke(app, ["warm-up"])
    assert result.exit_code == 0
    assert result.output.startswith("linear models: ")
    assert result.output.endswith(" s\n")


class Inside(NamedTuple):
    times: float
    shift: int
    negative: bool


class Outside(NamedTuple):
    table: np.ndarray
    inside: Inside
    words: np.ndarray
    small: np.ndarray


class Written(NamedTuple):
    counter: np.ndarray
    number: np.ndarray


@entry_bare
def fold(given, written):  # the arrays, numbers and the bundle inside, each used once
    inside = given.inside
    for i in range(given.table.shape[0]):
        for k in range(given.table.shape[1]):
            x = given.table[i, k] * inside.times + inside.shift + given.small[k]
            written.number[i, k] = -x if inside.negative else x
    for i in range(given.words.size):
        written.counter[0] += given.words[i] != 0


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.tuples(st.integers(0, 4), st.integers(0, 5)),
    st.floats(-9, 9),
    st.integers(-(2**40), 2**40),
    st.booleans(),
    st.integers(0, 99),
)
def test_compiled_code_finds_in_a_bundle_what_python_put_there(shape, times, shift, negative, seed):
    rows, columns = shape
    rng = np.random.default_rng(seed)
    table, small = rng.normal(size=(rows, columns)), rng.integers(-9, 9, columns).astype(np.int32)
    words = rng.integers(0, 3, rows).astype(np.uint64)
    given_ = Outside(table, Inside(times, shift, negative), words, small)
    work, written = space(Written, {"counter": (np.int64, (3,)), "number": (np.float64, (rows, columns))})
    fold(hand(given_), written)
    expected = table * times + shift + small
    assert np.array_equal(work.number, -expected if negative else expected)
    assert work.counter.tolist() == [np.count_nonzero(words), 0, 0]
    assert len(fold.signatures) == 1


def test_a_bundle_refuses_arrays_that_are_not_contiguous():
    wrong = Outside(np.zeros((4, 3)).T, Inside(1.0, 0, False), np.zeros(1, np.uint64), np.zeros(3, np.int32))
    with pytest.raises(ValueError, match=r"'table' of Outside must be contiguous.*np\.ascontiguousarray"):
        hand(wrong)
