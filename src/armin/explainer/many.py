"""Many rows: shared out, each with an answer or an error of its own, written down as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from armin import __version__
from armin.errors import ArminError, RowError
from armin.explainer import pool
from armin.explainer.fitted import Fitted
from armin.explainer.journal import Journal, fingerprint
from armin.recourse import Failure, Recourse
from armin.schema import Schema

__all__ = ["asked_of", "each_row", "foreseen", "stored", "tracked"]

BLOCK = 32
"""Rows that the user's model is asked about together, where many are explained."""
Answer = TypeVar("Answer")
Labelled = tuple[Any, Any]
Explained = Callable[[Sequence[Labelled]], Sequence[Answer]]


def foreseen(error: Exception) -> ArminError:
    """An error that belongs to a row, as one of ours: those of a user's model need not travel between processes.

    >>> str(foreseen(ValueError("no such town"))).partition(".")[0]
    'ValueError while this row was explained: no such town'
    """
    if isinstance(error, ArminError):
        return error
    text = " ".join(str(error).split())
    return RowError(
        f"{type(error).__name__} while this row was explained: {text}. Look at its values and at the model; other "
        "rows are not affected."
    )


def each_row(
    explain: Explained[Answer], rows: Sequence[Labelled], n_jobs: int | None, most: int = BLOCK
) -> Iterator[tuple[int, Answer | Failure]]:
    """The answer to each row with its number, as they come.

    Parameters
    ----------
    explain : from some rows, each with its label, to as many answers; travels to a process once
    rows : each with its label
    n_jobs : as in joblib
    most : rows that are explained together
    """
    from joblib import Parallel, delayed, effective_n_jobs

    jobs = effective_n_jobs(n_jobs)
    size = max(1, min(most, len(rows) // (4 * jobs)))
    numbered = list(enumerate(rows))
    blocks = [numbered[start : start + size] for start in range(0, len(rows), size)]
    if pool.wants_processes(n_jobs):
        for number, answer in pool.share_out(explain, blocks, jobs):
            yield number, Failure(rows[number][0], answer) if isinstance(answer, RowError) else answer
        return
    # one process, threads, or a cluster; small arguments: what a cluster ships by itself is not lost with a worker
    tasks = (delayed(explain)([row for _, row in block]) for block in blocks)
    found: Iterable[Answer] = chain.from_iterable(Parallel(n_jobs=n_jobs, return_as="generator")(tasks))
    yield from enumerate(found)


def tracked(answers: Iterable[Answer], total: int) -> Iterable[Answer]:
    """The same with a progress bar on standard error."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return track(answers, description="Explaining", total=total, transient=True, console=console)


def asked_of(classifier: Any, fitted: Fitted, rows: Sequence[Labelled], locked: Iterable[str], **more: Any) -> str:
    """What stands for a question about many rows: the rows, the model, what was learned, and the settings."""
    return fingerprint(
        {
            "version": __version__,
            "rows": [[repr(label), repr(row)] for label, row in rows],
            "locked": sorted(locked),
            "labels": fitted.labels,
            "settings": fitted.settings,
            "origin": None if fitted.origin is None else fitted.origin.to_dict(),
            "learned": _hashed(classifier, fitted),
            **more,
        }
    )


def _hashed(classifier: Any, fitted: Fitted) -> str | None:
    """A fingerprint of the parts, where they do not come from a bundle, which has one."""
    from joblib import hash as hashed

    if fitted.origin is not None and fitted.origin.bundle is not None:
        return None
    try:
        found: str | None = hashed((classifier, fitted.cost, fitted.sampler, fitted.imputer))
    except Exception:  # what cannot be pickled has none
        return None
    return found


def stored(
    answers: Callable[[Sequence[int]], Iterator[tuple[int, Recourse | Failure]]],
    path: str | Path,
    asked: str,
    labels: Sequence[Any],
    schema: Schema,
) -> Iterator[tuple[int, Recourse | Failure]]:
    """The answers with their numbers: first those that a file holds, then the others, which are written to it.

    Parameters
    ----------
    answers : from the numbers of rows to their answers, each with its place among these numbers
    path : the file
    asked : the fingerprint of the question
    labels, schema : of the rows
    """
    with Journal(path, asked) as journal:
        known = {number: data for number, data in journal.kept.items() if 0 <= number < len(labels)}
        for number, data in known.items():
            yield number, _restored(data, labels[number], schema)
        left = [number for number in range(len(labels)) if number not in journal.kept]
        for place, answer in answers(left):
            journal.add(left[place], _kept(answer))
            yield left[place], answer


def _kept(answer: Recourse | Failure) -> dict[str, Any]:
    return {"failed": str(answer.error)} if isinstance(answer, Failure) else answer.to_dict()


def _restored(data: Mapping[str, Any], label: Any, schema: Schema) -> Recourse | Failure:
    if isinstance(data, Mapping) and "failed" in data:
        return Failure(label, RowError(str(data["failed"])))
    return Recourse.from_dict(data, schema)
