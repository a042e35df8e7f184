"""Making a search ready does not count against its time limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import numpy as np
import pytest

from armin import ARMIN
from armin import clock as clock_module
from armin.clock import clock, uncounted
from armin.compiling import entry
from armin.datasets import make_loans
from armin.explain import settings as settings_module
from armin.models.kinds import Above, LinearModel, Model
from armin.problem import Problem, Solution, Status
from armin.solve import search as search_module
from armin.solve import solve, solve_best, solve_path
from armin.solve.robust import solve_robust
from armin.solve.search.linear.engine import LinearEngine

LINEAR = LinearModel(np.array([[1.0, 2.0]]), np.array([-6.0]), Above(0.0))


class Hands:
    """A clock that is moved by hand."""

    def __init__(self, now: float) -> None:
        self.started = self.now = now

    @property
    def moved(self) -> float:
        return self.now - self.started

    def move(self, seconds: float) -> None:
        self.now += seconds

    def perf_counter_ns(self) -> int:
        return round(self.now * 1e9)


@pytest.fixture(params=[0.0, 17.123456789])
def hands(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Hands:
    """A thread that is new, or one that already has a past whose length is no round number."""
    hands = Hands(request.param)
    past = clock_module._Uncounted()
    past.nanoseconds = round(request.param * 1e9 / 3)
    monkeypatch.setattr(clock_module, "time", hands)
    monkeypatch.setattr(clock_module, "_uncounted", past)
    return hands


def problem(model: Model = LINEAR) -> Problem:
    return Problem.from_tables([[1, 0], [3, 0]], {0: [0, 2, 4], 1: [0, 1, 2]}, {0: [0, 1, 2], 1: [0, 1, 2]}, model, 2)


ASKED: dict[str, Callable[[float], list[Solution]]] = {
    "solve": lambda limit: [solve(problem(), "search", time_limit=limit)],
    "path": lambda limit: [point.solution for point in solve_path(problem(), "search", time_limit=limit)],
    "best": lambda limit: solve_best(problem(), 2, "search", time_limit=limit),
    "choices": lambda limit: solve_best(problem(), 2, "search", differ="choices", time_limit=limit),
    "robust": lambda limit: [solve_robust(problem(), "search", time_limit=limit)],
}


@pytest.mark.parametrize("name", sorted(ASKED))
@pytest.mark.parametrize("counts", [False, True])
def test_slow_compiling_leaves_the_answer_proved(
    name: str, counts: bool, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = search_module._engine

    def slow(problem: Problem, apart: bool) -> Any:
        engine = start(problem, apart)
        if counts:
            hands.move(60.0)
        with uncounted():
            hands.move(60.0)
        return engine

    plain = LinearEngine.search

    def looked_at(engine: LinearEngine, goal: Any) -> Iterator[None]:
        yield  # the problem is so small that nobody looks at the clock before it is solved
        yield from plain(engine, goal)

    monkeypatch.setattr(LinearEngine, "search", looked_at)
    monkeypatch.setattr(search_module, "_engine", slow)
    found = ASKED[name](5.0)
    if counts:
        assert found[-1].status is Status.UNKNOWN
    else:
        assert found[0].status is Status.OPTIMAL
        assert Status.UNKNOWN not in {one.status for one in found}
        assert all(one.seconds == 0.0 for one in found)


def test_a_kernel_is_made_ready_outside_of_time(hands: Hands) -> None:
    def double(x: float) -> float:
        return 2.0 * x

    kernel: Any = entry(double)
    make = kernel.compile
    kernel.compile = lambda signature: (hands.move(30.0), make(signature))[1]
    start = clock()
    assert kernel(2.0) == 4.0
    assert hands.moved == pytest.approx(30.0)
    assert clock() == start
    hands.move(1.0)
    assert kernel(3.0) == 6.0
    assert clock() == pytest.approx(start + 1.0)


def kernels() -> list[Any]:
    from armin.models.walk import walk
    from armin.solve.search.linear import nodes, prices
    from armin.solve.search.relu import loop
    from armin.solve.search.trees import exact, walks
    from armin.solve.search.trees import nodes as tree_nodes

    return [nodes.dive, prices.begin, loop.run, tree_nodes.explore, exact.weigh, walks.walk, walk]


def test_all_kernels_are_made_so() -> None:
    assert all("uncounting" in kernel._compile_for_args.__qualname__ for kernel in kernels())


def test_time_that_does_not_count_is_counted_once_and_for_one_thread(hands: Hands) -> None:
    start, seen = clock(), []
    with uncounted():
        hands.move(2.0)
        with uncounted():
            hands.move(3.0)
        other = Thread(target=lambda: seen.append(clock()))
        other.start()
        other.join()
    assert seen == [pytest.approx(hands.now)]
    assert clock() == start


def test_the_solves_of_one_answer_share_its_time_limit(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fresh completions that disagree, and other ways, mean more solves: together they may take what was allowed."""
    limits: list[float | None] = []

    def spy(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, time_limit: float | None, **kwargs: Any) -> Any:
            limits.append(time_limit)
            found = real(*args, time_limit=None, **kwargs)
            hands.move(4.0)
            return found

        return call

    for name in ("solve", "solve_path", "solve_best"):
        monkeypatch.setattr(settings_module, name, spy(getattr(settings_module, name)))
    loans = make_loans()
    explainer = ARMIN.from_settings(loans.classifier, loans.schema, desired="approved", time_limit=10.0).fit(loans.X)
    assert explainer.alternatives(loans.applicant, 3)
    expected = [10.0, 6.0, 2.0, *[10.0 * settings_module.LEAST_SHARE] * len(limits)]
    assert len(limits) > 1
    assert limits == pytest.approx(expected[: len(limits)])
    limits.clear()
    explainer.explain(loans.applicant)
    assert limits[0] == 10.0, "another question has its own time"
