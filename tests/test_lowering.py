"""Compiled code does what the same lines do in Python, whichever way Numba is made quicker."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from armin import compiling
from armin.compiling import called, called_fast, entry, entry_bare


def elements(cube, i, j, k, at):
    one = cube[i, j, k]
    cube[j, i, k] = one + 1.0
    row = cube[i, j]
    row[k] += 2.0
    page = cube[k]
    page[i, j] -= 3.0
    return cube[0, 1, at] + cube[-1, -2, i] + row[0] + row[-1] + page[1, at] + cube[i][j][k], row.size + page.shape[1]


def flags(marks, numbers, i):
    marks[i] = numbers[i] > 0
    marks[-1] = not marks[i]
    numbers[i] = marks[0]  # a truth value among numbers
    return marks.size, numbers[-1]


def turns(first, last, step, numbers):
    total = 0
    for i in range(last):
        total = 3 * total + i
    for i in range(first, last):
        total = 5 * total + i
        if i > 3:
            break
    for i in range(first, last, step):
        total = 7 * total + i
    both = range(first, last)
    if numbers.size > 2:
        both = range(last, first)
    for i in both:
        total += i
        for j in range(i):
            total += j * i
    return total % 1_000_003


def extremes(a, b, c, i, j):
    floats = max(a, b), min(a, b), max(a, b, c), min(a, b, c), min(b, 0.5)
    return floats, (max(i, j), min(i, j), max(i, 3), int(i)), max(i, a)


PAIRS = {plain: (entry(plain), entry_bare(plain)) for plain in (elements, flags, turns)}
EXTREMES = (entry(extremes), entry_bare(extremes))


def same(plain, *args):
    """The result, and what is left in the arrays."""
    fresh = [[value.copy() if isinstance(value, np.ndarray) else value for value in args] for _ in range(3)]
    wanted = plain(*fresh[0])
    for compiled, given_ in zip(PAIRS[plain], fresh[1:], strict=True):
        assert compiled(*given_) == wanted
        for mine, its in zip(given_, fresh[0], strict=True):
            np.testing.assert_array_equal(mine, its)


place = st.integers(-3, 2)


@settings(max_examples=40, deadline=None)
@given(place, place, place, st.integers(0, 2))
def test_elements_and_rows(i, j, k, at):
    same(elements, np.arange(27.0).reshape(3, 3, 3), i, j, k, np.uint64(at))


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.float64])
def test_arrays_of_other_kinds(kind):
    for i in range(-4, 4):
        same(flags, np.zeros(4, dtype=bool), np.array([3, -1, 0, 2], dtype=kind), i)


def test_arrays_that_are_not_one_piece():
    for i in range(-3, 3):
        same(elements, np.arange(27.0).reshape(3, 3, 3).transpose(1, 0, 2), i, 1, 2, np.uint64(1))
        same(flags, np.zeros(6, dtype=bool)[::2], np.arange(-1.0, 5.0)[::2], i)


@settings(max_examples=60, deadline=None)
@given(st.integers(-5, 9), st.integers(-5, 9), st.sampled_from([-3, -1, 1, 2]), st.integers(0, 4))
def test_loops(first, last, step, size):
    same(turns, first, last, step, np.zeros(size))


number = st.sampled_from([0.0, -0.0, 1.5, -2.5, math.inf, -math.inf, math.nan])


@settings(max_examples=100, deadline=None)
@given(number, number, number, st.integers(-4, 4), st.integers(-4, 4))
def test_the_least_and_the_largest_are_those_of_python(a, b, c, i, j):
    wanted = extremes(a, b, c, i, j)
    for compiled in EXTREMES:
        found = compiled(a, b, c, i, j)
        assert [value.hex() for value in found[0]] == [value.hex() for value in wanted[0]]
        assert found[1] == wanted[1]
        assert float(found[2]).hex() == float(wanted[2]).hex()


@called_fast
def quick(values):
    total = 0.0
    for i in range(values.size):
        total += max(values[i], 0.0)
    return total


@called
def exact(values):
    most = -math.inf
    for i in range(values.size):
        most = max(most, values[i])
    return most


@entry_bare
def both(values):
    return quick(values), exact(values)


def test_what_may_be_reordered_in_one_part_is_not_in_another():
    assert both(np.array([1.0, -2.0, 4.0])) == (5.0, 4.0)
    assert both(np.array([math.nan]))[1] == -math.inf  # not a number is not more than anything


def test_what_is_remembered_is_not_taken_by_functions_of_others():
    def first(values):
        return max(values[0], values[-1]) + len(range(3))

    assert entry(first)(np.array([1.0, 5.0])) == njit(first)(np.array([1.0, 5.0])) == 8.0


def test_a_release_of_numba_that_is_not_known_compiles_as_usual(monkeypatch):
    assert set(compiling._compiler(part=True)) == {"pipeline_class"}
    monkeypatch.setattr(compiling, "numba_version", "0.99.0")
    assert compiling._compiler(part=True) == compiling._compiler(part=False) == {}
    assert entry(turns)(1, 4, 1, np.zeros(1)) == turns(1, 4, 1, np.zeros(1))
