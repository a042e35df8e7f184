"""Answers as lines of text, JSON, CSV or HTML, each as soon as it is there; or all of them as a Parquet file."""

from __future__ import annotations

import csv
import io
import json
import os
import secrets
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from armin.cli.hygiene import cell, escaped, visible
from armin.cli.options import Answers, Output
from armin.errors import MissingDependencyError, ParameterError

if TYPE_CHECKING:
    from armin.explain.ask import AskOrAct
    from armin.explain.what_if import WhatIf
    from armin.reasons import Reasons
    from armin.recourse import Failure, Recourse, RecoursePath

    Answer = Recourse | RecoursePath | AskOrAct | Reasons | WhatIf | Failure

__all__ = ["COLUMNS", "Printer", "chosen", "of_suffix", "opened", "shown", "write_parquet"]

COLUMNS = {
    "plan": ("row", "outcome", "cost", "share", "advice"),
    "path": ("row", "share", "cost", "changes"),
    "ask": ("row", "feature", "matters", "alone", "expected_cost", "saving", "advice"),
    "reasons": ("row", "feature", "weight", "low", "high", "top", "untold"),
    "what-if": ("row", "share", "cost", "enough", "advice"),
}
TYPES = dict.fromkeys(
    ("cost", "share", "alone", "expected_cost", "saving", "weight", "low", "high", "top", "untold", "before", "now",
     "asked", "as_is"), "float64",
) | dict.fromkeys(("matters", "enough", "same_model"), "boolean")  # fmt: skip
"""The types of columns in a Parquet file; others hold texts."""
SUFFIXES = {
    "": Output.TABLE, ".txt": Output.TABLE, ".json": Output.JSON, ".jsonl": Output.JSON, ".ndjson": Output.JSON,
    ".csv": Output.CSV, ".html": Output.HTML, ".htm": Output.HTML, ".parquet": Output.PARQUET, ".pq": Output.PARQUET,
}  # fmt: skip
Format = TypeVar("Format")
PAGE = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Recourse</title>'
    "<style>body{font-family:system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;line-height:1.45}"
    "h2{font-size:1rem;margin:1.5rem 0 .4rem}td,th{padding:.15rem .6rem;text-align:left}"
    ":root{color-scheme:light dark}</style></head><body>\n"
)


def chosen(answers: Answers) -> Output:
    """The format that was asked for."""
    if answers.json and answers.to not in (None, Output.JSON):
        raise ParameterError(f"--json and --to {answers.to} contradict each other. Give one of the two.")
    to = Output.JSON if answers.json else answers.to
    if to is None:
        to = Output.TABLE if answers.output is None else of_suffix(answers.output, SUFFIXES)
    if to is Output.PARQUET:
        _check_parquet(answers.output)
    return to


def of_suffix(output: Path, formats: Mapping[str, Format]) -> Format:
    """The format that the suffix of a file stands for; a suffix that stands for none is refused.

    >>> of_suffix(Path("plans.CSV"), SUFFIXES)
    <Output.CSV: 'csv'>
    """
    suffix = output.suffix.lower()
    if suffix not in formats:
        known = ", ".join(sorted(one for one in formats if one))
        raise ParameterError(
            f"--output {str(output)!r} must end in one of {known}, which says the format. Got {suffix!r} instead. "
            "Rename the file, or name the format with --to."
        )
    return formats[suffix]


def _check_parquet(output: Path | None) -> None:
    if output is None or (output.exists() and not output.is_file()):
        raise ParameterError("--to parquet must have a file to write to. Name one with --output FILE.parquet.")
    if find_spec("pyarrow") is None:
        raise MissingDependencyError(
            'Parquet files need the library pyarrow. Install it with: pip install "armin[parquet]"'
        )


@contextmanager
def opened(path: Path | None) -> Iterator[IO[str]]:
    """Standard output, or a file that is there whole or not at all: an old one stays until the new one is complete."""
    if path is None:
        yield sys.stdout
        return
    with _opened(path, "w", encoding="utf-8", newline="") as stream:
        yield stream


