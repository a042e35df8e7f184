"""What people read: every outcome in text, HTML, JSON and picture; and the last check before anyone sees it."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from armin.actions import build_grid
from armin.errors import AuditError, DataError
from armin.problem import Status
from armin.recourse import Change, Failure, Recourse, RecoursePath, Recourses, Validity
from armin.recourse.audit import check_action
from armin.report.words import at_least, figure, percent
from armin.schema import Feature, Schema
from armin.words import Message

LAW = settings(deadline=None, max_examples=200)

INCOME = Feature("Income", "integer", lower=0, upper=250_000, unit="$", label="your income")
RATE = Feature("rate", "continuous", lower=0, upper=1, label="the rate", blank="reach", direction="decrease")
LEVEL = Feature("level", "ordinal", categories=("school", "college", "degree"), label="your education")
OWNS = Feature("owns", "binary", categories=(False, True), label="owning a home")
PURPOSE = Feature("purpose", "categorical", categories=("car", "home"), label="the purpose")

CHANGES: list[tuple[Change, str, str]] = [
    (
        Change(INCOME, "observed", 30_000, 34_500, 4500.0, 1.0),
        "Raise your income from $30,000 to $34,500.",
        "your income → $34,500",
    ),
    (
        Change(INCOME, "observed", 30_000, 20_000, -10_000.0, 1.0),
        "Lower your income from $30,000 to $20,000.",
        "your income → $20,000",
    ),
    (
        Change(INCOME, "shift", None, None, 5000.0, 1.0),
        "Raise your income by $5,000, whatever it is now.",
        "your income +$5,000",
    ),
    (
        Change(INCOME, "shift", None, None, -5000.0, 1.0),
        "Lower your income by $5,000, whatever it is now.",
        "your income −$5,000",
    ),
    (
        Change(replace(INCOME, direction="increase"), "reach", None, 40_000, None, 1.0),
        "Bring your income to at least $40,000.",
        "your income → ≥ $40,000",
    ),
    (Change(RATE, "reach", None, 0.3, None, 1.0), "Bring the rate to at most 0.3.", "the rate → ≤ 0.3"),
    (
        Change(INCOME, "reach", None, 40_000, None, 1.0),
        "Make sure that your income is $40,000.",
        "your income → $40,000",
    ),
    (
        Change(LEVEL, "observed", "school", "degree", 2.0, 1.0),
        "Raise your education from “school” to “degree”.",
        "your education → degree",
    ),
    (
        Change(LEVEL, "shift", None, None, 1.0, 1.0),
        "Raise your education by 1 level, whatever it is now.",
        "your education +1 level",
    ),
    (
        Change(LEVEL, "shift", None, None, -2.0, 1.0),
        "Lower your education by 2 levels, whatever it is now.",
        "your education −2 levels",
    ),
    (
        Change(replace(LEVEL, direction="increase"), "reach", None, "college", None, 1.0),
        "Bring your education to “college” or higher.",
        "your education → ≥ college",
    ),
    (
        Change(OWNS, "observed", False, True, 1.0, 1.0),
        "Change owning a home from “False” to “True”.",
        "owning a home → True",
    ),
    (
        Change(replace(OWNS, direction="increase"), "reach", None, True, None, 1.0),
        "Make sure that owning a home is “True”.",
        "owning a home → True",
    ),
    (
        Change(PURPOSE, "observed", "car", "home", None, 1.0),
        "Change the purpose from “car” to “home”.",
        "the purpose → home",
    ),
    (Change(PURPOSE, "reach", None, "home", None, 1.0), "Make sure that the purpose is “home”.", "the purpose → home"),
]


SAVINGS = Feature(
    "savings", "ordinal", categories=("below 200 DM", "200 to 1000 DM", "1000 DM or more"), direction="increase"
)
TERM = Feature("term", "integer", lower=0, upper=60, unit="months", label="the term")
SEASONS = Feature("seasons", "integer", lower=0, upper=60, unit="season|seasons", label="the wait")


@pytest.mark.parametrize(
    ("change", "english", "german"),
    [
        (
            Change(SAVINGS, "observed", "below 200 DM", "200 to 1000 DM", 1.0, 1.0),
            "Raise savings from “below 200 DM” to “200 to 1000 DM”.",
            "Erhöhen Sie „savings“ (derzeit „below 200 DM“) auf „200 to 1000 DM“.",
        ),
        (
            Change(SAVINGS, "reach", None, "200 to 1000 DM", None, 1.0),
            "Bring savings to “200 to 1000 DM” or higher.",
            "Bringen Sie „savings“ auf „200 to 1000 DM“ oder eine höhere Stufe.",
        ),
        (
            Change(SAVINGS, "reach", None, "1000 DM or more", None, 1.0),
            "Make sure that savings is “1000 DM or more”.",
            "Erreichen Sie bei „savings“ den Wert „1000 DM or more“.",
        ),
        (
            Change(replace(SAVINGS, direction="decrease"), "reach", None, "below 200 DM", None, 1.0),
            "Make sure that savings is “below 200 DM”.",
            "Erreichen Sie bei „savings“ den Wert „below 200 DM“.",
        ),
        (
            Change(replace(SAVINGS, direction="decrease"), "reach", None, "200 to 1000 DM", None, 1.0),
            "Bring savings to “200 to 1000 DM” or lower.",
            "Bringen Sie „savings“ auf „200 to 1000 DM“ oder eine niedrigere Stufe.",
        ),
        (
            Change(TERM, "shift", None, None, -1.0, 1.0),
            "Lower the term by 1 month, whatever it is now.",
            "Senken Sie „the term“ um 1 Monat, gleich wie hoch der Wert jetzt ist.",
        ),
        (
            Change(TERM, "observed", 24, 1, -23.0, 1.0),
            "Lower the term from 24 months to 1 month.",
            "Senken Sie „the term“ (derzeit 24 Monate) auf 1 Monat.",
        ),
        (
            Change(SEASONS, "observed", 1, 2, 1.0, 1.0),
            "Raise the wait from 1 season to 2 seasons.",
            "Erhöhen Sie „the wait“ (derzeit 1 season) auf 2 seasons.",
        ),
        (
            Change(replace(INCOME, unit="€"), "observed", 30_000, 34_500.5, 4500.5, 1.0),
            "Raise your income from €30,000 to €34,500.5.",
            "Erhöhen Sie „your income“ (derzeit 30.000 €) auf 34.500,5 €.",
        ),
    ],
)
def test_awkward_values_read_well_in_both_languages(change: Change, english: str, german: str) -> None:
    assert str(change) == change.to_dict()["sentence"] == english
    assert change.message.text("de") == german


def test_the_first_and_last_of_ordered_values_have_nothing_beyond_them() -> None:
    top = Change(SAVINGS, "reach", None, "1000 DM or more", None, 1.0)
    assert top.short == "savings → 1000 DM or more"
    assert replace(top, after="200 to 1000 DM").short == "savings → ≥ 200 to 1000 DM"


@pytest.mark.parametrize(("change", "sentence", "short"), CHANGES)
def test_every_change_reads_as_people_speak(change: Change, sentence: str, short: str) -> None:
    assert str(change) == sentence
    assert change.short == short
    data = json.loads(json.dumps(change.to_dict()))
    assert data["sentence"] == sentence
    assert (data["before"], data["after"], data["amount"]) == (change.before, change.after, change.amount)
    assert data["direction"] in ("up", "down", "to")


def make(status: Status = Status.OPTIMAL, **other: Any) -> Recourse:
    plan: dict[str, Any] = {
        "method": "ARMIN", "status": status, "desired": ("approved",), "changes": (CHANGES[0][0], CHANGES[7][0]),
        "cost": 1.2345, "cost_name": "TotalLogPercentileShift", "cost_range": (1.0, 1.2, 1.5), "confidence": 0.75,
        "validity": Validity(80, 100), "fresh": Validity(781, 1000), "blanks": (PURPOSE, RATE), "bound": 1.2345,
        "seconds": 0.0123, "solver": "search", "nodes": 17, "conditioned": 0.9, "notes": ("A note.",),
        "seconds_by_step": {"sampling": 0.01},
    }  # fmt: skip
    if status in (Status.INFEASIBLE, Status.UNKNOWN):
        plan |= {"changes": (), "cost": None, "cost_range": None, "validity": None, "fresh": None}
    return Recourse(**plan | other)


NOTHING: dict[str, Any] = {"changes": (), "cost": 0.0, "cost_range": (0.0, 0.0, 0.0), "bound": 0.0}
NO_BLANKS: dict[str, Any] = {
    "blanks": (), "validity": Validity(1, 1), "fresh": None, "conditioned": None, "cost_range": (1.2345,) * 3,
    "notes": (),
}  # fmt: skip
OUTCOMES: dict[str, tuple[Recourse, str, str]] = {
    "plan": (make(), "plan", """\
