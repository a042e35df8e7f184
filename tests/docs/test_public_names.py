"""The door of the package: every name behind it opens, and looking in costs nothing."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import armin


@pytest.mark.parametrize("name", armin.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert not isinstance(getattr(armin, name), ModuleType)
    assert name == "__version__" or name in dir(armin)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = armin.no_such_name  # type: ignore[attr-defined]


def test_solve_is_the_package_only() -> None:
    import armin.solve

    assert isinstance(armin.solve, ModuleType)
    assert "solve" not in armin.__all__


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, armin; print(*({'numpy', 'pandas', 'scipy', 'sklearn', 'numba'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
