"""What other packages add to the command, found by the entry points of what is installed."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

import typer

from armin.cli.hygiene import tell

__all__ = ["COMMANDS", "DEMOS", "add_commands", "find"]

COMMANDS = "armin.commands"
"""Functions that are given the application and add commands to it."""
DEMOS = "armin.demos"
"""Functions that show a package on built-in data; they take ``port`` and ``open_browser``."""


def find(group: str) -> list[EntryPoint]:
    """The entry points of a group, by name."""
    return sorted(entry_points(group=group), key=lambda entry: entry.name)


def add_commands(app: typer.Typer) -> None:
    """Add the commands of other packages; one that cannot be loaded leaves the others as they are."""
    for entry in find(COMMANDS):
        try:
            entry.load()(app)
        except Exception as error:  # whatever another package does wrong
            tell(
                f"Note: The commands of {entry.dist.name if entry.dist else entry.value} are not there, since they "
                f"could not be loaded ({type(error).__name__}). Install the version of it that goes with this one.",
                err=True,
            )