def write_parquet(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Rows of cells as a Parquet file, whole or not at all; each column has the same type whatever the rows hold."""
    import pandas as pd

    frame = pd.DataFrame(list(rows), columns=list(columns), dtype=object)
    for name in columns:
        kind = TYPES.get(name, "string")
        labels = name == "row" and all(isinstance(label, int) for label in frame[name])
        frame[name] = frame[name].astype("int64" if labels else kind)
    with _opened(path, "wb") as stream:
        frame.to_parquet(stream, index=False)


@contextmanager
def _opened(path: Path, mode: str, **how: Any) -> Iterator[IO[Any]]:
    if path.exists() and not path.is_file():  # a pipe or a device cannot be replaced
        with _told(path), path.open(mode, **how) as stream:
            yield stream
        return
    whole = path.resolve()  # what a link points to is replaced, not the link
    with _told(path):
        # nobody can have put a file or a link of that name there before
        half = whole.with_name(f".{whole.name}.{secrets.token_hex(8)}.tmp")
        try:
            with half.open(mode.replace("w", "x"), **how) as stream:
                if whole.exists():
                    half.chmod(whole.stat().st_mode & 0o777)
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            half.replace(whole)
        except BaseException:
            half.unlink(missing_ok=True)
            raise


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """What the system says about a file, as a sentence."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ParameterError(f"--output {str(path)!r} cannot be written: {error.strerror}.") from None


def shown(label: object, answer: Answer, to: Output, kind: str) -> str:
    """One answer as it stands in a file."""
    text = io.StringIO()
    Printer(text, to, kind).show(label, answer)
    return text.getvalue()


class Printer:
    """Writes answers one after the other.

    Parameters
    ----------
    stream : where to
    to : the format
    kind : "plan", "path", "ask", "reasons" or "what-if": which columns CSV has
    """

    def __init__(self, stream: IO[str], to: Output, kind: str) -> None:
        self.stream = stream
        self.to = to
        self.kind = kind
        self.table = csv.writer(stream, lineterminator="\n")

    def __enter__(self) -> Printer:
        if self.to is Output.CSV:
            self.table.writerow(COLUMNS[self.kind])
        elif self.to is Output.HTML:
            self.stream.write(PAGE)
        return self

    def __exit__(self, *error: object) -> None:
        if self.to is Output.HTML:
            self.stream.write("</body></html>\n")

    def show(self, label: object, answer: Answer) -> None:
        """One answer."""
        if self.to is Output.JSON:
            data = {"row": label} | _data(answer)
            self.stream.write(escaped(json.dumps(data, ensure_ascii=False, allow_nan=False, default=_plain)) + "\n")
        elif self.to is Output.PARQUET:  # kept until all rows are there
            lines = [[label, *cells] for cells in _lines(answer, self.kind)]
            self.stream.writelines(json.dumps(line, default=_plain) + "\n" for line in lines)
        elif self.to is Output.CSV:
            self.table.writerows([cell(one) for one in (label, *cells)] for cells in _lines(answer, self.kind))
        elif self.to is Output.HTML:
            self.stream.write(f"<section><h2>Row {escape(str(label))}</h2>{_html(answer)}</section>\n")
        else:
            self._print(_text(label, answer))
        self.stream.flush()

    def _print(self, text: str) -> None:
        from rich.console import Console

        # whole lines in a pipe, words kept together on a terminal
        console = Console(file=self.stream)
        console.print(visible(text), markup=False, highlight=False, soft_wrap=not console.is_terminal)


def _data(answer: Answer) -> dict[str, Any]:
    from armin.recourse import Failure, RecoursePath

    if isinstance(answer, Failure):
        return {"outcome": "failed", "error": str(answer.error)}
    if isinstance(answer, RecoursePath):
        return {"asked": answer.asked, "end": answer.end.value, "points": answer.to_list()}
    return answer.to_dict()


def _text(label: object, answer: Answer) -> str:
    from armin.recourse import Failure, RecoursePath

    if isinstance(answer, Failure):
        return f"Row {label}: not explained. {answer.error}\n"
    if isinstance(answer, RecoursePath):
        return f"Row {label}: the cheapest plan for every confidence\n\n{answer.text(width=20)}\n"
    return f"Row {label}: {answer}\n"


def _html(answer: Answer) -> str:
    from armin.recourse import Failure

    if isinstance(answer, Failure):
        return f"<p>Not explained. {escape(str(answer.error))}</p>"
    return answer.html()


def _lines(answer: Answer, kind: str) -> list[list[Any]]:
    """The cells behind the row's name, for each line."""
    from armin.recourse import Failure, Recourse, RecoursePath

    if isinstance(answer, Failure):
        last = ["failed", None, None] if kind == "plan" else [None] * (len(COLUMNS[kind]) - 2)
        return [[*last, f"not explained: {answer.error}"]]
    if isinstance(answer, RecoursePath):
        return [[p["share"], p["cost"], "; ".join(p["short"])] for p in answer.to_list()]
    if isinstance(answer, Recourse):
        advice = " ".join(str(change) for change in answer.changes) or str(answer.headline)
        return [[answer.outcome, answer.cost, answer.share, advice]]
    if kind == "reasons":
        names = COLUMNS[kind][1:]
        return [[weight[name] for name in names] for weight in answer.to_dict()["weights"]]
    if kind == "what-if":
        data = answer.to_dict()
        return [[data["share"], data["cost"]["value"], data["enough"], " ".join(str(answer).split())]]
    asked = [
        [q["feature"], q["matters"], q["alone"], q["expected_cost"], q["saving"], q["sentence"]]
        for q in answer.to_dict()["questions"]
    ]
    return asked or [[None, None, None, None, None, answer.to_dict()["sentence"]]]


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)
