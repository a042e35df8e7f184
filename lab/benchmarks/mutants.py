"""Small faults put into the code, one at a time, to see which of them the tests notice.

``python -m lab.benchmarks.mutants --room promise --count 60``. Each fault changes one place of one function: a
comparison, an operator, a number, a condition, a statement that is left out. The tests of a room are collected once; a
first run notes which test enters which function and how long it takes. Then every fault is tried in a fork of its own,
which exchanges the code of that one function and runs the tests that enter it, the fastest first, until one fails.
Seconds are those of computing, so that a busy machine tries the same tests.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gc
import importlib
import json
import os
import random
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, NoReturn, TypeGuard

import hypothesis
import pytest

from lab.trees import sources

HOME = Path(__file__).resolve().parents[2]
ROOMS: dict[str, tuple[str, str]] = {  # a room, where it is, and the tests that speak of it
    "explain": ("explain", "explain promise laws/test_small_faults.py laws/test_laws.py"),
    "recourse": (
        "recourse",
        "recourse explain/test_steps.py explain/test_views.py letter/test_letter.py",
    ),
    "problem": (
        "problem",
        "problem solve/test_solve.py schema/test_rules.py laws/test_laws.py",
    ),
    "promise": ("promise", "promise laws/test_small_faults.py"),
    "rules": ("schema/rules", "schema explain/test_refusals.py promise/test_people_held_out.py"),
    "letter": ("armin_desk/letter/content.py", "letter"),
    "report": (
        "report",
        "report recourse words sampling/test_assess.py explain/test_stress.py",
    ),
}
KILLED, SURVIVED, IMPOSSIBLE = 0, 1, 2
SWAPS: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE,), ast.LtE: (ast.Lt,), ast.Gt: (ast.GtE,), ast.GtE: (ast.Gt,), ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,), ast.Pow: (ast.Mult,),
    ast.FloorDiv: (ast.Div,), ast.Mod: (ast.Mult,), ast.And: (ast.Or,), ast.Or: (ast.And,), ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}  # fmt: skip
NAMES = {
    "min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum",
    "floor": "ceil", "ceil": "floor", "zeros": "ones", "ones": "zeros", "argmin": "argmax", "argmax": "argmin",
    "sum": "max", "mean": "max", "cumsum": "copy", "sorted": "list", "isnan": "isfinite",
}  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """One change of one place: the c-th that can be made to the p-th place of the f-th function of a file."""

    path: Path
    at: tuple[int, int, int]
    function: int
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(source_of(self.path))}:{self.line} {self.what}"

    @property
    def key(self) -> str:
        return f"{self.path}:{self.function}"

    def code(self) -> CodeType | None:
        """The function with the fault in it."""
        tree = ast.parse(self.path.read_text())
        f, p, c = self.at
        place = list(places(list(functions(tree))[f]))[p]
        wrong = Put(place, list(changes(place))[c][1]).visit(tree)
        module = compile(ast.fix_missing_locations(wrong), str(self.path), "exec", dont_inherit=True)
        return code_at(module, self.function)


def changes(node: ast.AST) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """What can be done to a node: words for it, and a function that returns what to put in its place."""

    def op(name: str, new: type) -> Callable[[Any], Any]:
        def change(at: Any) -> Any:
            setattr(at, name, [new(), *at.ops[1:]] if name == "ops" else new())
            return at

        return change

    match node:
        case ast.Compare():
            for new in SWAPS.get(type(node.ops[0]), ()):
                yield f"{type(node.ops[0]).__name__} → {new.__name__}", op("ops", new)
        case ast.BinOp() | ast.AugAssign() | ast.BoolOp():
            texts = isinstance(node, ast.BinOp) and any(
                isinstance(s, ast.JoinedStr) or (isinstance(s, ast.Constant) and isinstance(s.value, str))
                for s in (node.left, node.right)
            )
            for new in () if texts else SWAPS.get(type(node.op), ()):
                yield f"{type(node.op).__name__} → {new.__name__}", op("op", new)
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            yield f"{type(node.op).__name__} left out", lambda at: at.operand
        case ast.Constant(value=bool()):
            yield f"{node.value} → {not node.value}", lambda at: ast.copy_location(ast.Constant(not at.value), at)
        case ast.Constant(value=int() | float()):
            new_value = 0.0 if 0 < abs(node.value) < 1e-3 else node.value + 1
            yield f"{node.value} → {new_value}", lambda at: ast.copy_location(ast.Constant(new_value), at)
        case ast.Name(id=name) if name in NAMES and isinstance(node.ctx, ast.Load):
            yield f"{name} → {NAMES[name]}", lambda at: ast.copy_location(ast.Name(NAMES[at.id], at.ctx), at)
        case ast.Attribute(attr=name) if name in NAMES and isinstance(node.ctx, ast.Load):
            yield f"{name} → {NAMES[name]}", lambda at: (setattr(at, "attr", NAMES[at.attr]), at)[1]
        case ast.If() | ast.IfExp() | ast.While() if not isinstance(node.test, ast.Compare | ast.UnaryOp | ast.BoolOp):
            yield "condition turned round", lambda at: (setattr(at, "test", ast.UnaryOp(ast.Not(), at.test)), at)[1]
        case ast.Raise() | ast.Continue() | ast.Break():
            yield f"{type(node).__name__.lower()} left out", lambda at: ast.copy_location(ast.Pass(), at)
        case ast.Expr(value=ast.Call()):
            yield "call left out", lambda at: ast.copy_location(ast.Pass(), at)


def places(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function's body where a fault says something: no texts, no types, no assertions."""
    waiting: list[Any] = list(function.body)  # type: ignore[attr-defined]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.Assert | ast.JoinedStr):
            continue
        yield node
        for name, value in ast.iter_fields(node):
            skipped = {"annotation", "returns", "decorator_list", "args"} if hasattr(node, "decorator_list") else set()
            if name in skipped or name == "annotation" or isinstance(node, ast.Raise):
                continue
            if isinstance(node, ast.keyword) and node.arg == "strict":
                continue
            waiting += [n for n in (value if isinstance(value, list) else [value]) if isinstance(n, ast.AST)]


