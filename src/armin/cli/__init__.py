"""The command ``armin``: parses, calls the public API, prints.

Heavy imports wait inside the functions, so that ``armin --help`` is quick.
"""

from armin.cli import advise, letters, packing, prepare, recheck, why
from armin.cli.app import app, main

__all__ = ["advise", "app", "letters", "main", "packing", "prepare", "recheck", "why"]