2 changes lead to “approved” with at least 75 % confidence, and no cheaper way exists.

  1. Raise your income from $30,000 to $34,500.
  2. Raise your education from “school” to “degree”.

Cost: 1.23 (TotalLogPercentileShift); from 1 to 1.5, depending on the blanks.
Confidence: Works for 78 % of 1,000 fresh ways to fill the blanks (95 % interval 75 % to 81 %).
Not given: the purpose, the rate.
Proof: cheapest, proved (search, 12 ms).
Note: A note."""),
    "plan, nothing blank": (make(**NO_BLANKS, changes=(CHANGES[0][0],)), "plan", """\
One change leads to “approved”, and no cheaper way exists.

  1. Raise your income from $30,000 to $34,500.

Cost: 1.23 (TotalLogPercentileShift).
Confidence: Checked with the model itself: it accepts this row after the changes.
Proof: cheapest, proved (search, 12 ms)."""),
    "plan for one guess": (make(confidence=None, validity=Validity(1, 1), fresh=Validity(0, 1000)), "plan", """\
2 changes lead to “approved” if the blanks are as guessed, and no cheaper way exists.

  1. Raise your income from $30,000 to $34,500.
  2. Raise your education from “school” to “degree”.

Cost: 1.23 (TotalLogPercentileShift); from 1 to 1.5, depending on the blanks.
Confidence: Works for 0 % of 1,000 fresh ways to fill the blanks (95 % interval 0 % to 0.4 %).
Not given: the purpose, the rate.
Proof: cheapest, proved (search, 12 ms).
Note: A note."""),
    "plan for all": (make(confidence=1.0, validity=Validity(100, 100), fresh=Validity(1000, 1000), notes=()),
        "plan", """\
