"""Which types in a model's file skops makes without trust; nothing is loaded.

skops trusts scikit-learn's estimators, and finds them by importing all of scikit-learn whenever it is imported itself.
``types.toml`` names them for the versions that it lists, so that this need not be, and what else is known.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from sys import modules
from typing import Any

from armin.errors import DataError, MissingDependencyError

__all__ = ["estimators", "known", "skops", "unknown_types"]


@cache
def _listed() -> dict[str, Any]:
    return tomllib.loads((files("armin.bundle") / "types.toml").read_text(encoding="utf-8"))


@cache
def known() -> frozenset[str]:
    """Types that are made from a file beyond those that skops itself trusts. Names, not packages: a package also holds
    functions that do things.

    >>> "xgboost.core.Booster" in known()
    True
    """
    return frozenset(_listed()["known"])


@cache
def estimators() -> frozenset[str]:
    """The estimators of the installed scikit-learn, by the names of their classes; empty if they are not listed.

    >>> "sklearn.linear_model._logistic.LogisticRegression" in estimators()
    True
    """
    try:
        installed = ".".join(version("scikit-learn").split(".")[:2])
    except PackageNotFoundError:
        return frozenset()
    some = _listed()["some"]
    return frozenset(_listed()["every"]) | frozenset(some[installed]) if installed in some else frozenset()


def skops() -> Any:
    """The library skops, imported without its walk through scikit-learn where that is known to find what is listed."""
    try:
        if "skops.io" in modules or not estimators():
            import skops.io as sio
        else:
            with _from_list():
                import skops.io as sio
    except ImportError:
        raise MissingDependencyError(
            'A bundle needs the library skops. Install it with: pip install "armin[bundle]"'
        ) from None
    return sio


@contextmanager
def _from_list() -> Iterator[None]:
    """While skops is imported, scikit-learn answers from the list; skops asks for the classes' names only."""
    import sklearn.utils

    parts = [name.rpartition(".") for name in sorted(estimators())]
    found = [(name, type(name, (), {"__module__": module})) for module, _, name in parts]
    walk = sklearn.utils.all_estimators
    sklearn.utils.all_estimators = lambda: found
    try:
        yield
    finally:
        sklearn.utils.all_estimators = walk


def unknown_types(data: bytes) -> list[str]:
    """The types in a model's file that neither skops nor ARMIN knows; nothing is loaded.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from armin.bundle.model import dump_model
    >>> unknown_types(dump_model(LogisticRegression().fit([[0], [1]], [0, 1])))
    []
    """
    sio = skops()
    try:
        return sorted(set(sio.get_untrusted_types(data=data)) - known())
    except Exception as error:  # a damaged or outdated file can make skops raise anything
        raise DataError(f"The bundle's model cannot be read ({type(error).__name__}). It is damaged.") from None
