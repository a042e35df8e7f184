"""The commands that advise people: explain, path, ask."""

from __future__ import annotations

from typing import Any

import typer

from armin.cli.app import ADVISE, EXIT_CODES, app, told_plainly
from armin.cli.options import Answers, Listing, People, Settings, Source, spread
from armin.cli.run import ask_path, ask_plan, ask_question, run
from armin.cli.source import felt, open_explainer, read_people

__all__ = ["ask", "explain", "path"]


@app.command(cls=Listing, rich_help_panel=ADVISE, epilog=EXIT_CODES)
@spread
def explain(people: People, source: Source, settings: Settings, answers: Answers) -> None:
    """Say what each person in ROWS should change.

    Example: armin explain people.csv --bundle loans.armin

    Example: armin explain people.csv --model model.joblib --trust --train train.csv --schema schema.toml --desired yes
    """
    _run(ask_plan, people, source, settings, answers)


@app.command(
    cls=Listing, rich_help_panel=ADVISE, epilog=f"{EXIT_CODES} A path counts as a plan if it reaches --confidence."
)
@spread
def path(people: People, source: Source, settings: Settings, answers: Answers) -> None:
    """Show for each person in ROWS the cheapest plan for every confidence.

    Example: armin path people.csv --bundle loans.armin --to html --output paths.html
    """
    _run(ask_path, people, source, settings, answers)


@app.command(cls=Listing, rich_help_panel=ADVISE, epilog=EXIT_CODES)
@spread
def ask(people: People, source: Source, settings: Settings, answers: Answers) -> None:
    """Say for each person in ROWS whether telling a blank would help, or whether to act now.

    Example: armin ask people.csv --bundle loans.armin
    """
    _run(ask_question, people, source, settings, answers)


def _run(question: Any, people: People, source: Source, settings: Settings, answers: Answers) -> None:
    with told_plainly():
        explainer = felt(open_explainer(source, settings), people.difficulty)
        frame = read_people(people, explainer.schema, source.label_column)
        raise typer.Exit(run(explainer, frame, question, answers, tuple(people.locked or ())))
