"""The commands that advise people: explain, path, ask, letter."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armin.cli.app import EXIT_CODES, app, told_plainly
from armin.cli.hygiene import tell
from armin.cli.options import Answers, Listing, People, Settings, Source, spread
from armin.cli.run import ask_path, ask_plan, ask_question, run
from armin.cli.source import open_explainer, open_source, read_people, write_text
from armin.errors import MissingDependencyError, ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from armin.explainer.estimator import Explainer

__all__ = ["ask", "explain", "letter", "path"]


class Paper(StrEnum):
    """How a letter is written down."""

    HTML = "html"
    TEXT = "text"
    PDF = "pdf"


@app.command(cls=Listing, epilog=EXIT_CODES)
@spread
def explain(people: People, source: Source, settings: Settings, answers: Answers) -> None:
    """Say what each person in ROWS should change.

    Example: armin explain people.csv --bundle loans.armin

    Example: armin explain people.csv --model model.joblib --trust --train train.csv --label-column decision
    --schema schema.toml --desired approved --to csv --output plans.csv
    """
    _run(ask_plan, people, source, settings, answers)


@app.command(cls=Listing, epilog=f"{EXIT_CODES} A path counts as a plan if it reaches --confidence.")
@spread
def path(people: People, source: Source, settings: Settings, answers: Answers) -> None:
    """Show for each person in ROWS the cheapest plan for every confidence.

    Example: armin path people.csv --bundle loans.armin --to html --output paths.html
    """
    _run(ask_path, people, source, settings, answers)


@app.command(cls=Listing, epilog=EXIT_CODES)
@spread
def ask(people: People, source: Source, settings: Settings, answers: Answers) -> None:
    """Say for each person in ROWS whether telling a blank would help, or whether to act now.

    Example: armin ask people.csv --bundle loans.armin
    """
    _run(ask_question, people, source, settings, answers)


def _run(question: Any, people: People, source: Source, settings: Settings, answers: Answers) -> None:
    with told_plainly():
        explainer = open_explainer(source, settings)
        frame = read_people(people, explainer.schema, source.label_column)
        raise typer.Exit(run(explainer, frame, question, answers, tuple(people.locked or ())))


@app.command(cls=Listing, epilog=EXIT_CODES)
@spread
def letter(
    people: People,
    source: Source,
    settings: Settings,
    to: Annotated[Paper | None, typer.Option(help="The format.", show_default="suffix of --output, else html")] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE|DIR", help="Where to write; a folder for several people.")
    ] = None,
    language: Annotated[str, typer.Option(help="en, de, or a language of your own texts.")] = "en",
    applicant: Annotated[
        str, typer.Option(metavar="NAME", help="The person's name.", show_default="what --id-column says")
    ] = "",
    organisation: Annotated[str, typer.Option(metavar="NAME", help="Who sends it.")] = "",
    valid_days: Annotated[int, typer.Option(min=1, help="For how many days it may be used.")] = 30,
    plans: Annotated[int, typer.Option(min=1, help="How many plans to choose from.")] = 3,
    templates: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Your own texts and templates; the templates run as your code."),
    ] = None,
) -> None:
    """Write the letter for each person in ROWS.

    Example: armin letter ada.json --bundle loans.armin --applicant "Ada Lovelace" --output ada.html

    Example: armin letter people.csv --bundle loans.armin --id-column name --language de --to pdf --output letters/
    """
    with told_plainly():
        explainer, own = open_source(source, settings)
        frame = read_people(people, explainer.schema, source.label_column)
        several = len(frame) != 1 or (output is not None and output.is_dir())
        suffix = "" if output is None else output.suffix.lower()
        paper = to or {".pdf": Paper.PDF, ".txt": Paper.TEXT}.get(suffix, Paper.HTML)
        if (several or paper is Paper.PDF) and output is None:
            raise ParameterError("Name a file with --output; for several people, a folder.")
        code = 0
        for i, label in enumerate(frame.index):
            name = applicant or (str(label) if people.id_column else "")
            written, found = _letter(
                explainer, frame.iloc[[i]], tuple(people.locked or ()), plans,
                language=language, applicant=name, organisation=organisation, valid_days=valid_days,
                templates=templates, words=own,
            )  # fmt: skip
            _send(written, output, f"letter-{i + 1}" if several else "", paper)
            code = code if found else 1
        raise typer.Exit(code)


def _letter(
    explainer: Explainer, row: pd.DataFrame, locked: tuple[str, ...], plans: int, **words: Any
) -> tuple[Any, bool]:
    """The letter for one person, and whether it holds a plan."""
    try:
        from armin.letter import write_letter
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f'Letters need the library {error.name!r}. Install it with: pip install "armin[web]"'
        ) from None
    from armin.schema.values import is_blank

    found = explainer.alternatives(row, plans, locked=locked) or (explainer.explain(row, locked=locked),)
    given = {name: None if is_blank(value) else value for name, value in row.iloc[0].items()}
    return write_letter(found, given, schema=explainer.schema, locked=locked, **words), found[0].found


def _send(written: Any, output: Path | None, name: str, paper: Paper) -> None:
    ending = {Paper.HTML: ".html", Paper.TEXT: ".txt", Paper.PDF: ".pdf"}[paper]
    text = written.text if paper is Paper.TEXT else written.html
    if output is None:
        tell(text)
        return
    try:
        if name:
            output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"--output {str(output)!r} is no folder for letters: {error.strerror}.") from None
    file = output / f"{name}{ending}" if name else output
    if paper is Paper.PDF:
        written.to_pdf(file)
    else:
        write_text(file, text)
