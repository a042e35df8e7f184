"""The application: its version, and how errors are told."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from armin.cli.hygiene import tell
from armin.errors import ArminError

__all__ = ["ADVISE", "EXIT_CODES", "PREPARE", "SHOW", "app", "main", "told_plainly"]

EXIT_CODES = (
    "Exit codes: 0 every row has a plan or is accepted already; 1 some row has no recourse, ran out of time before "
    "a plan was found, or could not be explained; 2 bad usage or bad input."
)

ADVISE, PREPARE, SHOW = "Advise people", "Prepare a model", "Show"
"""Groups of commands."""

app = typer.Typer(
    help="The least a person must change to be accepted by a model, even when some of their values are missing.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # they print local variables, which hold people's data
)


def main() -> None:
    """Run the command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # an arrow must not stop an old terminal
    app(prog_name="armin")


@contextmanager
def told_plainly() -> Iterator[None]:
    """An error becomes one message and exit code 2; one that nobody foresaw does not show anybody's data.

    A warning of ARMIN's own becomes a note, without the line of code that raised it.
    """
    try:
        with _noted_plainly():
            yield
    except ArminError as error:
        tell(f"Error: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(2) from None
    except (typer.Exit, typer.Abort, BrokenPipeError, KeyboardInterrupt):
        raise
    except OSError as error:
        if os.environ.get("ARMIN_DEBUG"):
            raise
        where = f" ({error.filename!r})" if error.filename else ""
        typer.echo(
            f"Error: The system refused a file{where}: {error.strerror or type(error).__name__}. Look at the free "
            "space and at who may read and write there.",
            err=True,
        )
        raise typer.Exit(2) from None
    except Exception as error:
        if os.environ.get("ARMIN_DEBUG"):
            raise
        tell(
            f"Error: ARMIN itself failed ({type(error).__name__}). Set ARMIN_DEBUG=1 to see where, and please report "
            "it; what is shown then may hold values of your data.",
            err=True,
        )
        raise typer.Exit(2) from None


@contextmanager
def _noted_plainly() -> Iterator[None]:
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if category.__module__.partition(".")[0] == "armin":
                tell(f"Note: {' '.join(str(message).split())}", err=True)
            else:
                others(message, category, *where, **more)

        warnings.showwarning = show
        yield


def _version(wanted: bool) -> None:
    if wanted:
        from armin import __version__

        typer.echo(f"armin {__version__}")
        raise typer.Exit


@app.callback()
def _armin(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass
