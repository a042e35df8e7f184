"""Three independent solvers, one optimum; and problems with rules on three features and more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from armin.problem import Problem, SumRule
from armin.solve import solve


def same(found, reference) -> None:
    assert found.status is reference.status
    if reference.cost is not None:
        assert found.cost == pytest.approx(reference.cost, rel=1e-9, abs=1e-12)
        assert found.bound <= reference.cost + 1e-9


def check(problem: Problem) -> None:
    reference = solve(problem, "enumerate")
    for method in ("search", "milo"):
        found = solve(problem, method)
        same(found, reference)
        assert found.choice is None or problem.is_solved_by(found.choice)


def with_sums(problem: Problem, rng: np.random.Generator, count: int = 1) -> Problem:
    """The problem with random sums of three features or more, where it has as many; "keep" fits each."""
    if len(problem.options) < 3:
        return problem
    rules = []
    for _ in range(count):
        size = int(rng.integers(3, len(problem.options) + 1))
        features = tuple(rng.choice(len(problem.options), size, replace=False).tolist())
        rows = int(rng.integers(1, 4))
        parts = tuple(rng.integers(-4, 5, (rows, problem.options[d].size)) * 0.5 for d in features)
        keep = np.sum([part[:, 0] for part in parts], axis=0)
        rules.append(SumRule(features, parts, keep + rng.integers(0, 4, rows) * 0.5))
    return replace(problem, sums=tuple(rules))