class Put(ast.NodeTransformer):
    """Puts something else in the place of one node."""

    def __init__(self, target: ast.AST, change: Callable[[Any], Any]) -> None:
        self.target, self.change = target, change

    def visit(self, node: ast.AST) -> Any:
        return self.change(node) if node is self.target else self.generic_visit(node)


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """The functions of a module and the methods of its classes; what is defined inside them belongs to them."""
    for node in tree.body:
        for one in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(one, ast.FunctionDef):
                yield one


def first_line(function: ast.FunctionDef) -> int:
    return min([function.lineno, *(d.lineno for d in function.decorator_list)])


def code_at(code: CodeType, line: int) -> CodeType | None:
    """The code of the function that starts at a line."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            if one.co_firstlineno == line and not one.co_name.startswith("<"):
                is_class = one.co_flags & 0x1 == 0  # a class body has no fast locals
                found = code_at(one, line) if is_class else one
            else:
                found = code_at(one, line)
            if found is not None:
                return found
    return None


def faults_of(path: Path) -> Iterator[Fault]:
    """Every fault that can be put into a file."""
    for f, function in enumerate(functions(ast.parse(path.read_text()))):
        for p, place in enumerate(places(function)):
            for c, (what, _) in enumerate(changes(place)):
                yield Fault(path, (f, p, c), first_line(function), getattr(place, "lineno", function.lineno), what)


class Trial:
    """A pytest plugin that runs the collected tests over and over, each time with another fault."""

    def __init__(self, files: list[Path], given: argparse.Namespace) -> None:
        self.files, self.given = files, given
        self.possible = 0
        self.told: dict[Fault, str] = {}
        self.tests: dict[Fault, int] = {}

    def pytest_collection(self) -> None:
        """The first example that fails is enough: it need not be made small."""
        phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
        hypothesis.settings.register_profile(
            "faults", derandomize=True, phases=phases, report_multiple_bugs=False,
            suppress_health_check=list(hypothesis.HealthCheck), deadline=None,
        )  # fmt: skip
        hypothesis.settings.load_profile("faults")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("the tests cannot be collected")
        session.config.pluginmanager.unregister(name="terminalreporter")  # thousands of dots say nothing
        for file in self.files:
            importlib.import_module(".".join(file.relative_to(source_of(file)).with_suffix("").parts))
        entered, took = self.first_run(session)
        made = {(f.__code__.co_filename, f.__code__.co_firstlineno): f for f in gc.get_objects() if is_function(f)}
        faults = [fault for file in self.files for fault in faults_of(file)]
        self.possible = len(faults)
        random.Random(self.given.seed).shuffle(faults)  # noqa: S311
        if self.given.again:
            survived = {one for room in json.loads(self.given.again.read_text()) for one in room["survived"]}
            waiting = [fault for fault in faults if str(fault) in survived]
        elif self.given.only:
            waiting = [fault for fault in faults if self.given.only in str(fault)]
        else:
            waiting = faults[: self.given.count or None]
        running: dict[int, tuple[Fault, float]] = {}
        try:
            self.try_all(session, waiting, running, entered, took, made)
        finally:
            for pid in running:
                end_all(pid)
        return True

    def try_all(
        self,
        session: pytest.Session,
        waiting: list[Fault],
        running: dict[int, tuple[Fault, float]],
        entered: dict[str, list[str]],
        took: dict[str, float],
        made: dict[tuple[str, int], FunctionType],
    ) -> None:
        """Each fault in a fork of its own, a few at a time."""
        while waiting or running:
            while waiting and len(running) < self.given.jobs:
                fault = waiting.pop(0)
                tests = cheapest(entered.get(fault.key, []), took, self.given.seconds)
                self.tests[fault] = len(tests)
                pid = os.fork()
                seconds = 30 + 6 * sum(took[test] for test in tests)
                if pid == 0:
                    os.setpgid(0, 0)
                    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
                    attempt(session, made.get((str(fault.path), fault.function)), fault, tests)
                running[pid] = fault, time.monotonic() + 20 * seconds  # for what waits and does not compute
            self.collect(running)

    def first_run(self, session: pytest.Session) -> tuple[dict[str, list[str]], dict[str, float]]:
        """Which tests enter which function, and the seconds of each test that passes, found in a fork."""
        kept = Path(tempfile.mkdtemp()) / "first.json"
        pid = os.fork()
        if pid == 0:
            silence()
            kept.write_text(json.dumps(watched(session, {str(file) for file in self.files})))
            os._exit(0)
        os.waitpid(pid, 0)
        lines, took, failed = json.loads(kept.read_text())
        if failed:
            print("these fail without any fault and are left out:", *failed, sep="\n  ")
        print(f"{len(took)} tests in {sum(took.values()):.0f} s", flush=True)
        entered: dict[str, list[str]] = {}
        for file in self.files:
            for function in functions(ast.parse(file.read_text())):
                inside = range(first_line(function), (function.end_lineno or 0) + 1)
                of = {test for test in took for path, line in lines[test] if path == str(file) and line in inside}
                entered[f"{file}:{first_line(function)}"] = sorted(of)
        return entered, took

    def collect(self, running: dict[int, tuple[Fault, float]]) -> None:
        """Take what has ended, and end what does not."""
        time.sleep(0.02)
        for pid, (fault, limit) in list(running.items()):
            late = time.monotonic() > limit
            if late:
                end_all(pid)
            done, status = os.waitpid(pid, 0 if late else os.WNOHANG)
            if done == 0:
                continue
            del running[pid]
            end_all(pid)  # a fork that ends leaves the workers of its tests behind
            code = os.waitstatus_to_exitcode(status)
            self.told[fault] = "survived" if code == SURVIVED else "impossible" if code == IMPOSSIBLE else "killed"
            if code == SURVIVED:
                print(f"survived: {fault}  ({self.tests[fault]} tests)", flush=True)


def is_function(one: object) -> TypeGuard[FunctionType]:
    return type(one) is FunctionType


def cheapest(tests: list[str], took: dict[str, float], seconds: float) -> list[str]:
    """The fastest tests, as many as end within a time."""
    chosen: list[str] = []
    for test in sorted(tests, key=lambda test: (took[test], test)):
        seconds -= took[test]
        if chosen and seconds < 0:
            break
        chosen.append(test)
    return chosen


def computed() -> float:
    """Seconds of computing so far, of this process and of those that it started."""
    return sum(os.times()[:4])


def end_all(pid: int) -> None:
    """End a fork, and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def silence() -> None:
    """A fork says nothing."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def watched(
    session: pytest.Session, files: set[str]
) -> tuple[dict[str, list[tuple[str, int]]], dict[str, float], list[str]]:
    """Run every test; the functions that each enters, by file and line, its seconds, and the tests that fail."""
    seen: set[tuple[str, int]] = set()

    def enter(frame: FrameType, event: str, arg: object) -> None:
        if frame.f_code.co_filename in files:
            seen.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

    lines, took, failed = {}, {}, []
    for item, following in zip(session.items, [*session.items[1:], None], strict=True):
        seen.clear()
        before, start = session.testsfailed, computed()
        threading.settrace(enter)
        sys.settrace(enter)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        sys.settrace(None)
        if session.testsfailed > before:
            failed.append(item.nodeid)
        else:
            lines[item.nodeid], took[item.nodeid] = sorted(seen), computed() - start
    return lines, took, failed


def attempt(session: pytest.Session, function: FunctionType | None, fault: Fault, tests: list[str]) -> NoReturn:
    """In a fork: exchange the code of one function, run tests until one fails, and end."""
    silence()
    try:
        code = fault.code()
        if function is None or code is None:
            os._exit(IMPOSSIBLE)
        function.__code__ = code
    except Exception:  # the fork must end here, whatever happens
        os._exit(IMPOSSIBLE)
    by_name = {item.nodeid: item for item in session.items}
    items = [by_name[test] for test in tests]
    try:
        for i, item in enumerate(items):
            following = items[i + 1] if i + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed:
                os._exit(KILLED)
    except BaseException:  # such as a SystemExit that a fault sets free
        os._exit(KILLED)
    os._exit(SURVIVED)


def source_of(file: Path) -> Path:
    """The folder of packages that a file is in."""
    return next(source for source in sources(HOME) if file.is_relative_to(source))


def files_of(place: str) -> list[Path]:
    path = HOME / ("desk/src" if place.startswith("armin_desk/") else "src/armin") / place
    return sorted(path.glob("*.py")) if path.is_dir() else [path]


def run(room: str, given: argparse.Namespace) -> dict[str, Any]:
    """Try faults in one room."""
    place, names = ROOMS[room]
    tests = [HOME / "tests" / name for name in (given.tests or names).split()]
    trial = Trial(files_of(place), given)
    start = time.perf_counter()
    options = ["-q", "-x", "--tb=no", "-W", "ignore", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header"]
    print(f"{room}:", flush=True)
    pytest.main([*options, "-m", "not slow", *map(str, [*tests, *files_of(place)])], plugins=[trial])
    said = list(trial.told.values())
    tried = len(said) - said.count("impossible")
    return {
        "room": room, "possible": trial.possible, "tried": tried, "killed": said.count("killed"),
        "seconds": round(time.perf_counter() - start),
        "survived": sorted(str(fault) for fault, word in trial.told.items() if word == "survived"),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--room", default="all", help=f"all, or one of {', '.join(ROOMS)}")
    parser.add_argument("--count", type=int, default=60, help="faults per room, at random; 0 for every one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=8.0, help="of computing per fault, the fastest tests first")
    parser.add_argument("--only", default="", help="every fault whose description holds this, such as judge.py:183")
    parser.add_argument("--again", type=Path, help="only what survived an earlier run, as its --json has it")
    parser.add_argument("--tests", default="", help="only these tests, such as 'laws promise'")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = []
    for room in ROOMS if given.room == "all" else given.room.split(","):
        sys.stdout.flush()
        reader, writer = os.pipe()
        pid = os.fork()  # pytest and hypothesis keep much between two runs
        if pid == 0:
            os.write(writer, json.dumps(run(room, given)).encode())
            sys.stdout.flush()
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as lines:
            found.append(json.loads(lines.read()))
        os.waitpid(pid, 0)
        if given.json:
            given.json.parent.mkdir(parents=True, exist_ok=True)
            given.json.write_text(json.dumps(found, indent=1))
    print("\nroom        possible  tried  killed  survived  seconds")
    for one in found:
        numbers = one["possible"], one["tried"], one["killed"], len(one["survived"]), one["seconds"]
        print(f"{one['room']:10s} " + "".join(f"{n:9d}" for n in numbers))


if __name__ == "__main__":
    main()
