"""The story of the paper's introduction: a person who does not tell the income, and four ways to advise them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from armin.baselines import ImputationAR, RobustAR
from armin.datasets import Loans, make_loans
from armin.explain import ARMIN
from armin.problem import Status
from armin.recourse import Change, Recourse, RecoursePath
from armin.report.plot import INK, new_figure
from armin.report.words import percent
from armin.sampling import as_imputer

__all__ = ["Advice", "Story", "draw_story", "make_story", "tell_story"]

WIDEST = 92
"""Lines longer than this are tiring to read."""

BAR = 14
"""Length of the longest bar of the path, in characters."""


@dataclass(frozen=True, eq=False)
class Advice:
    """What one method says, and what the classifier says about the real person who follows it.

    Attributes
    ----------
    way : the method, in words
    recourse : the method's answer, a plan
    cost : what it costs
    decision : the classifier's own word about the real person after the changes
    """

    way: str
    recourse: Recourse
    cost: float
    decision: str

    @property
    def good(self) -> bool:
        """Whether the advice works for the real person."""
        return self.decision == "approved"


@dataclass(frozen=True, eq=False)
class Story:
    """Everything that is told, computed.

    Attributes
    ----------
    loans : the loan book, its classifier, and the person
    guess : the income that mean imputation fills in
    known, guessed, robust, armin : the advice if the income were known, from the mean, for everybody, and ARMIN's
    path : the cheapest advice for every confidence
    """

    loans: Loans
    guess: float
    known: Advice
    guessed: Advice
    robust: Advice
    armin: Advice
    path: RecoursePath

    @property
    def advice(self) -> tuple[Advice, ...]:
        """The four ways, in the order of the story."""
        return self.known, self.guessed, self.robust, self.armin


def make_story() -> Story:
    """Compute the story; the same one every time.

    Returns
    -------
    Story

    Examples
    --------
    >>> story = make_story()
    >>> story.guessed.decision, story.robust.decision, story.armin.decision
    ('rejected', 'approved', 'approved')
    """
    loans = make_loans()
    naive = ImputationAR(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    careful = RobustAR(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    mean = as_imputer("mean").fit(loans.schema.encode(loans.X), loans.schema)
    filled = mean.impute(loans.schema.encode(loans.applicant)[0])
    return Story(
        loans,
        float(filled[loans.schema.position("Income")]),
        _advice(loans, "(income known)", explainer.explain(loans.person)),
        _advice(loans, "mean imputation", naive.explain(loans.applicant)),
        _advice(loans, "robust recourse", careful.explain(loans.applicant)),
        _advice(loans, "ARMIN", explainer.explain(loans.applicant)),
        explainer.path(loans.applicant),
    )


def _advice(loans: Loans, way: str, recourse: Recourse) -> Advice:
    """The advice, carried out by the real person, in front of the classifier itself."""
    if recourse.cost is None:
        raise RuntimeError(f"The story needs a plan from {recourse.method}. Got {recourse.outcome!r} instead.")
    real = loans.person | {change.feature.name: change.after for change in recourse.changes}
    decision = loans.classifier.predict(pd.DataFrame([real]))[0]
    return Advice(way, recourse, recourse.cost, str(decision))


def tell_story(story: Story, console: Console) -> None:
    """Print the story.

    Parameters
    ----------
    story : from :func:`make_story`
    console : where to; lines keep to its width

    Examples
    --------
    >>> import io
    >>> page = io.StringIO()
    >>> tell_story(make_story(), Console(file=page, width=80))
    >>> "not told" in page.getvalue()
    True
    """
    with console.capture() as page:
        for part in _parts(story):
            console.print(Padding(part, (0, 0, 0, 1)), width=min(console.width, WIDEST), highlight=False)
    # tables fill their lines with spaces, which help nobody in a file
    console.file.write(re.sub(r" +$", "", page.get(), flags=re.MULTILINE))


def _parts(story: Story) -> Iterator[Any]:
    yield ""
    yield Text.assemble(("ARMIN", "bold"), " · the least a person must change, even if they do not tell everything")
    yield ""
    yield "A bank's model rejected this form. One value is the applicant's own business:"
    yield _person(story.loans)
    yield "What is the least this person must change to be approved?"
    yield ""
    yield _chapters(story)
    yield _comparison(story)
    yield Text(_footnote(story), style="dim")
    yield ""
    yield Text("How sure would you like to be? The cheapest advice for every confidence:", style="bold")
    yield _chart(story)


def draw_story(story: Story, directory: Path) -> Path:
    """Write the path as a picture.

    Parameters
    ----------
    story : from :func:`make_story`
    directory : where to; made if it is not there

    Returns
    -------
    Path
        The file.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    ax = story.path.plot(new_figure((7.0, 3.6), to_file=True).subplots())
    left = 0.0
    for point, share, cost in _points(story):
        ink = INK["grey"]
        for advice in _same_advice(story, point):
            ink = INK["good" if advice.good else "bad"]
            ax.plot(share, cost, "o", color=ink, markersize=8)
            # below the curve, which leaves room on the right, but for its end
            place = {"xytext": (8, -4), "va": "top"} if share < 0.9 else {"xytext": (0, 8), "ha": "right"}
            _note(ax, f"{advice.way}: {advice.decision}", (share, cost), ink, place | {"weight": "bold"})
        # on top of the step, or beside it where there is room on the left
        place = {"xytext": (4, 4)} if left < 0.5 else {"xytext": (-6, 0), "ha": "right", "va": "center"}
        _note(ax, _targets(point.changes), (left, cost), ink, place)
        left = share
    ax.set_ylim(0, 1.12 * max(cost for _, _, cost in _points(story)))
    title = "What certainty costs a person who does not tell the income"
    ax.set_title(
        f"{title}\nin colour: the model's word on the real person who follows the advice", loc="left", fontsize=10
    )
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "path.png"
    ax.figure.savefig(file, dpi=150)
    return file


