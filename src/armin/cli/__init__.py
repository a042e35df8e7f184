"""The command ``armin``: parses, calls the public API, prints.

Heavy imports wait inside the functions, so that ``armin --help`` is quick.
"""

from armin.cli.commands import app, main

__all__ = ["app", "main"]
