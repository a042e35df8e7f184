"""Makes the modules beside the tests importable under ``--import-mode=importlib``, and hypothesis repeatable."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

# the same examples in every run, so that a failure can be looked at; the slow suite goes far beyond them
settings.register_profile("same", derandomize=True)
settings.load_profile("same")

sys.path.insert(0, str(Path(__file__).parent))
