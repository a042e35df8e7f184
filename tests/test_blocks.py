"""Model inputs that several features determine together: every solver against a list of all choices."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armin.problem import Problem
from armin.solve import solve, solve_best, solve_path
from armin.solve.repeat import DIFFER

from blocky import blocky
from problems import Kind
from searching import check, check_best, check_path

KINDS = ("linear", "trees", "relu", "deep", "blackbox")
SOLVERS = [
    *(pytest.param("search", kind, 25, id=f"search-{kind}") for kind in KINDS),
    pytest.param("enumerate", "trees", 10, id="enumerate"),
    *(pytest.param("milo", kind, 6, id=f"milo-{kind}") for kind in ("linear", "trees", "relu")),
]
every_solver = pytest.mark.parametrize(("method", "kind", "examples"), SOLVERS)


@every_solver
def test_the_cheapest_choice(method: str, kind: Kind, examples: int) -> None:
    @settings(deadline=None, max_examples=2 * examples)
    @given(blocky(kind))
    def law(problem: Problem) -> None:
        check(problem, solve(problem, method))

    law()


@every_solver
def test_the_whole_path(method: str, kind: Kind, examples: int) -> None:
    @settings(deadline=None, max_examples=examples)
    @given(blocky(kind))
    def law(problem: Problem) -> None:
        check_path(problem, solve_path(problem, method))

    law()


@every_solver
@pytest.mark.parametrize("differ", DIFFER)
def test_several_that_differ(method: str, kind: Kind, examples: int, differ: str) -> None:
    @settings(deadline=None, max_examples=max(3, examples // 2))
    @given(blocky(kind), st.integers(1, 4))
    def law(problem: Problem, count: int) -> None:
        check_best(problem, solve_best(problem, count, method, differ=differ), count, differ)

    law()
