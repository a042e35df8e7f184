"""The command that writes letters."""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armin.cli.answers import of_suffix
from armin.cli.app import told_plainly
from armin.cli.hygiene import tell
from armin.cli.options import People, Settings, Source, spread
from armin.cli.source import felt, open_source, read_people, write_text
from armin.errors import ParameterError
from armin_desk.cli.options import Sender

if TYPE_CHECKING:
    import pandas as pd

    from armin.explain.estimator import Explainer

__all__ = ["file_names", "letter", "read_fields"]

RESERVED = frozenset(["con", "prn", "aux", "nul", *(f"{name}{i}" for name in ("com", "lpt") for i in range(1, 10))])
"""Names that Windows keeps for itself."""
LONGEST = 80


class Paper(StrEnum):
    """How a letter is written down."""

    HTML = "html"
    TEXT = "text"
    PDF = "pdf"


SUFFIXES = {
    "": Paper.HTML, ".html": Paper.HTML, ".htm": Paper.HTML, ".txt": Paper.TEXT, ".pdf": Paper.PDF,
}  # fmt: skip


class Sheet(StrEnum):
    """The paper of a PDF."""

    A4 = "A4"
    LETTER = "Letter"


@spread
def letter(
    people: People,
    source: Source,
    settings: Settings,
    sender: Sender,
    to: Annotated[Paper | None, typer.Option(help="The format.", show_default="suffix of --output, else html")] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE|DIR", help="Where to write; a folder for several people, by their --id-column."),
    ] = None,
    paper: Annotated[Sheet, typer.Option(help="The paper of a PDF.")] = Sheet.A4,
    language: Annotated[str, typer.Option(help="en, de, or a language of your own texts.")] = "en",
    applicant: Annotated[
        str, typer.Option(metavar="NAME", help="The person's name.", show_default="what --id-column says")
    ] = "",
    recipient: Annotated[
        list[str] | None, typer.Option(metavar="LINE", help="A line of the person's address; may be repeated.")
    ] = None,
    valid_until: Annotated[
        str | None, typer.Option(metavar="DATE", help="Until when you stand by it, if you want to say so: 2026-12-31.")
    ] = None,
    plans: Annotated[int, typer.Option(min=1, help="How many plans to choose from.")] = 3,
    incomplete: Annotated[
        bool, typer.Option("--incomplete", help="Ask for what is blank, instead of telling a decision.")
    ] = False,
    needed: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="With --incomplete, what to ask for; may be repeated.", show_default="all"),
    ] = None,
) -> None:
    """Write the letter for each person in ROWS.

    Example: armin letter ada.json --bundle loans.armin --applicant "Ada Lovelace" --output ada.html

    Example: armin letter people.csv --bundle loans.armin --id-column name --language de --to pdf --output letters/
    --pack eu-credit --fields company.toml
    """
    with told_plainly():
        explainer, own = open_source(source, settings)
        explainer = felt(explainer, people.difficulty)
        frame = read_people(people, explainer.schema, source.label_column)
        several = len(frame) != 1 or (output is not None and output.is_dir())
        form = to or (Paper.HTML if output is None or several else of_suffix(output, SUFFIXES))
        if (several or form is Paper.PDF) and output is None:
            raise ParameterError("Name a file with --output; for several people, a folder.")
        if recipient and len(frame) != 1:
            raise ParameterError("--recipient is for one person. For several, put [people.NAME] tables into --fields.")
        given, by_person = read_fields(sender.fields)
        common = {
            "language": language, "organisation": sender.organisation, "pack": sender.pack,
            "templates": sender.templates, "words": own,
        }  # fmt: skip
        names, code = file_names(frame.index if people.id_column else [""] * len(frame)), 0
        for i, label in enumerate(frame.index):
            name = str(label) if people.id_column else ""
            words = common | {
                "applicant": applicant or name, "recipient": tuple(recipient or ()),
                "fields": given | by_person.get(name, {}),
            }  # fmt: skip
            row = frame.iloc[[i]]
            if incomplete:
                written, found = _asked(explainer, row, needed, **words), True
            else:
                until = _day(valid_until)
                written, found = _letter(explainer, row, tuple(people.locked or ()), plans, valid_until=until, **words)
            _send(written, output, names[i] if several else "", form, paper)
            code = code if found else 1
        raise typer.Exit(code)


def file_names(labels: Iterable[object]) -> list[str]:
    """A file name for each person, without its ending: readable, harmless, and no two alike.

    >>> file_names(["Ada Lovelace", "../etc/passwd", "ada lovelace", "", "CON"])
    ['Ada-Lovelace', 'etc-passwd', 'ada-lovelace-2', 'letter-4', 'letter-CON']
    """
    found: list[str] = []
    taken: set[str] = set()
    for i, label in enumerate(labels, start=1):
        plain = unicodedata.normalize("NFKC", str(label))
        name = re.sub(r"[^\w]+", "-", plain).strip("-_")[:LONGEST].strip("-_") or f"letter-{i}"
        name = f"letter-{name}" if name.casefold() in RESERVED else name
        n, unique = 1, name
        while unicodedata.normalize("NFC", unique).casefold() in taken:
            n += 1
            unique = f"{name}-{n}"
        taken.add(unicodedata.normalize("NFC", unique).casefold())
        found.append(unique)
    return found


def read_fields(file: Path | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The company's fields, and those of each person."""
    if file is None:
        return {}, {}
    from armin_desk.letter.given import read_given

    given = read_given(file)
    by_person = given.pop("people", {})
    if not isinstance(by_person, dict) or not all(isinstance(one, dict) for one in by_person.values()):
        raise ParameterError(f"'people' in {str(file)!r} must hold a table for each person: [people.NAME].")
    return given, by_person


def _day(text: str | None) -> datetime.date | None:
    try:
        return None if text is None else datetime.date.fromisoformat(text)
    except ValueError:
        raise ParameterError(f"--valid-until must be a date such as 2026-12-31. Got {text!r} instead.") from None


def _row(row: pd.DataFrame) -> dict[str, Any]:
    from armin.schema.values import is_blank

    return {str(name): None if is_blank(value) else value for name, value in row.iloc[0].items()}


def _asked(explainer: Explainer, row: pd.DataFrame, needed: list[str] | None, **words: Any) -> Any:
    """The letter that asks for what is missing."""
    from armin_desk.letter import write_incomplete_notice

    return write_incomplete_notice(_row(row), schema=explainer.schema, needed=needed, **words)


def _letter(
    explainer: Explainer, row: pd.DataFrame, locked: tuple[str, ...], plans: int, **words: Any
) -> tuple[Any, bool]:
    """The letter for one person, and whether it holds a plan."""
    from armin_desk.letter import write_letter

    found = explainer.alternatives(row, plans, locked=locked) or (explainer.explain(row, locked=locked),)
    # a bundle of an older version keeps nobody to compare with
    why = explainer.reasons(row) if explainer.has_people else None
    return write_letter(found, _row(row), schema=explainer.schema, locked=locked, reasons=why, **words), found[0].found


def _send(written: Any, output: Path | None, name: str, form: Paper, paper: Sheet) -> None:
    ending = {Paper.HTML: ".html", Paper.TEXT: ".txt", Paper.PDF: ".pdf"}[form]
    text = written.text if form is Paper.TEXT else written.html
    if output is None:
        tell(text)
        return
    try:
        if name:
            output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"--output {str(output)!r} is no folder for letters: {error.strerror}.") from None
    file = output / f"{name}{ending}" if name else output
    if form is Paper.PDF:
        written.to_pdf(file, paper=str(paper))
    else:
        write_text(file, text)
