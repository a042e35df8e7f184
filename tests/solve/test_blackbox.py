"""Asking the model works for every model: choices in order of cost, whatever the bounds of an engine would be."""

from __future__ import annotations

import itertools
from itertools import pairwise
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armin.problem import Problem
from armin.solve.enumerate import enumerate_choices
from armin.solve.search.blackbox import BlackBoxEngine, choices_by_cost
from armin.solve.search.drive import Engine, drive
from armin.solve.search.goals import Cheapest, Frontier, Several

from searching import check, check_best, check_path, with_bans

FEW = settings(max_examples=40, deadline=None)


def ask(problem: Problem, apart: bool) -> Engine:
    return BlackBoxEngine(problem)


@FEW
@given(with_bans("trees"), st.integers(1, 6), st.booleans())
def test_asking_a_tree_ensemble(problem: Problem, count: int, cores: bool) -> None:
    check(problem, drive(problem, Cheapest(problem), ask).solution())
    path = Frontier(problem)
    check_path(problem, drive(problem, path, ask).points(path))
    several = Several(problem, count, cores, one_by_one=cores)
    check_best(problem, drive(problem, several, ask).plans(several), count, "cores" if cores else "sets")


@FEW
@given(with_bans("trees"), st.integers(1, 6))
def test_what_is_said_about_a_search_does_not_depend_on_the_clock(problem: Problem, count: int) -> None:
    """How many choices are asked about in one call does."""
    said = []
    for seconds in (0.0, 1.0):
        with patch("armin.solve.search.blackbox.time.perf_counter", side_effect=itertools.count(step=seconds)):
            found = drive(problem, Cheapest(problem), ask).solution()
            several = Several(problem, count, True, one_by_one=True)
            others = drive(problem, several, ask).plans(several)
        said.append([(one.choice, one.cost, one.bound, one.nodes) for one in (found, *others)])
    assert said[0] == said[1]


@FEW
@given(with_bans("linear"))
def test_every_choice_comes_once_in_order_of_cost(problem: Problem) -> None:
    listed = list(choices_by_cost(problem))
    assert all(a <= b * (1 + 1e-12) for (a, _), (b, _) in pairwise(listed))
    every = [tuple(row) for row in enumerate_choices(problem)[0].tolist()]
    assert sorted(choice for _, choice in listed) == sorted(c for c in every if c not in problem.forbidden)
    for cost, choice in listed:
        assert cost == pytest.approx(problem.cost(choice))