def _note(ax: Any, text: str, where: tuple[float, float], ink: str, place: dict[str, Any]) -> None:
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
    ax.annotate(text, where, textcoords="offset points", color=ink, fontsize=9, bbox=paper, **place)


def _points(story: Story) -> Iterator[tuple[Recourse, float, float]]:
    """The path's recourses with the share for which each works, and its cost."""
    for point in story.path:
        if point.share is not None and point.cost is not None:
            yield point, point.share, point.cost


def _same_advice(story: Story, point: Recourse) -> list[Advice]:
    """The methods, of those that do not know the income, that say what a point of the path says."""
    return [a for a in (story.guessed, story.armin, story.robust) if a.recourse.changes == point.changes]


def _person(loans: Loans) -> Table:
    table = Table(box=box.SIMPLE)
    for feature in loans.schema:
        table.add_column(feature.name)
    told = ((f, loans.applicant[f.name]) for f in loans.schema)
    table.add_row(*(Text("not told", style="bold yellow") if v is None else f.show(v) for f, v in told))
    return table


def _chapters(story: Story) -> Table:
    """What each of the four ways does, and what comes of it."""
    show, truth = story.loans.schema["Income"].show, story.loans.person["Income"]
    sample, asked = story.armin.recourse.validity, story.armin.recourse.confidence
    above, below = story.robust.cost / story.known.cost, story.armin.cost / story.robust.cost
    texts = [
        Text(f"Had the person told it ({show(truth)}), {_moves(story.known)} would be the optimum."),
        Text.assemble(
            f"Fill in the mean, {show(round(story.guess))}: cheaper advice that fails. ",
            "The model, asked about the real person who followed it, says ", _verdict(story.guessed), ".",
        ),
        Text.assemble(
            "Satisfy every plausible income at once: ", _verdict(story.robust),
            f", but at {above:.1f} times the cost of the optimum.",
        ),
        Text.assemble(
            f"ARMIN draws {sample.of if sample else 0:.0f} plausible incomes and asks for {percent(asked or 0.0)} of "
            "them: ", _verdict(story.armin),
            f", at {percent(below)} of the robust cost. The income stays private.",
        ),
    ]  # fmt: skip
    grid = Table.grid(padding=(0, 2, 0, 0))
    for number, text in enumerate(texts, start=1):
        grid.add_row(Text(str(number), style="dim"), text)
    return grid


def _comparison(story: Story) -> Table:
    table = Table(box=box.SIMPLE)
    table.add_column("\n\nmethod", no_wrap=True)
    table.add_column("\n\nadvice", no_wrap=True)
    table.add_column("\n\ncost", justify="right")
    table.add_column("works for\nplausible\npeople", justify="right")
    table.add_column("works for\nthe real\nperson")
    for advice in story.advice:
        fresh = advice.recourse.fresh
        table.add_row(
            advice.way,
            _moves(advice, "\n"),
            f"{advice.cost:.2f}",
            "–" if fresh is None else percent(fresh.share),
            _verdict(advice),
            style="bold" if advice is story.armin else None,
        )
    return table


def _footnote(story: Story) -> str:
    fresh = story.armin.recourse.fresh
    text = ""
    if fresh is not None:
        low, high = fresh.interval()
        text = (
            f"Plausible people: {fresh.of:,.0f} fresh draws of the income, all rejected as the form stands. "
            f"ARMIN's share: {percent(low)} to {percent(high)} (exact {percent(0.95)} interval). "
        )
    if all(advice.recourse.status is Status.OPTIMAL for advice in story.advice):
        text += "Proved: no cheaper advice does what its method asks."
    return text


def _chart(story: Story) -> Table:
    points = list(_points(story))
    most = max(cost for _, _, cost in points)
    table = Table(box=box.SIMPLE)
    table.add_column("works for", justify="right", no_wrap=True)
    table.add_column("cost", justify="right")
    table.add_column("", no_wrap=True)
    table.add_column("advice", no_wrap=True)
    for point, share, cost in points:
        mine = story.armin in _same_advice(story, point)
        bar = Text(_bar(cost / most), style="green" if mine else "blue")
        what = _targets(point.changes) + ("  ◂ ARMIN" if mine else "")
        table.add_row(percent(share), f"{cost:.2f}", bar, what, style="bold" if mine else None)
    return table


def _bar(share: float) -> str:
    """A bar of blocks, exact to an eighth of a character."""
    eighths = max(1, round(share * BAR * 8))
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _moves(advice: Advice, between: str = ", ") -> str:
    """The changes, from what to what."""
    changes = _cheapest_first(advice.recourse.changes)
    return between.join(f"{c.feature.name} {c.feature.show(c.before)} → {c.feature.show(c.after)}" for c in changes)


def _targets(changes: Sequence[Change]) -> str:
    """The changes, only to what."""
    return ", ".join(f"{c.feature.name} → {c.feature.show(c.after)}" for c in _cheapest_first(changes))


def _cheapest_first(changes: Sequence[Change]) -> list[Change]:
    return sorted(changes, key=lambda change: change.cost)


def _verdict(advice: Advice) -> Text:
    mark, style = ("✓", "bold green") if advice.good else ("✗", "bold red")
    return Text(f"{advice.decision} {mark}", style=style)
