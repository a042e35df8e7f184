"""The command ``armin``: parses, calls the public API, prints.

Heavy imports wait inside the functions, so that ``armin --help`` is quick. Other packages add commands: see
:mod:`armin.cli.plugins`.
"""

from armin.cli import advise, packing, prepare, recheck, why
from armin.cli.app import app, main
from armin.cli.plugins import add_commands

__all__ = ["advise", "app", "main", "packing", "prepare", "recheck", "why"]

add_commands(app)
