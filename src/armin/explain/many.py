"""Many rows: shared out, each with an answer or an error of its own, written down as they come."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from armin import __version__
from armin.errors import ArminError, RowError
from armin.explain import pool
from armin.explain.fitted import Fitted
from armin.explain.parts import Parts
from armin.recourse import Failure, Recourse
from armin.schema import Schema

__all__ = ["TableRows", "each_row", "foreseen", "question_of", "stored", "tracked"]

BLOCK = 32
"""Rows that the user's model is asked about together, where many are explained."""
Answer = TypeVar("Answer")
Labelled = tuple[Any, Mapping[str, Any]]
Explained = Callable[[Sequence[Labelled]], Sequence[Answer]]


class TableRows(Sequence[Labelled]):
    """The rows of a table, each with its label as a dict of values; they are made when they are needed.

    >>> list(TableRows(pd.DataFrame({"age": [30, 41]}, index=["ada", "bo"])).some([1]))
    [('bo', {'age': 41})]
    """

    def __init__(self, table: pd.DataFrame) -> None:
        self.table = table

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, number: Any) -> Any:
        return self.some([number])[0]

    def __iter__(self) -> Iterator[Labelled]:
        for start in range(0, len(self), BLOCK):
            yield from self.some(range(start, min(start + BLOCK, len(self))))

    def some(self, numbers: Sequence[int]) -> list[Labelled]:
        """Some of them, by their numbers."""
        block = self.table.iloc[list(numbers)]
        return list(zip(block.index.tolist(), block.astype(object).to_dict("records"), strict=True))


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
    explain: Explained[Answer], rows: TableRows, n_jobs: int | None, numbers: Sequence[int], most: int = BLOCK
) -> Iterator[tuple[int, Answer | Failure]]:
    """The answer to some rows, each with its number, as they come.

    Parameters
    ----------
    explain : from some rows, each with its label, to as many answers; travels to a process once
    rows : all of them
    n_jobs : as in joblib
    numbers : which of them
    most : rows that are explained together
    """
    from joblib import Parallel, delayed, effective_n_jobs

    jobs = effective_n_jobs(n_jobs)
    size = max(1, min(most, len(numbers) // (4 * jobs)))
    blocks = [numbers[start : start + size] for start in range(0, len(numbers), size)]
    if pool.wants_processes(n_jobs):
        numbered = (list(zip(block, rows.some(block), strict=True)) for block in blocks)
        for number, answer in pool.share_out(explain, numbered, jobs):
            yield number, Failure(rows[number][0], answer) if isinstance(answer, RowError) else answer
        return
    # one process, threads, or a cluster; small arguments: what a cluster ships by itself is not lost with a worker
    tasks = (delayed(explain)(rows.some(block)) for block in blocks)
    found: Iterable[Answer] = chain.from_iterable(Parallel(n_jobs=n_jobs, return_as="generator")(tasks))
    yield from zip(numbers, found, strict=True)


def tracked(answers: Iterable[Answer], total: int) -> Iterable[Answer]:
    """The same with a progress bar on standard error."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return track(answers, description="Explaining", total=total, transient=True, console=console)


def question_of(classifier: Any, fitted: Fitted, rows: TableRows, locked: Iterable[str], **more: Any) -> str:
    """A fingerprint of a question about many rows: the rows, the model, what was learned, and the settings.

    Values are compared by what they print.
    """
    digest = hashlib.sha256()
    for row in rows:
        digest.update(repr(row).encode("utf-8", "surrogatepass"))
    question = {
        "version": __version__,
        "rows": digest.hexdigest(),
        "locked": sorted(locked),
        "labels": fitted.labels,
        "settings": fitted.settings,
        "origin": None if fitted.origin is None else fitted.origin.to_dict(),
        "learned": _hashed(classifier, fitted),
        **more,
    }
    return hashlib.sha256(json.dumps(question, sort_keys=True, default=repr).encode()).hexdigest()


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
    folder: str | Path,
    question: str,
    labels: Sequence[Any],
    schema: Schema,
) -> Iterator[tuple[int, Recourse | Failure]]:
    """The answers with their numbers: first those that a folder holds, then the others, which are written to it.

    Parameters
    ----------
    answers : from the numbers of rows to their answers, each with its number
    folder : of :class:`Parts`
    question : the fingerprint of the question
    labels, schema : of the rows
    """
    parts = Parts(folder, question, len(labels))
    for number, data in parts:
        yield number, _restored(data, labels[number], schema)
    for number, answer in answers(parts.missing()):
        parts.add(number, _kept(answer))
        yield number, answer


def _kept(answer: Recourse | Failure) -> dict[str, Any]:
    return {"failed": str(answer.error)} if isinstance(answer, Failure) else answer.to_dict()


def _restored(data: Mapping[str, Any], label: Any, schema: Schema) -> Recourse | Failure:
    if isinstance(data, Mapping) and "failed" in data:
        return Failure(label, RowError(str(data["failed"])))
    return Recourse.from_dict(data, schema)
