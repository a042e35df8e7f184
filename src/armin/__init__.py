"""The least a person must change to be accepted by a model, even when some of their values are missing.

Most names are loaded when they are first used, so that ``import armin`` is quick and has no side effects.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armin.bundle import load_bundle as load_bundle
    from armin.bundle import save_bundle as save_bundle
    from armin.errors import ArminError as ArminError
    from armin.explainer import ARMIN as ARMIN
    from armin.explainer import ImputationAR as ImputationAR
    from armin.explainer import RobustAR as RobustAR
    from armin.explainer import compare as compare
    from armin.prefit import Prefit as Prefit
    from armin.promise import Promise as Promise
    from armin.schema import Feature as Feature
    from armin.schema import Schema as Schema

__version__ = "0.1.0"

_HOMES = {
    "bundle": "load_bundle save_bundle",
    "errors": "ArminError",
    "explainer": "ARMIN ImputationAR RobustAR compare",
    "prefit": "Prefit",
    "promise": "Promise",
    "schema": "Feature Schema",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = ["__version__", *sorted(_HOME_OF)]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'armin' has no attribute {name!r}")
    value = getattr(import_module(f"armin.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
