"""The door of the package: every name behind it opens, and looking in costs nothing."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import armin

NAMES = {
    "ARMIN", "ArminError", "ExpertOptions", "Feature", "Problem", "Promise", "Recourse", "RecoursePath", "Schema",
    "__version__", "load_bundle", "register_model", "rules", "save_bundle", "solve",
}  # fmt: skip
MODULES = {"rules", "solve"}


def test_the_door_is_small() -> None:
    """A name more is a name that everybody reads."""
    assert set(armin.__all__) == NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_public_name_is_there(name: str) -> None:
    assert isinstance(getattr(armin, name), ModuleType) == (name in MODULES)
    assert name == "__version__" or name in dir(armin)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = armin.no_such_name  # type: ignore[attr-defined]


def test_the_modules_are_the_packages() -> None:
    import armin.schema.rules
    import armin.solve

    assert armin.rules is sys.modules["armin.schema.rules"]
    assert armin.solve.solve is sys.modules["armin.solve"].solve
    assert issubclass(armin.rules.Forbid, armin.rules.Rule)


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, armin; print(*({'numpy', 'pandas', 'scipy', 'sklearn', 'numba'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