2 changes lead to “approved” for every completion drawn, and no cheaper way exists.

  1. Raise your income from $30,000 to $34,500.
  2. Raise your education from “school” to “degree”.

Cost: 1.23 (TotalLogPercentileShift); from 1 to 1.5, depending on the blanks.
Confidence: Works for 100 % of 1,000 fresh ways to fill the blanks (95 % interval 99.6 % to 100 %).
Not given: the purpose, the rate.
Proof: cheapest, proved (search, 12 ms)."""),
    "best so far": (make(Status.FEASIBLE, bound=0.7, seconds=60.04, cost=12_500.0, notes=()), "best_so_far", """\
2 changes lead to “approved” with at least 75 % confidence; this is not proved to be the cheapest way.

  1. Raise your income from $30,000 to $34,500.
  2. Raise your education from “school” to “degree”.

Cost: 12,500 (TotalLogPercentileShift); from 1 to 1.5, depending on the blanks.
Confidence: Works for 78 % of 1,000 fresh ways to fill the blanks (95 % interval 75 % to 81 %).
Not given: the purpose, the rate.
Proof: not proved cheapest; nothing costs less than 0.7 (search, 60.0 s)."""),
    "falls short": (make(fresh=Validity(728, 1000), notes=()), "falls_short", """\
No plan was found that leads to “approved” with the 75 % confidence that was asked for. \
The closest takes 2 changes, and works for 73 % of the plausible ways to fill the blanks.

  1. Raise your income from $30,000 to $34,500.
  2. Raise your education from “school” to “degree”.

