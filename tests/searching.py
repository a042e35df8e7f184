"""What every search must satisfy, against brute force: one solve, the whole path, the best with different features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st

from armin.problem import Choice, PathPoint, Problem, Solution, Status
from armin.solve.enumerate import _weights_accepted, enumerate_choices

from problems import Kind, problems


@st.composite
def with_sets(draw: st.DrawFn, kind: Kind) -> Problem:
    """A problem that also rules out some sets of features."""
    problem = draw(problems((kind,)))
    one = st.frozensets(st.integers(0, len(problem.options) - 1), max_size=3)
    return replace(problem, forbidden_sets=draw(st.frozensets(one, max_size=4)))


def check(problem: Problem, solution: Solution, reference: Solution) -> None:
    assert solution.status is reference.status
    if reference.choice is None or reference.cost is None:
        assert solution.choice is None
        return
    assert solution.choice is not None
    assert solution.cost == pytest.approx(reference.cost, rel=1e-12, abs=1e-12)
    assert solution.bound == solution.cost == problem.cost(solution.choice)
    assert problem.is_solved_by(solution.choice)


def valid(problem: Problem) -> Iterator[tuple[float, float, Choice]]:
    """Cost, accepted weight and choice of all that is allowed and accepted by somebody, the cheapest first."""
    choices = enumerate_choices(problem)[0]
    if not choices.size:
        return
    weights = _weights_accepted(problem, choices)
    for row, weight in zip(choices[weights > 0], weights[weights > 0], strict=True):
        choice = tuple(int(j) for j in row)
        if choice not in problem.forbidden:
            yield problem.cost(choice), float(weight), choice


def frontier(problem: Problem) -> list[tuple[float, float]]:
    points: list[tuple[float, float]] = []
    for cost, weight, _ in valid(problem):
        if not points or weight > points[-1][1] + 1e-9:
            if points and cost <= points[-1][0] + 1e-12:
                points.pop()
            points.append((cost, weight))
    return points


def check_path(problem: Problem, path: list[PathPoint]) -> None:
    expected = frontier(problem)
    total = float(problem.weights.sum())
    reached = [point for point in path if point.solution.choice is not None]
    got = [(point.solution.cost, point.weight) for point in reached]
    assert np.allclose(np.reshape(got, (-1, 2)), np.reshape(expected, (-1, 2)), rtol=1e-9)
    for point in reached:
        assert point.solution.status is Status.OPTIMAL
        assert point.solution.choice is not None
        assert problem.allows(point.solution.choice)
        assert problem.weight_accepted(point.solution.choice) == point.weight
    complete = bool(expected) and expected[-1][1] >= total * (1 - 1e-9)
    assert len(path) == len(reached) + (not complete)
    if not complete:
        assert path[-1].solution.status is Status.INFEASIBLE


def check_best(problem: Problem, found: list[Solution], count: int) -> None:
    expected: dict[frozenset[int], float] = {}
    for cost, weight, choice in valid(problem):
        if problem.enough(weight):
            expected.setdefault(frozenset(d for d, j in enumerate(choice) if j), cost)
    costs = sorted(expected.values())[:count]
    chosen = [solution for solution in found if solution.choice is not None]
    assert [solution.cost for solution in chosen] == pytest.approx(costs)
    sets = {frozenset(d for d, j in enumerate(s.choice or ()) if j) for s in chosen}
    assert len(sets) == len(chosen)
    assert all(problem.is_solved_by(solution.choice or ()) for solution in chosen)
    assert len(found) == len(chosen) + (len(costs) < count)
    if len(costs) < count:
        assert found[-1].status is Status.INFEASIBLE
