"""Row by row: ask, show as it comes, and sum up in an exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from armin.cli.answers import Printer, chosen, opened, shown
from armin.cli.options import Answers, Output
from armin.errors import DataError, ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from armin.cli.answers import Answer
    from armin.explainer.ask import AskOrAct
    from armin.explainer.estimator import Explainer
    from armin.explainer.what_if import WhatIf
    from armin.reasons import Reasons
    from armin.recourse import Failure, Recourse, RecoursePath

__all__ = ["ask_idea", "ask_path", "ask_plan", "ask_question", "ask_reasons", "on_terminal", "run"]

Found = TypeVar("Found")
TOGETHER = 8
"""Rows that one process is given at a time."""


def ask_plan(explainer: Explainer, row: pd.DataFrame, locked: tuple[str, ...]) -> Recourse | Failure:
    """The plan for one row, or why there is none to look for."""
    return _answer(partial(explainer.explain, locked=locked), row)


def ask_path(explainer: Explainer, row: pd.DataFrame, locked: tuple[str, ...]) -> RecoursePath | Failure:
    """The path for one row, or why there is none to look for."""
    return _answer(partial(explainer.path, locked=locked), row)


def ask_question(explainer: Explainer, row: pd.DataFrame, locked: tuple[str, ...]) -> AskOrAct | Failure:
    """Whether one person should tell more, or why that cannot be said."""
    return _answer(partial(explainer.ask, locked=locked), row)


def ask_reasons(explainer: Explainer, row: pd.DataFrame, locked: tuple[str, ...], **asked: Any) -> Reasons | Failure:
    """Why one row was decided about as it was, or why that cannot be said."""
    return _answer(partial(explainer.reasons, **asked), row)


def ask_idea(
    explainer: Explainer, row: pd.DataFrame, locked: tuple[str, ...], changes: Mapping[str, Any]
) -> WhatIf | Failure:
    """What comes of an idea for one row, or why that cannot be said."""
    return _answer(partial(explainer.what_if, changes=changes, locked=locked), row)


Question = Callable[["Explainer", "pd.DataFrame", "tuple[str, ...]"], "Answer"]
KINDS: dict[Callable[..., Any], str] = {
    ask_plan: "plan", ask_path: "path", ask_question: "ask", ask_reasons: "reasons", ask_idea: "what-if",
}  # fmt: skip


def _answer(ask: Callable[[pd.DataFrame], Found], row: pd.DataFrame) -> Found | Failure:
    from armin.explainer.many import foreseen
    from armin.recourse import Failure

    try:
        return ask(row)
    except Exception as error:  # whatever a row makes a model raise belongs to that row
        return Failure(row.index[0], foreseen(error))


def run(
    explainer: Explainer,
    frame: pd.DataFrame,
    ask: Question,
    answers: Answers,
    locked: tuple[str, ...] = (),
) -> int:
    """Ask about each row and show the answers in their order.

    On standard output each answer is shown as soon as it is there. For a file, answers are written as they come to
    another one beside it, which ends in ".part" and from which a run that was stopped goes on; the file itself is
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
    rows = [(label, frame.iloc[[i]]) for i, label in enumerate(frame.index.tolist())]
    batch = Batch(explainer, ask, rows, locked, answers.jobs)
    if answers.output is not None and (answers.output.is_file() or not answers.output.exists()):
        return write_batch(batch, answers.output, to, answers.resume)
    if answers.resume:
        raise ParameterError("--resume goes on with a run that wrote to a file. Name it with --output.")
    good = True
    with opened(answers.output) as stream, Printer(stream, to, batch.kind) as printer, _progress(len(rows)) as between:
        for number, answer in in_order(batch.answers(range(len(rows)))):
            with between():
                printer.show(rows[number][0], answer)
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
    """The answers in a file, by way of another one that holds those which have come."""
    from armin.explainer.journal import Journal

    part = output.with_name(f"{output.name}.part")
    if part.exists() and not resume:
        raise ParameterError(
            f"There is an unfinished run in {str(part)!r}. Go on with --resume, or delete that file to begin anew."
        )
    rows = batch.rows
    with _told(output), Journal(part, batch.asked(to)) as journal:
        kept = {number: line for number, line in journal.kept.items() if _is_line(line)}
        try:
            left = [number for number in range(len(rows)) if number not in kept]
            with _progress(len(rows), len(kept)) as between:
                for place, answer in batch.answers(left):
                    number = left[place]
                    line = {"text": shown(rows[number][0], answer, to, batch.kind), "good": is_good(answer)}
                    journal.add(number, line)
                    kept[number] = line
                    with between():
                        pass
        except BaseException:
            if not kept:
                part.unlink(missing_ok=True)
            else:
                sys.stderr.write(
                    f"{len(kept):,} of {len(rows):,} rows are kept in {str(part)!r}; go on with --resume.\n"
                )
            raise
        with opened(output) as stream, Printer(stream, to, batch.kind):
            for number in range(len(rows)):
                stream.write(kept[number]["text"])
        part.unlink(missing_ok=True)  # another run that came to its end may have taken it
    return 0 if all(kept[number]["good"] for number in range(len(rows))) else 1


def _is_line(line: Any) -> bool:
    """Whether a kept answer is one; any other is asked for again."""
    return isinstance(line, dict) and isinstance(line.get("text"), str) and isinstance(line.get("good"), bool)


@contextmanager
def _told(output: Path) -> Iterator[None]:
    """A file that cannot be written is the one that was named."""
    try:
        yield
    except DataError as error:
        if "cannot be written" not in str(error):
            raise
        raise ParameterError(f"--output {str(output)!r}: {error}") from None


@dataclass(frozen=True)
class Batch:
    """Rows and what is asked about each.

    Attributes
    ----------
    rows : each as a frame, with its label
    """

    explainer: Explainer
    ask: Question
    rows: list[tuple[Any, pd.DataFrame]]
    locked: tuple[str, ...]
    jobs: int

    @property
    def kind(self) -> str:
        """Which columns a table of the answers has."""
        return KINDS[getattr(self.ask, "func", self.ask)]

    def answers(self, numbers: Sequence[int]) -> Iterator[tuple[int, Answer]]:
        """The answers to some rows, each with its place among these numbers, as they come."""
        from armin.explainer.many import each_row

        explain = partial(_ask_all, self.explainer, self.ask, self.locked)
        most = 1 if self.jobs == 1 else TOGETHER  # alone, each is shown as it comes
        return each_row(explain, [self.rows[number] for number in numbers], self.jobs, most)

    def asked(self, to: Output) -> str:
        """What stands for the question."""
        from armin.explainer.many import asked_of

        rows = [(label, row.iloc[0].to_dict()) for label, row in self.rows]
        one = self.explainer
        return asked_of(one.classifier, one.current, rows, self.locked, kind=self.kind, to=str(to))


def _ask_all(
    explainer: Explainer, ask: Question, locked: tuple[str, ...], rows: Sequence[tuple[Any, pd.DataFrame]]
) -> list[Answer]:
    return [ask(explainer, row, locked) for _, row in rows]


def is_good(answer: Answer) -> bool:
    """Whether somebody is given a plan, or needs none."""
    from armin.explainer.ask import AskOrAct
    from armin.explainer.what_if import WhatIf
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
