"""Row by row: ask, show as it comes, and sum up in an exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from armin.cli.answers import Printer, chosen, opened
from armin.cli.options import Answers
from armin.errors import ArminError, ParameterError

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


KINDS: dict[Callable[..., Any], str] = {
    ask_plan: "plan", ask_path: "path", ask_question: "ask", ask_reasons: "reasons", ask_idea: "what-if",
}  # fmt: skip


def _answer(ask: Callable[[pd.DataFrame], Found], row: pd.DataFrame) -> Found | Failure:
    from armin.recourse import Failure

    try:
        return ask(row)
    except ArminError as error:
        return Failure(row.index[0], error)


def run(
    explainer: Explainer,
    frame: pd.DataFrame,
    ask: Callable[[Explainer, pd.DataFrame, tuple[str, ...]], Answer],
    answers: Answers,
    locked: tuple[str, ...] = (),
) -> int:
    """Ask about each row and show the answers in their order, each as soon as it is there.

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
    from joblib import Parallel, delayed

    if answers.jobs == 0:
        raise ParameterError("--jobs must be a number of rows at once, or -1 for all cores. Got 0 instead.")
    to = chosen(answers)
    if frame.empty:
        sys.stderr.write("There are no rows to explain.\n")
    tasks = (delayed(ask)(explainer, frame.iloc[[i]], locked) for i in range(len(frame)))
    code = 0
    with opened(answers.output) as stream, Printer(stream, to, KINDS[getattr(ask, "func", ask)]) as printer:
        found: Iterator[Answer] = Parallel(n_jobs=answers.jobs, return_as="generator")(tasks)
        with _progress(len(frame)) as between:
            for label, answer in zip(frame.index.tolist(), found, strict=True):
                with between():
                    printer.show(label, answer)
                code = code if _good(answer) else 1
    return code


def _good(answer: Answer) -> bool:
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
def _progress(total: int) -> Iterator[Callable[[], Any]]:
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

    task = bar.add_task("", total=total)
    if bar.disable:
        yield between
        return
    with bar:
        yield between
