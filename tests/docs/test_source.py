"""What holds for the source itself: nobody reaches into another object."""

from __future__ import annotations

import ast
from pathlib import Path

import armin

SOURCE = Path(armin.__file__).parent
FOREIGN = {
    "bundle/model.py": {"_n_features_in"},  # LightGBM's, put back after loading
    "compiling.py": {"_cache", "_compile_for_args", "_rebuild", "_reduce"},  # numba's
    "explain/pool.py": {"_exit"},  # Python's own way to end a process whose parent is gone
    "solve/search/handed.py": {"_fields", "_getvalue"},  # a named tuple's own public one, and numba's
    "words/message.py": {"_values"},  # its own class, compared with its twin
}
"""Underscores of other libraries that have no public name, by file. Readers of models (models/) are made of them."""


def reached_into(code: str) -> set[str]:
    """The private attributes that code takes of anything but ``self``, ``cls`` and ``super()``."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            of = node.value
            own = isinstance(of, ast.Name) and of.id in ("self", "cls")
            above = isinstance(of, ast.Call) and isinstance(of.func, ast.Name) and of.func.id == "super"
            if not own and not above and node.attr != "_replace":  # a named tuple's public method
                found.add(node.attr)
    return found


def test_the_check_sees_what_it_should() -> None:
    code = "self._a; other._b; super()._c; cls._d; f()._e; x._replace(y=1); z.__class__"
    assert reached_into(code) == {"_b", "_e"}


def test_nobody_reaches_into_another_object() -> None:
    files = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*.py")}
    found = {
        name: reached_into(path.read_text(encoding="utf-8"))
        for name, path in files.items()
        if not name.startswith("models/")
    }
    assert {name: names for name, names in found.items() if names} == FOREIGN
