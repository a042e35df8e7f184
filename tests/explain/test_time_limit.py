"""Where time is too short to prove anything, plans still have what was asked for, or say first that they have not."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from armin import ARMIN
from armin.explain import judge
from armin.explain.advise import advise
from armin.explain.fitted import Fitted
from armin.explain.settings import Solving
from armin.problem import PathPoint, Problem, Solution, Status
from armin.recourse import Recourse
from armin.solve.stopping import stop_when

from batches import crowd

LEVEL = 0.75


@dataclass(frozen=True)
class Unproved(Solving):
    """A search that always runs out of time: what it finds is the cheapest, but it does not know, and has no path.

    With ``dearer``, it first finds the surest plan.
    """

    asked: list[float] = field(default_factory=list)
    dearer: bool = False

    def __call__(self, problem: Problem, callback: Any = None) -> Solution:
        self.asked.append(problem.required)
        found = super().__call__(problem)
        if found.choice is None:
            return replace(found, status=Status.UNKNOWN, bound=0.0)
        plans = [found]
        if self.dearer:
            surest = super().__call__(problem.demanding(float(problem.weights.sum())))
            plans = [one for one in (surest, found) if one.choice is not None]
        seen = found
        for plan in plans:
            seen = replace(plan, status=Status.FEASIBLE, bound=0.0, seconds=30.0)
            if callback is not None and callback(seen) is False:
                break
        return seen

    def path(self, problem: Problem, least: float, until: Any = None) -> list[PathPoint]:
        nothing = Solution(Status.UNKNOWN, None, None, 0.0, 0.0, "search")
        return [PathPoint(nothing, least, least / float(problem.weights.sum()))]


def answers(kind: str, solving: type[Solving] | None = None, **more: Any) -> tuple[list[Recourse], list[float]]:
    """What people with blanks are told, and the weights that were required on the way."""
    world, frame = crowd(kind, 5, n=45)
    rows = frame[2::3].to_dict("records")  # two blanks each
    armin = ARMIN.from_settings(
        world.classifier, world.schema, desired="yes", n_samples=8, n_fresh=400, confidence=LEVEL, max_options=10,
        max_changes=2, method="search", time_limit=40.0,
    ).fit(world.X)  # fmt: skip
    if solving is None:
        return [armin.explain(row) for row in rows], []
    made = solving(method="search", time_limit=40.0, **more)
    fitted = replace(armin.fitted_, settings=replace(armin.current.settings, solving=made))
    return [judge_one(fitted, row) for row in rows], made.asked  # type: ignore[attr-defined]


def judge_one(fitted: Fitted, row: dict[str, Any]) -> Recourse:
    there, codes = fitted.at(row)
    return advise(there, codes)


@pytest.mark.parametrize("kind", ["linear", "forest", "boosting"])
def test_plans_for_higher_demands_are_tried_until_fresh_completions_confirm_one(kind: str) -> None:
    proved, _ = answers(kind)
    found, asked = answers(kind, Unproved)
    more = 0
    for one, best in zip(found, proved, strict=True):
        assert one.found == best.found
        if not one.changes:
            continue
        assert one.status is Status.FEASIBLE
        assert one.outcome == ("falls_short" if one.share < LEVEL - 1e-9 else "best_so_far")
        assert (one.share >= LEVEL - 1e-9) >= (best.share >= LEVEL - 1e-9)
        assert one.cost >= best.cost * (1 - 1e-9) or best.outcome == "falls_short"
        assert one.bound <= best.bound
        more += one.certificate.validity.accepted > 0
    assert more
    assert max(asked) > 6.0, "no demand was raised: the test shows little"


def test_a_search_goes_on_as_long_as_fresh_completions_agree() -> None:
    """A plan that they confirmed is the answer where a cheaper one that was found later is not confirmed."""
    found, _ = answers("forest", Unproved, dearer=True)
    alone, _ = answers("forest", Unproved)
    assert any(one.changes for one in found)
    for one, other in zip(found, alone, strict=True):
        if one.changes and not other.falls_short:
            assert one.share >= LEVEL - 1e-9


def test_nothing_more_is_looked_for_once_somebody_asks_to_stop() -> None:
    with stop_when(lambda: True):
        found, asked = answers("forest", Unproved)
    assert {*asked} == {6.0}
    assert any(one.outcome == "falls_short" for one in found)


def test_the_path_leaves_time_for_plans_without_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first plan is proved, and the path then runs out of time."""
    monkeypatch.setattr(Solving, "path", Unproved.path)
    before = judge._demanding_more
    raised: list[float] = []

    def counted(*about: Any) -> Any:
        found = before(*about)
        raised.extend(one.solution.cost for one in found)
        return found

    monkeypatch.setattr(judge, "_demanding_more", counted)
    found, _ = answers("forest")
    assert raised
    assert {one.outcome for one in found if one.changes} <= {"plan", "best_so_far", "falls_short"}
    assert all(one.share >= LEVEL - 1e-9 for one in found if one.outcome in ("plan", "best_so_far") and one.changes)


def test_solves_share_the_time_that_is_left() -> None:
    solving = Solving(time_limit=10.0).metered()
    assert (solving.left, solving.sharing(0.5).left, solving.used_up) == (10.0, 5.0, False)
    assert solving.meter is not None
    solving.meter.seconds = 8.0
    assert (solving.left, solving.sharing(0.5).left) == (2.0, 1.0)
    solving.meter.seconds = 11.0
    assert (solving.left, solving.used_up) == (0.2, True)
    assert Solving().left == Solving().sharing(0.5).left == float("inf")
    assert not Solving().used_up
