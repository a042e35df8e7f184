"""Methods by name. A new one is a file here with a class behind ``@register("name")``; nothing else changes.

>>> @register("nothing")
... class Nothing:
...     label = "do nothing"
...     clocked = False
...
...     def fit(self, context):
...         return self
...
...     def explain(self, row):
...         return Outcome("optimal", apply=lambda rows: rows, cost=0.0)
>>> make_method("nothing").explain(None).status
'optimal'
>>> _ = METHODS.pop("nothing")
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import TypeVar

from armin.errors import ParameterError
from lab.experiments.methods.context import Context, Method, Outcome

__all__ = ["METHODS", "Context", "Method", "Outcome", "label_of", "make_method", "register"]

METHODS: dict[str, type[Method]] = {}
_Class = TypeVar("_Class", bound=type)


def register(name: str) -> Callable[[_Class], _Class]:
    """Make a class known as the method ``name``."""

    def add(cls: _Class) -> _Class:
        METHODS[name] = cls
        return cls

    return add


def _load() -> None:
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")


def make_method(name: str) -> Method:
    """A new, unfitted method."""
    _load()
    if name not in METHODS:
        raise ParameterError(f"There is no method {name!r}. The methods are: {', '.join(sorted(METHODS))}.")
    return METHODS[name]()


def label_of(name: str) -> str:
    """What a method is called in tables; the name itself if it is not known here."""
    _load()
    return METHODS[name].label if name in METHODS else name
