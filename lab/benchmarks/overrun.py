"""By how much a time limit is overrun: ``python -m lab.benchmarks.cliffs --overrun``.

Every question (one plan, the path, five plans, a plan for all candidates, MILO) is asked about large problems with
limits of 0.05, 0.2 and 1 second. The search's clock is the thread's CPU time here, so that other jobs on the machine
do not count; a solver of programs has a clock of its own, and there it is the time on the wall.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sklearn.linear_model import LogisticRegression

import armin.clock as clocks
from armin.problem import Problem
from armin.solve import solve, solve_best, solve_path, solve_robust

LIMITS = (0.05, 0.2, 1.0)
"""Seconds."""

ALLOWED = (0.05, 0.1)
"""An overrun may take this many seconds, or this share of the limit if that is more."""

ASKED: dict[str, Callable[[Problem, float], object]] = {
    "solve": lambda problem, limit: solve(problem, "search", time_limit=limit),
    "path": lambda problem, limit: solve_path(problem, "search", time_limit=limit),
    "five sets": lambda problem, limit: solve_best(problem, 5, "search", time_limit=limit),
    "five cores": lambda problem, limit: solve_best(problem, 5, "search", differ="cores", time_limit=limit),
    "five choices": lambda problem, limit: solve_best(problem, 5, "search", differ="choices", time_limit=limit),
    "robust": lambda problem, limit: solve_robust(problem, "search", time_limit=limit),
    "MILO": lambda problem, limit: solve(problem, "milo", time_limit=limit),
}


def logistic() -> LogisticRegression:
    """A linear model, for the largest linear problem."""
    return LogisticRegression(max_iter=1000)


class _Cpu:
    """A clock that stands still while others work."""

    @staticmethod
    def perf_counter() -> float:
        return time.thread_time()


@contextmanager
def cpu_clock() -> Iterator[None]:
    """Within this context, time limits of the search are CPU time."""
    before = clocks.time
    clocks.time = _Cpu  # type: ignore[assignment]
    try:
        yield
    finally:
        clocks.time = before


@dataclass(frozen=True)
class Overrun:
    """One question: seconds beyond each limit; negative where it was answered before."""

    cliff: str
    asked: str
    beyond: tuple[float, ...]

    @property
    def too_long(self) -> bool:
        """Whether some limit is overrun by more than is allowed."""
        return any(x > max(ALLOWED[0], ALLOWED[1] * limit) for x, limit in zip(self.beyond, LIMITS, strict=True))


def overruns(cliff: str, problems: list[Problem]) -> Iterator[Overrun]:
    """The worst overrun over some problems, question by question; compiled code is made ready before."""
    for name, ask in ASKED.items():
        ask(problems[0], 2.0 if name != "MILO" else 0.05)
        worst = [-float("inf")] * len(LIMITS)
        for problem in problems:
            for i, limit in enumerate(LIMITS):
                worst[i] = max(worst[i], _beyond(ask, problem, limit, name != "MILO"))
        yield Overrun(cliff, name, tuple(worst))


def _beyond(ask: Callable[[Problem, float], object], problem: Problem, limit: float, cpu: bool) -> float:
    if not cpu:
        start = time.perf_counter()
        ask(problem, limit)
        return time.perf_counter() - start - limit
    with cpu_clock():
        start = time.thread_time()
        ask(problem, limit)
        return time.thread_time() - start - limit


def table(found: list[Overrun]) -> str:
    """As a Markdown table, in milliseconds."""
    head = " | ".join(f"beyond {limit:g} s" for limit in LIMITS)
    lines = [f"| problem | asked | {head} |", "|" + "---|" * (len(LIMITS) + 2)]
    for row in found:
        cells = ["in time" if x <= 0 else f"{1000 * x:.0f} ms" for x in row.beyond]
        lines.append(f"| {row.cliff} | {row.asked} | {' | '.join(cells)} |" + (" too long" if row.too_long else ""))
    return "\n".join(lines)


def names(parts: list[str]) -> list[str]:
    """The cliffs whose problems are asked about, unless others are named."""
    return parts or ["D = 200", "depth 8", "1,000 options", "N = 1,000", "MLP 30", "MLP 3 × 128", "depth 12", "linear"]
