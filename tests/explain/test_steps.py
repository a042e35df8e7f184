"""More laws that small faults would break: the steps of the explainer, one at a time and without a solver."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from armin import ARMIN
from armin.errors import DataError, ParameterError
from armin.explain import memory
from armin.explain.answer import _linear_growth, _tidy
from armin.explain.ask import AskOrAct, Question, _other
from armin.explain.calibrate import check_held_out, pick
from armin.explain.draw import row_stream
from armin.explain.judge import no_point
from armin.explain.memory import accepted_by_all
from armin.explain.parameters import check_parameters
from armin.explain.stress import _grid, _rounded
from armin.explain.stressing import StressCurve, StressPoint, _harm, _point, _size
from armin.explain.telling import Told
from armin.models.kinds import Above, LinearModel
from armin.problem import Options, Problem, Status
from armin.recourse import Change, Recourse, Validity
from armin.recourse.world import World
from armin.schema import Feature

FEATURES = {name: Feature(name, "integer", lower=0, upper=100) for name in "abcd"}


def plan(names: str = "a", cost: float | None = 1.0, share: float = 0.8, **more: Any) -> Recourse:
    """A plan that raises the features whose names are given."""
    changes = tuple(Change(FEATURES[name], "observed", 10, 15, 5.0, 1.0) for name in names)
    given: dict[str, Any] = {
        "method": "ARMIN", "status": Status.OPTIMAL if cost is not None else Status.INFEASIBLE, "desired": ("yes",),
        "changes": changes, "cost": cost, "cost_name": "TLPS", "cost_range": None, "confidence": 0.8,
        "validity": None if cost is None else Validity(100 * share, 100), "fresh": None, "blanks": (), "bound": 1.0,
        "seconds": 0.1, "solver": "search",
    }  # fmt: skip
    return Recourse(**(given | more))


# whether to tell a blank


def question(**more: Any) -> Question:
    given: dict[str, Any] = {
        "feature": FEATURES["a"], "matters": True, "alone": None, "expected_cost": 1.0, "saving": 1.0, "error": 0.25,
        "no_plan": 0.0, "undecided": 0.0, "sure": 0.8, "told": (Told(3, 0.25, plan("", 0.0)), Told(4, 0.75, plan())),
        "least": 0.5, "now": (2.0, 0.8),
    }  # fmt: skip
    return Question(**(given | more))


@pytest.mark.parametrize(
    ("given", "worth"),
    [
        ({}, True),
        ({"matters": False}, False),
        ({"expected_cost": None}, False),
        ({"now": None, "saving": 0.0}, True),
        ({"saving": 0.5}, False),  # twice the error is needed, and more
        ({"saving": 0.51}, True),
        ({"saving": 0.0, "error": 0.0}, False),
        ({"no_plan": 0.2}, True),  # as many as acting now loses
        ({"no_plan": 0.1, "undecided": 0.11}, False),
        ({"no_plan": 0.01, "now": (2.0, None)}, False),
        ({"now": (2.0, None)}, True),
    ],
)
def test_telling_is_worth_it_beyond_chance_and_without_losing_people(given: dict[str, Any], worth: bool) -> None:
    asked = question(**given)
    assert asked.worth == worth
    assert AskOrAct(plan(blanks=(FEATURES["a"],)), None, (asked,)).best == ("a" if worth else None)


@pytest.mark.parametrize(
    ("given", "codes"),
    [
        ({}, ["cheaper", "free"]),
        ({"alone": 0.5}, ["alone", "cheaper"]),
        ({"alone": 0.0}, ["cheaper"]),
        ({"matters": False}, ["same"]),
        ({"matters": False, "least": None}, ["no_help"]),
        ({"expected_cost": None}, ["lost"]),
        ({"now": None}, ["opens", "free"]),
        ({"saving": 0.5}, ["as_now", "free"]),
        ({"saving": -0.6}, ["cheaper", "free"]),
        ({"sure": 0.82}, ["cheaper", "surer", "free"]),
        ({"sure": 0.805}, ["cheaper", "free"]),
        ({"no_plan": 0.1}, ["cheaper", "no_plan", "free"]),
        ({"undecided": 0.1}, ["cheaper", "free", "undecided"]),
    ],
)
def test_a_question_says_what_it_knows(given: dict[str, Any], codes: list[str]) -> None:
    said = question(**given).messages
    assert [message.code.removeprefix("question.") for message in said] == codes
    assert question(**given).free == 0.25
    opened = {message.code: message.values for message in said}.get("question.opens")
    if opened is not None:
        assert opened["share"] == pytest.approx(1.0)


BLANKS = (FEATURES["a"], FEATURES["b"])


@pytest.mark.parametrize(
    ("act", "questions", "codes"),
    [
        (plan(), [], ["nothing_act"]),
        (plan("", 0.0), [], ["nothing_accepted"]),
        (plan("", None), [], ["nothing_none"]),
        (plan(blanks=BLANKS), [{}, {}], ["tell"]),
        (plan(blanks=BLANKS), [{"saving": 0.0}, {"saving": 0.0}], ["act"]),
        (plan(blanks=BLANKS), [{"matters": False}, {"matters": False}], ["act", "same"]),
        (plan(blanks=BLANKS), [{"matters": False}], ["act_alone", "stopped"]),
        (plan("", None, blanks=BLANKS), [{"matters": False}], ["no_plan_yet", "stopped"]),
        (plan("", None, blanks=BLANKS), [{"matters": False}] * 2, ["no_plan"]),
        (plan("", None, blanks=BLANKS, status=Status.UNKNOWN), [{"matters": False}] * 2, ["time"]),
        (plan("", 0.0, blanks=BLANKS), [{"matters": False}] * 2, ["enough"]),
    ],
)
def test_what_to_do_next_claims_only_what_was_looked_at(
    act: Recourse, questions: list[dict[str, Any]], codes: list[str]
) -> None:
    found = AskOrAct(act, None, tuple(question(**given) for given in questions))
    said = [message.code for message in found.messages if message.code.startswith("ask.")]
    assert said == [f"ask.{code}" for code in codes]
    assert found.complete == (len(questions) == len(act.blanks))


@pytest.mark.parametrize(("decision", "code"), [("complete", "chance_aside"), ("blank", "chance")])
def test_the_chance_to_be_accepted_already_is_told(decision: Any, code: str) -> None:
    act = plan(blanks=BLANKS, world=World(decision, "disclosed", True, False))
    said = AskOrAct(act, 0.3, (question(), question())).messages[-1]
    assert (said.code, said.values["share"]) == (f"ask.{code}", 0.3)


def test_whoever_is_accepted_with_blanks_hears_how_far_telling_would_change_that() -> None:
    taken = {"names": "", "cost": 0.0, "blanks": BLANKS, "world": World("blank", "disclosed", True, True)}
    found = AskOrAct(plan(**taken, fresh=Validity(30, 40)), 0.5, ())
    assert [message.code for message in found.messages] == ["ask.accepted", "ask.stays"]
    assert found.messages[1].values["share"] == 0.75
    assert found.complete
    assert [message.code for message in AskOrAct(plan(**taken), 0.5, ()).messages] == ["ask.accepted"]


def test_a_told_value_calls_for_another_plan_where_acting_now_falls_short() -> None:
    now, told = plan(share=0.9), Told(3, 1.0, plan(share=0.7))
    assert _other(now, Told(3, 1.0, plan("", None)), 1.0, False)
    assert _other(now, told, 1.0, True)
    assert not _other(now, told, 0.7, False)  # as sure as the plan for the told value
    assert _other(now, told, 0.4, False)
    assert not _other(plan(confidence=None), Told(3, 1.0, plan(share=0.9)), 0.5, False)


# judging


class Counting:
    def __init__(self) -> None:
        self.sizes: list[int] = []

    def accepts(self, codes: np.ndarray) -> np.ndarray:
        self.sizes.append(len(codes))
        return codes[:, 0] > 0


def test_many_blocks_are_judged_in_few_calls_and_each_gets_its_own_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_ROWS", 10)
    rng = np.random.default_rng(0)
    blocks = [rng.normal(size=(n, 2)) for n in (4, 6, 3, 1, 20, 2)]
    model = Counting()
    found = accepted_by_all(model, blocks)
    assert model.sizes == [10, 24, 2]
    assert len(found) == len(blocks)
    for block, answers in zip(blocks, found, strict=True):
        np.testing.assert_array_equal(answers, block[:, 0] > 0)
    assert accepted_by_all(model, []) == []


@pytest.mark.parametrize(
    ("end", "status", "bound"),
    [
        (Status.INFEASIBLE, Status.INFEASIBLE, math.inf),
        (Status.OPTIMAL, Status.INFEASIBLE, math.inf),
        (Status.UNKNOWN, Status.UNKNOWN, 0.0),
    ],
)
def test_a_level_that_a_path_does_not_reach(end: Status, status: Status, bound: float) -> None:
    found = no_point(growing("move"), end, 2.5)
    assert (found.solution.status, found.solution.bound, found.solution.seconds) == (status, bound, 2.5)
    assert found.solution.choice is None
    assert not found.accepted.any()


# how many ways completions can be told apart


def growing(*kinds: str) -> Problem:
    """Three completions; each feature moves all alike, brings all to one value, is the same for all, or is neither."""
    values = {"move": [[0.0, 1.0], [2.0, 3.0], [5.0, 6.0]], "reach": [[0.0, 9.0], [2.0, 9.0], [5.0, 9.0]],
              "same": [[1.0, 4.0]], "neither": [[0.0, 1.0], [2.0, 4.0], [5.0, 6.0]]}  # fmt: skip
    options, columns = [], []
    for i, kind in enumerate(kinds):
        outcomes = np.array(values[kind])
        columns.append(np.broadcast_to(outcomes[:, 0], (3,)))
        options.append(Options(f"x{i}", np.array([i]), outcomes[:, :, None], np.array([0.0, 1.0])))
    model = LinearModel(np.ones((1, len(kinds))), np.zeros(1), Above(0.0))
    return Problem(np.stack(columns, axis=1), tuple(options), model, 1.0)


def moving(problem: Problem, mode: str) -> Any:
    """A problem whose options all go one way."""
    moves = [SimpleNamespace(mode=mode, senses=np.array([0.0, *np.ones(o.size - 1)])) for o in problem.options]
    return SimpleNamespace(problem=problem, grid=SimpleNamespace(moves=moves))


@pytest.mark.parametrize(
    ("kinds", "orders"),
    [(["move"], 0), (["same"], 0), (["reach"], 1), (["move", "reach", "reach"], 2), (["same", "move", "reach"], 1)],
)
def test_one_linear_score_cuts_completions_in_few_ways(kinds: list[str], orders: int) -> None:
    assert _linear_growth(moving(growing(*kinds), "shift"), 3) == pytest.approx(
        min(3 * math.log(2), math.log(4)) + orders * math.log(2)
    )


def test_where_completions_move_apart_a_linear_score_says_nothing() -> None:
    assert _linear_growth(moving(growing("move", "neither"), "shift"), 3) == math.inf


@pytest.mark.parametrize("seed", range(5))
def test_targets_for_blanks_cut_completions_in_no_more_ways_than_are_counted(seed: int) -> None:
    """Every accepted set over a fine grid of targets and amounts, beside the bound."""
    rng = np.random.default_rng(seed)
    n = 5
    rows, weights = rng.normal(size=(n, 3)), rng.normal(size=3)
    targets = np.concatenate([[-9.0], np.linspace(-3, 3, 61)])
    seen = set()
    for one in targets:
        for two in targets:
            score = rows[:, 0] * weights[0]
            score = score + np.maximum(rows[:, 1], one) * weights[1] + np.maximum(rows[:, 2], two) * weights[2]
            seen |= {(score >= cut).tobytes() for cut in np.append(score, np.inf)}
    floors = [np.maximum(rows[:, [d]], np.array([[-9.0, 0.0, 1.0]])) for d in (1, 2)]
    options = tuple(
        Options(f"x{d}", np.array([d]), table[:, :, None], np.array([0.0, 1.0, 2.0]))
        for d, table in enumerate(floors, 1)
    )
    problem = Problem(rows, options, LinearModel(weights[None], np.zeros(1), Above(0.0)), 1.0)
    growth = _linear_growth(moving(problem, "reach"), n)
    assert math.log(len(seen)) <= growth < math.inf


@pytest.mark.parametrize(("weight", "tidy"), [(3 + 1e-12, 3.0), (3 + 1e-6, 3 + 1e-6), (2.5, 2.5), (1e6 + 1e-5, 1e6)])
def test_weights_without_dirt(weight: float, tidy: float) -> None:
    assert _tidy(weight) == tidy


# draws


def test_a_row_has_streams_of_its_own() -> None:
    row, other = np.array([1.0, np.nan, 0.0]), np.array([1.0, np.nan, 0.5])
    first, second = (row_stream(3, row, which).random() for which in ("candidates", "fresh"))
    assert first != second
    same = np.array([1.0, -np.nan, -0.0])
    assert [row_stream(3, same, which).random() for which in ("candidates", "fresh")] == [first, second]
    assert row_stream(4, row, "candidates").random() != first
    assert row_stream(3, other, "candidates").random() != first
    assert row_stream(None, row, "fresh").random() != row_stream(None, row, "fresh").random()


# tests on people


def test_people_of_the_training_data_are_no_test() -> None:
    rng = np.random.default_rng(0)
    known = rng.normal(size=(40, 3))
    check_held_out(rng.normal(size=(20, 3)), known)
    check_held_out(np.concatenate([known[:10], rng.normal(size=(10, 3))]), known)  # one half
    with pytest.raises(DataError, match="held out"):
        check_held_out(np.concatenate([known[:11], rng.normal(size=(9, 3))]), known)
    check_held_out(np.zeros((0, 3)), known)
    check_held_out(known, np.zeros((0, 3)))
    twice = np.repeat(known[:10], 2, axis=0)  # a table that repeats itself cannot tell
    check_held_out(np.concatenate([known[:19], rng.normal(size=(1, 3))])[:, :], np.concatenate([twice, known[10:12]]))
    with pytest.raises(DataError):
        check_held_out(known[:10], np.concatenate([twice, known[10:12]]))


def test_at_most_so_many_people_and_nobody_twice() -> None:
    rng = np.random.default_rng(0)
    positions = np.arange(10, 40)
    assert pick(positions, 30, rng) is positions
    found = pick(positions, 29, rng)
    assert len(set(found.tolist())) == 29
    assert set(found.tolist()) < set(positions.tolist())


# stress


@pytest.mark.parametrize("tilts", [[], [1.0, 2.0], [0.0, 0.0], [1.0, 0.0], [0.0, math.nan], [-math.inf, 0.0]])
def test_tilts_that_make_no_grid_are_refused(tilts: list[float]) -> None:
    with pytest.raises(ParameterError):
        _grid(tilts)


def test_the_grid_of_tilts_is_even_and_holds_zero() -> None:
    np.testing.assert_allclose(_grid(None), np.arange(-8, 9) / 4)
    np.testing.assert_array_equal(_grid([-1, 0, 3]), [-1.0, 0.0, 3.0])


@pytest.mark.parametrize(
    ("mean", "spread", "told"), [(1234.5, 100.0, 1230.0), (12.345, 2.0, 12.3), (0.01234, 0.01, 0.012)]
)
def test_means_are_told_in_digits_that_the_spread_allows(mean: float, spread: float, told: float) -> None:
    assert _rounded(mean, spread) == pytest.approx(told)


def test_a_point_of_a_stress_test_by_hand() -> None:
    weights, works = np.array([1.0, 1.0, 2.0]), np.array([True, False, True])
    point = _point(0.5, weights, works, np.array([1.0, 2.0, 4.0]), shown=True)
    assert (point.delta, point.validity, point.mean) == (0.5, 0.75, 2.75)
    assert point.size == pytest.approx(16 / 6)
    assert math.isnan(_point(0.5, weights, works, np.ones(3), shown=False).mean)
    nobody = _point(0.5, np.zeros(0), np.zeros(0, dtype=bool), np.zeros(0), shown=True)
    assert nobody.size == 0.0
    assert not nobody.reliable
    assert _size(np.zeros(0)) == 0.0


def test_harm_is_where_a_reliable_end_is_lower() -> None:
    def curve(*points: tuple[float, float]) -> StressCurve:
        made = tuple(StressPoint(float(i), validity, size, 0.0) for i, (validity, size) in enumerate(points))
        return StressCurve(FEATURES["a"], None, made, 1.0)

    assert _harm(curve((0.5, 1e4), (0.9, 1e4))) == -1.0
    assert _harm(curve((0.9, 1e4), (0.5, 1e4))) == 1.0
    assert _harm(curve((0.1, 1.0), (0.9, 1e4), (0.5, 1e4))) == 1.0  # the first is not reliable
    assert _harm(curve((0.5, 1.0), (0.9, 1.0))) == 1.0


# parameters

WRONG: dict[str, list[Any]] = {
    "threshold": [0.0, 1.1, True, "0.5"], "margin": [-0.1, 1.0, None], "confidence": [0.0, 1.1, None, True],
    "decision": ["disclosed", True, 1], "reapply": [None, "complete"], "n_samples": [0, 1.0, True, None],
    "n_fresh": [-1, 0.5, None], "max_changes": [0, False, 2.0], "max_options": [1, None], "grid": ["fine", None],
    "tolerance": [-0.01, 2, None],
    "method": ["foo", None], "solver": ["foo"], "time_limit": [0, -1.0, "5", True], "random_state": [-1, 0.5],
    "checks": [None, 1, "no"],
}  # fmt: skip
RIGHT: dict[str, list[Any]] = {
    "threshold": [None, 1, 0.5], "margin": [0, 0.99], "confidence": [1, 0.01], "decision": [None, "auto"],
    "reapply": ["either"], "n_samples": [1, np.int64(5)], "n_fresh": [0], "max_changes": [None, 1],
    "max_options": [2], "grid": ["paper", "exact"], "tolerance": [0, 0.05],
    "method": ["auto", len], "solver": ["highs"], "time_limit": [None, 0.1],
    "random_state": [None, 0], "checks": [True, np.False_],
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_every_parameter_has_its_limits(name: str) -> None:
    for value in WRONG[name]:
        with pytest.raises(ParameterError, match=f"'{name}' parameter of ARMIN"):
            check_parameters(ARMIN, {name: value})
    for value in RIGHT[name]:
        check_parameters(ARMIN, {name: value})