Cost: 1.23 (TotalLogPercentileShift); from 1 to 1.5, depending on the blanks.
Confidence: Works for 73 % of 1,000 fresh ways to fill the blanks (95 % interval 70 % to 76 %).
Not given: the purpose, the rate.
Proof: cheapest, proved (search, 12 ms)."""),
    "already accepted": (make(**{**NO_BLANKS, **NOTHING}), "already_accepted", """\
Nothing needs to change: the decision is already “approved”.
Proof: cheapest, proved (search, 12 ms)."""),
    "already accepted, with blanks": (make(**NOTHING, desired=(1, 2), notes=()), "already_accepted", """\
Nothing needs to change: for 78 % of the ways to fill the blanks the decision is already “1” or “2”.
Confidence: Works for 78 % of 1,000 fresh ways to fill the blanks (95 % interval 75 % to 81 %).
Not given: the purpose, the rate.
Proof: cheapest, proved (search, 12 ms)."""),
    "no recourse": (make(Status.INFEASIBLE, bound=math.inf, confidence=0.975, notes=()), "no_recourse", """\
No allowed action leads to “approved” with at least 97.5 % confidence. This is proved, not guessed.
Not given: the purpose, the rate.
Proof: no action works, proved (search, 12 ms)."""),
    "no recourse, nothing blank": (make(Status.INFEASIBLE, bound=math.inf, blanks=(), notes=()), "no_recourse", """\
No allowed action leads to “approved”. This is proved, not guessed.
Proof: no action works, proved (search, 12 ms)."""),
    "out of time": (make(Status.UNKNOWN, bound=0.25, notes=()), "out_of_time", """\
Time ran out before an action that leads to “approved” with at least 75 % confidence was found. \
One may exist: allow more time.
Not given: the purpose, the rate.
Proof: undecided; nothing costs less than 0.25 (search, 12 ms)."""),
    "out of time, nothing known": (make(Status.UNKNOWN, bound=0.0, blanks=(), notes=()), "out_of_time", """\
Time ran out before an action that leads to “approved” was found. One may exist: allow more time.
Proof: undecided (search, 12 ms)."""),
    "out of time, bound infinite": (make(Status.UNKNOWN, bound=math.inf, blanks=(), notes=()), "out_of_time", """\
Time ran out before an action that leads to “approved” was found. One may exist: allow more time.
Proof: undecided (search, 12 ms)."""),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTCOMES)
def test_every_outcome_reads_clearly(name: str) -> None:
    recourse, outcome, text = OUTCOMES[name]
    assert recourse.outcome == outcome
    assert str(recourse) == text


@pytest.mark.parametrize("name", OUTCOMES)
def test_every_outcome_is_json(name: str) -> None:
    recourse, outcome, _ = OUTCOMES[name]
    data = recourse.to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert json.loads(recourse.to_json()) == data
    assert data["format"] == "armin.recourse/1"
    assert data["outcome"] == outcome
    assert recourse.found == (outcome in ("plan", "best_so_far", "falls_short", "already_accepted"))
    if not recourse.found:
        # a result without an action never looks like a free one
        assert data["cost"]["value"] is None
        assert data["changes"] == []
        assert recourse.gap is None
    else:
        assert 0 <= data["proof"]["gap"] <= 1
        assert (data["proof"]["gap"] == 0) == (outcome != "best_so_far")


def test_an_answer_in_german() -> None:
    notes = (Message("draws.few", kept=1200, drawn=5000),)
    assert (
        make(notes=notes, cost=12_500.0, bound=12_500.0).text("de")
        == """\
2 Änderungen führen zu „approved“ mit mindestens 75 % Sicherheit. Einen günstigeren Weg gibt es nicht.

  1. Erhöhen Sie „your income“ (derzeit 30.000 $) auf 34.500 $.
  2. Erhöhen Sie „your education“ (derzeit „school“) auf „degree“.

