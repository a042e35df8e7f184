"""Laws that small faults would break: a problem as data, and what an answer says about itself, by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from armin import Schema
from armin.errors import AuditError, ParameterError
from armin.models.kinds import Above, LinearModel
from armin.problem import Options, PairRule, Problem, Solution, Status
from armin.recourse import Change, Recourse, RecoursePath, Validity
from armin.recourse.audit import check_action
from armin.recourse.certificate import Certificate
from armin.recourse.world import World
from armin.report.plot import plot_path
from armin.report.text import path_text
from armin.report.words import details, headline
from armin.schema import Feature

# a problem as data


def table(**more: Any) -> dict[str, Any]:
    """What a small problem is made of: two candidates, two columns, each with two options."""
    candidates = np.array([[0.0, 1.0], [2.0, 1.0]])
    first = Options("first", np.array([0]), np.array([[[0.0], [1.0]], [[2.0], [3.0]]]), np.array([0.0, 1.0]))
    second = Options("second", np.array([1]), np.array([[[1.0], [5.0]]]), np.array([0.0, 2.0]))
    model = LinearModel(np.ones((1, 2)), np.array([-6.0]), Above(0.0))
    return {"candidates": candidates, "options": (first, second), "model": model, "required": 1.0} | more


FIRST, SECOND = table()["options"]
BROKEN: dict[str, dict[str, Any]] = {
    "no candidates": {"candidates": np.zeros((0, 2))},
    "infinite": {"candidates": np.array([[np.inf, 1.0], [2.0, 1.0]]), "options": (SECOND,)},
    "width": {"candidates": np.zeros((2, 3))},
    "too few weights": {"weights": np.ones(1)},
    "a weight of zero": {"weights": np.array([1.0, 0.0])},
    "no change allowed": {"max_changes": 0},
    "aggregate": {"aggregate": "mean"},
    "nothing required": {"required": 0.0},
    "more than all required": {"required": 2.001},
    "rule of another shape": {"rules": (PairRule(0, 1, np.ones((2, 3), dtype=bool)),)},
    "rule against keeping": {"rules": (PairRule(0, 1, np.array([[False, True], [True, True]])),)},
    "outcomes of another shape": {"options": (replace(FIRST, outcomes=FIRST.outcomes[:, :1]), SECOND)},
    "outcomes for three": {"options": (replace(FIRST, outcomes=np.zeros((3, 2, 1))), SECOND)},
    "flat outcomes": {"options": (replace(FIRST, outcomes=FIRST.outcomes[0]), SECOND)},
    "no options": {"options": (replace(FIRST, outcomes=np.zeros((1, 0, 1)), costs=np.zeros(0)), SECOND)},
    "keeping costs": {"options": (replace(FIRST, costs=np.array([0.5, 1.0])), SECOND)},
    "endless cost": {"options": (replace(FIRST, costs=np.array([0.0, np.inf])), SECOND)},
    "cost below zero": {"options": (replace(FIRST, costs=np.array([0.0, -1.0])), SECOND)},
    "keeping moves": {"options": (replace(FIRST, outcomes=FIRST.outcomes + 1), SECOND)},
    "one column twice": {"options": (FIRST, replace(FIRST, name="again"))},
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_problem_that_makes_no_sense_is_refused(what: str) -> None:
    Problem(**table())
    with pytest.raises(ParameterError):
        Problem(**table(**BROKEN[what]))


def test_a_problem_may_ask_for_all_and_one_change_and_hold_blanks() -> None:
    assert Problem(**table(required=2.0)).enough(2.0)
    assert Problem(**table(required=2.0 + 1e-9)).enough(2.0)
    assert not Problem(**table(required=2.0)).enough(2.0 - 1e-6)
    assert Problem(**table(max_changes=1)).limit == 1
    assert Problem(**table(max_changes=9)).limit == 2
    blank = np.array([[np.nan, 1.0], [np.nan, 1.0]])
    kept = replace(FIRST, outcomes=np.array([[[np.nan], [1.0]]]))
    assert Problem(**table(candidates=blank, options=(kept, SECOND))).keep == (0, 0)


def test_what_is_forbidden_is_not_allowed() -> None:
    problem = Problem(**table())
    every = [(i, j) for i in range(2) for j in range(2)]
    assert all(problem.allows(choice) for choice in every)
    assert [c for c in every if not problem.excluding((1, 1)).allows(c)] == [(1, 1)]
    assert [c for c in every if not problem.without_set((1, 0)).allows(c)] == [(1, 0)]
    assert [c for c in every if not problem.without_core((1, 0)).allows(c)] == [(1, 0), (1, 1)]
    assert [c for c in every if not replace(problem, max_changes=1).allows(c)] == [(1, 1)]
    rule = PairRule(0, 1, np.array([[True, False], [True, True]]))
    assert [c for c in every if not replace(problem, rules=(rule,)).allows(c)] == [(0, 1)]
    assert [problem.cost(c) for c in every] == [0.0, 2.0, 1.0, 3.0]
    assert [replace(problem, aggregate="max").cost(c) for c in every] == [0.0, 2.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("weights", "step"), [([1.0, 1.0], 1.0), ([0.5, 1.5], 0.5), ([2.0, 3.0], 3e-9 * 5.0), ([1.0, 2.5], 3e-9 * 3.5)]
)
def test_the_smallest_step_between_weights(weights: list[float], step: float) -> None:
    assert Problem(**table(weights=np.array(weights))).smallest_step == pytest.approx(step, rel=1e-12)


def test_some_of_the_candidates_keep_their_own_outcomes() -> None:
    part = Problem(**table(weights=np.array([1.0, 3.0]))).among([1], required=3.0)
    np.testing.assert_array_equal(part.inputs((1, 1)), [[3.0, 5.0]])
    assert part.weight_accepted((1, 1)) == 3.0
    assert [option.same_for_all for option in part.options] == [True, True]  # one candidate is all


@pytest.mark.parametrize(
    ("status", "cost", "bound", "gap"),
    [
        (Status.FEASIBLE, 4.0, 3.0, 0.25),
        (Status.FEASIBLE, 4.0, 5.0, 0.0),
        (Status.FEASIBLE, 0.0, 0.0, 0.0),
        (Status.FEASIBLE, 0.5, 0.25, 0.5),
        (Status.OPTIMAL, 4.0, 4.0, 0.0),
        (Status.UNKNOWN, None, 0.0, None),
    ],
)
def test_the_gap(status: Status, cost: float | None, bound: float, gap: float | None) -> None:
    solution = Solution(status, None if cost is None else (1,), cost, bound, 0.0, "test")
    assert solution.gap == gap
    assert answer(status=status, cost=cost, bound=bound).gap == gap


# what an answer says about itself


def answer(**more: Any) -> Recourse:
    income = Feature("Income", "integer", lower=0, upper=100)
    change = Change(income, "observed", 10, 15, 5.0, 1.0)
    given: dict[str, Any] = {
        "method": "ARMIN", "status": Status.OPTIMAL, "desired": ("yes",), "changes": (change,), "cost": 1.0,
        "cost_name": "TLPS", "cost_range": (1.0, 1.0, 1.0), "confidence": 0.8, "validity": Validity(9, 10),
        "fresh": None, "blanks": (), "bound": 1.0, "seconds": 0.1, "solver": "search",
    }  # fmt: skip
    return Recourse(**(given | more))


def certificate(**more: Any) -> Certificate:
    given: dict[str, Any] = {
        "status": Status.OPTIMAL, "bound": 1.0, "gap": 0.0, "confidence": 0.8, "validity": Validity(9, 10),
        "fresh": None, "error": 0.25, "calibration": None, "conditioned": None, "blanks": 1, "sampler": "s",
        "samples": 10, "seed": 0,
    }  # fmt: skip
    return Certificate(**(given | more))


def test_a_certificate_claims_no_more_than_the_proposition() -> None:
    assert certificate().at_least == pytest.approx(0.65)
    assert certificate(error=2.0).at_least == 0.0
    assert certificate(error=None).at_least is None
    assert certificate(validity=None).at_least is None


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"validity": None, "status": Status.INFEASIBLE}, "none"),
        ({"validity": None, "status": Status.UNKNOWN}, "time"),
        ({"validity": None}, "nothing"),
        ({"blanks": 0}, "complete"),
        ({"world": World("blank", "disclosed", True, True)}, "accepted"),
        ({"world": World("blank", "blank", True, False), "validity": Validity(1.0, 1.0)}, "row"),
        ({"world": World("blank", "blank", True, False)}, "sample"),
        ({"fresh": Validity(70, 100)}, "fresh"),
        ({}, "sample"),
    ],
)
def test_each_ground_has_its_own_sentence(given: dict[str, Any], code: str) -> None:
    assert certificate(**given).message.code == f"certificate.{code}"


@pytest.mark.parametrize(
    ("status", "rank", "code"),
    [(Status.OPTIMAL, 1, "cheapest"), (Status.FEASIBLE, 1, "unproved"), (Status.OPTIMAL, 2, "alternative")],
)
def test_only_the_first_and_proved_plan_is_called_the_cheapest(status: Status, rank: int, code: str) -> None:
    message = certificate(status=status, rank=rank, blanks=0).message
    assert message.values["cheapest"].code == f"certificate.{code}"
    ranked = answer(status=status, certificate=certificate(status=status)).ranked(rank)
    assert (ranked.rank, ranked.certificate.rank) == (rank, rank)


def test_the_bound_that_a_certificate_tells_is_one_sided() -> None:
    fresh = Validity(70, 100)
    message = certificate(fresh=fresh).message
    assert message.values["level"] == 0.95
    assert message.values["of"] == 100
    assert binom.sf(69, 100, message.values["low"]) == pytest.approx(0.05)


def test_a_path_answers_a_level_by_its_first_point_that_reaches_it() -> None:
    points = tuple(answer(cost=c, validity=Validity(k, 20)) for c, k in ((1.0, 11), (2.0, 15), (3.0, 20)))
    path = RecoursePath((answer(validity=None), *points), 0.75, Status.OPTIMAL)
    assert [path.at(level).cost for level in (0.1, 0.55, 0.56, 0.75, 0.9, 1.0)] == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
    assert RecoursePath(points[:1], 0.75, Status.INFEASIBLE).at(0.6) is None
    assert RecoursePath(points[:1], 0.75, Status.INFEASIBLE).at(0.55 + 1e-16) is points[0]
    assert RecoursePath((answer(validity=Validity(3, 10)),), 0.3, Status.OPTIMAL).at(0.1 + 0.2) is not None


@pytest.mark.parametrize(
    ("status", "changed", "world", "outcome"),
    [
        (Status.INFEASIBLE, False, {}, "no_recourse"),
        (Status.UNKNOWN, False, {}, "out_of_time"),
        (Status.OPTIMAL, True, {}, "plan"),
        (Status.FEASIBLE, True, {}, "best_so_far"),
        (Status.OPTIMAL, False, {"submitted": False}, "tell"),
        (Status.OPTIMAL, False, {"submitted": True}, "already_accepted"),
        (Status.OPTIMAL, False, {"submitted": None}, "already_accepted"),
        (Status.OPTIMAL, False, {"submitted": False, "reapply": "blank"}, "already_accepted"),
    ],
)
def test_every_outcome_has_its_word(status: Status, changed: bool, world: dict[str, Any], outcome: str) -> None:
    given = {"decision": "blank", "reapply": "disclosed", "blanks": True, "submitted": None} | world
    changes = answer().changes if changed else ()
    assert answer(status=status, changes=changes, world=World(**given)).outcome == outcome


@pytest.mark.parametrize(
    ("given", "short"),
    [
        ({}, True),
        ({"status": Status.FEASIBLE}, True),
        ({"fresh": Validity(800, 1000)}, False),
        ({"fresh": None}, False),  # of what was optimised over nine in ten are accepted
        ({"confidence": 1.0}, False),  # all of what was drawn is all that was asked for
        ({"confidence": None}, False),
        ({"changes": ()}, False),
        ({"world": World("blank", "blank", True, False)}, True),
    ],
)
def test_an_answer_says_in_one_word_that_it_has_less_than_was_asked_for(given: dict[str, Any], short: bool) -> None:
    found = answer(**({"fresh": Validity(790, 1000)} | given))
    assert found.falls_short == (found.outcome == "falls_short") == short
    assert (found.headline.code == "headline.falls_short") == short


@pytest.mark.parametrize(
    ("mode", "amount", "direction", "found"),
    [
        ("observed", 5.0, "any", "up"), ("observed", -5.0, "any", "down"), ("shift", 5.0, "any", "up"),
        ("shift", -5.0, "any", "down"), ("reach", None, "increase", "up"), ("reach", None, "decrease", "down"),
        ("reach", None, "any", "to"), ("observed", None, "any", "to"),
    ],
)  # fmt: skip
def test_a_change_goes_up_or_down_as_its_feature_and_amount_say(
    mode: Any, amount: float | None, direction: Any, found: str
) -> None:
    feature = Feature("a", "integer", lower=0, upper=100, direction=direction)
    change = Change(feature, mode, None, 15 if mode != "shift" else None, amount, 1.0)
    assert change.direction == found
    if mode == "reach":
        assert change.sense == {"increase": 1, "decrease": -1, "any": 0}[direction]
        kept = {"increase": [15.0, 20.0], "decrease": [10.0, 15.0], "any": [15.0, 15.0]}[direction]
        np.testing.assert_array_equal(change.moved(np.array([10.0, 20.0])), kept)


def test_a_target_of_zero_is_a_target() -> None:
    feature = Feature("a", "integer", lower=0, upper=100)
    np.testing.assert_array_equal(Change(feature, "observed", 10, 0, -10.0, 1.0).moved(np.array([10.0])), [0.0])
    np.testing.assert_array_equal(Change(feature, "reach", None, 0, None, 1.0).moved(np.array([3.0, 0.0])), [0.0, 0.0])


def test_the_submitted_row_tells_what_the_plan_sets_and_nothing_else() -> None:
    names = ("seen", "moved", "set", "left")
    features = {name: Feature(name, "integer", lower=0, upper=100) for name in names}
    schema = Schema(tuple(features.values()))
    changes = (
        Change(features["seen"], "observed", 10, 15, 5.0, 1.0),
        Change(features["moved"], "shift", None, None, 7.0, 1.0),
        Change(features["set"], "reach", None, 40, None, 1.0),
    )
    changes = (*changes[:2], replace(changes[2], sense=1))
    people = np.array([[10.0, 1.0, 2.0, 3.0], [10.0, 99.0, 50.0, 3.0]])
    after = answer(changes=changes).submitted(schema, np.array([10.0, np.nan, np.nan, np.nan]), people)
    np.testing.assert_array_equal(after, [[15.0, np.nan, 40.0, np.nan], [15.0, np.nan, 50.0, np.nan]])
    codes = answer(changes=changes).apply_codes(schema, people)
    np.testing.assert_array_equal(codes, [[15.0, 8.0, 40.0, 3.0], [15.0, 100.0, 50.0, 3.0]])


# the last check


def audited(before: list[list[float]], after: list[list[float]], **more: Any) -> None:
    up = Feature("up", "integer", lower=0, upper=9, direction="increase")
    down = Feature("down", "integer", lower=0, upper=9, direction="decrease")
    given = {"max_changes": 2} | more
    check_action(Schema((up, down)), np.array(before[0]), np.array(before), np.array(after), **given)


def test_the_last_check_looks_at_every_candidate() -> None:
    """One of two candidates is enough to break a rule, and to count as a change."""
    audited([[1.0, 5.0], [2.0, 5.0]], [[3.0, 4.0], [2.0, 5.0]])
    for after in (
        [[3.0, 5.0], [1.0, 5.0]],
        [[1.0, 6.0], [2.0, 4.0]],
        [[1.5, 5.0], [2.0, 5.0]],
        [[10.0, 5.0], [2.0, 5.0]],
    ):
        with pytest.raises(AuditError):
            audited([[1.0, 5.0], [2.0, 5.0]], after)
    with pytest.raises(AuditError, match="At most 1"):
        audited([[1.0, 5.0], [2.0, 5.0]], [[3.0, 5.0], [2.0, 4.0]], max_changes=1)
    with pytest.raises(AuditError, match="locked"):
        audited([[1.0, 5.0], [2.0, 5.0]], [[3.0, 5.0], [2.0, 5.0]], locked=["up"])
    audited([[1.0, 5.0], [2.0, 5.0]], [[3.0, 5.0], [2.0, 5.0]], locked=["down"], max_changes=None)
    audited([[np.nan, 5.0]], [[np.nan, 4.0]], max_changes=1)  # a blank that stays is no change


# what is printed


@pytest.mark.parametrize(
    ("share", "asked", "code"),
    [
        (0.3, 0.1 + 0.2, "share"),
        (0.8, 0.8, "works"),  # as a point of a path states its own
        (0.9, 0.8, "share"),
        (0.9, 1.0, "every"),
        (0.5, None, "guess"),
    ],
)
def test_a_plan_that_fresh_completions_doubt_says_so(share: float, asked: float | None, code: str) -> None:
    blank = Feature("b", "integer", lower=0, upper=9)
    world = World("complete", "disclosed", True, None)
    said = answer(fresh=Validity(100 * share, 100), confidence=asked, blanks=(blank,), world=world).headline
    assert said.values["holds"].code == f"holds.{code}"


@pytest.mark.parametrize(
    ("status", "bound", "rank", "code"),
    [
        (Status.OPTIMAL, 1.0, 1, "optimal"), (Status.OPTIMAL, 1.0, 2, "optimal_rest"),
        (Status.FEASIBLE, 0.5, 1, "feasible_bound"), (Status.FEASIBLE, 0.0, 1, "feasible"),
        (Status.INFEASIBLE, math.inf, 1, "infeasible"),
    ],
)  # fmt: skip
def test_the_proof_is_told_as_far_as_it_goes(status: Status, bound: float, rank: int, code: str) -> None:
    said = details(answer(status=status, bound=bound, rank=rank).to_dict(), None, None, ())[-1]
    assert said.values["sentence"].code == f"proof.{code}"


@pytest.mark.parametrize(("seconds", "text"), [(0.0123, "12 ms"), (0.999, "999 ms"), (1.0, "1.0 s"), (12.34, "12.3 s")])
def test_short_times_are_told_in_milliseconds(seconds: float, text: str) -> None:
    said = str(details(answer(seconds=seconds).to_dict(), None, None, ())[-1]).replace("\u00a0", " ")
    assert text in said or text.replace(".0 ", " ") in said


@pytest.mark.parametrize(
    ("resubmitted", "reapply", "code"),
    [
        (True, "disclosed", "again_yes"),
        (False, "disclosed", "again_no"),
        (None, "disclosed", None),
        (True, "either", None),
    ],
)
def test_what_happens_if_blanks_stay_blank_is_told_where_the_plan_counts_on_telling(
    resubmitted: bool | None, reapply: Any, code: str | None
) -> None:
    blank = Feature("b", "integer", lower=0, upper=9)
    world = World("complete", reapply, True, False)
    said = details(answer(blanks=(blank,), world=world, resubmitted=resubmitted).to_dict(), world.message, None, ())
    codes = [message.code.removeprefix("report.") for message in said]
    assert [c for c in codes if c.startswith("again")] == ([] if code is None else [code])
    assert "world" in codes
    assert "cost" in codes


def test_the_bars_of_a_path_are_as_long_as_the_costs() -> None:
    points = [{"share": 0.5, "cost": 0.0}, {"share": 0.7, "cost": 1.0}, {"share": 1.0, "cost": 4.0}]
    lines = path_text(points, [[], [], []], "optimal", width=40).splitlines()
    assert [line.count("█") for line in lines] == [0, 0, 10, 40]
    assert "·" in lines[1]
    tiny = path_text([{"share": 0.5, "cost": 1e-6}, points[2]], [[], []], "optimal", width=40).splitlines()
    assert [line.count("█") for line in tiny] == [0, 1, 40]


def test_a_path_is_drawn_as_steps_up_to_what_was_asked() -> None:
    points = [{"share": 0.5, "cost": 1.0}, {"share": 0.75, "cost": 2.0}, {"share": 1.0, "cost": 4.0}]
    ax = plot_path(points, 0.75)
    (steps,) = [patch for patch in ax.patches if hasattr(patch, "get_data")]
    np.testing.assert_array_equal(steps.get_data().values, [1.0, 2.0, 4.0])
    np.testing.assert_array_equal(steps.get_data().edges, [0.0, 0.5, 0.75, 1.0])
    (line,) = ax.collections
    np.testing.assert_array_equal(line.get_segments()[0], [[0.75, 0.0], [0.75, 2.0]])
    assert not plot_path(points[:1], 0.75).collections  # never reached: a line over the whole height
    assert ax.get_ylim()[0] == 0
    assert ax.get_xlim() == (0, 1.02)
    assert ax.get_xlabel().startswith("share")
    assert ax.get_ylabel().startswith("cost")
    assert ax.xaxis.get_major_formatter()(0.25, None) == "25 %"


def test_the_bars_of_a_plan_are_its_costs_with_the_first_on_top() -> None:
    first = answer().changes[0]
    two = answer(changes=(replace(first, cost=3.0), replace(first, cost=1.0)))
    ax = two.plot()
    assert [bar.get_width() for bar in ax.patches] == [1.0, 3.0]
    assert [bar.get_y() + bar.get_height() / 2 for bar in ax.patches] == [0.0, 1.0]


@pytest.mark.parametrize(("rank", "code"), [(1, "plan"), (2, "alternative"), (3, "alternative")])
def test_only_the_second_and_later_plans_are_alternatives(rank: int, code: str) -> None:
    told = answer(rank=rank).to_dict()
    assert headline(told).code == f"headline.{code}"
    del told["rank"]
    assert headline(told).code == "headline.plan"
    assert details(told, None, None, ())[-1].values["sentence"].code == "proof.optimal"


@pytest.mark.parametrize(
    ("changed", "decision", "reapply", "fresh", "code"),
    [
        (False, "blank", "disclosed", True, "stays"),
        (True, "blank", "disclosed", True, "fresh"),
        (False, "complete", "disclosed", True, "fresh"),
        (True, "blank", "blank", True, "fresh"),
        (True, "blank", "blank", False, "row"),
        (True, "complete", "disclosed", False, "sample"),
    ],
)
def test_how_sure_a_result_is(changed: bool, decision: Any, reapply: Any, fresh: bool, code: str) -> None:
    blank = Feature("b", "integer", lower=0, upper=9)
    changes = answer().changes if changed else ()
    world = World(decision, reapply, True, None if changed or decision == "complete" else True)
    judged = Validity(70, 100) if fresh else None
    said = details(answer(changes=changes, blanks=(blank,), world=world, fresh=judged).to_dict(), None, None, ())
    assert [m.values["sentence"].code for m in said if m.code == "report.confidence"] == [f"validity.{code}"]
