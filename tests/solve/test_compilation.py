"""Compiled code: kept once, shared by processes, and never missed where it cannot be read or kept."""

from __future__ import annotations

import ctypes
import errno
import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import armin
from armin import compiling
from armin.compiling import MOST_FILES, entry_bare, folders
from armin.explain import warm
from armin.solve.search.handed import hand, space

SCRIPT = """
import numpy as np
from armin.problem import Problem
from armin.solve import solve
from armin.models.kinds import Above, LinearModel

model = LinearModel(np.array([[1.0, 2.0]]), np.array([-6.0]), Above(0.0))
problem = Problem.from_tables([[1, 0], [3, 0]], {0: [0, 2, 4], 1: [0, 1, 2]}, {0: [0, 1, 2], 1: [0, 1, 2]}, model, 2)
print(solve(problem, "search").cost)
"""


def start(code: str, folder: Path) -> subprocess.Popen[str]:
    """A new process that keeps compiled code in one folder and looks nowhere else."""
    only = f"import pathlib, armin.compiling as c\nc.folders = lambda: [pathlib.Path({str(folder)!r})]\n"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-c", only + code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out.strip(), err


def test_two_processes_compile_at_once_and_a_third_finds_the_code(tmp_path):
    first, second = start(SCRIPT, tmp_path), start(SCRIPT, tmp_path)
    answers = [finish(first), finish(second)]
    assert [out for out, _ in answers] == ["3.0", "3.0"]
    notice = "ARMIN compiles its search now, once on this machine: this takes up to a minute. "
    notice += f"The code is kept in {tmp_path}."
    assert all(err in (f"{notice}\n", "") for _, err in answers)
    assert any(err for _, err in answers)
    out, err = finish(start(SCRIPT, tmp_path))
    assert (out, err) == ("3.0", "")
    assert not list(tmp_path.glob("*.tmp"))


def test_where_nothing_can_be_kept_one_notice_says_what_to_do(tmp_path):
    (tmp_path / "file").touch()
    out, err = finish(start(SCRIPT, tmp_path / "file" / "inside"))
    assert out == "3.0"
    (notice,) = err.splitlines()
    assert f"every process, because the code cannot be kept in {tmp_path / 'file' / 'inside'}." in notice
    assert "Set NUMBA_CACHE_DIR" in notice


def test_the_folders_are_the_one_that_is_set_then_the_package_then_the_users(tmp_path, monkeypatch):
    package = Path(armin.__file__).parent / "__pycache__"
    monkeypatch.setattr("numba.core.config.CACHE_DIR", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    usual = folders()
    assert usual[0] == package
    assert all(folder.is_absolute() for folder in usual)
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path / "chosen"))
    assert folders() == [tmp_path / "chosen" / "armin", *usual]
    monkeypatch.setenv("XDG_CACHE_HOME", "~/of-nobody")  # what is left of a home that there is not
    assert folders() == [tmp_path / "chosen" / "armin", package]


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
        self.keep_in(self.kept)

    def keep_in(self, *places: Path) -> None:
        self.patch.setattr(compiling, "folders", lambda: list(places))
        self.forget()

    def forget(self) -> None:
        """What was said is said again."""
        self.patch.setattr(compiling, "_said", set())

    def load(self) -> Callable[..., Any]:
        compiling._digest_of.cache_clear()
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

    def files(self) -> list[Path]:
        return sorted(self.kept.iterdir(), key=lambda path: path.stat().st_mtime_ns)


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    return Kernel(tmp_path, monkeypatch)


def test_code_is_kept_and_found_without_a_word(kernel, caplog):
    assert kernel.compiled_anew()
    assert [record.getMessage() for record in caplog.records] == [
        "ARMIN compiles its search now, once on this machine: this takes up to a minute. "
        f"The code is kept in {kernel.kept}."
    ]
    caplog.clear()
    kernel.forget()
    assert not kernel.compiled_anew()
    assert len(kernel.files()) == 1
    assert not caplog.records