Kosten: 12.500 (TotalLogPercentileShift); von 1 bis 1,5, je nach den fehlenden Angaben.
Sicherheit: Wirkt bei 78 % von 1.000 neu gezogenen Möglichkeiten, die Lücken zu füllen \
(95 %-Intervall 75 % bis 81 %).
Nicht angegeben: the purpose, the rate.
Beweis: günstigster Weg, bewiesen (search, 12 ms).
Hinweis: Nur 1.200 von 5.000 plausiblen Möglichkeiten passen zu dem, was bekannt ist (die Ablehnung): \
Darauf beruht die Antwort."""
    )


@pytest.mark.parametrize("name", OUTCOMES)
def test_no_outcome_is_english_in_german(name: str) -> None:
    said = OUTCOMES[name][0].text("de")
    assert not re.search(r"\b(the decision|allowed|changes? leads?|Proof|Confidence|Works|proved)\b", said)


def test_the_dictionary_tells_the_codes_behind_its_sentences() -> None:
    few = Message("draws.few", kept=12, drawn=5000)
    data = make(notes=(few, Message("draws.once"))).to_dict()
    assert data["notes"] == [str(few), "Optimised for one way to fill the blanks only."]
    assert data["messages"]["notes"] == [few.to_dict(), {"code": "draws.once", "values": {}}]
    assert data["messages"]["headline"]["code"] == "headline.plan"
    assert data["messages"]["headline"]["values"] | {"holds": None} == {"n": 2, "desired": ["approved"], "holds": None}
    assert [change["message"]["code"] for change in data["changes"]] == ["change.raise", "change.raise"]
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_numpy_labels_are_plain_in_the_dictionary() -> None:
    data = make(desired=(np.int64(1), np.str_("yes"), np.bool_(True))).to_dict()
    assert [type(label) for label in data["desired"]] == [int, str, bool]
    json.dumps(data)


class Reader(HTMLParser):
    """Collects the tags and the visible text, and checks that every tag is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read_html(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert not reader.open
    return reader


@pytest.mark.parametrize("name", OUTCOMES)
def test_every_outcome_is_html(name: str) -> None:
    recourse, _, _ = OUTCOMES[name]
    data = recourse.to_dict()
    found = read_html(recourse._repr_html_()).text
    for said in [data["headline"], *(c["sentence"] for c in data["changes"]), *data["notes"]]:
        assert said in found
    assert ("Not given" in found) == bool(recourse.blanks)
    assert "proved" in found or "undecided" in found


NASTY = '<script>alert("x")</script>&amp;\'"</div>'


def test_hostile_labels_are_only_text() -> None:
    feature = Feature(NASTY, "categorical", categories=("a", NASTY), label=NASTY + "!", unit=NASTY)
    number = Feature("n", "integer", lower=0, upper=9, unit=NASTY, label=NASTY)
    changes = (Change(feature, "observed", "a", NASTY, None, 1.0), Change(number, "shift", None, None, 3.0, 1.0))
    recourse = make(changes=changes, desired=(NASTY,), cost_name=NASTY, blanks=(feature,), notes=(NASTY,), solver=NASTY)
    for text in (recourse._repr_html_(), RecoursePath((recourse,), 0.5, Status.OPTIMAL)._repr_html_()):
        reader = read_html(text)
        assert reader.tags <= {"div", "strong", "ol", "li", "em", "table", "thead", "tbody", "tr", "th", "td", "p"}
        assert NASTY in reader.text
        assert "<script" not in text


@LAW
@given(
    st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.9, 0.95, 0.99])
)
def test_the_interval_is_the_exact_binomial_one(counts: tuple[int, int], level: float) -> None:
    accepted, of = counts
    expected = binomtest(accepted, of).proportion_ci(level, method="exact")
    low, high = Validity(accepted, of).interval(level)
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert 0 <= low <= Validity(accepted, of).share <= high <= 1


@LAW
@given(st.floats(0, 1))
def test_percent_never_claims_certainty(share: float) -> None:
    said = percent(share)
    assert (said == "100 %") == (share == 1.0)
    assert (said == "0 %") == (share == 0.0)
    number = float(said.removesuffix(" %").removeprefix("over ").removeprefix("under "))
    assert number / 100 == pytest.approx(share, abs=0.0051)


