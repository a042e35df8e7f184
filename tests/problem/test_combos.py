"""What combinations of values become, remembered: the same as asking, whatever was asked before and by whom."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armin.arrays import FloatArray
from armin.models.combos import Combinations
from armin.models.encoder import Encoder
from armin.models.joint import JOINT, JointColumns, JointEncoder, Wanted

JOINED = (
    JointColumns((0, 1), np.array([1, 2])),
    JointColumns((1, 2, 3), np.array([3])),
)
OWNERS = np.array([0, JOINT, JOINT, JOINT, 4])


class Counted:
    """Steps that make five inputs of five columns; it is counted how often and about how much they are asked."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def __call__(self, codes: FloatArray) -> FloatArray:
        self.calls.append(codes.shape[0])
        a, b, c, d, e = codes.T
        return np.column_stack([2 * a, a / (1 + b), np.where(np.isnan(a), b, a * b), b + 10 * c - d, -e])


def encoder(steps: Counted) -> JointEncoder:
    return JointEncoder(steps, Encoder(steps, OWNERS), JOINED)


def questions(rng: np.random.Generator, sorts: int) -> tuple[Wanted, np.ndarray]:
    """A person's row, perhaps for several sorts of candidates, and combinations of options."""
    which = int(rng.integers(0, 2))
    rows = np.repeat(rng.integers(0, 4, (1, 5)).astype(float), sorts, axis=0)
    rows[:, 1] = rng.integers(0, 4, sorts)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    members = ((0, 1), (1, 3))[which]
    values = []
    for _ in members:
        own = rng.random() < 0.5
        table = rng.integers(0, 6, (sorts if own else 1, int(rng.integers(1, 6)))).astype(float)
        values.append(table)
    picks = np.column_stack([rng.integers(0, table.shape[1], 7) for table in values])
    return Wanted(which, rows, members, tuple(values)), picks


def directly(wanted: Wanted, picks: np.ndarray) -> FloatArray:
    sorts = wanted.rows.shape[0]
    codes = wanted.codes(np.repeat(np.arange(sorts), len(picks)), np.tile(picks, (sorts, 1)))
    return Counted()(codes)[:, JOINED[wanted.which].columns].reshape(sorts, len(picks), -1)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([4, 60, 1_000_000]), st.sampled_from([5, 200_000]))
def test_what_is_remembered_is_what_asking_says(seed: int, places: int, outcomes: int) -> None:
    rng, steps = np.random.default_rng(seed), Counted()
    encode = encoder(steps)
    for known in encode.known:
        known.most_places, known.most_outcomes = places, outcomes
    for _ in range(6):
        wanted, picks = questions(rng, int(rng.integers(1, 4)))
        if rng.random() < 0.5:
            encode.ahead(wanted, picks)
        np.testing.assert_array_equal(encode.behind(wanted, picks), directly(wanted, picks))
        codes = rng.integers(0, 5, (int(rng.integers(1, 5)), 5)).astype(float)
        np.testing.assert_array_equal(encode(codes), Counted()(codes))


def test_each_combination_is_asked_about_once_and_with_others() -> None:
    steps = Counted()
    encode = encoder(steps)
    row = np.array([[1.0, 2.0, 3.0, 4.0, 5.0]])
    every = np.array([[i, j] for i in range(3) for j in range(3)])
    wanted = [
        Wanted(0, row, (0, 1), (np.array([[1.0, 7.0, 8.0]]), np.array([[2.0, 5.0, 6.0]]))),
        Wanted(1, row, (1, 3), (np.array([[2.0, 5.0, 6.0]]), np.array([[4.0, 0.0, 1.0]]))),
    ]
    for one in wanted:
        encode.ahead(one, every)
    encode(row)
    assert len(steps.calls) == 1  # the row itself, and eight other combinations of each
    for one in wanted:
        encode.behind(one, every)
    other = np.array([[9.0, 2.0, 3.0, 4.0, 5.0]])  # somebody else: only the first column's own value is new
    encode.behind(Wanted(0, other, (0, 1), (np.array([[9.0, 7.0]]), np.array([[2.0, 5.0]]))), every[[4]] // 1 % 2)
    assert len(steps.calls) == 1
    encode.behind(Wanted(0, other, (0, 1), (np.array([[9.0, 7.0]]), np.array([[2.0, 5.0]]))), np.array([[0, 0]]))
    assert steps.calls[1:] == [1]


def test_more_columns_than_a_table_is_made_for_are_asked_about_directly() -> None:
    known = Combinations(columns=9, width=1)
    values, picks = [np.zeros((1, 1))] * 9, np.zeros((1, 9), dtype=int)
    known.keep(np.zeros((1, 9)), np.ones((1, 1)))
    assert known.found(values, picks) is None
    assert known.lacking(values, picks) is None


def test_threads_share_what_is_known() -> None:
    steps = Counted()
    encode = encoder(steps)
    for known in encode.known:
        known.most_outcomes = 40  # so that what one thread keeps is forgotten while another looks

    def same(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        asked = (questions(rng, 2) for _ in range(60))
        return all(
            np.array_equal(encode.behind(wanted, picks), directly(wanted, picks), equal_nan=True)
            for wanted, picks in asked
        )

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads take turns all the time: an append that another thread saw half shows up
    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(same, range(24)))  # what a thread raises is raised here
    finally:
        sys.setswitchinterval(usual)


@pytest.mark.parametrize("same", [True, False])
def test_a_value_is_the_same_to_everybody_and_a_blank_is_a_blank(same: bool) -> None:
    known = Combinations(columns=2, width=1)
    rows = np.array([[np.nan, 1.0], [2.0, 1.0]])
    known.keep(rows, np.array([[5.0], [6.0]]))
    asked = [np.array([[np.nan, 2.0]]), np.array([[1.0 if same else 3.0]])]
    found = known.found(asked, np.array([[0, 0], [1, 0]]))
    assert (found is not None and found.ravel().tolist() == [5.0, 6.0]) is same
