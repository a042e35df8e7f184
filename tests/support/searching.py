"""What every solver must satisfy, against a list of all choices: one solve, the whole path, several that differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st

from armin.problem import Choice, PathPoint, Problem, Solution, Status
from armin.solve.enumerate import _weights_accepted, enumerate_choices

from problems import Kind, problems


@st.composite
def with_bans(draw: st.DrawFn, kind: Kind, pairs: bool = False) -> Problem:
    """A problem that also rules out some sets of features, and all that contains some others."""
    problem = draw(problems((kind,), pairs=pairs))
    features = st.integers(0, len(problem.options) - 1)
    sets = draw(st.lists(st.lists(features, max_size=3), max_size=4))
    cores = draw(st.lists(st.lists(features, min_size=1, max_size=3), max_size=2))
    return replace(
        problem, forbidden_sets=frozenset(map(frozenset, sets)), forbidden_cores=frozenset(map(frozenset, cores))
    )


def changed(choice: Choice) -> frozenset[int]:
    return frozenset(d for d, j in enumerate(choice) if j)


RULES_OUT: dict[str, Callable[[Choice, Choice], bool]] = {
    "choices": lambda earlier, choice: earlier == choice,
    "sets": lambda earlier, choice: changed(earlier) == changed(choice),
    "cores": lambda earlier, choice: changed(earlier) <= changed(choice),
}


def valid(problem: Problem) -> Iterator[tuple[float, float, Choice]]:
    """Cost, accepted weight and choice of all that is allowed and accepted by somebody, the cheapest first."""
    choices = enumerate_choices(problem)[0]
    if not choices.size:
        if problem.is_solved_by(()):
            yield 0.0, problem.weight_accepted(()), ()
        return
    weights = _weights_accepted(problem, choices)
    for row, weight in zip(choices[weights > 0], weights[weights > 0], strict=True):
        choice = tuple(int(j) for j in row)
        if problem.allows(choice):
            yield problem.cost(choice), float(weight), choice


def check(problem: Problem, solution: Solution) -> None:
    """The cheapest choice, proved."""
    cost = next((cost for cost, weight, _ in valid(problem) if problem.enough(weight)), None)
    if cost is None:
        assert (solution.status, solution.choice, solution.bound) == (Status.INFEASIBLE, None, np.inf)
        return
    assert solution.status is Status.OPTIMAL
    assert solution.choice is not None
    assert solution.cost == pytest.approx(cost, rel=1e-12, abs=1e-12)
    assert solution.bound == solution.cost == problem.cost(solution.choice)
    assert problem.is_solved_by(solution.choice)


def frontier(problem: Problem) -> list[tuple[float, float]]:
    points: list[tuple[float, float]] = []
    for cost, weight, _ in valid(problem):
        if not points or weight > points[-1][1] + 1e-9:
            if points and cost <= points[-1][0] + 1e-12:
                points.pop()
            points.append((cost, weight))
    return points


def check_path(problem: Problem, path: list[PathPoint], least: float = 0.0) -> None:
    """Every breakpoint from ``least`` on, and why there is no other."""
    total = float(problem.weights.sum())
    expected = [(cost, weight) for cost, weight in frontier(problem) if weight >= least - 1e-9 * total]
    reached = [point for point in path if point.solution.choice is not None]
    got = [(point.solution.cost, point.weight) for point in reached]
    assert len(got) == len(expected)
    assert np.allclose(np.reshape(got, (-1, 2)), np.reshape(expected, (-1, 2)), rtol=1e-9)
    for point in reached:
        assert point.solution.status is Status.OPTIMAL
        assert point.solution.choice is not None
        assert problem.allows(point.solution.choice)
        assert problem.weight_accepted(point.solution.choice) == point.weight
        assert point.confidence == point.weight / total
    complete = bool(expected) and expected[-1][1] >= total * (1 - 1e-9)
    assert len(path) == len(reached) + (not complete)
    if not complete:
        assert path[-1].solution.status is Status.INFEASIBLE


def check_best(problem: Problem, found: list[Solution], count: int, differ: str = "sets") -> None:
    """Each is the cheapest of those that differ from all before it, and the last says if there is no other."""
    rest = [(cost, choice) for cost, weight, choice in valid(problem) if problem.enough(weight)]
    for i, solution in enumerate(found):
        if not rest:
            assert (solution.status, solution.choice, i) == (Status.INFEASIBLE, None, len(found) - 1)
            return
        assert solution.status is Status.OPTIMAL
        assert solution.choice is not None
        assert solution.choice in {choice for _, choice in rest}
        assert solution.cost == problem.cost(solution.choice)
        assert solution.cost == pytest.approx(min(cost for cost, _ in rest), rel=1e-12, abs=1e-12)
        if differ == "cores":
            for d in changed(solution.choice):
                assert not problem.is_solved_by((*solution.choice[:d], 0, *solution.choice[d + 1 :]))
        rest = [(cost, choice) for cost, choice in rest if not RULES_OUT[differ](solution.choice, choice)]
    assert len(found) == count


def check_honest(problem: Problem, found: Solution, optimum: float) -> None:
    """Whatever stopped it, a solve never claims more than is true."""
    assert found.bound <= optimum * (1 + 1e-9)
    if found.choice is not None and found.cost is not None:
        assert problem.is_solved_by(found.choice)
        assert found.cost == problem.cost(found.choice)
        assert found.cost >= optimum * (1 - 1e-9)
    if found.status is Status.INFEASIBLE:
        assert optimum == np.inf
    if found.status is Status.OPTIMAL:
        assert found.cost == pytest.approx(optimum, rel=1e-9)


def check_honest_path(problem: Problem, points: list[PathPoint]) -> None:
    costs = [p.solution.cost for p in points if p.solution.cost is not None]
    assert costs == sorted(set(costs))
    assert [p.weight for p in points] == sorted({p.weight for p in points})
    truth = frontier(problem)
    for point in points:
        optimum = next((cost for cost, weight in truth if weight >= point.weight - 1e-9), np.inf)
        check_honest(problem.demanding(point.weight), point.solution, optimum)


def check_honest_best(problem: Problem, found: list[Solution], differ: str) -> None:
    rest = [(cost, choice) for cost, weight, choice in valid(problem) if problem.enough(weight)]
    for i, solution in enumerate(found):
        check_honest(problem, solution, min((cost for cost, _ in rest), default=np.inf))
        if solution.choice is None:
            assert i == len(found) - 1
            return
        assert solution.choice in {choice for _, choice in rest}
        rest = [(cost, choice) for cost, choice in rest if not RULES_OUT[differ](solution.choice, choice)]
