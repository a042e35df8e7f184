"""The road of one answer, and the size of the house: ``python -m lab.walk``.

**The road** is traced with ``sys.setprofile``: one ``explain`` of the built-in loans by default settings, and one
request of the desk for a plan, each for somebody new after six other people, so that nothing is loaded, compiled or
read for the first time. Only Python functions of the packages count, comprehensions and generators among them.

functions, files, packages
    distinct ones that are entered. A package is the first name below ``armin``, a module right below it too, and
    ``armin_desk`` as a whole.
calls, changes of package
    how often a function is entered, and how often its package differs from that of the function entered before it. A
    generator or coroutine is entered again whenever it goes on.
deepest stack
    functions of the packages that are under way at once in one thread, the first one included.
frames before the first step
    functions that are under way in the thread when the first package is entered other than that of the first function
    and ``explainer``, where helpers that every package uses do not count.

**The size** is counted without running anything.

lines, files, packages
    all lines of ``src`` and ``desk/src``; folders with an ``__init__.py``.
public names
    functions and classes at the top of a module whose name, and whose module's name, have no underscore in front; with
    methods, also those of such classes, once each.
longest chain
    modules on the longest way along imports, where modules that import each other in a circle all count. An import
    counts that runs when a module is loaded: at its top, or in a class, condition or ``try`` there, but for
    ``TYPE_CHECKING`` and for imports inside functions; the second number counts these too. ``from armin.a import b``
    leads to ``armin.a.b`` if that is a module, else to ``armin.a``; a package above is no link of its own.
functions above 60 lines
    from ``def`` to the last line, without the docstring, and with it.
installed
    the hard dependencies of ``armin`` and all that they need in turn, in millions of bytes as this environment holds
    them.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import sys
import tempfile
import threading
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from lab.trees import HERE, sources

SHARED = frozenset(("arrays", "clock", "compiling", "errors", "learned", "registry", "toml"))
"""Helpers of all packages."""
LONG = 60
NAME = "armin"


# --- the road ---------------------------------------------------------------------------------------------


class Road:
    """What is entered while it is ``open``, in every thread that starts after :meth:`watch`, and in this one."""

    def __init__(self) -> None:
        self.roots = tuple(path for source in sources(HERE) for path in source.iterdir() if path.is_dir())
        self.open = False
        self.entered: list[CodeType] = []
        self.deepest = 0
        self.first_step: int | None = None
        self._depth: Counter[int] = Counter()  # by thread

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Look at threads that start within this context."""
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]  # as its documentation says

    def trace(self, call: Callable[[], object]) -> Road:
        """Note what one call enters."""
        self.open = True
        try:
            call()
        finally:
            self.open = False
        return self

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if not self.open or event not in ("call", "return") or not self._ours(code):
            return
        thread = threading.get_ident()
        if event == "return":
            self._depth[thread] = max(0, self._depth[thread] - 1)  # it may have been entered before
            return
        self.entered.append(code)
        if self.first_step is None and self._leaves(code):
            self.first_step = self._depth[thread]
        self._depth[thread] += 1
        self.deepest = max(self.deepest, self._depth[thread])

    def package(self, code: CodeType) -> str:
        """The first name below the package."""
        root, *parts = self.place(code).parts
        return (parts[0] if root == NAME else root).removesuffix(".py")

    def place(self, code: CodeType) -> Path:
        """Its file below the folder of sources."""
        path = Path(code.co_filename)
        return next(path.relative_to(root.parent) for root in self.roots if path.is_relative_to(root))

    def _ours(self, code: CodeType) -> bool:
        return code.co_filename.startswith(tuple(f"{root}{os.sep}" for root in self.roots))

    def _leaves(self, code: CodeType) -> bool:
        """Whether a function belongs neither to where the answer starts nor to what all share."""
        return self.package(code) not in {self.package(self.entered[0]), "explain"} | SHARED

    def counts(self) -> dict[str, Any]:
        """The numbers."""
        packages = [self.package(code) for code in self.entered]
        return {
            "calls": len(self.entered),
            "functions": len(set(self.entered)),
            "files": len({code.co_filename for code in self.entered}),
            "packages": len(set(packages)),
            "changes of package": sum(a != b for a, b in pairwise(packages)),
            "deepest stack": self.deepest,
            "frames before the first step": self.first_step,
        }


def people() -> list[dict[str, Any]]:
    """Those who come first."""
    from armin.datasets import make_loans

    return [make_loans().applicant | {"Age": age} for age in range(40, 46)]


def road_of_explain() -> Road:
    """One ``explain`` by default settings, after others."""
    from armin import ARMIN
    from armin.datasets import make_loans

    loans = make_loans()
    explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    for row in people():
        explainer.explain(row)
    road = Road()
    with road.watch():
        return road.trace(lambda: explainer.explain(loans.applicant))


def road_of_request() -> Road:
    """One request of the desk for a plan, after others."""
    from fastapi.testclient import TestClient

    from armin.bundle import load_bundle
    from armin.datasets import make_loans
    from armin_desk.app import create_app
    from armin_desk.demo import save_demo_bundle

    with tempfile.TemporaryDirectory() as folder:
        bundle = load_bundle(save_demo_bundle(folder))
    road, applicant = Road(), make_loans().applicant
    with road.watch(), TestClient(create_app(bundle), base_url="http://localhost") as client:

        def ask(row: dict[str, Any]) -> None:
            if client.post("/api/v1/recourse", json={"row": row, "languages": ["en"]}).status_code != 200:
                raise SystemExit("The desk did not answer.")

        for row in people():
            ask(row)
        return road.trace(lambda: ask(applicant))


