"""The commands that prepare and show: schema, calibrate, demo, warm-up."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from armin.cli.app import PREPARE, SHOW, app, told_plainly
from armin.cli.files import check_columns, read_table, without_label
from armin.cli.hygiene import escaped, tell
from armin.cli.options import Key, Kind, Trust, TrustedKeys
from armin.cli.plugins import DEMOS, find
from armin.cli.run import on_terminal
from armin.cli.source import open_bundle, signing_key
from armin.errors import MissingDependencyError, ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from armin.promise import Calibration

__all__ = ["calibrate", "demo", "guess_schema", "warm_up"]

MOST_LABELS = 10
"""With more labels than this, a column holds no decisions that have names."""


@app.command("schema", rich_help_panel=PREPARE)
def guess_schema(
    train: Annotated[str, typer.Argument(metavar="TRAIN", help="Training data; '-' reads standard input.")],
    label_column: Annotated[str | None, typer.Option(metavar="NAME", help="The column of the label, left out.")] = None,
    format: Annotated[  # noqa: A002  the option's name
        Kind | None, typer.Option(help="The format of TRAIN.", show_default="its suffix; csv for '-'")
    ] = None,
) -> None:
    """Guess a schema from training data, to be read and corrected.

    Example: armin schema train.csv --label-column decision > schema.toml
    """
    with told_plainly():
        from armin import Schema
        from armin.schema import Review, SchemaNote

        table = read_table(train, kind=format).infer_objects()
        frame = without_label(table, label_column, train)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", SchemaNote)
            schema = Schema.infer(frame, rules="find")
        notes = [one.message for one in caught if isinstance(one.message, SchemaNote)]
        labels = None if label_column is None else table[label_column].astype(str)
        # of what was decided the review says the rest, beside the column
        decided = [one for note in notes for one in note.questions if one.about in ("rule", "sentinel", "past")]
        review = Review((*decided, *schema.review(frame, labels)))
        typer.echo(escaped(schema.to_toml(review=review) + _names_to_give(labels)), nl=False)


def _names_to_give(labels: pd.Series[str] | None) -> str:
    """Comments that show where the decisions get their names; nothing where the labels are not known, or many."""
    from armin.words import Message

    found = [] if labels is None else sorted(labels[labels != "nan"].unique())
    if not 2 <= len(found) <= MOST_LABELS:
        return ""
    lines = [str(Message("review.decisions")), "[decisions]", *(f'{json.dumps(label)} = "..."' for label in found)]
    return "\n" + "".join(f"# {line}\n" for line in lines)


@app.command(rich_help_panel=PREPARE)
def calibrate(
    held_out: Annotated[str, typer.Argument(metavar="HELD_OUT", help="Complete rows that the model has not seen.")],
    bundle: Annotated[Path, typer.Option(metavar="FILE.armin", help="A bundle from 'armin pack'.")],
    output: Annotated[Path, typer.Option(metavar="FILE.armin", help="The bundle with the promise.")],
    promise: Annotated[float, typer.Option(metavar="SHARE", help="The share of plans that must work.")] = 0.9,
    assurance: Annotated[float, typer.Option(metavar="SHARE", help="How sure the promise must be.")] = 0.9,
    blank: Annotated[
        list[str] | None, typer.Option(metavar="NAME[,NAME]", help="Columns that are blank together; may be repeated.")
    ] = None,
    locked: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A column that nobody can change; may be repeated.")
    ] = None,
    people: Annotated[
        int | None, typer.Option(min=1, help="Test on at most so many people.", show_default="200")
    ] = None,
    label_column: Annotated[str | None, typer.Option(metavar="NAME", help="The column of the label, left out.")] = None,
    forget_people: Annotated[
        bool, typer.Option("--forget-people", help="Do not keep the held-out rows; no other blanks can be tested then.")
    ] = False,
    jobs: Annotated[int, typer.Option(help="People at once; -1 for all cores.")] = 1,
    key: Key = None,
    trusted_key: TrustedKeys = None,
    trust: Trust = False,
) -> None:
    """Find the confidence that keeps a promise, by testing on real people, and put it into a bundle.

    Exit codes: 0 the promise can be kept for all blanks that were named; 1 it cannot; 2 bad usage or bad input.

    Example: armin calibrate held-out.csv --bundle loans.armin --promise 0.9 --blank Income --output promised.armin
    """
    with told_plainly():
        from armin import ARMIN, Promise
        from armin.bundle import save_bundle

        loaded, key = open_bundle(bundle, trust=trust, trusted_key=trusted_key), signing_key(key)
        explainer = loaded.explainer
        if not isinstance(explainer, ARMIN):
            raise ParameterError(f"Only ARMIN makes promises. The bundle holds {type(explainer).__name__}.")
        known = Promise.of(explainer.promise)
        most = people or (200 if known is None else known.n_people)
        explainer.set_params(promise=Promise(promise, assurance, n_people=most)).check()
        frame = read_table(held_out, explainer.schema)
        if label_column is not None:
            frame = without_label(frame, label_column, held_out)
        check_columns(frame, explainer.schema, held_out, "If it holds the label, add --label-column")
        if not blank:
            raise ParameterError("Say what people leave blank: --blank NAME, or --blank NAME,NAME for several at once.")
        found = []
        for i, names in enumerate(blank):
            hidden = [name.strip() for name in names.split(",")]
            first = frame if i == 0 else None  # a new frame would forget what was found
            test = explainer.calibrate(first, blanks=hidden, locked=locked or (), n_jobs=jobs, progress=on_terminal())
            found.append(test)
            tell(f"{', '.join(hidden)}: {_outcome(test)}")
        if forget_people:
            for name in ("people_", "others_", "carried_"):
                explainer.__dict__.pop(name, None)
        save_bundle(
            output, explainer, title=loaded.title, people=loaded.people, letter=loaded.letter, trust=trust, key=key
        )
        raise typer.Exit(0 if all(test.kept for test in found) else 1)


def _outcome(test: Calibration) -> str:
    from armin.report.words import percent

    level = f"confidence {percent(test.used_level)}. " if test.kept else "the promise cannot be kept. "
    return level + test.sentence


@app.command(rich_help_panel=SHOW)
def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write the picture.")] = Path("out"),
    web: Annotated[bool, typer.Option("--web", help="Open the desk of armin-desk on built-in data instead.")] = False,
    port: Annotated[int, typer.Option(help="Where the desk listens.")] = 8000,
    browser: Annotated[bool, typer.Option(help="Whether to open the desk in a browser.")] = True,
) -> None:
    """Tell the story of a person who does not tell the income. Takes a few seconds.

    Example: armin demo --web
    """
    with told_plainly():
        if web:
            found = find(DEMOS)
            if not found:
                raise MissingDependencyError(
                    "The desk is a package of its own, which is not installed. Install it with: pip install armin-desk"
                )
            found[0].load()(port=port, open_browser=browser)
            return
        _tell_story(out)


def _tell_story(out: Path) -> None:
    from rich.console import Console

    from armin.cli.demo import draw_story, make_story, tell_story

    story = make_story()
    tell_story(story, Console())
    try:
        picture = f"Picture: {_from_here(draw_story(story, out))}"
    except MissingDependencyError as error:
        picture = f"No picture: {error}"
    except OSError as error:
        raise ParameterError(f"--out {str(out)!r} cannot be written to: {error.strerror}.") from None
    typer.echo(f" {picture}")
    typer.echo(" Now with your own model: armin explain --help")
    if find(DEMOS):
        typer.echo(" The desk for people who do not program: armin demo --web")


def _from_here(file: Path) -> Path:
    """The file, relative to the working directory where it is inside."""
    whole = file.resolve()
    return whole.relative_to(Path.cwd()) if whole.is_relative_to(Path.cwd()) else file


@app.command("warm-up", rich_help_panel=PREPARE)
def warm_up() -> None:
    """Compile the search now, so that nobody waits for it later: for container builds, or after an update.

    What is kept already is not compiled again. It is kept in the folder NUMBA_CACHE_DIR if that is set, else beside the
    package; if neither can be written to, in the user's folder for caches. All of them are read, writable or not.

    Example: armin warm-up
    """
    with told_plainly():
        from armin.explain.warm import warm_up as warmed

        for engine, seconds in warmed():
            typer.echo(f"{engine}: {seconds:.1f} s")
