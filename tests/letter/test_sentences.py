"""Laws that small faults would break: which sentences a letter holds, by their codes and in no language."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any

import pytest

from armin.problem import Status
from armin.promise import Calibration
from armin.recourse import Certificate, Change, Recourse, Validity
from armin.recourse.world import World
from armin.schema import Feature, Schema
from armin.words import Message
from armin_desk.letter.arrange import Section
from armin_desk.letter.content import Notice, sections

FREE, FIXED, ICED, GONE = (
    Feature("free", "integer", lower=0, upper=9),
    Feature("fixed", "integer", lower=0, upper=9, direction="fixed"),
    Feature("iced", "integer", lower=0, upper=9, blank="freeze"),
    Feature("gone", "integer", lower=0, upper=9),
)
SCHEMA = Schema((FREE, FIXED, ICED, GONE))
RAISE = Change(FREE, "observed", 1, 4, 3.0, 1.0)
SHIFT = Change(GONE, "shift", None, None, 2.0, 1.0)
TOLD = World("complete", "disclosed", True, None)
PLAN = Recourse(
    method="ARMIN", status=Status.OPTIMAL, desired=("yes",), changes=(RAISE, SHIFT), cost=2.0, cost_name="TLPS",
    cost_range=None, confidence=0.75, validity=Validity(78, 100), fresh=Validity(785, 1000), blanks=(GONE,), bound=2.0,
    seconds=0.1, solver="search", world=TOLD,
)  # fmt: skip
COMPLETE = {"blanks": (), "world": World("complete", "disclosed", False, None)}
NONE = {"changes": (), "cost": None, "validity": None, "fresh": None, "status": Status.INFEASIBLE}


class Codes:
    """Words that are their own codes; what they are given is kept."""

    def __init__(self) -> None:
        self.given: dict[str, dict[str, Any]] = {}

    def say(self, code: str, /, **values: Any) -> str:
        self.given[code] = values
        return code


def told(
    *others: Recourse, locked: tuple[str, ...] = (), until: datetime.date | None = None, **more: Any
) -> tuple[dict[str, Section], Codes]:
    words, day = Codes(), datetime.date(2026, 5, 1)
    notice = Notice(replace(PLAN, **more), others, SCHEMA, locked, day, until, words)  # type: ignore[arg-type]
    return {section.name: section for section in sections(notice)}, words


def codes(section: Section) -> list[str]:
    return " ".join([*section.before, *section.items, *section.after]).split()


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({}, "decision reasons plan blanks sure promise"),
        ({"changes": (), "cost": 0.0}, "decision blanks sure promise"),
        (NONE, "decision reasons plan blanks sure promise"),
    ],
)
def test_the_parts_of_a_letter(given: dict[str, Any], names: str) -> None:
    assert " ".join(told(**given)[0]) == names
    assert ("alternatives" in told(PLAN, **given)[0]) == (not given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "rejected_blanks way_out"),
        (COMPLETE, "rejected way_out"),
        ({"world": World("blank", "disclosed", True, False)}, "rejected_row way_out"),
        ({"world": World("blank", "disclosed", False, False), "blanks": ()}, "rejected way_out"),
        (NONE, "rejected_blanks"),
        ({"changes": (), "cost": 0.0}, "accepted_blanks"),
        ({"changes": (), "cost": 0.0, "world": World("blank", "disclosed", True, True)}, "accepted_row"),
    ],
)
def test_what_was_decided(given: dict[str, Any], said: str) -> None:
    action = ["pack.action.plain"] if said.startswith("rejected") else []
    assert codes(told(**given)[0]["decision"]) == action + [f"decision.{code}" for code in said.split()]


def test_nothing_is_said_to_be_decided_that_was_not() -> None:
    given = {"world": World(None, "disclosed", True, None)}
    assert codes(told(**given)[0]["decision"]) == ["decision.undecided", "decision.way_out"]


def other(cost: float, **more: Any) -> Recourse:
    return replace(PLAN, **({"cost": cost, "changes": (replace(RAISE, after=6, amount=5.0),)} | more))


@pytest.mark.parametrize(
    ("others", "given", "said"),
    [
        ([], {}, "cheapest"),
        ([other(1.0)], {}, "chosen"),
        ([other(2.0)], {}, "cheapest"),
        ([other(2.0 - 1e-9)], {}, "cheapest"),  # rounding is no other price
        ([other(0.0)], {"cost": 0.5}, "chosen"),
        ([other(0.5)], {"cost": 0.0}, "cheapest"),
        ([], {"status": Status.FEASIBLE, "bound": 1.0}, "best_so_far gap"),
        ([], {"status": Status.FEASIBLE, "bound": 2.0}, "best_so_far"),
        ([], {"status": Status.FEASIBLE, "bound": 0.0}, "best_so_far"),
        ([], {"resubmitted": True}, "cheapest told_yes"),
        ([], {"resubmitted": False}, "cheapest told_no"),
        ([], {"resubmitted": True, "world": World("complete", "either", True, None)}, "cheapest"),
    ],
)
def test_what_is_said_behind_a_plan(others: list[Recourse], given: dict[str, Any], said: str) -> None:
    plan = told(*others, **given)[0]["plan"]
    assert " ".join(plan.after).split() == [f"plan.{code}" for code in said.split()]
    assert plan.before == ("plan.intro",)
    assert plan.numbered
    assert len(plan.items) == 2


def test_one_change_and_what_is_locked() -> None:
    found, words = told(changes=(RAISE,), locked=("gone",))
    assert found["plan"].before == ("plan.intro_one",)
    assert codes(found["plan"])[-1] == "plan.locked"
    assert [name.key for name in words.given["plan.locked"]["labels"]] == ["gone"]


def test_reasons_are_given_by_ways_that_need_no_more_than_others() -> None:
    assert told()[0]["reasons"].items == ("reasons.item", "reasons.item_blank")
    alone = told(other(1.0, changes=(RAISE,)))[0]["reasons"]
    assert alone.items == ("reasons.item",)  # the plan does that, and more
    assert told(**NONE)[0]["reasons"].before == ("reasons.none",)
    tell = told(changes=(), cost=0.0, world=World("blank", "disclosed", True, False))[0]
    assert tell["reasons"].items == ("reasons.item_blank",)
    assert codes(tell["plan"]) == ["plan.tell", "plan.tell_item"]


@pytest.mark.parametrize(
    ("given", "locked", "groups"),
    [
        ({}, (), {"may": ["free", "iced", "gone"], "fixed": ["fixed"]}),
        ({}, ("free",), {"may": ["iced", "gone"], "fixed": ["fixed"], "locked": ["free"]}),
        ({"blanks": (ICED, GONE)}, (), {"may": ["free", "gone"], "fixed": ["fixed"], "frozen": ["iced"]}),
        ({"blanks": (ICED,)}, ("iced",), {"may": ["free", "gone"], "fixed": ["fixed"], "locked": ["iced"]}),
        (
            {"notes": (Message("draws.native"),)}, (),
            {"may": ["free", "iced"], "fixed": ["fixed"], "frozen": ["gone"]},
        ),
    ],
)  # fmt: skip
def test_where_there_is_no_plan_the_reasons_are_sorted(
    given: dict[str, Any], locked: tuple[str, ...], groups: dict[str, list[str]]
) -> None:
    found, words = told(locked=locked, **(NONE | given))
    assert list(found["plan"].items) == [f"no_plan.{key}" for key in groups]
    for key, names in groups.items():
        assert [name.key for name in words.given[f"no_plan.{key}"]["labels"]] == names
    assert found["plan"].before == ("no_plan.none",)
    assert found["plan"].after == ("no_plan.limits",)
    late = told(**(NONE | {"status": Status.UNKNOWN}))[0]["plan"]
    assert (late.title, late.before) == ("no_plan.title_time", ("no_plan.time",))


@pytest.mark.parametrize(
    ("one", "given", "code"),
    [
        (other(3.0), {}, "item_share"),
        (other(3.0, fresh=None), {}, "item_share"),
        (other(3.0, fresh=None, validity=None), {}, "item"),
        (other(3.0, **COMPLETE), {}, "item"),
        (other(3.0, fresh=None), {"notes": (Message("draws.native"),)}, "item"),
        (other(3.0), {"notes": (Message("draws.native"),)}, "item_share"),
    ],
)
def test_other_ways_say_for_how_many_they_work(one: Recourse, given: dict[str, Any], code: str) -> None:
    assert told(one, **given)[0]["alternatives"].items == (f"alternatives.{code}",)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (COMPLETE, "none"),
        ({}, "right many may_tell"),
        ({"validity": None}, "right any may_tell"),
        ({"confidence": None}, "right guess may_tell"),
        ({"notes": (Message("draws.native"),)}, "right native may_tell"),
        ({"world": World("blank", "blank", True, False)}, "right native may_tell"),
        ({"world": World("blank", "disclosed", True, True), "changes": (), "cost": 0.0}, "right native may_tell"),
    ],
)
def test_how_blanks_were_treated(given: dict[str, Any], said: str) -> None:
    assert codes(told(**given)[0]["blanks"]) == [f"blanks.{code}" for code in said.split()]


ROW = {"world": World("blank", "blank", True, False)}
TAKEN = {"world": World("blank", "disclosed", True, True), "changes": (), "cost": 0.0}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "fresh people picture"),
        ({"fresh": Validity(1000, 1000)}, "fresh picture_only picture"),
        ({"fresh": Validity(0, 1000)}, "fresh picture_only picture"),
        ({"fresh": Validity(996, 1000)}, "fresh picture_only picture"),
        ({"fresh": None}, "sample picture picture_only"),
        (COMPLETE, "complete"),
        (COMPLETE | {"changes": (), "cost": 0.0}, "complete_accepted"),
        (NONE, "none"),
        (NONE | COMPLETE, "none_complete"),
        (NONE | {"notes": (Message("draws.native"),)}, "none_complete"),
        (NONE | {"status": Status.UNKNOWN}, "time"),
        (ROW, "row_checked"),
        (ROW | {"fresh": None}, "row_checked"),
        (TAKEN, "accepted_row stays picture"),
        (TAKEN | {"fresh": None}, "accepted_row"),
    ],
)
def test_how_sure_a_letter_is(given: dict[str, Any], said: str) -> None:
    found, words = told(**given)
    assert codes(found["sure"]) == [f"sure.{code}" for code in said.split()]
    if not given:
        assert (words.given["sure.people"]["yes"], words.given["sure.people"]["no"]) == (78, 22)
        assert words.given["sure.fresh"]["of"] == 1000


@pytest.mark.parametrize(
    ("level", "best", "held_out", "said"),
    [
        (0.8, 0.95, True, "tested promise"),
        (0.8, 0.95, False, "tested promise promise_seen"),
        (None, 0.7, True, "tested promise_best"),
        (None, 0.0, True, "tested promise_none"),
    ],
)
def test_what_is_promised(level: float | None, best: float, held_out: bool, said: str) -> None:
    tested = Calibration(0.9, 0.9, level, best, 1.0, 60, "same", (), held_out)
    proof = Certificate(
        Status.OPTIMAL, 2.0, 0.0, 0.75, PLAN.validity, PLAN.fresh, None, tested, None, 1, "s", 100, 0
    )  # fmt: skip
    found = codes(told(certificate=proof)[0]["sure"])
    assert found[3:] == [f"sure.{code}" for code in said.split()]
    assert codes(told(certificate=proof, **COMPLETE)[0]["sure"]) == ["sure.complete"]
    assert codes(told(certificate=proof, **NONE)[0]["sure"]) == ["sure.none"]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({}, "share"),
        ({"confidence": 1.0}, "every"),
        ({"confidence": 0.8}, "judged"),  # fresh completions say 78.5 %
        ({"confidence": 0.785}, "works"),  # as a point of a path states its own
        ({"confidence": 0.1 + 0.2, "fresh": Validity(3, 10)}, "share"),  # 0.3, but for rounding
        ({"confidence": None}, "guess"),
        ({"world": World("complete", "either", True, None)}, "either"),
        (ROW, "row"),
        ({"notes": (Message("draws.native"),)}, "native"),
    ],
)
def test_for_whom_a_statement_holds(given: dict[str, Any], code: str) -> None:
    words = told(**given)[1]
    assert words.given["plan.intro"]["sure"].code == f"sure.{code}"
    assert told(**COMPLETE)[1].given["plan.intro"]["sure"] == ""


def test_the_last_part_speaks_of_the_plan_where_there_is_one() -> None:
    assert told()[0]["promise"].items == (
        "promise.plan_today", "promise.plan_rest", "promise.plan_decision", "promise.plan_effort",
    )  # fmt: skip
    assert told(**NONE)[0]["promise"].items == ("promise.today", "promise.decision")
    set_by_the_company = told(**NONE, until=datetime.date(2026, 6, 1))[0]["promise"].items
    assert set_by_the_company == ("promise.today", "promise.decision", "promise.until")
