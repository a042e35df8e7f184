"""Row by row: ask, show as it comes, and sum up in an exit code."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from armin.errors import ArminError, ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from armin.explainer.base import Explainer
    from armin.recourse import Failure, Recourse, RecoursePath

    Answer = Recourse | RecoursePath | Failure

__all__ = ["ask_path", "ask_plan", "run"]

Found = TypeVar("Found")


def ask_plan(explainer: Explainer, row: pd.DataFrame) -> Recourse | Failure:
    """The plan for one row, or why there is none to look for."""
    return _answer(explainer.explain, row)


def ask_path(explainer: Explainer, row: pd.DataFrame) -> RecoursePath | Failure:
    """The path for one row, or why there is none to look for."""
    return _answer(explainer.path, row)


def _answer(ask: Callable[[pd.DataFrame], Found], row: pd.DataFrame) -> Found | Failure:
    from armin.recourse import Failure

    try:
        return ask(row)
    except ArminError as error:
        return Failure(row.index[0], error)


def run(
    explainer: Explainer,
    frame: pd.DataFrame,
    ask: Callable[[Explainer, pd.DataFrame], Answer],
    *,
    jobs: int,
    json: bool,
) -> int:
    """Ask about each row and show the answers in their order, each as soon as it is there.

    Parameters
    ----------
    explainer : a fitted one
    frame : the rows
    ask : :func:`ask_plan` or :func:`ask_path`
    jobs : how many rows at once, as in joblib
    json : whether to write JSON lines

    Returns
    -------
    int
        0 if every row has a plan or needs none, else 1.
    """
    from joblib import Parallel, delayed

    if jobs == 0:
        raise ParameterError("--jobs must be a number of rows at once, or -1 for all cores. Got 0 instead.")
    if frame.empty:
        sys.stderr.write("There are no rows to explain.\n")
        return 0
    tasks = (delayed(ask)(explainer, frame.iloc[[i]]) for i in range(len(frame)))
    answers: Iterator[Answer] = Parallel(n_jobs=jobs, return_as="generator")(tasks)
    code = 0
    with _progress(len(frame)) as between:
        for label, answer in zip(frame.index.tolist(), answers, strict=True):
            with between():
                _show(label, answer, json=json)
            code = code if _good(answer) else 1
    return code


def _good(answer: Answer) -> bool:
    from armin.recourse import RecoursePath

    return answer.at(answer.asked) is not None if isinstance(answer, RecoursePath) else answer.found


def _show(label: object, answer: Answer, *, json: bool) -> None:
    if json:
        data = {"row": label} | _data(answer)
        sys.stdout.write(json_text.dumps(data, ensure_ascii=False, allow_nan=False, default=_plain) + "\n")
        sys.stdout.flush()
        return
    from rich.console import Console

    # whole lines in a pipe, words kept together on a terminal
    console = Console()
    console.print(_text(label, answer), markup=False, highlight=False, soft_wrap=not console.is_terminal)


def _data(answer: Answer) -> dict[str, Any]:
    from armin.recourse import Failure, RecoursePath

    if isinstance(answer, Failure):
        return {"outcome": "failed", "error": str(answer.error)}
    if isinstance(answer, RecoursePath):
        return {"asked": answer.asked, "points": answer.to_list()}
    return answer.to_dict()


def _text(label: object, answer: Answer) -> str:
    from armin.recourse import Failure, RecoursePath
    from armin.report.text import path_text

    if isinstance(answer, Failure):
        return f"Row {label}: not explained. {answer.error}\n"
    if isinstance(answer, RecoursePath):
        steps = path_text(answer.to_list(), answer.end.value, width=20)
        return f"Row {label}: the cheapest plan for every confidence\n\n{steps}\n"
    return f"Row {label}: {answer}\n"


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


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
