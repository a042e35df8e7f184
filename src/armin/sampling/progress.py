"""How far a long fit has come, on a terminal."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

from armin.words import Message

__all__ = ["followed"]

Thing = TypeVar("Thing")

_PATIENCE = 2.0  # seconds without a word
_log = logging.getLogger("armin")


def followed(things: Sequence[Thing], code: str, **values: object) -> Iterator[Thing]:
    """The things, one after the other; how far they have come is shown from two seconds on.

    Only on a terminal, on standard error, and not where the logger "armin" is set to errors only.

    Parameters
    ----------
    things : what is worked on
    code, values : what is said, see :class:`armin.words.Message`

    Examples
    --------
    >>> list(followed(["a", "b"], "progress.fit"))
    ['a', 'b']
    """
    start, told = time.monotonic(), None
    wanted = sys.stderr.isatty() and _log.isEnabledFor(logging.WARNING)
    try:
        for i, thing in enumerate(things):
            if wanted and told is None and time.monotonic() - start > _PATIENCE:
                from rich.console import Console
                from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

                columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
                told = Progress(*columns, console=Console(stderr=True), transient=True)
                told.start()
                task = told.add_task(str(Message(code, **values)), total=len(things))
            if told is not None:
                told.update(task, completed=i)
            yield thing
    finally:
        if told is not None:
            told.stop()