@LAW
@given(st.floats(0.001, 1))
def test_a_promise_is_rounded_down(share: float) -> None:
    promised = float(at_least(share).removesuffix(" %"))
    assert share * 100 - 0.1 - 1e-6 <= promised <= share * 100 + 1e-4


def test_promises_and_figures_by_hand() -> None:
    assert [at_least(s) for s in (0.75, 0.8, 0.975, 0.29, 1.0, 0.7999)] == [
        "75 %",
        "80 %",
        "97.5 %",
        "29 %",
        "100 %",
        "79.9 %",
    ]
    assert [figure(x) for x in (0, 0.0123456, 1.5, 999.4, 1000, 1234567.8)] == [
        "0",
        "0.0123",
        "1.5",
        "999",
        "1,000",
        "1,234,568",
    ]


def path(*points: tuple[float, float], end: Status = Status.OPTIMAL) -> RecoursePath:
    steps = tuple(
        make(
            cost=cost,
            validity=Validity(share * 100, 100),
            fresh=None,
            confidence=share,
            changes=(CHANGES[0][0],) if cost else (),
        )
        for share, cost in points
    )
    return RecoursePath(steps, 0.75, end)


def test_a_path_reads_clearly() -> None:
    steps = path((0.4, 0.0), (0.8, 1.0), (1.0, 4.0))
    assert str(steps).splitlines() == [
        "works for  cost",
        "     40 %  0       · nothing to change",
        "     80 %  1       ██████████ your income → $34,500",
        "    100 %  4       ████████████████████████████████████████ your income → $34,500",
    ]
    assert [steps.at(c) for c in (0.1, 0.4, 0.41, 0.8, 0.9)] == [steps[0], steps[0], steps[1], steps[1], steps[2]]
    assert path((0.8, 1.0)).at(0.9) is None
    assert steps.to_frame().columns.tolist() == ["share", "cost", "changes"]
    assert len(steps) == len(steps.to_list()) == 3
    json.dumps(steps.to_list(), allow_nan=False)
    assert read_html(steps._repr_html_()).text.count("your income") == 2


@pytest.mark.parametrize(
    ("steps", "last"),
    [
        (
            path((0.8, 1.0), end=Status.INFEASIBLE),
            "No allowed action works for every way to fill the blanks that was drawn: proved.",
        ),
        (
            path(end=Status.INFEASIBLE),
            "No allowed action works for any way to fill the blanks. This is proved, not guessed.",
        ),
        (
            path((0.8, 1.0), end=Status.UNKNOWN),
            "Time ran out: whether a surer action than 80 % exists is not known. Allow more time.",
        ),
        (path(end=Status.UNKNOWN), "Time ran out: whether more can be reached at all is not known. Allow more time."),
    ],
)
def test_a_path_says_why_it_ends(steps: RecoursePath, last: str) -> None:
    assert str(steps).splitlines()[-1] == last
    assert last in read_html(steps._repr_html_()).text


def test_a_path_in_german() -> None:
    steps = path((0.4, 0.0), (0.925, 4.5), end=Status.INFEASIBLE)
    assert steps.text("de", width=10).splitlines() == [
        "wirkt bei  Kosten",
        "     40 %  0       · nichts zu ändern",
        "     92 %  4,5     ██████████ your income → 34.500 $",
        "Keine zulässige Änderung wirkt bei jeder gezogenen Möglichkeit, die Lücken zu füllen: bewiesen.",
    ]


def test_many_answers_are_a_table_and_a_failure_does_not_hide() -> None:
    answers = Recourses(
        (make(), Failure("b", DataError("Column 'x' is wrong.")), OUTCOMES["no recourse"][0]), ("a", "b", "c")
    )
    table = answers.to_frame()
    assert table.index.tolist() == ["a", "b", "c"]
    assert table["outcome"].tolist() == ["plan", "failed", "no_recourse"]
    assert (
        table.loc["a", "advice"]
        == "Raise your income from $30,000 to $34,500. Raise your education from “school” to “degree”."
    )
    assert table.loc["b", "advice"] == "Column 'x' is wrong."
    assert table.loc["c", "advice"].startswith("No allowed action leads to “approved”")
    assert table["cost"].isna().tolist() == [False, True, True]
    assert [str(f) for f in answers.failures] == ["Row 'b' was not explained: Column 'x' is wrong."]
    assert len(answers) == 3
    assert not answers[1].found


