"""What can be typed after ``armin``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from armin.cli.files import Sources, read_csv, without_label
from armin.cli.run import ask_path, ask_plan, run
from armin.errors import ArminError, MissingDependencyError, ParameterError

__all__ = ["app", "main"]

EXIT_CODES = (
    "Exit codes: 0 every row has a plan or is accepted already; 1 some row has no recourse, ran out of time before "
    "a plan was found, or could not be explained; 2 bad usage or bad input."
)

app = typer.Typer(
    help="The least a person must change to be accepted by a model, even when some of their values are missing.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # they print local variables, which hold people's data
)


class Method(StrEnum):
    """The methods, by the paper's names."""

    ARMIN = "ARMIN"
    ROBUST = "RobustAR"
    IMPUTATION = "ImputationAR"


Rows = Annotated[str, typer.Argument(metavar="ROWS.csv", help="The people, with blanks; '-' reads standard input.")]
ModelFile = Annotated[Path, typer.Option("--model", metavar="FILE", help="A fitted classifier: joblib or pickle.")]
Trust = Annotated[bool, typer.Option("--trust", help="Do load the model file, which runs any code it holds.")]
Train = Annotated[Path, typer.Option(metavar="TRAIN.csv", help="Training data: what is usual, and what is plausible.")]
SchemaFile = Annotated[
    Path, typer.Option("--schema", metavar="FILE.toml", help="What may change; 'armin schema' makes a first one.")
]
Desired = Annotated[list[str], typer.Option(metavar="LABEL", help="The label the person wants; may be repeated.")]
LabelColumn = Annotated[str | None, typer.Option(metavar="NAME", help="The column of the label, left out.")]
IdColumn = Annotated[str | None, typer.Option(metavar="NAME", help="A column of ROWS.csv that names the person.")]
WhichMethod = Annotated[
    Method, typer.Option(case_sensitive=False, metavar="NAME", help="ARMIN, RobustAR or ImputationAR.")
]
Confidence = Annotated[
    float | None,
    typer.Option(metavar="SHARE", help="Share of the completions that must be accepted.", show_default="0.75"),
]
Samples = Annotated[int | None, typer.Option(help="How many completions to draw.", show_default="100")]
MaxChanges = Annotated[int, typer.Option(help="How many columns may change.")]
CostName = Annotated[str, typer.Option(metavar="NAME", help="tlps, mps, l1, l2 or changes.")]
SamplerName = Annotated[str, typer.Option(metavar="NAME", help="chained, donors, marginal or uniform.")]
Threshold = Annotated[
    float | None, typer.Option(help="Accepted from this probability on.", show_default="what predict says")
]
TimeLimit = Annotated[float, typer.Option(metavar="SECONDS", help="For one row.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same answers.")]
Jobs = Annotated[int, typer.Option(help="Rows at once; -1 for all cores.")]
Json = Annotated[bool, typer.Option("--json", help="JSON lines on standard output: one object per row.")]


def main() -> None:
    """Run the command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # an arrow must not stop an old terminal
    app(prog_name="armin")


@contextmanager
def _told_plainly() -> Iterator[None]:
    """An error that ARMIN raises on purpose becomes one message and exit code 2."""
    try:
        yield
    except ArminError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from None


def _version(wanted: bool) -> None:
    if wanted:
        from armin import __version__

        typer.echo(f"armin {__version__}")
        raise typer.Exit


@app.callback()
def _armin(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write the picture.")] = Path("out"),
) -> None:
    """Tell the story of a person who does not tell the income. Takes a few seconds."""
    from rich.console import Console

    from armin.demo import draw_story, make_story, tell_story

    with _told_plainly():
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


@app.command(epilog=EXIT_CODES)
def explain(
    rows: Rows,
    model: ModelFile,
    train: Train,
    schema: SchemaFile,
    desired: Desired,
    trust: Trust = False,
    label_column: LabelColumn = None,
    id_column: IdColumn = None,
    method: WhichMethod = Method.ARMIN,
    confidence: Confidence = None,
    samples: Samples = None,
    max_changes: MaxChanges = 4,
    cost: CostName = "tlps",
    sampler: SamplerName = "chained",
    threshold: Threshold = None,
    time_limit: TimeLimit = 60.0,
    seed: Seed = 0,
    jobs: Jobs = 1,
    json: Json = False,
) -> None:
    """Say what each person in ROWS.csv should change.

    Example: armin explain people.csv --model model.joblib --trust --train train.csv --label-column decision
    --schema schema.toml --desired approved
    """
    with _told_plainly():
        sources = Sources(rows, model, trust, train, schema, label_column, id_column)
        settings = {
            "confidence": confidence, "n_samples": samples, "max_changes": max_changes, "cost": cost,
            "sampler": sampler, "threshold": threshold, "time_limit": time_limit, "random_state": seed,
        }  # fmt: skip
        explainer, people = sources.read(method, desired, settings)
        raise typer.Exit(run(explainer, people, ask_plan, jobs=jobs, json=json))


@app.command(epilog=f"{EXIT_CODES} A path counts as a plan if it reaches --confidence.")
def path(
    rows: Rows,
    model: ModelFile,
    train: Train,
    schema: SchemaFile,
    desired: Desired,
    trust: Trust = False,
    label_column: LabelColumn = None,
    id_column: IdColumn = None,
    confidence: Confidence = None,
    samples: Samples = None,
    max_changes: MaxChanges = 4,
    cost: CostName = "tlps",
    sampler: SamplerName = "chained",
    threshold: Threshold = None,
    time_limit: TimeLimit = 60.0,
    seed: Seed = 0,
    jobs: Jobs = 1,
    json: Json = False,
) -> None:
    """Show for each person in ROWS.csv the cheapest plan for every confidence."""
    with _told_plainly():
        sources = Sources(rows, model, trust, train, schema, label_column, id_column)
        settings = {
            "confidence": confidence, "n_samples": samples, "max_changes": max_changes, "cost": cost,
            "sampler": sampler, "threshold": threshold, "time_limit": time_limit, "random_state": seed,
        }  # fmt: skip
        explainer, people = sources.read(Method.ARMIN, desired, settings)
        raise typer.Exit(run(explainer, people, ask_path, jobs=jobs, json=json))


@app.command("schema")
def guess_schema(
    train: Annotated[str, typer.Argument(metavar="TRAIN.csv", help="Training data; '-' reads standard input.")],
    label_column: LabelColumn = None,
) -> None:
    """Guess a schema from training data, to be read and corrected.

    Example: armin schema train.csv --label-column decision > schema.toml
    """
    with _told_plainly():
        from armin import Schema

        frame = without_label(read_csv(train), label_column, train)
        typer.echo(Schema.infer(frame).to_toml(), nl=False)


def _from_here(file: Path) -> Path:
    """The file, relative to the working directory where it is inside."""
    whole = file.resolve()
    return whole.relative_to(Path.cwd()) if whole.is_relative_to(Path.cwd()) else file
