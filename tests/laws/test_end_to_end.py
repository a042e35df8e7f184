"""A few cases from end to end, each from its seed; ``make fuzz-e2e`` makes as many as there is time for.

A case that fails here is run again by ``python -m lab.benchmarks.fuzz_e2e --replay SEED``.
"""

from __future__ import annotations

import pytest

from laws.end_to_end.case import run_case

SEEDS = (1, 4, 5, 45, 46, 47, 48, 50, 51, 53, 54, 55)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_breaks_and_every_answer_is_right(seed: int) -> None:
    case = run_case(seed, time_limit=60.0)
    assert not case.unfit
    assert not [f"{fault.cause}: {fault.detail}" for fault in case.faults]