def drawn_texts(ax: Any) -> list[str]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(ax.figure).draw()
    seen = ax.figure.bbox
    for text in (*ax.get_yticklabels(), ax._left_title, ax.xaxis.label, ax.yaxis.label, *ax.texts):
        if any(letter.isalpha() for letter in text.get_text()):  # marks of an axis beyond its ends are not drawn
            box = text.get_window_extent()
            assert box.x0 >= seen.x0, text
            assert box.x1 <= seen.x1, text
            assert box.y0 >= seen.y0, text
            assert box.y1 <= seen.y1, text
    return [label.get_text() for label in (*ax.get_yticklabels(), ax.title, ax._left_title)]


@pytest.mark.parametrize("name", OUTCOMES)
def test_every_outcome_can_be_drawn(name: str) -> None:
    pytest.importorskip("matplotlib")
    recourse = OUTCOMES[name][0]
    ax = recourse.plot()
    assert len(ax.patches) == len(recourse.changes)
    drawn_texts(ax)


def test_dollars_are_not_formulas_and_equal_labels_stay_two_bars() -> None:
    pytest.importorskip("matplotlib")
    change = CHANGES[0][0]
    ax = make(changes=(change, change)).plot()
    texts = drawn_texts(ax)
    assert [text.replace("\n", " ") for text in texts].count(r"Raise your income from \$30,000 to \$34,500") == 2
    assert len({bar.get_y() for bar in ax.patches}) == 2
    for steps in (path((0.4, 0.0), (1.0, 4.0)), path((0.5, 1.0), end=Status.INFEASIBLE), path(end=Status.INFEASIBLE)):
        drawn_texts(steps.plot())
    assert make().plot(ax) is ax


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("n", [1, 3])
def test_long_names_are_not_cut_off_in_a_picture(language: str, n: int) -> None:
    pytest.importorskip("matplotlib")
    name = "the number of all the credits that you have had at this bank and at any other, with those long repaid"
    long = Feature("credits", "categorical", categories=("none at all " * 4, "delayed, but " * 4), label=name)
    change = Change(long, "observed", long.categories[0], long.categories[1], None, 1.0)
    drawn_texts(make(changes=(change,) * n, desired=("approved, subject to a further check",)).plot(language=language))


@pytest.mark.parametrize("asked", [0.01, 0.5, 0.81, 0.99, 1.0])
def test_what_was_asked_for_is_written_inside_the_picture(asked: float) -> None:
    pytest.importorskip("matplotlib")
    drawn_texts(replace(path((0.4, 0.0), (1.0, 4.0)), asked=asked).plot(language="de"))


def test_apply_does_what_the_sentences_say() -> None:
    rows = pd.DataFrame(
        {
            "Income": pd.array([10_000, 240_000, 30_000], dtype="Int64"),
            "rate": np.array([0.25, 0.75, 0.5], dtype="float32"),
            "level": pd.Categorical(["school", "college", "degree"]),
            "owns": [True, False, False],
            "left": [1, 2, 3],
        },
        index=[7, 8, 9],
    )
    changes = (
        Change(INCOME, "shift", None, None, 20_000.0, 1.0),
        Change(RATE, "reach", None, 0.5, None, 1.0),
        Change(LEVEL, "observed", "school", "college", 1.0, 1.0),
        Change(OWNS, "observed", False, True, 1.0, 1.0),
    )
    after = make(changes=changes).apply(rows)
    assert after.dtypes.tolist() == rows.dtypes.tolist()
    assert after.index.tolist() == [7, 8, 9]
    assert after["Income"].tolist() == [30_000, 250_000, 50_000]  # stops at the bound
    assert after["rate"].tolist() == [0.25, 0.5, 0.5]  # at most
    assert after["level"].tolist() == ["college"] * 3
    assert after["owns"].tolist() == [True] * 3
    assert after["left"].tolist() == [1, 2, 3]
    assert rows["Income"].tolist() == [10_000, 240_000, 30_000]
    half = make(changes=(Change(RATE, "reach", None, 0.5, None, 1.0),)).apply(pd.DataFrame({"rate": [1, 0]}))
    assert half["rate"].tolist() == [0.5, 0.0]  # a whole-number column does not round the advice