# --- the size ---------------------------------------------------------------------------------------------


Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules(source: Path) -> dict[str, Path]:
    """The modules of a source folder by name."""
    found = {}
    for file in sorted(source.rglob("*.py")):
        parts = file.relative_to(source).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports(module: str, file: Path, known: dict[str, Path], every: bool = False) -> set[str]:
    """The modules that a module imports when it is loaded, or ever."""
    found: set[str] = set()
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree) if every else _at_load(tree.body):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            base = ".".join(parts[: len(parts) + 1 - node.level]) if node.level else ""
            base = ".".join(part for part in (base, node.module) if part)
            found |= {f"{base}.{a.name}" if f"{base}.{a.name}" in known else base for a in node.names}
    return (found & known.keys()) - {module}


def _at_load(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a module is loaded."""
    for node in body:
        yield node
        if isinstance(node, Function):
            continue
        if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            yield from _at_load(getattr(node, "body", []))
        for name in ("orelse", "finalbody"):
            yield from _at_load(getattr(node, name, []))
        for handler in getattr(node, "handlers", []):
            yield from _at_load(handler.body)


def longest_chain(graph: dict[str, set[str]]) -> list[str]:
    """The modules on the longest way; a circle is one stop, and all of it is listed."""
    circles = _circles(graph)
    longest: dict[str, list[str]] = {}
    for circle in circles:  # what is imported comes before what imports it
        after = {other for module in circle for other in graph[module]} - set(circle)
        best = max((longest[other] for other in sorted(after)), key=len, default=[])
        for module in circle:
            longest[module] = [*sorted(circle), *best]
    return max(longest.values(), key=len, default=[])


def _circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Modules that import each other in a circle, and the others one by one, by Tarjan's algorithm."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in sorted(graph[module]):
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            at = stack.index(module)
            found.append(stack[at:])
            del stack[at:]

    for module in sorted(graph):
        if module not in index:
            visit(module)
    return found


def public_names(module: str, tree: ast.Module) -> set[str]:
    """The public functions, classes and methods of a module."""
    if any(part.startswith("_") for part in module.split(".")):
        return set()
    found = set()
    for node in tree.body:
        if not isinstance(node, Function | ast.ClassDef) or node.name.startswith("_"):
            continue
        found.add(f"{module}.{node.name}")
        if isinstance(node, ast.ClassDef):
            methods = (each.name for each in node.body if isinstance(each, Function))
            found |= {f"{module}.{node.name}.{name}" for name in methods if not name.startswith("_")}
    return found


def lengths(tree: ast.Module) -> Iterator[tuple[str, int, int]]:
    """Name and lines of each function, with and without its docstring."""
    for node in ast.walk(tree):
        if isinstance(node, Function):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            first = node.body[0]
            text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            doc = (first.end_lineno or first.lineno) - first.lineno + 1 if text else 0
            yield node.name, lines, lines - doc


def installed(project: Path) -> tuple[int, int, float]:
    """The hard dependencies, the distributions that they bring in turn, and their size in millions of bytes."""
    wanted = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
    names, known = [_distribution(text) for text in wanted], dict[str, float]()
    left = list(names)
    while left:
        name = left.pop()
        if name in known:
            continue
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # for another platform or version of Python
        sizes = (Path(str(file.locate())) for file in found.files or ())
        known[name] = sum(file.stat().st_size for file in sizes if file.is_file()) / 1e6
        left += [_distribution(text) for text in found.requires or () if "extra ==" not in text]
    return len(names), len(known), sum(known.values())


def _distribution(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0].lower()


def size(root: Path) -> dict[str, Any]:
    """The numbers of a tree."""
    known = {name: file for source in sources(root) for name, file in modules(source).items()}
    trees = {name: ast.parse(file.read_text(encoding="utf-8")) for name, file in known.items()}
    names = [public_names(name, tree) for name, tree in trees.items()]
    tops = sum(name.count(".") == of.count(".") + 1 for of, some in zip(trees, names, strict=True) for name in some)
    found = [each for tree in trees.values() for each in lengths(tree)]
    chain, ever = (
        longest_chain({name: imports(name, file, known, every) for name, file in known.items()})
        for every in (False, True)
    )
    hard, brought, millions = installed(root / "pyproject.toml")
    return {
        "lines": sum(len(file.read_bytes().splitlines()) for file in known.values()),
        "files": len(known),
        "packages": sum(file.name == "__init__.py" for file in known.values()),
        "public names": tops,
        "public names with methods": sum(map(len, names)),
        "longest chain": len(chain),
        "longest chain of all imports": len(ever),
        f"functions above {LONG} lines": sum(lines > LONG for _, _, lines in found),
        f"functions above {LONG} lines with docstrings": sum(lines > LONG for _, lines, _ in found),
        "hard dependencies": hard,
        "distributions that they bring": brought,
        "installed, MB": round(millions),
        "chain": chain,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--road", action="store_true", help="name every function of the road of explain, in order")
    parser.add_argument("--chain", action="store_true", help="name the modules of the longest chain")
    parser.add_argument("--json", type=Path, help="keep the numbers here")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    explain, request, house = road_of_explain(), road_of_request(), size(HERE)
    if asked.road:
        for code in explain.entered:
            print(f"{explain.place(code)}:{code.co_firstlineno} {code.co_qualname}")
    chain = house.pop("chain")
    if asked.chain:
        print("\n".join(chain))
    one, other = explain.counts(), request.counts()
    print("| | one explain | one request |\n|---|---|---|")
    print("\n".join(f"| {name} | {one[name]} | {other[name]} |" for name in one))
    print("\n| | |\n|---|---|")
    print("\n".join(f"| {name} | {value:,} |" for name, value in house.items()))
    if asked.json:
        kept = {"explain": one, "request": other, "house": house}
        asked.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
