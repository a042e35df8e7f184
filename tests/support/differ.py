"""Every engine on every goal, against the plain brute force: one trial is one question to one engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType

import numpy as np
from plain import Truth, changes

from armin.models.kinds import BlackBox, ScoreMixture
from armin.problem import PathPoint, Problem, Solution, Status
from armin.solve import search, solve, solve_best, solve_path, solve_robust
from armin.solve.exact import listing_is_quick
from armin.solve.repeat import DIFFER
from armin.solve.search.linear import engine as linear_engine
from armin.solve.search.linear import searcher as linear_searcher
from armin.solve.search.linear import steps as linear_steps
from armin.solve.search.relu import engine as relu_engine
from armin.solve.search.relu import groups as relu_groups
from armin.solve.search.trees import engine as trees_engine
from armin.solve.search.trees import terms as trees_terms

CLOSE = 1e-9


class Discrepancy(AssertionError):  # noqa: N818
    """An answer that differs from the truth."""


def demand(holds: bool, *what: object) -> None:
    if not holds:
        raise Discrepancy(" ".join(map(str, what)))


def near(a: float, b: float) -> bool:
    return a == b or abs(a - b) <= CLOSE * max(1e-12, abs(a), abs(b))


def check_claim(truth: Truth, found: Solution, optimum: float, required: float | None = None) -> None:
    """A claim may be weak, but never wrong."""
    demand(found.bound <= optimum * (1 + CLOSE), "bound", found.bound, "above the optimum", optimum)
    if found.choice is not None and found.cost is not None:
        plans = {choice: (cost, weight) for cost, weight, choice in truth.plans}
        demand(found.choice in plans, "choice", found.choice, "is not allowed")
        cost, weight = plans[found.choice]
        demand(truth.enough(weight, required), "choice", found.choice, "is accepted by", weight, "only")
        demand(near(found.cost, cost), "cost", found.cost, "of", found.choice, "is", cost)
    if found.status is Status.OPTIMAL:
        demand(found.cost is not None and near(found.cost, optimum), "optimal", found.cost, "but", optimum)
    if found.status is Status.INFEASIBLE:
        demand(optimum == np.inf, "infeasible, but", optimum)


def check_one(truth: Truth, found: Solution, required: float | None = None) -> None:
    """Everything must be proved, and what is proved must be so."""
    optimum = truth.optimum(required)
    check_claim(truth, found, optimum, required)
    expected = Status.INFEASIBLE if optimum == np.inf else Status.OPTIMAL
    demand(found.status is expected, "status", found.status, "instead of", expected, optimum)


def check_path(truth: Truth, path: list[PathPoint], least: float | None) -> None:
    expected = truth.path(least)
    reached = [(float(p.solution.cost or 0.0), p.weight) for p in path if p.solution.choice is not None]
    same = len(reached) == len(expected) and all(
        near(a, c) and near(b, d) for (a, b), (c, d) in zip(reached, expected, strict=True)
    )
    demand(same, "path", reached, "instead of", expected)
    for point in path:
        if point.solution.choice is not None:
            check_one(truth, point.solution, point.weight)
    complete = bool(expected) and expected[-1][1] >= truth.total * (1 - CLOSE)
    demand(len(path) == len(reached) + (not complete), "path of", len(path), "points ends wrongly")
    if not complete:
        demand(path[-1].solution.status is Status.INFEASIBLE, "path ends with", path[-1].solution.status)


RULES_OUT: dict[str, Callable[[frozenset[int], frozenset[int]], bool]] = {
    "sets": lambda earlier, now: earlier == now,
    "cores": lambda earlier, now: earlier <= now,
}


def check_best(truth: Truth, found: list[Solution], count: int, differ: str, whole: bool = True) -> None:
    rest = truth.valid()
    for i, solution in enumerate(found):
        optimum = min((cost for cost, _ in rest), default=np.inf)
        check_claim(truth, solution, optimum)
        if solution.choice is None:
            demand(i == len(found) - 1, "an answer without a choice before the last")
            demand(not whole or solution.status is Status.INFEASIBLE, i, "plans, then", solution.status)
            return
        demand(solution.choice in {choice for _, choice in rest}, "choice", solution.choice, "does not differ")
        demand(not whole or solution.status is Status.OPTIMAL, "plan", i, "is", solution.status, "only")
        if differ == "choices":
            rest = [(cost, choice) for cost, choice in rest if choice != solution.choice]
        else:
            now = changes(solution.choice)
            rest = [(cost, choice) for cost, choice in rest if not RULES_OUT[differ](now, changes(choice))]
    demand(len(found) == count, len(found), "plans instead of", count)


@contextmanager
def small_steps(small: bool) -> Iterator[None]:
    """Engines look up after every few nodes, split nodes down to single choices, never sweep over all of
    them, make contexts one by one, and dive as in large models."""
    before = [(module, name, getattr(module, name)) for module, name, _ in SMALL]
    try:
        for module, name, value in SMALL if small else []:
            setattr(module, name, value)
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


SMALL: list[tuple[ModuleType, str, object]] = [
    (search, "FEW_CHOICES", 0),
    (linear_engine, "FEW_CHOICES", 0),
    (linear_engine, "FEW_CONTEXTS", 1),
    (linear_engine, "_TRY", 2),
    (linear_engine, "_LAYERS", ((0, 2), (0, 16))),
    (linear_engine, "_STEPS", 40),
    (linear_steps, "AT_ONCE", 2),
    (linear_searcher, "_NODES", 2),
    (linear_engine, "_PROBE", 1),
    (trees_engine, "_LARGE", -1),
    (trees_engine, "_FEW_NODES", 5),
    (trees_terms, "_SOON", 0),
    (relu_engine, "LARGE", -1),
    (relu_groups, "FEWEST", 1),
    (relu_engine, "FEW", 1.0),
    (relu_engine, "FEW_DEEP", 1.0),
    (relu_engine, "_share", lambda *tables: 1),
]


def trials(problem: Problem, truth: Truth, rng: np.random.Generator, milo: bool) -> Iterator[tuple[str, partial[None]]]:
    """All questions to all engines, by name; each raises where the answer is wrong."""
    programs = milo and not isinstance(problem.model, BlackBox | ScoreMixture) and not (problem.sums and problem.blocks)
    methods = ["search", "enumerate", "auto", *(["milo"] if programs else [])]
    least = float(rng.uniform(0.05, 1.0) * problem.weights.sum()) if rng.random() < 0.3 else None
    count = int(rng.integers(1, 6))
    for method in methods:
        yield f"best {method}", partial(_best, problem, truth, method)
        yield f"robust {method}", partial(_robust, problem, truth, method)
        if method == "auto" and listing_is_quick(problem):
            continue  # the same as "enumerate"
        yield f"path {method}", partial(_path, problem, truth, method, least)
        for differ in DIFFER:
            yield f"several {differ} {method}", partial(_several, problem, truth, method, count, differ)
    calls = int(rng.integers(1, 4))
    for goal in ("best", "path", *DIFFER):
        yield f"stopped {goal}", partial(_stopped, problem, truth, goal, count, calls)


def _best(problem: Problem, truth: Truth, method: str) -> None:
    check_one(truth, solve(problem, method))


def _robust(problem: Problem, truth: Truth, method: str) -> None:
    check_one(truth, solve_robust(problem, method), truth.total)


def _path(problem: Problem, truth: Truth, method: str, least: float | None) -> None:
    check_path(truth, solve_path(problem, method, least=least), least)


def _several(problem: Problem, truth: Truth, method: str, count: int, differ: str) -> None:
    found = solve_best(problem, count, method, differ=differ)  # type: ignore[arg-type]
    check_best(truth, found, count, differ)


def _stopped(problem: Problem, truth: Truth, goal: str, count: int, calls: int) -> None:
    left = [calls]

    def stop(_: Solution) -> bool:
        left[0] -= 1
        return left[0] > 0

    if goal == "best":
        check_claim(truth, solve(problem, "search", callback=stop), truth.optimum())
    elif goal == "path":
        for point in solve_path(problem, "search", callback=stop):
            check_claim(truth, point.solution, truth.optimum(point.weight), point.weight)
    else:
        found = solve_best(problem, count, "search", differ=goal, callback=stop)  # type: ignore[arg-type]
        check_best(truth, found, max(count, len(found)) if len(found) < count else count, goal, whole=False)