SCHEMA = Schema(
    (
        Feature("fixed", "integer", lower=0, upper=9, direction="fixed"),
        Feature("up", "integer", lower=0, upper=9, direction="increase"),
        Feature("down", "continuous", lower=0, upper=1, direction="decrease"),
        Feature("frozen", "integer", lower=0, upper=9, blank="freeze"),
        Feature("kind", "categorical", categories=("x", "y", "z")),
        Feature("free", "integer", lower=0, upper=9),
    )
)
ROW = np.array([3, 3, 0.5, np.nan, 1, np.nan])
BEFORE = np.array([[3, 3, 0.5, 2, 1, 4], [3, 3, 0.5, 7, 1, 5]])
BAD_ACTIONS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "immutable": ({"fixed": [4, 4]}, ["'fixed'", "immutable"]),
    "down though up only": ({"up": [2, 2]}, ["'up'", "only increase", "by 1"]),
    "up though down only": ({"down": [0.75, 0.75]}, ["'down'", "only decrease", "by 0.25"]),
    "a frozen blank": ({"frozen": [3, 8]}, ["'frozen'", "frozen"]),
    "locked": ({"kind": [2, 2]}, ["'kind'", "locked"]),
    "above its bound": ({"up": [10, 10]}, ["'up'", "[0, 9]", "10"]),
    "below its bound": ({"down": [-0.5, -0.5]}, ["'down'", "[0, 1]", "-0.5"]),
    "below its bound for one candidate": ({"free": [-1, 0]}, ["'free'", "[0, 9]", "-1"]),
    "not whole": ({"free": [4.5, 5.5]}, ["'free'", "4.5"]),
    "no such category": ({"kind": [3, 3]}, ["'kind'", "3"]),
    "a negative category": ({"kind": [-1, -1]}, ["'kind'", "-1"]),
    "half a category": ({"kind": [0.5, 0.5]}, ["'kind'", "0.5"]),
    "infinite": ({"free": [np.inf, np.inf]}, ["'free'", "inf"]),
    "blanked": ({"free": [np.nan, np.nan]}, ["'free'", "nan"]),
    "too many": ({"up": [4, 4], "down": [0, 0], "free": [5, 6]}, ["At most 2", "up, down, free"]),
}


@pytest.mark.parametrize("name", BAD_ACTIONS)
def test_the_audit_refuses_every_kind_of_violation(name: str) -> None:
    changes, words = BAD_ACTIONS[name]
    after = BEFORE.copy()
    for column, values in changes.items():
        after[:, SCHEMA.position(column)] = values
    locked = ["kind"] if name == "locked" else []
    with pytest.raises(AuditError) as refusal:
        check_action(SCHEMA, ROW, BEFORE, after, max_changes=2, locked=locked)
    for word in words:
        assert word in str(refusal.value)


def test_the_audit_lets_pass_whatever_the_grid_offers() -> None:
    rng = np.random.default_rng(0)
    grid = build_grid(SCHEMA, ROW, BEFORE)
    for _ in range(200):
        choice = tuple(int(rng.integers(move.size)) if rng.random() < 0.5 else 0 for move in grid.moves)
        check_action(SCHEMA, ROW, BEFORE, grid.apply(choice, BEFORE), max_changes=None)
    check_action(SCHEMA, ROW, BEFORE, BEFORE, max_changes=1, locked=SCHEMA.names)
    blank = np.where(np.isnan(ROW), np.nan, BEFORE)  # a model that takes blanks as they are
    check_action(SCHEMA, ROW, blank, blank, max_changes=1)
