"""What the desk adds to the command ``armin``: ``letter`` and ``serve``."""

from __future__ import annotations

import typer

from armin.cli.app import ADVISE, EXIT_CODES, SHOW
from armin.cli.options import Listing
from armin_desk.cli.letter import letter
from armin_desk.cli.serve import serve

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(cls=Listing, rich_help_panel=ADVISE, epilog=EXIT_CODES)(letter)
    app.command(cls=Listing, rich_help_panel=SHOW)(serve)
