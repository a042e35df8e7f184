"""The commands that say why, and what if: reasons, what-if."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import typer

from armin.cli.app import ADVISE, app, told_plainly
from armin.cli.options import Answers, Listing, People, Settings, Source, spread
from armin.cli.run import ask_idea, ask_reasons, run
from armin.cli.source import open_explainer, read_people
from armin.errors import ParameterError

__all__ = ["reasons", "what_if"]


class Compared(StrEnum):
    """With whom people are compared."""

    AVERAGE = "average"
    ACCEPTED = "accepted"
    NEAREST = "nearest"
    THRESHOLD = "threshold"


class Way(StrEnum):
    """How weights are found."""

    SHAPLEY = "shapley"
    LIME = "lime"


class Units(StrEnum):
    """In which units weights are stated."""

    PROBABILITY = "probability"
    LOG_ODDS = "log-odds"


@app.command(
    cls=Listing, rich_help_panel=ADVISE,
    epilog="Exit codes: 0 every row has reasons; 1 some row could not be looked at; 2 bad usage.",
)  # fmt: skip
@spread
def reasons(
    people: People,
    source: Source,
    settings: Settings,
    answers: Answers,
    reference: Annotated[Compared, typer.Option(help="With whom people are compared.")] = Compared.ACCEPTED,
    way: Annotated[Way, typer.Option(help="How weights are found.")] = Way.SHAPLEY,
    unit: Annotated[Units | None, typer.Option(help="The units.", show_default="the model's own")] = None,
) -> None:
    """Say for each person in ROWS what weighed in the decision, and where they stand.

    Protected traits are weighed and listed, and not stated as reasons.

    Example: armin reasons people.csv --bundle loans.armin
    """
    with told_plainly():
        explainer = open_explainer(source, settings)
        frame = read_people(people, explainer.schema, source.label_column)
        asked = partial(
            ask_reasons, reference=reference.value, method=way.value, unit=None if unit is None else unit.value
        )
        raise typer.Exit(run(explainer, frame, asked, answers, tuple(people.locked or ())))


@app.command(
    "what-if", cls=Listing, rich_help_panel=ADVISE,
    epilog="Exit codes: 0 the idea is enough for every row, or a plan from there exists; 1 not so; 2 bad usage.",
)  # fmt: skip
@spread
def what_if(
    people: People,
    source: Source,
    settings: Settings,
    answers: Answers,
    change: Annotated[list[str], typer.Option(metavar="NAME=VALUE", help="A value of the idea; may be repeated.")],
) -> None:
    """Judge an idea for each person in ROWS like a plan, and show the cheapest way from there.

    Example: armin what-if ada.json --bundle loans.armin --change ExistingLoans=1
    """
    with told_plainly():
        import numpy as np

        from armin.explain.what_if import read_ideas

        idea = _idea(change)
        explainer = open_explainer(source, settings)
        frame = read_people(people, explainer.schema, source.label_column)
        read_ideas(explainer.schema, np.full(len(explainer.schema), np.nan), idea)  # refused once, and not for each row
        asked = partial(ask_idea, changes=idea)
        raise typer.Exit(run(explainer, frame, asked, answers, tuple(people.locked or ())))


def _idea(given: list[str]) -> dict[str, Any]:
    """The values of an idea by column."""
    found: dict[str, Any] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name.strip() or not value.strip():
            raise ParameterError(f"--change must be NAME=VALUE, such as Loans=1. Got {text!r} instead.")
        if name.strip() in found:
            raise ParameterError(f"--change names {name.strip()!r} twice. Give one value.")
        found[name.strip()] = value.strip()
    return found