def test_others_may_read_what_is_kept(kernel):
    before = os.umask(0o022)
    try:
        kernel.compiled_anew()
    finally:
        os.umask(before)
    (path,) = kernel.files()
    assert path.stat().st_mode & 0o777 == 0o644


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.floats(0, 1, exclude_max=True), st.sampled_from(["cut", "turn"]))
def test_a_damaged_file_is_no_worse_than_none(kernel, where, how):
    kernel.compiled_anew()
    (path,) = kernel.files()
    content = bytearray(path.read_bytes())
    at = int(where * len(content))
    if how == "cut":
        content = content[:at]
    else:
        content[at] ^= 0xFF
    path.write_bytes(content)
    assert kernel.compiled_anew()
    assert not kernel.compiled_anew()  # and is whole again


def test_a_damaged_file_is_spoken_of_once(kernel, caplog):
    for times in (2, 2.5):  # two types, so two files of code
        kernel.compiled_anew(times)
    for path in kernel.files():
        path.write_bytes(path.read_bytes()[:-20])
    caplog.clear()
    for times in (2, 2.5):
        assert kernel.compiled_anew(times)
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "cannot be used and is made anew" in record.getMessage()
    assert str(kernel.kept) in record.getMessage()
    assert not kernel.compiled_anew()


def test_code_that_cannot_be_loaded_is_made_anew(kernel, caplog, monkeypatch):
    """As if it named a class that is gone."""
    kernel.compiled_anew()
    (path,) = kernel.files()
    code = b"cmissing_module\nGone\n."
    path.write_bytes(compiling._checksum(path.name, code) + code)
    assert kernel.compiled_anew()
    assert "No module named 'missing_module'" in caplog.text
    assert not kernel.compiled_anew()


def test_code_for_other_types_is_not_run(kernel, caplog):
    for times in (2, 2.5):
        kernel.compiled_anew(times)
    one, two = kernel.files()
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    assert kernel.compiled_anew(2)
    assert "checksum" in caplog.text


def test_code_of_other_sources_is_not_run(kernel):
    kernel.compiled_anew()
    kernel.source.write_text(KERNEL.replace("* times", "+ times"))
    call = kernel.load()
    assert call(2) == 5.0
    kernel.source.write_text(KERNEL)
    assert not kernel.compiled_anew()  # the older one is still there


def test_a_folder_keeps_so_many_files_of_a_function(kernel):
    kernel.compiled_anew()
    (first,) = kernel.files()
    other = kernel.kept / "small_kernel.totals-0.nbc"
    other.touch()
    for i in range(MOST_FILES):
        (kernel.kept / f"small_kernel.total-{i:02d}.nbc").touch()
        os.utime(kernel.kept / f"small_kernel.total-{i:02d}.nbc", (i, i))
    kernel.compiled_anew(2.5)
    names = {path.name for path in kernel.files()}
    assert len(names) == MOST_FILES + 1
    assert {first.name, other.name} <= names
    assert not {"small_kernel.total-00.nbc", "small_kernel.total-01.nbc"} & names


