"""Bundles that tests, doctests and pages pack are signed with a key of their own, and not with the user's."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest

FOLDER = "ARMIN_CONFIG"


def pytest_configure(config: pytest.Config) -> None:
    """One folder for this process and those that it starts; pytest-xdist's workers take the one that they inherit."""
    if not hasattr(config, "workerinput"):
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="armin-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Nothing is left behind."""
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(FOLDER), ignore_errors=True)
