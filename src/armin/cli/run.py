"""Row by row: ask, show as it comes, and sum up in an exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from armin.cli.answers import COLUMNS, Printer, chosen, opened, shown, write_parquet
from armin.cli.options import Answers, Output
from armin.errors import DataError, ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from armin.cli.answers import Answer
    from armin.explain.ask import AskOrAct
    from armin.explain.estimator import Explainer
    from armin.explain.what_if import WhatIf
    from armin.reasons import Reasons
    from armin.recourse import Recourse, RecoursePath

__all__ = ["ask_idea", "ask_path", "ask_plan", "ask_question", "ask_reasons", "on_terminal", "run"]

Found = TypeVar("Found")
TOGETHER = 8
"""Rows that one process is given at a time."""


def ask_plan(explainer: Explainer, row: Mapping[str, Any], locked: tuple[str, ...]) -> Recourse:
    """The plan for one row."""
    return explainer.explain(row, locked=locked)


def ask_path(explainer: Explainer, row: Mapping[str, Any], locked: tuple[str, ...]) -> RecoursePath:
    """The path for one row."""
    return explainer.path(row, locked=locked)


def ask_question(explainer: Explainer, row: Mapping[str, Any], locked: tuple[str, ...]) -> AskOrAct:
    """Whether one person should disclose more."""
    return explainer.ask(row, locked=locked)


def ask_reasons(explainer: Explainer, row: Mapping[str, Any], locked: tuple[str, ...], **options: Any) -> Reasons:
    """Why one row was decided about as it was."""
    return explainer.reasons(row, **options)


def ask_idea(
    explainer: Explainer, row: Mapping[str, Any], locked: tuple[str, ...], changes: Mapping[str, Any]
) -> WhatIf:
    """What comes of an idea for one row."""
    return explainer.what_if(row, changes=changes, locked=locked)


Question = Callable[["Explainer", Mapping[str, Any], "tuple[str, ...]"], "Answer"]
KINDS: dict[Callable[..., Any], str] = {
    ask_plan: "plan", ask_path: "path", ask_question: "ask", ask_reasons: "reasons", ask_idea: "what-if",
}  # fmt: skip


def run(
    explainer: Explainer,
    frame: pd.DataFrame,
    ask: Question,
    answers: Answers,
    locked: tuple[str, ...] = (),
) -> int:
    """Ask about each row and show the answers in their order.

    On standard output each answer is shown as soon as it is there. For a file, answers are written as they come to
    a folder beside it, which ends in ".parts" and from which a run that was stopped goes on; the file itself is
    there when all of it is.

    Parameters
    ----------
    explainer : a fitted one
    frame : the rows
    ask : :func:`ask_plan`, :func:`ask_path` or :func:`ask_question`
    answers : where they go, and how many rows at once
    locked : columns that nobody can change

    Returns
    -------
    int
        0 if every row has a plan or needs none, else 1.
    """
    if answers.jobs == 0:
        raise ParameterError("--jobs must be a number of rows at once, or -1 for all cores. Got 0 instead.")
    to = chosen(answers)
    if frame.empty:
        sys.stderr.write("There are no rows to explain.\n")
    batch = Batch(explainer, ask, frame, locked, answers.jobs)
    if answers.output is not None and (answers.output.is_file() or not answers.output.exists()):
        return write_batch(batch, answers.output, to, answers.resume)
    if answers.resume:
        raise ParameterError("--resume goes on with a run that wrote to a file. Name it with --output.")
    good = True
    with opened(answers.output) as stream, Printer(stream, to, batch.kind) as printer, _progress(len(frame)) as between:
        for number, answer in in_order(batch.answers(range(len(frame)))):
            with between():
                printer.show(batch.label(number), answer)
            good &= is_good(answer)
    return 0 if good else 1


def in_order(answers: Iterator[tuple[int, Found]]) -> Iterator[tuple[int, Found]]:
    """Numbered answers in the order of their numbers, each as soon as those before it are there.

    >>> list(in_order(iter([(1, "b"), (0, "a"), (2, "c")])))
    [(0, 'a'), (1, 'b'), (2, 'c')]
    """
    early: dict[int, Found] = {}
    following = 0
    for number, answer in answers:
        early[number] = answer
        while following in early:
            yield following, early.pop(following)
            following += 1


def write_batch(batch: Batch, output: Path, to: Output, resume: bool) -> int:
    """The answers in a file, by way of a folder of parts that holds those which have come."""
    from armin.explain.parts import Parts

    folder = output.with_name(f"{output.name}.parts")
    if folder.exists() and not resume:
        raise ParameterError(
            f"There is an unfinished run in {str(folder)!r}. Go on with --resume, or delete that folder to begin anew."
        )
    total = len(batch.frame)
    with _named(output):
        parts = Parts(folder, batch.question(to), total)
        try:
            with _progress(total, len(parts)) as between:
                for number, answer in batch.answers(parts.missing()):
                    text = shown(batch.label(number), answer, to, batch.kind)
                    parts.add(number, {"text": text, "good": is_good(answer)})
                    with between():
                        pass
        except BaseException:
            if not len(parts):
                parts.remove()
            else:
                sys.stderr.write(
                    f"{len(parts):,} of {total:,} rows are kept in {str(folder)!r}; go on with --resume.\n"
                )
            raise
        good = True

        def texts() -> Iterator[str]:
            nonlocal good
            for _, line in parts:
                good &= line["good"]
                yield line["text"]

        if to is Output.PARQUET:
            lines = (line for text in texts() for line in text.splitlines())
            write_parquet(output, COLUMNS[batch.kind], map(json.loads, lines))
        else:
            with opened(output) as stream, Printer(stream, to, batch.kind):
                stream.writelines(texts())
        parts.remove()
    return 0 if good else 1


@contextmanager
def _named(output: Path) -> Iterator[None]:
    """A file that cannot be written is the one that was named."""
    try:
        yield
    except DataError as error:
        if "cannot be written" not in str(error):
            raise
        raise ParameterError(f"--output {str(output)!r}: {error}") from None


@dataclass(frozen=True)
class Batch:
    """Rows and what is to be answered about each."""

    explainer: Explainer
    ask: Question
    frame: pd.DataFrame
    locked: tuple[str, ...]
    jobs: int

    @property
    def kind(self) -> str:
        """Which columns a table of the answers has."""
        return KINDS[getattr(self.ask, "func", self.ask)]

    def label(self, number: int) -> Any:
        """How a row is called."""
        return self.frame.index[number]

    def answers(self, numbers: Sequence[int]) -> Iterator[tuple[int, Answer]]:
        """The answers to some rows, with their numbers, as they come."""
        from armin.explain.many import TableRows, each_row

        explain = partial(_answer_all, self.explainer, self.ask, self.locked)
        most = 1 if self.jobs == 1 else TOGETHER  # alone, each is shown as it comes
        return each_row(explain, TableRows(self.frame), self.jobs, numbers, most)

    def question(self, to: Output) -> str:
        """The fingerprint of the question."""
        from armin.explain.many import TableRows, question_of

        one = self.explainer
        rows = TableRows(self.frame)
        return question_of(one.classifier, one.current, rows, self.locked, kind=self.kind, to=str(to))


def _answer_all(
    explainer: Explainer, ask: Question, locked: tuple[str, ...], rows: Sequence[tuple[Any, Mapping[str, Any]]]
) -> list[Answer]:
    from armin.explain.many import foreseen
    from armin.recourse import Failure

    answers: list[Answer] = []
    for label, row in rows:
        try:
            answers.append(ask(explainer, row, locked))
        except Exception as error:  # whatever a row makes a model raise belongs to that row
            answers.append(Failure(label, foreseen(error)))
    return answers


def is_good(answer: Answer) -> bool:
    """Whether somebody is given a plan, or needs none."""
    from armin.explain.ask import AskOrAct
    from armin.explain.what_if import WhatIf
    from armin.reasons import Reasons
    from armin.recourse import RecoursePath

    if isinstance(answer, Reasons):
        return True
    if isinstance(answer, WhatIf):
        return answer.enough or (answer.plan is not None and answer.plan.found)
    if isinstance(answer, AskOrAct):
        return answer.plan.found
    return answer.at(answer.asked) is not None if isinstance(answer, RecoursePath) else answer.found


def on_terminal() -> bool:
    """Whether somebody watches standard error."""
    from rich.console import Console

    return Console(stderr=True).is_interactive


@contextmanager
def _progress(total: int, done: int = 0) -> Iterator[Callable[[], Any]]:
    """A bar on standard error, if that is a terminal; gives a context in which it is out of the way."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("Explaining"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # redirecting would send standard output to standard error
    bar = Progress(*columns, console=console, transient=True, redirect_stdout=False, disable=not console.is_interactive)

    @contextmanager
    def between() -> Iterator[None]:
        if bar.disable:
            yield
            return
        bar.stop()
        yield
        bar.advance(task)
        bar.start()

    task = bar.add_task("", total=total, completed=done)
    if bar.disable:
        yield between
        return
    with bar:
        yield between
