"""Makes what tests share importable under ``--import-mode=importlib``, and the tests repeatable."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# the same examples in every run, so that a failure can be looked at, and no deadline, which would test the machine; the
# slow suite goes far beyond them
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / folder) for folder in ("support", "browser", "")]
os.environ.setdefault("MPLBACKEND", "Agg")  # pictures are drawn without windows


class PatientClock:
    """A clock at a tenth of the speed."""

    @staticmethod
    def perf_counter_ns() -> int:
        return time.perf_counter_ns() // 10


@pytest.fixture(autouse=True)
def patience(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer is cut off because the machine is slow or busy; ``real_clock`` marks the tests about being cut off."""
    if "real_clock" not in request.keywords:
        monkeypatch.setattr("armin.clock.time", PatientClock)


def reseed() -> None:
    """Estimators without a ``random_state`` draw from these, and would be others in every run."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 -- what scikit-learn draws from by default


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup() -> None:
    """Fixtures of modules and sessions are made for whichever test comes first."""
    reseed()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call() -> None:
    """No test draws what another one left."""
    reseed()


@pytest.fixture(autouse=True)
def _figures_are_closed() -> Iterator[None]:
    """pyplot keeps every figure until it is closed, and warns when there are many."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