def test_a_full_disk(kernel, caplog, monkeypatch):
    real = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        real(path, content[: len(content) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with monkeypatch.context() as filled:
        filled.setattr(Path, "write_bytes", full)
        for times in (2, 2.5):
            assert kernel.compiled_anew(times)
    assert ["cannot be kept" in record.getMessage() for record in caplog.records] == [False, True]
    assert not kernel.files()
    assert kernel.compiled_anew()
    assert not kernel.compiled_anew()  # there is room again


def test_a_folder_that_is_read_only_is_read_and_the_next_one_written_to(kernel, caplog, tmp_path, monkeypatch):
    kernel.compiled_anew(2)
    caplog.clear()
    kernel.keep_in(kernel.kept, tmp_path / "own")
    write = compiling._write

    def read_only(path: Path, content: bytes) -> None:
        if path.parent == kernel.kept:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        write(path, content)

    monkeypatch.setattr(compiling, "_write", read_only)
    assert not kernel.compiled_anew(2)
    assert not caplog.records
    assert kernel.compiled_anew(2.5)
    assert not kernel.compiled_anew(2.5)
    assert len(kernel.files()) == len(list((tmp_path / "own").iterdir())) == 1


def test_a_file_that_can_neither_be_read_nor_replaced(kernel, caplog):
    kernel.compiled_anew()
    (code,) = kernel.files()
    code.unlink()
    code.mkdir()
    caplog.clear()
    assert kernel.compiled_anew()
    (record,) = caplog.records
    assert "cannot be kept" in record.getMessage()


WARMED = """
import importlib, json
from pathlib import Path
import armin
from armin.explain import warm

for exercise in warm.ENGINES.values():
    exercise()
home = Path(armin.__file__).parent
counts = {}
for path in sorted(home.rglob("*.py")):
    if "from armin.compiling import" in path.read_text(encoding="utf-8"):
        name = ".".join(path.relative_to(home.parent).with_suffix("").parts)
        for label, thing in vars(importlib.import_module(name)).items():
            called = hasattr(thing, "signatures") and not thing.targetoptions.get("no_cpython_wrapper")
            if called and thing.__module__ == name:
                counts[f"{name}.{label}"] = len(thing.signatures)
print(json.dumps(counts))
"""


@pytest.fixture(scope="module")
def warmed() -> dict[str, int]:
    """How many versions there are of each compiled function that Python calls, after a warm-up and nothing else."""
    done = subprocess.run([sys.executable, "-c", WARMED], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def test_the_warm_up_compiles_one_version_of_each_kernel(warmed):
    assert len(warmed) >= 35
    assert {name: known for name, known in warmed.items() if known != 1} == {
        "armin.models.walk.walk": 2,  # leaves in single and in double precision
        "armin.solve.search.relu.loop.run": 2,  # one hidden layer, and more
    }


REFUSES = """
import os, sys, warnings
import numba.core.compiler

def refuse(*args, **options):
    raise AssertionError(f"{args[2].__module__}.{args[2].__qualname__} is compiled")

numba.core.compiler.compile_extra = refuse
warnings.simplefilter("ignore")
sys.path.insert(0, TESTS)
"""

PROBLEMS = """
import numpy as np
from armin.solve import solve, solve_best, solve_path
from problems import random_problem

for seed in range(6):
    options = {"weighted": seed % 2 == 1, "n_rules": seed % 3, "mode": "reach" if seed > 2 else "shift"}
    problem = random_problem(np.random.default_rng(seed), KIND, aggregate="max" if seed == 4 else "sum", **options)
    solve(problem, "search")
    solve_path(problem, "search")
    solve_best(problem, 2, "search", differ="cores" if seed == 5 else "sets")
print("done")
"""

ANSWERS = """
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from armin import ARMIN
from worlds import make_world

world = make_world(2, KIND if KIND in ("linear", "network", "tree", "boosting") else "linear")
classifier, others = world.classifier, {
    "large forest": RandomForestClassifier(250, random_state=0),
    "mixture": VotingClassifier(
        [("a", LogisticRegression()), ("b", GradientBoostingClassifier(n_estimators=4))], voting="soft"
    ),
}
if KIND in others:
    classifier = make_pipeline(world.classifier[0], others[KIND]).fit(world.X, world.y)
row = world.X.iloc[0].to_dict() | {"amount": None, "rate": None}
for method in ("auto", "search"):
    explainer = ARMIN.from_settings(
        classifier, world.schema, desired="yes", n_samples=30, n_fresh=40, method=method, sampler="marginal"
    ).fit(world.X)
    for _ in range(2):
        explainer.explain(row)
        explainer.path(row)
        explainer.alternatives(row, 3)
        explainer.ask(row, n_values=3)
        explainer.what_if(row, {"owner": "yes"})
        explainer.reasons(row, reference="average")
        explainer.stress(row)
    explainer.explain_many(world.X.head(4))
print("done")
"""

SAMPLERS = """
from armin import ARMIN
from armin.baselines import ImputationAR
from armin.sampling.base import IMPUTERS, SAMPLERS
from worlds import make_world

world = make_world(2, "boosting")
row = world.X.iloc[0].to_dict() | {"amount": None, "rate": None}
for sampler in SAMPLERS.all():
    settings = {"desired": "yes", "n_samples": 30, "sampler": sampler}
    explainer = ARMIN.from_settings(world.classifier, world.schema, **settings).fit(world.X)
    for _ in range(2):
        explainer.explain(row)
for imputer in IMPUTERS.all():
    ImputationAR(world.classifier, world.schema, desired="yes", imputer=imputer).fit(world.X).explain(row)
print("done")
"""


def refusing(code: str, kind: str = "", **options: Any) -> str:
    """What a new process says whose compiler refuses to work."""
    settings = f"TESTS, KIND = {str(Path(__file__).parents[1] / 'support')!r}, {kind!r}\n"
    done = subprocess.run([sys.executable, "-c", settings + REFUSES + code], capture_output=True, text=True, **options)
    assert done.stdout == "done\n", done.stderr
    return done.stderr


@pytest.mark.parametrize("kind", ["linear", "relu", "deep", "trees", "mixture"])
@pytest.mark.usefixtures("warmed")
def test_after_a_warm_up_no_search_compiles(kind):
    assert refusing(PROBLEMS, kind) == ""


@pytest.mark.parametrize("kind", ["linear", "network", "tree", "boosting", "large forest", "mixture"])
@pytest.mark.usefixtures("warmed")
def test_after_a_warm_up_no_question_compiles(kind):
    assert refusing(ANSWERS, kind) == ""


@pytest.mark.usefixtures("warmed")
def test_after_a_warm_up_no_sampler_compiles():
    refusing(SAMPLERS)


def without_rights() -> None:
    """Let root obey the permissions of files, as everybody else does."""
    if os.geteuid() == 0 and ctypes.CDLL(None, use_errno=True).prctl(24, 1, 0, 0, 0):  # drop CAP_DAC_OVERRIDE
        raise OSError(ctypes.get_errno(), "the right to write anywhere cannot be given up")


@pytest.mark.skipif(sys.platform != "linux", reason="containers are Linux")
@pytest.mark.usefixtures("warmed")
def test_code_beside_a_package_that_cannot_be_written_to_is_read(tmp_path):
    """As where an image is built by root and run by somebody else."""
    home = Path(armin.__file__).parent
    copied = tmp_path / "site" / "armin"
    shutil.copytree(home, copied, ignore=shutil.ignore_patterns("__pycache__"))
    copied.chmod(0o755)  # the package itself may be read-only
    cache = copied / "__pycache__"
    cache.mkdir()
    for folder in reversed(folders()):
        for file in folder.glob("armin.*.nbc"):
            shutil.copy(file, cache)
    kept = sorted(path.name for path in cache.iterdir())
    everything = [tmp_path, *tmp_path.rglob("*")]
    for path in everything:
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        environment = {
            name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
        }
        environment |= {"PYTHONPATH": str(tmp_path / "site"), "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        check = f"""
import armin
from armin.compiling import folders

assert armin.__file__ == {str(copied / "__init__.py")!r}
assert not any(os.access(folder, os.W_OK) for folder in folders())
"""
        assert refusing(check + PROBLEMS, "trees", env=environment, preexec_fn=without_rights) == ""
        assert sorted(path.name for path in cache.iterdir()) == kept
    finally:
        for path in everything:
            path.chmod(path.stat().st_mode | 0o200)


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
